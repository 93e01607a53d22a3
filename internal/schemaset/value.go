// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
)

// kinds is a set of kinds of values. Numbers are split into integers and
// fractions, so that "integer" and "number" compare by bit operations.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kInt
	kFrac
	kString
	kArray
	kObject

	kNumber = kInt | kFrac
	kAll    = kNull | kBool | kNumber | kString | kArray | kObject
)

// kindOrder is the order in which kinds are tried: what reads best first, what
// costs most last.
var kindOrder = [...]kinds{kString, kInt, kBool, kFrac, kNull, kArray, kObject}

// names lists the type words of the set; integer is only named without number.
func (k kinds) names() []string {
	var out []string
	add := func(bit kinds, name string) {
		if k&bit == bit {
			out = append(out, name)
		}
	}
	add(kArray, "array")
	add(kBool, "boolean")
	if k&kNumber == kInt {
		out = append(out, "integer")
	}
	add(kNull, "null")
	if k&kFrac != 0 {
		out = append(out, "number")
	}
	add(kObject, "object")
	add(kString, "string")
	return out
}

// val is a JSON value. It is never changed once it is built.
type val struct {
	kind  kinds // exactly one bit; kFrac also for a number out of reach
	truth bool
	num   *big.Rat // nil for a number beyond the limits
	str   string
	arr   []*val
	mem   []member
	index map[string]*val // of mem, when it is long
	raw   []byte          // the text, nil for built values
	size  int             // of the text, roughly; parts that are shared count each time
	huge  bool            // stands for a value too large to build; note tells
	note  string
}

type member struct {
	name string
	val  *val
}

// grow adds the size of a part. A few values that share their parts may be
// larger, written out, than any memory.
func (v *val) grow(n int) { v.size = min(v.size+n+2, math.MaxInt32) }

// maxWitness bounds the containers the search builds, in bytes; one that is
// larger is described. A lone string may be longer, see maxStringBytes.
const maxWitness = 64 << 10

// built returns v, or what stands for it where it is too large to write out.
func (v *val) built() *val {
	if v.huge || v.raw != nil || v.size <= maxWitness {
		return v
	}
	switch v.kind {
	case kArray:
		return newHuge(kArray, describe("an array", len(v.arr))+" elements")
	case kObject:
		return newHuge(kObject, describe("an object", len(v.mem))+" members")
	}
	return v
}

// longObject is the number of members from which a map beats a scan.
const longObject = 12

func newObject(ms []member) *val {
	v := &val{kind: kObject, mem: ms}
	if len(ms) >= longObject {
		v.index = make(map[string]*val, len(ms))
		for _, m := range ms {
			v.index[m.name] = m.val
		}
	}
	for _, m := range ms {
		v.grow(m.val.size + len(m.name))
		if m.val.huge {
			v.huge, v.note = true, m.val.note+" at "+m.name
		}
	}
	return v
}

func newArray(es []*val) *val {
	v := &val{kind: kArray, arr: es}
	for i, e := range es {
		v.grow(e.size)
		if i > 0 && e == es[i-1] {
			continue
		}
		if e.huge {
			v.huge, v.note = true, e.note
		}
	}
	return v
}

func newString(s string) *val { return &val{kind: kString, str: s, size: len(s)} }

func newNumber(r *big.Rat) *val {
	if r.IsInt() {
		return &val{kind: kInt, num: r}
	}
	return &val{kind: kFrac, num: r}
}

func newBool(b bool) *val { return &val{kind: kBool, truth: b} }

func newHuge(k kinds, note string) *val { return &val{kind: k, huge: true, note: note} }

// get returns the member called name, nil when there is none.
func (v *val) get(name string) *val {
	if v == nil {
		return nil
	}
	if v.index != nil {
		return v.index[name]
	}
	for i := range v.mem {
		if v.mem[i].name == name {
			return v.mem[i].val
		}
	}
	return nil
}

// appendKey writes a text that is equal for equal values only: members sorted,
// numbers as reduced fractions.
func (v *val) appendKey(b []byte) []byte {
	switch v.kind {
	case kNull:
		return append(b, 'n')
	case kBool:
		if v.truth {
			return append(b, 't')
		}
		return append(b, 'f')
	case kInt, kFrac:
		if v.num == nil {
			return append(append(append(b, '?'), v.raw...), ';')
		}
		return append(append(b, v.num.RatString()...), ';')
	case kString:
		return append(b, jsonx.Quote(v.str)...)
	case kArray:
		b = append(b, '[')
		for _, e := range v.arr {
			b = append(e.appendKey(b), ',')
		}
		return append(b, ']')
	}
	ms := slices.Clone(v.mem)
	order.Func(ms, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	b = append(b, '{')
	for _, m := range ms {
		b = append(append(b, jsonx.Quote(m.name)...), ':')
		b = append(m.val.appendKey(b), ',')
	}
	return append(b, '}')
}

func (v *val) key() string { return string(v.appendKey(nil)) }

// appendJSON writes the value as compact JSON.
func (v *val) appendJSON(b []byte) []byte {
	if v.raw != nil && v.kind&(kArray|kObject) == 0 {
		return append(b, v.raw...)
	}
	switch v.kind {
	case kNull:
		return append(b, "null"...)
	case kBool:
		if v.truth {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case kInt, kFrac:
		return append(b, decimal(v.num)...)
	case kString:
		return append(b, jsonx.Quote(v.str)...)
	case kArray:
		b = append(b, '[')
		for i, e := range v.arr {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.appendJSON(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i, m := range v.mem {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, jsonx.Quote(m.name)...), ':')
		b = m.val.appendJSON(b)
	}
	return append(b, '}')
}

// decimal writes a number that has a finite decimal form, exactly.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	n, exact := r.FloatPrec()
	if !exact {
		return r.FloatString(30)
	}
	return r.FloatString(n)
}

const (
	maxExponent   = 10_000
	maxNumberText = 20_000
)

// readNumber reads a JSON number exactly; nil when it is beyond the limits.
func readNumber(text string) *big.Rat {
	if len(text) > maxNumberText {
		return nil
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		digits := strings.TrimLeft(text[i+1:], "+-0")
		if len(digits) > 5 || len(digits) == 5 && digits > "10000" {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}
