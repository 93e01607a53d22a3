// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/rule"
)

func TestFingerprintKeepsPartsApart(t *testing.T) {
	if rule.Fingerprint("ab", "c") == rule.Fingerprint("a", "bc") {
		t.Error("parts run together")
	}
	if a, b := rule.Fingerprint("a", "b"), rule.Fingerprint("a", "b"); a != b || len(a) != 16 {
		t.Errorf("not stable: %s %s", a, b)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"tool-removed", "tool-added", "argument-removed-open", "hint-restated"}
	for _, tc := range []struct {
		in   string
		want string
	}{
		{"tool-remved", "tool-removed"},
		{"tool-rmeoved", "tool-removed"},
		{"argument-removed", "argument-removed-open"},
		{"Tool-Added", "tool-added"},
	} {
		if got := rule.Nearest(tc.in, words); len(got) == 0 || got[0] != tc.want {
			t.Errorf("Nearest(%q) = %v, want %s first", tc.in, got, tc.want)
		}
	}
	if got := rule.Nearest("zzzzzzzz", words); len(got) != 0 {
		t.Errorf("Nearest of nothing like it: %v", got)
	}
}

const acceptFile = `accept:
  - id: tool-removed
    where: tool old
    fingerprint: aaaa
    reason: announced in March
  - id: tool-removed
    where: tool older
    fingerprint: bbbb
    reason: announced
    expires: 2026-06-30
`

func TestExceptionsCoverExactlyTheirFinding(t *testing.T) {
	parse := func() *rule.Exceptions {
		x, err := rule.ParseExceptions("accept.yaml", []byte(acceptFile))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	day := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	fs := []rule.Finding{
		{ID: "tool-removed", Fingerprint: "aaaa", Status: rule.Fail},
		{ID: "tool-removed", Fingerprint: "cccc", Status: rule.Fail},
		{ID: "tool-removed", Fingerprint: "bbbb", Status: rule.Fail},
	}
	if stale := parse().Apply(fs, day); len(stale) != 0 {
		t.Errorf("stale: %v", stale)
	}
	for i, want := range []rule.Status{rule.Skip, rule.Fail, rule.Skip} {
		if fs[i].Status != want {
			t.Errorf("finding %d: %v, want %v", i, fs[i].Status, want)
		}
	}

	late := []rule.Finding{{ID: "tool-removed", Fingerprint: "bbbb", Status: rule.Fail}}
	stale := parse().Apply(late, day.AddDate(0, 0, 1))
	if late[0].Status != rule.Fail {
		t.Error("an expired exception still covers")
	}
	if len(stale) != 2 || !stale[0].Expired || stale[1].Expired {
		t.Fatalf("stale = %v", stale)
	}
	if !strings.Contains(stale[0].String(), "expired on 2026-06-30") || !strings.Contains(stale[1].String(), "line 2") {
		t.Errorf("stale texts: %v", stale)
	}
}

func TestExceptionFaultsHaveAPlace(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		line     int
		message  string
	}{
		{"no reason", "accept:\n  - id: a\n    fingerprint: b\n    where: c\n", 2, "needs a reason"},
		{"no fingerprint", "accept:\n  - id: a\n    reason: b\n", 2, "needs a fingerprint"},
		{"bad date", "accept:\n\n  - {id: a, fingerprint: b, reason: c, expires: soon}\n", 3, "must be a date"},
		{"unknown key", "accept:\n  - id: a\n    raeson: b\n", 3, "raeson"},
		{"not a list", "accept: 5\n", 1, ""},
		{"not YAML", "accept: [\n", 2, ""},
	} {
		_, err := rule.ParseExceptions("f.yaml", []byte(tc.in))
		var fe *rule.FileError
		if !errors.As(err, &fe) {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if fe.Line != tc.line || !strings.Contains(fe.Message, tc.message) {
			t.Errorf("%s: %v, want line %d and %q", tc.name, err, tc.line, tc.message)
		}
	}
	if x, err := rule.ParseExceptions("f.yaml", []byte("# nothing\n")); err != nil || len(x.Entries) != 0 {
		t.Errorf("only a comment: %v %v", x, err)
	}
}

func TestExceptionsEncodeTheSameBytes(t *testing.T) {
	x, err := rule.ParseExceptions("a", []byte(acceptFile))
	if err != nil {
		t.Fatal(err)
	}
	first, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(x.Entries)
	second, _ := x.Encode()
	if string(first) != string(second) {
		t.Errorf("order matters:\n%s\n%s", first, second)
	}
	y, err := rule.ParseExceptions("a", first)
	if err != nil || len(y.Entries) != 2 {
		t.Errorf("read back: %v %v", y, err)
	}
}

func TestRegistry(t *testing.T) {
	info := rule.Info{ID: "a", Family: "x", Level: "breaking", Title: "t", Why: "w", Fix: "f"}
	r := rule.NewRegistry([]rule.Info{info})
	if got, ok := r.Lookup("a"); !ok || got.Title != "t" {
		t.Errorf("Lookup: %v %v", got, ok)
	}
	for name, infos := range map[string][]rule.Info{
		"twice":      {info, info},
		"incomplete": {{ID: "b"}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			rule.NewRegistry(infos)
		}()
	}
}
