// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/mcprove/mcprove/internal/order"
)

// hash identifies what a node asserts: equal hashes mean equal sets. It is cut
// from SHA-256, so that nobody can write two different schemas of one hash.
type hash [16]byte

// hashOf computes the hash of n from those of its children. Annotations are
// left out, sets are sorted, a bare reference hashes as its target.
func hashOf(n *node, child func(*node) hash) hash {
	e := hashWriter{child: child, buf: make([]byte, 0, 256)}
	if h, whole := e.node(n); whole {
		return h
	}
	sum := sha256.Sum256(e.buf)
	return hash(sum[:16])
}

type hashWriter struct {
	buf   []byte
	child func(*node) hash
	exact bool // write a lone child instead of becoming it
}

func (e *hashWriter) tag(c byte, n int) {
	e.buf = append(e.buf, c)
	e.buf = binary.AppendUvarint(e.buf, uint64(n))
}

func (e *hashWriter) text(c byte, s string) {
	e.tag(c, len(s))
	e.buf = append(e.buf, s...)
}

func (e *hashWriter) sub(c byte, n *node) {
	h := e.child(n)
	e.buf = append(append(e.buf, c), h[:]...)
}

func (e *hashWriter) sorted(ns []*node) []hash {
	hs := make([]hash, len(ns))
	for i, n := range ns {
		hs[i] = e.child(n)
	}
	order.Func(hs, func(a, b hash) int { return bytes.Compare(a[:], b[:]) })
	return hs
}

func (e *hashWriter) hashes(c byte, hs []hash) {
	e.tag(c, len(hs))
	for _, h := range hs {
		e.buf = append(e.buf, h[:]...)
	}
}

// node writes n; whole is true when n is nothing but one other schema, whose
// hash is then returned.
func (e *hashWriter) node(n *node) (hash, bool) {
	if n.never {
		e.text('F', "never")
		return hash{}, false
	}
	all := slices.Clone(n.allOf)
	if n.ref != nil {
		all = append(all, n.ref)
	}
	if len(n.anyOf) == 1 {
		all = append(all, n.anyOf[0])
	} else if len(n.anyOf) > 1 {
		e.hashes('a', slices.Compact(e.sorted(n.anyOf)))
	}
	if len(n.oneOf) == 1 {
		all = append(all, n.oneOf[0])
	} else if len(n.oneOf) > 1 {
		e.hashes('o', e.sorted(n.oneOf)) // a repeated branch of oneOf matters
	}
	if n.mask != kAll {
		e.tag('t', int(n.mask))
	}
	e.values('e', n.enum)
	for _, x := range n.excluded {
		e.values('x', x)
	}
	if n.mask&kNumber != 0 && n.num != nil {
		e.numbers(n.num)
	}
	if n.mask&kString != 0 && n.str != nil {
		e.strings(n.str)
	}
	if n.mask&kArray != 0 && n.arr != nil {
		e.arrays(n.arr)
	}
	if n.mask&kObject != 0 && n.obj != nil {
		e.objects(n.obj)
	}
	if n.not != nil {
		e.sub('n', n.not)
	}
	if c := n.cond; c != nil {
		e.sub('i', c.test)
		if c.yes != nil {
			e.sub('y', c.yes)
		}
		if c.no != nil {
			e.sub('z', c.no)
		}
	}
	if n.opaque != "" {
		e.text('?', n.opaque)
	}
	if len(all) > 0 {
		hs := slices.Compact(e.sorted(all))
		if len(hs) == 1 && len(e.buf) == 0 && !e.exact {
			return hs[0], true
		}
		e.hashes('A', hs)
	}
	return hash{}, false
}

func (e *hashWriter) values(c byte, s *valueSet) {
	if s == nil {
		return
	}
	keys := make([]string, 0, len(s.vals))
	for _, v := range s.vals {
		keys = append(keys, v.key())
	}
	slices.Sort(keys)
	e.tag(c, len(keys))
	for _, k := range keys {
		e.text('v', k)
	}
}

func (e *hashWriter) bound(c byte, b *bound) {
	if b == nil {
		return
	}
	s := b.at.RatString()
	if b.open {
		s += "!"
	}
	e.text(c, s)
}

func (e *hashWriter) numbers(p *numberPart) {
	e.bound('<', p.lo)
	e.bound('>', p.hi)
	e.rats('m', p.mult)
	e.rats('M', p.not)
}

func (e *hashWriter) rats(c byte, rs []*big.Rat) {
	if len(rs) == 0 {
		return
	}
	words := make([]string, len(rs))
	for i, r := range rs {
		words[i] = r.RatString()
	}
	e.words(c, words)
}

func (e *hashWriter) words(c byte, words []string) {
	words = slices.Compact(slices.Sorted(slices.Values(words)))
	e.tag(c, len(words))
	for _, w := range words {
		e.text('w', w)
	}
}

func patternTexts(ps []*pattern) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.text
	}
	return out
}

func (e *hashWriter) strings(p *stringPart) {
	if p.min > 0 {
		e.tag('l', p.min)
	}
	if p.max != absent {
		e.tag('L', p.max)
	}
	if len(p.pats) > 0 {
		e.words('p', patternTexts(p.pats))
	}
	if len(p.notPats) > 0 {
		e.words('P', patternTexts(p.notPats))
	}
}

func (e *hashWriter) arrays(p *arrayPart) {
	if len(p.prefix) > 0 {
		e.tag('[', len(p.prefix))
		for _, c := range p.prefix {
			e.sub('s', c)
		}
	}
	if p.rest != nil && !(p.rest.trivial() && len(p.prefix) == 0) {
		e.sub(']', p.rest)
	}
	if p.min > 0 {
		e.tag('b', p.min)
	}
	if p.max != absent {
		e.tag('B', p.max)
	}
	if p.unique {
		e.tag('u', 1)
	}
	if p.notUnique {
		e.tag('U', 1)
	}
	if p.contains != nil {
		e.sub('c', p.contains)
		e.tag('C', p.minC)
		e.tag('D', p.maxC+1)
	}
	for _, d := range p.somewhere {
		e.tag('S', d.from)
		if d.exact {
			e.tag('X', 1)
		}
		e.sub('s', d.neg)
	}
}

func (e *hashWriter) objects(p *objectPart) {
	loose := p.extra == nil || p.extra.trivial()
	props := make([]property, 0, len(p.props))
	for _, q := range p.props {
		if !loose || !q.node.trivial() {
			props = append(props, q)
		}
	}
	order.Func(props, func(a, b property) int { return compareStrings(a.name, b.name) })
	e.tag('{', len(props))
	for _, q := range props {
		e.text('k', q.name)
		e.sub('s', q.node)
	}
	pats := slices.Clone(p.patterns)
	order.Func(pats, func(a, b patternProperty) int { return compareStrings(a.pat.text, b.pat.text) })
	for _, q := range pats {
		if !loose || !q.node.trivial() {
			e.text('q', q.pat.text)
			e.sub('s', q.node)
		}
	}
	if !loose {
		e.sub('}', p.extra)
	}
	if p.names != nil && !p.names.trivial() {
		e.sub('N', p.names)
	}
	if len(p.required) > 0 {
		e.words('r', p.required)
	}
	if p.min > 0 {
		e.tag('g', p.min)
	}
	if p.max != absent {
		e.tag('G', p.max)
	}
	for _, d := range slices.SortedFunc(slices.Values(p.depReq), func(a, b dependentNames) int { return compareStrings(a.name, b.name) }) {
		if len(d.names) > 0 {
			e.text('d', d.name)
			e.words('r', d.names)
		}
	}
	for _, d := range slices.SortedFunc(slices.Values(p.depSch), func(a, b property) int { return compareStrings(a.name, b.name) }) {
		e.text('h', d.name)
		e.sub('s', d.node)
	}
	for _, d := range p.demands {
		e.demand(d)
	}
}

// demand writes a made-up demand. Its class of names is written out in full.
func (e *hashWriter) demand(d keyDemand) {
	e.tag('K', 1)
	if d.outside != nil {
		names := make([]string, 0, len(d.outside.props))
		for _, q := range d.outside.props {
			names = append(names, q.name)
		}
		e.words('O', names)
		pats := make([]string, 0, len(d.outside.patterns))
		for _, q := range d.outside.patterns {
			pats = append(pats, q.pat.text)
		}
		e.words('o', pats)
	}
	if d.match != nil {
		e.text('Q', d.match.text)
	}
	if d.neg != nil {
		e.sub('s', d.neg)
	}
	if d.nameNeg != nil {
		e.sub('V', d.nameNeg)
	}
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// only returns the schema that n is nothing but another name of, or n itself.
func (n *node) only() *node {
	for {
		next := n.ref
		count := len(n.allOf) + len(n.anyOf) + len(n.oneOf)
		if next != nil {
			count++
		}
		if count != 1 {
			return n
		}
		for _, list := range [...][]*node{n.allOf, n.anyOf, n.oneOf} {
			if len(list) == 1 {
				next = list[0]
			}
		}
		c := *n
		c.ref, c.allOf, c.anyOf, c.oneOf = nil, nil, nil, nil
		if !c.trivial() {
			return n
		}
		n = next
	}
}
