// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// grants are the ways to a token. They are called under the lock.
var grants = map[string]func(p *IdP, c *Client, v url.Values) (*grant, []string, []string, *fault){
	grantCode:        (*IdP).byCode,
	grantRefresh:     (*IdP).byRefresh,
	grantCredentials: (*IdP).byCredentials,
}

func (p *IdP) serveToken(w http.ResponseWriter, r *http.Request, _ role) {
	v, f := form(w, r)
	if f != nil {
		f.write(w)
		return
	}
	p.mu.Lock()
	answer, f := p.token(r, v)
	p.mu.Unlock()
	if f != nil {
		f.write(w)
		return
	}
	writeJSON(w, http.StatusOK, document(answer))
}

func (p *IdP) token(r *http.Request, v url.Values) (map[string]any, *fault) {
	c, f := p.authenticate(r, v)
	if f != nil {
		return nil, f
	}
	way := grants[v.Get("grant_type")]
	switch {
	case v.Get("grant_type") == "":
		return nil, refuse("invalid_request", "the grant type is missing")
	case way == nil:
		return nil, refuse("unsupported_grant_type", "the grant type is unknown")
	case !slices.Contains(c.Grants, v.Get("grant_type")):
		return nil, refuse("unauthorized_client", "the client may not use the grant type")
	}
	g, scopes, resources, f := way(p, c, v)
	if f != nil {
		return nil, f
	}
	return p.issue(c, g, scopes, resources)
}

// issue gives tokens out of a grant.
func (p *IdP) issue(c *Client, g *grant, scopes, resources []string) (map[string]any, *fault) {
	now := p.time().Unix()
	for id, i := range p.issued {
		if i.expires <= now {
			delete(p.issued, id)
		}
	}
	if len(p.issued) >= maxHeld || len(p.refreshes) >= maxHeld {
		return nil, errFull
	}
	for _, m := range p.misbehaving {
		if m.scopes != nil {
			scopes = m.scopes(scopes)
		}
	}
	var audience any = resources
	if len(resources) == 1 {
		audience = resources[0]
	}
	claims := p.claims(g.subject, c.ID, audience, scopes)
	k := p.current.of(p.alg)
	id, _ := claims["jti"].(string) // it is one
	p.issued[id] = issued{grant: g, expires: now + int64(Lifetime.Seconds())}
	answer := map[string]any{
		"access_token": compact(goodHeader(k), claims, k.sign),
		"token_type":   "Bearer",
		"expires_in":   int64(Lifetime.Seconds()),
		"scope":        strings.Join(scopes, " "),
	}
	if slices.Contains(c.Grants, grantRefresh) && g.subject != c.ID {
		g.refresh = p.random("refresh")
		p.refreshes[g.refresh] = g
		answer["refresh_token"] = g.refresh
	}
	return answer, nil
}

// issued is an access token that was given out, by its jti.
type issued struct {
	grant   *grant
	expires int64
	revoked bool
}

var errGrant = refuse("invalid_grant", "the grant is unknown, used, expired, or of another client")

// byCode exchanges a code, once. Whoever presents it again ends all that came of
// it (OAuth 2.1 section 4.1.3).
func (p *IdP) byCode(c *Client, v url.Values) (*grant, []string, []string, *fault) {
	k := p.codes[v.Get("code")]
	if k == nil || k.grant.client != c.ID {
		return nil, nil, nil, errGrant
	}
	if k.used {
		k.grant.revoked = true
		return nil, nil, nil, errGrant
	}
	k.used = true // whatever comes of it: there is no second guess at the verifier
	digest := sha256.Sum256([]byte(v.Get("code_verifier")))
	if !verifier(v.Get("code_verifier")) || subtle.ConstantTimeCompare([]byte(base64url(digest[:])), []byte(k.challenge)) != 1 ||
		p.time().After(k.expires) || v.Has("redirect_uri") && v.Get("redirect_uri") != k.redirect {
		return nil, nil, nil, errGrant
	}
	resources, f := p.targets(v["resource"], k.grant.resources)
	return k.grant, k.grant.scopes, resources, f
}

// verifier reports whether a text is a code verifier (RFC 7636 section 4.1).
func verifier(s string) bool {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	return len(s) >= 43 && len(s) <= 128 && strings.Trim(s, unreserved) == ""
}

// byRefresh exchanges a refresh token for another. An old one that comes again
// ends the grant: one of the two who have it stole it (OAuth 2.1 section 4.3.1).
func (p *IdP) byRefresh(c *Client, v url.Values) (*grant, []string, []string, *fault) {
	text := v.Get("refresh_token")
	g := p.refreshes[text]
	if g == nil || g.client != c.ID || g.revoked {
		return nil, nil, nil, errGrant
	}
	if g.refresh != text {
		g.revoked = true
		return nil, nil, nil, errGrant
	}
	scopes := g.scopes
	if asked := strings.Fields(v.Get("scope")); len(asked) > 0 {
		for _, s := range asked {
			if !slices.Contains(g.scopes, s) {
				return nil, nil, nil, refuse("invalid_scope", "one of the scopes was not granted")
			}
		}
		slices.Sort(asked)
		scopes = slices.Compact(asked)
	}
	resources, f := p.targets(v["resource"], g.resources)
	return g, scopes, resources, f
}

// byCredentials is a token for the client itself, which is then its subject
// (RFC 9068 section 2.2).
func (p *IdP) byCredentials(c *Client, v url.Values) (*grant, []string, []string, *fault) {
	if slices.Contains(c.AuthMethods, authNone) {
		return nil, nil, nil, refuse("unauthorized_client", "a public client has no credentials")
	}
	scopes, f := askedScopes(v, c)
	if f != nil {
		return nil, nil, nil, f
	}
	resources, f := p.targets(v["resource"], nil)
	return &grant{client: c.ID, subject: c.ID, scopes: scopes, resources: resources}, scopes, resources, f
}
