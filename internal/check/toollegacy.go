// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// toolLegacyRules are those of tools that only revisions of the handshake era
// have.
var toolLegacyRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleArgumentsRefused, Level: rule.Should, Basis: rule.Prose, Section: "2025-06-18/server/tools#error-handling",
			Title:  "a call with arguments that its schema refuses is answered by error -32602",
			Why:    "clients of these revisions take a result for one that the tool gave",
			Fix:    "check the arguments against the inputSchema before the tool runs, and answer -32602",
			Detail: "From 2025-11-25 on a result with isError is asked for, and many servers give it to every client.",
		},
		In: spec.Range{Until: spec.Rev20250618}, Check: argumentsRefused, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckArgumentsInvalid)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeInvalidParams).When(mock.HasParam("/arguments/name")).
				Result(`{"content":[{"type":"text","text":"The name is wrong."}],"isError":true}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.output-schema-object-legacy", Level: rule.Must, Basis: rule.Schema, Section: "2025-11-25/schema#tool",
			Title: "the root of an outputSchema says type object",
			Why:   "clients that read the list by the schema refuse all of it for one tool",
			Fix:   "wrap other values in an object in sessions of the handshake era, or leave the schema out there",
		},
		In: late, Watch: outputSchemaObject,
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_output","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"type":"string"}}}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_output","inputSchema":{"type":"object"},"outputSchema":{"properties":{"a":{"type":"string"}}}}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.structured-absent-before", Level: rule.ShouldNot, Basis: rule.Derived, Section: "2025-03-26/server/tools#tool-result",
			Title:  "structuredContent and outputSchema are not sent under revisions that do not have them",
			Why:    "clients of these revisions ignore both, so that what stands there alone is lost",
			Fix:    "put all that a caller needs into content; leaving the two out is enough",
			Detail: "It is for information: results and tools may have further members.",
		},
		In: early, Watch: structuredBefore, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{oneMoreTool(`{"name":"mcprove_output","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{plainLegacyCall.Set("/result/structuredContent", `{"a":1}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.structured-object-legacy", Level: rule.Must, Basis: rule.Prose, Section: "2025-11-25/server/tools#structured-content",
			Title: "structuredContent is an object",
			Why:   "typed clients of these revisions fail to read the result",
			Fix:   "wrap arrays and plain values in an object in sessions of the handshake era",
		},
		In: late, Watch: structuredObject, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			plainLegacyCall.Set("/result/content", `[{"type":"text","text":"[1]"}]`),
			plainLegacyCall.Set("/result/structuredContent", `[1]`),
		}},
	},
}

const ruleArgumentsRefused = "tools.invalid-args-protocol-error"

// plainLegacyCall is the place of calls of a tool without an outputSchema.
var plainLegacyCall = mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"find_notices"`)).OfResult()

// ruleBadArguments is the rule about arguments that a schema refuses.
func ruleBadArguments(r spec.Revision) string {
	if r < spec.Rev20251125 {
		return ruleArgumentsRefused
	}
	return "tools.input-validation-is-error"
}

func argumentsRefused(c *probe.Case) { eachBadCall(c, refusedCall) }

// refusedCall judges one call with bad arguments. It returns false when there is
// no point in another one.
func refusedCall(c *probe.Case, t probe.Tool, b badArguments, control, x *probe.Exchange) bool {
	switch {
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
		return true
	case x.OK() && isError(x):
		c.Warn(x, "a call of the tool %s %s gives a result with isError, as later revisions ask for; %s counts it as a protocol error",
			brief(t.Name), b.what, c.Probe().Revision()).And(control).Of("tool", t.Name)
	case x.OK():
		c.Fail(x, "a call of the tool %s %s gives a result without isError, and its inputSchema refuses that", brief(t.Name), b.what).And(control).Of("tool", t.Name)
	default:
		c.Fail(x, "a call of the tool %s %s %s, not by error %d", brief(t.Name), b.what, outcome(x), spec.CodeInvalidParams).And(control).Of("tool", t.Name)
	}
	return false // the others would say the same
}

func outputSchemaObject(c *probe.Case, t *probe.Traffic) {
	eachTool(c, t, "outputSchema", func(i probe.Item, bad *blames) bool {
		s := i.Get("outputSchema")
		if jsonx.KindOf(s) != jsonx.Object {
			return false // the rule about the form of a tool says so
		}
		root := probe.Lookup(s, "/type")
		if probe.Text(root) == "object" {
			return true
		}
		what := "has the type " + asJSON(root) + " at its root"
		if root == nil {
			what = "has no type at its root"
		}
		placed(bad.add(i.Page, "the outputSchema of the tool %s %s, not the type \"object\"", brief(i.Name), what), i.Page.Response, i.Pointer+"/outputSchema", "tool", i.Name)
		return false
	})
}

func structuredBefore(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, i := range t.Items(spec.MethodToolsList) {
		if i.Get("outputSchema") == nil {
			c.Pass(i.Page)
			continue
		}
		placed(l.add(c.Note, "schema", i.Name, i.Page, "the tool %s has an outputSchema, which %s does not have", brief(i.Name), t.Revision),
			i.Page.Response, i.Pointer+"/outputSchema", "tool", i.Name)
	}
	for _, x := range toolCalls(t) {
		if x.Member("structuredContent") == nil {
			c.Pass(x)
			continue
		}
		placed(l.add(c.Note, "content", called(x), x, "a call of the tool %s gives structuredContent, which %s does not have", brief(called(x)), t.Revision),
			x.Response, "/result/structuredContent", "tool", called(x))
	}
	l.close()
	c.Unseen("no tool was listed")
}

func structuredObject(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, x := range toolCalls(t) {
		s := x.Member("structuredContent")
		switch {
		case s == nil || x.Planted() != "":
		case jsonx.KindOf(s) == jsonx.Object:
			c.Pass(x)
		default:
			placed(bad.add(x, "a call of the tool %s gives structuredContent that is %s, not an object", brief(called(x)), asJSON(s)),
				x.Response, "/result/structuredContent", "tool", called(x))
		}
	}
	c.Unseen("no call of a tool gave structuredContent")
}
