// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"fmt"
	"strings"
	"testing"
)

func parsed(t testing.TB, raw string) *Schema {
	t.Helper()
	return mustParse(t, []byte(raw))
}

// steps compares and returns the steps of both questions.
func steps(t *testing.T, a, b string) (Comparison, int) {
	t.Helper()
	c := Compare(parsed(t, a), parsed(t, b), Budget{})
	return c, c.Lost.Steps + c.Gained.Steps
}

func TestManyProperties(t *testing.T) {
	build := func(n int, changed bool) string {
		var b strings.Builder
		b.WriteString(`{"type":"object","properties":{`)
		for i := range n {
			kind := "string"
			if changed && i%2 == 0 {
				kind = "integer"
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"p%d":{"type":%q}`, i, kind)
		}
		b.WriteString(`}}`)
		return b.String()
	}
	cost := func(n int) int {
		old, new := parsed(t, build(n, false)), parsed(t, build(n, true))
		x := &explainer{old: old, new: new, s: newSolver(Budget{}, old, new), out: &Explanation{}, visits: map[string]*visit{}, opt: Options{MaxDeltas: 10_000}}
		x.out.Root = x.s.compare(old, new)
		x.walk([]*node{old.root}, []*node{new.root}, spot{})
		if len(x.set) != n/2 {
			t.Fatalf("%d deltas for %d changes", len(x.set), n/2)
		}
		return x.asked
	}
	small, large := cost(500), cost(5000)
	t.Logf("500 properties: %d steps, 5,000: %d", small, large)
	if large > 15*small {
		t.Errorf("ten times the properties cost %d times the steps", large/small)
	}
}

func TestManyValues(t *testing.T) {
	build := func(from, to int) string {
		var vs []string
		for i := from; i < to; i++ {
			vs = append(vs, fmt.Sprintf(`"v%d"`, i))
		}
		return `{"enum":[` + strings.Join(vs, ",") + `]}`
	}
	c, n := steps(t, build(0, 10_000), build(1, 10_001))
	if c.Relation != Overlapping || n > 45_000 {
		t.Errorf("%v in %d steps: %s %s", c.Relation, n, c.Lost.Reason, c.Gained.Reason)
	}
	if string(c.Lost.Value) != `"v0"` || string(c.Gained.Value) != `"v10000"` {
		t.Errorf("witnesses %s and %s", c.Lost.Value, c.Gained.Value)
	}
}

func nested(depth int, inner string) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, depth) + inner + strings.Repeat(`},"required":["a"]}`, depth)
}

func TestDeepNesting(t *testing.T) {
	for _, depth := range []int{355, 1000} {
		c, n := steps(t, nested(depth, `{"type":"string"}`), nested(depth, `{"type":"integer"}`))
		if c.Relation != Disjoint && c.Relation != Overlapping {
			t.Errorf("depth %d: %v in %d steps, %s %s", depth, c.Relation, n, c.Lost.Reason, c.Gained.Reason)
		}
		t.Logf("depth %d: %d steps", depth, n)
	}
	s, problems := Parse([]byte(nested(4_900, `{}`)), ParseOptions{})
	if s == nil || len(problems) == 0 || problems[0].Kind != ProblemTooDeep {
		t.Errorf("10,000 levels: %v", problems)
	}
	s, problems = Parse([]byte(strings.Repeat(`{"not":`, 10_001)+`{}`+strings.Repeat(`}`, 10_001)), ParseOptions{})
	if s == nil || len(problems) == 0 || problems[0].Kind != ProblemSyntax {
		t.Errorf("beyond 10,000 levels: %v", problems)
	}
	x := Explain(parsed(t, nested(355, `{"type":"string"}`)), parsed(t, nested(355, `{"type":["string","null"]}`)), Options{})
	if len(x.Deltas) != 1 || x.Deltas[0].Facet != FacetType || len(x.Deltas[0].Path) != 355 {
		t.Errorf("deltas of a deep change: %d", len(x.Deltas))
	}
}

// TestUnreadPartsAreNotEqual compares documents that differ only in what the
// limits leave unread.
func TestUnreadPartsAreNotEqual(t *testing.T) {
	chain := func(n int, kind string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"a%d":{"type":%q}}}`, n, kind)
		return b.String()
	}
	if c, _ := steps(t, chain(5_000, "string"), chain(5_000, "integer")); c.Relation != Disjoint {
		t.Errorf("long chains of references: %v", c.Relation)
	}
	for name, build := range map[string]func(kind string) string{
		"too deep":       func(kind string) string { return nested(maxNesting+10, `{"type":"`+kind+`"}`) },
		"behind a limit": func(kind string) string { return chain(maxNodes+10, kind) },
		"unevaluated": func(kind string) string {
			return `{"anyOf":[{"properties":{"a":{}}},{}],"unevaluatedProperties":{"$ref":"#/$defs/x"},"$defs":{"x":{"type":"` + kind + `"}}}`
		},
		"dialect": func(kind string) string { return `{"$schema":"https://example.com/x","type":"` + kind + `"}` },
	} {
		old, _ := Parse([]byte(build("string")), ParseOptions{})
		new, _ := Parse([]byte(build("integer")), ParseOptions{})
		if c := Compare(old, new, Budget{}); c.Lost.Verdict == Inside || c.Gained.Verdict == Inside {
			t.Errorf("%s: %+v", name, c)
		}
		if c := Compare(old, old, Budget{}); c.Relation != Equal {
			t.Errorf("%s: not equal to itself", name)
		}
	}
}

func TestUntaggedBranches(t *testing.T) {
	build := func(skip int) string {
		var bs []string
		for i := range 30 {
			if i != skip {
				bs = append(bs, fmt.Sprintf(`{"type":"object","properties":{"a%d":{"type":"string"},"b%d":{"type":"integer"}},"required":["a%d"],"additionalProperties":false}`, i, i, i))
			}
		}
		return `{"anyOf":[` + strings.Join(bs, ",") + `]}`
	}
	c, n := steps(t, build(-1), build(7))
	if c.Relation != Narrowed || string(c.Lost.Value) != `{"a7":"text"}` || n > 40_000 {
		t.Errorf("%v in %d steps: %s %s", c.Relation, n, c.Lost.Value, c.Lost.Reason+c.Gained.Reason)
	}
	t.Logf("%d steps", n)
}

func TestRecursiveUnion(t *testing.T) {
	build := func(extra string) string {
		var bs []string
		for i := range 7 {
			bs = append(bs, fmt.Sprintf(`{"type":"object","properties":{"op":{"const":"o%d"},"args":{"type":"array","items":{"$ref":"#/$defs/E"}}%s},"required":["op"]}`, i, extra))
		}
		return `{"$ref":"#/$defs/E","$defs":{"E":{"oneOf":[{"type":"string"},` + strings.Join(bs, ",") + `]}}}`
	}
	c, n := steps(t, build(``), build(`,"note":{"type":"string"}`))
	if c.Relation != Narrowed || n > 40_000 {
		t.Errorf("%v in %d steps: %s %s", c.Relation, n, c.Lost.Reason, c.Gained.Reason)
	}
	t.Logf("%d steps", n)
	renamed := strings.NewReplacer(`/$defs/E"`, `/$defs/Expr"`, `"E":`, `"Expr":`).Replace(build(``))
	if c, n = steps(t, build(``), renamed); c.Relation != Equal || n != 0 {
		t.Errorf("a renamed definition: %v in %d steps", c.Relation, n)
	}
}

func TestInPlaceLoops(t *testing.T) {
	for _, raw := range []string{
		`{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#"}]}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/B"}]},"B":{"not":{"$ref":"#/$defs/A"}}}}`,
		`{"if":{"$ref":"#"},"then":{"type":"string"}}`,
		`{"dependentSchemas":{"a":{"$ref":"#"}}}`,
	} {
		s, problems := Parse([]byte(raw), ParseOptions{})
		if !s.Loops() || len(problems) == 0 || problems[0].Kind != ProblemInPlaceLoop {
			t.Errorf("%s: %v", raw, problems)
		}
		c := Compare(s, parsed(t, `{"type":"string"}`), Budget{})
		if c.Relation != Unsettled || c.Lost.Reason == "" {
			t.Errorf("%s: %+v", raw, c)
		}
		if x := Explain(s, s, Options{}); len(x.Deltas) != 0 || x.Root.Relation != Equal {
			t.Errorf("%s against itself: %+v", raw, x)
		}
		if Eval([]byte(`1`), s) != Unknown {
			t.Errorf("%s evaluates", raw)
		}
		if g := Generate(s, Budget{}); g.Verdict != Undecided {
			t.Errorf("%s generates %s", raw, g.Value)
		}
	}
}

// TestDoublingReferences is exponential for whoever follows every path.
func TestDoublingReferences(t *testing.T) {
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		build := func(last string) string {
			var b strings.Builder
			b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
			for i := range 40 {
				fmt.Fprintf(&b, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, word, i+1, i+1)
			}
			b.WriteString(`"d40":` + last + `}}`)
			return b.String()
		}
		c, n := steps(t, build(`{"type":"string"}`), build(`{"type":"integer"}`))
		t.Logf("%s: %v in %d steps", word, c.Relation, n)
		Explain(parsed(t, build(`{"type":"string"}`)), parsed(t, build(`{"type":"integer"}`)), Options{})
		Eval([]byte(`1`), parsed(t, build(`{"type":"string"}`)))
		Generate(parsed(t, build(`{"type":"string"}`)), Budget{})
	}
}

func TestHugeWitness(t *testing.T) {
	c, _ := steps(t, `{"type":"array","maxItems":10000000}`, `{"type":"array","maxItems":9999999}`)
	if c.Relation != Narrowed || c.Lost.Value != nil || c.Lost.Note != "an array of 10,000,000 elements" {
		t.Errorf("%+v", c.Lost)
	}
	c, _ = steps(t, `{"type":"object","properties":{"s":{"type":"string"}},"required":["s"]}`, `{"type":"object","properties":{"s":{"type":"string","maxLength":5000000}},"required":["s"]}`)
	if c.Relation != Narrowed || !strings.Contains(c.Lost.Note, "5,000,001 characters at s") {
		t.Errorf("%+v", c.Lost)
	}
}
