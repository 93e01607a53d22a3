// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// toolCallRules are those of how calls are taken and refused.
var toolCallRules = []Rule{
	{
		Info: rule.Info{
			ID: "tools.call-answered", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic#result-responses",
			Title: "calls of tools are answered",
			Why:   "an agent that calls a tool waits until its client gives up, and learns nothing",
			Fix:   "answer each call, by a result with isError where the tool fails; give a tool that waits for something a bound",
		},
		In: every, Check: callAnswered, Needs: "--tool",
		Break: Break{Base: oneTool, Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Drop()}},
	},
	{
		Info: rule.Info{
			ID: "tools.arguments-optional", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#calltoolrequestparams",
			Title: "a call may leave arguments out where the tool needs none",
			Why:   "clients leave the member out when there is nothing to say, and the call fails for them alone",
			Fix:   "read absent arguments as an empty object",
		},
		In: every, Check: argumentsOptional, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.NoParam("/arguments")).Error(spec.CodeInvalidParams, "arguments is required"),
		}},
	},
	{
		Info: rule.Info{
			ID: "tools.unknown-tool-32602", Level: rule.Should, Basis: rule.Prose, Section: toolsPage + "#error-handling",
			Title: "a call of a tool that does not exist is answered by error -32602",
			Why:   "a client cannot tell a tool that is gone from one that failed, and lets the model try it again",
			Fix:   "answer code -32602 and name the tool in the message",
		},
		In: every, Check: unknownTool,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckToolUnknown)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", string(jsonx.Quote(noTool)))).Error(spec.CodeMethodNotFound, "Method not found")}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.malformed-call-error", Level: rule.Should, Basis: rule.Prose, Section: toolsPage + "#error-handling",
			Title: "a call that is malformed is a protocol error, not a result",
			Why:   "a tool that runs on what is no object of arguments does something nobody asked for",
			Fix:   "answer code -32602 when arguments is no object or name is no string",
		},
		In: every, Check: malformedCall, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckArgumentsMistyped)}},
	},
	{
		Info: rule.Info{
			ID: "tools.name-case-sensitive", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#tool-names",
			Title: "tool names differ by case",
			Why:   "a rule that allows one spelling does not hold for the others, and they reach the same tool",
			Fix:   "compare names byte by byte",
		},
		In: since2511, Check: nameCase, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckToolCase)}},
	},
	{
		Info: rule.Info{
			ID: "tools.input-validation-is-error", Level: rule.Should, Basis: rule.Prose, Section: toolsPage + "#error-handling",
			Title: "arguments that the tool's schema refuses are answered by a result with isError",
			Why:   "a model sees results and can correct itself; it does not see protocol errors, and is misled by a success",
			Fix:   "validate the arguments and say what is wrong in the content of a result with isError true",
			Detail: "The section wants a result with isError, the message schema lists invalid tool arguments under -32602: " +
				"that error is a warning in its own words, and a result without isError the warning proper.",
		},
		In: since2511, Check: invalidArguments, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckArgumentsInvalid)}},
	},
	{
		Info: rule.Info{
			ID: "tools.inputs-validated", Level: rule.Must, Basis: rule.Keyword, Section: toolsPage + "#security-considerations",
			Title: "a tool survives arguments that its schema refuses",
			Why:   "one model that makes up an argument ends the server for everybody, or reaches code that trusts its input",
			Fix:   "validate the arguments against the inputSchema before the tool runs",
			Detail: "A server that ends or hangs on such arguments fails. An internal error is a warning. A server that " +
				"runs the tool all the same is judged by tools.input-validation-is-error.",
		},
		In: every, Check: inputsValidated, Apart: true, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.ParamIs("/arguments/name", "null")).HangUp(),
		}},
	},
}

// noTool is a tool that nobody has.
const noTool = "mcprove_no_such_tool"

// unknownCall calls it, once for all checks.
func unknownCall(c *probe.Case) *probe.Exchange {
	r := c.Request(spec.MethodToolsCall, "").Param("name", string(jsonx.Quote(noTool))).Param("arguments", "{}")
	return c.Once(r.Planting("a tool that does not exist"))
}

// callable are the tools that may be called; without any the case is skipped.
func callable(c *probe.Case) []probe.Tool {
	if _, ok := c.Listed(spec.MethodToolsList); !ok {
		return nil
	}
	tools := c.Probe().Callable()
	if len(tools) == 0 {
		c.Skip("%s", probe.NoTool)
	}
	return tools
}

// goodCall is the shared call of a tool, when it gave a result without isError.
func goodCall(c *probe.Case, t probe.Tool) (x *probe.Exchange, ok bool) {
	x = c.Once(c.Probe().CallRequest(t.Item, t.Arguments))
	return x, x.Complete() && !isError(x)
}

// working is the first callable tool of those wanted whose plain call is a
// success; without one the case is skipped.
func working(c *probe.Case, want func(probe.Tool) bool, lack string) (t probe.Tool, x *probe.Exchange, ok bool) {
	tools := callable(c)
	if len(tools) == 0 {
		return t, nil, false
	}
	const most = 4 // calls
	tried := 0
	for _, t := range tools {
		if tried == most || !want(t) {
			continue
		}
		tried++
		if x, ok := goodCall(c, t); ok {
			return t, x, true
		}
	}
	if tried == 0 {
		c.Skip("%s", lack)
	} else {
		c.Skip("no tool that may be called gives a plain result: name one with --tool 'NAME={...}'")
	}
	return t, nil, false
}

func anyTool(probe.Tool) bool { return true }

// accepts reports whether a tool's inputSchema takes arguments, by what can be
// said of it.
func accepts(i probe.Item, arguments string) schemaset.Truth {
	s, _ := schemaset.Parse(i.Get("inputSchema"), schemaset.ParseOptions{})
	return schemaset.Eval([]byte(arguments), s)
}

func argumentsOptional(c *probe.Case) {
	t, _, ok := working(c, func(t probe.Tool) bool {
		return accepts(t.Item, "{}") == schemaset.Yes && len(probe.Members(t.Arguments)) == 0
	},
		"no tool that may be called goes without arguments")
	if !ok {
		return
	}
	control := c.Once(c.Probe().CallRequest(t.Item, json.RawMessage("{}")))
	if !control.Complete() || isError(control) {
		c.Skip("the tool %s does not work with empty arguments", brief(t.Name))
		return
	}
	x := c.Once(c.Probe().CallRequest(t.Item, nil))
	switch {
	case busy(x):
		c.Skip("the call was answered by %s", x.Brief())
	case x.Complete() && isError(x):
		c.Warn(x, "the tool %s takes empty arguments, and a call without the member is a result with isError", brief(t.Name)).And(control).Of("tool", t.Name)
	case x.OK():
		c.Pass(x)
	default:
		c.Fail(x, "the tool %s takes empty arguments, and a call without the member is answered by %s", brief(t.Name), x.Brief()).And(control).Of("tool", t.Name)
	}
}

func unknownTool(c *probe.Case) {
	if _, ok := c.Listed(spec.MethodToolsList); !ok {
		return
	}
	x := unknownCall(c)
	switch {
	case x.Is(spec.CodeInvalidParams):
		// A server that refuses every call this way has shown nothing.
		if tools := c.Probe().Callable(); len(tools) > 0 {
			if known, ok := goodCall(c, tools[0]); !ok && known.Is(spec.CodeInvalidParams) {
				c.Skip("a call of the tool %s, which exists, is refused in the same way", brief(tools[0].Name))
				return
			}
		}
		c.Pass(x)
	case busy(x):
		c.Skip("the call was answered by %s", x.Brief())
	case x.OK() && isError(x):
		c.Fail(x, "a call of a tool that does not exist is a result with isError, not error %d", spec.CodeInvalidParams)
	default:
		c.Fail(x, "a call of a tool that does not exist is answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams)
	}
}

// malformedCalls are calls that break the form of a call, each in one way.
var malformedCalls = []struct{ member, value, what string }{
	{"arguments", `["mcprove"]`, "arguments that are an array"},
	{"arguments", `"mcprove"`, "arguments that are a string"},
}

func malformedCall(c *probe.Case) {
	t, control, ok := working(c, anyTool, "")
	if !ok {
		return
	}
	for _, m := range malformedCalls {
		// Headers mirror arguments, and there are none to mirror.
		r := c.Probe().CallRequest(t.Item, nil).Param(m.member, m.value)
		x := c.Send(r.Planting(m.what))
		code, coded := x.Code()
		switch {
		case coded && (code == spec.CodeInvalidParams || code == spec.CodeInvalidRequest || code == spec.CodeHeaderMismatch):
			c.Pass(x)
		case busy(x):
			c.Skip("the call was answered by %s", x.Brief())
		case x.OK() && isError(x):
			c.Fail(x, "a call with %s is a result with isError, not error %d", m.what, spec.CodeInvalidParams).And(control).Of("tool", t.Name)
		case wrongAlike(c, x):
		default:
			c.Fail(x, "a call with %s is answered by %s, not by error %d", m.what, x.Brief(), spec.CodeInvalidParams).And(control).Of("tool", t.Name)
		}
		if x.Silent() || x.Died() {
			return
		}
	}
}

func nameCase(c *probe.Case) {
	names := map[string]int{}
	for _, i := range c.Facts().Tools() {
		names[strings.ToLower(i.Name)]++
	}
	t, control, ok := working(c, func(t probe.Tool) bool { return swapCase(t.Name) != t.Name && names[strings.ToLower(t.Name)] == 1 },
		"no tool that may be called has a name that differs by case alone from no other")
	if !ok {
		return
	}
	if x := unknownCall(c); x.OK() && !isError(x) {
		c.SkipFor("tools.unknown-tool-32602", "a call of any name gives a result")
		return
	}
	other := t.Item
	other.Name = swapCase(t.Name)
	x := c.Send(c.Probe().CallRequest(other, t.Arguments).Planting("a tool's name in another case"))
	switch {
	case busy(x):
		c.Skip("the call was answered by %s", x.Brief())
	case x.Refused(), x.OK() && isError(x):
		c.Pass(x)
	case x.OK():
		c.Fail(x, "a call of %s, which is not listed, runs the tool %s", brief(other.Name), brief(t.Name)).And(control).Of("tool", t.Name)
	default:
		c.Skip("the call was answered by %s", x.Brief())
	}
}

// swapCase turns the case of the first letters round; ASCII alone.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return unicode.ToUpper(r)
		case r >= 'A' && r <= 'Z':
			return unicode.ToLower(r)
		}
		return r
	}, s)
}

// oneTool is a Base with one plain tool.
func oneTool(s *mock.Script) { s.Tools = s.Tools[:1] }

// callAnswered warns where no call came back. One tool may take its time; when
// all do, something in front of them hangs.
func callAnswered(c *probe.Case) {
	if len(callable(c)) == 0 {
		return
	}
	var silent []*probe.Exchange
	for _, x := range c.Calls() {
		switch {
		case x.Response != nil:
			c.Pass(x)
			return
		case x.Silent():
			silent = append(silent, x)
		}
	}
	if len(silent) > 0 {
		c.Fail(silent[0], "%s", unansweredCalls(len(silent))).And(silent[1:min(len(silent), 3)]...).Of("tool", called(silent[0]))
		return
	}
	c.Skip("no call of a tool could be made")
}

func unansweredCalls(n int) string {
	if n == 1 {
		return "a call of the only tool that may be called was not answered in time; a tool that needs longer can be given it with --timeout"
	}
	return fmt.Sprintf("none of %d tools that were called answered in time", n)
}
