// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"pgregory.net/rapid"
)

// secrets must come out of no format. The first two are known to the
// Redactor, the others by their shape.
var secrets = []string{
	"hunter2-hunter2", `pa"ss\word'42`,
	"ghp_abcdefghijklmnopqrstuvwxyz0123", "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl", "abcdefgh12345678", "pa55w0rd99",
}

func redactor() *text.Redactor {
	var r text.Redactor
	r.Add(secrets[0], secrets[1])
	return &r
}

var nasty = []string{
	"\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.example/\x07click\x1b]8;;\x07", "\u009b31m", "a\u202ebidi\u2066x", "tag\U000E0041\U000E0042",
	"line\nbreak\r\nand\rreturn\tand tab", "\n::error::boo", "::error file=x::boo", "  ::stop-commands::abc", "x ##[add-mask]y", "##vso[task.setvariable variable=a]b", "##[error]x",
	"]]>", "<![CDATA[x]]>", "&lt;&#x0;", "<script>alert(1)</script>", "</details><img src=x onerror=y>", "a|b\\|c", "`code` ``two`` ```three```", "\n```\n<b>out</b>",
	"@everyone and @octocat", "[click](https://evil.example/)", "![x](https://evil.example/x.png)", "https://evil.example/", "www.evil.example", "{0} {1}", "<!-- x", "$\\text{x}$",
	"\xff\xfe\x80 not utf-8", "\x00nul\x7f\ufffe\uffff", "\ufeffbom\u200b\u2028\u2029", strings.Repeat("long ", 400), strings.Repeat("x", 3_000), "-]{+[-+}", "%0A%0D::error::x", "",
	"known " + secrets[0], "quoted " + fmt.Sprintf("%q", secrets[1]), "raw " + secrets[1], "shell " + text.ShellWord(secrets[1]), secrets[2], secrets[3],
	"Authorization: Bearer " + secrets[4], "https://user:" + secrets[5] + "@host/", "password=" + secrets[5],
	`{"a":"hunter2-\u0068unter2"}`, `{"password":"` + secrets[5] + `","hunter2-hunter2":[1,{"x":"` + secrets[2] + `"}]}`,
}

// everywhere is a finding with s in every field.
func everywhere(s string, status rule.Status) rule.Finding {
	w := rule.Where{Kind: s, Name: s, Pointer: s, Path: s}
	quoted := string(jsonx.Quote(s))
	return rule.Finding{
		ID: s, Group: s, Status: status, Reason: s, Target: s, Where: w, Also: []rule.Where{w, w}, Count: 9, Message: s, Why: s,
		Evidence:    []rule.Evidence{{Label: s, Text: s, Form: rule.Plain}, {Label: s, Text: s, Form: rule.Command}, {Label: s, Text: s, Form: rule.Diff}, {Label: "before", Text: quoted, Form: rule.Plain}, {Label: "after", Text: s + quoted, Form: rule.Plain}},
		Fingerprint: s, Detail: jsonx.Raw(`{` + quoted + `:[` + quoted + `,{"x":` + quoted + `}],"password":` + quoted + `}`),
	}
}

func nastyRun(s, key string) *report.Run {
	return &report.Run{
		Verb: s, Target: s, Version: s, Outcome: report.Failed, Exit: 1, Subject: s, Summary: []report.Tally{{Name: s, Count: 1}, {Name: s, Count: 2}},
		Notes: []string{s, s}, DetailKey: key, Redactor: redactor(),
		Infos: func(id string) (rule.Info, bool) {
			return rule.Info{ID: id, Family: "f", Level: "l", Title: "t {0} [a](b)", Why: "w", Fix: "x"}, true
		},
		Place: func(w rule.Where) (string, int) { return w.Name, 3 },
	}
}

var statuses = []rule.Status{rule.Pass, rule.Skip, rule.Note, rule.Warn, rule.Fail, rule.Error, 0, 99}

func TestNastyTextIsHarmlessInEveryFormat(t *testing.T) {
	for _, s := range nasty {
		var fs []rule.Finding
		for _, st := range statuses {
			fs = append(fs, everywhere(s, st))
		}
		f := everywhere(s, rule.Skip)
		f.Reason = "accepted: " + s
		fs = append(fs, f)
		checkAll(t, s, fs)
	}
}

func checkAll(t testing.TB, s string, fs []rule.Finding) {
	t.Helper()
	for _, format := range append(report.Formats(), "summary") {
		for key, o := range map[string]report.Options{"": {}, "changes": {Color: true, Verbose: true, Width: 30}} {
			out := render(t, format, nastyRun(s, key), o, fs)
			if err := harmless(format, out); err != nil {
				t.Fatalf("%s of %q: %v\n%.3000s", format, s, err, out)
			}
		}
	}
}

func render(t testing.TB, format string, run *report.Run, o report.Options, fs []rule.Finding) []byte {
	t.Helper()
	if format != "summary" {
		return write(t, format, run, o, fs)
	}
	var b bytes.Buffer
	s := report.StepSummary(&b, run)
	for _, f := range fs {
		if err := s.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	ownColour   = regexp.MustCompile(`\x1b\[(0|1|1;|(1;)?3[1-6])m`)
	hashCommand = regexp.MustCompile(`##[a-z-]*\[`)
	annotation  = regexp.MustCompile(`^::(error|warning|notice) (file=[^:,]*,(line=\d+,)?)?title=[^:,]*::[^\r\n]*$`)
)

// harmless reports what must not be in a format's output.
func harmless(format string, out []byte) error {
	if !utf8.Valid(out) {
		return errors.New("not UTF-8")
	}
	s := string(out)
	switch format {
	case "text":
		s = ownColour.ReplaceAllString(s, "")
	case "markdown", "summary":
		s = strings.ReplaceAll(s, "\u2060", "") // put in by the format itself
	}
	if text.HasInvisible(s) || strings.ContainsRune(s, '\r') {
		return errors.New("invisible characters")
	}
	for _, secret := range secrets {
		if strings.Contains(s, secret) {
			return fmt.Errorf("secret %q", secret)
		}
	}
	if hashCommand.MatchString(s) {
		return errors.New("a ##[ command")
	}
	for l := range strings.Lines(s) {
		l = strings.TrimRight(l, "\n")
		if format == "github" {
			if !annotation.MatchString(l) {
				return fmt.Errorf("a line that is no annotation: %q", l)
			}
		} else if strings.HasPrefix(strings.TrimSpace(l), "::") {
			return fmt.Errorf("a workflow command: %q", l)
		}
	}
	return parses(format, out)
}

func parses(format string, out []byte) error {
	switch format {
	case "json":
		return jsonx.Check(out, jsonx.Strict)
	case "ndjson":
		for l := range bytes.Lines(out) {
			if err := jsonx.Check(l, jsonx.Strict); err != nil {
				return err
			}
		}
	case "sarif":
		return validSARIF(out)
	case "junit":
		return validJUnit(out)
	case "markdown", "summary":
		return harmlessMarkdown(string(out))
	}
	return nil
}

func validSARIF(out []byte) error {
	if err := jsonx.Check(out, jsonx.Strict); err != nil {
		return err
	}
	// The library's types have every member of the standard: one that they do
	// not know is none.
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&sarif.Report{}); err != nil {
		return err
	}
	r, err := sarif.FromBytes(out)
	if err != nil {
		return err
	}
	for _, run := range r.Runs {
		// Absent members that the library writes empty, against the schema.
		run.Language, run.Tool.Driver.Language, run.NewlineSequences = "en", "en", []string{"\n"}
	}
	if err := r.Validate(); err != nil {
		return err
	}
	for _, run := range r.Runs {
		for _, res := range run.Results {
			if regexp.MustCompile(`(^|[^{])\{\d+\}`).MatchString(*res.Message.Text) {
				return fmt.Errorf("a placeholder in %q", *res.Message.Text)
			}
			if regexp.MustCompile(`[^\\]\]\(`).MatchString(*res.Message.Text) {
				return fmt.Errorf("a link in %q", *res.Message.Text)
			}
		}
	}
	return nil
}

// validJUnit reads the XML to its end and checks the counts.
func validJUnit(out []byte) error {
	dec := xml.NewDecoder(bytes.NewReader(out))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	type suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Failure, Error, Skipped *struct{}
		} `xml:"testcase"`
	}
	var all struct {
		suite
		Suites []suite `xml:"testsuite"`
	}
	lower := bytes.NewReader(bytes.NewBuffer(out).Bytes())
	if err := xml.NewDecoder(lower).Decode(&all); err != nil {
		return err
	}
	var sum suite
	for _, s := range all.Suites {
		if s.Tests != len(s.Cases) {
			return fmt.Errorf("suite says %d tests and has %d", s.Tests, len(s.Cases))
		}
		sum.Tests += s.Tests
		sum.Failures += s.Failures
		sum.Errors += s.Errors
		sum.Skipped += s.Skipped
	}
	if a := all.suite; a.Tests != sum.Tests || a.Failures != sum.Failures || a.Errors != sum.Errors || a.Skipped != sum.Skipped {
		return fmt.Errorf("counts %+v, the suites have %+v", a, sum)
	}
	return nil
}

// harmlessMarkdown takes out what is code, and looks at the rest.
func harmlessMarkdown(s string) error {
	var b strings.Builder
	fence := ""
	for l := range strings.Lines(s) {
		trimmed := strings.TrimSpace(l)
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && !strings.Contains(trimmed[len(ticks):], "`"):
			fence = ticks
		case fence != "" && trimmed == ticks && len(ticks) >= len(fence):
			fence = ""
		case fence == "":
			b.WriteString(withoutSpans(l))
		}
	}
	if fence != "" {
		return errors.New("a fence is left open")
	}
	rest := strings.ReplaceAll(b.String(), "<!-- mcprove -->", "")
	for _, tag := range []string{"<details>", "</details>", "<summary>evidence</summary>"} {
		rest = strings.ReplaceAll(rest, tag, "")
	}
	for _, bad := range []string{"<", "@e", "@o", "://", "www.", "](", "!["} {
		if i := strings.Index(rest, bad); i >= 0 {
			return fmt.Errorf("%q in markup: %q", bad, rest[max(0, i-40):min(len(rest), i+40)])
		}
	}
	return nil
}

// withoutSpans removes the code spans of a line as CommonMark finds them: a
// run of backticks up to the next run of the same length.
func withoutSpans(l string) string {
	var b strings.Builder
	for l != "" {
		switch l[0] {
		case '\\':
			l = l[min(2, len(l)):] // escaped: it means nothing
			continue
		case '`':
		default:
			b.WriteByte(l[0])
			l = l[1:]
			continue
		}
		ticks := len(l) - len(strings.TrimLeft(l, "`"))
		end := closing(l[ticks:], ticks)
		if end < 0 {
			b.WriteString(l[:ticks])
			l = l[ticks:]
			continue
		}
		l = l[ticks+end:]
	}
	return b.String()
}

func closing(s string, ticks int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if n == ticks {
			return i + n
		}
		i += n
	}
	return -1
}

func TestAnyTextIsHarmless(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom(nasty), rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(rt, "s"), rapid.SampledFrom([]string{"", " ", "\n", "#", "`"}).Draw(rt, "between"))
		fs := []rule.Finding{everywhere(s, rapid.SampledFrom(statuses).Draw(rt, "status"))}
		for _, format := range report.Formats() {
			out := write(t, format, nastyRun(s, rapid.SampledFrom([]string{"", "changes"}).Draw(rt, "key")), report.Options{Verbose: true, Width: 40}, fs)
			if err := harmless(format, out); err != nil && !strings.HasPrefix(err.Error(), "secret") {
				rt.Fatalf("%s of %q: %v\n%.2000s", format, s, err, out)
			}
		}
	})
}

// The JSON forms keep the value of every text: only its spelling is made safe.
func TestJSONKeepsTheText(t *testing.T) {
	for _, s := range []string{"a\u202eb", "tag\U000E0041", "##[error]x", "\x1b[1m", "plain é 读"} {
		out := write(t, "ndjson", &report.Run{}, report.Options{}, []rule.Finding{{ID: "x", Message: s}})
		var got struct{ Message string }
		if err := json.Unmarshal(out[:bytes.IndexByte(out, '\n')], &got); err != nil || got.Message != s {
			t.Errorf("%q comes back as %q (%v)", s, got.Message, err)
		}
	}
}

// A word diff can cut a secret in two, where no redactor finds it.
func TestSecretsInWordDiffs(t *testing.T) {
	for _, tc := range []struct{ diff, want string }{
		{"use hunter2-[-hunter2-]{+hunter3+} now", "use [-[redacted]-]{+hunter2-hunter3+} now"},
		{"use [-hunter2-hunter2-]{+it+} now", "use [-[redacted]-]{+it+} now"},
		{"use [-a-]{+b+} now", "use [-a-]{+b+} now"},
		{"[- left open {+ too", "[- left open {+ too"},
	} {
		f := rule.Finding{ID: "x", Status: rule.Warn, Evidence: []rule.Evidence{{Label: "words", Text: tc.diff, Form: rule.Diff}}}
		out := string(write(t, "text", &report.Run{Redactor: redactor()}, report.Options{}, []rule.Finding{f}))
		if !strings.Contains(out, "    "+tc.want+"\n") {
			t.Errorf("%s: no %q in\n%s", tc.diff, tc.want, out)
		}
	}
}
