// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/wire"
)

// bigList is about 1 MB of tools.
func bigList() string {
	tool := `{"name":"tool","description":"` + strings.Repeat("All about it. ", 30) + `","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}}}`
	return `{"resultType":"complete","tools":[` + strings.Repeat(tool+",", 1_000_000/len(tool)) + tool + `]}`
}

func BenchmarkCallInProcess(b *testing.B) {
	s := open(b, handler(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		if m.Method == "server/discover" {
			writeJSON(w, 200, "%s", answer(m, discovered))
			return
		}
		writeJSON(w, 200, "%s", answer(m, `{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`))
	}), session.Options{})
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		if _, err := s.Call(b.Context(), "tools/call", json.RawMessage(`{"name":"echo","arguments":{"text":"hello"}}`)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallStdio(b *testing.B) {
	s := open(b, process("modern"), session.Options{})
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		if _, err := s.Call(b.Context(), "tools/call", json.RawMessage(`{"name":"echo","arguments":{"text":"hello"}}`)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList1MB is to be held against BenchmarkValid1MB of the same run.
func BenchmarkList1MB(b *testing.B) {
	list := bigList()
	s := open(b, handler(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		if m.Method == "server/discover" {
			writeJSON(w, 200, "%s", answer(m, discovered))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer(m, list)))
	}), session.Options{})
	b.SetBytes(int64(len(list)))
	defer cpuTime(b)()
	for b.Loop() {
		if _, err := s.List(b.Context(), "tools/list"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValid1MB(b *testing.B) {
	list := []byte(bigList())
	b.SetBytes(int64(len(list)))
	defer cpuTime(b)()
	for b.Loop() {
		if !json.Valid(list) {
			b.Fatal("not valid")
		}
	}
}

// BenchmarkOpenStdio is a whole session of a legacy server: start, probe,
// handshake, end.
func BenchmarkOpenStdio(b *testing.B) {
	defer cpuTime(b)()
	for b.Loop() {
		s, err := session.Open(b.Context(), process("legacy"), session.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
