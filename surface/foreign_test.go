// SPDX-License-Identifier: Apache-2.0

package surface_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

func load(t testing.TB, name string) *surface.Surface {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "foreign", name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := surface.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func changes(r *contract.Result) string {
	var b strings.Builder
	for _, c := range r.Changes {
		b.WriteString("  " + c.Class.String() + " " + c.ID + " " + c.Name + " " + c.Path + " " + string(c.Before) + " -> " + string(c.After) + "\n")
	}
	return b.String()
}

// Files that releases of the other tools wrote of a server, compared with what
// the same server lists: a plain one, one with everything that is odd, and one
// whose schemas were put together at random.
func TestAnUnchangedServerHasNoChanges(t *testing.T) {
	for server, n := range map[string]int{"library": 9, "odd": 9, "generated": 3} {
		live := load(t, server+".json")
		files, err := filepath.Glob(filepath.Join("testdata", "foreign", server+"*.*"))
		if err != nil || len(files) != n {
			t.Fatalf("%s: %d files, want %d: %v", server, len(files), n, err)
		}
		for _, f := range files {
			name := filepath.Base(f)
			t.Run(name, func(t *testing.T) {
				recorded := load(t, name)
				if r := contract.Compare(recorded, live, contract.Options{}); len(r.Changes) > 0 {
					t.Errorf("recorded, then live:\n%s", changes(r))
				}
				if r := contract.Compare(recorded, live, contract.Options{}); name != "odd.mcpc.json" && r.Compared["tool"] < 5 {
					t.Errorf("%d tools were compared", r.Compared["tool"])
				}
				if r := contract.Compare(live, recorded, contract.Options{}); len(r.Changes) > 0 {
					t.Errorf("live, then recorded:\n%s", changes(r))
				}
			})
		}
	}
}
