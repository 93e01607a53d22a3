// SPDX-License-Identifier: Apache-2.0

package schemaset

import "strings"

// hints links the properties that vanished from an object with those that
// appeared: renamed, or moved into a group or out of one.
func (x *explainer) hints(first int, o, n *objectSide) {
	var gone, come []*Delta
	for i := first; i < len(x.set); i++ {
		d := &x.set[i]
		if d.Facet != FacetProperty || d.OldPtr != o.owner(d.Name) && d.NewPtr != n.owner(d.Name) {
			continue
		}
		switch {
		case !d.HasNew && o.declared[d.Name]:
			gone = append(gone, d)
		case !d.HasOld && n.declared[d.Name]:
			come = append(come, d)
		}
	}
	if len(gone) == 0 && len(come) == 0 || len(gone)*len(come) > 40_000 {
		return
	}
	for _, rule := range [...]string{"case", "name", "schema"} {
		for _, g := range gone {
			for _, c := range come {
				if g.RenamedTo == "" && c.RenamedFrom == "" && x.renamed(rule, g, c, o, n) {
					g.RenamedTo, g.RenameBy = c.Name, rule
					c.RenamedFrom, c.RenameBy = g.Name, rule
				}
			}
		}
	}
	for _, g := range gone {
		g.MovedTo = x.moved(g.Name, o, n, g.Path)
	}
	for _, c := range come {
		c.MovedFrom = x.moved(c.Name, n, o, c.Path)
	}
}

func (s *objectSide) owner(name string) string {
	ptr, _, _ := s.property(name)
	return ptr
}

func (x *explainer) renamed(rule string, g, c *Delta, o, n *objectSide) bool {
	a, b := o.parts.at(g.Name), n.parts.at(c.Name)
	switch rule {
	case "case":
		return fold(g.Name) == fold(c.Name)
	case "name":
		return look(a).km&look(b).km != 0 && similarWords(g.Name, c.Name)
	}
	// Equal schemas say something only where they are not everyday ones.
	return g.OldRequired == c.NewRequired && x.s.goalKey(a, nil) == x.s.goalKey(b, nil) && !everyday(look(a))
}

// everyday reports a schema that half of all properties share.
func everyday(v *view) bool {
	for _, n := range v.nodes {
		m := *n
		m.mask = kAll
		if !m.trivial() {
			return false
		}
	}
	return true
}

// fold drops case and the marks between words: maxItems, max_items, MAX-ITEMS.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// similarWords accepts names of which one begins or ends with the other.
func similarWords(a, b string) bool {
	a, b = fold(a), fold(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 3 && (strings.HasPrefix(b, a) || strings.HasSuffix(b, a))
}

// moved looks for a property of that name and schema one level deeper on the
// other side, under a property that this side does not have.
func (x *explainer) moved(name string, here, there *objectSide, path Path) Path {
	want := x.s.goalKey(here.parts.at(name), nil)
	for i, p := range there.parts {
		if there.nodes[i].src == nil {
			continue
		}
		for _, q := range p.props {
			if here.declared[q.name] {
				continue
			}
			inner := objectsOf(look([]*node{q.node}))
			if inner.declared[name] && x.s.goalKey(inner.parts.at(name), nil) == want && len(path) > 0 {
				return path[:len(path)-1].With(Step{Kind: StepProperty, Name: q.name}).With(Step{Kind: StepProperty, Name: name})
			}
		}
	}
	return nil
}
