// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
)

// form is one of the shapes that a schema offers for a value: the schemas that
// hold together, with one branch chosen of every union.
type form []*document

// maxForms bounds how far unions are multiplied out.
const maxForms = 64

// forms lists the shapes of the value at a path; nil where there are too many
// to tell, or none.
func (d *document) forms(path ss.Path) []form {
	fs := d.spread(form{d})
	for _, step := range path {
		var next []form
		for _, f := range fs {
			var inner form
			for _, s := range f {
				inner = append(inner, s.below(step)...)
			}
			if len(inner) > 0 {
				next = append(next, d.spread(inner)...)
			}
			if len(next) > maxForms {
				return nil
			}
		}
		fs = next
	}
	return fs
}

// objectForms are the forms of a place that an object can have.
func (d *document) objectForms(path ss.Path) []form {
	return slices.DeleteFunc(d.forms(path), func(f form) bool {
		return slices.ContainsFunc(f, func(s *document) bool {
			t := s.get("type")
			return s.is("false") || t != nil && !t.is(`"object"`) &&
				!slices.ContainsFunc(t.elements(), func(e *document) bool { return e.is(`"object"`) })
		})
	})
}

// spread follows references and allOf, and chooses branches.
func (d *document) spread(start form) []form {
	type state struct {
		done form
		work []*document
	}
	states := []state{{work: start}}
	var out []form
	for len(states) > 0 {
		st := states[len(states)-1]
		states = states[:len(states)-1]
		if len(st.work) == 0 {
			out = append(out, st.done)
			continue
		}
		s := st.work[0]
		rest := slices.Clone(st.work[1:])
		if slices.Contains(st.done, s) || len(st.done) > 200 {
			states = append(states, state{st.done, rest})
			continue
		}
		done := append(slices.Clip(st.done), s)
		if t := d.target(s.get("$ref")); t != nil {
			rest = append(rest, t)
		}
		rest = append(rest, s.get("allOf").elements()...)
		chosen := []state{{done, rest}}
		for _, word := range []string{"anyOf", "oneOf"} {
			branches := s.get(word).elements()
			if len(branches) == 0 {
				continue
			}
			var next []state
			for _, c := range chosen {
				for _, b := range branches {
					next = append(next, state{c.done, append(slices.Clip(c.work), b)})
				}
			}
			chosen = next
		}
		if len(states)+len(out)+len(chosen) > maxForms {
			return nil
		}
		slices.Reverse(chosen)
		states = append(states, chosen...)
	}
	return out
}

// below returns what a schema says of a part of its values.
func (d *document) below(step ss.Step) form {
	pick := func(x *document) form {
		if x == nil || jsonx.KindOf(x.raw) == jsonx.Array {
			return nil
		}
		return form{x}
	}
	switch step.Kind {
	case ss.StepProperty:
		if p := d.get("properties").get(step.Name); p != nil {
			return pick(p)
		}
		return pick(d.get("additionalProperties"))
	case ss.StepAdditional:
		return pick(d.get("additionalProperties"))
	case ss.StepPattern:
		return pick(d.get("patternProperties").get(step.Name))
	case ss.StepIndex, ss.StepItems:
		prefix := d.get("prefixItems").elements()
		if prefix == nil {
			prefix = d.get("items").elements()
		}
		if step.Index < len(prefix) {
			return pick(prefix[step.Index])
		}
		if rest := d.get("additionalItems"); rest != nil && len(prefix) > 0 {
			return pick(rest)
		}
		return pick(d.get("items"))
	}
	return nil
}

func (f form) declares(name string) bool {
	return slices.ContainsFunc(f, func(s *document) bool { return s.get("properties").get(name) != nil })
}

func (f form) requires(name string) bool {
	quoted := string(jsonx.Quote(name))
	return slices.ContainsFunc(f, func(s *document) bool {
		return slices.ContainsFunc(s.get("required").elements(), func(e *document) bool { return e.is(quoted) })
	})
}

// freeMap reports an object whose names are data: it declares none and says
// that it takes any.
func (f form) freeMap() bool {
	says := false
	for _, s := range f {
		if len(s.get("properties").members()) > 0 {
			return false
		}
		if a := s.get("additionalProperties"); a != nil {
			if a.is("false") {
				return false
			}
			says = true
		}
	}
	return says
}
