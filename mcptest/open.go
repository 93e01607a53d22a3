// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// Open connects to a target and negotiates. The client is closed when the test
// ends: first the client, then what is under way, then the handler or process,
// each in bounded time; what goes on after that fails the test. A target that
// cannot be reached, or answers in another revision than it should, ends the
// test.
func Open(t testing.TB, target any, opts ...Option) *Client {
	t.Helper()
	c, err := open(t, target, collect(opts))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t testing.TB, target any, o *options) (*Client, error) {
	t.Helper()
	if o.mistake != "" {
		return nil, errors.New(o.mistake)
	}
	s := &shared{o: o, target: target, tape: newTape(o), told: &told{}, tools: &toolList{}, lost: make(chan struct{})}
	c := &Client{t: t, shared: s}
	to, err := targetOf(t, target, o.header, s.told)
	if err != nil {
		return nil, err
	}
	s.o.answers = o.answers.fresh()
	so := o.session()
	so.Listen = so.Listen || len(s.o.answers.queues) > 0 // some servers ask on the standing stream alone
	so.Tap, so.OnNotification = s.tap(), s.notified
	so.Handlers = session.Handlers{
		Elicit: s.handler(spec.MethodElicit), Sample: s.handler(spec.MethodCreateMessage), Roots: s.handler(spec.MethodRootsList),
		Other: s.answer,
	}
	if so.Capabilities == nil {
		so.Capabilities = s.o.answers.capabilities(o.revision)
	}
	// A server in the process has its handlers' contexts from this one.
	ctx := context.WithValue(t.Context(), toldKey{}, s.told)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.session, err = session.Open(ctx, to, so)
	if err != nil {
		s.cancel()
		t.Cleanup(func() { s.tape.show(t, s.told, "") }) // the test has failed then
		return nil, fmt.Errorf("open %s: %w%s%s", to, err, openHint(err), s.inside())
	}
	t.Cleanup(c.end)
	s.agree()
	if why := s.quietly(); why != "" {
		return nil, errors.New(why)
	}
	if o.logLevel != "" && s.agreed.Era == spec.Legacy {
		if _, ok := s.capability("logging"); ok {
			r := c.Do(spec.MethodSetLevel, map[string]any{"level": o.logLevel})
			if r.err != nil {
				return nil, fmt.Errorf("%s: %w", spec.MethodSetLevel, r.Err())
			}
		}
	}
	return c, nil
}

// inside is what the inside of the server said, for an error.
func (s *shared) inside() string {
	errs, panics := s.told.said()
	var b strings.Builder
	for _, e := range append(errs, panics...) {
		fmt.Fprintf(&b, "\n  inside the server: %s", shown(s.tape.secrets.String(e.err.Error())))
	}
	return b.String()
}

// openHint says what to try.
func openHint(err error) string {
	var n *session.NegotiationError
	if errors.As(err, &n) && n.Asked != "" && len(n.Supported) > 0 {
		return "\n  the test would be of another revision than it asks for"
	}
	switch transport.ReasonOf(err) {
	case transport.AuthNeeded:
		return "\n  send what it asks for with mcptest.Header(\"Authorization\", ...)"
	case transport.NotMCP, transport.NotFound:
		return "\n  is this the path that your server is mounted at?"
	}
	return ""
}

// quietly says how the server left the revision that it claims, without an error
// that would show it. A revision that the test asks for and does not get is an
// error of the session.
func (s *shared) quietly() string {
	if s.o.revision.Valid() || s.o.era != 0 || s.agreed.Era == spec.Modern {
		return ""
	}
	for _, name := range s.claimed() {
		if r, err := spec.ParseRevision(name); err == nil && r.Era() == spec.Modern {
			return fmt.Sprintf("the server claims %s, and speaks only %s with a client that does too:%s", r, s.agreed.Revision, s.attempts())
		}
	}
	return ""
}

// claimed is what the server named while a language was looked for.
func (s *shared) claimed() []string {
	list := slices.Clone(s.agreed.Supported)
	for _, a := range s.agreed.Attempts {
		var e *session.RPCError
		if !errors.As(a.Err, &e) || e.Code != spec.CodeUnsupportedVersion {
			continue
		}
		named, _ := jsonx.Elements(lookup(e.Data, "/supported"), jsonx.Lenient)
		for _, n := range named {
			if name, ok := jsonx.Text(n); ok {
				list = append(list, name)
			}
		}
	}
	return list
}

func (s *shared) attempts() string {
	var b strings.Builder
	for _, a := range s.agreed.Attempts {
		fmt.Fprintf(&b, "\n  %s %s: %s", a.Method, a.Revision, a.Verdict)
	}
	return b.String()
}

// tap records what crosses, and sees the end of what a server says.
func (s *shared) tap() transport.Tap {
	record := s.tape.Tap()
	var once sync.Once
	return func(e transport.TapEvent) {
		record(e)
		s.streams.see(e)
		if e.Kind == transport.EventLost {
			once.Do(func() { close(s.lost) })
		}
	}
}

// handler is that of one kind of question.
func (s *shared) handler(method string) session.Handler {
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		return s.answer(ctx, method, params)
	}
}

// closeWait bounds the end of one client.
const closeWait = 5 * time.Second

// end closes the client and tells what was left.
func (c *Client) end() {
	c.t.Helper()
	c.cancel()
	c.drain()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := c.session.Close(ctx); err != nil {
		c.fault("the server goes on after the end of the test, though it was told to end: %v\n  a handler that hangs must look at the context of its request", err)
	}
	c.leftovers()
	c.tell()
	c.tape.show(c.t, c.told, stderrOf(c.session))
}

// drainWait bounds the wait for what a server still has to say when the test has
// ended.
const drainWait = 300 * time.Millisecond

// drain hears a server out, so that what it says last is judged too: over stdio its
// input is ended, over HTTP the responses that are under way are read to their end.
func (c *Client) drain() {
	over := c.streams.ended()
	if in, ok := c.session.Conn().(transport.InputCloser); ok && c.agreed.Transport == transport.Stdio {
		if in.CloseInput() != nil {
			return
		}
		over = c.lost
	}
	t := time.NewTimer(drainWait)
	defer t.Stop()
	select {
	case <-over:
	case <-t.C:
	}
}

// leftovers are what the test did not look at, or did not get.
func (c *Client) leftovers() {
	c.holdAnomalies()
	c.mu.Lock()
	failed, vain, unused := c.failing, c.vain, c.o.answers.unused(c.agreed.Revision)
	c.mu.Unlock()
	for _, r := range failed {
		if !r.looked.Load() {
			c.fault("%s failed, and the test did not look at it: %s\n  assert it (IsToolError, HasErrorCode), or say Ignore", r.name(), r.failure())
		}
	}
	for _, e := range vain {
		if !e.seen {
			c.fault("%v", e.error)
		}
	}
	for _, u := range unused {
		c.fault("%s", u)
	}
	_, panics := c.told.said()
	for _, p := range panics {
		c.fault("the server: %v\n%s", p.err, p.stack)
	}
}

func stderrOf(s *session.Session) string {
	if p, ok := s.Conn().(transport.ProcessConn); ok {
		return p.Stderr()
	}
	return ""
}
