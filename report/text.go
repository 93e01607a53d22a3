// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// The text format is for people and has no grammar: nothing should parse it.

// How much of a long thing is shown; -v shows more.
const (
	shortValue, longValue   = 160, 4_000
	fewPlaces, manyPlaces   = 5, 200
	maxSentence             = 2_000
	fewReasonIDs, manyShown = 6, 1_000
)

var statusPaint = map[rule.Status]paint{
	rule.Pass: green, rule.Skip: blue, rule.Note: cyan, rule.Warn: yellow, rule.Fail: red, rule.Error: red,
}

// textReport writes one run for people.
type textReport struct {
	*document
	page
}

func renderText(d *document) ([]byte, error) {
	t := &textReport{document: d, page: page{color: d.options.Color, width: cmp.Or(max(0, d.options.Width), defaultWidth)}}
	s := d.sections()
	for _, g := range s.groups {
		t.heading(g.name, len(g.findings), statusPaint[g.worst()])
		mixed := slices.ContainsFunc(g.findings, func(f *finding) bool { return f.Status != g.worst() })
		for i, f := range g.findings {
			again := i > 0 && g.findings[i-1].ID == f.ID && g.findings[i-1].Why == f.Why
			t.entry(f, mixed, again && !d.options.Verbose)
		}
	}
	if len(s.errors) > 0 {
		t.heading("could not be judged", len(s.errors), red)
		for _, f := range s.errors {
			t.entry(f, false, false)
		}
	}
	t.acceptedOnes(s.accepted)
	t.skippedOnes(s.skipped)
	t.passedOnes(s.passed)
	t.end()
	return []byte(t.String()), nil
}

func (t *textReport) heading(name string, n int, c paint) {
	t.gap()
	t.put(0, t.paint(strong+c, strings.ToUpper(line(name)))+fmt.Sprintf(" (%d)", n))
	t.gap()
}

// head is the first line of a finding: the id, the thing, the place in it.
func (t *textReport) head(f *finding, c paint, mark string) string {
	parts := []string{t.paint(strong+c, line(f.ID))}
	if mark != "" {
		parts = append([]string{t.paint(c, mark)}, parts...)
	}
	if w := title(f.Where); w != "" {
		parts = append(parts, t.paint(bold, line(w)))
	}
	switch {
	case t.options.Verbose && f.Where.Path != "" && f.Where.Pointer != "":
		parts = append(parts, line(f.Where.Path), line(f.Where.Pointer))
	case spot(f.Where) != "":
		parts = append(parts, line(spot(f.Where)))
	}
	if f.Target != "" && f.Target != t.Target {
		parts = append(parts, "("+line(f.Target)+")")
	}
	return text.Calm(strings.Join(parts, "  "))
}

func (t *textReport) entry(f *finding, mixed, again bool) {
	mark := ""
	if mixed {
		mark = f.Status.String()
	}
	t.put(2, t.head(f, statusPaint[f.Status], mark))
	t.prose(4, 0, line(text.Clip(f.Message, maxSentence)))
	if f.Reason != "" {
		t.prose(4, 0, line(text.Clip(f.Reason, maxSentence)))
	}
	if f.Why != "" && !again {
		t.prose(6, 0, line(text.Clip(f.Why, maxSentence)))
	}
	t.evidence(f)
	limit := fewPlaces
	if t.options.Verbose {
		limit = manyPlaces
	}
	if s := f.places(limit); s != "" {
		t.prose(4, 2, line(s))
	}
	if f.Fingerprint != "" && (f.Status >= rule.Warn || t.options.Verbose) {
		t.put(4, t.paint(dim, "fingerprint "+line(f.Fingerprint)))
	}
	t.gap()
}

// evidence writes values beside their labels and commands on lines of their
// own, where they can be copied whole.
func (t *textReport) evidence(f *finding) {
	limit := shortValue
	if t.options.Verbose {
		limit = longValue
	}
	labels := 0
	for _, e := range f.Evidence {
		if e.Form != rule.Command && columns(line(e.Label)) <= 12 {
			labels = max(labels, columns(line(e.Label)))
		}
	}
	es := clipped(f.Evidence, limit)
	for _, e := range es {
		label := line(e.Label)
		switch {
		case e.Form == rule.Command:
			t.prose(4, 0, label+":")
			t.put(6, t.paint(cyan, line(e.Text)))
		case e.Form == rule.Diff:
			t.words(4, line(e.Text))
		case columns(label) > labels:
			t.prose(4, 0, label+":")
			t.put(6, line(e.Text))
		default:
			pad := strings.Repeat(" ", labels-columns(label))
			t.put(4, text.Calm(label+pad+"  "+line(e.Text)))
		}
	}
}

// clipped returns the evidence with long values cut; a value before and one
// after are cut together, so that their difference stays.
func clipped(es []rule.Evidence, limit int) []rule.Evidence {
	es = slices.Clone(es)
	for i := range es {
		next := i+1 < len(es) && es[i].Label == "before" && es[i+1].Label == "after"
		switch {
		case es[i].Form == rule.Command:
		case es[i].Form == rule.Diff:
			es[i].Text = text.Clip(es[i].Text, max(limit, maxSentence))
		case next:
			es[i].Text, es[i+1].Text = clipPair(es[i].Text, es[i+1].Text, limit)
		default:
			es[i].Text = text.Clip(es[i].Text, max(limit, shortValue)+maxClipNote)
		}
	}
	return es
}

// maxClipNote is room for what clipPair added, so that it is not cut again.
const maxClipNote = 40

func (t *textReport) acceptedOnes(fs []*finding) {
	if len(fs) == 0 {
		return
	}
	t.heading("accepted", len(fs), green)
	for _, f := range fs {
		t.put(2, t.head(f, plain, ""))
		if t.options.Verbose {
			t.prose(4, 0, line(text.Clip(f.Message, maxSentence)))
		}
		reason, _ := f.accepted()
		t.prose(4, 0, line(text.Clip(reason, maxSentence)))
	}
	t.gap()
}

// skippedOnes are told by their reasons: one cause often keeps many rules from
// being judged.
func (t *textReport) skippedOnes(fs []*finding) {
	if len(fs) == 0 {
		return
	}
	t.heading("skipped", len(fs), blue)
	var reasons []string
	ids := map[string][]string{}
	for _, f := range fs {
		r := cmp.Or(f.Reason, "no reason given")
		if ids[r] == nil {
			reasons = append(reasons, r)
		}
		ids[r] = append(ids[r], strings.TrimSpace(f.ID+" "+f.Where.Name))
	}
	limit := fewReasonIDs
	if t.options.Verbose {
		limit = manyShown
	}
	for _, r := range reasons {
		names := ids[r]
		s := strings.Join(names[:min(limit, len(names))], ", ")
		if more := len(names) - limit; more > 0 {
			s += fmt.Sprintf(" and %d more", more)
		}
		t.prose(2, 0, line(text.Clip(r, maxSentence)))
		t.prose(4, 2, line(s))
	}
	t.gap()
}

func (t *textReport) passedOnes(fs []*finding) {
	if len(fs) == 0 || !t.options.Verbose {
		return
	}
	t.heading("passed", len(fs), green)
	for _, f := range fs {
		t.put(2, t.head(f, plain, ""))
	}
	t.gap()
}

func (t *textReport) end() {
	if len(t.Notes) > 0 {
		t.heading("notes", len(t.Notes), plain)
		for _, n := range t.Notes {
			t.prose(2, 2, line(text.Clip(n, maxSentence)))
		}
	}
	t.gap()
	if s := t.summary(); s != "" {
		t.prose(0, 2, line(s))
	}
	if t.Time != "" {
		t.prose(0, 2, line(t.Time))
	}
	c := map[string]paint{Passed: green, Failed: red, Incomplete: yellow}[t.Outcome]
	for i, l := range t.wrap(0, 2, t.verdict()) {
		if i > 0 {
			t.put(2, l)
			continue
		}
		end := strings.IndexAny(l, ":.")
		t.put(0, t.paint(strong+c, l[:end])+l[end:])
	}
}
