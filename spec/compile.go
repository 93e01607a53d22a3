// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// kinds is a set of JSON kinds.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBoolean
	kNumber
	kString
	kArray
	kObject
	kAll = kNull | kBoolean | kNumber | kString | kArray | kObject
)

// numKinds is how many JSON kinds there are.
const numKinds = 6

// index is the number of the one kind in the set.
func (k kinds) index() int { return bits.TrailingZeros8(uint8(k)) }

// node is a shape compiled for one revision: references are followed, and what
// the revision lacks is gone. Nodes are shared and never changed once built.
type node struct {
	form  form
	label string // how to call it in a message
	kinds kinds  // of the values it may accept

	values []string
	fixed  string
	most   int
	low    bool
	high   bool
	format format

	fields   []nodeField
	index    map[string]int // into fields
	required uint64         // bit per field
	rest     *node
	item     *node

	members []*node
	// tag is a member by whose value at most a few of the members can apply.
	tag      string
	tagged   map[string][]*node
	untagged []*node // members that accept an object without the tag
	byKind   [numKinds][]*node
}

type nodeField struct {
	name string
	node *node
}

// maxFields is how many fields the required set has room for.
const maxFields = 64

// grammar is every definition of one revision, compiled.
type grammar struct {
	nodes map[string]*node
	names []string
}

func definitions() []definition {
	return slices.Concat(envelopeShapes, lifecycleShapes, serverShapes, clientShapes)
}

var grammars = func() (gs [Latest + 1]func() *grammar) {
	for _, r := range All() {
		gs[r] = sync.OnceValue(func() *grammar { return compile(r) })
	}
	return gs
}()

// grammarOf returns the compiled grammar of a valid revision.
func grammarOf(r Revision) *grammar { return grammars[r]() }

// Definitions returns the names that ValidateDefinition knows in a revision,
// sorted: those of the official schema.
func Definitions(r Revision) []string {
	if !r.Valid() {
		return nil
	}
	return slices.Clone(grammarOf(r).names)
}

type compiler struct {
	r     Revision
	defs  map[string]*shape
	nodes map[string]*node
}

func compile(r Revision) *grammar {
	c := &compiler{r: r, defs: make(map[string]*shape), nodes: make(map[string]*node)}
	for _, d := range definitions() {
		if d.in.Contains(r) {
			c.defs[d.name] = d.shape
		}
	}
	g := &grammar{nodes: c.nodes}
	for name := range c.defs {
		c.named(name)
		g.names = append(g.names, name)
	}
	slices.Sort(g.names)
	return g
}

// named returns the node of a definition, nil when the revision has none.
func (c *compiler) named(name string) *node {
	if n, ok := c.nodes[name]; ok {
		return n
	}
	s, ok := c.defs[name]
	if !ok {
		return nil
	}
	// A definition that is only another name for one shares its node.
	if s.form == formRef {
		n := c.named(s.name)
		c.nodes[name] = n
		return n
	}
	n := &node{}
	c.nodes[name] = n
	c.build(n, s)
	if n.label == "" || n.form == formObject || n.form == formUnion || n.form == formAll {
		n.label = name
	}
	return n
}

func (c *compiler) node(s *shape) *node {
	if s.form == formRef {
		return c.named(s.name)
	}
	n := &node{}
	c.build(n, s)
	return n
}

func (c *compiler) build(n *node, s *shape) {
	n.form, n.values, n.fixed, n.most, n.low, n.high, n.format = s.form, s.values, s.fixed, s.most, s.low, s.high, s.format
	switch s.form {
	case formAny:
		n.kinds, n.label = kAll, "any value"
	case formObject:
		n.kinds, n.label = kObject, "object"
		n.index = make(map[string]int)
		for _, f := range s.fields {
			if !f.in.Contains(c.r) {
				continue
			}
			if f.required {
				n.required |= 1 << len(n.fields)
			}
			n.index[f.name] = len(n.fields)
			n.fields = append(n.fields, nodeField{f.name, c.node(f.shape)})
		}
		if s.rest != nil {
			n.rest = c.node(s.rest)
		}
	case formArray:
		n.kinds, n.label = kArray, "array"
		n.item = c.node(s.item)
	case formString:
		n.kinds, n.label = kString, "string"
	case formChoice:
		n.kinds, n.label = kString, quoted(s.values)
	case formFixed:
		n.kinds, n.label = kNumber, s.fixed
	case formNumber:
		n.kinds, n.label = kNumber, "number"
	case formInteger:
		n.kinds, n.label = kNumber, "integer"
	case formBoolean:
		n.kinds, n.label = kBoolean, "boolean"
	case formNull:
		n.kinds, n.label = kNull, "null"
	case formAll:
		n.kinds, n.label = kAll, "object"
		for _, m := range s.members {
			if child := c.node(m.shape); m.in.Contains(c.r) && child != nil {
				n.members = append(n.members, child)
				n.kinds &= child.kinds
			}
		}
	case formUnion:
		c.union(n, s)
	}
	switch {
	case n.low && n.high:
		n.label += " from 0 to 1"
	case n.low:
		n.label += " of at least 0"
	}
}

// union compiles the members, inner unions made flat, and finds the tag.
func (c *compiler) union(n *node, s *shape) {
	for _, m := range s.members {
		if !m.in.Contains(c.r) {
			continue
		}
		child := c.node(m.shape)
		switch {
		case child == nil: // not in this revision
		case child.form == formUnion:
			n.members = append(n.members, child.members...)
		default:
			n.members = append(n.members, child)
		}
	}
	var labels []string
	for _, m := range n.members {
		n.kinds |= m.kinds
		for k := kNull; k <= kObject; k <<= 1 {
			if m.kinds&k != 0 {
				n.byKind[k.index()] = append(n.byKind[k.index()], m)
			}
		}
		if !slices.Contains(labels, m.label) {
			labels = append(labels, m.label)
		}
	}
	n.label = strings.Join(labels, " or ")
	for _, tag := range []string{"type", "method", "mode"} {
		if n.tagBy(tag) {
			return
		}
	}
}

// tagBy sorts the members by the values they allow for one member, and reports
// whether every object among them says something about it.
func (n *node) tagBy(tag string) bool {
	tagged := make(map[string][]*node)
	var untagged []*node
	for _, m := range n.byKind[kObject.index()] {
		i, ok := m.index[tag]
		if m.form != formObject || !ok || m.fields[i].node.form != formChoice {
			return false
		}
		for _, v := range m.fields[i].node.values {
			tagged[v] = append(tagged[v], m)
		}
		if m.required&(1<<i) == 0 {
			untagged = append(untagged, m)
		}
	}
	if len(tagged) < 2 {
		return false
	}
	n.tag, n.tagged, n.untagged = tag, tagged, untagged
	return true
}

func quoted(values []string) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(`"` + v + `"`)
	}
	return b.String()
}
