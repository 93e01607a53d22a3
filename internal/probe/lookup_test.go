// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"testing"

	"github.com/mcprove/mcprove/internal/probe"
)

// A text with one fault is read all the same: its other members are there.
func TestLookupReadsFaultyTexts(t *testing.T) {
	for _, c := range []struct{ text, pointer, want string }{
		{"{\"a\":\"\xc7\xd1\",\"_meta\":{\"x/y\":1}}", "/_meta/x~1y", "1"},
		{`{"a":1,"a":2}`, "/a", "2"},
		{`{"a":[1,{"b":2}]}`, "/a/1/b", "2"},
		{`{"a":[1]}`, "/a/01", ""},
		{`{"a":[1]}`, "/a/-", ""},
		{`{"a":[1]}`, "/a/1", ""},
		{`{"a":1}`, "/a/b", ""},
		{`{"a":1}`, "", `{"a":1}`},
		{`{"a":1}`, "a", ""},
		{``, "/a", ""},
	} {
		if got := string(probe.Lookup([]byte(c.text), c.pointer)); got != c.want {
			t.Errorf("%q at %q: %q, want %q", c.text, c.pointer, got, c.want)
		}
	}
}
