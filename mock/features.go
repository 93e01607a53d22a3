// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// callTool answers tools/call. Bad arguments are a result that the model can
// read from 2025-11-25 on, and a protocol error before.
func (s *Server) callTool(ctx context.Context, q *request) (json.RawMessage, *Error) {
	name, e := q.text("name")
	if e != nil {
		return nil, e
	}
	t := s.toolAt[name]
	if t == nil {
		return nil, invalidParams("unknown tool %q", clip(name))
	}
	arguments := q.param("arguments")
	switch jsonx.KindOf(arguments) {
	case jsonx.Object:
	case 0:
		arguments = []byte("{}")
	default:
		return nil, invalidParams("arguments must be an object")
	}
	if bad := t.input.check(arguments, "arguments"); bad != "" {
		if q.revision < spec.Rev20251125 {
			return nil, invalidParams("%s", bad)
		}
		return textResult("Invalid arguments: "+bad+".", true), nil
	}
	switch {
	case t.Func != nil:
	case q.modern():
		q.sealed = true
		return t.modern, nil
	default:
		return t.legacy, nil
	}
	result, err := t.Func(ctx, &Call{
		Revision: q.revision, Name: name, Arguments: json.RawMessage(arguments), Params: q.Params,
		notify: func(method string, params []byte) { q.send(notification(method, params)) },
	})
	if err != nil {
		if own, ok := errors.AsType[*Error](err); ok {
			return nil, own
		}
		return textResult(err.Error(), true), nil
	}
	return line(result), nil
}

// readResource answers resources/read. A resource that is not there has an
// error of its own in the legacy era.
func (s *Server) readResource(_ context.Context, q *request) (json.RawMessage, *Error) {
	uri, e := q.text("uri")
	if e != nil {
		return nil, e
	}
	contents, e := s.contents(q, uri)
	if e != nil {
		return nil, e
	}
	return object(member{"contents", contents}), nil
}

func (s *Server) contents(q *request, uri string) (json.RawMessage, *Error) {
	for i := range s.resources {
		if s.resources[i].uri == uri {
			return s.resources[i].contents, nil
		}
	}
	for i := range s.templates {
		t := &s.templates[i]
		if t.match == nil {
			continue
		}
		if values := t.match.FindStringSubmatch(uri); values != nil {
			return fill(t.Contents, append([]string{"uri"}, t.names...), append([]string{uri}, values[1:]...)), nil
		}
	}
	e := &Error{Code: spec.CodeResourceNotFound, Message: "Resource not found: " + clip(uri), Data: object(member{"uri", quote(uri)})}
	if q.modern() {
		e.Code = spec.CodeInvalidParams
	}
	return nil, e
}

// fill replaces {{name}} in the strings of a JSON text.
func fill(raw json.RawMessage, names, values []string) json.RawMessage {
	pairs := make([]string, 0, 2*len(names))
	for i, n := range names {
		q := quote(values[i])
		pairs = append(pairs, "{{"+n+"}}", string(q[1:len(q)-1]))
	}
	return json.RawMessage(strings.NewReplacer(pairs...).Replace(string(raw)))
}

func (s *Server) getPrompt(_ context.Context, q *request) (json.RawMessage, *Error) {
	name, e := q.text("name")
	if e != nil {
		return nil, e
	}
	p := s.prompt(name)
	if p == nil {
		return nil, invalidParams("unknown prompt %q", clip(name))
	}
	given := q.param("arguments")
	if k := jsonx.KindOf(given); k != 0 && k != jsonx.Object {
		return nil, invalidParams("arguments must be an object")
	}
	names, values := make([]string, len(p.arguments)), make([]string, len(p.arguments))
	for i, a := range p.arguments {
		v := get(given, a.name)
		text, ok := jsonx.Text(v)
		switch {
		case v == nil && a.required:
			return nil, invalidParams("argument %s is required", a.name)
		case v != nil && !ok:
			return nil, invalidParams("argument %s must be a string", a.name)
		}
		names[i], values[i] = a.name, text
	}
	out := []member{{"messages", fill(p.Messages, names, values)}}
	if d := get(p.Definition, "description"); d != nil {
		out = append(out, member{"description", d})
	}
	return object(out...), nil
}

func (s *Server) prompt(name string) *prompt {
	for i := range s.prompts {
		if s.prompts[i].name == name {
			return &s.prompts[i]
		}
	}
	return nil
}

// maxCompletions is how many values one answer may hold
// (2026-07-28/server/utilities/completion).
const maxCompletions = 100

func (s *Server) complete(_ context.Context, q *request) (json.RawMessage, *Error) {
	ref, arg := q.param("ref"), q.param("argument")
	var offered map[string][]string
	switch word(ref, "type") {
	case "ref/prompt":
		p := s.prompt(word(ref, "name"))
		if p == nil {
			return nil, invalidParams("unknown prompt %q", clip(word(ref, "name")))
		}
		offered = p.Complete
	case "ref/resource":
		found := false
		for i := range s.templates {
			if s.templates[i].uri == word(ref, "uri") {
				offered, found = s.templates[i].Complete, true
			}
		}
		if !found {
			return nil, invalidParams("unknown template %q", clip(word(ref, "uri")))
		}
	default:
		return nil, invalidParams("ref must be of type ref/prompt or ref/resource")
	}
	if jsonx.KindOf(get(arg, "name")) != jsonx.String || jsonx.KindOf(get(arg, "value")) != jsonx.String {
		return nil, invalidParams("argument must have name and value, strings")
	}
	values := []string{}
	for _, v := range offered[word(arg, "name")] {
		if strings.HasPrefix(v, word(arg, "value")) {
			values = append(values, v)
		}
	}
	total := len(values)
	values = values[:min(total, maxCompletions)]
	return object(member{"completion", object(
		member{"values", texts(values)}, member{"total", number(int64(total))},
		member{"hasMore", boolean(total > len(values))},
	)}), nil
}

func boolean(b bool) []byte {
	if b {
		return []byte("true")
	}
	return []byte("false")
}
