// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strconv"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// errorRules are those of the numbers of error codes.
var errorRules = []Rule{
	{
		Info: rule.Info{
			ID: "errors.standard-code-set", Level: rule.Must, Basis: rule.Prose, Section: "2026-07-28/basic#error-codes",
			Title: "faults of the protocol are reported by the standard codes",
			Why:   "clients sort errors by these numbers; another one out of JSON-RPC's own range means nothing to them",
			Fix:   "answer faults of messages with -32700 and -32600 to -32603, and what is yours with codes outside of JSON-RPC's range",
		},
		In: modern, Watch: standardCodes, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", "-32699")}},
	},
	{
		Info: rule.Info{
			ID: "errors.custom-outside-reserved", Level: rule.Should, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "codes of the application lie outside -32768 to -32000",
			Why:   "a later JSON-RPC or MCP may give the number another meaning, and clients will act on that",
			Fix:   "move codes of your own out of that range: any other integer is free",
		},
		In: modern, Watch: customCodes, Stir: readAbsent,
		Break: Break{Faults: []mock.Fault{absent.Set("/error/code", "-32150")}},
	},
	{
		Info: rule.Info{
			ID: "errors.no-new-codes-legacy-range", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "no new code is taken from -32019 to -32000",
			Why:   "the range is closed: nobody can tell the new code from those that older programs use for other things",
			Fix:   "move codes of your own out of -32768 to -32000",
		},
		In: modern, Watch: noNewLegacyCodes, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", "-32011")}},
	},
	{
		Info: rule.Info{
			ID: "errors.avoid-legacy-range", Level: rule.ShouldNot, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "codes between -32019 and -32000 that older programs used are left to them",
			Why:   "such a code means one thing with one SDK and another with the next, so clients must not act on it",
			Fix:   "use a code that the protocol defines, or one outside of -32768 to -32000",
		},
		In: modern, Watch: avoidLegacyCodes, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", "-32001")}},
	},
	{
		Info: rule.Info{
			ID: "errors.legacy-range-no-meaning", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "a code between -32019 and -32000 that is received means nothing",
			Why:   "drafts used these numbers for other versions and sessions: who acts on one gives up what works",
			Fix:   "ignore what you did not ask for, whatever its code is, and serve the next request as before",
		},
		In: modern, Check: legacyCodesMeanNothing, Apart: true,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(mock.Condition{Of: mock.OfEarlier, Name: "/error/code", Is: mock.IsEqual, Value: "-32001"}).Error(spec.CodeInternalError, "the session is lost"),
		}},
	},
	{
		Info: rule.Info{
			ID: "errors.reserved-range-undefined", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "no code between -32099 and -32020 is sent that the specification does not define",
			Why:   "the next revision may define the number, and clients will then do the wrong thing with your error",
			Fix:   "move codes of your own out of -32768 to -32000",
		},
		In: modern, Watch: noReservedCodes, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", "-32050")}},
	},
	{
		Info: rule.Info{
			ID: "errors.reserved-range-meaning", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "the codes that MCP defines are used in their defined sense only",
			Why:   "clients answer them by reading the list of tools anew, or by changing the version, and end in a loop",
			Fix:   "send -32020 for headers that differ from the body, -32021 for a client capability that is missing, -32022 for a version you do not serve, and none of them for anything else",
		},
		In: modern, Watch: reservedMeaning, Stir: refuseUnderID, Under: []string{"http-header.name-not-needed-elsewhere", "http-header.base64-decode-name", "x-mcp-header.server-decodes"},
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Error(spec.CodeHeaderMismatch, "Header mismatch")}},
	},
	{
		Info: rule.Info{
			ID: "errors.no-32002", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "-32002, which meant resource not found once, is not sent",
			Why:   "clients of this revision know -32602 for it, and take -32002 for an error of nobody's",
			Fix:   "answer a resource that is not there with -32602",
		},
		In: modern, Watch: noCode(spec.CodeResourceNotFound, "a resource that is not there is "+strconv.Itoa(spec.CodeInvalidParams)+" now"), Stir: readAbsent,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", "-32002")}},
	},
	{
		Info: rule.Info{
			ID: "errors.no-32042", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#error-codes",
			Title: "-32042, which once asked for a URL to be opened, is not sent",
			Why:   "clients of this revision open no URL for an error, so the call cannot go on",
			Fix:   "ask by an input_required result with an elicitation of mode url",
		},
		In: modern, Watch: noCode(spec.CodeURLElicitationRequired, "URLs are asked for by an input_required result now"), Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", "-32042")}},
	},
}

// codesSeen calls visit with every error that has an integer code.
func codesSeen(t *probe.Traffic, visit func(r probe.Received, code int)) {
	for _, r := range errorsSeen(t) {
		m := r.Message()
		if !m.Has(wire.FaultErrorShape) {
			visit(r, int(m.Error.Code))
		}
	}
}

// watchCodes judges every code by bad, which says what is wrong with it.
func watchCodes(c *probe.Case, t *probe.Traffic, blame func(*probe.Exchange, string, ...any) *probe.Blame, bad func(r probe.Received, code int) string) {
	codesSeen(t, func(r probe.Received, code int) {
		if why := bad(r, code); why != "" {
			blame(r.Exchange, "%s has error code %d: %s", named(r), code, why).In(r.Frame, atCode)
			return
		}
		c.Pass(r.Exchange)
	})
	c.Unseen(noErrors)
}

// reservedForNobody reports whether a code lies in JSON-RPC's own range, where
// neither JSON-RPC nor MCP defined it and no rule speaks of it by its number.
func reservedForNobody(t *probe.Traffic, code int) bool {
	return spec.ClassOf(code, t.Revision) == spec.CodeJSONRPC
}

// planted reports whether an error answers a message with something wrong in
// it; a recording cannot tell.
func planted(r probe.Received) bool {
	return r.Exchange != nil && r.Exchange.Planted() != ""
}

func standardCodes(c *probe.Case, t *probe.Traffic) {
	watchCodes(c, t, c.Fail, func(r probe.Received, code int) string {
		if planted(r) && reservedForNobody(t, code) {
			return "JSON-RPC reserves it and defines no meaning; there is a standard code for " + r.Exchange.Planted()
		}
		return ""
	})
}

func customCodes(c *probe.Case, t *probe.Traffic) {
	watchCodes(c, t, c.Fail, func(r probe.Received, code int) string {
		if !planted(r) && reservedForNobody(t, code) {
			return "JSON-RPC reserves it and defines no meaning"
		}
		return ""
	})
}

// lastKnownLegacyCode ends the codes that SDKs used for faults of their own
// before the range was closed: -32000 for a lost connection, -32001 for a
// timeout or an unknown session, -32003 and -32004 for an end of the server.
const lastKnownLegacyCode = -32004

func noNewLegacyCodes(c *probe.Case, t *probe.Traffic) {
	watchCodes(c, t, c.Warn, func(_ probe.Received, code int) string {
		if spec.ClassOf(code, t.Revision) == spec.CodeLegacyRange && code < lastKnownLegacyCode {
			return "the range is closed, and no older program is known for this one"
		}
		return ""
	})
}

// avoidLegacyCodes looks at what answers this revision. The codes were made for
// the handshake era, and a server that serves it too uses them for its GET.
func avoidLegacyCodes(c *probe.Case, t *probe.Traffic) {
	watchCodes(c, t, c.Fail, func(r probe.Received, code int) string {
		x := r.Exchange
		if x != nil && x.SentHead != nil && !told(t, x) && x.SentHead.Get(spec.HeaderProtocolVersion) != t.Revision.String() {
			return ""
		}
		if spec.ClassOf(code, t.Revision) == spec.CodeLegacyRange && code >= lastKnownLegacyCode {
			return "it means what the SDK made of it, which no client can know"
		}
		return ""
	})
}

func noReservedCodes(c *probe.Case, t *probe.Traffic) {
	watchCodes(c, t, c.Fail, func(_ probe.Received, code int) string {
		if spec.ClassOf(code, t.Revision) == spec.CodeReserved {
			return "the range belongs to the specification, which does not define this one"
		}
		return ""
	})
}

// noCode looks for one code that must not be sent.
func noCode(code int, instead string) func(*probe.Case, *probe.Traffic) {
	return func(c *probe.Case, t *probe.Traffic) {
		watchCodes(c, t, c.Fail, func(_ probe.Received, got int) string {
			if got == code {
				return "it must not be sent any more; " + instead
			}
			return ""
		})
	}
}

// reservedMeaning holds the code of a refusal against what was sent. That a
// capability is missing cannot be told from a request, so nothing is said of
// -32021 here.
func reservedMeaning(c *probe.Case, t *probe.Traffic) {
	codesSeen(t, func(r probe.Received, code int) {
		x := r.Exchange
		switch {
		case code == spec.CodeHeaderMismatch && t.Stdio():
			c.Fail(x, "%s has error code %d: there are no headers over stdio", named(r), code).In(r.Frame, atCode)
		case code == spec.CodeHeaderMismatch && mirrored(x):
			c.Fail(x, "%s has error code %d, though every header says what the body says", named(r), code).In(r.Frame, atCode)
		case code == spec.CodeUnsupportedVersion && servedVersion(t, x):
			c.Fail(x, "%s has error code %d, though the server names %s among its versions", named(r), code, x.Revision()).In(r.Frame, atCode)
		default:
			c.Pass(x)
		}
	})
	c.Unseen(noErrors)
}

// mirrored reports whether the headers of a request say exactly what its body
// says. What cannot be told is not.
func mirrored(x *probe.Exchange) bool {
	sent, ok := sentRequest(x)
	if !ok || len(sent.Faults) > 0 || x.SentHead == nil || sent.Method == spec.MethodToolsCall {
		return false // a tool may have headers of its own
	}
	once := func(name, want string) bool {
		vs := x.SentHead.Values(name)
		return want != "" && !spec.HeaderValueUnsafe(want) && len(vs) == 1 && vs[0] == want
	}
	if !once(spec.HeaderProtocolVersion, probe.Text(x.Meta(spec.MetaProtocolVersion))) || !once(spec.HeaderMethod, sent.Method) {
		return false
	}
	m, known := spec.MethodAt(sent.Method, x.Revision())
	if !known || m.NameFrom == "" {
		_, named := x.SentHead.Lookup(spec.HeaderName)
		return !named
	}
	return once(spec.HeaderName, probe.Text(probe.Lookup(sent.Params, "/"+m.NameFrom)))
}

// servedVersion reports whether the version of a request is one that the
// server names in discover. Where its error leaves it out too, that the two
// lists differ is another rule's, and initialize asks for another version than
// the one under which it is sent.
func servedVersion(t *probe.Traffic, x *probe.Exchange) bool {
	if x == nil || t.Facts == nil || x.Method == spec.MethodInitialize {
		return false
	}
	version := probe.Text(x.Meta(spec.MetaProtocolVersion))
	if version == "" || x.SentHead != nil && x.SentHead.Get(spec.HeaderProtocolVersion) != version {
		return false
	}
	for _, v := range t.Facts.Supported {
		if v == version {
			return x.Revision().Era() == spec.Modern
		}
	}
	return false
}

// legacyCodesMeanNothing sends what only an old client would: errors under
// numbers that drafts gave to a version and a session. Whether the server
// refuses or drops them, it goes on as before.
func legacyCodesMeanNothing(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	if x := c.SendOn(conn, good); !x.OK() {
		c.Skip("a further connection answered %s by %s", good.Method, x.Brief())
		return
	}
	unasked := func(conn *probe.Conn, codes ...string) *probe.Exchange {
		for _, code := range codes {
			c.Start(conn, good.Text(`{"jsonrpc":"2.0","id":990101,"error":{"code":`+code+`,"message":"no"}}`).Planting("an error that nobody asked for"))
		}
		return c.SendOn(conn, good)
	}
	after := unasked(conn, "-32001", "-32004")
	if !after.OK() {
		// Where any error has that effect, it is not what the code was taken to mean.
		if other := c.Open(); other != nil && c.SendOn(other, good).OK() && !unasked(other, "1", "2").OK() {
			c.Skip("the same came of errors that nobody asked for with the codes 1 and 2")
			return
		}
		c.Fail(after, "after errors -32001 and -32004 that nobody asked for, %s got %s", good.Method, after.Brief())
		return
	}
	c.Pass(after)
}
