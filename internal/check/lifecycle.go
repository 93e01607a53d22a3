// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const initialization = "2025-11-25/basic/lifecycle#initialization"

// Marks of requests that the rules of the handshake send.
const (
	markFurther       = "further-client"
	markUninitialized = "uninitialized"
	markAgain         = "after-reinitialize"
	markHeld          = "before-initialized"
)

func onMark(method, name string) mock.Place {
	return mock.On(method).When(mock.ParamIs(markAt, `"`+name+`"`))
}

// lifecycleRules are those of the handshake itself.
var lifecycleRules = []Rule{
	{
		Info: rule.Info{
			ID: "base.lifecycle-supported", Level: rule.Must, Basis: rule.Keyword, Section: "2025-11-25/basic#overview",
			Title: "a client that has done the handshake is served, whoever came before it",
			Why:   "the second client of a server connects, and then nothing works",
			Fix:   "keep what the handshake agreed on for each connection or session, and serve requests once it is done",
		},
		In: handshakeEra, Check: lifecycleSupported, Apart: true,
		Break: Break{Faults: []mock.Fault{onMark("", markFurther).Error(spec.CodeInvalidRequest, "not initialized")}},
	},
	{
		Info: rule.Info{
			ID: ruleInitResult, Level: rule.Must, Basis: rule.Keyword, Section: initialization,
			Title: "initialize is answered with protocolVersion, capabilities and serverInfo, which has name and version",
			Why:   "clients that read the answer by the schema refuse it, and the connection with it",
			Fix:   "answer every client's initialize with the three members in their form",
		},
		In: handshakeEra, Watch: initResult,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).Remove("/result/serverInfo/version")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodInitialize).Remove("/result/serverInfo")}},
			{Faults: []mock.Fault{mock.On(spec.MethodInitialize).FromTurn(2).Error(spec.CodeInvalidRequest, "Server already initialized")}},
		},
	},
	{
		Info: rule.Info{
			ID: "lifecycle.server-waits", Level: rule.ShouldNot, Basis: rule.Keyword, Section: initialization,
			Title: "before notifications/initialized the server sends no requests but pings, and no notifications but log messages",
			Why:   "the client is not ready yet, and drops what comes or fails on it",
			Fix:   "hold back requests and notifications until the client has sent notifications/initialized",
		},
		In: handshakeEra, Check: serverWaits, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).NotifyAfter(spec.NotificationToolsListChanged, "")}, Also: []string{"transport-http.sse-related-only-legacy"}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodInitialize).Notify(spec.NotificationPromptsListChanged, "")}, Also: []string{"transport-http.sse-related-only-legacy"}},
		},
	},
	{
		Info: rule.Info{
			ID: "lifecycle.uninitialized-request", Level: rule.Should, Basis: rule.Derived, Section: initialization,
			Title: "a request before initialize is not served as if there were a session",
			Why:   "the answer is in a form that nobody agreed on, and says nothing of what the client can take",
			Fix:   "answer requests before initialize by an error, pings excepted",
			Detail: "The specification fixes no answer, so this is a warning at most. A server over HTTP that opens no session " +
				"has nothing to tell such a request by.",
		},
		In: handshakeEra, Check: uninitializedRequest, Apart: true,
		Break: Break{Faults: []mock.Fault{onMark("", markUninitialized).Result(`{"tools":[]}`)}},
	},
	{
		Info: rule.Info{
			ID: "lifecycle.reinitialize", Level: rule.Should, Basis: rule.Derived, Section: initialization,
			Title: "a second initialize in a session is answered, and leaves a session that works",
			Why:   "a client that connects again over what is still open hangs, or finds everything refused",
			Fix:   "refuse the second initialize by an error, or begin anew; go on serving either way",
		},
		In: handshakeEra, Check: reinitialize, Apart: true,
		Break: Break{Faults: []mock.Fault{onMark("", markAgain).Error(spec.CodeInvalidRequest, "not initialized")}},
		Breaks: []Break{
			{Faults: []mock.Fault{onMark(spec.MethodInitialize, markAgain).Drop()}},
		},
	},
}

func lifecycleSupported(c *probe.Case) {
	o := secondSession(c)
	if o == nil {
		return
	}
	switch x := o.first; {
	case x.OK():
		c.Pass(x)
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	case x.Method == spec.MethodPing:
		c.Lacks(x)
	default:
		c.Fail(x, "after the handshake of a further client, %s %s, which the first client was served", x.Method, outcome(x)).
			And(o.greeting, c.Facts().List(x.Method).Pages[0])
	}
}

// initElsewhere are places of the answer to initialize that other rules judge.
var initElsewhere = []string{"/_meta", "/serverInfo/icons"}

// initResult judges every answer to a good initialize. Those of a recording may
// refuse what its client asked for.
func initResult(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range t.Exchanges {
		if x.Method != spec.MethodInitialize || x.Planted() != "" {
			continue
		}
		switch {
		case x.OK():
			initShape(c, t, &l, x)
		case x.Request == nil, busy(x), t.Down != nil, x.Response == nil && x.Head == nil && (x.Cancelled || !x.Silent()):
			// It was not refused: there was nobody, or no time.
		default:
			// How many clients a server takes is not said.
			g := t.Facts.Greeting
			l.warn("refused", "", x, "initialize of a further client %s", outcome(x)).And(g)
		}
	}
	l.close()
	c.Unseen("no answer to initialize was seen")
}

func initShape(c *probe.Case, t *probe.Traffic, l *ledger, x *probe.Exchange) {
	revision := t.Revision
	if r, err := spec.ParseRevision(versionIn(x)); err == nil && r.Era() == spec.Legacy {
		revision = r
	}
	vs, err := spec.ValidateDefinition(revision, "InitializeResult", x.Result())
	if err != nil {
		return
	}
	v, malformed := malformation(vs, initElsewhere)
	if !malformed {
		c.Pass(x)
		return
	}
	l.fail(causeOf(v), v.Pointer, x, "the answer to initialize is malformed: %s", v.Message).In(x.Response, "/result"+v.Pointer)
}

// heldBack is what came on a connection whose client held notifications/initialized
// back for a while, and then sent a ping.
type heldBack struct {
	unopened bool
	greeting *probe.Exchange
	agreed   bool
	came     []heldFrame
	ping     *probe.Exchange
	ready    *probe.Exchange // notifications/initialized
}

type heldFrame struct {
	x     *probe.Exchange // nil for what belongs to none
	frame *wire.Frame
}

// holdBack does the first half of a handshake once for all rules. It is nil, and
// the case skipped, where that fails.
func holdBack(c *probe.Case) *heldBack {
	h := probe.Share(c.Probe(), "held back", func() *heldBack { return beginHandshake(c) })
	switch {
	case h.unopened:
		c.Skip("a further connection could not be opened")
	case !h.agreed:
		c.Disagreed(h.greeting)
	default:
		return h
	}
	return nil
}

func beginHandshake(c *probe.Case) *heldBack {
	conn := c.Dial()
	if conn == nil {
		return &heldBack{unopened: true}
	}
	// A server that asks too early asks for what the client has, roots first.
	const capabilities = `{"roots":{}}`
	conn.Answering(probe.ReplyAs(capabilities))
	hello := c.Start(conn, c.Probe().Hello(capabilities))
	h := &heldBack{greeting: hello.Answer()}
	if h.agreed = conn.Adopt(h.greeting) == c.Probe().Revision(); !h.agreed {
		return h
	}
	streams := []*probe.Stream{hello}
	if c.HTTP() {
		// What the server has to say of itself comes on the standing stream.
		get := c.Start(conn, c.Request(http.MethodGet, "").Verb(http.MethodGet).Header("Accept", spec.MediaEventStream))
		defer get.Close()
		streams = append(streams, get)
	}
	c.Rest(c.Probe().Quiet())
	for _, s := range streams {
		x := s.Now()
		for _, f := range x.Frames {
			h.came = append(h.came, heldFrame{x, f})
		}
	}
	for _, f := range conn.Stray() {
		h.came = append(h.came, heldFrame{nil, f})
	}
	h.ping = c.SendOn(conn, marked(c.Request(spec.MethodPing, ""), markHeld))
	h.ready = c.SendOn(conn, c.Probe().Notification(spec.NotificationInitialized))
	return h
}

func serverWaits(c *probe.Case) {
	h := holdBack(c)
	if h == nil {
		return
	}
	c.Pass(h.greeting)
	for _, f := range h.came {
		m := f.frame.Message()
		request := m.Kind == wire.Request && m.Method != spec.MethodPing
		notification := m.Kind == wire.Notification && m.Method != spec.NotificationMessage
		if !request && !notification {
			continue
		}
		x := f.x
		if x == nil {
			x = h.greeting
		}
		c.Fail(x, "the server sent %s before the client had sent %s", brief(m.Method), spec.NotificationInitialized).In(f.frame, "")
		return
	}
}

// uninitializedRequest asks for a list before there was any initialize.
func uninitializedRequest(c *probe.Case) {
	g := c.Facts().Greeting
	if !g.OK() {
		c.Lacks(g)
		return
	}
	if c.HTTP() && c.Probe().Shared().Session() == "" {
		c.Skip("the server opens no session, so that every request stands for itself")
		return
	}
	good := lists(c)
	if len(good) == 0 {
		c.Skip("the server has no list that could be asked for")
		return
	}
	conn := c.Dial()
	if conn == nil {
		return
	}
	x := c.SendOn(conn, marked(c.Request(good[0].Method, ""), markUninitialized).Planting("a request before initialize"))
	switch {
	case x.OK():
		c.Fail(x, "%s before initialize was answered by a result", x.Method).And(good[0].Pages[0])
	case overloaded(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	default:
		c.Pass(x)
	}
}

func reinitialize(c *probe.Case) {
	o := secondSession(c)
	switch {
	case o == nil:
		return
	case !c.Probe().Mine():
		c.Skip("the target is not on this machine, so that no second initialize was sent; --target-is-mine allows it")
		return
	case !o.good.OK():
		c.Lacks(o.good)
		return
	case o.again.Silent(), o.again.Died():
		c.Fail(o.again, "a second initialize in one session %s", outcome(o.again)).And(o.greeting)
		return
	}
	switch x := o.after; {
	case x.OK():
		c.Pass(x)
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	default:
		c.Fail(x, "after a second initialize in one session, %s %s", x.Method, outcome(x)).And(o.good, o.again)
	}
}

// declaredIn are the capabilities that the client of an initialize declares.
func declaredIn(x *probe.Exchange) []byte {
	if x.Sent == nil {
		return nil
	}
	v := probe.Lookup(x.Sent.Message().Params, "/capabilities")
	if jsonx.KindOf(v) != jsonx.Object {
		return nil
	}
	return v
}
