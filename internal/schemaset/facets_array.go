// SPDX-License-Identifier: Apache-2.0

package schemaset

func (v *view) arrays() arrayParts {
	var out arrayParts
	for _, n := range v.nodes {
		if n.arr != nil {
			out = append(out, n.arr)
		}
	}
	return out
}

func (f *facets) arrays() {
	f.count(FacetMinItems, true, func(n *node) (int, bool) {
		if n.arr == nil {
			return 0, false
		}
		return n.arr.min, true
	}, func(c int) *node { return arrayNode(&arrayPart{min: c, max: absent, minC: 1, maxC: absent}) })
	f.count(FacetMaxItems, false, func(n *node) (int, bool) {
		if n.arr == nil {
			return 0, false
		}
		return n.arr.max, true
	}, func(c int) *node { return arrayNode(&arrayPart{max: c, minC: 1, maxC: absent}) })
	f.uniqueness()
	f.contains()
	f.elements()
}

func (f *facets) uniqueness() {
	find := func(v *view) (src from) {
		for _, n := range v.nodes {
			if n.arr != nil && n.arr.unique {
				return from{n, "uniqueItems"}
			}
		}
		return src
	}
	o, n := find(f.old), find(f.new)
	if (o.n == nil) == (n.n == nil) {
		return
	}
	c := arrayNode(&arrayPart{max: absent, minC: 1, maxC: absent, unique: true})
	if n.n != nil {
		f.propose(f.delta(FacetUniqueItems, o, n), c, nil)
	} else {
		f.propose(f.delta(FacetUniqueItems, o, n), nil, c)
	}
}

func (f *facets) contains() {
	find := func(v *view) (src from, part *arrayPart) {
		for _, n := range v.nodes {
			if n.arr != nil && n.arr.contains != nil {
				return from{n, "contains"}, n.arr
			}
		}
		return src, nil
	}
	of, o := find(f.old)
	nf, n := find(f.new)
	constraint := func(p *arrayPart, least, most bool) *node {
		if p == nil {
			return nil
		}
		q := &arrayPart{max: absent, contains: p.contains, minC: 0, maxC: absent}
		if least {
			q.minC = p.minC
		}
		if most {
			q.maxC = p.maxC
		}
		return arrayNode(q)
	}
	if o == nil && n == nil {
		return
	}
	if o == nil || n == nil || !f.x.s.same(o.contains, n.contains) {
		f.propose(f.delta(FacetContains, of, nf), constraint(n, true, true), constraint(o, true, true))
		return
	}
	if o.minC != n.minC {
		d := f.delta(FacetMinContains, from{of.n, "minContains"}, from{nf.n, "minContains"})
		f.propose(d, constraint(n, true, false), constraint(o, true, false))
	}
	if o.maxC != n.maxC {
		d := f.delta(FacetMaxContains, from{of.n, "maxContains"}, from{nf.n, "maxContains"})
		f.propose(d, constraint(n, false, true), constraint(o, false, true))
	}
}

// elements compares the positions of tuples and what follows them.
func (f *facets) elements() {
	olds, news := f.old.arrays(), f.new.arrays()
	longest := func(as arrayParts) int {
		n := 0
		for _, a := range as {
			n = max(n, len(a.prefix))
		}
		return n
	}
	lo, ln := longest(olds), longest(news)
	for i := range max(lo, ln) {
		o, n := solid(olds.at(i)), solid(news.at(i))
		at := f.at.into(Step{Kind: StepIndex, Index: i}, true)
		if i < lo && i < ln {
			f.x.walk(olds.at(i), news.at(i), at)
			continue
		}
		if f.x.s.goalKey(o, nil) == f.x.s.goalKey(n, nil) {
			continue
		}
		d := f.delta(FacetPrefixItem, elementFrom(f.old, i), elementFrom(f.new, i))
		d.HasOld, d.HasNew = i < lo, i < ln
		f.x.propose(d, at, f.v, orNil(n), orNil(o))
	}
	behind := max(lo, ln)
	o, n := solid(olds.at(behind)), solid(news.at(behind))
	at := f.at.into(Step{Kind: StepItems, Index: behind}, true)
	closed := func(ns []*node) bool {
		for _, n := range ns {
			if n.never {
				return true
			}
		}
		return false
	}
	switch {
	case len(o) == 0 && len(n) == 0:
		f.x.walk(olds.at(behind), news.at(behind), at) // for their texts
	case len(o) > 0 && len(n) > 0 && closed(o) == closed(n):
		if !closed(o) {
			f.x.walk(o, n, at)
		}
	default:
		d := f.delta(FacetItems, elementFrom(f.old, behind), elementFrom(f.new, behind))
		d.OldClosed, d.NewClosed = closed(o), closed(n)
		f.x.propose(d, at, f.v, orNil(n), orNil(o))
	}
}

// solid leaves out the schemas that accept everything.
func solid(ns []*node) []*node {
	var out []*node
	for _, n := range ns {
		if !n.trivial() {
			out = append(out, n)
		}
	}
	return out
}

func orNil(ns []*node) *node {
	switch len(ns) {
	case 0:
		return nil
	case 1:
		return ns[0]
	}
	return all(ns)
}

func elementFrom(v *view, i int) from {
	for _, n := range v.nodes {
		if n.arr == nil {
			continue
		}
		if i < len(n.arr.prefix) {
			if n.src.get("prefixItems") != nil {
				return from{n, "prefixItems"}
			}
			return from{n, "items"}
		}
		if n.arr.rest != nil {
			if n.src.get("additionalItems") != nil && len(n.arr.prefix) > 0 {
				return from{n, "additionalItems"}
			}
			return from{n, "items"}
		}
	}
	return from{}
}
