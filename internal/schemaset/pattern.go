// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"slices"

	"github.com/mcprove/mcprove/internal/order"
)

// pattern is one regular expression of ECMA-262: all its programs must match a
// word and none of its bans. Most have one program; look-ahead at the beginning
// of the word gives more. What lies outside the regular fragment (other
// look-around, back-references, word boundaries, Unicode properties) has no
// program: it is equal only to the same text.
type pattern struct {
	text   string
	progs  []*program
	bans   []*program
	opaque bool
	broken bool   // not a regular expression at all
	why    string // for opaque and broken
}

func compilePattern(text string) *pattern {
	p := &pattern{text: text}
	rp := &patternParser{text: []rune(text)}
	all, none := rp.whole()
	if rp.fault == "" && rp.pos < len(rp.text) {
		rp.fail(true, "unmatched )")
	}
	build := func(trees []*rx) (out []*program) {
		for _, t := range trees {
			prog := compile(t)
			if prog == nil {
				rp.fail(false, "too large")
			}
			out = append(out, prog)
		}
		return out
	}
	if rp.fault == "" {
		p.progs, p.bans = build(all), build(none)
	}
	if rp.fault != "" {
		p.progs, p.bans = nil, nil
		p.opaque, p.broken, p.why = true, rp.broken, rp.fault
	}
	return p
}

// size is the number of states of all programs.
func (p *pattern) size() int {
	n := 0
	for _, list := range [...][]*program{p.progs, p.bans} {
		for _, prog := range list {
			n += len(prog.states)
		}
	}
	return n
}

func (p *pattern) match(word string) bool {
	for _, prog := range p.progs {
		if !prog.match(word) {
			return false
		}
	}
	for _, prog := range p.bans {
		if prog.match(word) {
			return false
		}
	}
	return true
}

type rxOp uint8

const (
	rxEmpty rxOp = iota
	rxClass
	rxCat
	rxAlt
	rxRepeat
	rxBegin
	rxEnd
)

// rx is a parsed expression.
type rx struct {
	op       rxOp
	class    runeSet
	subs     []*rx
	min, max int // max -1: no bound
}

// runeSet holds sorted, disjoint ranges of runes, both ends included.
type runeSet [][2]rune

const maxRune = 0x10FFFF

func (s runeSet) normal() runeSet {
	s = slices.Clone(s)
	order.Func(s, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	out := s[:0]
	for _, r := range s {
		if n := len(out); n > 0 && r[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], r[1])
		} else {
			out = append(out, r)
		}
	}
	return out
}

func (s runeSet) negate() runeSet {
	var out runeSet
	next := rune(0)
	for _, r := range s.normal() {
		if r[0] > next {
			out = append(out, [2]rune{next, r[0] - 1})
		}
		next = r[1] + 1
	}
	if next <= maxRune {
		out = append(out, [2]rune{next, maxRune})
	}
	return out
}

func (s runeSet) has(r rune) bool {
	lo, hi := 0, len(s)
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < s[mid][0]:
			hi = mid
		case r > s[mid][1]:
			lo = mid + 1
		default:
			return true
		}
	}
	return false
}

// The classes of ECMA-262, which are not those of Go.
var (
	digitRunes = runeSet{{'0', '9'}}
	wordRunes  = runeSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaceRunes = runeSet{{'\t', '\r'}, {' ', ' '}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A},
		{0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}}
	lineRunes = runeSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}
	anyRune   = runeSet{{0, maxRune}}
)

// maxRepeat bounds counters, which are unrolled.
const maxRepeat = 300

type patternParser struct {
	text   []rune
	pos    int
	depth  int
	fault  string
	broken bool
}

func (p *patternParser) fail(broken bool, why string) {
	if p.fault == "" {
		p.fault, p.broken = why, broken
	}
	p.pos = len(p.text)
}

func (p *patternParser) more() bool { return p.pos < len(p.text) }

func (p *patternParser) eat(r rune) bool {
	if p.more() && p.text[p.pos] == r {
		p.pos++
		return true
	}
	return false
}

// whole reads the pattern. Look-ahead right behind a leading ^ speaks of the
// whole word, as the rest does: ^(?!a)b is "^b matches and ^a does not".
func (p *patternParser) whole() (all, none []*rx) {
	if !p.ahead(1) || p.text[0] != '^' {
		return []*rx{p.alternation()}, nil
	}
	anchored := func(t *rx) *rx { return &rx{op: rxCat, subs: []*rx{{op: rxBegin}, t}} }
	p.pos = 1
	for p.ahead(p.pos) {
		positive := p.text[p.pos+2] == '='
		p.pos += 3
		body := p.alternation()
		if !p.eat(')') {
			p.fail(true, "a group without end")
			return nil, nil
		}
		if positive {
			all = append(all, anchored(body))
		} else {
			none = append(none, anchored(body))
		}
	}
	rest := p.alternation()
	if p.fault == "" && rest.op == rxAlt {
		p.fail(false, "look-ahead in one of several alternatives")
		return nil, nil
	}
	return append(all, anchored(rest)), none
}

func (p *patternParser) ahead(at int) bool {
	return at+2 < len(p.text) && p.text[at] == '(' && p.text[at+1] == '?' && (p.text[at+2] == '=' || p.text[at+2] == '!')
}

func (p *patternParser) alternation() *rx {
	if p.depth++; p.depth > 200 {
		p.fail(false, "nested too deep")
	}
	defer func() { p.depth-- }()
	alts := []*rx{p.sequence()}
	for p.eat('|') {
		alts = append(alts, p.sequence())
	}
	if len(alts) == 1 {
		return alts[0]
	}
	return &rx{op: rxAlt, subs: alts}
}

func (p *patternParser) sequence() *rx {
	var parts []*rx
	for p.more() && p.text[p.pos] != '|' && p.text[p.pos] != ')' {
		atom, fixed := p.atom()
		if p.fault != "" {
			break
		}
		parts = append(parts, p.quantified(atom, fixed))
	}
	switch len(parts) {
	case 0:
		return &rx{op: rxEmpty}
	case 1:
		return parts[0]
	}
	return &rx{op: rxCat, subs: parts}
}

// quantified reads what follows an atom. An assertion must not be repeated.
func (p *patternParser) quantified(atom *rx, fixed bool) *rx {
	if !p.more() {
		return atom
	}
	lo, hi := 0, -1
	switch p.text[p.pos] {
	case '*':
		p.pos++
	case '+':
		p.pos++
		lo = 1
	case '?':
		p.pos++
		hi = 1
	case '{':
		var ok bool
		if lo, hi, ok = p.counts(); !ok {
			return atom
		}
	default:
		return atom
	}
	p.eat('?')
	if fixed {
		p.fail(false, "a repeated assertion")
	}
	if lo > maxRepeat || hi > maxRepeat {
		p.fail(false, "a counter above 300")
	}
	if hi >= 0 && hi < lo {
		p.fail(true, "a counter out of order")
	}
	if p.more() && (p.text[p.pos] == '*' || p.text[p.pos] == '+' || p.text[p.pos] == '?') {
		p.fail(true, "nothing to repeat")
	}
	return &rx{op: rxRepeat, subs: []*rx{atom}, min: lo, max: hi}
}

// counts reads {n}, {n,} or {n,m}; ok is false where the brace is a plain rune.
func (p *patternParser) counts() (lo, hi int, ok bool) {
	i := p.pos + 1
	number := func() (int, bool) {
		start, n := i, 0
		for i < len(p.text) && p.text[i] >= '0' && p.text[i] <= '9' {
			n = min(n*10+int(p.text[i]-'0'), 1_000_000)
			i++
		}
		return n, i > start
	}
	lo, ok = number()
	if !ok {
		return 0, 0, false
	}
	hi = lo
	if i < len(p.text) && p.text[i] == ',' {
		i++
		var bounded bool
		if hi, bounded = number(); !bounded {
			hi = -1
		}
	}
	if i >= len(p.text) || p.text[i] != '}' {
		return 0, 0, false
	}
	p.pos = i + 1
	return lo, hi, true
}

func class(s runeSet) *rx { return &rx{op: rxClass, class: s.normal()} }

// atom reads one unit; fixed marks an assertion.
func (p *patternParser) atom() (unit *rx, fixed bool) {
	r := p.text[p.pos]
	p.pos++
	switch r {
	case '^':
		return &rx{op: rxBegin}, true
	case '$':
		return &rx{op: rxEnd}, true
	case '.':
		return class(lineRunes.negate()), false
	case '(':
		return p.group(), false
	case '[':
		return p.bracket(), false
	case '*', '+', '?':
		p.fail(true, "nothing to repeat")
	case '\\':
		return p.escape()
	}
	return class(runeSet{{r, r}}), false
}

func (p *patternParser) group() *rx {
	if p.eat('?') {
		switch {
		case p.eat(':'):
		case p.eat('='), p.eat('!'):
			p.fail(false, "look-ahead")
		case p.eat('<'):
			if p.eat('=') || p.eat('!') {
				p.fail(false, "look-behind")
				return nil
			}
			for p.more() && p.text[p.pos] != '>' {
				p.pos++
			}
			if !p.eat('>') {
				p.fail(true, "a group name without end")
			}
		default:
			p.fail(true, "an unknown group")
		}
	}
	if p.fault != "" {
		return nil
	}
	inner := p.alternation()
	if !p.eat(')') {
		p.fail(true, "a group without end")
	}
	return inner
}
