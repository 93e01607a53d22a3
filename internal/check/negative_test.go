// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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

// bad is a server that no run may be content with.
type bad struct {
	name   string
	target func(*testing.T) transport.Target
	// want is a rule that must blame it; empty is any.
	want string
	// most is how many findings its one cause may have, three unless it says
	// otherwise.
	most int
	// within bounds the run.
	within time.Duration
}

func refusing(status int, body string) func(*testing.T) transport.Target {
	return func(*testing.T) transport.Target {
		return &transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})}
	}
}

func scripted(kind transport.Kind, faults ...mock.Fault) func(*testing.T) transport.Target {
	return func(*testing.T) transport.Target {
		s := specimen()
		s.Faults = faults
		for _, c := range modernCarriers {
			if c.kind == kind {
				return c.target(mock.New(s))
			}
		}
		return nil
	}
}

// elicits are the faults of a server that asks its client something in the way
// of the handshake era, and answers only after that.
func elicits(method string) []mock.Fault {
	return []mock.Fault{
		mock.On(method).Request(spec.MethodElicit, `{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`, `"e-1"`),
		mock.On(method).Drop(),
	}
}

// noID is a JSON-RPC error for anything.
const noID = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`

func badServers() []bad {
	const http, stdio = transport.StreamableHTTP, transport.Stdio
	out := []bad{
		{name: "400 to everything", target: refusing(400, noID), want: probe.RuleAnswers},
		{name: "404 to everything", target: refusing(404, ""), want: probe.RuleAnswers},
		{name: "500 to everything", target: refusing(500, "oops"), want: probe.RuleAnswers},
		{name: "200 with an error to everything", target: refusing(200, noID), want: probe.RuleAnswers},
		{name: "silent listener", target: silentListener, want: probe.RuleAnswers, within: 20 * time.Second},
		{name: "unstable lists", target: unstable(), want: "tools.list-not-side-effect", most: 1},
		{name: "unstable lists, and no word of any change", target: unstable(mock.OnNotification(spec.NotificationToolsListChanged).Drop()),
			want: "tools.list-not-side-effect", most: 1},
		{name: "endless cursors", target: scripted(http, mock.On(spec.MethodToolsList).EndlessCursors())},
		{name: "endless cursors over stdio", target: scripted(stdio, mock.On(spec.MethodToolsList).EndlessCursors())},
		{name: "the same cursor for ever", target: scripted(http, mock.On(spec.MethodPromptsList).RepeatCursor())},
		{name: "asks for an elicitation and waits", target: scripted(stdio, elicits(spec.MethodToolsList)...)},
		{name: "answers with another's id", target: scripted(http, mock.On("").OnTurn(3).Set("/id", "424242"))},
		{name: "answers with another's id over stdio", target: scripted(stdio, mock.On("").OnTurn(3).Set("/id", "424242"))},
		{name: "answers everything with another's id", target: scripted(http, mock.On("").Set("/id", "424242")), want: "jsonrpc.result-id-match"},
		{name: "answers everything with another's id over stdio", target: scripted(stdio, mock.On("").Set("/id", "424242")), want: "jsonrpc.result-id-match", most: 1},
		{name: "answers everything without an id over stdio", target: scripted(stdio, mock.On("").Set("/id", "null")), want: "jsonrpc.result-id-match", most: 1},
		{name: "asks for an elicitation and waits in every call", target: scripted(http, elicits(spec.MethodToolsCall)...)},
		{name: "asks for an elicitation and waits in every call over stdio", target: scripted(stdio, elicits(spec.MethodToolsCall)...)},
		{name: "asks for an elicitation and waits always", target: scripted(http, elicits("")...), want: probe.RuleAnswers, most: 1},
		{name: "asks for an elicitation and waits always over stdio", target: scripted(stdio, elicits("")...), want: probe.RuleAnswers, most: 1},
		{name: "a banner", target: scripted(stdio, mock.Banner("Server running on stdio")), want: "stdio.stdout-only-mcp"},
	}
	for _, m := range []string{spec.MethodDiscover, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList} {
		out = append(out,
			bad{name: "dies at " + m + " over stdio", target: scripted(stdio, mock.On(m).Die())},
			bad{name: "dies at " + m + " over HTTP", target: scripted(http, mock.On(m).Die())},
			bad{name: "never answers " + m, target: scripted(http, mock.On(m).Drop())},
			bad{name: "never answers " + m + " over stdio", target: scripted(stdio, mock.On(m).Drop())},
			bad{name: "refuses " + m, target: scripted(http, mock.On(m).Error(spec.CodeInternalError, "no"))},
		)
	}
	return out
}

// silentListener takes connections and says nothing.
func silentListener(t *testing.T) transport.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &transport.HTTP{URL: "http://" + l.Addr().String() + "/mcp"}
}

// unstable gives another list at every call.
func unstable(faults ...mock.Fault) func(*testing.T) transport.Target {
	return func(t *testing.T) transport.Target {
		script := specimen()
		script.Faults = faults
		inner := mock.New(script)
		var n atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(spec.HeaderMethod) != spec.MethodToolsList {
				inner.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			inner.ServeHTTP(rec, r)
			body := strings.Replace(rec.Body.String(), `"description":"`, fmt.Sprintf(`"description":"%d `, n.Add(1)), 1)
			for k, v := range rec.Header() {
				if k != "Content-Length" {
					w.Header()[k] = v
				}
			}
			w.WriteHeader(rec.Code)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return &transport.HTTP{URL: s.URL}
	}
}

// No server that is broken as a whole is green, costs more than its budget, or
// gets a finding for each rule that its one fault touches.
func TestNegativeCorpus(t *testing.T) {
	for _, b := range badServers() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if b.within == 0 {
				b.within = 45 * time.Second
			}
			if b.most == 0 {
				b.most = 3
			}
			if testing.Short() {
				b.within *= 2 // the race detector takes its time
			}
			ctx, cancel := context.WithTimeout(t.Context(), b.within)
			defer cancel()
			var o check.Options
			o.Mine = true
			r, err := check.Run(ctx, b.target(t), o)
			if err != nil {
				return // the target could not be talked to: exit 4, not green
			}
			if ctx.Err() != nil {
				t.Errorf("not over within %s", b.within)
			}
			var found []check.Outcome
			passed := 0
			for _, o := range r.Outcomes {
				switch {
				case o.Status == rule.Fail || o.Status == rule.Warn:
					found = append(found, o)
				case o.Status == rule.Error:
					t.Errorf("no verdict: %s", show(o))
				case o.Status == rule.Pass:
					passed++
				}
			}
			if len(found) == 0 {
				t.Errorf("green: %d rules passed, none blames it", passed)
			}
			if len(found) > b.most {
				for _, o := range found {
					t.Log(show(o))
				}
				t.Errorf("%d findings for one cause", len(found))
			}
			wanted := b.want == ""
			for _, o := range found {
				wanted = wanted || o.Rule.ID == b.want
			}
			if _, known := check.Find(b.want); !wanted && known {
				t.Errorf("%s does not blame it", b.want)
			}
			t.Logf("%d findings, %d passed, %d judged, %s", len(found), passed, len(r.Outcomes), r.Elapsed.Round(time.Millisecond))
		})
	}
}
