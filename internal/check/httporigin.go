// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const (
	httpSecurity   = httpPage + "#security-endpoint"
	ruleOriginSeen = "transport-http.origin-validated"
)

// httpOriginRules are those against a page in a browser that reaches a server
// of its user.
var httpOriginRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleOriginSeen, Level: rule.Must, Basis: rule.Keyword, Section: httpSecurity, Transport: "http",
			Title: "a request with a foreign Origin is not served",
			Why:   "any web page that the user visits can call the tools of a server on the user's machine",
			Fix:   "compare the whole Origin with a list of those you allow, and answer HTTP 403 to any other; requests without Origin come from no page",
		},
		In: every, Check: originValidated, Under: []string{ruleOriginPrefix},
		Break:  Break{Faults: []mock.Fault{mock.Lenient(mock.CheckOrigin)}, Also: []string{ruleOriginStatus, "transport-http.origin-null-rejected"}},
		Breaks: []Break{{Faults: []mock.Fault{mock.Lenient(mock.CheckOriginHTTPS)}}},
	},
	{
		Info: rule.Info{
			ID: ruleOriginStatus, Level: rule.Must, Basis: rule.Keyword, Section: httpSecurity, Transport: "http",
			Title: "a foreign Origin is answered with HTTP 403",
			Why:   "a client or gateway cannot tell this refusal from a fault of its own request",
			Fix:   "answer HTTP 403 when Origin is there and not allowed",
		},
		In: since2511, Check: originForbidden,
		Break: Break{Faults: []mock.Fault{mock.On("").When(mock.HasHeader(spec.HeaderOrigin)).Status(http.StatusUnauthorized)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.origin-null-rejected", Level: rule.Must, Basis: rule.Derived, Section: httpSecurity, Transport: "http",
			Title: "Origin null is checked like any other, and refused unless it is allowed",
			Why:   "a page in a sandboxed frame or a local file sends null, so that allowing it allows every page",
			Fix:   "treat null as an origin that is not on the list",
		},
		In: since2511, Check: originNull,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckOriginNull)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.origin-403-body", Level: rule.May, Basis: rule.Keyword, Section: httpSecurity, Transport: "http",
			Title: "a JSON body of the refusal of an origin is an error without an id",
			Why:   "the server has not read the request when it refuses it, so an id in the answer is made up or shows that it went on",
			Fix:   "leave the body empty, or send a JSON-RPC error without id",
		},
		In: since2511, Check: originBody,
		Break: Break{Faults: []mock.Fault{
			mock.On("").When(mock.HasHeader(spec.HeaderOrigin)).
				HTTP(http.StatusForbidden, spec.MediaJSON, `{"jsonrpc":"2.0","id":{{/id}},"error":{"code":-32600,"message":"forbidden"}}`),
		}},
	},
}

const ruleOriginStatus = "transport-http.origin-403"

// foreignOrigin is a page of somebody else's. The name is kept for examples
// (RFC 2606, section 3).
const foreignOrigin = "http://attacker.example"

// origins are those that no server has reason to allow, each with what it is,
// beside those that look like the server's own.
var origins = []struct{ value, what string }{
	{foreignOrigin, "a foreign Origin"},
	{"https://attacker.example", "a foreign Origin of https"},
}

// hostOf is the name by which the server is reached, empty where that is an
// IPv6 address, which no foreign name looks like.
func hostOf(c *probe.Case) string {
	u := endpointOf(c)
	if u == nil || strings.Contains(u.Hostname(), ":") {
		return ""
	}
	return u.Hostname()
}

// fromOrigin sends the plainest request as a page of an origin would. The Host
// header stays right, so that nothing but the Origin is wrong.
func fromOrigin(c *probe.Case, plain *probe.Request, origin, what string) *probe.Exchange {
	return c.Once(plain.Header(spec.HeaderOrigin, origin).Planting(what))
}

// foreign are the requests from every origin, with what came for them.
func foreign(c *probe.Case) (plain *probe.Request, xs []*probe.Exchange) {
	plain, ok := c.Plain()
	if !ok {
		return nil, nil
	}
	var values, what []string
	for _, o := range origins {
		values, what = append(values, o.value), append(what, o.what)
	}
	alike, how := lookAlikes(c)
	for i, v := range alike {
		if sendable(v) {
			values, what = append(values, v), append(what, how[i])
		}
	}
	for i, v := range values {
		if x := fromOrigin(c, plain, v, what[i]); x.Sent != nil {
			xs = append(xs, x)
		}
	}
	return plain, xs
}

func originValidated(c *probe.Case) {
	plain, xs := foreign(c)
	for _, x := range xs {
		switch {
		case x.OK():
			c.Fail(x, "%s, %s, was served", x.Planted(), x.SentHead.Get(spec.HeaderOrigin)).And(c.Once(plain))
		case x.Status() >= http.StatusBadRequest, x.Refused():
			c.Pass(x)
		default:
			c.Fail(x, "%s, %s, was answered by %s", x.Planted(), x.SentHead.Get(spec.HeaderOrigin), x.Brief()).And(c.Once(plain))
		}
	}
}

func originForbidden(c *probe.Case) {
	plain, xs := foreign(c)
	served := false
	for _, x := range xs {
		switch {
		case x.OK():
			served = true
		case x.Status() == spec.StatusBadOrigin:
			c.Pass(x)
		case x.Status() >= http.StatusBadRequest, x.Refused():
			c.Fail(x, "%s was refused by %s, not by HTTP %d", x.Planted(), x.Brief(), spec.StatusBadOrigin).And(c.Once(plain))
			return
		}
	}
	if xs != nil && served && xs[0].OK() {
		c.SkipFor(ruleOriginSeen, "a foreign Origin is served")
	}
}

func originNull(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	x := fromOrigin(c, plain, "null", "Origin null")
	switch {
	case x.Status() == spec.StatusBadOrigin:
		c.Pass(x)
	case fromOrigin(c, plain, foreignOrigin, "a foreign Origin").OK():
		c.SkipFor(ruleOriginSeen, "a foreign Origin is served, so null is nothing special")
	case x.OK():
		c.Fail(x, "Origin null was served, while %s is refused", foreignOrigin).And(c.Once(plain))
	case x.Status() >= http.StatusBadRequest:
		c.Pass(x) // the status is a rule of its own
	default:
		c.Fail(x, "Origin null was answered by %s", x.Brief()).And(c.Once(plain))
	}
}

func originBody(c *probe.Case) {
	_, xs := foreign(c)
	seen := false
	for _, x := range xs {
		if x.Status() != spec.StatusBadOrigin {
			continue
		}
		seen = true
		m := x.Message()
		if m != nil && m.ID != nil && string(m.ID) != "null" {
			c.Note(x, "the body of the 403 has id %s", short(m.ID)).In(x.Response, "/id")
			return
		}
		c.Pass(x)
	}
	if xs != nil && !seen {
		c.SkipFor(ruleOriginStatus, "no foreign Origin was refused with HTTP %d", spec.StatusBadOrigin)
	}
}

// short is a JSON text for a message.
func short(raw []byte) string {
	const most = 60
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}
