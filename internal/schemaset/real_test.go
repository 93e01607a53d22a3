// SPDX-License-Identifier: Apache-2.0

package schemaset

import "testing"

// TestRealPairs explains real releases: everything is decided, explained and
// confirmed.
func TestRealPairs(t *testing.T) {
	pairs := realPairs(t)
	facets := map[Facet]int{}
	for _, p := range pairs {
		old, _ := Parse(p[0], ParseOptions{})
		new, _ := Parse(p[1], ParseOptions{})
		oa, err1 := newOracle(p[0])
		ob, err2 := newOracle(p[1])
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		x := Explain(old, new, Options{Confirm: func(v []byte) (bool, bool, error) { return oa.valid(v), ob.valid(v), nil }})
		if x.Root.Relation == Unsettled || x.LostUnexplained || x.GainedUnexplained || x.Disputes > 0 {
			t.Errorf("%v, unexplained %v %v, %d disputes\n%s\n%s", x.Root.Relation, x.LostUnexplained, x.GainedUnexplained, x.Disputes, p[0], p[1])
		}
		for _, d := range x.Deltas {
			facets[d.Facet]++
		}
	}
	t.Logf("%d pairs, deltas by facet: %v", len(pairs), facets)
}
