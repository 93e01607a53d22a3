// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"slices"
	"strconv"

	"github.com/mcprove/mcprove/internal/order"
)

// objectBuilder chooses the members of an object. Names that some part mentions
// are tried one by one; all others fall into classes by the patterns they match.
type objectBuilder struct {
	s       *solver
	b       *branch
	parts   objectParts
	lo, hi  int
	names   []*node // propertyNames
	demands []keyDemand
	pats    []*pattern // distinct ones
	entries []entry
	gaps    string // why the search is incomplete, "" when it is not
	known   []string
}

type entry struct {
	name string
	neg  []*node
}

// maxPatterns bounds the distinct patterns whose combinations are tried.
const maxPatterns = 5

func (s *solver) leafObject(b *branch) outcome {
	o := &objectBuilder{s: s, b: b, parts: b.objects()}
	o.lo, o.hi = o.parts.bounds()
	seen := map[string]bool{}
	for _, p := range o.parts {
		if p.names != nil {
			o.names = append(o.names, p.names)
		}
		o.demands = append(o.demands, p.demands...)
		for _, q := range p.patterns {
			o.pattern(q.pat)
		}
		for _, d := range p.demands {
			if d.match != nil {
				o.pattern(d.match)
			}
			if d.outside != nil {
				for _, q := range d.outside.patterns {
					o.pattern(q.pat)
				}
			}
		}
		for _, r := range p.required {
			if !seen[r] {
				seen[r] = true
				o.entries = append(o.entries, entry{name: r})
			}
		}
	}
	s.spend(len(o.entries) / 2)
	if o.hi != absent && (o.lo > o.hi || len(o.entries) > o.hi) {
		return closed()
	}
	out := o.place(0)
	if out.st == sat && b.isExcluded(out.v) {
		return o.another(out)
	}
	if out.st == empty && o.gaps != "" {
		return open(o.gaps)
	}
	return out
}

func (o *objectBuilder) pattern(p *pattern) {
	if !slices.ContainsFunc(o.pats, func(q *pattern) bool { return q.text == p.text }) {
		o.pats = append(o.pats, p)
	}
}

// place meets the demands from the i-th on, each by a member that is there
// already, by a mentioned name or by a new one.
func (o *objectBuilder) place(i int) outcome {
	if !o.s.spend(1) {
		return open(reasonBudget)
	}
	if i == len(o.demands) {
		return o.finish()
	}
	d := o.demands[i]
	res := closed()
	try := func(name string) outcome {
		old := slices.Clone(o.entries)
		at := slices.IndexFunc(o.entries, func(e entry) bool { return e.name == name })
		if at < 0 {
			if o.hi != absent && len(o.entries) >= o.hi {
				return closed()
			}
			at = len(o.entries)
			o.entries = append(slices.Clip(o.entries), entry{name: name})
		} else {
			o.entries = slices.Clone(o.entries)
		}
		if d.neg != nil {
			o.entries[at].neg = append(slices.Clip(o.entries[at].neg), d.neg)
		}
		// A member that is impossible alone spares the search of the others.
		out := o.member(o.entries[at])
		if out.st == sat {
			out = o.place(i + 1)
		}
		o.entries = old
		return out
	}
	tried := map[string]bool{}
	for _, name := range o.candidates() {
		if tried[name] {
			continue
		}
		tried[name] = true
		switch o.inClass(d, name) {
		case No:
			continue
		case Unknown:
			o.gap("a name cannot be judged")
			continue
		}
		out := try(name)
		if out.st == sat || o.s.stopped {
			return out
		}
		res = join(res, out)
	}
	for _, name := range o.fresh(&d, 1) {
		out := try(name)
		if out.st == sat || o.s.stopped {
			return out
		}
		res = join(res, out)
	}
	return res
}

func (o *objectBuilder) gap(why string) {
	if o.gaps == "" {
		o.gaps = why
	}
}

// candidates lists the names that are mentioned, the ones in use first.
func (o *objectBuilder) candidates() []string {
	var out []string
	for _, e := range o.entries {
		out = append(out, e.name)
	}
	return append(out, o.mentioned()...)
}

func (o *objectBuilder) mentioned() []string {
	if o.known == nil {
		seen := map[string]bool{}
		o.known = []string{}
		add := func(name string) {
			if !seen[name] {
				seen[name] = true
				o.known = append(o.known, name)
			}
		}
		for _, p := range o.parts {
			for _, q := range p.props {
				add(q.name)
			}
			for _, r := range p.required {
				add(r)
			}
		}
		for _, d := range o.demands {
			if d.outside != nil {
				for _, q := range d.outside.props {
					add(q.name)
				}
			}
		}
		for _, n := range o.names {
			if n.enum != nil {
				for _, v := range n.enum.vals {
					if v.kind == kString {
						add(v.str)
					}
				}
			}
		}
		o.s.spend(1 + len(o.known)/16)
		slices.Sort(o.known)
	}
	return o.known
}

// inClass tells whether a member of that name can meet the demand.
func (o *objectBuilder) inClass(d keyDemand, name string) Truth {
	t := Yes
	if d.outside != nil {
		t = truth(d.outside.prop(name) == nil)
		for _, q := range d.outside.patterns {
			t = and(t, negate(q.pat.eval(name)))
		}
	}
	if d.match != nil {
		t = and(t, d.match.eval(name))
	}
	if d.nameNeg != nil {
		t = and(t, negate(newEvaluator().eval(d.nameNeg, newString(name))))
	}
	return t
}

// member solves the value of one member, its name included.
func (o *objectBuilder) member(e entry) outcome {
	name := Yes
	for _, n := range o.names {
		name = and(name, newEvaluator().eval(n, newString(e.name)))
	}
	if name == No || o.s.lens != nil && !o.declared(e.name) {
		return closed()
	}
	pos, sure := o.parts.member(e.name)
	out := o.s.goal(pos, e.neg)
	if out.st == sat && (name == Unknown || !sure) {
		return open("a name cannot be judged")
	}
	return out
}

// finish solves all members and adds as many as are missing.
func (o *objectBuilder) finish() outcome {
	if o.hi != absent && len(o.entries) > o.hi {
		return closed()
	}
	var ms []member
	res := found(nil)
	for _, e := range o.entries {
		out := o.member(e)
		switch out.st {
		case empty:
			return out
		case unknown:
			res = out
		default:
			ms = append(ms, member{e.name, out.v})
		}
	}
	if res.st == unknown {
		return res
	}
	if missing := o.lo - len(ms); missing > 0 {
		var out outcome
		if ms, out = o.pad(ms, missing); out.st != sat {
			return out
		}
	}
	order.Func(ms, func(a, b member) int { return compareStrings(a.name, b.name) })
	return found(newObject(ms))
}

// pad adds members that nothing but minProperties asks for.
func (o *objectBuilder) pad(ms []member, missing int) ([]member, outcome) {
	const maxMembers = 100_000
	if missing > maxMembers {
		return nil, found(newHuge(kObject, describe("an object", o.lo)+" members"))
	}
	used := map[string]bool{}
	for _, m := range ms {
		used[m.name] = true
	}
	res := closed()
	add := func(name string) {
		if missing == 0 || used[name] {
			return
		}
		used[name] = true
		out := o.member(entry{name: name})
		if out.st == sat {
			ms = append(ms, member{name, out.v})
			missing--
		} else {
			res = join(res, out)
		}
	}
	for _, name := range o.mentioned() {
		add(name)
	}
	if missing > 0 {
		for _, name := range o.fresh(nil, missing) {
			add(name)
		}
	}
	if missing > 0 {
		if res.st == empty && o.gaps != "" {
			return nil, open(o.gaps)
		}
		return nil, res
	}
	return ms, found(nil)
}

// another replaces an object that is a listed value, by one with more members.
func (o *objectBuilder) another(first outcome) outcome {
	for _, extra := range []int{1, 2, 3} {
		grown := *o
		grown.lo = len(first.v.mem) + extra
		if grown.hi != absent && grown.lo > grown.hi {
			break
		}
		if out := grown.place(0); out.st == sat && !o.b.isExcluded(out.v) {
			return out
		}
	}
	// Or by one whose members differ.
	for _, m := range first.v.mem {
		x := newNode()
		x.enum = newValueSet([]*val{m.val})
		x.mask, x.km = m.val.kind, m.val.kind
		grown := *o
		grown.entries = slices.Clone(o.entries)
		at := slices.IndexFunc(grown.entries, func(e entry) bool { return e.name == m.name })
		if at < 0 {
			grown.entries = append(grown.entries, entry{name: m.name, neg: []*node{x}})
		} else {
			grown.entries[at].neg = append(slices.Clip(grown.entries[at].neg), x)
		}
		if out := grown.place(0); out.st == sat && !o.b.isExcluded(out.v) {
			return out
		}
	}
	return open("only listed objects were found")
}

// declared applies the declared-names lens: where the old document declares
// properties, a name that it does not declare is not taken to be in use.
func (o *objectBuilder) declared(name string) bool {
	declares := false
	for _, c := range o.b.conj {
		p := c.obj
		if p == nil || p.made || c.doc != o.s.lens {
			continue
		}
		if p.prop(name) != nil || p.requires(name) || p.extra != nil {
			return true
		}
		for _, q := range p.patterns {
			if q.pat.eval(name) != No {
				return true
			}
		}
		declares = declares || len(p.props) > 0
	}
	return !declares
}

// extraName is given to members that nothing mentions.
func extraName(i int) string {
	if i == 0 {
		return "extra"
	}
	return "extra" + strconv.Itoa(i+1)
}
