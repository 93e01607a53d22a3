// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// Sections of the page on Streamable HTTP.
const (
	httpPage         = "2026-07-28/basic/transports/streamable-http"
	httpValidation   = httpPage + "#server-validation"
	httpVersion      = httpPage + "#protocol-version-header"
	httpEncoding     = httpPage + "#value-encoding"
	httpStandard     = httpPage + "#standard-request-headers"
	ruleHeaderBody   = "http-header.mismatch-jsonrpc-body"
	ruleMethodHeader = "http-header.method-mismatch-32020"
)

// headerRules are those of the headers that every request has, and of how their
// faults are refused.
var headerRules = []Rule{
	{
		Info: rule.Info{
			ID: "http-header.version-mismatch-32020", Level: rule.Must, Basis: rule.Keyword, Section: httpVersion, Transport: "http",
			Title: "a version header that differs from _meta is refused with -32020",
			Why:   "a gateway that goes by the header and the server that goes by the body treat the request as of two revisions",
			Fix:   "compare MCP-Protocol-Version with the protocolVersion of _meta, and answer HTTP 400 and error -32020 where they differ",
		},
		In: modern, Check: versionHeaderMismatch,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderVersionMismatch)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.version-missing-refused", Level: rule.Must, Basis: rule.Keyword, Section: httpVersion, Transport: "http",
			Title: "a request without the version header is refused with -32020 by a server of no revision before 2025-06-18",
			Why:   "whatever stands before the server cannot tell which rules the request is under, and lets it pass unchecked",
			Fix:   "answer HTTP 400 and error -32020 when MCP-Protocol-Version is missing",
		},
		In: modern, Check: versionHeaderMissing,
		Break: Break{Base: modernServer, Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderVersionMissing)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.method-missing-32020", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "a request without Mcp-Method is refused with -32020",
			Why:   "a gateway that admits by method sees none, and what it would have stopped is executed",
			Fix:   "answer HTTP 400 and error -32020 when Mcp-Method is missing",
		},
		In: modern, Check: methodHeaderMissing,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderMethodMissing)}},
	},
	{
		Info: rule.Info{
			ID: ruleMethodHeader, Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "an Mcp-Method that differs from the method of the body is refused with -32020",
			Why:   "a request that a gateway let pass as a list is executed as a call",
			Fix:   "compare Mcp-Method with the method of the body, and answer HTTP 400 and error -32020 where they differ",
		},
		In: modern, Check: methodHeaderMismatch,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderMethodMismatch)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.header-values-case-sensitive", Level: rule.Must, Basis: rule.Prose, Section: httpPage + "#case-sensitivity", Transport: "http",
			Title: "header values are compared with regard to case",
			Why:   "a rule of a gateway for tools/call does not catch TOOLS/CALL, which the server executes",
			Fix:   "compare Mcp-Method and Mcp-Name with the body byte for byte",
		},
		In: modern, Check: headerValueCase,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderCase)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.mismatch-status-400", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "every refusal for a header has HTTP status 400",
			Why:   "clients look into the body of a 400 alone, and take anything else for a failure of the network or another era",
			Fix:   "send error -32020 with HTTP 400",
		},
		In: modern, Check: headerStatus,
		Break: Break{Faults: []mock.Fault{mock.On("").OfCode(spec.CodeHeaderMismatch).Status(http.StatusUnprocessableEntity)}},
	},
	{
		Info: rule.Info{
			ID: ruleHeaderBody, Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "every refusal for a header is a JSON-RPC error of code -32020",
			Why:   "a client takes a 400 without this error for a server of the handshake era, and falls back to a protocol that the server does not speak",
			Fix:   "put a JSON-RPC error of code -32020, with the id of the request, into the body of the refusal",
		},
		In: modern, Check: headerBody,
		Break: Break{
			Faults: []mock.Fault{
				mock.On("").OfCode(spec.CodeHeaderMismatch).When(mock.NoHeader(spec.HeaderMethod)).HTTP(http.StatusBadRequest, "text/plain", "bad request"),
			},
			Also: []string{"http-header.method-missing-32020"},
		},
	},
}

// otherVersion is a version that a header may name beside the one of the run:
// one that the server speaks too where it names one, so that only the
// difference can be wrong.
func otherVersion(c *probe.Case) string {
	own := c.Probe().Revision().String()
	for _, v := range c.Facts().Supported {
		if v != own && v != "" {
			return v
		}
	}
	return spec.Rev20251125.String()
}

// versionMismatches are a request whose header differs from its _meta, and one
// whose _meta differs from its header.
func versionMismatches(c *probe.Case, plain *probe.Request) []*probe.Exchange {
	own, other := c.Probe().Revision().String(), otherVersion(c)
	return []*probe.Exchange{
		c.Once(plain.Header(spec.HeaderProtocolVersion, other).Planting("a version header that differs from _meta")),
		c.Once(plain.Version(other).Header(spec.HeaderProtocolVersion, own).Planting("a version in _meta that differs from the header")),
	}
}

func noMethodHeader(c *probe.Case, plain *probe.Request) *probe.Exchange {
	return c.Once(plain.NoHeader(spec.HeaderMethod).Planting("no Mcp-Method"))
}

// wrongMethodHeader names a list in the header where the body asks for
// something else: whichever of the two a server goes by, it only reads.
func wrongMethodHeader(c *probe.Case, plain *probe.Request) *probe.Exchange {
	other := spec.MethodToolsList
	if plain.Method == other {
		other = spec.MethodDiscover
	}
	return c.Once(plain.Header(spec.HeaderMethod, other).Planting("an Mcp-Method that differs from the body"))
}

func noVersionHeader(c *probe.Case, plain *probe.Request) *probe.Exchange {
	return c.Once(plain.NoHeader(spec.HeaderProtocolVersion).Planting("no MCP-Protocol-Version"))
}

func versionHeaderMismatch(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	for _, x := range versionMismatches(c, plain) {
		// The other version may be none of the server's, and the order of
		// checks is free.
		if x.Is(spec.CodeUnsupportedVersion) {
			c.Pass(x)
			continue
		}
		refusedForHeader(c, x, plain, x.Planted())
	}
}

func versionHeaderMissing(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	x := noVersionHeader(c, plain)
	if !x.Is(spec.CodeHeaderMismatch) && servesUnversioned(c) {
		c.Skip("the server also serves revisions before 2025-06-18, which have no such header")
		return
	}
	refusedForHeader(c, x, plain, "a request without MCP-Protocol-Version")
}

// servesUnversioned reports whether a server serves clients of a revision that
// has no version header, by what it names or by what it answers to one.
func servesUnversioned(c *probe.Case) bool {
	old := []string{spec.Rev20241105.String(), spec.Rev20250326.String()}
	if slices.ContainsFunc(c.Facts().Supported, func(v string) bool { return slices.Contains(old, v) }) {
		return true
	}
	x := initialize(c, spec.Rev20250326)
	return x.OK() && slices.Contains(old, probe.Text(x.Member("protocolVersion")))
}

// servesHandshake reports whether a server serves the handshake era too: some
// do, and name only modern versions in server/discover.
func servesHandshake(c *probe.Case) bool {
	return c.Facts().Legacy() || negotiated(initialize(c, spec.Rev20251125))
}

// initialize is the answer to what a client of the handshake era opens with, one
// without a message where it could not be sent. Over stdio it is sent to a process
// of its own: a server of both eras serves that era from then on there, and one
// that has served this one may refuse it.
func initialize(c *probe.Case, r spec.Revision) *probe.Exchange {
	hello := legacyInitialize(c, r, "{}").Planting("initialize of a handshake revision")
	if !c.Probe().Stdio() {
		return c.Once(hello)
	}
	return probe.Share(c.Probe(), "initialize of "+r.String(), func() *probe.Exchange {
		conn := c.Open()
		if conn == nil {
			return &probe.Exchange{Method: spec.MethodInitialize}
		}
		return c.SendOn(conn, hello)
	})
}

func methodHeaderMissing(c *probe.Case) {
	if plain, ok := c.Plain(); ok {
		refusedForHeader(c, noMethodHeader(c, plain), plain, "a request without Mcp-Method")
	}
}

func methodHeaderMismatch(c *probe.Case) {
	if plain, ok := c.Plain(); ok {
		x := wrongMethodHeader(c, plain)
		refusedForHeader(c, x, plain, x.Planted())
	}
}

func headerValueCase(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	if x := wrongMethodHeader(c, plain); x.OK() {
		c.SkipFor(ruleMethodHeader, "Mcp-Method is not compared at all: another method in it was served")
		return
	}
	x := c.Once(plain.Header(spec.HeaderMethod, upper(plain.Method)).Planting("Mcp-Method in capitals"))
	refusedForHeader(c, x, plain, "Mcp-Method in capitals")
}

// refusedForHeader judges what came for a request that is right but for its
// headers. A refusal that is no JSON-RPC error, or whose code is the same wrong
// one for every fault of a header, belongs to the rule about the body.
func refusedForHeader(c *probe.Case, x *probe.Exchange, plain *probe.Request, what string) {
	control := func(b *probe.Blame) { b.And(c.Once(plain)) }
	_, coded := x.Code()
	switch {
	case x.Is(spec.CodeHeaderMismatch):
		c.Pass(x)
	case x.OK():
		control(c.Fail(x, "%s was served", what))
	case x.Refused() && !coded, x.Refused() && !knowsHeaderMismatch(c):
		c.SkipFor(ruleHeaderBody, "%s was refused, by %s", what, x.Brief())
	default:
		control(c.Fail(x, "%s was answered by %s, not by error %d", what, x.Brief(), spec.CodeHeaderMismatch))
	}
}

// headerFaults are the requests with a fault in a header that every server can
// be sent, with what came for them. Those that could not be sent are left out.
func headerFaults(c *probe.Case) []*probe.Exchange {
	plain, ok := c.Plain()
	if !ok {
		return nil
	}
	xs := append(versionMismatches(c, plain), noVersionHeader(c, plain), noMethodHeader(c, plain), wrongMethodHeader(c, plain))
	for _, n := range allNamed(c) {
		xs = append(xs, n.missing(c), n.mismatch(c))
	}
	return slices.DeleteFunc(xs, func(x *probe.Exchange) bool { return x.Sent == nil })
}

// knowsHeaderMismatch reports whether the server has the right code for any
// fault of a header.
func knowsHeaderMismatch(c *probe.Case) bool {
	return slices.ContainsFunc(headerFaults(c), func(x *probe.Exchange) bool { return x.Is(spec.CodeHeaderMismatch) })
}

func headerStatus(c *probe.Case) {
	for _, x := range headerFaults(c) {
		switch {
		case !x.Is(spec.CodeHeaderMismatch):
		case x.Status() == http.StatusBadRequest:
			c.Pass(x)
		default:
			c.Fail(x, "%s was refused by HTTP %d, not 400", x.Planted(), x.Status())
			return
		}
	}
	c.Unseen("no fault of a header was refused with error %d", spec.CodeHeaderMismatch)
}

func headerBody(c *probe.Case) {
	xs := headerFaults(c)
	known := knowsHeaderMismatch(c)
	for _, x := range xs {
		_, coded := x.Code()
		switch {
		case x.Is(spec.CodeHeaderMismatch):
			c.Pass(x)
		case x.Refused() && !coded:
			c.Fail(x, "%s was refused without a JSON-RPC error: %s", x.Planted(), x.Brief())
			return
		case x.Refused() && !known && !x.Is(spec.CodeUnsupportedVersion) && x.Request.Method != spec.MethodToolsCall:
			c.Fail(x, "%s was refused by %s, not by error %d", x.Planted(), x.Brief(), spec.CodeHeaderMismatch)
			return
		}
	}
	c.Unseen("no fault of a header was refused")
}
