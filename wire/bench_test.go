// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/wire"
)

// megabyte is a tools/list response of about 1 MB, in the shape real ones have.
func megabyte() []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[`)
	for i := range 1300 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool %d","description":"Finds the \"%d\" nearest things, and says so.\n%s",`+
			`"inputSchema":{"type":"object","properties":{"city":{"type":"string","description":"Name of a city","minLength":1},`+
			`"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"tags":{"type":"array","items":{"type":"string"}}},`+
			`"required":["city"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`,
			i, i, i, strings.Repeat("All about it. ", 24))
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// BenchmarkRead1MB is to be held against BenchmarkValid1MB of the same run.
func BenchmarkRead1MB(b *testing.B) {
	raw := megabyte()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if m := wire.Read(raw); m.Kind != wire.Response || m.Faults != nil {
			b.Fatal(m.Faults)
		}
	}
}

func BenchmarkValid1MB(b *testing.B) {
	raw := megabyte()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if !json.Valid(raw) {
			b.Fatal("not valid")
		}
	}
}

// BenchmarkReadFaulty1MB takes the slow path.
func BenchmarkReadFaulty1MB(b *testing.B) {
	raw := bytes.Replace(megabyte(), []byte(`"title":"Tool 1290"`), []byte(`"name":"Tool 1290"`), 1)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if m := wire.Read(raw); !m.Has(wire.FaultDuplicateKey) {
			b.Fatal(m.Faults)
		}
	}
}

func BenchmarkReadSmall(b *testing.B) {
	raw := []byte(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		wire.Read(raw)
	}
}

func BenchmarkLines(b *testing.B) {
	in := bytes.Repeat([]byte(`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello"}]}}`+"\n"), 100)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		l := wire.NewLines(bytes.NewReader(in), 0)
		for {
			if _, _, err := l.Next(); err != nil {
				break
			}
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	in := bytes.Repeat([]byte("event: message\ndata: "+`{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"hello"}]}}`+"\n\n"), 100)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		s := wire.NewEvents(bytes.NewReader(in), 0)
		for {
			if _, err := s.Next(); err != nil {
				break
			}
		}
	}
}
