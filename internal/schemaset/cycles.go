// SPDX-License-Identifier: Apache-2.0

package schemaset

import "crypto/sha256"

// hashDocument settles the hashes of all nodes that reach no loop, children
// first, and lists the others in doc.cyclic.
func hashDocument(doc *Schema) {
	t := &tarjan{doc: doc, index: make(map[*node]int, len(doc.nodes)), low: make(map[*node]int, len(doc.nodes)), on: map[*node]bool{}}
	for _, n := range doc.nodes {
		if t.index[n] == 0 {
			t.visit(n)
		}
	}
}

// tarjan finds strongly connected components; they come out children first.
type tarjan struct {
	doc   *Schema
	next  int
	index map[*node]int
	low   map[*node]int
	on    map[*node]bool
	stack []*node
}

func (t *tarjan) visit(n *node) {
	t.next++
	t.index[n], t.low[n] = t.next, t.next
	t.stack = append(t.stack, n)
	t.on[n] = true
	loop := false
	each := func(c *node) {
		if c == n {
			loop = true
		}
		if t.index[c] == 0 {
			t.visit(c)
			t.low[n] = min(t.low[n], t.low[c])
		} else if t.on[c] {
			t.low[n] = min(t.low[n], t.index[c])
		}
	}
	n.inPlace(each)
	n.inside(each)
	if t.low[n] != t.index[n] {
		return
	}
	at := len(t.stack) - 1
	for t.stack[at] != n {
		at--
	}
	comp := t.stack[at:]
	t.stack = t.stack[:at]
	for _, m := range comp {
		t.on[m] = false
	}
	if len(comp) == 1 && !loop {
		reaches := func(c *node) { loop = loop || c.cyclic }
		n.inPlace(reaches)
		n.inside(reaches)
	}
	if len(comp) > 1 || loop {
		for _, m := range comp {
			m.cyclic = true
			t.doc.cyclic = append(t.doc.cyclic, m)
		}
		return
	}
	n.hash = hashOf(n, func(c *node) hash { return c.hash })
}

// refineLimit bounds the work of refine, in visits of nodes.
const refineLimit = 400_000

// refine gives the nodes that reach loops a hash: two get the same one exactly
// if no number of steps through their children tells them apart. Renamed
// definitions, inlined references and unrolled recursion come out equal. All
// documents that are compared must be refined together.
func refine(docs []*Schema) map[*node]hash {
	var all, named []*node
	for _, d := range docs {
		for _, n := range d.cyclic {
			if n.only() == n {
				all = append(all, n)
			} else {
				named = append(named, n)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	cur := make(map[*node]hash, len(all)+len(named))
	classes, visits := 0, 0
	for {
		next := make(map[*node]hash, len(all)+len(named))
		distinct := make(map[hash]struct{}, classes)
		for _, n := range all {
			e := hashWriter{exact: true, child: func(c *node) hash {
				if c = c.only(); c.cyclic {
					return cur[c]
				}
				return c.hash
			}}
			e.node(n)
			sum := sha256.Sum256(append(e.buf, "cyclic"...))
			next[n] = hash(sum[:16])
			distinct[next[n]] = struct{}{}
		}
		cur = next
		if visits += len(all); len(distinct) == classes {
			break
		}
		if classes = len(distinct); visits > refineLimit {
			cur = singletons(all)
			break
		}
	}
	for _, n := range named {
		cur[n] = cur[n.only()]
	}
	return cur
}

// singletons gives every node a hash of its own: no equality is claimed.
func singletons(all []*node) map[*node]hash {
	out := make(map[*node]hash, len(all))
	for i, n := range all {
		sum := sha256.Sum256([]byte{'s', byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)})
		out[n] = hash(sum[:16])
	}
	return out
}
