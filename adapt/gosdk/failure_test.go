// SPDX-License-Identifier: Apache-2.0

package gosdk_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprove/mcprove/adapt/gosdk"
	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/record"
)

// eras are what each failure is shown in.
var eras = []struct {
	name   string
	option mcptest.Option
}{{"legacy", mcptest.Legacy}, {"modern", mcptest.Modern}}

// eachWatched runs a failing test through every door of an adapter, and gives what
// it said.
func eachWatched(t *testing.T, server func() *mcp.Server, body func(t testing.TB, c *mcptest.Client), judge func(t *testing.T, said string)) {
	t.Helper()
	for _, d := range doors {
		if d.name == "handler alone" {
			continue // it tells nothing, and a panic is the end of the process
		}
		for _, era := range eras {
			if era.name == "modern" && !d.modern {
				continue
			}
			t.Run(d.name+"/"+era.name, func(t *testing.T) {
				said, failed := watch(t, func(t testing.TB) { body(t, mcptest.Open(t, d.open(server()), era.option)) })
				if !failed {
					t.Fatal("the test did not fail")
				}
				judge(t, said)
			})
		}
	}
}

func TestErrorsBehindOthersAreShown(t *testing.T) {
	for _, how := range []string{"discreetly", "by another text"} {
		t.Run(how, func(t *testing.T) {
			eachWatched(t, newServer, func(_ testing.TB, c *mcptest.Client) {
				r := c.CallTool("broken", mcptest.Args{"how": how})
				r.HasText("fine")
				if strings.Contains(string(r.Frames()[1].Raw), errDatabase.Error()) {
					panic("the client sees it")
				}
			}, func(t *testing.T, said string) {
				if !strings.Contains(said, "inside the server: "+errDatabase.Error()) {
					t.Errorf("the cause is not shown:\n%s", said)
				}
			})
		})
	}
}

// Middleware that replaces errors tells the test by mcptest.Report.
func TestReportReachesTheTest(t *testing.T) {
	server := func() *mcp.Server {
		s := newServer()
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				r, err := next(ctx, method, req)
				if err != nil || method == "tools/call" {
					mcptest.Report(ctx, errDatabase)
				}
				return r, err
			}
		})
		return s
	}
	eachWatched(t, server, func(t testing.TB, c *mcptest.Client) {
		c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hallo")
	}, func(t *testing.T, said string) {
		if !strings.Contains(said, "inside the server: "+errDatabase.Error()) {
			t.Errorf("the report is not shown:\n%s", said)
		}
	})
}

// The SDK does not recover from a panic: the client of a process would see its
// connection end.
func TestPanicsEndTheConnection(t *testing.T) {
	eachWatched(t, newServer, func(_ testing.TB, c *mcptest.Client) {
		r := c.CallTool("broken", mcptest.Args{"how": "by a panic"})
		if r.Err() == nil {
			panic("the call has a result")
		}
		if c.CallTool("echo", mcptest.Args{"text": "still there?"}).Err() == nil {
			panic("the server lives")
		}
	}, func(t *testing.T, said string) {
		for _, want := range []string{"panic: the index is lost", "gosdk_test.broken", "server_test.go"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not shown:\n%s", want, said)
			}
		}
	})
}

// Others of the same server do not notice.
func TestPanicsEndOneConnection(t *testing.T) {
	for _, d := range doors[:4] {
		t.Run(d.name, func(t *testing.T) {
			to := d.open(newServer())
			c := mcptest.Open(t, to)
			_, failed := watch(t, func(t testing.TB) {
				mcptest.Open(t, to).CallTool("broken", mcptest.Args{"how": "by a panic"}).Ignore()
			})
			if !failed {
				t.Error("the test with the panic did not fail")
			}
			c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
		})
	}
}

// A tool that hangs and does not look at its context fails its test in bounded
// time, and says so.
func TestHungToolsAreLeftBehind(t *testing.T) {
	for _, d := range doors {
		for _, era := range eras {
			if era.name == "modern" && !d.modern {
				continue
			}
			t.Run(d.name+"/"+era.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					release := make(chan struct{})
					defer func() { close(release); synctest.Wait() }()
					s := newServer()
					mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
						<-release
						return text("at last"), nil, nil
					})
					said, failed := watch(t, func(t testing.TB) {
						c := mcptest.Open(t, d.open(s), era.option)
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

// A recorder around a target leaves it what it can.
func TestRecordedTargetsTellToo(t *testing.T) {
	r := record.New(record.Options{})
	said, _ := watch(t, func(t testing.TB) {
		c := mcptest.Open(t, r.Wrap(gosdk.Server(newServer())))
		c.CallTool("broken", mcptest.Args{"how": "discreetly"}).HasText("fine")
	})
	if !strings.Contains(said, "inside the server: "+errDatabase.Error()) {
		t.Errorf("the cause is not shown:\n%s", said)
	}
}

// Targets of one server share its one middleware.
func TestServersAreObservedOnce(t *testing.T) {
	s := newServer()
	calls := 0
	said, _ := watch(t, func(t testing.TB) {
		for range 5 {
			gosdk.Server(s)
			gosdk.Handler(s, nil)
			gosdk.Through(http.NotFoundHandler(), s)
		}
		c := mcptest.Open(t, gosdk.Server(s))
		c.CallTool("broken", mcptest.Args{"how": "discreetly"}).HasText("fine")
	})
	if calls = strings.Count(said, "inside the server: "); calls != 1 {
		t.Errorf("the error was told %d times:\n%s", calls, said)
	}
}

// Text that is no message has the fate that it has over stdio: the SDK ends the
// connection.
func TestBrokenTextEndsTheConnection(t *testing.T) {
	said, failed := watch(t, func(t testing.TB) {
		c := mcptest.Open(t, gosdk.Server(newServer()), mcptest.Legacy)
		c.Raw([]byte(`{"jsonrpc": nothing}`)).IsOK()
	})
	if !failed || !strings.Contains(said, "the server's function ended") {
		t.Errorf("failed is %t, and the test said:\n%s", failed, said)
	}
}

func TestHeadersReachTheServer(t *testing.T) {
	seen := make(chan string, 10)
	s := newServer()
	h := handler(s, mcp.StreamableHTTPOptions{})
	c := mcptest.Open(t, gosdk.Through(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case seen <- r.Header.Get("Authorization"):
		default:
		}
		h.ServeHTTP(w, r)
	}), s), mcptest.Header("Authorization", "Bearer hidden"))
	c.HasTool("echo")
	if got := <-seen; got != "Bearer hidden" {
		t.Errorf("the header is %q", got)
	}
}
