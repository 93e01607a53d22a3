// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
	"go.yaml.in/yaml/v4"
)

// fault reads an entry of faults: an id, or an operator at a place.
func (r *reader) fault(s *Script, n *yaml.Node) {
	v := r.real(n)
	if v.Kind != yaml.ScalarNode {
		s.Faults = append(s.Faults, r.operation(n))
		return
	}
	if r.options.Fault == nil {
		r.fail(n, "", "faults have no names here")
		return
	}
	change, err := r.options.Fault(v.Value)
	if err != nil {
		r.failed(n, "fault "+clip(v.Value), err)
		return
	}
	r.changes = append(r.changes, change)
}

// parameter is one key of an operator, and the field of a Fault that it fills.
type parameter struct {
	key  string
	read func(r *reader, f *Fault) func(*yaml.Node)
	// optional keys may be left out.
	optional bool
}

// Parameters that operators share.
var (
	pointerKey = parameter{key: "pointer", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.pointer(&f.Pointer) }}
	valueKey   = parameter{key: "value", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.jsonText(&f.Text) }}
	textKey    = parameter{key: "text", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.text(&f.Text) }}
	codeKey    = parameter{key: "code", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.integer(&f.Code) }}
	countKey   = parameter{key: "count", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.count(&f.Count, 1) }}
	delayKey   = parameter{key: "delay", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.duration(&f.Delay) }}
	headerKey  = parameter{key: "header", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.header(&f.Header) }}
	sendKey    = parameter{key: "send", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.text(&f.Text) }}
	paramsKey  = parameter{key: "params", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.jsonText(&f.With) }, optional: true}
)

// operators are the keys of each operator besides those of a place.
var operators = map[Op][]parameter{
	OpSet: {pointerKey, valueKey}, OpRemove: {pointerKey}, OpReverse: {pointerKey}, OpGrow: {pointerKey, countKey},
	OpReplace: {textKey, {key: "with", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.text(&f.With) }}},
	OpCopy:    {{key: "from", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.pointer(&f.Text) }}, pointerKey},
	OpPretty:  nil, OpText: {textKey}, OpResult: {valueKey}, OpDrop: nil, OpDelay: {delayKey}, OpRepeat: {countKey},
	OpError: {codeKey, {key: "message", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.text(&f.Text) }},
		{key: "data", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.jsonText(&f.With) }, optional: true}},
	OpBefore: {textKey}, OpAfter: {textKey}, OpJoin: {textKey},
	OpStderr:  {textKey, {key: "count", read: countKey.read, optional: true}},
	OpFetch:   {pointerKey},
	OpLenient: {{key: "check", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.check(&f.Text) }}},

	OpNotifyFirst: {sendKey, paramsKey}, OpNotify: {sendKey, paramsKey}, OpNotifyAfter: {sendKey, paramsKey},
	OpRequest:    {sendKey, paramsKey, {key: "id", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.jsonText(&f.Pointer) }}},
	OpUnanswered: nil, OpAtOnce: nil,

	OpHalf: nil, OpHangUp: nil, OpDie: nil, OpDribble: {countKey, delayKey}, OpStray: nil, OpCross: {{key: "between", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.oneOf(&f.Text, crossings...) }}},

	OpStatus: {codeKey}, OpHeader: {headerKey},
	OpBody: {codeKey, textKey, {key: "header", read: headerKey.read, optional: true}},
	OpJSON: nil, OpSSE: nil, OpEvent: {textKey}, OpLinger: {delayKey},

	OpBanner: {textKey}, OpFarewell: {textKey}, OpChatter: {textKey, delayKey}, OpIgnoreEOF: nil, OpIgnoreTerm: nil,
	OpLineEnd: {textKey},

	OpSession: {textKey}, OpAside: nil, OpPoll: nil,

	OpSerial: {{key: "while", read: func(r *reader, f *Fault) func(*yaml.Node) { return r.oneOf(&f.Text, serials...) }}},
	OpLimit:  {countKey}, OpBacktrack: {pointerKey, textKey, delayKey},

	OpRepeatCursor: nil, OpEndlessCursors: nil, OpEmptyCursor: nil,
}

// operation reads a mapping with do, the keys of its operator, and a place.
func (r *reader) operation(n *yaml.Node) Fault {
	f := Fault{}
	v := r.real(n)
	if v.Kind != yaml.MappingNode {
		r.fail(n, "", "a fault is an id, or a mapping with do")
		return f
	}
	var names []string
	for _, op := range slices.Sorted(maps.Keys(operators)) {
		names = append(names, string(op))
	}
	var op string
	for i := 0; i+1 < len(v.Content); i += 2 {
		if v.Content[i].Value == "do" {
			r.oneOf(&op, names...)(v.Content[i+1])
		}
	}
	if op == "" {
		r.fail(n, "operators: "+strings.Join(names, ", "), "a fault needs do, its operator")
		return f
	}
	f.Op = Op(op)
	known := keys{
		"do": func(*yaml.Node) {}, "method": r.text(&f.Method), "sent": r.flag(&f.Sent), "page": r.count(&f.Page, 1),
		"turn": r.count(&f.Turn, 1), "onward": r.flag(&f.Onward), "every": r.flag(&f.Every),
		"when": func(v *yaml.Node) {
			r.list(v, "when", func(e *yaml.Node) { f.Conditions = append(f.Conditions, r.condition(e)) })
		},
	}
	for _, p := range operators[f.Op] {
		if r.err == nil && !p.optional && !has(v, p.key) {
			r.fail(n, "", "the operator %s needs %s", op, p.key)
		}
		known[p.key] = p.read(r, &f)
	}
	r.mapping(n, "the fault "+op, known)
	return f
}

// condition reads one condition of a place: what it looks at, and what must
// hold. Without a relation the value must be equal, and be there without one.
func (r *reader) condition(n *yaml.Node) Condition {
	c := Condition{}
	var is string
	var value json.RawMessage
	subjects := 0
	subject := func(s Subject) func(*yaml.Node) {
		return func(v *yaml.Node) {
			subjects++
			c.Of = s
			r.text(&c.Name)(v)
		}
	}
	// Subjects that have no name: what stands behind them is the value.
	plain := func(s Subject) func(*yaml.Node) {
		return func(v *yaml.Node) {
			subjects++
			c.Of = s
			value = r.value(v)
		}
	}
	r.mapping(n, "a condition", keys{
		"header": subject(OfHeader), "meta": subject(OfMeta), "param": subject(OfParam), "answer": subject(OfAnswer),
		"earlier": subject(OfEarlier),
		"id":      plain(OfID), "transport": plain(OfTransport), "connection": plain(OfConnection), "revision": plain(OfRevision),
		"depth": plain(OfDepth),
		"is":    r.oneOf(&is, string(IsPresent), string(IsAbsent), string(IsEqual), string(IsOther), string(IsFrom)),
		"value": r.json(&value),
	})
	if r.err != nil {
		return c
	}
	c.Is = Relation(is)
	if is == "" {
		if c.Is = IsEqual; value == nil {
			c.Is = IsPresent
		}
	}
	c.Value = string(value)
	if text, ok := jsonx.Text(value); ok && !slices.Contains([]Subject{OfMeta, OfParam, OfAnswer, OfEarlier}, c.Of) {
		c.Value = text
	}
	switch needs := c.Is != IsPresent && c.Is != IsAbsent; {
	case subjects != 1:
		r.fail(n, "header, meta, param, answer, earlier, id, transport, connection, revision or depth", "a condition looks at exactly one thing")
	case needs && value == nil:
		r.fail(n, "", "the relation %s needs a value", c.Is)
	case c.Of == OfRevision:
		if _, err := spec.ParseRevision(c.Value); err != nil {
			r.fail(n, "", "unknown revision %q", clip(c.Value))
		}
	case c.Of == OfID:
		if !slices.Contains([]string{"string", "number", "none", "other"}, c.Value) {
			r.fail(n, "", "an id is string, number, none or other")
		}
	case c.Of == OfTransport:
		if c.Value != "http" && c.Value != "stdio" {
			r.fail(n, "", "a transport is http or stdio")
		}
	}
	return c
}

func (r *reader) pointer(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.text(into)(n)
		if _, err := jsonx.Tokens(*into); err != nil && r.err == nil {
			r.fail(n, "write it like /result/tools/0/name", "%q is not a JSON pointer", clip(*into))
		}
	}
}

func (r *reader) jsonText(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) { *into = string(r.value(n)) }
}

func (r *reader) integer(into *int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		n = r.real(n)
		if _, err := fmt.Sscanf(n.Value, "%d", into); err != nil || fmt.Sprint(*into) != n.Value {
			r.fail(n, "", "expected a whole number")
		}
	}
}

func (r *reader) check(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.text(into)(n)
		var names []string
		for _, c := range checks {
			names = append(names, c.Name)
		}
		if r.err == nil && !slices.Contains(names, *into) {
			try := "known: " + strings.Join(names, ", ")
			if near := rule.Nearest(*into, names); len(near) > 0 {
				try = fmt.Sprintf("did you mean %s?", near[0])
			}
			r.fail(n, try, "unknown check %q", clip(*into))
		}
	}
}

// header reads a mapping of names to values; an empty value removes it.
func (r *reader) header(into *[]wire.HeaderField) func(*yaml.Node) {
	return func(n *yaml.Node) {
		n = r.real(n)
		if n.Kind != yaml.MappingNode {
			r.fail(n, "", "header must be a mapping of names to values")
			return
		}
		for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
			var value string
			r.text(&value)(n.Content[i+1])
			name := n.Content[i].Value
			if textproto.CanonicalMIMEHeaderKey(name) == "" || strings.ContainsAny(name+value, "\r\n") {
				r.fail(n.Content[i], "", "%q is no header", clip(name))
			}
			*into = append(*into, wire.HeaderField{Name: name, Value: value})
		}
	}
}
