// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// sample is a value with the agreed verdict of the official schema.
type sample struct {
	text    []byte
	accepts bool
}

// spoil is one way to damage a field of a compiled shape.
type spoil struct {
	name  string
	apply func(n *node, i int) bool // false: nothing to damage
}

var spoils = []spoil{
	{"requirement turned round", func(n *node, i int) bool { n.required ^= 1 << i; return true }},
	{"type forgotten", func(n *node, i int) bool {
		if n.fields[i].node.form == formAny {
			return false
		}
		n.fields[i].node = &node{form: formAny, kinds: kAll}
		return true
	}},
	{"bound or value forgotten", func(n *node, i int) bool {
		f := n.fields[i].node
		loose := *f
		switch {
		case f.form == formInteger || f.form == formFixed:
			loose.form = formAny
		case f.low || f.high || f.most > 0:
			loose.low, loose.high, loose.most = false, false, 0
		case f.form == formChoice:
			loose.form = formString
		case f.form == formArray && f.item.form != formAny:
			loose.item = &node{form: formAny, kinds: kAll}
		case f.form == formObject && f.rest != nil && f.rest.form != formAny:
			loose.rest = nil
		default:
			return false
		}
		n.fields[i].node = &loose
		return true
	}},
	{"type too narrow", func(n *node, i int) bool {
		f := n.fields[i].node
		narrow := *f
		switch f.form {
		case formAny:
			narrow.kinds, narrow.form = kObject, formObject
		case formNumber:
			narrow.form = formInteger
		case formChoice:
			if len(f.values) < 2 {
				return false
			}
			narrow.values = f.values[1:]
		case formUnion:
			narrow.tag, narrow.members = "", f.members[1:]
			narrow.kinds, narrow.byKind = 0, [numKinds][]*node{}
			for _, m := range narrow.members {
				narrow.kinds |= m.kinds
				for k := range narrow.byKind {
					if m.kinds&(1<<k) != 0 {
						narrow.byKind[k] = append(narrow.byKind[k], m)
					}
				}
			}
		default:
			return false
		}
		n.fields[i].node = &narrow
		return true
	}},
}

// TestDifferentialHasTeeth damages each field of each definition in several ways and
// demands that the comparison with the official schema notices.
func TestDifferentialHasTeeth(t *testing.T) {
	schemaDir(t)
	revisions := All()
	if testing.Short() {
		revisions = []Revision{Latest}
	}
	damaged, noticed := 0, 0
	for _, r := range revisions {
		doc, key := official(t, r)
		defs := doc[key].(map[string]any)
		var taken []difference
		for _, d := range differences {
			if d.in.Contains(r) {
				taken = append(taken, d)
			}
		}
		o := newOracle(t, r, taken...)
		g := newGen(uint64(r) + 100)
		g.learn(doc)
		nodes := grammarOf(r).nodes
		named := make(map[*node]bool)
		for _, n := range nodes {
			named[n] = true
		}
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			n := nodes[name]
			parts := inline(n, named)
			if len(parts) == 0 {
				continue
			}
			samples := collect(t, g, o, defs, nodes, name, len(parts) > 1)
			for _, part := range parts {
				for i := range part.fields {
					for _, s := range spoils {
						whole := *part
						part.fields = slices.Clone(part.fields)
						if s.apply(part, i) {
							damaged++
							if !agrees(n, samples) {
								noticed++
							} else if !(part != n && part.fields[i].name == "code") {
								// The second half of a coded error repeats that
								// code is required, which the first half says.
								t.Errorf("%s %s (%s) %s: %s, and nothing showed it", r, name, part.label, part.fields[i].name, s.name)
							}
						}
						*part = whole
					}
				}
			}
			if !agrees(n, samples) {
				t.Fatalf("%s %s: damage was left behind", r, name)
			}
		}
	}
	t.Logf("%d damages made, %d noticed", damaged, noticed)
}

func collect(t *testing.T, g *gen, o *oracle, defs map[string]any, nodes map[string]*node, name string, deep bool) []sample {
	var ss []sample
	add := func(v any) {
		text := write(v)
		if len(text) < 4000 {
			ss = append(ss, sample{text, o.accepts(name, parse(t, text))})
		}
	}
	if deep {
		g.full, g.reach = true, 6
		for range 2 {
			base := g.fromSchema(defs, defs[name])
			count := len(spots(&base))
			for _, i := range g.Perm(count)[:min(count, 100)] {
				changed := clone(base)
				s := spots(&changed)[i]
				if s.remove != nil {
					s.remove()
					add(changed)
				}
				if old, ok := s.value.([]any); ok && len(old) > 0 {
					s.set(long(old[0]))
					add(changed)
				}
				for _, p := range append(probes(), map[string]any{"x": []any{}}) {
					changed := clone(base)
					spots(&changed)[i].set(p)
					add(changed)
				}
			}
		}
		g.reach = 3
	}
	for k := range 60 {
		g.full = k%4 == 0
		v := g.fromSchema(defs, defs[name])
		if k%2 == 0 {
			v = g.fromNode(nodes[name])
		}
		add(v)
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		for _, member := range slices.Sorted(maps.Keys(m)) {
			old := m[member]
			delete(m, member)
			add(m)
			if k < 6 {
				for _, p := range probes() {
					m[member] = p
					add(m)
				}
				if old, ok := old.([]any); ok && len(old) > 0 {
					m[member] = long(old[0])
					add(m)
				}
			}
			inner := clone(old)
			m[member] = g.mutate(inner, func() any { return g.probe() })
			add(m)
			m[member] = old
		}
	}
	return ss
}

// long returns more elements than any definition allows where it counts them.
func long(v any) []any {
	vs := make([]any, 101)
	for i := range vs {
		vs[i] = v
	}
	return vs
}

func verdict(n *node, text []byte) bool {
	w, err := newWalker(text)
	if err != nil {
		panic(fmt.Sprint(err, strings.ToValidUTF8(string(text), "?")))
	}
	defer w.release()
	w.quiet = true
	return w.walk(n, 0)
}

// inline returns the objects of a definition that have no name of their own, the
// definition itself first.
func inline(n *node, named map[*node]bool) []*node {
	var found []*node
	var visit func(m *node)
	visit = func(m *node) {
		if m == nil || m != n && named[m] || slices.Contains(found, m) {
			return
		}
		if m.form == formObject && len(m.fields) > 0 {
			found = append(found, m)
		}
		for _, f := range m.fields {
			visit(f.node)
		}
		visit(m.rest)
		visit(m.item)
		for _, c := range m.members {
			visit(c)
		}
	}
	visit(n)
	return found
}

func agrees(n *node, ss []sample) bool {
	for _, s := range ss {
		if verdict(n, s.text) != s.accepts {
			return false
		}
	}
	return true
}
