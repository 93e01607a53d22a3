// SPDX-License-Identifier: Apache-2.0

package schemaset

// settle finishes a document once all its nodes exist: keywords that look at
// their neighbours, simpler exact forms, loops, kinds and hashes.
func (l *loader) settle() {
	for _, r := range l.pending {
		r.unevaluated()
	}
	nodes := l.doc.nodes
	for i := len(nodes) - 1; i >= 0; i-- {
		desugar(nodes[i])
	}
	if l.findLoops() {
		return
	}
	seen := make(map[*node]bool, len(nodes))
	for _, n := range nodes {
		settleKinds(n, seen)
	}
	hashDocument(l.doc)
}

// desugar replaces keywords by a simpler form of exactly the same set.
func desugar(n *node) {
	if m := n.not; m != nil && m.not != nil {
		inner := *m
		inner.not = nil
		if inner.trivial() { // not not A is A
			n.not, n.allOf = nil, append(n.allOf, m.not)
		}
	}
	if n.enum == nil {
		for _, list := range []*[]*node{&n.anyOf, &n.oneOf} {
			if set := unionOfValues(*list, list == &n.oneOf); set != nil && n.enum == nil {
				n.enum, *list = set, nil
			}
		}
	}
	for _, list := range []*[]*node{&n.anyOf, &n.oneOf} {
		if mask, ok := unionOfTypes(*list, list == &n.oneOf); ok {
			n.mask &= mask
			*list = nil
		}
	}
	if n.enum != nil {
		if n.enum.kinds&^n.mask != 0 {
			n.enum = n.enum.filter(n.mask)
		}
		n.mask &= n.enum.kinds
	}
	if n.mask == 0 {
		n.never = true
	}
	if o := n.obj; o != nil && o.extra != nil && o.extra.trivial() && len(o.extra.samples) == 0 {
		// Kept in src for those who ask how it was written.
		o.extra = nil
	}
}

func (s *valueSet) filter(mask kinds) *valueSet {
	out := newValueSet(nil)
	out.texts = s.texts
	for _, v := range s.vals {
		if v.kind&mask != 0 {
			out.add(v)
		}
	}
	return out
}

// unionOfValues returns the values of branches that are values only. Branches
// of oneOf must not share any.
func unionOfValues(list []*node, distinct bool) *valueSet {
	if len(list) == 0 {
		return nil
	}
	out := newValueSet(nil)
	for _, b := range list {
		if !b.onlyValues() {
			return nil
		}
		for _, v := range b.enum.vals {
			if v.kind&b.mask == 0 {
				continue
			}
			if distinct && out.has(v) {
				return nil
			}
			out.add(v)
			title, text := b.src.get("title"), b.src.get("description")
			if title != nil || text != nil {
				if out.texts == nil {
					out.texts = map[string][2]string{}
				}
				var t [2]string
				if title != nil {
					t[0] = title.str
				}
				if text != nil {
					t[1] = text.str
				}
				out.texts[v.key()] = t
			}
		}
		for k, t := range b.enum.texts {
			if out.texts == nil {
				out.texts = map[string][2]string{}
			}
			if _, own := out.texts[k]; !own {
				out.texts[k] = t
			}
		}
	}
	return out
}

func (n *node) onlyValues() bool {
	return n.enum != nil && !n.never && n.num == nil && n.str == nil && n.arr == nil && n.obj == nil &&
		n.ref == nil && len(n.allOf)+len(n.anyOf)+len(n.oneOf) == 0 && n.not == nil && n.cond == nil && n.opaque == ""
}

// unionOfTypes returns the kinds of branches that hold nothing but type.
func unionOfTypes(list []*node, distinct bool) (kinds, bool) {
	if len(list) == 0 {
		return 0, false
	}
	var mask kinds
	for _, b := range list {
		if b.src == nil || b.src.kind != kObject || len(b.src.mem) != 1 || b.src.get("type") == nil || b.opaque != "" {
			return 0, false
		}
		if distinct && mask&b.mask != 0 {
			return 0, false
		}
		mask |= b.mask
	}
	return mask, true
}

// inPlace calls f for every schema that applies to the same value as n.
func (n *node) inPlace(f func(*node)) {
	if n.ref != nil {
		f(n.ref)
	}
	for _, list := range [...][]*node{n.allOf, n.anyOf, n.oneOf} {
		for _, c := range list {
			f(c)
		}
	}
	if n.not != nil {
		f(n.not)
	}
	if c := n.cond; c != nil {
		f(c.test)
		if c.yes != nil {
			f(c.yes)
		}
		if c.no != nil {
			f(c.no)
		}
	}
	if n.obj != nil {
		for _, d := range n.obj.depSch {
			f(d.node)
		}
	}
}

// inside calls f for every schema that applies to a part of the value.
func (n *node) inside(f func(*node)) {
	if o := n.obj; o != nil {
		for _, p := range o.props {
			f(p.node)
		}
		for _, p := range o.patterns {
			f(p.node)
		}
		if o.extra != nil {
			f(o.extra)
		}
		if o.names != nil {
			f(o.names)
		}
	}
	if a := n.arr; a != nil {
		for _, p := range a.prefix {
			f(p)
		}
		if a.rest != nil {
			f(a.rest)
		}
		if a.contains != nil {
			f(a.contains)
		}
	}
}

// findLoops looks for schemas that return to themselves in place.
func (l *loader) findLoops() bool {
	const open, closed = 1, 2
	state := make(map[*node]int, len(l.doc.nodes))
	var visit func(n *node)
	visit = func(n *node) {
		state[n] = open
		n.inPlace(func(c *node) {
			switch state[c] {
			case open:
				if !l.doc.looped {
					l.doc.loop = c.ptr
				}
				l.doc.looped = true
				l.problem(ProblemInPlaceLoop, c.ptr, "", "the schema returns to itself through "+n.ptr)
			case 0:
				visit(c)
			}
		})
		state[n] = closed
	}
	for _, n := range l.doc.nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
	return l.doc.looped
}

// settleKinds computes which kinds a node may accept, at most.
func settleKinds(n *node, seen map[*node]bool) kinds {
	if seen[n] {
		return n.km
	}
	seen[n] = true
	km := n.mask
	if n.never {
		km = 0
	}
	if n.ref != nil {
		km &= settleKinds(n.ref, seen)
	}
	for _, c := range n.allOf {
		km &= settleKinds(c, seen)
	}
	for _, list := range [...][]*node{n.anyOf, n.oneOf} {
		if len(list) == 0 {
			continue
		}
		var any kinds
		for _, c := range list {
			any |= settleKinds(c, seen)
		}
		km &= any
	}
	if n.not != nil {
		settleKinds(n.not, seen)
		if n.not.onlyMask() {
			km &^= n.not.mask
		}
	}
	n.km = km
	return km
}

// onlyMask reports whether the node restricts the kind and nothing else.
func (n *node) onlyMask() bool {
	if n.never {
		return true
	}
	c := *n
	c.mask = kAll
	return c.trivial()
}
