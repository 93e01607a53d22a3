// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const resourcesHandshake = "2025-11-25/server/resources"

// resourceLegacyRules are those of resources that only the handshake era has.
var resourceLegacyRules = []Rule{
	{
		Info: rule.Info{
			ID: "resources.not-found-32002-legacy", Level: rule.Should, Basis: rule.Keyword, Section: resourcesHandshake + "#error-handling",
			Title: "reading a resource that does not exist is refused with -32002",
			Why:   "clients cannot tell a resource that is gone from a server that is broken",
			Fix:   "answer a uri that names nothing with code -32002 in sessions of the handshake era",
		},
		In: handshakeEra, Check: notFoundLegacy,
		Break: Break{Faults: []mock.Fault{absentRead.OfCode(spec.CodeResourceNotFound).Set("/error/code", "-32602")}},
		Breaks: []Break{
			{Faults: []mock.Fault{absentRead.OfCode(spec.CodeResourceNotFound).Result(`{"contents":[]}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.subscribe-legacy", Level: rule.Must, Basis: rule.Prose, Section: resourcesHandshake + "#subscriptions",
			Title: "a server that declares resources.subscribe answers resources/subscribe and resources/unsubscribe with empty results",
			Why:   "clients that watch a resource get an error in place of updates, or cannot stop them",
			Fix:   "serve both methods for the resources you list, or do not declare resources.subscribe",
		},
		In: handshakeEra, Check: subscribeLegacy, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesSubscribe).Error(spec.CodeMethodNotFound, "Method not found")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodResourcesUnsubscribe).Error(spec.CodeMethodNotFound, "Method not found")}},
			{Faults: []mock.Fault{mock.On(spec.MethodResourcesSubscribe).Set("/result/watched", "true")}},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.subscribe-undeclared-legacy", Level: rule.Should, Basis: rule.Derived, Section: resourcesHandshake + "#capabilities",
			Title: "resources/subscribe is refused by a server that does not declare resources.subscribe",
			Why:   "the client believes that it is told of changes, and never is",
			Fix:   "refuse the method with -32601, or declare resources.subscribe and send the updates",
		},
		In: handshakeEra, Check: subscribeUndeclared,
		Break: Break{
			Base:   unwatchedServer,
			Faults: []mock.Fault{mock.On(spec.MethodResourcesSubscribe).Result(`{}`)},
		},
	},
}

// unwatchedServer is a Base whose resources cannot be subscribed to.
func unwatchedServer(s *mock.Script) {
	s.Capabilities = []byte(`{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true},"tools":{"listChanged":true}}`)
}

func notFoundLegacy(c *probe.Case) {
	if _, ok := c.Listed(spec.MethodResourcesList); !ok {
		return
	}
	x, ok := missing(c)
	if !ok {
		return
	}
	control, ok := someRead(c)
	switch {
	case !ok:
	case x.Is(spec.CodeResourceNotFound):
		c.Pass(x)
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	default:
		c.Fail(x, "a uri that names nothing %s, not by error %d", outcome(x), spec.CodeResourceNotFound).And(control)
	}
}

func subscribeLegacy(c *probe.Case) {
	if !c.Declared("resources.subscribe") {
		return
	}
	o := secondSession(c)
	if o == nil {
		return
	}
	if len(o.watched) == 0 {
		c.Skip("the server lists no resource that could be subscribed to")
		return
	}
	x := o.watched[len(o.watched)-1]
	switch {
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
		return
	case !x.OK() && len(o.watched) == mostURIs && len(c.Facts().Resources()) > mostURIs:
		c.Skip("%d resources were tried, and the server may let others be watched: %s was answered by %s", mostURIs, x.Method, x.Brief())
		return
	case !x.OK():
		x = o.watched[0]
		c.Fail(x, "resources.subscribe is declared, and %s of a resource that is listed %s", x.Method, outcome(x)).
			And(c.Facts().Greeting).Of("resource", probe.Text(x.Request.Value("uri")))
		return
	}
	emptyResult(c, x)
	switch y := o.left; {
	case busy(y):
		c.Skip("%s was answered by %s", y.Method, y.Brief())
	case !y.OK():
		c.Fail(y, "%s of a resource that was subscribed to %s", y.Method, outcome(y)).And(x).Of("resource", probe.Text(y.Request.Value("uri")))
	default:
		emptyResult(c, y)
	}
}

// subscribeUndeclared asks for a resource that is listed, where there is one: a
// refusal of another would be for its uri.
func subscribeUndeclared(c *probe.Case) {
	switch {
	case c.Facts().Capabilities == nil:
		c.SkipFor(ruleInitResult, "the server's capabilities are not known: initialize gave none")
		return
	case c.Facts().Declares("resources.subscribe"):
		c.Skip("the server declares resources.subscribe")
		return
	}
	if _, ok := c.Plain(); !ok {
		return
	}
	uri := noURI
	if uris := resourceURIs(c); len(uris) > 0 {
		uri = uris[0]
	}
	x := c.Send(ofURI(c, spec.MethodResourcesSubscribe, uri).Planting("a method of a capability that is not declared"))
	switch {
	case x.OK():
		c.Fail(x, "%s is answered by a result, and resources.subscribe is not declared", x.Method).And(c.Facts().Greeting)
		c.Send(ofURI(c, spec.MethodResourcesUnsubscribe, uri).Planting("a method of a capability that is not declared"))
	case x.Refused():
		c.Pass(x)
	default:
		c.Fail(x, "%s %s, not by an error, and resources.subscribe is not declared", x.Method, outcome(x))
	}
}
