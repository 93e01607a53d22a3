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
	"github.com/mcprove/mcprove/wire"
)

// carrier is a way to reach a mock without sockets and processes.
type carrier struct {
	kind   transport.Kind
	target func(*mock.Server) transport.Target
}

// ssePath is where the mock serves HTTP+SSE.
const ssePath = "/sse"

// carriers are those of all revisions; modernCarriers those of the newest.
var (
	modernCarriers = []carrier{
		{transport.StreamableHTTP, func(s *mock.Server) transport.Target { return s.HTTP("mock") }},
		{transport.Stdio, func(s *mock.Server) transport.Target { return s.Stdio("mock") }},
	}
	carriers = append(slices.Clone(modernCarriers), carrier{transport.HTTPSSE, func(s *mock.Server) transport.Target {
		return (&transport.Handler{Handler: s, URL: "http://localhost" + ssePath, Name: "mock"}).HTTPSSE()
	}})
)

// stage is one way in which a server is judged.
type stage struct {
	kind     transport.Kind
	revision spec.Revision
}

func (s stage) String() string { return s.kind.String() + "/" + s.revision.String() }

// newest is a transport in the newest revision.
func newest(k transport.Kind) stage { return stage{k, spec.Latest} }

// serves reports whether a transport belongs to a revision.
func serves(k transport.Kind, r spec.Revision) bool {
	switch k {
	case transport.HTTPSSE:
		return r == spec.Rev20241105
	case transport.StreamableHTTP:
		return r >= spec.Rev20250326
	}
	return true
}

// everyStage is every transport in every revision that has it.
func everyStage() []stage {
	var out []stage
	for _, c := range carriers {
		for _, r := range spec.All() {
			if serves(c.kind, r) {
				out = append(out, stage{c.kind, r})
			}
		}
	}
	return out
}

// stages are those at which a fault of a rule is tried: on each transport the
// newest revision of each era that has the rule. A rule of the handshake era
// alone is tried at the oldest revision over HTTP and over HTTP+SSE too; for one
// of both eras that would be the same again.
func stages(r *check.Rule, b *check.Break) []stage {
	both := r.In.Contains(spec.Legacy.Revisions()[len(spec.Legacy.Revisions())-1]) && r.In.Contains(spec.Latest)
	var out []stage
	for _, c := range carriers {
		if !r.On(c.kind) || b.Only != 0 && b.Only != c.kind || both && c.kind == transport.HTTPSSE {
			continue
		}
		for _, e := range []spec.Era{spec.Legacy, spec.Modern} {
			fit := slices.DeleteFunc(e.Revisions(), func(v spec.Revision) bool {
				return !serves(c.kind, v) || !r.Has(v) || !b.In.Contains(v)
			})
			if len(fit) > 1 && c.kind == transport.StreamableHTTP && !both {
				out = append(out, stage{c.kind, fit[0]})
			}
			if len(fit) > 0 {
				out = append(out, stage{c.kind, fit[len(fit)-1]})
			}
		}
	}
	return out
}

// namedTools are those that a user of the specimen may name for the rules that
// send a call with a wrong header.
var namedTools = map[string]json.RawMessage{
	"survey_harbour": json.RawMessage(`{}`),
	"route_notice":   json.RawMessage(`{"region":"north","copies":2,"urgent":true}`),
}

// judge runs every rule over a script.
func judge(t *testing.T, script mock.Script, at stage) map[string]check.Outcome {
	t.Helper()
	return judgeBy(t, script, at, check.Options{Options: probe.Options{Failing: failing}})
}

func judgeBy(t *testing.T, script mock.Script, at stage, o check.Options) map[string]check.Outcome {
	t.Helper()
	return byRule(runBy(t, script, at, o))
}

func runBy(t *testing.T, script mock.Script, at stage, o check.Options) *check.Result {
	t.Helper()
	i := slices.IndexFunc(carriers, func(c carrier) bool { return c.kind == at.kind })
	if ttl := script.State.TTL; ttl < time.Second {
		o.StateTTL = ttl // short enough to see it end
	}
	if o.Tools == nil {
		o.Tools = namedTools
	}
	if at.kind == transport.HTTPSSE {
		script.SSEPath = ssePath
	}
	o.Revision = at.revision
	target := carriers[i].target
	if guarded(script) {
		if o.Tokens == (probe.Tokens{}) {
			o.Tokens = check.GuardTokens
		}
		target = func(s *mock.Server) transport.Target {
			return &transport.Handler{Handler: s, Name: "mock", Header: carrying(o.Tokens.Own)}
		}
	}
	return runOn(t, script, target, o)
}

// carrying is the header of a client with a token.
func carrying(token string) []wire.HeaderField {
	return []wire.HeaderField{{Name: probe.HeaderAuthorization, Value: probe.Bearer(token)}}
}

// guarded reports whether a server takes tokens, so that its target needs one.
func guarded(script mock.Script) bool {
	return slices.ContainsFunc(script.Faults, func(f mock.Fault) bool {
		return slices.ContainsFunc(f.Conditions, func(c mock.Condition) bool { return c.Name == probe.HeaderAuthorization })
	})
}

// judgeAt judges a target.
func judgeAt(t *testing.T, target transport.Target, o check.Options) map[string]check.Outcome {
	t.Helper()
	return byRule(run(t, target, o))
}

func run(t *testing.T, target transport.Target, o check.Options) *check.Result {
	t.Helper()
	o.Mine = true
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
	return r
}

// byRule are the outcomes of a run by the ids of their rules.
func byRule(r *check.Result) map[string]check.Outcome {
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

// bases are the servers without a fault at a stage: the specimen, and what the
// breaks of rules that it cannot show are put on. A break names its base by
// address, so that each is judged once.
func bases(at stage) map[string]func(*mock.Script) {
	out := map[string]func(*mock.Script){"specimen": nil}
	for _, r := range check.Rules() {
		for _, b := range append([]check.Break{r.Break}, r.Breaks...) {
			if b.Base != nil && slices.Contains(stages(r, &b), at) {
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

// turns bounds how many bases are judged at once: what a tool takes is measured,
// and on a loaded machine a quick one seems slow.
var turns = make(chan struct{}, 8)

// clean is what comes out for a base, judged once.
var clean = func() func(*testing.T, func(*mock.Script), stage) map[string]check.Outcome {
	type once struct {
		sync.Once
		got map[string]check.Outcome
	}
	var mu sync.Mutex
	all := map[string]*once{}
	return func(t *testing.T, base func(*mock.Script), at stage) map[string]check.Outcome {
		key := baseName(base) + " " + at.String()
		mu.Lock()
		if all[key] == nil {
			all[key] = &once{}
		}
		o := all[key]
		mu.Unlock()
		o.Do(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			s := specimen()
			if base != nil {
				base(&s)
			}
			intrusive := base == nil || strained(base)
			o.got = judgeBy(t, s, at, check.Options{Intrusive: intrusive, Options: probe.Options{Failing: failing}})
			for _, out := range o.got {
				if out.Status > rule.Note { // see testBreak
					o.got = judgeBy(t, s, at, check.Options{Intrusive: intrusive, Options: probe.Options{Failing: failing, Quiet: probe.DefaultQuiet}})
					break
				}
			}
		})
		return o.got
	}
}()

// strained reports whether an intrusive rule needs a base: on all others a load
// shows nothing new, and takes seconds.
func strained(base func(*mock.Script)) bool {
	return slices.ContainsFunc(check.Rules(), func(r *check.Rule) bool {
		return r.Intrusive && slices.ContainsFunc(append([]check.Break{r.Break}, r.Breaks...), func(b check.Break) bool {
			return b.Base != nil && baseName(b.Base) == baseName(base)
		})
	})
}

// unjudged are rules that pass nowhere on the specimens, with the reason; those
// of one era alone have its name before the id.
var unjudged = map[string]string{
	"progress.token-unique":                  "no request of it has a progress token",
	"logging.not-newly-adopted":              "it declares logging, which is worth a remark",
	"icons.same-origin":                      "over stdio there is no host to compare with",
	"jsonrpc.internal-error-32603":           "nothing in it fails by itself",
	"modern:jsonrpc.request-id-present":      "a server of this revision sends no requests",
	"modern:jsonrpc.request-id-not-null":     "a server of this revision sends no requests",
	"cancel.only-own-inflight":               "it cancels nothing: a subscription it ends by a result",
	"tasks-legacy.cancel-by-tasks-cancel":    "it cancels nothing",
	"tasks-legacy.list-not-without-identity": "over stdio there is nobody else to list tasks for",
	"cancel.request-id-required":             "it ends a subscription by a result, and cancels nothing",
	"cancel.receiver-no-response":            "over HTTP nothing can be said of a request that was cancelled",
	"cancel.receiver-stops":                  "over HTTP nothing can be said of a request that was cancelled",
	"subscriptions.graceful-result":          "over HTTP no server is told to end",
	"subscriptions.graceful-result-shape":    "over HTTP no server is told to end",
}

// unjudgedAt is why a rule passes nowhere at a stage, empty where it should.
func unjudgedAt(id string, at stage) string {
	if reason := unjudged[id]; reason != "" {
		return reason
	}
	return unjudged[eraName(at)+":"+id]
}

func eraName(at stage) string {
	if at.revision.Era() == spec.Legacy {
		return "legacy"
	}
	return "modern"
}

// baseless reports whether a rule can be judged on servers of its own alone, and
// none of them is tried at the stage.
func baseless(id string, at stage) bool {
	r, _ := check.Find(id)
	return !slices.ContainsFunc(append([]check.Break{r.Break}, r.Breaks...), func(b check.Break) bool {
		return b.Base == nil || slices.Contains(stages(r, &b), at)
	})
}

// The servers without a fault get no finding, and every rule passes on one.
func TestCleanServer(t *testing.T) {
	for _, at := range everyStage() {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			if at.kind != transport.StreamableHTTP { // there they wait, and here they compute
				var wait sync.WaitGroup
				for _, base := range bases(at) {
					wait.Go(func() { clean(t, base, at) })
				}
				wait.Wait()
			}
			passed, why := map[string]bool{}, map[string]string{}
			for name, base := range bases(at) {
				for id, o := range clean(t, base, at) {
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
				if !passed[id] && unjudgedAt(id, at) == "" && faultless[id] == "" && !baseless(id, at) {
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
const sampled = 30

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
			for _, at := range stages(r, &b) {
				t.Run(fmt.Sprintf("%s/%d/%s", r.ID, i, at), func(t *testing.T) {
					t.Parallel()
					script := specimen()
					b.Apply(&script)
					testBreak(t, r, &b, clean(t, b.Base, at), func(quiet time.Duration) map[string]check.Outcome {
						return judgeBy(t, script, at, check.Options{Intrusive: r.Intrusive, Options: probe.Options{Failing: failing, Quiet: quiet}})
					})
				})
			}
		}
	}
}

// isPremise reports whether hardly anything can be judged without a rule: that
// there are answers, and that a further client gets its handshake.
func isPremise(r *check.Rule) bool {
	return r.ID == probe.RuleAnswers || r.ID == "lifecycle.init-result" || r.ID == "lifecycle.version-echo"
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

	for n := 0; n < 2 && len(changed) > mostConsequences && !isPremise(r); n++ {
		now := again()
		changed = slices.DeleteFunc(changed, func(id string) bool {
			id, _, _ = strings.Cut(id, " ")
			return now[id].Status == rule.Pass
		})
	}
	if len(changed) > mostConsequences && !isPremise(r) {
		t.Errorf("%d other rules are no longer passed:\n  %s", len(changed), strings.Join(changed, "\n  "))
	}
}

// faultless are rules that no mock inside the process can break, with what
// shows them instead.
var faultless = map[string]string{
	"transport-http.bind-localhost": "TestBindLocalhost: it needs a socket",
	"sec.bind-all":                  "TestBindLocalhost: it needs a socket",
	"sec.surface-per-env":           "TestRulesOnProcesses: it needs a process",
	"sec.surface-after-restart":     "TestRulesOnProcesses: it needs a process",
}

// Every rule that can fail has a fault that shows it.
func TestEveryRuleHasItsFault(t *testing.T) {
	for _, r := range check.Rules() {
		if len(r.Break.Faults) == 0 && r.Break.Change == nil && faultless[r.ID] == "" {
			t.Errorf("%s (%s) has no fault", r.ID, r.Level)
		}
	}
}
