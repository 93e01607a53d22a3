// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/cli/version"
	"github.com/mcprove/mcprove/internal/proc"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// collect connects to the target, reads its surface and ends everything again.
// Whatever happens, nothing is left running.
func (a *app) collect(ctx context.Context, f *targetFlags, t *target) (*surface.Surface, error) {
	ctx, cancel := context.WithTimeout(ctx, f.maxTime)
	defer cancel()
	status := a.status()
	defer status.done()
	s, stop, err := a.open(ctx, f, t, status)
	if err != nil {
		return nil, maxTime(ctx, err)
	}
	defer stop()
	a.opened = true
	var o session.Options
	t.options(&o)
	out, err := surface.Collect(ctx, s, surface.CollectOptions{
		Secrets: a.secrets, Forced: o.Era != 0 || o.Revision != 0, Progress: func(method string) { status.set("reading " + method) },
	})
	if err != nil {
		return nil, maxTime(ctx, err)
	}
	return out, nil
}

// maxTime gives an error that the end of the run caused its cause.
func maxTime(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// open starts a session. stop ends it, and what was started beside it.
func (a *app) open(ctx context.Context, f *targetFlags, t *target, status *status) (s *session.Session, stop func(), err error) {
	o := session.Options{Version: version.String()}
	t.options(&o)
	o.Progress = func(w session.Waiting) { status.waiting(t.name, w) }
	if f.verbose {
		w := &lineWriter{a: a, prefix: "server: "}
		o.Stderr = w
		own := o.Tap
		o.Tap = func(e transport.TapEvent) {
			a.trace(e)
			if own != nil {
				own(e)
			}
		}
	}
	if t.beside == nil {
		s, err = session.Open(ctx, t.Target, o)
		if err != nil {
			return nil, nil, err
		}
		return s, func() { closeSession(ctx, s) }, nil
	}
	stop, s, err = a.startBeside(ctx, f, t, o, status)
	if err != nil {
		stop()
		return nil, nil, err
	}
	end := stop
	return s, func() { closeSession(ctx, s); end() }, nil
}

// startBeside starts the command that serves a URL, and waits until that
// answers MCP. stop ends the whole tree; it must be called in any case. The
// error is that of the session: a server may answer, and badly.
func (a *app) startBeside(ctx context.Context, f *targetFlags, t *target, o session.Options, status *status) (stop func(), s *session.Session, err error) {
	b := *t.beside
	if f.verbose {
		b.Stderr = &lineWriter{a: a, prefix: "server: "}
	}
	p, err := proc.Start(b)
	if err != nil {
		return func() {}, nil, &transport.Error{Reason: transport.NotStarted, Target: strings.Join(b.Argv, " "), Err: err}
	}
	quiet := make(chan struct{})
	go func() { // its stdout is not the protocol's: it must be read, and is not kept
		defer close(quiet)
		_, _ = io.Copy(io.Discard, p.Stdout)
	}()
	stop = func() { p.Stop(proc.Grace{Hurry: ctx.Done()}); <-quiet }
	s, err = a.untilReady(ctx, t, o, p, status)
	return stop, s, err
}

// partTime bounds the end of a session that was interrupted: its server may have
// something to take back, and end by itself.
const partTime = 300 * time.Millisecond

// closeTime bounds the patient end of a session.
const closeTime = 5 * time.Second

// closeSession ends a session: patiently, or soon where the run was interrupted
// or has used up its time.
func closeSession(ctx context.Context, s *session.Session) {
	limit := closeTime
	if ctx.Err() != nil {
		ctx, limit = context.WithoutCancel(ctx), partTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = s.Close(ctx) // nothing that a report could use
}

// untilReady opens a session as soon as the started command serves the URL.
func (a *app) untilReady(ctx context.Context, t *target, o session.Options, p *proc.Process, status *status) (*session.Session, error) {
	deadline := time.NewTimer(o.Timeouts.Start)
	defer deadline.Stop()
	began := time.Now()
	for {
		s, err := session.Open(ctx, t.Target, o)
		if err == nil {
			return s, nil
		}
		if !notYet(err) {
			return nil, err
		}
		status.waiting(t.name, session.Waiting{For: "the command to serve the URL", Elapsed: time.Since(began), Stderr: lastLine(p.Tail())})
		select {
		case <-p.Exited():
			p.DrainStderr(100 * time.Millisecond)
			st := p.Status()
			return nil, &transport.Error{Reason: transport.Died, Target: strings.Join(t.beside.Argv, " "),
				Detail: "the command ended before it served " + t.name,
				Exit:   &transport.Exit{Code: st.Code, Signal: st.Signal, Stderr: p.Tail()}}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, &transport.Error{Reason: transport.TimedOut, Target: t.name,
				Detail: fmt.Sprintf("the command did not serve it within %s", o.Timeouts.Start), Err: err}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// notYet reports whether a failure may only mean that the server is not up: nobody
// listens, or what stands before it says that it reaches nobody.
func notYet(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case !ok:
		return false
	case e.Reason == transport.Unreachable, e.Reason == transport.Broken:
		return true
	}
	return e.Reason == transport.BadStatus && slices.Contains(unready, e.Status)
}

// unready are the statuses of HTTP by which a gateway says so.
var unready = []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// trace shows what crosses: a line for each frame and head, with the seconds
// since the run began.
func (a *app) trace(e transport.TapEvent) {
	arrow := fmt.Sprintf("<- %.3fs", a.env.Now().Sub(a.began).Seconds())
	if e.Sent {
		arrow = "->" + arrow[2:]
	}
	const most = 2_000
	switch {
	case e.Frame != nil:
		a.say("%s %s", arrow, text.Clip(text.LogLine(a.redactor.String(string(e.Frame.Raw))), most))
	case e.Head != nil && e.Sent:
		a.say("%s %s %s", arrow, e.Head.Method, text.LogLine(a.redactor.String(e.Head.URL)))
	case e.Head != nil && e.Kind == transport.EventHead:
		a.say("%s HTTP %d %s", arrow, e.Head.Status, a.clean(e.Head.Reason))
	}
}

// say writes one line to stderr, whole.
func (a *app) say(format string, args ...any) {
	_, _ = io.WriteString(a.stderr, fmt.Sprintf(format, args...)+"\n")
}

// lineWriter writes foreign text to stderr by lines, escaped and redacted.
type lineWriter struct {
	a      *app
	prefix string
	rest   []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		i := strings.IndexByte(string(w.rest), '\n')
		if i < 0 {
			if len(w.rest) > 8<<10 {
				i = len(w.rest) - 1
			} else {
				return len(b), nil
			}
		}
		w.a.say("%s%s", w.prefix, text.LogLine(w.a.redactor.String(strings.TrimRight(string(w.rest[:i+1]), "\r\n"))))
		w.rest = w.rest[i+1:]
	}
}

// status tells people what is being waited for. On a terminal it is one line
// that is redrawn; elsewhere a line every ten seconds.
type status struct {
	a    *app
	mu   sync.Mutex
	last time.Time
	live bool
}

func (a *app) status() *status { return &status{a: a} }

// quietTime is how long nothing is said where nobody watches.
const quietTime = 10 * time.Second

func (s *status) waiting(target string, w session.Waiting) {
	line := fmt.Sprintf("waiting for %s (%s): %s", text.Clip(text.LogLine(s.a.redactor.String(target)), 60), w.Elapsed.Round(time.Second), w.For)
	if w.Stderr != "" {
		line += "; it says: " + text.Clip(text.LogLine(s.a.redactor.String(w.Stderr)), 80)
	}
	s.set(line)
}

func (s *status) set(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.a.env.Now()
	if s.a.env.StderrTTY {
		if width := s.a.env.Width; width > 10 && len(line) >= width {
			rs := []rune(line)
			line = string(rs[:min(width-2, len(rs))])
		}
		_, _ = io.WriteString(s.a.stderr, "\r\x1b[2K"+line)
		s.live = true
		return
	}
	if s.last.IsZero() {
		s.last = now // the first seconds pass in silence
		return
	}
	if now.Sub(s.last) >= quietTime {
		s.last = now
		s.a.say("mcprove: %s", line)
	}
}

// done wipes the live line.
func (s *status) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		_, _ = io.WriteString(s.a.stderr, "\r\x1b[2K")
		s.live = false
	}
}
