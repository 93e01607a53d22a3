// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strings"
	"testing"
)

// toolsResult returns a tools/list response of about the given size.
func toolsResult(r Revision, size int) []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{`)
	if r.Era() == Modern {
		b.WriteString(`"resultType":"complete","ttlMs":1000,"cacheScope":"public",`)
	}
	b.WriteString(`"tools":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool %d","description":"Looks for \"things\" in a place, and returns what it finds there.",`+
			`"inputSchema":{"type":"object","properties":{"city":{"type":"string","description":"Where to look"},"limit":{"type":"integer","minimum":1},`+
			`"filters":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"open":{"type":"boolean"}}}},"required":["city"]},`+
			`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i)
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func BenchmarkValidateToolsList1MB(b *testing.B) {
	for _, r := range []Revision{Rev20251125, Rev20260728} {
		text := toolsResult(r, 1<<20)
		c := MessageContext{From: Server, Method: MethodToolsList}
		b.Run(r.String(), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if vs := Validate(r, c, text); len(vs) > 0 {
					b.Fatal(vs)
				}
			}
		})
	}
}

func BenchmarkValidateSmall(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}],"isError":false}}`)
	c := MessageContext{From: Server, Method: MethodToolsCall}
	b.ReportAllocs()
	for b.Loop() {
		if vs := Validate(Rev20260728, c, text); len(vs) > 0 {
			b.Fatal(vs)
		}
	}
}
