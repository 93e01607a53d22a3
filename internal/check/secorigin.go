// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const ruleOriginPrefix = "sec.origin-prefix"

// secOriginRules are those of what a web page can make the browser of a user
// send to a server on the user's machine.
var secOriginRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.host-403", Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title: "a request under a foreign Host is not served at a loopback address",
			Why:   "a page whose name was bound to the user's own machine talks to the server as one of its own site, and its requests without Origin pass every check of that",
			Fix:   "compare Host with the names under which you are reached, and answer HTTP 403 to any other; never compare Origin with Host",
			Detail: "judged for a server that is reached at a loopback address. It fails where a page of a rebound name is served; " +
				"a foreign Host alone, in a request that no page can send, is a warning",
		},
		In: every, Check: hostForbidden,
		Break:  Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHost), mock.Lenient(mock.CheckOriginHost)}},
		Breaks: []Break{{Faults: []mock.Fault{mock.Lenient(mock.CheckHost)}}},
	},
	{
		Info: rule.Info{
			ID: ruleOriginPrefix, Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title:  "an Origin that only looks like an allowed one is not served",
			Why:    "anybody can register a name that begins or ends like yours, and call the tools of your users from a page there",
			Fix:    "compare the whole Origin, scheme, host and port, and no part of it",
			Detail: "it fails where an Origin is served that a browser can send; one that no browser sends, such as a port with letters in it, is a warning",
		},
		In: every, Check: originPrefix,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckOriginPrefix)}},
	},
	{
		Info: rule.Info{
			ID: "sec.simple-request", Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title: "a POST that a browser sends without asking first is not served",
			Why:   "any page can make a browser post text/plain or a form to the server, with no preflight that could stop it",
			Fix:   "answer HTTP 415 to every Content-Type but application/json, and 403 to a foreign Origin",
			Detail: "a JSON-RPC text is posted as text/plain, as a form, and without a type. It fails where one is served that comes from a foreign page, " +
				"with the Origin and Sec-Fetch-Site that a browser sends then; without them it is a warning",
		},
		In: every, Check: simpleRequest,
		Break:  Break{Faults: []mock.Fault{mock.Lenient(mock.CheckMediaType)}},
		Breaks: []Break{{Faults: []mock.Fault{mock.Lenient(mock.CheckMediaType), mock.Lenient(mock.CheckOrigin)}, Also: []string{ruleOriginSeen, ruleOriginStatus, "transport-http.origin-null-rejected"}}},
	},
	{
		Info: rule.Info{
			ID: "sec.cors-reflect", Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title: "a foreign page is not allowed to read answers with the user's credentials",
			Why:   "the browser hands every answer of the server, and what its cookies open, to any page that asks",
			Fix:   "name the origins you allow in Access-Control-Allow-Origin one by one, and never repeat what was sent",
		},
		In: every, Check: corsReflect,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckPreflight)}},
	},
}

// foreignHost is a name of somebody else's (RFC 2606, section 3).
const foreignHost = "attacker.example"

func hostForbidden(c *probe.Case) {
	u := endpointOf(c)
	if u == nil || !isLoopback(u.Hostname()) {
		c.Skip("the server is not reached at a loopback address, so which names it has is not known")
		return
	}
	plain, ok := c.Plain()
	if !ok {
		return
	}
	host := foreignHost
	if p := u.Port(); p != "" {
		host += ":" + p
	}
	page := ofPage(c, plain)
	alone := c.Once(page.Header("Host", host).Planting("a foreign Host"))
	rebound := c.Once(page.Header("Host", host).Header(spec.HeaderOrigin, "http://"+host).Planting("a foreign Host and the Origin of a page there"))
	switch {
	case alone.Sent == nil || rebound.Sent == nil:
	case rebound.OK() && fromOrigin(c, plain, foreignOrigin, "a foreign Origin").OK():
		c.SkipFor(ruleOriginSeen, "a foreign Origin is served, so the Host is nothing special")
	case rebound.OK():
		c.Fail(rebound, "what a page sends whose name was bound to this machine was served: Host %s, and the Origin of the same", host).And(c.Once(plain))
	case alone.OK():
		c.Warn(alone, "a request under the foreign Host %s was served; only its Origin keeps a page of that name out", host).And(c.Once(plain))
	default:
		c.Pass(alone)
	}
}

// ofPage is a request without what only the user's own client has: tokens and
// keys in headers. A page knows none of them; cookies are the browser's.
func ofPage(c *probe.Case, plain *probe.Request) *probe.Request {
	r := plain
	x := c.Once(plain)
	if x.SentHead == nil {
		return r
	}
	for _, f := range x.SentHead.Header {
		switch name := strings.ToLower(f.Name); {
		case strings.HasPrefix(name, "mcp-"), slices.Contains(ofEveryRequest, name):
		default:
			r = r.NoHeader(f.Name)
		}
	}
	return r
}

// ofEveryRequest are the headers of a request beside those of the protocol.
var ofEveryRequest = []string{"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "transfer-encoding", "user-agent", "cookie"}

// lookAlikes are foreign origins that have the name of the server in them.
func lookAlikes(c *probe.Case) (values, what []string) {
	add := func(v, w string) { values, what = append(values, v), append(what, w) }
	if host := hostOf(c); host != "" {
		add("http://"+host+"."+foreignHost, "a foreign Origin that begins like the server's name")
		add("http://attacker"+host, "a foreign Origin that ends like the server's name")
		add("http://attacker.example/"+host, "a foreign Origin with the server's name behind it")
		if u := endpointOf(c); u.Port() != "" {
			add("http://"+host+":"+u.Port()+"."+foreignHost, "a foreign Origin that begins like the server's name and port")
		}
	}
	return values, what
}

// sendable reports whether a browser can send an Origin. It has no path and a
// number for a port, and a name whose last label is a number is an address
// (URL standard, host parsing).
func sendable(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Path != "" {
		return false
	}
	host := u.Hostname()
	_, err = strconv.Atoi(host[strings.LastIndexByte(host, '.')+1:])
	return err != nil || net.ParseIP(host) != nil
}

func originPrefix(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	if fromOrigin(c, plain, foreignOrigin, "a foreign Origin").OK() {
		c.SkipFor(ruleOriginSeen, "a foreign Origin is served, so those that look like the server's are nothing special")
		return
	}
	values, what := lookAlikes(c)
	for i, v := range values {
		x := fromOrigin(c, plain, v, what[i])
		switch {
		case x.Sent == nil:
		case x.OK() && !sendable(v):
			c.Warn(x, "%s, %s, was served: only a part of it is compared, though no browser sends this one", what[i], v).
				And(fromOrigin(c, plain, foreignOrigin, "a foreign Origin"))
		case x.OK():
			c.Fail(x, "%s, %s, was served", what[i], v).And(fromOrigin(c, plain, foreignOrigin, "a foreign Origin"))
		default:
			c.Pass(x)
		}
	}
	c.Unseen("no name looks like that of a server at an address of IPv6")
}

// simple are the forms in which a browser posts without a preflight (Fetch
// standard, CORS-safelisted request-header); the empty one has no type.
var simple = []struct{ media, what string }{
	{"text/plain", "posted as text/plain"},
	{"application/x-www-form-urlencoded", "posted as a form"},
	{"", "posted without a Content-Type"},
}

func simpleRequest(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	bare := ofPage(c, plain)
	for _, s := range simple {
		r := bare.NoHeader(spec.HeaderContentType)
		if s.media != "" {
			r = bare.Header(spec.HeaderContentType, s.media)
		}
		r = r.Planting("a request " + s.what)
		page := c.Once(r.Header(spec.HeaderOrigin, foreignOrigin).Header("Sec-Fetch-Site", "cross-site").Header("Sec-Fetch-Mode", "no-cors"))
		if page.Sent == nil {
			continue
		}
		if page.OK() {
			c.Fail(page, "a request %s by a foreign page was served", s.what).And(c.Once(plain))
			continue
		}
		// The forms of a page that keeps its Origin to itself.
		if x := c.Once(r); x.OK() {
			c.Warn(x, "a request %s was served; only its Origin keeps a page out", s.what).And(page)
			continue
		}
		c.Pass(page)
	}
}

// preflight is what a browser asks before it lets a page send JSON.
func preflight(c *probe.Case, plain *probe.Request) *probe.Exchange {
	return c.Once(plain.Verb(http.MethodOptions).Header(spec.HeaderOrigin, foreignOrigin).
		Header("Access-Control-Request-Method", http.MethodPost).
		Header("Access-Control-Request-Headers", "content-type,authorization,mcp-protocol-version").
		NoHeader("Authorization"). // browsers send no credentials in a preflight
		Planting("the preflight of a foreign page"))
}

func corsReflect(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	asked, served := preflight(c, plain), fromOrigin(c, plain, foreignOrigin, "a foreign Origin")
	for _, x := range []*probe.Exchange{asked, served} {
		if x.Head == nil {
			continue
		}
		allowed := x.Head.Get("Access-Control-Allow-Origin")
		credentials := strings.EqualFold(x.Head.Get("Access-Control-Allow-Credentials"), "true")
		switch {
		case allowed == foreignOrigin && credentials:
			c.Fail(x, "%s is answered with Access-Control-Allow-Origin: %s, with credentials", x.Planted(), allowed)
			return
		case allowed == foreignOrigin:
			c.Warn(x, "%s is answered with Access-Control-Allow-Origin: %s, which repeats what was sent", x.Planted(), allowed)
			return
		}
		c.Pass(x)
	}
	c.Unseen("neither a preflight nor a request of a foreign Origin was answered")
}
