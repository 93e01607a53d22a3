// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// removedRules are about what older revisions had and this one does not.
var removedRules = []Rule{
	removedMethod("removed.ping", spec.MethodPing, ""),
	removedMethod("removed.logging-set-level", spec.MethodSetLevel, `{"level":"error"}`),
	removedMethod("removed.resources-subscribe", spec.MethodResourcesSubscribe, `{"uri":"mcprove://none"}`),
	removedMethod("removed.resources-unsubscribe", spec.MethodResourcesUnsubscribe, `{"uri":"mcprove://none"}`),
	removedMethod("removed.tasks-list", spec.MethodTasksList, ""),
	removedMethod("removed.tasks-result", spec.MethodTasksResult, `{"taskId":"mcprove-none"}`),
	{
		Info: rule.Info{
			ID: "removed.initialize-with-modern-meta", Level: rule.Must, Basis: rule.Derived, Section: eraMatrix,
			Title: "initialize with the metadata of this revision opens no session",
			Why:   "a client believes that it has a session which later requests need not refer to",
			Fix:   "answer initialize by an error when you serve no handshake revision",
		},
		In: modern, Check: removedInitialize,
		Break: Break{
			Base: modernServer,
			Faults: []mock.Fault{
				mock.On(spec.MethodInitialize).When(mock.HasMeta(spec.MetaProtocolVersion)).Remove("/error"),
				mock.On(spec.MethodInitialize).When(mock.HasMeta(spec.MetaProtocolVersion)).Set("/result", `{"resultType":"complete","protocolVersion":"2025-11-25","capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}`),
				mock.On(spec.MethodInitialize).When(mock.HasMeta(spec.MetaProtocolVersion)).Status(200),
			},
		},
	},
	{
		Info: rule.Info{
			ID: "removed.server-ping", Level: rule.MustNot, Basis: rule.Prose, Section: "2026-07-28/changelog#major-changes",
			Title: "the server sends no ping",
			Why:   "clients of this revision answer no requests, so the server takes them for dead",
			Fix:   "drop the ping; a closed stream says that the client has left",
		},
		In: modern, Watch: removedServerPing,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsList).OnTurn(1).Request(spec.MethodPing, "{}", `"p-1"`)},
			Also:   []string{"jsonrpc.server-no-requests", "stdio.server-no-requests", "transport-http.sse-no-server-requests"},
		},
	},
	{
		Info: rule.Info{
			ID: "removed.elicitation-complete", Level: rule.ShouldNot, Basis: rule.Derived, Section: "2026-07-28/changelog#minor-changes",
			Title: "the server sends no notifications/elicitation/complete",
			Why:   "clients of this revision do not know it, and wait for nothing",
			Fix:   "leave it out: the client retries its request when the user is done",
		},
		In: modern, Watch: removedElicitationComplete, Stir: stirCalls,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OnTurn(1).Notify(spec.NotificationElicitationComplete, `{"elicitationId":"e-1"}`)}},
	},
	{
		Info: rule.Info{
			ID: "removed.elicitation-id", Level: rule.ShouldNot, Basis: rule.Derived, Section: "2026-07-28/changelog#minor-changes",
			Title: "a URL elicitation has no elicitationId",
			Why:   "nothing refers to it any more, and clients that check the shape strictly refuse the request",
			Fix:   "leave elicitationId out of the request's params",
		},
		In: modern, Watch: removedElicitationID, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfType(spec.ResultInputRequired).Replace(`"mode":"url"`, `"mode":"url","elicitationId":"e-1"`)}},
	},
}

// removedMethod is the rule about one method that is gone.
func removedMethod(id, method, params string) Rule {
	return Rule{
		Info: rule.Info{
			ID: id, Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/changelog#major-changes",
			Title: method + " is an unknown method in this revision",
			Why:   "a client that is answered believes in a feature that has no meaning without a session",
			Fix:   "answer it with -32601 when the request names this revision",
		},
		In: modern, Under: []string{"jsonrpc.method-not-found-32601"},
		Check: func(c *probe.Case) {
			if _, ok := c.Plain(); !ok {
				return
			}
			x := c.Send(c.Request(method, params).Planting("a method of older revisions"))
			if !x.Is(spec.CodeMethodNotFound) {
				c.Fail(x, "%s under this revision was answered by %s, not by error %d", method, x.Brief(), spec.CodeMethodNotFound)
				return
			}
			c.Pass(x)
		},
		Break: Break{Faults: []mock.Fault{mock.On(method).When(mock.HasMeta(spec.MetaProtocolVersion)).Set("/error/code", "-32603")}},
	}
}

func removedInitialize(c *probe.Case) {
	if _, ok := c.Plain(); !ok || !modernOnly(c) {
		return
	}
	params := `{"protocolVersion":"` + spec.Rev20251125.String() + `","capabilities":{},"clientInfo":{"name":"mcprove","version":"1"}}`
	x := c.Send(c.Request(spec.MethodInitialize, params).Planting("a method of older revisions"))
	if !x.Refused() {
		c.Fail(x, "initialize with the metadata of this revision was answered by %s", x.Brief())
		return
	}
	c.Pass(x)
}

// stirAsks and stirCalls make the calls in which something may be seen.
func stirAsks(c *probe.Case)  { c.Asks() }
func stirCalls(c *probe.Case) { c.Calls() }

func removedServerPing(c *probe.Case, t *probe.Traffic) {
	c.Pass(nil)
	for _, r := range t.Messages(wire.Request) {
		if r.Message().Method == spec.MethodPing {
			c.Fail(r.Exchange, "the server sent a ping").In(r.Frame, "")
		}
	}
}

func removedElicitationComplete(c *probe.Case, t *probe.Traffic) {
	c.Pass(nil)
	for _, r := range t.Notifications(spec.NotificationElicitationComplete) {
		c.Fail(r.Exchange, "the server sent %s", spec.NotificationElicitationComplete).In(r.Frame, "")
	}
}

func removedElicitationID(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Results() {
		if x.ResultType() != spec.ResultInputRequired {
			continue
		}
		for _, m := range probe.Members(x.Member(spec.FieldInputRequests)) {
			if probe.Text(probe.Lookup([]byte(m.Value), "/params/mode")) != "url" {
				continue
			}
			c.Pass(x)
			if probe.Lookup([]byte(m.Value), "/params/elicitationId") != nil {
				at := jsonx.Push("/result/"+spec.FieldInputRequests, m.Name) + "/params/elicitationId"
				c.Fail(x, "the URL elicitation %q has an elicitationId", m.Name).In(x.Response, at)
			}
		}
	}
	c.Unseen("no URL elicitation was seen: %s", probe.NoAsk)
}
