// SPDX-License-Identifier: Apache-2.0

package schemaset

import "slices"

// program is a non-deterministic automaton. A word is accepted when, after its
// last rune, the final state can be reached; the search for a match anywhere in
// the word is part of the program.
type program struct {
	states []pstate
	start  int
	final  int
}

// pstate consumes a rune of class and goes to out, or, without class, goes on
// to out and alt at once; begin and end allow that at the edges of the word only.
type pstate struct {
	class      runeSet
	consumes   bool
	begin, end bool
	out, alt   int
}

// maxProgram bounds the states of one pattern.
const maxProgram = 20_000

func compile(tree *rx) *program {
	p := &program{}
	p.final = p.add(pstate{out: -1, alt: -1})
	// A match may be followed by anything.
	tail := p.add(pstate{class: anyRune, consumes: true, alt: -1})
	after := p.add(pstate{out: p.final, alt: tail})
	p.states[tail].out = after
	body := p.build(tree, after)
	if body < 0 {
		return nil
	}
	lead := p.add(pstate{class: anyRune, consumes: true, alt: -1})
	p.start = p.add(pstate{out: body, alt: lead})
	p.states[lead].out = p.start
	return p
}

func (p *program) add(s pstate) int {
	p.states = append(p.states, s)
	return len(p.states) - 1
}

// build returns the state that begins tree and goes on to next; -1 when the
// program grows beyond its limit.
func (p *program) build(tree *rx, next int) int {
	if len(p.states) > maxProgram || next < 0 {
		return -1
	}
	switch tree.op {
	case rxClass:
		return p.add(pstate{class: tree.class, consumes: true, out: next, alt: -1})
	case rxBegin:
		return p.add(pstate{begin: true, out: next, alt: -1})
	case rxEnd:
		return p.add(pstate{end: true, out: next, alt: -1})
	case rxCat:
		for i := len(tree.subs) - 1; i >= 0; i-- {
			next = p.build(tree.subs[i], next)
		}
		return next
	case rxAlt:
		at := p.build(tree.subs[len(tree.subs)-1], next)
		for i := len(tree.subs) - 2; i >= 0; i-- {
			first := p.build(tree.subs[i], next)
			if first < 0 || at < 0 {
				return -1
			}
			at = p.add(pstate{out: first, alt: at})
		}
		return at
	case rxRepeat:
		return p.repeat(tree, next)
	}
	return next
}

func (p *program) repeat(tree *rx, next int) int {
	sub, at := tree.subs[0], next
	if tree.max < 0 {
		loop := p.add(pstate{out: -1, alt: next})
		body := p.build(sub, loop)
		if body < 0 {
			return -1
		}
		p.states[loop].out = body
		at = loop
	} else {
		for range tree.max - tree.min {
			body := p.build(sub, at)
			if body < 0 {
				return -1
			}
			at = p.add(pstate{out: body, alt: next})
		}
	}
	for range tree.min {
		at = p.build(sub, at)
	}
	return at
}

// closure adds the states reachable without consuming a rune. States that wait
// for the end of the word are kept, so that accepts can go on from them.
func (p *program) closure(from []int, atStart, atEnd bool) []int {
	seen := make([]bool, len(p.states))
	var out []int
	var visit func(i int)
	visit = func(i int) {
		if i < 0 || seen[i] {
			return
		}
		seen[i] = true
		s := &p.states[i]
		switch {
		case s.consumes || i == p.final:
			out = append(out, i)
		case s.begin:
			if atStart {
				visit(s.out)
			}
		case s.end:
			if atEnd {
				visit(s.out)
			}
			out = append(out, i)
		default:
			visit(s.out)
			visit(s.alt)
		}
	}
	for _, i := range from {
		visit(i)
	}
	slices.Sort(out)
	return out
}

func (p *program) first() []int { return p.closure([]int{p.start}, true, false) }

func (p *program) step(set []int, r rune) []int {
	var next []int
	for _, i := range set {
		if s := &p.states[i]; s.consumes && s.class.has(r) {
			next = append(next, s.out)
		}
	}
	return p.closure(next, false, false)
}

func (p *program) accepts(set []int, atStart bool) bool {
	if slices.Contains(set, p.final) {
		return true
	}
	var waiting []int
	for _, i := range set {
		if p.states[i].end {
			waiting = append(waiting, i)
		}
	}
	if waiting == nil {
		return false
	}
	return slices.Contains(p.closure(waiting, atStart, true), p.final)
}

// match reports whether the pattern matches somewhere in the word.
func (p *program) match(word string) bool {
	set := p.first()
	for _, r := range word {
		set = p.step(set, r)
	}
	return p.accepts(set, word == "")
}
