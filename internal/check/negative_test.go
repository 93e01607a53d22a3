// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	name string
	// kind is the transport at which it is tried; one of Streamable HTTP is of
	// HTTP+SSE too.
	kind   transport.Kind
	target func(*testing.T, stage) transport.Target
	// want is a rule that must blame it; empty is any.
	want string
	// most is how many findings its one cause may have, three unless it says
	// otherwise.
	most int
	// within bounds the run.
	within time.Duration
	// modern: it is tried in revisions without a handshake alone. Before them no
	// sentence forbids it.
	modern bool
	// sockets: it needs real ones, and so real time.
	sockets bool
}

func refusing(status int, body string) func(*testing.T, stage) transport.Target {
	return func(_ *testing.T, at stage) transport.Target {
		return atKind(&transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})}, at)
	}
}

// atKind is a target of Streamable HTTP by the transport of a stage.
func atKind(target transport.Target, at stage) transport.Target {
	if sse, ok := target.(transport.SSEFallback); ok && at.kind == transport.HTTPSSE {
		return sse.HTTPSSE()
	}
	return target
}

// scripted is the specimen with faults. A fault of the answer to server/discover
// is one of initialize where there is that in its place.
func scripted(faults ...mock.Fault) func(*testing.T, stage) transport.Target {
	return func(t *testing.T, at stage) transport.Target {
		s := specimen()
		if at.kind == transport.HTTPSSE {
			s.SSEPath = ssePath
		}
		s.Faults = slices.Clone(faults)
		for i := range s.Faults {
			if f := &s.Faults[i]; f.Method == spec.MethodDiscover && at.revision.Era() == spec.Legacy {
				f.Method = spec.MethodInitialize
			}
		}
		i := slices.IndexFunc(carriers, func(c carrier) bool { return c.kind == at.kind })
		return carriers[i].target(served(t, s))
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

// onRequests is the place of every message that is answered, which a GET and a
// notification are not.
func onRequests() mock.Place { return mock.On("").When(mock.Not(mock.IDIs("none"))) }

// noID is a JSON-RPC error for anything.
const noID = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`

func badServers() []bad {
	const http, stdio = transport.StreamableHTTP, transport.Stdio
	out := []bad{
		{name: "400 to everything", kind: http, target: refusing(400, noID), want: probe.RuleAnswers},
		{name: "404 to everything", kind: http, target: refusing(404, ""), want: probe.RuleAnswers},
		{name: "500 to everything", kind: http, target: refusing(500, "oops"), want: probe.RuleAnswers},
		{name: "200 with an error to everything", kind: http, target: refusing(200, noID), want: probe.RuleAnswers},
		{name: "silent listener", kind: http, target: silentListener, sockets: true, want: probe.RuleAnswers, within: 20 * time.Second},
		{name: "unstable lists", kind: http, target: unstable(), want: "tools.list-not-side-effect", most: 1, modern: true},
		{name: "unstable lists, and no word of any change", kind: http, target: unstable(mock.OnNotification(spec.NotificationToolsListChanged).Drop()),
			want: "tools.list-not-side-effect", most: 1, modern: true},
		{name: "endless cursors", kind: http, target: scripted(mock.On(spec.MethodToolsList).EndlessCursors())},
		{name: "endless cursors over stdio", kind: stdio, target: scripted(mock.On(spec.MethodToolsList).EndlessCursors())},
		{name: "the same cursor for ever", kind: http, target: scripted(mock.On(spec.MethodPromptsList).RepeatCursor())},
		{name: "asks for an elicitation and waits", kind: stdio, target: scripted(elicits(spec.MethodToolsList)...)},
		{name: "answers with another's id", kind: http, target: scripted(onRequests().OnTurn(3).Set("/id", "424242"))},
		{name: "answers with another's id over stdio", kind: stdio, target: scripted(onRequests().OnTurn(3).Set("/id", "424242"))},
		{name: "answers everything with another's id", kind: http, target: scripted(onRequests().Set("/id", "424242")), want: "jsonrpc.result-id-match"},
		{name: "answers everything with another's id over stdio", kind: stdio, target: scripted(onRequests().Set("/id", "424242")), want: "jsonrpc.result-id-match", most: 1},
		{name: "answers everything without an id over stdio", kind: stdio, target: scripted(onRequests().Set("/id", "null")), want: "jsonrpc.result-id-match", most: 1},
		{name: "asks for an elicitation and waits in every call", kind: http, target: scripted(elicits(spec.MethodToolsCall)...)},
		{name: "asks for an elicitation and waits in every call over stdio", kind: stdio, target: scripted(elicits(spec.MethodToolsCall)...)},
		{name: "asks for an elicitation and waits always", kind: http, target: scripted(elicits("")...), want: probe.RuleAnswers, most: 1},
		{name: "asks for an elicitation and waits always over stdio", kind: stdio, target: scripted(elicits("")...), want: probe.RuleAnswers, most: 1},
		{name: "never stops talking", kind: stdio, target: scripted(mock.Chatter("still here", time.Millisecond)), want: "stdio.stdout-only-mcp"},
		{name: "a list of a megabyte", kind: http, target: scripted(mock.On(spec.MethodToolsList).OfResult().Oversize("/result/tools/0/description", 1<<20)), want: "sec.list-bytes"},
		{name: "a banner", kind: stdio, target: scripted(mock.Banner("Server running on stdio")), want: "stdio.stdout-only-mcp"},
	}
	for _, m := range []string{spec.MethodDiscover, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList} {
		out = append(out,
			bad{name: "dies at " + m + " over stdio", kind: stdio, target: scripted(mock.On(m).Die())},
			bad{name: "dies at " + m + " over HTTP", kind: http, target: scripted(mock.On(m).Die())},
			bad{name: "never answers " + m, kind: http, target: scripted(mock.On(m).Drop())},
			bad{name: "never answers " + m + " over stdio", kind: stdio, target: scripted(mock.On(m).Drop())},
			bad{name: "refuses " + m, kind: http, target: scripted(mock.On(m).Error(spec.CodeInternalError, "no"))},
		)
	}
	return out
}

// silentListener takes connections and says nothing.
func silentListener(t *testing.T, at stage) transport.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return atKind(&transport.HTTP{URL: "http://" + l.Addr().String() + "/mcp"}, at)
}

// unstable gives another list at every call.
func unstable(faults ...mock.Fault) func(*testing.T, stage) transport.Target {
	return func(t *testing.T, at stage) transport.Target {
		script := specimen()
		script.Faults = faults
		inner := served(t, script)
		var n atomic.Int64
		return &transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(text))
			if !bytes.Contains(text, []byte(`"method":"tools/list"`)) {
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
		})}
	}
}

// No server that is broken as a whole is green, costs more than its budget, or
// gets a finding for each rule that its one fault touches.
func TestNegativeCorpus(t *testing.T) {
	corpus(t, func(_ int, b *bad) []stage { return []stage{newest(b.kind)} })
}

// The same in the revisions with a handshake. What a fault does to a run hangs on
// the transport and on the handshake, which these revisions share, and little on
// which rules there are: so each server is tried at one revision of its
// transport, in turn, and over HTTP+SSE too.
func TestNegativeCorpusOfTheHandshakeEra(t *testing.T) {
	turn := map[transport.Kind]int{}
	corpus(t, func(_ int, b *bad) (out []stage) {
		if b.modern {
			return nil
		}
		var fit []spec.Revision
		for _, r := range spec.Legacy.Revisions() {
			if serves(b.kind, r) {
				fit = append(fit, r)
			}
		}
		// The table goes by threes: a step more in each round keeps a kind of
		// server from meeting one revision alone.
		n := turn[b.kind]
		turn[b.kind]++
		out = append(out, stage{b.kind, fit[(n+n/len(fit))%len(fit)]})
		if b.kind == transport.StreamableHTTP {
			out = append(out, stage{transport.HTTPSSE, spec.Rev20241105})
		}
		return out
	})
}

// shortly is how many bad servers there are to one that is tried in short runs.
const shortly = 4

// Bounds on what a corpus may leave behind and take: the runs go on side by
// side, and each keeps what crossed.
const (
	mostLeft = 8
	mostHeap = 1 << 30
)

// corpus judges every bad server at its stages, and looks at what they leave.
func corpus(t *testing.T, stages func(int, *bad) []stage) {
	before := runtime.NumGoroutine()
	peak := watchHeap(t)
	t.Run("servers", func(t *testing.T) {
		for i, b := range badServers() {
			if testing.Short() && i%shortly != 1 {
				continue
			}
			for _, at := range stages(i, &b) {
				t.Run(b.name+"/"+at.String(), func(t *testing.T) {
					t.Parallel()
					b.judge(t, at)
				})
			}
		}
	})
	if heap := peak(); heap > mostHeap {
		t.Errorf("%d MB of memory", heap>>20)
	} else {
		t.Logf("%d MB of memory at most", heap>>20)
	}
	for n := 0; runtime.NumGoroutine() > before+mostLeft; n++ {
		if n == 100 {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%.20000s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// watchHeap looks at the heap now and then until the result is called, which
// says how large it was at most.
func watchHeap(t *testing.T) (peak func() uint64) {
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-done }
}

// judge judges a bad server at a stage.
func (b bad) judge(t *testing.T, at stage) {
	if b.sockets {
		b.judgeNow(t, at)
		return
	}
	synctest.Test(t, func(t *testing.T) { b.judgeNow(t, at) })
}

func (b bad) judgeNow(t *testing.T, at stage) {
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
	o.Mine, o.Revision = true, at.revision
	if !b.sockets {
		o.Listen = listenInside
	}
	r, err := check.Run(ctx, b.target(t, at), o)
	if err != nil {
		t.Logf("not talked to: %v", err)
		return // exit 4, not green
	}
	if ctx.Err() != nil {
		t.Errorf("not over within %s", b.within)
	}
	if r.Unserved != "" {
		t.Logf("not served: %s", r.Unserved)
		return // not judged, so not green either
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
	if w, known := check.Find(b.want); !wanted && known && w.Has(at.revision) {
		t.Errorf("%s does not blame it", b.want)
	}
	t.Logf("%d findings, %d passed, %d judged, %s", len(found), passed, len(r.Outcomes), r.Elapsed.Round(time.Millisecond))
}
