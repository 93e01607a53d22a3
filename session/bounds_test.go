// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// TestSilentHTTP: every wait for a server that never answers has its bound.
func TestSilentHTTP(t *testing.T) {
	for name, f := range map[string]reply{
		"no head": func(_ http.ResponseWriter, r *http.Request, _ *wire.Message) { <-r.Context().Done() },
		"an open stream": func(w http.ResponseWriter, r *http.Request, _ *wire.Message) {
			writeEvents(w)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"comments for ever": func(w http.ResponseWriter, r *http.Request, _ *wire.Message) {
			for r.Context().Err() == nil {
				writeEvents(w)
				_, _ = w.Write([]byte(": ping\n\n"))
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			_, err := session.Open(t.Context(), handler(f), session.Options{})
			as[*session.TimeoutError](t, err)
			if took := time.Since(begin); took < time.Minute || took > 62*time.Second {
				t.Errorf("%s: took %s", name, took)
			}
		})
	}
}

func TestManyCallsOverHTTP(t *testing.T) {
	for _, era := range []spec.Era{spec.Modern, spec.Legacy} {
		n := 0
		var mu sync.Mutex
		h := handler(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			mu.Lock()
			n++
			events := n%2 == 0
			mu.Unlock()
			result := `{"resultType":"complete","for":` + string(m.ID) + `}`
			switch {
			case m.Method == "server/discover":
				result = discovered
			case m.Method == "initialize":
				result = initialized
			case m.Kind == wire.Notification:
				w.WriteHeader(202)
				return
			}
			if events {
				writeEvents(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, answer(m, result))
			} else {
				writeJSON(w, 200, "%s", answer(m, result))
			}
		})
		srv := httptest.NewServer(h.Handler)
		s := open(t, &transport.HTTP{URL: srv.URL}, session.Options{Era: era})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				r, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
				if err != nil {
					t.Error(err)
				} else if string(r.Member("for")) != string(r.Exchange.ID) {
					t.Errorf("id %s got the answer for %s", r.Exchange.ID, r.Member("for"))
				}
			})
		}
		wg.Wait()
		if got := anomalies(s); got != "" {
			t.Errorf("anomalies %s", got)
		}
		shut(t, s)
		srv.Close()
	}
}

// TestFloodOfNotifications: what is kept of a flood is bounded, and the answer
// behind it is found.
func TestFloodOfNotifications(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	s := open(t, once(modern(on("tools/call", func(p *peer, m *wire.Message) {
		for i := range 100 {
			p.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d,"data":"%s"}}`, i, big)
		}
		p.result(m, "{}")
	}))), session.Options{})
	r := call(t, s, "tools/call", `{"name":"x"}`)
	if n := len(r.Exchange.Frames); n < 50 || n > 70 || r.Exchange.Dropped != 102-n || r.Exchange.Response == nil {
		t.Errorf("%d frames, %d dropped", n, r.Exchange.Dropped)
	}
	if n := len(s.Notifications()); n < 50 || n > 70 {
		t.Errorf("%d notifications", n)
	}
}

func TestStreamOfTheOldTransportEnds(t *testing.T) {
	posted := make(chan *wire.Message, 8)
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		if r.Method == "POST" {
			posted <- m
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: endpoint\ndata: /m\n\n"))
		w.(http.Flusher).Flush()
		for m := range posted {
			switch m.Method {
			case "initialize":
				writeEvents(w, answer(m, initialized))
			case "tools/call":
				return
			}
		}
	})
	s := open(t, h.HTTPSSE(), session.Options{})
	_, err := s.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"x"}`))
	if transport.ReasonOf(err) != transport.Broken {
		t.Errorf("%v", err)
	}
}

func TestEndOfALegacySession(t *testing.T) {
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "gone soon")
			writeJSON(w, 200, "%s", answer(m, initialized))
		case m.Kind == wire.Notification:
			w.WriteHeader(202)
		default:
			w.WriteHeader(404)
		}
	})
	s := open(t, h, session.Options{Era: spec.Legacy})
	_, err := s.Call(t.Context(), "tools/list", nil)
	if transport.ReasonOf(err) != transport.Broken || !strings.Contains(err.Error(), "ended the session") {
		t.Errorf("%v", err)
	}
}

func TestHandlerThatNeverReturns(t *testing.T) {
	release := make(chan struct{})
	h := &transport.Handler{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })}
	_, err := session.Open(t.Context(), h, session.Options{Era: spec.Modern, Timeouts: session.Timeouts{Request: 50 * time.Millisecond}})
	as[*session.TimeoutError](t, err)
	close(release)
}

func ExampleOpen() {
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		result := `{"resultType":"complete","tools":[{"name":"weather","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`
		if m.Method == spec.MethodDiscover {
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public"}`
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
	ctx := context.Background()
	s, err := session.Open(ctx, &transport.Handler{Handler: server}, session.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(ctx) }()
	list, err := s.List(ctx, spec.MethodToolsList)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Negotiated().Revision, string(list.Pages[0].Member("tools")))
	_, err = s.Call(ctx, spec.MethodToolsCall, json.RawMessage(`{"name":"weather","arguments":{}}`))
	var rpc *session.RPCError
	fmt.Println(errors.As(err, &rpc))
	// Output:
	// 2026-07-28 [{"name":"weather","inputSchema":{"type":"object"}}]
	// false
}
