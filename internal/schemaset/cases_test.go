// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

type testCase struct {
	Title     string
	Direction string
	Worst     []string
	Before    struct{ Tools []map[string]json.RawMessage }
	After     struct{ Tools []map[string]json.RawMessage }
}

func loadCases(t testing.TB) []testCase {
	raw, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cs []testCase
	if err := json.Unmarshal(raw, &cs); err != nil {
		t.Fatal(err)
	}
	return cs
}

// worst judges the deltas of one schema pair by the plain rules of the product:
// values lost break callers, values gained break readers.
func worst(x *Explanation, output bool) string {
	rank := map[string]int{"cosmetic": 0, "routing": 1, "additive": 2, "breaking": 3}
	worst := "cosmetic"
	raise := func(class string) {
		if rank[class] > rank[worst] {
			worst = class
		}
	}
	for _, d := range x.Deltas {
		bad, good := d.Lost.Verdict != Inside, d.Gained.Verdict != Inside
		if output {
			bad, good = good, bad
		}
		switch {
		case d.Facet == FacetProperty && !d.HasNew && d.Admitted != "" && d.Admitted != "open" && d.Covered && !output:
			raise("additive")
		case d.Facet == FacetProperty && !d.HasNew:
			raise("breaking")
		case d.Theoretical:
			raise("additive")
		case bad:
			raise("breaking")
		case good:
			raise("additive")
		}
		switch d.Facet {
		case FacetDefault:
			if string(d.Before)+string(d.After) == "truefalse" || string(d.Before)+string(d.After) == "falsetrue" {
				raise("breaking")
			} else {
				raise("routing")
			}
		case FacetTitle, FacetDescription, FacetExamples, FacetValueText:
			raise("routing")
		}
	}
	return worst
}

func TestCases(t *testing.T) {
	seen, lossy, witnessed := 0, 0, 0
	for _, c := range loadCases(t) {
		for _, key := range []string{"inputSchema", "outputSchema"} {
			b, a := c.Before.Tools[0][key], c.After.Tools[0][key]
			if b == nil || a == nil || string(a) == string(b) {
				continue
			}
			seen++
			output := key == "outputSchema"
			oa, err1 := newOracle(b)
			ob, err2 := newOracle(a)
			if err1 != nil || err2 != nil {
				t.Fatal(c.Title, err1, err2)
			}
			confirm := func(v []byte) (bool, bool, error) { return oa.valid(v), ob.valid(v), nil }
			x := Explain(mustParse(t, b), mustParse(t, a), Options{Confirm: confirm})
			got := worst(x, output)
			if !slices.Contains(c.Worst, got) && !(got == "cosmetic" && slices.Contains(c.Worst, "none")) {
				t.Errorf("%s: %s, want %v", c.Title, got, c.Worst)
			}
			if x.Disputes > 0 || x.LostUnexplained || x.GainedUnexplained {
				t.Errorf("%s: %d disputes, unexplained %v %v", c.Title, x.Disputes, x.LostUnexplained, x.GainedUnexplained)
			}
			for _, d := range x.Deltas {
				for _, r := range []Result{d.Lost, d.Gained} {
					if r.Verdict == Outside {
						lossy++
						if r.Confirmed {
							witnessed++
						}
					}
				}
			}
		}
	}
	t.Logf("%d schema pairs, %d of %d witnesses confirmed", seen, witnessed, lossy)
	if seen < 30 || witnessed != lossy {
		t.Errorf("%d schema pairs, %d of %d witnesses confirmed", seen, witnessed, lossy)
	}
}
