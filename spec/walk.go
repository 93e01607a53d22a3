// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// walker compares one text with compiled shapes. Shapes do not nest into
// themselves, so recursion is bounded by them and not by the text.
type walker struct {
	text  []byte
	tape  []cell
	path  []step
	out   []Violation
	quiet bool // only whether it fits is asked, not why it does not
}

// step is one part of the way to a value: a member name by its cell, or the
// index of an element.
type step struct {
	name  int32 // cell; -1 for an element
	index int32
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// mostKept is the longest tape that is kept for another text.
const mostKept = 1 << 18

func newWalker(text []byte) (*walker, error) {
	w := walkers.Get().(*walker)
	tape, err := readTape(text, w.tape)
	if err != nil {
		w.release()
		return nil, err
	}
	w.text, w.tape = text, tape
	return w, nil
}

func (w *walker) release() {
	if cap(w.tape) > mostKept {
		w.tape = nil
	}
	*w = walker{tape: w.tape[:0], path: w.path[:0]}
	walkers.Put(w)
}

// raw returns the bytes of the value in a cell.
func (w *walker) raw(at int32) []byte { return w.text[w.tape[at].start:w.tape[at].end] }

// string returns the contents of a string cell. It shares the text where no
// escape stands in the way, so it must not be kept.
func (w *walker) string(at int32) []byte {
	c := w.tape[at]
	if c.escaped {
		s, _ := jsonx.Text(w.raw(at))
		return []byte(s)
	}
	return w.text[c.start+1 : c.end-1]
}

// member returns the cell of a member's value, or -1.
func (w *walker) member(at int32, name string) int32 {
	if w.tape[at].kind != kObject {
		return -1
	}
	for i := at + 1; i < w.tape[at].next; i = w.tape[i+1].next {
		if string(w.string(i)) == name {
			return i + 1
		}
	}
	return -1
}

// walk reports whether the value fits. Unless quiet, it adds a violation for
// each point that does not, until there are enough.
func (w *walker) walk(n *node, at int32) bool {
	c := w.tape[at]
	if n.kinds&c.kind == 0 {
		return w.fail(WrongType, at, n.label, "")
	}
	switch n.form {
	case formObject:
		return w.object(n, at)
	case formArray:
		return w.array(n, at)
	case formChoice:
		if s := w.string(at); !slices.ContainsFunc(n.values, func(v string) bool { return v == string(s) }) {
			return w.fail(WrongValue, at, n.label, "")
		}
	case formNumber, formInteger, formFixed:
		return w.number(n, at)
	case formUnion:
		return w.union(n, at)
	case formAll:
		ok := true
		for _, m := range n.members {
			if ok = w.walk(m, at) && ok; !ok && w.enough() {
				return false
			}
		}
		return ok
	}
	return true
}

func (w *walker) object(n *node, at int32) bool {
	ok := true
	var seen uint64
	end := w.tape[at].next
	for i := at + 1; i < end; i = w.tape[i+1].next {
		child := n.rest
		if f, known := n.index[string(w.string(i))]; known {
			seen |= 1 << f
			child = n.fields[f].node
		}
		if child == nil || child.form == formAny {
			continue
		}
		w.path = append(w.path, step{name: i})
		fits := w.walk(child, i+1)
		w.path = w.path[:len(w.path)-1]
		if ok = ok && fits; !ok && w.enough() {
			return false
		}
	}
	for missing := n.required &^ seen; missing != 0; missing &= missing - 1 {
		f := n.fields[bits.TrailingZeros64(missing)]
		ok = false
		if w.enough() {
			return false
		}
		w.add(Violation{Kind: Missing, Pointer: w.pointer(), Member: f.name, Expected: f.node.label, Found: "nothing",
			Message: "required member " + strconv.Quote(f.name) + " is missing"})
	}
	return ok
}

func (w *walker) array(n *node, at int32) bool {
	ok := true
	count := 0
	for i := at + 1; i < w.tape[at].next; i = w.tape[i].next {
		if n.item.form != formAny {
			w.path = append(w.path, step{name: -1, index: int32(count)})
			fits := w.walk(n.item, i)
			w.path = w.path[:len(w.path)-1]
			if ok = ok && fits; !ok && w.enough() {
				return false
			}
		}
		count++
	}
	if n.most > 0 && count > n.most {
		return w.fail(WrongValue, at, "at most "+strconv.Itoa(n.most)+" elements", strconv.Itoa(count)+" elements")
	}
	return ok
}

func (w *walker) number(n *node, at int32) bool {
	d := readDecimal(w.raw(at))
	switch {
	case n.form == formInteger && !d.integral():
		return w.fail(WrongType, at, n.label, "")
	case n.form == formFixed && d != readDecimal([]byte(n.fixed)):
		return w.fail(WrongValue, at, n.label, "")
	case n.low && d.negative, n.high && d.aboveOne():
		return w.fail(WrongValue, at, n.label, "")
	}
	return true
}

// union tries the members that can apply. When none fits, it reports on the one
// that comes nearest, because a list of all complaints helps nobody.
func (w *walker) union(n *node, at int32) bool {
	candidates, ok := w.candidates(n, at)
	if !ok {
		return false
	}
	if len(candidates) == 1 {
		return w.walk(candidates[0], at)
	}
	quiet := w.quiet
	w.quiet = true
	fits := slices.ContainsFunc(candidates, func(m *node) bool { return w.walk(m, at) })
	w.quiet = quiet
	if fits || quiet {
		return fits
	}
	var best []Violation
	before := w.out
	for _, m := range candidates {
		w.out = nil
		w.walk(m, at)
		if best == nil || len(w.out) < len(best) {
			best = w.out
		}
	}
	w.out = before
	for _, v := range best {
		w.add(v)
	}
	return false
}

// candidates returns the members of a union that the value's type and tag leave
// open; ok is false when none is left, which has been reported.
func (w *walker) candidates(n *node, at int32) (ms []*node, ok bool) {
	kind := w.tape[at].kind
	if n.tag == "" || kind != kObject {
		return n.byKind[kind.index()], true
	}
	tag := w.member(at, n.tag)
	if tag < 0 {
		if len(n.untagged) > 0 {
			return n.untagged, true
		}
		if !w.enough() {
			w.add(Violation{Kind: Missing, Pointer: w.pointer(), Member: n.tag, Expected: n.tags(), Found: "nothing",
				Message: "required member " + strconv.Quote(n.tag) + " is missing"})
		}
		return nil, false
	}
	if w.tape[tag].kind == kString {
		if ms := n.tagged[string(w.string(tag))]; len(ms) > 0 {
			return ms, true
		}
	}
	kindOf := WrongValue
	if w.tape[tag].kind != kString {
		kindOf = WrongType
	}
	w.path = append(w.path, step{name: tag - 1})
	w.fail(kindOf, tag, n.tags(), "")
	w.path = w.path[:len(w.path)-1]
	return nil, false
}

// tags returns the values of a union's tag, for a message.
func (n *node) tags() string {
	var vs []string
	for v := range n.tagged {
		vs = append(vs, v)
	}
	slices.Sort(vs)
	return quoted(vs)
}

// enough reports whether nothing more needs to be found out.
func (w *walker) enough() bool { return w.quiet || len(w.out) >= MaxViolations }

func (w *walker) add(v Violation) {
	if len(w.out) < MaxViolations {
		w.out = append(w.out, v)
	}
}

// fail adds a violation about the value in a cell and returns false. An empty
// found is taken from the value.
func (w *walker) fail(kind ViolationKind, at int32, expected, found string) bool {
	if w.enough() {
		return false
	}
	if found == "" {
		found = w.describe(at)
	}
	w.add(Violation{Kind: kind, Pointer: w.pointer(), Expected: expected, Found: found,
		Message: "expected " + expected + ", found " + found})
	return false
}

// describe says what the value in a cell is, short enough for a message.
func (w *walker) describe(at int32) string {
	switch c := w.tape[at]; c.kind {
	case kString:
		return "string " + strconv.Quote(clip(string(w.string(at))))
	case kNumber:
		return "number " + clip(string(w.raw(at)))
	case kBoolean:
		return "boolean " + string(w.raw(at))
	case kArray:
		return "array"
	case kObject:
		return "object"
	}
	return "null"
}

func (w *walker) pointer() string {
	var b strings.Builder
	for _, s := range w.path {
		if s.name < 0 {
			b.WriteByte('/')
			b.WriteString(strconv.Itoa(int(s.index)))
			continue
		}
		b.WriteString(jsonx.Push("", string(w.string(s.name))))
	}
	return b.String()
}
