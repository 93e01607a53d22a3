// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// round is a multi round-trip request at one of its rounds
// (2026-07-28/basic/patterns/mrtr). All it knows of earlier ones came with the
// request itself.
type round struct {
	server *Server
	call   *Call
	state  state
	fresh  map[string]jsonx.Raw // inputResponses of this request
}

// pending is the error by which a call that waits for input ends.
type pending struct {
	asks  []Ask
	state string
}

func (p *pending) Error() string { return "input is required" }

// result is what the client gets.
func (p *pending) result() json.RawMessage {
	out := []member{{spec.FieldResultType, quote(spec.ResultInputRequired)}}
	if p.asks != nil {
		out = append(out, member{spec.FieldInputRequests, inputRequests(p.asks)})
	}
	return object(append(out, member{spec.FieldRequestState, quote(p.state)})...)
}

// inputRequests is what is asked, by key, without envelopes.
func inputRequests(asks []Ask) json.RawMessage {
	requests := make([]member, len(asks))
	for i, a := range asks {
		params := a.Params
		if params == nil && a.Method != spec.MethodRootsList {
			params = []byte("{}")
		}
		requests[i] = member{a.Key, object(member{"method", quote(a.Method)}, member{"params", params})}
	}
	return object(requests...)
}

// newRound reads what a retry carries.
func (s *Server) newRound(q *request, c *Call) (*round, *Error) {
	r := &round{server: s, call: c, fresh: map[string]jsonx.Raw{}}
	switch raw := q.param(spec.FieldInputResponses); jsonx.KindOf(raw) {
	case 0:
	case jsonx.Object:
		ms, _ := jsonx.Members(raw, jsonx.Lenient)
		for _, m := range ms {
			if jsonx.KindOf(m.Value) != jsonx.Object && !q.lenient(CheckInputsMalformed) {
				return nil, invalidParams("%s: every answer must be an object", spec.FieldInputResponses)
			}
			r.fresh[m.Name] = m.Value
		}
	default:
		if !q.lenient(CheckInputsMalformed) {
			return nil, invalidParams("%s must be an object", spec.FieldInputResponses)
		}
	}
	raw := q.param(spec.FieldRequestState)
	if raw == nil {
		return r, nil
	}
	text, ok := jsonx.Text(raw)
	if !ok && !q.lenient(CheckStateIntegrity) {
		return nil, invalidParams("%s must be a string", spec.FieldRequestState)
	}
	var e *Error
	if r.state, e = s.disclose(q, c, text); e != nil {
		return nil, e
	}
	c.number = r.state.Number
	return r, nil
}

// postpone implements asker.
func (r *round) postpone(rounds int) error {
	if r.state.Deferred >= rounds {
		return nil
	}
	r.state.Deferred++
	return r.pending(nil)
}

func (r *round) pending(asks []Ask) *pending {
	r.state.Number = r.call.number
	return &pending{asks: asks, state: r.server.enclose(r.call, r.state)}
}

// ask implements asker: what has been answered is taken, the rest asked for.
func (r *round) ask(_ context.Context, asks []Ask) (map[string]json.RawMessage, error) {
	got := map[string]json.RawMessage{}
	var missing []Ask
	var needed []member
	for _, a := range asks {
		v, there := r.state.Inputs[a.Key]
		if fresh, now := r.fresh[a.Key]; !there && now {
			if e := r.server.judge(r.call.q, &a, fresh); e != nil {
				return nil, e
			}
			v, there = json.RawMessage(fresh), true
			if r.state.Inputs == nil {
				r.state.Inputs = map[string]json.RawMessage{}
			}
			r.state.Inputs[a.Key] = v
		}
		if there {
			got[a.Key] = v
			continue
		}
		lacks := lacking(&a, r.call.q.meta(spec.MetaClientCapabilities), r.call.Revision)
		switch {
		case lacks == nil || r.call.q.lenient(CheckClientCapability):
			missing = append(missing, a)
		case !a.Optional:
			needed = merge(needed, members(lacks))
		}
	}
	if needed != nil {
		return nil, &Error{
			Code: spec.CodeMissingClientCapability, Message: "Missing client capability: the request needs answers that the client did not declare",
			Data: object(member{"requiredCapabilities", object(needed...)}),
		}
	}
	if missing != nil {
		return nil, r.pending(missing)
	}
	return got, nil
}

// merge joins two capability objects.
func merge(a, b []member) []member {
	for _, m := range b {
		if i := index(a, m.name); i >= 0 {
			a[i].value = object(merge(members(a[i].value), members(m.value))...)
			continue
		}
		a = append(a, m)
	}
	return a
}

// lacking returns the capabilities that a client would have to declare to be
// asked something, nil when it did. An empty elicitation means forms
// (2026-07-28/client/elicitation#capabilities).
func lacking(a *Ask, declared []byte, r spec.Revision) json.RawMessage {
	has := func(path ...string) bool {
		v := declared
		for _, name := range path {
			v = get(v, name)
		}
		return jsonx.KindOf(v) == jsonx.Object
	}
	lacks := func(name, part string) json.RawMessage {
		if part == "" {
			return object(member{name, []byte("{}")})
		}
		return object(member{name, object(member{part, []byte("{}")})})
	}
	switch a.Method {
	case spec.MethodElicit:
		mode := word(a.Params, "mode")
		if mode == "" {
			mode = "form"
		}
		modes := r >= spec.Rev20251125
		form := has("elicitation") && (!modes || len(members(get(declared, "elicitation"))) == 0 || has("elicitation", "form"))
		if mode == "form" && form || mode != "form" && modes && has("elicitation", mode) {
			return nil
		}
		return lacks("elicitation", mode)
	case spec.MethodCreateMessage:
		if get(a.Params, "tools") != nil || get(a.Params, "toolChoice") != nil {
			if !has("sampling", "tools") {
				return lacks("sampling", "tools")
			}
		}
		if !has("sampling") {
			return lacks("sampling", "")
		}
	case spec.MethodRootsList:
		if !has("roots") {
			return lacks("roots", "")
		}
	}
	return nil
}

// judge holds an answer of the client to what was asked.
func (s *Server) judge(q *request, a *Ask, v []byte) *Error {
	if q.lenient(CheckInputsMalformed) {
		return nil
	}
	bad := func(what string) *Error { return invalidParams("answer to %s: %s", a.Key, what) }
	switch a.Method {
	case spec.MethodElicit:
		switch word(v, "action") {
		case "decline", "cancel":
			return nil
		case "accept":
		default:
			return bad("action must be accept, decline or cancel")
		}
		schema := get(a.Params, "requestedSchema")
		if schema == nil || q.lenient(CheckInputsSchema) {
			return nil
		}
		content := get(v, "content")
		if content == nil {
			content = []byte("{}")
		}
		if what := s.breaks(schema, shapeOf(schema, maxDepth), content, "content"); what != "" {
			return bad(what)
		}
	case spec.MethodCreateMessage:
		if r := word(v, "role"); r != "user" && r != "assistant" {
			return bad("role must be user or assistant")
		}
		if k := jsonx.KindOf(get(v, "content")); k != jsonx.Object && k != jsonx.Array {
			return bad("content must be there")
		}
		if jsonx.KindOf(get(v, "model")) != jsonx.String {
			return bad("model must be a string")
		}
	case spec.MethodRootsList:
		es, err := jsonx.Elements(get(v, "roots"), jsonx.Lenient)
		if err != nil {
			return bad("roots must be an array")
		}
		for _, e := range es {
			if jsonx.KindOf(get(e, "uri")) != jsonx.String {
				return bad("every root must have a uri")
			}
		}
	}
	return nil
}

// breaks returns how a value breaks a schema, empty when it does not.
func (s *Server) breaks(schema []byte, plain *shape, v []byte, path string) string {
	if s.script.Validate == nil {
		return plain.check(v, path)
	}
	if err := s.script.Validate(json.RawMessage(schema), json.RawMessage(v)); err != nil {
		return err.Error()
	}
	return ""
}
