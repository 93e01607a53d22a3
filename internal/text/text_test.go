// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"encoding/json"
	"encoding/xml"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/text"
	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for _, tc := range []struct{ name, in, line, block string }{
		{"plain", "a b", "a b", "a b"},
		{"letters of other scripts stay", "读取 é", "读取 é", "读取 é"},
		{"terminal escape", "a\x1b[31mred", `a\u{1B}[31mred`, `a\u{1B}[31mred`},
		{"osc 8 link ended by bel", "\x1b]8;;x\x07y", `\u{1B}]8;;x\u{7}y`, `\u{1B}]8;;x\u{7}y`},
		{"c1 control", "a\u009b31m", `a\u{9B}31m`, `a\u{9B}31m`},
		{"tags", "a\U000E0041", `a\u{E0041}`, `a\u{E0041}`},
		{"bidi", "a\u202eb", `a\u{202E}b`, `a\u{202E}b`},
		{"zero width", "a\u200bb\ufeff", `a\u{200B}b\u{FEFF}`, `a\u{200B}b\u{FEFF}`},
		{"variation selectors", "a\ufe0f\U000e0101", `a\u{FE0F}\u{E0101}`, `a\u{FE0F}\u{E0101}`},
		{"line separators", "a\u2028b", `a\u{2028}b`, `a\u{2028}b`},
		{"not UTF-8", "a\xffb", `a\xFFb`, `a\xFFb`},
		{"lines", "a\tb\r\nc", `a\tb\r\nc`, "a\tb\\u{D}\nc"},
	} {
		if got := text.Line(tc.in); got != tc.line {
			t.Errorf("%s: Line = %q, want %q", tc.name, got, tc.line)
		}
		if got := text.Block(tc.in); got != tc.block {
			t.Errorf("%s: Block = %q, want %q", tc.name, got, tc.block)
		}
	}
}

// Whatever goes in, nothing invisible and no foreign line break comes out.
func TestEscapesHoldForAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s") + string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes"))
		line := text.Line(s)
		if text.HasInvisible(line) || strings.ContainsAny(line, "\n\t") || !utf8.ValidString(line) {
			t.Fatalf("Line(%q) = %q", s, line)
		}
		if cmd := "::error::" + text.GitHubData(s); strings.ContainsAny(cmd, "\n\r") {
			t.Fatalf("GitHubData(%q) = %q", s, cmd)
		}
		code := text.MarkdownCode(s)
		if strings.ContainsAny(code, "\n") {
			t.Fatalf("MarkdownCode(%q) = %q", s, code)
		}
		var b strings.Builder
		if err := xml.EscapeText(&b, []byte(text.XML(s))); err != nil || strings.ContainsRune(b.String(), utf8.RuneError) && !strings.ContainsRune(s, utf8.RuneError) {
			t.Fatalf("XML(%q): %v", s, err)
		}
	})
}

func TestMarkdown(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"<img src=x>", "&lt;img src=x&gt;"},
		{"[a](javascript:x)", `\[a\](javascript:x)`},
		{"a|b\nc", `a\|b\\nc`},
		{"**x**", `\*\*x\*\*`},
	} {
		if got := text.Markdown(tc.in); got != tc.want {
			t.Errorf("Markdown(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	if strings.Contains(text.Markdown("@everyone"), "@everyone") {
		t.Error("a mention survives")
	}
	if got := text.MarkdownCode("a`b"); got != "`` a`b ``" {
		t.Errorf("MarkdownCode = %q", got)
	}
	if got := text.MarkdownFence("x\n```\ny", "json"); got != "````json\nx\n```\ny\n````\n" {
		t.Errorf("MarkdownFence = %q", got)
	}
}

// The quoted word, read by a real shell, is the word again.
func TestShellWordSurvivesTheShell(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash to read the words back")
	}
	for _, s := range []string{"", "plain", "it's", `a"b$c`, "a\nb\tc", "tag\U000E0041", "\x1b[1m", "\xff\x01", `back\slash`, "`x`", "k={\"a\":1}"} {
		out, err := exec.Command(sh, "-c", "LC_ALL=C.UTF-8; printf %s "+text.ShellWord(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("ShellWord(%q) = %s reads as %q (%v)", s, text.ShellWord(s), out, err)
		}
		if text.HasInvisible(text.ShellWord(s)) {
			t.Errorf("ShellWord(%q) is not visible", s)
		}
	}
}

func TestRedact(t *testing.T) {
	var r text.Redactor
	r.Add("hunter2-hunter2", "short", "hunter2-hunter2-longer")
	for _, tc := range []struct{ in, want string }{
		{"x hunter2-hunter2 y", "x [redacted] y"},
		{"hunter2-hunter2-longer", "[redacted]"},
		{"short stays", "short stays"},
		{"Authorization: Bearer abcdefghijkl", "Authorization: [redacted] [redacted]"},
		{"https://user:pa55@host/x", "https://[redacted]host/x"},
		{"?access_token=abcdef123&x=1", "?access_token=[redacted]&x=1"},
		{"ghp_abcdefghijklmnopqrstuvwxyz0123", "[redacted]"},
		{"xoxb-123456789012-abcdef", "[redacted]"},
		{"eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl", "[redacted]"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "[redacted]"},
		{"the password is asked for", "the password is asked for"},
		{"token count", "token count"},
	} {
		if got := r.String(tc.in); got != tc.want {
			t.Errorf("String(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	var none *text.Redactor
	if got := none.String("plain"); got != "plain" {
		t.Errorf("nil redactor: %q", got)
	}
	for name, want := range map[string]bool{"GITHUB_TOKEN": true, "ES_API_KEY": true, "Cookie": true, "HOME": false, "PORT": false} {
		if text.SecretName(name) != want {
			t.Errorf("SecretName(%s) = %v", name, !want)
		}
	}
}

func TestWordsRebuildBothTexts(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "tool", " ", "\n", "\\n", "\\", "读", "取", ".", "\U000E0041", "x-y", "  "})
	rapid.Check(t, func(t *rapid.T) {
		old := strings.Join(rapid.SliceOf(word).Draw(t, "old"), "")
		new := strings.Join(rapid.SliceOf(word).Draw(t, "new"), "")
		var a, b strings.Builder
		for _, s := range text.Words(old, new) {
			if s.Op != text.New {
				a.WriteString(s.Text)
			}
			if s.Op != text.Gone {
				b.WriteString(s.Text)
			}
		}
		if a.String() != old || b.String() != new {
			t.Fatalf("Words(%q, %q) rebuilds %q and %q", old, new, a.String(), b.String())
		}
	})
}

func TestWordDiff(t *testing.T) {
	for _, tc := range []struct{ old, new, want string }{
		{"Reads a file.", "Deletes a file.", "[-Reads-]{+Deletes+} a file."},
		{"读取文件", "删除文件", "[-读取-]{+删除+}文件"},
		{"Adds.", "Adds.\U000E0041", `Adds.{+\u{E0041}+}`},
		{"", "new", "{+new+}"},
	} {
		if got := text.WordDiff(tc.old, tc.new); got != tc.want {
			t.Errorf("WordDiff(%q, %q) = %s, want %s", tc.old, tc.new, got, tc.want)
		}
	}
}

func TestLogsKeepTheirCommands(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"::error::x", `\u{3A}:error::x`},
		{"  ::set-output name=a::b", `  \u{3A}:set-output name=a::b`},
		{"a ::error:: in the middle", "a ::error:: in the middle"},
		{"x ##[error]y", `x ##\u{5B}error]y`},
		{"##vso[task.setvariable]y", `##vso\u{5B}task.setvariable]y`},
		{"# heading [x]", "# heading [x]"},
	} {
		if got := text.LogLine(tc.in); got != tc.want {
			t.Errorf("LogLine(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
	if got := text.LogBlock("a\n::error::b"); got != "a\n\\u{3A}:error::b" {
		t.Errorf("LogBlock = %q", got)
	}
}

// Escaping a JSON text changes how it is spelled and not what it says.
func TestJSONStaysTheSameValue(t *testing.T) {
	for _, s := range []string{"tag \U000E0041 and \u202e", "##[error]", "##vso[x]", "plain é 读", "\u007f", "a\ufe0f"} {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		safe := text.JSON(raw)
		var back string
		if err := json.Unmarshal(safe, &back); err != nil || back != s {
			t.Errorf("JSON(%s) = %s reads as %q (%v)", raw, safe, back, err)
		}
		if text.HasInvisible(string(safe)) || strings.Contains(string(safe), "##[") || strings.Contains(string(safe), "##vso[") {
			t.Errorf("JSON(%s) = %s", raw, safe)
		}
	}
}

func TestSARIF(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"no {0} here", "no {{0}} here"},
		{"[a](javascript:x)", `\[a\](javascript:x)`},
		{"plain [a]", "plain [a]"},
	} {
		if got := text.SARIF(tc.in); got != tc.want {
			t.Errorf("SARIF(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}
