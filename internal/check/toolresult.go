// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// toolResultRules are those of the form of what a call gives.
var toolResultRules = []Rule{
	{
		Info: rule.Info{
			ID: "tools.result-content-array", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#calltoolresult",
			Title: "a tool's result has a content array, also beside structuredContent",
			Why:   "clients walk the array; without one they fail on a call that did its work",
			Fix:   `send "content": [] when there is nothing to say`,
		},
		In: every, Watch: resultContent, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{plainCall.Set("/result/content", "null")}},
		Breaks: []Break{
			{Faults: []mock.Fault{plainCall.Remove("/result/content")}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.result-content-types", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#contentblock",
			Title: "content blocks are of the types that the revision defines, in their form",
			Why:   "a client drops a block whose type it does not know, or the whole result with it",
			Fix:   "use text, image, audio, resource and resource_link, with the members of each",
		},
		In: every, Watch: resultTypes, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{plainCall.Set("/result/content/-", `{"type":"markdown","text":"*hm*"}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{plainCall.Set("/result/content/-", `{"type":"resource_link","name":"no-address"}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.result-binary-base64", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#imagecontent",
			Title: "the data of images and audio is Base64, and says its MIME type",
			Why:   "what cannot be decoded cannot be shown, and a model provider refuses the whole message",
			Fix:   "encode the bytes by RFC 4648 section 4, with padding, and set mimeType",
		},
		In: every, Watch: resultBinary, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{plainCall.Set("/result/content/-", `{"type":"image","mimeType":"image/png","data":"not base64!"}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{plainCall.Set("/result/content/-", `{"type":"audio","data":"UklGRg=="}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "tools.is-error-boolean", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#calltoolresult",
			Title: "isError, where it is given, is true or false",
			Why:   "any other value is read as an error by one client and as success by the next",
			Fix:   "send a boolean, or leave the member out for success",
		},
		In: every, Watch: resultIsError, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{plainCall.Set("/result/isError", `"false"`)}},
	},
	{
		Info: rule.Info{
			ID: "tools.structured-text-mirror", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#structured-content",
			Title: "a result with structuredContent has the same JSON as text",
			Why:   "a client that reads only content shows the model nothing, or something else than the data",
			Fix:   "add a text block with the JSON of structuredContent",
		},
		In: since2506, Watch: resultMirror, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{plainCall.When(mock.AnswerHas("/result/structuredContent")).Set("/result/content", `[{"type":"text","text":"Done."}]`)}},
	},
	{
		Info: rule.Info{
			ID: "tools.embedded-resource-capability", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#embedded-resources",
			Title: "a server whose tools embed resources declares the resources capability",
			Why:   "a client that is given a resource cannot read it again, or hear that it changed",
			Fix:   "declare resources and serve what is embedded",
		},
		In: since2506, Watch: resultEmbeds, Stir: embeddings, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			plainCall.Set("/result/content/-", `{"type":"resource","resource":{"uri":"mcprove://embedded","text":"a"}}`),
			mock.On(spec.MethodDiscover).When(elicitingClient).Remove("/result/capabilities/resources"),
			mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/roots"), mock.RevisionIs(spec.Rev20251125)).Remove("/result/capabilities/resources"),
		}, Also: []string{"lifecycle.capabilities-respected"}}, // the clients that are not told of them hear of their changes
	},
	{
		Info: rule.Info{
			ID: "tools.outputs-sanitised", Level: rule.Must, Basis: rule.Keyword, Section: toolsPage + "#security-considerations",
			Title:  "what a tool gives holds no control characters and no terminal sequences",
			Why:    "a terminal that shows the text obeys it, and a reader does not see what the model reads",
			Fix:    "take control characters out of text that comes from elsewhere, line breaks and tabs excepted",
			Detail: "The section asks for outputs to be sanitised and does not say of what, so this is a warning at most.",
		},
		In: every, Watch: resultSanitised, Stir: callTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{plainCall.Set("/result/content/-", `{"type":"text","text":"\u001b[2Jgone"}`)}},
	},
}

// plainCall is the place of calls that end in a complete result without isError.
var plainCall = mock.On(spec.MethodToolsCall).OfType(spec.ResultComplete).When(mock.Not(mock.AnswerHas("/result/isError")))

// callTools calls what may be called.
func callTools(c *probe.Case) { c.Calls() }

func resultContent(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, x := range toolCalls(t) {
		switch content := x.Member("content"); jsonx.KindOf(content) {
		case jsonx.Array:
			c.Pass(x)
		case 0:
			placed(bad.add(x, "a call of the tool %s gives a result without content", brief(called(x))), x.Response, "/result", "tool", called(x))
		default:
			placed(bad.add(x, "a call of the tool %s gives content that is %s, not an array", brief(called(x)), asJSON(content)), x.Response, "/result/content", "tool", called(x))
		}
	}
	c.Unseen("no call of a tool gave a result: %s", probe.NoTool)
}

// outputBlock is a content block of a call's result.
type outputBlock struct {
	x       *probe.Exchange
	raw     json.RawMessage
	kind    string // its type
	pointer string // into the response
}

// get returns a member of the block.
func (b outputBlock) get(name string) json.RawMessage { return probe.Lookup(b.raw, "/"+name) }

// outputBlocks are the content blocks of all complete results of calls.
func outputBlocks(t *probe.Traffic) []outputBlock {
	var out []outputBlock
	for _, x := range toolCalls(t) {
		for i, raw := range probe.Elements(x.Member("content")) {
			out = append(out, outputBlock{x, raw, probe.Text(probe.Lookup(raw, "/type")), fmt.Sprintf("/result/content/%d", i)})
		}
	}
	return out
}

// at puts a blame on a place in a block.
func (b outputBlock) at(bl *probe.Blame, pointer string) {
	placed(bl, b.x.Response, b.pointer+pointer, "tool", called(b.x))
}

// toolBlockShapes are the official names of the forms of blocks.
var toolBlockShapes = map[string]string{
	spec.ContentText: "TextContent", spec.ContentImage: "ImageContent", spec.ContentAudio: "AudioContent",
	spec.ContentResource: "EmbeddedResource", spec.ContentResourceLink: "ResourceLink",
}

// toolBlockElsewhere are places of a block whose form other rules judge.
var toolBlockElsewhere = []string{"/annotations", "/_meta", "/icons", "/resource/_meta"}

func resultTypes(c *probe.Case, t *probe.Traffic) {
	known := map[string]bool{}
	for _, k := range spec.ResultContentTypes(t.Revision) {
		known[k] = true
	}
	bad := blames{say: c.Fail}
	for _, b := range outputBlocks(t) {
		if !known[b.kind] {
			what := "is of the type " + brief(b.kind)
			if jsonx.KindOf(b.get("type")) != jsonx.String {
				what = "has the type " + asJSON(b.get("type"))
			}
			b.at(bad.add(b.x, "a block in the result of the tool %s %s, which %s does not have", brief(called(b.x)), what, t.Revision), "/type")
			continue
		}
		if v, ok := toolBlockViolation(t.Revision, b); ok {
			b.at(bad.add(b.x, "a block of type %s in the result of the tool %s is malformed: %s", b.kind, brief(called(b.x)), v.Message), v.Pointer)
			continue
		}
		c.Pass(b.x)
	}
	c.Unseen("no call of a tool gave content: %s", probe.NoTool)
}

func toolBlockViolation(r spec.Revision, b outputBlock) (spec.Violation, bool) {
	vs, err := spec.ValidateDefinition(r, toolBlockShapes[b.kind], b.raw)
	if err != nil {
		return spec.Violation{}, false
	}
	for _, v := range vs {
		switch {
		case v.Disputed, v.Kind == spec.Unreadable, startsWithAny(v.Pointer, toolBlockElsewhere):
		case binaryToolBlock(b) && (startsWithAny(v.Pointer, []string{"/data", "/mimeType"}) || v.Member == "data" || v.Member == "mimeType"):
		default:
			return v, true
		}
	}
	return spec.Violation{}, false
}

func binaryToolBlock(b outputBlock) bool {
	return b.kind == spec.ContentImage || b.kind == spec.ContentAudio
}

func resultBinary(c *probe.Case, t *probe.Traffic) {
	bad, odd := blames{say: c.Fail}, blames{say: c.Warn}
	for _, b := range outputBlocks(t) {
		if !binaryToolBlock(b) {
			continue
		}
		data, isText := jsonx.Text(b.get("data"))
		_, err := base64.StdEncoding.Strict().DecodeString(data)
		_, loose := base64.StdEncoding.DecodeString(padded(data))
		tool := brief(called(b.x))
		switch {
		case !isText:
			b.at(bad.add(b.x, "the data of a block of type %s in the result of the tool %s is %s", b.kind, tool, asJSON(b.get("data"))), "/data")
		case jsonx.KindOf(b.get("mimeType")) != jsonx.String:
			b.at(bad.add(b.x, "the mimeType of a block of type %s in the result of the tool %s is %s", b.kind, tool, asJSON(b.get("mimeType"))), "")
		case err == nil:
			c.Pass(b.x)
		case loose == nil:
			b.at(odd.add(b.x, "the data of a block of type %s in the result of the tool %s is Base64 without its padding", b.kind, tool), "/data")
		default:
			b.at(bad.add(b.x, "the data of a block of type %s in the result of the tool %s is no Base64: it begins with %s", b.kind, tool, brief(data)), "/data")
		}
	}
	c.Unseen("no call of a tool gave an image or audio")
}

// padded is a Base64 text with the padding that it lacks.
func padded(s string) string {
	s = strings.TrimRight(s, "=")
	return s + strings.Repeat("=", (4-len(s)%4)%4)
}

func resultIsError(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	for _, x := range toolCalls(t) {
		switch is := x.Member("isError"); jsonx.KindOf(is) {
		case 0, jsonx.True, jsonx.False:
			c.Pass(x)
		default:
			placed(bad.add(x, "the isError of a call of the tool %s is %s", brief(called(x)), asJSON(is)), x.Response, "/result/isError", "tool", called(x))
		}
	}
	c.Unseen("no call of a tool gave a result: %s", probe.NoTool)
}

func resultMirror(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Fail}
	seen := map[string]bool{}
	for _, x := range toolCalls(t) {
		s := x.Member("structuredContent")
		if s == nil || jsonx.KindOf(x.Member("content")) != jsonx.Array || isError(x) || x.Planted() != "" || seen[called(x)] {
			continue
		}
		if holdsJSON(x.Member("content"), s) {
			c.Pass(x)
			continue
		}
		seen[called(x)] = true
		placed(bad.add(x, "a call of the tool %s gives structuredContent, and no text block holds the same JSON", brief(called(x))), x.Response, "/result/content", "tool", called(x))
	}
	c.Unseen("no call of a tool gave structuredContent")
}

// holdsJSON reports whether a text block of the content holds a JSON value.
func holdsJSON(content, value json.RawMessage) bool {
	for _, b := range probe.Elements(content) {
		text := probe.Text(probe.Lookup(b, "/text"))
		if jsonx.KindOf([]byte(text)) != 0 && sameValue(json.RawMessage(text), value) {
			return true
		}
	}
	return false
}

// embeddings sees resources in results, and what is declared.
func embeddings(c *probe.Case) {
	c.Calls()
	stirDeclarations(c)
}

func resultEmbeds(c *probe.Case, t *probe.Traffic) {
	for _, b := range outputBlocks(t) {
		silent := undeclared(t, "resources", b.x.Conn)
		switch {
		case b.kind != spec.ContentResource:
		case t.Facts.Capabilities == nil:
			c.SkipFor(ruleGreeting(t.Revision), "what the server declares is not known")
		case silent != nil:
			b.at(c.Fail(b.x, "the tool %s embeds a resource, and %s declares no resources", brief(called(b.x)), silent.Method).And(silent), "")
			return
		default:
			c.Pass(b.x)
		}
	}
	c.Unseen("no call of a tool gave an embedded resource")
}

// stirDeclarations sees what the server declares to a client that has every
// capability: some servers declare by what the client says of itself.
func stirDeclarations(c *probe.Case) {
	if c.Probe().Legacy() {
		c.CapableCalls()
		return
	}
	c.Once(c.Request(spec.MethodDiscover, "").Capabilities(probe.AllCapabilities))
}

// undeclared is an answer to server/discover that lacks a capability; nil where
// each has it. In the handshake era it is the answer to initialize on the
// connection, where it is known.
func undeclared(t *probe.Traffic, path string, conn int) *probe.Exchange {
	if t.Revision.Era() == spec.Modern {
		conn = 0
	}
	return probe.Known(t, fmt.Sprintf("undeclared %s %d", path, conn), func() *probe.Exchange { return findUndeclared(t, path, conn) })
}

func findUndeclared(t *probe.Traffic, path string, conn int) *probe.Exchange {
	for _, x := range t.Results(spec.MethodDiscover, spec.MethodInitialize) {
		if conn != 0 && x.Conn != conn {
			continue
		}
		if x.OK() && x.Planted() == "" && jsonx.KindOf(x.Member("capabilities")) == jsonx.Object && !announces(x, path) {
			return x
		}
	}
	return nil
}

func resultSanitised(c *probe.Case, t *probe.Traffic) {
	bad := blames{say: c.Warn}
	for _, b := range outputBlocks(t) {
		text, ok := jsonx.Text(b.get("text"))
		if !ok {
			continue
		}
		i := strings.IndexFunc(text, control)
		if i < 0 {
			c.Pass(b.x)
			continue
		}
		what := fmt.Sprintf("the control character U+%04X", []rune(text[i:])[0])
		if strings.HasPrefix(text[i:], "\x1b[") {
			what = "a terminal sequence"
		}
		b.at(bad.add(b.x, "the text of the tool %s holds %s", brief(called(b.x)), what), "/text")
	}
	c.Unseen("no call of a tool gave text: %s", probe.NoTool)
}

// control reports whether a character commands whoever shows it: the C0 and C1
// controls but for those of plain text.
func control(r rune) bool {
	switch r {
	case '\t', '\n', '\r', '\f':
		return false
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0
}
