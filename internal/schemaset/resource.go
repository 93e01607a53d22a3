// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// resources are the places of a document that references can name.
type resources struct {
	ids     map[string]target // by absolute or relative id without fragment
	anchors map[string]target // by id#anchor
	dynamic map[string]int    // how often a $dynamicAnchor is declared
	recurse int               // how many resources declare $recursiveAnchor
}

type target struct {
	val   *val
	ptr   string
	scope scope
}

// resourceBase returns the base that v sets for what is inside it.
func resourceBase(v *val, sc scope) (string, bool) {
	key := "$id"
	if sc.dialect == Draft4 {
		key = "id"
	}
	id := v.get(key)
	if id == nil || id.kind != kString || id.str == "" || strings.HasPrefix(id.str, "#") {
		return sc.base, false
	}
	if sc.dialect <= Draft7 && v.get("$ref") != nil {
		return sc.base, false
	}
	return strings.TrimSuffix(absolute(sc.base, id.str), "#"), true
}

func absolute(base, ref string) string {
	b, err1 := url.Parse(base)
	r, err2 := url.Parse(ref)
	if err1 != nil || err2 != nil {
		return ref
	}
	return b.ResolveReference(r).String()
}

// scan collects ids and anchors. It looks only where keywords put schemas, so
// that an $id inside an enum or an example names nothing.
func (rs *resources) scan(root *val, sc scope) {
	rs.ids, rs.anchors, rs.dynamic = map[string]target{}, map[string]target{}, map[string]int{}
	rs.ids[""] = target{root, "", sc}
	rs.visit(root, "", sc)
}

func (rs *resources) visit(v *val, ptr string, sc scope) {
	if v.kind != kObject || sc.depth > maxNesting {
		return
	}
	sc.depth++
	if base, own := resourceBase(v, sc); own {
		sc.base = base
		if s := v.get("$schema"); s != nil && s.kind == kString && ptr != "" {
			if d := dialectOf(s.str); d != DialectUnknown {
				sc.dialect = d
			}
		}
		if _, dup := rs.ids[base]; !dup {
			rs.ids[base] = target{v, ptr, sc}
		}
	}
	for _, key := range [...]string{"$anchor", "$dynamicAnchor", "$id", "id"} {
		a := v.get(key)
		if a == nil || a.kind != kString {
			continue
		}
		name := a.str
		if key == "$id" || key == "id" {
			if !strings.HasPrefix(name, "#") || len(name) == 1 {
				continue
			}
			name = name[1:]
		}
		if key == "$dynamicAnchor" {
			rs.dynamic[name]++
		}
		if _, dup := rs.anchors[sc.base+"#"+name]; !dup {
			rs.anchors[sc.base+"#"+name] = target{v, ptr, sc}
		}
	}
	if a := v.get("$recursiveAnchor"); a != nil && a.truth {
		rs.recurse++
	}
	for _, m := range v.mem {
		at := jsonx.Push(ptr, m.name)
		switch m.name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			for _, c := range m.val.mem {
				rs.visit(c.val, jsonx.Push(at, c.name), sc)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems", "items":
			for i, c := range m.val.arr {
				rs.visit(c, jsonx.Push(at, strconv.Itoa(i)), sc)
			}
			if m.name == "items" {
				rs.visit(m.val, at, sc)
			}
		case "additionalProperties", "additionalItems", "propertyNames", "contains", "not", "if", "then",
			"else", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
			rs.visit(m.val, at, sc)
		}
	}
}

// find returns what a reference leads to inside the document.
func (rs *resources) find(root *val, sc scope, ref string) (target, ProblemKind) {
	res, frag, _ := strings.Cut(ref, "#")
	base := sc.base
	if res != "" {
		base = absolute(sc.base, res)
	}
	t, ok := rs.ids[base]
	if !ok {
		if base == "" || res == "" {
			t = rs.ids[""]
		} else {
			return target{}, ProblemExternalRef
		}
	}
	if frag == "" {
		return t, ""
	}
	if !strings.HasPrefix(frag, "/") {
		if a, ok := rs.anchors[base+"#"+frag]; ok {
			return a, ""
		}
		return target{}, ProblemDanglingRef
	}
	if u, err := url.PathUnescape(frag); err == nil {
		frag = u
	}
	if walked, ok := t.walk(frag); ok {
		return walked, ""
	}
	return target{}, ProblemDanglingRef
}

func (t target) walk(pointer string) (target, bool) {
	tokens, err := jsonx.Tokens(pointer)
	if err != nil {
		return t, false
	}
	for _, tok := range tokens {
		switch t.val.kind {
		case kObject:
			t.val = t.val.get(tok)
		case kArray:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(t.val.arr) || strconv.Itoa(i) != tok {
				return t, false
			}
			t.val = t.val.arr[i]
		default:
			return t, false
		}
		if t.val == nil {
			return t, false
		}
		t.ptr = jsonx.Push(t.ptr, tok)
		if base, own := resourceBase(t.val, t.scope); own {
			// The caller enters the last value itself; entering twice is harmless.
			t.scope.base = base
		}
	}
	return t, true
}
