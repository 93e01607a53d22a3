// SPDX-License-Identifier: Apache-2.0

package spec

// The shapes are written in a small language of constructors, so that one
// description serves all revisions:
//
//	object(must("name", str), may("title", str).since(Rev20250618))
//
// A field, a union member or a whole definition carries a Range; compiling for
// one revision drops what lies outside. A union also drops references to
// definitions the revision does not have.

// form is the kind of a shape.
type form uint8

const (
	formAny form = iota + 1
	formObject
	formArray
	formString
	formNumber
	formInteger
	formBoolean
	formNull
	formChoice // a string out of values
	formFixed  // one number
	formUnion  // any of members
	formAll    // all of members
	formRef
)

// shape describes a set of JSON values. Shapes are made once and never changed.
type shape struct {
	form    form
	name    string   // formRef: the definition
	values  []string // formChoice
	fixed   string   // formFixed: the decimal
	fields  []field  // formObject
	rest    *shape   // formObject: other members; nil: anything
	item    *shape   // formArray
	members []member // formUnion, formAll
	most    int      // formArray: longest length; zero: no bound
	low     bool     // formNumber, formInteger: not below 0
	high    bool     // formNumber: not above 1
	format  format   // formString: what the string means
}

// format is a meaning of strings that the schemas mention and Validate does not
// judge: JSON Schema 2020-12 makes format an annotation.
type format uint8

const (
	formatURI format = iota + 1
	formatURITemplate
	formatBase64
)

type field struct {
	name     string
	shape    *shape
	required bool
	in       Range
}

type member struct {
	shape *shape
	in    Range
}

// definition is a named shape in a run of revisions.
type definition struct {
	name  string
	in    Range
	shape *shape
}

var (
	anything = &shape{form: formAny}
	str      = &shape{form: formString}
	num      = &shape{form: formNumber}
	integer  = &shape{form: formInteger}
	boolean  = &shape{form: formBoolean}
	null     = &shape{form: formNull}
	open     = &shape{form: formObject}
	uri      = &shape{form: formString, format: formatURI}
	template = &shape{form: formString, format: formatURITemplate}
	binary   = &shape{form: formString, format: formatBase64}
	natural  = &shape{form: formInteger, low: true}
	ratio    = &shape{form: formNumber, low: true, high: true}
	texts    = list(str)
)

//go:noinline
func object(fs ...field) *shape { return &shape{form: formObject, fields: fs} }

//go:noinline
func list(item *shape) *shape { return &shape{form: formArray, item: item} }

//go:noinline
func dict(rest *shape) *shape { return &shape{form: formObject, rest: rest} }

//go:noinline
func choice(values ...string) *shape { return &shape{form: formChoice, values: values} }

//go:noinline
func fixed(decimal string) *shape { return &shape{form: formFixed, fixed: decimal} }

//go:noinline
func ref(name string) *shape { return &shape{form: formRef, name: name} }

//go:noinline
func union(ss ...*shape) *shape {
	u := &shape{form: formUnion}
	for _, s := range ss {
		u.members = append(u.members, member{shape: s})
	}
	return u
}

// refs is a union of definitions.
//
//go:noinline
func refs(names ...string) *shape {
	u := &shape{form: formUnion}
	for _, n := range names {
		u.members = append(u.members, member{shape: ref(n)})
	}
	return u
}

// in adds members that exist in some revisions only.
//
//go:noinline
func (s *shape) in(g Range, ss ...*shape) *shape {
	c := *s
	c.members = append([]member(nil), s.members...)
	for _, m := range ss {
		c.members = append(c.members, member{m, g})
	}
	return &c
}

//go:noinline
func all(ss ...*shape) *shape {
	a := union(ss...)
	a.form = formAll
	return a
}

//go:noinline
func (s *shape) atMost(n int) *shape {
	c := *s
	c.most = n
	return &c
}

//go:noinline
func must(name string, s *shape) field { return field{name: name, shape: s, required: true} }

//go:noinline
func may(name string, s *shape) field { return field{name: name, shape: s} }

func (f field) since(r Revision) field { f.in.Since = r; return f }
func (f field) until(r Revision) field { f.in.Until = r; return f }
func (f field) only(r Revision) field  { f.in = only(r); return f }

func define(name string, s *shape) definition { return definition{name: name, shape: s} }

func (d definition) since(r Revision) definition { d.in.Since = r; return d }
func (d definition) until(r Revision) definition { d.in.Until = r; return d }
func (d definition) only(r Revision) definition  { d.in = only(r); return d }
