// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"slices"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// A run that claims nothing over stdio starts no process for rules that another
// one judges, and says nothing of those that had nothing to look at.
func TestClaimedByAnother(t *testing.T) {
	var keys []string
	const looksOn = "tools.list-changed-needs-capability"
	got := judgeBy(t, specimen(), stage{transport.Stdio, spec.Rev20250618}, check.Options{
		Options: probe.Options{Failing: failing},
		Only:    []string{looksOn, "tools.list-changed-notification", "cancel.receiver-stops", "ping.answered"},
		Claim: func(ks []string) []string {
			keys = ks
			return nil
		},
	})
	for _, id := range []string{looksOn, "tools.list-changed-notification", "cancel.receiver-stops"} {
		if !slices.Contains(keys, spec.Legacy.String()+" "+id) {
			t.Errorf("%s is not offered to others: %q", id, keys)
		}
		if o, is := got[id]; is && (id != looksOn || o.Status == rule.Skip) {
			t.Errorf("another run judges it: %s", show(o))
		}
	}
	if o := got["ping.answered"]; o.Rule == nil || o.Status != rule.Pass {
		t.Errorf("ping: %v", o.Status)
	}
}
