// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprove/mcprove/adapt/mcpgo"
	"github.com/mcprove/mcprove/mcptest"
)

func greetServer() *server.MCPServer {
	s := server.NewMCPServer("greeter", "v1.0.0")
	s.AddTool(mcp.NewTool("greet", mcp.WithString("name", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Hello, " + r.GetString("name", "you") + "!"), nil
		})
	return s
}

// In a test of yours t is the test's own.
func ExampleServer() {
	t := newExample()
	defer t.end()

	c := mcptest.Open(t, mcpgo.Server(greetServer()))
	c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")

	// Output: pass
}

// One body, in every revision that the server claims over HTTP.
func ExampleHandler() {
	t := newExample()
	defer t.end()

	target := mcpgo.Handler(greetServer(), server.WithStateful(true))
	for _, revision := range mcptest.Revisions(t, target) {
		c := mcptest.Open(t, target, mcptest.Revision(revision))
		c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")
	}

	// Output: pass
}

// example is the test of an example.
type example struct{ *witness }

func newExample() example {
	ctx, cancel := context.WithCancel(context.Background())
	w := &witness{ctx: ctx}
	w.Cleanup(cancel)
	return example{w}
}

var _ testing.TB = example{}
