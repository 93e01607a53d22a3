// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/surface"
)

// schemaKey names one comparison of schemas: servers repeat schemas, so equal
// ones are compared once.
type schemaKey struct {
	old, new string
	dir      ss.Direction
}

// schemaResult is the judged comparison of two schemas, relative to the item's
// member that holds them.
type schemaResult struct {
	changes []Change // Place.Name is empty
}

// inputSchema compares the arguments of a tool.
func (c *comparer) inputSchema(a at, old, new *surface.Item) {
	b, n := old.Member("inputSchema"), new.Member("inputSchema")
	if string(b) == string(n) {
		return
	}
	a = a.member("inputSchema")
	switch {
	case n == nil || jsonx.KindOf(n) != jsonx.Object:
		c.add(kindRootNotObject, a, values(b, n), message("inputSchema is not an object any more"))
		return
	case b == nil || jsonx.KindOf(b) != jsonx.Object:
		return // it was no schema that a caller could follow
	}
	c.rootShape(a, b, n)
	c.schema(a, b, n, ss.Input)
	c.headers(a, b, n)
}

// outputSchema compares the structured results of a tool.
func (c *comparer) outputSchema(a at, old, new *surface.Item) {
	b, n := old.Member("outputSchema"), new.Member("outputSchema")
	a = a.member("outputSchema")
	switch {
	case string(b) == string(n):
	case b == nil:
		c.add(kindOutputSchemaAdded, a, values(b, n))
	case n == nil:
		c.add(kindOutputSchemaRemoved, a, values(b, n), c.anythingArrives(b))
	case c.wrapped(a, b, n):
	default:
		c.schema(a, b, n, ss.Output)
	}
}

// anythingArrives gives a removed output schema its witness: a value that it
// did not allow.
func (c *comparer) anythingArrives(old jsonx.Raw) func(*Change) {
	return func(ch *Change) {
		ch.Output = true
		before, problems := ss.Parse(old, ss.ParseOptions{})
		all, _ := ss.Parse([]byte("true"), ss.ParseOptions{})
		if len(problems) > 0 {
			return
		}
		r := ss.Contained(all, before, c.opt.Budget)
		if r.Verdict != ss.Outside || r.Value == nil {
			return
		}
		if ok, err := newValidator(old).valid(r.Value); err == nil && !ok {
			ch.Certainty, ch.Witness = Proven, &Witness{Value: r.Value, ValidAfter: true}
		}
	}
}

// schema reports the changes between two schemas at one place.
func (c *comparer) schema(a at, old, new jsonx.Raw, dir ss.Direction) {
	k := schemaKey{string(old), string(new), dir}
	r, ok := c.schemas[k]
	if !ok {
		r = c.compareSchemas(old, new, dir)
		c.schemas[k] = r
	}
	for _, ch := range r.changes {
		ch.Kind, ch.Name = a.kind, a.Name
		ch.Pointer = a.Pointer + ch.Pointer
		c.changes = append(c.changes, ch)
	}
}

// judge turns the deltas of one pair of schemas into changes.
type judge struct {
	dir      ss.Direction
	old, new jsonx.Raw
	changes  []Change
}

func (c *comparer) compareSchemas(old, new jsonx.Raw, dir ss.Direction) *schemaResult {
	j := &judge{dir: dir, old: old, new: new}
	before, was := ss.Parse(old, ss.ParseOptions{})
	after, is := ss.Parse(new, ss.ParseOptions{})
	j.problems(was, is)
	x, y := newValidator(old), newValidator(new)
	e := ss.Explain(before, after, ss.Options{
		Direction: dir, Budget: c.opt.Budget,
		Confirm: func(v []byte) (bool, bool, error) {
			wasOK, err := x.valid(v)
			if err != nil {
				return false, false, err
			}
			isOK, err := y.valid(v)
			return wasOK, isOK, err
		},
	})
	for i := range e.Deltas {
		j.delta(&e.Deltas[i])
	}
	j.root(e)
	if len(j.changes) == 0 {
		j.respelled()
	}
	return &schemaResult{j.changes}
}

// problemKinds are the faults of a schema that callers are hurt by when they
// appear.
var problemKinds = map[ss.ProblemKind]*kind{
	ss.ProblemExternalRef:    kindExternalRef,
	ss.ProblemDanglingRef:    kindDanglingRef,
	ss.ProblemUnknownDialect: kindDialectUnknown,
	ss.ProblemSyntax:         kindSchemaBroken,
	ss.ProblemNotSchema:      kindSchemaBroken,
	ss.ProblemWrongShape:     kindSchemaBroken,
	ss.ProblemInPlaceLoop:    kindSchemaBroken,
	ss.ProblemBadPattern:     kindSchemaBroken,
}

// problems reports faults of the new schema that the old one did not have.
func (j *judge) problems(old, new []ss.Problem) {
	had := map[ss.Problem]bool{}
	for _, p := range old {
		had[ss.Problem{Kind: p.Kind, Pointer: p.Pointer, Keyword: p.Keyword}] = true
	}
	for _, p := range new {
		k := problemKinds[p.Kind]
		if k == nil || had[ss.Problem{Kind: p.Kind, Pointer: p.Pointer, Keyword: p.Keyword}] {
			continue
		}
		if p.Kind == ss.ProblemWrongShape && p.Keyword == "required" {
			k = kindRequiredShape
		}
		ch := j.change(k, Place{Pointer: p.Pointer})
		ch.Before, ch.After = lookup(j.old, p.Pointer), lookup(j.new, p.Pointer)
		if p.Detail != "" {
			ch.Message = k.Title + ": " + text.Line(text.Clip(p.Detail, 200))
		}
		j.changes = append(j.changes, ch)
	}
}

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
	pointer := d.NewPtr
	if !d.HasNew && d.HasOld {
		pointer = d.OldPtr
	}
	ch := j.change(k, Place{Pointer: pointer, Path: d.Path.String()})
	ch.Class = cl
	ch.Before, ch.After = d.Before, d.After
	ch.Message = j.say(k, d)
	for _, p := range d.Also {
		at := p.NewPtr
		if !d.HasNew && d.HasOld {
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
		ch.Example = d.Gained.Value
	}
	if isText(d.Facet) {
		x, _ := jsonx.Text(d.Before)
		y, _ := jsonx.Text(d.After)
		ch.Words = text.WordDiff(textOf(x), textOf(y))
	}
	j.changes = append(j.changes, ch)
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

// say is the kind's title with what a reader wants to see at once.
func (j *judge) say(k *kind, d *ss.Delta) string {
	m := k.Title
	name := func(n string) string { return text.Line(text.Clip(n, 80)) }
	switch {
	case len(d.Removed) > 0 && len(d.Added) > 0:
		m += fmt.Sprintf(": %s gone, %s new", list(d.Removed), list(d.Added))
	case len(d.Removed) > 0:
		m += ": " + list(d.Removed)
	case len(d.Added) > 0:
		m += ": " + list(d.Added)
	case d.Facet == ss.FacetVendor || d.Facet == ss.FacetValueText || d.Facet == ss.FacetRequired && d.Undeclared:
		m += ": " + name(d.Name)
	}
	switch {
	case d.RenamedTo != "":
		m += "; looks renamed to " + name(d.RenamedTo)
	case d.RenamedFrom != "":
		m += "; looks renamed from " + name(d.RenamedFrom)
	case len(d.MovedTo) > 0:
		m += "; it is at " + name(d.MovedTo.String()) + " now"
	}
	return m
}

// list names up to five values.
func list(vs []jsonx.Raw) string {
	const most = 5
	var b strings.Builder
	for i, v := range vs {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(vs)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(text.Line(text.Clip(string(v), 60)))
	}
	return b.String()
}

// root reports what no facet explains.
func (j *judge) root(e *ss.Explanation) {
	report := func(k *kind, breaking bool) {
		ch := j.change(k, Place{})
		if !breaking {
			ch.Class = Additive
		}
		ch.Before, ch.After = j.old, j.new
		j.witness(&ch, e.Root.Lost, e.Root.Gained, breaking)
		j.changes = append(j.changes, ch)
	}
	theoretical := j.dir == ss.Input && e.DeclaredLost.Verdict == ss.Inside
	if e.LostUnexplained && !theoretical {
		report(kindSetNarrowed, j.dir == ss.Input)
	}
	if e.GainedUnexplained {
		report(kindSetWidened, j.dir == ss.Output)
	}
	harm := e.Root.Lost
	if j.dir == ss.Output {
		harm = e.Root.Gained
	}
	if harm.Verdict == ss.Undecided && !j.anyBreaking() {
		ch := j.change(kindUndecided, Place{})
		ch.Certainty, ch.Before, ch.After = Undecided, j.old, j.new
		ch.Why += undecidedReason(harm)
		j.changes = append(j.changes, ch)
	}
}

func (j *judge) anyBreaking() bool {
	for i := range j.changes {
		if j.changes[i].Class == Breaking {
			return true
		}
	}
	return false
}
