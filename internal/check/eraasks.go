// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// eraAskRules are those of servers of both eras that ask their client.
var eraAskRules = []Rule{
	{
		Info: rule.Info{
			ID: "era.server-dual-legacy-shape", Level: rule.MustNot, Basis: rule.Derived, Section: eraMatrix,
			Title: "a client of the handshake era is not asked by a result",
			Why:   "it knows no results that ask, and takes the question for an empty answer",
			Fix:   "ask by a request such as elicitation/create where the client has opened with initialize",
		},
		In: modern, Check: eraLegacyShape, Apart: true, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.NoMeta(spec.MetaProtocolVersion)).Lenient(mock.CheckAskEra)}},
	},
}

// eraLegacyShape uses what asks in this revision once more, as a client of the
// handshake era that can answer everything.
func eraLegacyShape(c *probe.Case) {
	if !dual(c) {
		return
	}
	asking := c.Asks()
	if len(asking) == 0 {
		c.Skip("%s", probe.NoAsk)
		return
	}
	conn, greeting, session := handshakeAs(c, probe.AllCapabilities)
	if conn == nil {
		return
	}
	if !negotiated(greeting) {
		c.SkipFor("era.server-dual-initialize", "initialize was answered by %s", greeting.Brief())
		return
	}
	initialized(c, conn, session)
	for _, before := range asking[:min(len(asking), mostAskers)] {
		r := before.Request.Of(spec.Rev20251125).Header(spec.HeaderProtocolVersion, spec.Rev20251125.String())
		if session != "" {
			r = r.Header(spec.HeaderSessionID, session)
		}
		x, _ := c.Start(conn, r).Until(c.Probe().Patience(), func(x *probe.Exchange) bool { return x.Response != nil || len(askedIn(x)) > 0 })
		switch {
		case len(askedIn(x)) > 0:
			c.Pass(x)
		case x.ResultType() == spec.ResultInputRequired || x.Member(spec.FieldInputRequests) != nil:
			c.Fail(x, "%s of a client that opened with initialize was answered by a result that asks for input", x.Method).And(greeting)
			return
		case x.Response != nil:
			c.Pass(x)
		}
	}
	c.Unseen("no answer came to what asks for input")
}
