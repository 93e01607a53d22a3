// SPDX-License-Identifier: Apache-2.0

package schemaset

import "github.com/mcprove/mcprove/internal/jsonx"

// readTree reads one JSON value into a tree in a single pass. The strict reader
// goes first, so that the scanner below meets well-formed text only: without
// duplicate names and of at most 10,000 levels.
func readTree(raw []byte) (*val, error) {
	if err := jsonx.Check(raw, jsonx.Strict); err != nil {
		return nil, err
	}
	t := &treeReader{text: raw}
	return t.value(), nil
}

type treeReader struct {
	text []byte
	pos  int
}

func (t *treeReader) space() {
	for t.pos < len(t.text) {
		switch t.text[t.pos] {
		case ' ', '\t', '\r', '\n':
			t.pos++
		default:
			return
		}
	}
}

func (t *treeReader) peek() byte {
	t.space()
	if t.pos < len(t.text) {
		return t.text[t.pos]
	}
	return 0
}

func (t *treeReader) value() *val {
	c := t.peek()
	start := t.pos
	var v *val
	switch c {
	case '{':
		v = t.object()
	case '[':
		v = t.array()
	case '"':
		v = newString(t.text2string())
	case 't', 'f':
		v = newBool(c == 't')
		t.pos += 4
		if c == 'f' {
			t.pos++
		}
	case 'n':
		v = &val{kind: kNull}
		t.pos += 4
	default:
		v = t.number()
	}
	v.raw = t.text[start:t.pos:t.pos]
	return v
}

func (t *treeReader) number() *val {
	start := t.pos
	for t.pos < len(t.text) {
		c := t.text[t.pos]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		t.pos++
	}
	if t.pos == start { // not reached after a strict check; never stand still
		t.pos++
	}
	if r := readNumber(string(t.text[start:t.pos])); r != nil {
		return newNumber(r)
	}
	return &val{kind: kFrac}
}

func (t *treeReader) text2string() string {
	start := t.pos
	t.pos++
	for plain := true; t.pos < len(t.text); t.pos++ {
		switch t.text[t.pos] {
		case '\\':
			plain = false
			t.pos++
		case '"':
			t.pos++
			if plain {
				return string(t.text[start+1 : t.pos-1])
			}
			s, _ := jsonx.Text(t.text[start:t.pos])
			return s
		}
	}
	return ""
}

func (t *treeReader) array() *val {
	t.pos++
	var es []*val
	for t.pos < len(t.text) {
		switch t.peek() {
		case ']':
			t.pos++
			return newArray(es)
		case ',':
			t.pos++
		default:
			es = append(es, t.value())
		}
	}
	return newArray(es)
}

func (t *treeReader) object() *val {
	t.pos++
	var ms []member
	for t.pos < len(t.text) {
		switch t.peek() {
		case '}':
			t.pos++
			return newObject(ms)
		case ',':
			t.pos++
		default:
			name := t.text2string()
			if t.peek() == ':' {
				t.pos++
			}
			ms = append(ms, member{name, t.value()})
		}
	}
	return newObject(ms)
}
