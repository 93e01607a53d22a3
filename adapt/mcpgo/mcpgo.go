// SPDX-License-Identifier: Apache-2.0

// Package mcpgo makes targets of servers that are built with mark3labs/mcp-go, so
// that package mcptest can test them.
//
//	func TestGreet(t *testing.T) {
//		c := mcptest.Open(t, mcpgo.Server(newServer()))
//		c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")
//	}
//
// [Server] is reached by its messages alone, as over stdio; [Handler] through the
// SDK's Streamable HTTP, without sockets; [Through] by whatever handler you
// deploy. Every opening of a target is a client of its own to the same server.
//
// A test that fails shows the errors that handlers of tools, resources and
// prompts gave, whatever middleware made of them, and what mcptest.Report was
// told. A panic in such a handler fails the test with its stack; the client gets
// what this SDK makes of it.
package mcpgo

import (
	"net/http"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprove/mcprove/internal/inside"
	"github.com/mcprove/mcprove/transport"
)

// Server is a target that hands messages to s in the framing of stdio.
//
// The SDK's own StdioServer cannot be it: all of those in a process share one
// session, so that two tests at once would get each other's messages, and its
// channel stands outside of every bubble of testing/synctest. So each connection
// has a session of its own here, and does what a StdioServer does: MCPServer
// handles each message, five workers call the tools, notifications are written
// as they come, what cannot be read is answered by -32700, and a panic by
// -32603.
func Server(s *server.MCPServer) transport.Target {
	observe(s)
	return &inside.Lines{Name: "mcp-go server", Serve: door{s}.serve}
}

// Handler is a target that reaches s by Streamable HTTP, through the SDK's own
// handler.
func Handler(s *server.MCPServer, opts ...server.StreamableHTTPOption) transport.Target {
	return Through(server.NewStreamableHTTPServer(s, opts...), s)
}

// Through is a target that reaches servers through a handler of yours, with its
// authorization and middleware. An http.Handler may be handed to mcptest by
// itself too; what its servers keep from their client is not told then.
func Through(h http.Handler, servers ...*server.MCPServer) transport.Target {
	for _, s := range servers {
		observe(s)
	}
	return &inside.Web{Name: "mcp-go handler", Handler: h}
}
