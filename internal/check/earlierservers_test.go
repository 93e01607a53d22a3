// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Servers of the handshake era as they are in the wild, which a rule must not
// blame, and some that it must not overlook.
func TestServersOfTheHandshakeEra(t *testing.T) {
	http2511, http2506, http2503 := stage{transport.StreamableHTTP, spec.Rev20251125}, stage{transport.StreamableHTTP, spec.Rev20250618}, stage{transport.StreamableHTTP, spec.Rev20250326}
	stdio2511 := stage{transport.Stdio, spec.Rev20251125}
	const busy = http.StatusTooManyRequests
	for name, tc := range map[string]struct {
		at     stage
		change func(*mock.Script)
		faults []mock.Fault
		wrap   func(http.Handler) http.Handler
		also   []string // rules that send what the rule looks at
		id     string
		want   rule.Status
	}{
		"event ids begin anew with each session": {
			at: http2511, change: func(s *mock.Script) { s.Resumable = true }, wrap: numberedBySession,
			also: []string{"lifecycle.reinitialize"}, id: "sse-resume.event-id-unique", want: rule.Pass,
		},
		"event ids begin anew with each stream": {
			at: http2511, change: func(s *mock.Script) { s.Resumable = true }, wrap: numberedByStream,
			id: "sse-resume.event-id-unique", want: rule.Fail,
		},
		"a client is pinged in its handshake, by an id that is its session's": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodInitialize).Request(spec.MethodPing, "{}", `"early"`)},
			also: []string{"lifecycle.reinitialize"}, id: "jsonrpc.request-id-unique-session", want: rule.Pass,
		},
		"a client is pinged in its handshake, over stdio": {
			at: stdio2511, faults: []mock.Fault{mock.On(spec.MethodInitialize).Request(spec.MethodPing, "{}", `"early"`)},
			also: []string{"lifecycle.reinitialize"}, id: "jsonrpc.request-id-unique-session", want: rule.Pass,
		},
		"too many requests, at a wrong version": {
			at: http2506, faults: []mock.Fault{mock.On("").When(mock.HeaderIs(spec.HeaderProtocolVersion, "1900-01-01")).Status(busy)},
			id: "http-legacy.version-header-invalid-400", want: rule.Skip,
		},
		"too many requests, without a version": {
			at: http2506, faults: []mock.Fault{mock.On("").When(mock.HasHeader(spec.HeaderSessionID), mock.NoHeader(spec.HeaderProtocolVersion), mock.IDIs("string")).Status(busy)},
			id: "http-legacy.version-header-absent", want: rule.Skip,
		},
		"too many requests, without a session": {
			at: http2506, faults: []mock.Fault{mock.On(spec.MethodToolsList).When(mock.NoHeader(spec.HeaderSessionID), mock.NoMeta(spec.MetaProtocolVersion)).Status(busy)},
			id: "session.missing-400", want: rule.Skip,
		},
		"too many requests, in a session that has ended": {
			at: http2506, faults: []mock.Fault{mock.On("").When(mock.HasHeader(spec.HeaderSessionID)).OfCode(spec.CodeInvalidRequest).Status(busy)},
			id: "session.unknown-404", want: rule.Skip,
		},
		"too many requests, for an array": {
			at: http2503, wrap: noArrays,
			id: "batch.receive", want: rule.Skip,
		},
		"too many requests, for an empty array": {
			at: http2503, faults: []mock.Fault{mock.On(mock.Batched).OfCode(spec.CodeInvalidRequest).HTTP(busy, "text/plain", "slow down")},
			id: "batch.empty-32600", want: rule.Skip,
		},
		"too many clients, for a version that was offered": {
			at: http2503, faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.ParamIs("/protocolVersion", `"2025-11-25"`)).HTTP(busy, "text/plain", "slow down")},
			id: "lifecycle.version-echo", want: rule.Skip,
		},
		"too many requests, for one of two streams": {
			at: http2511, change: func(s *mock.Script) { s.Resumable = true },
			faults: []mock.Fault{mock.On(http.MethodGet).When(mock.HasHeader(spec.HeaderLastEventID)).FromTurn(2).Status(busy)},
			id:     "sse-resume.event-id-stream", want: rule.Skip,
		},
		"too many requests, once": {
			at: http2511, change: func(s *mock.Script) { s.Resumable = true },
			faults: []mock.Fault{mock.On(http.MethodGet).When(mock.HasHeader(spec.HeaderLastEventID)).OnTurn(2).Status(busy)},
			id:     "sse-resume.event-id-stream", want: rule.Pass,
		},
		"a prompt that changes the tools": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodPromptsGet).OfResult().Notify(spec.NotificationToolsListChanged, "{}")},
			also: []string{"prompts.get-shape"}, id: "transport-http.sse-related-only-legacy", want: rule.Pass,
		},
		"a resource that is changed when it is read": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodResourcesRead).OfResult().Notify(spec.NotificationResourcesListChanged, "{}")},
			also: []string{"resources.listed-readable"}, id: "transport-http.sse-related-only-legacy", want: rule.Pass,
		},
		"results have a resultType of the server's own": {
			at: http2506, faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfResult().Set("/result/resultType", `"rows"`)},
			id: "lifecycle.version-respected", want: rule.Pass,
		},
		"one resource alone can be watched": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodResourcesSubscribe).When(mock.Not(mock.ParamIs("/uri", `"tide://log"`))).Error(spec.CodeInvalidParams, "it never changes")},
			id: "resources.subscribe-legacy", want: rule.Pass,
		},
		"a client that can be asked is told of more": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.NoParam("/capabilities/sampling")).Remove("/result/capabilities/resources/listChanged")},
			also: []string{"tasks-legacy.cancel-by-tasks-cancel"}, id: "lifecycle.capabilities-respected", want: rule.Pass,
		},
		"a client is told of what was declared to another": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/sampling")).Remove("/result/capabilities/resources/listChanged")},
			also: []string{"tasks-legacy.cancel-by-tasks-cancel"}, id: "lifecycle.capabilities-respected", want: rule.Fail,
		},
		"a client with roots is asked for them before it is ready": {
			at: stdio2511, faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/roots")).Request(spec.MethodRootsList, "{}", `"roots"`)},
			id: "lifecycle.server-waits", want: rule.Warn,
		},
		"a client with roots is asked for them once it is ready": {
			at: stdio2511, faults: []mock.Fault{mock.On(spec.MethodPing).When(mock.EarlierHas("/params/capabilities/roots")).Request(spec.MethodRootsList, "{}", `"roots"`)},
			id: "lifecycle.server-waits", want: rule.Pass,
		},
		"a stream is closed twice, and says once how long to wait": {
			at: http2511, wrap: polledTwice(20 * time.Millisecond), id: "http-legacy.sse-retry-before-close", want: rule.Pass,
		},
		"a stream is closed twice, and does not say how long to wait": {
			at: http2511, wrap: polledTwice(0), id: "http-legacy.sse-retry-before-close", want: rule.Warn,
		},
		"ping is nowhere": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodPing).HTTP(http.StatusNotFound, "text/plain", "no")},
			id: "ping.answered", want: rule.Fail,
		},
		"unknown methods are nowhere, and ping is one": {
			at: http2511, faults: []mock.Fault{mock.On("").OfCode(spec.CodeMethodNotFound).HTTP(http.StatusNotFound, "text/plain", "no"), mock.On(spec.MethodPing).HTTP(http.StatusNotFound, "text/plain", "no")},
			id: "jsonrpc.method-not-found-32601", want: rule.Fail,
		},
		"a second initialize ends the session": {at: http2511, wrap: givesWay, id: "lifecycle.reinitialize", want: rule.Pass},
		"no resource can be watched": {
			at: http2511, faults: []mock.Fault{mock.On(spec.MethodResourcesSubscribe).Error(spec.CodeInvalidParams, "it never changes")},
			id: "resources.subscribe-legacy", want: rule.Warn,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := specimen()
			s.Revisions = spec.Legacy.Revisions()
			if tc.change != nil {
				tc.change(&s)
			}
			s.Faults = append(s.Faults, tc.faults...)
			o := check.Options{Only: append([]string{tc.id}, tc.also...), Options: probe.Options{Failing: failing, Tools: namedTools, Revision: tc.at.revision}}
			got := byRule(runOn(t, s, func(m *mock.Server) transport.Target {
				if tc.at.kind == transport.Stdio {
					return m.Stdio("mock")
				}
				var h http.Handler = m
				if tc.wrap != nil {
					h = tc.wrap(m)
				}
				return &transport.Handler{Handler: h, Name: "mock"}
			}, o))[tc.id]
			if got.Status != tc.want {
				t.Errorf("want %s: %s", tc.want, show(got))
			}
		})
	}
}

var eventID = regexp.MustCompile(`(?m)^id: ?\S+$`)

// renumbered writes the ids of events anew.
type renumbered struct {
	http.ResponseWriter
	next func() int
}

func (w *renumbered) Write(b []byte) (int, error) {
	text := eventID.ReplaceAllFunc(b, func([]byte) []byte { return fmt.Appendf(nil, "id: %d", w.next()) })
	if _, err := w.ResponseWriter.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w *renumbered) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// numberedBySession counts the events of each session, of which the first is the
// answer to initialize.
func numberedBySession(h http.Handler) http.Handler {
	var mu sync.Mutex
	counts := map[string]int{}
	next := func(session string) int {
		mu.Lock()
		defer mu.Unlock()
		counts[session]++
		return counts[session]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get(spec.HeaderSessionID)
		if messageOf(r).Method != spec.MethodInitialize {
			h.ServeHTTP(&renumbered{ResponseWriter: w, next: func() int { return next(session) }}, r)
			return
		}
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		session = answer.Header().Get(spec.HeaderSessionID)
		w.Header().Set(spec.HeaderSessionID, session)
		w.Header().Set("Content-Type", spec.MediaEventStream)
		_, _ = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", next(session), bytes.TrimSpace(answer.Body.Bytes()))
	})
}

// numberedByStream counts the events of each stream.
func numberedByStream(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		h.ServeHTTP(&renumbered{ResponseWriter: w, next: func() int { n++; return n }}, r)
	})
}

// noArrays turns arrays away for now.
func noArrays(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bytes.HasPrefix(messageOf(r).Raw, []byte("[")) {
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// polledTwice closes the stream of a list two times before the answer, and says
// how long to wait the first time, if at all. Who comes back too soon gets
// nothing.
func polledTwice(wait time.Duration) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		var mu sync.Mutex
		var answer []byte
		var last time.Time
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			event := func(format string, args ...any) {
				w.Header().Set("Content-Type", spec.MediaEventStream)
				_, _ = fmt.Fprintf(w, format, args...)
				last = time.Now()
			}
			m, from := messageOf(r), r.Header.Get(spec.HeaderLastEventID)
			switch {
			case m.Method == spec.MethodToolsList && strings.Contains(string(m.Params), "mcprove-posted"):
				out := httptest.NewRecorder()
				h.ServeHTTP(out, r)
				answer = bytes.TrimSpace(out.Body.Bytes())
				if wait > 0 {
					event("retry: %d\n", wait.Milliseconds())
				}
				event("id: a\ndata:\n\n")
			case from != "" && time.Since(last) < wait:
				event(": too soon\n\n")
			case from == "a":
				event("id: b\ndata:\n\n")
			case from == "b":
				event("id: c\ndata: %s\n\n", answer)
			default:
				mu.Unlock()
				h.ServeHTTP(w, r)
				mu.Lock()
			}
		})
	}
}

// A stream that ends without a response because its client cancelled the request
// was not closed too early.
func TestStreamOfACancelledRequest(t *testing.T) {
	const call, cancel = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`
	for id, want := range map[string]rule.Status{"7": rule.Skip, "8": rule.Warn} {
		r := probe.NewRecorder(transport.StreamableHTTP, spec.Rev20250618)
		post, stream := &wire.Head{Method: http.MethodPost}, &wire.Head{Status: http.StatusOK, Header: []wire.HeaderField{{Name: "Content-Type", Value: spec.MediaEventStream}}}
		r.HTTP("1", post, []byte(call), stream, nil, nil)
		r.HTTP("1", post, fmt.Appendf(nil, cancel, id), &wire.Head{Status: http.StatusAccepted}, nil, nil)
		traffic := r.Traffic()
		for _, name := range []string{"http-legacy.sse-has-response", "http-legacy.sse-no-early-close"} {
			if o := only(t, name, traffic); o.Status != want && !(want == rule.Warn && o.Because != "") {
				t.Errorf("%s was cancelled: want %s: %s", id, want, show(o))
			}
		}
	}
}

// keeping keeps so many sessions at a time, and ends the one that was not used
// for longest.
func keeping(most int, h http.Handler) http.Handler {
	var mu sync.Mutex
	var kept []string // the last one was used last
	use := func(id string, begins bool) (known bool) {
		mu.Lock()
		defer mu.Unlock()
		i := slices.Index(kept, id)
		if i < 0 && !begins {
			return false
		}
		if i >= 0 {
			kept = slices.Delete(kept, i, i+1)
		}
		if kept = append(kept, id); len(kept) > most {
			kept = kept[1:]
		}
		return true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(spec.HeaderSessionID)
		if id != "" && !use(id, false) {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		h.ServeHTTP(w, r)
		if fresh := w.Header().Get(spec.HeaderSessionID); fresh != "" {
			use(fresh, true)
		}
	})
}

// A server may end a session whenever it wants to, and its client begins another.
func TestServerThatEndsSessions(t *testing.T) {
	for _, most := range []int{12, 4} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			s := specimen()
			s.Revisions = spec.Legacy.Revisions()
			r := runOn(t, s, func(m *mock.Server) transport.Target {
				return &transport.Handler{Handler: keeping(most, m), Name: "mock"}
			}, check.Options{Options: probe.Options{Failing: failing, Tools: namedTools, Revision: spec.Rev20251125}})
			judged := 0
			for _, o := range r.Outcomes {
				if o.Status == rule.Pass {
					judged++
				}
				if blamed(o) || o.Status == rule.Error {
					t.Error(show(o))
				}
			}
			t.Logf("%d rules pass", judged)
		})
	}
}

// What a task says on the way comes where its result is waited for.
func TestProgressOfATask(t *testing.T) {
	const call, task, wait = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a",%s"_meta":{"progressToken":"p"}}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"task":{"taskId":"t"}}}`, `{"jsonrpc":"2.0","id":8,"method":"tasks/result","params":{"taskId":"t"}}`
	for asks, want := range map[string]rule.Status{`"task":{},`: rule.Pass, "": rule.Warn} {
		r := probe.NewRecorder(transport.StreamableHTTP, spec.Rev20251125)
		post := &wire.Head{Method: http.MethodPost}
		plain, stream := &wire.Head{Status: http.StatusOK}, &wire.Head{Status: http.StatusOK, Header: []wire.HeaderField{{Name: "Content-Type", Value: spec.MediaEventStream}}}
		came := func(head *wire.Head, text string) *wire.Frame {
			return &wire.Frame{Raw: []byte(text), Dir: wire.ToClient, HTTP: head}
		}
		r.HTTP("1", post, fmt.Appendf(nil, call, asks), plain, []*wire.Frame{came(plain, task)}, nil)
		r.HTTP("1", post, []byte(wait), stream, []*wire.Frame{came(stream, reports(`"p"`, "1")), came(stream, called(8))}, nil)
		if o := only(t, "transport-http.sse-related-only-legacy", r.Traffic()); o.Status != want {
			t.Errorf("%q: want %s: %s", asks, want, show(o))
		}
	}
}

// givesWay ends the session in which a client begins another one.
func givesWay(h http.Handler) http.Handler {
	var gone sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(spec.HeaderSessionID)
		if _, is := gone.Load(id); is {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		if id != "" && messageOf(r).Method == spec.MethodInitialize {
			gone.Store(id, true)
		}
		h.ServeHTTP(w, r)
	})
}
