// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
)

func ExampleNew() {
	run := &report.Run{Verb: "contract check", Target: "demo:drift"}
	sink, err := report.New("text", os.Stdout, run, report.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = sink.Add(rule.Finding{
		ID: "argument-removed", Group: "breaking", Status: rule.Fail,
		Where:    rule.Where{Kind: "tool", Name: "search", Pointer: "/inputSchema/properties/city", Path: "city"},
		Message:  "the argument city is gone",
		Why:      "callers that send it are refused",
		Evidence: []rule.Evidence{{Label: "worked before, fails now", Text: "mcprove call search city=Ulm", Form: rule.Command}},
	})
	run.Outcome, run.Exit, run.Subject = report.Failed, 1, "14 tools compared"
	run.Summary = []report.Tally{{Name: "breaking", Count: 1}, {Name: "routing"}}
	_ = sink.Close()
	// Output:
	// BREAKING (1)
	//
	//   argument-removed  tool search  city
	//     the argument city is gone
	//       callers that send it are refused
	//     worked before, fails now:
	//       mcprove call search city=Ulm
	//
	// 14 tools compared: 1 breaking
	// Failed: 1 finding fails.
}

func ExampleTee() {
	var secrets text.Redactor
	secrets.Add("correct-horse")
	run := &report.Run{Verb: "check", Outcome: report.Failed, Exit: 1, Redactor: &secrets}
	var summary strings.Builder
	annotations, _ := report.New("github", os.Stdout, run, report.Options{})
	sinks := report.Tee(annotations, report.StepSummary(&summary, run))
	_ = sinks.Add(rule.Finding{ID: "leak", Status: rule.Fail, Message: "the answer holds correct-horse\n::warning::x"})
	_ = sinks.Close()
	fmt.Println(strings.Contains(summary.String(), "correct-horse"))
	// Output:
	// ::error title=leak::the answer holds [redacted]%0A\u{3A}:warning::x
	// false
}

func ExampleFormats() {
	fmt.Println(strings.Join(report.Formats(), " "))
	// Output: text json ndjson markdown junit sarif github
}
