// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// Tool is a tool as the server lists it. Raw is all of it.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Raw          json.RawMessage `json:"-"`
}

// Resource is a resource as the server lists it.
type Resource struct {
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	MIMEType    string          `json:"mimeType"`
	Raw         json.RawMessage `json:"-"`
}

// Template is a resource template as the server lists it.
type Template struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	MIMEType    string          `json:"mimeType"`
	Raw         json.RawMessage `json:"-"`
}

// Prompt is a prompt as the server lists it.
type Prompt struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Arguments   []PromptArgument `json:"arguments"`
	Raw         json.RawMessage  `json:"-"`
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// Tools are the tools that the server lists, page by page as they are taken. A
// list that cannot be read ends the test.
func (c *Client) Tools() iter.Seq[Tool] {
	return items(c, spec.MethodToolsList, "tools", func(t *Tool, raw json.RawMessage) { t.Raw = raw })
}

// Resources are those that the server lists.
func (c *Client) Resources() iter.Seq[Resource] {
	return items(c, spec.MethodResourcesList, "resources", func(r *Resource, raw json.RawMessage) { r.Raw = raw })
}

// Templates are the resource templates that the server lists.
func (c *Client) Templates() iter.Seq[Template] {
	return items(c, spec.MethodResourceTemplatesList, "resourceTemplates", func(t *Template, raw json.RawMessage) { t.Raw = raw })
}

// Prompts are those that the server lists.
func (c *Client) Prompts() iter.Seq[Prompt] {
	return items(c, spec.MethodPromptsList, "prompts", func(p *Prompt, raw json.RawMessage) { p.Raw = raw })
}

func items[T any](c *Client, method, member string, keep func(*T, json.RawMessage)) iter.Seq[T] {
	return func(yield func(T) bool) {
		c.t.Helper()
		for page := range c.pages(method) {
			list, err := jsonx.Elements(lookup(page.Result(), "/"+member), jsonx.Lenient)
			if err != nil {
				c.t.Fatalf("%s: there is no list %q in %s", method, member, shownJSON(page.Result()))
			}
			for _, raw := range raws(list) {
				var item T
				if err := jsonx.Unmarshal(raw, &item); err != nil {
					c.t.Fatalf("%s: an item cannot be read: %v: %s", method, err, shownJSON(raw))
				}
				keep(&item, raw)
				if !yield(item) {
					return
				}
			}
		}
	}
}

// pages are the replies to a list method, one page after the other.
func (c *Client) pages(method string) iter.Seq[*Reply] {
	return func(yield func(*Reply) bool) {
		c.t.Helper()
		seen := map[string]bool{}
		var params any
		for {
			page := c.Do(method, params)
			page.Result()
			if !yield(page) {
				return
			}
			raw := page.at("/" + spec.FieldNextCursor)
			cursor, ok := jsonx.Text(raw)
			switch {
			case !ok, cursor == "" && !c.Modern():
				return
			case seen[cursor]:
				c.t.Fatalf("%s: the cursor %q came a second time, after %s", method, shown(cursor), count(len(seen)+1, "page"))
			case len(seen) >= session.DefaultPages:
				c.t.Fatalf("%s: more than %d pages", method, session.DefaultPages)
			}
			seen[cursor] = true
			params = map[string]any{spec.FieldCursor: cursor}
		}
	}
}

// toolList is what the tools were when they were listed.
type toolList struct {
	listing sync.Mutex // held while they are listed
	mu      sync.Mutex
	listed  bool
	tools   map[string]*listedTool
}

type listedTool struct {
	Tool
	output *contract.Schema
}

// toolOf is the definition of a tool, the zero value for one that is not listed.
// The tools are listed first where they were not. A listing that fails leaves the
// call as it is: it is the call that the test is about.
func (c *Client) toolOf(ctx context.Context, name string) Tool {
	l := c.tools
	l.listing.Lock()
	if !l.known() {
		c.listTools(ctx)
	}
	l.listing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tools[name]; t != nil {
		return t.Tool
	}
	return Tool{}
}

func (l *toolList) known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listed
}

// forget makes the next call list the tools again.
func (l *toolList) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed = false
}

// listTools reads the listing without failing the test.
func (c *Client) listTools(ctx context.Context) {
	found := map[string]*listedTool{}
	if _, has := c.capability("tools"); has {
		pages, err := c.session.ListAll(ctx, session.Request{Method: spec.MethodToolsList})
		if err != nil && !c.o.lax && ctx.Err() == nil {
			c.fault("%s failed, which every client asks for before it calls a tool: %s\n  (mcptest.Lax leaves this out)", spec.MethodToolsList, shown(err.Error()))
		}
		for _, p := range pages.Pages {
			list, _ := jsonx.Elements(p.Member("tools"), jsonx.Lenient)
			for _, raw := range raws(list) {
				t := &listedTool{}
				if jsonx.Unmarshal(raw, &t.Tool) != nil {
					continue
				}
				t.Raw = raw
				if t.OutputSchema != nil {
					t.output = contract.NewSchema(t.OutputSchema)
				}
				c.holdSchemas(t)
				found[t.Name] = t
			}
			if !c.o.lax {
				c.hold(&Reply{c: c, method: spec.MethodToolsList, result: p, exchange: p.Exchange})
			}
		}
	}
	c.tools.mu.Lock()
	defer c.tools.mu.Unlock()
	c.tools.listed, c.tools.tools = true, found
}

// holdSchemas holds that the schemas of a tool are schemas. One that is beyond what
// can be judged here is taken as it is.
func (c *Client) holdSchemas(t *listedTool) {
	if c.o.lax {
		return
	}
	for member, schema := range map[string]json.RawMessage{"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema} {
		if jsonx.KindOf(schema) != jsonx.Object {
			continue // that was held with the message
		}
		if fault := contract.CheckSchema(schema); fault != nil && fault.Kind != contract.SchemaUnjudged {
			c.fault("the %s of the tool %s is no JSON Schema: %s", member, shown(t.Name), shown(fault.Error()))
		}
	}
}

// schema is the outputSchema of a listed tool.
func (l *toolList) schema(name string) *contract.Schema {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tools[name]; t != nil {
		return t.output
	}
	return nil
}

// toolNamed is the definition of the tool that a reply is of.
func (c *Client) toolNamed(r *Reply) Tool {
	return c.toolOf(c.ctx, r.of)
}
