// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// events reads those of a body until it ends, or n of them.
func events(r io.Reader, n int) (es []*wire.Event) {
	in := wire.NewEvents(r, 0)
	for len(es) != n {
		e, err := in.Next()
		if err != nil {
			return es
		}
		es = append(es, e)
	}
	return es
}

func TestResumableStreams(t *testing.T) {
	release := make(chan struct{})
	s := mock.New(mock.Script{Resumable: true, Retry: 5 * time.Millisecond, Tools: []mock.Tool{
		{Definition: raw(`{"name":"drops","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{{
			Steps: []mock.Step{{Notify: &mock.Notice{Method: "notifications/x"}}, {Drop: true}, {Notify: &mock.Notice{Method: "notifications/y"}}},
			Delay: 10 * time.Millisecond, Result: raw(`{"content":[]}`),
		}}},
		{Definition: raw(`{"name":"held","inputSchema":{"type":"object"}}`), Func: func(ctx context.Context, c *mock.Call) (json.RawMessage, error) {
			c.Notify("notifications/x", nil)
			<-release
			return raw(`{"content":[]}`), ctx.Err()
		}},
	}, Capabilities: raw(`{"tools":{"listChanged":true}}`)})
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = s.Shutdown(within(t)) }()
	id := post(s, initialize("2025-11-25"), nil).Header().Get(spec.HeaderSessionID)
	initialized(s, id)
	do := func(ctx context.Context, method, body, last string) *http.Response {
		r, _ := http.NewRequestWithContext(ctx, method, srv.URL, strings.NewReader(body))
		r.Header.Set("Content-Type", spec.MediaJSON)
		r.Header.Set(spec.HeaderSessionID, id)
		if last != "" {
			r.Header.Set(spec.HeaderLastEventID, last)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"` + name + `"}}`
	}
	// The server closes the stream; the rest is found by Last-Event-ID.
	es := events(do(within(t), http.MethodPost, call("drops"), "").Body, -1)
	if len(es) < 3 || es[0].ID == "" || len(es[0].Data) > 0 || !contains(es[1].Data, "notifications/x") || es[len(es)-1].Retry != 5 {
		t.Fatalf("before: %d events, first %+v", len(es), es[0])
	}
	rest := events(do(within(t), http.MethodGet, "", es[1].ID).Body, -1)
	if len(rest) != 2 || !contains(rest[0].Data, "notifications/y") || !contains(rest[1].Data, `"id":5,"result"`) || rest[0].ID == es[1].ID {
		t.Errorf("after: %d events", len(rest))
	}
	// Everything again, from the first event on.
	if all := events(do(within(t), http.MethodGet, "", es[0].ID).Body, -1); len(all) != 3 {
		t.Errorf("all: %d events", len(all))
	}
	// The client goes away; the request does not end.
	ctx, cancel := context.WithCancel(t.Context())
	held := events(do(ctx, http.MethodPost, call("held"), "").Body, 2)
	cancel()
	close(release)
	if rest := events(do(within(t), http.MethodGet, "", held[1].ID).Body, -1); len(rest) != 1 || !contains(rest[0].Data, `"result"`) {
		t.Errorf("after the client came back: %d events", len(rest))
	}
	// The session's own stream.
	ctx, cancel = context.WithCancel(t.Context())
	own := events(do(ctx, http.MethodGet, "", "").Body, 1)
	cancel()
	if n := s.Notify(spec.NotificationToolsListChanged, nil); n != 1 {
		t.Errorf("%d took it", n)
	}
	if missed := events(do(within(t), http.MethodGet, "", own[0].ID).Body, 1); !contains(missed[0].Data, "list_changed") {
		t.Errorf("missed: %+v", missed[0])
	}
	for _, last := range []string{"nonsense", "99-1", "1-x"} {
		if resp := do(within(t), http.MethodGet, "", last); resp.StatusCode != 400 {
			t.Errorf("%s: %s", last, resp.Status)
		}
	}
	if resp := do(within(t), http.MethodDelete, "", ""); resp.StatusCode != 204 {
		t.Errorf("DELETE: %s", resp.Status)
	}
}

// Before 2025-11-25 a stream has no event of an id alone.
func TestNoPrimingEventBeforeItsRevision(t *testing.T) {
	script := mock.Library()
	script.Resumable = true
	s := mock.New(script)
	defer func() { _ = s.Shutdown(within(t)) }()
	id := post(s, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
	initialized(s, id)
	w := post(s, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, header(spec.HeaderSessionID, id))
	if es := events(bytes.NewReader(w.Body.Bytes()), -1); len(es) != 1 || es[0].ID == "" || !contains(es[0].Data, `"result"`) {
		t.Errorf("%s", w.Body)
	}
}

func TestResumableServerForAnOrdinaryClient(t *testing.T) {
	for _, r := range []spec.Revision{spec.Rev20250326, spec.Rev20251125} {
		script := mock.Specimen()
		script.Resumable = true
		srv, j := mock.New(script), newJudge(r)
		s := open(t, srv.HTTP(""), session.Options{Revision: r, Listen: true, Tap: j.tap, Handlers: willing(), Capabilities: raw(able)})
		if _, err := s.List(within(t), spec.MethodToolsList); err != nil {
			t.Error(err)
		}
		if _, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"explain_tide"}`)); err != nil {
			t.Error(err)
		}
		j.report(t)
		if err := srv.Shutdown(within(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestHTTPSSE(t *testing.T) {
	for _, path := range []string{"/sse", "/"} {
		script := mock.Specimen()
		script.SSEPath = path
		srv := mock.New(script)
		target := (&transport.Handler{Handler: srv, URL: "http://localhost" + path}).HTTPSSE()
		j, h := newJudge(spec.Rev20241105), &heard{}
		s := open(t, target, session.Options{Revision: spec.Rev20241105, Tap: j.tap, OnNotification: h.add, Handlers: willing(), Capabilities: raw(able)})
		if _, err := s.List(within(t), spec.MethodToolsList); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"explain_tide", "survey_harbour"} {
			if res, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"`+name+`"}`)); err != nil || contains(res.Raw, "isError") {
				t.Errorf("%s: %v", name, err)
			}
		}
		told(t, srv, spec.NotificationToolsListChanged, "")
		h.until(t, spec.NotificationToolsListChanged)
		j.report(t)
		if as := s.Anomalies(); len(as) > 0 {
			t.Errorf("anomalies: %+v", as)
		}
		r := httptest.NewRequest(http.MethodPost, path+"?connection=x", strings.NewReader(`{}`))
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		if w.Code != 404 {
			t.Errorf("a connection that never was: %d", w.Code)
		}
		if err := srv.Shutdown(within(t)); err != nil {
			t.Error(err)
		}
	}
}

// A message is one turn of its place, though it is posted first and taken in then.
func TestTurnsOverHTTPSSE(t *testing.T) {
	script := mock.Specimen()
	script.SSEPath = "/sse"
	script.Faults = []mock.Fault{mock.On(spec.MethodToolsList).OnTurn(1).Error(spec.CodeInternalError, "not now")}
	srv := mock.New(script)
	s := open(t, (&transport.Handler{Handler: srv, URL: "http://localhost/sse"}).HTTPSSE(), session.Options{Revision: spec.Rev20241105})
	for turn, fails := range []bool{true, false, false} {
		if _, err := s.Call(within(t), spec.MethodToolsList, nil); (err != nil) != fails {
			t.Errorf("turn %d: %v", turn+1, err)
		}
	}
	if err := srv.Shutdown(within(t)); err != nil {
		t.Error(err)
	}
}

func TestCarrierFaultsOfAResumableSession(t *testing.T) {
	list := mock.On(spec.MethodToolsList)
	for _, tc := range []struct {
		name  string
		fault mock.Fault
		after bool // a later request is answered
		waits bool
	}{
		{"hang up", list.OnTurn(1).HangUp(), true, false},
		{"half", list.OnTurn(1).Half(), true, false},
		{"die", list.OnTurn(1).Die(), false, false},
		{"drop", list.OnTurn(1).Drop(), true, true},
	} {
		script := mock.Library()
		script.Resumable, script.Faults = true, []mock.Fault{tc.fault}
		s := mock.New(script)
		id := post(s, initialize("2025-11-25"), nil).Header().Get(spec.HeaderSessionID)
		initialized(s, id)
		ask := func() (answered, aborted, late bool) {
			defer func() { aborted = recover() != nil }()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
			r.Header.Set("Content-Type", spec.MediaJSON)
			r.Header.Set(spec.HeaderSessionID, id)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return contains(w.Body.Bytes(), `"result"`), false, ctx.Err() != nil
		}
		if answered, aborted, late := ask(); answered || aborted == tc.waits || late != tc.waits {
			t.Errorf("%s: answered %t, aborted %t, late %t", tc.name, answered, aborted, late)
		}
		if answered, _, _ := ask(); answered != tc.after {
			t.Errorf("%s: afterwards %t", tc.name, answered)
		}
		if err := s.Shutdown(within(t)); err != nil {
			t.Error(err)
		}
	}
}

// Inside a batch nobody can be asked, and nobody waits for it.
func TestNoQuestionsInABatch(t *testing.T) {
	s := mock.New(mock.Specimen())
	begin := strings.Replace(initialize("2025-03-26"), `"capabilities":{}`, `"capabilities":{"sampling":{}}`, 1)
	id := post(s, begin, nil).Header().Get(spec.HeaderSessionID)
	w := post(s, `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"explain_tide"}}]`, header(spec.HeaderSessionID, id))
	if !contains(w.Body.Bytes(), `"isError":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
