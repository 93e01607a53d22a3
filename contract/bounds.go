// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"

	ss "github.com/mcprove/mcprove/internal/schemaset"
)

// pair is the two kinds of one facet in one direction: for values lost, and
// for values gained.
type pair struct{ less, more *kind }

// of picks the kind for a change; values lost and gained at once count as the
// direction's harm.
func (p pair) of(d ss.Direction, c ss.Change) *kind {
	switch {
	case c == ss.More, c != ss.Less && d == ss.Output:
		return p.more
	}
	return p.less
}

// bounds are the facets with a number; each has four kinds of change.
var bounds = map[ss.Facet]map[ss.Direction]pair{
	ss.FacetMinimum:          bound("minimum", "raised", "lowered"),
	ss.FacetExclusiveMinimum: bound("exclusiveMinimum", "raised", "lowered"),
	ss.FacetMaximum:          bound("maximum", "lowered", "raised"),
	ss.FacetExclusiveMaximum: bound("exclusiveMaximum", "lowered", "raised"),
	ss.FacetMinLength:        bound("minLength", "raised", "lowered"),
	ss.FacetMaxLength:        bound("maxLength", "lowered", "raised"),
	ss.FacetMinItems:         bound("minItems", "raised", "lowered"),
	ss.FacetMaxItems:         bound("maxItems", "lowered", "raised"),
	ss.FacetMinProperties:    bound("minProperties", "raised", "lowered"),
	ss.FacetMaxProperties:    bound("maxProperties", "lowered", "raised"),
	ss.FacetMinContains:      bound("minContains", "raised", "lowered"),
	ss.FacetMaxContains:      bound("maxContains", "lowered", "raised"),
}

func bound(keyword, tighter, looser string) map[ss.Direction]pair {
	slug := kebab(keyword)
	return map[ss.Direction]pair{
		ss.Input: {
			define("input-"+slug+"-tightened", Breaking, keyword+" "+tighter+" or added",
				"values between the old and the new bound are refused now", "keep the old "+keyword+", or accept both under a new argument"),
			define("input-"+slug+"-relaxed", Additive, keyword+" "+looser+" or removed",
				"every value that was accepted still is", "nothing to do"),
		},
		ss.Output: {
			define("output-"+slug+"-tightened", Additive, "output "+keyword+" "+tighter+" or added",
				"results stay within what readers knew", "nothing to do"),
			define("output-"+slug+"-relaxed", Breaking, "output "+keyword+" "+looser+" or removed",
				"results may now lie beyond a bound that readers relied on, as buffer size, integer width or percentage",
				"keep results within the old "+keyword+", or announce it under a new field"),
		},
	}
}

// kebab turns camelCase into kebab-case.
func kebab(s string) string {
	var b strings.Builder
	for _, r := range s {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
