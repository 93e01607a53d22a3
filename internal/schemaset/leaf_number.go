// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/big"
	"slices"
)

// leaf looks for a value of the branch once only assertions about the kind
// itself are left.
func (s *solver) leaf(b *branch) outcome {
	var out outcome
	switch b.kind {
	case kNull:
		out = s.choose(b, &val{kind: kNull})
	case kBool:
		out = s.choose(b, newBool(true), newBool(false))
	case kInt:
		out = s.leafInteger(b)
	case kFrac:
		out = s.leafFraction(b)
	case kString:
		out = s.leafString(b)
	case kArray:
		out = s.leafArray(b)
	case kObject:
		out = s.leafObject(b)
	}
	if out.st == sat && b.poison != "" {
		return open(b.poison)
	}
	return out
}

// isExcluded reports a listed value. One that was not built may be any that is
// as large.
func (b *branch) isExcluded(v *val) bool {
	if v = v.built(); v.huge {
		return slices.ContainsFunc(b.conj, func(c *node) bool {
			return slices.ContainsFunc(c.excluded, (*valueSet).large)
		})
	}
	for _, c := range b.conj {
		for _, x := range c.excluded {
			if x.has(v) {
				return true
			}
		}
	}
	return false
}

func (b *branch) countExcluded() int {
	n := 0
	for _, c := range b.conj {
		for _, x := range c.excluded {
			n += len(x.vals)
		}
	}
	return n
}

// choose takes the first of all the values there are.
func (s *solver) choose(b *branch, vs ...*val) outcome {
	for _, v := range vs {
		if !b.isExcluded(v) {
			return found(v)
		}
	}
	return closed()
}

// numbers is a conjunction of number parts.
type numbers struct {
	lo, hi *bound
	step   *big.Rat // least common multiple, nil when there is none
	not    []*big.Rat
}

func mergeNumbers(conj []*node) numbers {
	var m numbers
	for _, c := range conj {
		if c.num == nil {
			continue
		}
		if lo := c.num.lo; lo != nil && !m.impliesLo(lo) {
			m.lo = lo
		}
		if hi := c.num.hi; hi != nil && !m.impliesHi(hi) {
			m.hi = hi
		}
		for _, x := range c.num.mult {
			m.step = lcm(m.step, x)
		}
		m.not = append(m.not, c.num.not...)
	}
	return m
}

func (m numbers) impliesLo(b *bound) bool {
	if m.lo == nil {
		return false
	}
	c := m.lo.at.Cmp(b.at)
	return c > 0 || c == 0 && (m.lo.open || !b.open)
}

func (m numbers) impliesHi(b *bound) bool {
	if m.hi == nil {
		return false
	}
	c := m.hi.at.Cmp(b.at)
	return c < 0 || c == 0 && (m.hi.open || !b.open)
}

// lcm is the least common multiple of two positive fractions.
func lcm(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	num := lcmInt(a.Num(), b.Num())
	den := new(big.Int).GCD(nil, nil, a.Denom(), b.Denom())
	return new(big.Rat).SetFrac(num, den)
}

func lcmInt(a, b *big.Int) *big.Int {
	g := new(big.Int).GCD(nil, nil, a, b)
	return new(big.Int).Mul(new(big.Int).Quo(a, g), b)
}

var one = big.NewRat(1, 1)

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceil(r *big.Rat) *big.Int {
	return new(big.Int).Neg(floor(new(big.Rat).Neg(r)))
}

// maxWalk bounds how many multiples are tried one after the other.
const maxWalk = 20_000

// leafInteger walks over the multiples of one integral step.
func (s *solver) leafInteger(b *branch) outcome {
	m := mergeNumbers(b.conj)
	step := lcm(m.step, one)
	return s.walk(b, m, step, func(*big.Rat) bool { return true })
}

// multiples are the whole numbers k with k*step between the bounds.
type multiples struct{ from, to *big.Int }

func (m numbers) multiples(step *big.Rat) multiples {
	var out multiples
	if m.lo != nil {
		q := new(big.Rat).Quo(m.lo.at, step)
		out.from = ceil(q)
		if m.lo.open && q.IsInt() {
			out.from.Add(out.from, big.NewInt(1))
		}
	}
	if m.hi != nil {
		q := new(big.Rat).Quo(m.hi.at, step)
		out.to = floor(q)
		if m.hi.open && q.IsInt() {
			out.to.Sub(out.to, big.NewInt(1))
		}
	}
	return out
}

// walk tries the multiples of step from the friendliest on. The pattern of
// excluded multiples repeats, so that one period (and one more multiple for each
// excluded value) without success is a proof.
func (s *solver) walk(b *branch, m numbers, step *big.Rat, want func(*big.Rat) bool) outcome {
	for _, x := range m.not {
		if multiple(step, x) {
			return closed()
		}
	}
	ks := m.multiples(step)
	if ks.from != nil && ks.to != nil && ks.from.Cmp(ks.to) > 0 {
		return closed()
	}
	period := new(big.Int).SetInt64(1)
	for _, x := range append([]*big.Rat{one}, m.not...) {
		// k*step is a multiple of x exactly when k is one of this number.
		q := new(big.Rat).Quo(x, step)
		period = lcmInt(period, q.Num())
	}
	need := new(big.Int).Mul(period, big.NewInt(int64(b.countExcluded()+1)))
	limit := maxWalk
	proof := need.IsInt64() && need.Int64() <= maxWalk
	if proof {
		limit = int(need.Int64())
	}
	try := func(k *big.Int) *val {
		x := new(big.Rat).Mul(new(big.Rat).SetInt(k), step)
		if !want(x) {
			return nil
		}
		for _, y := range m.not {
			if multiple(x, y) {
				return nil
			}
		}
		if v := newNumber(x); !b.isExcluded(v) {
			return v
		}
		return nil
	}
	in := func(k *big.Int) bool {
		return (ks.from == nil || k.Cmp(ks.from) >= 0) && (ks.to == nil || k.Cmp(ks.to) <= 0)
	}
	for _, k := range []int64{1, 0, 2, -1} {
		if n := big.NewInt(k); in(n) {
			if v := try(n); v != nil {
				return found(v)
			}
		}
	}
	k, dir := big.NewInt(0), big.NewInt(1)
	switch {
	case ks.from != nil && (ks.to == nil || ks.from.CmpAbs(ks.to) <= 0):
		k.Set(ks.from)
	case ks.to != nil:
		k.Set(ks.to)
		dir.SetInt64(-1)
	}
	for i := 0; i <= limit && in(k); i++ {
		if i%64 == 63 && !s.spend(1) {
			return open(reasonBudget)
		}
		if v := try(k); v != nil {
			return found(v)
		}
		k.Add(k, dir)
	}
	if proof || !in(k) {
		return closed()
	}
	return open("too many multiples")
}

// leafFraction looks for a number that is no integer.
func (s *solver) leafFraction(b *branch) outcome {
	m := mergeNumbers(b.conj)
	if m.step != nil {
		if m.step.IsInt() {
			return closed()
		}
		return s.walk(b, m, m.step, func(x *big.Rat) bool { return !x.IsInt() })
	}
	if m.lo != nil && m.hi != nil {
		c := m.lo.at.Cmp(m.hi.at)
		if c > 0 || c == 0 && (m.lo.open || m.hi.open) {
			return closed()
		}
		if c == 0 {
			return s.chooseFraction(b, m, m.lo.at, true)
		}
	}
	// The rest is dense: finitely many values and grids cannot cover it.
	for _, x := range m.nearby() {
		if out := s.chooseFraction(b, m, x, false); out.st == sat {
			return out
		}
	}
	return open("no fraction found between the bounds")
}

func (s *solver) chooseFraction(b *branch, m numbers, x *big.Rat, only bool) outcome {
	in := !x.IsInt() && (numberPart{lo: m.lo, hi: m.hi, not: m.not}).within(x)
	if v := newNumber(x); in && !b.isExcluded(v) {
		return found(v)
	}
	if only {
		return closed()
	}
	return open("")
}

func (p numberPart) within(x *big.Rat) bool { return p.accepts(x) }

// nearby lists fractions close to the bounds: halves, quarters and so on.
func (m numbers) nearby() []*big.Rat {
	base := new(big.Rat)
	dir := int64(1)
	width := big.NewRat(1, 1)
	switch {
	case m.lo != nil && m.hi != nil:
		base.Set(m.lo.at)
		if w := new(big.Rat).Sub(m.hi.at, m.lo.at); w.Cmp(width) < 0 {
			width = w
		}
	case m.lo != nil:
		base.Set(m.lo.at)
	case m.hi != nil:
		base.Set(m.hi.at)
		dir = -1
	}
	var out []*big.Rat
	for _, tenths := range []int64{5, 1, 3, 7} {
		x := new(big.Rat).Mul(width, big.NewRat(dir*tenths, 10))
		out = append(out, x.Add(x, base))
	}
	out = append(out, m.edge(m.lo)...)
	out = append(out, m.edge(m.hi)...)
	frac := big.NewRat(1, 1)
	for range 300 {
		frac = new(big.Rat).Mul(frac, big.NewRat(1, 2))
		x := new(big.Rat).Mul(new(big.Rat).Mul(width, frac), big.NewRat(dir, 1))
		out = append(out, x.Add(x, base))
	}
	return out
}

func (m numbers) edge(b *bound) []*big.Rat {
	if b == nil || b.open {
		return nil
	}
	return []*big.Rat{b.at}
}
