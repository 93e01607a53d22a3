// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
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
