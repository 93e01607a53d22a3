// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/surface"
)

// notCompared notes a listing that one side did not capture.
func (c *comparer) notCompared(k surface.Kind) {
	switch {
	case c.old.Facets.HasKind(k):
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("%s: not compared, the new side did not capture them", k))
	case c.new.Facets.HasKind(k) && len(c.new.Items(k)) > 0:
		c.result.Notes = append(c.result.Notes, fmt.Sprintf("%s: not compared, the old side did not record them; record the contract again to cover them", k))
	}
}

// unrecorded notes the facets, within what both sides captured, that only one
// of them did: a contract of an older version is judged by what it recorded.
func (c *comparer) unrecorded() {
	missing := func(have, lack surface.Facets) string {
		var names []string
		for _, f := range have.Sorted() {
			if !lack.Has(f) && !volatile[f] && c.inReach(f) {
				names = append(names, string(f))
			}
		}
		return strings.Join(names, ", ")
	}
	if names := missing(c.new.Facets, c.old.Facets); names != "" {
		c.result.Notes = append(c.result.Notes, names+": not compared, the old side did not record this; record the contract again to cover it")
	}
	if names := missing(c.old.Facets, c.new.Facets); names != "" {
		c.result.Notes = append(c.result.Notes, names+": not compared, the new side did not capture this")
	}
}

// inReach reports a facet of a listing that both sides captured, or of the
// server's description where both sides have some of it.
func (c *comparer) inReach(f surface.Facet) bool {
	kind, _, member := strings.Cut(string(f), ".")
	if k := surface.Kind(kind); slices.Contains(surface.Kinds, k) {
		return member && c.both(surface.Facet(k))
	}
	return c.describes(c.old) && c.describes(c.new)
}

func (c *comparer) describes(s *surface.Surface) bool {
	return s.Facets.Has(surface.ServerName) || s.Facets.Has(surface.Capabilities)
}

// volatile are the facets that a contract file never holds.
var volatile = func() map[surface.Facet]bool {
	out := map[surface.Facet]bool{surface.Resources.Of("size"): true, surface.CacheScope: true}
	for _, k := range surface.Kinds {
		out[k.Order()], out[surface.LastModified(k)] = true, true
	}
	return out
}()
