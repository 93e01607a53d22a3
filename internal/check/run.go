// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// Options of a run. The zero value judges by every rule.
type Options struct {
	probe.Options
	// Only and Skip choose rules; see [Match]. Skip wins.
	Only, Skip []string
	// Intrusive judges the rules that put a load on the server too; without it
	// they are left out.
	Intrusive bool
	// Budget bounds the run; zero is 40 s. What was not judged by then is
	// skipped, and says so. Within [ClosingTime] after it the run is over, but for
	// the intrusive rules, which have their own bounds.
	Budget time.Duration
	// Unserved is asked whether to go on where the server does not serve the
	// revision, or answers nothing of it; nil goes on. It may take its time.
	Unserved func(*Result) bool
	// Claim is told, before the checks begin, of the rules that need be judged in
	// one run of a target only, each by a key, and answers which of them this run
	// judges; nil judges them all. Two runs that need the same have the same key.
	Claim func(keys []string) []string
	// Done is told of each rule that was judged, may be nil. Calls do not
	// overlap.
	Done func(done, all int)
}

// DefaultBudget bounds a run.
const DefaultBudget = 40 * time.Second

// ClosingTime is what a run may take beyond its budget: to end connections, and for
// rules that only look on. A server says how much there is to read, and how long it
// takes to end.
const ClosingTime = 2500 * time.Millisecond

// lookingOn is what is kept of ClosingTime for rules that look on.
const lookingOn = 500 * time.Millisecond

// Outcome is one rule's verdict.
type Outcome struct {
	Rule *Rule
	probe.Verdict
}

// Result is one run over a target at one revision.
type Result struct {
	Revision  spec.Revision
	Transport transport.Kind
	Facts     *probe.Facts
	Traffic   *probe.Traffic
	Outcomes  []Outcome // sorted by id
	// Unserved says why the server does not serve the revision; empty for one
	// that does.
	Unserved string
	Elapsed  time.Duration
	// Strained is how much of Elapsed the intrusive rules took.
	Strained time.Duration
}

// Served reports whether the server serves the revision.
func (r *Result) Served() bool { return r.Facts.Answers() && r.Unserved == "" }

// workers is how many checks run side by side over HTTP, and how many on
// processes of their own over stdio.
const (
	workersHTTP  = 16
	workersStdio = 3
)

// Run judges a target by the rules of one revision. The error is that of
// opening the target; see [probe.Open]. A server that answers nothing is a
// result, in which one rule fails.
func Run(ctx context.Context, target transport.Target, o Options) (*Result, error) {
	begin := time.Now()
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.Revision == 0 {
		o.Revision = spec.Latest
	}
	whole, full := context.WithCancelCause(ctx)
	defer full(nil)
	o.Full = func() { full(probe.ErrFull) }
	limit, cancel := context.WithTimeout(whole, o.Budget)
	defer cancel()
	p, err := probe.Open(limit, target, o.Options)
	if err != nil {
		return nil, err
	}
	rules := o.rules(target.Kind())
	r := &Result{Revision: o.Revision, Transport: target.Kind(), Facts: p.Facts()}
	j := &judging{o: &o, result: r, all: len(rules), late: map[string]bool{}}
	why := exempt(p.Facts(), o.Revision, target.Kind())
	if why != nil && why.unserved {
		r.Unserved = why.words
	}
	if !r.Served() && o.Unserved != nil && !o.Unserved(r) {
		closeBy(ctx, p, begin.Add(o.Budget+ClosingTime-lookingOn))
		return r, nil
	}
	if why != nil {
		rules = j.leaveOut(rules, why)
	}
	if p.Facts().Answers() {
		rules = j.claimed(p, rules)
		j.active(limit, p, rules)
		p.FindAlone(limit)
	} else {
		j.premise(limit, p, rules)
	}
	p.Settle(limit)
	if limit.Err() != nil {
		p.Cut()
	}
	closeBy(ctx, p, begin.Add(o.Budget+ClosingTime-lookingOn))
	r.Traffic = p.Traffic()
	if p.Facts().Answers() {
		for _, rl := range rules {
			switch {
			case rl.Watch == nil:
			case time.Since(begin) > o.Budget+ClosingTime:
				j.add(rl, probe.Verdict{Status: rule.Skip, Reason: probe.RunEnded})
			default:
				v := probe.Observe(rl.Info, r.Traffic, rl.Watch)
				if v.Status == rule.Skip && j.late[rl.ID] {
					v = probe.Verdict{Status: rule.Skip, Reason: probe.Ended(limit)}
				}
				if v.Status == rule.Skip && rl.Starts && rl.Stir == nil {
					continue // the run that stirs says whether there is anything to see
				}
				j.add(rl, v)
			}
		}
		strained := time.Now()
		j.stress(ctx, target, rules, r.Traffic.Down != nil)
		r.Strained = time.Since(strained)
	}
	order.Func(r.Outcomes, func(a, b Outcome) int { return strings.Compare(a.Rule.ID, b.Rule.ID) })
	fold(r.Outcomes)
	r.Elapsed = time.Since(begin)
	return r, nil
}

// closeBy ends all connections, at once those that have not ended by themselves by
// then.
func closeBy(ctx context.Context, p *probe.Probe, then time.Time) {
	last, cancel := context.WithDeadline(ctx, then)
	defer cancel()
	p.Close(last)
}

// fold skips what another rule says from closer by.
func fold(os []Outcome) {
	blamed := map[string]bool{}
	for _, o := range os {
		blamed[o.Rule.ID] = len(o.Blames) > 0
	}
	for i := range os {
		o := &os[i]
		for _, id := range o.Rule.Under {
			if blamed[o.Rule.ID] && blamed[id] {
				o.Verdict = probe.Verdict{Status: rule.Skip, Because: id, Reason: id + " says what is wrong"}
				break
			}
		}
	}
}

// Watched judges recorded traffic by the rules that only look on.
func Watched(t *probe.Traffic, o Options) []Outcome {
	o.Revision = t.Revision
	var out []Outcome
	for _, r := range o.rules(t.Transport) {
		if r.Watch != nil {
			out = append(out, Outcome{r, probe.Observe(r.Info, t, r.Watch)})
		}
	}
	fold(out)
	return out
}

// rules are those that are asked for and exist on the transport at the revision.
func (o *Options) rules(k transport.Kind) []*Rule {
	named := func(id string, patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return Match(id, p) })
	}
	return slices.DeleteFunc(slices.Clone(Rules()), func(r *Rule) bool {
		return !r.Has(o.Revision) || !r.On(k) || named(r.ID, o.Skip) || r.Intrusive && !o.Intrusive ||
			len(o.Only) > 0 && !named(r.ID, o.Only) && r.ID != probe.RuleAnswers
	})
}

// judging collects the outcomes of checks that run side by side.
type judging struct {
	o      *Options
	result *Result
	all    int
	mu     sync.Mutex
	// late are the rules that look on at something for which there was no time.
	late map[string]bool
}

func (j *judging) add(r *Rule, v probe.Verdict) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result.Outcomes = append(j.result.Outcomes, Outcome{r, v})
	if j.o.Done != nil {
		j.o.Done(len(j.result.Outcomes), j.all)
	}
}

// active runs the checks. Over stdio those on the shared process go one after
// the other, in the order of their ids, while some with processes of their own
// run beside them.
func (j *judging) active(ctx context.Context, p *probe.Probe, rules []*Rule) {
	workers := workersHTTP
	if p.OneStream() {
		workers = 1
	}
	var shared, apart []*Rule
	for _, r := range rules {
		switch {
		case r.Intrusive: // after the others
		case r.Check == nil && r.Stir == nil:
		case p.OneStream() && r.Apart:
			apart = append(apart, r)
		default:
			shared = append(shared, r)
		}
	}
	// What others rest on comes first: there may not be time for all.
	order.Stable(shared, func(a, b *Rule) int { return rank(a) - rank(b) })
	var wait sync.WaitGroup
	do := func(rules []*Rule, n int, judge func(context.Context, rule.Info, func(*probe.Case)) probe.Verdict) {
		next := make(chan *Rule)
		for range n {
			wait.Go(func() {
				for r := range next {
					if r.Check == nil {
						judge(ctx, r.Info, r.Stir)
						if ctx.Err() != nil {
							j.mu.Lock()
							j.late[r.ID] = true
							j.mu.Unlock()
						}
						continue
					}
					j.add(r, judge(ctx, r.Info, r.Check))
				}
			})
		}
		wait.Go(func() {
			defer close(next)
			for _, r := range rules {
				next <- r
			}
		})
	}
	do(shared, workers, p.Judge)
	do(apart, workersStdio, p.JudgeApart)
	wait.Wait()
}

// claimed leaves out the rules that another run judges: those about the server
// as a whole, and over stdio those that start processes of their own, which one
// revision of an era judges for all. A process takes longer to start than most
// servers take for everything else.
func (j *judging) claimed(p *probe.Probe, rules []*Rule) []*Rule {
	if j.o.Claim == nil {
		return rules
	}
	key := func(r *Rule) string {
		switch {
		case r.Whole:
			return r.ID
		case (r.Apart || r.Starts) && p.OneStream():
			return j.o.Revision.Era().String() + " " + r.ID
		}
		return ""
	}
	var keys []string
	for _, r := range rules {
		if k := key(r); k != "" {
			keys = append(keys, k)
		}
	}
	mine := j.o.Claim(keys)
	var out []*Rule
	for _, r := range rules {
		switch k := key(r); {
		case k == "" || slices.Contains(mine, k):
			out = append(out, r)
		case r.Watch != nil && !r.Apart && !r.Whole:
			onlooker := *r
			onlooker.Stir = nil
			out = append(out, &onlooker)
		}
	}
	return out
}

// rank is zero for rules that others are skipped because of, and for the one that says
// why a run may soon be full.
func rank(r *Rule) int {
	if probe.Owns(r.ID) || r.ID == ruleListBytes {
		return 0
	}
	return 1
}

// premise judges a server that answers nothing: one finding, and everything
// else is skipped because of it.
func (j *judging) premise(ctx context.Context, p *probe.Probe, rules []*Rule) {
	nothing := probe.Verdict{
		Status: rule.Skip, Because: probe.RuleAnswers,
		Reason: "the server answers no well-formed request of " + j.o.Revision.String(),
	}
	if slices.ContainsFunc(p.Facts().Exchanges(), (*probe.Exchange).Busy) {
		nothing.Because, nothing.Reason = "", probe.Busy
	}
	for _, r := range rules {
		if ctx.Err() != nil {
			j.add(r, probe.Verdict{Status: rule.Skip, Reason: probe.Ended(ctx)})
			continue
		}
		if r.ID == probe.RuleAnswers {
			j.add(r, p.Judge(ctx, r.Info, r.Check))
			continue
		}
		j.add(r, nothing)
	}
}
