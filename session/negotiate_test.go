// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
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

func silentOn(method string) func(*peer, *wire.Message) bool {
	return func(_ *peer, m *wire.Message) bool { return m.Method == method }
}

func failOn(method string, code int, rest string) func(*peer, *wire.Message) bool {
	return func(p *peer, m *wire.Message) bool {
		if m.Method != method {
			return false
		}
		p.fail(m, code, rest)
		return true
	}
}

func slow(d time.Duration, then func(*peer)) func(*peer) {
	return func(p *peer) {
		select {
		case <-time.After(d):
			then(p)
		case <-p.dead:
		}
	}
}

func TestNegotiateStdio(t *testing.T) {
	dies := func(p *peer) { p.next() }
	for _, tc := range []struct {
		name     string
		serve    func(n int, p *peer)
		revision spec.Revision
		attempts string
		took     time.Duration
	}{
		{"modern", func(_ int, p *peer) { modern(nil)(p) }, spec.Rev20260728, "fresh server/discover", 0},
		{"method not found", func(_ int, p *peer) { legacy(nil)(p) }, spec.Rev20251125, "fresh server/discover, initialize", 0},
		{"invalid params", func(_ int, p *peer) { legacy(failOn("server/discover", -32602, ""))(p) }, spec.Rev20251125,
			"fresh server/discover, initialize", 0},
		{"an error of its own", func(_ int, p *peer) { legacy(failOn("server/discover", 7, ""))(p) }, spec.Rev20251125,
			"fresh server/discover, initialize", 0},
		{"an empty result", func(_ int, p *peer) {
			legacy(func(p *peer, m *wire.Message) bool {
				if m.Method == "server/discover" {
					p.result(m, "{}")
				}
				return m.Method == "server/discover"
			})(p)
		}, spec.Rev20251125, "fresh server/discover, initialize", 0},
		{"silence", func(_ int, p *peer) { legacy(silentOn("server/discover"))(p) }, spec.Rev20251125,
			"fresh server/discover, initialize, fresh initialize", 3250 * time.Millisecond},
		{"silence, and wedged by it", func(n int, p *peer) {
			if n == 0 {
				for p.next() != nil {
				}
				return
			}
			legacy(silentOn("server/discover"))(p)
		}, spec.Rev20251125, "fresh server/discover, initialize, fresh initialize, fresh server/discover", 16 * time.Second},
		{"death", func(n int, p *peer) {
			if n == 0 {
				dies(p)
				return
			}
			legacy(nil)(p)
		}, spec.Rev20251125, "fresh server/discover, fresh initialize", 0},
		{"wedged by a request before the handshake", func(n int, p *peer) {
			if n == 0 {
				m := p.next()
				p.fail(m, -32600, "")
				for p.next() != nil {
				}
				return
			}
			legacy(nil)(p)
		}, spec.Rev20251125, "fresh server/discover, initialize, fresh initialize", 10 * time.Second},
		{"dies after the error", func(n int, p *peer) {
			if n == 0 {
				m := p.next()
				p.fail(m, -32600, "")
				return
			}
			legacy(nil)(p)
		}, spec.Rev20251125, "fresh server/discover, initialize, fresh initialize", 0},
		{"refuses the handshake after the error", func(n int, p *peer) {
			if n == 0 {
				legacy(failOn("initialize", -32600, ""))(p)
				return
			}
			legacy(nil)(p)
		}, spec.Rev20251125, "fresh server/discover, initialize, fresh initialize", 0},
		{"modern, slow to start", func(_ int, p *peer) { slow(5*time.Second, modern(nil))(p) }, spec.Rev20260728,
			"fresh server/discover, initialize", 5 * time.Second},
		{"both eras, slow to start", func(n int, p *peer) {
			slow(5*time.Second, legacy(func(p *peer, m *wire.Message) bool {
				if m.Method == "server/discover" {
					p.result(m, discovered)
				}
				return m.Method == "server/discover"
			}))(p)
		}, spec.Rev20260728, "fresh server/discover, initialize, fresh server/discover", 10 * time.Second},
		{"both eras, slow at first only", func(n int, p *peer) {
			f := legacy(on("server/discover", func(p *peer, m *wire.Message) { p.result(m, discovered) }))
			if n == 0 {
				f = slow(8*time.Second, f)
			}
			f(p)
		}, spec.Rev20260728, "fresh server/discover, initialize, fresh server/discover", 8 * time.Second},
		{"both eras, answering side by side, slow", func(n int, p *peer) {
			slow(5*time.Second, legacy(on("server/discover", func(p *peer, m *wire.Message) {
				time.AfterFunc(100*time.Millisecond, func() { p.result(m, discovered) })
			})))(p)
		}, spec.Rev20260728, "fresh server/discover, initialize, fresh server/discover", 10200 * time.Millisecond},
		{"both eras, very slow to start", func(n int, p *peer) {
			slow(20*time.Second, legacy(on("server/discover", func(p *peer, m *wire.Message) { p.result(m, discovered) })))(p)
		}, spec.Rev20260728, "fresh server/discover, initialize, fresh initialize, fresh server/discover", 53 * time.Second},
		{"modern, very slow to start", func(n int, p *peer) { slow(20*time.Second, modern(nil))(p) }, spec.Rev20260728,
			"fresh server/discover, initialize, fresh initialize, server/discover", 33 * time.Second},
		{"legacy, slow to start", func(n int, p *peer) { slow(5*time.Second, legacy(nil))(p) }, spec.Rev20251125,
			"fresh server/discover, initialize, fresh initialize", 10 * time.Second},
		{"legacy, silent, slow to start", func(n int, p *peer) { slow(5*time.Second, legacy(silentOn("server/discover")))(p) }, spec.Rev20251125,
			"fresh server/discover, initialize, fresh initialize", 10250 * time.Millisecond},
		{"slow, but within the patience", func(_ int, p *peer) { slow(2*time.Second, modern(nil))(p) }, spec.Rev20260728,
			"fresh server/discover", 2 * time.Second},
		{"another modern version", func(_ int, p *peer) {
			legacy(failOn("server/discover", -32022, `,"data":{"supported":["2027-01-01","2025-06-18"],"requested":"x"}`))(p)
		}, spec.Rev20251125, "fresh server/discover, initialize", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s := open(t, &fake{serve: tc.serve}, session.Options{})
				took := time.Since(begin)
				n := s.Negotiated()
				if n.Revision != tc.revision || n.Era != tc.revision.Era() {
					t.Errorf("revision %s, want %s", n.Revision, tc.revision)
				}
				if got := attempts(n.Attempts); got != tc.attempts {
					t.Errorf("attempts %s, want %s", got, tc.attempts)
				}
				if took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				if n.Handshake == nil || n.Handshake.Response == nil || n.ServerInfo == nil || n.Instructions == nil || n.Asked == "" {
					t.Errorf("%+v", n)
				}
				call(t, s, "tools/list", "")
				shut(t, s)
			})
		})
	}
}

func TestNegotiateFails(t *testing.T) {
	for _, tc := range []struct {
		name  string
		serve func(n int, p *peer)
		o     session.Options
		check func(*testing.T, error)
		took  time.Duration
	}{
		{"never answers", func(_ int, p *peer) {
			for p.next() != nil {
			}
		}, session.Options{}, func(t *testing.T, err error) {
			if e := as[*session.TimeoutError](t, err); e.Method != "initialize" || e.After != time.Minute || !e.Start ||
				e.Error() != "no answer to server/discover or initialize within 1m0s (the start bound)" {
				t.Errorf("%+v", e)
			}
		}, time.Minute},
		{"always dies", func(int, *peer) {}, session.Options{}, func(t *testing.T, err error) {
			as[*transport.Error](t, err)
		}, 0},
		{"another modern version alone", func(_ int, p *peer) {
			modern(failOn("server/discover", -32022, `,"data":{"supported":["2027-01-01"],"requested":"x"}`))(p)
		}, session.Options{}, func(t *testing.T, err error) {
			e := as[*session.NegotiationError](t, err)
			if strings.Join(e.Supported, " ") != "2027-01-01" || attempts(e.Attempts) != "fresh server/discover" || !strings.Contains(e.Error(), "2027-01-01") {
				t.Errorf("%+v", e)
			}
		}, 0},
		{"refuses everything", func(_ int, p *peer) {
			legacy(failOn("initialize", -32600, ""))(p)
		}, session.Options{}, func(t *testing.T, err error) {
			if e := as[*session.RPCError](t, as[*session.NegotiationError](t, err)); e.Code != -32600 {
				t.Errorf("%+v", e)
			}
		}, 0},
		{"modern was asked for", func(_ int, p *peer) { legacy(nil)(p) }, session.Options{Era: spec.Modern}, func(t *testing.T, err error) {
			as[*session.NegotiationError](t, err)
		}, 0},
		{"legacy was asked for", func(_ int, p *peer) {
			modern(failOn("initialize", -32022, `,"data":{"supported":["2026-07-28"]}`))(p)
		}, session.Options{Era: spec.Legacy}, func(t *testing.T, err error) {
			if e := as[*session.NegotiationError](t, err); strings.Join(e.Supported, "") != "2026-07-28" {
				t.Errorf("%+v", e)
			}
		}, 0},
		{"another revision was asked for", func(_ int, p *peer) { legacy(nil)(p) }, session.Options{Revision: spec.Rev20250326}, func(t *testing.T, err error) {
			if e := as[*session.NegotiationError](t, err); strings.Join(e.Supported, "") != "2025-11-25" || e.Asked != "2025-03-26" {
				t.Errorf("%+v", e)
			}
		}, 0},
		{"an unknown version answered", func(_ int, p *peer) {
			legacy(func(p *peer, m *wire.Message) bool {
				if m.Method == "initialize" {
					p.result(m, `{"protocolVersion":"1.0","capabilities":{},"serverInfo":{}}`)
				}
				return m.Method == "initialize"
			})(p)
		}, session.Options{Era: spec.Legacy}, func(t *testing.T, err error) {
			as[*session.NegotiationError](t, err)
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s, err := session.Open(t.Context(), &fake{serve: tc.serve}, tc.o)
				if s != nil || err == nil {
					t.Fatalf("opened: %v", err)
				}
				tc.check(t, err)
				if took := time.Since(begin); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

func TestNegotiateRevisions(t *testing.T) {
	echo := func(p *peer) {
		legacy(func(p *peer, m *wire.Message) bool {
			if m.Method != "initialize" {
				return false
			}
			v := strings.Trim(string(m.Params[strings.Index(string(m.Params), `:"`)+1:][:12]), `"`)
			p.result(m, `{"protocolVersion":"`+v+`","capabilities":{},"serverInfo":{}}`)
			return true
		})(p)
	}
	for _, r := range spec.Legacy.Revisions() {
		s := open(t, once(echo), session.Options{Revision: r})
		if n := s.Negotiated(); n.Revision != r || n.Asked != r.String() || n.Answered != r.String() || attempts(n.Attempts) != "fresh initialize" {
			t.Errorf("%s: %+v", r, n)
		}
	}
	s := open(t, once(modern(nil)), session.Options{Revision: spec.Rev20260728})
	if n := s.Negotiated(); n.Revision != spec.Rev20260728 || strings.Join(n.Supported, "") != "2026-07-28" {
		t.Errorf("%+v", n)
	}
	if _, err := session.Open(t.Context(), once(modern(nil)), session.Options{Era: spec.Legacy, Revision: spec.Rev20260728}); err == nil {
		t.Error("a revision of another era was accepted")
	}
}

func TestNegotiateModernWithoutDiscover(t *testing.T) {
	s := open(t, once(modern(failOn("server/discover", -32601, ""))), session.Options{Era: spec.Modern})
	if n := s.Negotiated(); n.Era != spec.Modern || n.Handshake != nil {
		t.Errorf("%+v", n)
	}
}

func TestNegotiateProgressAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen []session.Waiting
		o := session.Options{Progress: func(w session.Waiting) {
			if seen = append(seen, w); len(seen) == 6 {
				cancel()
			}
		}}
		_, err := session.Open(ctx, once(func(p *peer) {
			for p.next() != nil {
			}
		}), o)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if len(seen) < 6 || seen[0].For != "an answer to server/discover" || seen[0].Elapsed != time.Second || seen[4].For != "an answer to initialize" {
			t.Errorf("%+v", seen)
		}
	})
}

func TestNegotiateHTTP(t *testing.T) {
	legacyReply := func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			writeJSON(w, 200, "%s", answer(m, initialized))
		case m.Kind == wire.Request:
			writeJSON(w, 200, "%s", answer(m, "{}"))
		default:
			w.WriteHeader(202)
		}
	}
	before := func(f reply) reply { // what a legacy server does with server/discover
		return func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
			if m.Method == "server/discover" {
				f(w, r, m)
				return
			}
			legacyReply(w, r, m)
		}
	}
	for _, tc := range []struct {
		name     string
		f        reply
		revision spec.Revision
		attempts string
		reason   transport.Reason
	}{
		{"modern, JSON", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 200, "%s", answer(m, discovered))
		},
			spec.Rev20260728, "fresh server/discover", ""},
		{"modern, events", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { writeEvents(w, answer(m, discovered)) },
			spec.Rev20260728, "fresh server/discover", ""},
		{"400, empty", before(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { w.WriteHeader(400) }),
			spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"400, HTML", before(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { http.Error(w, "<html>", 400) }),
			spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"400, a plain error without an id", before(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			writeJSON(w, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}`)
		}), spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"404", before(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { w.WriteHeader(404) }),
			spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"200 with method not found", before(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}), spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"200 with {}", before(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 200, "%s", answer(m, "{}"))
		}),
			spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"a stream that ends", before(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { writeEvents(w) }),
			spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"a DiscoverResult that lists legacy versions only", before(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 200, "%s", answer(m, strings.Replace(discovered, "2026-07-28", "2025-06-18", 1)))
		}), spec.Rev20251125, "fresh server/discover, initialize", ""},
		{"500", before(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { w.WriteHeader(500) }),
			spec.Rev20251125, "fresh server/discover, initialize", ""},

		{"401", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
			w.WriteHeader(401)
		}, 0, "", transport.AuthNeeded},
		{"401 with JSON", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			writeJSON(w, 401, `{"error":"invalid_token"}`)
		}, 0, "", transport.AuthNeeded},
		{"401 with a JSON-RPC error", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 401, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"no"}}`, m.ID)
		}, 0, "", transport.AuthNeeded},
		{"403 with JSON", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			writeJSON(w, 403, `{"message":"forbidden"}`)
		}, 0, "", transport.AuthNeeded},
		{"401 for initialize alone", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			if m.Method == "server/discover" {
				w.WriteHeader(400)
				return
			}
			w.WriteHeader(401)
		}, 0, "", transport.AuthNeeded},
		{"404 with JSON", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			writeJSON(w, 404, `{"message":"Not Found"}`)
		}, 0, "", transport.NotFound},
		{"redirect", func(w http.ResponseWriter, r *http.Request, _ *wire.Message) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}, 0, "", transport.Redirected},
		{"page", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
			_, _ = w.Write([]byte("<!doctype html>"))
		}, 0, "", transport.NotMCP},
		{"wrong path", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { http.Error(w, "not here", 404) }, 0, "", transport.NotFound},
		{"broken", func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { w.WriteHeader(503) }, 0, "", transport.BadStatus},
		{"header mismatch", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 400, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"no"}}`, m.ID)
		}, 0, "fresh server/discover", ""},
		{"a DiscoverResult that lists unknown versions only", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 200, "%s", answer(m, strings.Replace(discovered, "2026-07-28", "2027-07-28", 1)))
		}, 0, "fresh server/discover", ""},
		{"another version", func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			writeJSON(w, 400, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2027-07-28"]}}}`, m.ID)
		}, 0, "fresh server/discover", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := session.Open(t.Context(), handler(tc.f), session.Options{})
			if tc.revision != 0 {
				if err != nil {
					t.Fatal(err)
				}
				n := s.Negotiated()
				if n.Revision != tc.revision || attempts(n.Attempts) != tc.attempts || n.Transport != transport.StreamableHTTP {
					t.Errorf("%+v", n)
				}
				if n.Era == spec.Legacy && n.SessionID != "s1" {
					t.Errorf("session id %q", n.SessionID)
				}
				call(t, s, "tools/list", "")
				shut(t, s)
				return
			}
			if err == nil {
				t.Fatal("opened")
			}
			if tc.reason != "" {
				if got := transport.ReasonOf(err); got != tc.reason {
					t.Errorf("%v (%s), want %s", err, got, tc.reason)
				}
				return
			}
			if e := as[*session.NegotiationError](t, err); attempts(e.Attempts) != tc.attempts {
				t.Errorf("attempts %s", attempts(e.Attempts))
			}
		})
	}
}

func TestNegotiateHTTPFallsBackToSSE(t *testing.T) {
	posted := make(chan *wire.Message, 8)
	h := handler(func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		switch {
		case r.Method == "GET":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: endpoint\ndata: /messages?id=1\n\n"))
			w.(http.Flusher).Flush()
			for {
				select {
				case m := <-posted:
					if m.Method == "initialize" {
						writeEvents(w, answer(m, strings.Replace(initialized, "2025-11-25", "2024-11-05", 1)))
					} else if m.Kind == wire.Request {
						writeEvents(w, answer(m, "{}"))
					}
				case <-r.Context().Done():
					return
				}
			}
		case r.URL.Path == "/messages":
			posted <- m
			w.WriteHeader(202)
			_, _ = w.Write([]byte("Accepted"))
		default:
			http.NotFound(w, r)
		}
	})
	s := open(t, h, session.Options{})
	n := s.Negotiated()
	if n.Transport != transport.HTTPSSE || n.Revision != spec.Rev20241105 || attempts(n.Attempts) != "fresh server/discover, initialize, fresh initialize" {
		t.Errorf("%+v", n)
	}
	call(t, s, "tools/list", "")
	if a := anomalies(s); a != "" {
		t.Errorf("anomalies %s", a)
	}
}

func TestNegotiateProcesses(t *testing.T) {
	short := session.Options{Timeouts: session.Timeouts{Discover: 300 * time.Millisecond, Start: time.Second}}
	for _, tc := range []struct {
		name     string
		revision spec.Revision
		check    func(*testing.T, error)
	}{
		{"modern", spec.Rev20260728, nil},
		{"legacy", spec.Rev20251125, nil},
		{"dies on discover", spec.Rev20251125, nil},
		{"never exits", spec.Rev20251125, nil},
		{"dies", 0, func(t *testing.T, err error) {
			e := as[*transport.Error](t, err)
			if e.Reason != transport.Died || e.Exit == nil || e.Exit.Code != 2 || !strings.Contains(e.Exit.Stderr, "no configuration") {
				t.Errorf("%+v", e)
			}
		}},
		{"silent", 0, func(t *testing.T, err error) { as[*session.TimeoutError](t, err) }},
		{"half", 0, func(t *testing.T, err error) { as[*session.TimeoutError](t, err) }},
		{"floods", 0, func(t *testing.T, err error) { as[*session.TimeoutError](t, err) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begin := time.Now()
			s, err := session.Open(t.Context(), process(tc.name), short)
			switch {
			case tc.revision == 0 && err == nil:
				t.Fatal("opened")
			case tc.revision == 0:
				tc.check(t, err)
			case err != nil:
				t.Fatal(err)
			default:
				if n := s.Negotiated(); n.Revision != tc.revision {
					t.Errorf("%+v", n)
				}
				call(t, s, "tools/list", "")
				shut(t, s)
			}
			if took := time.Since(begin); took > 8*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestStatusWithForeignJSON: JSON that is no JSON-RPC does not hide the status
// that it came with.
func TestStatusWithForeignJSON(t *testing.T) {
	for _, body := range []string{
		`{"error":"x"}`, `{"error":{"code":404,"message":"x"}}`, `{"result":false}`, `{"id":7,"error":{}}`,
		`{"method":"POST","error":"x"}`, `{"jsonrpc":"2.0","id":null,"error":"x"}`,
	} {
		for status, reason := range map[int]transport.Reason{
			400: transport.BadStatus, 401: transport.AuthNeeded, 403: transport.AuthNeeded, 404: transport.NotFound,
			405: transport.BadStatus, 429: transport.BadStatus, 503: transport.BadStatus,
		} {
			for _, media := range []string{"application/json", "application/problem+json"} {
				for _, era := range []spec.Era{0, spec.Legacy, spec.Modern} {
					_, err := session.Open(t.Context(), handler(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
						w.Header().Set("Content-Type", media)
						w.WriteHeader(status)
						_, _ = w.Write([]byte(body))
					}), session.Options{Era: era})
					e := as[*transport.Error](t, err)
					if want := fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)); e.Reason != reason || !strings.HasPrefix(err.Error(), want) ||
						e.Err != nil || strings.Contains(err.Error(), "error 0") {
						t.Errorf("%d %s %s: %v (%s)", status, media, body, err, e.Reason)
					}
				}
			}
		}
	}
}

// TestHandshakeRefused: the words of the refusal are told.
func TestHandshakeRefused(t *testing.T) {
	for name, serve := range map[string]func(*peer){
		"initialize alone": legacy(failOn("initialize", -32000, "")),
		"everything": func(p *peer) {
			for m := p.next(); m != nil; m = p.next() {
				p.fail(m, -32000, "")
			}
		},
		"after a DiscoverResult": legacy(func(p *peer, m *wire.Message) bool {
			if m.Method == "server/discover" {
				p.result(m, `{"supportedVersions":["2025-11-25"]}`)
				return true
			}
			return failOn("initialize", -32000, "")(p, m)
		}),
		"with a list": legacy(failOn("initialize", -32000, `,"data":{"supported":["1.0"]}`)),
	} {
		for _, era := range []spec.Era{0, spec.Legacy} {
			_, err := session.Open(t.Context(), once(serve), session.Options{Era: era})
			if e := as[*session.NegotiationError](t, err); !strings.HasSuffix(e.Error(), ": initialize: error -32000: no") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	rpc := &session.RPCError{Method: "tools/list", Code: -32603, Message: "x"}
	for want, err := range map[string]error{
		"tools/list: error -32603: x":                   rpc,
		"page 2: error -32603: x":                       &session.PageError{Method: "tools/list", Page: 2, Err: rpc},
		"page 1: no answer within 30s":                  &session.PageError{Method: "tools/list", Page: 1, Err: &session.TimeoutError{Method: "tools/list", After: 30 * time.Second}},
		"tools/list: error -5":                          &session.RPCError{Method: "tools/list", Code: -5},
		"tools/list: an error without code and message": &session.RPCError{Method: "tools/list"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStartBound: all that Open tries on a silent server ends with Start.
func TestStartBound(t *testing.T) {
	mute := func(p *peer) {
		for p.next() != nil {
		}
	}
	for _, tc := range []struct {
		start     time.Duration
		o         session.Options
		serve     func(*peer)
		processes int32
		text      string
	}{
		{300 * time.Millisecond, session.Options{}, mute, 1, "no answer to server/discover or initialize within 300ms (the start bound)"},
		{time.Second, session.Options{}, mute, 1, "no answer to server/discover or initialize within 1s (the start bound)"},
		{4 * time.Second, session.Options{}, mute, 2, "no answer to server/discover or initialize within 4s (the start bound)"},
		{15 * time.Second, session.Options{}, mute, 2, "no answer to server/discover or initialize within 15s (the start bound)"},
		{2345678 * time.Microsecond, session.Options{Era: spec.Legacy}, mute, 1, "no answer to initialize within 2.3s (the start bound)"},
		{2 * time.Second, session.Options{Era: spec.Modern}, mute, 1, "no answer to server/discover within 2s (the start bound)"},
		{4 * time.Second, session.Options{}, legacy(silentOn("initialize")), 2, "no answer to initialize within 4s (the start bound)"},
		{2 * time.Second, session.Options{Era: spec.Modern}, func(p *peer) {
			for m := p.next(); m != nil; m = p.next() {
				if m.Method == "server/discover" {
					p.fail(m, -32601, "")
				}
			}
		}, 1, "the server does not speak 2026-07-28: server/discover: error -32601: no"},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			f := once(tc.serve)
			tc.o.Timeouts.Start = tc.start
			_, err := session.Open(t.Context(), f, tc.o)
			if err == nil || err.Error() != tc.text || f.n.Load() != tc.processes {
				t.Errorf("%s: %v, %d processes", tc.start, err, f.n.Load())
			}
			var e *session.TimeoutError
			if errors.As(err, &e) && (!e.Start || e.After != tc.start) {
				t.Errorf("%+v", e)
			}
			if took := time.Since(begin); took > tc.start+100*time.Millisecond {
				t.Errorf("%s: took %s", tc.start, took)
			}
		})
	}
}

// TestStartBoundSlowServer: a server that comes up late, but within Start, is
// not given up for a fresh process that would come up too late.
func TestStartBoundSlowServer(t *testing.T) {
	for _, serve := range []func(*peer){legacy(nil), legacy(silentOn("server/discover"))} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, once(slow(1200*time.Millisecond, serve)), session.Options{Timeouts: session.Timeouts{Start: 2 * time.Second}})
			if n := s.Negotiated(); n.Revision != spec.Rev20251125 || attempts(n.Attempts) != "fresh server/discover, initialize" || n.Handshake == nil {
				t.Errorf("%+v", n)
			}
			call(t, s, "tools/list", "")
			shut(t, s)
		})
	}
}

// TestStartBoundProcess: ending the process is within the bound, but for a
// moment, whatever patience the target has.
func TestStartBoundProcess(t *testing.T) {
	for _, name := range []string{"silent", "stubborn", "floods"} {
		for _, start := range []time.Duration{time.Second, 4 * time.Second} {
			t.Run(name+" "+start.String(), func(t *testing.T) {
				t.Parallel()
				target := process(name)
				target.CloseGrace, target.TermGrace = time.Hour, time.Hour
				begin := time.Now()
				_, err := session.Open(t.Context(), target, session.Options{Timeouts: session.Timeouts{Start: start}})
				if e := as[*session.TimeoutError](t, err); !e.Start || e.After != start {
					t.Errorf("%+v", e)
				}
				if took := time.Since(begin); took > start+time.Second {
					t.Errorf("took %s", took)
				}
			})
		}
	}
}
