// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// comparison judges values by both sides and keeps count.
type comparison struct {
	t        *testing.T
	r        Revision
	original *oracle
	agreed   *oracle // with all differences taken
	single   map[int]*oracle
	fired    map[int]int
	accepted map[string]int
	rejected map[string]int
	faults   int
}

func compare(t *testing.T, r Revision) *comparison {
	c := &comparison{t: t, r: r, original: newOracle(t, r), single: map[int]*oracle{}, fired: map[int]int{},
		accepted: map[string]int{}, rejected: map[string]int{}}
	var taken []difference
	for i, d := range differences {
		if d.in.Contains(r) {
			taken = append(taken, d)
			c.single[i] = newOracle(t, r, d)
		}
	}
	c.agreed = newOracle(t, r, taken...)
	return c
}

func (c *comparison) judge(name string, text []byte) {
	value := parse(c.t, text)
	officially := c.original.accepts(name, value)
	agreed := c.agreed.accepts(name, value)
	if officially {
		c.accepted[name]++
	} else {
		c.rejected[name]++
	}
	if officially != agreed {
		for i, o := range c.single {
			if o.accepts(name, value) != officially {
				c.fired[i]++
			}
		}
	}
	vs, err := ValidateDefinition(c.r, name, text)
	if err != nil {
		c.t.Fatal(err)
	}
	if ours := len(vs) == 0; ours != agreed {
		if c.faults++; c.faults < 15 {
			c.t.Errorf("%s %s: official accepts=%v, ours=%v %v\n%s", c.r, name, agreed, ours, vs, clip400(text))
		}
	}
}

func clip400(text []byte) string {
	if len(text) > 400 {
		return string(text[:400]) + "..."
	}
	return string(text)
}

func total(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}

// TestOfficialSchemas proves on generated and mutated values that each
// definition accepts and rejects what the official schema does.
func TestOfficialSchemas(t *testing.T) {
	schemaDir(t)
	count := 20000
	if testing.Short() {
		count = 4000
	}
	fired := map[int]int{}
	for _, r := range All() {
		doc, key := official(t, r)
		defs := doc[key].(map[string]any)
		names := slices.Sorted(maps.Keys(defs))
		if ours := Definitions(r); !slices.Equal(names, ours) {
			t.Errorf("%s: definitions differ: official %v, ours %v", r, names, ours)
			continue
		}
		c := compare(t, r)
		g := newGen(uint64(r))
		g.learn(doc)
		nodes := grammarOf(r).nodes
		for i := range count {
			name := names[i%len(names)]
			g.full = g.IntN(4) == 0
			make := func(name string) any {
				if g.IntN(2) == 0 {
					return g.fromNode(nodes[name])
				}
				return g.fromSchema(defs, defs[name])
			}
			v := make(name)
			for range []int{0, 1, 1, 1, 2, 3}[g.IntN(6)] {
				v = g.mutate(v, func() any { return make(pick(g, names)) })
			}
			c.judge(name, write(v))
		}
		random := total(c.rejected)
		if random*3 < count {
			t.Errorf("%s: only %d of %d values are rejected", r, random, count)
		}
		t.Logf("%s: %d values: %d accepted, %d rejected by the official schema", r, count, count-random, random)
		c.sweep(g, defs, names)
		t.Logf("%s: with the sweep %d accepted, %d rejected; disagreements %d", r, total(c.accepted), total(c.rejected), c.faults)
		for _, name := range names {
			// Every definition of every revision can do both, so none is excused.
			if c.accepted[name] == 0 || c.rejected[name] == 0 {
				t.Errorf("%s %s: accepted %d times, rejected %d times", r, name, c.accepted[name], c.rejected[name])
			}
		}
		for i, n := range c.fired {
			fired[i] += n
		}
	}
	for i, d := range differences {
		t.Logf("difference %s (%s): %s, because %s: seen %d times", d.definition, d.in, d.what, d.reason, fired[i])
		if fired[i] == 0 {
			t.Errorf("difference %s (%s) never showed", d.definition, d.what)
		}
	}
}

// learn takes over the vocabulary of an official schema.
func (g *gen) learn(doc any) {
	names, words := map[string]bool{}, map[string]bool{}
	vocabulary(doc, names, words)
	g.names = append(slices.Sorted(maps.Keys(names)), "x", "y", "io.modelcontextprotocol/other")
	g.words = append(slices.Sorted(maps.Keys(words)), "", "other")
}

// sweep replaces many places of complete values with every probe in turn, so
// that no member is judged by luck.
func (c *comparison) sweep(g *gen, defs map[string]any, names []string) {
	most := 30
	if testing.Short() {
		most = 4
	}
	g.full = true
	for _, name := range names {
		base := g.fromSchema(defs, defs[name])
		count := len(spots(&base))
		for _, i := range g.Perm(count)[:min(count, most)] {
			changed := clone(base)
			if s := spots(&changed)[i]; s.remove != nil {
				s.remove()
				c.judge(name, write(changed))
			}
			for _, p := range probes() {
				changed := clone(base)
				spots(&changed)[i].set(p)
				c.judge(name, write(changed))
			}
		}
	}
	g.full = false
}

// TestOfficialExamples judges the published examples, whose folders are named
// by definition.
func TestOfficialExamples(t *testing.T) {
	root := filepath.Join(schemaDir(t), "examples-2026-07-28")
	c := compare(t, Rev20260728)
	count := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(filepath.Dir(path))
		if vs, err := ValidateDefinition(Rev20260728, name, text); err != nil || len(vs) > 0 {
			t.Errorf("%s: %v %v", path, vs, err)
		}
		c.judge(name, text)
		count++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 100 {
		t.Errorf("only %d examples found", count)
	}
	t.Logf("%d examples accepted", count)
}
