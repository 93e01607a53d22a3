// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"slices"

	"github.com/mcprove/mcprove/internal/order"
)

// fillDistinct builds an array of distinct elements, taking for each the first
// value that is left. Where all elements are alike that is exact.
func (a *arrayBuilder) fillDistinct(length int) outcome {
	if length > 400 {
		return open("too many distinct elements")
	}
	alike := a.behind == 0 && len(a.slots) == 0
	taken := newValueSet(nil)
	es := make([]*val, length)
	for _, i := range a.order(length) {
		x := newNode()
		x.enum = taken
		x.mask, x.km = taken.kinds, taken.kinds
		var more []*node
		if len(taken.vals) > 0 {
			more = []*node{x}
		}
		out := a.element(i, a.slots[i], more)
		if out.st == empty && !alike && len(taken.vals) > 0 {
			// Another choice for an earlier element might have left room, unless
			// the element is impossible anyway.
			if plain := a.element(i, a.slots[i], nil); plain.st == sat {
				return open("distinct elements of several schemas")
			}
		}
		if out.st != sat {
			return out
		}
		if out.v.huge {
			return open("distinct elements too large to try")
		}
		es[i] = out.v
		grown := newValueSet(taken.vals)
		grown.add(out.v)
		taken = grown
	}
	return found(newArray(es))
}

// order puts the elements with the fewest choices first: listed values, then
// the ones that carry demands.
func (a *arrayBuilder) order(length int) []int {
	out := make([]int, length)
	rank := make([]int, length)
	for i := range out {
		out[i] = i
		rank[i] = 1 << 20
		for _, n := range a.parts.at(i) {
			if n.enum != nil {
				rank[i] = min(rank[i], len(n.enum.vals))
			}
			if n.km&^(kBool|kNull) == 0 {
				rank[i] = min(rank[i], 2)
			}
		}
		if a.slots[i] != nil {
			rank[i]--
		}
	}
	order.Stable(out, func(i, j int) int { return rank[i] - rank[j] })
	return out
}

// fillCounted builds an array where some schemas may hold for so many elements
// only. Every element is in or out of each such schema; with one schema taking
// an element out wherever that is possible is exact.
func (a *arrayBuilder) fillCounted(length int) outcome {
	if length > 60 || len(a.limits) > 3 || a.unique && length > 1 && len(a.limits) > 1 {
		return open("contains with an upper bound over many elements")
	}
	choices := make([][]outcome, length) // by bit set of the schemas the element is in
	n := 1 << len(a.limits)
	for i := range choices {
		if i == a.twin[1] {
			continue
		}
		choices[i] = make([]outcome, n)
		for set := range n {
			choices[i][set] = a.elementIn(i, set)
		}
	}
	left := make([]int, len(a.limits))
	for j, p := range a.limits {
		left[j] = p.maxC
	}
	es := make([]*val, length)
	out := a.count(choices, es, 0, left)
	if a.unique && length > 1 && out.st != unknown {
		if out.st == sat && !distinct(out.v.arr) {
			return open("distinct elements that contains counts")
		}
	}
	return out
}

func (a *arrayBuilder) elementIn(i, set int) outcome {
	sl := slot{}
	if s := a.slots[i]; s != nil {
		sl = *s
	}
	var more []*node
	for j, p := range a.limits {
		if set>>j&1 == 1 {
			sl.pos = append(slices.Clip(sl.pos), p.contains)
			continue
		}
		more = append(more, p.contains)
	}
	return a.element(i, &sl, more)
}

// count chooses for each element, the ones inside fewest schemas first.
func (a *arrayBuilder) count(choices [][]outcome, es []*val, i int, left []int) outcome {
	if !a.s.spend(1) {
		return open(reasonBudget)
	}
	if i == len(es) {
		return found(newArray(slices.Clone(es)))
	}
	if i == a.twin[1] {
		// It is the same value as its twin and in the same schemas.
		es[i] = es[a.twin[0]]
		rest := slices.Clone(left)
		for j, p := range a.limits {
			switch newEvaluator().eval(p.contains, es[i]) {
			case Yes:
				rest[j]--
			case Unknown:
				return open("an element cannot be judged")
			}
			if rest[j] < 0 {
				return closed()
			}
		}
		return a.count(choices, es, i+1, rest)
	}
	res := closed()
	sets := make([]int, len(choices[i]))
	for k := range sets {
		sets[k] = k
	}
	order.Stable(sets, func(x, y int) int { return ones(x) - ones(y) })
	for _, set := range sets {
		c := choices[i][set]
		if c.st != sat {
			res = join(res, c)
			continue
		}
		rest, fits := slices.Clone(left), true
		for j := range rest {
			rest[j] -= set >> j & 1
			fits = fits && rest[j] >= 0
		}
		if !fits {
			continue
		}
		es[i] = c.v
		out := a.count(choices, es, i+1, rest)
		if out.st == sat {
			return out
		}
		res = join(res, out)
		if len(a.limits) == 1 && set == 0 {
			// Being out costs nothing, so being in cannot help.
			return res
		}
	}
	return res
}

func ones(x int) int {
	n := 0
	for ; x > 0; x >>= 1 {
		n += x & 1
	}
	return n
}
