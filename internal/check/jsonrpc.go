// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// jsonrpcRules are those of the envelope of messages.
var jsonrpcRules = []Rule{
	{
		Info: rule.Info{
			ID: "jsonrpc.method-not-found-32601", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/basic#error-responses",
			Title: "a method the server does not have is answered with -32601",
			Why:   "clients tell a missing feature from a broken one by this code, and stop asking",
			Fix:   "answer methods you do not know with code -32601 and the message Method not found",
		},
		In: every, Check: unknownMethod,
		Break: Break{Faults: []mock.Fault{mock.On(noMethod).Set("/error/code", "-32603")}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.result-type-present", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#resulttype",
			Title: "every result has a resultType, a string",
			Why:   "a client cannot tell a final answer from one that asks for input, and must guess",
			Fix:   `add "resultType": "complete" to every final result`,
		},
		In: modern, Watch: resultTypePresent,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/resultType")}},
	},
}

// noMethod is a method that nobody has.
const noMethod = "mcprove/no-such-method"

func unknownMethod(c *probe.Case) {
	if _, ok := c.Works(c.Request(spec.MethodDiscover, "")); !ok {
		return
	}
	x := c.Send(c.Request(noMethod, "").Planting("a method that does not exist"))
	switch {
	case x.Is(spec.CodeMethodNotFound):
		c.Pass(x)
	default:
		c.Fail(x, "an unknown method was answered by %s, not by error %d", x.Brief(), spec.CodeMethodNotFound)
	}
}

func resultTypePresent(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Results() {
		switch raw := x.Member(spec.FieldResultType); jsonx.KindOf(raw) {
		case jsonx.String:
			c.Pass(x)
		case 0:
			c.Fail(x, "the result of %s has no resultType", x.Method)
		default:
			c.Fail(x, "the resultType of %s is no string", x.Method).In(x.Response, "/result/"+spec.FieldResultType)
		}
	}
	c.Unseen("no result was seen")
}
