// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

const eraMatrix = "2026-07-28/basic/versioning#compatibility-matrix"

// eraRules are those of the two eras meeting in one server.
var eraRules = []Rule{
	{
		Info: rule.Info{
			ID: "era.server-initialize-refused-stdio", Level: rule.Must, Basis: rule.Prose, Section: eraMatrix, Transport: "stdio",
			Title: "a server without handshake revisions answers initialize by an error",
			Why:   "an older client waits for ever, or believes that it has a session",
			Fix:   "answer initialize by a JSON-RPC error that names your versions",
		},
		In: modern, Check: eraRefusedStdio,
		Break: Break{Base: modernServer, Faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.NoMeta(spec.MetaProtocolVersion)).Drop()}, Also: []string{"era.server-initialize-names-versions"}},
	},
	{
		Info: rule.Info{
			ID: "era.server-initialize-refused-http", Level: rule.Must, Basis: rule.Prose, Section: eraMatrix, Transport: "http",
			Title: "a server without handshake revisions answers initialize with 400",
			Why:   "an older client takes the answer for a session, or for a server that is not there",
			Fix:   "refuse a POST without the required headers with 400 and a JSON-RPC error, whatever its method",
		},
		In: modern, Check: eraRefusedHTTP,
		Break: Break{Base: modernServer, Faults: []mock.Fault{mock.On(spec.MethodInitialize).Status(500)}},
	},
	{
		Info: rule.Info{
			ID: "era.server-initialize-names-versions", Level: rule.Should, Basis: rule.Keyword,
			Section: "2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions",
			Title:   "the error to initialize names the versions that the server supports",
			Why:     "it is the only thing that the user of an older client gets to see",
			Fix:     "name your versions in the error's message, or in data.supported",
		},
		In: modern, Check: eraNamesVersions,
		Break: Break{
			Base:   modernServer,
			Faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.NoMeta(spec.MetaProtocolVersion)).Set("/error", `{"code":-32601,"message":"no"}`)},
		},
	},
	{
		Info: rule.Info{
			ID: "era.server-dual-initialize", Level: rule.Must, Basis: rule.Prose, Section: eraMatrix,
			Title: "a server that claims a handshake revision answers initialize",
			Why:   "older clients find the version in the list and cannot use it",
			Fix:   "serve initialize under the handshake revisions you claim, or claim none",
		},
		In: modern, Check: eraDualInitialize, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).Error(spec.CodeMethodNotFound, "no")}},
	},
	{
		Info: rule.Info{
			ID: "era.server-dual-modern-stateless", Level: rule.Must, Basis: rule.Prose, Section: eraMatrix,
			Title: "a server of both eras serves requests with their own metadata statelessly",
			Why:   "a client of this revision is answered in the older form beside an older client",
			Fix:   "decide by the _meta of each request, not by what came before it",
		},
		In: modern, Check: eraDualModern, Apart: true,
		Break: Break{
			Only:   transport.StreamableHTTP,
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.IDIs("string"), mock.HasHeader(spec.HeaderSessionID)).Remove("/result/resultType")},
			Also:   []string{"jsonrpc.result-type-present"},
		},
	},
	{
		Info: rule.Info{
			ID: "era.server-dual-scope", Level: rule.Must, Basis: rule.Prose, Section: eraMatrix, Transport: "http",
			Title: "what initialize begins is confined to its session",
			Why:   "one older client changes how every other client is answered",
			Fix:   "keep the negotiated revision with the session, not with the endpoint or connection",
		},
		In: modern, Check: eraDualScope, Apart: true,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.Earlier(spec.MethodInitialize), mock.NoHeader(spec.HeaderSessionID)).Error(spec.CodeInvalidRequest, "no session")},
		},
	},
}

// legacyInitialize is what a client of a handshake revision opens with.
func legacyInitialize(c *probe.Case, r spec.Revision, capabilities string) *probe.Request {
	params := `{"protocolVersion":"` + r.String() + `","capabilities":` + capabilities + `,"clientInfo":{"name":"mcprove","version":"1"}}`
	return c.Request(spec.MethodInitialize, params).Of(r)
}

// modernOnly skips the case where the server claims or serves a handshake
// revision.
func modernOnly(c *probe.Case) bool {
	if _, ok := claimed(c); !ok {
		return false
	}
	if c.Facts().Legacy() {
		c.Skip("the server claims a handshake revision, so it may answer initialize")
		return false
	}
	switch x := initialize(c, spec.Rev20251125); {
	case x.Sent == nil:
		c.Skip("a further connection could not be opened")
		return false
	case negotiated(x):
		c.Skip("the server answers initialize: it serves the handshake era too")
		return false
	}
	return true
}

// dual skips the case unless the server claims a handshake revision.
func dual(c *probe.Case) bool {
	if _, ok := claimed(c); !ok {
		return false
	}
	if !c.Facts().Legacy() {
		c.Skip("the server claims no handshake revision")
		return false
	}
	return true
}

func eraRefusedStdio(c *probe.Case) {
	if _, ok := c.Plain(); !ok || !modernOnly(c) {
		return
	}
	x := initialize(c, spec.Rev20251125)
	if m := x.Message(); m == nil || m.Error == nil {
		c.Fail(x, "initialize was answered by %s, not by a JSON-RPC error", x.Brief())
		return
	}
	c.Pass(x)
}

func eraRefusedHTTP(c *probe.Case) {
	if _, ok := c.Plain(); !ok || !modernOnly(c) {
		return
	}
	x := initialize(c, spec.Rev20251125)
	m := x.Message()
	switch {
	case x.Status() == 400 && m != nil && m.Error != nil:
		c.Pass(x)
	case x.Status() == 400:
		c.Warn(x, "initialize was refused with 400 and no JSON-RPC error in the body")
	case x.Status() == 404 && x.Is(spec.CodeMethodNotFound):
		c.Note(x, "initialize was answered as an unknown method (404 and %d); a client that looks for 400 goes on guessing", spec.CodeMethodNotFound)
	default:
		c.Fail(x, "initialize was answered by %s, not by 400 and a JSON-RPC error", x.Brief())
	}
}

func eraNamesVersions(c *probe.Case) {
	if _, ok := c.Plain(); !ok || !modernOnly(c) {
		return
	}
	x := initialize(c, spec.Rev20251125)
	m := x.Message()
	if m == nil || m.Error == nil {
		c.SkipFor("era.server-initialize-refused-"+c.Probe().Word(), "initialize was not answered by an error")
		return
	}
	if !strings.Contains(string(m.Error.Raw), c.Probe().Revision().String()) {
		c.Fail(x, "the error to initialize names no version that the server supports")
		return
	}
	c.Pass(x)
}

// handshake opens a session of the handshake era on a connection of the
// case's own. The id of the session is empty where there is none.
func handshake(c *probe.Case) (conn *probe.Conn, x *probe.Exchange, session string) {
	return handshakeAs(c, "{}")
}

// handshakeAs is handshake of a client with capabilities.
func handshakeAs(c *probe.Case, capabilities string) (conn *probe.Conn, x *probe.Exchange, session string) {
	if conn = c.Open(); conn == nil {
		return nil, nil, ""
	}
	x = c.SendOn(conn, legacyInitialize(c, spec.Rev20251125, capabilities))
	if x.Head != nil {
		session = x.Head.Get(spec.HeaderSessionID)
	}
	return conn, x, session
}

// negotiated reports whether a handshake ended in a revision of its era.
func negotiated(x *probe.Exchange) bool {
	r, err := spec.ParseRevision(probe.Text(x.Member("protocolVersion")))
	return x.OK() && err == nil && r.Era() == spec.Legacy
}

// initialized ends the handshake as a client does.
func initialized(c *probe.Case, conn *probe.Conn, session string) {
	r := c.Probe().Notification(spec.NotificationInitialized).Of(spec.Rev20251125).
		Header(spec.HeaderProtocolVersion, spec.Rev20251125.String())
	if session != "" {
		r = r.Header(spec.HeaderSessionID, session)
	}
	c.SendOn(conn, r)
}

func eraDualInitialize(c *probe.Case) {
	if !dual(c) {
		return
	}
	conn, x, _ := handshake(c)
	switch {
	case conn == nil:
	case negotiated(x):
		c.Pass(x)
	default:
		c.Fail(x, "the server claims %s, and initialize was answered by %s", strings.Join(c.Facts().Supported, ", "), x.Brief()).And(c.Facts().Greeting)
	}
}

// eraDualModern: a request with modern metadata is served statelessly. Over
// stdio initialize may bind the process to legacy semantics, so there only a
// process that saw none is judged, which is every other check.
func eraDualModern(c *probe.Case) {
	if !dual(c) {
		return
	}
	if !c.HTTP() {
		if x, ok := discovered(c); ok {
			c.Pass(x)
		}
		return
	}
	conn, x, session := handshake(c)
	if conn == nil {
		return
	}
	if !negotiated(x) {
		c.SkipFor("era.server-dual-initialize", "initialize was answered by %s", x.Brief())
		return
	}
	initialized(c, conn, session)
	r := c.Request(spec.MethodDiscover, "").WithID(`"after-initialize"`)
	if session != "" {
		r = r.Header(spec.HeaderSessionID, session) // a client of both eras may send it
	}
	modernAnswer(c, c.SendOn(conn, r), x)
}

// modernAnswer judges the answer to a modern request beside a legacy session.
func modernAnswer(c *probe.Case, x, before *probe.Exchange) {
	switch {
	case !x.OK():
		c.Fail(x, "after an initialize, server/discover with its own metadata was answered by %s", x.Brief()).And(before)
	case x.ResultType() == "" && c.Facts().Greeting.ResultType() != "":
		c.Fail(x, "after an initialize, server/discover with its own metadata was answered without resultType").And(before)
	default:
		c.Pass(x)
	}
}

func eraDualScope(c *probe.Case) {
	if !dual(c) {
		return
	}
	conn, x, session := handshake(c)
	if conn == nil {
		return
	}
	if !negotiated(x) {
		c.SkipFor("era.server-dual-initialize", "initialize was answered by %s", x.Brief())
		return
	}
	initialized(c, conn, session)
	modernAnswer(c, c.SendOn(conn, c.Request(spec.MethodDiscover, "").WithID(`"beside-a-session"`)), x)
}
