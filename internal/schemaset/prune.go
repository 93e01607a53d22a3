// SPDX-License-Identifier: Apache-2.0

package schemaset

import "slices"

// prune drops what the branch has already decided; false closes the branch.
func (s *solver) prune(b *branch) bool {
	negs := b.negs[:0:0]
	for _, n := range b.negs {
		if n.never || n.km&b.kind == 0 || s.clash(b, n) {
			continue // violated anyway
		}
		if n.trivial() || b.ids[s.id(n)] {
			return false
		}
		if !slices.Contains(negs, n) {
			negs = append(negs, n)
		}
	}
	b.negs = negs
	opens := b.open[:0:0]
	for _, d := range b.open {
		kept := d[:0:0]
		satisfied := false
		for _, a := range d {
			switch s.standing(b, a) {
			case Yes:
				satisfied = true
			case Unknown:
				kept = append(kept, a)
			}
		}
		if satisfied {
			continue
		}
		if len(kept) == 0 {
			return false
		}
		opens = append(opens, kept)
	}
	b.open = opens
	return true
}

// standing tells whether an alternative holds already (Yes) or cannot (No).
func (s *solver) standing(b *branch, a alternative) Truth {
	if a.unknown != "" {
		return Unknown
	}
	held := len(a.neg) == 0
	for _, p := range a.pos {
		if p.never || p.km&b.kind == 0 || s.clash(b, p) {
			return No
		}
		if !b.ids[s.id(p)] {
			held = false
		}
	}
	for i, n := range a.neg {
		if i >= 64 {
			break // found out soon enough, once the alternative is taken
		}
		if b.ids[s.id(n)] {
			return No
		}
	}
	if held {
		return Yes
	}
	return Unknown
}

// clash cheaply finds schemas that exclude the branch: a required name that is
// forbidden, or a required member whose possible values or kinds are disjoint,
// as the tags of discriminated unions are.
func (s *solver) clash(b *branch, n *node) bool {
	if b.kind != kObject {
		return false
	}
	for range 8 {
		if n.ref == nil {
			break
		}
		if n.obj != nil && s.clashObject(b, n.obj) {
			return true
		}
		n = n.ref
	}
	if n.obj != nil && s.clashObject(b, n.obj) {
		return true
	}
	for _, c := range n.allOf {
		if c.ref != nil && c.obj == nil {
			c = c.ref
		}
		if c.obj != nil && s.clashObject(b, c.obj) {
			return true
		}
	}
	return false
}

func (s *solver) clashObject(b *branch, o *objectPart) bool {
	for _, c := range b.conj {
		if c.obj == nil {
			continue
		}
		names := o.required
		if len(c.obj.required) > 0 && len(c.obj.required) < 200 {
			names = slices.Concat(names, c.obj.required)
		}
		if len(names) > 400 {
			names = names[:400]
		}
		for _, name := range names {
			mine, theirs := o.prop(name), c.obj.prop(name)
			if mine == nil || theirs == nil {
				if theirs != nil && theirs.never && o.requires(name) || mine != nil && mine.never && c.obj.requires(name) {
					return true
				}
				continue
			}
			if mine.km&theirs.km == 0 {
				return true
			}
			if e, f := mine.enum, theirs.enum; e != nil && f != nil && disjointSets(e, f) {
				return true
			}
		}
	}
	return false
}

func disjointSets(a, b *valueSet) bool {
	if len(a.vals) > len(b.vals) {
		a, b = b, a
	}
	for k := range a.keys {
		if _, ok := b.keys[k]; ok {
			return false
		}
	}
	return true
}
