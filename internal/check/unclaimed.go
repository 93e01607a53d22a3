// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// ruleSupported says which versions a server claims.
const ruleSupported = "discover.supported-versions"

// ofEndpoint are the rules that hold for a server whatever revision it serves:
// who may talk to it at all.
var ofEndpoint = []string{
	probe.RuleAnswers, probe.RuleStaysUp, ruleSupported,
	ruleOriginSeen, ruleOriginStatus, "transport-http.origin-null-rejected", "transport-http.origin-403-body",
	"transport-http.bind-localhost",
}

// unclaimed returns what shows that the server does not serve the revision,
// and never said that it would: it answers server/discover, names other
// versions there, and refuses a well-formed request by the code for that. It
// is nil for every other server.
func unclaimed(f *probe.Facts, r spec.Revision) *probe.Exchange {
	if len(f.Supported) == 0 || slices.Contains(f.Supported, r.String()) {
		return nil
	}
	for _, l := range f.Lists {
		if len(l.Pages) > 0 && l.Pages[0].Is(spec.CodeUnsupportedVersion) {
			return l.Pages[0]
		}
	}
	return nil
}

// leaveOut takes the rules out that a server need not keep, whose refusal of
// the revision x shows: one finding says what is wrong.
func (j *judging) leaveOut(rules []*Rule, x *probe.Exchange) (left []*Rule) {
	for _, r := range rules {
		if slices.Contains(ofEndpoint, r.ID) {
			left = append(left, r)
			continue
		}
		j.add(r, probe.Verdict{
			Status: rule.Skip, Because: ruleSupported,
			Reason: "the server refuses " + j.o.Revision.String() + " for " + x.Method + ", and does not claim it",
		})
	}
	return left
}
