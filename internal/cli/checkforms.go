// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// sameSurfaceID is the finding about forms of one server that differ.
const sameSurfaceID = "check-forms-agree"

// compareForms compares what the forms of one server show, where a run judged
// several: the same code should not have other tools over stdio than over HTTP.
func (c *checkRun) compareForms() {
	if len(c.judged) < 2 {
		return
	}
	first := c.judged[0]
	for _, other := range c.judged[1:] {
		f := rule.Finding{
			ID: sameSurfaceID, Status: rule.Pass, Target: other.target.name, Count: 1,
			Message: "it shows the same as " + first.target.name,
		}
		if diff := differs(first.result.Facts, other.result.Facts); diff != "" {
			f.Status = rule.Warn
			f.Message = fmt.Sprintf("it does not show the same as %s: %s", first.target.name, diff)
		}
		f.Fingerprint = rule.Fingerprint(check.Family, f.ID, f.Target)
		f.Detail = checkDetail{
			Rule: f.ID, Status: f.Status.String(), Level: rule.Should, Message: f.Message, Target: f.Target, Count: 1,
			Revision: other.result.Revision.String(), Transport: other.result.Transport.String(), Evidence: []probe.Crossed{}, Fingerprint: f.Fingerprint,
		}
		c.extra = append(c.extra, f)
	}
}

// differs says the first difference between two surfaces, empty for none.
func differs(a, b *probe.Facts) string {
	for _, m := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList} {
		x, y := items(a.List(m)), items(b.List(m))
		for name, raw := range x {
			switch other, ok := y[name]; {
			case !ok:
				return fmt.Sprintf("%s has %q in the first only", m, name)
			case !probe.Same(raw, other):
				return fmt.Sprintf("%s shows %q differently", m, name)
			}
		}
		for name := range y {
			if _, ok := x[name]; !ok {
				return fmt.Sprintf("%s has %q in the second only", m, name)
			}
		}
	}
	return ""
}

func items(l *probe.List) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, i := range l.Items {
		out[i.Name] = i.Raw
	}
	return out
}
