// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"math/big"
	"slices"

	"github.com/mcprove/mcprove/internal/order"
)

// node is one schema of a document, or one that the search makes up. Its
// assertions are grouped by the kind of value they speak of: a missing group
// asserts nothing. Nodes are not changed once Parse has returned.
type node struct {
	doc *Schema // nil for made-up nodes
	ptr string
	src *val // the keywords as written; nil for made-up nodes

	never bool // the false schema
	mask  kinds
	enum  *valueSet

	num *numberPart
	str *stringPart
	arr *arrayPart
	obj *objectPart

	ref    *node
	allOf  []*node
	anyOf  []*node
	oneOf  []*node
	not    *node
	cond   *condition
	opaque string // why a part of it cannot be decided

	excluded []*valueSet // made up: none of these values
	samples  []*val      // its own examples and default
	format   string      // an annotation: it only guides the choice of values

	km     kinds // kinds it may accept at all, an upper bound
	hash   hash  // of the assertions; see cyclic
	cyclic bool  // reaches a loop of references: hash is settled per comparison
}

type bound struct {
	at   *big.Rat
	open bool
}

type numberPart struct {
	lo, hi *bound
	mult   []*big.Rat
	not    []*big.Rat // made up: no multiple of these
}

// absent marks a count that is not bounded.
const absent = -1

type stringPart struct {
	min, max int // max may be absent
	pats     []*pattern
	notPats  []*pattern // made up
}

type arrayPart struct {
	prefix     []*node
	rest       *node // of the elements behind prefix
	min, max   int
	unique     bool
	notUnique  bool // made up
	contains   *node
	minC, maxC int
	somewhere  []elementDemand // made up
}

// elementDemand asks for an element that violates (or, with pos, satisfies) a schema.
type elementDemand struct {
	from  int
	exact bool // at from, not behind it
	neg   *node
}

type objectPart struct {
	props    []property
	index    map[string]*node
	patterns []patternProperty
	extra    *node // additionalProperties
	names    *node // propertyNames
	required []string
	reqSet   map[string]bool // of required, when it is long
	min, max int
	depReq   []dependentNames
	depSch   []property
	demands  []keyDemand // made up
	made     bool        // the whole part is made up: it declares no names
}

type property struct {
	name string
	node *node
}

type patternProperty struct {
	pat  *pattern
	node *node
}

type dependentNames struct {
	name  string
	names []string
}

// keyDemand asks for a member: one whose name lies in a class and whose value
// violates neg, or whose name violates nameNeg.
type keyDemand struct {
	outside *objectPart // the name is neither a property nor matched by a pattern of it
	match   *pattern    // the name matches
	neg     *node
	nameNeg *node
}

// condition is if, then, else; a missing branch is nil.
type condition struct {
	test, yes, no *node
}

func (o *objectPart) prop(name string) *node {
	if o.index != nil {
		return o.index[name]
	}
	for i := range o.props {
		if o.props[i].name == name {
			return o.props[i].node
		}
	}
	return nil
}

func (o *objectPart) requires(name string) bool {
	if o.reqSet != nil {
		return o.reqSet[name]
	}
	return slices.Contains(o.required, name)
}

// build sorts the parts, so that the order of a text changes no witness, and
// makes long lists quick to search.
func (o *objectPart) build() {
	order.Func(o.props, func(a, b property) int { return compareStrings(a.name, b.name) })
	order.Func(o.patterns, func(a, b patternProperty) int { return compareStrings(a.pat.text, b.pat.text) })
	order.Func(o.depReq, func(a, b dependentNames) int { return compareStrings(a.name, b.name) })
	order.Func(o.depSch, func(a, b property) int { return compareStrings(a.name, b.name) })
	o.required = slices.Compact(slices.Sorted(slices.Values(o.required)))
	if len(o.props) >= longObject {
		o.index = make(map[string]*node, len(o.props))
		for _, p := range o.props {
			o.index[p.name] = p.node
		}
	}
	if len(o.required) >= longObject {
		o.reqSet = make(map[string]bool, len(o.required))
		for _, r := range o.required {
			o.reqSet[r] = true
		}
	}
}

// valueSet is a set of values in the order of the text.
type valueSet struct {
	vals  []*val
	keys  map[string]int
	texts map[string][2]string // title and description per value, if any
	kinds kinds
}

func newValueSet(vs []*val) *valueSet {
	s := &valueSet{keys: make(map[string]int, len(vs))}
	for _, v := range vs {
		s.add(v)
	}
	return s
}

func (s *valueSet) add(v *val) {
	k := v.key()
	if _, dup := s.keys[k]; dup {
		return
	}
	s.keys[k] = len(s.vals)
	s.vals = append(s.vals, v)
	s.kinds |= v.kind
}

// large reports a value as large as those that are described.
func (s *valueSet) large() bool {
	return slices.ContainsFunc(s.vals, func(v *val) bool { return v.huge || v.size > maxWitness })
}

func (s *valueSet) has(v *val) bool {
	_, ok := s.keys[v.key()]
	return ok
}

func unreadable(v *val) bool {
	if v.kind&kNumber != 0 && v.num == nil {
		return true
	}
	for _, e := range v.arr {
		if unreadable(e) {
			return true
		}
	}
	for _, m := range v.mem {
		if unreadable(m.val) {
			return true
		}
	}
	return false
}

// newNode makes up a node; seal must follow once its parts are set.
func newNode() *node { return &node{mask: kAll, km: kAll} }

func newObjectNode(o *objectPart) *node {
	n := newNode()
	o.made = true
	n.obj = o
	return n
}

func falseNode() *node {
	n := newNode()
	n.never = true
	n.mask, n.km = 0, 0
	return n
}

// trivial reports whether the node accepts everything by its form alone.
func (n *node) trivial() bool {
	return !n.never && n.mask == kAll && n.enum == nil && n.num == nil && n.str == nil &&
		n.arr == nil && n.obj == nil && n.ref == nil && len(n.allOf) == 0 && len(n.anyOf) == 0 &&
		len(n.oneOf) == 0 && n.not == nil && n.cond == nil && n.opaque == "" && len(n.excluded) == 0
}

// bare reports whether the node is nothing but a reference.
func (n *node) bare() bool {
	if n.ref == nil {
		return false
	}
	return !n.never && n.mask == kAll && n.enum == nil && n.num == nil && n.str == nil &&
		n.arr == nil && n.obj == nil && len(n.allOf) == 0 && len(n.anyOf) == 0 &&
		len(n.oneOf) == 0 && n.not == nil && n.cond == nil && n.opaque == "" && len(n.excluded) == 0
}
