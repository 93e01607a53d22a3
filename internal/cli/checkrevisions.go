// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/cli/version"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// visit is one target that is judged, by one revision after the other.
type visit struct {
	run     *checkRun
	target  *target
	options session.Options
	status  *status
	claims  claims
	mu      sync.Mutex
	until   time.Time // when judging ends
	// alone: the server runs one process at a time, so that revisions wait for each other.
	alone bool
	// late are the revisions for which there was no time at all.
	late []string
	// unknown reports whether some older revision could not be asked for.
	unknown bool
	gaps    []gap
	hello   *probe.Exchange // initialize of the newest older revision
}

// gap is what was not judged for one reason.
type gap struct {
	what []string
	why  string
}

// left is the time that is left for judging.
func (v *visit) left() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Until(v.until)
}

// strained prolongs judging by what intrusive rules took, which have a time of their
// own.
func (v *visit) strained(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until = v.until.Add(d)
}

// leastTime is the least in which anything can be judged by a revision.
const leastTime = time.Second

// claims are the rules that one run of a target judges for all.
type claims struct {
	mu    sync.Mutex
	taken map[string]bool
}

// take gives a run those of the rules that no other has.
func (c *claims) take(keys []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == nil {
		c.taken = map[string]bool{}
	}
	var mine []string
	for _, k := range keys {
		if !c.taken[k] {
			c.taken[k] = true
			mine = append(mine, k)
		}
	}
	return mine
}

// asked judges by the revisions that the user names. What the server does not
// serve of them is not judged, and not passed.
func (v *visit) asked(ctx context.Context, revisions []spec.Revision) error {
	for i, r := range revisions {
		to := v.target.Target
		sse, falls := to.(transport.SSEFallback)
		if falls && r == spec.Rev20241105 {
			to = sse.HTTPSSE() // Streamable HTTP is younger
		}
		result, err := v.judge(ctx, to, r, v.left()/time.Duration(len(revisions)-i), nil, nil)
		if why := noSSE(to, err); why != "" {
			v.run.missed = append(v.run.missed, fmt.Sprintf("%s: %s is of HTTP+SSE, which the server does not serve: %s", v.target.name, r, why))
			continue
		}
		if err != nil {
			return err
		}
		if err := v.lost(result); err != nil {
			return err
		}
		if result.Unserved != "" {
			note := v.target.name + ": " + result.Unserved
			v.run.notes = append(v.run.notes, note)
			v.run.missed = append(v.run.missed, note)
			if r.Era() == spec.Legacy {
				continue
			}
		}
		v.keep(result)
	}
	return nil
}

// noSSE says how a server that is there refused the stream of HTTP+SSE, empty for any
// other error and none.
func noSSE(to transport.Target, err error) string {
	e, ok := errors.AsType[*transport.Error](err)
	if ok && to.Kind() == transport.HTTPSSE && e.Reason == transport.BadStatus && e.Status < http.StatusInternalServerError {
		return fmt.Sprintf("GET is answered by HTTP %d, not by an event stream", e.Status)
	}
	return ""
}

// served judges by every revision that the server serves. Where it serves none
// it is judged by the newest, whose rules say what is wrong.
func (v *visit) served(ctx context.Context) error {
	defer v.tell()
	var (
		older []*check.Result
		once  sync.Once
		fail  error
	)
	legacy := func(first *check.Result) {
		once.Do(func() { older, fail = v.legacy(ctx, first, nil) })
	}
	var wait sync.WaitGroup
	if v.target.Kind() == transport.Stdio && v.options.Era != spec.Modern && !v.run.plan.quick {
		wait.Go(func() { legacy(nil) }) // each has processes of its own
	}
	var newest *check.Result
	var err error
	if v.options.Era != spec.Legacy {
		newest, err = v.judge(ctx, v.target.Target, spec.Latest, v.left(), func(r *check.Result) bool {
			legacy(r)
			return len(older) == 0 && (!v.unknown || unknown(r))
		}, nil)
	}
	wait.Wait()
	if err != nil {
		return err
	}
	if v.target.Kind() == transport.Stdio && newest != nil && diedAtStart(newest) {
		v.alone = true
	}
	quick := v.run.plan.quick && newest != nil && newest.Served()
	if v.options.Era != spec.Modern && !quick {
		legacy(newest)
	}
	if v.alone && (len(older) > 0 || newest != nil && newest.Served()) {
		// One of two processes that started side by side was in the other's way.
		if newest != nil && diedAtStart(newest) {
			newest, err = v.judge(ctx, v.target.Target, spec.Latest, max(v.left(), leastTime), never, nil)
			if err != nil {
				return err
			}
		}
		older, fail = v.legacy(ctx, newest, older)
	}
	served := newest != nil && newest.Served()
	if newest != nil && len(older) > 0 {
		v.unasked(newest)
	}
	if len(v.late) > 0 {
		v.run.missed = append(v.run.missed, fmt.Sprintf("%s: there was no time to judge by %s: give it longer with --max-time, or choose with --revision",
			v.target.name, strings.Join(v.late, ", ")))
	}
	switch {
	case fail != nil && !served:
		return fail
	case fail != nil && ctx.Err() == nil:
		v.leftOut("older revisions", fail.Error())
	}
	switch {
	case newest == nil, !served && len(older) > 0:
	case !served && v.unknown && !unknown(newest):
		// It may be a server of an older revision, and a good one.
	default:
		if err := v.lost(newest); err != nil {
			return err
		}
		v.helloToo(newest)
		v.keep(newest)
	}
	for _, r := range older {
		v.keep(r)
	}
	return nil
}

// legacy judges by the revisions of the handshake era that the server serves,
// newest first. Over stdio each has processes of its own: the next begins when
// the one before has taken its rules. first is what came of the newest revision,
// nil where that is not known yet; have are those that were judged already.
func (v *visit) legacy(ctx context.Context, first *check.Result, have []*check.Result) ([]*check.Result, error) {
	revisions := spec.Legacy.Revisions()
	results := make([]*check.Result, len(revisions))
	errs := make([]error, len(revisions))
	sideBySide := v.target.Kind() == transport.Stdio && !v.run.plan.quick && !v.alone
	var wait sync.WaitGroup
	for i := range revisions {
		at := len(revisions) - 1 - i
		r := revisions[at]
		if v.target.Kind() != transport.Stdio && r == spec.Rev20241105 {
			continue // of HTTP+SSE
		}
		if i := slices.IndexFunc(have, func(h *check.Result) bool { return h.Revision == r }); i >= 0 {
			results[at] = have[i]
			continue
		}
		if v.left() < leastTime {
			v.late = append(v.late, r.String())
			continue
		}
		begun := make(chan *check.Result, 2) // nil at its beginning, and what came of it
		do := func() {
			results[at], errs[at] = v.judge(ctx, v.target.Target, r, v.left(), never, func() { begun <- nil })
			begun <- results[at]
		}
		if sideBySide {
			wait.Go(do)
		} else {
			do()
		}
		x := <-begun
		if !sideBySide {
			x = results[at]
		}
		if x != nil && (!x.Served() && unheard(x) || x.Served() && v.run.plan.quick) {
			break // nor will it answer the others; or one is enough
		}
	}
	wait.Wait()
	var out []*check.Result
	for i := range results {
		at := len(results) - 1 - i
		r := results[at]
		if r != nil && r.Served() {
			out = append(out, r)
		}
		if r != nil && v.hello == nil {
			v.hello = r.Facts.Greeting
		}
		v.unknown = v.unasked(r) || v.unknown
		v.alone = v.alone || sideBySide && diedAtStart(r)
	}
	modern := first != nil && first.Served()
	agreesOnOldest := func(r *check.Result) bool { return r != nil && r.Facts.Agreed == spec.Rev20241105 }
	if v.target.Kind() == transport.StreamableHTTP && len(out) == 0 && !modern && slices.ContainsFunc(results, agreesOnOldest) {
		// It has the younger transport, and nothing else that is younger.
		r, err := v.oldest(ctx, max(v.left(), leastTime))
		if err != nil {
			return nil, err
		}
		if r == nil {
			v.unknown = true
		} else {
			out = append(out, r)
		}
	}
	if fall, ok := v.target.Target.(transport.SSEFallback); ok && len(out) == 0 && !modern && (first == nil || !unheard(first)) {
		// A server that has no such stream has no such transport.
		if r, err := v.judge(ctx, fall.HTTPSSE(), spec.Rev20241105, v.left(), never, nil); err == nil && r.Served() {
			out = append(out, r)
		}
	}
	for i := range errs {
		at := len(errs) - 1 - i
		if err := errs[at]; err != nil && len(out) == 0 && !modern {
			return nil, err
		} else if err != nil {
			v.leftOut(revisions[at].String(), err.Error())
		}
	}
	return out, ctx.Err()
}

// helloToo says of a server that answers nothing what came for initialize: it may
// be one of an older revision.
func (v *visit) helloToo(r *check.Result) {
	if r.Facts.Answers() || v.hello == nil {
		return
	}
	for _, o := range r.Outcomes {
		if o.Rule.ID != probe.RuleAnswers {
			continue
		}
		for _, b := range o.Blames {
			b.Message += fmt.Sprintf("; nor was %s of %s: %s", v.hello.Method, v.hello.Revision(), v.hello.Brief())
			b.And(v.hello)
		}
	}
}

// unasked takes note of a revision of which nobody knows whether the server serves
// it: the run ended before, or the server took no requests. nil is none. It reports
// whether it is one.
func (v *visit) unasked(r *check.Result) bool {
	if !unknown(r) {
		return false
	}
	x := r.Facts.Greeting
	if x.CutShort() {
		v.late = append(v.late, r.Revision.String())
	} else {
		v.leftOut(r.Revision.String(), fmt.Sprintf("%s was turned away by HTTP %d each time, as by a server that limits how many requests it takes", x.Method, x.Status()))
	}
	return true
}

// unknown reports whether nobody knows whether the server serves the revision of a
// run; nil is none.
func unknown(r *check.Result) bool {
	return r != nil && !r.Served() && r.Facts.Greeting != nil && (r.Facts.Greeting.CutShort() || r.Facts.Greeting.Busy())
}

// leftOut takes note of what was not judged, which is no pass.
func (v *visit) leftOut(what, why string) {
	i := slices.IndexFunc(v.gaps, func(g gap) bool { return g.why == why })
	if i < 0 {
		i = len(v.gaps)
		v.gaps = append(v.gaps, gap{why: why})
	}
	if g := &v.gaps[i]; !slices.Contains(g.what, what) {
		g.what = append(g.what, what)
	}
}

// tell tells of what was left out.
func (v *visit) tell() {
	for _, g := range v.gaps {
		note := fmt.Sprintf("%s: not judged in %s: %s", v.target.name, strings.Join(g.what, ", "), g.why)
		v.run.notes = append(v.run.notes, note)
		v.run.missed = append(v.run.missed, note)
	}
}

// never goes on with no run whose server does not serve the revision.
func never(*check.Result) bool { return false }

// diedAtStart reports whether a server ended before it said anything; nil is none.
func diedAtStart(r *check.Result) bool {
	return r != nil && !r.Served() && unheard(r) && r.Facts.Greeting.Died()
}

// oldest judges a server that is reached by Streamable HTTP by the revision before
// it. The result is nil where the server does not agree on that.
func (v *visit) oldest(ctx context.Context, budget time.Duration) (*check.Result, error) {
	r, err := v.judge(ctx, v.target.Target, spec.Rev20241105, budget, never, nil)
	switch {
	case err != nil:
		return nil, err
	case r.Served():
		v.run.notes = append(v.run.notes, fmt.Sprintf("%s: initialize agrees on %s, which has no Streamable HTTP: it is judged by all of that revision but its transport", v.target.name, r.Revision))
		return r, nil
	}
	v.unasked(r)
	return nil, nil
}

// unheard reports whether nothing at all came for the greeting.
func unheard(r *check.Result) bool {
	x := r.Facts.Greeting
	return x != nil && x.Head == nil && x.Response == nil
}

// lost is the error of a server that cannot be talked to at all, nil for one
// whose answers are for the rules to judge.
func (v *visit) lost(r *check.Result) error {
	x := r.Facts.Greeting
	if r.Facts.Answers() || x == nil {
		return nil
	}
	err := x.Err
	if x.Head != nil && x.Message() == nil {
		err = transport.StatusError(x.Head, x.Body)
		if s := x.Head.Status; s == http.StatusMethodNotAllowed || s == http.StatusNotImplemented {
			err = &transport.Error{Reason: transport.NotMCP, Status: s, Detail: fmt.Sprintf("HTTP %d: what is at this path takes no POST", s)}
		}
	}
	switch transport.ReasonOf(err) {
	case transport.Unreachable, transport.NotStarted, transport.AuthNeeded, transport.TLSFailed, transport.NotFound, transport.NotMCP:
		return err
	case transport.Died, transport.Broken, transport.Closed:
		if v.target.Kind() == transport.Stdio { // which of them it is hangs on what was noticed first
			v.run.dead = err
		}
	}
	return nil
}

func (v *visit) keep(r *check.Result) {
	v.run.unknownTools(v.target, r)
	v.run.app.opened = true
	v.run.judged = append(v.run.judged, judged{v.target, r})
}

// judge judges the target, reached in one of its ways, by one revision. begun is
// told when the run has taken its rules, may be nil.
func (v *visit) judge(ctx context.Context, to transport.Target, r spec.Revision, budget time.Duration, unserved func(*check.Result) bool, begun func()) (*check.Result, error) {
	c := v.run
	o := check.Options{Only: c.plan.only, Skip: c.plan.skip, Budget: max(budget, time.Second), Unserved: unserved}
	o.Revision, o.Version, o.Tools, o.Failing, o.StateTTL = r, version.String(), c.plan.tools, c.plan.failing, c.plan.stateTTL
	o.Claim = func(keys []string) []string {
		mine := v.claims.take(keys)
		if begun != nil {
			begun()
		}
		return mine
	}
	o.Tokens = c.plan.tokens
	o.Tokens.Own = bearerOf(v.target)
	o.Started = v.target.beside != nil
	o.MaxListBytes = c.plan.listBytes
	o.Intrusive = c.plan.intrusive
	o.Mine = c.plan.mine || local(v.target.Target)
	o.Start = c.plan.start
	o.Timeout = v.options.Timeouts.Request
	o.Clock = &c.clock
	name := v.target.name
	o.Progress = func(what string) { v.status.set("judging " + name + ": " + what) }
	o.Done = func(done, all int) { v.status.set(fmt.Sprintf("judging %s by %s: %d of %d rules", name, r, done, all)) }
	if c.flags.verbose {
		o.Tap = c.app.trace
		o.Stderr = &lineWriter{a: c.app, prefix: "server: "}
	}
	result, err := check.Run(ctx, to, o)
	if err == nil {
		v.strained(result.Strained)
	}
	return result, err
}
