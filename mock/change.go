// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"slices"

	"github.com/mcprove/mcprove/spec"
)

// Change changes what the server shows from now on, and tells who listens. It
// returns when each of them has taken it or left.
func (s *Server) Change(c Change) { s.change(context.Background(), &c) }

func (s *Server) change(ctx context.Context, c *Change) {
	named := func(names []string, definition []byte, key string) bool {
		return slices.Contains(names, word(definition, key))
	}
	s.edit(func(p parts) parts {
		// What comes and goes in one change is never seen.
		p.tools = slices.DeleteFunc(slices.Concat(p.tools, c.AddTools), func(t Tool) bool { return named(c.RemoveTools, t.Definition, "name") })
		p.prompts = slices.DeleteFunc(slices.Concat(p.prompts, c.AddPrompts), func(p Prompt) bool { return named(c.RemovePrompts, p.Definition, "name") })
		p.resources = slices.DeleteFunc(slices.Concat(p.resources, c.AddResources), func(r Resource) bool { return named(c.RemoveResources, r.Definition, "uri") })
		return p
	})
	if c.Quiet {
		return
	}
	for _, kind := range []struct {
		changed bool
		name    string
	}{
		{len(c.AddTools)+len(c.RemoveTools) > 0, "tools"},
		{len(c.AddPrompts)+len(c.RemovePrompts) > 0, "prompts"},
		{len(c.AddResources)+len(c.RemoveResources) > 0, "resources"},
	} {
		if kind.changed {
			s.announce(ctx, kind.name)
		}
	}
	for _, uri := range c.Updated {
		s.tell(ctx, spec.NotificationResourcesUpdated, object(member{"uri", quote(uri)}))
	}
}

// edit makes and shows the next catalog.
func (s *Server) edit(next func(parts) parts) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.offer(s.compile(next(s.catalog.Load().from)))
}

// announce tells who listens that a list changed: of legacy clients those to
// which it was declared that they would be told, of modern ones those whose
// subscription was granted.
func (s *Server) announce(ctx context.Context, kind string) {
	capability := kind + ".listChanged"
	if !s.declares(capability) {
		return
	}
	s.tellSome(ctx, "notifications/"+kind+"/list_changed", nil, func(st *stream) bool {
		return st.filter != nil || st.peer.knows(capability)
	})
}
