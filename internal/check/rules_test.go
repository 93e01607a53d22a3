// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
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

// namedTools are those that a user of the specimen may name for the rules that
// send a call with a wrong header.
var namedTools = map[string]json.RawMessage{
	"survey_harbour": json.RawMessage(`{}`),
	"route_notice":   json.RawMessage(`{"region":"north","copies":2,"urgent":true}`),
}

// judge runs every rule over a script.
func judge(t *testing.T, script mock.Script, kind transport.Kind) map[string]check.Outcome {
	t.Helper()
	return judgeBy(t, script, kind, check.Options{Options: probe.Options{Failing: failing}})
}

func judgeBy(t *testing.T, script mock.Script, kind transport.Kind, o check.Options) map[string]check.Outcome {
	t.Helper()
	i := slices.IndexFunc(carriers, func(c struct {
		kind   transport.Kind
		target func(*mock.Server) transport.Target
	}) bool {
		return c.kind == kind
	})
	if ttl := script.State.TTL; ttl < time.Second {
		o.StateTTL = ttl // short enough to see it end
	}
	if o.Tools == nil {
		o.Tools = namedTools
	}
	return judgeAt(t, carriers[i].target(mock.New(script)), o)
}

// judgeAt judges a target.
func judgeAt(t *testing.T, target transport.Target, o check.Options) map[string]check.Outcome {
	t.Helper()
	o.Revision, o.Mine = spec.Rev20260728, true
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Quiet == 0 {
		o.Quiet = 30 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := check.Run(ctx, target, o)
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

// failing are requests that fail inside the specimen.
var failing = map[string]json.RawMessage{
	spec.MethodResourcesRead: []byte(`{"uri":"mcprove:failing"}`),
	spec.MethodPromptsGet:    []byte(`{"name":"mcprove:failing"}`),
	spec.MethodComplete:      []byte(`{"ref":{"type":"ref/prompt","name":"brief_pilot"},"argument":{"name":"vessel","value":"mcprove:failing"}}`),
}

// specimen is the server without a fault. Its slow tools take a tenth of their
// time: each is called in hundreds of runs.
func specimen() mock.Script {
	s := mock.Specimen()
	for i := range s.Tools {
		for j := range s.Tools[i].Answers {
			a := &s.Tools[i].Answers[j]
			a.Delay /= 10
			for k := range a.Steps {
				a.Steps[k].Wait /= 10
			}
		}
	}
	for method, at := range map[string]string{spec.MethodResourcesRead: "/uri", spec.MethodPromptsGet: "/name", spec.MethodComplete: "/argument/value"} {
		s.Faults = append(s.Faults, mock.On(method).When(mock.ParamIs(at, `"mcprove:failing"`)).Error(spec.CodeInternalError, "The gauge is broken."))
	}
	return s
}

// bases are the servers without a fault: the specimen, and what the breaks of
// rules that it cannot show are put on. A break names its base by address, so
// that each is judged once.
func bases() map[string]func(*mock.Script) {
	out := map[string]func(*mock.Script){"specimen": func(*mock.Script) {}}
	for _, r := range check.Rules() {
		for _, b := range append([]check.Break{r.Break}, r.Breaks...) {
			if b.Base != nil {
				out[baseName(b.Base)] = b.Base
			}
		}
	}
	return out
}

func baseName(base func(*mock.Script)) string {
	if base == nil {
		return "specimen"
	}
	return runtime.FuncForPC(reflect.ValueOf(base).Pointer()).Name()
}

// clean is what comes out for a base, judged once.
var clean = func() func(*testing.T, func(*mock.Script), transport.Kind) map[string]check.Outcome {
	type once struct {
		sync.Once
		got map[string]check.Outcome
	}
	var mu sync.Mutex
	all := map[string]*once{}
	return func(t *testing.T, base func(*mock.Script), k transport.Kind) map[string]check.Outcome {
		key := baseName(base) + " " + k.String()
		mu.Lock()
		if all[key] == nil {
			all[key] = &once{}
		}
		o := all[key]
		mu.Unlock()
		o.Do(func() {
			s := specimen()
			if base != nil {
				base(&s)
			}
			o.got = judge(t, s, k)
			for _, out := range o.got {
				if out.Status > rule.Note { // see testBreak
					o.got = judgeBy(t, s, k, check.Options{Options: probe.Options{Failing: failing, Quiet: probe.DefaultQuiet}})
					break
				}
			}
		})
		return o.got
	}
}()

// unjudged are rules that pass nowhere on the specimens, with the reason.
var unjudged = map[string]string{
	"progress.token-unique":               "a server of this revision sends no requests",
	"logging.not-newly-adopted":           "it declares logging, which is worth a remark",
	"icons.same-origin":                   "over stdio there is no host to compare with",
	"jsonrpc.internal-error-32603":        "nothing in it fails by itself",
	"jsonrpc.request-id-present":          "a server of this revision sends no requests",
	"jsonrpc.request-id-not-null":         "a server of this revision sends no requests",
	"cancel.only-own-inflight":            "it ends a subscription by a result, and cancels nothing",
	"cancel.request-id-required":          "it ends a subscription by a result, and cancels nothing",
	"cancel.receiver-no-response":         "over HTTP nothing is heard of a request whose stream was closed",
	"cancel.receiver-stops":               "over HTTP nothing is heard of a request whose stream was closed",
	"subscriptions.graceful-result":       "over HTTP no server is told to end",
	"subscriptions.graceful-result-shape": "over HTTP no server is told to end",
}

// The servers without a fault get no finding, and every rule passes on one.
func TestCleanServer(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.kind.String(), func(t *testing.T) {
			passed, why := map[string]bool{}, map[string]string{}
			for name, base := range bases() {
				for id, o := range clean(t, base, c.kind) {
					switch o.Status {
					case rule.Fail, rule.Warn, rule.Error:
						t.Errorf("%s: %s", name, show(o))
					case rule.Pass:
						passed[id] = true
					}
					why[id] += o.Reason
				}
			}
			for id, reason := range why {
				if !passed[id] && unjudged[id] == "" && faultless[id] == "" {
					t.Errorf("%s: skipped: %s", id, reason)
				}
			}
		})
	}
}

// blamed reports whether an outcome is worse than a pass.
func blamed(o check.Outcome) bool {
	return o.Status == rule.Note || o.Status == rule.Warn || o.Status == rule.Fail
}

// mostConsequences is how many other rules one fault may take from pass, apart
// from those that say that they cannot be judged because of it.
const mostConsequences = 5

// sampled is how many rules there are to one whose faults are tried in short runs.
const sampled = 24

// Each fault is found by its rule, and by no other but those it names.
func TestFaults(t *testing.T) {
	for n, r := range check.Rules() {
		if testing.Short() && n%sampled != 0 {
			continue // each is a whole run; the race detector needs a few of them
		}
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
					script := specimen()
					b.Apply(&script)
					testBreak(t, r, &b, clean(t, b.Base, c.kind), func(quiet time.Duration) map[string]check.Outcome {
						return judgeBy(t, script, c.kind, check.Options{Options: probe.Options{Failing: failing, Quiet: quiet}})
					})
				})
			}
		}
	}
}

func testBreak(t *testing.T, r *check.Rule, b *check.Break, before map[string]check.Outcome, judge func(quiet time.Duration) map[string]check.Outcome) {
	t.Helper()
	// What a loaded machine kept from being seen in the short time is seen in
	// the time that users give.
	again := func() map[string]check.Outcome { return judge(probe.DefaultQuiet) }
	after := judge(0)
	own := after[r.ID]
	found := func() bool { return blamed(own) || own.Status == rule.Skip && slices.Contains(r.Under, own.Because) }
	for n := 0; n < 2 && !found(); n++ {
		after = again()
		own = after[r.ID]
	}
	if own.Status == rule.Skip && slices.Contains(r.Under, own.Because) {
		// It is found, and said by the rule that is closer to it.
	} else if !blamed(own) {
		t.Errorf("the fault is not found\n%s", show(own))
	} else if own.Status != r.Severity() && !slices.ContainsFunc(own.Blames, func(b *probe.Blame) bool { return b.Status < r.Severity() }) {
		t.Errorf("found as %s, want %s\n%s", own.Status, r.Severity(), show(own))
	}
	var changed []string
	for id, o := range after {
		if id == r.ID || o.Status == before[id].Status {
			continue
		}
		behind := o.Status == rule.Skip && o.Because == r.ID
		if before[id].Status == rule.Pass && !behind {
			changed = append(changed, id+" ("+o.Reason+")")
		}
		switch {
		case slices.Contains(b.Also, id), behind:
		case blamed(o):
			if o = again()[id]; blamed(o) {
				t.Errorf("found by another rule too: %s", show(o))
			}
		case o.Status == rule.Error:
			t.Errorf("cannot be judged any more: %s", show(o))
		}
	}
	for _, id := range b.Also {
		o, judged := after[id]
		for n := 0; n < 2 && judged && o.Status == before[id].Status; n++ {
			o = again()[id]
		}
		if judged && o.Status == before[id].Status {
			t.Errorf("%s is named as a consequence, and is %s as before", id, o.Status)
		}
	}

	for n := 0; n < 2 && len(changed) > mostConsequences && r.ID != probe.RuleAnswers; n++ {
		now := again()
		changed = slices.DeleteFunc(changed, func(id string) bool {
			id, _, _ = strings.Cut(id, " ")
			return now[id].Status == rule.Pass
		})
	}
	if len(changed) > mostConsequences && r.ID != probe.RuleAnswers {
		t.Errorf("%d other rules are no longer passed:\n  %s", len(changed), strings.Join(changed, "\n  "))
	}
}

// faultless are rules that no mock inside the process can break, with what
// shows them instead.
var faultless = map[string]string{
	"transport-http.bind-localhost": "TestBindLocalhost: it needs a socket",
}

// Every rule that can fail has a fault that shows it.
func TestEveryRuleHasItsFault(t *testing.T) {
	for _, r := range check.Rules() {
		if len(r.Break.Faults) == 0 && r.Break.Change == nil && faultless[r.ID] == "" {
			t.Errorf("%s (%s) has no fault", r.ID, r.Level)
		}
	}
}
