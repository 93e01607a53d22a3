// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// complete makes the test of coverage fail where rules are missing; without it
// the numbers are only told.
const complete = true

// entry is one rule of the catalogue that was drawn from the specification.
type entry struct {
	ID        string   `yaml:"id"`
	Revisions []string `yaml:"revisions"`
	Party     string   `yaml:"party"`
	Level     string   `yaml:"level"`
	Basis     string   `yaml:"basis"`
	Transport string   `yaml:"transport"`
	Text      string   `yaml:"text"`
	Section   string   `yaml:"section"`
	Test      string   `yaml:"test"`
}

// how is the tag that says what it takes to judge the rule: active, passive,
// needs-fixture, needs-config or not-observable.
func (e *entry) how() string {
	tag, _, _ := strings.Cut(strings.TrimPrefix(e.Test, "["), "]")
	return tag
}

// reportOnly reports whether a finding is for information.
func (e *entry) reportOnly() bool { return strings.Contains(strings.ToLower(e.Test), "report only") }

// ofServers reports whether the rule is one of servers at a revision, of an area
// that check covers.
func (e *entry) ofServers(at spec.Revision) bool {
	topic, _, _ := strings.Cut(e.ID, ".")
	return e.Party != "client" && slices.Contains(e.Revisions, at.String()) &&
		!slices.Contains([]string{"auth", "auth-as", "ext-tasks"}, topic)
}

// catalogue reads the rules by their ids; it skips the test where a clone has
// none.
func catalogue(t *testing.T) map[string]*entry {
	t.Helper()
	root := os.Getenv("MCPROVE_SHARED")
	if root == "" {
		t.Skip("MCPROVE_SHARED is not set: the catalogue of rules, which is not part of the repository, is needed here")
	}
	data, err := os.ReadFile(filepath.Join(root, "spec", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var list []*entry
	if err := yaml.Load(data, &list, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	out := map[string]*entry{}
	for _, e := range list {
		out[e.ID] = e
	}
	return out
}

// uncatalogued are rules that the catalogue does not have, with the reason.
var uncatalogued = map[string]string{
	"base.answers":         "a premise of all others, not a sentence of the specification",
	"base.stays-up":        "a premise of all others, not a sentence of the specification",
	"stdio.processes-left": "a server that is ended must be gone as a whole, which no sentence says",
	"tools.call-answered":  "how long a tool may take no sentence says; that none ever answers is no feature",
	"stdio.long-line":      "the specification sets no bound on a line, and no sentence says so",
}

// narrower are rules that are judged over one transport though the catalogue
// names none, with the reason.
var narrower = map[string]string{
	"era.server-dual-scope": "over stdio the process is the session, and there is nobody else in it",
}

// rebased are rules that rest on more than the catalogue says, with the reason.
var rebased = map[string]string{
	"elicitation.form-string-formats": "the message schema of a string field names the four formats",
	"progress.on-request-stream":      "what comes on a response stream MUST relate to the request that it answers",
}

// Every literal says what the catalogue says of its rule.
func TestRulesAgreeWithTheCatalogue(t *testing.T) {
	entries := catalogue(t)
	for _, r := range check.Rules() {
		e := entries[r.ID]
		if e == nil {
			// Security is not what the catalogue of the specification is about.
			if uncatalogued[r.ID] == "" && !strings.HasPrefix(r.ID, "sec.") {
				t.Errorf("%s is not in the catalogue", r.ID)
			}
			continue
		}
		agree(t, r, e)
	}
	for id := range uncatalogued {
		if _, ok := check.Find(id); !ok || entries[id] != nil {
			t.Errorf("%s is excused from the catalogue for nothing", id)
		}
	}
	for id := range rebased {
		if r, ok := check.Find(id); !ok || entries[id] == nil || string(r.Basis) == entries[id].Basis {
			t.Errorf("%s is excused from its basis for nothing", id)
		}
	}
	for id := range narrower {
		if r, ok := check.Find(id); !ok || r.Transport == "" {
			t.Errorf("%s is excused from its transport for nothing", id)
		}
	}
}

func agree(t *testing.T, r *check.Rule, e *entry) {
	t.Helper()
	transport := strings.TrimSuffix(r.Transport, "+sse") // the catalogue has one word for both
	if transport == "" || narrower[r.ID] != "" {
		transport = "any"
	}
	basis := string(r.Basis)
	if rebased[r.ID] != "" {
		basis = e.Basis
	}
	for _, f := range []struct{ name, got, want string }{
		{"level", r.Level, e.Level},
		{"basis", basis, e.Basis},
		{"section", r.Section, e.Section},
		{"transport", transport, e.Transport},
	} {
		if f.got != f.want {
			t.Errorf("%s: %s is %s, the catalogue says %s", r.ID, f.name, f.got, f.want)
		}
	}
	if r.ReportOnly != e.reportOnly() {
		t.Errorf("%s: report only is %t, the catalogue says %t", r.ID, r.ReportOnly, e.reportOnly())
	}
	if e.Party == "client" {
		t.Errorf("%s is a rule of clients", r.ID)
	}
	for _, rev := range r.Revisions {
		if !slices.Contains(e.Revisions, rev) {
			t.Errorf("%s: it is said to hold in %s, the catalogue says %s", r.ID, rev, strings.Join(e.Revisions, ", "))
		}
	}
}

// least is how much of the SHOULD rules must have a check, in percent.
const least = 80

// What must be judged is, in each revision: every MUST that a server can be asked
// about, and most of the SHOULD.
func TestCatalogueIsCovered(t *testing.T) {
	entries := catalogue(t)
	report := t.Logf
	if complete {
		report = t.Errorf
	}
	for _, at := range spec.All() {
		var must, should, beyond tally
		for id, e := range entries {
			if !e.ofServers(at) {
				continue
			}
			r, known := check.Find(id)
			built := known && r.Has(at)
			asked := e.how() == "active" || e.how() == "passive"
			switch {
			case !asked || e.reportOnly() || e.Level == "MAY":
				beyond.add(id, built)
			case e.Level == rule.Must || e.Level == rule.MustNot:
				must.add(id, built)
			default:
				should.add(id, built)
			}
		}
		t.Logf("%s: MUST: %d of %d; SHOULD: %d of %d; what needs a fixture or a configuration, is optional or only reported: %d of %d",
			at, must.built, must.all, should.built, should.all, beyond.built, beyond.all)
		if must.built < must.all {
			report("%s: MUST rules without a check: %s", at, must.missing())
		}
		if should.built*100 < should.all*least {
			report("%s: %d %% of the SHOULD rules have a check, fewer than %d: %s", at, should.built*100/should.all, least, should.missing())
		}
	}
}

// tally counts rules that are built.
type tally struct {
	all, built int
	lacks      []string
}

func (y *tally) add(id string, built bool) {
	y.all++
	if built {
		y.built++
		return
	}
	y.lacks = append(y.lacks, id)
}

func (y *tally) missing() string {
	slices.Sort(y.lacks)
	return strings.Join(y.lacks, " ")
}

// Rules that are named as consequences, or as said from closer by, exist.
func TestNamedRulesExist(t *testing.T) {
	report := t.Logf
	if complete {
		report = t.Errorf
	}
	for _, r := range check.Rules() {
		named := slices.Clone(r.Under)
		for _, b := range append([]check.Break{r.Break}, r.Breaks...) {
			named = append(named, b.Also...)
		}
		for _, id := range named {
			if _, ok := check.Find(id); !ok {
				report("%s names %s, which does not exist", r.ID, id)
			}
		}
	}
}
