// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// A tree is a JSON value for tests: nil, bool, string, digits, []any or
// map[string]any.
type digits string

// write returns the text of a tree with members in sorted order.
func write(v any) []byte { return appendTree(nil, v) }

func appendTree(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case digits:
		return append(b, v...)
	case string:
		return append(b, jsonx.Quote(v)...)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendTree(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, jsonx.Quote(k)...), ':')
			b = appendTree(b, v[k])
		}
		return append(b, '}')
	}
	panic("not a tree")
}

// clone copies a tree so that it can be changed.
func clone(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = clone(v[i])
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for k := range v {
			c[k] = clone(v[k])
		}
		return c
	}
	return v
}

// gen makes random trees.
type gen struct {
	*rand.Rand
	names []string // member names worth trying
	words []string // strings worth trying
	full  bool     // every optional member near the root is present
	depth int
	reach int // how many levels are near the root
}

func newGen(seed uint64) *gen {
	return &gen{Rand: rand.New(rand.NewPCG(seed, 2026)), names: []string{"x", "_meta"}, words: []string{"a", ""}, reach: 3}
}

func pick[T any](g *gen, s []T) T { return s[g.IntN(len(s))] }

// include decides about an optional member. Below the first levels few are
// taken, or values would grow without bound.
func (g *gen) include() bool {
	switch {
	case g.depth <= g.reach:
		return g.full || g.IntN(2) > 0
	case g.depth <= 2*g.reach:
		return g.IntN(4) == 0
	}
	return false
}

// probes are one or more values of each JSON type, with the edges of numbers.
func probes() []any {
	return []any{nil, true, false, "", "text", "complete", "2.0", digits("0"), digits("1"), digits("1.0"), digits("-1"), digits("-0"),
		digits("0.5"), digits("1.5"), digits("2e3"), digits("25e-1"), digits("1e400"), digits("-32020.0"), digits("12345678901234567890.5"),
		[]any{}, []any{"a"}, []any{nil}, map[string]any{}, map[string]any{"x": digits("1")}, map[string]any{"_meta": "x"}}
}

func (g *gen) probe() any { return clone(pick(g, probes())) }

func (g *gen) text() string {
	switch g.IntN(6) {
	case 0:
		return pick(g, g.words)
	case 1, 2:
		return "demo://host/" + pick(g, []string{"a", "b%20c", "{id}"})
	case 3:
		return "QUJD"
	}
	return pick(g, []string{"", "plain", "with \"quotes\"", "ünï\n", "2026-07-28", "=?base64?x?="})
}

func (g *gen) integer() digits {
	return pick(g, []digits{"0", "1", "7", "100", "-3", "2.0", "1e3", "9007199254740993"})
}

// fromNode makes a value that fits a compiled shape.
func (g *gen) fromNode(n *node) any {
	g.depth++
	defer func() { g.depth-- }()
	switch n.form {
	case formObject:
		m := map[string]any{}
		for i, f := range n.fields {
			if n.required&(1<<i) != 0 || g.include() {
				m[f.name] = g.fromNode(f.node)
			}
		}
		for range g.IntN(3) {
			name := pick(g, g.names)
			if _, known := n.index[name]; known {
				continue
			}
			if n.rest != nil {
				m[name] = g.fromNode(n.rest)
			} else {
				m[name] = g.probe()
			}
		}
		return m
	case formArray:
		a := []any{}
		for range 1 + g.IntN(2) {
			a = append(a, g.fromNode(n.item))
		}
		return a
	case formString:
		return g.text()
	case formChoice:
		return pick(g, n.values)
	case formFixed:
		return digits(n.fixed)
	case formInteger:
		if n.low {
			return digits(strings.TrimPrefix(string(g.integer()), "-"))
		}
		return g.integer()
	case formNumber:
		if n.high {
			return pick(g, []digits{"0", "1", "0.25", "1.0", "-0"})
		}
		return pick(g, []digits{"0.5", "-1", "3", "1e-2"})
	case formBoolean:
		return g.IntN(2) == 0
	case formNull:
		return nil
	case formUnion:
		return g.fromNode(pick(g, n.members))
	case formAll:
		m := map[string]any{}
		for _, c := range n.members {
			if part, ok := g.fromNode(c).(map[string]any); ok {
				maps.Copy(m, part)
			}
		}
		return m
	}
	return g.probe()
}

// spot is a place in a tree that can be read, replaced and sometimes removed.
type spot struct {
	value  any
	set    func(any)
	remove func()
}

// spots lists every place in a tree; set of the first replaces the whole tree.
func spots(root *any) []spot {
	var all []spot
	var visit func(v any, s spot)
	visit = func(v any, s spot) {
		s.value = v
		all = append(all, s)
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				visit(v[k], spot{set: func(x any) { v[k] = x }, remove: func() { delete(v, k) }})
			}
		case []any:
			for i := range v {
				visit(v[i], spot{set: func(x any) { v[i] = x }})
			}
		}
	}
	visit(*root, spot{set: func(x any) { *root = x }})
	return all
}

// mutate changes one random place of a tree.
func (g *gen) mutate(root any, other func() any) any {
	all := spots(&root)
	s := pick(g, all)
	switch g.IntN(9) {
	case 0, 1:
		if s.remove != nil {
			s.remove()
			break
		}
		s.set(g.probe())
	case 2, 3:
		s.set(g.probe())
	case 4:
		if m, ok := s.value.(map[string]any); ok {
			m[pick(g, g.names)] = g.probe()
		} else {
			s.set([]any{s.value})
		}
	case 5:
		s.set(clone(pick(g, all).value))
	case 6:
		s.set(pick(g, g.words))
	case 7:
		switch v := s.value.(type) {
		case []any:
			s.set(append(clone(v).([]any), g.probe()))
		case map[string]any:
			if len(v) > 0 {
				k := pick(g, slices.Sorted(maps.Keys(v)))
				v[pick(g, g.names)] = v[k]
				delete(v, k)
			}
		case digits:
			if !strings.ContainsAny(string(v), ".e") {
				s.set(v + pick(g, []digits{".5", "e1", ".0"}))
			}
		default:
			s.set(g.integer())
		}
	case 8:
		s.set(other())
	}
	return root
}
