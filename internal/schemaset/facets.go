// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/big"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// facets compares the assertions of two views about one kind of value.
type facets struct {
	x        *explainer
	at       spot
	v        *visit
	base     Delta
	old, new *view
}

// from names the schema that a merged bound comes from.
type from struct {
	n       *node
	keyword string
}

func (f from) ptr(otherwise string) string {
	if f.n == nil || f.n.doc == nil {
		return otherwise
	}
	return jsonx.Push(f.n.ptr, f.keyword)
}

func (f from) raw() jsonx.Raw {
	if f.n == nil {
		return nil
	}
	return rawOf(f.n.src.get(f.keyword))
}

func (f *facets) delta(facet Facet, o, n from) Delta {
	d := f.base
	d.Facet = facet
	d.HasOld, d.HasNew = o.n != nil, n.n != nil
	d.OldPtr, d.NewPtr = o.ptr(d.OldPtr), n.ptr(d.NewPtr)
	d.Before, d.After = o.raw(), n.raw()
	return d
}

func (f *facets) propose(d Delta, lost, gained *node) bool {
	return f.x.propose(d, f.at, f.v, lost, gained)
}

// safeInteger is the largest integer that every float64 up to it can hold.
var safeInteger = big.NewRat(1<<53-1, 1)

func safeBound(b *bound) bool {
	return b != nil && !b.open && new(big.Rat).Abs(b.at).Cmp(safeInteger) == 0
}

type foundBound struct {
	from
	b *bound
}

func findBound(ns []*node, low bool) foundBound {
	var out foundBound
	for _, n := range ns {
		if n.num == nil {
			continue
		}
		b := n.num.lo
		word, strict := "minimum", "exclusiveMinimum"
		if !low {
			b, word, strict = n.num.hi, "maximum", "exclusiveMaximum"
		}
		if b == nil || out.b != nil && implied(out.b, b, low) {
			continue
		}
		if b.open && (n.doc == nil || n.src.get(word) == nil || n.src.get(strict) != nil && n.src.get(strict).kind != kBool) {
			word = strict
		}
		out = foundBound{from{n, word}, b}
	}
	return out
}

// implied reports whether have is at least as tight as b.
func implied(have, b *bound, low bool) bool {
	if have == nil {
		return false
	}
	if low {
		return numbers{lo: have}.impliesLo(b)
	}
	return numbers{hi: have}.impliesHi(b)
}

func (f *facets) numbers() {
	for _, low := range [...]bool{true, false} {
		o, n := findBound(f.old.nodes, low), findBound(f.new.nodes, low)
		constraint := func(b *bound) *node {
			c := newNode()
			c.num = &numberPart{}
			if low {
				c.num.lo = b
			} else {
				c.num.hi = b
			}
			return c
		}
		var lost, gained *node
		if n.b != nil && !implied(o.b, n.b, low) {
			lost = constraint(n.b)
		}
		if o.b != nil && !implied(n.b, o.b, low) {
			gained = constraint(o.b)
		}
		if lost == nil && gained == nil {
			continue
		}
		facet := FacetMinimum
		strict := o.b != nil && o.b.open || n.b != nil && n.b.open
		if n.b != nil && o.b != nil {
			strict = n.b.open
		}
		switch {
		case low && strict:
			facet = FacetExclusiveMinimum
		case !low && strict:
			facet = FacetExclusiveMaximum
		case !low:
			facet = FacetMaximum
		}
		d := f.delta(facet, o.from, n.from)
		d.SafeInteger = lost != nil && safeBound(n.b) || gained != nil && safeBound(o.b)
		f.propose(d, lost, gained)
	}
	f.multiples()
}

func (f *facets) multiples() {
	collect := func(ns []*node) (src from, out []*big.Rat) {
		for _, n := range ns {
			if n.num != nil && len(n.num.mult) > 0 {
				src = from{n, "multipleOf"}
				out = append(out, n.num.mult...)
			}
		}
		return src, out
	}
	of, olds := collect(f.old.nodes)
	nf, news := collect(f.new.nodes)
	texts := func(rs []*big.Rat) []string {
		var out []string
		for _, r := range rs {
			out = append(out, r.RatString())
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if slices.Equal(texts(olds), texts(news)) {
		return
	}
	constraint := func(rs []*big.Rat) *node {
		if rs == nil {
			return nil
		}
		c := newNode()
		c.num = &numberPart{mult: rs}
		return c
	}
	f.propose(f.delta(FacetMultipleOf, of, nf), constraint(news), constraint(olds))
}

// count compares a pair of lower or upper bounds of a length.
func (f *facets) count(facet Facet, low bool, part func(*node) (int, bool), constraint func(int) *node) {
	find := func(ns []*node) (src from, n int) {
		n = absent
		for _, m := range ns {
			c, ok := part(m)
			if !ok || m.src.get(string(facet)) == nil || c == absent {
				continue
			}
			if n == absent || low && c > n || !low && c < n {
				src, n = from{m, string(facet)}, c
			}
		}
		return src, n
	}
	of, o := find(f.old.nodes)
	nf, n := find(f.new.nodes)
	if low {
		o, n = max(o, 0), max(n, 0)
	}
	if o == n {
		return
	}
	newTighter := o == absent || n != absent && (low && n > o || !low && n < o)
	var lost, gained *node
	if newTighter {
		lost = constraint(n)
	} else {
		gained = constraint(o)
	}
	f.propose(f.delta(facet, of, nf), lost, gained)
}

func (f *facets) strings() {
	f.count(FacetMinLength, true, func(n *node) (int, bool) {
		if n.str == nil {
			return 0, false
		}
		return n.str.min, true
	}, func(c int) *node { return stringNode(&stringPart{min: c, max: absent}) })
	f.count(FacetMaxLength, false, func(n *node) (int, bool) {
		if n.str == nil {
			return 0, false
		}
		return n.str.max, true
	}, func(c int) *node { return stringNode(&stringPart{max: c}) })
	collect := func(ns []*node) (src from, out []*pattern) {
		for _, n := range ns {
			if n.str != nil && len(n.str.pats) > 0 {
				src = from{n, "pattern"}
				out = append(out, n.str.pats...)
			}
		}
		return src, out
	}
	of, olds := collect(f.old.nodes)
	nf, news := collect(f.new.nodes)
	sorted := func(ps []*pattern) []string {
		out := patternTexts(ps)
		slices.Sort(out)
		return slices.Compact(out)
	}
	if slices.Equal(sorted(olds), sorted(news)) {
		return
	}
	constraint := func(ps []*pattern) *node {
		if ps == nil {
			return nil
		}
		return stringNode(&stringPart{max: absent, pats: ps})
	}
	f.propose(f.delta(FacetPattern, of, nf), constraint(news), constraint(olds))
}

func stringNode(p *stringPart) *node {
	n := newNode()
	n.str = p
	return n
}

func arrayNode(p *arrayPart) *node {
	n := newNode()
	n.arr = p
	return n
}
