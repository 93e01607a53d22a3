// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// Exit codes. Codes 3, 4 and 5 mean what they mean in the MCP Inspector.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitAuth        = 3
	exitUnreachable = 4
	exitAnswered    = 5 // by an error
	exitIncomplete  = 6
	exitInternal    = 70
	exitInterrupted = 130
)

// Error is a failure with what the user needs to act on it.
type Error struct {
	Exit    int
	Code    string // stable, for scripts: "target-unreachable"
	Message string // what happened, and why
	Where   string // file:line:col, a method, a flag; may be empty
	Try     string // what to do next; may be empty
}

func (e *Error) Error() string { return e.Message }

func usage(where, try, format string, args ...any) *Error {
	return &Error{Exit: exitUsage, Code: "usage", Where: where, Try: try, Message: fmt.Sprintf(format, args...)}
}

func interrupted() *Error {
	return &Error{Exit: exitInterrupted, Code: "interrupted", Message: "interrupted"}
}

// reasonExits maps why a target failed to an exit code and a stable code.
var reasonExits = map[transport.Reason]struct {
	exit int
	code string
	try  string
}{
	transport.NotStarted:  {exitUnreachable, "command-not-started", "check the command after --; run it by hand to see what it says"},
	transport.Died:        {exitUnreachable, "server-died", "run the command by hand to see what it says; it may need an argument or --env KEY=VALUE"},
	transport.Unreachable: {exitUnreachable, "target-unreachable", "check the host and port, and that the server is running"},
	transport.TLSFailed:   {exitUnreachable, "tls-failed", "check the certificate, and that the URL's scheme is right"},
	transport.TimedOut:    {exitUnreachable, "timed-out", "give it longer with --timeout or --max-time"},
	transport.NotFound:    {exitUnreachable, "wrong-path", "check the path of the URL; MCP endpoints are often at /mcp"},
	transport.NotMCP:      {exitUnreachable, "not-mcp", "check the path of the URL; what answered does not speak MCP"},
	transport.AuthNeeded:  {exitAuth, "auth-needed", "pass credentials with --token FILE or --header 'Authorization: ...'"},
	transport.Redirected:  {exitUnreachable, "redirected", "redirects are not followed: use the URL it points to, if you trust it"},
	transport.BadStatus:   {exitUnreachable, "bad-status", "look at the server's log"},
	transport.BadHTTP:     {exitUnreachable, "bad-http", "what answered does not speak HTTP/1.1 properly"},
	transport.Broken:      {exitUnreachable, "connection-broken", "look at the server's log"},
	transport.BadTarget:   {exitUsage, "bad-target", "a target is a URL, demo:, or a command after --"},
}

// explain turns any error into one for the user. opened tells that the server
// had answered before.
func explain(err error, opened bool) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*surface.FileError](err); ok {
		return &Error{Exit: exitUsage, Code: "bad-file", Message: e.Err.Error(), Where: place(e.Path, e.Line, e.Col), Try: e.Try}
	}
	if e, ok := errors.AsType[*rule.FileError](err); ok {
		return &Error{Exit: exitUsage, Code: "bad-file", Message: e.Message, Where: place(e.Path, e.Line, e.Col), Try: e.Try}
	}
	_, carried := errors.AsType[*transport.Error](err) // which may have a path in it, of a pipe
	if e, ok := errors.AsType[*fs.PathError](err); ok && !carried {
		return &Error{Exit: exitUsage, Code: "file-" + e.Op, Message: err.Error(), Where: e.Path}
	}
	out := &Error{Exit: exitUnreachable, Code: "target-failed", Message: err.Error()}
	if e, ok := errors.AsType[*transport.Error](err); ok {
		r := reasonExits[e.Reason]
		out.Exit, out.Code, out.Try, out.Where = r.exit, r.code, r.try, e.Target
		if out.Exit == 0 {
			out.Exit, out.Code = exitUnreachable, string(e.Reason)
		}
	}
	if e, ok := errors.AsType[*session.TimeoutError](err); ok {
		out.Code, out.Where, out.Try = "no-answer", e.Method, "give it longer with --timeout, or see with -v what it sends"
		if e.Start {
			out.Where, out.Try = "", "give it longer with --start-timeout, or see with -v what it sends"
		}
		if line := lastLine(e.Stderr); line != "" {
			out.Message += "; its stderr ends: " + line
		}
	}
	if e, ok := errors.AsType[*session.NegotiationError](err); ok {
		out.Code, out.Try = "no-common-revision", "see with -v what it answers; --era and --revision choose what is asked for"
		for _, a := range e.Attempts {
			if r := transport.ReasonOf(a.Err); r == transport.AuthNeeded {
				out.Exit, out.Code, out.Try = exitAuth, "auth-needed", reasonExits[transport.AuthNeeded].try
			}
		}
	}
	if _, ok := errors.AsType[*session.EchoError](err); ok {
		out.Code, out.Try = "only-echoes", "check the command after --: it is no MCP server, or a terminal before it repeats its input"
	}
	if e, ok := errors.AsType[*surface.ListError](err); ok && out.Exit == exitUnreachable {
		out.Exit, out.Code, out.Where = exitIncomplete, "listing-failed", e.Kind.Method()
		out.Try = "nothing was judged or written: a partial surface would look like removals"
	}
	if e, ok := errors.AsType[*surface.ItemError](err); ok {
		out.Exit, out.Code, out.Where = exitIncomplete, "item-not-recordable", e.Kind.Method()
		out.Try = "correct the item on the server; nothing was written"
	}
	if out.Code == "target-failed" { // it answered, and nobody can use it
		if e, ok := errors.AsType[*session.ResultError](err); ok {
			out.Exit, out.Code, out.Where, out.Try = exitIncomplete, badAnswer, e.Method, "see with -v what it answers; mcprove check judges it"
		}
		if e, ok := errors.AsType[*session.RoundsError](err); ok {
			out.Exit, out.Code, out.Where, out.Try = exitIncomplete, "too-many-rounds", e.Method, "see with --step what it asks"
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		out.Code, out.Try = "max-time", "give the whole run longer with --max-time"
		out.Message = "the run did not end within --max-time"
		if opened {
			out.Exit = exitIncomplete
		}
	}
	return out
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func place(path string, line, col int) string {
	switch {
	case line == 0:
		return path
	case col == 0:
		return fmt.Sprintf("%s:%d", path, line)
	}
	return fmt.Sprintf("%s:%d:%d", path, line, col)
}

// report prints the error for people, and as the last line for programs.
func (a *app) report(e *Error) {
	say := a.clean // what a server says makes no lines of its own
	where := ""
	if e.Where != "" && !strings.HasPrefix(e.Message, e.Where) {
		where = say(e.Where) + ": "
	}
	fmt.Fprintf(a.stderr, "mcprove: %s%s\n", where, say(e.Message))
	if e.Try != "" {
		if e.Exit == exitInternal {
			say = func(s string) string { return text.LogBlock(a.redactor.String(s)) } // a stack of ours
		}
		fmt.Fprintf(a.stderr, "  try: %s\n", say(e.Try))
	}
	line, err := jsonx.Marshal(struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Where   string `json:"where"`
			Try     string `json:"try"`
		} `json:"error"`
	}{struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Where   string `json:"where"`
		Try     string `json:"try"`
	}{e.Code, valid(a.redactor.String(e.Message)), valid(a.redactor.String(e.Where)), valid(a.redactor.String(e.Try))}})
	if err == nil {
		fmt.Fprintf(a.stderr, "%s\n", text.JSON(line))
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, "�") }
