// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/wire"
)

func readEvents(t testing.TB, r io.Reader, limit int) []*wire.Event {
	t.Helper()
	s := wire.NewEvents(r, limit)
	var got []*wire.Event
	for {
		e, err := s.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) || e != nil {
				t.Fatalf("Next = %v, %v", e, err)
			}
			return got
		}
		got = append(got, e)
	}
}

// show prints what a client sees of the events that are dispatched.
func show(es []*wire.Event) string {
	var b strings.Builder
	for _, e := range es {
		if !e.Complete {
			b.WriteString("(cut)")
			continue
		}
		if !e.HasData {
			continue
		}
		fmt.Fprintf(&b, "[%s|%q|%s|%d]", e.Type, e.Data, e.LastID, e.Retry)
	}
	return b.String()
}

func TestEvents(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"one event", "data: x\n\n", `[|"x"||-1]`},
		{"no space after the colon", "data:x\n\n", `[|"x"||-1]`},
		{"one space of two is data", "data:  x\n\n", `[|" x"||-1]`},
		{"no colon is an empty value", "data\n\n", `[|""||-1]`},
		{"several lines", "data: a\ndata: b\n\n", `[|"a\nb"||-1]`},
		{"two empty lines of data", "data\ndata\n\n", `[|"\n"||-1]`},
		{"CR", "data: a\rdata: b\r\rdata: c\r\r", `[|"a\nb"||-1][|"c"||-1]`},
		{"CRLF", "data: a\r\ndata: b\r\n\r\n", `[|"a\nb"||-1]`},
		{"all three in one event", "event: e\rdata: a\r\ndata: b\n\r", `[e|"a\nb"||-1]`},
		{"LF then CR is two ends", "data: a\n\rdata: b\n\n", `[|"a"||-1][|"b"||-1]`},
		{"comments", ": hello\ndata: a\n:\n\n", `[|"a"||-1]`},
		{"a block of comments is not dispatched", ": ping\n\n", ``},
		{"type does not outlive its block", "event: e\n\ndata: a\n\n", `[|"a"||-1]`},
		{"id outlives its block", "id: 7\n\ndata: a\n\n", `[|"a"|7|-1]`},
		{"an empty id resets", "id: 7\n\nid\ndata: a\n\n", `[|"a"||-1]`},
		{"an id with NUL is ignored", "id: 7\n\nid: 1\x002\ndata: a\n\n", `[|"a"|7|-1]`},
		{"priming event", "id: 1\ndata:\n\n", `[|""|1|-1]`},
		{"retry", "retry: 250\ndata: a\n\n", `[|"a"||250]`},
		{"retry with a sign is ignored", "retry: +250\ndata: a\n\n", `[|"a"||-1]`},
		{"a byte order mark is skipped", "\ufeffdata: a\n\n", `[|"a"||-1]`},
		{"but only the first", "\ufeff\ufeffdata: a\n\n", ``},
		{"and only at the start", "data: a\n\n\ufeffdata: b\n\n", `[|"a"||-1]`},
		{"a byte order mark on a line of its own", "\ufeff\ndata: a\n\n", `[|"a"||-1]`},
		{"cut off before the blank line", "data: a\n\ndata: b\n", `[|"a"||-1](cut)`},
		{"cut off inside a line", "data: {\"jso", `(cut)`},
		{"field names are exact", "Data: a\nDATA: b\n data: c\n\n", ``},
		{"blank lines alone", "\n\n\r\n\r", ``},
		{"nothing", "", ``},
	} {
		for every := 1; every <= len(tc.in)+1; every++ {
			es := readEvents(t, split([]byte(tc.in), every), 0)
			if got := show(es); got != tc.want {
				t.Errorf("%s, every %d: %s, want %s", tc.name, every, got, tc.want)
			}
			checkJoined(t, es, tc.in)
		}
	}
}

// checkJoined holds the bytes of all blocks against the stream.
func checkJoined(t testing.TB, es []*wire.Event, in string) {
	t.Helper()
	var b strings.Builder
	for _, e := range es {
		b.Write(e.Raw)
	}
	if got := b.String(); got != in && !(strings.HasSuffix(in, "\r\n") && got == in[:len(in)-1]) {
		t.Errorf("joined %q, want %q", got, in)
	}
}

func TestEventsComeAtOnce(t *testing.T) {
	for _, in := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r\n"} {
		r, w := io.Pipe()
		go func() { _, _ = w.Write([]byte(in)) }()
		e, err := wire.NewEvents(r, 0).Next()
		must(t, err == nil && string(e.Data) == "a", "%q: %v, %v", in, e, err)
		_ = r.Close()
	}
}

func TestEventFaults(t *testing.T) {
	for _, tc := range []struct {
		in     string
		code   wire.FaultCode
		offset int64
	}{
		{"data: a\nid: \x00\n\n", wire.FaultEventIDNUL, 8},
		{"data: a\nretry: soon\n\n", wire.FaultRetryNotDigit, 8},
		{"dta: a\n\n", wire.FaultFieldIgnored, 0},
		{"\ufeffdata: a\n\n", wire.FaultBOM, 0},
		{"data: a\n", wire.FaultUnfinished, 8},
	} {
		e := readEvents(t, strings.NewReader(tc.in), 0)[0]
		if len(e.Faults) != 1 || e.Faults[0].Code != tc.code || e.Faults[0].Offset != tc.offset {
			t.Errorf("%q: %v, want %s at %d", tc.in, e.Faults, tc.code, tc.offset)
		}
	}
}

func TestEventsLongerThanTheLimit(t *testing.T) {
	for _, n := range []int{20, 5_000, 100_000, 3 << 20} {
		in := "data: " + strings.Repeat("x", n) + "\r\n\r\ndata: next\r\n\r\n"
		for _, every := range []int{1000, 4096, 1 << 20} {
			es := readEvents(t, split([]byte(in), every), 18)
			must(t, len(es) == 2, "%d events", len(es))
			must(t, !es[0].HasData && es[0].Complete && es[0].Faults[0].Code == wire.FaultTooLong, "%+v", es[0])
			must(t, strings.Contains(es[0].Faults[0].Detail, fmt.Sprint(n+10)), "%v", es[0].Faults)
			must(t, string(es[1].Data) == "next", "%+v", es[1])
		}
	}
	s := wire.NewEvents(&endless{n: 128 << 20}, 1<<20)
	e, err := s.Next()
	must(t, err == nil && !e.Complete && len(e.Raw) <= 4<<10, "%v", err)
}

func FuzzSSE(f *testing.F) {
	f.Add([]byte("event: e\rdata: a\r\ndata: b\n\n: c\nid: 1\nretry: 3\n\r"), 5, 3)
	f.Add([]byte("\ufeffdata\r\r\n\n"), 6, 1)
	f.Add([]byte("\ufeff\r\n\r\r\ndata:\n"), 6, 90)
	f.Fuzz(func(t *testing.T, in []byte, at, limit int) {
		whole := readEvents(t, bytes.NewReader(in), 0)
		checkJoined(t, whole, string(in))
		at = max(0, min(at, len(in)))
		for _, r := range []io.Reader{halves(in, at), split(in, 1), split(in, at+1)} {
			es := readEvents(t, r, 0)
			checkJoined(t, es, string(in))
			if got, want := show(es), show(whole); got != want {
				t.Fatalf("split at %d: %s, want %s", at, got, want)
			}
		}
		limited := readEvents(t, split(in, at+1), 1+max(0, limit%1000))
		if len(limited) != len(readEvents(t, split(in, at+1), 0)) {
			t.Fatalf("a limit changes the number of blocks")
		}
	})
}
