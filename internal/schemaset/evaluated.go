// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"maps"
	"slices"
)

// evaluated is what a schema is known to evaluate whatever the value is.
type evaluated struct {
	all   bool
	props map[string]bool
	pats  map[string]*pattern
	count int // leading elements

	seen  map[*node]bool // taken in, behind the schema itself
	steps *int           // of all that belong together
}

func newEvaluated(steps *int) evaluated {
	return evaluated{props: map[string]bool{}, pats: map[string]*pattern{}, seen: map[*node]bool{}, steps: steps}
}

// known reports that n was taken in before; ok is false once the work is too much.
func (ev *evaluated) known(n *node, depth int) (known, ok bool) {
	if *ev.steps++; *ev.steps > evaluatedSteps || depth > evaluatedDepth || n.opaque != "" {
		return false, false
	}
	known = ev.seen[n]
	ev.seen[n] = depth > 0
	return known, true
}

const (
	evaluatedDepth = 50
	evaluatedSteps = 100_000 // visits of schemas for one keyword
)

// properties adds the names that n evaluates; false when they depend on the value.
func (ev *evaluated) properties(n *node, depth int) bool {
	if n == nil {
		return true
	}
	if known, ok := ev.known(n, depth); known || !ok {
		return ok
	}
	if n.src.get("unevaluatedProperties") != nil && depth > 0 {
		ev.all = true
	}
	if o := n.obj; o != nil {
		for _, p := range o.props {
			ev.props[p.name] = true
		}
		for _, p := range o.patterns {
			ev.pats[p.pat.text] = p.pat
		}
		if o.extra != nil {
			ev.all = true
		}
		for _, d := range o.depSch {
			if !ev.silent(d.node, depth) {
				return false
			}
		}
	}
	for _, c := range append([]*node{n.ref}, n.allOf...) {
		if !ev.properties(c, depth+1) {
			return false
		}
	}
	for _, c := range n.branches() {
		if !ev.silent(c, depth) {
			return false
		}
	}
	return true
}

// silent reports whether c evaluates nothing that is not evaluated anyway.
func (ev *evaluated) silent(c *node, depth int) bool {
	inner := newEvaluated(ev.steps)
	if !inner.properties(c, depth+1) {
		return false
	}
	if ev.all {
		return true
	}
	if inner.all {
		return false
	}
	for p := range inner.props {
		if !ev.props[p] {
			return false
		}
	}
	for p := range inner.pats {
		if ev.pats[p] == nil {
			return false
		}
	}
	return true
}

// branches returns the schemas that apply in place only for some values.
func (n *node) branches() []*node {
	out := slices.Concat(n.anyOf, n.oneOf)
	if n.cond != nil {
		out = append(out, n.cond.test)
		for _, c := range []*node{n.cond.yes, n.cond.no} {
			if c != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// additional respells unevaluatedProperties as additionalProperties.
func (ev *evaluated) additional(r *schemaReader, s *node) *node {
	n := newObjectNode(&objectPart{extra: s, max: absent})
	n.doc, n.ptr = r.l.doc, r.at("unevaluatedProperties")
	for _, name := range slices.Sorted(maps.Keys(ev.props)) {
		n.obj.props = append(n.obj.props, property{name, newNode()})
	}
	for _, text := range slices.Sorted(maps.Keys(ev.pats)) {
		n.obj.patterns = append(n.obj.patterns, patternProperty{ev.pats[text], newNode()})
	}
	n.obj.build()
	r.l.doc.nodes = append(r.l.doc.nodes, n)
	return n
}

// items counts the leading elements that n evaluates.
func (ev *evaluated) items(n *node, d Dialect, depth int) bool {
	if n == nil {
		return true
	}
	if known, ok := ev.known(n, depth); known || !ok {
		return ok
	}
	if n.src.get("unevaluatedItems") != nil && depth > 0 {
		ev.all = true
	}
	if a := n.arr; a != nil {
		ev.count = max(ev.count, len(a.prefix))
		if a.rest != nil {
			ev.all = true
		}
		if a.contains != nil && d >= Draft2020 {
			return false // the elements it counts are evaluated too
		}
	}
	for _, c := range append([]*node{n.ref}, n.allOf...) {
		if !ev.items(c, d, depth+1) {
			return false
		}
	}
	conditional := n.branches()
	if n.obj != nil {
		for _, dep := range n.obj.depSch {
			conditional = append(conditional, dep.node)
		}
	}
	for _, c := range conditional {
		inner := newEvaluated(ev.steps)
		if !inner.items(c, d, depth+1) || inner.all && !ev.all || inner.count > ev.count && !ev.all {
			return false
		}
	}
	return true
}
