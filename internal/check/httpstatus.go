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

const ruleEndpoint = "transport-http.single-endpoint"

// aboveLists are rules that say of a list which is not answered why that is.
var aboveLists = []string{ruleEndpoint, ruleNameElsewhere}

// httpStatusRules are those of the endpoint and of statuses that mean something.
var httpStatusRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleEndpoint, Level: rule.Must, Basis: rule.Keyword, Section: httpSecurity, Transport: "http",
			Title: "one path takes the POST of every method",
			Why:   "a client has one URL, so what lives at another path is out of its reach",
			Fix:   "serve all methods at the one endpoint, and tell them apart by the body",
		},
		In: modern, Check: singleEndpoint,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).HTTP(http.StatusMethodNotAllowed, "text/plain", "method not allowed")},
		},
	},
	{
		Info: rule.Info{
			ID: "transport-http.unknown-method-404", Level: rule.Must, Basis: rule.Keyword, Section: httpVersion, Transport: "http",
			Title: "an unknown method is answered with HTTP 404 and error -32601",
			Why:   "gateways and clients count a success where nothing was done, and a 404 without the error looks like a server of 2024-11-05",
			Fix:   "answer HTTP 404 with a JSON-RPC error of code -32601",
		},
		In: modern, Check: unknownMethodStatus,
		Break: Break{Faults: []mock.Fault{mock.On(noMethod).Status(http.StatusOK)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.unsupported-version-400", Level: rule.Must, Basis: rule.Keyword, Section: httpVersion, Transport: "http",
			Title: "a version that is not implemented is answered with HTTP 400 and error -32022",
			Why:   "clients look into the body of a 400 alone to choose another version",
			Fix:   "send error -32022 with HTTP 400",
		},
		In: modern, Check: unsupportedVersionStatus,
		Break: Break{Faults: []mock.Fault{mock.On("").OfCode(spec.CodeUnsupportedVersion).Status(http.StatusOK)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.header-names-case-insensitive", Level: rule.Must, Basis: rule.Keyword, Section: httpPage + "#case-sensitivity", Transport: "http",
			Title: "header names are compared without regard to case",
			Why:   "proxies and HTTP/2 write header names in lower case, and every request through them is refused",
			Fix:   "look headers up without regard to the case of their names",
		},
		In: modern, Check: headerNameCase,
		Break: Break{Faults: []mock.Fault{
			mock.On("").When(mock.HeaderSpelled(strings.ToLower(spec.HeaderMethod))).Error(spec.CodeInvalidRequest, "Mcp-Method is missing"),
		}},
		Breaks: []Break{{Faults: []mock.Fault{
			mock.On("").When(mock.HeaderSpelled(strings.ToLower(spec.HeaderName))).Error(spec.CodeInvalidRequest, "Mcp-Name is missing"),
		}}},
	},
}

// singleEndpoint looks at the plain requests of the start: each of them went to
// the one URL.
func singleEndpoint(c *probe.Case) {
	f := c.Facts()
	xs := []*probe.Exchange{f.Greeting}
	for _, l := range f.Lists {
		xs = append(xs, l.Pages[0])
	}
	for _, x := range xs {
		switch {
		case x.Message() != nil:
			c.Pass(x)
		case x.Status() == http.StatusNotFound, x.Status() == http.StatusMethodNotAllowed, x.Status() >= 300 && x.Status() < 400:
			b := c.Fail(x, "POST of %s to the endpoint was answered by %s, while other methods are served there", x.Method, x.Brief())
			for _, y := range xs {
				if y.OK() {
					b.And(y)
					break
				}
			}
			return
		}
	}
}

func unknownMethodStatus(c *probe.Case) {
	if _, ok := c.Plain(); !ok {
		return
	}
	x := c.Once(c.Request(noMethod, "").Planting("a method that does not exist"))
	switch {
	case !x.Is(spec.CodeMethodNotFound):
		c.SkipFor("jsonrpc.method-not-found-32601", "an unknown method was answered by %s", x.Brief())
	case x.Status() != http.StatusNotFound:
		c.Fail(x, "error %d came with HTTP %d, not 404", spec.CodeMethodNotFound, x.Status())
	default:
		c.Pass(x)
	}
}

func unsupportedVersionStatus(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	for _, v := range []string{"1900-01-01", "2099-12-31"} {
		x := c.Once(plain.Version(v).Planting("a version that no server has"))
		switch {
		case !x.Is(spec.CodeUnsupportedVersion):
			c.SkipFor("version.unsupported-32022", "version %s was answered by %s", v, x.Brief())
		case x.Status() != http.StatusBadRequest:
			c.Fail(x, "error %d came with HTTP %d, not 400", spec.CodeUnsupportedVersion, x.Status())
			return
		default:
			c.Pass(x)
		}
	}
}

// headerNameCase spells the names of the headers that mirror the body in other
// ways than their table does, as proxies and other clients would.
func headerNameCase(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	version := c.Probe().Revision().String()
	for _, spell := range []func(string) string{strings.ToLower, strings.ToUpper} {
		r := respell(respell(plain, spec.HeaderProtocolVersion, version, spell), spec.HeaderMethod, plain.Method, spell)
		if x := c.Once(r); x.OK() {
			c.Pass(x)
		} else {
			c.Fail(x, "%s with the header %s was answered by %s", plain.Method, spell(spec.HeaderMethod), x.Brief()).And(c.Once(plain))
			return
		}
	}
	for _, n := range allNamed(c) {
		if !n.sound(c) {
			continue
		}
		x := c.Once(respell(n.Request, spec.HeaderName, spec.EncodeHeaderValue(n.name), strings.ToLower))
		if !n.alike(c, x) {
			c.Fail(x, "%s with the header %s was answered by %s", n.Method, strings.ToLower(spec.HeaderName), x.Brief()).And(n.control(c))
		}
		return
	}
}

// respell sends a header under another spelling of its name.
func respell(r *probe.Request, name, value string, spell func(string) string) *probe.Request {
	return r.NoHeader(name).AddHeader(spell(name), value)
}
