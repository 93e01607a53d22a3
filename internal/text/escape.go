// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Line makes s safe as part of one line on a terminal or in a log: invisible
// characters become \u{...}, line breaks and tabs \n, \r and \t, and a byte
// that is not UTF-8 \x... .
func Line(s string) string {
	return escape(s, func(b []byte, r rune) []byte {
		switch r {
		case '\n':
			return append(b, `\n`...)
		case '\t':
			return append(b, `\t`...)
		case '\r':
			return append(b, `\r`...)
		}
		return appendRune(b, r)
	})
}

// Block is Line for text that may keep its line breaks and tabs.
func Block(s string) string {
	return escape(s, appendRune)
}

func escape(s string, write func([]byte, rune) []byte) string {
	if clean(s) {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = fmt.Appendf(b, `\x%02X`, s[i])
		} else {
			b = write(b, r)
		}
		i += n
	}
	return string(b)
}

func clean(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Clip shortens s to at most limit characters and says how many are left out.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return fmt.Sprintf("%s… (%d more characters)", s[:i], utf8.RuneCountInString(s[i:]))
		}
		n++
	}
	return s
}

var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `|`, `\|`, `~`, `\~`, `#`, `\#`, `!`, `\!`, `@`, "@\u2060",
)

// loosen keeps GitHub from making links of addresses and numbers, and formulas
// of dollars; the word joiner is not seen.
var loosen = strings.NewReplacer("://", ":\u2060//", "www.", "www\u2060.", "WWW.", "WWW\u2060.", `\#`, "\\#\u2060", "$", `\$`)

// Markdown makes s safe inside a line of GitHub-flavoured Markdown: no markup,
// HTML, table cell, link or mention comes out of it.
func Markdown(s string) string {
	return loosen.Replace(markdownEscaper.Replace(Line(s)))
}

// MarkdownCode returns s as an inline code span that it cannot leave.
func MarkdownCode(s string) string {
	s = strings.ReplaceAll(Line(s), "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence == "`" && s != "" {
		return "`" + s + "`"
	}
	return fence + " " + s + " " + fence
}

// MarkdownFence returns s as a fenced block that it cannot leave.
func MarkdownFence(s, language string) string {
	s = Block(s)
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(s, "\n") + "\n" + fence + "\n"
}

// XML makes s safe as XML 1.0 character data for an encoder that does its own
// markup escaping: characters that XML cannot hold are written visibly.
func XML(s string) string { return Block(s) }

var githubData = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
var githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")

// GitHubData makes s safe as the message of a GitHub workflow command.
func GitHubData(s string) string { return githubData.Replace(Block(s)) }

// GitHubProperty makes s safe as a property of a GitHub workflow command.
func GitHubProperty(s string) string { return githubProperty.Replace(Line(s)) }

// ShellWord quotes s as one word for a POSIX shell. Invisible characters are
// written in the $'...' form, so that the command can be copied and runs.
func ShellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plainShell(r) }) < 0 {
		return s
	}
	if !HasInvisible(s) && !strings.ContainsAny(s, "\n\t") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b []byte
	b = append(b, "$'"...)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, s[i])
		case r == '\'' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case Invisible(r) && r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		case Invisible(r):
			b = fmt.Appendf(b, `\U%08x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return string(append(b, '\''))
}

func plainShell(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
}
