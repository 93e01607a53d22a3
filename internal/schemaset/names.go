// SPDX-License-Identifier: Apache-2.0

package schemaset

func (v Verdict) String() string {
	return [...]string{"undecided", "inside", "outside"}[min(int(v), 2)]
}

func (r Relation) String() string {
	return [...]string{"unsettled", "equal", "widened", "narrowed", "overlapping", "disjoint"}[min(int(r), 5)]
}

func (c Change) String() string {
	return [...]string{"text", "less", "more", "differ", "maybe"}[min(int(c), 4)]
}

func (t Truth) String() string {
	return [...]string{"unknown", "yes", "no"}[min(int(t), 2)]
}
