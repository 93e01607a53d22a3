// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/mcprove/mcprove/report"
)

// envelope prints the one object that every verb prints with --format json,
// with the verb's own member in it. Verbs that judge print it through sinks.
func (a *app) envelope(verb, target string, summary []report.Tally, notes []string, key string, value any) error {
	sink, err := report.New("json", a.stdout, &report.Run{
		Verb: verb, Target: target, Outcome: report.Passed, Exit: exitOK, Summary: summary, Notes: notes,
		Redactor: a.redactor, Own: &report.Own{Key: key, Value: value},
	}, report.Options{})
	if err != nil {
		return err
	}
	return sink.Close()
}

// textOrJSON checks the format of a verb that does not judge.
func textOrJSON(format string) error {
	if format != "text" && format != "json" {
		return usage("--format", "text or json", "unknown format %q", format)
	}
	return nil
}
