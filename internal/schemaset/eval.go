// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/big"
	"unicode/utf8"
)

// evaluator is the internal validator. It checks every value that the search
// finds, so it shares no code with the search beyond the nodes themselves.
type evaluator struct {
	memo  map[evalKey]Truth
	steps int
	limit int
}

type evalKey struct {
	n *node
	v *val
}

const (
	evalLimit  = 2_000_000  // visits of one evaluation
	matchLimit = 50_000_000 // runes of a word times states of a pattern
)

func evalRaw(raw []byte, s *Schema) Truth {
	if s.looped {
		return Unknown
	}
	v, err := readTree(raw)
	if err != nil {
		return Unknown
	}
	return newEvaluator().eval(s.root, v)
}

func newEvaluator() *evaluator { return &evaluator{limit: evalLimit} }

func and(a, b Truth) Truth {
	switch {
	case a == No || b == No:
		return No
	case a == Yes && b == Yes:
		return Yes
	}
	return Unknown
}

func negate(t Truth) Truth {
	switch t {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Unknown
}

func truth(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

func (e *evaluator) eval(n *node, v *val) Truth {
	if n.never {
		return No
	}
	if e.steps++; e.steps > e.limit || v.huge {
		return Unknown
	}
	composed := n.ref != nil || len(n.allOf)+len(n.anyOf)+len(n.oneOf) > 0
	k := evalKey{n, v}
	if composed {
		if t, ok := e.memo[k]; ok {
			return t
		}
	}
	t := e.own(n, v)
	if t != No {
		t = and(t, e.applied(n, v))
	}
	if composed {
		if e.memo == nil {
			e.memo = map[evalKey]Truth{}
		}
		e.memo[k] = t
	}
	return t
}

// own checks the keywords that speak of the value itself and of its parts.
func (e *evaluator) own(n *node, v *val) Truth {
	t := Yes
	if n.opaque != "" {
		t = Unknown
	}
	if v.kind&kNumber != 0 && v.num == nil {
		if n.mask&kNumber == 0 {
			return No
		}
		if n.mask&kNumber != kNumber || n.enum != nil || n.num != nil || n.excluded != nil {
			return Unknown
		}
		return t
	}
	if v.kind&n.mask == 0 {
		return No
	}
	if n.enum != nil && !n.enum.has(v) {
		if !unreadable(v) {
			return No
		}
		t = Unknown // 0e99999 is 0
	}
	for _, x := range n.excluded {
		if x.has(v) {
			return No
		}
		if unreadable(v) {
			t = Unknown
		}
	}
	switch v.kind {
	case kInt, kFrac:
		if n.num != nil && !n.num.accepts(v.num) {
			return No
		}
	case kString:
		if n.str != nil {
			t = and(t, n.str.accepts(v.str))
		}
	case kArray:
		if n.arr != nil {
			t = and(t, e.array(n.arr, v))
		}
	case kObject:
		if n.obj != nil {
			t = and(t, e.object(n.obj, v))
		}
	}
	return t
}

// applied checks the schemas that apply in place.
func (e *evaluator) applied(n *node, v *val) Truth {
	t := Yes
	if n.ref != nil {
		t = e.eval(n.ref, v)
	}
	for _, c := range n.allOf {
		if t == No {
			return No
		}
		t = and(t, e.eval(c, v))
	}
	if t != No && len(n.anyOf) > 0 {
		some := No
		for _, c := range n.anyOf {
			if some = negate(and(negate(some), negate(e.eval(c, v)))); some == Yes {
				break
			}
		}
		t = and(t, some)
	}
	if t != No && len(n.oneOf) > 0 {
		yes, open := 0, 0
		for _, c := range n.oneOf {
			switch e.eval(c, v) {
			case Yes:
				yes++
			case Unknown:
				open++
			}
		}
		switch {
		case yes > 1 || yes+open == 0:
			t = No
		case open > 0:
			t = Unknown
		}
	}
	if t != No && n.not != nil {
		t = and(t, negate(e.eval(n.not, v)))
	}
	if c := n.cond; t != No && c != nil {
		t = and(t, e.condition(c, v))
	}
	return t
}

func (e *evaluator) condition(c *condition, v *val) Truth {
	branch := func(n *node) Truth {
		if n == nil {
			return Yes
		}
		return e.eval(n, v)
	}
	switch e.eval(c.test, v) {
	case Yes:
		return branch(c.yes)
	case No:
		return branch(c.no)
	}
	if a, b := branch(c.yes), branch(c.no); a == b {
		return a
	}
	return Unknown
}

func (p *numberPart) accepts(x *big.Rat) bool {
	if p.lo != nil {
		if c := x.Cmp(p.lo.at); c < 0 || c == 0 && p.lo.open {
			return false
		}
	}
	if p.hi != nil {
		if c := x.Cmp(p.hi.at); c > 0 || c == 0 && p.hi.open {
			return false
		}
	}
	for _, m := range p.mult {
		if !multiple(x, m) {
			return false
		}
	}
	for _, m := range p.not {
		if multiple(x, m) {
			return false
		}
	}
	return true
}

func multiple(x, m *big.Rat) bool { return new(big.Rat).Quo(x, m).IsInt() }

func (p *stringPart) accepts(s string) Truth {
	if n := utf8.RuneCountInString(s); n < p.min || p.max != absent && n > p.max {
		return No
	}
	t := Yes
	for _, pat := range p.pats {
		t = and(t, pat.eval(s))
	}
	for _, pat := range p.notPats {
		t = and(t, negate(pat.eval(s)))
	}
	return t
}

func (p *pattern) eval(s string) Truth {
	if p.opaque || len(s)*p.size() > matchLimit {
		return Unknown
	}
	return truth(p.match(s))
}

func (e *evaluator) array(p *arrayPart, v *val) Truth {
	n := len(v.arr)
	if n < p.min || p.max != absent && n > p.max {
		return No
	}
	t := Yes
	for i, el := range v.arr {
		s := p.rest
		if i < len(p.prefix) {
			s = p.prefix[i]
		} else if i > len(p.prefix) && el == v.arr[i-1] {
			continue
		}
		if s != nil {
			if t = and(t, e.eval(s, el)); t == No {
				return No
			}
		}
	}
	if p.unique || p.notUnique {
		apart := distinct(v.arr)
		fits := truth(apart == p.unique)
		if apart && unreadable(v) {
			fits = Unknown
		}
		t = and(t, fits)
	}
	if p.contains != nil {
		yes, open := 0, 0
		for _, el := range v.arr {
			switch e.eval(p.contains, el) {
			case Yes:
				yes++
			case Unknown:
				open++
			}
		}
		switch {
		case yes+open < p.minC || p.maxC != absent && yes > p.maxC:
			return No
		case yes < p.minC || p.maxC != absent && yes+open > p.maxC:
			t = and(t, Unknown)
		}
	}
	for _, d := range p.somewhere {
		some := No
		for i := d.from; i < n && some != Yes; i++ {
			if some = negate(and(negate(some), e.eval(d.neg, v.arr[i]))); d.exact {
				break
			}
		}
		t = and(t, some)
	}
	return t
}

func distinct(vs []*val) bool {
	seen := make(map[string]bool, len(vs))
	for _, v := range vs {
		k := v.key()
		if seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

func (e *evaluator) object(p *objectPart, v *val) Truth {
	if len(v.mem) < p.min || p.max != absent && len(v.mem) > p.max {
		return No
	}
	for _, r := range p.required {
		if v.get(r) == nil {
			return No
		}
	}
	t := Yes
	for _, m := range v.mem {
		if t = and(t, e.member(p, m)); t == No {
			return No
		}
	}
	for _, d := range p.depReq {
		if v.get(d.name) == nil {
			continue
		}
		for _, r := range d.names {
			if v.get(r) == nil {
				return No
			}
		}
	}
	for _, d := range p.depSch {
		if v.get(d.name) != nil {
			t = and(t, e.eval(d.node, v))
		}
	}
	for _, d := range p.demands {
		some := No
		for _, m := range v.mem {
			some = negate(and(negate(some), negate(e.meets(d, m))))
		}
		t = and(t, some)
	}
	return t
}

func (e *evaluator) member(p *objectPart, m member) Truth {
	t := Yes
	known := false
	if s := p.prop(m.name); s != nil {
		known = true
		t = e.eval(s, m.val)
	}
	for _, q := range p.patterns {
		switch q.pat.eval(m.name) {
		case Yes:
			known = true
			t = and(t, e.eval(q.node, m.val))
		case Unknown:
			// It may match: then q applies, else extra might.
			if e.eval(q.node, m.val) != Yes || p.extra != nil {
				t = and(t, Unknown)
			}
		}
	}
	if !known && p.extra != nil && t != No {
		if ex := e.eval(p.extra, m.val); t == Unknown && ex != Yes {
			t = Unknown
		} else {
			t = and(t, ex)
		}
	}
	if p.names != nil {
		t = and(t, e.eval(p.names, newString(m.name)))
	}
	return t
}

// meets reports whether a member is what a made-up demand asks for.
func (e *evaluator) meets(d keyDemand, m member) Truth {
	t := Yes
	if o := d.outside; o != nil {
		t = truth(o.prop(m.name) == nil)
		for _, q := range o.patterns {
			t = and(t, negate(q.pat.eval(m.name)))
		}
	}
	if d.match != nil {
		t = and(t, d.match.eval(m.name))
	}
	if d.neg != nil {
		t = and(t, negate(e.eval(d.neg, m.val)))
	}
	if d.nameNeg != nil {
		t = and(t, negate(e.eval(d.nameNeg, newString(m.name))))
	}
	return t
}
