// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/internal/text"
)

// eitherWay are the words of kinds that cover both ways: for what accepts less
// now, and for what accepts more.
var eitherWay = map[*kind][2]string{
	kindFalse:             {"nothing can stand here any more", "something can stand here again"},
	kindEnumEmpty:         {"the set of allowed values is empty", "the set of allowed values is no longer empty"},
	kindItemsFalse:        {"the tuple may not be longer any more", "the tuple may be longer now"},
	kindPrefixItems:       {"a position of the tuple got a schema of its own", "a position of the tuple lost its schema"},
	kindUnevaluatedClosed: {"members that no part of the schema knows are refused now", "members that no part of the schema knows are accepted again"},
}

// say is the kind's title with what a reader wants to see at once: the names
// and values concerned.
func (j *judge) say(k *kind, d *ss.Delta) string {
	m := k.Title
	if w, ok := eitherWay[k]; ok && d.Change != ss.Differ {
		m = w[0]
		if d.Change == ss.More {
			m = w[1]
		}
	}
	switch k {
	case kindArrayWrapped:
		m = "a single value became a list"
		if slices.Contains(d.OldKinds, "array") {
			m = "a list became a single value"
		}
		return m
	case kindUnionWithArray:
		return m
	case kindOutputRootType:
		m = "output's root type changed"
	case kindReadWrite, kindContentEncoding:
		m = string(d.Facet) + " changed"
	case kindDependentAdded, kindDependentRemoved:
		if b := j.dependents(d); b != "" {
			verb := "needs"
			if k == kindDependentRemoved {
				verb = "may come without"
			}
			return fmt.Sprintf("%s now %s %s", plainName(d.Name), verb, b)
		}
	}
	return m + j.values(d) + kinship(d)
}

func plainName(n string) string { return text.Line(text.Clip(n, 80)) }

// dependents names the members that a member must (or need not) bring.
func (j *judge) dependents(d *ss.Delta) string {
	was, is := j.old.at(d.OldPtr).get(d.Name), j.new.at(d.NewPtr).get(d.Name)
	if !d.HasOld {
		was = nil
	}
	if !d.HasNew {
		is = nil
	}
	if is == nil {
		was, is = is, was
	}
	var names []jsonx.Raw
	for _, e := range is.elements() {
		if !slices.ContainsFunc(was.elements(), func(o *document) bool { return o.is(string(e.raw)) }) {
			names = append(names, e.raw)
		}
	}
	return list(names)
}

// values says which values a change is about.
func (j *judge) values(d *ss.Delta) string {
	types := func(kinds []string) string { return strings.Join(kinds, " or ") }
	_, isBound := bounds[d.Facet]
	switch {
	case d.Facet == ss.FacetType && (d.NullOnly || d.FractionOnly):
		return ""
	case d.Facet == ss.FacetType && d.OldUntyped:
		return ": only " + types(d.NewKinds)
	case d.Facet == ss.FacetType && d.NewUntyped:
		return ": it was " + types(d.OldKinds)
	case d.Facet == ss.FacetType && len(d.Removed) > 0 && len(d.Added) > 0:
		return fmt.Sprintf(": %s before, %s now", types(d.OldKinds), types(d.NewKinds))
	case d.Facet == ss.FacetType && len(d.Removed) > 0:
		return ": no longer " + strings.ReplaceAll(list(d.Removed), `"`, "")
	case d.Facet == ss.FacetType && len(d.Added) > 0:
		return ": also " + strings.ReplaceAll(list(d.Added), `"`, "")
	case d.Facet == ss.FacetType:
		return ""
	case len(d.Removed) > 0 && len(d.Added) > 0 && len(d.Removed)+len(d.Added) == 2 && d.SingleValue:
		return fmt.Sprintf(": %s before, %s now", list(d.Removed), list(d.Added))
	case len(d.Removed) > 0 && len(d.Added) > 0:
		return fmt.Sprintf(": %s gone, %s new", list(d.Removed), list(d.Added))
	case len(d.Removed) > 0:
		return ": " + list(d.Removed)
	case len(d.Added) > 0:
		return ": " + list(d.Added)
	case d.Facet == ss.FacetEnum || d.Facet == ss.FacetConst:
		listed := newDocument(d.Before)
		if d.HasNew {
			listed = newDocument(d.After)
		}
		var vs []jsonx.Raw
		for _, e := range listed.elements() {
			vs = append(vs, e.raw)
		}
		if len(vs) > 0 && d.HasNew {
			return ": " + list(vs)
		}
		if len(vs) > 0 {
			return ": it was " + list(vs)
		}
	case isBound, d.Facet == ss.FacetMultipleOf, d.Facet == ss.FacetPattern, d.Facet == ss.FacetFormat, d.Facet == ss.FacetDefault,
		d.Facet == ss.FacetReadOnly, d.Facet == ss.FacetWriteOnly, d.Facet == ss.FacetContentEncoding, d.Facet == ss.FacetContentMediaType:
		return ": " + beforeAfter(d)
	case d.Facet == ss.FacetVendor && d.Name != "discriminator", d.Facet == ss.FacetValueText:
		return ": " + plainName(d.Name)
	}
	return ""
}

// beforeAfter writes the value of a keyword on both sides.
func beforeAfter(d *ss.Delta) string {
	before, after := "none", "none"
	if d.Before != nil && d.HasOld {
		before = list([]jsonx.Raw{d.Before})
	}
	if d.After != nil && d.HasNew {
		after = list([]jsonx.Raw{d.After})
	}
	return before + " before, " + after + " now"
}

// kinship says what a member that came or went looks like.
func kinship(d *ss.Delta) string {
	switch {
	case d.RenamedTo != "":
		return "; looks renamed to " + plainName(d.RenamedTo)
	case d.RenamedFrom != "":
		return "; looks renamed from " + plainName(d.RenamedFrom)
	case len(d.MovedTo) > 0:
		return "; it is at " + plainName(d.MovedTo.String()) + " now"
	}
	return ""
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

// why says who is hurt by a change, and how; for kinds that cover both ways, it
// follows from the class and the direction.
func (j *judge) why(k *kind, d *ss.Delta, cl Class) string {
	switch {
	case j.unreal[d] && cl == Additive && j.harmful(d.Change):
		return kindArgumentAddedNarrows.Why
	case !k.directed || !d.Facet.AffectsSet():
		return k.Why
	case cl == Additive && j.dir == ss.Input:
		return kindInputTypeWidened.Why
	case cl == Additive:
		return kindOutputTypeNarrowed.Why
	case j.dir == ss.Output && d.Change == ss.More && sendersWords[k]:
		return "readers may receive what they never handled"
	}
	return k.Why
}

// sendersWords are the kinds that break in both directions, and whose reason
// speaks of calls.
var sendersWords = map[*kind]bool{
	kindFalse: true, kindEnumEmpty: true, kindContains: true, kindPatternProperties: true, kindPropertyNames: true, kindPrefixItems: true,
	kindItemsFalse: true, kindAdditionalChanged: true, kindDependentSchemas: true, kindUnevaluatedClosed: true, kindConditional: true,
}
