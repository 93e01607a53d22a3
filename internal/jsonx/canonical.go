// SPDX-License-Identifier: Apache-2.0

package jsonx

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns raw in the form of RFC 8785 (sorted names, shortest
// strings and numbers, no white space), with one difference: a number that a
// float64 might not hold (more than 15 significant digits, or an exponent)
// keeps its text, because rounding it would make two different promises equal.
func Canonical(raw []byte) (Raw, error) {
	v := Raw(bytes.Clone(raw))
	if !hasLongNumber(raw) {
		if err := v.Canonicalize(); err != nil {
			return nil, syntaxError(err)
		}
		return v, nil
	}
	if err := Check(raw, Strict); err != nil {
		return nil, err
	}
	v = canonicalNumbers(v)
	err := v.Format(
		jsontext.ReorderRawObjects(true),
		jsontext.CanonicalizeRawInts(false),
		jsontext.CanonicalizeRawFloats(false),
		jsontext.PreserveRawStrings(false),
		jsontext.SpaceAfterColon(false),
		jsontext.SpaceAfterComma(false),
	)
	if err != nil {
		return nil, syntaxError(err)
	}
	return v, nil
}

// safeDigits is how many significant decimal digits every float64 keeps.
const safeDigits = 15

// hasLongNumber reports whether raw holds a number that canonicalNumbers must
// leave alone. It reads only as much JSON as it takes to skip strings.
func hasLongNumber(raw []byte) bool {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i = skipString(raw, i)
		case isNumberStart(c):
			n := numberEnd(raw, i)
			if long(raw[i:n]) {
				return true
			}
			i = n
		default:
			i++
		}
	}
	return false
}

func canonicalNumbers(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			n := skipString(raw, i)
			out = append(out, raw[i:n]...)
			i = n
		case isNumberStart(c):
			n := numberEnd(raw, i)
			num := Raw(bytes.Clone(raw[i:n]))
			if !long(num) {
				// A short number always canonicalises: Check has read it.
				_ = num.Canonicalize()
			}
			out = append(out, num...)
			i = n
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// skipString returns the end of the string that starts at i.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n
		slashes := 0
		for raw[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return len(raw)
}

func isNumberStart(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

func numberEnd(raw []byte, i int) int {
	for ; i < len(raw); i++ {
		c := raw[i]
		if !isNumberStart(c) && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
	}
	return i
}

func long(num []byte) bool {
	if bytes.ContainsAny(num, "eE") {
		return true
	}
	digits := 0
	for _, c := range bytes.TrimLeft(num, "-0.") {
		if c != '.' {
			digits++
		}
	}
	return digits > safeDigits
}
