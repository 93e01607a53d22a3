// SPDX-License-Identifier: Apache-2.0

package schemaset

import "github.com/mcprove/mcprove/internal/jsonx"

// place compares two views: kinds first, then kind by kind.
func (x *explainer) place(ov, nv *view, at spot, v *visit) {
	x.annotations(ov.nodes, nv.nodes, at)
	base := Delta{Place: Place{OldPtr: ov.ptr(), NewPtr: nv.ptr()}, HasOld: true, HasNew: true}
	base.OldKinds, base.NewKinds = ov.km.names(), nv.km.names()
	base.OldUntyped, base.NewUntyped = ov.untyped(), nv.untyped()
	if ov.km == 0 || nv.km == 0 {
		if ov.km != nv.km {
			d := base
			d.Facet = FacetFalse
			x.propose(d, at, v, all(nv.nodes), all(ov.nodes))
		}
		return
	}
	from := len(x.set)
	x.opaque(ov, nv, base, at, v)
	oe, ne := ov.enum(), nv.enum()
	if (oe == nil || ne == nil) && ov.km != nv.km {
		x.types(ov, nv, base, at, v)
		if ov.free() || nv.free() || ov.km&nv.km == 0 {
			return
		}
	}
	if oe != nil || ne != nil {
		x.values(oe, ne, ov, nv, base, at, v, 0)
		if oe != nil && ne != nil {
			return
		}
	}
	x.conditions(ov, nv, base, at, v)
	olds, ok1 := ov.options()
	news, ok2 := nv.options()
	if !ok1 || !ok2 {
		d := base
		d.Facet = FacetBranch
		x.propose(d, at, v, all(nv.nodes), all(ov.nodes))
		return
	}
	for _, k := range [...]kinds{kNumber, kString, kArray, kObject} {
		if ov.km&nv.km&k != 0 {
			x.kind(k, olds, news, ov, nv, base, at, v)
		}
	}
	x.overlap(ov, nv, base, at, v, from)
	x.whole(ov, nv, base, at, v, from)
}

// whole blames the place as a whole where branches or conditions differ and none
// of them alone explains what is lost or gained.
func (x *explainer) whole(ov, nv *view, base Delta, at spot, v *visit, from int) {
	if !ov.intricate() && !nv.intricate() || x.s.goalKey(ov.nodes, nil) == x.s.goalKey(nv.nodes, nil) {
		return
	}
	lost, gained := all(nv.nodes), all(ov.nodes)
	for _, d := range x.set[from:] {
		if d.Lost.Verdict != Inside {
			lost = nil
		}
		if d.Gained.Verdict != Inside {
			gained = nil
		}
	}
	d := base
	d.Facet = FacetBranch
	dropped := v.dropped
	x.propose(d, at, v, lost, gained)
	v.dropped = dropped
}

// all conjoins nodes.
func all(ns []*node) *node {
	n := newNode()
	n.allOf = ns
	return n
}

func maskNode(k kinds) *node {
	n := newNode()
	n.mask, n.km = k, k
	return n
}

func (x *explainer) types(ov, nv *view, base Delta, at spot, v *visit) {
	d := base
	d.Facet = FacetType
	d.OldPtr, d.HasOld = keywordPtr(ov.nodes, "type", d.OldPtr)
	d.NewPtr, d.HasNew = keywordPtr(nv.nodes, "type", d.NewPtr)
	d.Before, d.After = wordList(ov.km), wordList(nv.km)
	lost, gained := ov.km&^nv.km, nv.km&^ov.km
	d.NullOnly = (lost | gained) == kNull
	d.FractionOnly = (lost | gained) == kFrac
	d.Removed, d.Added = wordsOf(lost, ov.km), wordsOf(gained, nv.km)
	var cl, cg *node
	if lost != 0 {
		cl = maskNode(nv.km)
	}
	if gained != 0 {
		cg = maskNode(ov.km)
	}
	x.propose(d, at, v, cl, cg)
}

func wordList(k kinds) jsonx.Raw {
	var list []*val
	for _, n := range k.names() {
		list = append(list, newString(n))
	}
	return rawOf(newArray(list))
}

// wordsOf names the kinds of a difference; fractions are what number has over integer.
func wordsOf(diff, side kinds) []jsonx.Raw {
	var out []jsonx.Raw
	if diff&kNumber == kFrac {
		diff = diff&^kFrac | side&kNumber
	}
	for _, n := range diff.names() {
		out = append(out, jsonx.Quote(n))
	}
	return out
}

// keywordPtr finds the schema of the view that holds a keyword.
func keywordPtr(ns []*node, keyword, otherwise string) (string, bool) {
	for _, n := range ns {
		if n.src.get(keyword) != nil {
			return jsonx.Push(n.ptr, keyword), true
		}
	}
	return otherwise, false
}

// values compares listed values. kind, where set, says that only that kind is
// meant and all others go free.
func (x *explainer) values(oe, ne *valueSet, ov, nv *view, base Delta, at spot, v *visit, kind kinds) {
	d := base
	d.Facet = FacetEnum
	d.HasOld, d.HasNew = oe != nil, ne != nil
	point := func(ns []*node, ptr string) string {
		for _, word := range [...]string{"enum", "const", "oneOf", "anyOf"} {
			for _, n := range ns {
				if n.enum != nil && n.src.get(word) != nil {
					return jsonx.Push(n.ptr, word)
				}
			}
		}
		return ptr
	}
	d.OldPtr, d.NewPtr = point(ov.nodes, d.OldPtr), point(nv.nodes, d.NewPtr)
	constraint := func(set *valueSet) *node {
		if set == nil {
			return nil
		}
		n := newNode()
		n.enum = set
		n.mask, n.km = set.kinds, set.kinds
		if kind != 0 {
			m := newNode()
			m.anyOf = []*node{maskNode(kAll &^ kind), n}
			return m
		}
		return n
	}
	single := func(s *valueSet) bool { return s == nil || len(s.vals) == 1 }
	d.SingleValue = single(oe) && single(ne)
	if d.SingleValue {
		d.Facet = FacetConst
	}
	list := func(s *valueSet) jsonx.Raw {
		if s == nil {
			return nil
		}
		return rawOf(newArray(s.vals))
	}
	d.Before, d.After = list(oe), list(ne)
	null := true
	if oe != nil && ne != nil {
		for _, o := range oe.vals {
			if !ne.has(o) {
				d.Removed = append(d.Removed, rawOf(o))
				null = null && o.kind == kNull
			}
		}
		for _, n := range ne.vals {
			if !oe.has(n) {
				d.Added = append(d.Added, rawOf(n))
				null = null && n.kind == kNull
			}
		}
		x.valueTexts(oe, ne, d, at)
		if len(d.Removed)+len(d.Added) == 0 {
			return
		}
		d.NullOnly = null
	}
	x.propose(d, at, v, constraint(ne), constraint(oe))
}

// kind compares the options of one kind of value.
func (x *explainer) kind(k kinds, olds, news []option, ov, nv *view, base Delta, at spot, v *visit) {
	pick := func(list []option) []option {
		var out []option
		for _, o := range list {
			if o.view.km&k != 0 {
				out = append(out, o)
			}
		}
		return out
	}
	po, pn := pick(olds), pick(news)
	for _, p := range x.s.pairOptions(po, pn, k) {
		switch {
		case p.new == nil:
			d := base
			d.Facet, d.HasNew = FacetBranch, false
			d.OldPtr = branchPtr(p.old, d.OldPtr)
			d.Before = branchRaw(p.old)
			x.propose(d, at, v, notNode(all(p.old.view.nodes)), nil)
		case p.old == nil:
			d := base
			d.Facet, d.HasOld = FacetBranch, false
			d.NewPtr = branchPtr(p.new, d.NewPtr)
			d.After = branchRaw(p.new)
			x.propose(d, at, v, nil, notNode(all(p.new.view.nodes)))
		default:
			x.pair(k, p, base, at, v)
		}
	}
}

func branchPtr(o *option, otherwise string) string {
	if len(o.own) > 0 {
		return o.own[len(o.own)-1].ptr
	}
	return otherwise
}

func branchRaw(o *option) jsonx.Raw {
	if len(o.own) > 0 {
		return rawOf(o.own[len(o.own)-1].src)
	}
	return nil
}

// pair compares two options that belong together, for one kind of value.
func (x *explainer) pair(k kinds, p pair, base Delta, at spot, v *visit) {
	oo, no := p.old, p.new
	if len(oo.own)+len(no.own) > 0 {
		var gOld, gNew []*node
		if len(oo.own) > 0 {
			gOld = append([]*node{maskNode(k)}, oo.own...)
		}
		if len(no.own) > 0 {
			gNew = append([]*node{maskNode(k)}, no.own...)
		}
		branch := ""
		if len(no.own) > 0 {
			branch = branchPtr(no, "")
		} else {
			branch = branchPtr(oo, "")
		}
		at = at.guarded(gOld, gNew, branch)
		base.OldPtr, base.NewPtr = branchPtr(oo, base.OldPtr), branchPtr(no, base.NewPtr)
		if len(oo.own) > 0 && len(no.own) > 0 {
			// Once per pair, though a pair may be met for several kinds.
			key := "texts " + base.OldPtr + " " + base.NewPtr
			if x.visits[key] == nil {
				x.visits[key] = &visit{}
				x.annotations(look(oo.own).nodes, look(no.own).nodes, at)
			}
		}
		ov, nv := restrict(oo.view.enum(), k), restrict(no.view.enum(), k)
		if ov != nil || nv != nil {
			x.values(ov, nv, oo.view, no.view, base, at, v, k)
		}
		if ov != nil && nv != nil {
			return
		}
		if k == kNumber && oo.view.km&k != no.view.km&k {
			// integer against number inside branches
			d := base
			d.Facet, d.FractionOnly = FacetType, true
			d.Before, d.After = wordList(oo.view.km&k), wordList(no.view.km&k)
			x.propose(d, at, v, maskNode(kAll&^k|no.view.km), maskNode(kAll&^k|oo.view.km))
		}
	}
	f := &facets{x: x, at: at, v: v, base: base, old: oo.view, new: no.view}
	switch k {
	case kNumber:
		f.numbers()
	case kString:
		f.strings()
	case kArray:
		f.arrays()
	case kObject:
		f.objects()
	}
}

func restrict(s *valueSet, k kinds) *valueSet {
	if s == nil {
		return nil
	}
	return s.filter(k)
}

// overlap blames a oneOf whose branches exclude each other's values, where
// nothing below the place explains a difference.
func (x *explainer) overlap(ov, nv *view, base Delta, at spot, v *visit, from int) {
	pick := func(vw *view) *node {
		for _, u := range vw.unions {
			if len(u.oneOf) > 1 && !x.s.branchesDisjoint(u) {
				n := newNode()
				n.oneOf = u.oneOf
				return n
			}
		}
		return nil
	}
	o, n := pick(ov), pick(nv)
	if o == nil && n == nil || o != nil && n != nil && x.s.same(o, n) {
		return
	}
	for _, d := range x.set[from:] {
		if d.Lost.Verdict == Outside {
			n = nil
		}
		if d.Gained.Verdict == Outside {
			o = nil
		}
	}
	if o != nil || n != nil {
		d := base
		d.Facet = FacetOneOfOverlap
		d.OldPtr, d.HasOld = keywordPtr(ov.nodes, "oneOf", d.OldPtr)
		d.NewPtr, d.HasNew = keywordPtr(nv.nodes, "oneOf", d.NewPtr)
		x.propose(d, at, v, n, o)
	}
}

// conditions compares not, if-then-else and dependentSchemas as wholes.
func (x *explainer) conditions(ov, nv *view, base Delta, at spot, v *visit) {
	compare := func(facet Facet, keyword string, part func(n *node) *node) {
		collect := func(vw *view) []*node {
			var out []*node
			for _, n := range vw.nodes {
				if c := part(n); c != nil {
					out = append(out, c)
				}
			}
			return out
		}
		olds, news := collect(ov), collect(nv)
		if len(olds)+len(news) == 0 || x.s.goalKey(olds, nil) == x.s.goalKey(news, nil) {
			return
		}
		d := base
		d.Facet = facet
		d.OldPtr, d.HasOld = keywordPtr(ov.nodes, keyword, d.OldPtr)
		d.NewPtr, d.HasNew = keywordPtr(nv.nodes, keyword, d.NewPtr)
		d.Before, d.After = keywordRaw(ov.nodes, keyword), keywordRaw(nv.nodes, keyword)
		x.propose(d, at, v, all(news), all(olds))
	}
	compare(FacetNot, "not", func(n *node) *node {
		if n.not == nil {
			return nil
		}
		return notNode(n.not)
	})
	compare(FacetConditional, "if", func(n *node) *node {
		if n.cond == nil {
			return nil
		}
		m := newNode()
		m.cond = n.cond
		return m
	})
}

func keywordRaw(ns []*node, keyword string) jsonx.Raw {
	for _, n := range ns {
		if v := n.src.get(keyword); v != nil {
			return rawOf(v)
		}
	}
	return nil
}

// opaque reports parts that nobody can decide and that differ.
func (x *explainer) opaque(ov, nv *view, base Delta, at spot, v *visit) {
	reason := func(vw *view) string {
		for _, n := range vw.nodes {
			if n.opaque != "" {
				return n.opaque
			}
		}
		return ""
	}
	o, n := reason(ov), reason(nv)
	if o == n {
		return
	}
	d := base
	d.Facet, d.HasOld, d.HasNew = FacetOpaque, o != "", n != ""
	d.Path, d.Branch, d.ParentOptional = at.path, at.branch, at.optional
	d.Lost, d.Gained = x.out.Root.Lost, x.out.Root.Gained
	if d.Lost.Verdict == Outside {
		d.Lost = Result{Reason: "undecidable here: " + clip(o+n)}
	}
	if d.Gained.Verdict == Outside {
		d.Gained = Result{Reason: "undecidable here: " + clip(o+n)}
	}
	if d.Lost.Verdict == Undecided || d.Gained.Verdict == Undecided {
		d.Change = Maybe
		x.set = append(x.set, d)
	}
}
