// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// serveIntrospect says what a token is worth now (RFC 7662), to clients that
// prove who they are.
func (p *IdP) serveIntrospect(w http.ResponseWriter, r *http.Request, _ role) {
	p.about(w, r, func(c *Client, token string) (map[string]any, *fault) {
		if slices.Contains(c.AuthMethods, authNone) {
			return nil, errClient
		}
		if g := p.refreshes[token]; g != nil && !g.revoked && g.refresh == token {
			return map[string]any{"active": true, "client_id": g.client, "sub": g.subject}, nil
		}
		claims := p.active(token)
		if claims == nil {
			return map[string]any{"active": false}, nil
		}
		claims["active"], claims["token_type"] = true, "Bearer"
		return claims, nil
	})
}

// serveRevoke ends a token (RFC 7009). With a refresh token ends its grant, and
// with an access token that token alone.
func (p *IdP) serveRevoke(w http.ResponseWriter, r *http.Request, _ role) {
	p.about(w, r, func(c *Client, token string) (map[string]any, *fault) {
		if g := p.refreshes[token]; g != nil {
			if g.client != c.ID {
				return nil, errGrant
			}
			g.revoked = true
			return nil, nil
		}
		id, _ := p.active(token)["jti"].(string)
		i, ok := p.issued[id]
		if !ok {
			return nil, nil // what is no token, is revoked
		}
		if i.grant.client != c.ID {
			return nil, errGrant
		}
		i.revoked = true
		p.issued[id] = i
		return nil, nil
	})
}

// about answers a question of a client about a token; no answer is an empty 200.
func (p *IdP) about(w http.ResponseWriter, r *http.Request, answer func(*Client, string) (map[string]any, *fault)) {
	v, f := form(w, r)
	if f != nil {
		f.write(w)
		return
	}
	doc, f := p.asked(r, v, answer)
	switch {
	case f != nil:
		f.write(w)
	case doc == nil:
		w.WriteHeader(http.StatusOK)
	default:
		writeJSON(w, http.StatusOK, document(doc))
	}
}

func (p *IdP) asked(r *http.Request, v url.Values, answer func(*Client, string) (map[string]any, *fault)) (map[string]any, *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, f := p.authenticate(r, v)
	if f != nil {
		return nil, f
	}
	if v.Get("token") == "" {
		return nil, refuse("invalid_request", "the token is missing")
	}
	return answer(c, v.Get("token"))
}

// active returns the claims of an access token of this issuer that is good now,
// nil for any other. The caller holds the lock.
func (p *IdP) active(token string) Claims {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(p.alg)})
	if err != nil {
		return nil
	}
	typ, _ := signed.Signatures[0].Protected.ExtraHeaders[jose.HeaderType].(string)
	if strings.TrimPrefix(typ, "application/") != typeAccessToken {
		return nil
	}
	for _, g := range append([]generation{p.current}, p.old...) {
		k := g.of(p.alg)
		if k.kid != signed.Signatures[0].Protected.KeyID {
			continue
		}
		payload, err := signed.Verify(k.private.Public())
		var claims Claims
		if err != nil || jsonx.Unmarshal(payload, &claims) != nil {
			return nil
		}
		now := float64(p.time().Unix())
		expires, hasEnd := claims["exp"].(float64)
		begins, _ := claims["nbf"].(float64)
		id, _ := claims["jti"].(string)
		i, given := p.issued[id]
		if claims["iss"] != p.issuer || !hasEnd || expires <= now || begins > now || given && (i.revoked || i.grant.revoked) {
			return nil
		}
		return claims
	}
	return nil
}
