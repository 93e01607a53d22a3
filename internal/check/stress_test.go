// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"net"
	"net/http"
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
)

func intrusives() []*check.Rule {
	return slices.DeleteFunc(slices.Clone(check.Rules()), func(r *check.Rule) bool { return !r.Intrusive })
}

// mostStress is what one intrusive rule may take, with the end of what it opened.
const mostStress = 10 * time.Second

// Every intrusive rule has its bounds, and says so.
func TestLoads(t *testing.T) {
	if len(intrusives()) != 6 {
		t.Errorf("%d intrusive rules", len(intrusives()))
	}
	for _, r := range check.Rules() {
		load, has := check.LoadOf(r.ID)
		switch {
		case has != r.Intrusive:
			t.Errorf("%s: intrusive %t, and bounds %t", r.ID, r.Intrusive, has)
		case has && (load.Bytes <= 0 || load.Bytes > 8<<20 || load.Connections <= 0 || load.Connections > 24 || load.Sessions > 200 || load.Time <= 0 || load.Time >= mostStress):
			t.Errorf("%s: %s", r.ID, load)
		}
	}
}

// Without being asked for, no load is put on a server.
func TestIntrusiveRulesAreLeftOut(t *testing.T) {
	got := judgeBy(t, specimen(), newest(transport.Stdio), check.Options{Only: []string{"sec"}})
	for _, r := range intrusives() {
		if o, ok := got[r.ID]; ok {
			t.Error(show(o))
		}
	}
}

// counting counts what a listener accepts, and how many connections are open at
// once and afterwards.
type counting struct {
	net.Listener
	mu                sync.Mutex
	open, most, taken int
}

func (l *counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken++
	l.open++
	l.most = max(l.most, l.open)
	return &counted{Conn: c, l: l}, nil
}

func (l *counting) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
}

type counted struct {
	net.Conn
	l    *counting
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.l.count(-1) })
	return c.Conn.Close()
}

// onLoopback judges a script over a socket by one rule, and returns the outcome,
// how many connections were open at once, and how long it took.
func onLoopback(t *testing.T, script mock.Script, id string, at spec.Revision) (check.Outcome, *counting, time.Duration) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &counting{Listener: listener}
	s := &http.Server{Handler: mock.New(script), ReadHeaderTimeout: 5 * time.Second}
	var wait sync.WaitGroup
	wait.Go(func() { _ = s.Serve(l) })
	o := check.Options{Only: []string{id}, Intrusive: true}
	if r, _ := check.Find(id); r.Check == nil && r.Stir == nil {
		o = check.Options{} // it looks on at what others do
	}
	o.Mine, o.Revision, o.Failing, o.Tools = true, at, failing, namedTools
	if ttl := script.State.TTL; ttl < time.Second {
		o.StateTTL = ttl // short enough to see it end
	}
	target := &transport.HTTP{URL: "http://" + l.Addr().String() + "/mcp"}
	if guarded(script) {
		o.Tokens = check.GuardTokens
		target.Header = carrying(o.Tokens.Own)
	}
	begin := time.Now()
	r, err := check.Run(t.Context(), target, o)
	took := time.Since(begin)
	_ = s.Close()
	wait.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range r.Outcomes {
		if out.Rule.ID == id {
			return out, l, took
		}
	}
	t.Fatalf("%s was not judged", id)
	return check.Outcome{}, nil, 0
}

// Over sockets, too, each fault is found by its rule, the server without it
// passes, and neither takes more than the bounds say.
func TestIntrusiveRulesOnLoopback(t *testing.T) {
	for _, r := range intrusives() {
		breaks := append([]check.Break{r.Break}, r.Breaks...)
		for _, at := range []spec.Revision{spec.Rev20251125, spec.Latest} {
			if !r.Has(at) {
				continue
			}
			for i, b := range append([]check.Break{{Base: r.Break.Base}}, breaks...) {
				t.Run(fmt.Sprintf("%s/%d/%s", r.ID, i, at), func(t *testing.T) {
					t.Parallel() // they wait most of the time
					if testing.Short() && i > 1 {
						t.Skip("one fault is enough under the race detector")
					}
					script := specimen()
					b.Apply(&script)
					for j := range script.Faults { // no other rule begins sessions here
						if f := &script.Faults[j]; f.Onward && f.Method == spec.MethodInitialize {
							f.Turn = 100
						}
					}
					o, l, took := onLoopback(t, script, r.ID, at)
					for range 2 { // a busy machine has no time left to see the server serve again
						if i == 0 || o.Status != rule.Skip || !strings.Contains(o.Reason, "the time was up") {
							break
						}
						o, l, took = onLoopback(t, script, r.ID, at)
					}
					load, _ := check.LoadOf(r.ID)
					// The run has idle connections of its own, and a server that does one
					// thing at a time sees the end of one late.
					if took > mostStress+time.Second || l.most > 2*load.Connections+8 {
						t.Errorf("it took %s and %d connections at once: %s", took, l.most, load)
					}
					t.Logf("%s in %s, %d connections, at most %d at once", o.Status, took.Round(time.Millisecond), l.taken, l.most)
					if i == 0 && o.Status != rule.Pass {
						t.Errorf("a server without a fault: %s", show(o))
					}
					if i > 0 && (!blamed(o) || !strings.Contains(o.Blames[0].Message, load.String())) {
						t.Errorf("the fault is not found, or the load not told: %s", show(o))
					}
				})
			}
		}
	}
}

// A server that is elsewhere gets no load unless it is the user's.
func TestNoLoadElsewhere(t *testing.T) {
	s := mock.New(specimen())
	o := check.Options{Only: []string{"sec"}, Intrusive: true, Options: probe.Options{Timeout: 5 * time.Second}}
	r, err := check.Run(t.Context(), &transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.ContentLength > 100<<10 {
			t.Errorf("a body of %d bytes", q.ContentLength)
		}
		s.ServeHTTP(w, q)
	})}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range r.Outcomes {
		if out.Rule.Intrusive && (out.Status != rule.Skip || !strings.Contains(out.Reason, "--target-is-mine")) {
			t.Error(show(out))
		}
	}
}
