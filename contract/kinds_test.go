// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// fixture is one entry of testdata/kinds: two sides, and the one change that
// they show.
//
//	== ID CLASS CERTAINTY POINTER PATH     pointer and path may be -
//	arg {"type":"string"}                  before
//	arg {"type":"integer"}                 after
//	also ID ...                            other breaking or routing changes
//	reverse ID                             what the other way round shows
//	options deprecation | bytes N
//
// Sides are written short: see expand.
type fixture struct {
	file          string
	line          int
	id, class     string
	certainty     string
	pointer, path string
	sides         [2][]byte
	also          []string
	reverse       string
	options       contract.Options
	text          [2]string
}

// expand writes a side out as a listing.
func expand(word, rest string) (string, error) {
	tool := func(members string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(members, "{"), "}")
		if !strings.Contains(members, `"inputSchema"`) {
			inner = strings.TrimSuffix(`"inputSchema":{"type":"object"},`+inner, ",")
		}
		return `{"tools":[{"name":"t",` + inner + `}]}`
	}
	item := func(list, key, members string) string {
		inner := strings.TrimSuffix(strings.TrimPrefix(members, "{"), "}")
		return strings.Replace(fmt.Sprintf(`{%q:[{%s,%s}]}`, list, key, inner), ",}", "}", 1)
	}
	switch word {
	case "arg":
		return tool(`{"inputSchema":{"type":"object","properties":{"a":` + rest + `}}}`), nil
	case "field":
		return tool(`{"outputSchema":{"type":"object","properties":{"a":` + rest + `},"required":["a"]},"inputSchema":{"type":"object"}}`), nil
	case "in":
		return tool(`{"inputSchema":` + rest + `}`), nil
	case "out":
		return tool(`{"outputSchema":` + rest + `,"inputSchema":{"type":"object"}}`), nil
	case "tool":
		return tool(rest), nil
	case "tools", "prompts", "resources":
		return fmt.Sprintf(`{%q:%s}`, word, rest), nil
	case "templates":
		return `{"resourceTemplates":` + rest + `}`, nil
	case "prompt":
		return item("prompts", `"name":"p"`, rest), nil
	case "resource":
		return item("resources", `"uri":"file:///r"`, rest), nil
	case "template":
		return item("resourceTemplates", `"uriTemplate":"file:///{r}"`, rest), nil
	case "server":
		return `{"initialize":` + rest + `}`, nil
	case "instructions":
		n, err := strconv.Atoi(rest)
		return `{"initialize":{"instructions":"` + strings.Repeat("x", n) + `"}}`, err
	case "many":
		n, err := strconv.Atoi(rest)
		var tools []string
		for i := range n {
			tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","inputSchema":{"type":"object"}}`, i))
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]}`, err
	case "list":
		return rest, nil
	}
	return "", fmt.Errorf("unknown word %q", word)
}

func loadFixtures(t testing.TB) []fixture {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "kinds", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var out []fixture
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f *fixture
		side := 0
		for i, line := range strings.Split(string(data), "\n") {
			fail := func(why string) { t.Fatalf("%s:%d: %s", name, i+1, why) }
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case word == "==":
				w := append(strings.Fields(rest), "", "", "", "")
				out = append(out, fixture{file: filepath.Base(name), line: i + 1, id: w[0], class: w[1], certainty: w[2], pointer: w[3], path: w[4]})
				f, side = &out[len(out)-1], 0
			case line == "" || f == nil:
			case word == "also":
				f.also = strings.Fields(rest)
			case word == "reverse":
				f.reverse = rest
			case word == "options":
				switch w := strings.Fields(rest); w[0] {
				case "deprecation":
					f.options.DeprecationPolicy = true
				case "bytes":
					f.options.MaxListBytes, _ = strconv.Atoi(w[1])
				default:
					fail("unknown option " + rest)
				}
			default:
				if side > 1 {
					fail("more than two sides")
				}
				listing, err := expand(word, rest)
				if err != nil || !json.Valid([]byte(listing)) {
					fail(fmt.Sprintf("bad side: %v %s", err, listing))
				}
				f.sides[side], f.text[side] = []byte(listing), line
				side++
			}
		}
	}
	return out
}

// where writes a pointer or a path as fixtures do.
func where(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(s, " ", "%20")
}

// Every kind of change is shown by a fixture, with the class, the place and the
// proof it must have, and nothing else of weight is reported beside it.
func TestKinds(t *testing.T) {
	known := map[string]bool{}
	for _, i := range contract.Infos() {
		known[i.ID] = false
	}
	fixtures := loadFixtures(t)
	for _, f := range fixtures {
		if _, ok := known[f.id]; !ok {
			t.Errorf("%s:%d: %s is no registered kind", f.file, f.line, f.id)
			continue
		}
		known[f.id] = true
		t.Run(fmt.Sprintf("%s:%d:%s", f.file, f.line, f.id), func(t *testing.T) { testFixture(t, &f) })
	}
	for id, shown := range known {
		if !shown {
			t.Errorf("%s has no fixture", id)
		}
	}
	t.Logf("%d fixtures for %d kinds", len(fixtures), len(known))
}

func testFixture(t *testing.T, f *fixture) {
	before, after := read(t, "before", f.sides[0]), read(t, "after", f.sides[1])
	for _, s := range []*surface.Surface{before, after} {
		if r := contract.Compare(s, s, f.options); len(r.Changes) > 0 {
			t.Errorf("compared with itself:\n%s", describe(r))
		}
	}
	r := contract.Compare(before, after, f.options)
	i := slices.IndexFunc(r.Changes, func(c contract.Change) bool { return c.ID == f.id })
	if i < 0 {
		t.Fatalf("not reported:\n%s\n%s\n%s", describe(r), f.text[0], f.text[1])
	}
	c := &r.Changes[i]
	if got, want := fmt.Sprintf("%s %s %s %s", c.Class, c.Certainty, where(c.Pointer), where(c.Path)),
		fmt.Sprintf("%s %s %s %s", f.class, f.certainty, f.pointer, f.path); got != want {
		t.Errorf("got  %s\nwant %s\n%s\n%s\n%s", got, want, describe(r), f.text[0], f.text[1])
	}
	for j := range r.Changes {
		o := &r.Changes[j]
		checkWitness(t, o, before, after)
		checkExample(t, o, before, after)
		if j != i && o.Class >= contract.Routing && !slices.Contains(f.also, o.ID) {
			t.Errorf("also reported:\n%s\n%s\n%s", describe(r), f.text[0], f.text[1])
		}
	}
	for _, id := range f.also {
		if !slices.ContainsFunc(r.Changes, func(c contract.Change) bool { return c.ID == id }) {
			t.Errorf("%s is missing:\n%s", id, describe(r))
		}
	}
	if f.reverse != "" {
		back := contract.Compare(after, before, f.options)
		if !slices.ContainsFunc(back.Changes, func(c contract.Change) bool { return c.ID == f.reverse }) {
			t.Errorf("the reverse is not %s:\n%s\n%s\n%s", f.reverse, describe(back), f.text[1], f.text[0])
		}
		for j := range back.Changes {
			checkWitness(t, &back.Changes[j], after, before)
		}
	}
}
