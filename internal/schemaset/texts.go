// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"bytes"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// textFacets are the keywords that assert nothing, in the order of reporting.
var textFacets = []Facet{
	FacetTitle, FacetDescription, FacetComment, FacetDefault, FacetExamples, FacetDeprecated,
	FacetReadOnly, FacetWriteOnly, FacetFormat, FacetContentEncoding, FacetContentMediaType, FacetContentSchema,
}

// knownWords are the keywords with a meaning here; all others are a vendor's.
var knownWords = map[string]bool{}

func init() {
	for _, f := range textFacets {
		knownWords[string(f)] = true
	}
	for _, w := range [...]string{
		"$schema", "$id", "id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
		"$vocabulary", "$defs", "definitions", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "items", "prefixItems", "additionalItems",
		"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "properties", "required",
		"additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties", "dependencies",
		"dependentRequired", "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties",
	} {
		knownWords[w] = true
	}
}

// annotations compares what people and models read of a place.
func (x *explainer) annotations(olds, news []*node, at spot) {
	for _, f := range textFacets {
		x.annotation(f, string(f), olds, news, at)
	}
	words := map[string]bool{}
	for _, list := range [...][]*node{olds, news} {
		for _, n := range list {
			if n.src == nil {
				continue
			}
			for _, m := range n.src.mem {
				if !knownWords[m.name] {
					words[m.name] = true
				}
			}
		}
	}
	if len(words) == 0 {
		return
	}
	sorted := make([]string, 0, len(words))
	for w := range words {
		sorted = append(sorted, w)
	}
	slices.Sort(sorted)
	for _, w := range sorted {
		x.annotation(FacetVendor, w, olds, news, at)
	}
}

func (x *explainer) annotation(f Facet, keyword string, olds, news []*node, at spot) {
	find := func(ns []*node) (*node, *val) {
		for _, n := range ns {
			if v := n.src.get(keyword); v != nil {
				return n, v
			}
		}
		return nil, nil
	}
	on, o := find(olds)
	nn, n := find(news)
	if o == nil && n == nil || o != nil && n != nil && (bytes.Equal(o.raw, n.raw) || o.key() == n.key()) {
		return
	}
	d := Delta{Facet: f, HasOld: o != nil, HasNew: n != nil, Before: rawOf(o), After: rawOf(n)}
	if f == FacetVendor {
		d.Name = keyword
	}
	d.OldPtr, d.NewPtr = (&view{nodes: olds}).ptr(), (&view{nodes: news}).ptr()
	if on != nil {
		d.OldPtr = jsonx.Push(on.ptr, keyword)
	}
	if nn != nil {
		d.NewPtr = jsonx.Push(nn.ptr, keyword)
	}
	if f == FacetDefault {
		d.OldDefault, d.NewDefault = d.Before, d.After
		x.defaultFits(&d, news)
	}
	x.text(d, at)
}

// defaultFits notes a new default that its own schema refuses.
func (x *explainer) defaultFits(d *Delta, news []*node) {
	if d.NewDefault == nil {
		return
	}
	v, err := readTree(d.NewDefault)
	if err != nil {
		return
	}
	e := newEvaluator()
	for _, n := range news {
		if e.eval(n, v) == No {
			d.DefaultInvalid = true
		}
	}
}

// valueTexts compares the titles and descriptions of values both sides list.
func (x *explainer) valueTexts(oe, ne *valueSet, base Delta, at spot) {
	if oe.texts == nil && ne.texts == nil {
		return
	}
	for _, v := range ne.vals {
		k := v.key()
		if !oe.has(v) {
			continue
		}
		o, n := oe.texts[k], ne.texts[k]
		if o == n {
			continue
		}
		d := base
		d.Facet, d.Removed, d.Added = FacetValueText, nil, nil
		d.Name = v.str
		if v.kind != kString {
			d.Name = string(rawOf(v))
		}
		join := func(t [2]string) jsonx.Raw {
			switch {
			case t[0] == "" && t[1] == "":
				return nil
			case t[1] == "":
				return jsonx.Quote(t[0])
			case t[0] == "":
				return jsonx.Quote(t[1])
			}
			return jsonx.Quote(t[0] + ": " + t[1])
		}
		d.Before, d.After = join(o), join(n)
		x.text(d, at)
	}
	if !slices.EqualFunc(oe.vals, ne.vals, func(a, b *val) bool { return a.key() == b.key() }) {
		return
	}
}

// documents compares what belongs to the documents as wholes.
func (x *explainer) documents() {
	o, n := x.old.tree, x.new.tree
	for _, w := range [...]struct {
		keyword string
		facet   Facet
	}{{"$schema", FacetDialect}, {"$id", FacetIdentity}, {"$anchor", FacetIdentity}} {
		a, b := o.get(w.keyword), n.get(w.keyword)
		if a == nil && b == nil || a != nil && b != nil && a.key() == b.key() {
			continue
		}
		d := Delta{Facet: w.facet, Name: w.keyword, HasOld: a != nil, HasNew: b != nil, Before: rawOf(a), After: rawOf(b)}
		if a != nil {
			d.OldPtr = "/" + w.keyword
		}
		if b != nil {
			d.NewPtr = "/" + w.keyword
		}
		x.text(d, spot{})
	}
	for _, word := range [...]string{"$defs", "definitions"} {
		x.definitions(word)
	}
}

// definitions reports definitions that no reference reaches on either side.
func (x *explainer) definitions(word string) {
	a, b := x.old.tree.get(word), x.new.tree.get(word)
	names := map[string]bool{}
	for _, v := range [...]*val{a, b} {
		if v != nil {
			for _, m := range v.mem {
				names[m.name] = true
			}
		}
	}
	list := make([]string, 0, len(names))
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	for _, name := range list {
		ptr := jsonx.Push("/"+word, name)
		o, n := a.get(name), b.get(name)
		if o != nil && n != nil {
			if x.old.refs[ptr] || x.new.refs[ptr] || o.key() == n.key() {
				continue
			}
		}
		d := Delta{Facet: FacetDefs, Name: name, HasOld: o != nil, HasNew: n != nil}
		if o != nil {
			d.OldPtr = ptr
		}
		if n != nil {
			d.NewPtr = ptr
		}
		x.text(d, spot{})
	}
}

// orders reports lists that hold the same in another order.
func (x *explainer) orders(base Delta, at spot, o, n *objectSide) {
	for _, keyword := range [...]string{"properties", "required"} {
		names := func(s *objectSide) []string {
			var out []string
			for _, m := range s.nodes {
				v := m.src.get(keyword)
				if v == nil {
					continue
				}
				for _, p := range v.mem {
					out = append(out, p.name)
				}
				for _, e := range v.arr {
					out = append(out, e.str)
				}
			}
			return out
		}
		a, b := names(o), names(n)
		if slices.Equal(a, b) || len(a) != len(b) || !slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
			continue
		}
		d := base
		d.Facet, d.Name = FacetOrder, keyword
		x.text(d, at)
	}
}
