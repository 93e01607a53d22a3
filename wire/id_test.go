// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcprove/mcprove/wire"
)

// The key of a number is that of its text.
func TestKeyOfNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		want, ok := wire.KeyOf([]byte(strconv.FormatInt(n, 10)))
		if got := wire.KeyOfNumber(n); !ok || got != want {
			t.Errorf("the key of %d is %q, want %q", n, got, want)
		}
	})
}
