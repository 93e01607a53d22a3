// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// Over sockets, too, each fault of safety is found by its rule, and the server
// without it gets no finding. Those that put a load on the server have
// TestIntrusiveRulesOnLoopback.
func TestSecurityFaultsOnLoopback(t *testing.T) {
	rules, tried := 0, 0
	for _, r := range check.Rules() {
		if !strings.HasPrefix(r.ID, "sec.") || r.Intrusive || faultless[r.ID] != "" || !r.On(transport.StreamableHTTP) {
			continue
		}
		if rules++; testing.Short() && rules%4 != 0 {
			continue // the race detector needs a few of them
		}
		for i, b := range append([]check.Break{r.Break}, r.Breaks...) {
			if slices.ContainsFunc(b.Faults, countsConnections) {
				continue // which over sockets are no clients: each has many
			}
			at := slices.DeleteFunc(stages(r, &b), func(s stage) bool { return s.kind != transport.StreamableHTTP })
			for _, s := range at {
				tried++
				t.Run(fmt.Sprintf("%s/%d/%s", r.ID, i, s.revision), func(t *testing.T) {
					t.Parallel()
					right, wrong := specimen(), specimen()
					if b.Base != nil {
						b.Base(&right)
					}
					b.Apply(&wrong)
					if o, _, _ := onLoopback(t, right, r.ID, s.revision); o.Status > rule.Note {
						t.Errorf("a server without the fault: %s", show(o))
					}
					if o, _, _ := onLoopback(t, wrong, r.ID, s.revision); !blamed(o) && !slices.Contains(r.Under, o.Because) {
						t.Errorf("the fault is not found: %s", show(o))
					}
				})
			}
		}
	}
	t.Logf("%d faults", tried)
}

func countsConnections(f mock.Fault) bool {
	return slices.ContainsFunc(f.Conditions, func(c mock.Condition) bool { return c.Of == mock.OfConnection })
}
