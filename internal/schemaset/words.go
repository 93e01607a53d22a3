// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/order"
)

// wordQuery asks for a word that all of yes match and none of no, of a length
// within bounds and not among the excluded.
type wordQuery struct {
	yes, no  []*pattern
	min, max int // max may be absent
	excluded []string
	states   int // bound on the states of one program, made deterministic
	work     int // done so far
}

// wordWork bounds the work of one query.
const wordWork = 4_000_000

// wordTerm is one pattern of a query, by the numbers of its automata.
type wordTerm struct {
	progs, bans []int
	want        bool
}

func programs(ps []*pattern) (out []*program) {
	for _, p := range ps {
		out = append(append(out, p.progs...), p.bans...)
	}
	return out
}

type status uint8

const (
	unknown status = iota
	sat
	empty
)

// dfa makes one program deterministic, as far as it is walked.
type dfa struct {
	prog   *program
	sets   [][]int
	ids    map[string]int
	delta  [][]int32
	accept []bool
	live   []bool // false: no further rune leads to a match
}

func newDFA(p *program) *dfa {
	d := &dfa{prog: p, ids: map[string]int{}}
	d.id(p.first(), true)
	return d
}

// id returns the number of a set of states; the first set is number 0 and
// stands for the empty word only, since only there ^ and $ may meet.
func (d *dfa) id(set []int, first bool) int {
	var b strings.Builder
	if first {
		b.WriteByte('^')
	}
	for _, s := range set {
		b.WriteString(strconv.Itoa(s))
		b.WriteByte(',')
	}
	if id, ok := d.ids[b.String()]; ok {
		return id
	}
	id := len(d.sets)
	d.ids[b.String()] = id
	d.sets = append(d.sets, set)
	d.delta = append(d.delta, nil)
	d.accept = append(d.accept, d.prog.accepts(set, first))
	d.live = append(d.live, len(set) > 0)
	return id
}

func (d *dfa) step(state int, sym int, s *wordSearch) int {
	symbols := s.symbols
	if d.delta[state] == nil {
		row := make([]int32, len(symbols))
		for i := range row {
			row[i] = -1
		}
		d.delta[state] = row
	}
	if to := d.delta[state][sym]; to >= 0 {
		return int(to)
	}
	s.q.work += len(d.prog.states)/8 + len(d.sets[state])
	to := d.id(d.prog.step(d.sets[state], symbols[sym]), false)
	d.delta[state][sym] = int32(to)
	return to
}

// symbols picks one rune for every class of runes that no pattern and no
// excluded word tells apart, the friendliest first.
func (q *wordQuery) symbols() []rune {
	cuts := map[rune]bool{0: true, 0xD800: true, 0xE000: true}
	addSet := func(s runeSet) {
		for _, r := range s {
			cuts[r[0]] = true
			cuts[r[1]+1] = true
		}
	}
	var sets []runeSet
	for _, ps := range [...][]*pattern{q.yes, q.no} {
		for _, prog := range programs(ps) {
			for i := range prog.states {
				if s := &prog.states[i]; s.consumes && len(s.class) > 0 && !(len(s.class) == 1 && s.class[0][1] == maxRune && s.class[0][0] == 0) {
					sets = append(sets, s.class)
					addSet(s.class)
				}
			}
		}
	}
	for _, w := range q.excluded {
		for _, r := range w {
			addSet(runeSet{{r, r}})
		}
	}
	for _, r := range friendlyCuts {
		cuts[r] = true
	}
	list := make([]rune, 0, len(cuts))
	for r := range cuts {
		if r <= maxRune {
			list = append(list, r)
		}
	}
	slices.Sort(list)
	words := map[rune]bool{}
	for _, w := range q.excluded {
		for _, r := range w {
			words[r] = true
		}
	}
	best := map[string]rune{}
	sig := make([]byte, 0, len(sets)/8+8)
	for _, r := range list {
		if r >= 0xD800 && r < 0xE000 {
			continue // surrogates are no code points of a JSON text
		}
		sig = sig[:0]
		for j := 0; j < len(sets); j += 8 {
			var bits byte
			for k := j; k < min(j+8, len(sets)); k++ {
				if sets[k].has(r) {
					bits |= 1 << (k - j)
				}
			}
			sig = append(sig, bits)
		}
		if words[r] {
			sig = append(sig, string(r)...)
		}
		if old, ok := best[string(sig)]; !ok || runeRank(r) < runeRank(old) {
			best[string(sig)] = r
		}
	}
	out := make([]rune, 0, len(best))
	for _, r := range best {
		out = append(out, r)
	}
	order.Func(out, func(a, b rune) int { return runeRank(a) - runeRank(b) })
	return out
}

// friendlyCuts make good representatives available in wide classes.
var friendlyCuts = []rune{'a', 'b', '0', '1', 'A', 'B', ' ', '!', '-', '_', 'x', 'é', 0x4E00}

func runeRank(r rune) int {
	switch {
	case r == 0x2028 || r == 0x2029:
		return 3_000_000 // engines disagree whether a dot matches them
	case r >= 'a' && r <= 'z':
		return int(r)
	case r >= '0' && r <= '9':
		return 1000 + int(r)
	case r >= 'A' && r <= 'Z':
		return 2000 + int(r)
	case r == '-' || r == '_':
		return 2900 + int(r)
	case r > ' ' && r < 0x7F:
		return 3000 + int(r)
	case r == ' ':
		return 4000
	case r >= 0xA1:
		return 5000 + int(r)
	}
	return 2_000_000 + int(r) // control characters last
}

// trie holds the excluded words; -1 is off the trie.
type trie struct {
	next []map[rune]int
	end  []bool
}

func newTrie(words []string) *trie {
	t := &trie{next: []map[rune]int{{}}, end: []bool{false}}
	for _, w := range words {
		at := 0
		for _, r := range w {
			to, ok := t.next[at][r]
			if !ok {
				to = len(t.next)
				t.next = append(t.next, map[rune]int{})
				t.end = append(t.end, false)
				t.next[at][r] = to
			}
			at = to
		}
		t.end[at] = true
	}
	return t
}

func (t *trie) step(at int, r rune) int {
	if at < 0 {
		return -1
	}
	if to, ok := t.next[at][r]; ok {
		return to
	}
	return -1
}

type wordState struct {
	states []int
	trie   int
	parent int
	sym    rune
}

type wordSearch struct {
	q       *wordQuery
	symbols []rune
	dfas    []*dfa
	must    []bool // the automaton must accept
	terms   []wordTerm
	trie    *trie
	all     []wordState
}

// find searches breadth first, so that the word is a shortest one. Up to the
// least length every layer is kept apart; behind it a state seen once need not
// be seen again, which is why the search can close and prove that there is none.
func (q *wordQuery) find() (string, status) {
	if q.max != absent && q.min > q.max {
		return "", empty
	}
	for _, ps := range [...][]*pattern{q.yes, q.no} {
		for _, p := range ps {
			if p.opaque {
				return "", unknown
			}
		}
	}
	s := &wordSearch{q: q, symbols: q.symbols(), trie: newTrie(q.excluded)}
	start := wordState{trie: 0, parent: -1}
	add := func(progs []*program) (out []int) {
		for _, prog := range progs {
			out = append(out, len(s.dfas))
			s.dfas = append(s.dfas, newDFA(prog))
			start.states = append(start.states, 0)
		}
		return out
	}
	for i, p := range slices.Concat(q.yes, q.no) {
		s.terms = append(s.terms, wordTerm{progs: add(p.progs), bans: add(p.bans), want: i < len(q.yes)})
	}
	s.must = make([]bool, len(s.dfas))
	for _, t := range s.terms {
		for _, d := range t.progs {
			s.must[d] = t.want
		}
	}
	s.all = []wordState{start}
	layer := []int{0}
	var seen map[string]bool
	for length := 0; ; length++ {
		if length >= q.min {
			for _, i := range layer {
				if s.accepts(i) {
					return s.word(i), sat
				}
			}
			if seen == nil {
				seen = map[string]bool{}
				for _, i := range layer {
					seen[s.key(s.all[i])] = true
				}
			}
		}
		if len(layer) == 0 || q.max != absent && length >= q.max {
			return "", empty
		}
		next, ok := s.layer(layer, seen)
		if !ok {
			return "", unknown
		}
		layer = next
	}
}

// layer returns the states one rune further; ok is false beyond the budget.
func (s *wordSearch) layer(layer []int, seen map[string]bool) (next []int, ok bool) {
	local := seen
	if local == nil {
		local = map[string]bool{}
	}
	for _, i := range layer {
		for k, r := range s.symbols {
			from := s.all[i]
			to := wordState{states: make([]int, len(s.dfas)), trie: s.trie.step(from.trie, r), parent: i, sym: r}
			dead := false
			for d, m := range s.dfas {
				to.states[d] = m.step(from.states[d], k, s)
				if s.must[d] && !m.live[to.states[d]] {
					dead = true
					break
				}
				if len(m.sets) > s.q.states || s.q.work > wordWork {
					return nil, false
				}
			}
			if dead {
				continue
			}
			key := s.key(to)
			if local[key] {
				continue
			}
			local[key] = true
			if len(s.all) > 50*s.q.states {
				return nil, false
			}
			s.all = append(s.all, to)
			next = append(next, len(s.all)-1)
		}
	}
	return next, true
}

func (s *wordSearch) key(w wordState) string {
	b := make([]byte, 0, 4*len(w.states)+4)
	for _, i := range w.states {
		b = append(b, byte(i), byte(i>>8), byte(i>>16))
	}
	return string(append(b, byte(w.trie), byte(w.trie>>8), byte(w.trie>>16), byte(w.trie>>24)))
}

func (s *wordSearch) accepts(i int) bool {
	w := s.all[i]
	for _, t := range s.terms {
		holds := true
		for _, d := range t.progs {
			holds = holds && s.dfas[d].accept[w.states[d]]
		}
		for _, d := range t.bans {
			holds = holds && !s.dfas[d].accept[w.states[d]]
		}
		if holds != t.want {
			return false
		}
	}
	return w.trie < 0 || !s.trie.end[w.trie]
}

func (s *wordSearch) word(i int) string {
	var rs []rune
	for ; s.all[i].parent >= 0; i = s.all[i].parent {
		rs = append(rs, s.all[i].sym)
	}
	slices.Reverse(rs)
	return string(rs)
}
