// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/surface"
)

// Options steers Compare; the zero value is ready.
type Options struct {
	// Ignore leaves items out on both sides.
	Ignore []surface.Pattern
	// DeprecationPolicy: a tool that the old surface marks as deprecated may go.
	DeprecationPolicy bool
	// MaxListBytes makes a tool listing that grows past it a routing change.
	MaxListBytes int
	// Budget bounds each question about schemas; zero means the default.
	Budget ss.Budget
}

// Result is the outcome of Compare.
type Result struct {
	// Changes are sorted: the worst class first, then by kind, name and pointer.
	Changes []Change
	// Unchanged names what was compared and did not change, by kind.
	Unchanged []Place
	// Compared counts the items that both surfaces show, per kind ("tool").
	Compared map[string]int
	// Notes say what was not compared, and why.
	Notes []string
}

// Worst is the worst class among the changes that are not accepted; zero when
// there is none.
func (r *Result) Worst() Class {
	worst := Class(0)
	for i := range r.Changes {
		if r.Changes[i].Accepted == "" {
			worst = max(worst, r.Changes[i].Class)
		}
	}
	return worst
}

// Counts counts the changes that are not accepted, by class.
func (r *Result) Counts() map[Class]int {
	n := map[Class]int{}
	for i := range r.Changes {
		if r.Changes[i].Accepted == "" {
			n[r.Changes[i].Class]++
		}
	}
	return n
}

// Compare judges every difference between two surfaces of a server from the
// side of the callers that were built on old. Only facets that both surfaces
// captured are compared; the rest is named in the notes.
func Compare(old, new *surface.Surface, opt Options) *Result {
	old, new = old.Without(opt.Ignore), new.Without(opt.Ignore)
	c := &comparer{opt: opt, schemas: map[schemaKey]*schemaResult{}, result: &Result{Compared: map[string]int{}}}
	c.old, c.new = surface.Aligned(old, new)
	c.server()
	c.tools()
	c.prompts()
	c.resources()
	c.templates()
	c.unrecorded()
	c.finish()
	return c.result
}

// comparer carries one comparison.
type comparer struct {
	opt      Options
	old, new *surface.Surface
	schemas  map[schemaKey]*schemaResult
	changes  []Change
	result   *Result
}

// both reports whether a facet can be judged.
func (c *comparer) both(f surface.Facet) bool { return c.old.Facets.Has(f) && c.new.Facets.Has(f) }

// at is a place that changes are reported for.
type at struct {
	kind string // "tool"
	Place
}

// member is the place of a member of the item.
func (a at) member(name string) at {
	a.Pointer = jsonx.Push(a.Pointer, name)
	if a.Path == "" {
		a.Path = name
	} else {
		a.Path += "." + name
	}
	return a
}

// add reports a change of kind k; set fills in what the kind does not know.
func (c *comparer) add(k *kind, a at, set ...func(*Change)) {
	ch := Change{
		ID: k.ID, Class: k.class, Certainty: Structural, Kind: a.kind, Place: a.Place,
		Message: k.Title, Why: k.Why,
	}
	for _, f := range set {
		f(&ch)
	}
	c.changes = append(c.changes, ch)
}

func values(before, after jsonx.Raw) func(*Change) {
	return func(ch *Change) { ch.Before, ch.After = before, after }
}

func message(m string) func(*Change) {
	return func(ch *Change) { ch.Message = m }
}

func class(cl Class) func(*Change) {
	return func(ch *Change) { ch.Class = cl }
}

func str(s string) jsonx.Raw { return jsonx.Quote(s) }

// group is how many places of one cause are reported as one change.
const group = 3

// finish groups changes with one cause, sorts them and names them.
func (c *comparer) finish() {
	// The class and the words belong to the cause: one kind can go both ways.
	type cause struct {
		id, kind, pointer, path, before, after, certainty, message string
		class                                                      Class
	}
	first := map[cause][]int{}
	for i := range c.changes {
		ch := &c.changes[i]
		k := cause{ch.ID, ch.Kind, ch.Pointer, ch.Path, string(ch.Before), string(ch.After), ch.Certainty.String(), ch.Message, ch.Class}
		if ch.cause != "" {
			k.before, k.after = ch.cause, ""
		}
		first[k] = append(first[k], i)
	}
	drop := make([]bool, len(c.changes))
	for _, is := range first {
		if len(is) < group {
			continue
		}
		for _, i := range is[1:] {
			c.changes[is[0]].Also = append(c.changes[is[0]].Also, c.changes[i].Place)
			c.changes[is[0]].Also = append(c.changes[is[0]].Also, c.changes[i].Also...)
			drop[i] = true
		}
	}
	out := c.changes[:0:0]
	for i := range c.changes {
		if !drop[i] {
			ch := c.changes[i]
			ch.Fingerprint = ch.fingerprint()
			out = append(out, ch)
		}
	}
	order.Stable(out, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(b.Class, a.Class), cmp.Compare(kindOrder[a.Kind], kindOrder[b.Kind]),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.ID, b.ID),
		)
	})
	c.result.Changes = out
	c.versionBump()
	c.unchanged()
}

var kindOrder = map[string]int{"server": 0, "tool": 1, "prompt": 2, "resource": 3, "template": 4}

// unchanged lists what both surfaces show and nothing was said of.
func (c *comparer) unchanged() {
	touched := map[[2]string]bool{}
	for i := range c.result.Changes {
		ch := &c.result.Changes[i]
		touched[[2]string{ch.Kind, ch.Name}] = true
		for _, p := range ch.Also {
			touched[[2]string{ch.Kind, p.Name}] = true
		}
	}
	for _, k := range surface.Kinds {
		for _, m := range matched(c.old.Items(k), c.new.Items(k)) {
			if m.old != nil && m.new != nil && !touched[[2]string{k.One(), m.name}] {
				c.result.Unchanged = append(c.result.Unchanged, Place{Name: m.name, Path: k.One()})
			}
		}
	}
}

// match is one name on both sides. Of several items of one name, the last
// counts: clients that key by name keep that one.
type match struct {
	name     string
	old, new *surface.Item
	oldN     int // items of the name on each side
	newN     int
}

// matched pairs the items of two sorted lists by name.
func matched(old, new []surface.Item) []match {
	var out []match
	i, j := 0, 0
	for i < len(old) || j < len(new) {
		var name string
		switch {
		case i == len(old):
			name = new[j].Name
		case j == len(new):
			name = old[i].Name
		default:
			name = min(old[i].Name, new[j].Name)
		}
		m := match{name: name}
		for ; i < len(old) && old[i].Name == name; i++ {
			m.old, m.oldN = &old[i], m.oldN+1
		}
		for ; j < len(new) && new[j].Name == name; j++ {
			m.new, m.newN = &new[j], m.newN+1
		}
		out = append(out, m)
	}
	return out
}
