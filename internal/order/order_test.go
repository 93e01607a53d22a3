// SPDX-License-Identifier: Apache-2.0

package order_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/mcprove/mcprove/internal/order"
	"pgregory.net/rapid"
)

type pair struct{ key, place int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

// Both sort as the functions of package slices do.
func TestAsSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys")
		s := make([]pair, len(keys))
		for i, k := range keys {
			s[i] = pair{k, i}
		}
		want, stable, sorted := slices.Clone(s), slices.Clone(s), slices.Clone(s)
		slices.SortStableFunc(want, byKey)
		order.Stable(stable, byKey)
		if !slices.Equal(stable, want) {
			t.Fatalf("Stable: %v, want %v", stable, want)
		}
		order.Func(sorted, byKey)
		if !slices.IsSortedFunc(sorted, byKey) || len(sorted) != len(s) {
			t.Fatalf("Func: %v", sorted)
		}
	})
}
