// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const (
	extensionNegotiation = "2026-07-28/basic/versioning#extension-negotiation"
	capabilityPage       = "2026-07-28/architecture#capability-negotiation"
)

// capabilityRules are those of what both sides declare, extensions included.
var capabilityRules = []Rule{
	{
		Info: rule.Info{
			ID: "base.core-supported", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#overview",
			Title: "the server supports the base protocol, versioning and every message pattern",
			Why:   "clients build on subscriptions/listen for every change, and get none",
			Fix:   "answer subscriptions/listen by an acknowledgement, with an empty set where you have nothing to tell",
		},
		In: modern, Check: coreSupported,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.ParamIs(markAt, `"core"`)).Error(spec.CodeMethodNotFound, "Method not found")},
		},
	},
	{
		Info: rule.Info{
			ID: "extensions.identifier-format", Level: rule.Must, Basis: rule.Keyword, Section: extensionNegotiation,
			Title: "an extension's identifier is a _meta key with a prefix",
			Why:   "two extensions of the same bare name cannot be told apart",
			Fix:   "name it like com.example/feature",
		},
		In: modern, Watch: extensionIdentifiers,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/capabilities/extensions", `{"feature":{}}`)}},
	},
	{
		Info: rule.Info{
			ID: "extensions.settings-object", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#servercapabilities",
			Title: "an extension's settings are an object",
			Why:   "clients that read settings fail, and typed ones refuse the whole answer",
			Fix:   "declare it with {} where it has no settings",
		},
		In: modern, Watch: extensionSettings,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/capabilities/extensions", `{"com.example/feature":true}`)}},
	},
	{
		Info: rule.Info{
			ID: "extensions.fallback", Level: rule.Must, Basis: rule.Keyword, Section: extensionNegotiation,
			Title: "a client that declares no extension is served by the core protocol",
			Why:   "the client gets an answer of a kind that it does not know, and must drop it",
			Fix:   "fall back to a complete result, or refuse with an error that says what is missing",
		},
		In: modern, Watch: extensionFallback, Stir: stirCalls,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfResult().OnTurn(1).Set("/result", `{"resultType":"task","taskId":"t-1","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":1000,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}`)},
			Also:   []string{"jsonrpc.result-type-known-values"},
		},
	},
	{
		Info: rule.Info{
			ID: "capabilities.advertised-features", Level: rule.Must, Basis: rule.Prose, Section: capabilityPage,
			Title: "what the server implements is declared",
			Why:   "clients never ask for a feature that is not declared, so nobody gets it",
			Fix:   "declare the capability, or drop the feature",
		},
		In: modern, Check: advertised,
		Under: []string{"resources.capability-declared"},
		Break: Break{
			Base: func(s *mock.Script) {
				s.Resources, s.Templates = nil, nil
				s.Capabilities = []byte(`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`)
				s.Tools = slices.DeleteFunc(s.Tools, embeds)
			},
			Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).Lenient(mock.CheckCapabilityUndeclared)},
		},
	},
	{
		Info: rule.Info{
			ID: "capabilities.respected", Level: rule.Must, Basis: rule.Prose, Section: capabilityPage,
			Title: "the server keeps to the capabilities that it declares",
			Why:   "clients that go by the declaration drop what they were not told of",
			Fix:   "serve the lists that you declare, and declare listChanged and subscribe where you send such notifications",
		},
		In: modern, Watch: capabilitiesRespected,
		Under: []string{"prompts.capability-respected", "tools.list-answered", "prompts.list-answered", "resources.list-answered"},
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/capabilities/resources/listChanged")},
			Also:   []string{"subscriptions.ack-omits-unsupported"},
		},
	},
	{
		Info: rule.Info{
			ID: "capabilities.unknown-tolerated", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/schema#clientcapabilities",
			Title: "a client capability that the server does not know is no error",
			Why:   "every newer client is turned away",
			Fix:   "ignore capability keys you do not know",
		},
		In: every, Check: unknownCapability, Starts: true,
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.HasParam("/_meta/io.modelcontextprotocol~1clientCapabilities/experimental")).Error(spec.CodeInvalidParams, "unknown capability")},
			In:     modern,
		},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/experimental")).Error(spec.CodeInvalidParams, "unknown capability")}, In: handshakeEra, Also: []string{ruleInitResult}},
			{Faults: []mock.Fault{mock.On("").When(mock.EarlierHas("/params/capabilities/experimental")).OfResult().Error(spec.CodeInternalError, "no such capability")}, In: handshakeEra},
		},
	},
}

func coreSupported(c *probe.Case) {
	if _, ok := c.Plain(); !ok {
		return
	}
	s := c.Start(nil, marked(c.Request(spec.MethodListen, `{"notifications":{}}`), "core"))
	defer s.Close()
	x, _ := s.Until(c.Probe().Patience(), func(x *probe.Exchange) bool { return len(x.Frames) > 0 })
	switch {
	case x.Is(spec.CodeMethodNotFound) && !tells(c.Facts()):
		c.Note(x, "subscriptions/listen was answered by %s: every server has it, though this one declares no changes to tell of", x.Brief())
	case x.Is(spec.CodeMethodNotFound):
		c.Fail(x, "subscriptions/listen was answered by %s", x.Brief())
	case len(x.Notifications(spec.NotificationSubscriptionsAck)) > 0:
		c.Pass(x)
	default:
		c.SkipFor("subscriptions.ack-sent", "subscriptions/listen was answered by %s", x.Brief())
	}
}

// tells reports whether a server declares changes to tell of.
func tells(f *probe.Facts) bool {
	return slices.ContainsFunc([]string{"tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe"}, f.Declares)
}

// extensions are the members of the server's declared extensions.
func extensions(c *probe.Case, t *probe.Traffic) (x *probe.Exchange, ms []jsonx.Member) {
	if t.Facts.Greeting == nil || t.Facts.Capabilities == nil {
		c.SkipFor(ruleImplemented, "the server's capabilities were not seen")
		return nil, nil
	}
	c.Pass(t.Facts.Greeting)
	return t.Facts.Greeting, probe.Members(probe.Lookup(t.Facts.Capabilities, "/extensions"))
}

func extensionIdentifiers(c *probe.Case, t *probe.Traffic) {
	x, ms := extensions(c, t)
	for _, m := range ms {
		prefix, ok := spec.MetaPrefix(m.Name)
		switch err := spec.CheckMetaKey(m.Name, t.Revision); {
		case err != nil:
			c.Fail(x, "the extension %q: %v", m.Name, err).In(x.Response, jsonx.Push("/result/capabilities/extensions", m.Name))
		case !ok || prefix == "":
			c.Fail(x, "the extension %q has no prefix", m.Name).In(x.Response, jsonx.Push("/result/capabilities/extensions", m.Name))
		}
	}
}

func extensionSettings(c *probe.Case, t *probe.Traffic) {
	x, ms := extensions(c, t)
	for _, m := range ms {
		if k := jsonx.KindOf(m.Value); k != jsonx.Object {
			c.Fail(x, "the settings of the extension %q are %s, not an object", m.Name, k.Name()).In(x.Response, jsonx.Push("/result/capabilities/extensions", m.Name))
		}
	}
}

// extensionFallback: what an official extension adds must not reach a client
// that does not declare it.
func extensionFallback(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.Declared("extensions") != nil || len(x.Frames) == 0 {
			continue
		}
		c.Pass(x)
		if x.ResultType() == spec.ResultTask {
			c.Fail(x, "%s of a client without extensions was answered by a result of type %s", x.Method, spec.ResultTask)
		}
		for _, f := range x.Notifications("") {
			if m := f.Message().Method; strings.HasPrefix(m, "notifications/tasks") {
				c.Fail(x, "%s was sent to a client without extensions", m).In(f, "")
			}
		}
	}
	c.Unseen("no answer was seen")
}

// advertised asks for what no other rule asks an undeclared family for.
func advertised(c *probe.Case) {
	d, ok := discovered(c)
	if !ok {
		return
	}
	if c.Facts().Declares("resources") {
		c.Pass(d)
		return
	}
	x := c.Send(c.Request(spec.MethodResourceTemplatesList, ""))
	// A server that answers everything by some result has no such feature.
	if jsonx.KindOf(x.Member("resourceTemplates")) == jsonx.Array {
		c.Fail(x, "resources are not declared, and %s is answered by a result", x.Method).And(d)
		return
	}
	c.Pass(x)
}

// respects are notifications and the capability that each needs, but for those
// that have a rule of their own.
var respects = map[string]string{
	spec.NotificationPromptsListChanged:   "prompts.listChanged",
	spec.NotificationResourcesListChanged: "resources.listChanged",
	spec.NotificationResourcesUpdated:     "resources.subscribe",
}

// promised are the list of each capability that has one.
var promised = []struct{ capability, method string }{
	{"tools", spec.MethodToolsList}, {"prompts", spec.MethodPromptsList}, {"resources", spec.MethodResourcesList},
}

func capabilitiesRespected(c *probe.Case, t *probe.Traffic) {
	if t.Facts.Capabilities == nil {
		c.SkipFor(ruleGreeting(t.Revision), "the server's capabilities were not seen")
		return
	}
	c.Pass(t.Facts.Greeting)
	// That a server declares what it lacks is no use of what was not agreed on,
	// which is all that the handshake era forbids.
	lacks := c.Fail
	if t.Revision.Era() == spec.Legacy {
		lacks = c.Warn
	}
	for _, p := range promised {
		i := slices.IndexFunc(t.Exchanges, func(x *probe.Exchange) bool {
			return x.Method == p.method && x.Planted() == "" && x.Is(spec.CodeMethodNotFound)
		})
		if i < 0 && t.Revision.Era() == spec.Legacy {
			i = unlisted(t, p.method)
		}
		if i >= 0 && t.Facts.Declares(p.capability) {
			lacks(t.Exchanges[i], "%s are declared, and %s gives %s", p.capability, p.method, t.Exchanges[i].Brief()).And(t.Facts.Greeting)
		}
	}
	for _, r := range t.Notifications() {
		if path := respects[r.Message().Method]; path != "" && !declaredTo(t, r.Conn, path) {
			c.Fail(r.Exchange, "%s was sent without the capability %s", r.Message().Method, path).In(r.Frame, "")
		}
	}
}

// declaredTo reports whether the server declares a capability to the client of a
// connection: in the handshake era it may tell each another.
func declaredTo(t *probe.Traffic, conn int, path string) bool {
	if t.Revision.Era() != spec.Legacy {
		return t.Facts.Declares(path)
	}
	greetings := probe.Known(t, "greetings", func() map[int][]*probe.Exchange {
		out := map[int][]*probe.Exchange{}
		for _, x := range t.Exchanges {
			if x.Method == spec.MethodInitialize && jsonx.KindOf(x.Member("capabilities")) == jsonx.Object {
				out[x.Conn] = append(out[x.Conn], x)
			}
		}
		return out
	})[conn]
	if len(greetings) == 0 {
		return t.Facts.Declares(path)
	}
	return slices.ContainsFunc(greetings, func(x *probe.Exchange) bool {
		k := jsonx.KindOf(x.At("/capabilities/" + strings.ReplaceAll(path, ".", "/")))
		return k == jsonx.Object || k == jsonx.True
	})
}

// unlisted is the plain request for a list that was refused or not answered, in
// traffic where none was answered well; -1 where there is no such thing. Later
// revisions have a rule of their own on each list.
func unlisted(t *probe.Traffic, method string) int {
	bad := -1
	for i, x := range t.Exchanges {
		if x.Method != method || x.Planted() != "" {
			continue
		}
		if x.OK() {
			return -1
		}
		_, paged := cursorOf(x)
		lost := x.Silent() || x.Died() || x.Message() != nil && x.Message().Error != nil ||
			x.Status() >= http.StatusBadRequest && x.Status() != http.StatusUnauthorized && x.Status() != http.StatusForbidden
		if bad < 0 && !paged && lost {
			bad = i
		}
	}
	return bad
}

func unknownCapability(c *probe.Case) {
	r, ok := c.Plain()
	if !ok {
		return
	}
	const unknown = `{"mcproveUnknown":{"a":1},"experimental":{"dev.mcprove/none":{}}}`
	if c.Probe().Legacy() {
		unknownInHandshake(c, unknown)
		return
	}
	x := c.Send(r.Capabilities(unknown))
	if !x.OK() {
		c.Fail(x, "a request that declares unknown capabilities was answered by %s", x.Brief()).And(c.Once(r))
		return
	}
	c.Pass(x)
}

// unknownInHandshake declares capabilities where a connection does so.
func unknownInHandshake(c *probe.Case, capabilities string) {
	if !c.Facts().Greeting.OK() {
		c.Lacks(c.Facts().Greeting)
		return
	}
	conn := c.Dial()
	if conn == nil {
		return
	}
	when := "an initialize that declares unknown capabilities"
	x := c.SendOn(conn, c.Probe().Hello(capabilities))
	if conn.Adopt(x); x.OK() {
		c.SendOn(conn, c.Probe().Notification(spec.NotificationInitialized))
		when = "after " + when + ", " + plain(c).Method
		x = c.SendOn(conn, plain(c))
	}
	if x.OK() {
		c.Pass(x)
		return
	}
	if control := c.Open(); control == nil {
		return // a further client is not served at all
	} else if x := c.SendOn(control, plain(c)); !x.OK() {
		c.Lacks(x)
		return
	}
	c.Fail(x, "%s was answered by %s", when, x.Brief()).And(c.Facts().Greeting)
}

// embeds reports whether a tool gives a resource, which it should not where
// none are declared.
func embeds(t mock.Tool) bool { return bytes.Contains(t.Result, []byte(`"type":"resource"`)) }
