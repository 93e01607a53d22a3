// SPDX-License-Identifier: Apache-2.0

package schemaset

import "slices"

// fresh returns names that nothing mentions: for a demand one of each class of
// names, for padding up to count names of each class.
func (o *objectBuilder) fresh(d *keyDemand, count int) []string {
	if len(o.pats) == 0 && len(o.names) == 0 && (d == nil || d.nameNeg == nil) {
		return o.plain(count)
	}
	if len(o.pats) > maxPatterns {
		o.gap("too many patterns of names")
		// One likely class, in the hope of a value.
		var yes, no []*pattern
		if d != nil && d.match != nil {
			yes = append(yes, d.match)
		}
		if d != nil && d.outside != nil {
			for _, q := range d.outside.patterns {
				no = append(no, q.pat)
			}
		}
		return o.freshFrom(d, count, yes, no)
	}
	var out []string
	for set := range 1 << len(o.pats) {
		var yes, no []*pattern
		for i, p := range o.pats {
			if set>>i&1 == 1 {
				yes = append(yes, p)
			} else {
				no = append(no, p)
			}
		}
		out = append(out, o.freshFrom(d, count, yes, no)...)
	}
	return out
}

// plain makes up names where any will do.
func (o *objectBuilder) plain(count int) []string {
	var out []string
	for i := 0; len(out) < count && i < count+100_000; i++ {
		if name := extraName(i); !o.mentions(name) {
			out = append(out, name)
		}
	}
	return out
}

func (o *objectBuilder) mentions(name string) bool {
	for _, e := range o.entries {
		if e.name == name {
			return true
		}
	}
	for _, p := range o.parts {
		if p.prop(name) != nil || p.requires(name) {
			return true
		}
	}
	for _, d := range o.demands {
		if d.outside != nil && d.outside.prop(name) != nil {
			return true
		}
	}
	return false
}

// freshFrom solves for names of one class: they match yes and not no, satisfy
// propertyNames and what the demand says of the name.
func (o *objectBuilder) freshFrom(d *keyDemand, count int, yes, no []*pattern) []string {
	if d != nil {
		for _, p := range no {
			if d.match != nil && d.match.text == p.text {
				return nil
			}
		}
		if d.outside != nil {
			for _, q := range d.outside.patterns {
				if slices.ContainsFunc(yes, func(p *pattern) bool { return p.text == q.pat.text }) {
					return nil
				}
			}
		}
	}
	class := newNode()
	class.mask, class.km = kString, kString
	if len(yes)+len(no) > 0 {
		class.str = &stringPart{max: absent, pats: yes, notPats: no}
	}
	pos := append([]*node{class}, o.names...)
	var neg []*node
	if d != nil && d.nameNeg != nil {
		neg = append(neg, d.nameNeg)
	}
	taken := newValueSet(nil)
	for _, name := range o.candidates() {
		taken.add(newString(name))
	}
	var out []string
	for len(out) < count {
		if len(taken.vals) > 0 {
			class.excluded = []*valueSet{taken}
		}
		// A copy, because nodes are numbered by identity.
		c := *class
		pos[0] = &c
		res := o.s.goal(pos, neg)
		if res.st == unknown {
			o.gap(res.reason)
		}
		if res.st != sat {
			break
		}
		if res.v.kind != kString || res.v.huge {
			o.gap("a name too long to try")
			break
		}
		out = append(out, res.v.str)
		grown := newValueSet(taken.vals)
		grown.add(res.v)
		taken = grown
	}
	return out
}
