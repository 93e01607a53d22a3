// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"slices"
	"strings"
)

// view is what one document says of one place of a value: all schemas that
// apply to it, through references and allOf.
type view struct {
	nodes  []*node // in order, outermost first
	unions []*node // those with several branches
	km     kinds
	never  bool
}

func look(roots []*node) *view {
	v := &view{km: kAll}
	seen := map[*node]bool{}
	work := slices.Clone(roots)
	slices.Reverse(work)
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		v.nodes = append(v.nodes, n)
		v.km &= n.km
		v.never = v.never || n.never
		if len(n.anyOf) > 1 || len(n.oneOf) > 1 {
			v.unions = append(v.unions, n)
		}
		for _, list := range [...][]*node{n.oneOf, n.anyOf} {
			if len(list) == 1 {
				work = append(work, list[0])
			}
		}
		for i := len(n.allOf) - 1; i >= 0; i-- {
			work = append(work, n.allOf[i])
		}
		if n.ref != nil {
			work = append(work, n.ref)
		}
	}
	if v.never {
		v.km = 0
	}
	return v
}

// ptr is where the place is written: behind references.
func (v *view) ptr() string {
	for _, n := range v.nodes {
		if n.doc != nil && !n.bare() {
			return n.ptr
		}
	}
	if len(v.nodes) > 0 {
		return v.nodes[len(v.nodes)-1].ptr
	}
	return ""
}

// untyped reports that the view admits all kinds, and by its form.
func (v *view) untyped() bool { return v.km == kAll && !v.intricate() && v.enum() == nil }

// free reports that the view says nothing at all.
func (v *view) free() bool {
	for _, n := range v.nodes {
		if !n.trivial() && !n.bare() {
			return false
		}
	}
	return true
}

// intricate reports branches or conditions.
func (v *view) intricate() bool {
	for _, n := range v.nodes {
		if len(n.anyOf) > 1 || len(n.oneOf) > 1 || n.not != nil || n.cond != nil {
			return true
		}
	}
	return false
}

// enum returns the listed values that the view accepts, nil without a list.
func (v *view) enum() *valueSet {
	var set *valueSet
	for _, n := range v.nodes {
		if n.enum == nil {
			continue
		}
		if set == nil {
			set = n.enum
			continue
		}
		both := newValueSet(nil)
		both.texts = set.texts
		for _, x := range set.vals {
			if n.enum.has(x) {
				both.add(x)
			}
		}
		set = both
	}
	if set == nil {
		return nil
	}
	out := newValueSet(nil)
	out.texts = set.texts
	strict := v.intricate()
	for _, n := range v.nodes {
		strict = strict || n.num != nil || n.str != nil || n.arr != nil || n.obj != nil
	}
	e := newEvaluator()
	for _, x := range set.vals {
		fits := x.kind&v.km != 0
		for i := 0; strict && fits && i < len(v.nodes); i++ {
			fits = e.eval(v.nodes[i], x) != No
		}
		if fits {
			out.add(x)
		}
	}
	return out
}

// option is one branch of the unions of a view, or the view itself.
type option struct {
	view  *view
	own   []*node // the branches chosen; nil for a view without unions
	named string  // the last word of a reference that leads to it
}

// maxOptions bounds how far unions are multiplied out.
const maxOptions = 80

// choice is a union keyword of one node.
type choice struct {
	n   *node
	one bool
}

// options multiplies out the unions of the view, also those inside branches; ok
// is false beyond the limit.
func (v *view) options() (out []option, ok bool) {
	type state struct {
		view *view
		own  []*node
		done []choice
	}
	work := []state{{view: v}}
	for len(work) > 0 {
		st := work[0]
		work = work[1:]
		at, list := st.view.nextUnion(st.done)
		if list == nil {
			if st.view.km != 0 || st.own == nil {
				o := option{view: st.view, own: st.own}
				for _, b := range st.own {
					if b.ref != nil {
						o.named = b.ref.ptr[strings.LastIndexByte(b.ref.ptr, '/')+1:]
					}
				}
				out = append(out, o)
			}
			continue
		}
		if len(work)+len(out)+len(list) > maxOptions || len(st.view.nodes) > 2_000 {
			return nil, false
		}
		for _, b := range list {
			next := state{view: look(append(slices.Clip(st.view.nodes), b)), own: append(slices.Clip(st.own), b), done: append(slices.Clip(st.done), at)}
			if next.view.km != 0 {
				work = append(work, next)
			}
		}
	}
	return out, true
}

func (v *view) nextUnion(done []choice) (choice, []*node) {
	for _, u := range v.unions {
		if c := (choice{u, false}); len(u.anyOf) > 1 && !slices.Contains(done, c) {
			return c, u.anyOf
		}
		if c := (choice{u, true}); len(u.oneOf) > 1 && !slices.Contains(done, c) {
			return c, u.oneOf
		}
	}
	return choice{}, nil
}

// tags are the members of an object whose one value tells the branch.
func (o option) tags() string {
	var out []string
	for _, n := range o.view.nodes {
		if n.obj == nil {
			continue
		}
		for _, p := range n.obj.props {
			if p.node.enum != nil && len(p.node.enum.vals) == 1 {
				out = append(out, p.name+"="+p.node.enum.vals[0].key())
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "&")
}

func (o option) propNames() map[string]bool {
	out := map[string]bool{}
	for _, n := range o.view.nodes {
		if n.obj != nil {
			for _, p := range n.obj.props {
				out[p.name] = true
			}
		}
	}
	return out
}

// pair is an old and a new option that are taken for versions of each other.
type pair struct{ old, new *option }

// pairOptions matches the options of one kind: by equality, tags, the name of
// their definition, common property names, and last by order.
func (s *solver) pairOptions(olds, news []option, kind kinds) []pair {
	usedOld, usedNew := make([]bool, len(olds)), make([]bool, len(news))
	var out []pair
	match := func(same func(a, b *option) bool) {
		for i := range olds {
			if usedOld[i] {
				continue
			}
			for j := range news {
				if !usedNew[j] && same(&olds[i], &news[j]) {
					usedOld[i], usedNew[j] = true, true
					out = append(out, pair{&olds[i], &news[j]})
					break
				}
			}
		}
	}
	keys := map[*option]string{}
	key := func(o *option) string {
		k, ok := keys[o]
		if !ok {
			k = s.goalKey(o.view.nodes, nil)
			if len(o.own) > 0 {
				k = s.goalKey(o.own, nil)
			}
			keys[o] = k
		}
		return k
	}
	if len(olds) > 1 || len(news) > 1 {
		match(func(a, b *option) bool { return key(a) == key(b) })
		if kind == kObject {
			match(func(a, b *option) bool { t := a.tags(); return t != "" && t == b.tags() })
		}
		match(func(a, b *option) bool { return a.named != "" && a.named == b.named })
		if kind == kObject {
			match(similarNames)
		}
	}
	match(func(a, b *option) bool {
		return kind != kObject || a.tags() == "" && b.tags() == "" || len(olds) == 1 && len(news) == 1
	})
	for i := range olds {
		if !usedOld[i] {
			out = append(out, pair{old: &olds[i]})
		}
	}
	for j := range news {
		if !usedNew[j] {
			out = append(out, pair{new: &news[j]})
		}
	}
	return out
}

func similarNames(a, b *option) bool {
	x, y := a.propNames(), b.propNames()
	common := 0
	for n := range x {
		if y[n] {
			common++
		}
	}
	ta, tb := a.tags(), b.tags()
	return common > 0 && 2*common >= max(len(x), len(y)) && (ta == "" || tb == "" || ta == tb)
}
