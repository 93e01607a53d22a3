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

// mostMeaning bounds the recursion through references and unions.
const mostMeaning = 12

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
func meaningOf(root map[string]any, schema any, depth int) (m meaning, ok bool) {
	if b, is := schema.(bool); is {
		return meaning{all: b}, true
	}
	object, is := schema.(map[string]any)
	if !is || depth > mostMeaning {
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
		target, all := follow(root, pyStr(ref))
		if target == nil && !all {
			return anything, false
		}
		if target != nil {
			m, ok := meaningOf(root, target, depth+1)
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
			m, ok := meaningOf(root, e, depth+1)
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
func valuesOf(root map[string]any, schema any, depth int) []string {
	object, ok := schema.(map[string]any)
	if !ok || depth > mostMeaning {
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
		if target, _ := follow(root, pyStr(ref)); target != nil {
			if vs := valuesOf(root, target, depth+1); vs != nil {
				return vs
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := object[key].([]any)
		var all []string
		for _, e := range list {
			vs := valuesOf(root, e, depth+1)
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
		if vs := valuesOf(root, e, depth+1); vs != nil {
			return vs
		}
	}
	return nil
}

// describedAs reports whether a text still describes a place, behind
// references and in the parts of a composition.
func describedAs(root map[string]any, schema any, text string, depth int) bool {
	object, ok := schema.(map[string]any)
	if !ok || depth > mostMeaning {
		return false
	}
	if pyText(object["description"]) == text {
		return true
	}
	if ref, has := object["$ref"]; has {
		if target, _ := follow(root, pyStr(ref)); target != nil && describedAs(root, target, text, depth+1) {
			return true
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[key].([]any)
		if slices.ContainsFunc(list, func(e any) bool { return describedAs(root, e, text, depth+1) }) {
			return true
		}
	}
	return false
}
