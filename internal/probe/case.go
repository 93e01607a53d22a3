// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Case is one rule being judged. A check sends what it needs and then says at
// least one of Pass, Fail, Warn, Note and Skip; what it says first counts most.
// It lives for one run of one check, which is why it holds the context.
type Case struct {
	ctx     context.Context
	probe   *Probe
	info    rule.Info
	conns   []*Conn
	verdict Verdict
	// cut reports whether the end of the run cut short what would be blamed, and
	// seenCut whether something of it was seen.
	cut, seenCut bool
	// busy reports whether the server took no requests where it had to be asked.
	busy atomic.Bool
	// bereft: it lacks something because a process ended before its first answer.
	bereft bool
	// uncalled reports whether no call of a tool was answered.
	uncalled func() bool
}

// Verdict is what came out of a case.
type Verdict struct {
	Status rule.Status
	// Reason of a skip, in words for people.
	Reason string
	// Because is the id of the rule whose failure keeps this one from being
	// judged; empty when there is none.
	Because string
	Blames  []*Blame
	// Seen counts what was looked at and holds; Shown is the first of it.
	Seen  int
	Shown *Exchange
}

// Blame is one thing that breaks the rule, with what shows it.
type Blame struct {
	Status    rule.Status
	Message   string
	Exchanges []*Exchange
	Frame     *wire.Frame // of the first exchange, or a stray one
	Where     rule.Where
}

// And adds an exchange that shows it too: the control.
func (b *Blame) And(xs ...*Exchange) *Blame {
	for _, x := range xs {
		if x != nil {
			b.Exchanges = append(b.Exchanges, x)
		}
	}
	return b
}

// In names the frame in which it is seen, and a pointer into it.
func (b *Blame) In(f *wire.Frame, pointer string) *Blame {
	b.Frame, b.Where.Pointer = f, pointer
	return b
}

// Of names the item of the surface that it is about: "tool", "search".
func (b *Blame) Of(kind, name string) *Blame {
	b.Where.Kind, b.Where.Name = kind, name
	return b
}

// Judge runs a check on a live probe and returns its verdict.
func (p *Probe) Judge(ctx context.Context, info rule.Info, check func(*Case)) Verdict {
	c := p.newCase(ctx, info)
	if p != nil && p.OneStream() {
		p.serial.Lock()
		defer p.serial.Unlock()
	}
	return c.run(check)
}

// JudgeApart is Judge for a check that never uses the shared connection, so
// that over stdio it need not wait for others.
func (p *Probe) JudgeApart(ctx context.Context, info rule.Info, check func(*Case)) Verdict {
	return p.newCase(ctx, info).run(check)
}

func (p *Probe) newCase(ctx context.Context, info rule.Info) *Case {
	c := &Case{ctx: ctx, probe: p, info: info, uncalled: never}
	if p != nil {
		c.uncalled = p.called.none
	}
	return c
}

func never() bool { return false }

// run judges, and ends what the case opened. A check that panics is a fault of
// ours, which must not cost the user the verdicts of all others.
func (c *Case) run(check func(*Case)) (v Verdict) {
	defer func() {
		c.close()
		if r := recover(); r != nil {
			v = Verdict{Status: rule.Error, Reason: fmt.Sprintf("the check failed by itself, which is a fault of mcprove: %v", r)}
		}
	}()
	check(c)
	return c.result()
}

// Observe runs a rule that only looks on over what crossed.
func Observe(info rule.Info, t *Traffic, watch func(*Case, *Traffic)) Verdict {
	c := &Case{ctx: context.Background(), info: info, uncalled: t.uncalled}
	return c.run(func(c *Case) {
		watch(c, t)
		c.undone(t.Down)
	})
}

func (c *Case) close() {
	var wait sync.WaitGroup
	for _, conn := range c.conns {
		wait.Go(func() { conn.Close(c.ctx) })
	}
	wait.Wait()
}

func (c *Case) result() Verdict {
	if c.probe != nil {
		c.undone(c.probe.Down())
	}
	c.spare()
	c.lonely()
	c.unserved()
	v := &c.verdict
	for _, b := range v.Blames {
		v.Status = max(v.Status, b.Status)
	}
	switch {
	case v.Status != 0:
		v.Reason, v.Because = "", ""
	case v.Reason != "":
		v.Status = rule.Skip
		if d := c.greeted(); v.Because == "" && d != nil && !d.OK() && strings.Contains(v.Reason, d.Method) {
			v.Because = owner(d.Method)
		}
		if v.Because == "" && strings.Contains(v.Reason, nameTool) && c.uncalled() {
			v.Because = owner(spec.MethodToolsCall)
		}
	case c.over():
		v.Status, v.Reason = rule.Skip, Ended(c.ctx)
	case v.Seen > 0 && !c.seenCut:
		v.Status = rule.Pass
	case c.busy.Load():
		v.Status, v.Reason = rule.Skip, Busy
	case c.cut:
		v.Status, v.Reason = rule.Skip, RunEnded
	default:
		v.Status, v.Reason = rule.Error, "the check came to no verdict"
	}
	return *v
}

// spare drops what a case blames on exchanges for which the run had no time: it may
// be missing because of that, and the server is not to blame.
func (c *Case) spare() {
	c.verdict.Blames = slices.DeleteFunc(c.verdict.Blames, func(b *Blame) bool {
		i := slices.IndexFunc(b.Exchanges, (*Exchange).CutShort)
		if i < 0 {
			return false
		}
		c.cut = true
		// One who looks on has seen others; a case has nothing else.
		c.seenCut = c.seenCut || c.probe != nil || len(b.Exchanges[i].Frames) > 0
		return true
	})
}

// over reports whether the run ended under a case.
func (c *Case) over() bool { return c.ctx.Err() != nil }

// greeted is the answer to the greeting, nil in a recording.
func (c *Case) greeted() *Exchange {
	if c.probe == nil {
		return nil
	}
	return c.probe.facts.Greeting
}

// RunEnded is why a case is skipped for which there was no time.
const RunEnded = "the run ended before it was judged: give it longer with --max-time, or choose rules with --only"

// Full is why a case is skipped that came after [ErrFull].
const Full = "the server had sent 128 MB by then, which is all that a run keeps: choose rules with --only"

// Ended is why a case is skipped whose context has ended.
func Ended(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), ErrFull) {
		return Full
	}
	return RunEnded
}

// Rule is the id of the rule that is judged.
func (c *Case) Rule() string { return c.info.ID }

// Context bounds the case.
func (c *Case) Context() context.Context { return c.ctx }

// Probe is the server under test.
func (c *Case) Probe() *Probe { return c.probe }

// Facts are what the server says of itself.
func (c *Case) Facts() *Facts { return &c.probe.facts }

// Request is a well-formed request; see [Probe.Request].
func (c *Case) Request(method, params string) *Request { return c.probe.Request(method, params) }

// HTTP reports whether the server is reached by Streamable HTTP.
func (c *Case) HTTP() bool { return c.probe.HTTP() }

// Send makes an exchange on the shared connection.
func (c *Case) Send(r *Request) *Exchange { return c.seen(c.probe.send(c.ctx, nil, r)) }

// SendOn makes an exchange on a connection of the case's own.
func (c *Case) SendOn(conn *Conn, r *Request) *Exchange { return c.seen(c.probe.send(c.ctx, conn, r)) }

// Start sends a request and goes on without waiting; conn nil is the shared
// connection. A request that could not be sent gives a stream that has ended.
func (c *Case) Start(conn *Conn, r *Request) *Stream {
	k, on, x := c.probe.begin(c.ctx, conn, r)
	if x != nil {
		c.seen(x)
		k, on = &call{x: *x, given: true}, &Conn{probe: c.probe, changed: make(chan struct{})}
	}
	return &Stream{conn: on, call: k, ctx: c.ctx, of: c}
}

// seen skips the case where a message was held back.
func (c *Case) seen(x *Exchange) *Exchange {
	if x.Err == errNotMine {
		c.Skip("%v; --target-is-mine allows it", errNotMine)
	}
	return c.taken(x)
}

// taken takes note where the server took no requests. No case is asked for by a
// stream that all share.
func (c *Case) taken(x *Exchange) *Exchange {
	if c != nil && x.Busy() {
		c.busy.Store(true)
	}
	return x
}

// unserved drops what a case blames on a server that took no requests, and skips
// the case: what was asked of it is not known, and so is nothing that compares.
func (c *Case) unserved() {
	v := &c.verdict
	if c.busy.Load() && c.probe != nil {
		v.Blames, v.Reason, v.Because = nil, Busy, ""
		return
	}
	v.Blames = slices.DeleteFunc(v.Blames, func(b *Blame) bool {
		turned := slices.ContainsFunc(b.Exchanges, (*Exchange).Busy)
		if turned {
			c.busy.Store(true)
		}
		return turned
	})
}

// Open makes a connection of the case's own, over stdio a process, by a client
// without capabilities. It is nil, and the case skipped, when that fails. It is
// closed with the case.
func (c *Case) Open() *Conn {
	return c.OpenAs("{}")
}

// Once makes an exchange that every check may share, since it is the same:
// controls, calls of tools, reads.
func (c *Case) Once(r *Request) *Exchange { return c.seen(c.probe.once(c.ctx, r)) }

// Dropped sends on the shared connection what a server may leave without an
// answer. Where all answers come on one stream it is not waited for to the end
// of all patience: a request that is sent after it, and is as much work, is
// answered later than it would have been.
func (c *Case) Dropped(r, next *Request) *Exchange {
	if !c.probe.OneStream() {
		return c.Once(r)
	}
	s := c.Start(nil, r)
	if x, ok := s.Until(c.probe.briefPatience(), answered); ok || x.Closed {
		return s.Answer()
	}
	if !c.Send(next).OK() {
		return s.Answer()
	}
	if _, ok := s.Until(c.probe.o.Quiet, answered); ok || s.conn.conn == nil {
		return s.Answer()
	}
	return s.conn.giveUp(s.call)
}

// Works is the positive control of a probe: the same request without its
// fault. When that is not answered by a result, the case is skipped because of
// it, and ok is false.
func (c *Case) Works(r *Request) (x *Exchange, ok bool) {
	x = c.Once(r)
	if x.OK() {
		return x, true
	}
	c.Lacks(x)
	return x, false
}

// Lacks skips the case because a well-formed request does not work, as x shows.
func (c *Case) Lacks(x *Exchange) {
	if x.Busy() {
		c.Skip("%s", Busy)
		return
	}
	c.bereft = c.bereft || c.probe != nil && c.probe.stillborn(x)
	c.verdict.Because = owner(x.Method)
	if c.probe != nil && !c.probe.facts.Answers() {
		c.verdict.Because = RuleAnswers
	}
	if c.verdict.Because == c.info.ID {
		c.verdict.Because = ""
	}
	c.Skip("%s without any fault does not work: %s", x.Method, x.Brief())
}

// RuleAnswers is the id of the rule that everything else rests on.
const RuleAnswers = "base.answers"

// owners are the rules that say that a method works at all.
var owners = map[string]string{
	spec.MethodDiscover:              "discover.implemented",
	spec.MethodInitialize:            "lifecycle.init-result",
	spec.MethodPing:                  "ping.answered",
	spec.MethodToolsList:             "tools.list-answered",
	spec.MethodPromptsList:           "prompts.list-answered",
	spec.MethodResourcesList:         "resources.list-answered",
	spec.MethodResourceTemplatesList: "resources.template-pagination-cacheable",
	spec.MethodResourcesRead:         "resources.listed-readable",
	spec.MethodListen:                "subscriptions.supported",
	spec.MethodComplete:              "completion.shape",
	spec.MethodPromptsGet:            "prompts.get-shape",
	spec.MethodToolsCall:             "tools.call-answered",
}

func owner(method string) string { return owners[method] }

// Owns reports whether a rule says that a method works at all, so that others
// are skipped because of it.
func Owns(id string) bool {
	for _, o := range owners {
		if o == id {
			return true
		}
	}
	return false
}

// Pass says that something was looked at and holds. x may be nil.
func (c *Case) Pass(x *Exchange) {
	if c.taken(x).Busy() || x != nil && c.lapsed(x) {
		return
	}
	c.verdict.Seen++
	if c.verdict.Shown == nil {
		c.verdict.Shown = x
	}
}

// Fail says that the rule is broken, as x shows; x may be nil. How hard that
// is judged depends on the rule's level and basis.
func (c *Case) Fail(x *Exchange, format string, args ...any) *Blame {
	return c.blame(rule.Fail, x, format, args...)
}

// Warn is Fail for what is at most a warning: the specification allows two
// readings, or the harm is small.
func (c *Case) Warn(x *Exchange, format string, args ...any) *Blame {
	return c.blame(rule.Warn, x, format, args...)
}

// Note is Fail for what is worth knowing and no fault.
func (c *Case) Note(x *Exchange, format string, args ...any) *Blame {
	return c.blame(rule.Note, x, format, args...)
}

func (c *Case) blame(most rule.Status, x *Exchange, format string, args ...any) *Blame {
	switch {
	case c.over():
		// Something else that it would have had to see may be missing, too.
		c.skip(Ended(c.ctx))
		return &Blame{} // of nobody
	case c.taken(x).Busy():
		return &Blame{}
	case x != nil && (c.unclaimed(x) || c.waits(x) || c.lapsed(x)):
		return &Blame{}
	}
	b := &Blame{Status: min(most, c.info.Severity()), Message: fmt.Sprintf(format, args...)}
	if x != nil {
		if x.Err == errNotMine {
			return b // nobody is to blame for what was not sent
		}
		b.Exchanges = []*Exchange{x}
	}
	c.verdict.Blames = append(c.verdict.Blames, b)
	return b
}

// unclaimed skips the case where the server refuses the revision that is judged
// and does not claim it: it answers server/discover, and nothing else.
func (c *Case) unclaimed(x *Exchange) bool {
	if c.probe == nil || len(c.Facts().Supported) == 0 || !x.Is(spec.CodeUnsupportedVersion) {
		return false
	}
	if v := c.probe.o.Revision; x.Revision() != v || slices.Contains(c.Facts().Supported, v.String()) {
		return false
	}
	c.SkipFor("discover.supported-versions", "the server refuses %s for %s, and does not claim it", c.probe.o.Revision, x.Method)
	return true
}

// Skip says that the rule cannot be judged here, and why. It does nothing
// against a failure; it overrules a pass. When the run has ended that is why.
func (c *Case) Skip(format string, args ...any) {
	if c.verdict.Reason == "" && c.over() {
		c.verdict.Because = ""
		c.skip(Ended(c.ctx))
		return
	}
	c.skip(fmt.Sprintf(format, args...))
}

func (c *Case) skip(reason string) {
	if c.verdict.Reason == "" {
		c.verdict.Reason = reason
	}
}

// SkipFor is Skip because of another rule's failure.
func (c *Case) SkipFor(id, format string, args ...any) {
	if c.verdict.Reason == "" {
		c.verdict.Because = id
	}
	c.Skip(format, args...)
}

// Declared skips the case unless the server declares a capability.
func (c *Case) Declared(path string) bool {
	switch {
	case c.Facts().Declares(path):
		return true
	case c.Facts().Capabilities == nil:
		greeting := GreetingMethod(c.probe.o.Revision)
		c.SkipFor(owner(greeting), "the server's capabilities are not known: %s gave none", greeting)
	default:
		c.skip("the server declares no " + path) // whatever there was time for
	}
	return false
}

// Listed returns the list of a method, whose family the server declares and
// which was answered; otherwise the case is skipped and ok is false.
func (c *Case) Listed(method string) (l *List, ok bool) {
	for _, f := range families {
		if f.method == method && c.Facts().Capabilities != nil && !c.Declared(f.capability) {
			return nil, false
		}
	}
	l = c.Facts().List(method)
	if len(l.Pages) == 0 || !l.Pages[0].OK() {
		x := c.Once(c.Request(method, ""))
		if !x.OK() {
			c.Lacks(x)
			return l, false
		}
	}
	return l, true
}

// Unseen skips a rule that only looks on and had nothing to look at. It does
// nothing once something was seen, good or bad.
func (c *Case) Unseen(format string, args ...any) {
	if c.verdict.Seen == 0 && len(c.verdict.Blames) == 0 {
		c.Skip(format, args...)
	}
}

// Plain is the plainest request that works: server/discover or ping, or a list
// of the server. It is the positive control of what holds for every method. When
// nothing works the case is skipped, and ok is false.
func (c *Case) Plain() (r *Request, ok bool) {
	methods := []string{c.probe.Plainest()}
	for _, f := range families {
		if len(c.Facts().List(f.method).Pages) > 0 {
			methods = append(methods, f.method)
		}
	}
	var x *Exchange
	for _, m := range methods {
		r = c.Request(m, "")
		if x = c.Once(r); x.OK() {
			return r, true
		}
	}
	c.Lacks(x)
	return nil, false
}
