// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/mcprove/mcprove/rule"
)

// The ids of the findings about exceptions that do nothing any more.
const (
	exceptionUnmatched = "exception-unmatched"
	exceptionExpired   = "exception-expired"
)

// Infos returns the Infos of the findings that Stale makes, for the registry.
func Infos() []rule.Info {
	return []rule.Info{
		{
			ID: exceptionUnmatched, Family: "exceptions", Level: "fail",
			Title: "an accepted finding no longer occurs",
			Why:   "an exception that covers nothing looks like a decision that still holds",
			Fix:   "remove the entry",
		},
		{
			ID: exceptionExpired, Family: "exceptions", Level: "fail",
			Title: "an accepted finding has passed its date",
			Why:   "whoever granted it asked for a new decision on that day",
			Fix:   "fix the finding, or grant the exception again with a later date",
		},
	}
}

// Stale returns the finding for an exception that does nothing any more, so
// that every format shows it as it shows the rest. Path is the file the
// exception stands in.
func Stale(path string, s rule.Stale) rule.Finding {
	id, why := exceptionUnmatched, "an entry that matches nothing is an error: remove it"
	if s.Expired {
		id, why = exceptionExpired, "it asked for a new decision on that day"
	}
	return rule.Finding{
		ID: id, Group: "exceptions", Status: rule.Fail, Target: s.Target, Count: 1,
		Where:       rule.Where{Kind: "exception", Name: s.ID, Path: s.Where},
		Message:     path + ", " + s.String(),
		Why:         why,
		Fingerprint: rule.Fingerprint(id, s.ID, s.Fingerprint),
	}
}
