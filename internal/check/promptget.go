// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// promptGetRules are those of what prompts/get takes.
var promptGetRules = []Rule{
	{
		Info: rule.Info{
			ID: "prompts.unknown-32602", Level: rule.Should, Basis: rule.Keyword, Section: promptsPage + "#error-handling",
			Title: "a prompt that the server does not have is refused with -32602",
			Why:   "clients cannot tell a prompt that is gone from a server that is broken",
			Fix:   "answer an unknown name with code -32602",
		},
		In: every, Check: unknownPrompt,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).When(mock.ParamIs("/name", `"`+noPromptName+`"`)).Set("/error/code", "-32603")}},
	},
	{
		Info: rule.Info{
			ID: "prompts.missing-argument-32602", Level: rule.Should, Basis: rule.Keyword, Section: promptsPage + "#error-handling",
			Title: "a prompt without a required argument is refused with -32602",
			Why:   "clients cannot tell that they forgot something, and do not ask for it",
			Fix:   "answer with code -32602 and name the argument in the message",
		},
		In: every, Check: missingArgument,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodPromptsGet).When(mock.ParamIs("/arguments", "{}")).OfCode(spec.CodeInvalidParams).Set("/error/code", "-32603"),
		}},
	},
	{
		Info: rule.Info{
			ID: "prompts.arguments-validated", Level: rule.Should, Basis: rule.Keyword, Section: promptsPage + "#implementation-considerations",
			Title: "the arguments of a prompt are checked before they are used",
			Why:   "people get a prompt that speaks of undefined, or the server falls over",
			Fix:   "refuse a prompt without its required arguments, and answer whatever comes in their place",
		},
		In: every, Check: argumentsValidated,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).Lenient(mock.CheckPromptArgumentMissing)}},
	},
	{
		Info: rule.Info{
			ID: "prompts.injection-guard", Level: rule.Must, Basis: rule.Keyword, Section: promptsPage + "#security",
			Title: "arguments of a prompt are used as text, not run or opened",
			Why:   "whoever fills in a prompt runs code in the server, or reads files of its machine",
			Fix:   "put arguments into the text as they are: not through a template engine, a shell or a file name",
		},
		In: every, Check: promptInjection,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodPromptsGet).OfType(spec.ResultComplete).Replace("{{1234*4321}}", "5332114"),
		}},
	},
}

// noPromptName is a name that no prompt has.
const noPromptName = "mcprove_no_such_prompt"

// somePrompt is a prompt that can be got, the positive control; ok is false,
// and the case skipped, when there is none.
func somePrompt(c *probe.Case) (x *probe.Exchange, ok bool) {
	if _, ok := c.Listed(spec.MethodPromptsList); !ok {
		return nil, false
	}
	gets := c.Gets()
	for _, x := range gets {
		if x.OK() {
			return x, true
		}
	}
	if len(gets) > 0 {
		c.Lacks(gets[0])
		return nil, false
	}
	c.Skip("the server lists no prompts")
	return nil, false
}

func unknownPrompt(c *probe.Case) {
	control, ok := somePrompt(c)
	if !ok {
		return
	}
	x := c.Send(c.Request(spec.MethodPromptsGet, "").Param("name", `"`+noPromptName+`"`).Planting("a prompt that does not exist"))
	if x.Is(spec.CodeInvalidParams) {
		c.Pass(x)
		return
	}
	c.Fail(x, "a prompt that does not exist was answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams).And(control)
}

// argued is a prompt that can be got, and its arguments. With required it has
// one that must be there, which then is the last; ok is false when there is none.
type argued struct {
	name     string
	required []string
	all      []string
	control  *probe.Exchange
}

func arguedPrompt(c *probe.Case, required bool) (a argued, ok bool) {
	gets := c.Gets()
	for i, item := range c.Facts().Prompts() {
		if i >= len(gets) || !gets[i].Complete() {
			continue
		}
		a := argued{name: item.Name, control: gets[i]}
		for _, e := range probe.Elements(item.Get("arguments")) {
			name := probe.Text(probe.Lookup(e, "/name"))
			a.all = append(a.all, name)
			if jsonx.KindOf(probe.Lookup(e, "/required")) == jsonx.True {
				a.required = append(a.required, name)
			}
		}
		if len(a.required) > 0 || !required && len(a.all) > 0 {
			return a, true
		}
	}
	return a, false
}

// with is a get of the prompt with a JSON value for one argument, which is left
// out where it is empty, and short texts for the others that are required.
func (a argued) with(c *probe.Case, argument, value string) *probe.Request {
	var ms []string
	member := func(name, value string) { ms = append(ms, string(jsonx.Quote(name))+":"+value) }
	for _, name := range a.required {
		if name != argument {
			member(name, `"a"`)
		}
	}
	if value != "" {
		member(argument, value)
	}
	return c.Request(spec.MethodPromptsGet, "").Param("name", string(jsonx.Quote(a.name))).
		Param("arguments", "{"+strings.Join(ms, ",")+"}")
}

// incomplete gets a prompt without one of the arguments that it requires; ok is
// false, and the case skipped, when there is no such prompt.
func incomplete(c *probe.Case) (x *probe.Exchange, a argued, ok bool) {
	if _, ok := somePrompt(c); !ok {
		return nil, a, false
	}
	if a, ok = arguedPrompt(c, true); !ok {
		c.Skip("no prompt that can be got has a required argument")
		return nil, a, false
	}
	last := a.required[len(a.required)-1]
	return c.Once(a.with(c, last, "").Planting("a prompt without a required argument")), a, true
}

func missingArgument(c *probe.Case) {
	x, a, ok := incomplete(c)
	switch {
	case !ok:
	case x.OK():
		c.SkipFor("prompts.arguments-validated", "a prompt without a required argument is answered by %s", x.Brief())
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	default:
		c.Fail(x, "a prompt without a required argument was answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams).
			And(a.control).Of("prompt", a.name)
	}
}

// manyBytes is the size of an argument that is long, and not beyond reason.
const manyBytes = 64 << 10

func argumentsValidated(c *probe.Case) {
	if x, a, ok := incomplete(c); ok {
		if x.Complete() {
			c.Fail(x, "a prompt without the required argument %s was answered all the same", jsonQuote(a.required[len(a.required)-1])).
				And(a.control).Of("prompt", a.name)
			return
		}
		c.Pass(x)
	}
	a, ok := arguedPrompt(c, true)
	if !ok {
		return
	}
	argument := a.required[len(a.required)-1]
	l := ledger{c: c}
	for _, p := range []struct{ value, what string }{
		{"5", "a number for the argument"},
		{`{"a":["b"]}`, "an object for the argument"},
		{string(jsonx.Quote(strings.Repeat("a", manyBytes))), "64 kB for the argument"},
	} {
		x := insist(c, a.with(c, argument, p.value).Planting(p.what))
		if x.OK() || x.Refused() {
			c.Pass(x)
			continue
		}
		l.fail("", p.what, x, "%s of a prompt got neither a result nor a refusal: %s", p.what, x.Brief()).And(a.control).Of("prompt", a.name)
		if x.Silent() {
			break // each more would cost as long
		}
	}
	l.close()
}

// injections are texts that become something else where they are evaluated or
// opened, and what shows that they did.
var injections = []struct {
	text, what string
	shows      *regexp.Regexp
}{
	{"mcprove {{1234*4321}} ${1234*4321} #{1234*4321} <%= 1234*4321 %> $((1234*4321))", "a sum in the syntax of templates", regexp.MustCompile(`\b5332114\b`)},
	{"../../../../../../../../../../etc/passwd", "a path", passwd},
	{"file:///etc/passwd", "a file URI", passwd},
}

var passwd = regexp.MustCompile(`root:[^:\s]*:0:0:`)

func promptInjection(c *probe.Case) {
	if _, ok := somePrompt(c); !ok {
		return
	}
	a, ok := arguedPrompt(c, false)
	if !ok {
		c.Skip("no prompt that can be got takes an argument")
		return
	}
	argument := a.all[0]
	if len(a.required) > 0 {
		argument = a.required[0]
	}
	l := ledger{c: c}
	for _, p := range injections {
		x := c.Send(a.with(c, argument, string(jsonx.Quote(p.text))).Planting(p.what + " as an argument"))
		if found := p.shows.FindString(string(x.Result())); found != "" {
			l.fail(p.what, argument, x, "%s in the argument %s was evaluated: the result holds %s", p.what, jsonQuote(argument), jsonQuote(found)).
				And(a.control).Of("prompt", a.name)
		} else {
			c.Pass(x)
		}
	}
	l.close()
}
