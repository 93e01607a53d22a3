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
)

// The leniencies of conduct over time, each with what holds without it.

func TestCancellationAndItsLeniencies(t *testing.T) {
	for _, tc := range []struct {
		name            string
		faults          []mock.Fault
		stops, answered bool
	}{
		{"strict", nil, true, false},
		{"goes on", []mock.Fault{mock.Lenient(mock.CheckCancel)}, false, true},
		{"answers all the same", []mock.Fault{mock.Lenient(mock.CheckCancelAnswer)}, true, true},
	} {
		stopped, began, release := make(chan bool, 1), make(chan struct{}), make(chan struct{})
		script := mock.Script{Faults: tc.faults, Tools: []mock.Tool{{
			Definition: raw(`{"name":"wait","inputSchema":{"type":"object"}}`),
			Func: func(ctx context.Context, _ *mock.Call) (json.RawMessage, error) {
				close(began)
				select {
				case <-ctx.Done():
					stopped <- true
				case <-release:
					stopped <- false
				}
				return raw(`{"content":[]}`), nil
			},
		}}}
		in, toServer := io.Pipe()
		var out bytes.Buffer
		done := make(chan error, 1)
		go func() { done <- mock.New(script).ServeStdio(context.Background(), in, &out) }()
		write := func(s string) {
			if _, err := io.WriteString(toServer, s+"\n"); err != nil {
				t.Error(err)
			}
		}
		write(modern(spec.MethodToolsCall, `"name":"wait"`))
		<-began
		write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		write(strings.Replace(modern(spec.MethodDiscover, ""), `"id":1`, `"id":2`, 1)) // read when it has been seen
		time.Sleep(10 * time.Millisecond)
		close(release)
		_ = toServer.Close()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got := <-stopped; got != tc.stops {
			t.Errorf("%s: stopped %t", tc.name, got)
		}
		if got := contains(out.Bytes(), `"id":1,`); got != tc.answered {
			t.Errorf("%s: answered %t: %s", tc.name, got, out.String())
		}
	}
}

func TestDisconnectingAndItsLeniency(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		stopped, began, release := make(chan bool, 1), make(chan struct{}), make(chan struct{})
		script := mock.Script{Tools: []mock.Tool{{
			Definition: raw(`{"name":"wait","inputSchema":{"type":"object"}}`),
			Func: func(ctx context.Context, _ *mock.Call) (json.RawMessage, error) {
				close(began)
				select {
				case <-ctx.Done():
					stopped <- true
				case <-release:
					stopped <- false
				}
				return raw(`{"content":[]}`), nil
			},
		}}}
		if lenient {
			script.Faults = []mock.Fault{mock.Lenient(mock.CheckCancelDisconnect)}
		}
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
		time.AfterFunc(30*time.Millisecond, func() { close(release) })
		if got := <-stopped; got == lenient {
			t.Errorf("lenient %t: stopped %t", lenient, got)
		}
		if err := c.Close(within(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestLenienciesOfSubscriptions(t *testing.T) {
	tell := func(s *mock.Server) (n int) {
		n += s.Notify(spec.NotificationToolsListChanged, nil)
		n += s.Notify(spec.NotificationPromptsListChanged, nil) * 10
		n += s.Notify(spec.NotificationResourcesUpdated, raw(`{"uri":"tide://log"}`)) * 100
		n += s.Notify(spec.NotificationResourcesUpdated, raw(`{"uri":"tide://readme"}`)) * 1000
		return n
	}
	for _, tc := range []struct {
		check string
		want  int
		acked string
	}{
		{"", 101, `{"toolsListChanged":true,"resourceSubscriptions":["tide://log"]}`},
		{mock.CheckListenFilter, 1111, `{"toolsListChanged":true,"resourceSubscriptions":["tide://log"]}`},
		{mock.CheckListenURIs, 1101, `{"toolsListChanged":true,"resourceSubscriptions":["tide://log"]}`},
	} {
		script := mock.Specimen()
		script.Faults = []mock.Fault{mock.Lenient(tc.check)}
		srv := mock.New(script)
		s := open(t, srv.Stdio(""), session.Options{Era: spec.Modern})
		sub, err := s.Subscribe(within(t), raw(`{"toolsListChanged":true,"resourceSubscriptions":["tide://log"]}`))
		if err != nil {
			t.Fatal(err)
		}
		if string(sub.Acknowledged()) != tc.acked {
			t.Errorf("%s: acknowledged %s", tc.check, sub.Acknowledged())
		}
		if n := tell(srv); n != tc.want {
			t.Errorf("%s: told %d, want %d", tc.check, n, tc.want)
		}
		_ = sub.Close(within(t))
	}
	for _, lenient := range []bool{false, true} {
		script := mock.Script{Tools: mock.Library().Tools} // nothing changes
		if lenient {
			script.Faults = []mock.Fault{mock.Lenient(mock.CheckListenCapability)}
		}
		s := open(t, mock.New(script).Stdio(""), session.Options{Era: spec.Modern})
		sub, err := s.Subscribe(within(t), raw(`{"toolsListChanged":true}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := contains(sub.Acknowledged(), "true"); got != lenient {
			t.Errorf("lenient %t: acknowledged %s", lenient, sub.Acknowledged())
		}
		_ = sub.Close(within(t))
	}
	for _, lenient := range []bool{false, true} {
		script := mock.Specimen()
		if lenient {
			script.Faults = []mock.Fault{mock.Lenient(mock.CheckListenCancel)}
		}
		got := say(t, mock.New(script), modern(spec.MethodListen, `"notifications":{}`),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		// A subscription that goes on is answered when the server ends.
		if answered := contains([]byte(strings.Join(got, "\n")), `"result"`); answered != lenient {
			t.Errorf("lenient %t: %q", lenient, got)
		}
	}
}

func TestLenienciesOfTheRest(t *testing.T) {
	undeclared := func(fs ...mock.Fault) *mock.Server {
		return mock.New(mock.Script{Capabilities: raw(`{}`), Tools: mock.Library().Tools, Faults: fs})
	}
	for _, tc := range []struct {
		check           string
		ask             func(fs ...mock.Fault) int
		strict, lenient int
	}{
		{mock.CheckCapabilityUndeclared, func(fs ...mock.Fault) int {
			return code(t, post(undeclared(fs...), modern(spec.MethodToolsList, ""), nil).Body.Bytes())
		}, spec.CodeMethodNotFound, 0},
		{mock.CheckHandshake, func(fs ...mock.Fault) int {
			s := mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20250618}, Tools: mock.Library().Tools, Faults: fs})
			return code(t, []byte(say(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)[0]))
		}, spec.CodeInvalidRequest, 0},
		{mock.CheckParamsMissing, func(fs ...mock.Fault) int {
			s := mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20250618}, Capabilities: raw(`{"logging":{}}`), Faults: append(fs, mock.Lenient(mock.CheckHandshake), mock.Lenient(mock.CheckParamsMistyped), mock.Lenient(mock.CheckLogLevel))})
			return code(t, []byte(say(t, s, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`)[0]))
		}, spec.CodeInvalidParams, 0},
		{mock.CheckSessionVersion, func(fs ...mock.Fault) int {
			s := mock.New(mock.Script{Tools: mock.Library().Tools, Faults: fs})
			id := post(s, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
			return post(s, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, func(h http.Header) {
				h.Set(spec.HeaderSessionID, id)
				h.Set(spec.HeaderProtocolVersion, "1999-01-01")
			}).Code
		}, 400, 200},
		{mock.CheckTaskUnknown, func(fs ...mock.Fault) int {
			s := mock.New(mock.Script{Tools: []mock.Tool{{Definition: raw(`{"name":"j","inputSchema":{"type":"object"}}`), Task: mock.TaskOptional}}, Faults: fs})
			return code(t, post(s, tasked(spec.MethodTasksCancel, `"taskId":"none"`), header(spec.HeaderName, "none")).Body.Bytes())
		}, spec.CodeInvalidParams, 0},
		{mock.CheckTaskOwner, func(fs ...mock.Fault) int {
			s := mock.New(mock.Script{Tools: []mock.Tool{{Definition: raw(`{"name":"j","inputSchema":{"type":"object"}}`), Task: mock.TaskOptional}}, Faults: fs})
			begin := func() func(http.Header) {
				return header(spec.HeaderSessionID, post(s, initialize("2025-11-25"), nil).Header().Get(spec.HeaderSessionID))
			}
			own, other := begin(), begin()
			post(s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"j","task":{}}}`, own)
			return strings.Count(post(s, `{"jsonrpc":"2.0","id":3,"method":"tasks/list"}`, other).Body.String(), `"taskId"`)
		}, 0, 1},
		{mock.CheckHTTPGet, func(fs ...mock.Fault) int {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			w := httptest.NewRecorder()
			mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20260728}, Faults: fs}).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
			return w.Code
		}, 405, 200},
	} {
		if got := tc.ask(); got != tc.strict {
			t.Errorf("%s, strict: %d, want %d", tc.check, got, tc.strict)
		}
		if got := tc.ask(mock.Lenient(tc.check)); got != tc.lenient {
			t.Errorf("%s, lenient: %d, want %d", tc.check, got, tc.lenient)
		}
	}
}

// tasked is a request of a client that takes tasks.
func tasked(method, params string) string {
	return strings.Replace(modern(method, params), spec.MetaClientCapabilities+`":{}`,
		spec.MetaClientCapabilities+`":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
}

// A legacy client that goes away has not cancelled.
func TestLegacyDisconnectIsNoCancellation(t *testing.T) {
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s := mock.New(mock.Script{Tools: []mock.Tool{{
		Definition: raw(`{"name":"wait","inputSchema":{"type":"object"}}`),
		Func: func(ctx context.Context, _ *mock.Call) (json.RawMessage, error) {
			close(began)
			<-release
			ended <- ctx.Err()
			return raw(`{"content":[]}`), nil
		},
	}}})
	id := post(s, initialize("2025-06-18"), nil).Header().Get(spec.HeaderSessionID)
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"wait"}}`))
	r.Header.Set("Content-Type", spec.MediaJSON)
	r.Header.Set(spec.HeaderSessionID, id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-began
	cancel()
	time.Sleep(10 * time.Millisecond)
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("it was cancelled: %v", err)
	}
	<-done
}

func TestLogLevelsOfTheLegacyEra(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		h := &heard{}
		s := open(t, target(mock.New(mock.Specimen())), session.Options{Revision: spec.Rev20251125, OnNotification: h.add})
		count := func() (n int) {
			h.mu.Lock()
			h.got = nil
			h.mu.Unlock()
			if _, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"survey_harbour"}`)); err != nil {
				t.Fatal(err)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			for _, m := range h.got {
				if m == spec.NotificationMessage {
					n++
				}
			}
			return n
		}
		if n := count(); n != 4 {
			t.Errorf("%d messages without a level", n)
		}
		if _, err := s.Call(within(t), spec.MethodSetLevel, raw(`{"level":"warning"}`)); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != 2 {
			t.Errorf("%d messages from warning on", n)
		}
	})
}
