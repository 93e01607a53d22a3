// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// Rule is one rule of the protocol. Exactly one of Check and Watch is set.
type Rule struct {
	rule.Info
	// In is the revisions that have the rule, those in which it is built.
	In spec.Range
	// Except is a revision between those that does not have it, zero for none.
	Except spec.Revision
	// Check sends what it needs. Watch only looks at what crossed.
	Check func(*probe.Case)
	Watch func(*probe.Case, *probe.Traffic)
	// Stir sends what a rule that watches would see by luck only. It says
	// nothing of its own, and shares with others what it can.
	Stir func(*probe.Case)
	// Apart: Check never uses the shared connection, so that over stdio it may
	// run beside the others, on processes of its own.
	Apart bool
	// Starts: over stdio Check or Stir starts processes, as it does where it runs
	// Apart. One revision of an era judges it there for all; see [Options.Claim].
	// Where Watch looks on it does so in all of them, at what crosses anyhow.
	Starts bool
	// Whole: the rule is about the server and not about a revision, and costs so
	// much that one run of a target judges it for all; see [Options.Claim].
	Whole bool
	// Intrusive: Check puts a load on the server, within the bounds of [LoadOf].
	// It runs after all others and alone, where [Options.Intrusive] asks for it.
	Intrusive bool
	// Under are rules that say the same from closer by: where one of them is
	// blamed, this one is skipped because of it. One cause, one finding.
	Under []string
	// Needs is the flag or configuration key that gives the check what it
	// cannot find by itself, such as "--tool"; empty where it needs none.
	Needs string
	// Break is the way to break the rule in the mock: exactly this rule fails
	// then, and what Break names as its consequences.
	Break Break
	// Breaks are further ways, each told apart by the test.
	Breaks []Break
}

// Break is a server that breaks one rule.
type Break struct {
	// Base makes the clean server on which the fault is put, where the rule
	// cannot be judged on the specimen: one that lacks a feature. The rule
	// passes there.
	Base   func(*mock.Script)
	Faults []mock.Fault
	// Change alters the script, for what no operator says.
	Change func(*mock.Script)
	// Also are rules that fall with it because they say the same thing from
	// another side.
	Also []string
	// Only is the transport at which the fault can be seen; zero is every one
	// that the rule has.
	Only transport.Kind
	// In is the revisions in which the fault can be seen; zero is every one that
	// the rule has.
	In spec.Range
}

// Apply breaks a script.
func (b *Break) Apply(s *mock.Script) {
	if b.Base != nil {
		b.Base(s)
	}
	s.Faults = append(s.Faults, b.Faults...)
	if b.Change != nil {
		b.Change(s)
	}
}

// modernServer is a Base that serves no revision of the handshake era.
func modernServer(s *mock.Script) { s.Revisions = spec.Modern.Revisions() }

// Has reports whether a revision has the rule.
func (r *Rule) Has(v spec.Revision) bool { return r.In.Contains(v) && v != r.Except }

// On reports whether the rule is one of a transport.
func (r *Rule) On(k transport.Kind) bool {
	switch r.Transport {
	case "":
		return true
	case "http":
		return k != transport.Stdio
	}
	return r.Transport == k.String()
}

// topics are the rules of each file.
var topics = [][]Rule{
	premiseRules,
	headerRules,
	headerNameRules,
	headerValueRules,
	httpOriginRules,
	secOriginRules,
	secCORSRules,
	secCrossRules,
	secSurfaceRules,
	secLeakRules,
	secKeyRules,
	secStateRules,
	secSessionRules,
	secProcessRules,
	secMalformedRules,
	secBodyRules,
	secDepthRules,
	secSlowRules,
	secSessionLeakRules,
	secPatternRules,
	authRules,
	tokenRules,
	httpNotificationRules,
	httpStatusRules,
	httpStreamRules,
	httpEarlierRules,
	httpCloseRules,
	httpBindRules,
	httpSSERules,
	batchRules,
	httpGetRules,
	httpLegacyRules,
	sessionRules,
	sseResumeRules,
	paramHeaderRules,
	paramCallRules,
	jsonrpcRules,
	jsonrpcMessageRules,
	jsonrpcIDRules,
	jsonrpcResultRules,
	metaKeyRules,
	metaCapabilityRules,
	metaRules,
	errorRules,
	discoverRules,
	versionRules,
	eraRules,
	eraAskRules,
	lifecycleRules,
	lifecycleVersionRules,
	lifecycleKeptRules,
	pingRules,
	logLevelRules,
	resourceLegacyRules,
	toolLegacyRules,
	messageLegacyRules,
	removedRules,
	statelessRules,
	capabilityRules,
	mrtrRules,
	mrtrStateRules,
	mrtrAnswerRules,
	elicitationRules,
	elicitationLegacyRules,
	samplingRules,
	subscriptionRules,
	subscriptionStreamRules,
	subscriptionEndRules,
	cancelRules,
	cancelCallRules,
	tasksLegacyRules,
	stdioRules,
	stdioProcessRules,
	cachingRules,
	completionRules,
	completionInputRules,
	paginationRules,
	promptRules,
	promptGetRules,
	resourceRules,
	resourceReadRules,
	resourceURIRules,
	announceRules,
	failingRules,
	toolListRules,
	toolChangedRules,
	toolDefinitionRules,
	toolCallRules,
	toolResultRules,
	toolOutcomeRules,
	schemaRules,
	schemaRefRules,
	iconRules,
	progressRules,
	loggingRules,
	loggingStreamRules,
}

var all = sync.OnceValue(func() []*Rule {
	var out []*Rule
	for _, t := range topics {
		for i := range t {
			r := &t[i]
			r.Family = Family
			r.Revisions = nil
			if r.Intrusive {
				r.Detail += ". It puts a load on the server, " + loads[r.ID].String() + ", and is judged with --intrusive alone"
			}
			for _, rev := range spec.All() {
				if r.Has(rev) {
					r.Revisions = append(r.Revisions, rev.String())
				}
			}
			out = append(out, r)
		}
	}
	order.Func(out, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	return out
})

// Family is the family of the rules of this package in a registry.
const Family = "check"

// Rules returns every rule, sorted by id.
func Rules() []*Rule { return all() }

// Find returns the rule of an id.
func Find(id string) (*Rule, bool) {
	i, ok := slices.BinarySearchFunc(all(), id, func(r *Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return nil, false
	}
	return all()[i], true
}

// Infos are what the rules say of themselves, for a registry.
func Infos() []rule.Info {
	out := make([]rule.Info, len(all()))
	for i, r := range all() {
		out[i] = r.Info
	}
	return out
}

// Quick are the rules to adopt first: a page of somebody else's, answers that
// reach another request, and tools that weigh too much or change.
var Quick = []string{ruleOriginSeen, ruleCrossUnique, ruleCrossDuplicate, ruleListBytes, ruleSurfaceCalls}

// Match reports whether a rule is named by a pattern: its id, the part before
// the dot, or a prefix that ends in *.
func Match(id, pattern string) bool {
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(id, p)
	}
	topic, _, _ := strings.Cut(id, ".")
	return id == pattern || topic == pattern
}

// Ranges of revisions that rules have.
var (
	every  = spec.Range{}
	modern = spec.Range{Since: spec.Rev20260728}
	// handshakeEra is every revision with initialize; early and late are those
	// before and after its rules of operation became a MUST.
	handshakeEra = spec.Range{Until: spec.Rev20251125}
	early        = spec.Range{Until: spec.Rev20250326}
	late         = spec.Range{Since: spec.Rev20250618, Until: spec.Rev20251125}
	only2511     = spec.Range{Since: spec.Rev20251125, Until: spec.Rev20251125}
	since2503    = spec.Range{Since: spec.Rev20250326}
	since2506    = spec.Range{Since: spec.Rev20250618}
	since2511    = spec.Range{Since: spec.Rev20251125}
)
