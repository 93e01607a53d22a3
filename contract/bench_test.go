// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
)

// manyTools is a listing of n tools of about 755 bytes each. The first changed
// of them have an argument with another bound and a value less, each its own
// way: no two tools share a schema.
func manyTools(n, changed int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	for i := range n {
		bound, value := 100+i, `,"ascending"`
		if i < changed {
			bound, value = 50+i, ""
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"records_search_%05d","title":"Search records %d","description":"Searches the records of collection %d and returns the best matches. Use it before reading a record, since it is the only way to learn an id. Results are sorted by relevance.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"words to look for, in any order","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":%d,"default":10},"order":{"type":"string","enum":["relevance","newest"%s]},"filter":{"type":"object","properties":{"owner":{"type":"string"},"tag_%d":{"type":"array","items":{"type":"string"},"maxItems":20}}}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`,
			i, i, i, bound, value, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkCompare(b *testing.B) {
	const n = 5_000
	before := read(b, "before", manyTools(n, 0))
	for _, changed := range []int{0, 50, n / 2, n} {
		after := read(b, "after", manyTools(n, changed))
		b.Run(fmt.Sprintf("tools=%d/changed=%d", n, changed), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := contract.Compare(before, after, contract.Options{})
				if changed > 0 && r.Worst() != contract.Breaking || changed == 0 && len(r.Changes) > 0 {
					b.Fatal("a wrong verdict is no fast one:", describe(r)[:200])
				}
			}
			if changed > 0 {
				b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(changed), "ms/changed")
			}
		})
	}
}

// Bench tools have the size that the goals speak of.
func TestBenchToolsAreOfTheirSize(t *testing.T) {
	size := len(manyTools(1_000, 0)) / 1_000
	if size < 700 || size > 810 {
		t.Errorf("%d bytes a tool, want about 755", size)
	}
	if !strings.Contains(string(manyTools(1, 1)), `"maximum":50`) {
		t.Error("nothing changed")
	}
}
