// SPDX-License-Identifier: Apache-2.0

package schemaset

import "math/big"

// planted holds wrong rules that tests switch on to see them caught.
var planted struct {
	maxLengthImplied bool
	requiredImplied  bool
	oneOfDisjoint    bool
}

func forbid(name string) *node {
	return newObjectNode(&objectPart{max: absent, props: []property{{name, never}}})
}

var never = falseNode()

func demandNames(names ...string) *node {
	return newObjectNode(&objectPart{max: absent, required: names})
}

func notNode(n *node) *node {
	m := newNode()
	m.not = n
	if n.onlyMask() {
		m.km &^= n.mask
	}
	return m
}

// refuter lists the ways in which a value of the branch can violate a schema.
type refuter struct {
	s    *solver
	b    *branch
	ways disjunction
}

func (r *refuter) way(pos ...*node) { r.ways = append(r.ways, alternative{pos: pos}) }

// refute returns the alternatives of "n does not hold". done means that it does
// not hold anyway. Parts that the branch implies by their hash are left out, so
// that two hundred properties with one difference give one alternative.
func (s *solver) refute(b *branch, n *node) (ways disjunction, done bool) {
	r := &refuter{s: s, b: b}
	seen := map[*node]bool{}
	work := []*node{n}
	for len(work) > 0 {
		m := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[m] {
			continue
		}
		seen[m] = true
		if m.never || m.km&b.kind == 0 {
			return nil, true
		}
		if b.ids[s.id(m)] {
			continue
		}
		s.spend(1)
		r.node(m)
		if m.ref != nil {
			work = append(work, m.ref)
		}
		for i := len(m.allOf) - 1; i >= 0; i-- {
			work = append(work, m.allOf[i])
		}
	}
	return r.ways, false
}

func (r *refuter) node(m *node) {
	if m.opaque != "" {
		r.ways = append(r.ways, alternative{unknown: "undecidable here: " + clip(m.opaque)})
	}
	if m.enum != nil {
		x := newNode()
		x.excluded = []*valueSet{m.enum}
		r.way(x)
	}
	for _, x := range m.excluded {
		y := newNode()
		y.enum = x
		y.mask, y.km = x.kinds, x.kinds
		r.way(y)
	}
	switch r.b.kind {
	case kInt, kFrac:
		if m.num != nil {
			r.number(m.num)
		}
	case kString:
		if m.str != nil {
			r.text(m.str)
		}
	case kArray:
		if m.arr != nil {
			r.array(m.arr)
		}
	case kObject:
		if m.obj != nil {
			r.object(m.obj)
		}
	}
	if len(m.anyOf) > 0 {
		r.ways = append(r.ways, alternative{neg: m.anyOf})
	}
	if len(m.oneOf) > 0 {
		r.ways = append(r.ways, alternative{neg: m.oneOf})
		if len(m.oneOf) > 1 && !r.s.branchesDisjoint(m) {
			for i := range m.oneOf {
				for j := i + 1; j < len(m.oneOf); j++ {
					if m.oneOf[i].km&m.oneOf[j].km&r.b.kind != 0 {
						r.way(m.oneOf[i], m.oneOf[j])
					}
				}
			}
		}
	}
	if m.not != nil {
		r.way(m.not)
	}
	if c := m.cond; c != nil {
		if c.yes != nil {
			r.ways = append(r.ways, alternative{pos: []*node{c.test}, neg: []*node{c.yes}})
		}
		if c.no != nil {
			r.ways = append(r.ways, alternative{neg: []*node{c.test, c.no}})
		}
	}
}

func (r *refuter) number(p *numberPart) {
	part := func(f func(*numberPart)) {
		n := newNode()
		n.num = &numberPart{}
		f(n.num)
		r.way(n)
	}
	have := mergeNumbers(r.b.conj)
	if p.lo != nil && !have.impliesLo(p.lo) {
		part(func(q *numberPart) { q.hi = &bound{p.lo.at, !p.lo.open} })
	}
	if p.hi != nil && !have.impliesHi(p.hi) {
		part(func(q *numberPart) { q.lo = &bound{p.hi.at, !p.hi.open} })
	}
	for _, m := range p.mult {
		part(func(q *numberPart) { q.not = []*big.Rat{m} })
	}
	for _, m := range p.not {
		part(func(q *numberPart) { q.mult = []*big.Rat{m} })
	}
}

func (r *refuter) text(p *stringPart) {
	part := func(q *stringPart) {
		n := newNode()
		n.str = q
		r.way(n)
	}
	lo, hi := 0, absent
	held := map[string]bool{}
	for _, c := range r.b.conj {
		if c.str != nil {
			lo, hi = max(lo, c.str.min), tighter(hi, c.str.max)
			for _, t := range c.str.pats {
				held[t.text] = true
			}
		}
	}
	if p.min > lo {
		part(&stringPart{max: p.min - 1})
	}
	if p.max != absent && (hi == absent || hi > p.max) && !planted.maxLengthImplied {
		part(&stringPart{min: p.max + 1, max: absent})
	}
	for _, t := range p.pats {
		if !held[t.text] {
			part(&stringPart{max: absent, notPats: []*pattern{t}})
		}
	}
	for _, t := range p.notPats {
		part(&stringPart{max: absent, pats: []*pattern{t}})
	}
}

// tighter returns the smaller of two upper bounds.
func tighter(a, b int) int {
	if a == absent || b != absent && b < a {
		return b
	}
	return a
}

func (r *refuter) array(p *arrayPart) {
	part := func(q *arrayPart) {
		n := newNode()
		n.arr = q
		r.way(n)
	}
	have := r.b.arrays()
	lo, hi, unique := have.bounds()
	for i, c := range p.prefix {
		if c.trivial() || hi != absent && i >= hi || r.s.anySame(have.at(i), c) {
			continue
		}
		part(&arrayPart{max: absent, minC: 1, maxC: absent, somewhere: []elementDemand{{from: i, exact: true, neg: c}}})
	}
	if c := p.rest; c != nil && !c.trivial() && (hi == absent || len(p.prefix) < hi) && !r.restHeld(have, p) {
		part(&arrayPart{max: absent, minC: 1, maxC: absent, somewhere: []elementDemand{{from: len(p.prefix), neg: c}}})
	}
	if p.min > lo {
		part(&arrayPart{max: p.min - 1, minC: 1, maxC: absent})
	}
	if p.max != absent && (hi == absent || hi > p.max) {
		part(&arrayPart{min: p.max + 1, max: absent, minC: 1, maxC: absent})
	}
	if p.unique && !unique {
		part(&arrayPart{max: absent, minC: 1, maxC: absent, notUnique: true})
	}
	if p.notUnique {
		part(&arrayPart{max: absent, minC: 1, maxC: absent, unique: true})
	}
	if p.contains != nil {
		if p.minC > 0 {
			part(&arrayPart{max: absent, contains: p.contains, maxC: p.minC - 1})
		}
		if p.maxC != absent {
			part(&arrayPart{max: absent, contains: p.contains, minC: p.maxC + 1, maxC: absent})
		}
	}
	if len(p.somewhere) > 0 {
		r.ways = append(r.ways, alternative{unknown: "a demand was negated"})
	}
}

func (r *refuter) restHeld(have arrayParts, p *arrayPart) bool {
	for _, q := range have {
		if q.rest != nil && len(q.prefix) <= len(p.prefix) && r.s.same(q.rest, p.rest) {
			return true
		}
	}
	return false
}

func (s *solver) same(a, b *node) bool { return a == b || s.id(a) == s.id(b) }

func (s *solver) anySame(list []*node, n *node) bool {
	for _, m := range list {
		if s.same(m, n) {
			return true
		}
	}
	return false
}
