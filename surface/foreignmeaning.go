// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// What a schema says, where it is spelled in a way that mcp-contract does not
// see. Only places that changed their spelling are read so.

// Bounds of reading through references and unions: how deep, and how many
// places in all, since references can multiply.
const (
	mostMeaning = 12
	mostPlaces  = 2_000
)

// document is a schema's root with what is left of the work on one place.
type document struct {
	root map[string]any
	left int
}

func documentOf(root map[string]any) *document { return &document{root, mostPlaces} }

// beyond counts a place, and reports whether it is one too many.
func (d *document) beyond(depth int) bool {
	d.left--
	return depth > mostMeaning || d.left < 0
}

// follow resolves a reference into the document by the rules of JSON pointers;
// nil when it leads nowhere, or out of the document.
func follow(root map[string]any, ref string) (target map[string]any, all bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, false
	}
	if pointer == "" {
		return root, false
	}
	if pointer[0] != '/' {
		return nil, false
	}
	var at any = root
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if ok = err == nil && 0 <= i && i < len(v); ok {
				at = v[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	if at == true {
		return nil, true
	}
	object, _ := at.(map[string]any)
	return object, false
}

// meaning is the set of types that a schema accepts; all means every one.
type meaning struct {
	all   bool
	types []string
}

var anything = meaning{all: true}

// meaningOf reads the types of a schema through references, unions, constants
// and value sets. ok is false where it cannot be told.
func (d *document) meaningOf(schema any, depth int) (m meaning, ok bool) {
	if b, is := schema.(bool); is {
		return meaning{all: b}, true
	}
	object, is := schema.(map[string]any)
	if !is || d.beyond(depth) {
		return anything, false
	}
	out := anything
	narrow := func(m meaning) { out = out.and(m) }
	switch t := object["type"].(type) {
	case string:
		narrow(meaning{types: []string{t}})
	case []any:
		var types []string
		for _, e := range t {
			types = append(types, pyStr(e))
		}
		narrow(meaning{types: types})
	}
	if ref, has := object["$ref"]; has {
		target, all := follow(d.root, pyStr(ref))
		if target == nil && !all {
			return anything, false
		}
		if target != nil {
			m, ok := d.meaningOf(target, depth+1)
			if !ok {
				return anything, false
			}
			narrow(m)
		}
	}
	if values, has := object["enum"].([]any); has {
		narrow(kindsOf(values))
	}
	if v, has := object["const"]; has {
		narrow(kindsOf([]any{v}))
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, has := object[key].([]any)
		if !has || len(list) == 0 {
			continue
		}
		union := meaning{}
		for _, e := range list {
			m, ok := d.meaningOf(e, depth+1)
			switch {
			case !ok:
				return anything, false
			case key == "allOf":
				narrow(m)
			default:
				union = union.or(m)
			}
		}
		if key != "allOf" {
			narrow(union)
		}
	}
	return out, true
}

// kindsOf is the types of values.
func kindsOf(values []any) meaning {
	m := meaning{}
	for _, v := range values {
		t := "null"
		switch v := v.(type) {
		case bool:
			t = "boolean"
		case string:
			t = "string"
		case number:
			if t = "number"; !strings.ContainsAny(string(v), ".eE") {
				t = "integer"
			}
		case []any:
			t = "array"
		case map[string]any:
			t = "object"
		}
		m = m.or(meaning{types: []string{t}})
	}
	return m
}

func (m meaning) or(o meaning) meaning {
	if m.all || o.all {
		return anything
	}
	types := append(slices.Clone(m.types), o.types...)
	slices.Sort(types)
	return meaning{types: slices.Compact(types)}
}

func (m meaning) and(o meaning) meaning {
	switch {
	case m.all:
		return o
	case o.all:
		return m
	}
	out := meaning{}
	for _, t := range m.types {
		if slices.Contains(o.types, t) || t == "integer" && slices.Contains(o.types, "number") {
			out.types = append(out.types, t)
		}
	}
	if slices.Contains(m.types, "number") && slices.Contains(o.types, "integer") {
		out.types = append(out.types, "integer")
	}
	slices.Sort(out.types)
	out.types = slices.Compact(out.types)
	return out
}

// valuesOf spells the values that a schema is limited to, through references
// and unions; nil when it is not limited to a list of values.
func (d *document) valuesOf(schema any, depth int) []string {
	object, ok := schema.(map[string]any)
	if !ok || d.beyond(depth) {
		return nil
	}
	if vs := spelledList(object["enum"]); vs != nil {
		return vs
	}
	if v, has := object["const"]; has {
		return []string{pyStr(v)}
	}
	if t, _ := object["type"].(string); t == "null" {
		return []string{"None"}
	}
	if ref, has := object["$ref"]; has {
		if target, _ := follow(d.root, pyStr(ref)); target != nil {
			if vs := d.valuesOf(target, depth+1); vs != nil {
				return vs
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := object[key].([]any)
		var all []string
		for _, e := range list {
			vs := d.valuesOf(e, depth+1)
			if vs == nil {
				all = nil
				break
			}
			all = append(all, vs...)
		}
		if all != nil {
			return all
		}
	}
	list, _ := object["allOf"].([]any)
	for _, e := range list {
		if vs := d.valuesOf(e, depth+1); vs != nil {
			return vs
		}
	}
	return nil
}

// composed is a schema with what its references, its allOf and a union's only
// form hold, as far as that names fields.
func (d *document) composed(schema map[string]any, depth int) map[string]any {
	if d.beyond(depth) {
		return schema
	}
	properties, required := map[string]any{}, []any{}
	out := map[string]any{}
	merge := func(from map[string]any) {
		for n, v := range from {
			switch n {
			case "properties":
				ps, _ := v.(map[string]any)
				for name, p := range ps {
					properties[name] = p
				}
			case "required":
				list, _ := v.([]any)
				required = append(required, list...)
			case "$ref", "allOf":
			default:
				if _, has := out[n]; !has {
					out[n] = v
				}
			}
		}
	}
	merge(schema)
	deeper := func(v any) {
		if part, ok := v.(map[string]any); ok {
			merge(d.composed(part, depth+1))
		}
	}
	if ref, has := schema["$ref"]; has {
		if target, _ := follow(d.root, pyStr(ref)); target != nil {
			deeper(target)
		}
	}
	list, _ := schema["allOf"].([]any)
	for _, part := range list {
		deeper(part)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if only := d.onlyForm(out[key]); only != nil {
			delete(out, key)
			deeper(only)
		}
	}
	if len(properties) > 0 {
		out["properties"], out["required"] = properties, required
	}
	return out
}

// onlyForm is the one branch of a union that is not null.
func (d *document) onlyForm(union any) any {
	list, _ := union.([]any)
	var only any
	for _, e := range list {
		if m, ok := d.meaningOf(e, 0); ok && !m.all && unknownType(m.types) {
			continue
		}
		if only != nil {
			return nil
		}
		only = e
	}
	return only
}

// describedAs reports whether a text still describes a place, behind
// references and in the parts of a composition.
func (d *document) describedAs(schema any, text string, depth int) bool {
	object, ok := schema.(map[string]any)
	if !ok || d.beyond(depth) {
		return false
	}
	if pyText(object["description"]) == text {
		return true
	}
	if ref, has := object["$ref"]; has {
		if target, _ := follow(d.root, pyStr(ref)); target != nil && d.describedAs(target, text, depth+1) {
			return true
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[key].([]any)
		if slices.ContainsFunc(list, func(e any) bool { return d.describedAs(e, text, depth+1) }) {
			return true
		}
	}
	return false
}

// severalForms reports whether a place is a union of more than one form and null.
func severalForms(root map[string]any, schema any) bool {
	object, _ := schema.(map[string]any)
	if object == nil {
		return false
	}
	all := documentOf(root).composed(object, 0)
	return all["anyOf"] != nil || all["oneOf"] != nil
}

// cyclic reports whether a reference below a place leads back to itself.
func cyclic(root map[string]any, schema any) bool {
	on, done := map[string]bool{}, map[string]bool{}
	var visit func(v any, depth int) bool
	visit = func(v any, depth int) bool {
		if depth > 1_000 {
			return true
		}
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, func(e any) bool { return visit(e, depth+1) })
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && !done[ref] {
				if on[ref] {
					return true
				}
				on[ref] = true
				if target, _ := follow(root, ref); target != nil && visit(target, depth+1) {
					return true
				}
				on[ref], done[ref] = false, true
			}
			for _, n := range sortedKeys(v) {
				if n != "$defs" && n != "definitions" && visit(v[n], depth+1) {
					return true
				}
			}
		}
		return false
	}
	return visit(schema, 0)
}
