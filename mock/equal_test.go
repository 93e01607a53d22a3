// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Numbers are equal where exact arithmetic says so.
func TestSameNumber(t *testing.T) {
	rat := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q is no number", s)
		}
		return r
	}
	for _, tc := range [][2]string{
		{"1", "1.0"}, {"0", "-0"}, {"0", "0e99"}, {"100", "1e2"}, {"1E+2", "100"}, {"0.5", "5e-1"}, {"-1", "1"}, {"10", "1"},
		{"9007199254740993", "9007199254740992"}, {"9007199254740993", "9007199254740993.0"}, {"0.1", "0.10000000000000001"},
	} {
		if got, want := sameNumber(tc[0], tc[1]), rat(tc[0]).Cmp(rat(tc[1])) == 0; got != want {
			t.Errorf("%s and %s: %v", tc[0], tc[1], got)
		}
	}
	const huge = "1e99999999999999999999"
	if sameNumber(huge, "1") || !sameNumber(huge, huge) {
		t.Error("an exponent that no int holds")
	}
	number := rapid.Custom(func(t *rapid.T) string {
		s := fmt.Sprint(rapid.IntRange(-30, 30).Draw(t, "whole"))
		if rapid.Bool().Draw(t, "fraction") {
			s += rapid.StringMatching(`\.[05]{1,3}`).Draw(t, "digits")
		}
		if rapid.Bool().Draw(t, "power") {
			s += rapid.StringMatching(`[eE][+-]?[0-3]`).Draw(t, "exponent")
		}
		return s
	})
	rapid.Check(t, func(rt *rapid.T) {
		a, b := number.Draw(rt, "a"), number.Draw(rt, "b")
		if got, want := sameNumber(a, b), rat(a).Cmp(rat(b)) == 0; got != want {
			rt.Errorf("%s and %s: %v", a, b, got)
		}
	})
}

// A value does not differ from itself in another spelling, and the first
// difference is where it is.
func TestDiffer(t *testing.T) {
	for _, tc := range []struct{ want, got, pointer string }{
		{`{"a":[1,{"b":null}],"c":"\u00e9"}`, `{ "c" : "é", "a" : [1.0, {"b":null}] }`, "none"},
		{`{"a":1}`, `{"a":1,"b":2}`, "/b"},
		{`{"a":1,"b":2}`, `{"a":1}`, "/b"},
		{`{"a/b":1}`, `{"a/b":2}`, "/a~1b"},
		{`[1,2]`, `[1]`, "/1"},
		{`[1]`, `[1,2]`, "/1"},
		{`1`, `"1"`, ""},
		{`true`, `false`, ""},
		{`null`, ``, ""},
		{`"a"`, `"b"`, ""},
		{`null`, `null`, "none"},
		{`{}`, `[]`, ""},
	} {
		d := differ([]byte(tc.want), []byte(tc.got), "")
		switch {
		case d == nil && tc.pointer != "none", d != nil && d.pointer != tc.pointer:
			t.Errorf("%s and %s: %v", tc.want, tc.got, d)
		}
	}
}
