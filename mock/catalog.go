// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// catalog is what a server shows at a time. It never changes: a change of the
// server makes a new one.
type catalog struct {
	from parts

	capabilities json.RawMessage
	declared     map[string]bool // their dotted paths

	tools     []tool
	toolAt    map[string]*tool
	resources []resource
	templates []template
	prompts   []prompt
	lists     map[string]*list
}

// parts are what a catalog is made of.
type parts struct {
	tools     []Tool
	resources []Resource
	templates []Template
	prompts   []Prompt
}

// list is a listing: what its items are called and where a cursor leads.
type list struct {
	key   string // member of the result
	items []json.RawMessage
	// tasked are the items as 2025-11-25 lists them, and plain as revisions
	// before 2025-06-18 do; nil when it makes no difference.
	tasked, plain []json.RawMessage
}

func (l *list) at(r spec.Revision) []json.RawMessage {
	switch {
	case r == spec.Rev20251125 && l.tasked != nil:
		return l.tasked
	case r < spec.Rev20250618 && l.plain != nil:
		return l.plain
	}
	return l.items
}

type tool struct {
	Tool
	name    string
	schema  json.RawMessage
	input   *shape
	headers spec.ParamHeaders
	play    Func // nil when the results never change
	// Results that never change are finished once for each era.
	legacy, modern json.RawMessage
}

type resource struct {
	uri      string
	contents json.RawMessage
	play     Func
}

type template struct {
	Template
	uri   string
	match *regexp.Regexp // nil when it has expressions that are not matched
	names []string
	play  Func
}

type prompt struct {
	Prompt
	name      string
	arguments []argument
	play      Func
}

type argument struct {
	name     string
	required bool
}

// compile reads the definitions once. One that cannot be read is listed as it
// is, and answers nothing.
func (s *Server) compile(from parts) *catalog {
	c := &catalog{toolAt: map[string]*tool{}, from: from}
	lists := [...]list{{key: "tools"}, {key: "resources"}, {key: "resourceTemplates"}, {key: "prompts"}}
	add := func(i int, definition json.RawMessage) json.RawMessage {
		definition = line(definition)
		lists[i].items = append(lists[i].items, definition)
		return definition
	}
	c.tools = make([]tool, len(from.tools))
	for i, t := range from.tools {
		t.Definition = add(0, t.Definition)
		c.tools[i] = s.tool(t)
		c.toolAt[c.tools[i].name] = &c.tools[i]
	}
	lists[0].tasked, lists[0].plain = tasked(c.tools), unstructured(c.tools)
	for _, r := range from.resources {
		uri := word(add(1, r.Definition), "uri")
		contents := line(r.Contents)
		if contents == nil {
			contents = contentsOf(uri, "Contents of "+uri)
		}
		c.resources = append(c.resources, resource{uri, contents, s.plays(r.Func, r.Answers, r.Cycle, "resource "+uri)})
	}
	for _, t := range from.templates {
		t.Definition, t.Contents = add(2, t.Definition), line(t.Contents)
		if t.Contents == nil {
			t.Contents = contentsOf("{{uri}}", "Contents of {{uri}}")
		}
		uri := word(t.Definition, "uriTemplate")
		match, names := matcher(uri)
		c.templates = append(c.templates, template{t, uri, match, names, s.plays(t.Func, t.Answers, t.Cycle, "template "+uri)})
	}
	for _, p := range from.prompts {
		p.Definition, p.Messages = add(3, p.Definition), line(p.Messages)
		if p.Messages == nil {
			p.Messages = array([]json.RawMessage{object(member{"role", quote("user")}, member{"content", textBlock("Go on.")})})
		}
		name := word(p.Definition, "name")
		c.prompts = append(c.prompts, prompt{p, name, argumentsOf(p.Definition), s.plays(p.Func, p.Answers, p.Cycle, "prompt "+name)})
	}
	c.lists = map[string]*list{
		spec.MethodToolsList: &lists[0], spec.MethodResourcesList: &lists[1],
		spec.MethodResourceTemplatesList: &lists[2], spec.MethodPromptsList: &lists[3],
	}
	return c
}

func (s *Server) tool(t Tool) tool {
	schema := get(t.Definition, "inputSchema")
	out := tool{Tool: t, name: word(t.Definition, "name"), schema: json.RawMessage(schema), input: shapeOf(schema, maxDepth)}
	// A schema that is no object has no annotations.
	out.headers, _ = spec.ParseParamHeaders(schema)
	if out.play = s.plays(t.Func, t.Answers, t.Cycle, "tool "+out.name); out.play == nil {
		result := line(t.Result)
		if result == nil {
			result = textResult("Done.", false)
		}
		out.legacy, out.modern = result, s.seal(result, false)
		if t.Task != "" {
			out.play = fixed(result)
		}
	}
	return out
}

// tasked adds to the definitions whether a tool runs as a task, which only
// 2025-11-25 says there (2025-11-25/basic/utilities/tasks#tool-level-negotiation).
func tasked(tools []tool) []json.RawMessage {
	out, any := make([]json.RawMessage, len(tools)), false
	for i := range tools {
		out[i] = tools[i].Definition
		if use := tools[i].Task; use != "" {
			out[i], any = with(out[i], member{"execution", object(member{"taskSupport", quote(string(use))})}), true
		}
	}
	if !any {
		return nil
	}
	return out
}

// unstructured leaves out of the definitions what came with structured content.
func unstructured(tools []tool) []json.RawMessage {
	out, any := make([]json.RawMessage, len(tools)), false
	for i := range tools {
		out[i] = tools[i].Definition
		if get(out[i], "outputSchema") != nil {
			out[i], any = remove(out[i], "/outputSchema"), true
		}
	}
	if !any {
		return nil
	}
	return out
}

// tool finds a tool by its name, by another case of it when that counts not.
func (c *catalog) tool(name string, fold bool) *tool {
	if t := c.toolAt[name]; t != nil || !fold {
		return t
	}
	for i := range c.tools {
		if strings.EqualFold(c.tools[i].name, name) {
			return &c.tools[i]
		}
	}
	return nil
}

func (c *catalog) prompt(name string) *prompt {
	for i := range c.prompts {
		if c.prompts[i].name == name {
			return &c.prompts[i]
		}
	}
	return nil
}

func argumentsOf(definition []byte) []argument {
	es, _ := jsonx.Elements(get(definition, "arguments"), jsonx.Lenient)
	var as []argument
	for _, e := range es {
		as = append(as, argument{word(e, "name"), jsonx.KindOf(get(e, "required")) == jsonx.True})
	}
	return as
}

var expression = regexp.MustCompile(`\{([^{}]*)\}`)

// matcher reads a URI template of {name} expressions (RFC 6570, level 1).
func matcher(uri string) (match *regexp.Regexp, names []string) {
	var b strings.Builder
	b.WriteByte('^')
	at := 0
	for _, m := range expression.FindAllStringSubmatchIndex(uri, -1) {
		name := uri[m[2]:m[3]]
		if name == "" || strings.ContainsAny(name[:1], "+#./;?&") {
			return nil, nil
		}
		names = append(names, name)
		b.WriteString(regexp.QuoteMeta(uri[at:m[0]]) + `([^/]+)`)
		at = m[1]
	}
	b.WriteString(regexp.QuoteMeta(uri[at:]) + "$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, nil // bytes that are no UTF-8
	}
	return re, names
}

func textBlock(s string) json.RawMessage {
	return object(member{"type", quote(spec.ContentText)}, member{"text", quote(s)})
}

func textResult(s string, failed bool) json.RawMessage {
	r := []member{{"content", array([]json.RawMessage{textBlock(s)})}}
	if failed {
		r = append(r, member{"isError", []byte("true")})
	}
	return object(r...)
}

func contentsOf(uri, s string) json.RawMessage {
	return array([]json.RawMessage{object(
		member{"uri", quote(uri)}, member{"mimeType", quote("text/plain")}, member{"text", quote(s)},
	)})
}
