// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// codeLifetime is how long a code can be exchanged.
const codeLifetime = time.Minute

// maxHeld bounds how many codes, grants, clients and assertions are kept each.
const maxHeld = 10_000

var errFull = &fault{http.StatusServiceUnavailable, "temporarily_unavailable", "the test server holds too much already"}

// grant is what a principal, or a client for itself, was granted. All tokens
// that come of it end with it.
type grant struct {
	client, subject string
	scopes          []string
	resources       []string
	revoked         bool
	refresh         string // the one refresh token that is good now
}

// code is an authorization code.
type code struct {
	grant     *grant
	redirect  string
	challenge string
	expires   time.Time
	used      bool
}

// LoginNext queues who logs in at the next authorizations, one name each. An
// empty name is somebody who refuses. When the queue is empty it is alice, or
// whom Options.Login names.
func (p *IdP) LoginNext(principals ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logins = append(p.logins, principals...)
}

// login returns who logs in; false when nobody does.
func (p *IdP) login(client string, scopes []string) (Principal, bool) {
	p.mu.Lock()
	name := "alice"
	queued := len(p.logins) > 0
	if queued {
		name, p.logins = p.logins[0], p.logins[1:]
	}
	p.mu.Unlock()
	if !queued && p.pick != nil {
		name = p.pick(client, scopes)
	}
	i := slices.IndexFunc(p.principals, func(q Principal) bool { return q.Name == name })
	if i < 0 {
		return Principal{}, false
	}
	return p.principals[i], true
}

// serveAuthorize is the authorization endpoint. There is no page: who logs in is
// decided by LoginNext, and agrees.
func (p *IdP) serveAuthorize(w http.ResponseWriter, r *http.Request, as role) {
	v, f := parameters(r.URL.RawQuery)
	if r.Method == http.MethodPost {
		v, f = form(w, r)
	}
	if f != nil {
		f.write(w)
		return
	}
	c, f := p.knownClient(r, v.Get("client_id"))
	if f != nil {
		f.write(w)
		return
	}
	redirect := v.Get("redirect_uri")
	if redirect == "" && len(c.RedirectURIs) == 1 {
		redirect = c.RedirectURIs[0]
	}
	if !c.redirects(redirect) {
		// Nobody is sent to a place that the client did not register.
		refuse("invalid_request", "the redirect URI is not one of the client's").write(w)
		return
	}
	answer := url.Values{"iss": {as.issuer}}
	if v.Has("state") {
		answer.Set("state", v.Get("state"))
	}
	given, f := p.authorize(c, v, redirect)
	if f != nil {
		answer.Set("error", f.code)
		answer.Set("error_description", f.text)
	} else {
		answer.Set("code", given)
	}
	for _, m := range p.faults() {
		if m.answer != nil {
			m.answer(answer)
		}
		if m.redirect != nil {
			redirect = m.redirect(redirect)
		}
	}
	separator := "?"
	if strings.Contains(redirect, "?") {
		separator = "&"
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", redirect+separator+answer.Encode())
	w.WriteHeader(http.StatusFound)
}

// authorize returns a code, or the fault that the client is told of.
func (p *IdP) authorize(c *Client, v url.Values, redirect string) (string, *fault) {
	switch {
	case v.Get("response_type") == "":
		return "", refuse("invalid_request", "the response type is missing")
	case v.Get("response_type") != "code":
		return "", refuse("unsupported_response_type", "the response type must be code")
	case !slices.Contains(c.Grants, grantCode):
		return "", refuse("unauthorized_client", "the client may not ask for codes")
	case v.Get("code_challenge") == "":
		return "", refuse("invalid_request", "the code challenge is missing")
	case v.Get("code_challenge_method") != "S256": // left out it means plain (RFC 7636 section 4.3)
		return "", refuse("invalid_request", "the code challenge method must be S256")
	case len(v.Get("code_challenge")) != 43: // a SHA-256 in base64url
		return "", refuse("invalid_request", "the code challenge is not that of a SHA-256")
	}
	resources, f := p.targets(v["resource"], nil)
	if f != nil {
		return "", f
	}
	scopes, f := askedScopes(v, c)
	if f != nil {
		return "", f
	}
	who, ok := p.login(c.ID, scopes)
	if !ok {
		return "", refuse("access_denied", "nobody agreed")
	}
	scopes = slices.DeleteFunc(scopes, func(s string) bool { return s != scopeOffline && !slices.Contains(who.Scopes, s) })
	if len(scopes) == 0 {
		return "", refuse("access_denied", "the principal may grant none of the scopes")
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.time()
	for text, old := range p.codes {
		if now.After(old.expires.Add(Lifetime)) { // kept for a while, to notice reuse
			delete(p.codes, text)
		}
	}
	if len(p.codes) >= maxHeld {
		return "", errFull
	}
	text := p.random("code")
	p.codes[text] = &code{
		grant:    &grant{client: c.ID, subject: p.subject(who.Name), scopes: scopes, resources: resources},
		redirect: redirect, challenge: v.Get("code_challenge"), expires: now.Add(codeLifetime),
	}
	return text, nil
}

// askedScopes are the scopes of a request: all that the client may have when it
// names none.
func askedScopes(v url.Values, c *Client) ([]string, *fault) {
	asked := strings.Fields(v.Get("scope"))
	if len(asked) == 0 {
		return slices.Clone(c.Scopes), nil
	}
	for _, s := range asked {
		if !slices.Contains(c.Scopes, s) && (s != scopeOffline || !slices.Contains(c.Grants, grantRefresh)) {
			return nil, refuse("invalid_scope", "the client may not ask for one of the scopes")
		}
	}
	slices.Sort(asked)
	return slices.Compact(asked), nil
}

// targets checks the resources that a token is asked for (RFC 8707 section 2).
// Those of the authorization, when there was one, bound them and stand in for
// them.
func (p *IdP) targets(asked, authorized []string) ([]string, *fault) {
	if len(asked) == 0 {
		asked = authorized
	}
	if len(asked) == 0 && p.defaultAudience != "" {
		asked = []string{p.defaultAudience}
	}
	if len(asked) == 0 {
		return nil, refuse("invalid_target", "the resource is missing")
	}
	for _, resource := range asked {
		u, err := url.Parse(resource)
		if err != nil || !u.IsAbs() || u.Host == "" || strings.Contains(resource, "#") || !utf8.ValidString(resource) {
			return nil, refuse("invalid_target", "a resource is no absolute URI without a fragment")
		}
		if p.resources != nil && !slices.Contains(p.resources, resource) {
			return nil, refuse("invalid_target", "a resource is unknown")
		}
		if authorized != nil && !slices.Contains(authorized, resource) {
			return nil, refuse("invalid_target", "a resource was not authorized")
		}
	}
	return slices.Clone(asked), nil
}
