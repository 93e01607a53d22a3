// SPDX-License-Identifier: Apache-2.0

package schemaset

import "strconv"

func (r *schemaReader) arrays() {
	p := &arrayPart{min: r.count("minItems", 0), max: r.count("maxItems", absent), unique: r.flag("uniqueItems"), minC: 1, maxC: absent}
	items := r.v.get("items")
	switch {
	case r.sc.dialect >= Draft2020:
		p.prefix = r.list("prefixItems", true)
		if items != nil && items.kind == kArray {
			// The old spelling of a tuple: 2020-12 has no meaning for it.
			r.wrong("items", "must be a schema; a list belongs under prefixItems")
		} else {
			p.rest = r.sub("items")
		}
	case items != nil && items.kind == kArray:
		for i, e := range items.arr {
			p.prefix = append(p.prefix, r.child(e, "items", strconv.Itoa(i)))
		}
		p.rest = r.sub("additionalItems")
	default:
		p.rest = r.sub("items")
	}
	if r.sc.dialect >= Draft6 {
		p.contains = r.sub("contains")
	}
	if r.sc.dialect >= Draft2019 && p.contains != nil {
		p.minC, p.maxC = r.count("minContains", 1), r.count("maxContains", absent)
	}
	if p.min > 0 || p.max != absent || p.unique || len(p.prefix) > 0 || p.rest != nil || p.contains != nil {
		r.n.arr = p
	}
}

func (r *schemaReader) objects() {
	p := &objectPart{
		props:    r.byName("properties"),
		required: r.names("required", r.v.get("required")),
		min:      r.count("minProperties", 0),
		max:      r.count("maxProperties", absent),
	}
	for _, pp := range r.byName("patternProperties") {
		at := r.at("patternProperties", pp.name)
		pat := r.pattern(pp.name, at)
		if pat.broken {
			r.hide("a pattern is no regular expression")
		}
		p.patterns = append(p.patterns, patternProperty{pat, pp.node})
	}
	p.extra = r.sub("additionalProperties")
	if r.sc.dialect >= Draft6 {
		p.names = r.sub("propertyNames")
	}
	if r.sc.dialect >= Draft2019 {
		r.dependentNames(p)
		p.depSch = r.byName("dependentSchemas")
	} else {
		r.dependencies(p)
	}
	if len(p.props) > 0 || len(p.patterns) > 0 || p.extra != nil || p.names != nil || len(p.required) > 0 ||
		p.min > 0 || p.max != absent || len(p.depReq) > 0 || len(p.depSch) > 0 {
		p.build()
		r.n.obj = p
	}
}

func (r *schemaReader) dependentNames(p *objectPart) {
	v := r.v.get("dependentRequired")
	if v == nil {
		return
	}
	if v.kind != kObject {
		r.wrong("dependentRequired", "must be an object of lists")
		return
	}
	for _, m := range v.mem {
		p.depReq = append(p.depReq, dependentNames{m.name, r.names("dependentRequired", m.val)})
	}
}

// dependencies is the older keyword that holds both forms.
func (r *schemaReader) dependencies(p *objectPart) {
	v := r.v.get("dependencies")
	if v == nil {
		return
	}
	if v.kind != kObject {
		r.wrong("dependencies", "must be an object")
		return
	}
	for _, m := range v.mem {
		if m.val.kind == kArray {
			p.depReq = append(p.depReq, dependentNames{m.name, r.names("dependencies", m.val)})
		} else {
			p.depSch = append(p.depSch, property{m.name, r.child(m.val, "dependencies", m.name)})
		}
	}
}

func (r *schemaReader) applicators() {
	n := r.n
	n.allOf = append(n.allOf, r.list("allOf", false)...)
	n.anyOf = r.list("anyOf", false)
	n.oneOf = r.list("oneOf", false)
	n.not = r.sub("not")
	if r.sc.dialect >= Draft7 {
		test := r.sub("if")
		yes, no := r.sub("then"), r.sub("else")
		if test != nil && (yes != nil || no != nil) {
			n.cond = &condition{test, yes, no}
		}
	}
}

// unevaluated reads unevaluatedProperties and unevaluatedItems. Where the set of
// evaluated names is known without a value they are additionalProperties and
// items over that set; elsewhere they stay opaque.
func (r *schemaReader) unevaluated() {
	if s := r.sub("unevaluatedProperties"); s != nil {
		ev := newEvaluated(new(int))
		if !ev.properties(r.n, 0) {
			r.l.problem(ProblemUnsupported, r.at("unevaluatedProperties"), "unevaluatedProperties", "beside keywords that depend on the value")
			r.hide("unevaluatedProperties depends on the value")
		} else if !ev.all {
			r.n.allOf = append(r.n.allOf, ev.additional(r, s))
		}
	}
	if s := r.sub("unevaluatedItems"); s != nil {
		ev := newEvaluated(new(int))
		if !ev.items(r.n, r.sc.dialect, 0) {
			r.l.problem(ProblemUnsupported, r.at("unevaluatedItems"), "unevaluatedItems", "beside keywords that depend on the value")
			r.hide("unevaluatedItems depends on the value")
		} else if !ev.all {
			n := newNode()
			n.doc, n.ptr = r.l.doc, r.at("unevaluatedItems")
			n.arr = &arrayPart{max: absent, minC: 1, maxC: absent, rest: s}
			for range ev.count {
				n.arr.prefix = append(n.arr.prefix, newNode())
			}
			r.l.doc.nodes = append(r.l.doc.nodes, n)
			r.n.allOf = append(r.n.allOf, n)
		}
	}
}
