// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprove/mcprove/adapt/mcpgo"
	"github.com/mcprove/mcprove/mcptest"
)

// eachWatched runs a failing test through every door of the adapter in both eras,
// and gives what it said.
func eachWatched(t *testing.T, make func() *server.MCPServer, body func(t testing.TB, d door, c *mcptest.Client), judge func(t *testing.T, said string)) {
	t.Helper()
	for _, d := range doors {
		if d.name == "handler alone" {
			continue // it tells nothing of errors
		}
		for name, era := range map[string]mcptest.Option{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				said, failed := watch(t, func(t testing.TB) { body(t, d, mcptest.Open(t, d.open(make()), era)) })
				if !failed {
					t.Fatal("the test did not fail")
				}
				judge(t, said)
			})
		}
	}
}

func plain() *server.MCPServer { return newServer() }

func TestErrorsBehindOthersAreShown(t *testing.T) {
	eachWatched(t, plain, func(_ testing.TB, _ door, c *mcptest.Client) {
		c.CallTool("broken", mcptest.Args{"how": "discreetly"}).HasErrorMessage(errDatabase.Error())
	}, func(t *testing.T, said string) {
		if !strings.Contains(said, "the store is not available") || !strings.Contains(said, "inside the server: "+errDatabase.Error()) {
			t.Errorf("the error is not shown:\n%s", said)
		}
	})
}

func TestReportReachesTheTest(t *testing.T) {
	reporting := func() *server.MCPServer {
		return newServer(server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				mcptest.Report(ctx, errDatabase)
				return next(ctx, r)
			}
		}))
	}
	eachWatched(t, reporting, func(_ testing.TB, _ door, c *mcptest.Client) {
		c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hallo")
	}, func(t *testing.T, said string) {
		if !strings.Contains(said, "inside the server: "+errDatabase.Error()) {
			t.Errorf("the report is not shown:\n%s", said)
		}
	})
}

// The SDK recovers from a panic over stdio; over HTTP net/http does, which breaks
// the exchange off. With its own middleware it is an error of the call.
func TestPanicsAreShown(t *testing.T) {
	for name, opts := range map[string][]server.ServerOption{"alone": nil, "recovered": {server.WithRecovery()}} {
		t.Run(name, func(t *testing.T) {
			make := func() *server.MCPServer { return newServer(opts...) }
			eachWatched(t, make, func(t testing.TB, d door, c *mcptest.Client) {
				r := c.CallTool("broken", mcptest.Args{"how": "by a panic"})
				switch {
				case name == "recovered":
					r.HasErrorCode(-32603).HasErrorMessage("panic recovered in broken tool handler")
				case d.name == "messages":
					r.HasErrorCode(-32603).HasErrorMessage("internal panic: the index is lost")
				case r.Err() == nil || !strings.Contains(r.Err().Error(), "the handler panicked: the index is lost"):
					t.Errorf("WRONG: the exchange did not break off: %v", r.Err())
				}
				c.CallTool("echo", mcptest.Args{"text": "still there?"}).HasText("still there?")
			}, func(t *testing.T, said string) {
				for _, want := range []string{"the server: panic: the index is lost", "mcpgo_test.broken", "server_test.go"} {
					if !strings.Contains(said, want) {
						t.Errorf("%q is not shown:\n%s", want, said)
					}
				}
				for _, wrong := range []string{"WRONG", "tools/call"} {
					if before, _, _ := strings.Cut(said, "what crossed"); strings.Contains(before, wrong) {
						t.Errorf("the client did not get what it should:\n%s", said)
					}
				}
				if n := strings.Count(said, "the server: panic"); n != 1 {
					t.Errorf("the panic is shown %d times", n)
				}
			})
		})
	}
}

// A handler that fails a test of its own with FailNow leaves no answer.
func TestHandlersThatExitAreShown(t *testing.T) {
	make := func() *server.MCPServer {
		s := newServer()
		s.AddTool(mcp.NewTool("exit"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			exit()
			return nil, nil
		})
		return s
	}
	eachWatched(t, make, func(_ testing.TB, _ door, c *mcptest.Client) {
		if c.CallTool("exit", nil).Err() == nil {
			panic("there is an answer")
		}
	}, func(t *testing.T, said string) {
		if !strings.Contains(said, "ended its goroutine") {
			t.Errorf("the reason is not shown:\n%s", said)
		}
	})
}

// A tool that hangs and does not look at its context fails its test in bounded
// time, and says so.
func TestHungToolsAreLeftBehind(t *testing.T) {
	for _, d := range doors {
		for name, era := range map[string]mcptest.Option{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					defer func() { close(release); synctest.Wait() }()
					s := newServer()
					s.AddTool(mcp.NewTool("hang"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						<-release
						return mcp.NewToolResultText("at last"), nil
					})
					said, failed := watch(t, func(t testing.TB) {
						c := mcptest.Open(t, d.open(s), era)
						c.Start("hang", nil)
						synctest.Wait()
					})
					if !failed || !strings.Contains(said, "goes on after") {
						t.Errorf("failed is %t, and the test said:\n%s", failed, said)
					}
				})
			})
		}
	}
}

// Targets of one server share its one middleware.
func TestServersAreObservedOnce(t *testing.T) {
	s := newServer()
	said, _ := watch(t, func(t testing.TB) {
		for range 5 {
			mcpgo.Server(s)
			mcpgo.Handler(s)
			mcpgo.Through(http.NotFoundHandler(), s)
		}
		mcptest.Open(t, mcpgo.Server(s)).CallTool("broken", nil).HasText("fine")
	})
	if n := strings.Count(said, "inside the server: "); n != 1 {
		t.Errorf("the error was told %d times:\n%s", n, said)
	}
}

// Text that is no message has the fate that it has over stdio: it is answered.
func TestBrokenTextIsAnswered(t *testing.T) {
	c := mcptest.Open(t, mcpgo.Server(newServer()), mcptest.Legacy, mcptest.Lax)
	c.Raw([]byte(`{"jsonrpc":`)).HasErrorCode(-32700)
	c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
}
