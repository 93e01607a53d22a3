// SPDX-License-Identifier: Apache-2.0

package schemaset

import "slices"

// arrayParts are the parts of a branch that speak of arrays.
type arrayParts []*arrayPart

func (b *branch) arrays() arrayParts {
	var out arrayParts
	for _, c := range b.conj {
		if c.arr != nil {
			out = append(out, c.arr)
		}
	}
	return out
}

func (as arrayParts) bounds() (lo, hi int, unique bool) {
	hi = absent
	for _, a := range as {
		lo, hi = max(lo, a.min), tighter(hi, a.max)
		unique = unique || a.unique
	}
	return lo, hi, unique
}

// at returns the schemas that apply to the element i.
func (as arrayParts) at(i int) []*node {
	var out []*node
	for _, a := range as {
		switch {
		case i < len(a.prefix):
			out = append(out, a.prefix[i])
		case a.rest != nil:
			out = append(out, a.rest)
		}
	}
	return out
}

// slot collects what is demanded of one element.
type slot struct {
	pos, neg []*node
	counted  []*node // the contains schemas it serves
}

// arrayBuilder places demands on elements. Elements behind all prefixes are
// alike, so that of the free ones only the first need be tried.
type arrayBuilder struct {
	s      *solver
	b      *branch
	parts  arrayParts
	lo, hi int
	unique bool
	same   bool // two elements must be equal
	behind int  // the first index behind all prefixes
	wants  []want
	limits []*arrayPart // contains with an upper bound
	slots  map[int]*slot
	twin   [2]int
}

type want struct {
	from  int
	exact bool
	neg   *node
	pos   *node // a contains schema
	next  bool  // must stand behind the previous want
}

const maxWants = 40

func (s *solver) leafArray(b *branch) outcome {
	a := &arrayBuilder{s: s, b: b, parts: b.arrays(), slots: map[int]*slot{}, twin: [2]int{-1, -1}}
	a.lo, a.hi, a.unique = a.parts.bounds()
	for _, p := range a.parts {
		a.behind = max(a.behind, len(p.prefix))
		a.same = a.same || p.notUnique
		for _, d := range p.somewhere {
			a.behind = max(a.behind, d.from)
			a.wants = append(a.wants, want{from: d.from, exact: d.exact, neg: d.neg})
		}
		if p.contains == nil {
			continue
		}
		if p.maxC != absent {
			a.limits = append(a.limits, p)
			if p.maxC < p.minC {
				return closed()
			}
		}
		if a.hi != absent && p.minC > a.hi {
			return closed()
		}
		if p.minC > maxWants {
			return open("contains counts too far")
		}
		for i := range p.minC {
			a.wants = append(a.wants, want{pos: p.contains, next: i > 0})
		}
	}
	if a.hi != absent && a.lo > a.hi || a.unique && a.same {
		return closed()
	}
	if len(a.wants) > maxWants {
		return open("too many demands on elements")
	}
	out := a.solve()
	if out.st == sat && b.isExcluded(out.v) {
		return a.another(out.v)
	}
	return out
}

func (a *arrayBuilder) solve() outcome {
	if a.same {
		return a.twins()
	}
	return a.place(0, -1)
}

// another replaces an array that is a listed value: by a longer one, or by one
// whose first element differs.
func (a *arrayBuilder) another(v *val) outcome {
	for extra := range 3 {
		grown := *a
		grown.lo = len(v.arr) + extra + 1
		if grown.hi != absent && grown.lo > grown.hi {
			break
		}
		if out := grown.solve(); out.st == sat && !a.b.isExcluded(out.v) {
			return out
		}
	}
	for i, e := range v.arr {
		if i > 3 {
			break
		}
		x := newNode()
		x.enum = newValueSet([]*val{e})
		x.mask, x.km = e.kind, e.kind
		grown := *a
		grown.wants = append(slices.Clip(a.wants), want{from: i, exact: true, neg: x})
		if out := grown.solve(); out.st == sat && !a.b.isExcluded(out.v) {
			return out
		}
	}
	if len(v.arr) == 0 && a.hi == 0 {
		return closed() // the empty array is the only one
	}
	return open("only listed arrays were found")
}

// twins tries the pairs of equal elements.
func (a *arrayBuilder) twins() outcome {
	res := closed()
	if a.behind > 24 {
		return open("uniqueItems over a long tuple")
	}
	for j := 1; j <= a.behind+1; j++ {
		for i := range j {
			if a.hi != absent && j >= a.hi {
				continue
			}
			a.twin = [2]int{i, j}
			out := a.place(0, -1)
			if out.st == sat {
				return out
			}
			res = join(res, out)
		}
	}
	if len(a.wants) > 0 && res.st == empty && len(a.wants) > 1 {
		// More equal pairs are possible than were tried.
		return open("uniqueItems with several demands")
	}
	return res
}

// place puts the wants, from the i-th on, on elements.
func (a *arrayBuilder) place(i, last int) outcome {
	if !a.s.spend(1) {
		return open(reasonBudget)
	}
	if i == len(a.wants) {
		return a.fill()
	}
	w := a.wants[i]
	res := closed()
	for _, at := range a.spots(w, last) {
		if a.hi != absent && at >= a.hi {
			continue
		}
		sl := a.slots[at]
		fresh := sl == nil
		if fresh {
			sl = &slot{}
			a.slots[at] = sl
		}
		old := *sl
		if w.neg != nil {
			sl.neg = append(slices.Clip(sl.neg), w.neg)
		}
		if w.pos != nil {
			sl.pos = append(slices.Clip(sl.pos), w.pos)
			sl.counted = append(slices.Clip(sl.counted), w.pos)
		}
		out := a.place(i+1, at)
		if fresh {
			delete(a.slots, at)
		} else {
			*sl = old
		}
		if out.st == sat {
			return out
		}
		res = join(res, out)
		if a.s.stopped {
			return open(reasonBudget)
		}
	}
	return res
}

func (a *arrayBuilder) spots(w want, last int) []int {
	if w.exact {
		return []int{w.from}
	}
	from := w.from
	if w.next {
		from = max(from, last+1)
	}
	var out []int
	for at := from; at < a.behind; at++ {
		out = append(out, at)
	}
	// Behind the prefixes: the used ones, the twins, and the first free one.
	for at := max(a.behind, from); ; at++ {
		out = append(out, at)
		if a.slots[at] == nil && at != a.twin[0] && at != a.twin[1] {
			return out
		}
	}
}

// fill builds the shortest array that holds the slots. A shorter array asks for
// less, so no longer one need be tried.
func (a *arrayBuilder) fill() outcome {
	length := a.lo
	for at := range a.slots {
		length = max(length, at+1)
	}
	length = max(length, a.twin[0]+1, a.twin[1]+1)
	if a.hi != absent && length > a.hi {
		return closed()
	}
	const maxElements = 1 << 20
	if length > maxElements {
		return a.huge(length)
	}
	if len(a.limits) > 0 {
		return a.fillCounted(length)
	}
	if a.unique && length > 1 {
		return a.fillDistinct(length)
	}
	es := make([]*val, length)
	var common *val
	for i := range es {
		sl := a.slots[i]
		plain := sl == nil && i >= a.behind && i != a.twin[0] && i != a.twin[1]
		if plain && common != nil {
			es[i] = common
			continue
		}
		if i == a.twin[1] {
			es[i] = es[a.twin[0]]
			continue
		}
		out := a.element(i, sl, nil)
		if out.st != sat {
			return out
		}
		es[i] = out.v
		if plain {
			common = out.v
		}
	}
	return found(newArray(es))
}

// element solves one element; more holds what must not be.
func (a *arrayBuilder) element(i int, sl *slot, more []*node) outcome {
	pos, neg := a.parts.at(i), slices.Clone(more)
	add := func(sl *slot) {
		if sl != nil {
			pos, neg = append(pos, sl.pos...), append(neg, sl.neg...)
		}
	}
	add(sl)
	if i == a.twin[0] {
		pos = append(pos, a.parts.at(a.twin[1])...)
		add(a.slots[a.twin[1]])
	}
	return a.s.goal(pos, neg)
}

func (a *arrayBuilder) huge(length int) outcome {
	for i := range a.behind + 1 {
		if out := a.element(i, a.slots[i], nil); out.st != sat {
			return out
		}
	}
	if a.unique || len(a.limits) > 0 {
		return open("an array too large to try")
	}
	return found(newHuge(kArray, describe("an array", length)+" elements"))
}
