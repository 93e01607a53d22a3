// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"bytes"

	"github.com/mcprove/mcprove/internal/jsonx"
)

func explain(old, new *Schema, opt Options) *Explanation {
	if opt.MaxDeltas <= 0 {
		opt.MaxDeltas = 5_000
	}
	x := &explainer{old: old, new: new, opt: opt, s: newSolver(opt.Budget, old, new), out: &Explanation{}, visits: map[string]*visit{}}
	x.out.Root = x.s.compare(old, new)
	x.confirm(&x.out.Root.Lost, true)
	x.confirm(&x.out.Root.Gained, false)
	x.try(&x.out.Root.Lost, true)
	x.try(&x.out.Root.Gained, false)
	x.s.bare = true // the roots have been sampled: lend passes on what was found
	if bytes.Equal(old.raw, new.raw) {
		return x.out
	}
	x.documents()
	if !old.looped && !new.looped {
		x.walk([]*node{old.root}, []*node{new.root}, spot{})
	}
	x.finish()
	return x.out
}

// explainer walks two documents in parallel. It proposes causes and never
// decides: a proposal is kept only with a value, or with the admission that
// nobody knows.
type explainer struct {
	old, new *Schema
	opt      Options
	s        *solver
	lens     *solver
	out      *Explanation
	set      []Delta
	texts    []Delta
	visits   map[string]*visit
	asked    int // steps of all proofs together
	stalled  int // proofs that used up their budget
	bytes    int // of all values together
}

// visit remembers what one pair of places gave, for other places that lead to
// the same pair.
type visit struct {
	busy    bool
	path    Path
	set     [2]int // the deltas found below it
	texts   [2]int
	dropped bool // a proposal was not proven there; elsewhere it may be
	again   int  // how often the pair was walked anew for that
}

// frame is one step of the way from the root of a value to a place: into the
// value, or into a branch of a union.
type frame struct {
	step     Step
	into     bool
	shutOld  *objectPart // for StepAdditional: the names that are not meant
	guardOld []*node
	guardNew []*node
}

// spot is a place during the walk.
type spot struct {
	path     Path
	frames   []frame
	optional bool   // some step to it is optional in the old schema
	branch   string // pointer of the union branch around it
	depth    int
}

func (p spot) into(st Step, optional bool) spot {
	q := p
	q.path = p.path.With(st)
	q.frames = append(p.frames[:len(p.frames):len(p.frames)], frame{step: st, into: true})
	q.optional = p.optional || optional
	q.depth++
	return q
}

func (p spot) guarded(old, new []*node, branch string) spot {
	if len(old) == 0 && len(new) == 0 {
		return p
	}
	q := p
	q.frames = append(p.frames[:len(p.frames):len(p.frames)], frame{guardOld: old, guardNew: new})
	q.branch = branch
	return q
}

// wrap nests a constraint at the spot. The result speaks of that place only and
// accepts everything else.
func (p spot) wrap(c *node, oldSide bool) *node {
	for i := len(p.frames) - 1; i >= 0; i-- {
		f := p.frames[i]
		if !f.into {
			guard := f.guardOld
			if !oldSide {
				guard = f.guardNew
			}
			if len(guard) > 0 {
				// guard implies c
				inner := newNode()
				inner.allOf = guard
				inner.not = c
				c = notNode(inner)
			}
			continue
		}
		n := newNode()
		switch f.step.Kind {
		case StepProperty:
			n = newObjectNode(&objectPart{max: absent, props: []property{{f.step.Name, c}}})
		case StepPattern:
			n = newObjectNode(&objectPart{max: absent, patterns: []patternProperty{{compilePattern(f.step.Name), c}}})
		case StepAdditional:
			o := &objectPart{max: absent, extra: c}
			if f.shutOld != nil {
				o.props, o.patterns, o.index = f.shutOld.props, f.shutOld.patterns, f.shutOld.index
			}
			n = newObjectNode(o)
		case StepName:
			n = newObjectNode(&objectPart{max: absent, names: c})
		case StepIndex, StepItems:
			n.arr = &arrayPart{max: absent, minC: 1, maxC: absent}
			for range f.step.Index {
				n.arr.prefix = append(n.arr.prefix, anything)
			}
			if f.step.Kind == StepIndex {
				n.arr.prefix = append(n.arr.prefix, c)
			} else {
				n.arr.rest = c
			}
		}
		c = n
	}
	return c
}

var anything = newNode()

// try shows small values to the validator of the caller where the search could
// not decide: a pattern beyond the regular ones does not stop a validator.
func (x *explainer) try(r *Result, lost bool) {
	if x.opt.Confirm == nil || r.Verdict != Undecided || x.old.looped || x.new.looped {
		return
	}
	pool := append(candidates(x.old.root, 60), candidates(x.new.root, 60)...)
	for i, v := range pool {
		if i >= 100 {
			return
		}
		text := jsonx.Raw(v.appendJSON(nil))
		oldOK, newOK, err := x.opt.Confirm(text)
		if err != nil {
			return
		}
		if oldOK == lost && newOK == !lost {
			*r = Result{Verdict: Outside, Value: text, Confirmed: true, Steps: r.Steps}
			return
		}
	}
}

// valueLimit bounds the bytes of all witnesses of one explanation; those beyond
// it are left out.
const valueLimit = 16 << 20

// explainLimit bounds the steps of all proofs of one explanation.
const explainLimit = 1_000_000

// maxStalled is how many proofs may use up their whole budget: where that many
// do the schemas are beyond the search, and later proofs get an eighth.
const maxStalled = 3

// settle proves what a proposal costs. lost is the constraint that the new side
// adds, gained the one that the old side had; nil where there is none.
func (x *explainer) settle(d *Delta, at spot, lost, gained *node) bool {
	d.Lost, d.Gained = Result{Verdict: Inside}, Result{Verdict: Inside}
	loses := func() {
		d.Lost = x.prove(x.old, x.new, at.wrap(lost, true))
		x.confirm(&d.Lost, true)
	}
	gains := func() {
		d.Gained = x.prove(x.new, x.old, at.wrap(gained, false))
		x.confirm(&d.Gained, false)
	}
	canLose := lost != nil && x.out.Root.Lost.Verdict != Inside
	canGain := gained != nil && x.out.Root.Gained.Verdict != Inside
	// What the direction judges by comes first; where that is found the rest
	// need not be asked.
	if x.opt.Direction == Output {
		if canGain {
			gains()
		}
		if canLose && d.Gained.Verdict == Outside {
			d.Lost = Result{Reason: reasonNotAsked}
		} else if canLose {
			loses()
		}
	} else {
		if canLose {
			loses()
		}
		if canGain && d.Lost.Verdict == Outside && x.opt.Direction == Input {
			d.Gained = Result{Reason: reasonNotAsked}
		} else if canGain {
			gains()
		}
	}
	d.Change = changeOf(d.Lost, d.Gained)
	return d.Change != Text
}

const reasonNotAsked = "not asked: the direction does not need it"

func changeOf(lost, gained Result) Change {
	switch {
	case lost.Verdict == Outside && gained.Verdict == Outside:
		return Differ
	case lost.Verdict == Outside:
		return Less
	case gained.Verdict == Outside:
		return More
	case lost.Verdict == Undecided || gained.Verdict == Undecided:
		return Maybe
	}
	return Text
}

// prove looks for a value of a that the constraint excludes and b refuses. The
// constraint goes first and alone: with both in one question each would make its
// own demand, and the value would show two differences.
func (x *explainer) prove(a, b *Schema, constraint *node) (res Result) {
	if x.asked > explainLimit {
		return Result{Reason: reasonBudget}
	}
	res = x.ask(a, constraint)
	defer x.drop(&res)
	if res.Verdict != Outside || res.Value == nil {
		return res
	}
	if v, err := readTree(res.Value); err == nil && newEvaluator().eval(b.root, v) == No {
		return res
	}
	return x.ask(a, constraint, b.root)
}

func (x *explainer) ask(a *Schema, neg ...*node) Result {
	res := x.s.ask([]*node{a.root}, neg)
	x.asked += res.Steps
	if x.s.stopped {
		if x.stalled++; x.stalled == maxStalled {
			x.s.budget.Steps = max(1, x.s.budget.Steps/8)
		}
	}
	return res
}

// drop leaves out a value once the values together are too large.
func (x *explainer) drop(r *Result) {
	if x.bytes += len(r.Value); x.bytes > valueLimit && r.Value != nil {
		r.Value, r.Note = nil, "a value left out: too many large ones"
	}
}

// confirm shows a witness to the validator of the caller.
func (x *explainer) confirm(r *Result, lost bool) {
	if x.opt.Confirm == nil || r.Verdict != Outside || r.Value == nil || r.Confirmed || r.Disputed {
		return
	}
	oldOK, newOK, err := x.opt.Confirm(r.Value)
	switch {
	case err != nil:
		r.Reason = "not confirmed: " + err.Error()
	case oldOK == lost && newOK == !lost:
		r.Confirmed = true
	default:
		r.Disputed = true
		r.Reason = "a validator disagrees: before " + word(oldOK) + ", after " + word(newOK)
		x.out.Disputes++
	}
}

func word(ok bool) string {
	if ok {
		return "valid"
	}
	return "invalid"
}

// finish orders the deltas and holds them against what the roots say.
func (x *explainer) finish() {
	x.lend(&x.out.Root.Lost, func(d *Delta) *Result { return &d.Lost })
	x.lend(&x.out.Root.Gained, func(d *Delta) *Result { return &d.Gained })
	lost, gained := false, false
	for _, d := range x.set {
		lost = lost || d.Lost.Verdict != Inside && d.Lost.Reason != reasonNotAsked
		gained = gained || d.Gained.Verdict != Inside && d.Gained.Reason != reasonNotAsked
	}
	x.out.LostUnexplained = x.out.Root.Lost.Verdict != Inside && !lost
	x.out.GainedUnexplained = x.out.Root.Gained.Verdict != Inside && !gained
	x.out.Deltas = append(x.set, x.texts...)
	if len(x.out.Deltas) > x.opt.MaxDeltas {
		x.out.Deltas, x.out.Truncated = x.out.Deltas[:x.opt.MaxDeltas], true
	}
	x.out.DeclaredLost = x.out.Root.Lost
	if x.out.Root.Lost.Verdict == Outside {
		x.out.DeclaredLost = x.lensed().ask([]*node{x.old.root}, []*node{x.new.root})
		x.confirm(&x.out.DeclaredLost, true)
	}
}

// lend gives the value found for the roots to the one delta that is open, if
// there is only one and no other delta has a value.
func (x *explainer) lend(root *Result, side func(*Delta) *Result) {
	if root.Verdict != Outside || root.Value == nil {
		return
	}
	at := -1
	for i := range x.set {
		switch r := side(&x.set[i]); {
		case r.Verdict == Outside:
			return
		case r.Verdict == Undecided && r.Reason != reasonNotAsked:
			if at >= 0 {
				return
			}
			at = i
		}
	}
	if at >= 0 {
		d := &x.set[at]
		*side(d) = *root
		d.Change = changeOf(d.Lost, d.Gained)
	}
}

// lensed returns the solver that applies the declared-names lens.
func (x *explainer) lensed() *solver {
	if x.lens == nil {
		x.lens = newSolver(x.opt.Budget, x.old, x.new)
		x.lens.lens, x.lens.bare = x.old, true
	}
	return x.lens
}

// maxAgain bounds how often one pair of places is walked anew. Definitions that
// each name the next one twice lead to the last one in 2^n ways.
const maxAgain = 12

// walk compares one place of the value in both documents.
func (x *explainer) walk(olds, news []*node, at spot) {
	if at.depth > maxNesting || len(x.set)+len(x.texts) > x.opt.MaxDeltas {
		return
	}
	if sameText(olds, news) {
		return
	}
	ov, nv := look(olds), look(news)
	key, again := pairKey(ov, nv), 0
	if v := x.visits[key]; v != nil {
		if v.busy || !v.dropped || v.again >= maxAgain {
			x.also(v, at.path)
			return
		}
		again = v.again + 1
	}
	v := &visit{busy: true, again: again, path: at.path, set: [2]int{len(x.set), 0}, texts: [2]int{len(x.texts), 0}}
	x.visits[key] = v
	x.place(ov, nv, at, v)
	v.busy = false
	v.set[1], v.texts[1] = len(x.set), len(x.texts)
}

// sameText reports that both sides are written alike and refer to nothing.
func sameText(olds, news []*node) bool {
	if len(olds) != len(news) {
		return false
	}
	for i, o := range olds {
		n := news[i]
		if o.src == nil || n.src == nil || o.src.raw == nil || !bytes.Equal(o.src.raw, n.src.raw) ||
			o.doc == nil || n.doc == nil || o.doc.dialect != n.doc.dialect || bytes.Contains(o.src.raw, []byte(`Ref"`)) || bytes.Contains(o.src.raw, []byte(`$ref`)) {
			return false
		}
	}
	return true
}

func pairKey(ov, nv *view) string {
	b := make([]byte, 0, 64)
	for _, v := range [...]*view{ov, nv} {
		for _, n := range v.nodes {
			if !n.bare() {
				b = append(append(b, n.ptr...), 0)
			}
		}
		b = append(b, 1)
	}
	return string(b)
}

// also notes one more place for all that a pair of places gave before.
func (x *explainer) also(v *visit, path Path) {
	if v.busy {
		return // the recursion itself
	}
	add := func(list []Delta) {
		for i := range list {
			d := &list[i]
			if len(d.Also) < 50 && len(d.Path) >= len(v.path) {
				p := append(append(Path{}, path...), d.Path[len(v.path):]...)
				d.Also = append(d.Also, Place{d.OldPtr, d.NewPtr, p})
			}
		}
	}
	add(x.set[v.set[0]:v.set[1]])
	add(x.texts[v.texts[0]:v.texts[1]])
}

// propose settles a set delta and keeps it if it is proven or open.
func (x *explainer) propose(d Delta, at spot, v *visit, lost, gained *node) bool {
	d.Path, d.Branch, d.ParentOptional = at.path, at.branch, at.optional
	if !x.settle(&d, at, lost, gained) {
		v.dropped = true
		return false
	}
	switch d.Facet {
	case FacetBranch, FacetOneOfOverlap, FacetNot, FacetConditional, FacetPatternProperties,
		FacetDependentRequired, FacetDependentSchemas:
		x.theoretical(&d, at, lost)
	}
	x.set = append(x.set, d)
	return true
}

func (x *explainer) text(d Delta, at spot) {
	d.Path, d.Branch, d.ParentOptional = at.path, at.branch, at.optional
	d.Lost, d.Gained = Result{Verdict: Inside}, Result{Verdict: Inside}
	x.texts = append(x.texts, d)
}

func rawOf(v *val) jsonx.Raw {
	if v == nil {
		return nil
	}
	return jsonx.Raw(v.appendJSON(nil))
}
