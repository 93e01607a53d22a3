// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// pages answers tools/list by a function of the cursor, which is "-" when
// there is none.
func pages(f func(cursor string) string) func(*peer, *wire.Message) bool {
	return on("tools/list", func(p *peer, m *wire.Message) {
		var params struct {
			Cursor *string `json:"cursor"`
		}
		_ = json.Unmarshal(m.Params, &params)
		cursor := "-"
		if params.Cursor != nil {
			cursor = *params.Cursor
		}
		p.result(m, f(cursor))
	})
}

func TestList(t *testing.T) {
	table := func(m map[string]string) func(string) string { return func(c string) string { return m[c] } }
	three := map[string]string{"-": `{"nextCursor":"b"}`, "b": `{"nextCursor":"c"}`, "c": `{}`}
	for _, tc := range []struct {
		name  string
		serve func(func(*peer, *wire.Message) bool) func(*peer)
		f     func(string) string
		pages int
		check func(*session.Session, *session.Listing, error) string
	}{
		{"one page", modern, table(map[string]string{"-": "{}"}), 1, good("")},
		{"three pages", modern, table(three), 3, good("")},
		{"three pages, legacy", legacy, table(three), 3, good("")},
		{"an empty cursor is one", modern, table(map[string]string{"-": `{"nextCursor":""}`, "": `{}`}), 2, good("")},
		{"an empty cursor ends", legacy, table(map[string]string{"-": `{"nextCursor":""}`}), 1, func(s *session.Session, l *session.Listing, err error) string {
			if a := s.Anomalies(); err != nil || len(l.Notes) != 0 || len(a) != 1 || a[0].Kind != session.EmptyCursor ||
				a[0].Note != "tools/list: nextCursor is empty, read as the end of the list" {
				return fmt.Sprint(err, l.Notes, a)
			}
			return ""
		}},
		{"null ends", modern, table(map[string]string{"-": `{"nextCursor":null}`}), 1, good("nextCursor is null")},
		{"a number", modern, table(map[string]string{"-": `{"nextCursor":5}`}), 1, func(_ *session.Session, _ *session.Listing, err error) string {
			var p *session.PageError
			var r *session.ResultError
			if !errors.As(err, &p) || p.Page != 1 || !errors.As(err, &r) {
				return fmt.Sprint(err)
			}
			return ""
		}},
		{"a cursor again", modern, table(map[string]string{"-": `{"nextCursor":"b"}`, "b": `{"nextCursor":"c"}`, "c": `{"nextCursor":"b"}`}), 3, repeats("b")},
		{"an empty cursor again", modern, table(map[string]string{"-": `{"nextCursor":""}`, "": `{"nextCursor":""}`}), 2, repeats("")},
		{"no end", modern, func(c string) string { return fmt.Sprintf(`{"nextCursor":"%d"}`, len(c)) }, 2, repeats("1")},
	} {
		s := open(t, once(tc.serve(pages(tc.f))), session.Options{})
		l, err := s.List(t.Context(), "tools/list")
		if wrong := tc.check(s, l, err); wrong != "" || len(l.Pages) != tc.pages {
			t.Errorf("%s: %d pages, %s", tc.name, len(l.Pages), wrong)
		}
	}
}

func good(note string) func(*session.Session, *session.Listing, error) string {
	return func(s *session.Session, l *session.Listing, err error) string {
		if err != nil {
			return err.Error()
		}
		if got := strings.Join(l.Notes, ""); !strings.Contains(got, note) || note == "" && got != "" {
			return "notes " + got
		}
		return ""
	}
}

func repeats(cursor string) func(*session.Session, *session.Listing, error) string {
	return func(_ *session.Session, l *session.Listing, err error) string {
		var c *session.CursorError
		if !errors.As(err, &c) || !c.Repeat || c.Cursor != cursor {
			return fmt.Sprintf("%+v", err)
		}
		return ""
	}
}

func TestListOfTenThousandPages(t *testing.T) {
	n := 0
	s := open(t, once(modern(pages(func(string) string { n++; return fmt.Sprintf(`{"nextCursor":"c%d"}`, n) }))), session.Options{})
	l, err := s.List(t.Context(), "tools/list")
	if e := as[*session.CursorError](t, err); e.Repeat || e.Pages != 10_000 || len(l.Pages) != 10_000 || n != 10_000 || e.Cursor != "c10000" {
		t.Errorf("%+v after %d pages", e, n)
	}
}

func TestListFailsOnItsSecondPage(t *testing.T) {
	s := open(t, once(modern(func(p *peer, m *wire.Message) bool {
		if m.Method != "tools/list" {
			return false
		}
		if strings.Contains(string(m.Params), "cursor") {
			p.fail(m, -32603, "")
		} else {
			p.result(m, `{"tools":[],"nextCursor":"x"}`)
		}
		return true
	})), session.Options{})
	l, err := s.List(t.Context(), "tools/list")
	e := as[*session.PageError](t, err)
	if as[*session.RPCError](t, err).Code != -32603 || e.Page != 2 || len(l.Pages) != 1 || l.Failed == nil {
		t.Errorf("%+v", e)
	}
}

func TestServerRequestsAreAnswered(t *testing.T) {
	asks := func(p *peer, m *wire.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
		var got []string
		for _, ask := range []string{`"ping"`, `"roots/list"`, `"sampling/createMessage"`, `"elicitation/create","params":{"message":"?"}`, `"odd/method"`} {
			p.say(`{"jsonrpc":"2.0","id":"s1","method":%s}`, ask)
			a := p.next()
			if a.Error != nil {
				got = append(got, fmt.Sprint(a.Error.Code))
			} else {
				got = append(got, string(a.Result))
			}
		}
		b, _ := json.Marshal(got)
		p.result(m, `{"got":`+string(b)+`}`)
		return true
	}
	echo := func(_ context.Context, params json.RawMessage) (json.RawMessage, error) { return params, nil }
	for _, tc := range []struct {
		h    session.Handlers
		want string
	}{
		{session.Handlers{}, `{"got":["{}","-32601","-32601","-32601","-32601"]}`},
		{session.Handlers{
			Elicit: echo,
			Roots: func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, &session.RPCError{Code: -1, Message: "no"}
			},
			Sample: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, io.EOF },
			Other: func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`"` + method + `"`), nil
			},
		}, `{"got":["{}","-1","-32603","{\"message\":\"?\"}","\"odd/method\""]}`},
	} {
		s := open(t, once(legacy(asks)), session.Options{Handlers: tc.h})
		var progress int
		r, err := s.Do(t.Context(), session.Request{Method: "tools/call", ProgressToken: json.RawMessage(`"t"`),
			OnNotification: func(*wire.Frame) { progress++ }})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Raw) != tc.want {
			t.Errorf("%s, want %s", r.Raw, tc.want)
		}
		if n := len(r.Exchange.Frames); n != 13 || progress != 1 || len(s.Notifications()) != 1 {
			t.Errorf("%d frames, %d progress, %d notifications", n, progress, len(s.Notifications()))
		}
	}
}

func TestServerTakesARequestBack(t *testing.T) {
	ended := make(chan error, 1)
	s := open(t, once(legacy(func(p *peer, m *wire.Message) bool {
		if m.Method == "tools/call" {
			p.say(`{"jsonrpc":"2.0","id":5,"method":"roots/list"}`)
			p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
			p.result(m, "{}")
		}
		return m.Method == "tools/call"
	})), session.Options{Handlers: session.Handlers{Roots: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}})
	call(t, s, "tools/call", "")
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the handler was not told")
	}
}

func TestServerRequestsOverHTTP(t *testing.T) {
	answers := make(chan string, 4)
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		switch {
		case r.Method == "GET":
			writeEvents(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			<-r.Context().Done()
		case m.Method == "initialize":
			writeJSON(w, 200, "%s", answer(m, initialized))
		case m.Method == "tools/call":
			writeEvents(w, `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
			got := []string{<-answers, <-answers}
			writeEvents(w, answer(m, fmt.Sprintf(`{"n":%d}`, len(got))))
		case m.IsResponse():
			answers <- string(m.Raw)
			w.WriteHeader(202)
		default:
			w.WriteHeader(202)
		}
	})
	s := open(t, h, session.Options{Era: spec.Legacy, Listen: true})
	r := call(t, s, "tools/call", "")
	if string(r.Raw) != `{"n":2}` || len(r.Exchange.Frames) != 4 {
		t.Errorf("%s, %d frames", r.Raw, len(r.Exchange.Frames))
	}
	for range 100 {
		if len(s.Notifications()) == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(s.Notifications()) != 1 || anomalies(s) != "" {
		t.Errorf("%d notifications, anomalies %s", len(s.Notifications()), anomalies(s))
	}
}

func TestRounds(t *testing.T) {
	var seen []string
	server := func(p *peer, m *wire.Message) bool {
		if m.Method != "tools/call" {
			return false
		}
		var params map[string]json.RawMessage
		_ = json.Unmarshal(m.Params, &params)
		seen = append(seen, fmt.Sprintf("%s %s %s %s", m.ID, params["arguments"], params["inputResponses"], params["requestState"]))
		switch {
		case params["requestState"] == nil:
			p.result(m, `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}},`+
				`"b":{"method":"roots/list"}},"requestState":"s\u0031"}`)
		case string(params["requestState"]) == `"s\u0031"`:
			p.result(m, `{"resultType":"input_required","requestState":"two"}`)
		default:
			p.result(m, `{"resultType":"complete","ok":true}`)
		}
		return true
	}
	handlers := session.Handlers{
		Elicit: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"action":"accept"}`), nil
		},
		Roots: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"roots":[]}`), nil
		},
	}
	s := open(t, once(modern(server)), session.Options{Handlers: handlers})
	r := call(t, s, "tools/call", `{"name":"x","arguments":{"k":1}}`)
	want := []string{`2 {"k":1}  `, `3 {"k":1} {"a":{"action":"accept"},"b":{"roots":[]}} "s\u0031"`, `4 {"k":1}  "two"`}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") || r.Rounds != 3 || len(r.Exchange.Frames) != 6 || r.ResultType != "complete" {
		t.Errorf("%s\n%+v", strings.Join(seen, "\n"), r)
	}
	r, err := s.Do(t.Context(), session.Request{Method: "tools/call", KeepRounds: true})
	if err != nil || r.ResultType != "input_required" {
		t.Errorf("%+v, %v", r, err)
	}
	s = open(t, once(modern(server)), session.Options{})
	if _, err := s.Call(t.Context(), "tools/call", nil); as[*session.RPCError](t, err).Code != -32601 {
		t.Errorf("without a handler: %v", err)
	}
	s = open(t, once(modern(on("tools/call", func(p *peer, m *wire.Message) {
		p.result(m, `{"resultType":"input_required","requestState":"again"}`)
	}))), session.Options{MaxRounds: 3})
	if _, err := s.Call(t.Context(), "tools/call", nil); as[*session.RoundsError](t, err).Rounds != 4 {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{`{"resultType":"input_required"}`, `{"resultType":"input_required","requestState":1}`, `{"resultType":"input_required","inputRequests":[]}`} {
		s = open(t, once(modern(on("tools/call", func(p *peer, m *wire.Message) { p.result(m, bad) }))), session.Options{})
		if _, err := s.Call(t.Context(), "tools/call", nil); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	s = open(t, once(modern(on("tools/list", func(p *peer, m *wire.Message) { p.result(m, `{"resultType":"input_required","requestState":"x"}`) }))), session.Options{})
	_, err = s.Call(t.Context(), "tools/list", nil)
	as[*session.ResultError](t, err)
}

func TestRaw(t *testing.T) {
	parse := func(p *peer, m *wire.Message) bool {
		switch m.Kind {
		case wire.Invalid:
			p.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
		case wire.Batch:
			p.say(`[{"jsonrpc":"2.0","id":"a","result":{}},{"jsonrpc":"2.0","id":"b","result":{}}]`)
		default:
			return false
		}
		return true
	}
	synctest.Test(t, func(t *testing.T) {
		s := open(t, once(modern(parse)), session.Options{})
		raw := func(text string) (*wire.Exchange, error) {
			return s.Raw(t.Context(), session.RawRequest{Text: []byte(text)})
		}
		x, err := raw(`{"jsonrpc":"2.0","id":"mine","method":"tools/list"}`)
		if err != nil || x.Response == nil || len(x.Frames) != 2 || string(x.ID) != `"mine"` {
			t.Errorf("%+v, %v", x, err)
		}
		x, err = raw(`{"jsonrpc":"2.0","id":"mine",`)
		if err != nil || x.Response == nil || x.Response.Message().Error.Code != -32700 {
			t.Errorf("%+v, %v", x, err)
		}
		x, err = raw(`[{"jsonrpc":"2.0","id":"a","method":"x"},{"jsonrpc":"2.0","id":"b","method":"x"}]`)
		if err != nil || len(x.Frames) != 3 {
			t.Errorf("%+v, %v", x, err)
		}
		if x, err = raw(`{"jsonrpc":"2.0","method":"notifications/x"}`); err != nil || len(x.Frames) != 1 {
			t.Errorf("%+v, %v", x, err)
		}
		_, err = s.Raw(t.Context(), session.RawRequest{Text: []byte(`{"jsonrpc":"2.0","result":{}}`), Wait: time.Second})
		if err != nil {
			t.Errorf("%v", err)
		}
		shut(t, s)
	})
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		switch m.Method {
		case "server/discover":
			writeJSON(w, 200, "%s", answer(m, discovered))
		case "":
			http.Error(w, "what?", 400)
		default:
			writeJSON(w, 400, `{"jsonrpc":"2.0","error":{"code":-32020,"message":"no header"}}`)
		}
	})
	s := open(t, h, session.Options{})
	x, err := s.Raw(t.Context(), session.RawRequest{Text: []byte(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`)})
	if err != nil || x.Response.Message().Error.Code != -32020 {
		t.Errorf("%+v, %v", x, err)
	}
	x, err = s.Raw(t.Context(), session.RawRequest{Text: []byte(`nonsense`)})
	if transport.ReasonOf(err) != transport.BadStatus || string(x.Body) != "what?\n" || x.Heads[1].Status != 400 {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestSubscribe(t *testing.T) {
	const (
		ack    = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`
		change = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
	)
	var id string
	stdio := once(modern(func(p *peer, m *wire.Message) bool {
		switch m.Method {
		case "subscriptions/listen":
			id = string(m.ID)
			p.say(ack, m.ID)
			p.say(change, m.ID)
		case "tools/list":
			p.say(change, id)
			p.result(m, "{}")
		case "notifications/cancelled":
			p.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, id)
		default:
			return false
		}
		return true
	}))
	ended := make(chan struct{})
	var mu sync.Mutex
	var stream http.ResponseWriter
	overHTTP := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		switch m.Method {
		case "server/discover":
			writeJSON(w, 200, "%s", answer(m, discovered))
		case "subscriptions/listen":
			mu.Lock()
			stream = w
			writeEvents(w, fmt.Sprintf(ack, m.ID), fmt.Sprintf(change, m.ID))
			mu.Unlock()
			<-r.Context().Done()
			close(ended)
		default:
			mu.Lock()
			writeEvents(stream, fmt.Sprintf(change, `2`))
			mu.Unlock()
			writeJSON(w, 200, "%s", answer(m, "{}"))
		}
	})
	for name, target := range map[string]transport.Target{"stdio": stdio, "http": overHTTP} {
		s := open(t, target, session.Options{})
		u, err := s.Subscribe(t.Context(), json.RawMessage(`{"toolsListChanged":true}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(u.Acknowledged()) != `{"toolsListChanged":true}` {
			t.Errorf("%s: %s", name, u.Acknowledged())
		}
		r := call(t, s, "tools/list", "")
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if f, err := u.Next(ctx); err != nil || f.Message().Method != "notifications/tools/list_changed" {
				t.Errorf("%s: %v, %v", name, f, err)
			}
			cancel()
		}
		if len(r.Exchange.Frames) != 2 {
			t.Errorf("%s: the call took notifications of the subscription", name)
		}
		if err := u.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err = u.Next(t.Context())
		if name == "stdio" && err != io.EOF || name == "http" && transport.ReasonOf(err) != transport.Closed {
			t.Errorf("%s: after Close: %v", name, err)
		}
		if len(u.Exchange().Frames) < 4 {
			t.Errorf("%s: %d frames", name, len(u.Exchange().Frames))
		}
		if got := anomalies(s); got != "" {
			t.Errorf("%s: anomalies %s", name, got)
		}
	}
	<-ended
	s := open(t, once(modern(failOn("subscriptions/listen", -32601, ""))), session.Options{})
	if _, err := s.Subscribe(t.Context(), nil); as[*session.RPCError](t, err).Code != -32601 {
		t.Errorf("%v", err)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	s := open(t, once(modern(nil)), session.Options{})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := anomalies(s); got != "" {
		t.Errorf("anomalies %s", got)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	s := open(t, once(modern(silentOn("tools/call"))), session.Options{})
	done := make(chan error)
	go func() {
		_, err := s.Call(context.Background(), "tools/call", json.RawMessage(`{"name":"x"}`))
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	shut(t, s)
	if err := <-done; err == nil {
		t.Error("a call outlived its session")
	}
	if _, err := s.Call(t.Context(), "x", nil); err == nil {
		t.Error("a call after Close")
	}
	shut(t, s)
}

func TestNotifyRefused(t *testing.T) {
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		if m.Method == "server/discover" {
			writeJSON(w, 200, "%s", answer(m, discovered))
			return
		}
		w.WriteHeader(400)
	})
	s := open(t, h, session.Options{})
	if err := s.Notify(t.Context(), "notifications/x", nil); transport.ReasonOf(err) != transport.BadStatus || anomalies(s) != "refused-post×1" {
		t.Errorf("%v, %s", err, anomalies(s))
	}
}
