// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const completionPage = "2026-07-28/server/utilities/completion"

// completionRules are those of what completion/complete gives.
var completionRules = []Rule{
	{
		Info: rule.Info{
			ID: "completion.capability-declared", Level: rule.Must, Basis: rule.Keyword, Section: completionPage + "#capabilities",
			Title: "a server that completes declares the completions capability",
			Why:   "clients that go by the capabilities never offer suggestions",
			Fix:   `add "completions": {} to the capabilities, or take the method away`,
		},
		In:    since2503,
		Watch: declares("completions", spec.MethodComplete),
		Stir: func(c *probe.Case) {
			if f := c.Facts(); f.Capabilities != nil && !f.Declares("completions") {
				c.Once(c.Request(spec.MethodComplete, anyCompletion(c)))
			}
		},
		Break: Break{
			Base:   withoutCompletions,
			Faults: []mock.Fault{mock.On(spec.MethodComplete).Lenient(mock.CheckCapabilityUndeclared)},
		},
	},
	{
		Info: rule.Info{
			ID: "completion.shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#completeresult",
			Title: "a completion has values, an array of strings, and total and hasMore of their types",
			Why:   "typed clients fail to read it, and people get no suggestions",
			Fix:   "put values, and total and hasMore where you know them, into an object under completion",
		},
		In: every, Watch: completionShape, Stir: func(c *probe.Case) { completions(c) },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).OfResult().Set("/result/completion/hasMore", `"no"`)}},
	},
	{
		Info: rule.Info{
			ID: "completion.max-100", Level: rule.Must, Basis: rule.Prose, Section: completionPage + "#completion-results",
			Title: "a completion holds 100 values at most",
			Why:   "clients that hold the server to the schema refuse the whole answer",
			Fix:   "cut the values at 100, and say hasMore and total",
		},
		In: every, Watch: completionMost, Stir: func(c *probe.Case) { completions(c) },
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodComplete).OfResult().Set("/result/completion", `{"values":[`+strings.TrimSuffix(strings.Repeat(`"a",`, 101), ",")+`]}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "completion.has-more-consistent", Level: rule.Should, Basis: rule.Derived, Section: completionPage + "#completion-results",
			Title: "total and hasMore agree with the values",
			Why:   "clients say that there is nothing more when there is, or offer more that never comes",
			Fix:   "count all matches in total, and set hasMore exactly when they are more than the values",
		},
		In: every, Watch: completionCounts, Stir: func(c *probe.Case) { completions(c) },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).OfResult().Set("/result/completion/total", "1000")}},
	},
	{
		Info: rule.Info{
			ID: "completion.sorted", Level: rule.Should, Basis: rule.Keyword, Section: completionPage + "#implementation-considerations", ReportOnly: true,
			Title: "suggestions come in the order of their relevance",
			Why:   "people pick the first suggestion, and the one they typed stands further down",
			Fix:   "put an exact match first",
		},
		In: every, Check: completionSorted,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.ParamIs("/argument/value", `"vessel-100"`)).
			Set("/result/completion", `{"values":["vessel-001","vessel-100"],"total":2,"hasMore":false}`)}},
	},
	{
		Info: rule.Info{
			ID: "completion.ref-resource", Level: rule.Must, Basis: rule.Prose, Section: completionPage + "#reference-types",
			Title: "a variable of a listed resource template can be completed",
			Why:   "clients offer to fill in the template, and show an error instead of suggestions",
			Fix:   "accept references of type ref/resource whose uri is the uriTemplate as it is listed",
		},
		In: every, Check: completionOfTemplate,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodComplete).When(mock.ParamIs("/ref/type", `"ref/resource"`)).Error(spec.CodeInvalidParams, "unknown reference"),
		}},
	},
	{
		Info: rule.Info{
			ID: "completion.context-accepted", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#completerequestparams",
			Title: "a completion may be asked for with the values chosen so far",
			Why:   "clients that send the context, as they should, get no suggestions at all",
			Fix:   "accept context.arguments, a map of strings, whether you use it or not",
		},
		In: since2506, Check: completionContext,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.HasParam("/context")).Error(spec.CodeInvalidParams, "unknown parameter context")}},
	},
}

// completable is an argument that completion/complete may be asked for.
type completable struct {
	ref      string   // JSON
	argument string   // its name
	others   []string // names of the other arguments
	kind     string   // prompt or template
	name     string   // of the prompt or template
}

// mostCompletions bounds how many arguments are completed.
const mostCompletions = 8

func completables(f *probe.Facts) []completable {
	var out []completable
	add := func(kind, name, ref string, arguments []string) {
		for i, a := range arguments {
			others := append(append([]string(nil), arguments[:i]...), arguments[i+1:]...)
			if a != "" && len(out) < mostCompletions {
				out = append(out, completable{ref, a, others, kind, name})
			}
		}
	}
	for _, item := range f.Templates() {
		t := readTemplate(item.Name)
		if len(t.variables) > 0 && len(out) < mostCompletions/2 {
			add("template", item.Name, `{"type":"ref/resource","uri":`+string(jsonx.Quote(item.Name))+`}`, t.variables)
		}
	}
	for _, item := range f.Prompts() {
		var arguments []string
		for _, e := range probe.Elements(item.Get("arguments")) {
			arguments = append(arguments, probe.Text(probe.Lookup(e, "/name")))
		}
		add("prompt", item.Name, `{"type":"ref/prompt","name":`+string(jsonx.Quote(item.Name))+`}`, arguments)
	}
	return out
}

// request completes the argument from what was typed so far.
func (a completable) request(c *probe.Case, typed string) *probe.Request {
	return c.Request(spec.MethodComplete, "").Param("ref", a.ref).
		Param("argument", `{"name":`+string(jsonx.Quote(a.argument))+`,"value":`+string(jsonx.Quote(typed))+`}`)
}

// anyCompletion is the params of a request for the first argument there is.
func anyCompletion(c *probe.Case) string {
	ref, argument := `{"type":"ref/prompt","name":"`+noPromptName+`"}`, "a"
	if all := completables(c.Facts()); len(all) > 0 {
		ref, argument = all[0].ref, all[0].argument
	}
	return `{"ref":` + ref + `,"argument":{"name":` + string(jsonx.Quote(argument)) + `,"value":""}}`
}

// completions are one completion of each of the first arguments, from nothing,
// made once for all.
func completions(c *probe.Case) []*probe.Exchange {
	if !c.Facts().Declares("completions") {
		return nil
	}
	var out []*probe.Exchange
	for _, a := range completables(c.Facts()) {
		out = append(out, c.Once(a.request(c, "")))
	}
	return out
}

// someCompletion is a completion that works, the one with the most values, and
// what it completes; ok is false, and the case skipped, when there is none.
func someCompletion(c *probe.Case) (x *probe.Exchange, a completable, ok bool) {
	if !c.Declared("completions") {
		return nil, a, false
	}
	all, xs := completables(c.Facts()), completions(c)
	for i := range xs {
		if xs[i].Complete() && (x == nil || len(valuesOf(xs[i])) > len(valuesOf(x))) {
			x, a = xs[i], all[i]
		}
	}
	switch {
	case x != nil:
		return x, a, true
	case len(xs) > 0:
		c.Lacks(xs[0])
	default:
		c.Skip("the server lists no prompt and no template with an argument to complete")
	}
	return nil, a, false
}

func valuesOf(x *probe.Exchange) []string {
	var out []string
	for _, e := range probe.Elements(x.At("/completion/values")) {
		out = append(out, probe.Text(e))
	}
	return out
}

func completionShape(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range completes(t, spec.MethodComplete) {
		bad := false
		for _, v := range violations(t.Revision, "CompleteResult", x.Result(), "/completion") {
			if v.Pointer == "/completion/values" && v.Kind == spec.WrongValue {
				continue // too many is the matter of another rule
			}
			bad = true
			l.fail(causeOf(v), subject(x)+v.Pointer, x, "a result of completion/complete breaks the schema: %s", v).In(x.Response, "/result"+v.Pointer)
		}
		if !bad {
			c.Pass(x)
		}
	}
	l.close()
	f := t.Facts
	if f.Capabilities == nil || !f.Declares("completions") {
		uncompleted(c, t)
		return
	}
	for _, x := range t.Exchanges {
		if x.Method == spec.MethodComplete && told(t, x) && x.Request != nil && x.Planted() == "" && !x.OK() {
			if c.Unjudged() {
				c.Warn(x, "completions are declared, and no argument of a prompt or template could be completed: %s", x.Brief()).And(f.Greeting)
			}
			return
		}
	}
	c.Unseen("no argument of a prompt or template was completed")
}

// uncompleted is why a rule about completions saw none.
func uncompleted(c *probe.Case, t *probe.Traffic) {
	switch f := t.Facts; {
	case f.Capabilities == nil:
		c.UnseenFor(ruleGreeting(t.Revision), "the server's capabilities are not known")
	case !f.Declares("completions"):
		c.Unseen("the server declares no completions")
	}
	c.Unseen("no argument of a prompt or template could be completed")
}

func completionMost(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range completes(t, spec.MethodComplete) {
		if n := len(valuesOf(x)); n > mostValues {
			l.fail("", subject(x), x, "a completion holds %d values", n).In(x.Response, "/result/completion/values")
			continue
		}
		c.Pass(x)
	}
	l.close()
	uncompleted(c, t)
}

// mostValues is how many values one completion may hold
// (2026-07-28/server/utilities/completion#completion-results).
const mostValues = 100

func completionCounts(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range completes(t, spec.MethodComplete) {
		n := len(valuesOf(x))
		if n > mostValues || jsonx.KindOf(x.At("/completion/values")) != jsonx.Array {
			continue
		}
		total, err := strconv.Atoi(string(x.At("/completion/total")))
		counted := err == nil
		more := jsonx.KindOf(x.At("/completion/hasMore"))
		switch {
		case counted && total < n:
			l.fail("few", "", x, "a completion holds %d values of a total of %d", n, total).In(x.Response, "/result/completion/total")
		case counted && total > n && more == jsonx.False:
			l.fail("denied", "", x, "a completion holds %d values of a total of %d, and hasMore is false", n, total).In(x.Response, "/result/completion/hasMore")
		case counted && total == n && more == jsonx.True:
			l.fail("promised", "", x, "a completion holds all %d values, and hasMore is true", n).In(x.Response, "/result/completion/hasMore")
		default:
			c.Pass(x)
		}
	}
	l.close()
	uncompleted(c, t)
}

// completionSorted types one suggestion in full: it is the most relevant one
// then. Nothing else about relevance can be known from outside.
func completionSorted(c *probe.Case) {
	control, a, ok := someCompletion(c)
	if !ok {
		return
	}
	values := valuesOf(control)
	if len(values) < 2 {
		c.Skip("no completion has two values")
		return
	}
	exact := values[len(values)-1]
	x := c.Send(a.request(c, exact))
	for i, v := range valuesOf(x) {
		if v != exact {
			continue
		}
		if i > 0 {
			c.Note(x, "the suggestion %s stands behind %s, though it is what was typed", jsonQuote(exact), jsonQuote(valuesOf(x)[0])).And(control).Of(a.kind, a.name)
			return
		}
		c.Pass(x)
		return
	}
	c.Skip("what was suggested is not suggested to who types it")
}

func completionOfTemplate(c *probe.Case) {
	if !c.Declared("completions") || !c.Declared("resources") {
		return
	}
	all, xs := completables(c.Facts()), completions(c)
	l := ledger{c: c}
	for i, x := range xs {
		if all[i].kind != "template" {
			continue
		}
		if x.OK() {
			c.Pass(x)
			continue
		}
		l.fail("", all[i].name, x, "completing %s of the template %s gave %s", jsonQuote(all[i].argument), jsonQuote(all[i].name), x.Brief()).
			Of("template", all[i].name)
	}
	l.close()
	c.Unseen("the server lists no template with a variable")
}

// completionContext sends what was chosen for another argument, out of its own
// suggestions, where there is one.
func completionContext(c *probe.Case) {
	control, a, ok := someCompletion(c)
	if !ok {
		return
	}
	chosen := "{}"
	for i, o := range completables(c.Facts()) {
		if o.name != a.name || o.argument == a.argument || o.kind != a.kind {
			continue
		}
		if xs := completions(c); xs[i].Complete() && len(valuesOf(xs[i])) > 0 {
			chosen = `{` + string(jsonx.Quote(o.argument)) + `:` + string(jsonx.Quote(valuesOf(xs[i])[0])) + `}`
			break
		}
	}
	x := c.Send(a.request(c, "").Param("context", `{"arguments":`+chosen+`}`))
	if x.OK() {
		c.Pass(x)
		return
	}
	c.Fail(x, "the same completion with the values chosen so far gave %s", x.Brief()).And(control).Of(a.kind, a.name)
}
