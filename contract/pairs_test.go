// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// shared returns a path below MCPROVE_SHARED, and skips the test where a clone
// has no such folder.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("MCPROVE_SHARED")
	if root == "" {
		t.Skip("needs the listings of real servers: set MCPROVE_SHARED to their folder")
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join("..", root) // relative to the module
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

func pair(t *testing.T, name string) *contract.Result {
	t.Helper()
	load := func(side string) *surface.Surface {
		path := shared(t, "servers", "pairs", name+"-"+side+".json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return read(t, path, data)
	}
	r := contract.Compare(load("old"), load("new"), contract.Options{})
	if testing.Verbose() {
		t.Log("\n" + describe(r))
	}
	return r
}

// found reports whether a change of the class and kind is there; name may be
// empty for any.
func found(r *contract.Result, class contract.Class, id, name string) bool {
	return slices.ContainsFunc(r.Changes, func(c contract.Change) bool {
		if c.Class != class || c.ID != id {
			return false
		}
		return name == "" || c.Name == name || slices.ContainsFunc(c.Also, func(p contract.Place) bool { return p.Name == name })
	})
}

func expect(t *testing.T, r *contract.Result, class contract.Class, id string, names ...string) {
	t.Helper()
	if len(names) == 0 {
		names = []string{""}
	}
	for _, n := range names {
		if !found(r, class, id, n) {
			t.Errorf("%s %s %s is missing:\n%s", class, id, n, describe(r))
		}
	}
}

// breaking lists the breaking changes as "id name".
func breaking(r *contract.Result) []string {
	var out []string
	for _, c := range r.Changes {
		if c.Class == contract.Breaking {
			out = append(out, c.ID+" "+c.Name)
		}
	}
	return out
}

func TestPairSequentialThinking(t *testing.T) {
	r := pair(t, "sequential-thinking")
	if b := breaking(r); len(b) > 0 {
		// Hints may be withdrawn; nothing else may break.
		for _, x := range b {
			if !strings.HasPrefix(x, "hint-") {
				t.Errorf("breaking: %s", x)
			}
		}
	}
	expect(t, r, contract.Additive, "input-type-widened")
	expect(t, r, contract.Routing, "tool-title-changed")
	expect(t, r, contract.Additive, "output-schema-added")
	expect(t, r, contract.Routing, "tool-description-changed")
	expect(t, r, contract.Cosmetic, "safe-integer-bound")
	expect(t, r, contract.Cosmetic, "task-support-restated")
	expect(t, r, contract.Cosmetic, "server-version-changed")
}

func TestPairContext7(t *testing.T) {
	r := pair(t, "context7")
	expect(t, r, contract.Breaking, "tool-removed", "get-library-docs")
	expect(t, r, contract.Breaking, "required-argument-added", "resolve-library-id")
	expect(t, r, contract.Breaking, "list-changed-withdrawn")
	expect(t, r, contract.Additive, "tool-added", "query-docs")
	expect(t, r, contract.Additive, "additional-properties-opened", "resolve-library-id")
	expect(t, r, contract.Additive, "capability-added")
	expect(t, r, contract.Routing, "tool-description-changed", "resolve-library-id")
	expect(t, r, contract.Routing, "instructions-changed")
	if found(r, contract.Breaking, "tool-renamed-candidate", "") {
		t.Error("query-docs is not a pure rename")
	}
	if b := breaking(r); len(b) != 3 {
		t.Errorf("three breaking changes, no more: %q", b)
	}
}

func TestPairNotion(t *testing.T) {
	r := pair(t, "notion")
	removed, schemaChanged := 0, map[string]bool{}
	for _, c := range r.Changes {
		if c.ID == "tool-removed" || c.ID == "tool-renamed-candidate" {
			removed++
		}
		places := append([]contract.Place{c.Place}, c.Also...)
		for _, p := range places {
			text := strings.Contains(c.ID, "description") || strings.Contains(c.ID, "title") || c.ID == "default-added"
			if strings.HasPrefix(p.Pointer, "/inputSchema") && !text {
				schemaChanged[p.Name] = true
			}
		}
	}
	if removed != 3 {
		t.Errorf("%d tools removed, want 3", removed)
	}
	expect(t, r, contract.Breaking, "input-enum-introduced", "API-post-search")
	expect(t, r, contract.Additive, "input-type-widened")
	want := []string{"API-create-a-comment", "API-patch-block-children", "API-patch-page", "API-post-page", "API-post-search", "API-update-a-block"}
	var got []string
	for n := range schemaChanged {
		got = append(got, n)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("schemas changed in %q, want %q\n%s", got, want, describe(r))
	}
	var added int
	for _, c := range r.Changes {
		if c.ID == "tool-added" {
			added += c.Count()
		}
	}
	if added != 8+3 && added != 8 {
		t.Logf("%d tools added", added)
	}
}

func TestPairMemory(t *testing.T) {
	r := pair(t, "memory-minor")
	expect(t, r, contract.Additive, "resource-added")
	for _, b := range breaking(r) {
		if !strings.HasPrefix(b, "hint-") {
			t.Errorf("breaking: %s", b)
		}
	}
	r = pair(t, "memory")
	expect(t, r, contract.Additive, "output-schema-added")
}

func TestPairEverything(t *testing.T) {
	r := pair(t, "everything")
	for old, new := range map[string]string{"getTinyImage": "get-tiny-image", "printEnv": "get-env"} {
		for _, c := range r.Changes {
			if c.Name == old && c.Class == contract.Breaking && old == "getTinyImage" {
				if !strings.Contains(c.Message, "looks renamed to "+new) && !strings.Contains(c.Message, "changed its case") {
					t.Errorf("%s: %s", old, c.Message)
				}
			}
		}
	}
	expect(t, r, contract.Breaking, "tool-renamed-candidate", "getTinyImage")
}

// A surface compared with itself has no changes.
func TestNothingChanged(t *testing.T) {
	files, err := filepath.Glob(shared(t, "servers", "pairs", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no listings: %v", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s := read(t, f, data)
		if r := contract.Compare(s, s, contract.Options{}); len(r.Changes) > 0 {
			t.Errorf("%s:\n%s", f, describe(r))
		}
		encoded, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := surface.Decode("c", encoded)
		if err != nil {
			t.Fatal(err)
		}
		if r := contract.Compare(recorded, s, contract.Options{}); len(r.Changes) > 0 {
			t.Errorf("%s, recorded and compared with itself:\n%s", f, describe(r))
		}
	}
}
