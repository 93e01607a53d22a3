// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// metaRules are those of what a server makes of the _meta of requests.
var metaRules = []Rule{
	{
		Info: rule.Info{
			ID: "meta.missing-version-32602", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a request without the protocol version in _meta is refused with -32602",
			Why:   "the server guesses a version, and client and server read the same message in two ways",
			Fix:   "refuse a request whose _meta has no " + spec.MetaProtocolVersion + " with code -32602",
		},
		In: modern, Check: missingVersion,
		Break: Break{Base: modernServer, Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(mock.NoMeta(spec.MetaProtocolVersion), mock.HasMeta(spec.MetaClientCapabilities)).
				Error(spec.CodeInternalError, "no version"),
		}},
	},
	{
		Info: rule.Info{
			ID: "meta.missing-capabilities-32602", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a request without the client's capabilities in _meta is refused with -32602",
			Why:   "the server assumes what the client can do, and asks for what nobody answers",
			Fix:   "refuse a request whose _meta has no " + spec.MetaClientCapabilities + " with code -32602",
		},
		In: modern, Check: missingCapabilities,
		Break: Break{Faults: []mock.Fault{withoutCapabilities.Set("/error/code", "-32600")}},
	},
	{
		Info: rule.Info{
			ID: "meta.missing-meta-32602", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a request without _meta, or without params, is refused with -32602",
			Why:   "the server serves a client of whom it knows neither the version nor what it can do",
			Fix:   "refuse requests without _meta with code -32602, those of methods without parameters too",
		},
		In: modern, Check: missingMeta,
		Break: Break{Base: modernServer, Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(mock.NoMeta(spec.MetaProtocolVersion), mock.NoMeta(spec.MetaClientCapabilities)).
				Error(spec.CodeInternalError, "no metadata"),
		}},
		Breaks: []Break{{Faults: []mock.Fault{
			listWithoutMeta.Remove("/error"), listWithoutMeta.Status(http.StatusOK),
			listWithoutMeta.Set("/result", `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}`),
		}}},
	},
	{
		Info: rule.Info{
			ID: "meta.missing-field-http-400", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta", Transport: "http",
			Title: "over HTTP the refusal of a missing _meta field has status 400",
			Why:   "proxies and logs count the request as served, and clients that look at the status first go on",
			Fix:   "answer with status 400 where a required field of _meta is missing",
		},
		In: modern, Check: missingFieldStatus,
		Break: Break{Faults: []mock.Fault{withoutCapabilities.Status(http.StatusOK)}},
	},
	{
		Info: rule.Info{
			ID: "meta.mistyped-field-32602", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/schema#requestmetaobject",
			Title: "a required field of _meta of another type is refused with -32602",
			Why:   "what cannot be read is taken for a client without capabilities, or ends in a failure of the server",
			Fix:   "check that the capabilities are an object and the version is a string, and refuse with code -32602",
		},
		In: modern, Check: mistypedField,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckMetaMistyped)}},
	},
	{
		Info: rule.Info{
			ID: "meta.client-info-not-required", Level: rule.MustNot, Basis: rule.Derived, Section: "2026-07-28/basic#_meta",
			Title: "a request without clientInfo is served",
			Why:   "clients that are configured not to name themselves cannot use the server at all",
			Fix:   "treat " + spec.MetaClientInfo + " as optional",
		},
		In: modern, Check: clientInfoNotRequired,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.NoMeta(spec.MetaClientInfo), mock.HasMeta(spec.MetaProtocolVersion),
				mock.HasMeta(spec.MetaClientCapabilities)).Error(spec.CodeInvalidParams, "who are you?")},
		},
	},
	{
		Info: rule.Info{
			ID: "meta.client-info-no-behaviour", Level: rule.ShouldNot, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "what a server does is the same for every clientInfo",
			Why:   "what was tested with one client is not what users of another one get, and anybody can take any name",
			Fix:   "use clientInfo for logs only; ask the capabilities what a client can do",
		},
		In: modern, Check: clientInfoNoBehaviour,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(mock.NoMeta(spec.MetaClientInfo)).OfResult().Set("/result/instructions", `"Hello, stranger."`),
		}},
	},
	{
		Info: rule.Info{
			ID: "meta.reserved-no-assumptions", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a value under a reserved key that is not known changes nothing",
			Why:   "clients with an extension, or of a later revision, are refused for what they may send",
			Fix:   "look only at keys you know, and leave the others alone",
		},
		In: since2506, Check: reservedNoAssumptions,
		Break: Break{Faults: []mock.Fault{
			mock.On("").When(mock.HasMeta(reservedUnknown)).Error(spec.CodeInvalidParams, "unknown key"),
		}},
	},
	{
		Info: rule.Info{
			ID: "meta.trace-keys-accepted", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic#_meta",
			Title: "the trace keys traceparent, tracestate and baggage are accepted without a prefix",
			Why:   "every request of an instrumented client is refused",
			Fix:   "accept the three keys; nobody has to use them",
		},
		In: modern, Check: traceKeysAccepted,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(mock.HasMeta(spec.MetaTraceParent)).Error(spec.CodeInvalidParams, "bad key"),
		}},
	},
}

// withoutCapabilities is where a request has all it needs but capabilities.
var withoutCapabilities = mock.On(spec.MethodDiscover).When(mock.HasMeta(spec.MetaProtocolVersion), mock.NoMeta(spec.MetaClientCapabilities))

// plainRequests are the plainest request that works, and the list of tools
// where there is one: a server may look closer at one than at the other. None
// were found when ok is false.
func plainRequests(c *probe.Case) (rs []*probe.Request, ok bool) {
	good, ok := c.Plain()
	if !ok {
		return nil, false
	}
	rs = []*probe.Request{good}
	if good.Method == spec.MethodToolsList || len(c.Facts().List(spec.MethodToolsList).Pages) == 0 {
		return rs, true
	}
	if list := c.Request(spec.MethodToolsList, ""); c.Once(list).OK() {
		rs = append(rs, list)
	}
	return rs, true
}

// malformed judges the refusal of a request that lacks something. A server of
// both eras may take what does not look like this revision for the other one,
// whose errors have no fixed code; one over HTTP may see first that a header
// has nothing to mirror.
func malformed(c *probe.Case, x *probe.Exchange, what string, lacksVersion bool) {
	switch {
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	case lacksVersion && c.HTTP() && x.Is(spec.CodeHeaderMismatch):
		c.Pass(x)
	case lacksVersion && servesHandshake(c) && x.Refused():
		c.Pass(x)
	case lacksVersion && !c.Facts().Greeting.OK() && x.Refused():
		c.SkipFor("discover.implemented", "whether the server serves the other era too is not known, so neither is the code of its refusal")
	default:
		c.Fail(x, "%s %s was answered by %s, not by error %d", x.Method, what, x.Brief(), spec.CodeInvalidParams)
	}
}

func missingVersion(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	if servesHandshake(c) {
		rs = rs[:1] // a list without a version is one of the other era
	}
	for _, r := range rs {
		malformed(c, c.Once(r.Meta(spec.MetaProtocolVersion, "").Planting("_meta without the protocol version")), "without the protocol version in _meta", true)
	}
}

// lackingCapabilities is the one request without a field that no header
// mirrors, and that names its revision all the same.
func lackingCapabilities(r *probe.Request) *probe.Request {
	return r.Meta(spec.MetaClientCapabilities, "").Planting("_meta without the client's capabilities")
}

func missingCapabilities(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	for _, r := range rs {
		malformed(c, c.Once(lackingCapabilities(r)), "without the client's capabilities in _meta", false)
	}
}

func missingMeta(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	if servesHandshake(c) {
		for _, r := range rs[1:] {
			unopened(c, c.Once(r.NoMeta().Planting("params without _meta")))
		}
		rs = rs[:1]
	}
	for _, r := range rs {
		malformed(c, c.Once(r.NoMeta().Planting("params without _meta")), "without _meta", true)
		malformed(c, c.Once(r.NoParams().Planting("a request without params")), "without params", true)
	}
}

// listWithoutMeta is where a list is asked for without _meta, in the mock.
var listWithoutMeta = mock.On(spec.MethodToolsList).When(mock.NoMeta(spec.MetaProtocolVersion), mock.NoMeta(spec.MetaClientCapabilities))

// unopened judges what a server of both eras makes of a list that is asked for
// without _meta where nobody sent initialize. It may refuse it as either era
// does. Over HTTP the header names this revision, so that it is none of the
// other; over stdio the page leaves open how a client opens without initialize.
func unopened(c *probe.Case, x *probe.Exchange) {
	switch {
	case !x.OK():
		c.Pass(x)
	case c.HTTP():
		c.Fail(x, "%s without _meta was served, under the header %s: %s", x.Method, spec.HeaderProtocolVersion, c.Probe().Revision())
	default:
		c.Warn(x, "%s without _meta was served, and no initialize came before it", x.Method)
	}
}

func missingFieldStatus(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	for _, r := range rs {
		x := c.Once(lackingCapabilities(r))
		switch {
		case !x.Is(spec.CodeInvalidParams):
			c.SkipFor("meta.missing-capabilities-32602", "%s without the client's capabilities is not refused with %d", x.Method, spec.CodeInvalidParams)
		case x.Status() != spec.StatusMissingMeta:
			c.Fail(x, "error %d for a missing field of _meta came with HTTP %d, not %d", spec.CodeInvalidParams, x.Status(), spec.StatusMissingMeta)
		default:
			c.Pass(x)
		}
	}
}

func mistypedField(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	for _, bad := range []string{`"none"`, `[]`} {
		x := c.Send(rs[0].Capabilities(bad).Planting("client capabilities of another type"))
		malformed(c, x, "with the capabilities "+bad, false)
	}
}

func clientInfoNotRequired(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	for _, r := range rs {
		x := c.Once(r.Meta(spec.MetaClientInfo, ""))
		if !x.OK() {
			c.Fail(x, "%s without clientInfo was answered by %s", x.Method, x.Brief()).And(c.Once(r))
			continue
		}
		c.Pass(x)
	}
}

// strangers are what clients call themselves, empty for one that does not.
var strangers = []string{"", `{"name":"claude-code","version":"2.1.0"}`, `{"name":"Visual Studio Code","version":"1.110.0"}`}

func clientInfoNoBehaviour(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	for _, r := range rs {
		known, again := c.Once(r), c.Send(r)
		if !again.OK() || !sameBut(known, again) {
			c.Skip("the result of %s is another one each time", r.Method)
			return
		}
		for _, info := range strangers {
			x := c.Once(r.Meta(spec.MetaClientInfo, info))
			switch {
			case !x.OK() && info == "":
				c.SkipFor("meta.client-info-not-required", "%s without clientInfo is refused", r.Method)
			case !x.OK():
				c.Fail(x, "%s by the client %s was answered by %s", r.Method, info, x.Brief()).And(known)
			case !sameBut(known, x):
				c.Fail(x, "the result of %s is another one for the client %s", r.Method, orNone(info)).And(known)
			default:
				c.Pass(x)
			}
		}
	}
}

func orNone(info string) string {
	if info == "" {
		return "that does not say its name"
	}
	return info
}

// sameBut reports whether two results are equal but for what may differ from
// one answer to the next.
func sameBut(a, b *probe.Exchange) bool {
	lasting := func(x *probe.Exchange) map[string]string {
		out := map[string]string{}
		for _, m := range probe.Members(x.Result()) {
			if m.Name != spec.FieldMeta && m.Name != spec.FieldTTL {
				out[m.Name] = string(m.Value)
			}
		}
		return out
	}
	one, two := lasting(a), lasting(b)
	if len(one) != len(two) {
		return false
	}
	for name, v := range one {
		if w, ok := two[name]; !ok || !probe.Same([]byte(v), []byte(w)) {
			return false
		}
	}
	return true
}

// reservedUnknown is a key under a prefix of the protocol that nobody defined.
// In 2025-06-18 the prefixes of the protocol were others.
const (
	reservedUnknown = "io.modelcontextprotocol/mcprove-unknown"
	reserved2506    = "modelcontextprotocol.io/mcprove-unknown"
)

func reservedNoAssumptions(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	key := reservedUnknown
	if c.Probe().Revision() == spec.Rev20250618 {
		key = reserved2506
	}
	x := c.Send(rs[0].Meta(key, `[null,{"a":1}]`).Planting("an unknown key under a reserved prefix"))
	if !x.OK() {
		c.Fail(x, "%s with the unknown key %s in _meta was answered by %s", x.Method, key, x.Brief()).And(c.Once(rs[0]))
		return
	}
	c.Pass(x)
}

func traceKeysAccepted(c *probe.Case) {
	rs, ok := plainRequests(c)
	if !ok {
		return
	}
	x := c.Send(rs[0].Meta(spec.MetaTraceParent, `"00-4d43505052f0f1e2d3c4b5a697887766-1122334455667788-01"`).
		Meta(spec.MetaTraceState, `"mcprove=1"`).Meta(spec.MetaBaggage, `"tester=mcprove"`))
	if !x.OK() {
		c.Fail(x, "%s with traceparent, tracestate and baggage in _meta was answered by %s", x.Method, x.Brief()).And(c.Once(rs[0]))
		return
	}
	c.Pass(x)
}
