// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// metadata is what a client says of itself (RFC 7591 section 2), when it
// registers and in a client id metadata document.
type metadata struct {
	ClientID        string          `json:"client_id"`
	ClientSecret    json.RawMessage `json:"client_secret"`
	Name            string          `json:"client_name"`
	RedirectURIs    []string        `json:"redirect_uris"`
	GrantTypes      []string        `json:"grant_types"`
	ResponseTypes   []string        `json:"response_types"`
	AuthMethod      string          `json:"token_endpoint_auth_method"`
	Scope           string          `json:"scope"`
	ApplicationType string          `json:"application_type"`
	JWKS            json.RawMessage `json:"jwks"`
}

func badClient(text string) *fault { return refuse("invalid_client_metadata", text) }

// client checks what a client says of itself. The method stands in for one that
// it does not name.
func (p *IdP) client(m metadata, method string) (*Client, *fault) {
	if m.AuthMethod == "" {
		m.AuthMethod = method
	}
	if len(m.GrantTypes) == 0 {
		m.GrantTypes = []string{grantCode}
	}
	if m.Scope == "" {
		m.Scope = strings.Join(p.scopes(), " ")
	}
	foreign := func(all, known []string) bool {
		return slices.ContainsFunc(all, func(s string) bool { return !slices.Contains(known, s) })
	}
	switch codes := slices.Contains(m.GrantTypes, grantCode); {
	case !slices.Contains(authMethods, m.AuthMethod):
		return nil, badClient("the authentication method is unknown")
	case m.AuthMethod == authSigned && len(publicKeys(m.JWKS)) == 0:
		return nil, badClient("private_key_jwt needs public keys in jwks")
	case foreign(m.GrantTypes, grantTypes):
		return nil, badClient("a grant type is unknown")
	case slices.Contains(m.GrantTypes, grantCredentials) && m.AuthMethod == authNone:
		return nil, badClient("a public client has no credentials")
	case foreign(m.ResponseTypes, []string{"code"}):
		return nil, badClient("a response type is unknown")
	case foreign(strings.Fields(m.Scope), append(p.scopes(), scopeOffline)):
		return nil, badClient("a scope is unknown")
	case !slices.Contains([]string{"", "web", "native"}, m.ApplicationType):
		return nil, badClient("the application type must be web or native")
	case codes && len(m.RedirectURIs) == 0:
		return nil, refuse("invalid_redirect_uri", "there is no redirect URI")
	}
	for _, uri := range m.RedirectURIs {
		if !redirectFits(uri, m.ApplicationType) {
			return nil, refuse("invalid_redirect_uri", "a redirect URI does not fit the application type, or is none")
		}
	}
	return &Client{
		Name: m.Name, Keys: m.JWKS, AuthMethods: []string{m.AuthMethod}, Grants: m.GrantTypes,
		RedirectURIs: m.RedirectURIs, Scopes: strings.Fields(m.Scope), ApplicationType: m.ApplicationType,
	}, nil
}

// redirectFits holds a redirect URI to OpenID Connect Dynamic Client
// Registration section 2: web is https and not loopback; native is http on
// loopback, a scheme of its own (RFC 8252 section 7.1), or https. A client that
// does not say what it is may use what either may.
func redirectFits(uri, application string) bool {
	u, err := url.Parse(uri)
	if err != nil || strings.Contains(uri, "#") || u.User != nil {
		return false
	}
	native := application != "web"
	switch u.Scheme {
	case "https":
		return u.Host != "" && (native || !loopback(u.Hostname()))
	case "http":
		return native && loopback(u.Hostname())
	default:
		return native && strings.Contains(u.Scheme, ".")
	}
}

// serveRegister is dynamic client registration (RFC 7591).
func (p *IdP) serveRegister(w http.ResponseWriter, r *http.Request, _ role) {
	raw, f := body(w, r, "application/json")
	if f != nil {
		f.write(w)
		return
	}
	var m metadata
	if jsonx.Unmarshal(raw, &m) != nil {
		badClient("the body is no JSON object with the members of RFC 7591").write(w)
		return
	}
	c, f := p.client(m, authBasic)
	if f != nil {
		f.write(w)
		return
	}
	answer, f := p.register(c)
	if f != nil {
		f.write(w)
		return
	}
	writeJSON(w, http.StatusCreated, document(answer))
}

func (p *IdP) register(c *Client) (map[string]any, *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) >= maxHeld {
		return nil, errFull
	}
	c.ID = p.random("client")
	answer := map[string]any{
		"client_id": c.ID, "client_id_issued_at": p.time().Unix(),
		"redirect_uris": append([]string{}, c.RedirectURIs...), "grant_types": c.Grants, "response_types": []string{"code"},
		"token_endpoint_auth_method": c.AuthMethods[0], "scope": strings.Join(c.Scopes, " "),
	}
	if c.AuthMethods[0] == authBasic || c.AuthMethods[0] == authPost {
		c.Secret = p.random("secret")
		answer["client_secret"], answer["client_secret_expires_at"] = c.Secret, 0
	}
	if c.ApplicationType != "" {
		answer["application_type"] = c.ApplicationType
	}
	if c.Name != "" {
		answer["client_name"] = c.Name
	}
	p.clients[c.ID] = c
	return answer, nil
}

// knownClient finds the client of an authorization: one that is known, or one
// whose id is the URL of its metadata document, which is fetched anew each time.
func (p *IdP) knownClient(r *http.Request, id string) (*Client, *fault) {
	unknown := refuse("invalid_request", "the client is unknown")
	if p.fetchClient == nil || !strings.HasPrefix(id, "https://") {
		p.mu.Lock()
		defer p.mu.Unlock()
		if c := p.clients[id]; c != nil {
			return c, nil
		}
		return nil, unknown
	}
	c, f := p.fetched(r.Context(), id)
	if f != nil {
		return nil, f
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) >= maxHeld && p.clients[id] == nil {
		return nil, errFull
	}
	p.clients[id] = c
	return c, nil
}

// fetched is a client out of its metadata document. The rules are those of the
// draft for client id metadata documents that MCP names.
func (p *IdP) fetched(ctx context.Context, id string) (*Client, *fault) {
	u, err := url.Parse(id)
	if err != nil || u.Host == "" || u.User != nil || u.Path == "" || u.Path == "/" || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") || strings.Contains(id, "#") {
		return nil, refuse("invalid_request", "the client id is no URL of a metadata document")
	}
	raw, err := p.fetchClient(ctx, id)
	if err != nil || len(raw) > maxBody {
		return nil, refuse("invalid_client", "the metadata document of the client cannot be fetched")
	}
	var m metadata
	switch {
	case jsonx.Unmarshal(raw, &m) != nil:
		return nil, refuse("invalid_client", "the metadata document of the client is no JSON object with the members of RFC 7591")
	case m.ClientID != id:
		return nil, refuse("invalid_client", "the metadata document names another client")
	case m.Name == "":
		return nil, refuse("invalid_client", "the metadata document has no client_name")
	case m.ClientSecret != nil || m.AuthMethod == authBasic || m.AuthMethod == authPost:
		return nil, refuse("invalid_client", "a client with a metadata document has no secret")
	}
	c, f := p.client(m, authNone)
	if f != nil {
		return nil, refuse("invalid_client", f.text)
	}
	c.ID = id
	return c, nil
}
