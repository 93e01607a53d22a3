// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// Op says what became of a piece of text.
type Op uint8

// The operations of a Span.
const (
	Same Op = iota + 1
	Gone
	New
)

// Span is a run of words that stayed, went or came.
type Span struct {
	Op   Op
	Text string
}

// maxWords bounds the word comparison; longer texts are compared by line.
const maxWords = 20_000

// Words compares two texts word by word. Joining the texts of the spans that
// are not New gives old, and of those that are not Gone gives new.
func Words(old, new string) []Span {
	a, b := split(old), split(new)
	if len(a)+len(b) > maxWords {
		a, b = strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	}
	var spans []Span
	add := func(op Op, words []string) {
		if len(words) == 0 {
			return
		}
		t := strings.Join(words, "")
		if n := len(spans); n > 0 && spans[n-1].Op == op {
			spans[n-1].Text += t
			return
		}
		spans = append(spans, Span{op, t})
	}
	at, bt := encode(a), encode(b)
	done := 0 // words of a that are written
	for _, e := range udiff.Lines(at, bt) {
		start := strings.Count(at[:e.Start], "\n")
		end := strings.Count(at[:e.End], "\n")
		add(Same, a[done:start])
		add(Gone, a[start:end])
		add(New, decode(e.New))
		done = end
	}
	add(Same, a[done:])
	return spans
}

// encode writes one word a line, for a differ that knows only lines.
func encode(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(lineEscaper.Replace(w))
		b.WriteByte('\n')
	}
	return b.String()
}

var lineEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
var lineUnescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n")

func decode(lines string) []string {
	var ws []string
	for l := range strings.Lines(lines) {
		ws = append(ws, lineUnescaper.Replace(strings.TrimSuffix(l, "\n")))
	}
	return ws
}

// split cuts s into words, runs of space, and single other characters, so
// that joining the pieces gives s.
func split(s string) []string {
	var out []string
	start, kind := 0, -1
	for i, r := range s {
		k := 3
		switch {
		case unicode.IsLetter(r) && !ideographic(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
			k = 1
		case unicode.IsSpace(r) && !Invisible(r):
			k = 2
		}
		if i > 0 && (k != kind || k == 3) {
			out = append(out, s[start:i])
			start = i
		}
		kind = k
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// ideographic letters are words of their own: those scripts have no spaces.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// WordDiff renders the word comparison on one line in the [-gone-]{+new+}
// form, invisible characters escaped, with long unchanged runs shortened.
func WordDiff(old, new string) string {
	const context = 40
	spans := Words(old, new)
	var b strings.Builder
	for i, s := range spans {
		switch s.Op {
		case Gone:
			b.WriteString("[-" + Line(s.Text) + "-]")
		case New:
			b.WriteString("{+" + Line(s.Text) + "+}")
		default:
			b.WriteString(Line(shorten(s.Text, context, i > 0, i < len(spans)-1)))
		}
	}
	return b.String()
}

// shorten keeps limit characters next to the changes on either side.
func shorten(s string, limit int, changeBefore, changeAfter bool) string {
	rs := []rune(s)
	if len(rs) <= 2*limit+3 {
		if changeBefore && changeAfter || len(rs) <= limit {
			return s
		}
	}
	head, tail := "", ""
	if changeBefore {
		head = string(rs[:min(limit, len(rs))])
	}
	if changeAfter {
		tail = string(rs[max(0, len(rs)-limit):])
	}
	return head + "…" + tail
}
