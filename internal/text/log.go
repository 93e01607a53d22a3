// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Build systems read commands out of whatever a step prints: "::error::" where
// a line starts with it, blanks aside, and "##[error]", "##vso[...]" anywhere.
// A server that can have its text printed could set variables or hide
// findings, so both are broken up, visibly, in all that goes to a log.

var hashCommand = regexp.MustCompile(`##([A-Za-z-]*)\[`)

// Calm breaks up the commands in one line of a log.
func Calm(line string) string {
	if strings.Contains(line, "##") {
		line = hashCommand.ReplaceAllString(line, `##$1\u{5B}`)
	}
	trimmed := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(trimmed, "::") {
		line = line[:len(line)-len(trimmed)] + `\u{3A}` + trimmed[1:]
	}
	return line
}

// LogLine is Line for what a build system may read.
func LogLine(s string) string { return Calm(Line(s)) }

// LogBlock is Block for what a build system may read.
func LogBlock(s string) string {
	s = Block(s)
	if !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Calm(lines[i])
	}
	return strings.Join(lines, "\n")
}

// JSON makes a finished JSON text safe to print and to review: invisible characters and
// log commands are spelled with JSON escapes, so the value stays what it was.
// They can only stand inside strings.
func JSON(raw []byte) []byte {
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
		if Invisible(r) {
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

var placeholder = regexp.MustCompile(`\{(\d+)\}`)
var linkEscaper = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)

// SARIF makes s safe as a SARIF message. Viewers fill in {0} (3.11.5) and make
// a link of [text](target) (3.11.6), so neither may come out of it.
func SARIF(s string) string {
	s = placeholder.ReplaceAllString(Block(s), "{{$1}}")
	if strings.Contains(s, "](") {
		s = linkEscaper.Replace(s)
	}
	return s
}
