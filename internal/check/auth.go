// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const challengeHeader = "WWW-Authenticate"

// guardedVerbs are those of requests that carry a token (transports#streamable-http).
var guardedVerbs = []string{http.MethodPost, http.MethodGet, http.MethodDelete}

// authRules are those of a refusal for want of a token that show without one.
// From 2025-11-25 on the well-known document does in place of the header.
var authRules = []Rule{
	{
		Info: rule.Info{
			ID: "auth.prm-www-authenticate", Level: rule.Must, Basis: rule.Keyword,
			Section: "2025-06-18/basic/authorization#authorization-server-location", Transport: "http",
			Title: "a 401 says where the metadata of the server is",
			Why:   "a client cannot find out whom to ask for a token, and its user is shown an error in place of a login",
			Fix:   `answer 401 with WWW-Authenticate: Bearer resource_metadata="URL" (RFC 9728, section 5.1)`,
		},
		In: spec.Range{Since: spec.Rev20250618, Until: spec.Rev20250618}, Watch: challengeNamesMetadata,
		Break: Break{Base: guardedPrompt, Change: func(s *mock.Script) { guardPrompt(s) }},
		Breaks: []Break{{Base: guardedPrompt, Change: func(s *mock.Script) {
			guardPrompt(s, wire.HeaderField{Name: challengeHeader, Value: "Bearer"})
		}}},
	},
}

// guardedPrompt is a server that gives one prompt to those who have a token.
func guardedPrompt(s *mock.Script) {
	s.Prompts = append(s.Prompts, mock.Prompt{Definition: []byte(`{"name":"` + guardedName + `","description":"The orders for the night, for the crew alone."}`)})
	guardPrompt(s, guardChallenge)
}

const guardedName = "night_orders"

// guardPrompt refuses the prompt in place of what refused it before.
func guardPrompt(s *mock.Script, challenge ...wire.HeaderField) {
	at := mock.On(spec.MethodPromptsGet).OnHTTP().When(mock.ParamIs("/name", `"`+guardedName+`"`))
	refusal := at.HTTP(http.StatusUnauthorized, "", "", challenge...)
	s.Faults = slices.DeleteFunc(s.Faults, func(f mock.Fault) bool { return f.Op == refusal.Op && f.Code == refusal.Code })
	s.Faults = append(s.Faults, refusal)
}

// challengeNamesMetadata leaves out what no client sends with a token, such as the
// preflight of a browser. A challenge without the metadata may be that of a server
// that takes tokens of its own kind, as it may (2025-06-18/basic/authorization,
// "Protocol Requirements").
func challengeNamesMetadata(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.Status() != http.StatusUnauthorized || x.SentHead == nil || !slices.Contains(guardedVerbs, x.SentHead.Method) {
			continue
		}
		switch challenge, has := x.Head.Lookup(challengeHeader); {
		case !has:
			c.Fail(x, "%s was refused with HTTP 401 and no %s", x.Method, challengeHeader)
		case !strings.Contains(strings.ToLower(challenge), "resource_metadata"):
			c.Warn(x, "%s was refused with HTTP 401, and %s names no resource_metadata: %s", x.Method, challengeHeader, quoted(challenge))
		default:
			c.Pass(x)
		}
	}
	c.Unseen("nothing was refused with HTTP 401")
}
