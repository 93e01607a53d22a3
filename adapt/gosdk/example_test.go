// SPDX-License-Identifier: Apache-2.0

package gosdk_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprove/mcprove/adapt/gosdk"
	"github.com/mcprove/mcprove/mcptest"
)

func greetServer() *mcp.Server {
	type args struct {
		Name string `json:"name"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "v1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in args) (*mcp.CallToolResult, any, error) {
		return text("Hello, " + in.Name + "!"), nil, nil
	})
	return s
}

// In a test of yours t is the test's own.
func ExampleServer() {
	t := newExample()
	defer t.end()

	c := mcptest.Open(t, gosdk.Server(greetServer()))
	c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")

	// Output: pass
}

// One body, in every revision that the server claims over HTTP.
func ExampleHandler() {
	t := newExample()
	defer t.end()

	target := gosdk.Handler(greetServer(), &mcp.StreamableHTTPOptions{Stateless: true})
	for _, revision := range mcptest.Revisions(t, target) {
		c := mcptest.Open(t, target, mcptest.Revision(revision))
		c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")
	}

	// Output: pass
}

// The handler that you deploy, with what stands before it.
func ExampleThrough() {
	t := newExample()
	defer t.end()

	s := greetServer()
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	guarded := http.NewCrossOriginProtection().Handler(sdk)

	c := mcptest.Open(t, gosdk.Through(guarded, s), mcptest.Header("Authorization", "Bearer of-alice"))
	c.CallTool("greet", mcptest.Args{"name": "Ada"}).HasText("Hello, Ada!")

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
