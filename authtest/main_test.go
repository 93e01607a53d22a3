// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/authtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const resource = "https://mcp.test/mcp"

// served is an IdP on a loopback port.
func served(t testing.TB, o authtest.Options) *authtest.IdP {
	t.Helper()
	p := authtest.New(o)
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	path := ""
	if o.Issuer != "" {
		u, err := url.Parse(o.Issuer)
		if err != nil {
			t.Fatal(err)
		}
		path = u.Path
	}
	p.SetIssuer(srv.URL + path)
	return p
}

// fetch reads a document of the IdP.
func fetch(t testing.TB, url string) (int, map[string]any) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

// client follows no redirect, and keeps no connection that goleak would find.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       20 * time.Second,
}

func read(t testing.TB, resp *http.Response) (int, map[string]any) {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	_ = json.Unmarshal(raw, &doc) // what is no object is nil, which tests see
	return resp.StatusCode, doc
}

// verifier is a resource server's token check, written against the texts alone:
// keys out of the JWKS over HTTP, everything else out of its own settings.
type verifier struct {
	issuer, audience string
	keys             jose.JSONWebKeySet
	now              func() time.Time
	lacks            string // the one check that is left out
}

func newVerifier(t testing.TB, p *authtest.IdP) *verifier {
	t.Helper()
	resp, err := client.Get(p.Issuer() + "/jwks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	v := &verifier{issuer: p.Issuer(), audience: resource, now: p.Now}
	if err := json.NewDecoder(resp.Body).Decode(&v.keys); err != nil || len(v.keys.Keys) == 0 {
		t.Fatalf("no keys: %v", err)
	}
	return v
}

func (v *verifier) verify(token string) (map[string]any, error) {
	algs := []jose.SignatureAlgorithm{jose.RS256, jose.ES256}
	if v.lacks == "algorithm" {
		algs = append(algs, jose.HS256)
	}
	signed, err := jose.ParseSignedCompact(token, algs)
	if err != nil {
		return nil, err
	}
	h := signed.Signatures[0].Protected
	if typ := h.ExtraHeaders[jose.HeaderType]; v.lacks != "typ" && typ != "at+jwt" && typ != "application/at+jwt" {
		return nil, fmt.Errorf("typ is %v", typ)
	}
	payload, err := v.payload(signed)
	if err != nil {
		return nil, err
	}
	var c map[string]any
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	now := float64(v.now().Unix())
	exp, hasExp := c["exp"].(float64)
	nbf, _ := c["nbf"].(float64)
	aud, _ := c["aud"].([]any)
	if one, ok := c["aud"].(string); ok {
		aud = []any{one}
	}
	sub, _ := c["sub"].(string)
	switch {
	case v.lacks != "iss" && c["iss"] != v.issuer:
		return nil, fmt.Errorf("iss is %v", c["iss"])
	case v.lacks != "aud" && !slices.ContainsFunc(aud, func(a any) bool {
		text, _ := a.(string)
		return text == v.audience || v.lacks == "aud exact" && strings.HasPrefix(text, v.audience)
	}):
		return nil, fmt.Errorf("aud is %v", aud)
	case v.lacks != "exp" && (!hasExp || exp <= now):
		return nil, fmt.Errorf("expired")
	case v.lacks != "nbf" && nbf > now:
		return nil, fmt.Errorf("not yet valid")
	case v.lacks != "sub" && sub == "":
		return nil, fmt.Errorf("no sub")
	}
	return c, nil
}

// payload checks the signature.
func (v *verifier) payload(signed *jose.JSONWebSignature) ([]byte, error) {
	h := signed.Signatures[0].Protected
	keys := v.keys.Key(h.KeyID)
	switch {
	case v.lacks == "signature":
		return signed.UnsafePayloadWithoutVerification(), nil
	case v.lacks == "key source" && h.JSONWebKey != nil:
		return signed.Verify(h.JSONWebKey)
	case len(keys) != 1:
		return nil, fmt.Errorf("no key")
	case v.lacks == "algorithm" && h.Algorithm == "HS256":
		der, err := x509.MarshalPKIXPublicKey(keys[0].Key)
		if err != nil {
			return nil, err
		}
		return signed.Verify(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	case keys[0].Algorithm != h.Algorithm:
		return nil, fmt.Errorf("another algorithm")
	}
	return signed.Verify(keys[0].Key)
}

// decode takes a token apart, without any check.
func decode(t testing.TB, token string) (header, claims map[string]any, signature string) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("a token of %d parts", len(parts))
	}
	for i, into := range []*map[string]any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return header, claims, parts[2]
}
