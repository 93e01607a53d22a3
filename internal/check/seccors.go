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

// Headers of the CORS protocol (Fetch standard).
const (
	corsAllowed = "Access-Control-Allow-Origin"
	corsExposed = "Access-Control-Expose-Headers"
	corsHeaders = "Access-Control-Allow-Headers"
	corsSecrets = "Access-Control-Allow-Credentials"
)

// secCORSRules are those of servers that let pages of other sites in on purpose,
// and lock them out by mistake. A server that lets nobody in keeps them.
var secCORSRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.cors-session-exposed", Level: rule.Should, Basis: rule.Harm, Section: sessionPage, Transport: "http",
			Title: "a page that may read an answer may read the id of the session in it",
			Why:   "scripts in a browser read null for Mcp-Session-Id, and the second request of each is refused",
			Fix:   "name Mcp-Session-Id in Access-Control-Expose-Headers wherever you send Access-Control-Allow-Origin",
		},
		In: streamable, Watch: corsSession, Stir: stirCORS,
		Break: Break{
			Base: openToPages,
			Faults: []mock.Fault{
				mock.On(spec.MethodInitialize).Header(corsExposed, ""),
			},
		},
	},
	{
		Info: rule.Info{
			ID: "sec.cors-preflight-open", Level: rule.Should, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
			Title:  "a preflight needs no credentials",
			Why:    "a browser sends none in a preflight, so that no page gets as far as its first request",
			Fix:    "answer OPTIONS before you look for a token",
			Detail: "judged where the answer has headers of the CORS protocol, which says that pages are to be let in",
		},
		In: every, Watch: corsPreflight, Stir: stirPreflight,
		Break: Break{Faults: []mock.Fault{
			mock.On(http.MethodOptions).Status(http.StatusUnauthorized),
			mock.On(http.MethodOptions).Header(corsHeaders, "Content-Type, Authorization"),
		}},
	},
}

// openToPages is a server that lets pages of tools on the user's machine begin a
// session.
func openToPages(s *mock.Script) {
	s.Faults = append(s.Faults,
		mock.On(spec.MethodInitialize).Header(corsAllowed, "*"),
		mock.On(spec.MethodInitialize).Header(corsExposed, spec.HeaderSessionID),
	)
}

// pages are origins of which a server lets one in at times: anybody's, and that
// of a tool on the user's machine.
var pages = []string{foreignOrigin, "http://localhost"}

// stirCORS begins a session as pages do.
func stirCORS(c *probe.Case) {
	if !stateful(c) {
		return
	}
	for _, origin := range pages {
		conn := c.Dial()
		if conn == nil {
			return
		}
		conn.Adopt(c.SendOn(conn, c.Probe().Hello("{}").Header(spec.HeaderOrigin, origin).Planting("initialize by a page")))
		conn.Close(c.Context())
	}
}

func corsSession(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.Method != spec.MethodInitialize || x.SentHead == nil || x.Head == nil || !x.OK() {
			continue
		}
		_, ofPage := x.SentHead.Lookup(spec.HeaderOrigin)
		_, given := x.Head.Lookup(spec.HeaderSessionID)
		if !ofPage || !given || x.Head.Get(corsAllowed) == "" {
			continue
		}
		if exposes(x, spec.HeaderSessionID) {
			c.Pass(x)
			continue
		}
		c.Warn(x, "a page may read the answer to initialize, and not its %s: %s does not name it", spec.HeaderSessionID, corsExposed)
		return
	}
	c.Unseen("no page was let in that begins a session")
}

// exposes reports whether a script may read a header of an answer.
func exposes(x *probe.Exchange, name string) bool {
	all := !strings.EqualFold(x.Head.Get(corsSecrets), "true")
	for _, f := range x.Head.Header {
		if !strings.EqualFold(f.Name, corsExposed) {
			continue
		}
		for _, n := range strings.Split(f.Value, ",") {
			if n = strings.TrimSpace(n); strings.EqualFold(n, name) || all && n == "*" {
				return true
			}
		}
	}
	return false
}

func stirPreflight(c *probe.Case) {
	if plain, ok := c.Plain(); ok {
		preflight(c, plain)
	}
}

func corsPreflight(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.SentHead == nil || x.Head == nil || x.SentHead.Method != http.MethodOptions ||
			x.SentHead.Get("Access-Control-Request-Method") == "" || x.SentHead.Get("Authorization") != "" {
			continue
		}
		switch {
		case x.Status() != http.StatusUnauthorized:
			c.Pass(x)
		case speaksCORS(x):
			c.Warn(x, "a preflight was answered by HTTP %d, and browsers send no credentials in one", x.Status())
			return
		}
	}
	c.Unseen("no preflight was answered by a server that lets pages in")
}

func speaksCORS(x *probe.Exchange) bool {
	for _, f := range x.Head.Header {
		if strings.HasPrefix(strings.ToLower(f.Name), "access-control-") {
			return true
		}
	}
	return false
}
