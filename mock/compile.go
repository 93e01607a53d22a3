// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// list is a listing: what its items are called and where a cursor leads.
type list struct {
	key   string // member of the result
	items []json.RawMessage
}

type tool struct {
	Tool
	name    string
	input   *shape
	headers spec.ParamHeaders
	// Results that never change are finished once for each era.
	legacy, modern json.RawMessage
}

type resource struct {
	uri      string
	contents json.RawMessage
}

type template struct {
	Template
	uri   string
	match *regexp.Regexp // nil when it has expressions that are not matched
	names []string
}

type prompt struct {
	Prompt
	name      string
	arguments []argument
}

type argument struct {
	name     string
	required bool
}

// compile reads the definitions once. One that cannot be read is listed as it
// is, and answers nothing.
func (s *Server) compile() {
	s.toolAt = map[string]*tool{}
	lists := [...]list{{key: "tools"}, {key: "resources"}, {key: "resourceTemplates"}, {key: "prompts"}}
	add := func(i int, definition json.RawMessage) json.RawMessage {
		definition = line(definition)
		lists[i].items = append(lists[i].items, definition)
		return definition
	}
	s.tools = make([]tool, len(s.script.Tools))
	for i, t := range s.script.Tools {
		t.Definition = add(0, t.Definition)
		s.tools[i] = s.tool(t)
		s.toolAt[s.tools[i].name] = &s.tools[i]
	}
	for _, r := range s.script.Resources {
		r.Definition = add(1, r.Definition)
		uri := word(r.Definition, "uri")
		contents := line(r.Contents)
		if contents == nil {
			contents = contentsOf(uri, "Contents of "+uri)
		}
		s.resources = append(s.resources, resource{uri, contents})
	}
	for _, t := range s.script.Templates {
		t.Definition, t.Contents = add(2, t.Definition), line(t.Contents)
		if t.Contents == nil {
			t.Contents = contentsOf("{{uri}}", "Contents of {{uri}}")
		}
		uri := word(t.Definition, "uriTemplate")
		match, names := matcher(uri)
		s.templates = append(s.templates, template{t, uri, match, names})
	}
	for _, p := range s.script.Prompts {
		p.Definition, p.Messages = add(3, p.Definition), line(p.Messages)
		if p.Messages == nil {
			p.Messages = array([]json.RawMessage{object(member{"role", quote("user")}, member{"content", textBlock("Go on.")})})
		}
		s.prompts = append(s.prompts, prompt{p, word(p.Definition, "name"), argumentsOf(p.Definition)})
	}
	s.lists = map[string]*list{
		spec.MethodToolsList: &lists[0], spec.MethodResourcesList: &lists[1],
		spec.MethodResourceTemplatesList: &lists[2], spec.MethodPromptsList: &lists[3],
	}
}

func (s *Server) tool(t Tool) tool {
	schema := get(t.Definition, "inputSchema")
	out := tool{Tool: t, name: word(t.Definition, "name"), input: shapeOf(schema, maxDepth)}
	// A schema that is no object has no annotations.
	out.headers, _ = spec.ParseParamHeaders(schema)
	if t.Func == nil {
		result := line(t.Result)
		if result == nil {
			result = textResult("Done.", false)
		}
		out.legacy, out.modern = result, s.seal(result, false)
	}
	return out
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
