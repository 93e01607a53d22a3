// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// sharedServer has no sessions, and refuses at once what it does not know. The
// answer of a tool goes to whoever asked last under the id.
type sharedServer struct {
	apart  bool // each request has a way back of its own: the right one
	echoes time.Duration
	mu     sync.Mutex
	back   map[string]chan string
}

func (s *sharedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments struct{ Text string }
		}
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := func(body string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
	}
	switch tool := m.Params.Name; {
	case m.Method == spec.MethodInitialize:
		answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shared","version":"1"}}`)
	case m.Method == spec.MethodPing:
		answer(`"result":{}`)
	case m.Method == spec.MethodToolsList:
		answer(`"result":{"tools":[` +
			`{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},"annotations":{"readOnlyHint":true}},` +
			`{"name":"slow","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
	case m.Method != spec.MethodToolsCall:
		answer(`"error":{"code":-32601,"message":"no such method"}`)
	case tool == "echo":
		s.work(r, string(m.ID), s.echoes, m.Params.Arguments.Text, answer)
	case tool == "slow":
		s.work(r, string(m.ID), 250*time.Millisecond, "done", answer)
	default:
		answer(fmt.Sprintf(`"error":{"code":-32602,"message":%q}`, "no tool "+tool))
	}
}

// work gives the answer to whoever asked last under the id, and hears its own.
func (s *sharedServer) work(r *http.Request, id string, takes time.Duration, text string, answer func(string)) {
	mine := make(chan string, 1)
	s.mu.Lock()
	s.back[id] = mine
	s.mu.Unlock()
	time.Sleep(takes)
	s.mu.Lock()
	to := s.back[id]
	if s.apart {
		to = mine
	}
	if to == nil { // its way back is gone
		s.mu.Unlock()
		<-r.Context().Done()
		return
	}
	delete(s.back, id)
	to <- text
	s.mu.Unlock()
	select {
	case text = <-mine:
		answer(fmt.Sprintf(`"result":{"content":[{"type":"text","text":%q}]}`, text))
	case <-r.Context().Done():
	}
}

// Refusals are ready before the next request is read: only what is under way for
// a while shows that answers are mixed up.
func TestCrossingsOfWorkingTools(t *testing.T) {
	const duplicate, clients = "sec.cross-wire-duplicate", "sec.cross-wire-two-sessions"
	for name, tc := range map[string]struct {
		server *sharedServer
		want   rule.Status
	}{
		"a tool that takes a moment":     {&sharedServer{echoes: 80 * time.Millisecond}, rule.Fail},
		"a quick tool beside a slow one": {&sharedServer{}, rule.Fail},
		"each has its own way back":      {&sharedServer{apart: true, echoes: 80 * time.Millisecond}, rule.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.server.back = map[string]chan string{}
			h := httptest.NewServer(tc.server)
			defer h.Close()
			o := check.Options{Only: []string{duplicate, clients}}
			o.Revision = spec.Rev20250618
			got := judgeAt(t, &transport.HTTP{URL: h.URL}, o)
			for _, id := range o.Only {
				if got[id].Status != tc.want {
					t.Errorf("%s: %v %s", id, got[id].Status, got[id].Reason)
				}
			}
		})
	}
}
