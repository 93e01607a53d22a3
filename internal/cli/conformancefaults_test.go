// SPDX-License-Identifier: Apache-2.0

//go:build peers

package cli

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// refereed is one fault of a rule, and the check of the official suite that
// judges the same. The suite must see the fault, or there is a reason.
type refereed struct {
	scenario, check string
	rule            string
	nth             int // 0 is the rule's Break, from 1 its Breaks
	// here is the fault at a place that the fixture has and the scenario comes
	// by, where the rule's own is at one that only the specimen has; nil is the
	// rule's own.
	here []mock.Fault
	// unseen is why the check does not see it.
	unseen string
}

func (r *refereed) String() string {
	return fmt.Sprintf("%s/%s/%s/%d", r.scenario, r.check, r.rule, r.nth)
}

// breakage is the fault of the rule.
func (r *refereed) breakage(t *testing.T) check.Break {
	t.Helper()
	rl, ok := check.Find(r.rule)
	if !ok {
		t.Fatalf("there is no rule %s", r.rule)
	}
	breaks := append([]check.Break{rl.Break}, rl.Breaks...)
	if r.nth >= len(breaks) {
		t.Fatalf("%s has %d faults", r.rule, len(breaks))
	}
	if r.here != nil {
		return check.Break{Faults: r.here}
	}
	return breaks[r.nth]
}

// cleanVerdict is made once for all faults of a scenario.
type cleanVerdict struct {
	sync.Once
	verdict verdict
}

// refereedAt are the rows of each revision.
var refereedAt = []struct {
	revision spec.Revision
	rows     []refereed
}{
	{spec.Rev20251125, refereedOlder},
	{spec.Rev20260728, refereedFaults},
}

// shortRows is that of which a short run tries one. Every row starts the suite
// anew, so all of them take minutes. Which are tried is the same in every run: a
// short run that fails does so again.
const shortRows = 4

// A rule and its fault come from one head. The official suite comes from
// another: what both judge, it must find broken by the fault of the rule.
func TestConformanceFaults(t *testing.T) {
	s := installedSuite(t)
	at := func(t *testing.T, script mock.Script, scenario string, revision spec.Revision) verdict {
		t.Helper()
		srv := httptest.NewServer(mock.New(script))
		defer srv.Close()
		defer srv.CloseClientConnections()
		return s.run(t, srv.URL+mockPath, "--scenario", scenario, "--spec-version", revision.String())[scenario]
	}
	var mu sync.Mutex
	clean := map[string]*cleanVerdict{}
	// before is the verdict on the fixture, or on what the fault is put on.
	before := func(t *testing.T, scenario string, revision spec.Revision, base func(*mock.Script)) verdict {
		key := scenario + " " + revision.String()
		if base != nil {
			key += " " + runtime.FuncForPC(reflect.ValueOf(base).Pointer()).Name()
		}
		mu.Lock()
		o := clean[key]
		if o == nil {
			o = new(cleanVerdict)
			clean[key] = o
		}
		mu.Unlock()
		o.Do(func() {
			script := mock.Conformance()
			if base != nil {
				base(&script)
			}
			o.verdict = at(t, script, scenario, revision)
		})
		return o.verdict
	}
	for _, of := range refereedAt {
		for i, r := range of.rows {
			if testing.Short() && i%shortRows != 0 {
				continue
			}
			t.Run(of.revision.String()+"/"+r.String(), func(t *testing.T) {
				t.Parallel()
				b := r.breakage(t)
				if got := before(t, r.scenario, of.revision, b.Base).worst[r.check]; got != "SUCCESS" {
					t.Fatalf("without the fault: %q", got)
				}
				script := mock.Conformance()
				b.Apply(&script)
				v := at(t, script, r.scenario, of.revision)
				got := v.worst[r.check]
				switch seen := got == "FAILURE" || got == "WARNING"; {
				case seen && r.unseen != "":
					t.Errorf("it is seen (%s), though: %s\n%s", got, r.unseen, v)
				case !seen && r.unseen == "":
					t.Errorf("it is not seen: %q\n%s", got, v)
				}
			})
		}
	}
}

// Every fault of a rule that the suite judges too has its row, where it can be
// seen in the revision of the rows.
func TestConformanceFaultsAreWhole(t *testing.T) {
	for _, of := range refereedAt {
		rows := map[string][]int{}
		for _, r := range of.rows {
			rows[r.rule] = append(rows[r.rule], r.nth)
		}
		for id, nths := range rows {
			rl, ok := check.Find(id)
			if !ok {
				t.Errorf("there is no rule %s", id)
				continue
			}
			for nth, b := range append([]check.Break{rl.Break}, rl.Breaks...) {
				seen := b.In == spec.Range{} || b.In.Contains(of.revision)
				if seen && !slices.Contains(nths, nth) {
					t.Errorf("fault %d of %s has no row at %s", nth, id, of.revision)
				}
			}
		}
	}
}

// checksJudged reports every check of the suite that is neither in a row nor in
// suiteAlone, and what stands in suiteAlone for nothing.
func checksJudged(t *testing.T, verdicts map[string]verdict) {
	t.Helper()
	judged := map[string]bool{}
	for _, r := range refereedFaults {
		judged[r.check] = true
	}
	used := map[string]bool{}
	for scenario, v := range verdicts {
		for id := range v.worst {
			if judged[id] {
				continue
			}
			alone := false
			for key := range suiteAlone {
				if key == id || strings.HasPrefix(scenario, key) {
					alone, used[key] = true, true
				}
			}
			if !alone {
				t.Errorf("%s in %s: no rule judges it, and nothing says why", id, scenario)
			}
		}
	}
	for key := range suiteAlone {
		if !used[key] {
			t.Errorf("%s is said to be judged by the suite alone, and is not", key)
		}
	}
}

// faultsTable is the table of refereedFaults and of suiteAlone in Markdown.
func faultsTable() string {
	var b strings.Builder
	b.WriteString("\n## Faults of rules\n\n")
	fmt.Fprintf(&b, "The fixture is broken by the fault of a rule, and the suite's check of the same must\n"+
		"fail or warn, and pass without the fault. \"Here\" is a fault at a place that the\n"+
		"fixture has and the scenario comes by, where the rule's own is at another.\n\n"+
		"| revision | scenario | check | rule | fault | seen |\n|---|---|---|---|---|---|\n")
	for _, of := range refereedAt {
		for _, r := range of.rows {
			fault, seen := "its own", "yes"
			if r.here != nil {
				fault = "here"
			}
			if r.nth > 0 {
				fault += fmt.Sprintf(", %d", r.nth+1)
			}
			if r.unseen != "" {
				seen = "no: " + r.unseen
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", of.revision, r.scenario, r.check, r.rule, fault, seen)
		}
	}
	b.WriteString("\nNo rule of `check` judges these:\n\n")
	for _, id := range slices.Sorted(maps.Keys(suiteAlone)) {
		name := id
		if strings.HasSuffix(id, "-") {
			name += "*"
		}
		fmt.Fprintf(&b, "- `%s`: %s.\n", name, suiteAlone[id])
	}
	return b.String()
}
