// SPDX-License-Identifier: Apache-2.0

//go:build bench

package mcptest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// The benchmarks of the kit. Each side is measured in turn, ten times, and the
// medians are compared. Allocations are hard lines; times are ratios, which fail
// only far from their goal.

const (
	benchQuestion = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
	benchResult   = `"result":{"content":[{"type":"text","text":"hello"}],"resultType":"complete"}}`
)

// constant reads the body and writes a constant, with the id that was sent.
func constant(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h := w.Header()
	h["Content-Type"] = jsonType
	switch r.Header.Get(spec.HeaderMethod) {
	case spec.MethodDiscover:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"constant","version":"1"},"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`, idOf(body))
	default:
		out := make([]byte, 0, 160)
		out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), idOf(body)...), ',')
		_, _ = w.Write(append(out, benchResult...))
	}
}

var jsonType = []string{"application/json"}

func idOf(body []byte) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"id":`))
	return rest[:bytes.IndexByte(rest, ',')]
}

// bare is the least that calls a handler and streams its answer: a goroutine and a
// pipe.
type bare struct{ h http.Handler }

type bareWriter struct {
	header http.Header
	status int
	pipe   *io.PipeWriter
	head   chan struct{}
}

func (w *bareWriter) Header() http.Header { return w.header }
func (w *bareWriter) WriteHeader(s int) {
	if w.status == 0 {
		w.status = s
		close(w.head)
	}
}
func (w *bareWriter) Write(b []byte) (int, error) { w.WriteHeader(200); return w.pipe.Write(b) }

func (c bare) RoundTrip(r *http.Request) (*http.Response, error) {
	pr, pw := io.Pipe()
	w := &bareWriter{header: http.Header{}, pipe: pw, head: make(chan struct{})}
	go func() {
		c.h.ServeHTTP(w, r)
		w.WriteHeader(200)
		_ = pw.Close()
	}()
	<-w.head
	return &http.Response{StatusCode: w.status, Header: w.header.Clone(), Body: pr, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

func post(b *testing.B, url string, do func(*http.Request) (*http.Response, error)) {
	r, err := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(benchQuestion)))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Method", "tools/call")
	resp, err := do(r)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
}

func benchBare(b *testing.B) {
	rt := bare{http.HandlerFunc(constant)}
	for b.Loop() {
		post(b, "http://localhost/", rt.RoundTrip)
	}
}

func benchLoopback(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(constant))
	defer srv.Close()
	client := srv.Client()
	for b.Loop() {
		post(b, srv.URL, client.Do)
	}
}

// benchCarrier is the handler in the process with all that crosses captured.
func benchCarrier(b *testing.B) {
	var kept []transport.TapEvent
	c, err := (&transport.Handler{Handler: http.HandlerFunc(constant)}).Open(b.Context(), transport.Options{
		Tap: func(e transport.TapEvent) {
			if kept = append(kept, e); len(kept) == 1<<12 {
				kept = kept[:0]
			}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	method := []wire.HeaderField{{Name: "Mcp-Method", Value: "tools/call"}}
	for b.Loop() {
		if _, err := c.Send(b.Context(), transport.Outgoing{Raw: []byte(benchQuestion), Header: method}); err != nil {
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

func benchKit(opts ...mcptest.Option) func(b *testing.B) {
	return func(b *testing.B) {
		c := mcptest.Open(b, http.HandlerFunc(constant), opts...)
		args := mcptest.JSON(`{"text":"hello"}`)
		for b.Loop() {
			c.CallTool("echo", args).HasText("hello")
		}
	}
}

func benchMockCall(b *testing.B) {
	c := mcptest.Open(b, echoing())
	for b.Loop() {
		c.CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
	}
}

// benchConnect is all of a test: connect, one call, close.
func benchConnect(b *testing.B) {
	server := mock.New(echoing())
	for b.Loop() {
		w := watchedBench(b)
		mcptest.Open(w, server).CallTool("echo", mcptest.Args{"text": "hello"}).HasText("hello")
		w.end()
	}
}

// endless is a test whose clean-up runs when it is told.
type endless struct {
	testing.TB
	cleanups []func()
}

func watchedBench(b *testing.B) *endless { return &endless{TB: b} }
func (e *endless) Cleanup(f func())      { e.cleanups = append(e.cleanups, f) }

func (e *endless) end() {
	for _, f := range slices.Backward(e.cleanups) {
		f()
	}
}

type figure struct{ ns, allocs int64 }

// alternating measures each benchmark ten times in turn, and gives the medians.
func alternating(benches map[string]func(*testing.B)) map[string]figure {
	names := make([]string, 0, len(benches))
	for n := range benches {
		names = append(names, n)
	}
	slices.Sort(names)
	all := map[string][]figure{}
	for range 10 {
		for _, n := range names {
			r := testing.Benchmark(benches[n])
			all[n] = append(all[n], figure{r.NsPerOp(), r.AllocsPerOp()})
		}
	}
	out := map[string]figure{}
	for n, fs := range all {
		pick := func(of func(figure) int64) int64 {
			xs := make([]int64, len(fs))
			for i, f := range fs {
				xs[i] = of(f)
			}
			slices.Sort(xs)
			return xs[len(xs)/2]
		}
		out[n] = figure{pick(func(f figure) int64 { return f.ns }), pick(func(f figure) int64 { return f.allocs })}
	}
	return out
}

func TestBenchKit(t *testing.T) {
	f := alternating(map[string]func(*testing.B){
		"bare": benchBare, "loopback": benchLoopback, "carrier": benchCarrier,
		"lax": benchKit(mcptest.Lax), "validated": benchKit(), "mock": benchMockCall, "connect": benchConnect,
	})
	for n, x := range f {
		t.Logf("%-10s %7d ns %5d allocations", n, x.ns, x.allocs)
	}
	for _, l := range []struct {
		what        string
		over, under string
		goal        float64
	}{
		{"the carrier, capture included, of a bare streaming round trip", "carrier", "bare", 2},
		{"the carrier of httptest.Server over loopback", "carrier", "loopback", 0.25},
		{"a call of the kit, Lax, of the carrier", "lax", "carrier", 3},
		{"a call of the kit, held against the revision, of the carrier", "validated", "carrier", 6},
		{"connect, one call, close with the mock, of a call", "connect", "mock", 20},
	} {
		ratio := float64(f[l.over].ns) / float64(f[l.under].ns)
		t.Logf("%s: %s (goal: at most %s)", l.what, strconv.FormatFloat(ratio, 'f', 2, 64), strconv.FormatFloat(l.goal, 'f', -1, 64))
		if ratio > 2*l.goal {
			t.Errorf("%s is far from its goal", l.what)
		}
	}
	if n := f["carrier"].allocs; n > 50 {
		t.Errorf("the carrier makes %d allocations, at most 50 are its goal", n)
	}
}

func BenchmarkCarrier(b *testing.B) { b.ReportAllocs(); benchCarrier(b) }
func BenchmarkKit(b *testing.B)     { b.ReportAllocs(); benchKit()(b) }
func BenchmarkBare(b *testing.B)    { b.ReportAllocs(); benchBare(b) }
