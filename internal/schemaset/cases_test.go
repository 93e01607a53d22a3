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

func TestSmoke(t *testing.T) {
	for _, c := range loadCases(t) {
		for _, key := range []string{"inputSchema", "outputSchema"} {
			b, a := c.Before.Tools[0][key], c.After.Tools[0][key]
			if b == nil || a == nil || string(a) == string(b) {
				continue
			}
			o, p1 := Parse(b, ParseOptions{})
			n, p2 := Parse(a, ParseOptions{})
			r := Compare(o, n, Budget{})
			t.Log(c.Title, c.Worst, r.Relation, string(r.Lost.Value), "|", string(r.Gained.Value), r.Lost.Reason, r.Gained.Reason, p1, p2, r.Lost.Steps)
		}
	}
	t.Log(SelfCheckFailures())
}
