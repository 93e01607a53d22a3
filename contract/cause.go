// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
)

// oneCause makes one change of what has one cause.
func (j *judge) oneCause() {
	j.faultFirst()
	j.formatsOfTypes()
	j.listedStill()
	j.retagged()
	j.overlapping()
	j.twice()
	j.coarser()
}

func (j *judge) drop(gone func(*Change) bool) {
	j.changes = slices.DeleteFunc(j.changes, func(ch Change) bool { return gone(&ch) })
}

// faultFirst leaves out what cannot be decided because the schema is, or was,
// at fault: the fault is the finding.
func (j *judge) faultFirst() {
	faults := map[string]bool{kindSchemaRepaired.ID: true, kindRequiredShape.ID: true}
	for _, k := range problemKinds {
		faults[k.ID] = true
	}
	if !slices.ContainsFunc(j.changes, func(ch Change) bool { return faults[ch.ID] }) {
		return
	}
	unknown := slices.ContainsFunc(j.changes, func(ch Change) bool { return ch.ID == kindDialectUnknown.ID })
	j.drop(func(ch *Change) bool { return ch.Certainty == Undecided || unknown && ch.ID == kindDialect.ID })
}

// listedStill leaves out that a set of values came or went, where one form of
// the other side lists the same values and the types beside it tell the harm.
func (j *judge) listedStill() {
	worst := map[string]Class{}
	for i := range j.changes {
		if ch := &j.changes[i]; strings.HasSuffix(ch.Pointer, "/type") {
			worst[ch.Path] = max(worst[ch.Path], ch.Class)
		}
	}
	j.drop(func(ch *Change) bool { return ch.listed && worst[ch.Path] >= ch.Class })
}

// formatsOfTypes leaves out a format that went or came with its type.
func (j *judge) formatsOfTypes() {
	retyped := map[string]bool{}
	for i := range j.changes {
		switch j.changes[i].ID {
		case kindInputTypeChanged.ID, kindOutputTypeChanged.ID, kindArrayWrapped.ID, kindInputTypeDropped.ID, kindOutputTypeDropped.ID:
			retyped[j.changes[i].Path] = true
		}
	}
	formats := []string{kindInputFormat.ID, kindInputFormatRemoved.ID, kindInputFormatRelaxed.ID, kindOutputFormat.ID, kindOutputFormatNarrowed.ID, kindContentEncoding.ID}
	j.drop(func(ch *Change) bool { return retyped[ch.Path] && slices.Contains(formats, ch.ID) })
}

// retagged joins a form of a union that is gone and one that came, where the
// two differ in their tag only.
func (j *judge) retagged() {
	gone, came := kindAnyOfRemoved.ID, []string{kindAnyOfAdded.ID, kindOneOfAdded.ID}
	if j.dir == ss.Output {
		gone, came = kindOutputAnyOfRemoved.ID, []string{kindOutputAnyOfAdded.ID}
	}
	for i := range j.changes {
		g := &j.changes[i]
		if g.ID != gone {
			continue
		}
		for n := range j.changes {
			c := &j.changes[n]
			if !slices.Contains(came, c.ID) || c.Path != g.Path || parent(c.Pointer) != parent(g.Pointer) || !tagOnly(g.Before, c.After) {
				continue
			}
			joined := j.change(kindDiscriminator, c.Place)
			joined.Before, joined.After = g.Before, c.After
			joined.Certainty, joined.Witness = g.Certainty, g.Witness
			if j.dir == ss.Output {
				joined.Certainty, joined.Witness = c.Certainty, c.Witness
			}
			j.changes[i] = joined
			j.changes = slices.Delete(j.changes, n, n+1)
			j.retagged()
			return
		}
	}
}

func parent(pointer string) string { return pointer[:max(0, strings.LastIndexByte(pointer, '/'))] }

// tagOnly reports two object schemas that are equal but for one property, which
// is a fixed value in both and may have another name.
func tagOnly(a, b jsonx.Raw) bool {
	x, y := newDocument(a), newDocument(b)
	fixed := func(d *document) bool {
		return d.get("const") != nil || len(d.get("enum").elements()) == 1
	}
	differ := func(d, o *document) (names []string) {
		for _, n := range d.get("properties").members() {
			p, q := d.get("properties").get(n), o.get("properties").get(n)
			if q == nil || string(p.raw) != string(q.raw) {
				names = append(names, n)
			}
		}
		return names
	}
	dx, dy := differ(x, y), differ(y, x)
	if len(dx) != 1 || len(dy) != 1 || !fixed(x.get("properties").get(dx[0])) || !fixed(y.get("properties").get(dy[0])) {
		return false
	}
	for _, n := range union(members(a), members(b)) {
		if n != "properties" && n != "required" && string(x.get(n).value()) != string(y.get(n).value()) {
			return false
		}
	}
	return len(x.get("required").elements()) == len(y.get("required").elements())
}

// overlapping drops a form that came, where it is reported for what it excludes.
func (j *judge) overlapping() {
	for i := range j.changes {
		o := &j.changes[i]
		if o.ID != kindOneOfAdded.ID || o.Class != Breaking {
			continue
		}
		at, path := o.Pointer, o.Path
		j.drop(func(ch *Change) bool {
			return ch.Class == Additive && ch.Path == path && strings.HasPrefix(ch.Pointer, at+"/") &&
				(ch.ID == kindOneOfAdded.ID || ch.ID == kindAnyOfAdded.ID)
		})
		return
	}
}

// twice drops what is said a second time of one place.
func (j *judge) twice() {
	type said struct{ id, pointer, path string }
	worst := map[said]Class{}
	for i := range j.changes {
		ch := &j.changes[i]
		k := said{ch.ID, ch.Pointer, ch.Path}
		worst[k] = max(worst[k], ch.Class)
	}
	seen := map[said]bool{}
	j.drop(func(ch *Change) bool {
		k := said{ch.ID, ch.Pointer, ch.Path}
		if seen[k] || ch.Class < worst[k] {
			return true
		}
		seen[k] = true
		return false
	})
}

// coarser drops what is said of a value as a whole, where the same is said of
// the branch that it comes from.
func (j *judge) coarser() {
	type said struct{ id, path string }
	alike := map[said][]Change{}
	for _, ch := range j.changes {
		k := said{ch.ID, ch.Path}
		alike[k] = append(alike[k], ch)
	}
	j.drop(func(ch *Change) bool {
		return slices.ContainsFunc(alike[said{ch.ID, ch.Path}], func(o Change) bool {
			return o.Class == ch.Class && strings.HasPrefix(o.Pointer, ch.Pointer+"/") && (o.Certainty == Proven || ch.Certainty != Proven)
		})
	})
}
