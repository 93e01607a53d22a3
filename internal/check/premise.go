// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// premiseRules are what everything else rests on.
var premiseRules = []Rule{
	{
		Info: rule.Info{
			ID: probe.RuleAnswers, Level: rule.Must, Basis: rule.Premise, Section: "2026-07-28/basic#messages",
			Title: "the server answers well-formed requests",
			Why:   "a server that refuses or drops every request works with no client at all",
			Fix:   "answer server/discover, and the list methods of what you offer, by a result",
		},
		In: modern, Check: answers,
		Break: Break{Faults: []mock.Fault{mock.On("").Error(spec.CodeInternalError, "no")}},
	},
}

// answers fails a server that no well-formed request gets an answer from. What
// it did instead is the evidence, and the cause of all that is skipped.
func answers(c *probe.Case) {
	f := c.Facts()
	if f.Answers() {
		c.Pass(f.Discover)
		return
	}
	x := f.Discover
	b := c.Fail(x, "no well-formed request was answered by a result: %s gave %s", x.Method, x.Brief())
	for _, l := range f.Lists {
		b.And(l.Pages...)
	}
}
