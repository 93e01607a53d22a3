// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"go.yaml.in/yaml/v4"
)

// script reads the whole document.
func (r *reader) script(s *Script, n *yaml.Node) {
	var meta, server json.RawMessage
	r.mapping(n, "the script", keys{
		"server": func(v *yaml.Node) {
			r.object("server", &server)(v)
			if r.err == nil && (word(server, "name") == "" || word(server, "version") == "") {
				r.fail(v, "", "server needs a name and a version, both texts in quotes where they look like numbers")
			}
		},
		"instructions": r.text(&s.Instructions),
		"revisions":    func(v *yaml.Node) { s.Revisions = r.revisions(v) },
		"capabilities": r.object("capabilities", &s.Capabilities),
		"page-size":    r.count(&s.PageSize, 1),
		"cache":        func(v *yaml.Node) { r.cache(s, v) },
		"meta":         r.object("meta", &meta),
		"stream":       r.flag(&s.Stream),
		"resumable":    r.flag(&s.Resumable),
		"retry":        r.duration(&s.Retry),
		"sse-path":     r.text(&s.SSEPath),
		"origins":      r.texts("origins", &s.Origins),
		"state":        func(v *yaml.Node) { r.state(&s.State, v) },
		"tasks": func(v *yaml.Node) {
			r.mapping(v, "tasks", keys{"ttl": r.duration(&s.Tasks.TTL), "poll": r.duration(&s.Tasks.Poll)})
		},
		"tools":     func(v *yaml.Node) { s.Tools = r.tools(v) },
		"resources": func(v *yaml.Node) { s.Resources = r.resources(v) },
		"templates": func(v *yaml.Node) { r.templates(s, v) },
		"prompts":   func(v *yaml.Node) { s.Prompts = r.prompts(v) },
		"faults":    func(v *yaml.Node) { r.list(v, "faults", func(e *yaml.Node) { r.fault(s, e) }) },
	})
	s.ServerInfo, s.Meta = server, meta
}

func (r *reader) revisions(n *yaml.Node) []spec.Revision {
	var out []spec.Revision
	r.list(n, "revisions", func(e *yaml.Node) {
		var date string
		r.text(&date)(e)
		rev, err := spec.ParseRevision(date)
		if err != nil && r.err == nil {
			var known []string
			for _, k := range spec.All() {
				known = append(known, k.String())
			}
			r.fail(e, "known: "+strings.Join(known, ", "), "unknown revision %q", clip(date))
		}
		out = append(out, rev)
	})
	if r.err == nil && len(out) == 0 {
		r.fail(n, "leave the key out for all", "revisions is empty")
	}
	return out
}

func (r *reader) cache(s *Script, n *yaml.Node) {
	var ttl time.Duration
	r.mapping(n, "cache", keys{"ttl": r.duration(&ttl), "scope": r.oneOf(&s.CacheScope, spec.CachePublic, spec.CachePrivate)})
	s.TTL = ttl.Milliseconds()
}

func (r *reader) state(s *State, n *yaml.Node) {
	var key string
	r.mapping(n, "state", keys{"key": r.text(&key), "ttl": r.duration(&s.TTL), "single-use": r.flag(&s.SingleUse), "form": r.oneOf((*string)(&s.Form), string(StateSealed), string(StateSigned), string(StateNumbered))})
	if key != "" {
		s.Key = []byte(key)
	}
}

// definition collects the members of what a list shows, in the order of the
// file. The names are those of the protocol.
type definition struct{ members []member }

func (d *definition) word(r *reader, name string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var s string
		r.text(&s)(n)
		d.members = append(d.members, member{name, quote(s)})
	}
}

func (d *definition) json(r *reader, name string) func(*yaml.Node) {
	return func(n *yaml.Node) { d.members = append(d.members, member{name, r.value(n)}) }
}

func (d *definition) raw() json.RawMessage { return object(d.members...) }

// shown are the keys that every listed thing has.
func (d *definition) shown(r *reader, more ...string) keys {
	k := keys{
		"title": d.word(r, "title"), "description": d.word(r, "description"),
		"icons": d.json(r, "icons"), "_meta": d.json(r, "_meta"),
	}
	for _, name := range more {
		k[name] = d.json(r, name)
	}
	return k
}

// named refuses things that have no name, or one that was there before.
func (r *reader) named(n *yaml.Node, what, key, name string, seen map[string]bool) {
	switch {
	case r.err != nil:
	case name == "":
		r.fail(n, "", "the %s needs a %s", what, key)
	case seen[name]:
		r.fail(n, "", "%s %q stands twice", what, clip(name))
	}
	seen[name] = true
}

func (r *reader) tools(n *yaml.Node) []Tool {
	var out []Tool
	seen := map[string]bool{}
	r.list(n, "tools", func(e *yaml.Node) { out = append(out, r.tool(e, seen)) })
	return out
}

func (r *reader) tool(n *yaml.Node, seen map[string]bool) Tool {
	var t Tool
	var d definition
	var task string
	r.mapping(n, "a tool", d.shown(r, "annotations", "execution").with(keys{
		"name":         d.word(r, "name"),
		"inputSchema":  func(v *yaml.Node) { d.members = append(d.members, member{"inputSchema", r.schema(v)}) },
		"outputSchema": func(v *yaml.Node) { d.members = append(d.members, member{"outputSchema", r.schema(v)}) },
		"task":         r.oneOf(&task, string(TaskOptional), string(TaskRequired)),
	}).with(r.answering(&t.Answers, &t.Cycle, toolAnswer)))
	if index(d.members, "inputSchema") < 0 {
		d.members = append(d.members, member{"inputSchema", []byte(`{"type":"object"}`)})
	}
	t.Definition, t.Task = d.raw(), TaskUse(task)
	r.named(n, "tool", "name", word(t.Definition, "name"), seen)
	return t
}

// schema reads a JSON Schema, or the name of the file that holds it.
func (r *reader) schema(n *yaml.Node) json.RawMessage {
	v := r.real(n)
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!str" {
		return r.value(n)
	}
	data := r.file(n, v.Value)
	if r.err != nil {
		return nil
	}
	if err := jsonx.Check(data, jsonx.Strict); err != nil {
		r.fail(n, "a schema in a file is JSON", "%s: %v", clip(v.Value), err)
		return nil
	}
	return line(data)
}

func (r *reader) resources(n *yaml.Node) []Resource {
	var out []Resource
	seen := map[string]bool{}
	r.list(n, "resources", func(e *yaml.Node) { out = append(out, r.resource(e, seen)) })
	return out
}

func (r *reader) resource(n *yaml.Node, seen map[string]bool) Resource {
	var s Resource
	var d definition
	where := r.reading(n, "uri")
	r.mapping(n, "a resource", d.shown(r, "size", "annotations").with(keys{
		"uri": d.word(r, "uri"), "name": d.word(r, "name"), "mimeType": d.word(r, "mimeType"),
	}).with(r.answering(&s.Answers, &s.Cycle, where)))
	s.Definition = d.named(word(d.raw(), "uri"))
	r.named(n, "resource", "uri", word(s.Definition, "uri"), seen)
	return s
}

// named gives what has no name another one: every resource must have one.
func (d *definition) named(other string) json.RawMessage {
	if index(d.members, "name") < 0 {
		d.members = append(d.members, member{"name", quote(other)})
	}
	return d.raw()
}

func (r *reader) templates(s *Script, n *yaml.Node) {
	seen := map[string]bool{}
	r.list(n, "templates", func(e *yaml.Node) {
		var t Template
		var d definition
		where := r.reading(e, "")
		r.mapping(e, "a template", d.shown(r, "annotations").with(keys{
			"uriTemplate": func(v *yaml.Node) {
				d.word(r, "uriTemplate")(v)
				if match, _ := matcher(word(d.raw(), "uriTemplate")); match == nil && r.err == nil {
					r.fail(v, "only {name} can be matched", "the template cannot be matched against a URI")
				}
			},
			"name": d.word(r, "name"), "mimeType": d.word(r, "mimeType"),
			"complete": func(v *yaml.Node) { t.Complete = r.complete(v) },
		}).with(r.answering(&t.Answers, &t.Cycle, where)))
		t.Definition = d.named(word(d.raw(), "uriTemplate"))
		r.named(e, "template", "uriTemplate", word(t.Definition, "uriTemplate"), seen)
		s.Templates = append(s.Templates, t)
	})
}

func (r *reader) prompts(n *yaml.Node) []Prompt {
	var out []Prompt
	seen := map[string]bool{}
	r.list(n, "prompts", func(e *yaml.Node) { out = append(out, r.prompt(e, seen)) })
	return out
}

func (r *reader) prompt(n *yaml.Node, seen map[string]bool) Prompt {
	var p Prompt
	var d definition
	r.mapping(n, "a prompt", d.shown(r).with(keys{
		"name":      d.word(r, "name"),
		"arguments": func(v *yaml.Node) { d.members = append(d.members, member{"arguments", r.arguments(v)}) },
		"complete":  func(v *yaml.Node) { p.Complete = r.complete(v) },
	}).with(r.answering(&p.Answers, &p.Cycle, promptAnswer)))
	p.Definition = d.raw()
	r.named(n, "prompt", "name", word(p.Definition, "name"), seen)
	return p
}

// arguments reads those of a prompt.
func (r *reader) arguments(n *yaml.Node) json.RawMessage {
	var out []json.RawMessage
	seen := map[string]bool{}
	r.list(n, "arguments", func(e *yaml.Node) {
		var d definition
		var required bool
		r.mapping(e, "an argument", keys{
			"name": d.word(r, "name"), "title": d.word(r, "title"), "description": d.word(r, "description"),
			"required": func(v *yaml.Node) {
				r.flag(&required)(v)
				d.members = append(d.members, member{"required", boolean(required)})
			},
		})
		r.named(e, "argument", "name", word(d.raw(), "name"), seen)
		out = append(out, d.raw())
	})
	return array(out)
}

// complete reads the values that completion/complete offers, by argument.
func (r *reader) complete(n *yaml.Node) map[string][]string {
	out := map[string][]string{}
	n = r.real(n)
	if n.Kind != yaml.MappingNode {
		r.fail(n, "", "complete must be a mapping of arguments to lists of values")
		return nil
	}
	for i := 0; i+1 < len(n.Content) && r.err == nil; i += 2 {
		var values []string
		r.texts("the values", &values)(n.Content[i+1])
		out[n.Content[i].Value] = values
	}
	return out
}
