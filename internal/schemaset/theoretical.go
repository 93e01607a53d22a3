// SPDX-License-Identifier: Apache-2.0

package schemaset

import "slices"

// theoretical tells whether a loss is one of names that the old schema did not
// declare, and of their values only: under the lens no value is lost, and the
// value that is lost would be accepted with another one under such a name. A
// name that is refused whatever it holds, or whose presence demands something,
// is a loss in earnest. It is not asked where an object closes, which refuses
// such names on purpose.
func (x *explainer) theoretical(d *Delta, at spot, lost *node) {
	if d.Lost.Verdict != Outside || lost == nil || x.asked > explainLimit {
		return
	}
	res := x.lensed().ask([]*node{x.old.root}, []*node{at.wrap(lost, true), x.new.root})
	x.asked += res.Steps
	d.Theoretical = res.Verdict == Inside && x.claimed(d.Lost.Value)
}

// claimed reports that both schemas accept the value once the members that the
// old one does not declare hold something else. A value that was not written
// out is given the benefit of the doubt.
func (x *explainer) claimed(raw []byte) bool {
	v, err := readTree(raw)
	if err != nil {
		return true
	}
	c := &claim{x: x, known: map[string][]*val{}}
	for c.turn = range maxClaims {
		w := c.value(v, []*node{x.old.root}, 0)
		e := newEvaluator()
		if e.eval(x.new.root, w) == Yes && e.eval(x.old.root, w) == Yes {
			return true
		}
	}
	return false
}

// claim puts other values under undeclared names, others at each turn.
type claim struct {
	x     *explainer
	known map[string][]*val
	turn  int
}

const maxClaims = 12

// value returns v as it reads at this turn; ns apply to it in the old schema.
func (c *claim) value(v *val, ns []*node, depth int) *val {
	if depth > 200 {
		return v
	}
	nodes := spread(ns)
	switch v.kind {
	case kArray:
		var parts arrayParts
		for _, n := range nodes {
			if n.arr != nil {
				parts = append(parts, n.arr)
			}
		}
		es := make([]*val, len(v.arr))
		for i, e := range v.arr {
			es[i] = c.value(e, parts.at(i), depth+1)
		}
		return newArray(es)
	case kObject:
		var parts objectParts
		declares := false
		for _, n := range nodes {
			if n.obj != nil {
				parts = append(parts, n.obj)
				declares = declares || len(n.obj.props) > 0
			}
		}
		ms := make([]member, len(v.mem))
		for i, m := range v.mem {
			at := parts.at(m.name)
			if ms[i] = m; len(at) == 0 && declares && !parts.requires(m.name) {
				others := c.others(m.name)
				ms[i].val = others[c.turn%len(others)]
				continue
			}
			ms[i].val = c.value(m.val, at, depth+1)
		}
		return newObject(ms)
	}
	return v
}

// others lists values of all kinds, and those that the new schema asks for under
// the name.
func (c *claim) others(name string) []*val {
	if known, ok := c.known[name]; ok {
		return known
	}
	out := []*val{newString("text"), newNumber(one), newBool(true), {kind: kNull}, newArray(nil), newObject(nil)}
	for _, n := range c.x.new.nodes {
		if n.obj == nil || len(out) >= maxClaims {
			continue
		}
		for _, m := range (objectParts{n.obj}).at(name) {
			if m.trivial() || m.never {
				continue
			}
			res := c.x.s.ask([]*node{m}, nil)
			c.x.asked += res.Steps
			if v, err := readTree(res.Value); err == nil {
				out = append(out, v)
			}
		}
	}
	out = out[:min(len(out), maxClaims)]
	c.known[name] = out
	return out
}

// spread lists the schemas that apply in place, or may apply.
func spread(ns []*node) []*node {
	seen := map[*node]bool{}
	var out []*node
	work := slices.Clone(ns)
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		out = append(out, n)
		n.inPlace(func(m *node) {
			if m != n.not {
				work = append(work, m)
			}
		})
	}
	return out
}
