// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Content is one thing that an answer holds: a block of a tool's result or of a
// message, or the contents of a resource. It is a behaviour by itself.
type Content struct {
	kind  string // type of the block, or one of the two below
	text  string
	data  []byte
	mime  string
	uri   string
	value any
	inner *Content
}

// Kinds of content that are no block.
const (
	contentJSON = "json"
	contentBlob = "blob"
)

// Text is a text.
func Text(text string) Content {
	return Content{kind: spec.ContentText, text: text, mime: "text/plain"}
}

// JSON is a Go value, or a json.RawMessage: in a tool's result structuredContent
// with the same JSON as text for older clients, and that text alone where it is
// no object; in a resource a text of application/json.
func JSON(v any) Content { return Content{kind: contentJSON, value: v, mime: "application/json"} }

// Image is a picture, of a type such as image/png.
func Image(data []byte, mime string) Content {
	return Content{kind: spec.ContentImage, data: data, mime: mime}
}

// Audio is sound, of a type such as audio/wav.
func Audio(data []byte, mime string) Content {
	return Content{kind: spec.ContentAudio, data: data, mime: mime}
}

// Blob is bytes of any type, for a resource.
func Blob(data []byte, mime string) Content {
	return Content{kind: contentBlob, data: data, mime: mime}
}

// Link leads to a resource.
func Link(uri, name string) Content {
	return Content{kind: spec.ContentResourceLink, uri: uri, text: name}
}

// Embed is a resource that travels within the answer.
func Embed(uri string, c Content) Content {
	return Content{kind: spec.ContentResource, uri: uri, inner: &c}
}

// Contents are several contents of one answer.
func Contents(parts ...Content) Behaviour { return several(parts) }

type several []Content

func (c Content) does(it *item) does                          { return several{c}.does(it) }
func (c Content) render(it *item, uri string) json.RawMessage { return several{c}.render(it, uri) }

func (cs several) does(it *item) does {
	uri := it.name
	if it.kind == kindTemplate {
		uri = "{{uri}}"
	}
	if it.shown == "" && len(cs) == 1 {
		it.shown = cs[0].mime
	}
	return does{fixed: cs.render(it, uri)}
}

func (cs several) render(it *item, uri string) json.RawMessage {
	for _, c := range cs {
		c.check(it)
	}
	switch it.kind {
	case kindTool:
		return cs.result(it)
	case kindPrompt:
		it.refuse("a prompt has messages, not contents", "answer with mock.UserMessage or mock.AssistantMessage")
	}
	out := make([]json.RawMessage, len(cs))
	for i, c := range cs {
		out[i] = c.resource(it, uri, it.mime)
	}
	return array(out)
}

// result is the CallToolResult.
func (cs several) result(it *item) json.RawMessage {
	var blocks []json.RawMessage
	var structured []byte
	for _, c := range cs {
		if c.kind != contentJSON {
			blocks = append(blocks, c.block(it))
			continue
		}
		raw := it.jsonOf("the value", textAsValue(c.value))
		blocks = append(blocks, textBlock(string(raw)))
		if jsonx.KindOf(raw) != jsonx.Object {
			continue
		}
		if structured != nil {
			it.refuse("a result has one structuredContent", "join the values into one, or send the second as mock.Text")
		}
		structured = raw
	}
	return object(member{"content", array(blocks)}, member{"structuredContent", structured})
}

// check refuses what is not what it says it is.
func (c Content) check(it *item) {
	switch c.kind {
	case spec.ContentText:
		if !utf8.ValidString(c.text) {
			it.refuse("the text is not UTF-8", "send bytes as mock.Blob in a resource, or within mock.Embed")
		}
	case spec.ContentImage, spec.ContentAudio:
		if !strings.HasPrefix(c.mime, c.kind+"/") || len(c.mime) == len(c.kind)+1 {
			it.refuse(c.kind+" of type "+string(jsonx.Quote(c.mime)), "give it a type that begins with "+c.kind+"/")
		}
	case contentBlob:
		if !strings.Contains(c.mime, "/") {
			it.refuse("a blob of type "+string(jsonx.Quote(c.mime)), "give it a MIME type, such as application/octet-stream")
		}
	case spec.ContentResourceLink, spec.ContentResource:
		if u, err := url.Parse(c.uri); err != nil || u.Scheme == "" {
			it.refuse("a resource whose URI has no scheme", "begin it with one, such as file:///")
		}
		if c.inner != nil {
			c.inner.check(it)
		}
	case "":
		it.refuse("a content that is none", "make it by mock.Text, mock.JSON, mock.Image and the like")
	}
}

// block is the content block.
func (c Content) block(it *item) json.RawMessage {
	switch c.kind {
	case spec.ContentText:
		return textBlock(c.text)
	case spec.ContentImage, spec.ContentAudio:
		return object(member{"type", quote(c.kind)}, member{"data", encoded(c.data)}, member{"mimeType", quote(c.mime)})
	case spec.ContentResourceLink:
		return object(member{"type", quote(c.kind)}, member{"uri", quote(c.uri)}, member{"name", quote(c.text)})
	case spec.ContentResource:
		return object(member{"type", quote(c.kind)}, member{"resource", c.inner.resource(it, c.uri, "")})
	case contentJSON:
		it.refuse("a message holds no JSON value", "send its text by mock.Text, or embed it by mock.Embed")
	}
	it.refuse("a bare blob stands in no "+it.kind.name, "use mock.Image, mock.Audio or mock.Embed")
	return nil
}

// resource is it as contents of what has a URI; an empty type is its own.
func (c Content) resource(it *item, uri, mime string) json.RawMessage {
	if mime == "" {
		mime = c.mime
	}
	of := []member{{"uri", quote(uri)}, {"mimeType", quote(mime)}}
	switch c.kind {
	case spec.ContentText:
		return object(append(of, member{"text", quote(c.text)})...)
	case contentJSON:
		return object(append(of, member{"text", quote(string(it.jsonOf("the value", textAsValue(c.value))))})...)
	case spec.ContentImage, spec.ContentAudio, contentBlob:
		return object(append(of, member{"blob", encoded(c.data)})...)
	}
	it.refuse("a resource has contents, not a link or another resource", "answer with mock.Text, mock.JSON or mock.Blob")
	return nil
}

func encoded(data []byte) []byte { return quote(base64.StdEncoding.EncodeToString(data)) }

// Message is a message of a prompt. It is a behaviour by itself.
type Message struct {
	role string
	says Content
}

// UserMessage is a text that the user says.
func UserMessage(text string) Message { return Message{"user", Text(text)} }

// AssistantMessage is a text that the assistant says.
func AssistantMessage(text string) Message { return Message{"assistant", Text(text)} }

// UserContent is anything else that the user says.
func UserContent(c Content) Message { return Message{"user", c} }

// Messages are several messages of one prompt.
func Messages(ms ...Message) Behaviour { return messages(ms) }

type messages []Message

func (m Message) does(it *item) does                          { return messages{m}.does(it) }
func (m Message) render(it *item, uri string) json.RawMessage { return messages{m}.render(it, uri) }

func (ms messages) does(it *item) does { return does{fixed: ms.render(it, "")} }

func (ms messages) render(it *item, _ string) json.RawMessage {
	if it.kind != kindPrompt {
		it.refuse("messages stand in prompts alone", "answer with mock.Text")
	}
	out := make([]json.RawMessage, len(ms))
	for i, m := range ms {
		m.says.check(it)
		out[i] = object(member{"role", quote(m.role)}, member{"content", m.says.block(it)})
	}
	return array(out)
}
