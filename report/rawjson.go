// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
)

// rewriter writes a JSON text again, compact, with its strings cleaned.
type rewriter struct {
	c     *cleaner
	out   []byte
	stack []level
	name  string // of the member whose value comes next
}

// level is one open object or array.
type level struct {
	object bool
	filled bool
	value  bool            // a name was written, its value comes next
	names  map[string]bool // what an object has; a redacted name may come twice
}

// json returns raw compact and without secrets, in names and values alike. It
// reads leniently: a member that comes twice is kept under a numbered name,
// and bytes that are not UTF-8 become U+FFFD.
func (c *cleaner) json(raw []byte) (jsonx.Raw, error) {
	w := &rewriter{c: c, out: make([]byte, 0, len(raw))}
	if err := jsonx.Walk(raw, w.visit); err != nil {
		return nil, err
	}
	return w.out, nil
}

func (w *rewriter) visit(t jsonx.Token) error {
	if t.Kind == jsonx.EndObject || t.Kind == jsonx.EndArray {
		w.out = append(w.out, byte(t.Kind))
		w.stack = w.stack[:len(w.stack)-1]
		return nil
	}
	w.comma()
	switch {
	case t.Kind == jsonx.Object || t.Kind == jsonx.Array:
		w.out = append(w.out, byte(t.Kind))
		w.stack = append(w.stack, level{object: t.Kind == jsonx.Object})
		w.name = ""
	case t.Name:
		s, _ := jsonx.Text(t.Raw)
		w.name = s
		w.out = append(append(w.out, jsonx.Quote(w.unique(w.c.text(s)))...), ':')
		w.stack[len(w.stack)-1].value = true
	case t.Kind == jsonx.String:
		s, _ := jsonx.Text(t.Raw)
		w.out = append(w.out, jsonx.Quote(w.value(s))...)
	case t.Kind == jsonx.Number && w.c.text(string(t.Raw)) != string(t.Raw):
		w.out = append(w.out, jsonx.Quote(text.Redacted)...)
	default:
		w.out = append(w.out, t.Raw...)
	}
	return nil
}

// comma separates what comes next from what was before it.
func (w *rewriter) comma() {
	if len(w.stack) == 0 {
		return
	}
	l := &w.stack[len(w.stack)-1]
	if l.value {
		l.value = false
		return
	}
	if l.filled {
		w.out = append(w.out, ',')
	}
	l.filled = true
}

// value cleans a string. Some secrets are known only by the name they stand
// under, so the pair is looked at as it would stand in a text.
func (w *rewriter) value(s string) string {
	clean := w.c.text(s)
	if in := len(w.stack); in > 0 && w.stack[in-1].object && text.SecretName(w.name) && clean == s {
		if pair := w.name + "=" + s; w.c.text(pair) != pair {
			return text.Redacted
		}
	}
	return clean
}

func (w *rewriter) unique(name string) string {
	l := &w.stack[len(w.stack)-1]
	if l.names == nil {
		l.names = map[string]bool{}
	}
	for base, n := name, 2; l.names[name]; n++ {
		name = fmt.Sprintf("%s (%d)", base, n)
	}
	l.names[name] = true
	return name
}
