// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const promptsPage = "2026-07-28/server/prompts"

// promptRules are those of the list of prompts, and of what a prompt holds.
var promptRules = []Rule{
	{
		Info: rule.Info{
			ID: "prompts.capability-declared", Level: rule.Must, Basis: rule.Keyword, Section: promptsPage + "#capabilities",
			Title: "a server that has prompts declares the prompts capability",
			Why:   "clients that go by the capabilities never show them",
			Fix:   `add "prompts": {} to the capabilities, or take the methods away`,
		},
		In:    every,
		Watch: declares("prompts", spec.MethodPromptsList, spec.MethodPromptsGet),
		Stir:  askUndeclared("prompts", spec.MethodPromptsList, ""),
		Break: Break{
			Base:   withoutPrompts,
			Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Lenient(mock.CheckCapabilityUndeclared)},
		},
	},
	{
		Info: rule.Info{
			ID: "prompts.list-answered", Level: rule.Must, Basis: rule.Keyword, Section: promptsPage + "#capabilities",
			Title: "a server that declares prompts answers prompts/list",
			Why:   "clients show the server as one with prompts, and then show an error in their place",
			Fix:   "answer prompts/list by a list, an empty one where there is nothing, on every page; or do not declare prompts",
		},
		In: modern, Watch: answersList("prompts", spec.MethodPromptsList), Under: aboveLists,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).OnPage(2).Error(spec.CodeInternalError, "no")}},
	},
	{
		Info: rule.Info{
			ID: "prompts.list-not-per-connection", Level: rule.MustNot, Basis: rule.Keyword, Section: promptsPage + "#capabilities",
			Title: "every connection sees the same prompts",
			Why:   "a client that reconnects, or uses two connections at once, loses prompts it was told of",
			Fix:   "make the list from what the request says, its authorization included, not from the connection it came on",
		},
		In: modern, Check: listPerConnection(spec.MethodPromptsList),
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).FromConn(2).OnPage(1).Remove("/result/prompts/0")}},
	},
	{
		Info: rule.Info{
			ID: "prompts.list-not-side-effect", Level: rule.MustNot, Basis: rule.Keyword, Section: promptsPage + "#capabilities",
			Title: "no other request on a connection changes the prompts that it sees",
			Why:   "which prompts people are offered depends on what was asked before, which nobody can repeat",
			Fix:   "keep no state of a connection that decides which prompts are listed",
		},
		In: modern, Check: listSideEffect(spec.MethodPromptsList),
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodPromptsList).OnConn(1).OnPage(1).FromTurn(2).Remove("/result/prompts/0"),
		}},
	},
	{
		Info: rule.Info{
			ID: "prompts.item-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#prompt",
			Title: "each prompt has a name, and each of its arguments has one",
			Why:   "typed clients fail to read the whole list because of one entry",
			Fix:   "send name as a string on the prompt and on every argument, and optional members of the type that the schema names",
		},
		In: every, Watch: promptShape,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).OnPage(1).Remove("/result/prompts/1/arguments/0/name")}},
	},
	{
		Info: rule.Info{
			ID: "prompts.get-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#getpromptresult",
			Title: "prompts/get gives messages, each with the role user or assistant and one content block",
			Why:   "clients fail to read the prompt, or pass a message without its speaker to the model",
			Fix:   "send messages as an array of objects with role and with content as one object, not an array",
		},
		In: every, Watch: promptMessages, Stir: func(c *probe.Case) { c.Gets() },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).OfType(spec.ResultComplete).Set("/result/messages/0/role", `"system"`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).OfType(spec.ResultComplete).Set("/result/messages/0/content", `[{"type":"text","text":"a"}]`)}},
		},
	},
	mediaRule("prompts.image-base64", "image", spec.ContentImage, every),
	mediaRule("prompts.audio-base64", "audio", spec.ContentAudio, since2503),
	{
		Info: rule.Info{
			ID: "prompts.embedded-resource-fields", Level: rule.Must, Basis: rule.Keyword, Section: promptsPage + "#embedded-resources",
			Title: "a resource in a prompt has a URI, a MIME type and text or Base64 data",
			Why:   "clients cannot tell what it is, or show Base64 as text",
			Fix:   "send uri with its scheme, mimeType, and text or blob",
		},
		In: every, Watch: embeddedFields, Stir: func(c *probe.Case) { c.Gets() },
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodPromptsGet).When(mock.AnswerHas("/result/messages/0/content")).
				Set("/result/messages/-", `{"role":"user","content":{"type":"resource","resource":{"uri":"demo://x","mimeType":"text/plain"}}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "prompts.capability-respected", Level: rule.Should, Basis: rule.Keyword, Section: promptsPage + "#implementation-considerations",
			Title: "a server says of prompts only what it declared it would",
			Why:   "a client is told of changes that it has no handler for",
			Fix:   "declare prompts.listChanged, or do not send notifications/prompts/list_changed",
		},
		In: every, Watch: promptsRespected, Stir: stirTold, Starts: true, Needs: "--tool",
		Break: Break{
			In:     modern,
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/capabilities/prompts/listChanged")},
			Also:   []string{"subscriptions.ack-omits-unsupported"},
		},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).Remove("/result/capabilities/prompts/listChanged")}, In: handshakeEra}},
	},
}

func promptShape(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, item := range t.Items(spec.MethodPromptsList) {
		if !applies(t, item.Page) {
			continue
		}
		vs := shapeOf(t.Revision, "Prompt", item)
		for _, v := range vs {
			l.fail(causeOf(v), item.Pointer, item.Page, "a prompt of prompts/list breaks the schema: %s", v).
				In(item.Page.Response, item.Pointer+v.Pointer).Of("prompt", item.Name)
		}
		if len(vs) == 0 {
			c.Pass(item.Page)
		}
	}
	l.close()
	c.UnseenOf(t, spec.MethodPromptsList)
}

// noPrompt is why a rule about what a prompt holds saw nothing.
func noPrompt(c *probe.Case, t *probe.Traffic) {
	if len(t.Facts.Prompts()) == 0 {
		c.UnseenOf(t, spec.MethodPromptsList)
	}
	c.Unseen("no prompt could be got that has such content")
}

// promptMessages leaves to their own rules what images, audio and resources
// hold.
func promptMessages(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	own := map[string]bool{spec.ContentImage: true, spec.ContentAudio: true, spec.ContentResource: true}
	for _, x := range completes(t, spec.MethodPromptsGet) {
		bad := false
		for _, v := range violations(t.Revision, "GetPromptResult", x.Result(), "/messages") {
			if at, inside := messageOf(v.Pointer); inside && own[probe.Text(x.At(at+"/content/type"))] || inside && isBelow(place(v), at+"/content/annotations") {
				continue
			}
			bad = true
			l.fail(causeOf(v), subject(x)+v.Pointer, x, "a result of prompts/get breaks the schema: %s", v).In(x.Response, "/result"+v.Pointer)
		}
		if !bad {
			c.Pass(x)
		}
	}
	l.close()
	noPrompt(c, t)
}

// messageOf is the pointer of the message in whose content another pointer
// leads.
func messageOf(pointer string) (message string, inside bool) {
	tokens, err := jsonx.Tokens(pointer)
	if err != nil || len(tokens) < 3 || tokens[0] != "messages" || tokens[2] != "content" {
		return "", false
	}
	return "/messages/" + tokens[1], true
}

// mediaRule is the rule about one kind of binary content.
func mediaRule(id, noun, kind string, in spec.Range) Rule {
	return Rule{
		Info: rule.Info{
			ID: id, Level: rule.Must, Basis: rule.Keyword, Section: promptsPage + "#" + noun + "-content",
			Title: noun + " content of a prompt is Base64 with a MIME type",
			Why:   "clients fail to decode it, and the model never gets it",
			Fix:   "encode the bytes by RFC 4648 section 4, and say the type, such as " + noun + "/" + map[string]string{"image": "png", "audio": "wav"}[noun],
		},
		In: in,
		Watch: func(c *probe.Case, t *probe.Traffic) {
			l := ledger{c: c}
			for _, b := range promptBlocks(t) {
				if b.text("type") != kind {
					continue
				}
				switch _, ok := jsonText(b.get("data")); {
				case !ok:
					l.fail("data", b.pointer, b.x, "the data of %s content of a prompt is %s", noun, orNothing(b.get("data"))).In(b.x.Response, b.pointer)
					continue
				case !isMediaType(b.text("mimeType")):
					l.fail("type", b.pointer, b.x, "%s content of a prompt has the mimeType %s, which is none", noun, orNothing(b.get("mimeType"))).
						In(b.x.Response, b.pointer)
				}
				judgeBase64(&l, b.at("data"), "the data of "+noun+" content")
			}
			l.close()
			noPrompt(c, t)
		},
		Stir: func(c *probe.Case) { c.Gets() },
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodPromptsGet).When(mock.AnswerHas("/result/messages/0/content")).
				Set("/result/messages/-", `{"role":"user","content":{"type":"`+kind+`","data":"not base64!","mimeType":"`+noun+`/x-any"}}`),
		}},
		Breaks: []Break{{Faults: []mock.Fault{
			mock.On(spec.MethodPromptsGet).When(mock.AnswerHas("/result/messages/0/content")).
				Set("/result/messages/-", `{"role":"user","content":{"type":"`+kind+`","data":"AAAA","mimeType":"`+noun+`"}}`),
		}}},
	}
}

func embeddedFields(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, b := range promptBlocks(t) {
		if b.text("type") != spec.ContentResource {
			continue
		}
		r := b.at("resource")
		text, blob := r.get("text"), r.get("blob")
		uri, hasURI := jsonText(r.get("uri"))
		fault, _ := checkURI(uri)
		_, isText := jsonText(text)
		_, isBlob := jsonText(blob)
		switch {
		case !hasURI:
			l.fail("uri", b.pointer, b.x, "a resource in a prompt has the uri %s", orNothing(r.get("uri"))).In(b.x.Response, r.pointer)
		case fault == uriNoScheme && !sentAs(b.x, uri): // a prompt may put an argument there
			l.fail("uri", b.pointer, b.x, "the uri %s of a resource in a prompt is no URI: it has no scheme", jsonQuote(uri)).In(b.x.Response, r.pointer+"/uri")
		case !isText && !isBlob:
			l.fail("data", b.pointer, b.x, "a resource in a prompt has neither text nor blob").In(b.x.Response, r.pointer)
		case r.get("mimeType") == nil: // the schema does without
			l.warn("type", b.pointer, b.x, "a resource in a prompt has no mimeType").In(b.x.Response, r.pointer)
		case !isMediaType(r.text("mimeType")):
			l.fail("type", b.pointer, b.x, "a resource in a prompt has the mimeType %s, which is none", orNothing(r.get("mimeType"))).In(b.x.Response, r.pointer+"/mimeType")
		case isBlob:
			judgeBase64(&l, r.at("blob"), "the blob of a resource in a prompt")
		default:
			c.Pass(b.x)
		}
	}
	l.close()
	noPrompt(c, t)
}

// sentAs reports whether a text is an argument that the client chose.
func sentAs(x *probe.Exchange, s string) bool {
	for _, m := range probe.Members(probe.Lookup(x.Sent.Message().Params, "/arguments")) {
		if probe.Text(json.RawMessage(m.Value)) == s {
			return true
		}
	}
	return false
}

func promptsRespected(c *probe.Case, t *probe.Traffic) {
	f := t.Facts
	if f.Capabilities == nil {
		c.UnseenFor(ruleGreeting(t.Revision), "the server's capabilities are not known")
		return
	}
	for _, n := range t.Notifications(spec.NotificationPromptsListChanged) {
		silent := f.Greeting
		switch {
		case t.Revision.Era() == spec.Legacy:
			silent = undeclared(t, "prompts.listChanged", n.Conn)
		case f.Declares("prompts.listChanged"):
			silent = nil
		}
		if silent != nil {
			c.Fail(n.Exchange, "the server sent %s, and declares no prompts.listChanged", n.Message().Method).In(n.Frame, "").And(silent)
			return
		}
		c.Pass(n.Exchange)
	}
	c.Unseen("the server sent nothing about prompts unasked")
}
