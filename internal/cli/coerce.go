// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// coercer makes JSON of the arguments of a command line, by the schema that
// they are for. Where the schema takes texts alone a value is the text as it
// stands, where it takes none the value is read as JSON, and where it takes
// both the one that the schema accepts, JSON before text.
type coercer struct {
	view   *schemaView
	schema jsonx.Raw // nil: nothing is known
	what   string    // "argument" or "answer"
	lax    bool      // what does not fit is made JSON if it is JSON, a text otherwise
}

func newCoercer(schema jsonx.Raw, what string, lax bool) *coercer {
	return &coercer{view: viewOf(schema), schema: schema, what: what, lax: lax}
}

// arguments are the given ones as an object, and everything that is wrong with
// them. Nothing but the values is judged here.
func (c *coercer) arguments(g givenArguments) (object jsonx.Raw, wrong []string) {
	object = g.base
	if object == nil {
		object = jsonx.Raw("{}")
	}
	for _, arg := range g.set {
		path, schemas, problem := c.find(arg.name)
		if problem != "" && !c.lax {
			wrong = append(wrong, problem)
			continue
		}
		value := jsonx.Raw(arg.value)
		if !arg.raw {
			if value, problem = c.value(arg.name, arg.value, schemas); problem != "" {
				wrong = append(wrong, problem)
				continue
			}
		}
		object = put(object, path, value)
	}
	return object, wrong
}

// find gives the place and the schemas of an argument. A name that the schema
// has is that member; in another one dots lead into objects.
func (c *coercer) find(name string) (path []string, schemas []jsonx.Raw, problem string) {
	if c.schema == nil {
		return []string{name}, nil, ""
	}
	at := []jsonx.Raw{c.schema}
	rest := name
	for {
		f := c.view.fields(at...)
		if s := f.of[rest]; s != nil {
			return append(path, rest), s, ""
		}
		head, tail, dotted := strings.Cut(rest, ".")
		if dotted && f.of[head] != nil && tail != "" {
			path, at, rest = append(path, head), f.of[head], tail
			continue
		}
		var other []jsonx.Raw
		if f.others != nil {
			other = []jsonx.Raw{f.others}
		}
		if f.open() {
			return append(path, rest), other, ""
		}
		problem = fmt.Sprintf("there is no %s %s", c.what, text.Line(name))
		if near := rule.Nearest(rest, f.names); len(near) > 0 {
			problem += fmt.Sprintf(" (did you mean %s?)", strings.Join(append(slices.Clone(path), text.Line(near[0])), "."))
		}
		return append(path, rest), nil, problem
	}
}

// value reads one value by the schemas that it may have to follow.
func (c *coercer) value(name, given string, schemas []jsonx.Raw) (value jsonx.Raw, problem string) {
	is := kinds(kAny)
	if len(schemas) > 0 {
		is = c.view.types(schemas)
	}
	asText := jsonx.Raw(jsonx.Quote(given))
	asJSON := jsonx.Raw(strings.TrimSpace(given))
	isJSON := jsonx.Check(asJSON, jsonx.Strict) == nil
	switch fits := isJSON && kindOf(asJSON)&is != 0; {
	case fits && kindOf(asJSON) == kString && is&^kString != 0:
		return asJSON, "" // quoted on purpose
	case fits && is&kString == 0:
		return asJSON, c.oneOf(name, given, asJSON, schemas)
	case fits && is&^kString != 0:
		if c.accepts(asText, schemas) && !c.accepts(asJSON, schemas) {
			return asText, ""
		}
		return asJSON, ""
	case is&kString != 0:
		return asText, c.oneOf(name, given, asText, schemas)
	case c.lax && isJSON:
		return asJSON, ""
	case c.lax:
		return asText, ""
	}
	return nil, fmt.Sprintf("%s %s must be %s; given %s", c.what, text.Line(name), c.wants(schemas), said(given))
}

// said quotes what was given, shortly.
func said(given string) string {
	if given == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", text.Clip(given, 60))
}

// wants words what a schema takes, with the way to write it where that is not
// plain.
func (c *coercer) wants(schemas []jsonx.Raw) string {
	var types []string
	for _, s := range schemas {
		if t := c.view.typeOf(s); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	out := text.Clip(text.Line(strings.Join(types, "|")), 120)
	switch is := c.view.types(schemas); {
	case is == 0:
		return out + ", which no value is"
	case is == kBoolean:
		out += " (true or false)"
	case is&^(kArray|kNull) == 0:
		out += " (write a list as JSON)"
	case is&^(kObject|kNull) == 0:
		out += " (write an object as JSON, or its members as name.member=value)"
	}
	return out
}

// oneOf tells that a value is none of those that the schema lists.
func (c *coercer) oneOf(name, given string, value jsonx.Raw, schemas []jsonx.Raw) string {
	if c.lax || len(schemas) != 1 {
		return ""
	}
	values := branches(c.view.behind(schemas[0]), "enum")
	if len(values) == 0 || slices.ContainsFunc(values, func(v jsonx.Raw) bool { return sameJSON(v, value) }) {
		return ""
	}
	var words []string
	for _, v := range values {
		if s, ok := jsonx.Text(v); ok {
			words = append(words, s)
		}
	}
	problem := fmt.Sprintf("%s %s must be one of %s; given %s", c.what, text.Line(name), c.wants(schemas), said(given))
	if near := rule.Nearest(given, words); len(near) > 0 {
		problem += fmt.Sprintf(" (did you mean %s?)", text.Line(near[0]))
	}
	return problem
}

func sameJSON(a, b jsonx.Raw) bool {
	ca, errA := jsonx.Canonical(a)
	cb, errB := jsonx.Canonical(b)
	return errA == nil && errB == nil && string(ca) == string(cb)
}

// accepts asks the validator about one member's value. A schema that cannot be
// judged by itself accepts nothing.
func (c *coercer) accepts(value jsonx.Raw, schemas []jsonx.Raw) bool {
	for _, s := range schemas {
		s = c.view.behind(s)
		for _, k := range []string{"$schema", "$defs", "definitions"} {
			if d := look(c.schema, "/"+k); d != nil && look(s, "/"+k) == nil && jsonx.KindOf(s) == jsonx.Object {
				s = put(s, []string{k}, d)
			}
		}
		if ok, _, err := contract.Accepts(s, value); err == nil && ok {
			return true
		}
	}
	return false
}

// judge asks the validator about the whole. unjudged says why it cannot be
// asked.
func (c *coercer) judge(object jsonx.Raw) (wrong []string, unjudged string) {
	if c.schema == nil {
		return nil, ""
	}
	f := c.view.fields(c.schema)
	ms, _ := jsonx.Members(object, jsonx.Strict)
	for _, r := range f.required {
		if !slices.ContainsFunc(ms, func(m jsonx.Member) bool { return m.Name == r }) {
			kind := "any value"
			if s := f.of[r]; len(s) > 0 {
				kind = c.wants(s)
			}
			wrong = append(wrong, fmt.Sprintf("%s %s (%s) is missing", c.what, text.Line(r), kind))
		}
	}
	if len(wrong) > 0 {
		return wrong, ""
	}
	ok, why, err := contract.Accepts(c.schema, object)
	switch {
	case err != nil:
		return nil, err.Error()
	case !ok:
		return []string{"the schema refuses this: " + text.Line(firstOf(why, string(object)))}, ""
	}
	return nil, ""
}
