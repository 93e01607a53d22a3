// SPDX-License-Identifier: Apache-2.0

package schemaset

import "slices"

// branch is one state of the search for a value of one kind: what is asserted,
// which disjunctions are open and which schemas must be violated.
type branch struct {
	kind kinds
	pos  []*node // the goal, against which listed values are checked
	neg  []*node

	seen   []*node
	seenAt map[*node]bool // of seen, when it is long
	ids    map[int32]bool // of everything asserted
	conj   []*node        // asserted nodes that speak of the kind
	enum   *valueSet
	open   []disjunction
	negs   []*node
	poison string // an asserted part that cannot be decided
}

// disjunction asks for one of its alternatives.
type disjunction []alternative

type alternative struct {
	pos, neg []*node
	unknown  string // stands for what cannot be decided
}

func (b *branch) clone() *branch {
	c := *b
	c.seen = slices.Clip(b.seen)
	c.conj = slices.Clip(b.conj)
	c.open = slices.Clone(b.open)
	c.negs = slices.Clone(b.negs)
	c.ids = make(map[int32]bool, len(b.ids)+4)
	for k := range b.ids {
		c.ids[k] = true
	}
	if b.seenAt != nil {
		c.seenAt = make(map[*node]bool, len(b.seenAt)+4)
		for k := range b.seenAt {
			c.seenAt[k] = true
		}
	}
	return &c
}

// mark notes that n is asserted; false when it was before. Nodes are marked by
// identity: a bare reference has the hash of its target, and taking the one for
// the other would drop the target.
func (b *branch) mark(n *node) bool {
	if b.seenAt != nil {
		if b.seenAt[n] {
			return false
		}
		b.seenAt[n] = true
	} else if slices.Contains(b.seen, n) {
		return false
	}
	b.seen = append(b.seen, n)
	if b.seenAt == nil && len(b.seen) > 40 {
		b.seenAt = make(map[*node]bool, 80)
		for _, m := range b.seen {
			b.seenAt[m] = true
		}
	}
	return true
}

func (s *solver) assertAll(b *branch, ns []*node) bool {
	if b.ids == nil {
		b.ids = make(map[int32]bool, 8)
	}
	work := slices.Clone(ns)
	slices.Reverse(work)
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if !b.mark(n) {
			continue
		}
		if n.never || n.km&b.kind == 0 {
			return false
		}
		if !s.spend(1) {
			b.poison = reasonBudget
			return true
		}
		b.ids[s.id(n)] = true
		s.assertOwn(b, n)
		if n.ref != nil {
			work = append(work, n.ref)
		}
		work = append(work, n.allOf...)
		if len(n.anyOf) == 1 {
			work = append(work, n.anyOf[0])
		}
		if len(n.oneOf) == 1 {
			work = append(work, n.oneOf[0])
		}
	}
	return true
}

// assertOwn sorts the parts of n into the branch.
func (s *solver) assertOwn(b *branch, n *node) {
	if n.opaque != "" && b.poison == "" {
		b.poison = "undecidable here: " + clip(n.opaque)
	}
	if n.enum != nil && (b.enum == nil || len(n.enum.vals) < len(b.enum.vals)) {
		b.enum = n.enum
	}
	speaks := len(n.excluded) > 0
	switch b.kind {
	case kInt, kFrac:
		speaks = speaks || n.num != nil
	case kString:
		speaks = speaks || n.str != nil || n.format != "" || len(n.samples) > 0
	case kArray:
		speaks = speaks || n.arr != nil
	case kObject:
		speaks = speaks || n.obj != nil
	}
	if speaks {
		b.conj = append(b.conj, n)
	}
	if n.not != nil {
		b.negs = append(b.negs, n.not)
	}
	if len(n.anyOf) > 1 {
		d := make(disjunction, len(n.anyOf))
		for i, c := range n.anyOf {
			d[i].pos = []*node{c}
		}
		b.open = append(b.open, d)
	}
	if len(n.oneOf) > 1 {
		b.open = append(b.open, s.oneOf(n))
	}
	if c := n.cond; c != nil {
		d := disjunction{{neg: []*node{c.test}}, {pos: []*node{c.test}}}
		if c.no != nil {
			d[0].pos = []*node{c.no}
		}
		if c.yes != nil {
			d[1].pos = append(d[1].pos, c.yes)
		}
		b.open = append(b.open, d)
	}
	if b.kind == kObject && n.obj != nil {
		for _, dep := range n.obj.depReq {
			if len(dep.names) > 0 {
				b.open = append(b.open, disjunction{{pos: []*node{forbid(dep.name)}}, {pos: []*node{demandNames(dep.names...)}}})
			}
		}
		for _, dep := range n.obj.depSch {
			b.open = append(b.open, disjunction{{pos: []*node{forbid(dep.name)}}, {pos: []*node{dep.node}}})
		}
	}
}

// oneOf makes the disjunction of a oneOf. Branches that are proven disjoint need
// not carry the negations of the others.
func (s *solver) oneOf(n *node) disjunction {
	apart := s.branchesDisjoint(n)
	d := make(disjunction, len(n.oneOf))
	for i, c := range n.oneOf {
		d[i].pos = []*node{c}
		if apart {
			continue
		}
		for j, o := range n.oneOf {
			if j != i {
				d[i].neg = append(d[i].neg, o)
			}
		}
	}
	return d
}

// branchesDisjoint proves once per oneOf that no value satisfies two branches.
// The small goals run apart from the current one: they speak of the same value,
// so the rule for repeated goals must not see the goals around them.
func (s *solver) branchesDisjoint(n *node) bool {
	if planted.oneOfDisjoint {
		return true
	}
	if known, ok := s.disjoint[n]; ok {
		return known
	}
	s.disjoint[n] = false
	if len(n.oneOf) > 60 {
		return false
	}
	active, depth := s.active, s.depth
	s.active, s.depth = map[string]int{}, 0
	apart := true
	for i := 0; i < len(n.oneOf) && apart; i++ {
		for j := i + 1; j < len(n.oneOf) && apart; j++ {
			apart = s.goal([]*node{n.oneOf[i], n.oneOf[j]}, nil).st == empty
		}
	}
	s.active, s.depth = active, depth
	s.disjoint[n] = apart
	return apart
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}

// expand closes a branch or finds a value in it.
func (s *solver) expand(b *branch) outcome {
	for {
		if !s.spend(1 + (len(b.conj)+len(b.open))/8 + len(b.negs)/2) {
			return open(reasonBudget)
		}
		if !s.prune(b) {
			return closed()
		}
		if b.enum != nil {
			return s.listed(b)
		}
		if i := slices.IndexFunc(b.open, func(d disjunction) bool { return len(d) == 1 }); i >= 0 {
			a := b.open[i][0]
			b.open = slices.Delete(slices.Clone(b.open), i, i+1)
			if !s.apply(b, a) {
				return closed()
			}
			continue
		}
		if len(b.open) > 0 {
			return s.splitOpen(b)
		}
		if len(b.negs) == 0 {
			return s.leaf(b)
		}
		out, again := s.splitNegs(b)
		if !again {
			return out
		}
	}
}

// apply takes one alternative; false when that closes the branch.
func (s *solver) apply(b *branch, a alternative) bool {
	if a.unknown != "" && b.poison == "" {
		b.poison = a.unknown
	}
	b.negs = append(b.negs, a.neg...)
	return s.assertAll(b, a.pos)
}

// listed tries the values of an enum, all of them.
func (s *solver) listed(b *branch) outcome {
	res := closed()
	for _, v := range b.enum.vals {
		if v.kind != b.kind {
			continue
		}
		if s.stopped {
			return open(reasonBudget)
		}
		switch s.check(v, b.pos, b.neg) {
		case Yes:
			return found(v)
		case Unknown:
			res = join(res, open("a listed value cannot be judged"))
		}
	}
	return res
}

// splitOpen branches over the smallest disjunction. Positive ones go before
// negative ones: they say what the value is, which decides most of the rest.
func (s *solver) splitOpen(b *branch) outcome {
	at := 0
	for i, d := range b.open {
		if len(d) < len(b.open[at]) {
			at = i
		}
	}
	d := b.open[at]
	b.open = slices.Delete(slices.Clone(b.open), at, at+1)
	return s.each(b, d)
}

func (s *solver) each(b *branch, d disjunction) outcome {
	res := closed()
	for _, a := range d {
		if !s.spend((len(b.ids) + len(b.seen)) / 16) {
			return open(reasonBudget)
		}
		c := b.clone()
		out := closed()
		if s.apply(c, a) {
			out = s.expand(c)
		}
		if out.st == sat {
			return out
		}
		res = join(res, out)
		if s.stopped {
			return open(reasonBudget)
		}
	}
	return res
}

// splitNegs violates one of the schemas that must be violated. again asks the
// caller to go on with the branch, which has become more definite.
func (s *solver) splitNegs(b *branch) (out outcome, again bool) {
	ways := make([]disjunction, len(b.negs))
	for i, n := range b.negs {
		d, done := s.refute(b, n)
		if done {
			b.negs = slices.Delete(b.negs, i, i+1)
			return outcome{}, true
		}
		switch len(d) {
		case 0:
			return closed(), false
		case 1:
			b.negs = slices.Delete(b.negs, i, i+1)
			if !s.apply(b, d[0]) {
				return closed(), false
			}
			return outcome{}, true
		}
		ways[i] = d
	}
	at := 0
	for i, d := range ways {
		if len(d) < len(ways[at]) {
			at = i
		}
	}
	if len(b.negs) > 1 {
		// A schema that cannot be violated even alone closes the branch, without
		// a search through the combinations of the others.
		for i, n := range b.negs {
			alone := b.clone()
			alone.negs = nil
			alone.neg = []*node{n}
			alone.pos = b.seen
			if out := s.each(alone, ways[i]); out.st == empty {
				return out, false
			}
			if s.stopped {
				return open(reasonBudget), false
			}
		}
	}
	b.negs = slices.Delete(b.negs, at, at+1)
	return s.each(b, ways[at]), false
}
