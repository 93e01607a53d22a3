// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// checkDetail is a finding of check in JSON.
type checkDetail struct {
	Rule      string          `json:"rule"`
	Status    string          `json:"status"`
	Level     string          `json:"level"`
	Revision  string          `json:"revision"` // the newest of Revisions
	Revisions []string        `json:"revisions"`
	Transport string          `json:"transport"`
	Target    string          `json:"target"`
	Message   string          `json:"message"`
	Section   string          `json:"section"`
	Where     checkWhere      `json:"where"`
	Count     int             `json:"count"`
	Evidence  []probe.Crossed `json:"evidence"`
	Repeat    string          `json:"repeat"`
	// Because is the rule whose failure kept this one from being judged, or
	// why it was skipped in words.
	Because     string `json:"because"`
	Reason      string `json:"reason"`
	Fingerprint string `json:"fingerprint"`
}

type checkWhere struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Pointer string `json:"pointer"`
}

// server is what the JSON form says of the server.
type checkServer struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Revisions []string `json:"revisions"`
}

// shownExchanges bounds the exchanges that are shown with one finding.
const shownExchanges = 3

// findingOf is an outcome for the reports.
func (c *checkRun) findingOf(j judged, o check.Outcome) rule.Finding {
	f := rule.Finding{
		ID: o.Rule.ID, Status: o.Status, Reason: o.Reason, Target: j.target.name, Count: max(1, len(o.Blames)),
	}
	d := checkDetail{
		Rule: f.ID, Level: o.Rule.Level, Revision: j.result.Revision.String(), Transport: j.result.Transport.String(),
		Target: f.Target, Section: o.Rule.Section, Because: o.Because, Reason: o.Reason, Evidence: []probe.Crossed{}, Count: f.Count,
	}
	d.Revisions = []string{d.Revision}
	if len(o.Blames) > 0 {
		worst := slices.MaxFunc(o.Blames, func(a, b *probe.Blame) int { return cmp.Compare(a.Status, b.Status) })
		f.Message, f.Where, f.Why = worst.Message, worst.Where, o.Rule.Why
		for _, b := range o.Blames {
			if b != worst && len(f.Also) < maxAlso && b.Where.Name != "" {
				f.Also = append(f.Also, b.Where)
			}
		}
		d.Evidence = probe.Evidence(worst.Frame, worst.Exchanges[:min(shownExchanges, len(worst.Exchanges))]...)
		if worst.Frame != nil && !shows(worst) {
			d.Evidence = append(d.Evidence, probe.Crossed{Dir: worst.Frame.Dir.String(), At: "0ms", Text: text.Clip(string(worst.Frame.Raw), 2000)})
		}
	}
	if f.Message == "" {
		f.Message = o.Rule.Title
	}
	d.Status, d.Message = f.Status.String(), f.Message
	d.Where = checkWhere{f.Where.Kind, f.Where.Name, f.Where.Pointer}
	f.Fingerprint = rule.Fingerprint(check.Family, f.ID, d.Revision, d.Transport, f.Where.Kind, f.Where.Name)
	d.Fingerprint = f.Fingerprint
	if f.Status >= rule.Note {
		d.Repeat = c.repeat(j.target, f.ID, d.Revision)
		f.Evidence = textEvidence(o.Rule, d)
	}
	f.Detail = d
	return f
}

const maxAlso = 50

// textEvidence is the evidence for formats that are read by people: what was
// sent and what came, and the heads where the rule is about them.
func textEvidence(r *check.Rule, d checkDetail) []rule.Evidence {
	out := []rule.Evidence{{Label: "section", Text: r.Section, Form: rule.Plain}}
	for _, e := range d.Evidence {
		label := "sent"
		if e.Dir == wire.ToClient.String() {
			label = "got"
		}
		head := e.HTTP
		if !strings.HasPrefix(r.Transport, "http") {
			head, _, _ = strings.Cut(head, ";")
		}
		switch {
		case e.Text == "" && head == "":
			out = append(out, rule.Evidence{Label: label, Text: "(nothing)", Form: rule.Plain})
			continue
		case head != "":
			out = append(out, rule.Evidence{Label: label, Text: head, Form: rule.Plain})
			label = ""
		}
		if e.Text != "" {
			out = append(out, rule.Evidence{Label: label, Text: e.Text, Form: rule.Plain})
		}
	}
	out = append(out, rule.Evidence{Label: "fix", Text: r.Fix, Form: rule.Plain})
	return append(out, rule.Evidence{Label: "see it again", Text: d.Repeat, Form: rule.Command})
}

// repeat is the command that shows a finding again.
func (c *checkRun) repeat(t *target, id, revision string) string {
	words := []string{"mcprove", "check", "--only", id}
	if len(c.plan.revisions) > 0 {
		words = append(words, "--revision", revision)
	}
	if _, is := t.Target.(*transport.HTTP); is {
		words = append(words, c.plan.overHTTP...)
	}
	words = slices.Concat(words, c.plan.given, c.flags.given(), t.words)
	for i, w := range words {
		words[i] = text.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// report prints everything and decides about the exit.
func (c *checkRun) report(run *report.Run, add func(rule.Finding) error, finish func() error, baseline *rule.Exceptions) error {
	fs := c.findings()
	stale := c.apply(baseline, fs)
	counts := map[rule.Status]int{}
	failed := false
	var names []string
	for i := range fs {
		f := &fs[i]
		counts[f.Status]++
		failed = failed || f.Status >= c.plan.failOn && f.Status != rule.Error
		if d, ok := f.Detail.(checkDetail); ok {
			d.Status, d.Reason = f.Status.String(), f.Reason
			f.Detail = d
		}
		if f.Status == rule.Error {
			c.missed = append(c.missed, f.ID+" came to no verdict: "+f.Reason)
		}
		if !slices.Contains(names, f.Target) {
			names = append(names, f.Target)
		}
		if err := add(*f); err != nil {
			return err
		}
	}
	for _, s := range stale {
		f := report.Stale(c.plan.baseline, s)
		f.Detail = checkDetail{
			Rule: f.ID, Status: f.Status.String(), Message: f.Message, Target: f.Target, Count: 1,
			Revisions: []string{}, Evidence: []probe.Crossed{}, Fingerprint: f.Fingerprint, Where: checkWhere{f.Where.Kind, f.Where.Name, ""},
		}
		counts[f.Status]++
		failed = true
		if err := add(f); err != nil {
			return err
		}
	}
	run.Target = strings.Join(names, ", ")
	for _, s := range []rule.Status{rule.Pass, rule.Fail, rule.Warn, rule.Note, rule.Skip, rule.Error} {
		run.Summary = append(run.Summary, report.Tally{Name: s.String(), Count: counts[s]})
	}
	took := c.time(time.Since(c.begin))
	run.Own = []report.Own{{Key: "server", Value: c.server()}, {Key: "time", Value: took}}
	run.Time = took.words()
	run.Notes = c.notes
	run.Subject = c.subject()
	run.Outcome, run.Exit = report.Passed, exitOK
	missed := c.askedAndMissed(fs)
	for _, m := range missed { // a failure does not hide that the check was not whole
		if !slices.Contains(run.Notes, m) {
			run.Notes = append(run.Notes, m)
		}
	}
	switch {
	case failed:
		run.Outcome, run.Exit = report.Failed, exitFailed
	case len(missed) > 0:
		run.Outcome, run.Exit = report.Incomplete, exitIncomplete
	}
	var dead *Error
	if c.dead != nil {
		dead = explain(c.dead, false)
		run.Exit = dead.Exit
	}
	c.app.exit = run.Exit
	if err := finish(); err != nil {
		return err
	}
	if dead != nil {
		c.app.report(dead)
	}
	if run.Exit == exitIncomplete {
		c.app.report(&Error{
			Exit: exitIncomplete, Code: "not-judged", Message: strings.Join(missed, "; "),
			Try: "nothing failed, but this is not a pass; mcprove explain RULE says what a rule is about, docs/rules what it needs",
		})
	}
	return nil
}

// findings are those of all runs, those of one target together. What comes out
// the same in several revisions is one finding.
func (c *checkRun) findings() []rule.Finding {
	type key struct {
		target, id string
		status     rule.Status
		where      rule.Where
	}
	var out []rule.Finding
	same := map[key]int{}
	for _, j := range c.judged {
		for _, o := range j.result.Outcomes {
			f := c.findingOf(j, o)
			k := key{f.Target, f.ID, f.Status, rule.Where{Kind: f.Where.Kind, Name: f.Where.Name}}
			i, has := same[k]
			if !has {
				same[k] = len(out)
				out = append(out, f)
				continue
			}
			d := out[i].Detail.(checkDetail)
			d.Revisions = append(d.Revisions, j.result.Revision.String())
			out[i].Detail = d
		}
	}
	if len(c.judged) > 1 {
		for i := range out {
			if d := out[i].Detail.(checkDetail); len(out[i].Evidence) > 0 {
				out[i].Evidence = slices.Insert(out[i].Evidence, 1, rule.Evidence{Label: "in", Text: strings.Join(d.Revisions, ", "), Form: rule.Plain})
			}
		}
	}
	return append(out, c.extra...)
}

// askedAndMissed are what was asked for and not judged: a revision, a rule of
// --only that was skipped, what there was no time for, or everything.
func (c *checkRun) askedAndMissed(fs []rule.Finding) []string {
	missed := slices.Clone(c.missed)
	late, full, busy, skipped := 0, 0, 0, 0
	for _, f := range fs {
		if f.Status == rule.Skip {
			skipped++
			switch f.Reason {
			case probe.RunEnded:
				late++
			case probe.Full:
				full++
			case probe.Busy:
				busy++
			}
		}
	}
	if full > 0 {
		missed = append(missed, fmt.Sprintf("%d rules were not judged: %s", full, probe.Full))
	}
	if busy > 0 {
		missed = append(missed, fmt.Sprintf("%s not judged: %s", rulesWere(busy), probe.Busy))
	}
	switch {
	case late > 0 && skipped == len(fs):
		missed = append(missed, "there was no time to judge anything: give it longer with --max-time")
	case late == 1:
		missed = append(missed, "for one rule there was no time: give it longer with --max-time, or choose rules with --only")
	case late > 1:
		missed = append(missed, fmt.Sprintf("for %d rules there was no time: give it longer with --max-time, or choose rules with --only", late))
	case skipped == len(fs) && len(fs) > 0 && len(c.plan.only) == 0 && busy == 0:
		missed = append(missed, "no rule could be judged")
	}
	byID := map[string]rule.Finding{}
	judged := map[string]bool{}
	for _, f := range fs {
		byID[f.ID] = f
		judged[f.ID] = judged[f.ID] || f.Status != rule.Skip || strings.HasPrefix(f.Reason, "accepted: ")
	}
	for _, p := range c.plan.only {
		if r, ok := check.Find(p); ok && c.plan.quick && !c.has(r) {
			continue // over stdio there are no pages
		}
		if f, ok := byID[p]; ok && !judged[p] {
			missed = append(missed, fmt.Sprintf("%s was not judged: %s", p, f.Reason))
		} else if !ok && slices.ContainsFunc(check.Rules(), func(r *check.Rule) bool { return r.ID == p }) && len(c.judged) > 0 {
			missed = append(missed, p+" is no rule of this transport and revision")
		}
	}
	return missed
}

func rulesWere(n int) string {
	if n == 1 {
		return "one rule was"
	}
	return fmt.Sprintf("%d rules were", n)
}

// has reports whether a rule is one of a transport that was judged.
func (c *checkRun) has(r *check.Rule) bool {
	return slices.ContainsFunc(c.judged, func(j judged) bool { return r.On(j.result.Transport) })
}

// subject says what the summary counts in.
func (c *checkRun) subject() string {
	var parts []string
	for _, j := range c.judged {
		of := ""
		if c.judged[0].target != c.judged[len(c.judged)-1].target {
			of = j.target.name + ": "
		}
		parts = append(parts, fmt.Sprintf("%s%d rules of %s over %s", of, len(j.result.Outcomes), j.result.Revision, j.result.Transport))
	}
	if len(parts) == 0 {
		return "nothing was judged"
	}
	if n := c.leftOut(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d left out without --intrusive", n))
	}
	return strings.Join(parts, ", ")
}

// leftOut counts the rules that were left out because they put a load on the
// server.
func (c *checkRun) leftOut() (most int) {
	of := map[transport.Kind][]spec.Revision{}
	for _, j := range c.judged {
		of[j.result.Transport] = append(of[j.result.Transport], j.result.Revision)
	}
	o := check.Options{Only: c.plan.only, Skip: c.plan.skip, Intrusive: c.plan.intrusive}
	for kind, revisions := range of {
		most = max(most, o.LeftOut(kind, revisions...))
	}
	return most
}

func (c *checkRun) server() checkServer {
	s := checkServer{Revisions: []string{}}
	for _, j := range c.judged {
		if s.Name == "" {
			s.Name, s.Version = j.result.Facts.Server()
		}
		claimed := slices.Clone(j.result.Facts.Supported)
		if j.result.Revision.Era() == spec.Legacy {
			claimed = append(claimed, j.result.Revision.String())
		}
		for _, v := range claimed {
			if !slices.Contains(s.Revisions, v) {
				s.Revisions = append(s.Revisions, v)
			}
		}
	}
	return s
}

// shows reports whether what is shown of a blame has the frame that it names.
func shows(b *probe.Blame) bool {
	return slices.ContainsFunc(b.Exchanges[:min(shownExchanges, len(b.Exchanges))], func(x *probe.Exchange) bool {
		return slices.Contains(x.Frames, b.Frame) || b.Frame == x.Sent
	})
}
