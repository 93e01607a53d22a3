// SPDX-License-Identifier: Apache-2.0

package schemaset

func explain(old, new *Schema, opt Options) *Explanation {
	return &Explanation{Root: compare(old, new, opt.Budget)}
}
