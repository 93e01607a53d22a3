// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"
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

// carriers are the ways to reach a mock without sockets and processes.
var carriers = []struct {
	kind   transport.Kind
	target func(*mock.Server) transport.Target
}{
	{transport.StreamableHTTP, func(s *mock.Server) transport.Target { return s.HTTP("mock") }},
	{transport.Stdio, func(s *mock.Server) transport.Target { return s.Stdio("mock") }},
}

// judge runs every rule over a script.
func judge(t *testing.T, script mock.Script, kind transport.Kind) map[string]check.Outcome {
	t.Helper()
	return judgeBy(t, script, kind, check.Options{})
}

func judgeBy(t *testing.T, script mock.Script, kind transport.Kind, o check.Options) map[string]check.Outcome {
	t.Helper()
	i := slices.IndexFunc(carriers, func(c struct {
		kind   transport.Kind
		target func(*mock.Server) transport.Target
	}) bool {
		return c.kind == kind
	})
	o.Revision, o.Mine = spec.Rev20260728, true
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Quiet == 0 {
		o.Quiet = 30 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := check.Run(ctx, carriers[i].target(mock.New(script)), o)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	out := map[string]check.Outcome{}
	for _, x := range r.Outcomes {
		out[x.Rule.ID] = x
	}
	return out
}

// show is an outcome for a failed test: what it says, and what it saw.
func show(o check.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", o.Rule.ID, o.Status)
	if o.Reason != "" {
		fmt.Fprintf(&b, " (%s)", o.Reason)
	}
	for _, bl := range o.Blames {
		fmt.Fprintf(&b, "\n  %s: %s", bl.Status, bl.Message)
		for _, x := range bl.Exchanges {
			for _, e := range x.Evidence(bl.Frame) {
				fmt.Fprintf(&b, "\n    %s %s %s | %.400s", e.Dir, e.At, e.HTTP, e.Text)
			}
		}
	}
	return b.String()
}

// clean is what comes out for the server without a fault, judged once.
var clean = func() func(*testing.T, transport.Kind) map[string]check.Outcome {
	var mu sync.Mutex
	got := map[transport.Kind]map[string]check.Outcome{}
	return func(t *testing.T, k transport.Kind) map[string]check.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if got[k] == nil {
			got[k] = judge(t, mock.Library(), k)
		}
		return got[k]
	}
}()

// unjudged are rules that pass nowhere on the specimen, with the reason.
var unjudged = map[string]string{}

// The server without a fault gets no finding, and every rule looks at something.
func TestCleanServer(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.kind.String(), func(t *testing.T) {
			for id, o := range clean(t, c.kind) {
				switch {
				case o.Status == rule.Fail, o.Status == rule.Warn, o.Status == rule.Error:
					t.Error(show(o))
				case o.Status == rule.Skip && unjudged[id] == "":
					t.Errorf("%s: skipped: %s", id, o.Reason)
				}
			}
		})
	}
}

// blamed reports whether an outcome is worse than a pass.
func blamed(o check.Outcome) bool { return o.Status == rule.Note || o.Status == rule.Warn || o.Status == rule.Fail }

// mostConsequences is how many other rules one fault may take from pass.
const mostConsequences = 5

// Each fault is found by its rule, and by no other but those it names.
func TestFaults(t *testing.T) {
	for _, r := range check.Rules() {
		breaks := append([]check.Break{r.Break}, r.Breaks...)
		for i, b := range breaks {
			if len(b.Faults) == 0 && b.Change == nil {
				continue
			}
			for _, c := range carriers {
				if !r.On(c.kind) || b.Only != 0 && b.Only != c.kind {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%s", r.ID, i, c.kind), func(t *testing.T) {
					t.Parallel()
					script := mock.Library()
					b.Apply(&script)
					testBreak(t, r, &b, clean(t, c.kind), judge(t, script, c.kind))
				})
			}
		}
	}
}

func testBreak(t *testing.T, r *check.Rule, b *check.Break, before, after map[string]check.Outcome) {
	t.Helper()
	own := after[r.ID]
	if !blamed(own) {
		t.Errorf("the fault is not found\n%s", show(own))
	} else if own.Status != r.Severity() && !slices.ContainsFunc(own.Blames, func(b *probe.Blame) bool { return b.Status < r.Severity() }) {
		t.Errorf("found as %s, want %s\n%s", own.Status, r.Severity(), show(own))
	}
	changed := 0
	for id, o := range after {
		if id == r.ID || o.Status == before[id].Status {
			continue
		}
		if before[id].Status == rule.Pass {
			changed++
		}
		switch {
		case slices.Contains(b.Also, id):
		case blamed(o):
			t.Errorf("found by another rule too: %s", show(o))
		case o.Status == rule.Error:
			t.Errorf("cannot be judged any more: %s", show(o))
		}
	}
	for _, id := range b.Also {
		if o := after[id]; o.Status == before[id].Status {
			t.Errorf("%s is named as a consequence, and is %s as before", id, o.Status)
		}
	}
	if changed > mostConsequences && r.ID != probe.RuleAnswers {
		t.Errorf("%d other rules are no longer passed", changed)
	}
}

// Every rule that can fail has a fault that shows it.
func TestEveryRuleHasItsFault(t *testing.T) {
	for _, r := range check.Rules() {
		if len(r.Break.Faults) == 0 && r.Break.Change == nil {
			t.Errorf("%s (%s) has no fault", r.ID, r.Level)
		}
	}
}
