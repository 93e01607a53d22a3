// SPDX-License-Identifier: Apache-2.0

// Package mcptest tests an MCP server inside go test, through the handler that
// you deploy, in microseconds, without a port or a child process.
//
//	func TestGreet(t *testing.T) {
//		c := mcptest.Open(t, server.Handler())
//		c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")
//	}
//
// # Targets
//
// [Open] takes what you have: an http.Handler, which is called without sockets,
// its headers, middleware and streams in the path; a function that serves stdio;
// an *exec.Cmd; a URL; a *mock.Server; any transport.Target. Servers of the
// SDKs are wrapped by the modules adapt/gosdk and adapt/mcpgo. A [Fresh] target
// is made anew each time it is opened.
//
// The client speaks the newest revision that the server does, or the one that
// [Revision] pins. [EachEra] runs one test body in every revision that the
// server claims. A server that answers in another revision than it was asked
// for fails the test: it is not silently tested in the wrong one.
//
// # Calls and assertions
//
// A call gives a [Reply]. Its accessors (Text, Decode, Frames) give what was
// there; its assertions begin with a verb (HasText, IsToolError, HasErrorCode)
// and can be chained. An error that nothing looks at fails the test at its end,
// so that a broken step of a set-up is not lost.
//
// Every message of the server is held against the negotiated revision, and one
// that breaks its rules fails the test; [Lax] turns that off.
//
// # When a test fails
//
// Its failure shows what crossed, what the server wrote to its standard error
// or to [ServerLog], the error that was given to [Report] in place of a
// sanitised one, and the stack of a panic. The whole transcript is a file in
// the test's artifact directory (go test -artifacts).
//
// # Virtual time
//
// Everything works in a bubble of testing/synctest, where a tool that waits half
// an hour takes no time. Requests have no bound of their own there.
package mcptest
