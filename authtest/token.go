// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// Claims are the payload of a token by the names of RFC 7519. Values are what
// JSON knows; times are seconds since 1970.
type Claims map[string]any

// With returns a copy with one claim set.
func (c Claims) With(name string, value any) Claims {
	out := maps.Clone(c)
	if out == nil {
		out = Claims{}
	}
	out[name] = value
	return out
}

// Without returns a copy that lacks one claim.
func (c Claims) Without(name string) Claims {
	out := maps.Clone(c)
	delete(out, name)
	return out
}

// Header is the protected header of a token by the names of RFC 7515.
type Header map[string]any

// typeAccessToken marks an access token (RFC 9068 section 2.1).
const typeAccessToken = "at+jwt"

// Claims are those of a good token for a principal, with a new jti. The
// audience is the identifier of the resource (RFC 8707). A name that is no
// principal's is taken as the subject. The client is app.
func (p *IdP) Claims(principal, audience string, scopes ...string) Claims {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims(p.subject(principal), clientApp, audience, scopes)
}

func (p *IdP) claims(subject, client string, audience any, scopes []string) Claims {
	now := p.time().Unix()
	return Claims{
		"iss": p.issuer, "sub": subject, "aud": audience, "client_id": client,
		"iat": now, "exp": now + int64(Lifetime.Seconds()),
		"jti": p.random("jti"), "scope": strings.Join(scopes, " "),
	}
}

func (p *IdP) subject(principal string) string {
	i := slices.IndexFunc(p.principals, func(q Principal) bool { return q.Name == principal })
	if i < 0 || p.principals[i].Subject == "" {
		return principal
	}
	return p.principals[i].Subject
}

// Token is a good access token (RFC 9068) for a principal, as [IdP.Claims] has it.
func (p *IdP) Token(principal, audience string, scopes ...string) string {
	return p.Mint(p.Claims(principal, audience, scopes...))
}

// Mint signs any claims as the issuer signs its access tokens. It panics on a
// value that JSON does not know.
func (p *IdP) Mint(c Claims) string { return p.MintAs(nil, c) }

// MintAs is Mint with members of the header set, or taken out where the value
// is nil. The signature is always that of the current key: a header that says
// otherwise lies.
func (p *IdP) MintAs(h Header, c Claims) string {
	p.mu.Lock()
	k := p.current.of(p.alg)
	p.mu.Unlock()
	return compact(goodHeader(k).over(h), c, k.sign)
}

func goodHeader(k *key) Header {
	return Header{"alg": k.alg, "kid": k.kid, "typ": typeAccessToken}
}

func (h Header) over(changes Header) Header {
	out := maps.Clone(h)
	for name, value := range changes {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = value
		}
	}
	return out
}

// compact is the compact serialization (RFC 7515 section 7.1). It is written
// here and not by go-jose, which rightly refuses to make most wrong tokens.
func compact(h Header, c Claims, sign func(input []byte) []byte) string {
	input := base64url(document(h)) + "." + base64url(document(c))
	return input + "." + base64url(sign([]byte(input)))
}

func base64url(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
