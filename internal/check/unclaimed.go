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

// ruleGreeting is the rule that says that a server tells what it is, without
// which its capabilities are not known.
func ruleGreeting(r spec.Revision) string {
	if r.Era() == spec.Legacy {
		return ruleInitResult
	}
	return ruleImplemented
}

// plain is the request that every server answers.
func plain(c *probe.Case) *probe.Request { return c.Request(c.Probe().Plainest(), "") }

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

// inEveryRevision: rules that a server need keep which does not serve the
// revision.
func inEveryRevision(r *Rule) bool {
	return slices.Contains(ofEndpoint, r.ID) || r.Transport == "stdio" && r.Has(spec.Rev20251125)
}

// beforeAgreement: rules that can be judged where initialize agrees on nothing.
func beforeAgreement(r *Rule) bool {
	return slices.Contains([]string{probe.RuleAnswers, probe.RuleStaysUp, ruleInitResult, ruleAlternative}, r.ID)
}

// aboutIDs: rules that can be judged where answers do not say whose they are.
func aboutIDs(r *Rule) bool {
	return r.ID == ruleResultID || r.ID == probe.RuleAnswers || r.ID == probe.RuleStaysUp
}

// withoutIDs reports whether a server repeats no id at all: where all answers come
// on one stream no client hears one then, and nothing can be said of any other rule.
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
	if k != transport.StreamableHTTP && withoutIDs(f) {
		return &exemption{because: ruleResultID, holds: aboutIDs,
			words: "no answer of the server repeats the id of its request, so that no client hears one where all come on one stream"}
	}
	because, words := unserved(f, r)
	switch {
	case words == "":
		return nil
	case because == "":
		return &exemption{words: words, holds: func(*Rule) bool { return false }, unserved: true}
	case r.Era() == spec.Legacy:
		return &exemption{because: because, words: words, holds: beforeAgreement} // it says that it does
	}
	return &exemption{because: because, words: words, holds: inEveryRevision, unserved: true}
}

// unserved says why a server that answers something does not serve the
// revision, and the rule that says so where that is a fault. Both are empty for
// every other server.
func unserved(f *probe.Facts, r spec.Revision) (because, words string) {
	if r.Era() != spec.Modern {
		if f.Agreed != 0 && f.Agreed != r {
			return "", "the server answers initialize for " + r.String() + " with " + f.Agreed.String() + ": it does not serve the revision"
		}
		if f.Greeting.Is(spec.CodeUnsupportedVersion) {
			return "", "the server answers initialize by the error of revisions without a handshake: it does not serve " + r.String()
		}
		if f.Agreed == 0 && f.Greeting.OK() {
			because = ruleInitResult
			if versionIn(f.Greeting) != "" {
				because = ruleAlternative
			}
			return because, "the answer to initialize names no revision with a handshake, so that no session began"
		}
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
	// A server of the handshake era that does not insist on its handshake answers
	// lists in its own language, and server/discover by whatever it has for a method
	// that it does not know.
	if g := f.Greeting; served && !typed && len(f.Supported) == 0 && g.Response != nil && g.ResultType() == "" && !g.Is(spec.CodeUnsupportedVersion) {
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
