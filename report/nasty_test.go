// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
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
	"\xff\xfe\x80 not utf-8", "\x00nul\x7f\ufffe\uffff", "\ufeffbom\u200b\u2028\u2029", strings.Repeat("long ", 150), strings.Repeat("x", 700), "-]{+[-+}", "%0A%0D::error::x", "",
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

func TestAnyTextIsHarmless(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom(nasty), rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(rt, "s"), rapid.SampledFrom([]string{"", " ", "\n", "#", "`"}).Draw(rt, "between"))
		fs := []rule.Finding{everywhere(s, rapid.SampledFrom(statuses).Draw(rt, "status"))}
		for _, format := range report.Formats() {
			out := write(t, format, nastyRun(s, rapid.SampledFrom([]string{"", "changes"}).Draw(rt, "key")), report.Options{Verbose: true, Width: 40}, fs)
			err := harmless(format, out)
			// A shape is known by what stands around it, which chance may
			// break; a known value never comes out.
			var secret secretError
			if errors.As(err, &secret) && slices.Contains(secrets[2:], string(secret)) {
				continue
			}
			if err != nil {
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
