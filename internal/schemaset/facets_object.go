// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"maps"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// objectSide is what one view says of the members of an object.
type objectSide struct {
	view     *view
	parts    objectParts
	nodes    []*node // of the parts
	declared map[string]bool
	required map[string]from
	closed   bool
	extra    []*node // what applies to a name nothing mentions, without the trivial
	extraAt  from
}

func objectsOf(v *view) *objectSide {
	s := &objectSide{view: v, declared: map[string]bool{}, required: map[string]from{}}
	for _, n := range v.nodes {
		o := n.obj
		if o == nil {
			continue
		}
		s.parts = append(s.parts, o)
		s.nodes = append(s.nodes, n)
		if n.src != nil {
			for _, p := range o.props {
				s.declared[p.name] = true
			}
		}
		for _, r := range o.required {
			if _, ok := s.required[r]; !ok {
				s.required[r] = from{n, "required"}
			}
		}
		if o.extra != nil {
			s.closed = s.closed || o.extra.never
			if !o.extra.trivial() {
				s.extra = append(s.extra, o.extra)
				if s.extraAt.n == nil {
					s.extraAt = from{n, "additionalProperties"}
				}
			}
		}
	}
	return s
}

// unevaluated reports whether the names are shut by unevaluatedProperties.
func (s *objectSide) unevaluated() bool { return s.extraAt.n != nil && s.extraAt.n.src == nil }

// property points at the declaration of a property.
func (s *objectSide) property(name string) (ptr string, raw jsonx.Raw, ok bool) {
	for i, o := range s.parts {
		if s.nodes[i].src == nil {
			continue
		}
		if p := o.prop(name); p != nil {
			return p.ptr, rawOf(p.src), true
		}
	}
	return s.view.ptr(), nil, false
}

func (s *objectSide) dflt(name string) jsonx.Raw {
	for _, n := range look(s.parts.at(name)).nodes {
		if v := n.src.get("default"); v != nil {
			return rawOf(v)
		}
	}
	return nil
}

func (f *facets) objects() {
	o, n := objectsOf(f.old), objectsOf(f.new)
	if len(o.parts)+len(n.parts) == 0 {
		return
	}
	f.base.OldClosed, f.base.NewClosed = o.closed, n.closed
	first := len(f.x.set)
	names := maps.Clone(o.declared)
	for name := range n.declared {
		names[name] = true
	}
	sorted := slices.Sorted(maps.Keys(names))
	for _, name := range sorted {
		switch {
		case o.declared[name] && n.declared[name]:
			_, oldReq := o.required[name]
			step := f.at.into(Step{Kind: StepProperty, Name: name}, !oldReq)
			f.x.walk(o.parts.at(name), n.parts.at(name), step)
		case o.declared[name]:
			f.removed(name, o, n)
		default:
			f.added(name, o, n)
		}
	}
	f.required(o, n)
	f.additional(o, n, sorted)
	f.patterns(o, n)
	f.names(o, n)
	f.dependents(o, n)
	f.count(FacetMinProperties, true, func(m *node) (int, bool) {
		if m.obj == nil {
			return 0, false
		}
		return m.obj.min, true
	}, func(c int) *node { return newObjectNode(&objectPart{min: c, max: absent}) })
	f.count(FacetMaxProperties, false, func(m *node) (int, bool) {
		if m.obj == nil {
			return 0, false
		}
		return m.obj.max, true
	}, func(c int) *node { return newObjectNode(&objectPart{max: c}) })
	f.x.hints(first, o, n)
	f.x.orders(f.base, f.at, o, n)
}

// propertyNode constrains one member; nil where nothing is said.
func propertyNode(name string, ns []*node) *node {
	ns = solid(ns)
	if len(ns) == 0 {
		return nil
	}
	return newObjectNode(&objectPart{max: absent, props: []property{{name, orNil(ns)}}})
}

// admitted tells what a side says of a name that it does not declare.
func (s *objectSide) admitted(name string) string {
	for _, o := range s.parts {
		for _, q := range o.patterns {
			if q.pat.eval(name) == Yes {
				return "pattern"
			}
		}
	}
	switch {
	case s.closed:
		return ""
	case len(s.extra) > 0:
		return "additional"
	}
	return "open"
}

// removed reports a property that is gone, whatever that does to the set: on an
// open object it is still accepted and no longer means anything.
func (f *facets) removed(name string, o, n *objectSide) {
	d := f.base
	d.Facet, d.Name, d.HasNew = FacetProperty, name, false
	d.OldPtr, d.Before, _ = o.property(name)
	_, d.OldRequired = o.required[name]
	_, d.NewRequired = n.required[name]
	d.OldDefault = o.dflt(name)
	d.Admitted = n.admitted(name)
	d.OldKinds = look(o.parts.at(name)).km.names()
	lost := propertyNode(name, n.parts.at(name))
	gained := propertyNode(name, o.parts.at(name))
	if d.OldRequired && !d.NewRequired {
		gained = demandNames(name)
	}
	at := f.at
	d.Path, d.Branch, d.ParentOptional = at.path.With(Step{Kind: StepProperty, Name: name}), at.branch, at.optional
	f.x.settle(&d, at, lost, gained)
	if d.OldRequired && d.Gained.Verdict == Inside && f.x.out.Root.Gained.Verdict != Inside {
		f.x.settle(&d, at, lost, propertyNode(name, o.parts.at(name)))
	}
	d.Covered = d.Admitted != "" && d.Lost.Verdict == Inside
	d.ReaderLoss = d.Gained.Verdict == Inside
	f.x.set = append(f.x.set, d)
}

// added reports a property that is new; where it is required that is the one
// finding, its own children are not looked at.
func (f *facets) added(name string, o, n *objectSide) {
	d := f.base
	d.Facet, d.Name, d.HasOld = FacetProperty, name, false
	d.NewPtr, d.After, _ = n.property(name)
	_, d.OldRequired = o.required[name]
	_, d.NewRequired = n.required[name]
	d.NewProperty = true
	d.NewDefault = n.dflt(name)
	d.Admitted = o.admitted(name)
	kids := look(n.parts.at(name))
	d.NewKinds = kids.km.names()
	for _, k := range kids.nodes {
		d.HasRequiredChild = d.HasRequiredChild || k.obj != nil && len(k.obj.required) > 0
	}
	f.x.defaultFits(&d, n.parts.at(name))
	lost := propertyNode(name, n.parts.at(name))
	gained := propertyNode(name, o.parts.at(name))
	if d.NewRequired && !d.OldRequired {
		lost = demandNames(name)
	}
	at := f.at
	d.Path, d.Branch, d.ParentOptional = at.path.With(Step{Kind: StepProperty, Name: name}), at.branch, at.optional
	f.x.settle(&d, at, lost, gained)
	if d.NewRequired && d.Lost.Verdict == Inside && f.x.out.Root.Lost.Verdict != Inside {
		lost = propertyNode(name, n.parts.at(name))
		f.x.settle(&d, at, lost, gained)
	}
	if !(d.NewRequired && !d.OldRequired) && d.Admitted == "open" {
		f.x.theoretical(&d, at, lost)
	}
	f.x.set = append(f.x.set, d)
}

// required compares the names that must be there, but for those of properties
// that were added or removed: these carry the fact themselves.
func (f *facets) required(o, n *objectSide) {
	names := maps.Clone(o.required)
	for name := range n.required {
		names[name] = from{}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		of, oldReq := o.required[name]
		nf, newReq := n.required[name]
		if oldReq == newReq || o.declared[name] != n.declared[name] {
			continue
		}
		d := f.delta(FacetRequired, of, nf)
		d.Name = name
		d.OldRequired, d.NewRequired = oldReq, newReq
		d.Undeclared = newReq && !n.declared[name] || oldReq && !o.declared[name]
		d.OldDefault, d.NewDefault = o.dflt(name), n.dflt(name)
		f.x.defaultFits(&d, n.parts.at(name))
		c := demandNames(name)
		d.Path, d.Branch, d.ParentOptional = f.at.path.With(Step{Kind: StepProperty, Name: name}), f.at.branch, f.at.optional
		var kept bool
		if newReq {
			kept = f.x.settle(&d, f.at, c, nil)
		} else {
			kept = f.x.settle(&d, f.at, nil, c)
		}
		if kept {
			f.x.set = append(f.x.set, d)
		} else {
			f.v.dropped = true
		}
	}
}

// additional compares what is said of names that neither side declares.
func (f *facets) additional(o, n *objectSide, declared []string) {
	shut := &objectPart{max: absent, made: true}
	for _, name := range declared {
		shut.props = append(shut.props, property{name, anything})
	}
	seen := map[string]bool{}
	for _, s := range [...]*objectSide{o, n} {
		for _, p := range s.parts {
			for _, q := range p.patterns {
				if !seen[q.pat.text] {
					seen[q.pat.text] = true
					shut.patterns = append(shut.patterns, patternProperty{q.pat, anything})
				}
			}
		}
	}
	shut.build()
	at := f.at.into(Step{Kind: StepAdditional}, true)
	at.frames[len(at.frames)-1].shutOld = shut
	if len(o.extra) > 0 && len(n.extra) > 0 && !o.closed && !n.closed {
		f.x.walk(o.extra, n.extra, at)
		return
	}
	if o.closed == n.closed && len(o.extra) == 0 == (len(n.extra) == 0) {
		return
	}
	d := f.delta(FacetAdditional, o.extraAt, n.extraAt)
	if o.unevaluated() || n.unevaluated() {
		d.Facet = FacetUnevaluated
		if o.extraAt.n != nil {
			d.OldPtr = o.extraAt.n.ptr
		}
		if n.extraAt.n != nil {
			d.NewPtr = n.extraAt.n.ptr
		}
	}
	if d.Before == nil {
		d.Before = keywordRaw(f.old.nodes, "additionalProperties")
	}
	if d.After == nil {
		d.After = keywordRaw(f.new.nodes, "additionalProperties")
	}
	f.x.propose(d, at, f.v, orNil(n.extra), orNil(o.extra))
}

func (f *facets) patterns(o, n *objectSide) {
	collect := func(s *objectSide) map[string]*node {
		out := map[string]*node{}
		for i, p := range s.parts {
			if s.nodes[i].src == nil {
				continue
			}
			for _, q := range p.patterns {
				out[q.pat.text] = q.node
			}
		}
		return out
	}
	olds, news := collect(o), collect(n)
	names := maps.Clone(olds)
	maps.Copy(names, news)
	for _, text := range slices.Sorted(maps.Keys(names)) {
		a, b := olds[text], news[text]
		if a != nil && b != nil {
			f.x.walk([]*node{a}, []*node{b}, f.at.into(Step{Kind: StepPattern, Name: text}, true))
			continue
		}
		d := f.base
		d.Facet, d.Name = FacetPatternProperties, text
		d.HasOld, d.HasNew = a != nil, b != nil
		constraint := func(side *objectSide, m *node) *node {
			if m != nil {
				return newObjectNode(&objectPart{max: absent, patterns: []patternProperty{{compilePattern(text), m}}})
			}
			// The other side may say something of such names elsewhere.
			if len(side.extra) == 0 {
				return nil
			}
			return newObjectNode(&objectPart{max: absent, patterns: []patternProperty{{compilePattern(text), orNil(side.extra)}}})
		}
		if a != nil {
			d.OldPtr, d.Before = a.ptr, rawOf(a.src)
		}
		if b != nil {
			d.NewPtr, d.After = b.ptr, rawOf(b.src)
		}
		f.propose(d, constraint(n, b), constraint(o, a))
	}
}

func (f *facets) names(o, n *objectSide) {
	collect := func(s *objectSide) (src from, out []*node) {
		for i, p := range s.parts {
			if p.names != nil && !p.names.trivial() {
				src = from{s.nodes[i], "propertyNames"}
				out = append(out, p.names)
			}
		}
		return src, out
	}
	of, a := collect(o)
	nf, b := collect(n)
	if f.x.s.goalKey(a, nil) == f.x.s.goalKey(b, nil) {
		return
	}
	constraint := func(ns []*node) *node {
		if len(ns) == 0 {
			return nil
		}
		return newObjectNode(&objectPart{max: absent, names: orNil(ns)})
	}
	f.propose(f.delta(FacetPropertyNames, of, nf), constraint(b), constraint(a))
}

// dependents compares dependentRequired and dependentSchemas, name by name.
func (f *facets) dependents(o, n *objectSide) {
	type dep struct {
		src   from
		names []string
		node  *node
	}
	collect := func(s *objectSide) (req, sch map[string]dep) {
		req, sch = map[string]dep{}, map[string]dep{}
		for i, p := range s.parts {
			word := func(w string) from {
				if s.nodes[i].src.get("dependencies") != nil {
					w = "dependencies"
				}
				return from{s.nodes[i], w}
			}
			for _, d := range p.depReq {
				e := req[d.name]
				e.src, e.names = word("dependentRequired"), append(e.names, d.names...)
				req[d.name] = e
			}
			for _, d := range p.depSch {
				sch[d.name] = dep{src: word("dependentSchemas"), node: d.node}
			}
		}
		return req, sch
	}
	oldReq, oldSch := collect(o)
	newReq, newSch := collect(n)
	compare := func(facet Facet, a, b map[string]dep, build func(name string, d dep) *node) {
		names := maps.Clone(a)
		maps.Copy(names, b)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			var x, y *node
			if d, ok := a[name]; ok {
				x = build(name, d)
			}
			if d, ok := b[name]; ok {
				y = build(name, d)
			}
			if x != nil && y != nil && f.x.s.same(x, y) {
				continue
			}
			d := f.delta(facet, a[name].src, b[name].src)
			d.Name = name
			f.propose(d, y, x)
		}
	}
	compare(FacetDependentRequired, oldReq, newReq, func(name string, d dep) *node {
		return newObjectNode(&objectPart{max: absent, depReq: []dependentNames{{name, d.names}}})
	})
	compare(FacetDependentSchemas, oldSch, newSch, func(name string, d dep) *node {
		return newObjectNode(&objectPart{max: absent, depSch: []property{{name, d.node}}})
	})
}
