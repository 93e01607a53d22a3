// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// decimal is a JSON number without rounding: 0.digits times ten to the
// exponent, digits without zeros at either end. Zero has no digits. Equal
// numbers are equal decimals, however they were written.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// readDecimal reads a valid JSON number. Exponents beyond what an int32 holds
// are taken as the limit.
func readDecimal(raw []byte) decimal {
	var d decimal
	raw, d.negative = bytes.CutPrefix(raw, []byte{'-'})
	exp := 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(string(raw[i+1:]), "+"))
		if err != nil || e > math.MaxInt32 || e < math.MinInt32 {
			e = math.MaxInt32
			if raw[i+1] == '-' {
				e = math.MinInt32
			}
		}
		exp, raw = e, raw[:i]
	}
	whole, fraction, _ := bytes.Cut(raw, []byte{'.'})
	padded := string(whole) + string(fraction)
	digits := strings.TrimLeft(padded, "0")
	exp += len(whole) - (len(padded) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	d.digits, d.exponent = digits, exp
	return d
}

// integral reports whether the number has no fraction.
func (d decimal) integral() bool { return len(d.digits) <= d.exponent || d.digits == "" }

// aboveOne reports whether the number is greater than 1.
func (d decimal) aboveOne() bool {
	if d.negative || d.digits == "" {
		return false
	}
	return d.exponent > 1 || d.exponent == 1 && d.digits != "1"
}

// text returns an integral number of at most most digits in plain decimal form.
func (d decimal) text(most int) (s string, ok bool) {
	switch {
	case d.digits == "":
		return "0", true
	case !d.integral() || d.exponent > most:
		return "", false
	}
	s = d.digits + strings.Repeat("0", d.exponent-len(d.digits))
	if d.negative {
		s = "-" + s
	}
	return s, true
}
