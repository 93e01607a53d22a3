// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// The ids of the clients that are ready made.
const (
	clientApp     = "app"
	clientService = "service"
)

// How a client says who it is at the token endpoint (RFC 7591 section 2).
const (
	authNone   = "none"
	authBasic  = "client_secret_basic"
	authPost   = "client_secret_post"
	authSigned = "private_key_jwt"
)

var authMethods = []string{authNone, authBasic, authPost, authSigned}

// What a token is given for.
const (
	grantCode        = "authorization_code"
	grantRefresh     = "refresh_token"
	grantCredentials = "client_credentials"
)

var grantTypes = []string{grantCode, grantRefresh, grantCredentials}

// scopeOffline asks for a refresh token (OpenID Connect Core section 11). Here
// every client with that grant gets one.
const scopeOffline = "offline_access"

// Client is a client that the IdP knows.
type Client struct {
	ID              string
	Name            string
	Secret          string          // empty for a client without one
	Keys            json.RawMessage // its public keys, a JWK set; nil without
	AuthMethods     []string        // by the names of RFC 7591; "none" is a public client
	Grants          []string        // by the names of RFC 7591
	RedirectURIs    []string
	Scopes          []string // what it may ask for
	ApplicationType string   // web, native, or empty where it did not say
}

// readyMade are the clients of an IdP that is told of no others: app is public
// and on a loopback address, service has a secret and a key.
func readyMade(seed uint64) []Client {
	k := serviceKey(seed)
	return []Client{
		{
			ID: clientApp, Name: "App", ApplicationType: "native",
			AuthMethods:  []string{authNone},
			Grants:       []string{grantCode, grantRefresh},
			RedirectURIs: []string{"http://127.0.0.1/callback", "http://localhost/callback", "http://[::1]/callback"},
			Scopes:       []string{ScopeRead, ScopeWrite},
		},
		{
			ID: clientService, Name: "Service", ApplicationType: "web",
			Secret:       derive(seed, "secret of service"),
			Keys:         document(map[string]any{"keys": []json.RawMessage{k.jwk()}}),
			AuthMethods:  []string{authBasic, authPost, authSigned},
			Grants:       []string{grantCredentials, grantCode, grantRefresh},
			RedirectURIs: []string{"https://service.invalid/callback"},
			Scopes:       []string{ScopeRead},
		},
	}
}

func serviceKey(seed uint64) *key {
	return &key{"service-1", ES256, ecKey(derive(seed, "key of service"))}
}

// Clients lists the clients that are known now, those that registered too, by id.
func (p *IdP) Clients() []Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []Client{}
	for _, c := range p.clients {
		out = append(out, c.clone())
	}
	slices.SortFunc(out, func(a, b Client) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (c *Client) clone() Client {
	out := *c
	for _, list := range []*[]string{&out.AuthMethods, &out.Grants, &out.RedirectURIs, &out.Scopes} {
		*list = slices.Clone(*list)
	}
	out.Keys = slices.Clone(out.Keys)
	return out
}

// ClientAssertion is what the client service signs to say who it is, once
// (RFC 7523).
func (p *IdP) ClientAssertion() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, now := serviceKey(p.seed), p.time().Unix()
	return compact(Header{"alg": k.alg, "kid": k.kid, "typ": "JWT"}, Claims{
		"iss": clientService, "sub": clientService, "aud": p.issuer,
		"iat": now, "exp": now + 60, "jti": p.random("assertion"),
	}, k.sign)
}

// redirects reports whether the client may be answered at the URI: as it
// registered it, byte for byte, but for the port of a loopback address (RFC 8252
// section 7.3). localhost counts as one, since clients of MCP use it so.
func (c *Client) redirects(uri string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(registered string) bool {
		if uri == registered {
			return true
		}
		a, errA := url.Parse(registered)
		b, errB := url.Parse(uri)
		if errA != nil || errB != nil || a.Scheme != "http" || !loopback(a.Hostname()) || b.Host == "" {
			return false
		}
		return withoutPort(registered, a) == withoutPort(uri, b)
	})
}

// withoutPort is the text of a URL that lacks the port, otherwise as it was.
func withoutPort(raw string, u *url.URL) string {
	if u.Port() == "" {
		return raw
	}
	return strings.Replace(raw, "//"+u.Host, "//"+strings.TrimSuffix(u.Host, ":"+u.Port()), 1)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var errClient = &fault{http.StatusUnauthorized, "invalid_client", "the client is unknown, or did not prove who it is"}

// authenticate finds the client of a request and has it prove who it is, by the
// one way that it used. The caller holds the lock.
func (p *IdP) authenticate(r *http.Request, v url.Values) (*Client, *fault) {
	id, secret, method := v.Get("client_id"), v.Get("client_secret"), authNone
	ways := 0
	if r.Header.Get("Authorization") != "" {
		ways++
		user, password, ok := r.BasicAuth()
		user, errUser := url.QueryUnescape(user) // RFC 6749 section 2.3.1
		password, errPassword := url.QueryUnescape(password)
		if !ok || errUser != nil || errPassword != nil || id != "" && id != user {
			return nil, errClient
		}
		id, secret, method = user, password, authBasic
	}
	if v.Has("client_secret") {
		ways++
		method = authPost
	}
	if v.Has("client_assertion") || v.Has("client_assertion_type") {
		ways++
		method = authSigned
	}
	if ways > 1 {
		return nil, refuse("invalid_request", "the client says in two ways who it is")
	}
	if method == authSigned {
		return p.asserted(id, v)
	}
	c := p.clients[id]
	if c == nil || !slices.Contains(c.AuthMethods, method) ||
		method != authNone && (c.Secret == "" || subtle.ConstantTimeCompare([]byte(c.Secret), []byte(secret)) != 1) {
		return nil, errClient
	}
	return c, nil
}

// asserted is authenticate for private_key_jwt (RFC 7523 section 3).
func (p *IdP) asserted(id string, v url.Values) (*Client, *fault) {
	if v.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return nil, refuse("invalid_request", "the type of the client assertion must be jwt-bearer")
	}
	signed, err := jose.ParseSignedCompact(v.Get("client_assertion"), []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return nil, errClient
	}
	var claims struct {
		Issuer  string          `json:"iss"`
		Subject string          `json:"sub"`
		Aud     json.RawMessage `json:"aud"`
		Expires int64           `json:"exp"`
		ID      string          `json:"jti"`
	}
	if jsonx.Unmarshal(signed.UnsafePayloadWithoutVerification(), &claims) != nil {
		return nil, errClient
	}
	c := p.clients[claims.Subject]
	if c == nil || claims.Issuer != claims.Subject || id != "" && id != c.ID || !slices.Contains(c.AuthMethods, authSigned) ||
		!slices.ContainsFunc(publicKeys(c.Keys), func(k jose.JSONWebKey) bool { _, err := signed.Verify(k); return err == nil }) {
		return nil, errClient
	}
	now := p.time().Unix()
	aud := texts(claims.Aud)
	if !slices.Contains(aud, p.issuer) && !slices.Contains(aud, strings.TrimSuffix(p.issuer, "/")+"/token") ||
		claims.Expires <= now || claims.ID == "" || p.assertions[c.ID+" "+claims.ID] > now {
		return nil, errClient
	}
	for used, expires := range p.assertions {
		if expires <= now {
			delete(p.assertions, used)
		}
	}
	if len(p.assertions) >= maxHeld {
		return nil, errFull
	}
	p.assertions[c.ID+" "+claims.ID] = claims.Expires
	return c, nil
}

// publicKeys reads a JWK set. What is no public key is left out.
func publicKeys(set []byte) []jose.JSONWebKey {
	var doc struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if jsonx.Unmarshal(set, &doc) != nil {
		return nil
	}
	var out []jose.JSONWebKey
	for _, raw := range doc.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && k.Valid() && k.IsPublic() {
			out = append(out, k)
		}
	}
	return out
}

// texts reads a string or an array of strings; nil when it is neither.
func texts(raw []byte) []string {
	var one string
	if jsonx.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	_ = jsonx.Unmarshal(raw, &many) // anything else is no text
	return many
}
