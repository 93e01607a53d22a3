// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// withFault is the library with one fault; lists have pages of three.
func withFault(f mock.Fault) *mock.Server {
	s := mock.Library()
	s.PageSize, s.Faults = 3, []mock.Fault{f}
	return mock.New(s)
}

func TestFaultsOfTheMessage(t *testing.T) {
	list := mock.On(spec.MethodToolsList)
	for _, tc := range []struct {
		name  string
		fault mock.Fault
		want  func(clean, text string) bool
	}{
		{"set a member", list.Set("/result/tools/0/name", `"other"`), func(_, s string) bool { return contains([]byte(s), `"tools":[{"name":"other"`) }},
		{"set a member that is new, with its objects", list.Set("/result/a/b~1c", `1`), func(_, s string) bool { return contains([]byte(s), `"a":{"b/c":1}`) }},
		{"append an element", list.Set("/result/tools/-", `7`), func(_, s string) bool { return contains([]byte(s), `,7]`) }},
		{"set where nothing can be", list.Set("/jsonrpc/x/y", `7`), func(c, s string) bool { return s == c }},
		{"another id", list.Set("/id", `"1"`), func(_, s string) bool { return contains([]byte(s), `"id":"1"`) }},
		{"no id", list.Remove("/id"), func(_, s string) bool { return contains([]byte(s), `"2.0","result"`) }},
		{"remove an element", list.Remove("/result/tools/1"), func(c, s string) bool {
			return contains([]byte(c), "get_book") && !contains([]byte(s), "get_book")
		}},
		{"remove what is not there", list.Remove("/result/tools/9/x"), func(c, s string) bool { return s == c }},
		{"bytes that no encoder writes", list.Replace(`"result":`, `"result":{},"result":`), func(_, s string) bool { return strings.Count(s, `"result":`) == 2 }},
		{"any text", list.Answer(`nothing`), func(_, s string) bool { return s == "nothing" }},
		{"an error", list.Error(spec.CodeInternalError, "no"), func(_, s string) bool {
			return s == `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`
		}},
		{"another page", list.OnPage(2).Answer(`nothing`), func(c, s string) bool { return s == c }},
		{"another turn", list.OnTurn(2).Answer(`nothing`), func(c, s string) bool { return s == c }},
		{"another method", mock.On(spec.MethodPromptsList).Answer(`nothing`), func(c, s string) bool { return s == c }},
		{"everywhere", mock.Place{}.Answer(`nothing`), func(_, s string) bool { return s == "nothing" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := modern(spec.MethodToolsList, "")
			clean := post(withFault(mock.Fault{}), request, nil).Body.String()
			if got := post(withFault(tc.fault), request, nil).Body.String(); !tc.want(clean, got) {
				t.Errorf("over HTTP: %s", got)
			}
			if got := say(t, withFault(tc.fault), request); len(got) != 1 || !tc.want(clean, got[0]) {
				t.Errorf("over stdio: %q", got)
			}
		})
	}
}

func TestTurnsAreCountedOverConnections(t *testing.T) {
	s := withFault(mock.On(spec.MethodPromptsList).OnTurn(2).Answer("nothing"))
	request := modern(spec.MethodPromptsList, "")
	var hit []bool
	for i := range 3 {
		var got string
		if i == 1 {
			got = say(t, s, request)[0]
		} else {
			got = post(s, request, nil).Body.String()
		}
		hit = append(hit, got == "nothing")
	}
	if !slices.Equal(hit, []bool{false, true, false}) {
		t.Errorf("hit on %v", hit)
	}
}

func TestFaultsOnStdio(t *testing.T) {
	ping := mock.On(spec.MethodPing)
	const clean = `{"jsonrpc":"2.0","id":7,"result":{}}`
	half := clean[:len(clean)/2]
	for _, tc := range []struct {
		name  string
		fault mock.Fault
		want  string
		ends  bool
	}{
		{"none", mock.Fault{}, clean + "\n", false},
		{"banner", mock.Banner("hello"), "hello\n" + clean + "\n", false},
		{"noise before", ping.Before("hm"), "hm\n" + clean + "\n", false},
		{"noise after", ping.After("hm"), clean + "\nhm\n", false},
		{"twice", ping.Twice(), clean + "\n" + clean + "\n", false},
		{"half", ping.Half(), half, true},
		{"hang up", ping.HangUp(), "", true},
		{"die", ping.Die(), "", true},
		{"drop", ping.Drop(), "", false},
		{"late", ping.Late(5 * time.Millisecond), clean + "\n", false},
		{"a body means nothing here", ping.HTTP(500, "text/html", "<p>"), clean + "\n", false},
		{"noise after a notification", mock.On(spec.NotificationInitialized).After("hm"), "hm\n" + clean + "\n", false},
	} {
		var out bytes.Buffer
		in := `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n"
		err := withFault(tc.fault).ServeStdio(within(t), strings.NewReader(in), &out)
		if out.String() != tc.want || tc.ends && !errors.Is(err, mock.ErrEnded) || !tc.ends && err != nil {
			t.Errorf("%s: %v, wrote %q, want %q", tc.name, err, out.String(), tc.want)
		}
	}
}

func TestFaultsOnHTTP(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	request := modern(spec.MethodDiscover, "")
	clean := post(mock.New(mock.Library()), request, nil).Body.String()
	for _, tc := range []struct {
		name   string
		fault  mock.Fault
		status int
		header [2]string
		body   string
	}{
		{"a page", discover.HTTP(200, "text/html", "<h1>Hi</h1>"), 200, [2]string{"Content-Type", "text/html"}, "<h1>Hi</h1>"},
		{"a redirect", discover.HTTP(307, "", "", wire.HeaderField{Name: "Location", Value: "https://x.example/"}), 307, [2]string{"Location", "https://x.example/"}, ""},
		{"a refusal", mock.Place{}.HTTP(401, "", "", wire.HeaderField{Name: "WWW-Authenticate", Value: "Bearer"}), 401, [2]string{"WWW-Authenticate", "Bearer"}, ""},
		{"another status", discover.Status(503), 503, [2]string{"Content-Type", "application/json"}, clean},
		{"another header", discover.Header("Content-Type", "text/plain"), 200, [2]string{"Content-Type", "text/plain"}, clean},
		{"a header removed", discover.Header("Content-Type", ""), 200, [2]string{"Content-Type", ""}, clean},
		{"a status that no server can write", discover.Status(99), 200, [2]string{}, clean},
		{"noise before", discover.Before("hm "), 200, [2]string{}, "hm " + clean},
		{"noise after", discover.After(" hm"), 200, [2]string{}, clean + " hm"},
		{"twice", discover.Twice(), 200, [2]string{"Content-Type", spec.MediaEventStream},
			"event: message\ndata: " + clean + "\n\nevent: message\ndata: " + clean + "\n\n"},
		{"an error takes its own status", discover.Error(spec.CodeMethodNotFound, "no"), 404, [2]string{},
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`},
	} {
		w := post(withFault(tc.fault), request, nil)
		if w.Code != tc.status || w.Body.String() != tc.body || tc.header[0] != "" && w.Header().Get(tc.header[0]) != tc.header[1] {
			t.Errorf("%s: %d %v %s", tc.name, w.Code, w.Header(), w.Body)
		}
	}
	notified := withFault(mock.On(spec.NotificationInitialized).Status(500))
	id := post(notified, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
	if w := post(notified, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(h http.Header) { h.Set(spec.HeaderSessionID, id) }); w.Code != 500 {
		t.Errorf("fault of a notification: %d", w.Code)
	}
	get := httptest.NewRequest(http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	withFault(mock.On("GET").HTTP(418, "text/plain", "tea")).ServeHTTP(w, get)
	if w.Code != 418 || w.Body.String() != "tea" {
		t.Errorf("fault of GET: %d %s", w.Code, w.Body)
	}
}

func TestFaultsThatEndAConnectionOverSockets(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	for _, tc := range []struct {
		name  string
		fault mock.Fault
		after bool // a later request is answered
	}{
		{"half", discover.OnTurn(1).Half(), true},
		{"hang up", discover.OnTurn(1).HangUp(), true},
		{"die", discover.OnTurn(1).Die(), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := httptest.NewServer(withFault(tc.fault))
			defer srv.Close()
			ask := func() error {
				s, err := session.Open(within(t), &transport.HTTP{URL: srv.URL}, session.Options{Era: spec.Modern})
				if err == nil {
					_ = s.Close(within(t))
				}
				return err
			}
			if err := ask(); transport.ReasonOf(err) != transport.Broken {
				t.Errorf("on its turn: %v", err)
			}
			if err := ask(); tc.after != (err == nil) {
				t.Errorf("after its turn: %v", err)
			}
		})
	}
}

func TestFaultOfTimeAndSilence(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, tc := range []struct {
			name  string
			fault mock.Fault
		}{
			{"drop", mock.On(spec.MethodPromptsList).Drop()},
			{"late", mock.On(spec.MethodPromptsList).Late(time.Second)},
		} {
			s := open(t, target(withFault(tc.fault)), session.Options{})
			_, err := s.Do(within(t), session.Request{Method: spec.MethodPromptsList, Timeout: 30 * time.Millisecond})
			if _, ok := errors.AsType[*session.TimeoutError](err); !ok {
				t.Errorf("%s: %v", tc.name, err)
			}
			if _, err := s.Call(within(t), spec.MethodToolsList, nil); err != nil {
				t.Errorf("%s: afterwards %v", tc.name, err)
			}
		}
	})
}

func TestCursorFaults(t *testing.T) {
	list := mock.On(spec.MethodToolsList)
	for _, tc := range []struct {
		name    string
		fault   mock.Fault
		cursors []string // of the pages in turn, "-" for none
	}{
		{"none", mock.Fault{}, []string{"page-2", "page-3", "-"}},
		{"repeat", list.OnPage(2).RepeatCursor(), []string{"page-2", "page-2", "page-2"}},
		{"endless", list.EndlessCursors(), []string{"page-2", "page-3", "page-4", "page-5", "page-6"}},
		{"empty", list.EmptyCursor(), []string{"", "page-3", "-"}},
		{"empty on the second page", list.OnPage(2).EmptyCursor(), []string{"page-2", "", "-"}},
	} {
		s := withFault(tc.fault)
		params := ""
		for i, want := range tc.cursors {
			w := post(s, modern(spec.MethodToolsList, params), nil)
			if c := code(t, w.Body.Bytes()); c != 0 {
				t.Errorf("%s, page %d: %s", tc.name, i+1, w.Body)
				break
			}
			got := "-"
			if c, err := lookup(w.Body.Bytes(), "/result/nextCursor"); err == nil {
				got = strings.Trim(string(c), `"`)
				params = `"cursor":` + string(c)
			}
			if got != want {
				t.Errorf("%s, page %d: cursor %q, want %q", tc.name, i+1, got, want)
			}
		}
	}
}

// The judge of TestEveryAnswerIsValidInEveryRevision must see what it looks for.
func TestTheJudgeNoticesAFault(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, f := range []mock.Fault{
			mock.On(spec.MethodToolsList).Set("/result/tools/0/inputSchema", `"none"`),
			mock.On(spec.MethodToolsList).Remove("/result/resultType"),
			mock.On(spec.MethodToolsList).Remove("/jsonrpc"),
			mock.On(spec.MethodToolsList).Replace(`"name":`, `"name":"x","name":`),
		} {
			j := newJudge(spec.Rev20260728)
			s := open(t, target(withFault(f)), session.Options{Tap: j.tap})
			_, _ = s.Call(within(t), spec.MethodToolsList, nil)
			j.mu.Lock()
			if len(j.bad) == 0 {
				t.Errorf("%+v was not noticed", f)
			}
			j.mu.Unlock()
		}
	})
}

// What is set in a result leaves errors as they are, and the other way round.
func TestSetKeepsResultsAndErrorsApart(t *testing.T) {
	for _, tc := range []struct{ method, pointer, has, lacks string }{
		{"no/such", "/result/x", `"error"`, `"result"`},
		{spec.MethodDiscover, "/error/code", `"result"`, `"error"`},
		{spec.MethodDiscover, "/result/x", `"x":2`, `"error"`},
		{"no/such", "/result", `"result":2`, `"x"`},
	} {
		got := post(withFault(mock.On(tc.method).Set(tc.pointer, "2")), modern(tc.method, ""), nil).Body.Bytes()
		if !contains(got, tc.has) || contains(got, tc.lacks) {
			t.Errorf("set %s in the answer to %s: %s", tc.pointer, tc.method, got)
		}
	}
}

// Results of the handshake era have no type, and are complete.
func TestOfTypeBeforeThereWereTypes(t *testing.T) {
	for resultType, want := range map[string]bool{spec.ResultComplete: true, spec.ResultTask: false} {
		s := mock.New(mock.Script{Tools: mock.Library().Tools, Faults: []mock.Fault{mock.On(spec.MethodToolsList).OfType(resultType).Remove("/result/tools")}})
		id := post(s, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
		got := post(s, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, header(spec.HeaderSessionID, id)).Body.Bytes()
		if removed := !contains(got, `"tools"`); removed != want {
			t.Errorf("of type %s: %s", resultType, got)
		}
	}
}
