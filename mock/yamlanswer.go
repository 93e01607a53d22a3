// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/spec"
	"go.yaml.in/yaml/v4"
)

// body reads the keys that say what an answer holds: they differ between
// tools, resources and prompts. The keys fill a member list, of which done makes
// the result; it gets the node for its faults. short reads an answer that is
// one text.
type body struct {
	keys  func(r *reader, b *builder) keys
	short func(r *reader, b *builder, text string)
	done  func(r *reader, n *yaml.Node, b *builder) json.RawMessage
}

// builder is an answer's result while it is read.
type builder struct {
	content    []json.RawMessage
	members    []member
	whole      json.RawMessage
	structured json.RawMessage
	given      int // keys of the body
}

// answering are the keys by which something says what it answers: the short
// ones of a single answer, and the list of several.
func (r *reader) answering(into *[]Answer, cycle *bool, b body) keys {
	return keys{
		"answer": func(n *yaml.Node) {
			if len(*into) > 0 {
				r.fail(n, "", "answer and answers are two ways to say it")
			}
			*into = []Answer{r.answer(n, b)}
		},
		"answers": func(n *yaml.Node) {
			if len(*into) > 0 {
				r.fail(n, "", "answer and answers are two ways to say it")
			}
			r.list(n, "answers", func(e *yaml.Node) { *into = append(*into, r.answer(e, b)) })
			if r.err == nil && len(*into) == 0 {
				r.fail(n, "", "answers is empty")
			}
		},
		"cycle": r.flag(cycle),
	}
}

// answer reads one answer: a text, or a mapping.
func (r *reader) answer(n *yaml.Node, b body) Answer {
	var a Answer
	var out builder
	v := r.real(n)
	if v.Kind == yaml.ScalarNode {
		b.short(r, &out, v.Value)
		a.Result = b.done(r, n, &out)
		return a
	}
	r.mapping(n, "an answer", b.keys(r, &out).with(keys{
		"match": r.object("match", &a.Match),
		"steps": func(v *yaml.Node) {
			r.list(v, "steps", func(e *yaml.Node) { a.Steps = append(a.Steps, r.step(e)) })
		},
		"delay":     r.duration(&a.Delay),
		"ask":       func(v *yaml.Node) { r.list(v, "ask", func(e *yaml.Node) { a.Ask = append(a.Ask, r.ask(e)) }) },
		"deferrals": r.count(&a.Deferrals, 1), "ask-before-task": r.flag(&a.AskBeforeTask),
		"refused": func(v *yaml.Node) { a.Refused = r.answer(v, b).Result },
		"error":   func(v *yaml.Node) { a.Error = r.rpcError(v) },
	}))
	switch {
	case r.err != nil:
	case a.Error != nil && out.given > 0:
		r.fail(n, "", "an answer is an error or a result")
	case out.given > 0:
		a.Result = b.done(r, n, &out)
	}
	return a
}

func (r *reader) rpcError(n *yaml.Node) *Error {
	e := &Error{}
	var code json.RawMessage
	r.mapping(n, "error", keys{
		"code": r.json(&code), "message": r.text(&e.Message), "data": r.json(&e.Data),
	})
	if r.err == nil {
		var err error
		if e.Code, err = strconv.Atoi(string(code)); err != nil {
			r.fail(n, "", "an error needs a code, a whole number such as -32602")
		}
	}
	return e
}

// ask reads one thing that is asked of the client.
func (r *reader) ask(n *yaml.Node) Ask {
	a := Ask{}
	methods := 0
	method := func(name string) func(*yaml.Node) {
		return func(v *yaml.Node) {
			methods++
			a.Method = name
			r.object("the params of "+name, &a.Params)(v)
		}
	}
	r.mapping(n, "a question", keys{
		"key": r.text(&a.Key), "round": r.count(&a.Round, 1), "optional": r.flag(&a.Optional),
		"elicitation": method(spec.MethodElicit), "sampling": method(spec.MethodCreateMessage), "roots": method(spec.MethodRootsList),
	})
	if r.err == nil && methods != 1 {
		r.fail(n, "", "exactly one of elicitation, sampling and roots must be asked, with its params")
	}
	return a
}

// step reads one thing that happens before an answer.
func (r *reader) step(n *yaml.Node) Step {
	var s Step
	r.mapping(n, "a step", keys{
		"wait": r.duration(&s.Wait),
		"progress": func(v *yaml.Node) {
			s.Progress = &Progress{}
			r.mapping(v, "progress", keys{
				"progress": r.number(&s.Progress.Progress), "total": r.number(&s.Progress.Total), "message": r.text(&s.Progress.Message),
			})
		},
		"log": func(v *yaml.Node) {
			s.Log = &Log{Level: "info"}
			r.mapping(v, "log", keys{
				"level": func(l *yaml.Node) {
					r.text(&s.Log.Level)(l)
					if _, ok := spec.LogSeverity(s.Log.Level); !ok && r.err == nil {
						r.fail(l, "debug, info, notice, warning, error, critical, alert or emergency", "unknown level %q", clip(s.Log.Level))
					}
				},
				"logger": r.text(&s.Log.Logger), "data": r.json(&s.Log.Data),
			})
		},
		"notify": func(v *yaml.Node) {
			s.Notify = &Notice{}
			r.mapping(v, "notify", keys{"method": r.text(&s.Notify.Method), "params": r.object("params", &s.Notify.Params)})
		},
		"status": r.text(&s.Status),
		"change": func(v *yaml.Node) { s.Change = r.change(v) },
		"drop":   r.flag(&s.Drop),
	})
	return s
}

func (r *reader) change(n *yaml.Node) *Change {
	c := &Change{}
	r.mapping(n, "change", keys{
		"add-tools":     func(v *yaml.Node) { c.AddTools = r.tools(v) },
		"add-prompts":   func(v *yaml.Node) { c.AddPrompts = r.prompts(v) },
		"add-resources": func(v *yaml.Node) { c.AddResources = r.resources(v) },
		"remove-tools":  r.texts("remove-tools", &c.RemoveTools), "remove-prompts": r.texts("remove-prompts", &c.RemovePrompts),
		"remove-resources": r.texts("remove-resources", &c.RemoveResources),
		"updated":          r.texts("updated", &c.Updated), "quiet": r.flag(&c.Quiet),
	})
	return c
}

// toolAnswer reads what a call of a tool gives.
var toolAnswer = body{
	keys: func(r *reader, b *builder) keys {
		return keys{
			"text": func(n *yaml.Node) {
				var s string
				r.text(&s)(n)
				b.given++
				b.content = append(b.content, textBlock(s))
			},
			"content": func(n *yaml.Node) {
				b.given++
				r.list(n, "content", func(e *yaml.Node) { b.content = append(b.content, r.block(e)) })
			},
			"structured": func(n *yaml.Node) { b.given++; r.json(&b.structured)(n) },
			"isError": func(n *yaml.Node) {
				var failed bool
				b.given++
				r.flag(&failed)(n)
				b.members = append(b.members, member{"isError", boolean(failed)})
			},
			"_meta":  func(n *yaml.Node) { b.given++; b.members = append(b.members, member{"_meta", r.value(n)}) },
			"result": func(n *yaml.Node) { b.given++; r.object("result", &b.whole)(n) },
		}
	},
	short: func(_ *reader, b *builder, text string) { b.content = append(b.content, textBlock(text)) },
	done: func(r *reader, n *yaml.Node, b *builder) json.RawMessage {
		if b.whole != nil {
			if b.given > 1 {
				r.fail(n, "", "result is the whole answer: the other keys belong in it")
			}
			return b.whole
		}
		if b.structured != nil {
			if b.content == nil {
				// A server should give the same as text
				// (2026-07-28/server/tools#structured-content).
				if strings.Contains(string(b.structured), "{{") {
					r.fail(n, "say with text what it is", "structured content with placeholders needs a text beside it")
				}
				b.content = []json.RawMessage{textBlock(string(b.structured))}
			}
			b.members = append(b.members, member{"structuredContent", b.structured})
		}
		return object(append([]member{{"content", array(b.content)}}, b.members...)...)
	},
}

// promptAnswer reads what a prompt gives.
var promptAnswer = body{
	keys: func(r *reader, b *builder) keys {
		return keys{
			"text": func(n *yaml.Node) {
				var s string
				r.text(&s)(n)
				b.given++
				b.content = append(b.content, message("user", textBlock(s)))
			},
			"messages": func(n *yaml.Node) {
				b.given++
				r.list(n, "messages", func(e *yaml.Node) { b.content = append(b.content, r.message(e)) })
			},
		}
	},
	short: func(_ *reader, b *builder, text string) {
		b.content = append(b.content, message("user", textBlock(text)))
	},
	done: func(_ *reader, _ *yaml.Node, b *builder) json.RawMessage { return array(b.content) },
}

func message(role string, content json.RawMessage) json.RawMessage {
	return object(member{"role", quote(role)}, member{"content", content})
}

// message reads one of a prompt: its role, and a content block's keys.
func (r *reader) message(n *yaml.Node) json.RawMessage {
	role := "user"
	var content json.RawMessage
	v := r.real(n)
	if v.Kind == yaml.ScalarNode {
		return message(role, textBlock(v.Value))
	}
	r.mapping(n, "a message", keys{
		"role": r.oneOf(&role, "user", "assistant"), "content": func(v *yaml.Node) { content = r.block(v) },
	})
	if r.err == nil && content == nil {
		r.fail(n, "", "a message needs content")
	}
	return message(role, content)
}

// reading reads what a resource or a template gives: contents with the URI of
// the resource, or of the request.
func (r *reader) reading(n *yaml.Node, uriKey string) body {
	n = r.real(n)
	uri, mime := "{{uri}}", ""
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			switch n.Content[i].Value {
			case uriKey:
				uri = r.real(n.Content[i+1]).Value
			case "mimeType":
				mime = r.real(n.Content[i+1]).Value
			}
		}
	}
	return body{
		keys: func(r *reader, b *builder) keys {
			return keys{
				"text": func(n *yaml.Node) {
					var s string
					r.text(&s)(n)
					b.given++
					b.content = append(b.content, contents(uri, mime, member{"text", quote(s)}))
				},
				"blob": func(n *yaml.Node) {
					b.given++
					data, name := r.bytes(n)
					b.content = append(b.content, contents(uri, orKind(mime, name), member{"blob", base64Of(data)}))
				},
				"contents": func(n *yaml.Node) {
					b.given++
					r.list(n, "contents", func(e *yaml.Node) { b.content = append(b.content, r.value(e)) })
				},
			}
		},
		short: func(_ *reader, b *builder, text string) {
			b.content = append(b.content, contents(uri, mime, member{"text", quote(text)}))
		},
		done: func(_ *reader, _ *yaml.Node, b *builder) json.RawMessage { return array(b.content) },
	}
}

func contents(uri, mime string, body member) json.RawMessage {
	ms := []member{{"uri", quote(uri)}}
	if mime != "" {
		ms = append(ms, member{"mimeType", quote(mime)})
	}
	return object(append(ms, body)...)
}

func base64Of(data []byte) []byte { return quote(base64.StdEncoding.EncodeToString(data)) }

// block reads a content block: a text, or a mapping whose first key says what
// it is.
func (r *reader) block(n *yaml.Node) json.RawMessage {
	v := r.real(n)
	if v.Kind == yaml.ScalarNode {
		return textBlock(v.Value)
	}
	kinds := 0
	var kind, mime string
	var first, more []member
	is := func(name string, read func(*yaml.Node)) func(*yaml.Node) {
		return func(v *yaml.Node) {
			kinds++
			kind = name
			read(v)
		}
	}
	data := func(v *yaml.Node) {
		b, name := r.bytes(v)
		mime = orKind(mime, name)
		first = append(first, member{"data", base64Of(b)})
	}
	extra := func(name string) func(*yaml.Node) {
		return func(v *yaml.Node) { more = append(more, member{name, r.value(v)}) }
	}
	r.mapping(n, "a content block", keys{
		"text": is(spec.ContentText, func(v *yaml.Node) {
			var s string
			r.text(&s)(v)
			first = append(first, member{"text", quote(s)})
		}),
		"image":    is(spec.ContentImage, data),
		"audio":    is(spec.ContentAudio, data),
		"link":     is(spec.ContentResourceLink, func(v *yaml.Node) { first = append(first, member{"uri", r.value(v)}) }),
		"resource": is(spec.ContentResource, func(v *yaml.Node) { first = append(first, member{"resource", r.embedded(v)}) }),
		"mimeType": r.text(&mime),
		"name":     extra("name"), "title": extra("title"), "description": extra("description"), "size": extra("size"),
		"annotations": extra("annotations"), "icons": extra("icons"), "_meta": extra("_meta"),
	})
	if r.err != nil {
		return nil
	}
	if kinds != 1 {
		r.fail(n, "", "a content block is exactly one of text, image, audio, link and resource")
		return nil
	}
	linkOnly := kind == spec.ContentResourceLink
	for _, m := range more {
		if !linkOnly && m.name != "annotations" && m.name != "_meta" {
			r.fail(n, "", "%s belongs to a link, not to %s", m.name, kind)
		}
	}
	switch needs := kind == spec.ContentImage || kind == spec.ContentAudio; {
	case mime != "" && (needs || linkOnly):
		first = append(first, member{"mimeType", quote(mime)})
	case needs:
		r.fail(n, "", "the mimeType of this %s must be given", kind)
	case mime != "":
		r.fail(n, "", "mimeType does not belong to %s", kind)
	}
	if linkOnly && index(more, "name") < 0 {
		r.fail(n, "", "a link needs a name")
	}
	return object(append(append([]member{{"type", quote(kind)}}, first...), more...)...)
}

// embedded reads the contents of an embedded resource.
func (r *reader) embedded(n *yaml.Node) json.RawMessage {
	var uri, mime string
	var body []member
	r.mapping(n, "an embedded resource", keys{
		"uri": r.text(&uri), "mimeType": r.text(&mime),
		"text": func(v *yaml.Node) {
			var s string
			r.text(&s)(v)
			body = append(body, member{"text", quote(s)})
		},
		"blob": func(v *yaml.Node) {
			b, name := r.bytes(v)
			mime = orKind(mime, name)
			body = append(body, member{"blob", base64Of(b)})
		},
	})
	if r.err == nil && (uri == "" || len(body) != 1) {
		r.fail(n, "", "an embedded resource needs a uri, and one of text and blob")
	}
	if r.err != nil {
		return nil
	}
	return contents(uri, mime, body[0])
}

// kindsOf are the media types of the files that scripts use.
var kindsOf = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".flac": "audio/flac",
	".json": "application/json", ".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".html": "text/html", ".csv": "text/csv",
}

// orKind is the media type, or what a file's name tells when there is none.
func orKind(mime, name string) string {
	if mime != "" {
		return mime
	}
	return kindsOf[strings.ToLower(path.Ext(name))]
}
