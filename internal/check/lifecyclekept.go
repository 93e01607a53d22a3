// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const operation = "/basic/lifecycle#operation"

// lifecycleKeptRules are those of keeping to what the handshake agreed on.
var lifecycleKeptRules = []Rule{
	versionKept("lifecycle.version-respected", rule.Must, "2025-11-25"+operation, late),
	versionKept("lifecycle.version-respected-early", rule.Should, "2025-03-26"+operation, early),
	capabilitiesKept("lifecycle.capabilities-respected", rule.Must, "2025-11-25"+operation, late),
	capabilitiesKept("lifecycle.capabilities-respected-early", rule.Should, "2025-03-26"+operation, early),
	{
		Info: rule.Info{
			ID: "lifecycle.server-asks-only-declared", Level: rule.MustNot, Basis: rule.Derived, Section: "2025-11-25" + operation,
			Title:  "a client is asked for samples and user input only where it declared that it answers",
			Why:    "the client refuses the request or leaves it, and the call that waits for it fails or never ends",
			Fix:    "look at the capabilities in the session's initialize before you ask",
			Detail: "Roots have a rule of their own.",
		},
		In: handshakeEra, Watch: asksOnlyDeclared, Stir: stirCalls, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).OnTurn(1).Request(spec.MethodCreateMessage, `{"messages":[{"role":"user","content":{"type":"text","text":"hm"}}],"maxTokens":10}`, `"mcprove-s"`),
		}},
	},
}

// versionKept is the rule about the features of later revisions, which became a
// MUST in the middle of the era.
func versionKept(id, level, section string, in spec.Range) Rule {
	return Rule{
		Info: rule.Info{
			ID: id, Level: level, Basis: rule.Keyword, Section: section,
			Title: "what the server sends belongs to the version that was agreed on",
			Why:   "the client does not know the message or the result, and drops it or waits for another",
			Fix:   "keep the agreed version with the session, and leave out what later revisions brought",
			Detail: "Members that a later revision added to what exists are left alone, since clients ignore them. " +
				"Content types and structuredContent have rules of their own.",
		},
		In: in, Watch: versionRespected, Stir: stirCalls,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsList).OnTurn(1).Notify(spec.NotificationSubscriptionsAck, `{"notifications":{}}`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"draw_chart"`)).OfResult().Set("/result/resultType", `"input_required"`)}},
		},
	}
}

// capabilitiesKept is the rule about what was not declared, likewise.
func capabilitiesKept(id, level, section string, in spec.Range) Rule {
	return Rule{
		Info: rule.Info{
			ID: id, Level: level, Basis: rule.Keyword, Section: section,
			Title: "the server keeps to the capabilities that it declared in initialize",
			Why:   "clients that go by the declaration drop what they were not told of",
			Fix:   "serve the lists that you declare, and declare listChanged and subscribe where you send such notifications",
		},
		In: in, Watch: capabilitiesRespected, Stir: stirCalls,
		Under: []string{"prompts.capability-respected", "tools.list-answered", "prompts.list-answered", "resources.list-answered"},
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodInitialize).Remove("/result/capabilities/resources/listChanged"),
			mock.On(spec.MethodToolsList).OnTurn(1).Notify(spec.NotificationResourcesListChanged, ""),
		}, Also: []string{"transport-http.sse-related-only-legacy"}},
	}
}

// laterMethod reports whether only a later revision has what a server sends
// under a method.
func laterMethod(method string, r spec.Revision) bool {
	if knownTo(method, r) {
		return false
	}
	return slices.ContainsFunc(spec.All(), func(o spec.Revision) bool { return o > r && knownTo(method, o) })
}

func knownTo(method string, r spec.Revision) bool {
	_, ok := spec.MethodAt(method, r)
	return ok
}

// laterResult says what in a result only a later revision has, and clients of
// this one cannot go on with; empty for every other result.
func laterResult(x *probe.Exchange, r spec.Revision) (what, pointer string) {
	switch kind := x.ResultType(); {
	case kind == spec.ResultInputRequired, kind == spec.ResultTask: // any other is a member of the server's own
		return "a result of type " + brief(kind), "/result/" + spec.FieldResultType
	case x.Method == spec.MethodToolsCall && r < spec.Rev20251125 && x.At("/task/taskId") != nil && x.Member("content") == nil:
		return "a task", "/result/task"
	}
	return "", ""
}

func versionRespected(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, m := range t.Messages(wire.Request, wire.Notification) {
		if method := m.Message().Method; laterMethod(method, t.Revision) {
			l.fail("message", method, m.Exchange, "the server sent %s, which %s does not have", brief(method), t.Revision).In(m.Frame, "")
		}
	}
	for _, x := range t.Results() {
		if x.Planted() != "" {
			continue
		}
		if what, at := laterResult(x, t.Revision); what != "" {
			l.fail("result", x.Method, x, "%s was answered by %s, which %s does not have", x.Method, what, t.Revision).In(x.Response, at)
			continue
		}
		c.Pass(x)
	}
	for _, a := range asks(t) {
		if a.url() && t.Revision < spec.Rev20251125 && knownTo(a.method, t.Revision) {
			l.fail("url", "", a.x, "the server asks a user to open a page, which %s does not have", t.Revision).In(a.frame, a.at+"/params")
		}
	}
	l.close()
	c.Unseen("nothing was seen that the server sent in a session")
}

// sessionOf names the session that an exchange belongs to: by its id over HTTP,
// and by its connection where there is none, when named is false. An initialize
// belongs to the session that it opens, wherever it was sent.
func sessionOf(x *probe.Exchange) (session string, named bool) {
	if id := sessionIn(x); id != "" && x.Method == spec.MethodInitialize {
		return id, true
	}
	if x.SentHead != nil {
		if id := x.SentHead.Get(spec.HeaderSessionID); id != "" {
			return id, true
		}
	}
	return connectionName(x.Conn), false
}

func connectionName(n int) string { return "connection " + strconv.Itoa(n) }

// clientsOf are the capabilities that the clients of the sessions declared.
func clientsOf(t *probe.Traffic) map[string][]byte {
	return probe.Known(t, "clients", func() map[string][]byte {
		out := map[string][]byte{}
		for _, x := range t.Exchanges {
			if x.Method == spec.MethodInitialize && x.OK() {
				if declared := declaredIn(x); declared != nil {
					session, _ := sessionOf(x)
					out[session] = declared
				}
			}
		}
		return out
	})
}

// needed are the capabilities of a client by which it may be asked, but for
// roots, which have a rule of their own.
var needed = map[string]string{spec.MethodCreateMessage: "sampling", spec.MethodElicit: "elicitation"}

func asksOnlyDeclared(c *probe.Case, t *probe.Traffic) {
	clients := clientsOf(t)
	l := ledger{c: c}
	for _, r := range receivedIn(t) {
		m := r.Message()
		capability := needed[m.Method]
		declared, known := clients[r.session]
		if m.Kind != wire.Request || capability == "" || !known {
			continue
		}
		if jsonx.KindOf(probe.Lookup(declared, "/"+capability)) == jsonx.Object {
			c.Pass(r.Exchange)
			continue
		}
		l.fail(m.Method, r.session, r.Exchange, "the server sent %s to a client that does not declare %s", m.Method, capability).In(r.Frame, "")
	}
	l.close()
	// That it asked nothing of a client that declares nothing is right.
	for _, x := range t.Results(spec.MethodToolsCall) {
		session, _ := sessionOf(x)
		if declared, known := clients[session]; known && len(probe.Members(declared)) == 0 {
			c.Pass(x)
		}
	}
	c.Unseen("no call of a tool was seen in a session of a client that declares nothing: %s", probe.NoTool)
}

// sessionFrame is a frame of the server with the session that it came in.
type sessionFrame struct {
	probe.Received
	session string
	named   bool // by an id
}

// receivedIn is every frame of the server with its session.
func receivedIn(t *probe.Traffic) []sessionFrame {
	return probe.Known(t, "received in sessions", func() []sessionFrame {
		var out []sessionFrame
		for _, x := range t.Exchanges {
			session, named := sessionOf(x)
			for _, f := range x.Frames {
				out = append(out, sessionFrame{probe.Received{Frame: f, Exchange: x}, session, named})
			}
		}
		for _, s := range t.Stray {
			out = append(out, sessionFrame{probe.Received{Frame: s.Frame}, connectionName(s.Conn), false})
		}
		return out
	})
}
