// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// sameSurfaceID is the finding about forms of one server that differ.
const sameSurfaceID = "check-forms-agree"

// compareForms compares what the forms of one server show, where a run judged
// several: the same code should not have other tools over stdio than over HTTP,
// nor in another revision.
func (c *checkRun) compareForms() {
	if len(c.judged) < 2 {
		return
	}
	first := c.judged[0]
	for _, other := range c.judged[1:] {
		as := first.target.name
		revision := other.result.Revision.String()
		across := other.result.Revision != first.result.Revision
		if across {
			as += " in " + first.result.Revision.String()
		}
		f := rule.Finding{ID: sameSurfaceID, Status: rule.Pass, Target: other.target.name, Count: 1, Message: "it shows the same as " + as}
		diff, missing := differs(first.result.Facts, other.result.Facts, across)
		switch {
		case diff != "":
			f.Status = rule.Warn
			f.Message = fmt.Sprintf("it does not show the same as %s: %s", as, diff)
			if across {
				f.Message = "in " + revision + " " + f.Message
			}
		case missing != "":
			f.Status, f.Reason = rule.Skip, "there is no answer to "+missing+" to compare"
		}
		f.Fingerprint = rule.Fingerprint(check.Family, f.ID, f.Target)
		if across {
			f.Fingerprint = rule.Fingerprint(check.Family, f.ID, f.Target, revision)
		}
		f.Detail = checkDetail{
			Rule: f.ID, Status: f.Status.String(), Level: rule.Should, Message: f.Message, Target: f.Target, Count: 1, Reason: f.Reason,
			Revision: revision, Revisions: []string{revision}, Transport: other.result.Transport.String(), Evidence: []probe.Crossed{}, Fingerprint: f.Fingerprint,
		}
		c.extra = append(c.extra, f)
	}
}

// backChannelID is the finding about a tool that needs a client of the handshake era.
const backChannelID = "check-back-channel"

// compareEras tells of tools that answer a client of the handshake era alone.
func (c *checkRun) compareEras() {
	for _, newer := range c.judged {
		older := slices.IndexFunc(c.judged, func(j judged) bool {
			return j.target == newer.target && j.result.Revision.Era() == spec.Legacy && newer.result.Revision.Era() == spec.Modern
		})
		if older < 0 {
			continue
		}
		before := c.judged[older].result.Revision.String()
		for _, b := range check.BackChannels(c.judged[older].result, newer.result) {
			f := rule.Finding{
				ID: backChannelID, Status: rule.Warn, Target: newer.target.name, Count: 1, Where: rule.Where{Kind: "tool", Name: b.Tool},
				Message: fmt.Sprintf("it answers in %s after it has asked the client by %s, and in %s only by %s: a client there answers no requests",
					before, b.Asked, newer.result.Revision, b.Newer.Brief()),
				Why: "the tool is of no use to a client of the newer revision",
			}
			f.Fingerprint = rule.Fingerprint(check.Family, f.ID, f.Target, b.Tool)
			d := checkDetail{
				Rule: f.ID, Status: f.Status.String(), Level: rule.Should, Message: f.Message, Target: f.Target, Count: 1,
				Where: checkWhere{Kind: f.Where.Kind, Name: f.Where.Name}, Revision: newer.result.Revision.String(), Transport: newer.result.Transport.String(),
				Evidence: append(b.Newer.Evidence(nil), b.Older.Evidence(nil)...), Fingerprint: f.Fingerprint,
			}
			d.Revisions = []string{d.Revision}
			f.Detail = d
			c.extra = append(c.extra, f)
		}
	}
}

// everywhere are the members of an item that mean the same in every revision.
var everywhere = []string{"name", "uri", "uriTemplate", "description", "inputSchema", "mimeType", "arguments"}

// differs says the first difference between two surfaces, empty for none, and names
// the first list that one of them did not give, because the run ended or for another
// reason. Of other revisions only what all of them have is compared.
func differs(a, b *probe.Facts, across bool) (diff, missing string) {
	same := func(x, y probe.Item) bool {
		if !across {
			return probe.Same(x.Raw, y.Raw)
		}
		return !slices.ContainsFunc(everywhere, func(m string) bool {
			p, q := x.Get(m), y.Get(m)
			return (p == nil) != (q == nil) || p != nil && !probe.Same(p, q)
		})
	}
	for _, m := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList} {
		if !a.Knows(m) || !b.Knows(m) {
			missing = cmp.Or(missing, m)
			continue
		}
		x, y := items(a.List(m)), items(b.List(m))
		for _, name := range slices.Sorted(maps.Keys(x)) {
			switch other, ok := y[name]; {
			case !ok:
				return fmt.Sprintf("%s has %q in the first only", m, name), ""
			case !same(x[name], other):
				return fmt.Sprintf("%s shows %q differently", m, name), ""
			}
		}
		for _, name := range slices.Sorted(maps.Keys(y)) {
			if _, ok := x[name]; !ok {
				return fmt.Sprintf("%s has %q in the second only", m, name), ""
			}
		}
	}
	return "", missing
}

func items(l *probe.List) map[string]probe.Item {
	out := map[string]probe.Item{}
	for _, i := range l.Items {
		out[i.Name] = i
	}
	return out
}
