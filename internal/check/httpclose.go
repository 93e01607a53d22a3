// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	httpCancel    = httpPage + "#cancellation"
	ruleRelated   = "transport-http.sse-related-only"
	ruleNoFurther = "transport-http.disconnect-no-further"
	ruleIsolated  = "transport-http.disconnect-isolated"
)

// httpCloseRules are those of streams side by side, and of one that the client
// closes.
var httpCloseRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleRelated, Level: rule.Must, Basis: rule.Keyword, Section: httpReceiving, Transport: "http",
			Title: "notifications on a response stream concern its request alone",
			Why:   "progress and messages of one user's request reach another's, and each client misses its own",
			Fix:   "send what belongs to a request on the response to that request, and keep no list of all streams",
		},
		In: modern, Check: relatedOnly, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.MetaIs(spec.MetaProgressToken, relatedA)).
				Notify(spec.NotificationProgress, `{"progressToken":`+relatedB+`,"progress":0.25}`),
		}},
	},
	{
		Info: rule.Info{
			ID: ruleNoFurther, Level: rule.MustNot, Basis: rule.Keyword, Section: httpCancel, Transport: "http",
			Title: "nothing is sent on any stream for a request whose stream was closed",
			Why:   "another stream gets messages that are not its own, and of a request that was cancelled",
			Fix:   "drop what a request still has to send when its stream is closed",
		},
		In: modern, Check: disconnectNoFurther,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", leaving)).Stray()}},
	},
	{
		Info: rule.Info{
			ID: ruleIsolated, Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic/patterns/cancellation#transport-specific-cancellation", Transport: "http",
			Title: "closing one stream ends its request and no other",
			Why:   "one client that leaves takes the others' requests with it",
			Fix:   "tie a request to its own response, and to no connection or process",
		},
		In: modern, Check: disconnectIsolated,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", filterAll)).Together()}},
	},
}

// acknowledging bounds the wait for the acknowledgement of a subscription.
const acknowledging = 2 * time.Second

func acknowledged(x *probe.Exchange) bool {
	return len(x.Notifications(spec.NotificationSubscriptionsAck)) > 0
}

// leaving is what the subscription asks for whose stream is closed; the one that
// stays asks for all.
const leaving = `{"promptsListChanged":true}`

// pair opens two subscriptions on a connection of the case's own and closes the
// second. The case is skipped when they cannot be had.
func pair(c *probe.Case) (conn *probe.Conn, stays, gone *probe.Stream) {
	if conn = c.Open(); conn == nil {
		return nil, nil, nil
	}
	stays = c.Start(conn, listenRequest(c, filterAll))
	gone = c.Start(conn, listenRequest(c, leaving))
	for _, s := range []*probe.Stream{stays, gone} {
		x, ok := s.Until(acknowledging, acknowledged)
		if ok && s == stays && grantsNothing(acknowledgement(x)) {
			stays.Close()
			gone.Close()
			c.Skip("the server grants no subscription, and one that grants nothing may end by itself")
			return nil, nil, nil
		}
		if !ok || x.Closed || x.Response != nil {
			c.Lacks(x)
			return nil, nil, nil
		}
	}
	gone.Close()
	return conn, stays, gone
}

// disconnectNoFurther leaves a subscription and a call, and watches what comes
// on a subscription that stays.
func disconnectNoFurther(c *probe.Case) {
	conn, stays, gone := pair(c)
	if conn == nil {
		return
	}
	defer stays.Close()
	left, wait := []*probe.Exchange{gone.Now()}, c.Probe().Quiet()
	tool, usual := slowTool(c)
	if tools := c.Probe().Callable(); usual == 0 && len(tools) > 0 {
		tool = tools[0]
	}
	if tool.Raw != nil {
		call, answered := c.Start(conn, c.Probe().CallRequest(tool.Item, tool.Arguments).Progress(`"mcprove-left"`)), false
		if usual > 0 { // it runs when it is left, and would have an answer later
			_, answered = call.Until(min(usual/4, leastSlow/2), answeredNow)
			wait += usual
		}
		call.Close()
		if !answered {
			left = append(left, call.Now())
		}
	}
	astray := func(x *probe.Exchange) *wire.Frame {
		i := slices.IndexFunc(x.Frames, func(f *wire.Frame) bool {
			return slices.ContainsFunc(left, func(l *probe.Exchange) bool { return concerns(f.Message(), l) })
		})
		if i < 0 {
			return nil
		}
		return x.Frames[i]
	}
	x, found := stays.Until(wait, func(x *probe.Exchange) bool { return astray(x) != nil })
	switch {
	case found:
		f := astray(x)
		c.Fail(x, "after the client closed the stream of a request, a message for it came on the stream of another").In(f, "").And(left...)
	case x.Closed:
		c.SkipFor(ruleIsolated, "the stream that should stay ended: %s", x.Brief())
	default:
		c.Pass(x)
	}
}

// concerns reports whether a message is one for a request: its response, its
// progress, or a notification of its subscription.
func concerns(m *wire.Message, x *probe.Exchange) bool {
	switch {
	case m.IsResponse():
		return m.ID != nil && probe.Same(m.ID, x.ID)
	case m.Kind != wire.Notification:
		return false
	case m.Method == spec.NotificationProgress:
		token := x.Meta(spec.MetaProgressToken)
		return token != nil && probe.Same(probe.Lookup(m.Params, "/"+spec.MetaProgressToken), token)
	}
	id := probe.Lookup(m.Params, jsonx.Push("/"+spec.FieldMeta, spec.MetaSubscriptionID))
	return id != nil && probe.Same(id, x.ID)
}

// disconnectIsolated closes one of two subscriptions: the other stays open, and
// a request after it is served.
func disconnectIsolated(c *probe.Case) {
	conn, stays, gone := pair(c)
	if conn == nil {
		return
	}
	defer stays.Close()
	x, _ := stays.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return x.Closed })
	if x.Closed {
		c.Fail(x, "when the client closed one stream, another ended too").And(gone.Now())
		return
	}
	plain, ok := c.Plain()
	if !ok {
		return
	}
	if y := c.SendOn(conn, plain); !y.OK() {
		c.Fail(y, "after the client closed a stream, %s was answered by %s", plain.Method, y.Brief()).And(gone.Now())
		return
	}
	// By now the server has seen that the other one is gone.
	if x, _ = stays.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return x.Closed }); x.Closed {
		c.Fail(x, "when the client closed one stream, another ended too").And(gone.Now())
		return
	}
	c.Pass(x)
}

// relatedOnly runs two calls side by side, each with a token of its own, of a
// tool that reports progress.
func relatedOnly(c *probe.Case) {
	if !c.Declared("tools") {
		return
	}
	t, _, ok := talker(c, spec.NotificationProgress)
	if !ok {
		c.Skip("no tool that may be called reports progress: name one with --tool 'NAME={...}'")
		return
	}
	r := c.Probe().CallRequest(t.Item, t.Arguments)
	a, b := c.Start(nil, r.Progress(relatedA)), c.Start(nil, r.Progress(relatedB))
	x, y := a.Answer(), b.Answer()
	for _, p := range [][2]*probe.Exchange{{x, y}, {y, x}} {
		for _, f := range p[0].Notifications("") {
			if concerns(f.Message(), p[1]) {
				c.Fail(p[0], "the stream of one call of %s holds the progress of another", quoted(t.Name)).In(f, "").Of("tool", t.Name).And(p[1])
				return
			}
			c.Pass(p[0])
		}
	}
	c.Unseen("neither of two calls of %s side by side reported progress", quoted(t.Name))
}

// Tokens of the calls that run side by side.
const (
	relatedA = `"mcprove-side-a"`
	relatedB = `"mcprove-side-b"`
)
