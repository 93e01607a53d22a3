// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// kinds is a set of JSON types that a schema lets through.
type kinds uint8

const (
	kString kinds = 1 << iota
	kInteger
	kFraction // a number that is no integer
	kBoolean
	kNull
	kArray
	kObject

	kNumber = kInteger | kFraction
	kAny    = kString | kNumber | kBoolean | kNull | kArray | kObject
)

// kindNames are the types of JSON Schema.
var kindNames = []struct {
	name string
	is   kinds
}{
	{"string", kString}, {"number", kNumber}, {"integer", kInteger}, {"boolean", kBoolean}, {"null", kNull}, {"array", kArray}, {"object", kObject},
}

// kindOf is the type of a value.
func kindOf(v jsonx.Raw) kinds {
	switch jsonx.KindOf(v) {
	case jsonx.String:
		return kString
	case jsonx.Number:
		if wholeNumber(string(v)) {
			return kInteger
		}
		return kFraction
	case jsonx.True, jsonx.False:
		return kBoolean
	case jsonx.Null:
		return kNull
	case jsonx.Array:
		return kArray
	}
	return kObject
}

// wholeNumber reports whether a JSON number has no fraction, however it is
// spelled: 5, 5.0, 5e2.
func wholeNumber(s string) bool {
	mantissa, exponent, has := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if !has {
		return fraction == ""
	}
	n, negative := 0, strings.HasPrefix(exponent, "-")
	for _, c := range strings.TrimLeft(exponent, "+-0") {
		if n = n*10 + int(c-'0'); n > 1<<20 {
			break
		}
	}
	digits := strings.Trim(whole+fraction, "-0")
	switch {
	case digits == "":
		return true // zero
	case negative:
		return fraction == "" && len(whole)-len(strings.TrimRight(whole, "0")) >= n
	}
	return len(fraction) <= n
}

// Bounds on how far a schema is followed: branches of one keyword, and schemas
// in all. References may circle.
const (
	maxBranches = 64
	maxVisits   = 1_000
)

// schemaView looks into a schema of foreign make. It follows local references
// and reads types and names; what a value must be like is the validator's
// business.
type schemaView struct {
	rowLister
	left   int // schemas to visit
	shapes int // that were written out
}

func viewOf(root jsonx.Raw) *schemaView {
	return &schemaView{rowLister: rowLister{root: root}}
}

func look(raw jsonx.Raw, pointer string) jsonx.Raw {
	v, err := jsonx.Lookup(raw, pointer)
	if err != nil {
		return nil
	}
	return v
}

// elements are those of a list, none of what is no list.
func elements(raw jsonx.Raw) []jsonx.Raw {
	es, _ := jsonx.Elements(raw, jsonx.Lenient)
	return es
}

// branches are the schemas under a keyword that holds a list.
func branches(schema jsonx.Raw, keyword string) []jsonx.Raw {
	es, _ := jsonx.Elements(look(schema, "/"+keyword), jsonx.Strict)
	return es[:min(len(es), maxBranches)]
}

// types are the types that any of the schemas lets through, as far as they can
// be read off them.
func (v *schemaView) types(schemas []jsonx.Raw) kinds {
	v.left = maxVisits
	return union(schemas, v.kinds)
}

func (v *schemaView) kinds(schema jsonx.Raw) kinds {
	if v.left--; v.left < 0 {
		return kAny
	}
	is := kinds(kAny)
	if jsonx.KindOf(schema) != jsonx.Object {
		return is
	}
	if ref := member(schema, "$ref"); ref != "" {
		if to := v.behind(schema); string(to) != string(schema) {
			is &= v.kinds(to)
		}
	}
	values := branches(schema, "enum")
	if c := look(schema, "/const"); c != nil {
		values = append(values, c)
	}
	if len(values) > 0 {
		is &= union(values, kindOf)
	}
	switch t := look(schema, "/type"); jsonx.KindOf(t) {
	case jsonx.String:
		is &= namedKind(t)
	case jsonx.Array:
		es, _ := jsonx.Elements(t, jsonx.Strict)
		is &= union(es, namedKind)
	}
	for _, b := range branches(schema, "allOf") {
		is &= v.kinds(b)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if bs := branches(schema, k); len(bs) > 0 {
			is &= union(bs, v.kinds)
		}
	}
	return is
}

func union(values []jsonx.Raw, of func(jsonx.Raw) kinds) kinds {
	var all kinds
	for _, v := range values {
		all |= of(v)
	}
	return all
}

func namedKind(t jsonx.Raw) kinds {
	name, _ := jsonx.Text(t)
	for _, k := range kindNames {
		if k.name == name {
			return k.is
		}
	}
	return 0
}

// fields are the members that an object schema names.
type fields struct {
	names    []string // in the schema's order
	of       map[string][]jsonx.Raw
	required []string
	others   jsonx.Raw // the schema of other names; nil when none speaks of them
	patterns bool      // some names are known by a pattern
}

// fields are the members that the schemas of one value name.
func (v *schemaView) fields(schemas ...jsonx.Raw) *fields {
	v.left = maxVisits
	f := &fields{of: map[string][]jsonx.Raw{}}
	for _, s := range schemas {
		v.gather(f, s, true)
	}
	f.patterns = f.patterns || v.left < 0 // there are more than were seen
	return f
}

// gather collects the members that a schema and its branches name. must says
// that the schema holds for every value.
func (v *schemaView) gather(f *fields, schema jsonx.Raw, must bool) {
	if v.left--; v.left < 0 || jsonx.KindOf(schema) != jsonx.Object {
		return
	}
	if to := v.behind(schema); string(to) != string(schema) {
		v.gather(f, to, must)
	}
	if ps := look(schema, "/properties"); ps != nil {
		ms, _ := jsonx.Members(ps, jsonx.Strict)
		for _, m := range ms {
			if f.of[m.Name] == nil {
				f.names = append(f.names, m.Name)
			}
			f.of[m.Name] = append(f.of[m.Name], m.Value)
		}
	}
	if must {
		for _, r := range branches(schema, "required") {
			if n, ok := jsonx.Text(r); ok && !slices.Contains(f.required, n) {
				f.required = append(f.required, n)
			}
		}
	}
	if o := look(schema, "/additionalProperties"); o != nil && f.others == nil {
		f.others = o
	}
	f.patterns = f.patterns || look(schema, "/patternProperties") != nil
	for _, b := range branches(schema, "allOf") {
		v.gather(f, b, must)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		for _, b := range branches(schema, k) {
			v.gather(f, b, false)
		}
	}
	for _, k := range []string{"/if", "/then", "/else"} {
		if b := look(schema, k); b != nil {
			v.gather(f, b, false)
		}
	}
}

// open reports whether names that are not listed are meant to be given.
func (f *fields) open() bool {
	return f.patterns || len(f.names) == 0 && string(f.others) != "false" || f.others != nil && string(f.others) != "false"
}
