// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/authtest"
)

// clientSees walks the whole flow as a careful client does, and names what it
// stumbles over. It is empty when all is well.
func clientSees(t *testing.T, p *authtest.IdP) string {
	t.Helper()
	status, doc := fetch(t, p.Issuer()+"/.well-known/oauth-authorization-server")
	methods, _ := doc["code_challenge_methods_supported"].([]any)
	endpoint, _ := doc["authorization_endpoint"].(string)
	switch {
	case status != 200:
		return "metadata status"
	case doc == nil:
		return "metadata is no JSON"
	case doc["issuer"] != p.Issuer():
		return "metadata issuer"
	case methods == nil:
		return "no PKCE"
	case !slices.Contains(methods, any("S256")):
		return "no S256"
	}
	resp, err := client.Get(endpoint + "?" + request().Encode())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	place, _, _ := strings.Cut(u.String(), "?")
	answer := u.Query()
	switch {
	case place != callback:
		return "redirect"
	case !answer.Has("state"):
		return "no state"
	case answer.Get("state") != "st&te":
		return "state"
	case !answer.Has("iss"):
		return "no iss"
	case answer.Get("iss") != p.Issuer():
		return "iss " + strings.TrimPrefix(answer.Get("iss"), p.Issuer())
	}
	_, doc = post(t, p, "/token", exchange(answer.Get("code")))
	if doc["scope"] != "mcp:read mcp:write" {
		return "scope"
	}
	token, _ := doc["access_token"].(string)
	if _, err := newVerifier(t, p).verify(token); err != nil {
		return "token"
	}
	return ""
}

// Each misbehaviour is seen as what it is, and leaves nothing behind.
func TestMisbehaviours(t *testing.T) {
	seen := map[string]string{
		"iss-wrong": "iss https://issuer.invalid", "iss-missing": "no iss", "state-wrong": "state", "state-missing": "no state",
		"metadata-issuer": "metadata issuer", "metadata-no-s256": "no S256", "metadata-no-pkce": "no PKCE", "mix-up": "iss /foreign",
		"redirect-mismatch": "redirect", "scope-downgrade": "scope", "jwks-stale": "token", "status-500": "metadata status", "html": "metadata is no JSON",
		"slow": "", // has a test of its own
	}
	p := served(t, authtest.Options{})
	for _, m := range authtest.Misbehaviours() {
		want, known := seen[m.Name]
		if !known {
			t.Errorf("%s has no test", m.Name)
		}
		if m.Name == "slow" {
			continue
		}
		if err := p.Misbehave(m.Name); err != nil {
			t.Fatal(err)
		}
		if got := clientSees(t, p); got != want {
			t.Errorf("%s: the client sees %q, want %q", m.Name, got, want)
		}
		if err := p.Misbehave(); err != nil {
			t.Fatal(err)
		}
		if got := clientSees(t, p); got != "" {
			t.Errorf("after %s the client sees %q", m.Name, got)
		}
	}
	p.Rotate()
	if err := p.Misbehave("jwks-stale"); err != nil {
		t.Fatal(err)
	}
	if got := clientSees(t, p); got != "token" {
		t.Errorf("jwks-stale after a rotation: the client sees %q", got)
	}
	if err := p.Misbehave("iss-wrong", "nothing"); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestSlow(t *testing.T) {
	p := authtest.New(authtest.Options{})
	if err := p.Misbehave("slow"); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, httptest.NewRequest("GET", "/jwks", nil))
		if took := time.Since(start); took != 30*time.Second || rec.Code != 200 {
			t.Errorf("after %v: status %d", took, rec.Code)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		rec = httptest.NewRecorder()
		p.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, "GET", "/jwks", nil))
		if took := time.Since(start); took != time.Second || rec.Body.Len() != 0 {
			t.Errorf("whoever leaves waits %v and reads %d bytes", took, rec.Body.Len())
		}
	})
}
