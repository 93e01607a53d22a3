// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// toolOutcomeRules are those of what a call says of its success.
var toolOutcomeRules = []Rule{
	{
		Info: rule.Info{
			ID: "tools.output-conforms", Level: rule.Must, Basis: rule.Keyword, Section: toolsPage + "#output-schema",
			Title: "a tool with an outputSchema gives structuredContent that conforms to it",
			Why:   "callers that rely on the schema fail on the value, and strict clients refuse the whole result",
			Fix:   "make the value fit the schema, or the schema say what the tool gives",
		},
		In: since2506, Watch: outputConforms, Stir: callTools, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{structuredCall.Set("/result/structuredContent", `"mcprove"`)},
			Also:   []string{"tools.structured-text-mirror", "tools.structured-object-legacy"},
		},
		Breaks: []Break{
			{Faults: []mock.Fault{structuredCall.Remove("/result/structuredContent")}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.execution-error-is-error", Level: rule.Should, Basis: rule.Schema, Section: "2026-07-28/schema#calltoolresult",
			Title: "a tool that fails says so in a result with isError",
			Why:   "the model does not see a protocol error, so it cannot try another way",
			Fix:   "catch the failure in the tool and put its text into the content of a result with isError true",
		},
		In: every, Check: executionError, Needs: "--tool", Under: []string{"meta.missing-capability-32021"},
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/arguments", "{}"), mock.ParamIs("/name", `"read_broken_gauge"`)).Error(spec.CodeInternalError, "the tool failed")}},
	},
	{
		Info: rule.Info{
			ID: "tools.execution-error-content", Level: rule.Should, Basis: rule.Derived, ReportOnly: true, Section: toolsPage + "#error-handling",
			Title: "a result with isError has content that says what went wrong",
			Why:   "a model that is told only that it failed repeats the same call",
			Fix:   "put a text into content that says what failed and what to do instead",
		},
		In: every, Watch: executionErrorContent, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.AnswerIs("/result/isError", "true")).Set("/result/content", "[]")}},
	},
}

// structuredCall is the place of results with structuredContent.
var structuredCall = plainCall.When(mock.AnswerHas("/result/structuredContent"))

// outputSchemas are the outputSchemas of the tools listed, by name. A tool that
// was listed with two of them has none.
func outputSchemas(t *probe.Traffic) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, i := range t.Items(spec.MethodToolsList) {
		s := i.Get("outputSchema")
		if before, ok := out[i.Name]; ok && !probe.Same(before, s) {
			s = nil
		}
		out[i.Name] = s
	}
	return out
}

func outputConforms(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	schemas := outputSchemas(t)
	blamed := map[string]bool{}
	for _, x := range toolCalls(t) {
		name := called(x)
		schema := schemas[name]
		if jsonx.KindOf(schema) != jsonx.Object || isError(x) || x.Planted() != "" || blamed[name] {
			continue
		}
		value := x.Member("structuredContent")
		if value == nil {
			blamed[name] = true
			placed(bad.add(x, "the tool %s has an outputSchema, and a call of it gives no structuredContent", brief(name)), x.Response, "/result", "tool", name)
			continue
		}
		// Two judges that were written apart must agree before anybody is blamed.
		s, _ := schemaset.Parse(schema, schemaset.ParseOptions{})
		ok, why, err := contract.Accepts(schema, value)
		switch truth := schemaset.Eval(value, s); {
		case err != nil, truth == schemaset.Unknown, ok != (truth == schemaset.Yes):
		case ok:
			c.Pass(x)
		default:
			blamed[name] = true
			placed(bad.add(x, "the structuredContent of the tool %s does not conform to its outputSchema: %s", brief(name), why), x.Response, "/result/structuredContent", "tool", name)
		}
	}
	c.Unseen("no call of a tool with an outputSchema gave a result that can be judged: name one with --tool 'NAME={...}'")
}

// sameValue reports whether two JSON texts are one value by the equality of
// JSON Schema, in which 1 and 1.0 are the same.
func sameValue(a, b json.RawMessage) bool {
	if jsonx.Check(a, jsonx.Strict) != nil {
		return false
	}
	s, _ := schemaset.Parse(append(append([]byte(`{"const":`), b...), '}'), schemaset.ParseOptions{})
	return schemaset.Eval(a, s) == schemaset.Yes
}

func executionError(c *probe.Case) {
	if len(callable(c)) == 0 {
		return
	}
	for _, x := range c.Calls() {
		code, coded := x.Code()
		switch {
		case x.OK() && isError(x):
			c.Pass(x)
		case coded && failureCode(code, c.Probe().Revision()):
			c.Fail(x, "a call of the tool %s with arguments that fit its schema is answered by %s, not by a result with isError", brief(called(x)), x.Brief()).Of("tool", called(x))
		}
	}
	c.Unseen("no tool that was called fails: name one that does, with --tool 'NAME={...}'")
}

// failureCode reports whether an error code is one that a failing tool ends up
// with: an internal error, or one of the server's own.
func failureCode(code int, r spec.Revision) bool {
	switch spec.ClassOf(code, r) {
	case spec.CodeLegacyRange, spec.CodeApplication:
		return true
	}
	return code == spec.CodeInternalError
}

func executionErrorContent(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, x := range toolCalls(t) {
		content := x.Member("content")
		switch {
		case !isError(x) || jsonx.KindOf(content) != jsonx.Array:
		case len(probe.Elements(content)) == 0:
			placed(bad.add(x, "a result of the tool %s has isError and no content that says why", brief(called(x))), x.Response, "/result/content", "tool", called(x))
		default:
			c.Pass(x)
		}
	}
	c.Unseen("no call of a tool gave a result with isError")
}
