// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

const (
	ruleSupported   = "discover.supported-versions"
	ruleImplemented = "discover.implemented"
	ruleResultID    = "jsonrpc.result-id-match"
)

// exemption is why most rules are left out for a server: the rule that says so,
// the words for it, and which rules hold all the same.
type exemption struct {
	because, words string
	holds          func(*Rule) bool
	unserved       bool // the server does not serve the revision
}

// ofEndpoint are the rules that hold for a server whatever revision it serves:
// who may talk to it at all. Those of stdio that older revisions have too hold
// as well.
var ofEndpoint = []string{
	probe.RuleAnswers, probe.RuleStaysUp, ruleSupported, ruleImplemented,
	ruleOriginSeen, ruleOriginStatus, "transport-http.origin-null-rejected", "transport-http.origin-403-body",
	"transport-http.bind-localhost",
}

// OlderEra reports whether a server that answers has no server/discover and
// speaks in the way of an older revision.
func (r *Result) OlderEra() bool { return r.Unserved == ruleImplemented }

// Spare skips what says that an older server does not serve the revision: it
// does not claim to.
func (r *Result) Spare(reason string) {
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Rule.ID == ruleImplemented {
			o.Verdict = probe.Verdict{Status: rule.Skip, Reason: reason}
		}
	}
}

// inEveryRevision: rules that a server need keep which does not serve the
// revision.
func inEveryRevision(r *Rule) bool {
	return slices.Contains(ofEndpoint, r.ID) || r.Transport == "stdio" && r.In.Contains(spec.Rev20251125)
}

// aboutIDs: rules that can be judged where answers do not say whose they are.
func aboutIDs(r *Rule) bool {
	return r.ID == ruleResultID || r.ID == probe.RuleAnswers || r.ID == probe.RuleStaysUp
}

// withoutIDs reports whether a server over stdio repeats no id at all: no client
// hears an answer then, and nothing can be said of any other rule.
func withoutIDs(f *probe.Facts) bool {
	seen := false
	for _, x := range f.Exchanges() {
		if x.Message() == nil {
			continue
		}
		if probe.Same(x.Message().ID, x.ID) {
			return false
		}
		seen = true
	}
	return seen
}

// exempt is why most rules say nothing of a server that answers something;
// nil for every other server.
func exempt(f *probe.Facts, r spec.Revision, k transport.Kind) *exemption {
	if k == transport.Stdio && withoutIDs(f) {
		return &exemption{because: ruleResultID, holds: aboutIDs,
			words: "no answer of the server repeats the id of its request, so that over stdio no client hears one"}
	}
	because, words := unserved(f, r)
	if because == "" {
		return nil
	}
	return &exemption{because: because, words: words, holds: inEveryRevision, unserved: true}
}

// unserved says why a server that answers something does not serve the
// revision, and the rule that says so. It is empty for every other server.
func unserved(f *probe.Facts, r spec.Revision) (because, words string) {
	if r.Era() != spec.Modern {
		return "", ""
	}
	var served, typed bool
	for _, l := range f.Lists {
		if len(l.Pages) == 0 {
			continue
		}
		x := l.Pages[0]
		if len(f.Supported) > 0 && !slices.Contains(f.Supported, r.String()) && x.Is(spec.CodeUnsupportedVersion) {
			return ruleSupported, "the server refuses " + r.String() + " for " + x.Method + ", and does not claim it"
		}
		served = served || x.OK()
		typed = typed || x.ResultType() != ""
	}
	// A server of the handshake era that does not insist on its handshake
	// answers lists in its own language.
	if _, refused := f.Discover.Code(); refused && served && !typed && !f.Discover.Is(spec.CodeUnsupportedVersion) {
		return ruleImplemented, "the server has no server/discover, and its results are those of an older revision: it does not serve " + r.String()
	}
	return "", ""
}

// leaveOut takes out the rules that do not hold for a server: one finding says
// what is wrong.
func (j *judging) leaveOut(rules []*Rule, why *exemption) (left []*Rule) {
	for _, r := range rules {
		if why.holds(r) {
			left = append(left, r)
			continue
		}
		j.add(r, probe.Verdict{Status: rule.Skip, Because: why.because, Reason: why.words})
	}
	return left
}
