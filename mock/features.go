// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
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
	t := s.catalog.Load().tool(name, q.lenient(CheckToolCase))
	if t == nil && !q.lenient(CheckToolUnknown) {
		return nil, invalidParams("unknown tool %q", clip(name))
	}
	arguments, e := q.arguments()
	if e != nil {
		return nil, e
	}
	if t == nil {
		return textResult("Done.", false), nil
	}
	if t.play == nil {
		if e := q.checkRetry(s, name, arguments); e != nil {
			return nil, e
		}
	}
	if bad := s.breaks(t.schema, t.input, arguments, "arguments"); bad != "" && !q.lenient(CheckArgumentsInvalid) {
		return q.outcome(nil, badArguments(q.revision, bad))
	}
	c := s.newCall(q, name, arguments)
	if t.play == nil && (q.modern() || q.param("task") == nil || !s.declaresTasks()) {
		if q.modern() {
			q.sealed = true
			return t.modern, nil
		}
		return adapted(t.legacy, q.revision), nil
	}
	if c.asker, e = s.asker(q, c); e != nil {
		return nil, e
	}
	if result, e := s.callAsTask(ctx, q, t, c); result != nil || e != nil {
		return result, e
	}
	result, err := t.play(ctx, c)
	return q.outcome(result, err)
}

// badArguments is how a tool refuses its arguments.
func badArguments(r spec.Revision, bad string) error {
	if r < spec.Rev20251125 {
		return invalidParams("%s", bad)
	}
	return errors.New("Invalid arguments: " + bad + ".") // the text of a result
}

// arguments is params.arguments, nil when there are none.
func (q *request) arguments() (jsonx.Raw, *Error) {
	arguments := q.param("arguments")
	switch jsonx.KindOf(arguments) {
	case jsonx.Object:
	case 0:
		return []byte("{}"), nil
	default:
		if !q.lenient(CheckArgumentsMistyped) {
			return nil, invalidParams("arguments must be an object")
		}
		return []byte("{}"), nil
	}
	return arguments, nil
}

// checkRetry refuses what a retry must not carry where nothing was asked.
func (q *request) checkRetry(s *Server, name string, arguments jsonx.Raw) *Error {
	if !q.modern() || q.param(spec.FieldRequestState) == nil && q.param(spec.FieldInputResponses) == nil {
		return nil
	}
	_, e := s.newRound(q, s.newCall(q, name, arguments))
	return e
}

// asker is how a call asks in the era of its request.
func (s *Server) asker(q *request, c *Call) (asker, *Error) {
	if !q.modern() {
		return &conversation{server: s, call: c, q: q}, nil
	}
	r, e := s.newRound(q, c)
	if e != nil {
		return nil, e
	}
	return r, nil
}

// outcome turns what a Func returned into an answer of tools/call.
func (q *request) outcome(result json.RawMessage, err error) (json.RawMessage, *Error) {
	if err == nil {
		return adapted(line(result), q.revision), nil
	}
	if p, waits := errors.AsType[*pending](err); waits {
		q.interim = true
		return p.result(), nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return nil, own
	}
	return textResult(err.Error(), true), nil
}

// made is outcome for what has no result with isError.
func (q *request) made(part json.RawMessage, err error) (json.RawMessage, *Error) {
	if err != nil {
		if p, waits := errors.AsType[*pending](err); waits {
			q.interim = true
			return p.result(), nil
		}
		if own, ok := errors.AsType[*Error](err); ok {
			return nil, own
		}
		if errors.Is(err, errNoAnswer) {
			e := invalidParams("%v", err)
			e.unknown = true
			return nil, e
		}
		return nil, &Error{Code: spec.CodeInternalError, Message: "Internal error: " + err.Error()}
	}
	return line(part), nil
}

// readResource answers resources/read. A resource that is not there has an
// error of its own in the legacy era.
func (s *Server) readResource(ctx context.Context, q *request) (json.RawMessage, *Error) {
	uri, e := q.text("uri")
	if e != nil {
		return nil, e
	}
	contents, e := s.contents(ctx, q, uri)
	if e != nil || q.interim || jsonx.KindOf(contents) == jsonx.Object { // the whole result
		return contents, e
	}
	return object(member{"contents", contents}), nil
}

func (s *Server) contents(ctx context.Context, q *request, uri string) (json.RawMessage, *Error) {
	c := s.catalog.Load()
	for i := range c.resources {
		if r := &c.resources[i]; r.uri == uri {
			if r.play == nil {
				return r.contents, q.checkRetry(s, uri, nil)
			}
			return s.playPart(ctx, q, r.play, uri, nil)
		}
	}
	for i := range c.templates {
		t := &c.templates[i]
		values := t.values(uri, q.lenient(CheckResourceURI))
		switch {
		case values == nil:
			continue
		case t.play == nil:
			return fill(t.Contents, append([]string{"uri"}, t.names...), append([]string{uri}, values...)), q.checkRetry(s, uri, nil)
		}
		var matched []member
		for n, name := range t.names {
			matched = append(matched, member{name, quote(values[n])})
		}
		part, e := s.playPart(ctx, q, t.play, uri, object(matched...))
		if e == nil || !e.unknown {
			return part, e
		}
	}
	if q.lenient(CheckResourceUnknown) {
		return contentsOf(uri, "Contents of "+uri), nil
	}
	e := &Error{Code: spec.CodeResourceNotFound, Message: "Resource not found: " + clip(uri), Data: object(member{"uri", quote(uri)})}
	if q.modern() {
		e.Code = spec.CodeInvalidParams
	}
	return nil, e
}

// values are what the expressions of a template match in a URI, nil when it is
// none of the template's, or not one that may be served: malformed, or with a
// value that leads elsewhere (2026-07-28/server/resources#security-considerations).
func (t *template) values(uri string, any bool) []string {
	if t.match == nil {
		return nil
	}
	m := t.match.FindStringSubmatch(uri)
	if m == nil || any {
		return m[min(1, len(m)):]
	}
	if _, err := url.Parse(uri); err != nil || len(uri) > maxURI || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	for _, v := range m[1:] {
		for range 2 { // encoded twice is known too
			if v == "." || v == ".." || strings.ContainsAny(v, "/\\\x00") {
				return nil
			}
			plain, err := url.PathUnescape(v)
			if err != nil {
				return nil
			}
			v = plain
		}
	}
	return m[1:]
}

// maxURI bounds a URI that a template matches.
const maxURI = 2048

// playPart makes the contents of a resource or the messages of a prompt.
func (s *Server) playPart(ctx context.Context, q *request, f Func, name string, arguments []byte) (json.RawMessage, *Error) {
	c := s.newCall(q, name, arguments)
	var e *Error
	if c.asker, e = s.asker(q, c); e != nil {
		return nil, e
	}
	part, err := f(ctx, c)
	return q.made(part, err)
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

func (s *Server) getPrompt(ctx context.Context, q *request) (json.RawMessage, *Error) {
	name, e := q.text("name")
	if e != nil {
		return nil, e
	}
	p := s.catalog.Load().prompt(name)
	if p == nil {
		if !q.lenient(CheckPromptUnknown) {
			return nil, invalidParams("unknown prompt %q", clip(name))
		}
		p = &prompt{Prompt: Prompt{Messages: []byte("[]")}}
	}
	given, e := q.arguments()
	if e != nil {
		return nil, e
	}
	names, values := make([]string, len(p.arguments)), make([]string, len(p.arguments))
	for i, a := range p.arguments {
		v := get(given, a.name)
		text, ok := jsonx.Text(v)
		switch {
		case v == nil && a.required && !q.lenient(CheckPromptArgumentMissing):
			return nil, invalidParams("argument %s is required", a.name)
		case v != nil && !ok && !q.lenient(CheckPromptArgumentType):
			return nil, invalidParams("argument %s must be a string", a.name)
		}
		names[i], values[i] = a.name, text
	}
	messages := p.Messages
	if p.play == nil {
		messages, e = fill(messages, names, values), q.checkRetry(s, name, given)
		if e != nil {
			return nil, e
		}
	} else if messages, e = s.playPart(ctx, q, p.play, name, given); e != nil || q.interim {
		return messages, e
	}
	if jsonx.KindOf(messages) == jsonx.Object { // the whole result
		if q.revision < spec.Rev20250618 {
			messages = set(messages, "/messages", adaptedMessages(json.RawMessage(get(messages, "messages")), q.revision))
		}
		return messages, nil
	}
	if q.revision < spec.Rev20250618 {
		messages = adaptedMessages(messages, q.revision)
	}
	out := []member{{"messages", messages}}
	if d := get(p.Definition, "description"); d != nil {
		out = append(out, member{"description", d})
	}
	return object(out...), nil
}

// maxCompletions is how many values one answer may hold
// (2026-07-28/server/utilities/completion).
const maxCompletions = 100

func (s *Server) complete(_ context.Context, q *request) (json.RawMessage, *Error) {
	ref, arg, c := q.param("ref"), q.param("argument"), s.catalog.Load()
	var offered map[string][]string
	switch word(ref, "type") {
	case "ref/prompt":
		p := c.prompt(word(ref, "name"))
		if p == nil {
			if q.lenient(CheckCompletionRef) {
				break
			}
			return nil, invalidParams("unknown prompt %q", clip(word(ref, "name")))
		}
		offered = p.Complete
	case "ref/resource":
		found := false
		for i := range c.templates {
			if c.templates[i].uri == word(ref, "uri") {
				offered, found = c.templates[i].Complete, true
			}
		}
		if !found && !q.lenient(CheckCompletionRef) {
			return nil, invalidParams("unknown template %q", clip(word(ref, "uri")))
		}
	default:
		if q.lenient(CheckCompletionRef) {
			break
		}
		return nil, invalidParams("ref must be of type ref/prompt or ref/resource")
	}
	if (jsonx.KindOf(get(arg, "name")) != jsonx.String || jsonx.KindOf(get(arg, "value")) != jsonx.String) && !q.lenient(CheckCompletionArgument) {
		return nil, invalidParams("argument must have name and value, strings")
	}
	if e := q.checkContext(); e != nil {
		return nil, e
	}
	values, begun := []string{}, word(arg, "value") // long, if a client likes: read it once
	for _, v := range offered[word(arg, "name")] {
		if strings.HasPrefix(v, begun) {
			values = append(values, v)
		}
	}
	total := len(values)
	if !q.lenient(CheckCompletionMax) {
		values = values[:min(total, maxCompletions)]
	}
	return object(member{"completion", object(
		member{"values", texts(values)}, member{"total", number(int64(total))},
		member{"hasMore", boolean(total > len(values))},
	)}), nil
}

// checkContext holds the values chosen before to what they must be.
func (q *request) checkContext() *Error {
	given := q.param("context")
	if given == nil || q.lenient(CheckCompletionContext) {
		return nil
	}
	chosen := get(given, "arguments")
	if k := jsonx.KindOf(chosen); jsonx.KindOf(given) != jsonx.Object || k != 0 && k != jsonx.Object {
		return invalidParams("context must be an object with arguments, an object")
	}
	for _, m := range members(chosen) {
		if jsonx.KindOf(m.value) != jsonx.String {
			return invalidParams("context.arguments.%s must be a string", clip(m.name))
		}
	}
	return nil
}

func boolean(b bool) []byte {
	if b {
		return []byte("true")
	}
	return []byte("false")
}
