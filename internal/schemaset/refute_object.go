// SPDX-License-Identifier: Apache-2.0

package schemaset

func (r *refuter) object(p *objectPart) {
	have := r.b.objects()
	lo, hi := have.bounds()
	part := func(q *objectPart) { r.way(newObjectNode(q)) }
	for _, name := range p.required {
		if have.requires(name) || planted.requiredImplied {
			continue
		}
		r.way(forbid(name))
	}
	for _, q := range p.props {
		if q.node.trivial() || r.s.anySame(have.at(q.name), q.node) {
			continue
		}
		part(&objectPart{max: absent, required: []string{q.name}, props: []property{{q.name, notNode(q.node)}}})
	}
	for _, q := range p.patterns {
		if q.node.trivial() || r.patternHeld(have, q) {
			continue
		}
		part(&objectPart{max: absent, demands: []keyDemand{{match: q.pat, neg: q.node}}})
	}
	if p.extra != nil && !p.extra.trivial() && !r.extraHeld(have, p) {
		part(&objectPart{max: absent, demands: []keyDemand{{outside: p, neg: p.extra}}})
	}
	if p.names != nil && !p.names.trivial() && !r.namesHeld(have, p.names) {
		part(&objectPart{max: absent, demands: []keyDemand{{nameNeg: p.names}}})
	}
	if p.min > lo {
		part(&objectPart{max: p.min - 1})
	}
	if p.max != absent && (hi == absent || hi > p.max) {
		part(&objectPart{min: p.max + 1, max: absent})
	}
	for _, d := range p.depReq {
		for _, name := range d.names {
			if name != d.name && !have.requires(name) {
				r.way(demandNames(d.name), forbid(name))
			}
		}
	}
	for _, d := range p.depSch {
		r.ways = append(r.ways, alternative{pos: []*node{demandNames(d.name)}, neg: []*node{d.node}})
	}
	if len(p.demands) > 0 {
		r.ways = append(r.ways, alternative{unknown: "a demand was negated"})
	}
}

func (r *refuter) patternHeld(have objectParts, q patternProperty) bool {
	for _, o := range have {
		for _, held := range o.patterns {
			if held.pat.text == q.pat.text && r.s.same(held.node, q.node) {
				return true
			}
		}
	}
	return false
}

func (r *refuter) namesHeld(have objectParts, names *node) bool {
	for _, o := range have {
		if o.names != nil && r.s.same(o.names, names) {
			return true
		}
	}
	return false
}

// extraHeld reports whether some asserted part says the same of at least the
// names that are additional for p.
func (r *refuter) extraHeld(have objectParts, p *objectPart) bool {
	for _, o := range have {
		if o.extra == nil || !r.s.same(o.extra, p.extra) || len(o.props) > len(p.props) {
			continue
		}
		held := true
		for _, q := range o.props {
			if p.prop(q.name) == nil {
				held = false
				break
			}
		}
		for _, q := range o.patterns {
			known := false
			for _, t := range p.patterns {
				known = known || t.pat.text == q.pat.text
			}
			held = held && known
		}
		if held {
			return true
		}
	}
	return false
}

// objectParts are the parts of a branch that speak of objects.
type objectParts []*objectPart

func (b *branch) objects() objectParts {
	var out objectParts
	for _, c := range b.conj {
		if c.obj != nil {
			out = append(out, c.obj)
		}
	}
	return out
}

func (os objectParts) bounds() (lo, hi int) {
	hi = absent
	for _, o := range os {
		lo, hi = max(lo, o.min), tighter(hi, o.max)
	}
	return lo, hi
}

func (os objectParts) requires(name string) bool {
	for _, o := range os {
		if o.requires(name) {
			return true
		}
	}
	return false
}

// at returns the schemas that apply to the member called name. Patterns that
// cannot be decided are skipped: the result may miss some.
func (os objectParts) at(name string) []*node {
	out, _ := os.member(name)
	return out
}

// member is at that also says whether all patterns could be decided.
func (os objectParts) member(name string) (out []*node, sure bool) {
	sure = true
	for _, o := range os {
		known, open := false, false
		if n := o.prop(name); n != nil {
			known = true
			out = append(out, n)
		}
		for _, q := range o.patterns {
			switch q.pat.eval(name) {
			case Yes:
				known = true
				out = append(out, q.node)
			case Unknown:
				open = true
			}
		}
		if open {
			// Whether extra applies is open as well: claim nothing.
			sure = false
			continue
		}
		if !known && o.extra != nil {
			out = append(out, o.extra)
		}
	}
	return out, sure
}
