// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/order"
)

// Basis says what a rule rests on; it bounds how hard the rule may judge.
type Basis string

// The bases of rules.
const (
	// Promise: the server's own recorded surface.
	Promise Basis = "promise"
	// Keyword: a word of RFC 2119 in the section named.
	Keyword Basis = "keyword"
	// Schema: the official schema of the revision.
	Schema Basis = "schema"
	// Prose: the specification says so without such a word.
	Prose Basis = "prose"
	// Derived: it follows from what the specification says.
	Derived Basis = "derived"
	// Advisory: it is good practice, not specification.
	Advisory Basis = "advisory"
	// Harm: what is judged is an effect that hurts people, and was seen,
	// whatever the specification says of it.
	Harm Basis = "harm"
	// Premise: without it nothing else could be judged.
	Premise Basis = "premise"
)

// Words of a level as the specification uses them (RFC 2119).
const (
	Must      = "MUST"
	MustNot   = "MUST NOT"
	Should    = "SHOULD"
	ShouldNot = "SHOULD NOT"
	May       = "MAY"
)

// Info is what a rule says of itself: the text of `mcprove rules`, `mcprove
// explain` and the generated documentation.
type Info struct {
	ID     string // kebab-case, unique, never reused
	Family string // "contract"
	Level  string // what a finding of it means by default, in the family's words: "breaking"
	Basis  Basis
	Title  string // one line: what was found
	Why    string // who is hurt, and how
	Fix    string // what to do about it
	Detail string // how it is decided; may be empty

	Section    string   // of the specification: "2026-07-28/basic#requests"
	Revisions  []string // it holds in; nil for a family that knows none
	Transport  string   // "http", "http+sse" alone, "stdio"; empty for any
	ReportOnly bool     // a finding is for information, whatever the level says
}

// Severity is the hardest status that a finding of the rule may have: fail for
// a MUST that the specification states by a keyword or its schema, or that people
// are hurt without, warn for a
// SHOULD and for what rests on less, info for a MAY and what is only reported.
func (i Info) Severity() Status {
	must := i.Level == Must || i.Level == MustNot
	switch {
	case i.ReportOnly, i.Level == May:
		return Note
	case must && (i.Basis == Keyword || i.Basis == Schema || i.Basis == Premise || i.Basis == Harm):
		return Fail
	}
	return Warn
}

// Registry is a set of Infos with unique ids.
type Registry struct {
	byID map[string]Info
}

// NewRegistry returns a registry of the given families' Infos. It panics on a
// repeated id or an Info without text: the program would be wrong.
func NewRegistry(families ...[]Info) *Registry {
	r := &Registry{byID: map[string]Info{}}
	for _, infos := range families {
		for _, i := range infos {
			if _, ok := r.byID[i.ID]; ok {
				panic("rule: id registered twice: " + i.ID)
			}
			if i.ID == "" || i.Title == "" || i.Why == "" || i.Fix == "" || i.Level == "" {
				panic(fmt.Sprintf("rule: incomplete info: %+v", i))
			}
			r.byID[i.ID] = i
		}
	}
	return r
}

// Lookup returns the Info of an id.
func (r *Registry) Lookup(id string) (Info, bool) {
	i, ok := r.byID[id]
	return i, ok
}

// All returns the Infos sorted by family and id.
func (r *Registry) All() []Info {
	out := make([]Info, 0, len(r.byID))
	for _, i := range r.byID {
		out = append(out, i)
	}
	order.Func(out, func(a, b Info) int {
		return strings.Compare(a.Family+"\x00"+a.ID, b.Family+"\x00"+b.ID)
	})
	return out
}

// Nearest returns the known ids most like id, best first, for a did-you-mean.
func (r *Registry) Nearest(id string) []string {
	ids := make([]string, 0, len(r.byID))
	for k := range r.byID {
		ids = append(ids, k)
	}
	return Nearest(id, ids)
}

// Nearest returns up to three of the words that are most like w, best first:
// those that contain it or are a few edits away.
func Nearest(w string, words []string) []string {
	type scored struct {
		word  string
		score int
	}
	var near []scored
	limit := max(2, len(w)/3)
	for _, k := range words {
		d := distance(strings.ToLower(w), strings.ToLower(k))
		if w != "" && strings.Contains(k, w) {
			d = min(d, 1)
		}
		if d <= limit {
			near = append(near, scored{k, d})
		}
	}
	order.Func(near, func(a, b scored) int {
		if a.score != b.score {
			return a.score - b.score
		}
		return strings.Compare(a.word, b.word)
	})
	var out []string
	for _, n := range near[:min(3, len(near))] {
		out = append(out, n.word)
	}
	return out
}

// distance is the Levenshtein distance with neighbours swapped counting one.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	two, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], two[j-2]+1)
			}
		}
		two, prev, cur = prev, cur, two
	}
	return prev[len(y)]
}
