// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// doublings are schemas in which every definition names the next one twice:
// whoever follows every path goes 2^n ways.
var doublings = map[string]string{
	"allOf":       `{"allOf":[%[1]s,%[1]s]}`,
	"anyOf":       `{"anyOf":[%[1]s,%[1]s]}`,
	"oneOf":       `{"oneOf":[%[1]s,%[1]s]}`,
	"properties":  `{"type":"object","properties":{"l":%[1]s,"r":%[1]s},"required":["l","r"]}`,
	"optional":    `{"type":"object","properties":{"l":%[1]s,"r":%[1]s}}`,
	"closed":      `{"type":"object","properties":{"l":%[1]s,"r":%[1]s},"required":["l","r"],"additionalProperties":false}`,
	"items":       `{"type":"array","items":%[1]s,"minItems":2}`,
	"unique":      `{"type":"array","items":%[1]s,"minItems":2,"uniqueItems":true}`,
	"prefix":      `{"type":"array","prefixItems":[%[1]s,%[1]s],"minItems":2}`,
	"contains":    `{"type":"array","items":%[1]s,"contains":%[1]s,"minContains":2}`,
	"additional":  `{"type":"object","additionalProperties":%[1]s,"minProperties":2}`,
	"patterns":    `{"type":"object","patternProperties":{"^a":%[1]s,"b$":%[1]s},"required":["ab","a","b"]}`,
	"not":         `{"not":{"anyOf":[{"not":%[1]s},{"not":%[1]s}]}}`,
	"not all":     `{"not":{"allOf":[%[1]s,%[1]s]}}`,
	"condition":   `{"if":%[1]s,"then":%[1]s,"else":%[1]s}`,
	"then":        `{"if":{"type":"string"},"then":%[1]s,"else":%[1]s}`,
	"dependent":   `{"dependentSchemas":{"a":%[1]s,"b":%[1]s},"required":["a","b"]}`,
	"tagged":      `{"oneOf":[{"properties":{"k":{"const":1},"v":%[1]s},"required":["k","v"]},{"properties":{"k":{"const":2},"v":%[1]s},"required":["k","v"]}]}`,
	"any and all": `{"allOf":[{"anyOf":[%[1]s,{"type":"null"}]},{"anyOf":[%[1]s,{"type":"boolean"}]}]}`,
	"all of any":  `{"anyOf":[{"allOf":[%[1]s,{"title":"a"}]},{"allOf":[%[1]s,{"title":"b"}]}]}`,
	"one and any": `{"oneOf":[{"anyOf":[%[1]s,{"type":"null"}]},{"anyOf":[%[1]s,{"type":"boolean"}]}]}`,
	"loop":        `{"type":"object","properties":{"l":%[1]s,"r":%[1]s,"up":{"$ref":"#/$defs/d0"}},"required":["l","r"]}`,
	"loop any":    `{"anyOf":[%[1]s,%[1]s,{"type":"object","properties":{"up":{"$ref":"#/$defs/d0"}},"required":["up"]}]}`,
	"unevaluated": `{"type":"object","allOf":[%[1]s,%[1]s],"unevaluatedProperties":false}`,
	"silent":      `{"anyOf":[%[1]s,%[1]s],"unevaluatedProperties":false,"unevaluatedItems":false}`,
}

func doubling(shape, last string, levels int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"d%d":%s,`, i, fmt.Sprintf(shape, fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, levels, last)
	return b.String()
}

// bounded fails, rather than hangs, where the work is not bounded. The limit is
// far above what is needed: a second at most.
func bounded(t *testing.T, what string, f func()) bool {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	start := time.Now()
	select {
	case <-done:
		t.Logf("%s: %v", what, time.Since(start).Round(time.Millisecond))
		return true
	case <-time.After(30 * time.Second):
		t.Errorf("%s does not end", what)
		return false
	}
}

const doublingLevels = 60

func TestDoubling(t *testing.T) {
	leaves := []struct{ name, old, new string }{
		{"length", `{"type":"string"}`, `{"type":"string","maxLength":3}`},
		{"type", `{"type":"string"}`, `{"type":"integer"}`},
		{"object", `{"type":"object","properties":{"p":{"type":"string"}}}`, `{"type":"object","properties":{"p":{"type":"integer"}},"required":["p"]}`},
		// Nothing to prove below, so that a pair of places is walked again.
		{"respelt", `{"type":"string","pattern":"^[0-9]+$"}`, `{"type":"string","pattern":"^\\d+$"},"e":{"type":"null"}`},
	}
	if os.Getenv("MCPROVE_SHARED") == "" {
		leaves = leaves[2:]
	}
	for name, shape := range doublings {
		for _, leaf := range leaves {
			t.Run(name+" "+leaf.name, func(t *testing.T) {
				a, b := doubling(shape, leaf.old, doublingLevels), doubling(shape, leaf.new, doublingLevels)
				if leaf.name == "respelt" {
					b = strings.Replace(b, `"properties":{`, `"properties":{"y":{"type":"null"},`, 1)
				}
				var old, new *Schema
				if !bounded(t, "Parse", func() {
					old, _ = Parse([]byte(a), ParseOptions{})
					new, _ = Parse([]byte(b), ParseOptions{})
				}) {
					return
				}
				for _, p := range [...][2]*Schema{{old, new}, {new, old}} {
					if !bounded(t, "Compare", func() { checkBounded(t, Compare(p[0], p[1], Budget{})) }) {
						return
					}
					directions := []Direction{Both, Input, Output}
					if os.Getenv("MCPROVE_SHARED") == "" {
						directions = directions[:1]
					}
					for _, d := range directions {
						if !bounded(t, "Explain", func() {
							e := Explain(p[0], p[1], Options{Direction: d})
							checkBounded(t, e.Root)
							if len(e.Deltas) > 2_000 {
								t.Errorf("%d deltas", len(e.Deltas))
							}
						}) {
							return
						}
					}
					if !bounded(t, "Generate", func() { checkResult(t, Generate(p[0], Budget{})) }) ||
						!bounded(t, "candidates", func() { candidates(p[0].root, 60) }) {
						return
					}
					for _, v := range [...]string{`{"x":"a"}`, `{"x":{"l":{"l":1,"r":{}},"r":{}}}`, `{"x":[[["a"],["b"]],[]]}`, nestedValue(40)} {
						if !bounded(t, "Eval", func() { Eval([]byte(v), p[0]) }) {
							return
						}
					}
				}
			})
		}
	}
}

// nestedValue has a member or element at every level that the shapes ask for.
func nestedValue(n int) string {
	return `{"x":` + strings.Repeat(`{"k":1,"l":"a","a":1,"b":{},"r":`, n) + `"a"` + strings.Repeat(`}`, n) + `}`
}

func checkBounded(t *testing.T, c Comparison) {
	t.Helper()
	checkResult(t, c.Lost)
	checkResult(t, c.Gained)
	if c.Relation != Unsettled && c.Lost.Verdict == Outside && c.Gained.Verdict == Outside {
		checkResult(t, c.Common)
	}
}

func checkResult(t *testing.T, r Result) {
	t.Helper()
	if r.Steps > 70_000 {
		t.Errorf("%d steps", r.Steps)
	}
	if len(r.Value) > 4*maxWitness {
		t.Errorf("a witness of %d bytes", len(r.Value))
	}
	if r.Verdict == Undecided && r.Reason == "" {
		t.Error("undecided without a reason")
	}
}
