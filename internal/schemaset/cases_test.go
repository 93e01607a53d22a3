// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"encoding/json"
	"os"
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

func TestCasesDump(t *testing.T) {
	for _, c := range loadCases(t) {
		for _, key := range []string{"inputSchema", "outputSchema"} {
			b, a := c.Before.Tools[0][key], c.After.Tools[0][key]
			if b == nil || a == nil || string(a) == string(b) {
				continue
			}
			x := Explain(mustParse(t, b), mustParse(t, a), Options{})
			t.Log("##", c.Title, c.Worst, x.Root.Relation, x.LostUnexplained, x.GainedUnexplained, x.DeclaredLost.Verdict)
			for _, d := range x.Deltas {
				t.Logf("      %s %s ch=%d path=%s %s->%s b=%s a=%s -%s +%s L=%d:%s G=%d:%s %+v", d.Facet, d.Name, d.Change, d.Path, d.OldPtr, d.NewPtr, d.Before, d.After, d.Removed, d.Added, d.Lost.Verdict, d.Lost.Value, d.Gained.Verdict, d.Gained.Value, d.Also)
			}
		}
	}
}
