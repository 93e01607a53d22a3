// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// answering is a legacy server that answers every request after the handshake
// with the bytes that it is given, the id in place of ID.
func answering(header func(http.Header), body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		m := wire.Read(text)
		switch m.Method {
		case spec.MethodInitialize:
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"by hand","version":"1"}}}`, m.ID)
		case spec.NotificationInitialized:
			w.WriteHeader(http.StatusAccepted)
		default:
			header(w.Header())
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(m.ID)))
		}
	})
}

// What a library would read and write anew is seen as it crossed.
func TestFramesAreThoseOfTheWire(t *testing.T) {
	for name, x := range map[string]struct {
		header func(http.Header)
		body   string
		want   string // Raw of the answer
	}{
		"duplicate keys": {
			func(h http.Header) { h.Set("Content-Type", "application/json") },
			`{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}`, `{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}`,
		},
		"an id as 1.0": {
			func(h http.Header) { h.Set("Content-Type", "application/json") },
			`{"jsonrpc":"2.0","id":ID.0,"result":{}}`, `{"jsonrpc":"2.0","id":ID.0,"result":{}}`,
		},
		"CRLF in SSE": {
			func(h http.Header) { h.Set("Content-Type", "text/event-stream") },
			"event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":ID,\"result\":{}}\r\n\r\n", "{\"jsonrpc\":\"2.0\",\n\"id\":ID,\"result\":{}}",
		},
		"a lower-case header": {
			func(h http.Header) { h.Set("Content-Type", "application/json"); h["x-odd"] = []string{"yes"} },
			`{"jsonrpc":"2.0","id":ID,"result":{}}`, `{"jsonrpc":"2.0","id":ID,"result":{}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := mcptest.Open(t, answering(x.header, x.body), mcptest.Revision("2025-06-18"), mcptest.Lax)
			r := c.Do("any/method", nil)
			r.Ignore()
			frames := r.Frames()
			if len(frames) != 2 {
				t.Fatalf("%d frames", len(frames))
			}
			id := string(r.Exchange().ID)
			f := frames[1]
			if got, want := string(f.Raw), strings.ReplaceAll(x.want, "ID", id); got != want {
				t.Errorf("the frame is %q, want %q", got, want)
			}
			if name == "CRLF in SSE" && (f.Event == nil || !bytes.Contains(f.Event.Raw, []byte("\r\ndata: \"id\""))) {
				t.Errorf("the event is %+v", f.Event)
			}
			if name == "a lower-case header" {
				var names []string
				for _, h := range r.Headers() {
					names = append(names, h.Name)
				}
				if got := strings.Join(names, " "); got != "Content-Length Content-Type x-odd" {
					t.Errorf("the headers are %s", got)
				}
			}
			if r.Status() != http.StatusOK || r.Header("X-ODD") != map[bool]string{true: "yes"}[name == "a lower-case header"] {
				t.Errorf("status %d, header %q", r.Status(), r.Header("X-Odd"))
			}
		})
	}
}

// Each of those is a violation, which fails the test unless it is Lax.
func TestMessagesAreHeldAgainstTheRevision(t *testing.T) {
	json := func(h http.Header) { h.Set("Content-Type", "application/json") }
	for name, x := range map[string]struct{ body, want string }{
		"duplicate-key": {`{"jsonrpc":"2.0","id":ID,"result":{"a":1,"a":2}}`, "duplicate"},
		"no-content":    {`{"jsonrpc":"2.0","id":ID,"result":{}}`, "content"},
		"wrong-version": {`{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}`, "jsonrpc"},
		"other-id":      {`{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`, "never used"},
	} {
		t.Run(name, func(t *testing.T) {
			call := func(opts ...mcptest.Option) *witness {
				return watch(t, func(t testing.TB) {
					c := mcptest.Open(t, answering(json, x.body), append(opts, mcptest.Revision("2025-06-18"))...)
					c.CallTool("any", nil).Ignore()
				})
			}
			w := call()
			if !w.failed || !strings.Contains(strings.Join(w.said, "\n"), x.want) {
				t.Errorf("the test said %q", w.said)
			}
			if w := call(mcptest.Lax); w.failed {
				t.Errorf("with Lax the test said %q", w.said)
			}
		})
	}
}

// A server that speaks another revision than the test is about is not tested.
func TestQuietDowngrades(t *testing.T) {
	old := mock.Script{Tools: []mock.Tool{echo}, Revisions: []spec.Revision{spec.Rev20250326}}
	for name, x := range map[string]struct {
		target any
		opts   []mcptest.Option
		want   string
	}{
		"pinned-legacy": {old, []mcptest.Option{mcptest.Revision("2025-11-25")}, "does not speak 2025-11-25; it names 2025-03-26"},
		"pinned-modern": {old, []mcptest.Option{mcptest.Revision("2026-07-28")}, "2026-07-28"},
		"unknown":       {old, []mcptest.Option{mcptest.Revision("2020-01-01")}, "mcptest.Revision"},
		"claims-modern": {namesModern(t), nil, "the server claims 2026-07-28, and speaks only 2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t, func(t testing.TB) { mcptest.Open(t, x.target, x.opts...); t.Error("it was opened") })
			if got := strings.Join(w.said, "\n"); len(w.said) != 1 || !strings.Contains(got, x.want) {
				t.Errorf("the test said %s", got)
			}
		})
	}
	c := mcptest.Open(t, old)
	if c.Revision() != "2025-03-26" || c.Modern() {
		t.Errorf("auto speaks %s", c.Revision())
	}
}

// namesModern refuses every modern request with the error that names 2026-07-28,
// and speaks the handshake.
func namesModern(t *testing.T) http.Handler {
	legacy := mock.New(mock.Script{Tools: []mock.Tool{echo}, Revisions: spec.Legacy.Revisions()})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		m := wire.Read(text)
		if m.Method == spec.MethodDiscover {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28","2025-11-25"],"requested":"2026-07-28"}}}`, m.ID)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		legacy.ServeHTTP(w, r)
	})
}

func TestOnlyTargetsAreOpened(t *testing.T) {
	for name, target := range map[string]any{
		"nil": nil, "a number": 7, "no URL": "npx server", "a fresh fresh": mcptest.Fresh(func(testing.TB) any { return mcptest.Fresh(nil) }),
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t, func(t testing.TB) { mcptest.Open(t, target) })
			if len(w.said) != 1 {
				t.Errorf("the test said %q", w.said)
			}
		})
	}
}

// What goes wrong inside of the server is in the failure.
func TestFailuresShowTheInside(t *testing.T) {
	server := mock.New(harbour())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "tide" {
			mcptest.Report(r.Context(), errors.New("the gauge is broken"))
		}
		if r.Header.Get("Mcp-Name") == "map" {
			panic("no map in the drawer")
		}
		server.ServeHTTP(w, r)
	})
	w := watch(t, func(t testing.TB) {
		logger := log.New(mcptest.ServerLog(t), "", 0)
		c := mcptest.Open(t, handler, mcptest.Header("Authorization", "Bearer deadbeefdeadbeef"))
		logger.Print("the lamp is lit")
		c.CallTool("tide", nil).HasText("low")
		c.CallTool("map", nil).Ignore()
	})
	said, logged := strings.Join(w.said, "\n"), strings.Join(w.logged, "\n")
	for _, want := range []string{"no map in the drawer", "kept_test.go:"} {
		if !strings.Contains(said, want) {
			t.Errorf("the test did not say %q:\n%s", want, said)
		}
	}
	for _, want := range []string{"the gauge is broken", "the lamp is lit", `-> {"jsonrpc":"2.0"`, "ms) {", "tools/call"} {
		if !strings.Contains(logged, want) {
			t.Errorf("the test did not show %q:\n%s", want, logged)
		}
	}
	if strings.Contains(said+logged, "deadbeef") {
		t.Error("the token is shown")
	}
}

func TestGoodTestsAreSilent(t *testing.T) {
	w := watch(t, func(t testing.TB) {
		_, _ = io.WriteString(mcptest.ServerLog(t), "all is well")
		mcptest.Open(t, harbour()).CallTool("tide", nil).IsOK()
	})
	if w.failed || len(w.logged) > 0 {
		t.Errorf("the test said %q and %q", w.said, w.logged)
	}
}

// What is long is in a file of the test.
func TestTheWholeTranscriptIsAnArtifact(t *testing.T) {
	keeps := flag.Lookup("test.artifacts")
	before := keeps.Value.String()
	defer func() { _ = keeps.Value.Set(before) }()
	_ = keeps.Value.Set("true")
	dir := t.TempDir()
	w := watch(t, func(t testing.TB) {
		t.(*witness).artifacts = dir
		c := mcptest.Open(t, echoing())
		for i := range 60 {
			c.CallTool("echo", mcptest.Args{"text": fmt.Sprintf("number %d", i)}).IsOK()
		}
		t.Error("fail")
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if rec, err := record.Read(files[0].Name(), data); err != nil || len(rec.ByMethod(spec.MethodToolsCall)) != 120 {
		t.Error(err)
	}
	if err != nil || !bytes.Contains(data, []byte("number 0")) || !bytes.Contains(data, []byte("number 59")) {
		t.Errorf("%v: %s", err, data)
	}
	if logged := strings.Join(w.logged, "\n"); strings.Contains(logged, "number 0\"") || !strings.Contains(logged, "number 59") || !strings.Contains(logged, files[0].Name()) {
		t.Errorf("the test showed %s", logged)
	}
}

// A tool that hangs is aborted, and one that cannot be is told.
func TestHungToolsDoNotReachTheNextTest(t *testing.T) {
	t.Parallel() // it waits for the bound of the end
	release := make(chan struct{})
	for name, x := range map[string]struct {
		tool func(ctx context.Context)
		want string
	}{
		"looks at its context": {func(ctx context.Context) { <-ctx.Done() }, ""},
		"does not":             {func(context.Context) { <-release }, "goes on after the end of the test"},
	} {
		t.Run(name, func(t *testing.T) {
			server := mock.New(echoing())
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Name") == "echo" {
					x.tool(r.Context())
					return
				}
				server.ServeHTTP(w, r)
			})
			var p *mcptest.Pending
			w := watch(t, func(t testing.TB) {
				c := mcptest.Open(t, h)
				p = c.Start("echo", mcptest.Args{"text": "x"})
			})
			select {
			case <-p.Done():
			default:
				t.Error("the call goes on")
			}
			if got := strings.Join(w.said, "\n"); (x.want == "") != (got == "") || !strings.Contains(got, x.want) {
				t.Errorf("the test said %q", got)
			}
		})
	}
	close(release)
}

// Requests have a bound, which is not one of virtual time.
func TestRequestsAreBounded(t *testing.T) {
	w := watch(t, func(t testing.TB) {
		c := mcptest.Open(t, echoing(), mcptest.Timeout(10*time.Millisecond))
		c.CallTool("echo", mcptest.Args{"text": "x", "minutes": 1}).IsOK()
	})
	if got := strings.Join(w.said, "\n"); !strings.Contains(got, "no answer within 10ms") {
		t.Errorf("the test said %s", got)
	}
	synctest.Test(t, func(t *testing.T) {
		mcptest.Open(t, echoing(), mcptest.Timeout(time.Hour)).CallTool("echo", mcptest.Args{"text": "x", "minutes": 59}).IsOK()
	})
}
