// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Invisible reports whether r leaves no mark of its own on a screen, or
// changes how its neighbours are drawn: controls, format characters (zero
// width, bidi, tags), variation selectors, fillers, private use, unassigned.
// Space, tab and line feed are not invisible.
func Invisible(r rune) bool {
	switch {
	case r == ' ' || r == '\n' || r == '\t':
		return false
	case r < 0x7f:
		return r < ' '
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp):
		return true
	case r == 0x00a0 || r == 0x202f || r == 0x2800 || r == 0x3164 || r == 0xffa0:
		return true // blanks that are neither space nor recognised as one by a reader
	}
	return !unicode.IsGraphic(r)
}

// HasInvisible reports whether s holds an invisible character or bytes that
// are not UTF-8.
func HasInvisible(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return true
			}
		}
		if Invisible(r) {
			return true
		}
	}
	return false
}

// Visible is s without its invisible characters: what a reader sees of it.
func Visible(s string) string {
	if !HasInvisible(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Invisible(r) {
			return -1
		}
		return r
	}, s)
}

// appendRune writes r, or its escape when it is invisible: \u{E0041}.
func appendRune(b []byte, r rune) []byte {
	if Invisible(r) {
		return fmt.Appendf(b, `\u{%X}`, r)
	}
	return utf8.AppendRune(b, r)
}
