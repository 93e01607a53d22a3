// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// on answers one method by f.
func on(method string, f func(*peer, *wire.Message)) func(*peer, *wire.Message) bool {
	return func(p *peer, m *wire.Message) bool {
		if m.Method == method {
			f(p, m)
		}
		return m.Method == method
	}
}

func TestCorrelation(t *testing.T) {
	good := func(p *peer, m *wire.Message) { p.result(m, `{"resultType":"complete","n":1}`) }
	for _, tc := range []struct {
		name      string
		f         func(*peer, *wire.Message)
		answered  bool
		anomalies string
	}{
		{"right", good, true, ""},
		{"noise before, between and after", func(p *peer, m *wire.Message) {
			p.say("Server listening")
			p.say(`{"level":"info"}`)
			good(p, m)
			p.say("done")
		}, true, "noise×3"},
		{"blank lines", func(p *peer, m *wire.Message) { p.say(""); p.say(" "); good(p, m) }, true, "noise×2"},
		{"CRLF", func(p *peer, m *wire.Message) {
			p.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\r", m.ID)
		}, true, ""},
		{"twice", func(p *peer, m *wire.Message) { good(p, m); good(p, m); good(p, m) }, true, "repeated-response×2"},
		{"an id never used first", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":99,"result":{}}`); good(p, m) }, true, "unknown-id×1"},
		{"an old id", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`); good(p, m) }, true, "repeated-response×1"},
		{"the id as a string", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":"%s","result":{}}`, m.ID) }, false, "unknown-id×1"},
		{"no id", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","result":{}}`) }, false, "missing-id×1"},
		{"id null", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":null,"result":{}}`) }, false, "missing-id×1"},
		{"id an array", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":[%s],"result":{}}`, m.ID) }, false, "bad-id×1"},
		{"id 2.0", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":%s.0,"result":{}}`, m.ID) }, true, ""},
		{"in a batch", func(p *peer, m *wire.Message) { p.say(`[{"jsonrpc":"2.0","id":%s,"result":{}}]`, m.ID) }, true, "batch×1"},
		{"a request of the server", func(p *peer, m *wire.Message) { p.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); good(p, m) }, true, "server-request×1"},
		{"nothing", func(p *peer, m *wire.Message) {}, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, once(modern(on("tools/call", tc.f))), session.Options{})
				r, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
				if tc.answered {
					if err != nil || r.Exchange.Response == nil || r.Raw == nil || r.Exchange.Duration() < 0 {
						t.Errorf("%+v, %v", r, err)
					}
				} else if e := as[*session.TimeoutError](t, err); e.After != 30*time.Second || e.Method != "tools/call" || r.Exchange.Request() == nil {
					t.Errorf("%+v", e)
				}
				call(t, s, "tools/list", "") // the session goes on
				if got := anomalies(s); got != tc.anomalies {
					t.Errorf("anomalies %q, want %q", got, tc.anomalies)
				}
				shut(t, s)
			})
		})
	}
}

func TestLateAndCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled []string
		s := open(t, once(modern(func(p *peer, m *wire.Message) bool {
			switch m.Method {
			case "tools/call":
				time.AfterFunc(40*time.Second, func() { p.result(m, `{}`) })
			case "notifications/cancelled":
				cancelled = append(cancelled, string(m.Params))
			default:
				return false
			}
			return true
		})), session.Options{})
		_, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
		as[*session.TimeoutError](t, err)
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(time.Second, cancel)
		if _, err := s.Call(ctx, "tools/call", json.RawMessage(`{"name":"x"}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		if got := anomalies(s); got != "late-response×1 after-cancel×1" {
			t.Errorf("anomalies %s", got)
		}
		shut(t, s)
		if len(cancelled) != 2 || cancelled[0] != `{"requestId":2,"reason":"timed out"}` || cancelled[1] != `{"requestId":3,"reason":"cancelled"}` {
			t.Errorf("cancellations %q", cancelled)
		}
	})
}

func TestCallResults(t *testing.T) {
	for _, tc := range []struct{ name, result, want string }{
		{"complete", `{"resultType":"complete"}`, ""},
		{"absent", `{"content":[]}`, ""},
		{"a tool's error", `{"resultType":"complete","isError":true,"content":[]}`, ""},
		{"unknown", `{"resultType":"partial"}`, `unknown resultType "partial"`},
		{"a task nobody declared", `{"resultType":"task"}`, `unknown resultType "task"`},
		{"a number", `{"resultType":1}`, "resultType is no string"},
		{"an array", `[]`, "the result is no object but array"},
		{"null", `null`, "the result is no object but null"},
	} {
		s := open(t, once(modern(on("tools/call", func(p *peer, m *wire.Message) { p.result(m, tc.result) }))), session.Options{})
		r, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
		if tc.want == "" {
			if err != nil || r.ResultType != "complete" || string(r.Raw) != tc.result {
				t.Errorf("%s: %+v, %v", tc.name, r, err)
			}
			continue
		}
		if e := as[*session.ResultError](t, err); !strings.Contains(e.Error(), tc.want) || e.Frame == nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	s := open(t, once(modern(failOn("tools/call", -32602, `,"data":{"a":1}`))), session.Options{})
	_, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
	if e := as[*session.RPCError](t, err); e.Code != -32602 || string(e.Data) != `{"a":1}` || e.Method != "tools/call" {
		t.Errorf("%+v", e)
	}
	s = open(t, once(legacy(on("tools/call", func(p *peer, m *wire.Message) { p.result(m, `{"resultType":"odd"}`) }))), session.Options{})
	if r := call(t, s, "tools/call", `{"name":"x"}`); r.ResultType != "complete" {
		t.Errorf("legacy: %+v", r)
	}
}

func TestCallWhenTheServerDies(t *testing.T) {
	s := open(t, process("forks"), session.Options{})
	begin := time.Now()
	_, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
	if e := as[*transport.Error](t, err); e.Reason != transport.Died || e.Exit == nil {
		t.Errorf("%+v", e)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("noticed after %s", d)
	}
	if _, err := s.Call(t.Context(), "tools/list", nil); transport.ReasonOf(err) != transport.Died {
		t.Errorf("the next call: %v", err)
	}
}

func TestMeta(t *testing.T) {
	var seen []string
	keep := func(p *peer, m *wire.Message) bool {
		seen = append(seen, string(m.Params))
		return false
	}
	s := open(t, once(modern(keep)), session.Options{ClientInfo: json.RawMessage(`{"name":"c"}`), LogLevel: "debug",
		Handlers: session.Handlers{Elicit: nothing, Roots: nothing, Sample: nothing}})
	const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{},"sampling":{}},"io.modelcontextprotocol/logLevel":"debug"`
	call(t, s, "tools/list", "")
	call(t, s, "tools/list", `{"cursor":"x","_meta":{"traceparent":"00","io.modelcontextprotocol/logLevel":"error"}}`)
	if _, err := s.Do(t.Context(), session.Request{Method: "x", ProgressToken: json.RawMessage(`"t"`)}); err != nil {
		t.Error(err)
	}
	call(t, s, "x", `{"_meta":3}`)
	want := []string{
		`{"_meta":{` + meta + `}}`, `{"_meta":{` + meta + `}}`,
		`{"cursor":"x","_meta":{"traceparent":"00","io.modelcontextprotocol/logLevel":"error",` + strings.TrimSuffix(meta, `,"io.modelcontextprotocol/logLevel":"debug"`) + `}}`,
		`{"_meta":{` + meta + `,"progressToken":"t"}}`,
		`{"_meta":3}`,
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("params\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	if _, err := s.Call(t.Context(), "x", json.RawMessage(`[1]`)); err == nil {
		t.Error("params that are an array were sent")
	}
	shut(t, s)

	seen = nil
	s = open(t, once(legacy(keep)), session.Options{Era: spec.Legacy})
	call(t, s, "tools/list", "")
	call(t, s, "tools/list", `{"cursor":"x"}`)
	shut(t, s)
	if got := strings.Join(seen, "\n"); got != `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcprove","version":"0.0.0"}}`+"\n\n\n"+`{"cursor":"x"}` {
		t.Errorf("legacy params\n%s", got)
	}
}

func nothing(context.Context, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

func TestHeaders(t *testing.T) {
	var seen []http.Header
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		seen = append(seen, r.Header.Clone())
		switch {
		case m.Method == "server/discover":
			writeJSON(w, 200, "%s", answer(m, discovered))
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "abc")
			writeJSON(w, 200, "%s", answer(m, initialized))
		case m.Kind == wire.Request:
			writeJSON(w, 200, "%s", answer(m, "{}"))
		default:
			w.WriteHeader(202)
		}
	})
	expect := func(i int, name, want string) {
		t.Helper()
		if got := seen[i].Get(name); got != want {
			t.Errorf("request %d: %s: %q, want %q", i, name, got, want)
		}
	}
	s := open(t, h, session.Options{})
	call(t, s, "tools/call", `{"name":"grüße","arguments":{"region":"eu","n":42.0,"x":null}}`)
	call(t, s, "resources/read", `{"uri":"file:///a"}`)
	_, err := s.Do(t.Context(), session.Request{Method: "tools/call", Params: json.RawMessage(`{"name":"q","arguments":{"region":" eu","n":42}}`),
		ToolSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`),
		Header:     []wire.HeaderField{{Name: "mcp-method", Value: "wrong"}}})
	if err != nil {
		t.Error(err)
	}
	shut(t, s)
	for i := range 4 {
		expect(i, "MCP-Protocol-Version", "2026-07-28")
		expect(i, "Mcp-Session-Id", "")
	}
	expect(0, "Mcp-Method", "server/discover")
	expect(0, "Mcp-Name", "")
	expect(1, "Mcp-Method", "tools/call")
	expect(1, "Mcp-Name", "=?base64?Z3LDvMOfZQ==?=")
	expect(2, "Mcp-Name", "file:///a")
	expect(3, "Mcp-Method", "wrong")
	expect(3, "Mcp-Param-Region", "=?base64?IGV1?=")
	expect(3, "Mcp-Param-N", "42")
	if len(seen[3].Values("Mcp-Method")) != 1 {
		t.Errorf("two headers: %v", seen[3])
	}

	seen = nil
	s = open(t, h, session.Options{Era: spec.Legacy})
	call(t, s, "tools/call", `{"name":"x"}`)
	shut(t, s)
	if len(seen) != 4 {
		t.Fatalf("%d requests, want initialize, initialized, tools/call, DELETE", len(seen))
	}
	expect(0, "MCP-Protocol-Version", "")
	expect(0, "Mcp-Session-Id", "")
	for i := 1; i < 4; i++ {
		expect(i, "MCP-Protocol-Version", "2025-11-25")
		expect(i, "Mcp-Session-Id", "abc")
		expect(i, "Mcp-Method", "")
	}
}

func TestHTTPAnswers(t *testing.T) {
	for _, tc := range []struct {
		name      string
		f         reply
		check     func(*session.Result, error) string
		anomalies string
	}{
		{"an error by status", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 404, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}, rpc(-32601, 404), ""},
		{"an error without an id", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 400, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`)
		}, rpc(-32602, 400), ""},
		{"events before the answer", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeEvents(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, answer(m, "{}"))
		}, ok, ""},
		{"another id", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 200, `{"jsonrpc":"2.0","id":77,"result":{}}`)
		}, because(transport.NotMCP, "answers another request"), "unknown-id×1"},
		{"another media type", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte(answer(m, "{}")))
		}, ok, "media-type×1"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { writeJSON(w, 200, "oops") },
			because(transport.NotMCP, "no JSON-RPC"), "noise×1"},
		{"202", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { w.WriteHeader(202) },
			because(transport.NotMCP, "HTTP 202"), ""},
		{"HTML", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { _, _ = w.Write([]byte("<html>")) },
			because(transport.NotMCP, "HTML"), ""},
		{"401", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { w.WriteHeader(401) }, because(transport.AuthNeeded, "401"), ""},
		{"half an event", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n"))
		}, because(transport.Broken, "before the answer"), "unfinished×1"},
		{"a session id", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			w.Header().Set("Mcp-Session-Id", "x")
			writeJSON(w, 200, "%s", answer(m, "{}"))
		}, ok, "session-id×1"},
	} {
		s := open(t, handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
			if m.Method == "server/discover" {
				writeJSON(w, 200, "%s", answer(m, discovered))
				return
			}
			tc.f(w, r, m)
		}), session.Options{})
		r, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
		if wrong := tc.check(r, err); wrong != "" {
			t.Errorf("%s: %s", tc.name, wrong)
		}
		if len(r.Exchange.Heads) != 2 || r.Exchange.Request().HTTP != r.Exchange.Heads[0] {
			t.Errorf("%s: heads %+v", tc.name, r.Exchange.Heads)
		}
		if got := anomalies(s); got != tc.anomalies {
			t.Errorf("%s: anomalies %q, want %q", tc.name, got, tc.anomalies)
		}
	}
}

func ok(_ *session.Result, err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func rpc(code int64, status int) func(*session.Result, error) string {
	return func(_ *session.Result, err error) string {
		var e *session.RPCError
		if !errors.As(err, &e) || e.Code != code || e.Status != status {
			return fmt.Sprintf("%+v", err)
		}
		return ""
	}
}

func because(reason transport.Reason, words string) func(*session.Result, error) string {
	return func(_ *session.Result, err error) string {
		if transport.ReasonOf(err) != reason || !strings.Contains(err.Error(), words) {
			return fmt.Sprintf("%v (%s)", err, transport.ReasonOf(err))
		}
		return ""
	}
}

func TestReissue(t *testing.T) {
	var ids []string
	breaks := 0
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		if m.Method == "server/discover" {
			writeJSON(w, 200, "%s", answer(m, discovered))
			return
		}
		ids = append(ids, string(m.ID))
		if breaks > 0 {
			breaks--
			writeEvents(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			panic(http.ErrAbortHandler)
		}
		writeEvents(w, answer(m, "{}"))
	})
	s := open(t, h, session.Options{})
	for _, tc := range []struct {
		r      session.Request
		breaks int
		ids    string
		fails  bool
	}{
		{session.Request{Method: "tools/list"}, 1, "2 3", false},
		{session.Request{Method: "tools/list"}, 5, "4 5 6", true},
		{session.Request{Method: "tools/call"}, 1, "7", true},
		{session.Request{Method: "tools/call", Safe: true}, 2, "8 9 10", false},
	} {
		ids, breaks = nil, tc.breaks
		r, err := s.Do(t.Context(), tc.r)
		if (err != nil) != tc.fails || strings.Join(ids, " ") != tc.ids || tc.fails && transport.ReasonOf(err) != transport.Broken {
			t.Errorf("%+v: ids %v, %v", tc.r, ids, err)
		}
		if r.Reissued != len(ids)-1 {
			t.Errorf("%+v: reissued %d", tc.r, r.Reissued)
		}
	}
}

func TestModernCancellationClosesTheStream(t *testing.T) {
	ended := make(chan struct{})
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		if m.Method == "server/discover" {
			writeJSON(w, 200, "%s", answer(m, discovered))
			return
		}
		writeEvents(w)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	})
	s := open(t, h, session.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Call(ctx, "tools/call", json.RawMessage(`{"name":"x"}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the stream was not closed")
	}
}

func TestLegacyStreamIsResumed(t *testing.T) {
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case r.Method == "GET":
			if r.Header.Get("Last-Event-ID") != "e1" {
				w.WriteHeader(405)
				return
			}
			_, _ = w.Write([]byte("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"ok\":1}}\n\n"))
		case m.Method == "initialize":
			writeJSON(w, 200, "%s", answer(m, initialized))
		case m.Kind == wire.Request:
			_, _ = w.Write([]byte("id: e1\nretry: 5\ndata:\n\n"))
		default:
			w.WriteHeader(202)
		}
	})
	s := open(t, h, session.Options{Era: spec.Legacy})
	r := call(t, s, "tools/call", `{"name":"x"}`)
	if string(r.Raw) != `{"ok":1}` {
		t.Errorf("%s", r.Raw)
	}
}

func TestResultThatIsTooDeep(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 10_000) + "{}" + strings.Repeat("}", 10_000)
	s := open(t, once(modern(on("tools/list", func(p *peer, m *wire.Message) {
		p.say("%s", answer(m, `{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":`+deep+`}]}`))
	}))), session.Options{})
	_, err := s.List(t.Context(), "tools/list")
	if e := as[*session.ResultError](t, err); !strings.Contains(e.Detail, "/result/tools/1/inputSchema/items") {
		t.Errorf("%v", err)
	}
}

// TestInterrupt: the end of the context ends everything at once.
func TestInterrupt(t *testing.T) {
	for _, name := range []string{"silent", "floods", "half", "never exits"} {
		ctx, cancel := context.WithCancel(t.Context())
		var begin time.Time
		interrupt := func() {
			begin = time.Now()
			cancel()
		}
		target := process(name)
		target.CloseGrace, target.TermGrace = time.Hour, time.Hour
		if name == "never exits" {
			// Open must succeed first, however long the process takes to start.
			s, err := session.Open(ctx, target, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			interrupt()
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
		} else {
			time.AfterFunc(200*time.Millisecond, interrupt)
			if _, err := session.Open(ctx, target, session.Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// A kill and the wait for it, on a machine that may be busy.
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%s: took %s", name, d)
		}
	}
}
