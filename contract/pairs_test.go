// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"maps"
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

// renamed names each tool that is gone, with the one that it looks like.
func renamed(r *contract.Result) map[string]string {
	out := map[string]string{}
	for _, c := range r.Changes {
		if c.ID == "tool-renamed-candidate" || c.ID == "tool-name-case-changed" {
			_, to, _ := strings.Cut(c.Message, "looks renamed to ")
			out[c.Name] = to
		}
	}
	return out
}

// schemas names the tools whose input schema changed beyond text.
func schemas(r *contract.Result) []string {
	seen := map[string]bool{}
	for _, c := range r.Changes {
		text := strings.Contains(c.ID, "description") || strings.Contains(c.ID, "title") || c.ID == "default-added"
		for _, p := range append([]contract.Place{c.Place}, c.Also...) {
			if strings.HasPrefix(p.Pointer, "/inputSchema") && !text {
				seen[p.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func count(r *contract.Result, id string) (n int) {
	for _, c := range r.Changes {
		if c.ID == id {
			n += c.Count()
		}
	}
	return n
}

func TestPairSequentialThinking(t *testing.T) {
	r := pair(t, "sequential-thinking")
	breaksExactly(t, r)
	if n := count(r, "input-type-widened"); n != 3 {
		t.Errorf("three booleans became boolean or string, not %d", n)
	}
	if n := count(r, "safe-integer-bound"); n != 4 {
		t.Errorf("four integers got the safe bound, not %d", n)
	}
	expect(t, r, contract.Routing, "tool-title-changed")
	expect(t, r, contract.Additive, "output-schema-added")
	expect(t, r, contract.Routing, "tool-description-changed")
	expect(t, r, contract.Cosmetic, "schema-dialect-changed")
	expect(t, r, contract.Cosmetic, "task-support-restated")
	expect(t, r, contract.Cosmetic, "server-version-changed")
	expect(t, r, contract.Additive, "protocol-version-added")
}

func TestPairContext7(t *testing.T) {
	r := pair(t, "context7")
	breaksExactly(t, r, "list-changed-withdrawn ", "required-argument-added resolve-library-id", "tool-removed get-library-docs")
	expect(t, r, contract.Additive, "tool-added", "query-docs")
	expect(t, r, contract.Additive, "additional-properties-opened", "resolve-library-id")
	if n := count(r, "capability-added"); n != 2 {
		t.Errorf("prompts and resources were declared, not %d capabilities", n)
	}
	expect(t, r, contract.Routing, "tool-description-changed", "resolve-library-id")
	expect(t, r, contract.Routing, "instructions-changed")
	expect(t, r, contract.Cosmetic, "schema-dialect-changed", "resolve-library-id")
	expect(t, r, contract.Cosmetic, "task-support-restated", "resolve-library-id")
}

func TestPairNotion(t *testing.T) {
	r := pair(t, "notion")
	breaksExactly(t, r, "input-enum-introduced API-post-search",
		"tool-removed API-create-a-database", "tool-removed API-post-database-query", "tool-removed API-update-a-database")
	for _, c := range r.Changes {
		if c.ID == "input-enum-introduced" && c.Path != "filter.value" {
			t.Errorf("it is filter.value that became an enum, not %s", c.Path)
		}
	}
	if n := count(r, "input-type-widened"); n < 9 {
		t.Errorf("about nine properties became object or string, not %d", n)
	}
	want := []string{"API-create-a-comment", "API-patch-block-children", "API-patch-page", "API-post-page", "API-post-search", "API-update-a-block"}
	if got := schemas(r); !slices.Equal(got, want) {
		t.Errorf("schemas changed in %q, want %q\n%s", got, want, describe(r))
	}
	if n := count(r, "tool-added"); n != 8 {
		t.Errorf("%d tools added, want 8", n)
	}
	if n := count(r, "tool-description-changed"); n != 16 {
		t.Errorf("descriptions of %d tools changed, want all 16 that survive", n)
	}
}

func TestPairMemory(t *testing.T) {
	r := pair(t, "memory-minor")
	breaksExactly(t, r)
	for _, c := range r.Changes {
		if c.Kind == "tool" && !strings.HasPrefix(c.Pointer, "/annotations") {
			t.Errorf("only annotations of tools changed: %s %s", c.ID, c.Pointer)
		}
	}
	if n := count(r, "resource-added"); n != 1 {
		t.Errorf("%d resources added, want 1", n)
	}
	r = pair(t, "memory")
	breaksExactly(t, r)
	if n := count(r, "output-schema-added"); n != 9 {
		t.Errorf("%d output schemas added, want one for each of 9 tools", n)
	}
}

func TestPairEverything(t *testing.T) {
	r := pair(t, "everything")
	want := map[string]string{}
	listing := func(side string) *surface.Surface {
		data, err := os.ReadFile(shared(t, "servers", "pairs", "everything-"+side+".json"))
		if err != nil {
			t.Fatal(err)
		}
		return read(t, side, data)
	}
	fold := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }
	for _, old := range listing("old").Items(surface.Tools) {
		for _, new := range listing("new").Items(surface.Tools) {
			if old.Name != new.Name && fold(old.Name) == fold(new.Name) {
				want[old.Name] = new.Name
			}
		}
	}
	got := renamed(r)
	for old, new := range want {
		if got[old] != new {
			t.Errorf("%s looks renamed to %q, want %s", old, got[old], new)
		}
	}
	for _, c := range r.Changes {
		if got[c.Name] != "" && c.Kind == "tool" && c.Class != contract.Breaking {
			t.Errorf("a rename stays breaking: %s %s", c.ID, c.Name)
		}
		if c.ID == "resource-removed" && c.Count() != 100 {
			t.Errorf("a hundred resources of one form are gone: one finding, not %d", c.Count())
		}
	}
	if len(want) == 0 {
		t.Error("no tool has a kebab-case twin")
	}
}

// breaksExactly expects these breaking changes, as "id name", and no others.
func breaksExactly(t *testing.T, r *contract.Result, want ...string) {
	t.Helper()
	got := breaking(r)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("breaking: %q, want %q\n%s", got, want, describe(r))
	}
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
