// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
)

func TestUnknownFormat(t *testing.T) {
	_, err := report.New("sarf", io.Discard, &report.Run{}, report.Options{})
	var fe *report.FormatError
	if !errors.As(err, &fe) || len(fe.Nearest) == 0 || fe.Nearest[0] != "sarif" {
		t.Fatalf("err = %v", err)
	}
	if want := `unknown format "sarf"; did you mean sarif? (formats: text, json, ndjson, markdown, junit, sarif, github)`; err.Error() != want {
		t.Errorf("err = %s", err)
	}
}

// many are n findings of the kinds and sizes that real servers give.
func many(n int) []rule.Finding {
	fs := make([]rule.Finding, 0, n)
	for i := range n {
		w := rule.Where{Kind: "tool", Name: fmt.Sprintf("tool_%d", i), Pointer: "/inputSchema/properties/filters/properties/city", Path: "filters.city"}
		f := rule.Finding{
			ID: "enum-changed", Group: "breaking", Status: rule.Fail, Where: w, Count: 1,
			Message: fmt.Sprintf("filters.city of tool_%d takes fewer values", i), Why: "a value that worked may be refused",
			Evidence: []rule.Evidence{
				{Label: "before", Text: `{"type":"string","enum":["a","b"]}`, Form: rule.Plain}, {Label: "after", Text: `{"type":"string","enum":["a"]}`, Form: rule.Plain},
				{Label: "worked before, fails now", Text: fmt.Sprintf(`mcprove call tool_%d 'filters={"city":"b"}' -- npx -y server`, i), Form: rule.Command},
			},
			Fingerprint: rule.Fingerprint(w.Name),
			Detail:      change{"enum-changed", "breaking", jsonx.Raw(`{"enum":["a","b"]}`), jsonx.Raw(`{"enum":["a"]}`)},
		}
		if i%3 == 0 {
			f.Group, f.Status = "routing", rule.Warn
		}
		fs = append(fs, f)
	}
	return fs
}

func TestManyFindingsInBoundedTimeAndSize(t *testing.T) {
	fs := many(10_000)
	run := sampleRun()
	run.Redactor = redactor()
	for _, format := range report.Formats() {
		start := time.Now()
		out := write(t, format, run, report.Options{}, fs)
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v for %d findings", format, d, len(fs))
		}
		switch n := len(out); {
		case format == "markdown" && n > 65_536:
			t.Errorf("markdown is %d bytes", n)
		case format == "github" && bytes.Count(out, []byte("\n")) != 21:
			t.Errorf("github has %d lines", bytes.Count(out, []byte("\n")))
		}
		if format == "markdown" && !strings.Contains(string(out), "findings are left out here") {
			t.Error("markdown does not say that findings are left out")
		}
		if format == "github" && !strings.HasSuffix(string(out), "::6656 more errors, 3324 more warnings: GitHub shows at most 10 of a level per step; the text report holds all\n") {
			t.Errorf("github ends with %.300s", out[max(0, len(out)-300):])
		}
	}
	summary := render(t, "summary", run, report.Options{}, fs)
	if len(summary) > 1<<20 || len(summary) < 1<<19 {
		t.Errorf("the step summary is %d bytes", len(summary))
	}
}

// One finding that is too long must not take the room of all others, nor must
// notes without end.
func TestMarkdownIsBoundedForAnything(t *testing.T) {
	for _, s := range []string{strings.Repeat("&", 100_000), strings.Repeat("\U000E0041", 100_000), strings.Repeat("`", 100_000), strings.Repeat("\n", 100_000)} {
		f := everywhere(s, rule.Fail)
		for range 50 {
			f.Evidence = append(f.Evidence, f.Evidence[0])
		}
		run := nastyRun(s, "")
		run.Notes = slices.Repeat([]string{s}, 500)
		last := rule.Finding{ID: "the-last", Status: rule.Warn, Message: "short"}
		out := write(t, "markdown", run, report.Options{}, []rule.Finding{f, last})
		if len(out) > 65_536 {
			t.Errorf("%.3q...: %d bytes", s, len(out))
		}
		if err := harmless("markdown", out); err != nil {
			t.Errorf("%.3q...: %v", s, err)
		}
	}
}

func TestGitHubKeepsTenOfALevel(t *testing.T) {
	for _, tc := range []struct{ notes, want int }{{9, 9}, {10, 10}, {11, 10}, {30, 10}} {
		var fs []rule.Finding
		for range tc.notes {
			fs = append(fs, rule.Finding{ID: "n", Status: rule.Note, Message: "m"})
		}
		out := string(write(t, "github", &report.Run{Outcome: report.Passed}, report.Options{}, fs))
		if got := strings.Count(out, "::notice "); got != tc.want {
			t.Errorf("%d notes give %d notices, want %d", tc.notes, got, tc.want)
		}
		if more := fmt.Sprintf("%d more notices", tc.notes-9); tc.notes > 10 && !strings.Contains(out, more) {
			t.Errorf("no %q in\n%s", more, out)
		}
	}
}

func TestTheSameRunIsTheSameBytes(t *testing.T) {
	for _, format := range report.Formats() {
		a := write(t, format, sampleRun(), report.Options{}, sampleFindings())
		for range 5 {
			if b := write(t, format, sampleRun(), report.Options{}, sampleFindings()); !bytes.Equal(a, b) {
				t.Errorf("%s differs:\n%s", format, cmp.Diff(string(a), string(b)))
			}
		}
	}
}

func TestSinksLeaveTheFindingsAlone(t *testing.T) {
	fs, want := many(3), many(3)
	fs[0].Message, want[0].Message = "x "+secrets[0], "x "+secrets[0]
	for _, format := range report.Formats() {
		run := sampleRun()
		run.Redactor = redactor()
		write(t, format, run, report.Options{}, fs)
	}
	if d := cmp.Diff(want, fs); d != "" {
		t.Errorf("findings changed:\n%s", d)
	}
}

func TestDetailsStandInOnePlace(t *testing.T) {
	fs := sampleFindings()
	var doc map[string]json.RawMessage
	for key, inFindings := range map[string]int{"changes": 0, "": 2} {
		run := sampleRun()
		run.DetailKey = key
		out := write(t, "json", run, report.Options{}, fs)
		doc = nil
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(doc["findings"]), `"detail"`); got != inFindings {
			t.Errorf("key %q: %d details in findings", key, got)
		}
		if _, ok := doc["changes"]; ok != (key != "") {
			t.Errorf("key %q: changes there: %v", key, ok)
		}
	}
}

// A detail that cannot be written costs only itself.
func TestBrokenDetail(t *testing.T) {
	for _, detail := range []any{jsonx.Raw(`{"a":`), jsonx.Raw(nil), make(chan int), change{Before: jsonx.Raw(`{`)}} {
		f := rule.Finding{ID: "x", Status: rule.Fail, Message: "still here", Detail: detail}
		out := write(t, "json", sampleRun(), report.Options{}, []rule.Finding{f})
		if err := harmless("json", out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out, []byte("still here")) || !bytes.Contains(out, []byte("the detail of x cannot be written")) {
			t.Errorf("%T: %s", detail, out)
		}
		write(t, "ndjson", sampleRun(), report.Options{}, []rule.Finding{f})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, format := range report.Formats() {
		var good bytes.Buffer
		bad, err := report.New(format, broken{}, sampleRun(), report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ok, _ := report.New(format, &good, sampleRun(), report.Options{})
		both := report.Tee(bad, ok)
		addErr := both.Add(rule.Finding{ID: "x", Status: rule.Fail})
		closeErr := both.Close()
		if err := errors.Join(addErr, closeErr); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: %v", format, err)
		}
		if good.Len() == 0 {
			t.Errorf("%s: the sink beside the broken one wrote nothing", format)
		}
		if err := ok.Close(); err != nil {
			t.Errorf("%s: closed twice: %v", format, err)
		}
	}
}

// What must be seen is seen without -v.
func TestTextShowsWhatCounts(t *testing.T) {
	out := string(write(t, "text", sampleRun(), report.Options{}, sampleFindings()))
	for _, want := range []string{"COULD NOT BE JUDGED", "matches no finding", "announced in March", "Failed: 3 findings fail"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(out, "tool-kept") {
		t.Error("passes are shown without -v")
	}
	long := strings.Repeat("a", 500)
	f := rule.Finding{ID: "x", Status: rule.Fail, Evidence: []rule.Evidence{{Label: "before", Text: long + "OLD"}, {Label: "after", Text: long + "NEW"}}}
	out = string(write(t, "text", &report.Run{}, report.Options{}, []rule.Finding{f}))
	if !strings.Contains(out, "OLD") || !strings.Contains(out, "NEW") || strings.Contains(out, long) {
		t.Errorf("the difference of two long values is lost:\n%s", out)
	}
}

func BenchmarkFormats(b *testing.B) {
	fs := many(1_000)
	for _, format := range report.Formats() {
		b.Run(format, func(b *testing.B) {
			run := sampleRun()
			run.Redactor = redactor()
			for b.Loop() {
				write(b, format, run, report.Options{}, fs)
			}
		})
	}
}
