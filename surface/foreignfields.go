// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
)

// field is one argument or result field as mcp-contract records it: by a name
// that is dotted where it lies in an object (filters.city) and bracketed where
// it lies in a list of objects (tags[].name).
type field struct {
	name        string
	required    bool // relative to its parent
	types       []string
	description string
	enum        []string // as Python's str() spells the values

	// What the record does not have, and a schema does.
	direct    bool      // the type is written at the place, not behind a reference
	described bool      // so is the description
	values    bool      // an enum or const narrows it
	numbers   []string  // the spellings in enum that are numbers
	ref       string    // a reference that leads nowhere
	forms     [][]field // the fields of each of several forms
	schema    any       // the place itself
}

// parent returns the longest name in names that lies directly above name, and
// what it is called there; inList tells that it is in the items of a list.
func parent(name string, names map[string]bool) (above, own string, inList bool) {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '.' {
			continue
		}
		if names[name[:i]] {
			return name[:i], name[i+1:], false
		}
		if list, ok := strings.CutSuffix(name[:i], "[]"); ok && names[list] {
			return list, name[i+1:], true
		}
	}
	return "", name, false
}

// normalFields sorts fields by name. Of several with one name, which a dot in
// a property's name makes possible, the same one is kept whatever their order.
func normalFields(fs []field) []field {
	key := func(f field) string {
		req := "optional"
		if f.required {
			req = "required"
		}
		return strings.Join([]string{req, strings.Join(f.types, "|"), f.description, strings.Join(f.enum, "\x00")}, "\x01")
	}
	order.Stable(fs, func(a, b field) int {
		if c := cmp.Compare(a.name, b.name); c != 0 {
			return c
		}
		return cmp.Compare(key(a), key(b))
	})
	return slices.CompactFunc(fs, func(a, b field) bool { return a.name == b.name })
}

// branch is a field with the fields below it.
type branch struct {
	field
	own                string
	properties, inList []*branch
}

// objectSchema expresses fields as the schema of an object that holds them,
// so that they are compared as any other schema: what a record of fields does
// not know is left open on both sides.
func objectSchema(fs []field) map[string]any {
	fs = normalFields(fs)
	names := map[string]bool{}
	for _, f := range fs {
		names[f.name] = true
	}
	root := &branch{}
	by := map[string]*branch{"": root}
	// A parent's name is a prefix of its child's, so it sorts before it.
	for _, f := range fs {
		b := &branch{field: f}
		above, own, inList := parent(f.name, names)
		b.own = own
		by[f.name] = b
		up := by[above]
		if inList {
			up.inList = append(up.inList, b)
		} else {
			up.properties = append(up.properties, b)
		}
	}
	return holding(root.properties)
}

// holding is the schema of an object with these properties.
func holding(bs []*branch) map[string]any {
	out := map[string]any{"type": "object"}
	if len(bs) == 0 {
		return out
	}
	properties := map[string]any{}
	required := []string{}
	for _, b := range bs {
		properties[b.own] = b.expressed()
		if b.required {
			required = append(required, b.own)
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = slices.Compact(required)
	}
	return out
}

// expressed is the schema of one field.
func (b *branch) expressed() map[string]any {
	out := map[string]any{}
	if b.ref != "" {
		out["$ref"] = b.ref
	}
	types := slices.Clone(b.types)
	if unknownType(types) {
		types = nil
	}
	// Fields below a place say that it is an object, or a list of them, also
	// where the type was behind something that the recorder does not follow.
	if len(b.properties) > 0 {
		types = append(types, "object")
	}
	if len(b.inList) > 0 {
		types = append(types, "array")
	}
	slices.Sort(types)
	types = slices.Compact(types)
	if b.enum != nil {
		values, fit := enumValues(b.enum, types)
		out["enum"] = values
		if !fit {
			types = nil
		}
	}
	switch len(types) {
	case 0:
	case 1:
		out["type"] = types[0]
	default:
		out["type"] = types
	}
	if b.description != "" {
		out["description"] = b.description
	}
	if len(b.properties) > 0 {
		m := holding(b.properties)
		delete(m, "type")
		for k, v := range m {
			out[k] = v
		}
	}
	if len(b.inList) > 0 {
		out["items"] = holding(b.inList)
	}
	if len(b.forms) > 0 {
		out["anyOf"] = formSchemas(b.forms)
	}
	return out
}

func formSchemas(forms [][]field) []any {
	out := make([]any, len(forms))
	for i, fs := range forms {
		out[i] = objectSchema(fs)
	}
	return out
}

// unknownType reports whether a recorded type says nothing. "null" alone is
// what is left of a union whose other forms have no type that the recorder saw.
func unknownType(types []string) bool {
	return len(types) == 0 || len(types) == 1 && types[0] == "null"
}

// enumValues gives recorded values their JSON type back. A record spells the
// number 1 and the text "1" alike, so the field's type decides; fit is false
// where a value is of none of its types.
func enumValues(spelled []string, types []string) (values []any, fit bool) {
	is := func(t string) bool { return slices.Contains(types, t) }
	free := len(types) == 0 || len(types) == 1 && types[0] == "null"
	fit = true
	seen := map[string]bool{}
	for _, s := range spelled {
		var v any = s
		n, isNumber := numberOf(s)
		switch {
		case s == "None" && (free || is("null")):
			v = nil
		case is("string"):
		case (s == "True" || s == "False") && (free || is("boolean")):
			v = s == "True"
		case isNumber && (free || is("number") || is("integer")):
			v = n
		case !free:
			fit = false
		}
		raw, err := canonicalOf(v)
		if err != nil || seen[string(raw)] {
			continue
		}
		seen[string(raw)] = true
		values = append(values, v)
	}
	return values, fit
}

// numberOf reads a number as Python spells it, in one form for equal numbers.
func numberOf(s string) (number, bool) {
	if s == "" || len(s) > 40 || strings.Trim(s, "0123456789.eE+-") != "" {
		return "", false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(strings.TrimLeft(s[i+1:], "+-0")) > 3 {
		return "", false // too large to write out
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	if r.IsInt() {
		return number(r.Num().String()), true
	}
	f, _ := r.Float64()
	raw, err := jsonx.Marshal(f)
	return number(raw), err == nil
}
