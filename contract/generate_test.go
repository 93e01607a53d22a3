// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// object is a schema, or a value, under construction.
type object = map[string]any

// maker makes random schemas of the everyday keywords: type, properties,
// required, items, enum, const, bounds, additionalProperties, $ref, anyOf, and
// oneOf whose branches are disjoint.
type maker struct{ r *rand.Rand }

func (m maker) chance(percent int) bool { return m.r.IntN(100) < percent }

func (m maker) pick(words ...string) string { return words[m.r.IntN(len(words))] }

var someNames = []string{"id", "city", "limit", "tags", "filter", "kind"}

// document makes the schema of a tool, with definitions that it refers to.
func (m maker) document() object {
	s := m.object(0)
	s["$defs"] = object{"one": m.schema(2), "two": m.object(2)}
	return s
}

func (m maker) schema(depth int) object {
	n := 10
	if depth >= 3 {
		n = 5
	}
	switch m.r.IntN(n) {
	case 0, 1:
		return m.text()
	case 2:
		return m.number()
	case 3:
		return object{"type": m.pick("boolean", "string", "integer")}
	case 4:
		if depth == 0 || depth >= 2 {
			return object{"type": []any{m.pick("string", "integer"), "null"}}
		}
		return object{"$ref": "#/$defs/" + m.pick("one", "two")}
	case 5:
		s := object{"type": "array", "items": m.schema(depth + 1)}
		m.bounds(s, "minItems", "maxItems", 0, 4)
		return s
	case 6, 7:
		return m.object(depth + 1)
	case 8:
		return object{"anyOf": []any{m.schema(depth + 1), m.schema(depth + 1)}}
	}
	return m.tagged(depth)
}

func (m maker) text() object {
	s := object{"type": "string"}
	switch m.r.IntN(4) {
	case 0:
		s["enum"] = []any{"a", "b", m.pick("c", "d")}
	case 1:
		s["const"] = m.pick("a", "b")
	case 2:
		m.bounds(s, "minLength", "maxLength", 0, 6)
	}
	return s
}

func (m maker) number() object {
	s := object{"type": m.pick("integer", "number")}
	if m.chance(60) {
		m.bounds(s, m.pick("minimum", "exclusiveMinimum"), m.pick("maximum", "exclusiveMaximum"), -2, 20)
	}
	return s
}

func (m maker) bounds(s object, low, high string, from, to int) {
	if m.chance(40) {
		s[low] = from + m.r.IntN(2)
	}
	if m.chance(40) {
		s[high] = to - m.r.IntN(2)
	}
}

func (m maker) object(depth int) object {
	props, required := object{}, []any{}
	for range 1 + m.r.IntN(3) {
		name := m.pick(someNames...)
		props[name] = m.schema(depth + 1)
		if m.chance(40) && !slices.Contains(required, any(name)) {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": props}
	if len(required) > 0 {
		s["required"] = required
	}
	switch m.r.IntN(6) {
	case 0, 1, 2:
		s["additionalProperties"] = false
	case 3:
		s["additionalProperties"] = m.text()
	}
	return s
}

// tagged makes a union whose branches exclude each other.
func (m maker) tagged(depth int) object {
	if m.chance(40) {
		return object{"oneOf": []any{m.text(), m.number(), object{"type": "null"}}}
	}
	var branches []any
	for _, tag := range []string{"x", "y", "z"}[:2+m.r.IntN(2)] {
		b := m.object(depth + 1)
		b["properties"].(object)["kind"] = object{"const": tag}
		b["required"] = []any{"kind"}
		branches = append(branches, b)
	}
	return object{"oneOf": branches}
}

// edit is one way to change a schema; it reports whether it applied.
type edit struct {
	name  string
	apply func(m maker, s object) bool
}

func list(s object, k string) []any {
	l, _ := s[k].([]any)
	return l
}

func replace(s, with object) {
	clear(s)
	maps.Copy(s, with)
}

func copyOf(s object) object {
	var out object
	data, _ := json.Marshal(s)
	_ = json.Unmarshal(data, &out)
	return out
}

// nudge moves a bound, states it or drops it.
func nudge(keywords ...string) func(m maker, s object) bool {
	return func(m maker, s object) bool {
		k := m.pick(keywords...)
		n, ok := s[k].(float64)
		switch {
		case !ok:
			s[k] = float64(m.r.IntN(5))
		case m.chance(30):
			delete(s, k)
		default:
			s[k] = max(0, n+float64(m.r.IntN(5)-2))
		}
		return true
	}
}

func only(kind string, f func(m maker, s object) bool) func(m maker, s object) bool {
	return func(m maker, s object) bool { return s["type"] == kind && f(m, s) }
}

var edits = []edit{
	{"add a member", only("object", func(m maker, s object) bool {
		props, _ := s["properties"].(object)
		name := m.pick(append(someNames, "extra", "note")...)
		if props == nil || props[name] != nil {
			return false
		}
		props[name] = m.schema(3)
		if m.chance(25) {
			s["required"] = append(list(s, "required"), name)
		}
		return true
	})},
	{"remove a member", only("object", func(m maker, s object) bool {
		props, _ := s["properties"].(object)
		if len(props) < 2 {
			return false
		}
		name := slices.Sorted(maps.Keys(props))[m.r.IntN(len(props))]
		delete(props, name)
		if l := list(s, "required"); l != nil {
			s["required"] = slices.DeleteFunc(slices.Clone(l), func(x any) bool { return x == name })
		}
		return true
	})},
	{"require a member", only("object", func(m maker, s object) bool {
		props, _ := s["properties"].(object)
		if len(props) == 0 {
			return false
		}
		name := slices.Sorted(maps.Keys(props))[m.r.IntN(len(props))]
		if i := slices.Index(list(s, "required"), any(name)); i >= 0 {
			s["required"] = slices.Delete(slices.Clone(list(s, "required")), i, i+1)
		} else {
			s["required"] = append(list(s, "required"), name)
		}
		return true
	})},
	{"close or open", only("object", func(m maker, s object) bool {
		if s["additionalProperties"] == false {
			delete(s, "additionalProperties")
		} else {
			s["additionalProperties"] = false
		}
		return true
	})},
	{"another type", func(m maker, s object) bool {
		if _, ok := s["type"].(string); !ok {
			return false
		}
		replace(s, object{"type": m.pick("string", "integer", "number", "boolean", "array")})
		return true
	}},
	{"allow null", func(m maker, s object) bool {
		switch t := s["type"].(type) {
		case string:
			if t == "null" {
				return false
			}
			if s["enum"] != nil || s["const"] != nil {
				replace(s, object{"anyOf": []any{copyOf(s), object{"type": "null"}}})
			} else {
				s["type"] = []any{t, "null"}
			}
			return true
		case []any:
			s["type"] = t[0]
			return true
		}
		return false
	}},
	{"integer and number", func(m maker, s object) bool {
		switch s["type"] {
		case "integer":
			s["type"] = "number"
		case "number":
			s["type"] = "integer"
		default:
			return false
		}
		return true
	}},
	{"length", only("string", nudge("minLength", "maxLength"))},
	{"range", only("integer", nudge("minimum", "maximum", "exclusiveMinimum"))},
	{"range of numbers", only("number", nudge("minimum", "maximum", "exclusiveMaximum"))},
	{"count", only("array", nudge("minItems", "maxItems"))},
	{"listed values", only("string", func(m maker, s object) bool {
		e := list(s, "enum")
		switch {
		case len(e) == 0:
			s["enum"] = []any{"a", "b"}
		case m.chance(40):
			s["enum"] = append(slices.Clone(e), m.pick("e", "f"))
		case m.chance(50) && len(e) > 1:
			s["enum"] = e[1:]
		default:
			delete(s, "enum")
		}
		return true
	})},
	{"constant", func(m maker, s object) bool {
		if s["const"] == nil {
			return false
		}
		s["const"] = m.pick("a", "b", "x", "w")
		return true
	}},
	{"a form more", func(m maker, s object) bool {
		if len(list(s, "anyOf")) == 0 {
			return false
		}
		s["anyOf"] = append(slices.Clone(list(s, "anyOf")), m.schema(3))
		return true
	}},
	{"a form less", func(m maker, s object) bool {
		for _, k := range []string{"anyOf", "oneOf"} {
			if l := list(s, k); len(l) > 1 {
				s[k] = l[1:]
				return true
			}
		}
		return false
	}},
	{"forms in another order", func(m maker, s object) bool {
		for _, k := range []string{"anyOf", "oneOf"} {
			if l := slices.Clone(list(s, k)); len(l) > 1 {
				slices.Reverse(l)
				s[k] = l
				return true
			}
		}
		return false
	}},
	{"another definition", func(m maker, s object) bool {
		if s["$ref"] == nil {
			return false
		}
		replace(s, object{"$ref": "#/$defs/" + m.pick("one", "two")})
		return true
	}},
	{"map of something else", only("object", func(m maker, s object) bool {
		if _, ok := s["additionalProperties"].(object); !ok {
			return false
		}
		s["additionalProperties"] = m.schema(3)
		return true
	})},
	{"any items", only("array", func(m maker, s object) bool {
		if s["items"] == nil {
			s["items"] = m.schema(3)
		} else {
			delete(s, "items")
		}
		return true
	})},
	{"list of it", func(m maker, s object) bool {
		if s["$defs"] != nil || s["$ref"] != nil {
			return false
		}
		replace(s, object{"type": "array", "items": copyOf(s)})
		return true
	}},
	{"either it or a list of it", func(m maker, s object) bool {
		if s["$defs"] != nil || s["type"] == nil || s["type"] == "array" {
			return false
		}
		replace(s, object{"anyOf": []any{copyOf(s), object{"type": "array", "items": copyOf(s)}}})
		return true
	}},
	{"described", func(m maker, s object) bool { s["description"] = fmt.Sprint("text ", m.r.IntN(99)); return true }},
}

// spots lists every schema of a document.
func spots(v any) (out []object) {
	s, ok := v.(object)
	if !ok {
		return nil
	}
	out = append(out, s)
	for _, k := range []string{"properties", "$defs"} {
		inner, _ := s[k].(object)
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			out = append(out, spots(inner[name])...)
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		for _, b := range list(s, k) {
			out = append(out, spots(b)...)
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		out = append(out, spots(s[k])...)
	}
	return out
}

// mutate changes a copy in one to three places, and says how. The root stays
// an object.
func (m maker) mutate(s object) (out object, how []string) {
	out = copyOf(s)
	for range 1 + m.r.IntN(3) {
		for range 60 {
			at := spots(out)
			i := m.r.IntN(len(at))
			e := edits[m.r.IntN(len(edits))]
			if i == 0 && slices.Contains([]string{"another type", "allow null"}, e.name) {
				continue
			}
			if e.apply(m, at[i]) {
				how = append(how, e.name)
				break
			}
		}
	}
	return out, how
}

// value makes a value that a schema probably accepts.
func (m maker) value(root, s object, depth int) any {
	if depth > 8 {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		target, _ := root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object)
		return m.value(root, target, depth+1)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if l := list(s, k); len(l) > 0 {
			return m.value(root, l[m.r.IntN(len(l))].(object), depth+1)
		}
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if e := list(s, "enum"); len(e) > 0 {
		return e[m.r.IntN(len(e))]
	}
	number := func(k string, otherwise float64) float64 {
		if n, ok := s[k].(float64); ok {
			return n
		}
		return otherwise
	}
	t, _ := s["type"].(string)
	if l := list(s, "type"); len(l) > 0 {
		t, _ = l[m.r.IntN(len(l))].(string)
	}
	switch t {
	case "string":
		low := number("minLength", 0)
		return strings.Repeat("a", int(low)+m.r.IntN(int(max(1, number("maxLength", low+3)-low+1))))
	case "integer", "number":
		at := []float64{number("minimum", 0), number("maximum", 25), number("exclusiveMinimum", -3) + 1, number("exclusiveMaximum", 30) - 1}[m.r.IntN(4)]
		if t == "number" && m.chance(40) {
			at += 0.5
		}
		return at
	case "boolean":
		return m.chance(50)
	case "array":
		items, _ := s["items"].(object)
		out := []any{}
		low := number("minItems", 0)
		for range int(low) + m.r.IntN(int(max(1, number("maxItems", low+2)-low+1))) {
			if items == nil {
				out = append(out, m.pick("x", "y"))
			} else {
				out = append(out, m.value(root, items, depth+1))
			}
		}
		return out
	case "object":
		out := object{}
		props, _ := s["properties"].(object)
		for _, name := range slices.Sorted(maps.Keys(props)) {
			if slices.Contains(list(s, "required"), any(name)) || m.chance(50) {
				out[name] = m.value(root, props[name].(object), depth+1)
			}
		}
		for _, name := range list(s, "required") {
			if _, ok := out[name.(string)]; !ok {
				out[name.(string)] = "text"
			}
		}
		if s["additionalProperties"] != false && m.chance(15) {
			out["unheard"] = m.pick("a", "b")
		}
		return out
	case "null":
		return nil
	}
	return m.pick("any", "a")
}

// declaredOnly drops the members that no schema of their object declares, where
// the object is an open one: nobody was told of them.
func declaredOnly(root object, schemas []object, v any) any {
	var all []object
	for len(schemas) > 0 {
		s := schemas[0]
		schemas = schemas[1:]
		if slices.ContainsFunc(all, func(o object) bool { return fmt.Sprintf("%p", o) == fmt.Sprintf("%p", s) }) {
			continue
		}
		all = append(all, s)
		if ref, ok := s["$ref"].(string); ok {
			if t, ok := root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object); ok {
				schemas = append(schemas, t)
			}
		}
		for _, k := range []string{"anyOf", "oneOf"} {
			for _, b := range list(s, k) {
				schemas = append(schemas, b.(object))
			}
		}
	}
	switch v := v.(type) {
	case []any:
		var items []object
		for _, s := range all {
			if i, ok := s["items"].(object); ok {
				items = append(items, i)
			}
		}
		out := []any{}
		for _, e := range v {
			out = append(out, declaredOnly(root, items, e))
		}
		return out
	case object:
		out := object{}
		for name, inner := range v {
			var below []object
			for _, s := range all {
				props, _ := s["properties"].(object)
				p, ok := props[name].(object)
				if !ok {
					p, ok = s["additionalProperties"].(object)
				}
				if ok {
					below = append(below, p)
				}
			}
			if len(below) > 0 {
				out[name] = declaredOnly(root, below, inner)
			}
		}
		return out
	}
	return v
}
