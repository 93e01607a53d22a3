// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"

	ss "github.com/mcprove/mcprove/internal/schemaset"
)

// requiredKind names a change of what must be there.
func (j *judge) requiredKind(d *ss.Delta) *kind {
	if j.inSomeForms(d) {
		// The name must be there in one form and not in another: no caller can
		// say that it is required.
		return j.formsChanged(d)
	}
	if j.dir == ss.Output {
		return pair{kindOutputGuaranteed, kindOutputNowOptional}.of(j.dir, d.Change)
	}
	switch {
	case d.Change == ss.More:
		return kindNowOptional
	case d.Undeclared:
		return kindRequiredUndeclared
	case d.NewProperty:
		return j.requiredAdded(d)
	case d.NewDefault != nil:
		return kindNowRequiredDefault
	}
	return kindNowRequired
}

func (j *judge) requiredAdded(d *ss.Delta) *kind {
	switch {
	case d.ParentOptional:
		return kindRequiredChildAdded
	case d.NewDefault != nil:
		return kindRequiredAddedDefault
	}
	return kindRequiredAdded
}

// inSomeForms reports a required name where an object of one form became one
// of several, or the other way round, and only some of them require it.
func (j *judge) inSomeForms(d *ss.Delta) bool {
	if d.Branch == "" || len(d.Path) == 0 {
		return false
	}
	at, several := j.formsOf(d)
	if !several {
		return false
	}
	all := true
	for _, f := range at {
		all = all && f.requires(d.Name)
	}
	return !all
}

// formsOf returns the forms of the object that a member belongs to, of the side
// that has more; several tells that the other side has one only.
func (j *judge) formsOf(d *ss.Delta) (fs []form, several bool) {
	place := d.Path[:len(d.Path)-1]
	old, new := j.old.objectForms(place), j.new.objectForms(place)
	switch {
	case len(old) == 1 && len(new) > 1:
		return new, true
	case len(new) == 1 && len(old) > 1:
		return old, true
	}
	return nil, false
}

// propertyKind names a member that came or went.
func (j *judge) propertyKind(d *ss.Delta) *kind {
	switch {
	case j.dir == ss.Output && d.HasNew:
		return j.fieldAdded(d)
	case j.dir == ss.Output:
		return j.fieldRemoved(d)
	case d.HasNew:
		return j.argumentAdded(d)
	}
	return j.argumentRemoved(d)
}

func (j *judge) fieldAdded(d *ss.Delta) *kind {
	if d.OldClosed && !d.Theoretical && d.Change != ss.Less && d.Change != ss.Text {
		return kindOutputFieldClosed
	}
	return kindOutputFieldOpen
}

func (j *judge) fieldRemoved(d *ss.Delta) *kind {
	kept := j.inAnotherForm(d)
	switch {
	case kept && d.OldRequired:
		return kindOutputNowOptional
	case kept && !j.harmful(d.Change):
		return nil
	case kept:
		return j.formsChanged(d)
	case d.OldRequired:
		return kindOutputRequiredRemoved
	}
	return kindOutputOptionalRemoved
}

func (j *judge) argumentAdded(d *ss.Delta) *kind {
	switch {
	case d.NewRequired:
		return j.requiredAdded(d)
	case d.Admitted == "open":
		j.unreal[d] = true // one name that nobody was told of
	case j.harmful(d.Change) && d.Lost.Verdict == ss.Outside:
		// The names of the object were data: the new one is refused in part.
		return kindAdditionalChanged
	}
	switch {
	case d.HasRequiredChild:
		return kindOptionalParentAdded
	case d.Lost.Verdict == ss.Outside && j.statedOpen(parent(parent(d.NewPtr))):
		return kindArgumentAddedNarrows
	}
	return kindArgumentAdded
}

// statedOpen reports an object that says of itself that it takes any member.
func (j *judge) statedOpen(pointer string) bool {
	a := j.old.at(pointer).get("additionalProperties")
	return a.is("true") || a.is("{}")
}

func (j *judge) argumentRemoved(d *ss.Delta) *kind {
	switch {
	case d.Covered && (d.Admitted == "pattern" || d.Admitted == "additional" || j.becameMap(d)):
		return kindArgumentRemovedCovered
	case j.inAnotherForm(d) && !j.harmful(d.Change):
		return nil
	case j.inAnotherForm(d):
		return j.formsChanged(d)
	case d.RenameBy == "case" && strings.EqualFold(d.Name, d.RenamedTo):
		return kindPropertyCase
	case len(d.MovedTo) > 0:
		return kindPropertyMoved
	case d.NewClosed:
		return kindArgumentRemovedClosed
	}
	return kindArgumentRemovedOpen
}

// inAnotherForm reports a member that is gone from one form of an object and
// declared by another, where the object had one form only before.
func (j *judge) inAnotherForm(d *ss.Delta) bool {
	if d.Branch == "" {
		return false
	}
	place := d.Path[:len(d.Path)-1]
	if len(j.old.objectForms(place)) != 1 {
		return false
	}
	for _, f := range j.new.objectForms(place) {
		if f.declares(d.Name) {
			return true
		}
	}
	return false
}

// becameMap reports whether the object that lost a member declares none any
// more and says that it takes any: its names are data now, and the old name is
// one of them. One such form is enough.
func (j *judge) becameMap(d *ss.Delta) bool {
	for _, f := range j.new.objectForms(d.Path[:len(d.Path)-1]) {
		if f.freeMap() {
			return true
		}
	}
	return false
}

// formsChanged names a change that the forms of an object explain together and
// no member of one of them alone, and moves it to the object.
func (j *judge) formsChanged(d *ss.Delta) *kind {
	pointer, mine, other := d.NewPtr, j.new, j.old
	if !d.HasNew {
		pointer, mine, other = d.OldPtr, j.old, j.new
	}
	object, condition := pointer, ""
	if i := strings.LastIndex(pointer, "/allOf/"); i >= 0 {
		end := i + len("/allOf/")
		for end < len(pointer) && pointer[end] != '/' {
			end++
		}
		if other.at(pointer[:end]) == nil {
			condition = pointer[:end]
		}
	}
	for _, union := range []string{"/anyOf/", "/oneOf/"} {
		if i := strings.LastIndex(object, union); i >= 0 {
			object = object[:i]
		}
	}
	switch {
	case object != pointer:
	case d.Facet == ss.FacetProperty:
		object = parent(parent(pointer))
	default:
		object = parent(pointer)
	}
	p := Place{Pointer: object, Path: d.Path[:len(d.Path)-1].String()}
	k := j.setChange(d)
	if condition != "" {
		p.Pointer = condition
		k = pair{kindAllOfAdded, kindAllOfRemoved}.of(j.dir, d.Change)
	}
	j.moved[d] = p
	d.Before, d.After = other.at(p.Pointer).value(), mine.at(p.Pointer).value()
	if !d.HasNew {
		d.Before, d.After = d.After, d.Before
	}
	return k
}
