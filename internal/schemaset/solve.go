// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// solver answers one question, or several about the same documents: is there a
// value that all of some nodes accept and that none of others accepts?
type solver struct {
	budget  Budget
	steps   int
	stopped bool
	bare    bool    // do without the second engine
	lens    *Schema // its objects that declare properties hold no other names

	docs   []*Schema
	cyclic map[*node]hash
	ids    map[*node]int32
	byHash map[hash]int32

	made   map[*node]hash // of made-up nodes
	memo   map[string]outcome
	active map[string]int
	depth  int

	disjoint map[*node]bool // of oneOf: proven; false while it is being proven
}

// outcome is what the search says of one goal. low is the depth of the
// outermost open goal that the outcome leaned on.
type outcome struct {
	st     status
	v      *val
	reason string
	low    int
}

const noGoal = math.MaxInt

func found(v *val) outcome { return outcome{st: sat, v: v, low: noGoal} }

func closed() outcome { return outcome{st: empty, low: noGoal} }

func open(reason string) outcome { return outcome{st: unknown, reason: reason, low: noGoal} }

const (
	reasonBudget = "the budget of steps is used up"
	reasonDepth  = "the values nest too deep"
	reasonWords  = "the patterns are too intricate"
)

// The counters of the process, which tests watch.
var (
	selfCheckFailures atomic.Int64
)

// SelfCheckFailures counts the values the search found and the internal
// validator refused. Each is a fault of this package; the question it came from
// was answered with Undecided.
func SelfCheckFailures() int64 { return selfCheckFailures.Load() }

func newSolver(b Budget, docs ...*Schema) *solver {
	if b.Steps <= 0 {
		b.Steps = 60_000
	}
	if b.Depth <= 0 {
		b.Depth = 1_200
	}
	if b.RegexStates <= 0 {
		b.RegexStates = 4_000
	}
	return &solver{
		budget: b, docs: docs, cyclic: refine(docs),
		ids: map[*node]int32{}, byHash: map[hash]int32{}, made: map[*node]hash{},
		memo: map[string]outcome{}, active: map[string]int{}, disjoint: map[*node]bool{},
	}
}

// fresh starts the budget anew and keeps what has been learnt.
func (s *solver) fresh() { s.steps, s.stopped = 0, false }

func (s *solver) hashOf(n *node) hash {
	if n.doc != nil {
		if n.cyclic {
			return s.cyclic[n]
		}
		return n.hash
	}
	h, ok := s.made[n]
	if !ok {
		h = hashOf(n, s.hashOf)
		s.made[n] = h
	}
	return h
}

// id numbers nodes so that equal numbers mean equal sets.
func (s *solver) id(n *node) int32 {
	if id, ok := s.ids[n]; ok {
		return id
	}
	h := s.hashOf(n)
	id, ok := s.byHash[h]
	if !ok {
		id = int32(len(s.byHash))
		s.byHash[h] = id
	}
	s.ids[n] = id
	return id
}

func (s *solver) spend(weight int) bool {
	if s.steps += weight; s.steps > s.budget.Steps {
		s.stopped = true
	}
	return !s.stopped
}

// contained answers for whole documents.
func (s *solver) contained(a, b *Schema) Result {
	if a.looped || b.looped {
		if string(a.raw) == string(b.raw) {
			return Result{Verdict: Inside}
		}
		return Result{Reason: "a schema returns to itself in place"}
	}
	if s.id(a.root) == s.id(b.root) {
		return Result{Verdict: Inside}
	}
	return s.ask([]*node{a.root}, []*node{b.root})
}

// ask runs one question and checks a value that is found.
func (s *solver) ask(pos, neg []*node) Result {
	s.fresh()
	out := s.goal(pos, neg)
	res := Result{Steps: s.steps, Reason: out.reason}
	switch out.st {
	case empty:
		res.Verdict = Inside
	case sat:
		if out.v.huge {
			res.Verdict, res.Note = Outside, out.v.note
			break
		}
		if t := newEvaluator().both(out.v, pos, neg); t != Yes {
			selfCheckFailures.Add(1)
			res.Reason = "a value was found but not confirmed"
			break
		}
		res.Verdict, res.Value = Outside, jsonx.Raw(out.v.appendJSON(nil))
	default:
		if v := s.sample(pos, neg); v != nil {
			res.Verdict, res.Reason, res.Value = Outside, "", jsonx.Raw(v.appendJSON(nil))
		}
	}
	return res
}

// check evaluates a value against both lists, within the budget.
func (s *solver) check(v *val, pos, neg []*node) Truth {
	e := newEvaluator()
	t := e.both(v, pos, neg)
	s.spend(1 + e.steps/32)
	return t
}

func (e *evaluator) both(v *val, pos, neg []*node) Truth {
	t := Yes
	for _, p := range pos {
		t = and(t, e.eval(p, v))
	}
	for _, n := range neg {
		t = and(t, negate(e.eval(n, v)))
	}
	return t
}

// goal solves one conjunction, using what is known of it. A goal that is met
// again below itself is closed: a smallest value for it never holds a value for
// the same goal. What leaned on that assumption is remembered only once the
// goal it leaned on has been closed itself.
func (s *solver) goal(pos, neg []*node) outcome {
	if s.stopped {
		return open(reasonBudget)
	}
	key := s.goalKey(pos, neg)
	if out, ok := s.memo[key]; ok {
		return out
	}
	if at, ok := s.active[key]; ok {
		return outcome{st: empty, low: at}
	}
	if s.depth >= s.budget.Depth {
		return open(reasonDepth)
	}
	s.depth++
	at := s.depth
	s.active[key] = at
	out := s.run(pos, neg)
	if out.st == sat {
		out.v = out.v.built()
	}
	delete(s.active, key)
	s.depth--
	if out.low >= at {
		out.low = noGoal
		if !s.stopped && out.reason != reasonDepth {
			s.memo[key] = out
		}
	}
	return out
}

func (s *solver) goalKey(pos, neg []*node) string {
	buf := make([]byte, 0, 4*(len(pos)+len(neg))+1)
	list := func(ns []*node) {
		ids := make([]int32, len(ns))
		for i, n := range ns {
			ids[i] = s.id(n)
		}
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(id))
		}
	}
	list(pos)
	buf = append(buf, '!')
	list(neg)
	return string(buf)
}

// run tries the kinds one by one.
func (s *solver) run(pos, neg []*node) outcome {
	mask := kAll
	for _, p := range pos {
		mask &= p.km
		if p.never {
			mask = 0
		}
	}
	if v := s.trySamples(pos, neg, mask); v != nil {
		return found(v)
	}
	res := closed()
	for _, k := range kindOrder {
		if mask&k == 0 {
			continue
		}
		b := &branch{kind: k, pos: pos, negs: slices.Clone(neg), neg: neg}
		out := closed()
		if s.assertAll(b, pos) {
			out = s.expand(b)
		}
		if out.st == sat {
			return out
		}
		res = join(res, out)
	}
	return res
}

// join adds the outcome of one more alternative, none of which was found.
func join(a, b outcome) outcome {
	if b.st == unknown && a.st != unknown {
		a.st, a.reason = unknown, b.reason
	}
	a.low = min(a.low, b.low)
	return a
}

// trySamples offers the scalar values that the schemas themselves name, so that
// a witness reads like a real call.
func (s *solver) trySamples(pos, neg []*node, mask kinds) *val {
	for _, p := range pos {
		for _, v := range p.samples {
			if v.kind&mask&^(kArray|kObject) == 0 {
				continue
			}
			if s.check(v, pos, neg) == Yes {
				return v
			}
		}
	}
	return nil
}
