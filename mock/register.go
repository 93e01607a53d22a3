// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// RegistrationError is what a registration panics with that cannot be right: a
// mistake in the test, as a bad pattern is to regexp.MustCompile. A method that
// is one link of a chain has no other way to be heard.
type RegistrationError struct {
	What string // tool "add"
	Why  string
	Try  string
}

func (e *RegistrationError) Error() string { return "mock: " + e.What + ": " + e.Why + "; " + e.Try }

// Tool registers a tool, in place of one of that name, and tells who listens.
// The definition is made of the options and of what the behaviour knows: a
// [Typed] one has schemas. Without any the inputSchema is that of an object.
// What cannot be right panics with a [*RegistrationError].
func (s *Server) Tool(name string, b Behaviour, options ...Option) *Server {
	it := s.item(kindTool, name, options)
	d := it.does(b)
	t := Tool{Definition: it.definition(), Result: d.fixed, Func: d.play}
	return s.register(it, func(p parts) parts {
		p.tools = put(p.tools, t, func(o Tool) bool { return word(o.Definition, "name") == name })
		return p
	})
}

// Resource registers a resource by its URI, as Tool does a tool. Its name is the
// last part of the URI unless [Member] says otherwise.
func (s *Server) Resource(uri string, b Behaviour, options ...Option) *Server {
	it := s.item(kindResource, uri, options)
	d := it.does(b)
	r := Resource{Definition: it.definition(), Contents: d.fixed, Func: d.play}
	return s.register(it, func(p parts) parts {
		p.resources = put(p.resources, r, func(o Resource) bool { return word(o.Definition, "uri") == uri })
		return p
	})
}

// Template registers a resource template of {name} expressions. {{name}} in a
// text stands for what an expression matched.
func (s *Server) Template(uri string, b Behaviour, options ...Option) *Server {
	it := s.item(kindTemplate, uri, options)
	d := it.does(b)
	t := Template{Definition: it.definition(), Contents: d.fixed, Func: d.play, Complete: it.complete}
	return s.register(it, func(p parts) parts {
		p.templates = put(p.templates, t, func(o Template) bool { return word(o.Definition, "uriTemplate") == uri })
		return p
	})
}

// Prompt registers a prompt. {{name}} in a message stands for the argument of an
// [Argument] or [OptionalArgument].
func (s *Server) Prompt(name string, b Behaviour, options ...Option) *Server {
	it := s.item(kindPrompt, name, options)
	d := it.does(b)
	t := Prompt{Definition: it.definition(), Messages: d.fixed, Func: d.play, Complete: it.complete}
	return s.register(it, func(p parts) parts {
		p.prompts = put(p.prompts, t, func(o Prompt) bool { return word(o.Definition, "name") == name })
		return p
	})
}

// put replaces the item that was there, or adds one.
func put[T any](all []T, one T, same func(T) bool) []T {
	all = slices.Clone(all)
	if i := slices.IndexFunc(all, same); i >= 0 {
		all[i] = one
		return all
	}
	return append(all, one)
}

// tellBound is how long a registration waits for clients that do not read what
// they are told.
const tellBound = 5 * time.Second

// register shows what was registered, and its capability.
func (s *Server) register(it *item, next func(parts) parts) *Server {
	if s.script.Capabilities != nil && !s.declares(it.kind.capability) {
		it.refuse("the script's Capabilities do not declare "+it.kind.capability, "add it there, or leave Capabilities nil: then what is registered is declared")
	}
	s.edit(func(p parts) parts {
		s.opened[it.kind.capability] = true
		if it.complete != nil {
			s.opened["completions"] = true
		}
		return next(p)
	})
	ctx, cancel := context.WithTimeout(s.life, tellBound)
	defer cancel()
	s.announce(ctx, it.kind.capability)
	return s
}

// kind is a kind of thing that is registered.
type kind struct {
	name       string
	key        string // member of the definition that identifies it
	capability string
	definition string // of the specification, that of the item and of a whole result
	result     string
	cacheable  bool
}

var (
	kindTool     = &kind{"tool", "name", "tools", "Tool", "CallToolResult", false}
	kindResource = &kind{"resource", "uri", "resources", "Resource", "ReadResourceResult", true}
	kindTemplate = &kind{"template", "uriTemplate", "resources", "ResourceTemplate", "ReadResourceResult", true}
	kindPrompt   = &kind{"prompt", "name", "prompts", "Prompt", "GetPromptResult", false}
)

// item is what is being registered.
type item struct {
	server        *Server
	kind          *kind
	name          string // or URI
	mime          string // of contents, in place of their own
	shown         string // MIME type in the definition
	members       []member
	arguments     []json.RawMessage
	complete      map[string][]string
	input, output json.RawMessage
	shape         *shape // of output
}

func (it *item) what() string { return it.kind.name + " " + string(jsonx.Quote(it.name)) }

// refuse ends a registration that cannot be right.
func (it *item) refuse(why, try string) {
	panic(&RegistrationError{it.what(), why, try})
}

func (s *Server) item(k *kind, name string, options []Option) *item {
	it := &item{server: s, kind: k, name: name}
	if name == "" {
		it.refuse("it has no "+k.key, "give it one")
	}
	it.set(k.key, quote(name))
	if k.key != "name" {
		if u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(name)); err != nil || u.Scheme == "" {
			it.refuse("its URI has no scheme", "begin it with one, as file:///"+strings.TrimLeft(name, "/"))
		}
		short := path.Base(name)
		if short == "." || short == "/" {
			short = name
		}
		it.set("name", quote(short))
	}
	for _, o := range options {
		if !slices.Contains(o.kinds, k) {
			it.refuse(o.name+" says nothing of a "+k.name, "leave it out")
		}
		o.apply(it)
	}
	return it
}

// set gives the definition a member, in place of one of the name.
func (it *item) set(name string, value []byte) {
	if at := index(it.members, name); at >= 0 {
		it.members[at].value = value
		return
	}
	it.members = append(it.members, member{name, value})
}

// does asks a behaviour what it does for this item.
func (it *item) does(b Behaviour) does {
	if b == nil {
		it.refuse("it does nothing", "give it a behaviour, such as mock.Text")
	}
	d := b.does(it)
	if it.output != nil && d.fixed != nil {
		it.holdToOutput(d.fixed)
	}
	return d
}

// definition is the finished one, held to the specification.
func (it *item) definition() json.RawMessage {
	switch it.kind {
	case kindTool:
		if it.input == nil {
			it.input = []byte(`{"type":"object"}`)
		}
		it.set("inputSchema", it.input)
		if it.output != nil {
			it.set("outputSchema", it.output)
		}
	case kindPrompt:
		if it.arguments != nil {
			it.set("arguments", array(it.arguments))
		}
	default:
		if it.shown != "" {
			it.set("mimeType", quote(it.shown))
		}
	}
	definition := object(it.members...)
	vs, err := spec.ValidateDefinition(spec.Latest, it.kind.definition, definition)
	if err == nil && len(vs) > 0 {
		it.refuse("its definition is none of the specification: "+vs[0].String(), "correct it, or put a wrong one into Script, which sends what it is given")
	}
	return definition
}

// holdToOutput refuses a result that breaks the tool's own outputSchema.
func (it *item) holdToOutput(result json.RawMessage) {
	if jsonx.KindOf(get(result, "isError")) == jsonx.True {
		return
	}
	structured := get(result, "structuredContent")
	if structured == nil {
		it.refuse("it has an outputSchema, and a result without structuredContent", "answer with mock.JSON, or leave Output out")
	}
	if bad := it.server.breaks(it.output, it.shape, structured, "structuredContent"); bad != "" {
		it.refuse("its result breaks its outputSchema: "+bad, "correct one of them, or put a wrong tool into Script, which sends what it is given")
	}
}

// jsonOf is the JSON text of a value: a string or bytes are such a text.
func (it *item) jsonOf(what string, v any) json.RawMessage {
	var raw []byte
	var err error
	switch v := v.(type) {
	case string:
		raw = []byte(v)
	case []byte:
		raw = v
	case json.RawMessage:
		raw = v
	default:
		raw, err = jsonx.Marshal(v)
	}
	if err == nil {
		err = jsonx.Check(raw, jsonx.Strict)
	}
	if err == nil {
		raw, err = jsonx.Compact(raw)
	}
	if err != nil {
		it.refuse(fmt.Sprintf("%s is no JSON: %v", what, err), "give it a JSON text, or a value that has one")
	}
	return raw
}
