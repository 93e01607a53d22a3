// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcprove/mcprove/authtest"
)

// timed runs both a few times in turn and reports how many times as long the
// first takes.
func timed(b *testing.B, ours, theirs func()) {
	b.Helper()
	var sumOurs, sumTheirs time.Duration
	for b.Loop() {
		start := time.Now()
		ours()
		mid := time.Now()
		theirs()
		sumOurs, sumTheirs = sumOurs+mid.Sub(start), sumTheirs+time.Since(mid)
	}
	b.ReportMetric(float64(sumOurs)/float64(sumTheirs), "x-of-go-jose")
}

// BenchmarkMint compares minting with signing the same payload by go-jose.
func BenchmarkMint(b *testing.B) {
	for _, alg := range []string{authtest.RS256, authtest.ES256} {
		b.Run(alg, func(b *testing.B) {
			p := authtest.New(authtest.Options{Alg: alg})
			claims := p.Claims("alice", resource, "mcp:read")
			payload, err := json.Marshal(claims)
			if err != nil {
				b.Fatal(err)
			}
			var private any
			if private, err = rsa.GenerateKey(rand.Reader, 2048); alg == authtest.ES256 {
				private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			}
			if err != nil {
				b.Fatal(err)
			}
			signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(alg), Key: private}, nil)
			if err != nil {
				b.Fatal(err)
			}
			timed(b, func() { p.Mint(claims) }, func() {
				signed, err := signer.Sign(payload)
				if err == nil {
					_, err = signed.CompactSerialize()
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkVerify compares introspection, which verifies, with go-jose alone.
func BenchmarkVerify(b *testing.B) {
	for _, alg := range []string{authtest.RS256, authtest.ES256} {
		b.Run(alg, func(b *testing.B) {
			p := authtest.New(authtest.Options{Alg: alg})
			token := p.Token("alice", resource, "mcp:read")
			var set jose.JSONWebKeySet
			if err := json.Unmarshal(p.JWKS(), &set); err != nil {
				b.Fatal(err)
			}
			h, _, _ := decode(b, token)
			kid, _ := h["kid"].(string)
			key := set.Key(kid)[0]
			secret := secretOf(b, p, "service")
			form := url.Values{"token": {token}}.Encode()
			timed(b, func() {
				req := httptest.NewRequest("POST", "/introspect", strings.NewReader(form))
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				req.SetBasicAuth("service", secret)
				rec := httptest.NewRecorder()
				p.ServeHTTP(rec, req)
				if !strings.Contains(rec.Body.String(), `"active":true`) {
					b.Fatal(rec.Code)
				}
			}, func() {
				signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
				if err == nil {
					_, err = signed.Verify(key)
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
