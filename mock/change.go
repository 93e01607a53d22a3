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
	s.changing.Lock()
	from := s.catalog.Load().from
	// What comes and goes in one change is never seen.
	tools := slices.DeleteFunc(slices.Concat(from.tools, c.AddTools), func(t Tool) bool { return named(c.RemoveTools, t.Definition, "name") })
	prompts := slices.DeleteFunc(slices.Concat(from.prompts, c.AddPrompts), func(p Prompt) bool { return named(c.RemovePrompts, p.Definition, "name") })
	resources := slices.DeleteFunc(slices.Concat(from.resources, c.AddResources), func(r Resource) bool { return named(c.RemoveResources, r.Definition, "uri") })
	s.catalog.Store(s.compile(tools, resources, from.templates, prompts))
	s.changing.Unlock()
	if c.Quiet {
		return
	}
	for _, kind := range []struct {
		changed            bool
		method, capability string
	}{
		{len(c.AddTools)+len(c.RemoveTools) > 0, spec.NotificationToolsListChanged, "tools.listChanged"},
		{len(c.AddPrompts)+len(c.RemovePrompts) > 0, spec.NotificationPromptsListChanged, "prompts.listChanged"},
		{len(c.AddResources)+len(c.RemoveResources) > 0, spec.NotificationResourcesListChanged, "resources.listChanged"},
	} {
		if kind.changed && s.declared[kind.capability] {
			s.tell(ctx, kind.method, nil)
		}
	}
	for _, uri := range c.Updated {
		s.tell(ctx, spec.NotificationResourcesUpdated, object(member{"uri", quote(uri)}))
	}
}
