// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
)

var escapedNUL = []byte(`\u0000`)

// mayHoldNUL is the cheap question before the dear one: a raw NUL is no JSON,
// so only the escape can put one into a name.
func mayHoldNUL(text []byte) bool { return bytes.Contains(text, escapedNUL) }

func isTrailing(err error) bool { return errors.Is(err, jsonx.ErrTrailing) }

// scan lists the faults of a JSON text that a strict pass refused, or that
// may hide a NUL in a name. base is added to every offset.
func scan(text []byte, base int64, faults []Fault) []Fault {
	s := scanner{faults: faults, base: base}
	err := jsonx.Walk(text, s.token)
	var syn *jsonx.SyntaxError
	switch {
	case err == nil:
	case errors.As(err, &syn):
		code, detail, pointer := FaultNotJSON, syn.Err.Error(), syn.Pointer
		switch {
		case errors.Is(err, jsonx.ErrTrailing):
			code = FaultTrailing
		case errors.Is(err, jsonx.ErrDepth):
			code, detail, pointer = FaultTooDeep, "more than 10,000 levels", firstTokens(pointer, 8)
		}
		s.add(code, syn.Offset, pointer, detail)
	default:
		s.add(FaultNotJSON, 0, "", err.Error())
	}
	return s.faults
}

// firstTokens shortens a pointer that would be as long as the text is deep.
func firstTokens(pointer string, n int) string {
	for i := range len(pointer) {
		if pointer[i] == '/' {
			if n--; n < 0 {
				return pointer[:i]
			}
		}
	}
	return pointer
}

// scanner holds the names seen so far in every open object.
type scanner struct {
	faults []Fault
	base   int64
	open   []map[string]struct{} // nil for an array
}

func (s *scanner) add(code FaultCode, offset int64, pointer, detail string) {
	s.faults = addFault(s.faults, Fault{Code: code, Offset: s.base + offset, Pointer: pointer, Detail: detail})
}

func (s *scanner) token(t jsonx.Token) error {
	switch t.Kind {
	case jsonx.Object, jsonx.Array:
		s.open = append(s.open, nil)
		if t.Kind == jsonx.Object {
			s.open[len(s.open)-1] = map[string]struct{}{}
		}
	case jsonx.EndObject, jsonx.EndArray:
		s.open = s.open[:len(s.open)-1]
	case jsonx.String:
		s.text(t)
		if t.Name {
			s.name(t)
		}
	}
	return nil
}

func (s *scanner) name(t jsonx.Token) {
	name, _ := jsonx.Text(t.Raw)
	names := s.open[len(s.open)-1]
	if _, seen := names[name]; seen {
		s.add(FaultDuplicateKey, t.Offset, t.Pointer(), "the name stands twice in one object")
	}
	names[name] = struct{}{}
	if bytes.Contains(t.Raw, escapedNUL) && bytes.IndexByte([]byte(name), 0) >= 0 {
		s.add(FaultNULKey, t.Offset, t.Pointer(), "a member name holds U+0000")
	}
}

// text looks at the bytes of one string, quotes included.
func (s *scanner) text(t jsonx.Token) {
	if !utf8.Valid(t.Raw) {
		for i := 0; i < len(t.Raw); {
			r, n := utf8.DecodeRune(t.Raw[i:])
			if r == utf8.RuneError && n == 1 {
				s.add(FaultUTF8, t.Offset+int64(i), t.Pointer(), "a byte that is not UTF-8")
				break
			}
			i += n
		}
	}
	if i := loneSurrogate(t.Raw); i >= 0 {
		s.add(FaultSurrogate, t.Offset+int64(i), t.Pointer(), "half of a surrogate pair")
	}
}

// loneSurrogate returns the index of the first \uD800..\uDFFF escape that has
// no other half, -1 when there is none.
func loneSurrogate(str []byte) int {
	for i := 0; i < len(str); i++ {
		if str[i] != '\\' {
			continue
		}
		r, ok := escapedUnit(str[i:])
		if !ok {
			i++ // the escaped character
			continue
		}
		switch {
		case r >= 0xdc00 && r <= 0xdfff:
			return i
		case r >= 0xd800 && r < 0xdc00:
			low, ok := escapedUnit(str[i+6:])
			if !ok || low < 0xdc00 || low > 0xdfff {
				return i
			}
			i += 6
		}
		i += 5
	}
	return -1
}

// escapedUnit reads \uXXXX at the start of b.
func escapedUnit(b []byte) (unit rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}
