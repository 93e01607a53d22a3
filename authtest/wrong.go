// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"time"
)

// Wrong is a token that a server must refuse.
type Wrong struct {
	Name string
	What string // one sentence: what is wrong
	// Section names the text that has it refused: a page and heading of MCP, or
	// a section of an RFC.
	Section string
	// Demanded is set where every protected server must refuse: MCP or JWT says
	// so, or whoever accepts takes tokens that the issuer did not make.
	// Otherwise a profile says so (RFC 9068) that a server may not claim.
	Demanded bool
	// Part is the one thing that differs from the good token: "claim aud",
	// "header alg", "signature". A changed header has the signature that the
	// attack gives it; a changed claim is signed by the issuer, unless What
	// says otherwise.
	Part string
	// Token makes the wrong token out of the claims of a good one.
	Token func(good Claims) string
}

// The texts that have a token refused.
const (
	handling  = "2026-07-28/basic/authorization#token-handling"
	signature = "RFC 7519 section 7.2"
	profile   = "RFC 9068 section 4"
	confusion = "RFC 8725 section 3.1"
	foreignID = "RFC 8725 section 3.10"
	trusted   = "RFC 8725 section 3.8"
	headerCut = "RFC 7515 section 4.1.11"
)

// foreignPath is where the handler plays another issuer, below its own path.
const foreignPath = "/foreign"

// maker has the keys that stood when the catalogue was made.
type maker struct {
	issuer         string
	now            time.Time
	own            *key // signs the good tokens
	foreign, stale func() *key
	withdrawn      bool // the stale key was published once, so caches may have it
}

func (p *IdP) maker() maker {
	p.mu.Lock()
	defer p.mu.Unlock()
	foreign, stale, alg := p.foreign, p.unlisted, p.alg
	if len(p.retired) > 0 {
		newest := p.retired[0]
		stale = func() generation { return newest }
	}
	return maker{
		issuer: p.issuer, now: p.time(), own: p.current.of(alg),
		foreign:   func() *key { return foreign().of(alg) },
		stale:     func() *key { return stale().of(alg) },
		withdrawn: len(p.retired) > 0,
	}
}

// good is the token that the others differ from.
func (m maker) good(c Claims) string { return compact(goodHeader(m.own), c, m.own.sign) }

// forged is a token signed by somebody else under our key id.
func (m maker) forged(h Header) func(Claims) string {
	return func(c Claims) string {
		k := m.foreign()
		return compact(goodHeader(m.own).over(h), c, k.sign)
	}
}

// confused is a token whose signature is an HMAC with a public key as the secret.
func (m maker) confused(secret func() []byte) func(Claims) string {
	return func(c Claims) string {
		return compact(goodHeader(m.own).over(Header{"alg": "HS256"}), c, func(input []byte) []byte {
			mac := hmac.New(sha256.New, secret())
			_, _ = mac.Write(input) // never fails
			return mac.Sum(nil)
		})
	}
}

func (m maker) unsigned(alg string) func(Claims) string {
	return func(c Claims) string {
		return compact(goodHeader(m.own).over(Header{"alg": alg}), c, func([]byte) []byte { return nil })
	}
}

// claim is a token signed by the issuer with one claim set, or left out for nil.
func (m maker) claim(name string, value func(was any) any) func(Claims) string {
	return func(c Claims) string {
		if v := value(c[name]); v != nil {
			return m.good(c.With(name, v))
		}
		return m.good(c.Without(name))
	}
}

func (m maker) header(h Header) func(Claims) string {
	return func(c Claims) string { return compact(goodHeader(m.own).over(h), c, m.own.sign) }
}

// PublicKeyPEM is the public key that verifies access tokens, as SPKI in PEM.
func (p *IdP) PublicKeyPEM() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return publicPEM(p.current.of(p.alg))
}

func publicPEM(k *key) []byte {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	if err != nil {
		panic(fmt.Sprintf("authtest: write the key %s: %v", k.kid, err))
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// value ignores what stood there.
func value(v any) func(any) any { return func(any) any { return v } }

// suffixed is the audience with a text behind it.
func suffixed(suffix string) func(any) any {
	return func(was any) any { return fmt.Sprint(was) + suffix }
}

// Wrongs is the catalogue of tokens that must be refused, by the issuer, the keys
// and the time of now: ask again after SetIssuer, Rotate, RetireOldKeys or
// Advance. The good claims must be those of [IdP.Claims], unexpired.
//
// The key of key-stale is the newest that RetireOldKeys took out. Before that it
// is one that was never published.
func (p *IdP) Wrongs() []Wrong {
	m := p.maker()
	past, future := m.now.Add(-Lifetime).Unix(), m.now.Add(Lifetime/2).Unix()
	return []Wrong{
		// Audience.
		{"audience-other", "The token is for another resource of the same issuer.", handling, true, "claim aud",
			m.claim("aud", value("https://other.invalid/mcp"))},
		{"audience-array-other", "The token is for two resources, of which the server is none.", handling, true, "claim aud",
			m.claim("aud", value([]string{"https://other.invalid/mcp", "https://third.invalid/mcp"}))},
		{"audience-missing", "The token says no audience.", handling, true, "claim aud", m.claim("aud", value(nil))},
		{"audience-empty", "The audience is an empty list.", handling, true, "claim aud", m.claim("aud", value([]string{}))},
		{"audience-longer", "The audience only begins with the name of the server.", handling, true, "claim aud",
			m.claim("aud", suffixed(".other.invalid"))},
		{"audience-client", "The audience is the client, as in an ID token.", handling, true, "claim aud", m.claim("aud", value(clientApp))},

		// Issuer.
		{"issuer-other", "The claim iss names another issuer; the signature is ours.", profile, false, "claim iss",
			m.claim("iss", value("https://issuer.invalid"))},
		{"issuer-foreign", "Another issuer signed the token with its own key of the same key id; its metadata and keys can be fetched.",
			trusted, true, "claim iss",
			func(c Claims) string { return m.forged(nil)(c.With("iss", m.issuer+foreignPath)) }},
		{"issuer-missing", "The token says no issuer.", profile, false, "claim iss", m.claim("iss", value(nil))},
		{"issuer-slash", "The issuer has a slash too many; issuers are compared as plain strings.", profile, false, "claim iss",
			m.claim("iss", value(m.issuer+"/"))},

		// Time.
		{"expired", "The token expired before now.", handling, true, "claim exp", m.claim("exp", value(past))},
		{"exp-missing", "The token never expires.", profile, false, "claim exp", m.claim("exp", value(nil))},
		{"not-yet-valid", "The token is valid only later.", "RFC 7519 section 4.1.5", true, "claim nbf", m.claim("nbf", value(future))},

		// Algorithm.
		{"alg-none", "The token is not signed and says so.", confusion, true, "header alg", m.unsigned("none")},
		{"alg-none-case", "The token is not signed and says so in mixed case.", confusion, true, "header alg", m.unsigned("nOnE")},
		{"hs256-pem", "The signature is an HMAC whose secret is the public key in PEM.", confusion, true, "header alg",
			m.confused(func() []byte { return publicPEM(m.own) })},
		{"hs256-jwk", "The signature is an HMAC whose secret is the published JWK.", confusion, true, "header alg", m.confused(m.own.jwk)},

		// Keys that the token brings or names.
		{"jwk-embedded", "The header brings the key that signed the token.", foreignID, true, "header jwk",
			func(c Claims) string { return m.forged(Header{"jwk": json.RawMessage(m.foreign().jwk())})(c) }},
		{"jku-foreign", "The header says where the keys are that signed the token.", foreignID, true, "header jku",
			m.forged(Header{"jku": m.issuer + foreignPath + "/jwks"})},
		{"kid-path", "The key id is a path out of the folder of keys; a foreign key signed.", foreignID, true, "header kid",
			m.forged(Header{"kid": "../../../../../../dev/null"})},
		{"kid-sql", "The key id is a piece of SQL; a foreign key signed.", foreignID, true, "header kid",
			m.forged(Header{"kid": "' UNION SELECT 'key"})},
		{"kid-empty", "The key id is empty; a foreign key signed.", signature, true, "header kid", m.forged(Header{"kid": ""})},
		{"kid-missing", "There is no key id; a foreign key signed.", signature, true, "header kid", m.forged(Header{"kid": nil})},
		{"kid-unknown", "The key id is of no published key; a foreign key signed.", signature, true, "header kid",
			m.forged(Header{"kid": "unknown"})},
		{"key-stale", "The key that signed is of an earlier time, and not published.", signature, !m.withdrawn, "header kid",
			func(c Claims) string { return compact(goodHeader(m.stale()), c, m.stale().sign) }},
		{"crit-unknown", "The header has a critical extension that nobody knows.", headerCut, false, "header crit",
			m.header(Header{"crit": []string{"urn:example:unknown"}})},

		// What the token is, and about whom.
		{"typ-jwt", "The type is that of an ID token, not of an access token.", profile, false, "header typ", m.header(Header{"typ": "JWT"})},
		{"typ-logout", "The type is that of a logout token.", profile, false, "header typ", m.header(Header{"typ": "logout+jwt"})},
		{"sub-missing", "The token is about nobody.", "RFC 9068 section 2.2", false, "claim sub", m.claim("sub", value(nil))},

		// Signature.
		{"signature-foreign", "A foreign key signed, under the key id of ours.", signature, true, "signature", m.forged(nil)},
		{"signature-cut", "The signature lacks its last byte.", signature, true, "signature",
			func(c Claims) string {
				return compact(goodHeader(m.own), c, func(input []byte) []byte { s := m.own.sign(input); return s[:len(s)-1] })
			}},
		{"signature-missing", "The signature is empty.", signature, true, "signature",
			func(c Claims) string { return compact(goodHeader(m.own), c, func([]byte) []byte { return nil }) }},
		{"signature-of-other", "The signature is that of another token.", signature, true, "signature",
			func(c Claims) string { return spliced(m.good(c), m.good(c.With("jti", "another"))) }},
		{"scope-raised", "The scope was changed after the token was signed.", signature, true, "claim scope",
			func(c Claims) string {
				return spliced(m.good(c.With("scope", fmt.Sprint(c["scope"])+" admin")), m.good(c))
			}},
		{"sub-changed", "The subject was changed after the token was signed.", signature, true, "claim sub",
			func(c Claims) string { return spliced(m.good(c.With("sub", fmt.Sprint(c["sub"])+"-other")), m.good(c)) }},
	}
}

// spliced is a token with the signature of another.
func spliced(token, from string) string {
	return token[:strings.LastIndexByte(token, '.')] + from[strings.LastIndexByte(from, '.'):]
}
