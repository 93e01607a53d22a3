// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// Whatever two listings hold: no panic, a surface compared with itself has no
// changes, and every change can be written.
func FuzzCompare(f *testing.F) {
	for _, fx := range loadFixtures(f) {
		if len(fx.sides[0]) < 2_000 {
			f.Add(fx.sides[0], fx.sides[1])
		}
	}
	for _, h := range hostile {
		if len(h.after) < 2_000 {
			f.Add([]byte(h.before), []byte(h.after))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a)+len(b) > 20_000 {
			return
		}
		x, errX := surface.Read("a", a)
		y, errY := surface.Read("b", b)
		if errX == nil {
			if r := contract.Compare(x, x, contract.Options{}); len(r.Changes) > 0 {
				t.Fatalf("compared with itself:\n%s", describe(r))
			}
		}
		if errX != nil || errY != nil {
			return
		}
		r := contract.Compare(x, y, contract.Options{})
		for i := range r.Changes {
			c := &r.Changes[i]
			if c.Class == 0 || c.Certainty == 0 || c.Message == "" || c.Fingerprint == "" {
				t.Fatalf("a change without its parts: %+v", c)
			}
			if _, err := c.MarshalJSON(); err != nil {
				t.Fatalf("%s: %v", c.ID, err)
			}
			c.Finding("target", contract.Breaking, nil)
		}
	})
}
