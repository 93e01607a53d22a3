// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// oneTool is the listing of a tool with the given input schema.
func oneTool(schema string) string { return `{"tools":[{"name":"t","inputSchema":` + schema + `}]}` }

// nested is a schema n levels deep.
func nested(n int, leaf string) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, n) + leaf + strings.Repeat(`}}`, n)
}

// manyProperties is an object with n properties, every step-th of them with
// another bound.
func manyProperties(n, step int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i := range n {
		bound := 10
		if step > 0 && i%step == 0 {
			bound = 9
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"p%d":{"type":"string","maxLength":%d}`, i, bound)
	}
	return b.String() + `}}`
}

func manyValues(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"enum":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"value-%d"`, i)
	}
	return b.String() + `]}}}`
}

func listOf(n int, schema func(int) string) string {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool%d","inputSchema":%s}`, i, schema(i))
	}
	return b.String() + `]}`
}

const plain = `{"type":"object","properties":{"a":{"type":"string"}}}`

// hostile are pairs that must be judged in bounded time, and what must be said
// of them.
var hostile = []struct {
	name          string
	before, after string
	want          []string      // kinds of the breaking changes; nil where any will do
	within        time.Duration // of computing
}{
	{"a name twice", oneTool(plain), `{"tools":[{"name":"t","inputSchema":` + plain + `},{"name":"t","inputSchema":{"type":"object"}}]}`,
		[]string{"argument-removed-open", "tool-name-duplicate-introduced"}, time.Second},
	{"schema true", oneTool(plain), oneTool(`true`), []string{"root-input-type-not-object"}, time.Second},
	{"schema false", oneTool(plain), oneTool(`false`), []string{"root-input-type-not-object"}, time.Second},
	{"schema a number", oneTool(plain), oneTool(`5`), []string{"root-input-type-not-object"}, time.Second},
	{"schema null", oneTool(plain), oneTool(`null`), []string{"root-input-type-not-object"}, time.Second},
	{"schema absent", oneTool(plain), `{"tools":[{"name":"t"}]}`, []string{"root-input-type-not-object"}, time.Second},
	{"dangling reference", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`), []string{"ref-dangling-introduced"}, time.Second},
	{"reference abroad", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"$ref":"https://127.0.0.1:1/x"}}}`), []string{"external-ref-introduced"}, time.Second},
	{"reference to itself", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`), []string{"schema-became-invalid"}, time.Second},
	{"references in a ring", oneTool(plain),
		oneTool(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"$ref":"#/$defs/y"}]},"y":{"anyOf":[{"$ref":"#/$defs/x"}]}}}`),
		[]string{"schema-became-invalid"}, time.Second},
	{"invalid pattern", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"type":"string","pattern":"(["}}}`), []string{"schema-became-invalid"}, time.Second},
	{"pattern that backtracks", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+\\1$"}}}`), nil, 3 * time.Second},
	{"required true", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"type":"string"}},"required":true}`), []string{"required-null-or-boolean"}, time.Second},
	{"required of numbers", oneTool(plain), oneTool(`{"type":"object","properties":{"a":{"type":"string"}},"required":[1]}`), []string{"required-null-or-boolean"}, time.Second},
	{"properties a list", oneTool(plain), oneTool(`{"type":"object","properties":[]}`), nil, time.Second},
	{"9,000 levels", oneTool(nested(9_000/2, `{"type":"string"}`)), oneTool(nested(9_000/2, `{"type":"integer"}`)), nil, 15 * time.Second},
	{"300 levels", oneTool(nested(300, `{"type":"string"}`)), oneTool(nested(300, `{"type":"integer"}`)), []string{"input-type-changed"}, 5 * time.Second},
	{"9,000 levels appear", oneTool(plain), oneTool(nested(9_000/2, `{"type":"string"}`)), nil, 15 * time.Second},
	{"5,000 properties, half of them changed", oneTool(manyProperties(5_000, 0)), oneTool(manyProperties(5_000, 2)), nil, 20 * time.Second},
	{"5,000 properties, one changed", oneTool(manyProperties(5_000, 0)), oneTool(manyProperties(5_000, 5_000)), []string{"input-max-length-tightened"}, 5 * time.Second},
	{"1,500 properties gone", oneTool(manyProperties(1_500, 0)), oneTool(`{"type":"object"}`), nil, 20 * time.Second},
	{"50,000 values, half of them gone", oneTool(manyValues(50_000)), oneTool(manyValues(25_000)), []string{"input-enum-value-removed"}, 10 * time.Second},
	{"10,000 tools, each changed alike", listOf(10_000, func(int) string { return plain }),
		listOf(10_000, func(int) string { return strings.Replace(plain, `"string"`, `"integer"`, 1) }), []string{"input-type-changed"}, 10 * time.Second},
	{"10,000 tools renamed", listOf(10_000, func(int) string { return plain }),
		strings.ReplaceAll(listOf(10_000, func(int) string { return plain }), `"name":"tool`, `"name":"Tool`), nil, 20 * time.Second},
}

func TestHostile(t *testing.T) {
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			before, after := read(t, "before", []byte(tc.before)), read(t, "after", []byte(tc.after))
			compare := func(a, b *surface.Surface) *contract.Result {
				start := cpuTime()
				r := contract.Compare(a, b, contract.Options{})
				took := cpuTime() - start
				t.Logf("%s: %d changes, worst %s", took.Round(time.Millisecond), len(r.Changes), r.Worst())
				if took > tc.within {
					t.Errorf("took %s, bound is %s", took, tc.within)
				}
				return r
			}
			r := compare(before, after)
			if r.Worst() != contract.Breaking && tc.name != "pattern that backtracks" && tc.name != "9,000 levels appear" {
				t.Errorf("worst is %s:\n%.2000s", r.Worst(), describe(r))
			}
			if tc.want != nil {
				var got []string
				for _, c := range r.Changes {
					if c.Class == contract.Breaking {
						got = append(got, c.ID)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, tc.want) {
					t.Errorf("breaking: %q, want %q\n%.2000s", got, tc.want, describe(r))
				}
			}
			compare(after, before)
			for _, s := range []*surface.Surface{before, after} {
				if r := contract.Compare(s, s, contract.Options{}); len(r.Changes) > 0 {
					t.Errorf("compared with itself:\n%.2000s", describe(r))
				}
			}
		})
	}
}
