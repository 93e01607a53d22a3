// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// document is a run that is ready to be written: free of secrets, not escaped.
type document struct {
	Run
	findings []finding
	options  Options
}

// finding is a cleaned finding with its place in a file, where it has one.
type finding struct {
	rule.Finding
	file string
	line int
}

func newDocument(run *Run, fs []rule.Finding, o Options) *document {
	c := newCleaner(run.Redactor)
	d := &document{Run: c.run(run), options: o, findings: make([]finding, len(fs))}
	for i := range fs {
		d.findings[i] = place(run, &fs[i], c)
	}
	return d
}

// place looks the place up by the finding as it was, then cleans it.
func place(run *Run, f *rule.Finding, c *cleaner) finding {
	out := finding{Finding: c.finding(f)}
	if run.Place != nil {
		out.file, out.line = run.Place(f.Where)
		out.file = c.text(out.file)
	}
	return out
}

// accepted returns the reason of the exception that covers the finding.
func (f *finding) accepted() (reason string, ok bool) {
	if f.Status != rule.Skip {
		return "", false
	}
	return strings.CutPrefix(f.Reason, "accepted: ")
}

// more is the number of places beyond the first.
func (f *finding) more() int { return max(f.Count-1, len(f.Also)) }

// group is a heading and the findings under it.
type group struct {
	name     string
	findings []*finding
}

// worst is the worst status in the group.
func (g *group) worst() rule.Status {
	worst := rule.Status(0)
	for _, f := range g.findings {
		worst = max(worst, f.Status)
	}
	return worst
}

// sections sorts the findings for a reader: the groups with what hurts most
// first, then what could not be judged, what was accepted, what was skipped,
// and what passed.
type sections struct {
	groups                            []*group
	errors, accepted, skipped, passed []*finding
}

func (d *document) sections() sections {
	var s sections
	byName := map[string]*group{}
	for i := range d.findings {
		f := &d.findings[i]
		_, accepted := f.accepted()
		switch {
		case accepted:
			s.accepted = append(s.accepted, f)
		case f.Status == rule.Error:
			s.errors = append(s.errors, f)
		case f.Status == rule.Skip:
			s.skipped = append(s.skipped, f)
		case f.Status == rule.Pass:
			s.passed = append(s.passed, f)
		default:
			name := cmp.Or(f.Group, plural[f.Status], f.Status.String())
			g := byName[name]
			if g == nil {
				g = &group{name: name}
				byName[name] = g
				s.groups = append(s.groups, g)
			}
			g.findings = append(g.findings, f)
		}
	}
	rank := map[string]int{}
	for i, t := range d.Summary {
		rank[t.Name] = i - len(d.Summary)
	}
	order.Stable(s.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.worst(), a.worst()), cmp.Compare(rank[a.name], rank[b.name]))
	})
	for _, g := range s.groups {
		order.Stable(g.findings, func(a, b *finding) int { return cmp.Compare(b.Status, a.Status) })
	}
	return s
}

var plural = map[rule.Status]string{rule.Fail: "failures", rule.Warn: "warnings", rule.Note: "notes"}

// summary is the line that ends a report: "14 tools compared: 2 breaking, 1 routing".
func (d *document) summary() string {
	var parts []string
	for _, t := range d.Summary {
		if t.Count != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t.Count, t.Name))
		}
	}
	counts := strings.Join(parts, ", ")
	switch {
	case counts == "" && d.Subject != "":
		return d.Subject + ": nothing to report"
	case d.Subject == "":
		return counts
	}
	return d.Subject + ": " + counts
}

// verdict is the outcome as a sentence.
func (d *document) verdict() string {
	n := map[rule.Status]int{}
	accepted := 0
	for i := range d.findings {
		n[d.findings[i].Status]++
		if _, ok := d.findings[i].accepted(); ok {
			accepted++
		}
	}
	var parts []string
	add := func(count int, one, many string) {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, pick(count, one, many)))
		}
	}
	if d.Outcome != Passed {
		add(n[rule.Fail], "finding fails", "findings fail")
	}
	add(n[rule.Error], "could not be judged", "could not be judged")
	add(accepted, "is accepted", "are accepted")
	word := map[string]string{Passed: "Passed", Failed: "Failed"}[d.Outcome]
	if word == "" {
		word = "Incomplete"
		if n[rule.Error] == 0 {
			parts = append(parts, "something that was asked for could not be checked")
		}
	}
	if len(parts) == 0 {
		return word + "."
	}
	return word + ": " + strings.Join(parts, ", ") + "."
}

func pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// title names the thing a finding is about: "tool search".
func title(w rule.Where) string {
	return strings.TrimSpace(w.Kind + " " + w.Name)
}

// spot is the place inside the thing, for people where it can be.
func spot(w rule.Where) string { return cmp.Or(w.Path, w.Pointer) }

// label is how a further place is listed: "search filters.city".
func label(w rule.Where) string {
	return cmp.Or(strings.TrimSpace(w.Name+" "+spot(w)), w.Kind)
}

// places lists up to limit of the further places.
func (f *finding) places(limit int) string {
	if f.more() == 0 {
		return ""
	}
	// The same place of other things needs only their names.
	alike := f.Where.Name != ""
	for _, w := range f.Also {
		alike = alike && w.Path == f.Where.Path && w.Name != "" && w.Name != f.Where.Name
	}
	s := fmt.Sprintf("also at %d more %s", f.more(), pick(f.more(), "place", "places"))
	if alike {
		s = fmt.Sprintf("also in %d more", f.more())
		if f.Where.Kind != "" {
			s = fmt.Sprintf("also in %d more %s", f.more(), pick(f.more(), f.Where.Kind, f.Where.Kind+"s"))
		}
	}
	var names []string
	for _, w := range f.Also[:min(limit, len(f.Also))] {
		if alike {
			w = rule.Where{Name: w.Name}
		}
		names = append(names, text.Clip(label(w), 80))
	}
	if len(names) == 0 {
		return s
	}
	s += ": " + strings.Join(names, ", ")
	if f.more() > len(names) {
		s += ", …"
	}
	return s
}
