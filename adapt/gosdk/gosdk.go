// SPDX-License-Identifier: Apache-2.0

// Package gosdk makes targets of servers that are built with the official Go SDK
// (github.com/modelcontextprotocol/go-sdk), so that package mcptest can test them.
//
//	func TestGreet(t *testing.T) {
//		c := mcptest.Open(t, gosdk.Server(newServer()))
//		c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")
//	}
//
// [Server] is reached by its messages alone, as over stdio; [Handler] through the
// SDK's Streamable HTTP, without sockets; [Through] by whatever handler you
// deploy. Every opening of a target is a client of its own to the same server.
//
// A test that fails shows the errors that the client did not get to see: the one
// that a tool gave to SetError behind another text, the cause that an error
// wraps and does not print, and whatever mcptest.Report was told. A panic in a
// handler, which this SDK does not recover from, ends the connection as it would
// end your process, and fails the test with its stack; a panic in a goroutine of
// your own ends the test, as Go has it.
package gosdk

import (
	"context"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprove/mcprove/internal/inside"
	"github.com/mcprove/mcprove/transport"
)

// Server is a target that hands messages to s in the framing of stdio. It speaks
// through the SDK's own mcp.IOTransport, so that every text, well formed or not,
// has the fate that it has in a process over stdio. (A connection of our own,
// which reads lines and calls jsonrpc.DecodeMessage, saves 5 % of the
// allocations of a call, and would have to guess what the SDK does with
// batches, trailing bytes and broken JSON.)
func Server(s *mcp.Server) transport.Target {
	observe(s)
	return &inside.Lines{Name: "go-sdk server", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		ss, err := s.Connect(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: writeCloser{out}}, nil)
		if err != nil {
			return err
		}
		return ss.Wait()
	}}
}

// writeCloser leaves closing to the connection.
type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

// Handler is a target that reaches s by Streamable HTTP, through the SDK's own
// handler: with sessions, or with none for opts.Stateless. nil is as for
// mcp.NewStreamableHTTPHandler.
func Handler(s *mcp.Server, opts *mcp.StreamableHTTPOptions) transport.Target {
	return Through(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, opts), s)
}

// Through is a target that reaches servers through a handler of yours, with its
// authorization and middleware. An http.Handler may be handed to mcptest by
// itself too; what its servers keep from their client is not told then.
func Through(h http.Handler, servers ...*mcp.Server) transport.Target {
	for _, s := range servers {
		observe(s)
	}
	return &inside.Web{Name: "go-sdk handler", Handler: h}
}
