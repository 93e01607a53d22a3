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
	came    func()    // is called for each question of the legacy era

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
		in.came()
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
			// As strict as with single members; a whole result is not looked into.
			if wrong, _ := newCoercer(look(q.params, "/requestedSchema"), "answer", false).judge(value); len(wrong) > 0 {
				return nil, strings.Join(wrong, "; ") + ` (to send it all the same: {"action":"accept","content":{...}})`
			}
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
