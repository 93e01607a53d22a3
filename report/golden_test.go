// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
)

var update = flag.Bool("update", false, "write the golden files again")

// change stands for a family's own form of a finding.
type change struct {
	ID     string    `json:"id"`
	Class  string    `json:"class"`
	Before jsonx.Raw `json:"before"`
	After  jsonx.Raw `json:"after"`
}

// sampleRun is a contract check with something in every section.
func sampleRun() *report.Run {
	infos := rule.NewRegistry([]rule.Info{
		{ID: "argument-removed", Family: "contract", Level: "breaking", Basis: rule.Promise, Title: "argument removed",
			Why: "callers that send it are refused", Fix: "keep the argument and ignore it"},
		{ID: "enum-changed", Family: "contract", Level: "breaking", Basis: rule.Promise, Title: "allowed values changed",
			Why: "a value that worked may be refused", Fix: "keep the old values", Detail: "Values are compared as JSON."},
	}, report.Infos())
	return &report.Run{
		Verb: "contract check", Target: "npx -y @example/server", Version: "0.1.0",
		Outcome: report.Failed, Exit: 1, Subject: "14 tools compared",
		Summary:   []report.Tally{{Name: "breaking", Count: 2}, {Name: "routing", Count: 1}, {Name: "additive", Count: 0}, {Name: "cosmetic", Count: 1}},
		Notes:     []string{"the server wrote 3 lines that are no messages to stdout; the first: \"starting\""},
		DetailKey: "changes",
		Infos:     infos.Lookup,
		Place: func(w rule.Where) (string, int) {
			if w.Kind != "tool" {
				return "", 0
			}
			return "mcprove.contract.json", 12
		},
	}
}

func sampleFindings() []rule.Finding {
	tool := func(name, pointer, path string) rule.Where {
		return rule.Where{Kind: "tool", Name: name, Pointer: pointer, Path: path}
	}
	places := []rule.Where{
		tool("search", "/inputSchema/properties/limit", "limit"), tool("list", "/inputSchema/properties/limit", "limit"),
		tool("count", "/inputSchema/properties/limit", "limit"), tool("export", "/inputSchema/properties/limit", "limit"),
		tool("page", "/inputSchema/properties/limit", "limit"), tool("tail", "/inputSchema/properties/limit", "limit"),
	}
	return []rule.Finding{
		{
			ID: "description-changed", Group: "routing", Status: rule.Warn, Count: 1, Where: tool("search", "/description", ""),
			Message: "the description of search changed", Why: "models choose the tool by this text; it is also where instructions are smuggled in",
			Evidence:    []rule.Evidence{{Label: "words", Text: "Searches the [-catalogue-]{+archive+} of books, newest first, and returns at most [-20-]{+50+} of them.", Form: rule.Diff}},
			Fingerprint: "1111111111111111", Detail: change{"description-changed", "routing", jsonx.Raw(`"a"`), jsonx.Raw(`"b"`)},
		},
		{
			ID: "argument-removed", Group: "breaking", Status: rule.Fail, Count: 1,
			Where:   tool("search", "/inputSchema/properties/filters/properties/city", "filters.city"),
			Message: "the argument filters.city of search is gone",
			Why:     "callers that send it are refused, because the schema allows no others; an agent that has learnt it stalls",
			Evidence: []rule.Evidence{
				{Label: "worked before, fails now", Text: `mcprove call search 'filters={"city":"Ulm"}' -- npx -y @example/server --with --a --rather --long --command --line`, Form: rule.Command},
			},
			Fingerprint: "2222222222222222", Detail: change{"argument-removed", "breaking", jsonx.Raw(`{"type":"string"}`), jsonx.Raw(`null`)},
		},
		{
			ID: "enum-changed", Group: "breaking", Status: rule.Fail, Count: 7,
			Where: tool("find", "/inputSchema/properties/limit", "limit"), Also: places,
			Message: "limit takes fewer values", Why: "a value that worked may be refused",
			Evidence: []rule.Evidence{
				{Label: "before", Text: `{"enum": [10, 20, 50, 100], "type": "integer"}`, Form: rule.Plain},
				{Label: "after", Text: `{"enum": [10, 20], "type": "integer"}`, Form: rule.Plain},
			},
			Fingerprint: "3333333333333333",
		},
		{ID: "tool-removed", Group: "breaking", Status: rule.Skip, Reason: "accepted: announced in March", Count: 1,
			Where: tool("old_search", "", ""), Message: "the tool old_search is gone", Why: "every call by that name fails", Fingerprint: "4444444444444444"},
		{ID: "tool-order-changed", Group: "cosmetic", Status: rule.Note, Count: 1, Where: rule.Where{Kind: "server"},
			Message: "tools are listed in another order", Why: "no call changes", Fingerprint: "5555555555555555"},
		staleFinding(),
		{ID: "prompts", Group: "cosmetic", Status: rule.Skip, Reason: "the contract file did not record prompts", Count: 1, Where: rule.Where{Kind: "server"}},
		{ID: "schema-unreadable", Group: "breaking", Status: rule.Error, Count: 1, Where: tool("draw", "/inputSchema", ""),
			Message: "the schema refers to a place that does not exist", Why: "nothing can be said about its calls"},
		{ID: "tool-kept", Group: "contract", Status: rule.Pass, Count: 1, Where: tool("read", "", ""), Message: "read is as promised"},
	}
}

// staleFinding is the finding about an approval that matches nothing.
func staleFinding() rule.Finding {
	x, err := rule.ParseExceptions("mcprove.accept.yaml", []byte("accept:\n- id: tool-added\n  where: tool extra\n  fingerprint: abcd\n  reason: wanted\n"))
	if err != nil {
		panic(err)
	}
	return report.Stale(x.Path, x.Apply(nil, time.Time{})[0])
}

// write runs the findings through one sink.
func write(t testing.TB, format string, run *report.Run, o report.Options, fs []rule.Finding) []byte {
	t.Helper()
	var b bytes.Buffer
	s, err := report.New(format, &b, run, o)
	if err != nil {
		t.Fatal(err)
	}
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

func TestGolden(t *testing.T) {
	type golden struct {
		file, format string
		options      report.Options
	}
	files := []golden{
		{"text-color", "text", report.Options{Color: true}},
		{"text-narrow", "text", report.Options{Width: 44}},
		{"text-verbose", "text", report.Options{Verbose: true}},
	}
	for _, f := range report.Formats() {
		files = append(files, golden{f, f, report.Options{}})
	}
	for _, tc := range files {
		compare(t, tc.file, write(t, tc.format, sampleRun(), tc.options, sampleFindings()))
	}
	for _, f := range report.Formats() {
		empty := &report.Run{Verb: "contract check", Target: "demo:", Outcome: report.Passed, Subject: "14 tools compared", DetailKey: "changes"}
		compare(t, f+"-empty", write(t, f, empty, report.Options{}, nil))
	}
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, d)
	}
}

func TestStaleTellsWhy(t *testing.T) {
	day := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	x, err := rule.ParseExceptions("a.yaml", []byte("accept:\n  - {id: a, where: tool x, fingerprint: f, reason: r, expires: 2026-06-30}\n  - {id: b, where: tool y, fingerprint: g, reason: r}\n"))
	if err != nil {
		t.Fatal(err)
	}
	stale := x.Apply([]rule.Finding{{ID: "a", Fingerprint: "f", Status: rule.Fail}}, day)
	var fs []rule.Finding
	for _, s := range stale {
		fs = append(fs, report.Stale("a.yaml", s))
	}
	out := string(write(t, "text", &report.Run{Outcome: report.Failed}, report.Options{Width: 200}, fs))
	for _, want := range []string{"a.yaml, line 2: the acceptance of a (tool x) expired on 2026-06-30", "a.yaml, line 3: the acceptance of b (tool y) matches no finding"} {
		if !bytes.Contains([]byte(out), []byte(want)) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}
