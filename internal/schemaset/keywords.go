// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// schemaReader reads the keywords of one schema object into its node.
type schemaReader struct {
	l  *loader
	n  *node
	v  *val
	sc scope
}

func (r *schemaReader) at(tokens ...string) string {
	p := r.n.ptr
	for _, t := range tokens {
		p = jsonx.Push(p, t)
	}
	return p
}

// wrong reports a keyword of the wrong form. What such a schema accepts is not
// defined, so the node becomes opaque.
func (r *schemaReader) wrong(keyword, detail string) {
	r.l.problem(ProblemWrongShape, r.at(keyword), keyword, detail)
	r.hide(keyword + " has the wrong shape")
}

// hide makes the node opaque. The reason holds the text of the schema, so that
// two opaque nodes are equal only when they are written alike, and where they
// hold references only within equal documents.
func (r *schemaReader) hide(reason string) {
	if r.n.opaque != "" {
		return
	}
	r.n.opaque = reason + " in " + r.v.key()
	if bytes.Contains(r.v.raw, []byte("$")) {
		r.n.opaque += r.l.document()
	}
}

func (r *schemaReader) child(v *val, tokens ...string) *node {
	return r.l.schema(v, r.at(tokens...), r.sc)
}

// sub loads the schema under one keyword; nil where there is none.
func (r *schemaReader) sub(keyword string) *node {
	v := r.v.get(keyword)
	if v == nil {
		return nil
	}
	return r.child(v, keyword)
}

func (r *schemaReader) list(keyword string, allowEmpty bool) []*node {
	v := r.v.get(keyword)
	if v == nil {
		return nil
	}
	if v.kind != kArray || len(v.arr) == 0 && !allowEmpty {
		r.wrong(keyword, "must be a list of schemas")
		return nil
	}
	out := make([]*node, len(v.arr))
	for i, e := range v.arr {
		out[i] = r.child(e, keyword, strconv.Itoa(i))
	}
	return out
}

func (r *schemaReader) byName(keyword string) []property {
	v := r.v.get(keyword)
	if v == nil {
		return nil
	}
	if v.kind != kObject {
		r.wrong(keyword, "must be an object of schemas")
		return nil
	}
	out := make([]property, len(v.mem))
	for i, m := range v.mem {
		out[i] = property{m.name, r.child(m.val, keyword, m.name)}
	}
	return out
}

func (r *schemaReader) names(keyword string, v *val) []string {
	if v == nil {
		return nil
	}
	if v.kind != kArray {
		r.wrong(keyword, "must be a list of names")
		return nil
	}
	out := make([]string, 0, len(v.arr))
	for _, e := range v.arr {
		if e.kind != kString {
			r.wrong(keyword, "must hold strings only")
			return nil
		}
		out = append(out, e.str)
	}
	return out
}

const maxCount = 1 << 40

// count reads a bound of a length; dflt where the keyword is missing.
func (r *schemaReader) count(keyword string, dflt int) int {
	v := r.v.get(keyword)
	if v == nil {
		return dflt
	}
	if v.kind != kInt || v.num == nil || v.num.Sign() < 0 {
		r.wrong(keyword, "must be an integer of at least 0")
		return dflt
	}
	if i := v.num.Num(); i.IsInt64() && i.Int64() <= maxCount {
		return int(i.Int64())
	}
	return maxCount
}

func (r *schemaReader) flag(keyword string) bool {
	v := r.v.get(keyword)
	if v == nil {
		return false
	}
	if v.kind != kBool {
		r.wrong(keyword, "must be true or false")
	}
	return v.truth
}

func (r *schemaReader) number(keyword string) *big.Rat {
	v := r.v.get(keyword)
	if v == nil {
		return nil
	}
	if v.kind&kNumber == 0 || v.num == nil {
		r.wrong(keyword, "must be a number within the limits")
		return nil
	}
	return v.num
}

func (r *schemaReader) samples() {
	add := func(v *val) {
		if v != nil && !unreadable(v) && len(r.n.samples) < 8 {
			r.n.samples = append(r.n.samples, v)
		}
	}
	if ex := r.v.get("examples"); ex != nil && ex.kind == kArray {
		for _, e := range ex.arr {
			add(e)
		}
	}
	add(r.v.get("example"))
	if d := r.v.get("default"); d != nil && d.kind != kNull {
		if unreadable(d) {
			// It asserts nothing: the schema keeps its meaning.
			r.l.problem(ProblemWrongShape, r.at("default"), "default", "holds a number beyond the limits")
		}
		add(d)
	}
}

// definitions loads what only references reach, for its problems.
func (r *schemaReader) definitions() {
	for _, keyword := range [...]string{"$defs", "definitions"} {
		if v := r.v.get(keyword); v != nil && v.kind == kObject {
			r.byName(keyword)
		}
	}
}

// dynamic reads the references that depend on the way they were reached. With
// one possible target they are plain references.
func (r *schemaReader) dynamic() {
	refs := [...]struct {
		keyword string
		known   bool
	}{
		{"$dynamicRef", r.sc.dialect >= Draft2020},
		{"$recursiveRef", r.sc.dialect == Draft2019},
	}
	for _, ref := range refs {
		v := r.v.get(ref.keyword)
		if v == nil || !ref.known {
			continue
		}
		if v.kind != kString {
			r.wrong(ref.keyword, "must be a string")
			continue
		}
		several := r.l.res.recurse > 1
		if ref.keyword == "$dynamicRef" {
			several = false
			for _, n := range r.l.res.dynamic {
				several = several || n > 1
			}
		}
		if several {
			r.l.problem(ProblemUnsupported, r.at(ref.keyword), ref.keyword, "more than one place may be meant")
			r.hide(ref.keyword + " may lead to several places")
			continue
		}
		r.n.allOf = append(r.n.allOf, r.l.resolve(v.str, r.at(ref.keyword), ref.keyword, r))
	}
}

var typeWords = map[string]kinds{
	"null": kNull, "boolean": kBool, "integer": kInt, "number": kNumber,
	"string": kString, "array": kArray, "object": kObject,
}

// general reads type, enum and const.
func (r *schemaReader) general() {
	n := r.n
	if v := r.v.get("type"); v != nil {
		words := []*val{v}
		if v.kind == kArray {
			words = v.arr
			if len(words) == 0 {
				r.wrong("type", "must name a type")
			}
			if len(newValueSet(words).vals) < len(words) {
				// What is meant is clear, so nothing becomes opaque.
				r.l.problem(ProblemWrongShape, r.at("type"), "type", "names a type twice")
			}
		}
		mask := kinds(0)
		for _, w := range words {
			k, ok := typeWords[w.str]
			if w.kind != kString || !ok {
				r.wrong("type", "unknown type "+string(w.raw))
				mask = kAll
			}
			mask |= k
		}
		n.mask = mask
	}
	if v := r.v.get("enum"); v != nil {
		if v.kind != kArray {
			r.wrong("enum", "must be a list")
		} else {
			n.enum = newValueSet(v.arr)
		}
	}
	if v := r.v.get("const"); v != nil && r.sc.dialect >= Draft6 {
		set := newValueSet([]*val{v})
		if n.enum != nil && !n.enum.has(v) {
			set = newValueSet(nil)
		}
		n.enum = set
	}
	for _, keyword := range [...]string{"enum", "const"} {
		v := r.v.get(keyword)
		if v == nil || !unreadable(v) || keyword == "const" && r.sc.dialect < Draft6 {
			continue
		}
		r.wrong(keyword, "holds a number beyond the limits")
		n.enum = nil
	}
}

func (r *schemaReader) numbers() {
	p := &numberPart{}
	old := r.sc.dialect == Draft4
	read := func(inclusive, exclusive string, tighter int) *bound {
		var b *bound
		if at := r.number(inclusive); at != nil {
			b = &bound{at: at}
			if old {
				b.open = r.flag(exclusive)
			}
		}
		if old {
			return b
		}
		if at := r.number(exclusive); at != nil && (b == nil || at.Cmp(b.at)*tighter >= 0) {
			b = &bound{at: at, open: true}
		}
		return b
	}
	p.lo = read("minimum", "exclusiveMinimum", 1)
	p.hi = read("maximum", "exclusiveMaximum", -1)
	if m := r.number("multipleOf"); m != nil {
		if m.Sign() <= 0 {
			r.wrong("multipleOf", "must be more than 0")
		} else {
			p.mult = []*big.Rat{m}
		}
	}
	if p.lo != nil || p.hi != nil || p.mult != nil {
		r.n.num = p
	}
}

func (r *schemaReader) strings() {
	p := &stringPart{min: r.count("minLength", 0), max: r.count("maxLength", absent)}
	if v := r.v.get("pattern"); v != nil {
		if v.kind != kString {
			r.wrong("pattern", "must be a string")
		} else {
			p.pats = []*pattern{r.pattern(v.str, r.at("pattern"))}
		}
	}
	if p.min > 0 || p.max != absent || p.pats != nil {
		r.n.str = p
	}
}

// maxStates bounds the patterns of a document together.
const maxStates = 1_000_000

func (r *schemaReader) pattern(text, ptr string) *pattern {
	p := r.l.patterns[text]
	if p == nil {
		p = compilePattern(text)
		if r.l.states += p.size(); r.l.states > maxStates {
			p = &pattern{text: text, opaque: true, why: "too many patterns"}
		}
		r.l.patterns[text] = p
	}
	if p.broken {
		r.l.problem(ProblemBadPattern, ptr, "pattern", p.why)
	}
	return p
}
