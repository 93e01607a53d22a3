// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// pingRules are those of ping. That a server should ping its client now and
// then, and take silence for a lost connection, shows in no run of a few
// seconds.
var pingRules = []Rule{
	{
		Info: rule.Info{
			ID: "ping.answered", Level: rule.Must, Basis: rule.Keyword, Section: "2025-11-25/basic/utilities/ping#behavior-requirements",
			Title: "ping is answered promptly with an empty result",
			Why:   "clients take a server that does not answer for dead, and disconnect",
			Fix:   "answer ping by {} at once, whatever else is going on",
		},
		In: handshakeEra, Check: pingAnswered,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPing).Set("/result/status", `"fine"`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodPing).Error(spec.CodeMethodNotFound, "Method not found")}},
		},
	},
	{
		Info: rule.Info{
			ID: "ping.before-initialized", Level: rule.Should, Basis: rule.Derived, Section: initialization,
			Title: "ping is answered before the handshake is complete",
			Why:   "a client that checks the connection while it starts takes the server for broken",
			Fix:   "answer ping before notifications/initialized too",
		},
		In: handshakeEra, Check: pingEarly, Apart: true,
		Break: Break{Faults: []mock.Fault{onMark(spec.MethodPing, markHeld).Error(spec.CodeInvalidRequest, "not initialized")}},
	},
}

func pingAnswered(c *probe.Case) {
	g := c.Facts().Greeting
	if !g.OK() {
		c.Lacks(g)
		return
	}
	x := c.Once(c.Request(spec.MethodPing, ""))
	if busy(x) {
		c.Skip("ping was answered by %s", x.Brief())
		return
	}
	if !x.OK() {
		c.Fail(x, "ping %s, not by an empty result", outcome(x)).And(g)
		return
	}
	emptyResult(c, x)
}

// notEmpty is the first member of a result that should be empty, and none where
// it is. Metadata may stand in every result; resultType is one of later
// revisions, of which clients need know nothing.
func notEmpty(x *probe.Exchange) string {
	for _, m := range probe.Members(x.Result()) {
		if m.Name != spec.FieldMeta && m.Name != spec.FieldResultType {
			return m.Name
		}
	}
	return ""
}

func emptyResult(c *probe.Case, x *probe.Exchange) {
	if name := notEmpty(x); name != "" {
		c.Fail(x, "%s is answered by a result that is not empty: it has %s", x.Method, brief(name)).In(x.Response, "/result")
		return
	}
	c.Pass(x)
}

func pingEarly(c *probe.Case) {
	h := holdBack(c)
	if h == nil {
		return
	}
	switch x := h.ping; {
	case x.OK():
		c.Pass(x)
	case busy(x):
		c.Skip("ping was answered by %s", x.Brief())
	case x.Status() == spec.StatusSessionEnded && h.ready.Status() == x.Status():
		c.Skip("the server ended the session before it was complete, as it may")
	case x.Is(spec.CodeMethodNotFound):
		c.SkipFor("ping.answered", "ping is not served")
	default:
		c.Fail(x, "ping before %s %s", spec.NotificationInitialized, outcome(x)).And(h.greeting)
	}
}
