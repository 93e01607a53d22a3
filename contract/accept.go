// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"time"

	"github.com/mcprove/mcprove/rule"
)

// Accept marks the changes that the file of approvals covers, and returns the
// entries that cover nothing any more. An approval covers a change only when
// its fingerprint does: same kind, same places, same values before and after.
func (r *Result) Accept(approvals *rule.Exceptions, today time.Time) []rule.Stale {
	if approvals == nil {
		return nil
	}
	findings := make([]rule.Finding, len(r.Changes))
	for i := range r.Changes {
		findings[i] = rule.Finding{ID: r.Changes[i].ID, Fingerprint: r.Changes[i].Fingerprint, Status: rule.Fail}
	}
	stale := approvals.Apply(findings, today)
	for i := range r.Changes {
		r.Changes[i].Accepted = ""
		if findings[i].Status == rule.Skip {
			r.Changes[i].Accepted = findings[i].Reason
		}
	}
	return stale
}

// Approval returns the entry that covers exactly this change.
func (c *Change) Approval(reason, expires string) rule.Exception {
	return rule.Exception{
		ID: c.ID, Where: strings.TrimSpace(c.Kind + " " + c.Name + " " + c.Pointer),
		Fingerprint: c.Fingerprint, Reason: reason, Expires: expires,
	}
}
