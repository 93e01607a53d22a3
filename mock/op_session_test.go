// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// visit is one HTTP request in a session; a stream that does not end is left
// after a moment.
func visit(t *testing.T, s *mock.Server, method, id, last, body string) (int, []*wire.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", spec.MediaJSON)
	r.Header.Set(spec.HeaderSessionID, id)
	if last != "" {
		r.Header.Set(spec.HeaderLastEventID, last)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, events(w.Body, -1)
}

func began(t *testing.T, script mock.Script, version string, faults ...mock.Fault) (s *mock.Server, id string) {
	t.Helper()
	script.Faults = append(script.Faults, faults...)
	s = mock.New(script)
	t.Cleanup(func() { _ = s.Shutdown(within(t)) })
	return s, post(s, initialize(version), nil).Header().Get(spec.HeaderSessionID)
}

func TestSessionIDs(t *testing.T) {
	s, id := began(t, mock.Library(), "2025-11-25", mock.On(spec.MethodInitialize).SessionID("s {{number}}"))
	second := post(s, initialize("2025-11-25"), nil).Header().Get(spec.HeaderSessionID)
	if id != "s 1" || second != "s 2" {
		t.Errorf("ids are %q and %q", id, second)
	}
	if code, _ := visit(t, s, http.MethodPost, second, "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); code != http.StatusOK {
		t.Errorf("in the session: %d", code)
	}
	if _, id := began(t, mock.Library(), "2025-11-25", mock.On(spec.MethodInitialize).SessionID("a-{{random}}")); len(id) < 20 || !strings.HasPrefix(id, "a-") {
		t.Errorf("id %q", id)
	}
}

const survey = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"survey_harbour","_meta":{"progressToken":"p"}}}`

func TestAside(t *testing.T) {
	s, id := began(t, mock.Specimen(), "2025-11-25", mock.On(spec.MethodToolsCall).Aside())
	standing := make(chan []*wire.Event)
	go func() {
		_, es := visit(t, s, http.MethodGet, id, "", "")
		standing <- es
	}()
	time.Sleep(20 * time.Millisecond) // until it stands
	w := post(s, survey, header(spec.HeaderSessionID, id))
	if contains(w.Body.Bytes(), spec.NotificationProgress) || !contains(w.Body.Bytes(), `"result"`) {
		t.Errorf("the request was answered by %s", w.Body)
	}
	if es := <-standing; len(es) == 0 || !contains(es[0].Data, spec.NotificationProgress) {
		t.Errorf("%d events on the standing stream", len(es))
	}
}

func TestPoll(t *testing.T) {
	script := mock.Specimen()
	script.Resumable, script.Retry = true, 7*time.Millisecond
	s, id := began(t, script, "2025-11-25", mock.On(spec.MethodPing).Poll())
	_, es := visit(t, s, http.MethodPost, id, "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if len(es) != 2 || es[0].ID == "" || es[1].Retry != 7 {
		t.Fatalf("%d events", len(es))
	}
	if _, rest := visit(t, s, http.MethodGet, id, es[0].ID, ""); len(rest) != 1 || !contains(rest[0].Data, `"result"`) {
		t.Errorf("%d events for who came back", len(rest))
	}
}

// What a lenient server does with its streams.
func TestStreamLeniencies(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, lenient := range []bool{false, true} {
		var faults []mock.Fault
		if lenient {
			for _, check := range []string{mock.CheckStreamSecond, mock.CheckStreamPriming, mock.CheckStreamReplay} {
				faults = append(faults, mock.Lenient(check))
			}
		}
		s, id := began(t, mock.Specimen(), "2025-11-25", faults...)
		done := make(chan struct{})
		go func() {
			defer close(done)
			visit(t, s, http.MethodGet, id, "", "")
		}()
		time.Sleep(20 * time.Millisecond) // until it stands
		if code, _ := visit(t, s, http.MethodGet, id, "", ""); (code == http.StatusOK) != lenient {
			t.Errorf("lenient %t: a second stream was answered by %d", lenient, code)
		}
		<-done

		script := mock.Specimen()
		script.Resumable = true
		s, id = began(t, script, "2025-11-25", faults...)
		_, one := visit(t, s, http.MethodPost, id, "", ping)
		if primed := len(one) == 2 && len(one[0].Data) == 0; primed == lenient {
			t.Errorf("lenient %t: %d events", lenient, len(one))
		}
		visit(t, s, http.MethodPost, id, "", strings.Replace(ping, "1", "2", 1))
		_, again := visit(t, s, http.MethodGet, id, one[0].ID, "")
		other := false
		for _, e := range again {
			other = other || contains(e.Data, `"id":2`)
		}
		if other != lenient {
			t.Errorf("lenient %t: %d events were replayed", lenient, len(again))
		}
	}
}

// The first event of a session's own stream comes once.
func TestOwnStreamBeginsOnce(t *testing.T) {
	script := mock.Specimen()
	script.Resumable = true
	s, id := began(t, script, "2025-11-25")
	if _, es := visit(t, s, http.MethodGet, id, "", ""); len(es) != 1 {
		t.Errorf("%d events", len(es))
	}
}

func TestFaultsOfABatch(t *testing.T) {
	const two = `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	for _, tc := range []struct {
		name, body string
		fault      mock.Fault
		code       int
		has        string
	}{
		{"an error", two, mock.On(mock.Batched).Error(spec.CodeInvalidRequest, "no"), 400, `-32600`},
		{"a stream", two, mock.On(mock.Batched).SSE(), 200, "data: "},
		{"a status", `[{"jsonrpc":"2.0","method":"notifications/x"}]`, mock.On(mock.Batched).Status(299), 299, ""},
	} {
		s, id := began(t, mock.Library(), "2025-03-26", tc.fault)
		w := post(s, tc.body, header(spec.HeaderSessionID, id))
		if w.Code != tc.code || !contains(w.Body.Bytes(), tc.has) {
			t.Errorf("%s: %d %s", tc.name, w.Code, w.Body)
		}
	}
}

// Faults at GET are those of the stream of HTTP+SSE.
func TestFaultsOfHTTPSSE(t *testing.T) {
	get := mock.On(http.MethodGet)
	for _, tc := range []struct {
		name   string
		faults []mock.Fault
		code   int
		types  string
	}{
		{"none", nil, 200, "endpoint"},
		{"a status", []mock.Fault{get.Status(404)}, 404, ""},
		{"no endpoint", []mock.Fault{get.Drop()}, 200, ""},
		{"around it", []mock.Fault{get.Before("event: a\ndata: 1\n\n"), get.After("event: b\ndata: 2\n\n")}, 200, "a endpoint b"},
	} {
		script := mock.Library()
		script.SSEPath, script.Faults = "/", tc.faults
		s := mock.New(script)
		code, es := visit(t, s, http.MethodGet, "", "", "")
		var types []string
		for _, e := range es {
			if e.Type != "" {
				types = append(types, e.Type)
			}
		}
		if got := strings.Join(types, " "); code != tc.code || got != tc.types {
			t.Errorf("%s: %d %q", tc.name, code, got)
		}
		if err := s.Shutdown(within(t)); err != nil {
			t.Error(err)
		}
	}
}
