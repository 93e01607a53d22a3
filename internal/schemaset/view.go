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

// enum returns the values that all lists of the view share, nil without a list.
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
	for _, x := range set.vals {
		if x.kind&v.km != 0 {
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

// options multiplies out the unions of the view; ok is false beyond the limit.
func (v *view) options() (out []option, ok bool) {
	picks := [][]*node{nil}
	for _, u := range v.unions {
		for _, list := range [...][]*node{u.anyOf, u.oneOf} {
			if len(list) < 2 {
				continue
			}
			var next [][]*node
			for _, p := range picks {
				for _, b := range list {
					next = append(next, append(slices.Clip(p), b))
				}
			}
			if picks = next; len(picks) > maxOptions {
				return nil, false
			}
		}
	}
	if len(picks) == 1 && picks[0] == nil {
		return []option{{view: v}}, true
	}
	for _, p := range picks {
		o := option{view: look(append(slices.Clone(v.nodes), p...)), own: p}
		if o.view.km == 0 {
			continue
		}
		if len(o.view.unions) > len(v.unions) {
			inner, fits := o.nested(v)
			if !fits || len(out)+len(inner) > maxOptions {
				return nil, false
			}
			out = append(out, inner...)
			continue
		}
		for _, b := range p {
			if b.ref != nil {
				o.named = b.ref.ptr[strings.LastIndexByte(b.ref.ptr, '/')+1:]
			}
		}
		out = append(out, o)
	}
	return out, true
}

// nested multiplies out unions that stand inside a branch.
func (o option) nested(outer *view) ([]option, bool) {
	inner := *o.view
	inner.unions = slices.DeleteFunc(slices.Clone(o.view.unions), func(n *node) bool { return slices.Contains(outer.unions, n) })
	if len(inner.nodes) > 400 {
		return nil, false
	}
	opts, ok := inner.options()
	if !ok {
		return nil, false
	}
	for i := range opts {
		opts[i].own = append(slices.Clone(o.own), opts[i].own...)
	}
	return opts, true
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
