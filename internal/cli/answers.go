// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// input is one thing that a server asks the client: an entry of inputRequests
// in the modern era, a request of the server in the legacy one.
type input struct {
	key    string // in inputRequests; empty in the legacy era
	method string
	params jsonx.Raw
}

// inputs answers what servers ask by the values of --answer. One rule holds for
// both eras; a name means, in this order: the key of the request, its method or
// the short word for it, or a member of the form.
type inputs struct {
	given   []argument
	stop    bool      // --step
	resumed jsonx.Raw // the input_required result of --state

	mu     sync.Mutex
	used   map[string]bool
	method string // of the request under way
	cancel context.CancelCauseFunc
}

// shortMethods are the words for what servers ask.
var shortMethods = map[string]string{"elicit": spec.MethodElicit, "sample": spec.MethodCreateMessage, "roots": spec.MethodRootsList}

func readAnswers(f *askFlags) (*inputs, error) {
	in := &inputs{stop: f.step, used: map[string]bool{}}
	for _, w := range f.answers {
		arg, ok, err := parseArgument(w)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, usage("--answer", "write it as NAME=VALUE, NAME:=JSON or NAME=decline", "%q is no answer", w)
		case slices.ContainsFunc(in.given, func(old argument) bool { return old.name == arg.name }):
			return nil, usage("--answer", "one answer holds for each time that it is asked for", "%s is answered twice", arg.name)
		}
		in.given = append(in.given, arg)
	}
	if f.state == "" {
		return in, nil
	}
	if !strings.HasPrefix(f.state, "@") {
		return nil, usage("--state", "write it as --state @FILE", "%q names no file", f.state)
	}
	data, err := maybeFile(f.state)
	if err != nil {
		return nil, err
	}
	for _, at := range []string{"/result", ""} {
		r := look(data, at)
		if look(r, "/"+spec.FieldInputRequests) != nil || look(r, "/"+spec.FieldRequestState) != nil {
			if strings.Contains(string(look(r, "/"+spec.FieldRequestState)), text.Redacted) {
				return nil, usage(f.state, "--step --save FILE writes it as it is", "a secret was taken out of its requestState")
			}
			in.resumed = r
			return in, nil
		}
	}
	return nil, usage(strings.TrimPrefix(f.state, "@"), "it is made by --step --save FILE", "there are neither inputRequests nor requestState in it")
}

// declare tells the server what it may ask for, and answers its requests of
// the legacy era. Roots are declared only where there is an answer, or every
// question is to be seen: servers ask for them at once.
func (in *inputs) declare(o *session.Options) {
	capabilities := []any{"elicitation", jsonx.Raw(`{"form":{},"url":{}}`), "sampling", jsonx.Raw(`{}`)}
	if in.stop || slices.ContainsFunc(in.given, func(g argument) bool { return g.name == "roots" || g.name == spec.MethodRootsList }) {
		capabilities = append(capabilities, "roots", jsonx.Raw(`{}`))
		o.Handlers.Roots = in.handler(spec.MethodRootsList)
	}
	o.Capabilities = object(capabilities...)
	o.Handlers.Elicit = in.handler(spec.MethodElicit)
	o.Handlers.Sample = in.handler(spec.MethodCreateMessage)
}

// handler answers a request of the server. Without an answer the request that
// it belongs to is given up, with the reason.
func (in *inputs) handler(method string) session.Handler {
	return func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		q := input{method: method, params: jsonx.Raw(params)}
		answer, problem := in.answer(q)
		in.mu.Lock()
		defer in.mu.Unlock()
		switch {
		case in.stop && in.cancel != nil:
			in.cancel(&steppedError{of: in.method, asked: []input{q}})
		case problem == "":
			return json.RawMessage(answer), nil
		case in.cancel != nil:
			in.cancel(unanswered(in.method, []input{q}, []string{problem}))
		}
		if method == spec.MethodElicit {
			return json.RawMessage(`{"action":"cancel"}`), nil
		}
		return nil, &session.RPCError{Code: spec.CodeUserRejected, Message: "there is no answer"}
	}
}

// during names the request under way and what gives it up.
func (in *inputs) during(method string, cancel context.CancelCauseFunc) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.method, in.cancel = method, cancel
}

// next answers an input_required result and returns the params to come again
// with: those of the first request, the answers, and the state as it came
// (2026-07-28/basic/patterns/mrtr).
func (in *inputs) next(ctx context.Context, first json.RawMessage, round int, result jsonx.Raw) (json.RawMessage, error) {
	asked, err := inputRequests(in.method, result)
	if err != nil {
		return nil, err
	}
	state := look(result, "/"+spec.FieldRequestState)
	if in.stop && len(asked) > 0 && round > 0 {
		return nil, &steppedError{of: in.method, round: round, asked: asked, result: result}
	}
	out := jsonx.Raw(first)
	responses := jsonx.Raw("{}")
	var open []input
	var problems []string
	for _, q := range asked {
		answer, problem := in.answer(q)
		if problem != "" {
			open, problems = append(open, q), append(problems, problem)
			continue
		}
		responses = put(responses, []string{q.key}, answer)
	}
	if len(open) > 0 {
		return nil, unanswered(in.method, open, problems)
	}
	if len(asked) > 0 {
		out = put(out, []string{spec.FieldInputResponses}, responses)
	} else {
		// Nothing is asked for but to come again: the server sheds load.
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if state != nil {
		out = put(out, []string{spec.FieldRequestState}, state)
	}
	return json.RawMessage(out), nil
}

// inputRequests reads what an input_required result asks for, in its order.
func inputRequests(method string, result jsonx.Raw) ([]input, error) {
	fault := func(detail string) error { return &session.ResultError{Method: method, Detail: detail} }
	requests := look(result, "/"+spec.FieldInputRequests)
	if requests == nil {
		if look(result, "/"+spec.FieldRequestState) == nil {
			return nil, fault("input_required without inputRequests and requestState")
		}
		return nil, nil
	}
	ms, err := jsonx.Members(requests, jsonx.Strict)
	if err != nil {
		return nil, fault("inputRequests: " + err.Error())
	}
	var out []input
	for _, m := range ms {
		q := input{key: m.Name, method: member(m.Value, "method"), params: look(m.Value, "/params")}
		if q.method == "" {
			return nil, fault(fmt.Sprintf("inputRequests.%.80q has no method", m.Name))
		}
		out = append(out, q)
	}
	return out, nil
}

const noAnswer = "no --answer is for it"

// answer finds the answer to one request. A problem says why there is none.
func (in *inputs) answer(q input) (answer jsonx.Raw, problem string) {
	schema := look(q.params, "/requestedSchema")
	for _, name := range []string{q.key, q.method} {
		for _, g := range in.given {
			if name == "" || g.name != name && shortMethods[g.name] != name {
				continue
			}
			answer, problem = whole(q, g)
			if problem != "" && look(schema, "/properties"+jsonx.Push("", g.name)) != nil {
				continue // the member of that name is meant
			}
			in.use(g.name)
			return answer, problem
		}
	}
	if q.method != spec.MethodElicit || schema == nil {
		return nil, noAnswer
	}
	c := newCoercer(schema, "answer", false)
	f := c.view.fields(schema)
	var set givenArguments
	for _, g := range in.given {
		if f.of[g.name] != nil {
			in.use(g.name)
			set.set = append(set.set, g)
		}
	}
	if len(set.set) == 0 && len(f.names) > 0 {
		return nil, noAnswer
	}
	content, wrong := c.arguments(set)
	if len(wrong) == 0 {
		wrong, _ = c.judge(content)
	}
	if len(wrong) > 0 {
		return nil, strings.Join(wrong, "; ")
	}
	return jsonx.Raw(object("action", jsonx.Quote("accept"), "content", content)), ""
}

func (in *inputs) use(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.used[name] = true
}

// unused are notes on answers that nobody asked for.
func (in *inputs) unused() (notes []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, g := range in.given {
		if !in.used[g.name] {
			notes = append(notes, "--answer "+g.name+" was not asked for")
		}
	}
	return notes
}

// whole is an answer that stands for a whole request: the result itself, or a
// short form of it.
func whole(q input, g argument) (answer jsonx.Raw, problem string) {
	value := jsonx.Raw(strings.TrimSpace(g.value))
	isJSON := jsonx.Check(value, jsonx.Strict) == nil
	kind := jsonx.KindOf(value)
	switch {
	case q.method == spec.MethodElicit && !g.raw && slices.Contains([]string{"accept", "decline", "cancel"}, g.value):
		return jsonx.Raw(object("action", jsonx.Quote(g.value))), ""
	case !g.raw && (g.value == "decline" || g.value == "cancel"):
		return nil, "only an elicitation can be declined or cancelled"
	case isJSON && kind == jsonx.Object:
		if q.method == spec.MethodElicit && member(value, "action") == "" {
			return jsonx.Raw(object("action", jsonx.Quote("accept"), "content", value)), ""
		}
		return value, ""
	case q.method == spec.MethodCreateMessage:
		said := g.value
		if t, ok := jsonx.Text(value); isJSON && ok {
			said = t
		}
		return jsonx.Raw(object("role", jsonx.Quote("assistant"), "content", jsonx.Raw(object("type", jsonx.Quote("text"), "text", jsonx.Quote(said))),
			"model", jsonx.Quote("mcprove"), "stopReason", jsonx.Quote("endTurn"))), ""
	case q.method == spec.MethodRootsList:
		return rootsOf(value, g.value, isJSON), ""
	}
	return nil, fmt.Sprintf("%s takes an object, accept, decline or cancel; given %s", g.name, said(g.value))
}

// rootsOf is a roots result of a list of roots or of one URI.
func rootsOf(value jsonx.Raw, plain string, isJSON bool) jsonx.Raw {
	list := []jsonx.Raw{jsonx.Raw(jsonx.Quote(plain))}
	if es, err := jsonx.Elements(value, jsonx.Strict); isJSON && err == nil {
		list = es
	}
	out := []byte{'['}
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if t, ok := jsonx.Text(e); ok {
			e = jsonx.Raw(object("uri", jsonx.Quote(t)))
		}
		out = append(out, e...)
	}
	return jsonx.Raw(object("roots", jsonx.Raw(append(out, ']'))))
}

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
	return out
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
