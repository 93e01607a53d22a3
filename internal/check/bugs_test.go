// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// bug is a public report of a fault in a server, and what a right tool says of
// it. The head of table.yaml explains the fields.
type bug struct {
	ID     string   `yaml:"id"`
	Source string   `yaml:"source"`
	Why    string   `yaml:"why"`
	Unsaid []string `yaml:"unsaid"`
	Plays  []play   `yaml:"plays"`
}

type play struct {
	Recording string     `yaml:"recording"`
	Tools     string     `yaml:"tools"`
	Server    *bugServer `yaml:"server"`
	Run       struct {
		Tools  map[string]string `yaml:"tools"`
		Tokens struct {
			Own           string `yaml:"own"`
			OtherAudience string `yaml:"other-audience"`
			SameUser      string `yaml:"same-user"`
		} `yaml:"tokens"`
	} `yaml:"run"`
	Transport string `yaml:"transport"`
	Revision  string `yaml:"revision"`

	Unserved []string `yaml:"unserved"`

	Report  []expected `yaml:"report"`
	Passes  []string   `yaml:"passes"`
	Also    []string   `yaml:"also"`
	Not     []string   `yaml:"not"`
	NotFail []string   `yaml:"not-fail"`
	Never   []string   `yaml:"never"`
	NotRun  []string   `yaml:"not-run"`
	Most    *int       `yaml:"most"`
}

// expected is one finding that must come.
type expected struct {
	Rule   string   `yaml:"rule"`
	Or     []string `yaml:"or"`
	Status string   `yaml:"status"`
	Says   []string `yaml:"says"`
	Shows  []string `yaml:"shows"`
}

func (e *expected) rules() []string { return append([]string{e.Rule}, e.Or...) }

const bugDir = "testdata/bugs"

var bugs = sync.OnceValues(func() ([]bug, error) {
	data, err := os.ReadFile(filepath.Join(bugDir, "table.yaml"))
	if err != nil {
		return nil, err
	}
	var out []bug
	return out, yaml.Load(data, &out, yaml.WithKnownFields())
})

func bugTable(t *testing.T) []bug {
	t.Helper()
	out, err := bugs()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// plays calls visit for every play, each a test of its own.
func plays(t *testing.T, visit func(*testing.T, *bug, *play)) {
	for _, b := range bugTable(t) {
		for i := range b.Plays {
			p := &b.Plays[i]
			form := "server"
			if p.Recording != "" {
				form = "recording"
			}
			t.Run(fmt.Sprintf("%s/%d-%s", b.ID, i, form), func(t *testing.T) { visit(t, &b, p) })
		}
	}
}

// Every public report gets the verdict that was written before the rules were.
func TestReportedBugs(t *testing.T) {
	plays(t, func(t *testing.T, b *bug, p *play) {
		t.Parallel()
		if testing.Short() && p.long() && b.ID != "B010" {
			t.Skip("each is a whole run over all there is; the race detector needs one of them")
		}
		var called []string
		var outcomes map[string]check.Outcome
		if p.Recording != "" {
			outcomes = map[string]check.Outcome{}
			for _, o := range check.Watched(p.traffic(t), check.Options{}) {
				outcomes[o.Rule.ID] = o
			}
		} else {
			outcomes, called = p.serve(t)
		}
		p.judge(t, b, outcomes)
		for _, name := range p.Never {
			if slices.Contains(called, name) {
				t.Errorf("tool %s was called", name)
			}
		}
	})
}

// long reports whether a play is a run over a server that has everything.
func (p *play) long() bool {
	return p.Server != nil && (p.Server.Script == "plain" || p.Server.Script == "paged")
}

// judge compares what came out with what the row says.
func (p *play) judge(t *testing.T, b *bug, outcomes map[string]check.Outcome) {
	t.Helper()
	wanted := map[string]bool{}
	for i := range p.Report {
		e := &p.Report[i]
		if p.Recording != "" && asks(e.rules()) {
			if !b.served(e.rules()) {
				t.Errorf("%s asks the server, so a recording cannot show it: the report needs a scripted server", e.Rule)
			}
			continue
		}
		j := slices.IndexFunc(e.rules(), func(id string) bool { return outcomes[id].Status.String() == e.Status })
		if j < 0 {
			t.Errorf("want %s: %s", e.Status, e.Rule)
			for _, id := range e.rules() {
				if o, ok := outcomes[id]; ok {
					t.Log(show(o))
				}
			}
			continue
		}
		id := e.rules()[j]
		wanted[id] = true
		e.compare(t, outcomes[id])
	}
	blames := 0
	for id, o := range outcomes {
		switch {
		case o.Status == rule.Error:
			t.Errorf("came to no verdict: %s", show(o))
		case o.Status != rule.Fail && o.Status != rule.Warn:
			continue
		case matches(p.Not, id):
			t.Errorf("the report says that this must not come: %s", show(o))
		case o.Status == rule.Fail && matches(p.NotFail, id):
			t.Errorf("may warn at most: %s", show(o))
		case !wanted[id] && !matches(p.Also, id):
			t.Errorf("not asked for: %s", show(o))
		}
		blames++
	}
	if p.Most != nil && blames > *p.Most {
		t.Errorf("%d findings, at most %d", blames, *p.Most)
	}
	for _, id := range p.Passes {
		if o := outcomes[id]; o.Status != rule.Pass {
			t.Errorf("want a pass: %s: %s %s", id, o.Status, o.Reason)
		}
	}
	for _, id := range p.NotRun {
		if o := outcomes[id]; o.Status != rule.Skip || !strings.HasPrefix(o.Reason, "not run: ") {
			t.Errorf("want it not to be run: %s: %s %s", id, o.Status, o.Reason)
		}
	}
	for _, token := range []string{p.Run.Tokens.Own, p.Run.Tokens.OtherAudience, p.Run.Tokens.SameUser} {
		for _, o := range outcomes {
			if token != "" && strings.Contains(show(o), token) {
				t.Errorf("a token is shown: %s", show(o))
			}
		}
	}
}

// compare holds the words and the evidence of a finding to the row.
func (e *expected) compare(t *testing.T, o check.Outcome) {
	t.Helper()
	var says, shows strings.Builder
	for _, bl := range o.Blames {
		fmt.Fprintln(&says, bl.Message)
		for _, x := range bl.Exchanges {
			for _, c := range x.Evidence(bl.Frame) {
				fmt.Fprintln(&shows, c.Text, c.HTTP)
			}
		}
		if bl.Frame != nil {
			fmt.Fprintf(&shows, "%s\n", bl.Frame.Raw)
		}
	}
	for _, s := range e.Says {
		if !regexp.MustCompile(s).MatchString(says.String()) {
			t.Errorf("the message does not say %q:\n%s", s, show(o))
		}
	}
	for _, s := range e.Shows {
		if !strings.Contains(strings.ReplaceAll(shows.String(), `": `, `":`), s) {
			t.Errorf("the evidence does not show %q:\n%s", s, show(o))
		}
	}
	if strings.ContainsRune(says.String(), '\ufffd') {
		t.Errorf("bytes were replaced in the message:\n%s", show(o))
	}
}

// asks reports whether the rules that exist send requests of their own.
func asks(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		r, ok := check.Find(id)
		return ok && r.Watch != nil
	})
}

// served reports whether a scripted server of the row shows one of the rules.
func (b *bug) served(ids []string) bool {
	return slices.ContainsFunc(b.Plays, func(p play) bool {
		return p.Server != nil && slices.ContainsFunc(p.Report, func(e expected) bool {
			return slices.ContainsFunc(e.rules(), func(id string) bool { return slices.Contains(ids, id) })
		})
	})
}

// matches reports whether an id matches one of the patterns.
func matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, id)
		return ok && err == nil
	})
}

// unregistered are the rules that a play needs and that are not built.
func (p *play) unregistered() []string {
	var out []string
	for i := range p.Report {
		if ids := p.Report[i].rules(); !slices.ContainsFunc(ids, built) {
			out = append(out, ids[0])
		}
	}
	for _, id := range p.Passes {
		if !built(id) {
			out = append(out, id)
		}
	}
	return out
}

func built(id string) bool { _, ok := check.Find(id); return ok }

// The table names no rule that is not built.
func TestReportedBugsNameBuiltRules(t *testing.T) {
	var missing []string
	for _, b := range bugTable(t) {
		for i := range b.Plays {
			missing = append(missing, b.Plays[i].unregistered()...)
		}
	}
	slices.Sort(missing)
	if missing = slices.Compact(missing); len(missing) > 0 {
		t.Errorf("not built: %s", strings.Join(missing, ", "))
	}
}

// serve runs the whole check on the scripted server of a play. It returns the
// outcomes, and the names of the tools that were called.
func (p *play) serve(t *testing.T) (map[string]check.Outcome, []string) {
	t.Helper()
	var mu sync.Mutex
	var called []string
	o := check.Options{Options: probe.Options{
		Tools: map[string]json.RawMessage{},
		Tap: func(e transport.TapEvent) {
			if !e.Sent || e.Frame == nil || e.Frame.Message().Method != spec.MethodToolsCall {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			called = append(called, probe.Text(probe.Lookup(e.Frame.Message().Params, "/name")))
		},
	}}
	for name, args := range p.Run.Tools {
		o.Tools[name] = json.RawMessage(args)
	}
	o.Tokens = probe.Tokens(p.Run.Tokens)
	kind := transport.Stdio
	if p.Transport == "http" {
		kind = transport.StreamableHTTP
	}
	r := runBy(t, p.Server.script(t), stage{kind, p.revision(t)}, o)
	for _, s := range p.Unserved {
		if !regexp.MustCompile(s).MatchString(r.Unserved) {
			t.Errorf("that the revision is not served does not say %q: %q", s, r.Unserved)
		}
	}
	if len(p.Unserved) == 0 && r.Unserved != "" {
		t.Errorf("not judged: %s", r.Unserved)
	}
	mu.Lock()
	defer mu.Unlock()
	return byRule(r), called
}

func (p *play) revision(t *testing.T) spec.Revision {
	t.Helper()
	r, err := spec.ParseRevision(p.Revision)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A row can be read: its inputs are there, and each play is of one form.
func TestBugTable(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range bugTable(t) {
		if seen[b.ID] || b.Source == "" || b.Why == "" || len(b.Plays) == 0 {
			t.Errorf("%s: twice, or without source, why or plays", b.ID)
		}
		seen[b.ID] = true
		for i := range b.Plays {
			p := &b.Plays[i]
			if (p.Recording == "") == (p.Server == nil) {
				t.Errorf("%s: play %d is either a recording or a server", b.ID, i)
			}
			if _, err := spec.ParseRevision(p.Revision); err != nil || p.Transport != "http" && p.Transport != "stdio" {
				t.Errorf("%s: play %d: %v, transport %q", b.ID, i, err, p.Transport)
			}
			for _, f := range []string{p.Recording, p.Tools} {
				if _, err := os.Stat(filepath.Join(bugDir, f)); err != nil {
					t.Errorf("%s: %v", b.ID, err)
				}
			}
			if p.Server != nil {
				p.Server.script(t)
			}
		}
	}
}

// sharedBug is an entry of the log of reports, as far as it is compared.
type sharedBug struct {
	ID    string   `yaml:"id"`
	Party string   `yaml:"party"`
	Area  string   `yaml:"toolkit_area"`
	Input []string `yaml:"input"`
}

// sharedRule is a rule of the catalogue, as far as it is compared.
type sharedRule struct {
	ID        string   `yaml:"id"`
	Revisions []string `yaml:"revisions"`
}

// The table has every report on the wire of a server, the inputs are those of
// the log, and the rules are those of the catalogue with the status they give.
func TestBugTableAgainstTheLog(t *testing.T) {
	root := os.Getenv("MCPROVE_SHARED")
	if root == "" {
		t.Skip("MCPROVE_SHARED is not set: the log of reports and the rule catalogue are needed here")
	}
	var log []sharedBug
	load(t, filepath.Join(root, "bugs", "log.yaml"), &log)
	want := map[string]bool{}
	for _, s := range log {
		areas := strings.Split(s.Area, ", ")
		if s.Party != "server" && s.Party != "sdk" || !slices.ContainsFunc([]string{"wire", "security", "mock"}, func(a string) bool { return slices.Contains(areas, a) }) {
			continue
		}
		want[s.ID] = true
		for _, in := range s.Input {
			ours, err := os.ReadFile(filepath.Join(bugDir, s.ID, path.Base(in)))
			if err != nil {
				t.Error(err)
				continue
			}
			theirs, err := os.ReadFile(filepath.Join(root, "bugs", in))
			if err != nil || !bytes.Equal(ours, theirs) {
				t.Errorf("%s differs from the log: %v", in, err)
			}
		}
	}
	var catalogue []sharedRule
	load(t, filepath.Join(root, "spec", "rules.yaml"), &catalogue)
	revisions := map[string][]string{}
	for _, r := range catalogue {
		revisions[r.ID] = r.Revisions
	}
	for _, b := range bugTable(t) {
		if !want[b.ID] {
			t.Errorf("%s is not in the log", b.ID)
		}
		delete(want, b.ID)
		for i := range b.Plays {
			p := &b.Plays[i]
			ids := slices.Clone(p.Passes)
			for j := range p.Report {
				ids = append(ids, p.Report[j].rules()...)
			}
			for _, id := range ids {
				if r, ok := check.Find(id); !slices.Contains(revisions[id], p.Revision) && (!strings.HasPrefix(id, "sec.") || !ok || !slices.Contains(r.Revisions, p.Revision)) {
					t.Errorf("%s: the catalogue has no rule %s at %s", b.ID, id, p.Revision)
				}
			}
			for _, pattern := range slices.Concat(p.Also, p.Not, p.NotFail) {
				ofCheck := slices.ContainsFunc(check.Rules(), func(r *check.Rule) bool { return matches([]string{pattern}, r.ID) })
				if !ofCheck && !slices.ContainsFunc(catalogue, func(r sharedRule) bool { return matches([]string{pattern}, r.ID) }) {
					t.Errorf("%s: %q matches no rule of the catalogue", b.ID, pattern)
				}
			}
		}
	}
	for id := range want {
		t.Errorf("%s of the log has no row", id)
	}
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
