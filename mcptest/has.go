// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
)

// HasTool asserts that the server lists a tool, and gives it.
func (c *Client) HasTool(name string) Tool {
	c.t.Helper()
	return has(c, "tool", name, c.Tools(), func(t Tool) string { return t.Name })
}

// HasNoTool asserts that the server does not list a tool.
func (c *Client) HasNoTool(name string) {
	c.t.Helper()
	for t := range c.Tools() {
		if t.Name == name {
			c.t.Errorf("the tool %q is there: %s", name, shownJSON(t.Raw))
			return
		}
	}
}

// HasResource asserts that the server lists a resource, and gives it.
func (c *Client) HasResource(uri string) Resource {
	c.t.Helper()
	return has(c, "resource", uri, c.Resources(), func(r Resource) string { return r.URI })
}

// HasTemplate asserts that the server lists a resource template, and gives it.
func (c *Client) HasTemplate(uriTemplate string) Template {
	c.t.Helper()
	return has(c, "template", uriTemplate, c.Templates(), func(t Template) string { return t.URITemplate })
}

// HasPrompt asserts that the server lists a prompt, and gives it.
func (c *Client) HasPrompt(name string) Prompt {
	c.t.Helper()
	return has(c, "prompt", name, c.Prompts(), func(p Prompt) string { return p.Name })
}

func has[T any](c *Client, kind, name string, list iter.Seq[T], nameOf func(T) string) T {
	c.t.Helper()
	var there []string
	for item := range list {
		if nameOf(item) == name {
			return item
		}
		there = append(there, nameOf(item))
	}
	c.t.Error(missing(kind, name, there))
	var none T
	return none
}

// HasTools asserts that exactly these tools are listed, in any order.
func (c *Client) HasTools(names ...string) {
	c.t.Helper()
	var there []string
	for t := range c.Tools() {
		there = append(there, t.Name)
	}
	for _, n := range names {
		if !slices.Contains(there, n) {
			c.t.Error(missing("tool", n, there))
		}
	}
	for i, n := range there {
		switch {
		case slices.Contains(there[:i], n):
			c.t.Errorf("the tool %s is listed twice", shown(strconv.Quote(n)))
		case !slices.Contains(names, n):
			c.t.Errorf("the tool %s is there too", shown(strconv.Quote(n)))
		}
	}
}

// ListsWithin asserts that the whole listing of the tools, over all pages, takes
// at most so many bytes: every conversation begins with it.
func (c *Client) ListsWithin(bytes int) {
	c.t.Helper()
	total := 0
	type size struct {
		name  string
		bytes int
	}
	var sizes []size
	for page := range c.pages(spec.MethodToolsList) {
		total += len(page.Result())
		list, _ := jsonx.Elements(page.at("/tools"), jsonx.Lenient)
		for _, raw := range list {
			sizes = append(sizes, size{textOf(raw, "/name"), len(raw)})
		}
	}
	if total <= bytes {
		return
	}
	slices.SortFunc(sizes, func(a, b size) int { return b.bytes - a.bytes })
	var largest []string
	for _, s := range sizes[:min(3, len(sizes))] {
		largest = append(largest, shown(s.name)+" with "+count(s.bytes, "byte"))
	}
	c.t.Errorf("tools/list has %d bytes, want at most %d; the largest tools are %s", total, bytes, strings.Join(largest, ", "))
}

// ListsTheSame asserts that every list of the server gives the same bytes when it
// is asked twice, order included. Hints for caches may differ.
func (c *Client) ListsTheSame() {
	c.t.Helper()
	for _, l := range lists {
		if _, has := c.capability(l.capability); !has {
			continue
		}
		first, second := c.listed(l.method, l.member), c.listed(l.method, l.member)
		if len(first) != len(second) {
			c.t.Errorf("%s gave %s, and then %s", l.method, count(len(first), "item"), count(len(second), "item"))
			continue
		}
		for i := range first {
			if first[i] != second[i] {
				c.t.Errorf("%s gave another item %d when it was asked again:\n  %s\n  %s", l.method, i+1, shown(first[i]), shown(second[i]))
				break
			}
		}
	}
}

var lists = []struct{ capability, method, member string }{
	{"tools", spec.MethodToolsList, "tools"},
	{"resources", spec.MethodResourcesList, "resources"},
	{"resources", spec.MethodResourceTemplatesList, "resourceTemplates"},
	{"prompts", spec.MethodPromptsList, "prompts"},
}

func (c *Client) listed(method, member string) []string {
	c.t.Helper()
	var out []string
	for page := range c.pages(method) {
		list, _ := jsonx.Elements(page.at("/"+member), jsonx.Lenient)
		for _, raw := range list {
			out = append(out, string(raw))
		}
	}
	return out
}

// StaysTheSame asserts that what the server shows of itself does not change while
// a function makes calls: tools that change after they were approved are those
// that nobody approved.
func (c *Client) StaysTheSame(calls func()) {
	c.t.Helper()
	before := c.surface()
	calls()
	after := c.surface()
	result := contract.Compare(before, after, contract.Options{})
	for i := range result.Changes {
		ch := &result.Changes[i]
		if ch.ID == contract.VersionNotRaised {
			continue // nobody released anything
		}
		c.t.Errorf("after the calls the %s is another one: %s", place(ch), shown(ch.Message))
	}
}

func place(ch *contract.Change) string {
	s := ch.Kind
	if ch.Name != "" {
		s += " " + shown(ch.Name)
	}
	return s
}

// surface collects all that the server shows.
func (c *Client) surface() *surface.Surface {
	c.t.Helper()
	s, err := surface.Collect(c.ctx, c.session, surface.CollectOptions{Forced: c.o.revision.Valid() || c.o.era != 0})
	if err != nil {
		c.t.Fatalf("what the server shows cannot be collected: %v", err)
	}
	return s
}
