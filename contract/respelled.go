// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	ss "github.com/mcprove/mcprove/internal/schemaset"
)

var (
	kindRespelled = respelling("schema-respelled", "the schema is spelled differently")
	kindAllOfText = define("all-of-branch-annotation-only", Routing, "a branch that holds only text came or went",
		"models read the text; the same values are accepted", nothing)
)

func respelling(id, title string) *kind {
	return define(id, Cosmetic, title, "the same values are accepted: SDKs and code generators respell schemas", nothing)
}

// spelling is a way to write the same set differently, known by the keywords
// that differ at the place.
type spelling struct {
	k *kind
	// applies looks at the members that differ there.
	applies func(d differing) bool
}

// differing is the members of two schemas at one place whose values differ.
type differing struct {
	names    []string
	old, new map[string]jsonx.Raw
}

func (d differing) only(names ...string) bool {
	for _, n := range d.names {
		if !slices.Contains(names, n) {
			return false
		}
	}
	return true
}

func (d differing) any(names ...string) bool {
	return slices.ContainsFunc(d.names, func(n string) bool { return slices.Contains(names, n) })
}

// moved reports whether one keyword went as another came.
func (d differing) moved(from, to string) bool {
	went := func(a, b map[string]jsonx.Raw) bool {
		return a[from] != nil && b[from] == nil && b[to] != nil && a[to] == nil
	}
	return went(d.old, d.new) || went(d.new, d.old)
}

var spellings = []spelling{
	{kindEnumOrder, func(d differing) bool { return d.only("enum") && sameMembers(d.old["enum"], d.new["enum"]) }},
	{kindRespelled, func(d differing) bool {
		// Nothing was required, and nothing is; a value is listed twice.
		return d.only("required") && elementCount(d.old["required"])+elementCount(d.new["required"]) == 0 ||
			d.only("enum") && sameSet(d.old["enum"], d.new["enum"]) && elementCount(d.old["enum"]) != elementCount(d.new["enum"]) ||
			d.only("pattern") && d.old["pattern"] != nil && d.new["pattern"] != nil ||
			d.only("type") && elementCount(d.old["type"]) != 1 && elementCount(d.new["type"]) != 1 && !sameMembers(d.old["type"], d.new["type"])
	}},
	{kindAnyOfToOneOf, func(d differing) bool {
		return d.old["anyOf"] != nil && d.new["oneOf"] != nil && d.moved("anyOf", "oneOf")
	}},
	{kindOneOfToAnyOf, func(d differing) bool {
		return d.old["oneOf"] != nil && d.new["anyOf"] != nil && d.moved("oneOf", "anyOf")
	}},
	{kindRequiredTwice, func(d differing) bool {
		return d.only("required") && elementCount(d.old["required"]) != elementCount(d.new["required"])
	}},
	{kindRequiredOrder, func(d differing) bool { return d.only("required") }},
	{kindTypeOrder, func(d differing) bool {
		return d.only("type") && sameMembers(d.old["type"], d.new["type"]) && d.old["type"] != nil && elementCount(d.old["type"]) > 1
	}},
	{respelling("type-singleton-array", "a type is written as a list of one, or no longer"), func(d differing) bool { return d.only("type") }},
	{respelling("nullability-respelled", "that a value may be null is written differently"), func(d differing) bool {
		return d.any("type", "nullable") && d.any("anyOf", "oneOf", "nullable")
	}},
	{respelling("enum-to-const", "a single value is written as const, or as enum"), func(d differing) bool { return d.moved("enum", "const") }},
	{respelling("enum-respelled-as-union-of-const", "values are written as a union of constants, or as enum"), func(d differing) bool {
		return d.moved("enum", "oneOf") || d.moved("enum", "anyOf")
	}},
	{respelling("enum-null-added", "a value was added (or removed) that the type does not allow"), func(d differing) bool { return d.only("enum") }},
	{respelling("minimum-respelled", "a bound on integers is written as exclusive, or no longer"), func(d differing) bool {
		return d.moved("minimum", "exclusiveMinimum") || d.moved("maximum", "exclusiveMaximum")
	}},
	{respelling("additional-properties-restated", "that further members are free is stated, or no longer"), func(d differing) bool { return d.only("additionalProperties") }},
	{respelling("tuple-respelled", "a tuple is written in the words of another dialect"), func(d differing) bool {
		return d.moved("items", "prefixItems") || d.moved("additionalItems", "items") || d.any("prefixItems") && d.any("additionalItems", "items")
	}},
	{respelling("defs-renamed", "a definition has another name"), func(d differing) bool { return d.old["$ref"] != nil && d.new["$ref"] != nil }},
	{respelling("ref-inlined-or-extracted", "a part moved into a definition, or out of one"), func(d differing) bool { return d.any("$ref") }},
	{respelling("all-of-inlined", "allOf was merged, or split off"), func(d differing) bool { return d.any("allOf") }},
	{respelling("union-branches-reordered", "the forms of a union changed their order"), func(d differing) bool {
		return d.only("anyOf", "oneOf") && sameMembers(d.old["anyOf"], d.new["anyOf"]) && sameMembers(d.old["oneOf"], d.new["oneOf"])
	}},
	{respelling("any-of-branch-redundant", "a form came or went that another one covers"), func(d differing) bool { return d.only("anyOf", "oneOf") }},
	{respelling("bound-implied", "a bound came or went that other keywords imply"), func(d differing) bool {
		for _, n := range d.names {
			if _, ok := bounds[ss.Facet(n)]; !ok && n != "format" && n != "pattern" && n != "multipleOf" {
				return false
			}
		}
		return true
	}},
}

var kindTrueToEmpty = respelling("boolean-schema-true-to-empty", "true is written as {}, or the other way round")

func sameMembers(a, b jsonx.Raw) bool {
	x, _ := jsonx.Elements(a, jsonx.Strict)
	y, _ := jsonx.Elements(b, jsonx.Strict)
	s := func(es []jsonx.Raw) []string {
		out := make([]string, len(es))
		for i, e := range es {
			out[i] = string(e)
		}
		sort.Strings(out)
		return out
	}
	return slices.Equal(s(x), s(y))
}

// respelled names how two schemas differ that accept the same values and say
// the same: cosmetic, but the file changed.
func (j *judge) respelled() {
	k, pointer, before, after := firstRespelling(j.old.raw, j.new.raw, "")
	if k == nil || k == kindRespelled && len(j.changes) > 0 {
		return // what is known to differ is the whole difference
	}
	ch := j.change(k, Place{Pointer: pointer})
	ch.Class, ch.Before, ch.After = Cosmetic, before, after
	if k.class != Cosmetic {
		ch.Message += "; its forms exclude each other"
		ch.Why = kindRespelled.Why
	}
	j.changes = append(j.changes, ch)
}

// sameSet reports whether two arrays hold the same values, however often.
func sameSet(a, b jsonx.Raw) bool {
	set := func(raw jsonx.Raw) map[string]bool {
		out := map[string]bool{}
		es, _ := jsonx.Elements(raw, jsonx.Strict)
		for _, e := range es {
			out[string(e)] = true
		}
		return out
	}
	return maps.Equal(set(a), set(b))
}

// firstRespelling walks down to the first schema whose own members differ.
func firstRespelling(old, new jsonx.Raw, pointer string) (k *kind, at string, before, after jsonx.Raw) {
	if string(old) == string(new) {
		return nil, "", nil, nil
	}
	trueOrEmpty := func(v jsonx.Raw) bool { return string(v) == "true" || string(v) == "{}" }
	if trueOrEmpty(old) && trueOrEmpty(new) {
		return kindTrueToEmpty, pointer, old, new
	}
	if jsonx.KindOf(old) == jsonx.Array && jsonx.KindOf(new) == jsonx.Array {
		x, _ := jsonx.Elements(old, jsonx.Strict)
		y, _ := jsonx.Elements(new, jsonx.Strict)
		if len(x) == len(y) {
			for i := range x {
				if k, at, b, n := firstRespelling(x[i], y[i], jsonx.Push(pointer, strconv.Itoa(i))); k != nil {
					return k, at, b, n
				}
			}
		}
		return kindRespelled, pointer, old, new
	}
	if jsonx.KindOf(old) != jsonx.Object || jsonx.KindOf(new) != jsonx.Object {
		return kindRespelled, pointer, old, new
	}
	d := differing{old: members(old), new: members(new)}
	inner := []string{}
	for _, n := range union(d.old, d.new) {
		b, a := d.old[n], d.new[n]
		switch {
		case string(b) == string(a):
		case b != nil && a != nil && descends(n, b, a):
			inner = append(inner, n)
		default:
			d.names = append(d.names, n)
		}
	}
	own := slices.DeleteFunc(slices.Clone(d.names), func(n string) bool {
		return slices.Contains(definitionWords, n) || slices.Contains(documentWords, n)
	})
	if len(own) > 0 {
		d.names = own
		for _, s := range spellings {
			if s.applies(d) {
				return s.k, pointer, old, new
			}
		}
		return kindRespelled, pointer, old, new
	}
	// Definitions last: what refers to them tells more.
	order.Stable(inner, func(a, b string) int { return cmp.Compare(definitionRank(a), definitionRank(b)) })
	for _, n := range inner {
		if k, at, b, a := firstRespelling(d.old[n], d.new[n], jsonx.Push(pointer, n)); k != nil {
			return k, at, b, a
		}
	}
	return nil, "", nil, nil // what differs is judged by itself
}

// definitionWords hold what other parts refer to; documentWords are judged by
// themselves.
var (
	definitionWords = []string{"$defs", "definitions"}
	documentWords   = []string{"$schema", "$id", "$anchor", headerKeyword}
)

func definitionRank(name string) int {
	if slices.Contains(definitionWords, name) {
		return 1
	}
	return 0
}

// descends reports whether a difference under the keyword lies deeper.
func descends(keyword string, old, new jsonx.Raw) bool {
	if jsonx.KindOf(old) != jsonx.KindOf(new) {
		trueOrEmpty := func(v jsonx.Raw) bool { return string(v) == "true" || string(v) == "{}" }
		return trueOrEmpty(old) && trueOrEmpty(new) && keyword != "additionalProperties"
	}
	switch keyword {
	case "type", "enum", "const", "required", "anyOf", "oneOf", "allOf":
		x, _ := jsonx.Elements(old, jsonx.Strict)
		y, _ := jsonx.Elements(new, jsonx.Strict)
		return (keyword == "anyOf" || keyword == "oneOf" || keyword == "allOf") && len(x) == len(y) && !sameMembers(old, new)
	}
	return jsonx.KindOf(old) == jsonx.Object || jsonx.KindOf(old) == jsonx.Array
}

func members(raw jsonx.Raw) map[string]jsonx.Raw {
	out := map[string]jsonx.Raw{}
	ms, _ := jsonx.Members(raw, jsonx.Strict)
	for _, m := range ms {
		out[m.Name] = m.Value
	}
	return out
}

func union(a, b map[string]jsonx.Raw) []string {
	all := map[string]bool{}
	for n := range a {
		all[n] = true
	}
	for n := range b {
		all[n] = true
	}
	return sortedKeys(all)
}
