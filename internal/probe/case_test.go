// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	"github.com/mcprove/mcprove/rule"
)

// A rule that looks on after the run has a time of its own: what the end of the
// run cut short is still nobody's fault.
func TestCutShortIsNobodysFault(t *testing.T) {
	cut := &Exchange{Method: "ping", Err: errRunEnded, Cancelled: true}
	for _, seen := range []struct {
		passes int
		want   rule.Status
	}{{0, rule.Skip}, {1, rule.Pass}} {
		c := &Case{ctx: t.Context()}
		c.info.Level, c.info.Basis = rule.Must, rule.Keyword
		c.Fail(cut, "ping is not answered")
		for range seen.passes {
			c.Pass(&Exchange{})
		}
		if v := c.result(); v.Status != seen.want || len(v.Blames) > 0 {
			t.Errorf("after %d good exchanges: %v, %d blames: %s", seen.passes, v.Status, len(v.Blames), v.Reason)
		}
	}
}
