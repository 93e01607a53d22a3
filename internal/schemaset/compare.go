// SPDX-License-Identifier: Apache-2.0

package schemaset

import "github.com/mcprove/mcprove/internal/jsonx"

func compare(old, new *Schema, budget Budget) Comparison {
	return newSolver(budget, old, new).compare(old, new)
}

// compare asks both questions, and the third where both found a value.
func (s *solver) compare(old, new *Schema) Comparison {
	c := Comparison{Lost: s.contained(old, new)}
	if old.looped || new.looped {
		c.Gained = c.Lost
		if c.Lost.Verdict == Inside {
			c.Relation = Equal
		}
		return c
	}
	if s.id(old.root) == s.id(new.root) {
		c.Gained, c.Relation = c.Lost, Equal
		return c
	}
	c.Gained = s.contained(new, old)
	switch {
	case c.Lost.Verdict == Undecided || c.Gained.Verdict == Undecided:
	case c.Lost.Verdict == Inside && c.Gained.Verdict == Inside:
		c.Relation = Equal
	case c.Lost.Verdict == Inside:
		c.Relation = Widened
	case c.Gained.Verdict == Inside:
		c.Relation = Narrowed
	default:
		c.Common = s.ask([]*node{old.root, new.root}, nil)
		switch c.Common.Verdict {
		case Outside:
			c.Relation = Overlapping
		case Inside:
			c.Relation = Disjoint
		}
	}
	return c
}

func generate(s *Schema, budget Budget) Result {
	if s.looped {
		return Result{Reason: "a schema returns to itself in place"}
	}
	sv := newSolver(budget, s)
	for _, v := range s.root.samples {
		if newEvaluator().eval(s.root, v) == Yes {
			return Result{Verdict: Outside, Value: jsonx.Raw(v.appendJSON(nil))}
		}
	}
	return sv.ask([]*node{s.root}, nil)
}
