// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/big"
	"strings"
)

// sample is the second engine: it builds small concrete values from what the
// schemas mention and tries them. It never proves that there is none.
func (s *solver) sample(pos, neg []*node) *val {
	if s.bare {
		return nil
	}
	var pool []*val
	for _, list := range [...][]*node{pos, neg} {
		for _, n := range list {
			pool = append(pool, candidates(n, 200)...)
		}
	}
	for i, v := range pool {
		if i > 600 {
			break
		}
		e := &evaluator{limit: 20_000}
		if e.both(v, pos, neg) == Yes {
			return v
		}
	}
	return nil
}

// candidates lists values near the edges of what n accepts, good and bad ones.
func candidates(n *node, limit int) []*val {
	c := &sampler{busy: map[*node]int{}, limit: limit}
	return c.values(n, 0)
}

type sampler struct {
	busy  map[*node]int
	limit int
	spent int
}

const (
	samplerDepth = 8
	samplerWork  = 20_000
	samplerWords = 100_000 // of the work on one pattern
)

func (c *sampler) values(n *node, depth int) []*val {
	if c.spent++; depth > samplerDepth || c.busy[n] > 1 || c.spent > samplerWork {
		return []*val{newNumber(one)}
	}
	c.busy[n]++
	defer func() { c.busy[n]-- }()
	width := max(4, c.limit>>depth)
	p := &pool{max: width, seen: map[string]bool{}, work: &c.spent}
	p.add(n.samples...)
	if n.enum != nil {
		for i, v := range n.enum.vals {
			if i > 10 {
				break
			}
			p.add(v)
		}
	}
	n.inPlace(func(m *node) {
		for i, v := range c.values(m, depth+1) {
			if i >= width/2 {
				break
			}
			p.add(v)
		}
	})
	if n.mask&kNumber != 0 {
		p.numbers(n.num, n.mask)
	}
	if n.mask&kString != 0 {
		p.strings(n)
	}
	if n.mask&kArray != 0 && n.arr != nil {
		c.arrays(p, n.arr, depth)
	}
	if n.mask&kObject != 0 && n.obj != nil {
		c.objects(p, n.obj, depth)
	}
	p.combine()
	p.add(newString("text"), newNumber(one), newBool(true), &val{kind: kNull}, newArray(nil), newObject(nil), newNumber(big.NewRat(1, 2)))
	return p.vals
}

// pool is a list of distinct values.
type pool struct {
	vals []*val
	seen map[string]bool
	max  int
	work *int
}

func (p *pool) add(vs ...*val) {
	for _, v := range vs {
		if len(p.vals) >= p.max {
			return
		}
		if v = v.built(); v.huge {
			continue
		}
		*p.work += v.size / 64
		if k := v.key(); !p.seen[k] {
			p.seen[k] = true
			p.vals = append(p.vals, v)
		}
	}
}

func (p *pool) numbers(n *numberPart, mask kinds) {
	near := func(r *big.Rat) {
		for _, d := range []*big.Rat{new(big.Rat), one, big.NewRat(-1, 1), big.NewRat(1, 2), big.NewRat(-1, 2)} {
			p.add(newNumber(new(big.Rat).Add(r, d)))
		}
	}
	if n == nil {
		return
	}
	if n.lo != nil {
		near(n.lo.at)
	}
	if n.hi != nil {
		near(n.hi.at)
	}
	for _, m := range n.mult {
		p.add(newNumber(m), newNumber(new(big.Rat).Add(m, m)))
		if n.lo != nil {
			k := new(big.Rat).SetInt(ceil(new(big.Rat).Quo(n.lo.at, m)))
			p.add(newNumber(k.Mul(k, m)))
		}
	}
}

func (p *pool) strings(n *node) {
	if f := sampleOf(n.format); f != "" {
		p.add(newString(f))
	}
	s := n.str
	if s == nil {
		return
	}
	length := func(k int) {
		if k >= 0 && k < 5_000 {
			p.add(newString(strings.Repeat("a", k)))
		}
	}
	length(s.min)
	length(s.min - 1)
	if s.max != absent {
		length(s.max)
		length(s.max + 1)
	}
	for _, pat := range s.pats {
		q := wordQuery{yes: []*pattern{pat}, min: s.min, max: s.max, states: 500, work: wordWork - samplerWords}
		if w, st := q.find(); st == sat {
			p.add(newString(w))
		}
		q = wordQuery{no: []*pattern{pat}, min: s.min, max: s.max, states: 500, work: wordWork - samplerWords}
		if w, st := q.find(); st == sat {
			p.add(newString(w))
		}
	}
}

func (c *sampler) arrays(p *pool, a *arrayPart, depth int) {
	var first, second []*val
	elem := func(i int) []*val {
		switch {
		case i < len(a.prefix):
			return c.values(a.prefix[i], depth+1)
		case a.rest != nil:
			if second == nil {
				second = c.values(a.rest, depth+1)
			}
			return second
		}
		return []*val{newNumber(one), newString("text")}
	}
	if a.contains != nil {
		first = c.values(a.contains, depth+1)
	}
	build := func(length int, pick func(i int) *val) {
		if length < 0 || length > 200 {
			return
		}
		es := make([]*val, length)
		for i := range es {
			es[i] = pick(i)
		}
		p.add(newArray(es))
	}
	lengths := []int{1, 0, 2, a.min, a.min - 1, len(a.prefix), len(a.prefix) + 1}
	if a.max != absent {
		lengths = append(lengths, a.max, a.max+1)
	}
	for _, l := range lengths {
		build(l, func(i int) *val { vs := elem(i); return vs[0] })
		build(l, func(i int) *val { vs := elem(i); return vs[i%len(vs)] })
	}
	for k, v := range elem(len(a.prefix)) {
		if k > 8 {
			break
		}
		build(max(1, a.min), func(int) *val { return v })
	}
	for k, v := range first {
		if k > 4 {
			break
		}
		for _, l := range []int{max(1, a.min, a.minC), a.maxC, a.maxC + 1} {
			build(l, func(int) *val { return v })
		}
	}
}

func (c *sampler) objects(p *pool, o *objectPart, depth int) {
	vals := map[string][]*val{}
	get := func(name string) []*val {
		if v, ok := vals[name]; ok {
			return v
		}
		v := []*val{newNumber(one), newString("text")}
		if n := o.prop(name); n != nil {
			v = c.values(n, depth+1)
		} else if o.extra != nil {
			v = c.values(o.extra, depth+1)
		}
		vals[name] = v
		return v
	}
	var base []member
	for i, r := range o.required {
		if i < 40 {
			base = append(base, member{r, get(r)[0]})
		}
	}
	with := func(name string, v *val) []member {
		var out []member
		for _, m := range base {
			if m.name != name {
				out = append(out, m)
			}
		}
		if v != nil {
			out = append(out, member{name, v})
		}
		return out
	}
	p.add(newObject(base))
	for i, q := range o.props {
		if i > 30 {
			break
		}
		for k, v := range get(q.name) {
			if k > 10 {
				break
			}
			p.add(newObject(with(q.name, v)))
		}
	}
	for _, m := range base {
		p.add(newObject(with(m.name, nil)))
	}
	for k, v := range get("extra") {
		if k > 5 {
			break
		}
		p.add(newObject(with("extra", v)))
	}
	for _, q := range o.patterns {
		query := wordQuery{yes: []*pattern{q.pat}, max: absent, states: 500, work: wordWork - samplerWords}
		if w, st := query.find(); st == sat {
			for k, v := range c.values(q.node, depth+1) {
				if k > 5 {
					break
				}
				p.add(newObject(with(w, v)))
			}
		}
	}
	full := base
	for i, q := range o.props {
		if i < 30 && !o.requires(q.name) {
			full = append(full[:len(full):len(full)], member{q.name, get(q.name)[0]})
		}
	}
	p.add(newObject(full))
}

// combine merges pairs of objects, as allOf asks for.
func (p *pool) combine() {
	var objs []*val
	for _, v := range p.vals {
		if v.kind == kObject && len(objs) < 8 {
			objs = append(objs, v)
		}
	}
	for i, a := range objs {
		for _, b := range objs[i+1:] {
			ms := a.mem[:len(a.mem):len(a.mem)]
			for _, m := range b.mem {
				if a.get(m.name) == nil {
					ms = append(ms, m)
				}
			}
			p.add(newObject(ms))
		}
	}
}
