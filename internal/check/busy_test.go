// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// bucket is a limit on how many requests a server takes in a second.
func bucket(perSecond float64, refuse http.HandlerFunc) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		var mu sync.Mutex
		tokens, last := perSecond, time.Now()
		take := func() bool {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			tokens, last = min(perSecond, tokens+now.Sub(last).Seconds()*perSecond), now
			if tokens < 1 {
				return false
			}
			tokens--
			return true
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !take() {
				refuse(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

// window is such a limit that counts the requests of each second.
func window(perSecond int64, refuse http.HandlerFunc) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		var n atomic.Int64
		var second atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if now := time.Now().Unix(); second.Swap(now) != now {
				n.Store(0)
			}
			if n.Add(1) > perSecond {
				refuse(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

// every turns every nth request away.
func every(nth int64, refuse http.HandlerFunc) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1)%nth == 0 {
				refuse(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

// turning turns requests away by a status.
func turning(status int, retryAfter, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", spec.MediaJSON)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// behind is a mock that is reached through something else.
func behind(t *testing.T, revision spec.Revision, middle func(http.Handler) http.Handler) *check.Result {
	t.Helper()
	o := check.Options{Options: probe.Options{Failing: failing, Revision: revision, Tools: namedTools}}
	return runOn(t, specimen(), func(s *mock.Server) transport.Target {
		return &transport.Handler{Handler: middle(s), URL: "http://127.0.0.1/mcp"}
	}, o)
}

// limits are what right servers stand behind.
var limits = map[string]func(http.Handler) http.Handler{
	"429 beyond 100 a second":               bucket(100, turning(http.StatusTooManyRequests, "1", "")),
	"429 beyond 30 a second":                bucket(30, turning(http.StatusTooManyRequests, "1", "slow down")),
	"429 beyond 30 a second without a time": window(30, turning(http.StatusTooManyRequests, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Too many requests"}}`)),
	"503 beyond 50 a second":                bucket(50, turning(http.StatusServiceUnavailable, "", "busy")),
	"503 to every 11th":                     every(11, turning(http.StatusServiceUnavailable, "", "busy")),
	"429 to every 7th":                      every(7, turning(http.StatusTooManyRequests, "1", "")),
	"502 to every 5th":                      every(5, turning(http.StatusBadGateway, "", "<h1>Bad Gateway</h1>")),
}

// A server may limit how many requests it takes, and what stands before it may
// turn some away: that says nothing of the server.
func TestRightBehindALimit(t *testing.T) {
	for name, limit := range limits {
		for _, revision := range []spec.Revision{spec.Latest, spec.Rev20251125} {
			t.Run(name+" in "+revision.String(), func(t *testing.T) {
				t.Parallel()
				r := behind(t, revision, limit)
				judged, skipped := 0, 0
				for _, o := range r.Outcomes {
					switch {
					case o.Status > rule.Note:
						t.Error(show(o))
					case o.Status == rule.Skip && (o.Reason == probe.Busy || o.Reason == probe.RunEnded):
						skipped++
						if skipped < 4 {
							t.Log(show(o))
						}
					default:
						judged++
					}
				}
				t.Logf("%d rules judged, %d not, in %s", judged, skipped, r.Elapsed)
				if !strings.Contains(name, "30") && !strings.Contains(name, "7th") && skipped > judged/10 {
					t.Errorf("%d of %d rules were not judged", skipped, judged+skipped)
				}
			})
		}
	}
}

// A method that is turned away each time is not one that works. Where nothing
// says that it is for a limit, it is a fault like each other.
func TestMethodTurnedAwayAlways(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		for method, id := range map[string]string{
			spec.MethodToolsList:  "tools.list-answered",
			spec.MethodDiscover:   "discover.implemented",
			spec.MethodPromptsGet: "jsonrpc.invalid-params-32602",
			spec.MethodToolsCall:  "tools.unknown-tool-32602",
		} {
			t.Run(http.StatusText(status)+" to "+method, func(t *testing.T) {
				t.Parallel()
				r := behind(t, spec.Latest, always(method, turning(status, "", "")))
				o := byRule(r)[id]
				switch {
				case o.Status == rule.Fail, o.Status == rule.Warn:
				case o.Status == rule.Skip && status == http.StatusTooManyRequests && o.Reason == probe.Busy:
				case o.Status == rule.Skip && strings.Contains(o.Reason, "HTTP 429"), o.Status == rule.Skip && strings.Contains(o.Reason, "HTTP 503"):
				default:
					t.Error(show(o))
				}
				late, judged := 0, 0
				for _, o := range r.Outcomes {
					switch {
					case o.Status == rule.Skip && o.Reason == probe.RunEnded:
						late++
					case o.Status != rule.Skip:
						judged++
					}
				}
				if t.Logf("%d rules judged, in %s", judged, r.Elapsed); late > 0 {
					t.Errorf("for %d rules there was no time", late)
				}
			})
		}
	}
}

// always turns away all that names a method.
func always(method string, refuse http.HandlerFunc) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(`"`+method+`"`)) {
				refuse(w, r)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			h.ServeHTTP(w, r)
		})
	}
}

// A server that takes nothing is not judged, and not passed.
func TestNothingTaken(t *testing.T) {
	t.Parallel()
	for _, refuse := range []http.HandlerFunc{
		turning(http.StatusServiceUnavailable, "", "down for maintenance"),
		turning(http.StatusTooManyRequests, "60", ""),
	} {
		for _, revision := range []spec.Revision{spec.Latest, spec.Rev20251125} {
			r := behind(t, revision, func(http.Handler) http.Handler { return refuse })
			for _, o := range r.Outcomes {
				if o.Status != rule.Skip || o.Reason != probe.Busy {
					t.Error(show(o))
				}
			}
			t.Logf("%d rules in %s", len(r.Outcomes), r.Elapsed)
		}
	}
}
