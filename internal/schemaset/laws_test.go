// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSameSchemaHasNoDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var docs [][]byte
	for _, s := range handSeeds {
		docs = append(docs, []byte(s))
	}
	docs = append(docs, realSchemas(t)...)
	for range 300 {
		docs = append(docs, encode(randomSchema(r, 3, false)))
	}
	for _, raw := range docs {
		// Written anew, so that the short cut over equal bytes does not apply.
		again := append([]byte(" "), encode(decode(raw))...)
		old, _ := Parse(raw, ParseOptions{})
		new, _ := Parse(again, ParseOptions{})
		if c := Compare(old, new, Budget{}); c.Relation != Equal {
			t.Errorf("not equal to itself: %+v\n%s", c, raw)
		}
		for _, d := range Explain(old, new, Options{}).Deltas {
			if d.Facet != FacetOrder {
				t.Errorf("delta %s at %s of a schema against itself\n%s", d.Facet, d.Path, raw)
			}
		}
	}
}

// TestLaws holds what is true of all sets.
func TestLaws(t *testing.T) {
	n := amount(150, 400, 1500)
	r := rand.New(rand.NewPCG(21, 4))
	inside := func(what string, a, b any) {
		t.Helper()
		res := Contained(mustParse(t, encode(a)), mustParse(t, encode(b)), Budget{})
		if res.Verdict == Outside {
			t.Errorf("%s: %s\n%s\n%s", what, res.Value, encode(a), encode(b))
		}
	}
	for range n {
		a, b, c := randomSchema(r, 2, false), randomSchema(r, 2, false), randomSchema(r, 1, false)
		inside("A in anyOf[A,B]", a, object{"anyOf": []any{a, b}})
		inside("allOf[A,B] in A", object{"allOf": []any{a, b}}, a)
		inside("not not A in A", object{"not": object{"not": a}}, a)
		inside("A in not not A", a, object{"not": object{"not": a}})
		inside("A and not A is empty", object{"allOf": []any{a, object{"not": a}}}, false)
		inside("A or not A is all", true, object{"anyOf": []any{a, object{"not": a}}})
		inside("allOf[A, anyOf[B,C]] in anyOf[allOf[A,B], allOf[A,C]]", object{"allOf": []any{a, object{"anyOf": []any{b, c}}}},
			object{"anyOf": []any{object{"allOf": []any{a, b}}, object{"allOf": []any{a, c}}}})
		ab := Contained(mustParse(t, encode(a)), mustParse(t, encode(b)), Budget{})
		bc := Contained(mustParse(t, encode(b)), mustParse(t, encode(c)), Budget{})
		if ab.Verdict == Inside && bc.Verdict == Inside {
			inside("A in B and B in C", a, c)
		}
	}
}

// TestRespellings rewrites real schemas without changing their meaning.
func TestRespellings(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var docs [][]byte
	for _, s := range handSeeds {
		docs = append(docs, []byte(s))
	}
	if len(realSchemas(t)) == 0 {
		t.Log("MCPROVE_SHARED is unset: hand-written schemas only")
	}
	docs = append(docs, realSchemas(t)...)
	count := 0
	for _, raw := range docs {
		doc, ok := decode(raw).(object)
		if !ok {
			continue
		}
		for _, m := range respellings {
			out, ops := edit(r, doc, []mutation{m}, 2)
			if len(ops) == 0 {
				continue
			}
			// An inline place that a reference leads to may have moved.
			if strings.Contains(string(raw), `"#/properties`) {
				continue
			}
			count++
			old, _ := Parse(raw, ParseOptions{})
			new, _ := Parse(encode(out), ParseOptions{})
			x := Explain(old, new, Options{})
			if x.Root.Relation != Equal {
				t.Errorf("%v changed the meaning: %+v\n%s\n%s", ops, x.Root, raw, encode(out))
			}
			for _, d := range x.Deltas {
				if d.Change != Text {
					t.Errorf("%v gave %s at %q", ops, d.Facet, d.Path)
				}
			}
		}
	}
	t.Logf("%d respellings", count)
}

// TestWitnessIgnoresOrder shuffles the members of a document.
func TestWitnessIgnoresOrder(t *testing.T) {
	p := newPairSource(t, false)
	for i := range amount(100, 400, 400) {
		a, b, _ := p.make(i)
		first := Explain(mustParse(t, a), mustParse(t, b), Options{})
		second := Explain(mustParse(t, backwards(a)), mustParse(t, backwards(b)), Options{})
		if !bytes.Equal(first.Root.Lost.Value, second.Root.Lost.Value) || !bytes.Equal(first.Root.Gained.Value, second.Root.Gained.Value) {
			t.Errorf("the witness depends on the order of members: %s %s, %s %s\n%s\n%s", first.Root.Lost.Value, second.Root.Lost.Value, first.Root.Gained.Value, second.Root.Gained.Value, a, b)
		}
		if first.Root.Lost.Steps != second.Root.Lost.Steps {
			t.Errorf("steps differ: %d %d\n%s\n%s", first.Root.Lost.Steps, second.Root.Lost.Steps, a, b)
		}
	}
}

// backwards writes the members of every object in reverse order.
func backwards(raw []byte) []byte {
	v, err := readTree(raw)
	if err != nil {
		return raw
	}
	var turn func(v *val) *val
	turn = func(v *val) *val {
		switch v.kind {
		case kObject:
			ms := make([]member, 0, len(v.mem))
			for i := len(v.mem) - 1; i >= 0; i-- {
				ms = append(ms, member{v.mem[i].name, turn(v.mem[i].val)})
			}
			return newObject(ms)
		case kArray:
			es := make([]*val, len(v.arr))
			for i, e := range v.arr {
				es[i] = turn(e)
			}
			return newArray(es)
		}
		return v
	}
	return turn(v).appendJSON(nil)
}
