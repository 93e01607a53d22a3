// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// headerTool mirrors two of its arguments into headers.
const headerTool = `{"name":"route","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"opts":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Count"}}}}}}`

func TestModernHTTPRequestIsHeldToTheRules(t *testing.T) {
	s := mock.New(mock.Script{
		Revisions: []spec.Revision{spec.Rev20260728},
		Tools:     []mock.Tool{{Definition: raw(headerTool)}, {Definition: raw(`{"name":"größe","inputSchema":{"type":"object"}}`)}},
	})
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set(name, value) }
	}
	del := func(name string) func(http.Header) { return func(h http.Header) { h.Del(name) } }
	both := func(fs ...func(http.Header)) func(http.Header) {
		return func(h http.Header) {
			for _, f := range fs {
				f(h)
			}
		}
	}
	list := modern(spec.MethodToolsList, "")
	call := modern(spec.MethodToolsCall, `"name":"route","arguments":{"region":"eu","opts":{"n":42}}`)
	paramHeaders := both(set("Mcp-Param-Region", "eu"), set("Mcp-Param-Count", "42"))
	for _, tc := range []struct {
		name   string
		body   string
		change func(http.Header)
		status int
		code   int
	}{
		{"correct", list, nil, 200, 0},
		{"no version header", list, del(spec.HeaderProtocolVersion), 400, spec.CodeHeaderMismatch},
		{"another version header", list, set(spec.HeaderProtocolVersion, "2025-11-25"), 400, spec.CodeHeaderMismatch},
		{"two version headers", list, func(h http.Header) { h.Add(spec.HeaderProtocolVersion, "2026-07-28") }, 400, spec.CodeHeaderMismatch},
		{"no method header", list, del(spec.HeaderMethod), 400, spec.CodeHeaderMismatch},
		{"method header in another case", list, set(spec.HeaderMethod, "Tools/List"), 400, spec.CodeHeaderMismatch},
		{"no name header", call, both(paramHeaders, del(spec.HeaderName)), 400, spec.CodeHeaderMismatch},
		{"another name header", call, both(paramHeaders, set(spec.HeaderName, "rout")), 400, spec.CodeHeaderMismatch},
		{"bad base64 in the name header", call, both(paramHeaders, set(spec.HeaderName, "=?base64?%?=")), 400, spec.CodeHeaderMismatch},
		{"name in base64", modern(spec.MethodToolsCall, `"name":"größe"`), nil, 200, 0},
		{"name in base64 where it need not be", call, both(paramHeaders, set(spec.HeaderName, "=?base64?cm91dGU=?=")), 200, 0},
		{"arguments mirrored", call, paramHeaders, 200, 0},
		{"number mirrored in another spelling", call, both(paramHeaders, set("Mcp-Param-Count", "42.0")), 200, 0},
		{"argument without its header", call, set("Mcp-Param-Region", "eu"), 400, spec.CodeHeaderMismatch},
		{"argument with another header", call, both(paramHeaders, set("Mcp-Param-Region", "us")), 400, spec.CodeHeaderMismatch},
		{"null needs no header", modern(spec.MethodToolsCall, `"name":"route","arguments":{"region":null}`), nil, 200, 0},
		{"version unknown", strings.Replace(list, "2026-07-28", "2099-01-01", 1), nil, 400, spec.CodeUnsupportedVersion},
		{"version of the other era", strings.Replace(list, "2026-07-28", "2025-11-25", 1), nil, 400, spec.CodeUnsupportedVersion},
		{"initialize", initialize("2025-11-25"), nil, 400, spec.CodeUnsupportedVersion},
		{"no capabilities", strings.Replace(list, spec.MetaClientCapabilities, "x/y", 1), nil, 400, spec.CodeInvalidParams},
		{"capabilities of the wrong type", strings.Replace(list, ":{}}", ":[]}", 1), nil, 400, spec.CodeInvalidParams},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 400, spec.CodeInvalidParams},
		{"unknown log level", strings.Replace(list, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`, 1), nil, 200, spec.CodeInvalidParams},
		{"unknown method", modern("tools/shout", ""), nil, 404, spec.CodeMethodNotFound},
		{"method of a capability that is not declared", modern(spec.MethodPromptsList, ""), nil, 404, spec.CodeMethodNotFound},
		{"method of the legacy era", modern(spec.MethodPing, ""), nil, 404, spec.CodeMethodNotFound},
		{"unknown tool", modern(spec.MethodToolsCall, `"name":"nobody"`), nil, 200, spec.CodeInvalidParams},
		{"not JSON", `{"jsonrpc":`, nil, 400, spec.CodeParseError},
		{"empty", ``, nil, 400, spec.CodeParseError},
		{"a batch", `[` + list + `]`, nil, 400, spec.CodeInvalidRequest},
		{"a string", `"tools/list"`, nil, 400, spec.CodeInvalidRequest},
		{"id null", strings.Replace(list, `"id":1`, `"id":null`, 1), nil, 400, spec.CodeInvalidRequest},
		{"another jsonrpc", strings.Replace(list, `"2.0"`, `"1.0"`, 1), nil, 400, spec.CodeInvalidRequest},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, spec.CodeInvalidRequest},
		{"session id is ignored", list, set(spec.HeaderSessionID, "x"), 200, 0},
	} {
		w := post(s, tc.body, tc.change)
		if w.Code != tc.status || code(t, w.Body.Bytes()) != tc.code {
			t.Errorf("%s: %d %s; want %d with code %d", tc.name, w.Code, w.Body, tc.status, tc.code)
		}
		if w.Header().Get(spec.HeaderSessionID) != "" {
			t.Errorf("%s: a session id", tc.name)
		}
		c := spec.MessageContext{From: spec.Server, Method: wire.Read([]byte(tc.body)).Method}
		for _, v := range spec.Validate(spec.Rev20260728, c, w.Body.Bytes()) {
			t.Errorf("%s: %s in %s", tc.name, v, w.Body)
		}
	}
	w := post(s, strings.Replace(list, "2026-07-28", "2099-01-01", 1), nil)
	if !contains(w.Body.Bytes(), `"data":{"supported":["2026-07-28"],"requested":"2099-01-01"}`) {
		t.Errorf("data of the version error: %s", w.Body)
	}
	if w := post(s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, nil); w.Code != 202 || w.Body.Len() > 0 {
		t.Errorf("notification: %d %s", w.Code, w.Body)
	}
}

func TestHTTPMethodsMediaAndOrigins(t *testing.T) {
	dual := mock.New(mock.Script{Origins: []string{"https://app.example.com"}})
	modernOnly := mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20260728}})
	body := modern(spec.MethodDiscover, "")
	for _, tc := range []struct {
		name   string
		server http.Handler
		method string
		header map[string]string
		status int
	}{
		{"GET of the modern era", modernOnly, "GET", nil, 405},
		{"DELETE of the modern era", modernOnly, "DELETE", nil, 405},
		{"GET of a dual server with a modern header", dual, "GET", map[string]string{spec.HeaderProtocolVersion: "2026-07-28"}, 405},
		{"GET without a session", dual, "GET", nil, 400},
		{"GET of a session that never was", dual, "GET", map[string]string{spec.HeaderSessionID: "x"}, 404},
		{"DELETE without a session", dual, "DELETE", nil, 400},
		{"PUT", dual, "PUT", nil, 405},
		{"another media type", dual, "POST", map[string]string{"Content-Type": "text/plain"}, 415},
		{"media type with a parameter", dual, "POST", map[string]string{"Content-Type": "Application/JSON; charset=utf-8"}, 200},
		{"foreign origin", dual, "POST", map[string]string{"Origin": "https://evil.example.com"}, 403},
		{"origin null", dual, "POST", map[string]string{"Origin": "null"}, 403},
		{"origin that only begins like ours", dual, "POST", map[string]string{"Origin": "http://localhost.evil.example.com"}, 403},
		{"origin of the script", dual, "POST", map[string]string{"Origin": "https://app.example.com"}, 200},
		{"loopback by name", dual, "POST", map[string]string{"Origin": "http://localhost:6274"}, 200},
		{"loopback by address", dual, "POST", map[string]string{"Origin": "http://127.0.0.1:80"}, 200},
		{"loopback of IPv6", dual, "POST", map[string]string{"Origin": "http://[::1]:3000"}, 200},
		{"foreign origin on GET", modernOnly, "GET", map[string]string{"Origin": "https://evil.example.com"}, 403},
	} {
		r := httptest.NewRequest(tc.method, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if tc.method == "POST" {
			r.Header.Set(spec.HeaderProtocolVersion, "2026-07-28")
			r.Header.Set(spec.HeaderMethod, spec.MethodDiscover)
		}
		for k, v := range tc.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		tc.server.ServeHTTP(w, r)
		if w.Code != tc.status {
			t.Errorf("%s: %d %s, want %d", tc.name, w.Code, w.Body, tc.status)
		}
		if w.Code == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s: no Allow header", tc.name)
		}
	}
}

func TestLegacyHTTPSession(t *testing.T) {
	s := mock.New(mock.Script{Tools: mock.Library().Tools})
	w := post(s, initialize("2025-06-18"), nil)
	id := w.Header().Get(spec.HeaderSessionID)
	if w.Code != 200 || id == "" {
		t.Fatalf("initialize: %d %s", w.Code, w.Body)
	}
	session := func(h http.Header) { h.Set(spec.HeaderSessionID, id) }
	version := func(v string) func(http.Header) {
		return func(h http.Header) { session(h); h.Set(spec.HeaderProtocolVersion, v) }
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, tc := range []struct {
		name, body string
		change     func(http.Header)
		status     int
	}{
		{"initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, 202},
		{"list", list, session, 200},
		{"list with the version", list, version("2025-06-18"), 200},
		{"an unknown version", list, version("1999-01-01"), 400},
		{"no session id", list, nil, 400},
		{"another session id", list, func(h http.Header) { h.Set(spec.HeaderSessionID, "x") }, 404},
		{"an answer", `{"jsonrpc":"2.0","id":9,"result":{}}`, session, 202},
		{"not JSON", `{`, session, 400},
		{"a batch where there are none", `[` + list + `]`, session, 400},
		{"unknown method", `{"jsonrpc":"2.0","id":2,"method":"x"}`, session, 200},
		{"initialize again, another session", initialize("2024-11-05"), nil, 200},
		{"initialize without params", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, nil, 200},
	} {
		if w := post(s, tc.body, tc.change); w.Code != tc.status {
			t.Errorf("%s: %d %s, want %d", tc.name, w.Code, w.Body, tc.status)
		}
	}
	r := httptest.NewRequest(http.MethodDelete, "/", nil)
	session(r.Header)
	end := httptest.NewRecorder()
	s.ServeHTTP(end, r)
	if end.Code != 204 {
		t.Errorf("DELETE: %d", end.Code)
	}
	if w := post(s, list, session); w.Code != 404 {
		t.Errorf("after DELETE: %d", w.Code)
	}
}

func TestSessionThatBeginsOnAStream(t *testing.T) {
	script := mock.Library()
	script.Faults = []mock.Fault{mock.On(spec.MethodInitialize).Notify(spec.NotificationMessage, `{"level":"info","data":"hm"}`)}
	w := post(mock.New(script), initialize("2025-06-18"), nil)
	if w.Header().Get(spec.HeaderSessionID) == "" || w.Header().Get(spec.HeaderContentType) != spec.MediaEventStream {
		t.Errorf("%v", w.Header())
	}
}

func TestStructuredContentWhereTheRevisionHasIt(t *testing.T) {
	for r, want := range map[string]bool{"2025-03-26": false, "2025-06-18": true} {
		s := mock.New(mock.Specimen())
		id := post(s, initialize(r), nil).Header().Get(spec.HeaderSessionID)
		session := func(h http.Header) { h.Set(spec.HeaderSessionID, id) }
		list := post(s, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, session).Body.String()
		call := post(s, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_tide","arguments":{"station":"east"}}}`, session).Body.String()
		if strings.Contains(list, "outputSchema") != want || strings.Contains(call, "structuredContent") != want {
			t.Errorf("%s: %s\n%s", r, list, call)
		}
	}
}

func TestVersionThatIsNotServedIsAnsweredByTheNewest(t *testing.T) {
	s := mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20250326, spec.Rev20250618, spec.Rev20241105}})
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-11-25": "2025-06-18", "2026-07-28": "2025-06-18", "x": "2025-06-18"} {
		w := post(s, initialize(asked), nil)
		if got, _ := lookup(w.Body.Bytes(), "/result/protocolVersion"); string(got) != fmt.Sprintf("%q", want) {
			t.Errorf("asked for %s: %s", asked, w.Body)
		}
	}
}

func TestBatchWhereTheRevisionHasThem(t *testing.T) {
	s := mock.New(mock.Library())
	id := post(s, initialize("2025-03-26"), nil).Header().Get(spec.HeaderSessionID)
	session := func(h http.Header) { h.Set(spec.HeaderSessionID, id) }
	w := post(s, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"x"},7]`, session)
	m := wire.Read(w.Body.Bytes())
	if w.Code != 200 || m.Kind != wire.Batch || len(m.Batch()) != 3 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, v := range spec.Validate(spec.Rev20250326, spec.MessageContext{From: spec.Server}, w.Body.Bytes()) {
		if !strings.HasPrefix(v.Pointer, "/2") { // an element that is no message has no id to answer
			t.Errorf("%s in %s", v, w.Body)
		}
	}
	if w := post(s, `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, session); w.Code != 202 || w.Body.Len() > 0 {
		t.Errorf("only notifications: %d %s", w.Code, w.Body)
	}
	if w := post(s, `[]`, session); w.Code != 400 {
		t.Errorf("empty: %d %s", w.Code, w.Body)
	}
}

// initialized ends the handshake of a session.
func initialized(s *mock.Server, id string) {
	post(s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(h http.Header) { h.Set(spec.HeaderSessionID, id) })
}

func TestStandingStreamOverSockets(t *testing.T) {
	s := mock.New(everything())
	srv := httptest.NewServer(s)
	defer srv.Close()
	id := post(s, initialize("2025-11-25"), nil).Header().Get(spec.HeaderSessionID)
	if n := s.Notify(spec.NotificationToolsListChanged, nil); n != 0 {
		t.Errorf("%d took a notification before they were initialized", n)
	}
	initialized(s, id)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	get := func() *http.Response {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
		r.Header.Set(spec.HeaderSessionID, id)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := get()
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != spec.MediaEventStream {
		t.Fatalf("GET: %s", resp.Status)
	}
	second := get()
	second.Body.Close()
	if second.StatusCode != 409 {
		t.Errorf("a second stream: %s", second.Status)
	}
	if n := s.Notify(spec.NotificationToolsListChanged, nil); n != 1 {
		t.Errorf("%d took the notification", n)
	}
	if n := s.Notify(spec.NotificationResourcesUpdated, raw(`{"uri":"library://hours"}`)); n != 0 {
		t.Errorf("%d took an update that nobody asked for", n)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if data != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
				t.Errorf("data: %s", data)
			}
			break
		}
	}
	// The end of the session ends its stream.
	r, _ := http.NewRequest(http.MethodDelete, srv.URL, nil)
	r.Header.Set(spec.HeaderSessionID, id)
	end, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	end.Body.Close()
	for lines.Scan() {
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestEventStreamWhenTheScriptSaysSo(t *testing.T) {
	script := mock.Library()
	script.Stream = true
	for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
		j := newJudge(r)
		var streamed atomic.Bool
		s := open(t, mock.New(script).HTTP(""), session.Options{Revision: r, Tap: func(e transport.TapEvent) {
			j.tap(e)
			if e.Frame != nil && e.Frame.Event != nil {
				streamed.Store(true)
			}
		}})
		if _, err := s.List(within(t), spec.MethodToolsList); err != nil {
			t.Error(err)
		}
		j.report(t)
		if !streamed.Load() {
			t.Errorf("%s: no event stream", r)
		}
	}
}
