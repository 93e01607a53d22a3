// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
)

// either is the pairs of kinds of one facet, by direction.
type either struct{ in, out pair }

// facetPairs are the facets whose kind follows from direction and change alone.
var facetPairs = map[ss.Facet]either{
	ss.FacetMultipleOf:        {pair{kindInputMultipleOf, kindInputMultipleOfRelaxed}, pair{kindOutputMultipleOf, kindOutputMultipleOf}},
	ss.FacetUniqueItems:       {pair{kindInputUniqueAdded, kindInputUniqueRemoved}, pair{kindOutputUniqueAdded, kindOutputUniqueRemoved}},
	ss.FacetPrefixItem:        same(kindPrefixItems),
	ss.FacetContains:          same(kindContains),
	ss.FacetPatternProperties: same(kindPatternProperties),
	ss.FacetPropertyNames:     same(kindPropertyNames),
	ss.FacetDependentSchemas:  same(kindDependentSchemas),
	ss.FacetConditional:       same(kindConditional),
	ss.FacetUnevaluated:       same(kindUnevaluatedClosed),
	ss.FacetFalse:             same(kindFalse),
	ss.FacetDependentRequired: both(kindDependentAdded, kindDependentRemoved),
	ss.FacetAllOf:             both(kindAllOfAdded, kindAllOfRemoved),
	ss.FacetNot:               both(kindNotAdded, kindNotRemoved),
	ss.FacetOneOfOverlap:      both(kindAnyOfToOneOf, kindOneOfToAnyOf),
	ss.FacetOpaque:            same(kindUndecided),
}

func same(k *kind) either { return either{pair{k, k}, pair{k, k}} }

func both(less, more *kind) either { return either{pair{less, more}, pair{less, more}} }

// kindOf names the kind of a delta and judges its class; nil leaves it out.
func (j *judge) kindOf(d *ss.Delta) (*kind, Class) {
	if !d.Facet.AffectsSet() {
		return j.textKind(d)
	}
	k := j.setKind(d)
	if k == nil {
		return nil, 0
	}
	switch {
	case d.SafeInteger:
		return kindSafeInteger, Cosmetic
	case alwaysBreaking[k]:
		return k, Breaking
	case j.harmful(d.Change) && !j.unreal[d]:
		return k, Breaking
	case d.ReaderLoss && j.dir == ss.Output:
		return k, Breaking
	}
	return k, Additive
}

// alwaysBreaking are the kinds that hurt though the set of values may not show
// it.
var alwaysBreaking = map[*kind]bool{
	kindArgumentRemovedOpen: true, kindArgumentRemovedClosed: true, kindPropertyMoved: true, kindPropertyCase: true,
	kindOutputRequiredRemoved: true, kindOutputOptionalRemoved: true, kindOutputRootType: true,
}

// setKind names the kind of a delta that concerns the set of values.
func (j *judge) setKind(d *ss.Delta) *kind {
	if b, ok := bounds[d.Facet]; ok {
		return b[j.dir].of(j.dir, d.Change)
	}
	if d.Facet == ss.FacetFalse && (j.old.at(d.OldPtr).get("enum").is("[]") || j.new.at(d.NewPtr).get("enum").is("[]")) {
		return kindEnumEmpty
	}
	if d.Facet == ss.FacetOneOfOverlap && !j.otherUnion(d) {
		return j.overlapKind(d)
	}
	if d.Facet == ss.FacetOpaque && d.Change != ss.Maybe {
		return j.setChange(d) // a value was found after all
	}
	if e, ok := facetPairs[d.Facet]; ok {
		if j.dir == ss.Output {
			return e.out.of(j.dir, d.Change)
		}
		return e.in.of(j.dir, d.Change)
	}
	switch d.Facet {
	case ss.FacetType:
		return j.typeKind(d)
	case ss.FacetEnum, ss.FacetConst:
		return j.enumKind(d)
	case ss.FacetPattern:
		return j.patternKind(d)
	case ss.FacetItems:
		return j.itemsKind(d)
	case ss.FacetRequired:
		return j.requiredKind(d)
	case ss.FacetProperty:
		return j.propertyKind(d)
	case ss.FacetAdditional:
		return j.additionalKind(d)
	case ss.FacetBranch:
		return j.branchKind(d)
	}
	return j.setChange(d)
}

// setChange is the kind for what no keyword explains.
func (j *judge) setChange(d *ss.Delta) *kind {
	return pair{kindSetNarrowed, kindSetWidened}.of(j.dir, d.Change)
}

// otherUnion reports a place that has a oneOf on one side and an anyOf on the
// other.
func (j *judge) otherUnion(d *ss.Delta) bool {
	switch {
	case d.HasOld == d.HasNew:
		return false
	case d.HasNew:
		return j.old.at(d.OldPtr).get("anyOf") != nil
	}
	return j.new.at(d.NewPtr).get("anyOf") != nil
}

// overlapKind names how the forms of a oneOf exclude each other's values.
func (j *judge) overlapKind(d *ss.Delta) *kind {
	was, is := 1, 1
	if d.HasOld {
		was = len(j.old.at(d.OldPtr).elements())
	}
	if d.HasNew {
		is = len(j.new.at(d.NewPtr).elements())
	}
	if is > was && j.dir == ss.Input {
		return kindOneOfAdded
	}
	return j.setChange(d)
}

func (j *judge) typeKind(d *ss.Delta) *kind {
	if j.dir == ss.Output {
		root := len(d.Path) == 0 && slices.Contains(d.OldKinds, "object") != slices.Contains(d.NewKinds, "object")
		switch {
		case root && !d.NewUntyped && !d.OldUntyped:
			return kindOutputRootType
		case d.NewUntyped:
			return kindOutputTypeDropped
		case d.NullOnly:
			return pair{kindOutputNotNullable, kindOutputNullable}.of(j.dir, d.Change)
		case d.FractionOnly:
			return pair{kindOutputNumberToInteger, kindOutputIntegerToNumber}.of(j.dir, d.Change)
		case d.Change == ss.Differ && j.arrayWrapped(d):
			return kindArrayWrapped
		case d.Change == ss.Differ:
			return kindOutputTypeChanged
		}
		return pair{kindOutputTypeNarrowed, kindOutputTypeWidened}.of(j.dir, d.Change)
	}
	switch {
	case len(d.Path) == 0 && d.NewUntyped:
		return nil // reported for the root, which must be an object
	case d.OldUntyped:
		return kindInputTypeAdded
	case d.NewUntyped:
		return kindInputTypeDropped
	case d.NullOnly:
		return pair{kindInputNotNullable, kindInputNullable}.of(j.dir, d.Change)
	case d.FractionOnly:
		return pair{kindInputNumberToInteger, kindInputIntegerToNumber}.of(j.dir, d.Change)
	case d.Change == ss.Differ && j.arrayWrapped(d):
		return kindArrayWrapped
	case d.Change == ss.Differ:
		return kindInputTypeChanged
	case d.Change == ss.More && len(d.NewKinds) == len(d.OldKinds)+1 && slices.Contains(d.NewKinds, "array") && !slices.Contains(d.OldKinds, "array"):
		return kindUnionWithArray
	}
	return pair{kindInputTypeNarrowed, kindInputTypeWidened}.of(j.dir, d.Change)
}

// arrayWrapped reports whether one side is a list of what the other side is.
func (j *judge) arrayWrapped(d *ss.Delta) bool {
	wraps := func(single, listed []string, listSchema *document) bool {
		if len(listed) != 1 || listed[0] != "array" || len(single) != 1 || single[0] == "array" {
			return false
		}
		return listSchema.at("/items/type").is(string(jsonx.Quote(single[0])))
	}
	old, new := j.old.at(schemaPointer(d.OldPtr, "type")), j.new.at(schemaPointer(d.NewPtr, "type"))
	return wraps(d.OldKinds, d.NewKinds, new) || wraps(d.NewKinds, d.OldKinds, old)
}

// schemaPointer is the pointer of the schema that a keyword's pointer is in.
func schemaPointer(pointer, keyword string) string {
	return strings.TrimSuffix(pointer, "/"+keyword)
}

func (j *judge) enumKind(d *ss.Delta) *kind {
	single := func(raw jsonx.Raw, has bool) bool {
		if !has {
			return false
		}
		if jsonx.KindOf(raw) != jsonx.Array {
			return d.Facet == ss.FacetConst
		}
		es, err := jsonx.Elements(raw, jsonx.Strict)
		return err == nil && len(es) == 1
	}
	switch {
	case string(d.After) == "[]" && d.HasNew:
		return kindEnumEmpty
	case d.HasOld && d.HasNew && coerced(d.Removed, d.Added):
		return kindEnumCoerced
	case d.HasOld && d.HasNew && (d.SingleValue || d.Facet == ss.FacetConst):
		if d.Branch != "" {
			return kindDiscriminator
		}
		return kindConstChanged
	case d.HasOld && d.HasNew && j.dir == ss.Output:
		return pair{kindOutputEnumRemoved, kindOutputEnumAdded}.of(j.dir, d.Change)
	case d.HasOld && d.HasNew:
		return pair{kindInputEnumRemoved, kindInputEnumAdded}.of(j.dir, d.Change)
	case d.HasNew && single(d.After, true):
		return kindConstAdded
	case d.HasOld && !d.HasNew && single(d.Before, true):
		return kindConstRemoved
	case d.HasNew && j.dir == ss.Output:
		return kindOutputEnumIntroduced
	case d.HasNew:
		return kindInputEnumIntroduced
	case j.dir == ss.Output:
		return kindOutputEnumDropped
	}
	return kindInputEnumDropped
}

// listedInOneForm reports values that the other side still lists in one of its
// forms, beside other types.
func (j *judge) listedInOneForm(d *ss.Delta) bool {
	if d.HasOld == d.HasNew || slices.Equal(d.OldKinds, d.NewKinds) {
		return false
	}
	listed, other := d.Before, j.new
	if d.HasNew {
		listed, other = d.After, j.old
	}
	fs := other.forms(d.Path)
	return len(fs) > 1 && slices.ContainsFunc(fs, func(f form) bool {
		return slices.ContainsFunc(f, func(s *document) bool {
			e, c := s.get("enum"), s.get("const")
			return e != nil && sameMembers(e.raw, listed) || c != nil && sameMembers(jsonx.Raw("["+string(c.raw)+"]"), listed)
		})
	})
}

// coerced reports whether the values that went and came are spelled alike.
func coerced(removed, added []jsonx.Raw) bool {
	if len(removed) == 0 || len(removed) != len(added) {
		return false
	}
	plain := func(vs []jsonx.Raw) []string {
		out := make([]string, len(vs))
		for i, v := range vs {
			if t, ok := jsonx.Text(v); ok {
				out[i] = t
			} else {
				out[i] = string(v)
			}
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(plain(removed), plain(added))
}

func (j *judge) patternKind(d *ss.Delta) *kind {
	switch {
	case j.dir == ss.Output && !d.HasOld:
		return kindOutputPatternAdded
	case j.dir == ss.Output:
		return kindOutputPatternChanged
	case !d.HasOld:
		return kindInputPatternAdded
	case !d.HasNew:
		return kindInputPatternRemoved
	}
	return kindInputPatternChanged
}

func (j *judge) itemsKind(d *ss.Delta) *kind {
	switch {
	case string(d.After) == "false" || string(d.Before) == "false":
		return kindItemsFalse
	case d.Change == ss.More:
		return kindItemsRemoved
	}
	return kindItemsIntroduced
}

func (j *judge) additionalKind(d *ss.Delta) *kind {
	isMap := d.HasOld && jsonx.KindOf(d.Before) == jsonx.Object && string(d.Before) != "{}"
	switch {
	case d.NewClosed && !d.OldClosed && j.dir == ss.Output:
		return kindOutputClosed
	case d.NewClosed && !d.OldClosed && isMap:
		return kindMapClosed
	case d.NewClosed && !d.OldClosed:
		return kindAdditionalClosed
	case d.OldClosed && !d.NewClosed && j.dir == ss.Output:
		return kindOutputOpened
	case d.OldClosed && !d.NewClosed:
		return kindAdditionalOpened
	}
	return kindAdditionalChanged
}

func (j *judge) branchKind(d *ss.Delta) *kind {
	added := d.HasNew && !d.HasOld
	switch {
	case d.HasOld == d.HasNew:
		return j.setChange(d) // the forms taken together
	case added && j.dir == ss.Input && strings.HasSuffix(parent(d.NewPtr), "/oneOf"):
		return kindOneOfAdded
	case j.dir == ss.Output && added:
		return kindOutputAnyOfAdded
	case j.dir == ss.Output:
		return kindOutputAnyOfRemoved
	case added:
		return kindAnyOfAdded
	}
	return kindAnyOfRemoved
}
