// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Fresh makes a target each time one is opened, so that tests and revisions
// share nothing. What it returns is anything that [Open] takes.
type Fresh func(t testing.TB) any

// Serve is a stdio server as a function: it reads requests from in until that
// ends and writes answers to out.
type Serve = func(ctx context.Context, in io.Reader, out io.Writer) error

// known is what an error says that Open takes.
const known = "an http.Handler, a func(ctx, io.Reader, io.Writer) error, an *exec.Cmd, an http or https URL, a *mock.Server, a mock.Script, a transport.Target, or a mcptest.Fresh that returns one of them"

// targetOf makes a target of what a test hands in. Faults of what runs in the
// process are told to told.
func targetOf(t testing.TB, what any, header []wire.HeaderField, told *told) (transport.Target, error) {
	if f, ok := what.(Fresh); ok {
		return freshTarget(t, f, header, told)
	}
	if f, ok := what.(func(testing.TB) any); ok {
		return freshTarget(t, f, header, told)
	}
	switch x := what.(type) {
	case nil:
		return nil, fmt.Errorf("no target: Open takes %s", known)
	case transport.Target:
		if len(header) > 0 && x.Kind() != transport.Stdio {
			s, ok := x.(sender)
			if !ok {
				return nil, fmt.Errorf("mcptest.Header cannot be sent to %s, a %T: give the header to the target itself", x, x)
			}
			x = s.Sending(header)
		}
		if s, ok := x.(reporter); ok {
			return s.Reporting(told.report), nil
		}
		return x, nil
	case *mock.Server:
		told.mocked, told.before = x, len(x.Panics())
		return x.HTTP("mock").(sender).Sending(header), nil
	case mock.Script:
		told.mocked = mock.New(x)
		return told.mocked.HTTP("mock").(sender).Sending(header), nil
	case http.Handler:
		return &transport.Handler{Handler: told.handler(x), Header: header}, nil
	case func(http.ResponseWriter, *http.Request):
		return &transport.Handler{Handler: told.handler(http.HandlerFunc(x)), Header: header}, nil
	case Serve:
		return &transport.Func{Serve: told.serve(x), Failed: told.failed}, nil
	case *exec.Cmd:
		return commandTarget(x)
	case string:
		if !strings.HasPrefix(x, "http://") && !strings.HasPrefix(x, "https://") {
			return nil, fmt.Errorf("%q is no http or https URL; for a command hand in exec.Command(name, args...)", x)
		}
		return &transport.HTTP{URL: x, Header: header}, nil
	}
	kind := fmt.Sprintf("%T", what)
	if adapter, ok := adapters[kind]; ok {
		return nil, fmt.Errorf("a %s is no target by itself: hand in %s, or the http.Handler that you serve it with", kind, adapter)
	}
	return nil, fmt.Errorf("a %s is no target: Open takes %s", kind, known)
}

// adapters are what makes targets of the servers of SDKs, which this package must not
// know.
var adapters = map[string]string{
	"*mcp.Server":       "gosdk.Server(server) of github.com/mcprove/mcprove/adapt/gosdk",
	"*server.MCPServer": "mcpgo.Server(server) of github.com/mcprove/mcprove/adapt/mcpgo",
}

// reporter is a target that can tell of errors which its server keeps from the
// client, as those of the SDK adapters.
type reporter interface {
	Reporting(report func(err error, stack []byte)) transport.Target
}

// sender is a target over HTTP whose requests can be given headers.
type sender interface {
	Sending(header []wire.HeaderField) transport.Target
}

func freshTarget(t testing.TB, f Fresh, header []wire.HeaderField, told *told) (transport.Target, error) {
	made := f(t)
	switch made.(type) {
	case Fresh, func(testing.TB) any:
		return nil, fmt.Errorf("a mcptest.Fresh returned another one")
	}
	return targetOf(t, made, header, told)
}

// commandTarget takes over what an exec.Cmd says of the program to start; it is
// never started itself, so that it can be opened again.
func commandTarget(c *exec.Cmd) (transport.Target, error) {
	switch {
	case c.Process != nil:
		return nil, fmt.Errorf("the command %s was started already; Open starts it", c.Path)
	case c.Err != nil:
		return nil, fmt.Errorf("the command %s: %w", c.Path, c.Err)
	case c.Stdin != nil || c.Stdout != nil:
		return nil, fmt.Errorf("the command %s has a Stdin or Stdout; leave them to Open", c.Path)
	}
	argv := append([]string{c.Path}, c.Args[min(1, len(c.Args)):]...)
	return &transport.Command{Argv: argv, Dir: c.Dir, Env: c.Environ()}, nil
}
