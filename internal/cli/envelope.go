// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/report"
)

// envelope prints the one object that every verb prints with --format json,
// with the verb's own member in it. Verbs that judge print it through sinks.
func (a *app) envelope(verb, target string, summary []report.Tally, notes []string, key string, value any) error {
	return a.object(&report.Run{
		Verb: verb, Target: target, Outcome: report.Passed, Exit: exitOK, Summary: summary, Notes: notes,
	}, report.Own{Key: key, Value: value})
}

// object prints the object of a run with members of the verb's own.
func (a *app) object(run *report.Run, own ...report.Own) error {
	run.Redactor, run.Own = a.redactor, own
	sink, err := report.New("json", a.stdout, run, report.Options{})
	if err != nil {
		return err
	}
	return sink.Close()
}

// line prints one line of JSON: an object of names and values in turn.
func (a *app) line(pairs ...any) error { return report.Line(a.stdout, a.redactor, object(pairs...)) }

// incomplete prints the object of a verb that judges and could not: a program
// that reads it should not have to guess.
func (a *app) incomplete(e *Error) {
	if a.judging == "" || e.Exit == exitUsage {
		return
	}
	run := &report.Run{
		Verb: a.judging, Outcome: report.Incomplete, Exit: e.Exit, Redactor: a.redactor,
		Notes: []string{strings.TrimPrefix(e.Where+": ", ": ") + e.Message},
	}
	if !a.asking {
		run.DetailKey = "changes"
	}
	for cl := contract.Breaking; !a.asking && cl >= contract.Cosmetic; cl-- {
		run.Summary = append(run.Summary, report.Tally{Name: cl.String()})
	}
	sink, err := report.New("json", a.stdout, run, report.Options{})
	if err == nil {
		_ = sink.Close() // the error itself follows on stderr
	}
}

// textOrJSON checks the format of a verb that does not judge.
func textOrJSON(format string) error {
	if format != "text" && format != "json" {
		return usage("--format", "text or json", "unknown format %q", format)
	}
	return nil
}
