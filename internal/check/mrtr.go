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

const (
	mrtrPage     = "2026-07-28/basic/patterns/mrtr"
	mrtrWorkflow = mrtrPage + "#server-requirements-basic-workflow"
)

// mrtrRules are those of results that ask for input.
var mrtrRules = []Rule{
	{
		Info: rule.Info{
			ID: probe.RuleRequests, Level: rule.Must, Basis: rule.Keyword, Section: mrtrPage + "#multi-round-trip-requests",
			Title: "elicitation, sampling and roots are asked for in results alone",
			Why:   "clients of this revision answer no requests, so the server waits for ever",
			Fix:   "answer the call by a result of type input_required that holds the request",
		},
		In: modern, Watch: mrtrNoRequests, Stir: stirAsks,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsList).OnTurn(1).Request(spec.MethodRootsList, "{}", `"r-1"`)},
			Also:   []string{"jsonrpc.server-no-requests", "stdio.server-no-requests", "transport-http.sse-no-server-requests", "roots.undeclared-not-asked"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.supported-methods-only", Level: rule.MustNot, Basis: rule.Keyword, Section: mrtrPage + "#supported-requests",
			Title: "only tools/call, prompts/get and resources/read ask for input",
			Why:   "clients expect a list or a description there, and drop what they get",
			Fix:   "ask when the tool, prompt or resource is used",
		},
		In: modern, Watch: mrtrMethods,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodPromptsList).OnPage(2).Set("/result/resultType", `"input_required"`), mock.On(spec.MethodPromptsList).OnPage(2).Set("/result/requestState", `"s"`)},
			Also:   []string{"caching.interim-none", "jsonrpc.result-type-complete-on-success"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.at-least-one-field", Level: rule.Must, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "a result that asks for input has inputRequests, requestState or both",
			Why:   "the client has nothing to do and nothing to send back",
			Fix:   "put what you ask into inputRequests, or what you must remember into requestState",
		},
		In: modern, Watch: mrtrOneField, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onCall(formTool).Remove("/result/inputRequests"), onCall(formTool).Remove("/result/requestState")}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.result-type-value", Level: rule.Must, Basis: rule.Prose, Section: mrtrPage + "#inputrequiredresult",
			Title: "a result that asks for input says so in its resultType",
			Why:   "the client takes the question for the final answer",
			Fix:   `set resultType to "input_required"`,
		},
		In: modern, Watch: mrtrType, Stir: stirAsks, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{onCall(formTool).Set("/result/resultType", `"complete"`)},
			Also:   []string{"tools.result-content-array"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.input-request-kinds", Level: rule.Must, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "each input request is an elicitation, a sampling or a roots request",
			Why:   "the client cannot answer it, and the call never ends",
			Fix:   "ask by elicitation/create, sampling/createMessage or roots/list",
		},
		In: modern, Watch: mrtrKinds, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onCall(formTool).Set(formAt+"/method", `"dialog/open"`)}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.input-request-keys-unique", Level: rule.Must, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "the keys of inputRequests are unique",
			Why:   "of two requests with one key the client sees one, and the server waits for the other answer",
			Fix:   "give each request a key of its own",
		},
		In: modern, Watch: mrtrKeys, Stir: stirAsks, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{onCall(formTool).Replace(`"inputRequests":{`, `"inputRequests":{"report":{"method":"roots/list"},`)},
			Also:   []string{"roots.undeclared-not-asked", "mrtr.undeclared-capability", "meta.no-undeclared-capability"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.input-request-no-id", Level: rule.ShouldNot, Basis: rule.Derived, Section: "2026-07-28/schema#elicitrequest",
			Title: "an input request is method and params alone",
			Why:   "an id or jsonrpc member suggests an answer of its own, which never comes",
			Fix:   "leave jsonrpc and id out of the entries of inputRequests",
		},
		In: modern, Watch: mrtrNoID, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onCall(formTool).Set(formAt+"/id", "7")}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.request-state-string", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#inputrequiredresult",
			Title: "requestState is a string",
			Why:   "clients keep and echo a string, and drop anything else",
			Fix:   "encode what you must remember as a string",
		},
		In: modern, Watch: mrtrState, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onCall(formTool).Set("/result/requestState", `{"step":1}`)}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.first-round-terminates", Level: rule.Must, Basis: rule.Prose, Section: mrtrPage + "#basic-workflow",
			Title: "a result that asks for input is the last word on its request",
			Why:   "the client has retried under a new id, and drops what comes under the old one",
			Fix:   "end the stream after it, and answer the retry",
		},
		In: modern, Watch: mrtrLastWord, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onCall(formTool).Twice()}},
	},
}

func mrtrNoRequests(c *probe.Case, t *probe.Traffic) {
	c.Pass(nil)
	for _, r := range t.Messages(wire.Request) {
		if m := r.Message(); asksFor[m.Method] {
			c.Fail(r.Exchange, "the server sent %s as a request of its own", m.Method).In(r.Frame, "")
		}
	}
}

func mrtrMethods(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Results() {
		m, known := spec.MethodAt(x.Method, t.Revision)
		if !known || m.MultiRound {
			continue
		}
		c.Pass(x)
		if x.ResultType() == spec.ResultInputRequired {
			c.Fail(x, "%s was answered by a result of type input_required", x.Method).In(x.Response, "/result/"+spec.FieldResultType)
		}
	}
	c.Unseen("no result was seen")
}

// eachInputRequired runs over the results that ask for input, and skips the
// rule where there are none.
func eachInputRequired(c *probe.Case, t *probe.Traffic, judge func(*probe.Exchange)) {
	for _, x := range inputRequired(t) {
		c.Pass(x)
		judge(x)
	}
	c.Unseen("%s", probe.NoAsk)
}

func mrtrOneField(c *probe.Case, t *probe.Traffic) {
	eachInputRequired(c, t, func(x *probe.Exchange) {
		if x.Member(spec.FieldInputRequests) == nil && x.Member(spec.FieldRequestState) == nil {
			c.Fail(x, "the result asks for input and has neither inputRequests nor requestState").In(x.Response, "/result")
		}
	})
}

func mrtrType(c *probe.Case, t *probe.Traffic) {
	eachInputRequired(c, t, func(x *probe.Exchange) {
		if got := x.Member(spec.FieldResultType); got != nil && x.ResultType() != spec.ResultInputRequired {
			c.Fail(x, "the result has inputRequests, and its resultType is %s", orAbsent(got)).In(x.Response, "/result/"+spec.FieldResultType)
		}
	})
}

func mrtrKinds(c *probe.Case, t *probe.Traffic) {
	eachInputRequired(c, t, func(x *probe.Exchange) {
		raw := x.Member(spec.FieldInputRequests)
		if raw != nil && jsonx.KindOf(raw) != jsonx.Object {
			c.Fail(x, "inputRequests is %s, not an object", jsonx.KindOf(raw).Name()).In(x.Response, "/result/"+spec.FieldInputRequests)
		}
		for _, m := range probe.Members(raw) {
			at := jsonx.Push("/result/"+spec.FieldInputRequests, m.Name)
			if method := probe.Lookup([]byte(m.Value), "/method"); !asksFor[probe.Text(method)] {
				c.Fail(x, "the input request %q is of method %s", m.Name, orAbsent(method)).In(x.Response, at+"/method")
			}
		}
	})
}

func mrtrKeys(c *probe.Case, t *probe.Traffic) {
	eachInputRequired(c, t, func(x *probe.Exchange) {
		seen := map[string]bool{}
		for _, m := range probe.Members(x.Member(spec.FieldInputRequests)) {
			if seen[m.Name] {
				c.Fail(x, "inputRequests has the key %q twice", m.Name).In(x.Response, jsonx.Push("/result/"+spec.FieldInputRequests, m.Name))
			}
			seen[m.Name] = true
		}
	})
}

func mrtrNoID(c *probe.Case, t *probe.Traffic) {
	eachInputRequired(c, t, func(x *probe.Exchange) {
		for _, m := range probe.Members(x.Member(spec.FieldInputRequests)) {
			for _, name := range []string{"id", "jsonrpc"} {
				if at := "/" + name; probe.Lookup([]byte(m.Value), at) != nil {
					c.Fail(x, "the input request %q has a member %s", m.Name, name).In(x.Response, jsonx.Push("/result/"+spec.FieldInputRequests, m.Name)+at)
				}
			}
		}
	})
}

func mrtrState(c *probe.Case, t *probe.Traffic) {
	seen := false
	for _, x := range inputRequired(t) {
		raw := x.Member(spec.FieldRequestState)
		if raw == nil {
			continue
		}
		seen = true
		c.Pass(x)
		if k := jsonx.KindOf(raw); k != jsonx.String {
			c.Fail(x, "requestState is %s, not a string", k.Name()).In(x.Response, "/result/"+spec.FieldRequestState)
		}
	}
	if !seen {
		c.Unseen("no requestState was seen: %s", probe.NoAsk)
	}
}

func mrtrLastWord(c *probe.Case, t *probe.Traffic) {
	eachInputRequired(c, t, func(x *probe.Exchange) {
		if len(x.Extra) > 0 {
			c.Fail(x, "a second response follows the one that asks for input").In(x.Extra[0], "")
		}
	})
}
