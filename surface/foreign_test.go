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
// the same server lists.
func TestAnUnchangedServerHasNoChanges(t *testing.T) {
	for _, server := range []string{"library", "odd"} {
		live := load(t, server+".json")
		files, err := filepath.Glob(filepath.Join("testdata", "foreign", server+"*.*"))
		if err != nil || len(files) < 8 {
			t.Fatalf("%d files: %v", len(files), err)
		}
		for _, f := range files {
			name := filepath.Base(f)
			t.Run(name, func(t *testing.T) {
				recorded := load(t, name)
				if r := contract.Compare(recorded, live, contract.Options{}); len(r.Changes) > 0 {
					t.Errorf("recorded, then live:\n%s", changes(r))
				}
				if r := contract.Compare(live, recorded, contract.Options{}); len(r.Changes) > 0 {
					t.Errorf("live, then recorded:\n%s", changes(r))
				}
			})
		}
	}
}
