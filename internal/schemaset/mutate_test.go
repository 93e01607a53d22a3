// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
)

// mutation edits a schema that is reached from a document, in place. It returns
// false where it does not apply.
type mutation struct {
	name string
	edit func(m *mutant, s object) bool
}

// mutant is a document under change.
type mutant struct {
	r     *rand.Rand
	root  object
	draft int // 7 for the older spelling, else 2020
}

// spots collects every schema object of a document.
func spots(v any, out []object) []object {
	s, ok := v.(object)
	if !ok {
		return out
	}
	out = append(out, s)
	for _, k := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		if m, ok := s[k].(object); ok {
			for _, name := range sortedKeys(m) {
				out = spots(m[name], out)
			}
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		if l, ok := s[k].([]any); ok {
			for _, e := range l {
				out = spots(e, out)
			}
		}
	}
	for _, k := range []string{"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"} {
		out = spots(s[k], out)
	}
	return out
}

func sortedKeys(m object) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func clone(v any) any { return decode(encode(v)) }

func num(v any) (float64, bool) {
	f, ok := v.(float64)
	return f, ok
}

func has(s object, k string) bool { _, ok := s[k]; return ok }

// replace makes s hold what t holds.
func replace(s object, t object) {
	for k := range s {
		delete(s, k)
	}
	for k, v := range t {
		s[k] = v
	}
}

// movable reports whether s may be moved into another schema as it stands.
func movable(s object) bool {
	return !has(s, "$schema") && !has(s, "$id") && !has(s, "$defs") && !has(s, "definitions") && len(s) > 0
}

func list(s object, k string) []any {
	l, _ := s[k].([]any)
	return l
}

// respellings leave the set alone.
var respellings = []mutation{
	{"shuffle required", func(m *mutant, s object) bool {
		l := slices.Clone(list(s, "required"))
		m.r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		if len(l) > 1 {
			s["required"] = l
		}
		return len(l) > 1
	}},
	{"shuffle enum", func(m *mutant, s object) bool {
		l := slices.Clone(list(s, "enum"))
		m.r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		if len(l) > 1 {
			s["enum"] = l
		}
		return len(l) > 1
	}},
	{"describe", func(m *mutant, s object) bool { s["description"] = "text " + strconv.Itoa(m.r.IntN(100)); return true }},
	{"state open object", func(m *mutant, s object) bool {
		if s["type"] != "object" || has(s, "additionalProperties") || has(s, "$ref") {
			return false
		}
		s["additionalProperties"] = []any{true, object{}}[m.r.IntN(2)]
		return true
	}},
	{"wrap in allOf", func(m *mutant, s object) bool {
		if !movable(s) {
			return false
		}
		replace(s, object{"allOf": []any{clone(s)}})
		return true
	}},
	{"split into allOf", func(m *mutant, s object) bool {
		if !movable(s) || has(s, "$ref") || has(s, "additionalProperties") || len(s) < 2 || has(s, "allOf") ||
			has(s, "items") || has(s, "contains") || has(s, "if") {
			return false
		}
		a, b := object{}, object{}
		for i, k := range sortedKeys(s) {
			if i%2 == 0 {
				a[k] = s[k]
			} else {
				b[k] = s[k]
			}
		}
		replace(s, object{"allOf": []any{clone(a), clone(b)}})
		return true
	}},
	{"type list as anyOf", func(m *mutant, s object) bool {
		l := list(s, "type")
		if len(l) < 2 || has(s, "anyOf") {
			return false
		}
		var alts []any
		for _, t := range l {
			alts = append(alts, object{"type": t})
		}
		delete(s, "type")
		s["anyOf"] = alts
		return true
	}},
	{"enum as oneOf of const", func(m *mutant, s object) bool {
		l := list(s, "enum")
		if len(l) == 0 || has(s, "oneOf") {
			return false
		}
		var alts []any
		for _, v := range l {
			alts = append(alts, object{"const": v, "title": "value"})
		}
		delete(s, "enum")
		s["oneOf"] = alts
		return true
	}},
	{"extract to definitions", func(m *mutant, s object) bool {
		if !movable(s) || reflect.ValueOf(s).Pointer() == reflect.ValueOf(m.root).Pointer() {
			return false
		}
		key := "$defs"
		if m.draft == 7 {
			key = "definitions"
		}
		defs, ok := m.root[key].(object)
		if !ok {
			defs = object{}
			m.root[key] = defs
		}
		name := "D" + strconv.Itoa(len(defs))
		if has(defs, name) {
			return false
		}
		defs[name] = clone(s)
		replace(s, object{"$ref": "#/" + key + "/" + name})
		return true
	}},
	{"respell integer bound", func(m *mutant, s object) bool {
		lo, ok := num(s["minimum"])
		if !ok || s["type"] != "integer" || lo != float64(int(lo)) {
			return false
		}
		delete(s, "minimum")
		s["exclusiveMinimum"] = lo - 1
		return true
	}},
	{"list a value the type refuses", func(m *mutant, s object) bool {
		if s["type"] != "string" || len(list(s, "enum")) == 0 {
			return false
		}
		if slices.Contains(list(s, "enum"), nil) {
			return false
		}
		s["enum"] = append(slices.Clone(list(s, "enum")), nil)
		return true
	}},
	{"repeat an anyOf branch", func(m *mutant, s object) bool {
		l := list(s, "anyOf")
		if len(l) == 0 {
			return false
		}
		s["anyOf"] = append(slices.Clone(l), clone(l[m.r.IntN(len(l))]))
		return true
	}},
	{"reorder branches", func(m *mutant, s object) bool {
		for _, k := range []string{"anyOf", "oneOf"} {
			if l := list(s, k); len(l) > 1 {
				l = slices.Clone(l)
				slices.Reverse(l)
				s[k] = l
				return true
			}
		}
		return false
	}},
	{"const as enum", func(m *mutant, s object) bool {
		if !has(s, "const") || has(s, "enum") {
			return false
		}
		s["enum"] = []any{s["const"]}
		delete(s, "const")
		return true
	}},
	{"negate twice", func(m *mutant, s object) bool {
		if !movable(s) {
			return false
		}
		replace(s, object{"not": object{"not": clone(s)}})
		return true
	}},
	{"add an unused definition", func(m *mutant, s object) bool {
		key := "$defs"
		if m.draft == 7 {
			key = "definitions"
		}
		if has(m.root, key) {
			return false
		}
		m.root[key] = object{"Unused": object{"type": "integer"}}
		return true
	}},
	{"imply a bound", func(m *mutant, s object) bool {
		if has(s, "$ref") || s["type"] != "string" || has(s, "minLength") {
			return false
		}
		s["minLength"] = 0
		return true
	}},
}

func typed(s object) bool { _, ok := s["type"].(string); return ok && !has(s, "$ref") }

// wideners take restrictions away.
var wideners = []mutation{
	{"drop a required name", func(m *mutant, s object) bool {
		l := list(s, "required")
		if len(l) == 0 {
			return false
		}
		i := m.r.IntN(len(l))
		s["required"] = slices.Delete(slices.Clone(l), i, i+1)
		return true
	}},
	{"add a value", func(m *mutant, s object) bool {
		l := list(s, "enum")
		if len(l) == 0 {
			return false
		}
		s["enum"] = append(slices.Clone(l), "added"+strconv.Itoa(len(l)))
		return true
	}},
	{"relax a bound", func(m *mutant, s object) bool {
		for _, k := range []string{"maximum", "maxLength", "maxItems"} {
			if v, ok := num(s[k]); ok {
				s[k] = v + float64(1+m.r.IntN(5))
				return true
			}
		}
		for _, k := range []string{"minimum", "minLength", "minItems"} {
			if v, ok := num(s[k]); ok && (v > 0 || k == "minimum") {
				s[k] = v - 1
				return true
			}
		}
		return false
	}},
	{"integer to number", func(m *mutant, s object) bool {
		if s["type"] != "integer" {
			return false
		}
		s["type"] = "number"
		return true
	}},
	{"allow null", func(m *mutant, s object) bool {
		if !typed(s) || has(s, "enum") || s["type"] == "null" {
			return false
		}
		s["type"] = []any{s["type"], "null"}
		return true
	}},
	{"open the object", func(m *mutant, s object) bool {
		if s["additionalProperties"] != false {
			return false
		}
		delete(s, "additionalProperties")
		return true
	}},
	{"add a branch", func(m *mutant, s object) bool {
		l := list(s, "anyOf")
		if len(l) == 0 {
			return false
		}
		s["anyOf"] = append(slices.Clone(l), object{"type": "boolean"})
		return true
	}},
	{"drop a restriction", func(m *mutant, s object) bool {
		for _, k := range []string{"pattern", "uniqueItems", "const", "multipleOf", "propertyNames", "dependentRequired", "maximum", "minLength", "items"} {
			if has(s, k) {
				delete(s, k)
				return true
			}
		}
		return false
	}},
}

// narrowers add restrictions.
var narrowers = []mutation{
	{"require a name", func(m *mutant, s object) bool {
		p, ok := s["properties"].(object)
		if !ok || len(p) == 0 {
			return false
		}
		names := sortedKeys(p)
		name := names[m.r.IntN(len(names))]
		l := slices.Clone(list(s, "required"))
		if slices.Contains(l, any(name)) {
			return false
		}
		s["required"] = append(l, name)
		return true
	}},
	{"remove a value", func(m *mutant, s object) bool {
		l := list(s, "enum")
		if len(l) < 2 {
			return false
		}
		i := m.r.IntN(len(l))
		s["enum"] = slices.Delete(slices.Clone(l), i, i+1)
		return true
	}},
	{"tighten a bound", func(m *mutant, s object) bool {
		for _, k := range []string{"maximum", "maxLength", "maxItems"} {
			if v, ok := num(s[k]); ok && (v > 0 || k == "maximum") {
				s[k] = v - 1
				return true
			}
		}
		for _, k := range []string{"minimum", "minLength", "minItems"} {
			if v, ok := num(s[k]); ok {
				s[k] = v + 1
				return true
			}
		}
		return false
	}},
	{"number to integer", func(m *mutant, s object) bool {
		if s["type"] != "number" {
			return false
		}
		s["type"] = "integer"
		return true
	}},
	{"add a bound", func(m *mutant, s object) bool {
		switch s["type"] {
		case "string":
			if !has(s, "maxLength") {
				s["maxLength"] = 3 + m.r.IntN(20)
				return true
			}
		case "integer", "number":
			if !has(s, "maximum") {
				s["maximum"] = m.r.IntN(1000)
				return true
			}
		case "array":
			if !has(s, "maxItems") {
				s["maxItems"] = 1 + m.r.IntN(5)
				return true
			}
		}
		return false
	}},
	{"close the object", func(m *mutant, s object) bool {
		if s["type"] != "object" || s["additionalProperties"] == false {
			return false
		}
		s["additionalProperties"] = false
		return true
	}},
	{"remove a branch", func(m *mutant, s object) bool {
		l := list(s, "anyOf")
		if len(l) < 2 {
			return false
		}
		i := m.r.IntN(len(l))
		s["anyOf"] = slices.Delete(slices.Clone(l), i, i+1)
		return true
	}},
	{"type an untyped place", func(m *mutant, s object) bool {
		if len(s) != 0 {
			return false
		}
		s["type"] = "string"
		return true
	}},
	{"add a pattern", func(m *mutant, s object) bool {
		if s["type"] != "string" || has(s, "pattern") || has(s, "enum") {
			return false
		}
		s["pattern"] = []string{"^[a-z]", "[0-9]$", "^[^ ]*$"}[m.r.IntN(3)]
		return true
	}},
}

// changers do both or either.
var changers = []mutation{
	{"change the type", func(m *mutant, s object) bool {
		if !typed(s) {
			return false
		}
		s["type"] = []string{"string", "integer", "boolean", "array", "object"}[m.r.IntN(5)]
		return true
	}},
	{"rename a property", func(m *mutant, s object) bool {
		p, ok := s["properties"].(object)
		if !ok || len(p) == 0 {
			return false
		}
		names := sortedKeys(p)
		old := names[m.r.IntN(len(names))]
		if has(p, "renamed") {
			return false
		}
		p["renamed"] = p[old]
		delete(p, old)
		l := slices.Clone(list(s, "required"))
		for i := range l {
			if l[i] == old {
				l[i] = "renamed"
			}
		}
		if l != nil {
			s["required"] = l
		}
		return true
	}},
	{"change a constant", func(m *mutant, s object) bool {
		if !has(s, "const") {
			return false
		}
		s["const"] = "other"
		return true
	}},
	{"replace a schema", func(m *mutant, s object) bool {
		if has(s, "$schema") || has(s, "$defs") || has(s, "definitions") {
			return false
		}
		if t, ok := randomSchema(m.r, 1, true).(object); ok {
			replace(s, clone(t).(object))
			return true
		}
		return false
	}},
	{"anyOf to oneOf", func(m *mutant, s object) bool {
		if !has(s, "anyOf") || has(s, "oneOf") {
			return false
		}
		s["oneOf"] = s["anyOf"]
		delete(s, "anyOf")
		return true
	}},
}

// edit applies up to n mutations of the list to a copy of the document.
func edit(r *rand.Rand, doc object, muts []mutation, n int) (object, []string) {
	m := &mutant{r: r, root: clone(doc).(object), draft: 2020}
	if s, ok := m.root["$schema"].(string); ok && s == "http://json-schema.org/draft-07/schema#" {
		m.draft = 7
	}
	var done []string
	for tries := 0; len(done) < n && tries < 60; tries++ {
		all := spots(m.root, nil)
		mu := muts[r.IntN(len(muts))]
		if mu.edit(m, all[r.IntN(len(all))]) {
			done = append(done, mu.name)
		}
	}
	return m.root, done
}
