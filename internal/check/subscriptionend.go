// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"net/http"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	pageGraceful  = "2026-07-28/basic/patterns/subscriptions#graceful-closure"
	pageEndOfSubs = "2026-07-28/basic/patterns/subscriptions#cancellation"
)

// subscriptionEndRules are those on how a subscription ends.
var subscriptionEndRules = []Rule{
	{
		Info: rule.Info{
			ID: "subscriptions.graceful-result", Level: rule.Should, Basis: rule.Keyword, Section: pageGraceful,
			Title: "a server that shuts down answers its subscriptions first",
			Why:   "a client cannot tell a planned end from a broken connection, and reconnects at once",
			Fix:   "on a signal to terminate, answer every open subscriptions/listen with a complete result before you close",
		},
		In: modern, Apart: true, Check: gracefulResult,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodListen).OfResult().Drop()},
			Also:   []string{"subscriptions.server-cancelled-on-teardown"}, Only: transport.Stdio,
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.graceful-result-shape", Level: rule.Must, Basis: rule.Prose, Section: pageGraceful,
			Title: "the result that ends a subscription is complete and carries its id",
			Why:   "a client with several subscriptions does not learn which of them is over",
			Fix:   `answer with "resultType": "complete" and the id of the request as io.modelcontextprotocol/subscriptionId in _meta`,
		},
		In: modern, Apart: true, Check: gracefulShape,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodListen).Remove("/result/_meta/io.modelcontextprotocol~1subscriptionId")}, Only: transport.Stdio,
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.server-cancelled-on-teardown", Level: rule.Must, Basis: rule.Keyword, Transport: "stdio",
			Section: "2026-07-28/basic/patterns/cancellation#overview",
			Title:   "a server that ends a subscription says so, by a result or by notifications/cancelled",
			Why:     "over stdio nothing else shows that a subscription is over: the client waits for changes for ever",
			Fix:     "answer the listen request, or send notifications/cancelled with its id, before the server ends",
		},
		In: modern, Apart: true, Check: teardownTold,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodListen).OfResult().Drop()},
			Also:   []string{"subscriptions.graceful-result"},
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.client-cancel-http", Level: rule.Must, Basis: rule.Prose, Section: pageEndOfSubs, Transport: "http",
			Title: "closing the stream ends a subscription",
			Why:   "subscriptions of clients that are gone pile up, until the server takes no more",
			Fix:   "drop the subscription when the response can no longer be written or the request's connection ends",
		},
		In: modern, Check: closedStreams,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", filterLeak)).FromTurn(6).Error(spec.CodeInternalError, "too many subscriptions"),
		}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.client-cancel-stdio", Level: rule.Must, Basis: rule.Prose, Section: pageEndOfSubs, Transport: "stdio",
			Title: "notifications/cancelled ends a subscription",
			Why:   "a client is told of changes under an id that it has freed, which may be another request's by now",
			Fix:   "drop the subscription when notifications/cancelled names its request",
		},
		In: modern, Check: cancelledSubscription, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onOne.Lenient(mock.CheckListenCancel)}},
	},
}

// filterLeak is a filter that only one check asks for, many times.
const filterLeak = `{"resourcesListChanged":true}`

// shutdown is a server that was told to end while a subscription was open.
type shutdown struct {
	skip    string // why there is nothing to see
	because string // the rule that says why, may be empty
	x       *probe.Exchange
	// cancelled is the notification that ends the subscription, nil without one.
	cancelled *wire.Frame
	// unheard says that the system ended the process: it did not take the
	// signal, so it had no moment to say anything.
	unheard bool
}

// shutdownPatience bounds the wait for a server that was told to end.
const shutdownPatience = 2 * time.Second

func shut(c *probe.Case) (*shutdown, bool) {
	s := probe.Share(c.Probe(), "shutdown", func() *shutdown { return shutDown(c) })
	switch {
	case s.because != "":
		c.SkipFor(s.because, "%s", s.skip)
	case s.skip != "":
		c.Skip("%s", s.skip)
	default:
		return s, true
	}
	return s, false
}

func shutDown(c *probe.Case) *shutdown {
	if !c.Probe().Stdio() {
		return &shutdown{skip: "only a server that was started for the check, over stdio, is told to end"}
	}
	conn := c.Open()
	if conn == nil {
		return &shutdown{skip: "a further connection could not be opened"}
	}
	o := &opening{c: c, conn: conn}
	sub := o.open(listenRequest(c, filterAll))
	now := sub.now()
	switch {
	case now.refused():
		return &shutdown{skip: "subscriptions/listen " + outcome(now.x), because: "subscriptions.supported"}
	case now.ack == nil:
		return &shutdown{skip: "subscriptions are not acknowledged", because: "subscriptions.ack-sent"}
	case now.x.Response != nil:
		return &shutdown{skip: "subscriptions do not stay open", because: "subscriptions.no-result-while-open"}
	case !conn.Terminate():
		return &shutdown{skip: "the server cannot be told to end"}
	case !conn.Gone(c.Context(), shutdownPatience):
		return &shutdown{skip: fmt.Sprintf("the server goes on for %s after it was told to end", shutdownPatience)}
	}
	s := &shutdown{x: sub.stream.Now()}
	if fs := s.x.Notifications(spec.NotificationCancelled); len(fs) > 0 {
		s.cancelled = fs[0]
	}
	if p := conn.Process(); p != nil {
		exit := p.Exit()
		s.unheard = exit.Signal != "" || exit.Code == endedBySignal || uint32(exit.Code) == endedByConsole
	}
	return s
}

// Exit statuses of processes that were ended from outside.
const (
	endedBySignal  = 128 + 15   // what a shell makes of SIGTERM
	endedByConsole = 0xC000013A // what windows makes of a break
)

const unheardSignal = "the server does not take the signal to terminate, so that the system ended it"

func gracefulResult(c *probe.Case) {
	s, ok := shut(c)
	switch {
	case !ok:
	case s.x.Response != nil && s.x.OK():
		c.Pass(s.x)
	case s.x.Response != nil:
		c.Fail(s.x, "a subscription is ended by %s, not by a result", s.x.Brief())
	case s.cancelled != nil:
		c.Note(s.x, "a subscription is ended by notifications/cancelled alone, without the result that is preferred").In(s.cancelled, "")
	case s.unheard:
		c.Skip(unheardSignal)
	default:
		c.Fail(s.x, "the server ended when it was told to, without an answer to an open subscription")
	}
}

func gracefulShape(c *probe.Case) {
	s, ok := shut(c)
	switch {
	case !ok:
	case s.x.Response == nil && s.unheard:
		c.Skip(unheardSignal)
	case s.x.Response == nil:
		c.SkipFor("subscriptions.graceful-result", "no result ended the subscription")
	case !s.x.OK():
		c.SkipFor("subscriptions.graceful-result", "the subscription was ended by %s", s.x.Brief())
	default:
		at := jsonx.Push("/result/"+spec.FieldMeta, spec.MetaSubscriptionID)
		// A missing resultType is the matter of the rule on that.
		if t := s.x.ResultType(); t != spec.ResultComplete && t != "" {
			c.Fail(s.x, "the result that ends a subscription is of type %s", t).In(s.x.Response, "/result/"+spec.FieldResultType)
		}
		switch id := subscriptionID(s.x.Response); {
		case id == nil:
			c.Fail(s.x, "the result that ends a subscription has no %s in _meta", spec.MetaSubscriptionID).In(s.x.Response, "/result")
		case !sameID(id, s.x.ID):
			c.Fail(s.x, "the result that ends the subscription %s names %s", s.x.ID, id).In(s.x.Response, at)
		default:
			c.Pass(s.x)
		}
	}
}

// teardownTold takes the result as well: one page demands the notification, the
// other one prefers the result.
func teardownTold(c *probe.Case) {
	s, ok := shut(c)
	switch {
	case !ok:
	case s.x.Response != nil || s.cancelled != nil:
		c.Pass(s.x)
	case s.unheard:
		c.Skip(unheardSignal)
	default:
		c.Warn(s.x, "the server ended when it was told to, with neither a result nor notifications/cancelled for an open subscription")
	}
}

const (
	manySubscriptions = 8
	// leakPatience is how long a server is given to notice that streams were
	// closed, when it refuses a further one.
	leakPatience = 600 * time.Millisecond
)

func closedStreams(c *probe.Case) {
	if _, ok := subscribed(c); !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	o := &opening{c: c, conn: conn}
	begin := time.Now()
	var first *probe.Exchange
	for n := 0; n < manySubscriptions; n++ {
		sub := o.open(listenRequest(c, filterLeak))
		s := sub.now()
		sub.stream.Close()
		switch {
		case s.ack != nil && first == nil:
			first = s.x
		case s.ack != nil:
		case s.x.Status() == http.StatusTooManyRequests:
			c.Skip("the server limits how often subscriptions are opened")
			return
		case s.x.Died():
			c.Skip("the connection broke: %s", s.x.Brief())
			return
		case first == nil:
			c.Skip("a subscription to %s %s", filterLeak, outcome(s.x))
			return
		case time.Since(begin) < leakPatience && s.refused():
			c.Rest(c.Probe().Quiet())
			n--
		default:
			c.Fail(s.x, "after %d subscriptions were opened and closed, the next one %s", n, outcome(s.x)).And(first)
			return
		}
	}
	c.Pass(first)
}

func cancelledSubscription(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	switch {
	case s.one.ack == nil || over(s.one.x, s.cancelled):
		c.Skip("there was no second subscription to cancel")
		return
	case !s.barrier.OK():
		c.Skip("the server answered nothing after a subscription was cancelled: %s", s.barrier.Brief())
		return
	}
	for _, f := range s.one.x.Frames[s.moved:] {
		if m := f.Message(); m.Kind == wire.Notification && isChange(m.Method) {
			c.Fail(s.one.x, "%s comes for a subscription that was cancelled before", m.Method).In(f, "")
			return
		}
	}
	if !s.changed {
		c.Skip("no change was told after a subscription was cancelled: name a tool that changes a list with --tool")
		return
	}
	c.Pass(s.one.x)
}
