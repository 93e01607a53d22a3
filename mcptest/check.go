// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// CheckOption changes what [Check] and [Quick] judge.
type CheckOption func(*checking)

type checking struct {
	check.Options
	open     []Option
	strict   bool // warnings fail
	quick    bool
	mistakes []string
}

// Only judges only these rules: an id ("tools.unknown-tool-32602"), a topic
// ("tools"), or a prefix that ends in *.
func Only(rules ...string) CheckOption {
	return func(c *checking) { c.Options.Only = append(c.Options.Only, rules...) }
}

// Skip leaves out rules, named as for [Only].
func Skip(rules ...string) CheckOption {
	return func(c *checking) { c.Options.Skip = append(c.Options.Skip, rules...) }
}

// Calls allows a tool to be called, with these arguments, or with some made from
// its schema for nil. Tools that say they only read need no leave.
func Calls(tool string, args any) CheckOption {
	return func(c *checking) {
		if c.Tools == nil {
			c.Tools = map[string]json.RawMessage{}
		}
		c.Tools[tool] = nil
		if args == nil {
			return
		}
		raw, err := encode(args)
		if err != nil {
			c.mistakes = append(c.mistakes, fmt.Sprintf("mcptest.Calls(%q): %v", tool, err))
		}
		c.Tools[tool] = raw
	}
}

// Intrusive judges the rules that put a load on the server too.
func Intrusive() CheckOption { return func(c *checking) { c.Options.Intrusive = true } }

// WarningsFail makes a warning fail its subtest, which only a failure does
// otherwise.
func WarningsFail() CheckOption { return func(c *checking) { c.strict = true } }

// MaxListBytes is the ceiling for the answers to tools/list together; 64 KiB
// unless said.
func MaxListBytes(n int) CheckOption { return func(c *checking) { c.Options.MaxListBytes = n } }

// MaxTime bounds the judging of one revision; 40 s unless said.
func MaxTime(d time.Duration) CheckOption { return func(c *checking) { c.Budget = d } }

// Opened opens the target with options of [Open], such as [Revision] or
// [Header].
func Opened(opts ...Option) CheckOption {
	return func(c *checking) { c.open = append(c.open, opts...) }
}

// Check judges a server by the rules of mcprove check, in every revision that it
// claims, each rule a subtest: REVISION/rule.id. A rule that could not be judged
// is skipped and says why; a warning is logged.
func Check(t *testing.T, target any, opts ...CheckOption) {
	t.Helper()
	c := newChecking(t, opts)
	o := collect(c.open)
	revisions := []spec.Revision{o.revision}
	if !o.revision.Valid() {
		revisions = claimed(t, target, c.open)
	}
	for _, r := range revisions {
		t.Run(r.String(), func(t *testing.T) { c.judge(t, target, o, r) })
	}
}

// Quick runs the three tests to adopt first, in the newest revision that the
// server claims: a foreign Origin; concurrent requests with unique and with equal
// ids; the size of tools/list, and whether it changes by calls. One that cannot
// be run fails.
func Quick(t *testing.T, target any, opts ...CheckOption) {
	t.Helper()
	c := newChecking(t, opts)
	c.quick, c.Options.Only = true, append(c.Options.Only, check.Quick...)
	o := collect(c.open)
	r := o.revision
	if !r.Valid() {
		all := claimed(t, target, c.open)
		r = all[len(all)-1]
	}
	c.judge(t, target, o, r)
}

func newChecking(t testing.TB, opts []CheckOption) *checking {
	t.Helper()
	c := &checking{}
	for _, set := range opts {
		set(c)
	}
	c.Mine, c.Started, c.Version = true, true, version
	for _, pattern := range append(c.Options.Only[:len(c.Options.Only):len(c.Options.Only)], c.Options.Skip...) {
		if !knownRule(pattern) {
			var ids []string
			for _, r := range check.Rules() {
				ids = append(ids, r.ID)
			}
			c.mistakes = append(c.mistakes, missing("rule", pattern, ids))
		}
	}
	for _, m := range c.mistakes {
		t.Fatal(m)
	}
	return c
}

func knownRule(pattern string) bool {
	for _, r := range check.Rules() {
		if check.Match(r.ID, pattern) {
			return true
		}
	}
	return false
}

// judge runs the rules of one revision, and reports each.
func (c *checking) judge(t *testing.T, target any, o *options, r spec.Revision) {
	t.Helper()
	told := &told{}
	to, err := targetOf(t, target, o.header, told)
	if err != nil {
		t.Fatal(err)
	}
	options := c.Options
	options.Revision = r
	result, err := check.Run(t.Context(), to, options)
	if err != nil {
		t.Fatalf("check %s: %v", to, err)
	}
	if result.Unserved != "" {
		t.Fatalf("%s is not served: %s", r, shown(result.Unserved))
	}
	c.callable(t, result)
	judged := 0
	for i := range result.Outcomes {
		x := &result.Outcomes[i]
		if x.Status != rule.Skip {
			judged++
		}
		t.Run(x.Rule.ID, func(t *testing.T) { c.report(t, x) })
	}
	t.Logf("%s over %s: %d of %s judged in %s", r, result.Transport, judged, count(len(result.Outcomes), "rule"), result.Elapsed.Round(time.Millisecond))
	if judged == 0 {
		t.Errorf("no rule could be judged in %s", r)
	}
}

// callable fails the test for a tool that was allowed to be called and is not there:
// what should have been judged by it was not.
func (c *checking) callable(t *testing.T, result *check.Result) {
	t.Helper()
	if !result.Facts.Knows(spec.MethodToolsList) {
		return
	}
	var there []string
	for _, tool := range result.Facts.Tools() {
		there = append(there, tool.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if !slices.Contains(there, name) {
			t.Error("mcptest.Calls: " + missing("tool", name, there))
		}
	}
}

func (c *checking) report(t *testing.T, x *check.Outcome) {
	t.Helper()
	switch {
	case x.Status == rule.Skip && c.quick:
		t.Errorf("could not be judged: %s", shown(kitWords(x.Reason)))
	case x.Status == rule.Skip:
		t.Skip(shown(kitWords(x.Reason)))
	case x.Status >= rule.Fail, x.Status == rule.Warn && c.strict:
		t.Error(story(x))
	case x.Status > rule.Pass:
		t.Log(story(x))
	}
}

// inKit says in the words of the kit what a rule says in those of the command line.
var inKit = regexp.MustCompile(`--(tool|failing) '([^'=]*)=\{\.\.\.\}'|--(tool|only|max-time|max-list-bytes|intrusive)\b`)

func kitWords(s string) string {
	options := map[string]string{
		"tool": "mcptest.Calls", "failing": "mcptest.Calls", "only": "mcptest.Only", "max-time": "mcptest.MaxTime",
		"max-list-bytes": "mcptest.MaxListBytes", "intrusive": "mcptest.Intrusive",
	}
	return inKit.ReplaceAllStringFunc(s, func(flag string) string {
		m := inKit.FindStringSubmatch(flag)
		if m[3] != "" {
			return options[m[3]]
		}
		return fmt.Sprintf("%s(%q, args)", options[m[1]], m[2])
	})
}

// mostBlames bounds what is told of one rule.
const mostBlames = 3

// story is a finding in words: what is wrong, why it matters, what crossed, and
// what to do.
func story(x *check.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)", x.Rule.Title, x.Rule.Level, x.Rule.Section)
	for i, blame := range x.Blames {
		if i == mostBlames {
			fmt.Fprintf(&b, "\n  and %d more", len(x.Blames)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s", shown(kitWords(blame.Message)))
		for _, e := range probe.Evidence(blame.Frame, blame.Exchanges[:min(2, len(blame.Exchanges))]...) {
			arrow := "->"
			if e.Dir == wire.ToClient.String() {
				arrow = "<-"
			}
			fmt.Fprintf(&b, "\n    %s %s", arrow, text.Clip(text.Line(strings.TrimSpace(e.HTTP+" "+e.Text)), 500))
		}
	}
	if x.Rule.Why != "" {
		fmt.Fprintf(&b, "\n  why: %s", x.Rule.Why)
	}
	if x.Rule.Fix != "" {
		fmt.Fprintf(&b, "\n  fix: %s", x.Rule.Fix)
	}
	return b.String()
}
