// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

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
