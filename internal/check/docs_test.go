// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/rule"
	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "write the generated pages under docs")

const rulesDir = "../../docs/rules"

// The pages under docs/rules say what the rules say of themselves.
func TestDocs(t *testing.T) {
	pages := map[string][]byte{"README.md": coverage(t)}
	for _, r := range check.Rules() {
		pages[r.ID+".md"] = rulePage(r)
	}
	if *update {
		if err := os.RemoveAll(rulesDir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(rulesDir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(rulesDir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	there, err := os.ReadDir(rulesDir)
	if err != nil {
		t.Fatalf("%v; write the pages with -update", err)
	}
	for _, e := range there {
		if pages[e.Name()] == nil {
			t.Errorf("docs/rules/%s is of no rule; write the pages again with -update", e.Name())
		}
	}
	stale := 0
	for name, want := range pages {
		if got, _ := os.ReadFile(filepath.Join(rulesDir, name)); !bytes.Equal(got, want) {
			stale++
			if stale <= 5 {
				t.Errorf("docs/rules/%s is not what the rule says; write the pages again with -update", name)
			}
		}
	}
}

// severityWords say what a finding of a rule does to a run.
var severityWords = map[rule.Status]string{
	rule.Fail: "fails the run", rule.Warn: "is a warning", rule.Note: "is for information",
}

var basisWords = map[rule.Basis]string{
	rule.Keyword: "a word of RFC 2119 in the section", rule.Schema: "the official schema",
	rule.Prose: "the specification's text, without such a word", rule.Derived: "what follows from the specification",
	rule.Advisory: "good practice, not the specification", rule.Premise: "what every other rule rests on",
	rule.Harm: "what it does to people, whether or not the section forbids it",
}

func rulePage(r *check.Rule) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", r.ID, upperFirst(r.Title))
	fmt.Fprintf(&b, "| | |\n|---|---|\n| level | %s; a finding %s |\n| basis | %s |\n| section | %s |\n| revisions | %s |\n| transport | %s |\n| judged | %s |\n",
		r.Level, severityWords[r.Severity()], basisWords[r.Basis], sectionLink(r.Section), r.In, transportWord(r), howJudged(r))
	takesTokens := strings.HasPrefix(r.Needs, "--token-")
	switch {
	case takesTokens:
		fmt.Fprintf(&b, "| needs | `%s FILE` |\n", r.Needs)
	case r.Needs != "":
		fmt.Fprintf(&b, "| needs | `%s`, where the server offers nothing by itself |\n", r.Needs)
	}
	fmt.Fprintf(&b, "\n**Why.** %s.\n\n**Fix.** %s.\n", upperFirst(r.Why), upperFirst(r.Fix))
	if r.Detail != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Detail)
	}
	if len(r.Under) > 0 {
		fmt.Fprintf(&b, "\nNot reported where one of these says what is wrong: %s.\n", strings.Join(r.Under, ", "))
	}
	flag := ""
	if r.Intrusive {
		flag = "--intrusive "
	}
	if takesTokens {
		flag = "--token FILE " + r.Needs + " FILE "
	}
	fmt.Fprintf(&b, "\nSee it alone: `mcprove check %s--only %s TARGET`.", flag, r.ID)
	if len(r.Break.Faults) > 0 || r.Break.Change != nil {
		fmt.Fprintf(&b, " A server that breaks it: `mcprove mock --fault %s`.", r.ID)
	}
	if takesTokens {
		k := check.GuardTokens
		fmt.Fprintf(&b, " It knows the tokens `%s`, `%s` (of the same user) and `%s` (for another server).", k.Own, k.SameUser, k.OtherAudience)
	}
	b.WriteString("\n")
	return b.Bytes()
}

func upperFirst(s string) string {
	if s == "" || strings.Contains(strings.SplitN(s, " ", 2)[0], "/") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// sectionLink is the page of the specification that a section names.
func sectionLink(s string) string {
	if s == "" {
		return "-"
	}
	return fmt.Sprintf("[%s](https://modelcontextprotocol.io/specification/%s)", s, s)
}

func transportWord(r *check.Rule) string {
	if r.Transport == "" {
		return "any"
	}
	return r.Transport
}

func howJudged(r *check.Rule) string {
	if r.Watch != nil {
		return "by looking at everything that crosses"
	}
	return "by requests of its own"
}

// coverage is the table of all rules, and of what is left out.
func coverage(t *testing.T) []byte {
	var b bytes.Buffer
	rules := check.Rules()
	fmt.Fprintf(&b, "# Rules of check\n\n%d rules are built. Passive ones look at everything that crosses in a run; active ones send requests of their own.\n", len(rules))
	b.WriteString("Each finding names its rule; `mcprove explain ID` shows these pages in a terminal. Made by `go test ./internal/check -run TestDocs -update`.\n")
	topic := ""
	for _, r := range rules {
		if of, _, _ := strings.Cut(r.ID, "."); of != topic {
			topic = of
			fmt.Fprintf(&b, "\n## %s\n\n| rule | level | a finding | judged | transport | needs |\n|---|---|---|---|---|---|\n", topic)
		}
		how := "active"
		if r.Watch != nil {
			how = "passive"
		}
		needs := ""
		switch {
		case r.Intrusive:
			needs = "`--intrusive`"
		case r.Needs != "":
			needs = "`" + r.Needs + "`"
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s | %s | %s |\n", r.ID, r.ID, r.Level, r.Severity(), how, transportWord(r), needs)
	}
	left := leftOut(t)
	if len(left) > 0 {
		b.WriteString("\n## Left out\n\nRules of revision 2026-07-28 about servers that check does not judge, and why.\n\n| rule | why |\n|---|---|\n")
		for _, l := range left {
			fmt.Fprintf(&b, "| %s | %s |\n", l.ID, l.Why)
		}
	}
	return b.Bytes()
}

// left is a rule that is not built, and the reason.
type left struct {
	ID  string `yaml:"id"`
	Why string `yaml:"why"`
}

// leftOut reads the rules that are not built, sorted.
func leftOut(t *testing.T) []left {
	t.Helper()
	data, err := os.ReadFile("testdata/left-out.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []left
	if err := yaml.Load(data, &out, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	for _, l := range out {
		if _, built := check.Find(l.ID); built {
			t.Errorf("%s is built, and is named as left out", l.ID)
		}
		if l.Why == "" {
			t.Errorf("%s is left out without a reason", l.ID)
		}
	}
	slices.SortFunc(out, func(a, b left) int { return strings.Compare(a.ID, b.ID) })
	return out
}
