// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/text"
)

// paint is one of the eight colours every terminal has, or bold.
type paint string

const (
	plain  paint = ""
	bold   paint = "1"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	blue   paint = "34"
	cyan   paint = "36"
	dim    paint = "2"
	strong       = bold + ";" // before a colour
)

const defaultWidth = 80

// page lays text out. What it is given is escaped already.
type page struct {
	strings.Builder
	color bool
	width int
}

func (p *page) paint(c paint, s string) string {
	if !p.color || c == plain || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// put writes one line that is never wrapped.
func (p *page) put(indent int, s string) {
	p.WriteString(strings.Repeat(" ", indent) + s + "\n")
}

// gap leaves one empty line between two parts, never two.
func (p *page) gap() {
	if s := p.String(); s != "" && !strings.HasSuffix(s, "\n\n") {
		p.WriteByte('\n')
	}
}

// prose writes text wrapped at the width, each line indented. Lines after the
// first hang further in.
func (p *page) prose(indent, hang int, s string) {
	for i, l := range p.wrap(indent, hang, s) {
		if i > 0 {
			indent += hang
			hang = 0
		}
		p.put(indent, l)
	}
}

// wrap breaks s at its spaces. A word wider than the line stays whole: it may
// be a path or a value, which nobody could copy from two lines.
func (p *page) wrap(indent, hang int, s string) []string {
	var out []string
	for paragraph := range strings.Lines(s) {
		room := p.width - indent
		if len(out) > 0 {
			room -= hang
		}
		var b strings.Builder
		used := 0
		for word := range strings.FieldsSeq(paragraph) {
			w := columns(word)
			if used > 0 && used+1+w > room {
				out = append(out, text.Calm(b.String()))
				b.Reset()
				used, room = 0, p.width-indent-hang
			}
			if used > 0 {
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += w
		}
		if used > 0 {
			out = append(out, text.Calm(b.String()))
		}
	}
	return out
}

// columns is the width of s on a terminal: letters of East Asian scripts take
// two columns, marks none.
func columns(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || 0x3000 <= r && r <= 0x303f || 0xff00 <= r && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
		i += size
	}
	return n
}

// words writes a word diff, wrapped, in colour where there is colour. A change
// that is broken over two lines is painted on both.
func (p *page) words(indent int, diff string) {
	op := text.Same
	for _, l := range p.wrap(indent, 0, diff) {
		if p.color {
			l, op = p.changes(l, op)
		}
		p.put(indent, l)
	}
}

var opPaint = map[text.Op]paint{text.Gone: red, text.New: green}

// changes paints one line of a word diff; op is what the line starts in.
func (p *page) changes(l string, op text.Op) (string, text.Op) {
	var b strings.Builder
	start := 0
	flush := func(end int) {
		b.WriteString(p.paint(opPaint[op], l[start:end]))
		start = end
	}
	for i := 0; i+1 < len(l); i++ {
		switch mark := l[i : i+2]; {
		case op == text.Same && (mark == "[-" || mark == "{+"):
			flush(i)
			op = text.Gone
			if mark == "{+" {
				op = text.New
			}
			i++
		case op == text.Gone && mark == "-]", op == text.New && mark == "+}":
			flush(i + 2)
			op = text.Same
			i++
		}
	}
	flush(len(l))
	return b.String(), op
}

// clipPair shortens two values to limit characters. Where they start alike,
// the start goes, so that what differs is still seen.
func clipPair(before, after string, limit int) (string, string) {
	const context = 20
	x, y := []rune(before), []rune(after)
	if len(x) <= limit && len(y) <= limit {
		return before, after
	}
	same := 0
	for same < len(x) && same < len(y) && x[same] == y[same] {
		same++
	}
	if cut := same - context; same > limit/2 && same < max(len(x), len(y)) {
		before, after = "…"+string(x[cut:]), "…"+string(y[cut:])
	}
	return text.Clip(before, limit), text.Clip(after, limit)
}
