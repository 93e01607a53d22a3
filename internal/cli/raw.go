// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
	"github.com/spf13/cobra"
)

func (a *app) rawCommand() *cobra.Command {
	var (
		f    askFlags
		bare bool
		cold bool
	)
	cmd := &cobra.Command{
		Use:   "raw TEXT|@FILE|- [flags] TARGET",
		Short: "Send any bytes, and print what answers them",
		Long: `Send a text as it is, well formed or not, after the usual handshake, and print every
frame that answers it as it came: one a line, in order, with progress and log messages
that belong to it. Nothing is added to the text but what the carrier needs: a line end
over stdio, a POST over HTTP, with the headers that a client of the revision sends for
such a text. --bare leaves out all headers but those of --header and --token.

A text with an id is answered by the frame with that id; without one, over stdio, by the
next frame without an id. A notification is answered by nothing, over HTTP by a status.

On a terminal, and where CI is set, what must not be seen there is escaped. Secrets are
redacted in any case.

Exit 0: a result came, or nothing was due. 5: an error came. 4: nothing came.`,
		Example: `  mcprove raw '{"jsonrpc":"2.0","id":1,"method":"ping"}' --era legacy demo:
  mcprove raw '{"jsonrpc":"2.0","id":1,' -- ./my-server
  mcprove raw @frame.json --bare -H 'Content-Type: application/json' http://localhost:3000/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOfFormats(f.format, "text", "json"); err != nil {
				return err
			}
			own, t, err := a.parted(cmd, &f.targetFlags, args, 1)
			if err != nil {
				return err
			}
			if len(own) != 1 {
				return usage("", "mcprove raw TEXT TARGET, quoted as one word; - reads stdin", "one text is expected, found %d words", len(own))
			}
			frame, err := a.rawText(own[0])
			if err != nil {
				return err
			}
			if cold {
				return a.rawCold(cmd.Context(), &f, t, frame, bare)
			}
			return a.talk(cmd.Context(), "raw", &f, t, nil, func(ctx context.Context, k *talk) error {
				return k.raw(ctx, frame, bare)
			})
		},
	}
	f.addTo(cmd, "text", "json")
	cmd.Flags().BoolVar(&bare, "bare", false, "over HTTP send no header but those of --header")
	cmd.Flags().BoolVar(&cold, "no-handshake", false, "send it as the first text of the connection")
	return cmd
}

// rawText is the text to send. The line end of a file or of stdin is the
// carrier's, and left out; every other byte stays.
func (a *app) rawText(word string) ([]byte, error) {
	var data []byte
	var err error
	switch {
	case word == "-":
		data, err = io.ReadAll(io.LimitReader(a.env.Stdin, maxFile+1))
		if err == nil && len(data) > maxFile {
			err = badArguments("stdin", "", "it holds more than %d bytes", maxFile)
		}
	case strings.HasPrefix(word, "@"):
		data, err = maybeFile(word)
	default:
		return []byte(word), nil
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r")), err
}

// raw sends the text and prints what belongs to it.
func (k *talk) raw(ctx context.Context, frame []byte, bare bool) error {
	r := session.RawRequest{Text: frame, Bare: bare, Header: k.f.ownHeader()}
	if !bare {
		r.Header = rawHeader(k.s.Negotiated(), frame)
	}
	x, err := k.s.Raw(ctx, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return k.rawAnswered(x, err)
}

// rawAnswered prints what came, and says what that means.
func (k *talk) rawAnswered(x *wire.Exchange, err error) error {
	k.status.done()
	var frames []*wire.Frame
	failed := false
	for _, f := range x.Frames {
		if f.Dir == wire.ToClient {
			frames = append(frames, f)
			failed = failed || f.Message().Kind == wire.ErrorResponse
		}
	}
	switch {
	case failed:
		err = &Error{Exit: exitAnswered, Code: "rpc-error", Message: "the server answered with an error"}
	case len(frames) > 0 && !isTimeout(err):
		err = nil // what came is the answer, however the stream ended
	}
	return firstErr(k.printFrames(frames, x, err), err)
}

// ownHeader are the fields of --header and --token alone.
func (f *targetFlags) ownHeader() (out []wire.HeaderField) {
	for _, h := range f.headers {
		name, value, _ := strings.Cut(h, ":")
		out = append(out, wire.HeaderField{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	if f.bearer != "" {
		out = append(out, wire.HeaderField{Name: probe.HeaderAuthorization, Value: f.bearer})
	}
	return out
}

// rawCold sends the text as the first of a connection, and takes in what comes
// until a response does, the response of HTTP ends, or the time is over.
func (a *app) rawCold(ctx context.Context, f *askFlags, t *target, frame []byte, bare bool) error {
	if t.beside != nil {
		return usage("--no-handshake", "start the server by hand, and name its URL alone", "whether a command serves its URL is found out by the handshake")
	}
	if f.format == "json" {
		a.judging, a.asking = "raw", true
	}
	k := &talk{a: a, f: f, verb: "raw", name: t.name, status: a.status()}
	o := transport.Options{}
	if f.verbose {
		a.stderr = &lockedWriter{w: a.stderr}
		o.Stderr, o.Tap = &lineWriter{a: a, prefix: "server: "}, a.trace
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	conn, err := t.Target.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), lastMoment/2)
		defer done()
		_ = conn.Close(limit)
	}()
	out := transport.Outgoing{Raw: frame, Bare: bare}
	if bare {
		out.Header = f.ownHeader()
	}
	x := &wire.Exchange{}
	sent, err := conn.Send(ctx, out)
	for over := false; err == nil && !over; {
		var e transport.Event
		if e, err = conn.Receive(ctx); err != nil {
			break
		}
		own := e.Channel == sent.Channel || conn.Kind() != transport.StreamableHTTP
		switch {
		case e.Kind == transport.EventLost:
			err, over = e.Err, true
		case e.Kind == transport.EventFrame:
			x.Frames = append(x.Frames, e.Frame)
			over = conn.Kind() != transport.StreamableHTTP && (e.Frame.Message().IsResponse() || len(x.Frames) == maxSaid)
		case e.Kind == transport.EventHead && own:
			x.Heads = append(x.Heads, e.Head)
		case e.Kind == transport.EventBody && own:
			x.Body = e.Body
		case e.Kind == transport.EventClosed && own:
			err, over = e.Err, true
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = &session.TimeoutError{Method: "raw text", After: f.timeout}
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && len(x.Frames) == 0 && len(x.Heads) > 0:
		err = transport.StatusError(x.Heads[len(x.Heads)-1], x.Body)
	}
	return k.rawAnswered(x, err)
}

func isTimeout(err error) bool {
	_, late := errors.AsType[*session.TimeoutError](err)
	return late
}

// rawHeader is what a client of the revision sends over HTTP with such a text.
func rawHeader(n session.Negotiated, frame []byte) []wire.HeaderField {
	if n.Transport != transport.StreamableHTTP {
		return nil
	}
	var h []wire.HeaderField
	add := func(name, value string) {
		if _, ok := spec.HeaderAt(name, n.Revision); ok && value != "" {
			h = append(h, wire.HeaderField{Name: name, Value: value})
		}
	}
	m := wire.Read(frame)
	if m.Method != spec.MethodInitialize {
		add(spec.HeaderProtocolVersion, n.Revision.String())
	}
	add(spec.HeaderSessionID, n.SessionID)
	add(spec.HeaderMethod, spec.EncodeHeaderValue(m.Method))
	if method, ok := spec.MethodAt(m.Method, n.Revision); ok && method.NameFrom != "" {
		add(spec.HeaderName, spec.EncodeHeaderValue(member(jsonx.Raw(m.Params), method.NameFrom)))
	}
	return h
}

// printFrames prints frames one a line, or as the run's object. ended is what
// the run ends with.
func (k *talk) printFrames(frames []*wire.Frame, x *wire.Exchange, ended error) error {
	status := 0
	for _, h := range x.Heads {
		if h.Status != 0 {
			status = h.Status
		}
	}
	if k.f.format == "json" {
		k.a.judging = ""
		list := []string{}
		for _, f := range frames {
			list = append(list, string(f.Raw))
		}
		run := &report.Run{Verb: k.verb, Target: k.name, Outcome: report.Passed, Notes: k.notes()}
		if ended != nil {
			run.Exit = explain(ended, k.a.opened).Exit
			run.Outcome = outcomeOf(run.Exit)
		}
		return k.a.object(run, report.Own{Key: "frames", Value: list}, report.Own{Key: "status", Value: status}, report.Own{Key: "body", Value: string(x.Body)})
	}
	k.tell(k.notes())
	if status != 0 && status != http.StatusOK {
		k.a.say("mcprove: HTTP %d", status)
	}
	for _, f := range frames {
		if err := k.a.printFrame(f.Raw); err != nil {
			return err
		}
	}
	if len(frames) == 0 && len(x.Body) > 0 {
		return k.a.printText(string(x.Body))
	}
	return nil
}

// printFrame prints a frame as it came, but for secrets and, where people or a
// build system read it, what must not be seen there.
func (a *app) printFrame(raw []byte) error {
	s := a.redactor.String(string(raw))
	// A secret that JSON spells with escapes is worth more than the spelling.
	if clean, err := report.Clean(a.redactor, raw); err == nil && strings.Count(string(clean), text.Redacted) > strings.Count(s, text.Redacted) {
		s = string(clean)
	}
	if ci, _ := a.getenv("CI"); a.env.StdoutTTY || ci != "" {
		if jsonx.Check(raw, jsonx.Lenient) == nil {
			s = string(text.JSON([]byte(s)))
		} else {
			s = text.LogLine(s)
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n", s)
	return err
}
