// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// completionInputRules are those of what completion/complete takes.
var completionInputRules = []Rule{
	{
		Info: rule.Info{
			ID: "completion.unsupported-32601", Level: rule.Should, Basis: rule.Keyword, Section: completionPage + "#error-handling",
			Title: "a server without completions answers completion/complete with -32601",
			Why:   "a client that tries all the same takes any other error for a passing fault, and tries at each key that is pressed",
			Fix:   "treat completion/complete as a method you do not know",
		},
		In: since2503, Check: unsupportedCompletion,
		Break: Break{
			Base:   withoutCompletions,
			Faults: []mock.Fault{mock.On(spec.MethodComplete).OfCode(spec.CodeMethodNotFound).Set("/error/code", "-32603")},
		},
	},
	{
		Info: rule.Info{
			ID: "completion.unknown-prompt-32602", Level: rule.Should, Basis: rule.Keyword, Section: completionPage + "#error-handling",
			Title: "a completion for a prompt that the server does not have is refused with -32602",
			Why:   "clients cannot tell a prompt that is gone from one without suggestions",
			Fix:   "answer an unknown name in ref with code -32602",
		},
		In: since2503, Check: completionOfUnknown,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.ParamIs("/ref/name", `"`+noPromptName+`"`)).Set("/error/code", "-32603")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.ParamIs("/ref/name", `"`+noPromptName+`"`)).
			Result(`{"resultType":"complete","completion":{"values":[]},"_meta":{"` + spec.MetaServerInfo + `":{"name":"mock","version":"1.0.0"}}}`)}}},
	},
	{
		Info: rule.Info{
			ID: "completion.missing-argument-32602", Level: rule.Should, Basis: rule.Keyword, Section: completionPage + "#error-handling",
			Title: "a completion without its argument is refused with -32602",
			Why:   "clients cannot tell their own mistake from an argument without suggestions",
			Fix:   "answer a request without argument with code -32602",
		},
		In: since2503, Check: completionOfNothing,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.HasParam("/ref"), mock.NoParam("/argument")).Set("/error/code", "-32603")}},
	},
	{
		Info: rule.Info{
			ID: "completion.inputs-validated", Level: rule.Must, Basis: rule.Keyword, Section: completionPage + "#security",
			Title: "the inputs of a completion are checked",
			Why:   "what is typed reaches searches and databases with each key, whatever it is",
			Fix:   "refuse a ref or an argument of a wrong type with error -32602, and bound the length of the value",
		},
		In: every, Check: completionInputs,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.ParamIs("/argument/value", "5")).
			Result(`{"resultType":"complete","completion":{"values":[]},"_meta":{"` + spec.MetaServerInfo + `":{"name":"mock","version":"1.0.0"}}}`)}},
	},
}

func unsupportedCompletion(c *probe.Case) {
	switch {
	case c.Facts().Capabilities == nil:
		c.SkipFor(ruleGreeting(c.Probe().Revision()), "the server's capabilities are not known")
		return
	case c.Facts().Declares("completions"):
		c.Skip("the server declares completions")
		return
	}
	x := c.Once(c.Request(spec.MethodComplete, anyCompletion(c)))
	switch {
	case x.Is(spec.CodeMethodNotFound):
		c.Pass(x)
	case x.OK() && len(valuesOf(x)) > 0:
		c.SkipFor("completion.capability-declared", "the server completes, and does not declare it")
	default:
		c.Fail(x, "completion/complete is not declared, and was answered by %s, not by error %d", x.Brief(), spec.CodeMethodNotFound).
			And(c.Facts().Greeting)
	}
}

func completionOfUnknown(c *probe.Case) {
	control, _, ok := someCompletion(c)
	if !ok {
		return
	}
	x := c.Send(c.Request(spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"`+noPromptName+`"},"argument":{"name":"a","value":""}}`).
		Planting("a prompt that does not exist"))
	if x.Is(spec.CodeInvalidParams) {
		c.Pass(x)
		return
	}
	c.Fail(x, "a completion for a prompt that does not exist was answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams).And(control)
}

func completionOfNothing(c *probe.Case) {
	control, a, ok := someCompletion(c)
	if !ok {
		return
	}
	x := c.Send(c.Request(spec.MethodComplete, `{"ref":`+a.ref+`}`).Planting("a completion without its argument"))
	code, coded := x.Code()
	switch {
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
		return
	case coded && c.Once(without(c, spec.MethodComplete, "ref")).Is(code):
		c.SkipFor(ruleInvalidParams, "the server answers every request with wrong params by error %d", code)
		return
	}
	c.Fail(x, "a completion without its argument was answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams).And(control)
}

func completionInputs(c *probe.Case) {
	control, a, ok := someCompletion(c)
	if !ok {
		return
	}
	name := string(jsonx.Quote(a.argument))
	l := ledger{c: c}
	for _, p := range []struct {
		what, params string
		long         bool
	}{
		{"a number for the value", `{"ref":` + a.ref + `,"argument":{"name":` + name + `,"value":5}}`, false},
		{"a text for the argument", `{"ref":` + a.ref + `,"argument":"a"}`, false},
		{"a ref of an unknown type", `{"ref":{"type":"ref/mcprove"},"argument":{"name":` + name + `,"value":""}}`, false},
		{"a value of 64 kB", `{"ref":` + a.ref + `,"argument":{"name":` + name + `,"value":"` + strings.Repeat("a", manyBytes) + `"}}`, true},
	} {
		x := insist(c, c.Request(spec.MethodComplete, p.params).Planting(p.what))
		switch {
		case x.Refused(), x.OK() && p.long:
			c.Pass(x)
		case x.OK():
			l.fail("taken", p.what, x, "completion/complete took %s, and gave a result", p.what).And(control)
		default:
			l.fail("lost", p.what, x, "completion/complete with %s got neither a result nor a refusal: %s", p.what, x.Brief()).And(control)
		}
		if x.Silent() {
			break // each more would cost as long
		}
	}
	l.close()
}
