// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/text"
)

// Build systems read commands out of whatever a step prints: "::error::" where
// a line starts with it, blanks aside, and "##[error]", "##vso[...]" anywhere.
// A server that can have its text printed could set variables or hide
// findings, so both are broken up, visibly, in all that goes to a log.

var hashCommand = regexp.MustCompile(`##([A-Za-z-]*)\[`)

// calm breaks up the commands in one line.
func calm(line string) string {
	if strings.Contains(line, "##") {
		line = hashCommand.ReplaceAllString(line, `##$1\u{5B}`)
	}
	trimmed := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(trimmed, "::") {
		line = line[:len(line)-len(trimmed)] + `\u{3A}` + trimmed[1:]
	}
	return line
}

// line is foreign text as part of one line of a log.
func line(s string) string { return calm(text.Line(s)) }

// block is foreign text with its own lines.
func block(s string) string {
	s = text.Block(s)
	if !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = calm(lines[i])
	}
	return strings.Join(lines, "\n")
}

// armour makes a finished JSON text safe to print: invisible characters and
// log commands are spelled with JSON escapes, so the value stays what it was.
// They can only stand inside strings.
func armour(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+64)
	for i := 0; i < len(raw); {
		c := raw[i]
		if c < utf8.RuneSelf && c != 0x7f {
			if c == '[' && endsHashCommand(out) {
				out = append(out, `\u005b`...)
			} else {
				out = append(out, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		if text.Invisible(r) {
			out = appendEscape(out, r)
		} else {
			out = append(out, raw[i:i+n]...)
		}
		i += n
	}
	return out
}

// endsHashCommand reports whether b ends with ## and letters, which a bracket
// would turn into a command.
func endsHashCommand(b []byte) bool {
	n := len(b)
	for n > 0 && (b[n-1] == '-' || 'a' <= b[n-1]|0x20 && b[n-1]|0x20 <= 'z') {
		n--
	}
	return n >= 2 && b[n-1] == '#' && b[n-2] == '#'
}

// appendEscape writes r as a JSON escape, beyond the basic plane as a pair.
func appendEscape(b []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
