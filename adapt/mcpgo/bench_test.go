// SPDX-License-Identifier: Apache-2.0

//go:build bench && unix

package mcpgo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mcprove/mcprove/adapt/mcpgo"
	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/transport"
)

// What a call through each door costs beyond the server's half of it, held against
// the bare carrier of the process. Each side is measured in turn, and the medians are compared.

const (
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	modernCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},` + modernMeta + `}}`
	legacyCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
	hello      = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// calls makes n calls.
type calls func(n int)

// kit calls by the kit's client.
func kit(b testing.TB, to any, opts ...mcptest.Option) calls {
	c := mcptest.Open(b, to, opts...)
	args := mcptest.JSON(`{"text":"hello"}`)
	return func(n int) {
		for range n {
			c.CallTool("echo", args).HasText("hello")
		}
	}
}

// half is the server's half of the message door: each message handled and its
// answer encoded, which is what a StdioServer does between its reads and writes.
func half(b testing.TB, call string, first ...string) calls {
	s := newServer()
	ctx := b.Context()
	for _, line := range first {
		s.HandleMessage(ctx, json.RawMessage(line))
	}
	id := 0
	return func(n int) {
		for range n {
			id++
			var text json.RawMessage
			if err := json.Unmarshal(fmt.Appendf(nil, call, id), &text); err != nil {
				b.Fatal(err)
			}
			out, err := json.Marshal(s.HandleMessage(ctx, text))
			if err != nil || !bytes.Contains(out, []byte(`"hello"`)) {
				b.Fatal(err, string(out))
			}
		}
	}
}

// webHalf is the server's half of the handler.
func webHalf(b testing.TB) calls {
	h := handler(newServer())
	id := 0
	return func(n int) {
		for range n {
			id++
			r, err := http.NewRequest(http.MethodPost, "http://localhost/", bytes.NewReader(fmt.Appendf(nil, modernCall, id)))
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("MCP-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", "echo")
			w := &sink{header: http.Header{}}
			if h.ServeHTTP(w, r); !bytes.Contains(w.body, []byte(`"hello"`)) {
				b.Fatal(string(w.body))
			}
		}
	}
}

type sink struct {
	header http.Header
	body   []byte
}

func (w *sink) Header() http.Header         { return w.header }
func (w *sink) WriteHeader(int)             {}
func (w *sink) Write(b []byte) (int, error) { w.body = append(w.body, b...); return len(b), nil }
func (w *sink) Flush()                      {}

// carrier is the bare carrier in the process, capture included.
func carrier(b testing.TB) calls {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
	var kept []transport.TapEvent
	c, err := (&transport.Handler{Handler: h}).Open(b.Context(), transport.Options{Tap: func(e transport.TapEvent) {
		if kept = append(kept, e); len(kept) == 1<<12 {
			kept = kept[:0]
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(b.Context()) })
	question := fmt.Appendf(nil, legacyCall, 1)
	return func(n int) {
		for range n {
			if _, err := c.Send(b.Context(), transport.Outgoing{Raw: question}); err != nil {
				b.Fatal(err)
			}
			for {
				e, err := c.Receive(b.Context())
				if err != nil || e.Err != nil {
					b.Fatal(err, e.Err)
				}
				if e.Kind == transport.EventClosed {
					break
				}
			}
		}
	}
}

// figure is what one call costs.
type figure struct{ wall, cpu, allocs, bytes float64 }

func measure(f calls) figure {
	const n = 200
	var m0, m1 runtime.MemStats
	var r0, r1 syscall.Rusage
	f(n / 4)
	runtime.GC()
	// The collection of the SDK's garbage falls on either side by chance: it is done
	// between the measurements.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.ReadMemStats(&m0)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r0)
	begin := time.Now()
	f(n)
	wall := time.Since(begin)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r1)
	runtime.ReadMemStats(&m1)
	cpu := r1.Utime.Nano() + r1.Stime.Nano() - r0.Utime.Nano() - r0.Stime.Nano()
	return figure{float64(wall.Nanoseconds()) / n, float64(cpu) / n, float64(m1.Mallocs-m0.Mallocs) / n, float64(m1.TotalAlloc-m0.TotalAlloc) / n}
}

func TestBenchDoors(t *testing.T) {
	sides := map[string]calls{
		"kit":        kit(t, mcpgo.Server(newServer())),
		"kit lax":    kit(t, mcpgo.Server(newServer()), mcptest.Lax),
		"kit legacy": kit(t, mcpgo.Server(newServer()), mcptest.Legacy),
		"half":       half(t, modernCall), "half legacy": half(t, legacyCall, hello, ready),
		"web": kit(t, mcpgo.Handler(newServer(), quiet)), "web half": webHalf(t),
		"carrier": carrier(t),
	}
	names := make([]string, 0, len(sides))
	for n := range sides {
		names = append(names, n)
	}
	slices.Sort(names)
	all := map[string][]figure{}
	for range 40 {
		for _, n := range names {
			all[n] = append(all[n], measure(sides[n]))
		}
	}
	got := map[string]figure{}
	for _, n := range names {
		pick := func(of func(figure) float64) float64 {
			xs := make([]float64, 0, len(all[n]))
			for _, f := range all[n] {
				xs = append(xs, of(f))
			}
			slices.Sort(xs)
			return xs[len(xs)/2]
		}
		f := figure{
			pick(func(f figure) float64 { return f.wall }), pick(func(f figure) float64 { return f.cpu }),
			pick(func(f figure) float64 { return f.allocs }), pick(func(f figure) float64 { return f.bytes }),
		}
		got[n] = f
		t.Logf("%-12s %8.0f ns %8.0f ns of CPU %6.0f allocations %8.0f bytes", n, f.wall, f.cpu, f.allocs, f.bytes)
	}
	for _, l := range []struct {
		what        string
		over, minus string
		under       string
		goal        float64
	}{
		{"our share of a call, of the carrier", "kit", "half", "carrier", 5},
		{"the same, in 2025-11-25", "kit legacy", "half legacy", "carrier", 5},
		{"our share of a call by HTTP, of the carrier", "web", "web half", "carrier", 5},
	} {
		o, m, u := got[l.over], got[l.minus], got[l.under]
		cpu, allocs := (o.cpu-m.cpu)/u.cpu, (o.allocs-m.allocs)/u.allocs
		t.Logf("%s: %s of its CPU, %s of its allocations (goal: at most %s)", l.what, decimal(cpu), decimal(allocs), decimal(l.goal))
		if cpu > 3*l.goal {
			t.Errorf("%s is far from its goal", l.what)
		}
	}
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

func BenchmarkServer(b *testing.B)  { bench(b, kit(b, mcpgo.Server(newServer()))) }
func BenchmarkHandler(b *testing.B) { bench(b, kit(b, mcpgo.Handler(newServer(), quiet))) }

func bench(b *testing.B, f calls) {
	b.ReportAllocs()
	for b.Loop() {
		f(1)
	}
}
