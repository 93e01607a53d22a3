// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/spec"
)

// wording says what is asked in one line.
func (q *input) wording() string {
	out := q.method
	if q.key != "" {
		out += " (" + q.key + ")"
	}
	if m := member(q.params, "message"); m != "" {
		out += fmt.Sprintf(" %q", text.Clip(m, 200))
	}
	if u := member(q.params, "url"); u != "" {
		out += " at " + u
	}
	return text.Line(out)
}

// example is how a request could be answered.
func (q *input) example() string {
	name := q.key
	if name == "" {
		name = q.method
		for short, m := range shortMethods {
			if m == q.method {
				name = short
			}
		}
	}
	switch schema := look(q.params, "/requestedSchema"); {
	case q.method == spec.MethodElicit && schema != nil:
		v := viewOf(schema)
		f := v.fields(schema)
		var words []string
		for _, n := range f.names {
			if len(f.required) == 0 || slices.Contains(f.required, n) {
				words = append(words, "--answer "+text.ShellWord(n+"=VALUE"))
			}
		}
		if len(words) > 0 && len(words) <= 6 {
			return strings.Join(words, " ") + ", or --answer " + text.ShellWord(name+"=decline")
		}
		return "--answer " + text.ShellWord(name+"={...}") + ", or --answer " + text.ShellWord(name+"=decline")
	case q.method == spec.MethodElicit:
		return "--answer " + text.ShellWord(name+"=accept") + " or " + text.ShellWord(name+"=decline")
	case q.method == spec.MethodRootsList:
		return "--answer " + text.ShellWord(name+"=file:///path")
	case q.method == spec.MethodCreateMessage:
		return "--answer " + text.ShellWord(name+"=the text that the model says")
	}
	return "--answer " + text.ShellWord(name+":={...}")
}

// unanswered is the error of a request that asks what no --answer says.
func unanswered(method string, asked []input, problems []string) *Error {
	e := &Error{Exit: exitIncomplete, Code: "input-required", Where: method}
	var says, tries []string
	for i := range asked {
		says = append(says, asked[i].wording()+": "+problems[i])
		tries = append(tries, asked[i].example())
	}
	e.Message = "the server asks for " + strings.Join(says, "; and for ")
	e.Try = strings.Join(tries, " ")
	return e
}

// steppedError ends a request at its first question, as --step wants.
type steppedError struct {
	of     string
	round  int // 0 in the legacy era
	asked  []input
	result jsonx.Raw // input_required; nil in the legacy era
}

func (e *steppedError) Error() string { return e.of + ": stopped before the server was answered" }

// stepped prints what the server asks. It returns the error that the run ends
// with.
func (k *talk) stepped(e *steppedError) error {
	out := &Error{Exit: exitIncomplete, Code: "input-required", Where: e.of, Message: "stopped before the server was answered, as --step asks"}
	var tries []string
	for i := range e.asked {
		tries = append(tries, e.asked[i].example())
	}
	how := strings.Join(tries, " ")
	switch {
	case e.result == nil:
		out.Try = "the same command with " + how + " in place of --step; a request of the legacy era cannot be gone on with later"
	case k.f.save != "":
		out.Try = "the same command without --step, with " + text.ShellWord("--state=@"+k.f.save) + " " + how
	default:
		out.Try = "the same command with " + how + " in place of --step; --save FILE keeps the round, and --state @FILE goes on from it"
	}
	if k.f.save != "" && e.result != nil {
		if _, err := writeFile(k.f.save, e.result); err != nil {
			return notSaved(k.f.save, err)
		}
	}
	if k.f.format == "json" {
		result := e.result
		if result == nil {
			asked := jsonx.Raw("{}")
			for i, q := range e.asked {
				asked = put(asked, []string{fmt.Sprint(i + 1)}, jsonx.Raw(object("method", jsonx.Quote(q.method), "params", jsonx.Raw(firstOf(string(q.params), "{}")))))
			}
			result = jsonx.Raw(object("legacyRequests", asked))
		}
		k.a.judging = ""
		return firstErr(k.a.object(&report.Run{
			Verb: k.verb, Target: k.name, Outcome: report.Incomplete, Exit: exitIncomplete, Notes: k.notes(),
			Summary: []report.Tally{{Name: "round", Count: e.round}},
		}, report.Own{Key: "result", Value: result}), out)
	}
	k.tell(k.notes())
	p := &printer{w: k.a.stdout, clean: k.a.clean, full: true}
	for i := range e.asked {
		q := &e.asked[i]
		p.f("%s\n", p.clean(q.wording()))
		if schema := look(q.params, "/requestedSchema"); schema != nil {
			p.rows(schemaRows(schema))
		} else if q.params != nil {
			p.f("      %s\n", p.clean(text.Clip(string(q.params), 2_000)))
		}
	}
	if state := look(e.result, "/"+spec.FieldRequestState); state != nil {
		p.f("requestState %s\n", p.clean(text.Clip(string(state), 200)))
	}
	return firstErr(p.err, out)
}

// firstErr is the first error of two that is one.
func firstErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
