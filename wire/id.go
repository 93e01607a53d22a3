// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// IDKey is a JSON-RPC id in a form that can be compared and used as a map key.
// The type of the id is kept: the number 1 and the string "1" differ. Two
// spellings of one number (1, 1.0, 1e0) or of one string ("a", "\u0061") are
// the same id, because JSON makes no difference between them; the unusual
// spelling of a number is a [FaultIDSpelling] of the message.
type IDKey string

// KeyOf returns the key of a raw id. ok is false for anything that is neither
// a string nor a number; the key then still tells such ids apart by text.
func KeyOf(raw []byte) (key IDKey, ok bool) {
	switch jsonx.KindOf(raw) {
	case jsonx.String:
		s, ok := jsonx.Text(raw)
		return IDKey("s" + s), ok
	case jsonx.Number:
		n, _ := normalNumber(strings.TrimSpace(string(raw)))
		return IDKey("n" + n), true
	}
	return IDKey("x" + string(raw)), false
}

// KeyOfNumber is the key of a whole number as an id.
func KeyOfNumber(n int64) IDKey { return IDKey("n" + strconv.FormatInt(n, 10)) }

// maxPlainDigits bounds how many zeros normalNumber writes out for an
// exponent, so 1e999999999 costs nothing.
const maxPlainDigits = 400

// normalNumber returns a valid JSON number in one form per value, digits alone
// when it is whole, and whether it is whole.
func normalNumber(s string) (text string, whole bool) {
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > 1<<30 || e < -(1<<30) {
			// Beyond any id that was ever sent: compared by its text.
			return s, false
		}
		exp, s = e, s[:i]
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		exp -= len(s) - i - 1
		s = s[:i] + s[i+1:]
	}
	s = strings.TrimLeft(s, "0")
	for strings.HasSuffix(s, "0") {
		s, exp = s[:len(s)-1], exp+1
	}
	if s == "" {
		return "0", true
	}
	whole = exp >= 0
	switch {
	case whole && exp <= maxPlainDigits:
		s += strings.Repeat("0", exp)
	default:
		s += "e" + strconv.Itoa(exp)
	}
	if neg {
		s = "-" + s
	}
	return s, whole
}
