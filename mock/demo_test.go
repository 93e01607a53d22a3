// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
)

func demo(t *testing.T, name string, r spec.Revision) *surface.Surface {
	t.Helper()
	target, err := mock.Demo(name)
	if err != nil {
		t.Fatal(err)
	}
	if target.String() != name {
		t.Errorf("the target is called %s", target)
	}
	j := newJudge(r)
	s := open(t, target, session.Options{Revision: r, Tap: j.tap})
	out, err := surface.Collect(within(t), s, surface.CollectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j.report(t)
	if len(out.Notes) > 0 {
		t.Errorf("notes: %q", out.Notes)
	}
	return out
}

func TestDemoDriftShowsWhatServersDo(t *testing.T) {
	want := []string{
		"breaking argument-now-required place_hold pickup.branch",
		"breaking hint-read-only-withdrawn get_book annotations.readOnlyHint",
		"breaking input-enum-value-removed send_reminder channel",
		"breaking input-maximum-tightened search_books limit",
		"breaking output-became-nullable get_book isbn",
		"breaking output-enum-value-added search_books books[].availability",
		"breaking tool-removed recommend_books ",
		"breaking tool-renamed-candidate list_loans ",
		"routing tool-description-changed renew_loan description",
		"routing tool-description-invisible-change cancel_hold description",
		"routing server-version-unchanged-with-break  server.version",
		"additive argument-added renew_loan notify",
		"additive tool-added list_member_loans ",
		"cosmetic server-version-changed  server.version",
	}
	slices.Sort(want)
	for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
		got := []string{}
		for _, c := range contract.Compare(demo(t, "demo:", r), demo(t, "demo:drift", r), contract.Options{}).Changes {
			got = append(got, fmt.Sprintf("%s %s %s %s", c.Class, c.ID, c.Name, c.Path))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n\t%s\nwant\n\t%s", r, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}
}

func TestDemoResultsKeepTheirOutputSchema(t *testing.T) {
	target, err := mock.Demo("demo:")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, target, session.Options{})
	for _, params := range []string{
		`{"name":"search_books","arguments":{"query":"harbour"}}`, `{"name":"get_book","arguments":{"book_id":"b-1024"}}`,
	} {
		res, err := s.Call(within(t), spec.MethodToolsCall, raw(params))
		if err != nil {
			t.Fatal(err)
		}
		content, err := lookup(res.Raw, "/structuredContent")
		if err != nil {
			t.Errorf("%s: no structured content: %s", params, res.Raw)
		}
		if text, _ := lookup(res.Raw, "/content/0/text"); len(text) == 0 || len(content) == 0 {
			t.Errorf("%s: %s", params, res.Raw)
		}
	}
}

func TestUnknownDemoNamesTheKnown(t *testing.T) {
	for _, name := range []string{"demo", "demo:other", ""} {
		if _, err := mock.Demo(name); err == nil || !strings.Contains(err.Error(), "demo: and demo:drift") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
