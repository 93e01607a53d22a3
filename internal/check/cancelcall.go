// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const pageStdioCancel = "2026-07-28/basic/transports/stdio#cancellation"

// cancelCallRules are those on a call that is cancelled while it runs.
var cancelCallRules = []Rule{
	{
		Info: rule.Info{
			ID: "stdio.cancel-no-further", Level: rule.MustNot, Basis: rule.Keyword, Section: pageStdioCancel, Transport: "stdio",
			Title: "after a cancellation nothing more comes for the request",
			Why:   "the client has freed the id: a late answer is taken for that of another request, or for a fault",
			Fix:   "drop what is left to say for a request once notifications/cancelled names it",
		},
		In: modern, Check: cancelNoFurther, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckCancelAnswer)},
			Also:   []string{"cancel.receiver-no-response"},
		},
	},
	{
		Info: rule.Info{
			ID: "stdio.cancel-stops-work", Level: rule.Should, Basis: rule.Keyword, Section: pageStdioCancel, Transport: "stdio",
			Title: "work on a cancelled request stops soon",
			Why:   "a user who pressed stop goes on paying for a search or a build that nobody waits for",
			Fix:   "hand the cancellation on to what the tool does, and check for it between steps",
		},
		In: modern, Check: cancelStopsWork, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckCancel)},
			Also:   []string{"stdio.cancel-no-further", "cancel.receiver-no-response"},
		},
	},
	{
		Info: rule.Info{
			ID: "cancel.receiver-no-response", Level: rule.Should, Basis: rule.Keyword, Section: pageCancelBehavior,
			Title: "a request that was cancelled is not answered",
			Why:   "the client has freed the id: a late answer is taken for that of another request, or for a fault",
			Fix:   "drop the answer of a request that was cancelled while it ran",
		},
		In: every, Check: cancelNoResponse, Starts: true, Needs: "--tool", Under: []string{"stdio.cancel-no-further"},
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckCancelAnswer)},
			Also:   []string{"stdio.cancel-no-further"}, Only: transport.Stdio,
		},
	},
	{
		Info: rule.Info{
			ID: "cancel.receiver-stops", Level: rule.Should, Basis: rule.Keyword, Section: pageCancelBehavior,
			Title: "work on a cancelled request stops, and what it held is freed",
			Why:   "a user who pressed stop goes on paying for a search or a build that nobody waits for",
			Fix:   "hand the cancellation on to what the tool does, and check for it between steps",
		},
		In: every, Check: cancelReceiverStops, Starts: true, Needs: "--tool", Under: []string{"stdio.cancel-stops-work"},
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckCancel)},
			Also:   []string{"stdio.cancel-stops-work", "stdio.cancel-no-further", "cancel.receiver-no-response"}, Only: transport.Stdio,
		},
	},
}

// tokenCancelled is the progress token of the call that is cancelled.
const tokenCancelled = `"mcprove-cancelled"`

// cancelledCall is a call that was cancelled while it ran.
type cancelledCall struct {
	skip string // why there is nothing to see

	x      *probe.Exchange
	cancel *probe.Exchange // the notification
	usual  time.Duration   // how long such a call takes when nobody cancels it
	// barrier was asked after the cancellation. As a server reads in order, it
	// had read the cancellation when it answered this. It is no use when the
	// answer of the call came first.
	barrier *probe.Exchange
	// early says that the call was answered right after the cancellation, and
	// long before its time, more than once: the cancellation is what made the
	// server answer.
	early bool
}

// underWay is how long after the cancellation was read a notification may come
// that was on its way then.
const underWay = 50 * time.Millisecond

// later are the messages for the call that came after the cancellation was read.
func (k *cancelledCall) later() []*wire.Frame {
	var out []*wire.Frame
	read := k.barrier.Response.Time
	for _, f := range k.x.Frames {
		answer := f.Message().IsResponse()
		if answer && f.Time.After(read) || f.Time.After(read.Add(underWay)) || k.early && f == k.x.Response {
			out = append(out, f)
		}
	}
	return out
}

// Bounds on the tool that is cancelled: one that takes long enough to be
// cancelled, and not so long that nobody waits for it.
const (
	leastSlow = 100 * time.Millisecond
	mostSlow  = 2500 * time.Millisecond
	// A larger answer takes its time on the way. It may have left when the
	// cancellation is read, and be overtaken by a shorter one.
	mostSlowAnswer = 64 << 10
)

// noSlowTool is why no call can be cancelled while it runs.
const noSlowTool = "it needs a tool that may be called and takes a tenth of a second or longer: name one with --tool 'NAME={...}'"

// slowTool is the quickest of the slow ones, so that the wait is short; one
// that the user named comes first. Those in without are left out.
func slowTool(c *probe.Case, without ...string) (tool probe.Tool, usual time.Duration) {
	tools := c.Probe().Callable()
	for i, x := range c.Calls() {
		t, took := tools[i], x.End.Sub(x.Start)
		if slices.Contains(without, t.Name) || !x.OK() || took < leastSlow || took > mostSlow || len(x.Response.Raw) > mostSlowAnswer {
			continue
		}
		if usual == 0 || t.Named && !tool.Named || t.Named == tool.Named && took < usual {
			tool, usual = t, took
		}
	}
	return tool, usual
}

func cancelled(c *probe.Case) (*cancelledCall, bool) {
	k := probe.Share(c.Probe(), "cancelled-call", func() *cancelledCall { return cancelCall(c) })
	if k.skip != "" {
		c.Skip("%s", k.skip)
		return nil, false
	}
	return k, true
}

func cancelCall(c *probe.Case) *cancelledCall {
	switch {
	case c.Probe().Stdio():
	case c.Probe().Legacy(): // requests on several connections have no order
		return &cancelledCall{skip: "over HTTP an answer may have been on its way when the cancellation was read"}
	default:
		return &cancelledCall{skip: "over HTTP closing the stream cancels, and nothing can be heard after that"}
	}
	if _, usual := slowTool(c); usual == 0 {
		return &cancelledCall{skip: noSlowTool}
	}
	conn, ok := beside(c)
	if !ok {
		return &cancelledCall{skip: "a further connection could not be opened"}
	}
	// The first call of a process may take longer: it is asked for something
	// else before.
	if x := c.SendOn(conn, plain(c)); !x.OK() {
		return &cancelledCall{skip: "on a further connection " + x.Method + " " + outcome(x)}
	}
	tool, usual := reallySlow(c, conn)
	if usual == 0 {
		return &cancelledCall{skip: noSlowTool}
	}
	k := &cancelledCall{usual: usual}
	for try := 0; try < 2; try++ {
		k.try(c, conn, tool)
		if !k.early {
			break // twice is no accident
		}
	}
	if k.early && k.measure(c, conn, tool) && !k.untimely(k.x) {
		k.skip = "calls of " + tool.Name + " take now longer and now shorter, so that nothing can be told from when one is answered"
	}
	return k
}

// reallySlow is a slow tool that is slow once more, on the connection on which it
// is to be cancelled: on a machine that has much to do a quick tool looks like a
// slow one, and its next answer says nothing of a cancellation.
func reallySlow(c *probe.Case, conn *probe.Conn) (probe.Tool, time.Duration) {
	var without []string
	for range mostSlowTools {
		tool, usual := slowTool(c, without...)
		if usual == 0 {
			break
		}
		k := &cancelledCall{usual: usual}
		if k.measure(c, conn, tool) {
			return tool, k.usual
		}
		without = append(without, tool.Name)
	}
	return probe.Tool{}, 0
}

// mostSlowTools bounds how many tools are called to see whether they are slow.
const mostSlowTools = 6

// measure calls the tool and does not cancel it. The shortest time counts. It is
// false where the tool is too quick to be cancelled.
func (k *cancelledCall) measure(c *probe.Case, conn *probe.Conn, tool probe.Tool) bool {
	x := c.SendOn(conn, c.Probe().CallRequest(tool.Item, tool.Arguments))
	if !x.OK() {
		k.skip = "a further call of " + tool.Name + " " + outcome(x)
		return false
	}
	if k.usual = min(k.usual, x.End.Sub(x.Start)); k.usual < leastSlow {
		k.skip = noSlowTool
	}
	return k.skip == ""
}

// untimely reports whether an answer came long before its time.
func (k *cancelledCall) untimely(x *probe.Exchange) bool {
	return x.Response.Time.Sub(x.Start) < k.usual*3/4
}

// try calls the tool and cancels the call once it runs.
func (k *cancelledCall) try(c *probe.Case, conn *probe.Conn, tool probe.Tool) {
	k.skip, k.early = "", false
	s := c.Start(conn, c.Probe().CallRequest(tool.Item, tool.Arguments).Progress(tokenCancelled))
	begin := time.Now()
	if x, done := s.Until(min(k.usual/4, leastSlow/2), answeredNow); done {
		k.skip = "the call of " + tool.Name + " was answered before it could be cancelled: " + x.Brief()
		return
	}
	k.cancel = s.Cancel()
	k.barrier = c.SendOn(conn, plain(c))
	if k.barrier.OK() {
		s.Until(k.usual*5/4+leastSlow-time.Since(begin), answeredNow)
	}
	k.x = s.Now()
	r := k.x.Response
	switch {
	case !k.barrier.OK():
		k.skip = "what is asked after a call was cancelled " + outcome(k.barrier)
	case r == nil || r.Time.Sub(k.barrier.Response.Time) > k.usual/3:
	case k.untimely(k.x):
		k.early = true
	case r.Time.After(k.barrier.Response.Time):
		// Two writers may pass each other: it can have been on its way.
		k.skip = "the answer of " + tool.Name + " was on its way when the call was cancelled"
	default:
		k.skip = "the server reads nothing while " + tool.Name + " works, so it could not know that the call was cancelled"
	}
}

func answeredNow(x *probe.Exchange) bool { return x.Response != nil }

// cancelNoFurther looks at a cancelled call, and at a subscription that was
// cancelled. That is not to be answered either; but the page on subscriptions
// asks for an answer when a server ends one, so that an answer to a client that
// ends it is no more than a warning.
func cancelNoFurther(c *probe.Case) {
	if s := probe.Share(c.Probe(), "subscriptions", func() *subscriptionSet { return subscribe(c) }); s.failed == "" && s.one != nil &&
		s.one.ack != nil && s.barrier.OK() && !over(s.one.x, s.cancelled) {
		// It was open and quiet: nothing but the cancellation made it answer.
		if r := s.one.x.Response; r != nil {
			c.Warn(s.one.x, "a subscription is answered after the client cancelled it").In(r, "").And(s.cancel, s.barrier)
		} else {
			c.Pass(s.one.x)
		}
	}
	k, ok := cancelledQuietly(c)
	if !ok {
		return
	}
	if fs := k.later(); len(fs) > 0 {
		c.Fail(k.x, "%s comes for a call that was cancelled before, and the server had read that", messageName(fs[0])).In(fs[0], "").And(k.cancel, k.barrier)
		return
	}
	c.Pass(k.x)
}

// cancelledQuietly is cancelled for a rule that has looked at something else
// already: then it does not skip.
func cancelledQuietly(c *probe.Case) (*cancelledCall, bool) {
	k := probe.Share(c.Probe(), "cancelled-call", func() *cancelledCall { return cancelCall(c) })
	if k.skip != "" {
		c.Unseen("%s", k.skip)
		return nil, false
	}
	return k, true
}

// messageName names a message: its method, or what kind of response it is.
func messageName(f *wire.Frame) string {
	m := f.Message()
	if m.Method != "" {
		return m.Method
	}
	return "a " + m.Kind.String()
}

func cancelNoResponse(c *probe.Case) {
	k, ok := cancelled(c)
	switch {
	case !ok:
	case k.x.Response != nil:
		c.Fail(k.x, "a call that was cancelled is answered all the same").In(k.x.Response, "").And(k.cancel, k.barrier)
	default:
		c.Pass(k.x)
	}
}

func cancelStopsWork(c *probe.Case) {
	if k, ok := cancelled(c); ok {
		k.stops(c)
	}
}

func cancelReceiverStops(c *probe.Case) {
	if k, ok := cancelled(c); ok {
		k.stops(c)
	}
}

// stops judges by what can be seen from outside: progress that goes on, or a
// result that comes when the work would have been done.
func (k *cancelledCall) stops(c *probe.Case) {
	soon := k.barrier.Response.Time.Add(leastSlow)
	for _, f := range k.later() {
		m := f.Message()
		switch {
		case m.Method == spec.NotificationProgress && f.Time.After(soon):
			c.Fail(k.x, "progress of a call goes on after it was cancelled").In(f, "").And(k.cancel, k.barrier)
			return
		case m.Kind == wire.Response && f.Time.Sub(k.x.Start) > k.usual*3/4 && k.x.OK():
			c.Fail(k.x, "a call that was cancelled is worked on to its end: its result comes after %s, as when nobody cancels it",
				f.Time.Sub(k.x.Start).Round(time.Millisecond)).In(f, "").And(k.cancel, k.barrier)
			return
		}
	}
	c.Pass(k.x)
}
