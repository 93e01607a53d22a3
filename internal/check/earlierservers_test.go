// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
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
			faults: []mock.Fault{mock.On(http.MethodGet).When(mock.HasHeader(spec.HeaderLastEventID)).OnTurn(2).Status(busy)},
			id:     "sse-resume.event-id-stream", want: rule.Skip,
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
