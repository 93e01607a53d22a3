// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
)

// judge turns the deltas of one pair of schemas into changes.
type judge struct {
	dir      ss.Direction
	old, new *document
	before   *ss.Schema
	after    *ss.Schema
	budget   ss.Budget
	unreal   map[*ss.Delta]bool // theoretical losses
	// noRealLoss: every loss needs a name that nobody was told of.
	noRealLoss bool
	moved      map[*ss.Delta]Place // reported elsewhere than where the delta is
	changes    []Change
}

func (c *comparer) compareSchemas(old, new jsonx.Raw, dir ss.Direction) *schemaResult {
	j := &judge{dir: dir, old: newDocument(old), new: newDocument(new), moved: map[*ss.Delta]Place{}}
	before, was := ss.Parse(old, ss.ParseOptions{})
	after, is := ss.Parse(new, ss.ParseOptions{})
	j.before, j.after, j.budget = before, after, c.opt.Budget
	j.problems(was, is)
	x, y := newValidator(old), newValidator(new)
	e := ss.Explain(before, after, ss.Options{
		Direction: ss.Both, Budget: c.opt.Budget,
		Confirm: func(v []byte) (bool, bool, error) {
			wasOK, err := x.valid(v)
			if err != nil {
				return false, false, err
			}
			isOK, err := y.valid(v)
			return wasOK, isOK, err
		},
	})
	j.unreal = j.theoretical(e, c.opt.Budget)
	for i := range e.Deltas {
		j.delta(&e.Deltas[i])
	}
	j.root(e)
	j.oneCause()
	j.nothingLost(e)
	if e.Root.Relation != ss.Equal {
		j.dialectMatters()
	}
	if !slices.ContainsFunc(j.changes, func(ch Change) bool { return !aboutDocument[ch.ID] }) {
		j.respelled()
	}
	return &schemaResult{j.changes}
}

// dialectMatters takes back that a new dialect changes nothing, where the sets
// differ: what differs is listed, whichever way it came.
func (j *judge) dialectMatters() {
	for i := range j.changes {
		if ch := &j.changes[i]; ch.ID == kindDialect.ID {
			ch.Message, ch.Why = "$schema changed", "the changes listed beside it hold under the dialects that both sides state"
		}
	}
}

// aboutDocument are the kinds that do not hinder from saying how else a schema
// is spelled differently.
var aboutDocument = map[string]bool{kindDialect.ID: true, kindIdentity.ID: true}

func lookup(raw jsonx.Raw, pointer string) jsonx.Raw {
	v, err := jsonx.Lookup(raw, pointer)
	if err != nil {
		return nil
	}
	return v
}

func (j *judge) change(k *kind, p Place) Change {
	return Change{
		ID: k.ID, Class: k.class, Certainty: Structural, Place: p, Message: k.Title, Why: k.Why,
		Output: j.dir == ss.Output,
	}
}

// harmful reports whether a change of the set of values hurts in this
// direction.
func (j *judge) harmful(c ss.Change) bool {
	switch c {
	case ss.Less:
		return j.dir == ss.Input
	case ss.More:
		return j.dir == ss.Output
	}
	return c != ss.Text
}

// witness takes the value that shows a delta in the direction that matters for
// its class: a harm by what was lost (or can newly arrive), anything else by
// what became possible.
func (j *judge) witness(ch *Change, lost, gained ss.Result, breaking bool) {
	r, isLost := lost, true
	if (j.dir == ss.Output) == breaking {
		r, isLost = gained, false
	}
	if r.Verdict == ss.Outside && r.Value != nil && r.Confirmed {
		ch.Certainty = Proven
		ch.Witness = &Witness{Value: r.Value, ValidBefore: isLost, ValidAfter: !isLost}
	}
}

// delta judges one delta.
func (j *judge) delta(d *ss.Delta) {
	k, cl := j.kindOf(d)
	if k == nil {
		return
	}
	gone := !d.HasNew && d.HasOld
	pointer := d.NewPtr
	if gone {
		pointer = d.OldPtr
	}
	place := Place{Pointer: pointer, Path: d.Path.String()}
	if d.Facet == ss.FacetDependentRequired || d.Facet == ss.FacetDependentSchemas {
		place.Path = d.Path.With(ss.Step{Kind: ss.StepProperty, Name: d.Name}).String()
	}
	if place.Path == "{}" {
		place.Path = "" // the members of the root: the keyword says more
	}
	if p, ok := j.moved[d]; ok {
		place = p
	}
	ch := j.change(k, place)
	ch.Class = cl
	ch.Before, ch.After = d.Before, d.After
	ch.Message = j.say(k, d)
	ch.Why = j.why(k, d, cl)
	for _, p := range d.Also {
		at := p.NewPtr
		if gone {
			at = p.OldPtr
		}
		ch.Also = append(ch.Also, Place{Pointer: at, Path: p.Path.String()})
	}
	if d.Change != ss.Text {
		j.witness(&ch, d.Lost, d.Gained, cl == Breaking)
	}
	if d.Change == ss.Maybe && ch.Certainty != Proven {
		ch.Certainty = Undecided
		ch.Why += undecidedReason(d.Lost, d.Gained)
	}
	if ch.ID == kindArgumentRemovedOpen.ID && ch.Certainty != Proven {
		ch.Example = j.callWith(d.Path)
	}
	if d.Facet == ss.FacetEnum || d.Facet == ss.FacetConst {
		ch.listed = j.listedInOneForm(d)
	}
	if isText(d.Facet) {
		x, _ := jsonx.Text(d.Before)
		y, _ := jsonx.Text(d.After)
		ch.Words = text.WordDiff(textOf(x), textOf(y))
	}
	j.changes = append(j.changes, ch)
}

// callWith returns arguments that both sides accept and that hold the value at
// the path: what they mean has changed.
func (j *judge) callWith(path ss.Path) jsonx.Raw {
	without := "false"
	for i := len(path) - 1; i >= 0; i-- {
		switch s := path[i]; s.Kind {
		case ss.StepProperty:
			without = `{"properties":{` + string(jsonx.Quote(s.Name)) + `:` + without + `}}`
		case ss.StepItems:
			without = `{"items":` + without + `}`
		case ss.StepAdditional:
			without = `{"additionalProperties":` + without + `}`
		default:
			return nil
		}
	}
	absent, _ := ss.Parse([]byte(without), ss.ParseOptions{})
	r := ss.Contained(j.before, absent, j.budget)
	if r.Verdict != ss.Outside || r.Value == nil || ss.Eval(r.Value, j.after) != ss.Yes {
		return nil
	}
	return r.Value
}

func undecidedReason(results ...ss.Result) string {
	for _, r := range results {
		if r.Reason != "" {
			return " (undecided: " + r.Reason + ")"
		}
	}
	return ""
}

func isText(f ss.Facet) bool {
	return f == ss.FacetDescription || f == ss.FacetTitle || f == ss.FacetComment
}

// root reports what no facet explains.
func (j *judge) root(e *ss.Explanation) {
	report := func(k *kind, breaking bool) {
		ch := j.change(k, Place{})
		if !breaking {
			ch.Class = Additive
		}
		ch.Before, ch.After = j.old.raw, j.new.raw
		j.witness(&ch, e.Root.Lost, e.Root.Gained, breaking)
		j.changes = append(j.changes, ch)
	}
	if e.LostUnexplained && e.Root.Lost.Verdict == ss.Outside {
		report(kindSetNarrowed, j.dir == ss.Input && !j.noRealLoss)
	}
	if e.GainedUnexplained && e.Root.Gained.Verdict == ss.Outside {
		report(kindSetWidened, j.dir == ss.Output)
	}
	harm := e.Root.Lost
	if j.dir == ss.Output {
		harm = e.Root.Gained
	}
	if harm.Verdict == ss.Undecided && !j.anyBreaking() {
		ch := j.change(kindUndecided, Place{})
		ch.Certainty, ch.Before, ch.After = Undecided, j.old.raw, j.new.raw
		ch.Why += undecidedReason(harm)
		j.changes = append(j.changes, ch)
	}
}

// nothingLost is the net below all that was left out as said elsewhere: a harm
// that was proven leads to a breaking change, whatever it is called.
func (j *judge) nothingLost(e *ss.Explanation) {
	if j.anyBreaking() {
		return
	}
	for i := range e.Deltas {
		d := &e.Deltas[i]
		harm := d.Lost
		if j.dir == ss.Output {
			harm = d.Gained
		}
		if !d.Facet.AffectsSet() || harm.Verdict != ss.Outside || d.SafeInteger || j.unreal[d] {
			continue
		}
		k := kindSetNarrowed
		if j.dir == ss.Output {
			k = kindSetWidened
		}
		ch := j.change(k, Place{Pointer: d.NewPtr, Path: d.Path.String()})
		ch.Before, ch.After = d.Before, d.After
		j.witness(&ch, d.Lost, d.Gained, true)
		j.changes = append(j.changes, ch)
		return
	}
}

func (j *judge) anyBreaking() bool {
	return slices.ContainsFunc(j.changes, func(ch Change) bool { return ch.Class == Breaking })
}
