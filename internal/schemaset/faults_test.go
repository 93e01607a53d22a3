// SPDX-License-Identifier: Apache-2.0

package schemaset

import "testing"

// TestPlantedFaults switches on wrong rules one by one. Each must be caught by
// the checks of the mutated pairs, or those checks prove nothing.
func TestPlantedFaults(t *testing.T) {
	faults := map[string]*bool{
		"a longer maxLength is implied": &planted.maxLengthImplied,
		"required names are implied":    &planted.requiredImplied,
		"branches of oneOf never meet":  &planted.oneOfDisjoint,
	}
	p := newPairSource(t, false)
	for name, on := range faults {
		*on = true
		caught := -1
		for i := 0; i < 10_000 && caught < 0; i++ {
			a, b, _ := p.make(i)
			old, _ := Parse(a, ParseOptions{})
			new, _ := Parse(b, ParseOptions{})
			oa, err1 := newOracle(a)
			ob, err2 := newOracle(b)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			x := &Explanation{Root: Compare(old, new, Budget{})}
			if bad, _ := judge(a, b, x, old, new, oa, ob, uint64(i)); len(bad) > 0 {
				caught = i
			}
		}
		*on = false
		if caught < 0 {
			t.Errorf("%q was not caught", name)
		} else {
			t.Logf("%q was caught by pair %d", name, caught)
		}
	}
}
