// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// jsonrpcRules are those of what is refused, and by which code.
var jsonrpcRules = []Rule{
	{
		Info: rule.Info{
			ID: "jsonrpc.method-not-found-32601", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#methodnotfounderror",
			Title: "a method the server does not have is answered with -32601",
			Why:   "clients tell a missing feature from a broken one by this code, and stop asking",
			Fix:   "answer methods you do not know with code -32601 and the message Method not found",
		},
		In: every, Check: unknownMethod,
		Break: Break{Faults: []mock.Fault{mock.On(noMethod).Set("/error/code", "-32603")}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.ungated-method-32601", Level: rule.Should, Basis: rule.Schema, Section: "2026-07-28/schema#methodnotfounderror",
			Title: "a method of a capability that is not declared is answered with -32601",
			Why:   "a client that asks all the same takes any other error for a fault, and asks again",
			Fix:   "treat methods of features you do not declare as methods you do not know",
		},
		In: modern, Check: ungatedMethod,
		Break: Break{
			Base:   promptlessServer,
			Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Error(spec.CodeInternalError, "prompts are switched off")},
		},
	},
	{
		Info: rule.Info{
			ID: ruleInvalidParams, Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#invalidparamserror",
			Title: "params that are not valid are answered with -32602",
			Why:   "a client cannot tell its own mistake from a broken server, and repeats the request",
			Fix:   "validate params before you act, and answer what is missing or mistyped with code -32602",
		},
		In: every, Check: invalidParams,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.NoParam("/name")).Set("/error/code", "-32603"),
		}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.parse-error-32700", Level: rule.Must, Basis: rule.Prose, Section: "2026-07-28/basic#error-codes",
			Title: "a text that is not JSON is answered, if at all, with -32700, and does no harm",
			Why:   "one garbled line ends the server for everybody who uses it, or blames the wrong part of the client",
			Fix:   "answer what does not parse with code -32700 and no id, and read on",
		},
		In: every, Check: parseError, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.On(mock.Unreadable).OfCode(spec.CodeParseError).Set("/error/code", "-32603")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(mock.Unreadable).Die()}, Only: transport.Stdio, In: modern},
			// There a bare string, too, is what cannot be read.
			{Faults: []mock.Fault{mock.On(mock.Unreadable).Die()}, Only: transport.Stdio, In: handshakeEra, Also: []string{"jsonrpc.invalid-request-32600"}},
			{Faults: []mock.Fault{mock.On(mock.Unreadable).Status(http.StatusInternalServerError)}, Only: transport.StreamableHTTP},
		},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.invalid-request-32600", Level: rule.Must, Basis: rule.Prose, Section: "2026-07-28/basic#error-codes",
			Title: "JSON that is no valid request is answered with -32600",
			Why:   "what a broken client or proxy sends is executed as if it were understood",
			Fix:   "look at jsonrpc, id and method before anything else, and answer with code -32600 where they are wrong",
		},
		In: every, Check: invalidRequest, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckJSONRPCVersion)}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.internal-error-32603", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#internalerror",
			Title: "an unexpected failure inside the server is answered with -32603",
			Why:   "a page with status 500 tells a client nothing about its request, and many wait for the answer or give the server up",
			Fix:   "catch what a handler throws, and answer the request with code -32603",
		},
		In: every, Watch: internalError, Stir: readAbsent, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{absent.HTTP(http.StatusInternalServerError, "text/plain", "oops")}, Only: transport.StreamableHTTP,
		},
	},
}

// noMethod is a method that nobody has.
const noMethod = "mcprove/no-such-method"

// unusualID is where discoverUnderIDs gets to and few others; unusualResult is
// the results there.
var (
	unusualID     = mock.On(spec.MethodDiscover).When(mock.IDIs("string"))
	unusualResult = unusualID.OfResult()
	unusualPing   = mock.On(spec.MethodPing).When(mock.IDIs("string"), mock.RevisionIs(spec.Rev20251125))
)

// unusually is a fault at unusualID, and at the same place of the handshake era.
func unusually(fault func(mock.Place) mock.Fault) []mock.Fault {
	return []mock.Fault{fault(unusualID), fault(unusualPing)}
}

// noURI is a resource that nobody has. To ask for it is no mistake.
const noURI = "mcprove://no-such-resource"

var absent = mock.On(spec.MethodResourcesRead).When(mock.ParamIs("/uri", `"`+noURI+`"`))

// readAbsent makes a good request that has to be answered by an error.
func readAbsent(c *probe.Case) {
	if c.Facts().Declares("resources") {
		c.Once(c.Probe().ReadRequest(noURI))
	}
}

// promptlessServer is a server that has no prompts and says so.
func promptlessServer(s *mock.Script) {
	s.Prompts = nil
	s.Capabilities = []byte(`{"completions":{},"logging":{},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`)
}

func unknownMethod(c *probe.Case) {
	if _, ok := c.Plain(); !ok {
		return
	}
	x := c.Send(c.Request(noMethod, "").Planting("a method that does not exist"))
	switch {
	case x.Is(spec.CodeMethodNotFound):
		c.Pass(x)
	default:
		c.Fail(x, "an unknown method was answered by %s, not by error %d", x.Brief(), spec.CodeMethodNotFound)
	}
}

// gated are methods that only a declared capability brings, with the rule that
// speaks where they are served all the same. Completion has a rule of its own.
var gated = []struct{ served, method string }{
	{"tools.capability-declared", spec.MethodToolsList},
	{"prompts.capability-declared", spec.MethodPromptsList},
	{"resources.capability-declared", spec.MethodResourcesList},
}

func ungatedMethod(c *probe.Case) {
	if c.Facts().Capabilities == nil {
		c.SkipFor(ruleGreeting(c.Probe().Revision()), "the server's capabilities are not known")
		return
	}
	if _, ok := c.Works(c.Request(spec.MethodDiscover, "")); !ok {
		return
	}
	for _, g := range gated {
		m, _ := spec.MethodAt(g.method, c.Probe().Revision())
		if c.Facts().Declares(m.Capability.Path) {
			continue
		}
		x := c.Send(c.Request(g.method, "").Planting("a method of a capability that is not declared"))
		switch {
		case x.Is(spec.CodeMethodNotFound):
			c.Pass(x)
		case x.OK():
			c.SkipFor(g.served, "%s is served, though it is not declared", g.method)
		default:
			c.Fail(x, "the server declares no %s, and answers %s by %s, not by error %d",
				m.Capability.Path, g.method, x.Brief(), spec.CodeMethodNotFound)
		}
	}
	c.Unseen("the server declares every capability that has methods")
}

const ruleInvalidParams = "jsonrpc.invalid-params-32602"

// nameless are methods without the parameter they are about. Should is set where
// the page of the method asks for the code by no more than that.
var nameless = []struct {
	method, lacks string
	should        bool
}{
	{spec.MethodToolsCall, "name", false},
	{spec.MethodResourcesRead, "uri", false},
	{spec.MethodPromptsGet, "name", true},
	{spec.MethodComplete, "ref", true},
}

// without is a request of a method without a parameter that it is about.
func without(c *probe.Case, method, lacks string) *probe.Request {
	return c.Request(method, "").Planting("params without " + lacks)
}

func invalidParams(c *probe.Case) {
	if _, ok := c.Plain(); !ok {
		return
	}
	for _, n := range nameless {
		m, _ := spec.MethodAt(n.method, c.Probe().Revision())
		if !c.Facts().Declares(m.Capability.Path) {
			continue
		}
		r := without(c, n.method, n.lacks)
		x, blame := c.Once(r), c.Fail
		if x.Silent() {
			x = insist(c, r)
		}
		// That no resource goes by an empty name is said by its own code there.
		if n.should || n.method == spec.MethodResourcesRead && c.Probe().Legacy() && x.Is(spec.CodeResourceNotFound) {
			blame = c.Warn
		}
		switch {
		case x.Is(spec.CodeInvalidParams):
			c.Pass(x)
		case x.Is(spec.CodeHeaderMismatch) && c.HTTP() && m.NameFrom != "":
			c.Pass(x) // there was nothing to mirror into the header that is looked for first
		default:
			blame(x, "%s without %s was answered by %s, not by error %d", n.method, n.lacks, x.Brief(), spec.CodeInvalidParams)
		}
	}
	c.Unseen("the server declares nothing whose methods need params")
}

// wrongAlike skips the case where x is an error of the code that the server
// gives to other params that are wrong too: one cause, one finding.
func wrongAlike(c *probe.Case, x *probe.Exchange) bool {
	code, coded := x.Code()
	if !coded || code == spec.CodeInvalidParams {
		return false
	}
	for _, n := range nameless {
		m, _ := spec.MethodAt(n.method, c.Probe().Revision())
		if !c.Facts().Declares(m.Capability.Path) {
			continue
		}
		switch y := c.Once(without(c, n.method, n.lacks)); {
		case y.Is(code):
			c.SkipFor(ruleInvalidParams, "the server answers other requests with wrong params by error %d too", code)
			return true
		case y.Response == nil && y.Head == nil:
			c.Skip("whether the server gives error %d to all wrong params was not seen: %s is answered by %s", code, n.method, y.Brief())
			return true
		}
	}
	return false
}

// own is a connection of the case's own where all answers come on one stream:
// what has no id could be of anything there, and over stdio the next message may
// end the process; nil is the shared one. It has answered the good request, so
// that it is not the start of the process that is waited for. ok is false when
// there is none.
func own(c *probe.Case, good *probe.Request) (conn *probe.Conn, ok bool) {
	if !c.Probe().OneStream() {
		return nil, true
	}
	if conn = c.Open(); conn == nil {
		return nil, false
	}
	if x := c.SendOn(conn, good); !x.OK() {
		c.Skip("a further connection answered %s by %s", good.Method, x.Brief())
		return nil, false
	}
	return conn, true
}

// heard reports whether a response came.
func heard(x *probe.Exchange) bool { return x.Response != nil }

func parseError(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	conn, ok := own(c, good)
	if !ok {
		return
	}
	s := c.Start(conn, good.Text(`{"jsonrpc":"2.0","id":1,"method":"`+good.Method+`","params":{`).Planting("half a JSON text"))
	if c.Probe().OneStream() {
		s.Until(c.Probe().Quiet(), heard) // it may go without an answer
	} else {
		s.Answer()
	}
	after := c.SendOn(conn, good)
	x := s.Now()
	code, coded := x.Code()
	if conn != nil && !coded {
		code, coded = lateRefusal(conn)
	}
	switch {
	case after.Died():
		c.Fail(x, "the server ended when it was sent a text that is not JSON").And(after)
	case !after.OK():
		c.Fail(x, "after a text that is not JSON, %s %s", good.Method, outcome(after)).And(after)
	case x.OK():
		c.Fail(x, "a text that is not JSON was answered by a result")
	case x.Status() >= http.StatusInternalServerError:
		c.Fail(x, "a text that is not JSON was answered by HTTP %d: a mistake of the sender is no failure of the server", x.Status())
	case coded && code == spec.CodeHeaderMismatch && c.HTTP():
		c.Pass(x) // the headers mirror a body that says nothing
	case coded && code != spec.CodeParseError:
		c.Fail(x, "a text that is not JSON was answered by error %d, not by %d", code, spec.CodeParseError)
	case c.HTTP() && !coded && !x.Refused():
		c.Fail(x, "a text that is not JSON was answered by %s", x.Brief())
	default:
		c.Pass(x)
	}
}

// lateRefusal is the code of an error without an id on a connection, where it
// came too late to be told whose it is.
func lateRefusal(conn *probe.Conn) (code int, ok bool) {
	for _, f := range conn.Lines() {
		m := f.Message()
		if _, keyed := m.Key(); m.Kind == wire.ErrorResponse && !keyed && !m.Has(wire.FaultErrorShape) {
			return int(m.Error.Code), true
		}
	}
	return 0, false
}

// invalidRequest sends what is JSON and no request. One finding names all that
// was taken.
func invalidRequest(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	conn, ok := own(c, good)
	if !ok {
		return
	}
	params := `"params":{}`
	if p := wire.Read(good.Encode([]byte("1"))).Params; p != nil {
		params = `"params":` + string(p)
	}
	bad := []struct{ what, text string }{
		{`with jsonrpc "1.0"`, `{"jsonrpc":"1.0","id":"mcprove-1","method":"` + good.Method + `",` + params + `}`},
		{"without jsonrpc", `{"id":"mcprove-2","method":"` + good.Method + `",` + params + `}`},
		{"that is a string alone", `"` + good.Method + `"`},
	}
	var streams []*probe.Stream
	for _, b := range bad {
		streams = append(streams, c.Start(conn, good.Text(b.text).Planting("a message "+b.what)))
	}
	if conn != nil {
		c.SendOn(conn, good) // what comes behind it would have come by now
	}
	var taken []string
	var shown []*probe.Exchange
	for i, s := range streams {
		x := refusal(c, s)
		switch {
		case x.Is(spec.CodeInvalidRequest), c.HTTP() && x.Refused(), !heard(x) && !x.Died() && c.Probe().OneStream(), c.Probe().OneStream() && x.Refused():
			c.Pass(x) // where one stream is shared what is no request may be dropped
		default:
			taken = append(taken, fmt.Sprintf("one %s got %s", bad[i].what, x.Brief()))
			shown = append(shown, x)
		}
	}
	if len(taken) == 0 {
		return
	}
	if slices.ContainsFunc(shown, (*probe.Exchange).Died) && conn != nil && diesOfNoise(c, good) {
		c.SkipFor("jsonrpc.parse-error-32700", "whatever is no request ends the process")
		return
	}
	c.Fail(shown[0], "messages that are no requests are refused by error %d: %s",
		spec.CodeInvalidRequest, strings.Join(taken, ", ")).And(shown[1:]...)
}

// diesOfNoise reports whether a text that is not JSON ends a process too.
func diesOfNoise(c *probe.Case, good *probe.Request) bool {
	conn, ok := own(c, good)
	if !ok {
		return false
	}
	c.Start(conn, good.Text("{").Planting("half a JSON text"))
	return c.SendOn(conn, good).Died()
}

// refusal is what comes for a message that over stdio may go without an answer.
func refusal(c *probe.Case, s *probe.Stream) *probe.Exchange {
	if !c.Probe().OneStream() {
		return s.Answer()
	}
	x, _ := s.Until(c.Probe().Quiet(), heard)
	return x
}

// internalError looks for failures that nobody asked for: a page of status 500
// in answer to a good request says that one happened and was not reported.
func internalError(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.Request == nil && t.Revision != x.Revision() || x.Planted() != "" || x.Sent == nil {
			continue
		}
		code, coded := x.Code()
		switch {
		case coded && code == spec.CodeInternalError:
			c.Pass(x)
		case x.Status() == http.StatusInternalServerError && coded:
			c.Fail(x, "%s failed inside the server: HTTP 500 with error %d, not %d", x.Method, code, spec.CodeInternalError)
		case x.Status() == http.StatusInternalServerError:
			c.Fail(x, "%s failed inside the server: HTTP 500 without a JSON-RPC error", x.Method)
		}
	}
	c.Unseen("nothing that was asked failed inside the server: name a tool whose call fails so with --tool 'NAME={...}'")
}
