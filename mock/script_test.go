// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

func TestScriptThatSaysOnlyWhatItMust(t *testing.T) {
	many := make([]string, 150)
	for i := range many {
		many[i] = fmt.Sprintf("v%03d", i)
	}
	script := mock.Script{
		Tools:     []mock.Tool{{Definition: raw("{\n \"name\": \"t\",\n \"inputSchema\": {\"type\": \"object\"}\n}")}},
		Resources: []mock.Resource{{Definition: raw(`{"uri":"a://b","name":"b"}`)}},
		Templates: []mock.Template{{Definition: raw(`{"uriTemplate":"a://{x}/c","name":"c"}`)}, {Definition: raw(`{"uriTemplate":"q://a{?x}","name":"q"}`)}},
		Prompts:   []mock.Prompt{{Definition: raw(`{"name":"p"}`), Complete: map[string][]string{"x": many}}},
	}
	for _, r := range []spec.Revision{spec.Rev20241105, spec.Rev20260728} {
		eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
			j := newJudge(r)
			s := open(t, target(mock.New(script)), session.Options{Revision: r, Tap: j.tap})
			for _, tc := range []struct{ method, params, pointer, want string }{
				{spec.MethodToolsCall, `{"name":"t"}`, "/content/0/text", `"Done."`},
				{spec.MethodResourcesRead, `{"uri":"a://b"}`, "/contents/0/text", `"Contents of a://b"`},
				{spec.MethodResourcesRead, `{"uri":"a://z/c"}`, "/contents/0/text", `"Contents of a://z/c"`},
				{spec.MethodPromptsGet, `{"name":"p"}`, "/messages/0/role", `"user"`},
				{spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"v"}}`, "/completion/hasMore", `true`},
				{spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"v"}}`, "/completion/total", `150`},
			} {
				res, err := s.Call(within(t), tc.method, raw(tc.params))
				if err != nil {
					t.Errorf("%s: %v", tc.method, err)
					continue
				}
				if got, _ := lookup(res.Raw, tc.pointer); string(got) != tc.want {
					t.Errorf("%s%s: %s, want %s", tc.method, tc.pointer, got, tc.want)
				}
			}
			j.report(t)
		})
	}
}

func TestScriptIsSentAsItIs(t *testing.T) {
	s := mock.New(mock.Script{Tools: []mock.Tool{
		{Definition: raw(`{"name":"a","name":"b","inputSchema":{"type":"object"}}`)},
		{Definition: raw(`nonsense`)},
		{Definition: raw(`{"name":7}`)},
	}})
	got := say(t, s, modern(spec.MethodToolsList, ""))
	if len(got) != 1 || !contains([]byte(got[0]), `"tools":[{"name":"a","name":"b","inputSchema":{"type":"object"}},nonsense,{"name":7}]`) {
		t.Errorf("%q", got)
	}
}

func TestSchemaTypes(t *testing.T) {
	for _, tc := range []struct {
		schema, good, bad string
	}{
		{`{"type":"boolean"}`, `true`, `"true"`},
		{`{"type":"null"}`, `null`, `0`},
		{`{"type":"number"}`, `1.5`, `"1.5"`},
		{`{"type":"integer"}`, `2.0`, `2.5`},
		{`{"type":["string","null"]}`, `null`, `1`},
		{`{"type":"array","items":{"type":"string"}}`, `["a"]`, `[1]`},
		{`{"enum":[1,"a",{"b":1}]}`, `{ "b": 1.0 }`, `2`},
		{`{"type":"object","additionalProperties":false}`, `{}`, `{"x":1}`},
		{`{"minimum":1,"maximum":2}`, `1e0`, `3`},
		{`{"type":"unheard of"}`, `1`, ``},
		{`true`, `1`, ``},
		{`{"type":7,"required":3,"properties":[],"enum":{},"minimum":"x"}`, `{}`, ``},
	} {
		s := mock.New(mock.Script{Tools: []mock.Tool{{Definition: raw(`{"name":"t","inputSchema":{"type":"object","properties":{"v":` + tc.schema + `}}}`)}}})
		failed := func(v string) bool {
			w := post(s, modern(spec.MethodToolsCall, `"name":"t","arguments":{"v":`+v+`}`), nil)
			return contains(w.Body.Bytes(), `"isError":true`)
		}
		if failed(tc.good) {
			t.Errorf("%s refuses %s", tc.schema, tc.good)
		}
		if tc.bad != "" && !failed(tc.bad) {
			t.Errorf("%s takes %s", tc.schema, tc.bad)
		}
	}
}

func TestBodiesThatCannotBeRead(t *testing.T) {
	s := mock.New(mock.Script{})
	for _, tc := range []struct {
		name   string
		body   *http.Request
		status int
	}{
		{"broken", httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(http.ErrBodyReadAfterClose)), 400},
		{"too large", httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", 65<<20))), 413},
	} {
		tc.body.Header.Set("Content-Type", spec.MediaJSON)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, tc.body)
		if w.Code != tc.status {
			t.Errorf("%s: %d", tc.name, w.Code)
		}
	}
}

func TestFaultsInAnEventStream(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	request := modern(spec.MethodDiscover, "")
	clean := post(mock.New(mock.Library()), request, nil).Body.String()
	event := func(s string) string { return "event: message\ndata: " + s + "\n\n" }
	for _, tc := range []struct {
		name  string
		fault mock.Fault
		want  string
	}{
		{"none", mock.Fault{}, event(clean)},
		{"noise before", discover.Before("hm"), event("hm") + event(clean)},
		{"noise after", discover.After("a\nb"), event(clean) + "event: message\ndata: a\ndata: b\n\n"},
		{"twice", discover.Twice(), event(clean) + event(clean)},
		{"half", discover.Half(), event(clean)[:len(event(clean))/2]},
		{"hang up", discover.HangUp(), ""},
	} {
		script := mock.Library()
		script.Stream, script.Faults = true, []mock.Fault{tc.fault}
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if v := recover(); v != nil && v != http.ErrAbortHandler {
					t.Errorf("%s: panic %v", tc.name, v)
				}
			}()
			post(recorded{mock.New(script), w}, request, nil)
		}()
		if w.Code != 200 || w.Body.String() != tc.want {
			t.Errorf("%s: %d %q, want %q", tc.name, w.Code, w.Body, tc.want)
		}
	}
}

// recorded serves into a recorder that outlives an aborted response.
type recorded struct {
	http.Handler
	w *httptest.ResponseRecorder
}

func (r recorded) ServeHTTP(_ http.ResponseWriter, q *http.Request) { r.Handler.ServeHTTP(r.w, q) }

func TestRequestsOverHTTPCanBeCancelled(t *testing.T) {
	t.Run("legacy, by a notification", func(t *testing.T) {
		script, began, ended := waiting()
		s := mock.New(script)
		id := post(s, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
		session := func(h http.Header) { h.Set(spec.HeaderSessionID, id) }
		done := make(chan *httptest.ResponseRecorder)
		go func() {
			done <- post(s, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"wait"}}`, session)
		}()
		<-began
		post(s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`, session)
		<-ended
		if w := <-done; w.Body.Len() > 0 {
			t.Errorf("an answer: %s", w.Body)
		}
	})
	t.Run("legacy, by the end of the session", func(t *testing.T) {
		script, began, ended := waiting()
		s := mock.New(script)
		id := post(s, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
		done := make(chan struct{})
		go func() {
			defer close(done)
			post(s, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"wait"}}`, func(h http.Header) { h.Set(spec.HeaderSessionID, id) })
		}()
		<-began
		r := httptest.NewRequest(http.MethodDelete, "/", nil)
		r.Header.Set(spec.HeaderSessionID, id)
		s.ServeHTTP(httptest.NewRecorder(), r)
		<-ended
		<-done
	})
	t.Run("modern, by leaving", func(t *testing.T) {
		script, began, ended := waiting()
		c, err := mock.New(script).HTTP("").Open(within(t), transport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		body := modern(spec.MethodToolsCall, `"name":"wait"`)
		sent, err := c.Send(within(t), transport.Outgoing{Raw: []byte(body), Header: headerOf(body)})
		if err != nil {
			t.Fatal(err)
		}
		<-began
		c.CloseChannel(sent.Channel)
		<-ended
		if err := c.Close(within(t)); err != nil {
			t.Error(err)
		}
	})
}
