// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/wire"
)

type readLine struct {
	text string
	line wire.Line
}

func readLines(t testing.TB, r io.Reader, limit int) []readLine {
	t.Helper()
	l := wire.NewLines(r, limit)
	var got []readLine
	for {
		text, line, err := l.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) || text != nil {
				t.Fatalf("Next = %q, %v", text, err)
			}
			return got
		}
		got = append(got, readLine{string(text), line})
	}
}

func joined(ls []readLine) string {
	var b strings.Builder
	for _, l := range ls {
		b.WriteString(l.text + l.line.Terminator.String())
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		texts    []string
		ends     []wire.Terminator
	}{
		{"two lines", "a\nb\n", []string{"a", "b"}, []wire.Terminator{wire.LF, wire.LF}},
		{"CRLF", "a\r\nb\n", []string{"a", "b"}, []wire.Terminator{wire.CRLF, wire.LF}},
		{"a lone CR is text", "a\rb\n", []string{"a\rb"}, []wire.Terminator{wire.LF}},
		{"two CR", "a\r\r\n", []string{"a\r"}, []wire.Terminator{wire.CRLF}},
		{"blank lines are lines", "\n\r\n", []string{"", ""}, []wire.Terminator{wire.LF, wire.CRLF}},
		{"a byte order mark stays", "\ufeff{}\n", []string{"\ufeff{}"}, []wire.Terminator{wire.LF}},
		{"half a line", "a\n{\"x\"", []string{"a", "{\"x\""}, []wire.Terminator{wire.LF, wire.NoTerminator}},
		{"nothing", "", nil, nil},
	} {
		for every := 1; every <= len(tc.in)+1; every++ {
			got := readLines(t, split([]byte(tc.in), every), 0)
			must(t, len(got) == len(tc.texts), "%s: %v", tc.name, got)
			for i, g := range got {
				if g.text != tc.texts[i] || g.line.Terminator != tc.ends[i] || g.line.Size != int64(len(g.text)) {
					t.Errorf("%s, every %d: line %d = %+v", tc.name, every, i, g)
				}
				if unfinished := len(g.line.Faults) > 0; unfinished != (tc.ends[i] == wire.NoTerminator) {
					t.Errorf("%s: faults %v", tc.name, g.line.Faults)
				}
			}
			must(t, joined(got) == tc.in, "%s: bytes lost", tc.name)
		}
	}
}

func TestLinesLongerThanTheLimit(t *testing.T) {
	for _, n := range []int{11, 5_000, 70_000, 3 << 20} {
		for _, end := range []string{"\n", "\r\n"} {
			in := strings.Repeat("x", n) + end + "next" + end
			got := readLines(t, strings.NewReader(in), 10)
			must(t, len(got) == 2, "%d lines", len(got))
			must(t, got[0].line.Size == int64(n), "size %d, want %d", got[0].line.Size, n)
			must(t, len(got[0].line.Faults) == 1 && got[0].line.Faults[0].Code == wire.FaultTooLong, "%v", got[0].line.Faults)
			must(t, got[0].line.Terminator.String() == end, "terminator %q", got[0].line.Terminator)
			must(t, len(got[0].text) == 10, "kept %d", len(got[0].text))
			must(t, got[1].text == "next" && got[1].line.Faults == nil, "%+v", got[1])
		}
	}
	exact := readLines(t, strings.NewReader(strings.Repeat("x", 10)+"\n"), 10)
	must(t, exact[0].line.Faults == nil, "the limit itself is allowed: %v", exact[0].line.Faults)
}

// endless is a line without an end, up to n bytes.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= n
	return n, nil
}

func TestLinesDoNotHoldAnEndlessLine(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := wire.NewLines(&endless{n: 256 << 20}, 1<<20)
	text, line, err := l.Next()
	runtime.ReadMemStats(&after)
	must(t, err == nil && line.Size == 256<<20, "%d, %v", line.Size, err)
	must(t, len(text) <= 4<<10, "kept %d", len(text))
	// Every byte is cloned once on its way; what counts is what was live.
	grown := int64(after.HeapSys) - int64(before.HeapSys)
	must(t, grown < 64<<20, "heap grew by %d", grown)
}

func TestLinesReadOnAfterTheLimitByDefault(t *testing.T) {
	big := bytes.Repeat([]byte("y"), 20<<20)
	got := readLines(t, io.MultiReader(bytes.NewReader(big), strings.NewReader("\nz\n")), 0)
	must(t, len(got) == 2 && len(got[0].text) == len(big) && got[0].line.Faults == nil && got[1].text == "z", "%d lines", len(got))
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\r\r\n\n{"), 3, 4)
	f.Add([]byte("\xef\xbb\xbf{}\n"), 0, 2)
	f.Fuzz(func(t *testing.T, in []byte, at, limit int) {
		whole := readLines(t, bytes.NewReader(in), 0)
		if got := joined(whole); got != string(in) {
			t.Fatalf("joined %q, want %q", got, in)
		}
		at = max(0, min(at, len(in)))
		if got := joined(readLines(t, halves(in, at), 0)); got != string(in) {
			t.Fatalf("split at %d: %q", at, got)
		}
		limited := readLines(t, split(in, 1+max(0, at)), 1+max(0, limit%1000))
		if len(limited) != len(whole) {
			t.Fatalf("a limit changes the number of lines: %d, want %d", len(limited), len(whole))
		}
		for i, l := range limited {
			if l.line.Size != whole[i].line.Size || !strings.HasPrefix(whole[i].text, l.text) {
				t.Fatalf("line %d: %+v, want %+v", i, l, whole[i])
			}
		}
	})
}
