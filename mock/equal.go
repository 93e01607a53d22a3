// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// difference is a place where two JSON values are not equal; nil texts are no
// value.
type difference struct {
	pointer   string
	want, got []byte
}

// differ finds the first difference of two JSON values: members in the order of
// want, those that only got has at the end. Numbers are equal by their value.
func differ(want, got []byte, at string) *difference {
	here := &difference{at, want, got}
	k := jsonx.KindOf(want)
	if k != jsonx.KindOf(got) {
		return here
	}
	switch k {
	case jsonx.Object:
		ws, gs := members(want), members(got)
		for _, w := range ws {
			if d := differ(w.value, get(got, w.name), jsonx.Push(at, w.name)); d != nil {
				return d
			}
		}
		for _, g := range gs {
			if index(ws, g.name) < 0 {
				return &difference{jsonx.Push(at, g.name), nil, g.value}
			}
		}
	case jsonx.Array:
		ws, _ := jsonx.Elements(want, jsonx.Lenient)
		gs, _ := jsonx.Elements(got, jsonx.Lenient)
		for i := range max(len(ws), len(gs)) {
			var w, g []byte
			if i < len(ws) {
				w = ws[i]
			}
			if i < len(gs) {
				g = gs[i]
			}
			if d := differ(w, g, jsonx.Push(at, strconv.Itoa(i))); d != nil {
				return d
			}
		}
	case jsonx.Number:
		if !sameNumber(string(want), string(got)) {
			return here
		}
	case jsonx.String:
		w, okW := jsonx.Text(want)
		g, okG := jsonx.Text(got)
		if okW != okG || w != g || !okW && !bytes.Equal(want, got) {
			return here
		}
	}
	return nil
}

// sameNumber compares two JSON numbers exactly, without making them.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	signA, digitsA, expA, okA := decimalOf(a)
	signB, digitsB, expB, okB := decimalOf(b)
	return okA && okB && digitsA == digitsB && (digitsA == "" || signA == signB && expA == expB)
}

// decimalOf splits a number into its sign, its digits without zeros at either
// end, and the power of ten of the last digit. Exponents that no int holds are
// not compared.
func decimalOf(n string) (negative bool, digits string, exponent int, ok bool) {
	n, negative = strings.CutPrefix(n, "-")
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(n[i+1:], "+"))
		if err != nil {
			return false, "", 0, false
		}
		n, exponent = n[:i], e
	}
	whole, fraction, _ := strings.Cut(n, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	return negative, trimmed, exponent + len(digits) - len(trimmed), true
}

// fold joins numbers as words: 1, 2 and 3.
func fold(numbers []int) string {
	var words []string
	for _, n := range slices.Sorted(slices.Values(numbers)) {
		words = append(words, strconv.Itoa(n))
	}
	const most = 10
	if len(words) > most {
		words = append(words[:most], strconv.Itoa(len(words)-most)+" more")
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
