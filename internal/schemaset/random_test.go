// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/rand/v2"
	"testing"
)

// TestEvalAgrees compares the internal validator with an independent one on
// random schemas and the values near their edges.
func TestEvalAgrees(t *testing.T) {
	n := amount(400, 1200, 6000)
	r := rand.New(rand.NewPCG(1, 2))
	values := 0
	for range n {
		raw := encode(randomSchema(r, 1+r.IntN(3), false))
		s := mustParse(t, raw)
		o, err := newOracle(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for _, v := range candidates(s.root, 40) {
			text := v.appendJSON(nil)
			values++
			got := Eval(text, s)
			if want := truth(o.valid(text)); got != want && got != Unknown {
				t.Fatalf("schema %s value %s: %v, want %v", raw, text, got, want)
			}
		}
	}
	t.Logf("%d values", values)
}

// TestRandomPairs compares random schemas that share nothing.
func TestRandomPairs(t *testing.T) {
	n := amount(700, 2000, 20_000)
	r := rand.New(rand.NewPCG(3, 4))
	count := map[Relation]int{}
	reasons := map[string]int{}
	for range n {
		a := encode(randomSchema(r, 1+r.IntN(3), false))
		b := encode(randomSchema(r, 1+r.IntN(3), false))
		p := checkPair(t, a, b)
		count[p.Relation]++
		if p.Relation == Unsettled {
			reasons[p.Lost.Reason+p.Gained.Reason+p.Common.Reason]++
		}
		if t.Failed() {
			return
		}
	}
	t.Log(count, reasons, SelfCheckFailures())
}

// checkPair compares two schemas and holds every claim against the oracle.
func checkPair(t testing.TB, a, b []byte) Comparison {
	old, new := mustParse(t, a), mustParse(t, b)
	c := Compare(old, new, Budget{})
	oa, err1 := newOracle(a)
	ob, err2 := newOracle(b)
	if err1 != nil || err2 != nil {
		t.Errorf("oracle: %v %v for %s and %s", err1, err2, a, b)
		return c
	}
	checkClaims(t, a, b, c, oa, ob, append(candidates(old.root, 40), candidates(new.root, 40)...))
	return c
}

func checkClaims(t testing.TB, a, b []byte, c Comparison, oa, ob oracle, pool []*val) {
	t.Helper()
	if v := c.Lost.Value; v != nil && (!oa.valid(v) || ob.valid(v)) {
		t.Errorf("lost %s: not valid before and invalid after\n%s\n%s", v, a, b)
	}
	if v := c.Gained.Value; v != nil && (oa.valid(v) || !ob.valid(v)) {
		t.Errorf("gained %s: not invalid before and valid after\n%s\n%s", v, a, b)
	}
	if v := c.Common.Value; v != nil && (!oa.valid(v) || !ob.valid(v)) {
		t.Errorf("common %s is not common\n%s\n%s", v, a, b)
	}
	for _, v := range pool {
		text := v.appendJSON(nil)
		x, y := oa.valid(text), ob.valid(text)
		if x && !y && c.Lost.Verdict == Inside {
			t.Errorf("unsound: nothing lost, but %s is valid before and not after\n%s\n%s", text, a, b)
			return
		}
		if y && !x && c.Gained.Verdict == Inside {
			t.Errorf("unsound: nothing gained, but %s is valid after and not before\n%s\n%s", text, a, b)
			return
		}
		if x && y && c.Relation == Disjoint {
			t.Errorf("unsound: disjoint, but %s is common\n%s\n%s", text, a, b)
			return
		}
	}
}
