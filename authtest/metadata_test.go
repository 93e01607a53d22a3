// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/authtest"
)

func TestMetadataAtEveryPrescribedPlace(t *testing.T) {
	for _, test := range []struct {
		issuer string
		found  []string
		not    []string
	}{
		{"http://127.0.0.1",
			[]string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"},
			[]string{"/.well-known/oauth-authorization-server/tenant", "/metadata"}},
		{"http://127.0.0.1/tenant",
			[]string{"/.well-known/oauth-authorization-server/tenant", "/.well-known/openid-configuration/tenant", "/tenant/.well-known/openid-configuration"},
			[]string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/tenant/.well-known/oauth-authorization-server"}},
	} {
		p := served(t, authtest.Options{Issuer: test.issuer})
		root := strings.TrimSuffix(p.Issuer(), "/tenant")
		for _, path := range test.found {
			status, doc := fetch(t, root+path)
			if status != 200 || doc["issuer"] != p.Issuer() {
				t.Errorf("%s: status %d, issuer %v, want %s", path, status, doc["issuer"], p.Issuer())
				continue
			}
			for name, want := range map[string]any{
				"authorization_endpoint": p.Issuer() + "/authorize", "token_endpoint": p.Issuer() + "/token",
				"jwks_uri": p.Issuer() + "/jwks", "registration_endpoint": p.Issuer() + "/register",
				"introspection_endpoint": p.Issuer() + "/introspect", "revocation_endpoint": p.Issuer() + "/revoke",
				"response_types_supported": []any{"code"}, "code_challenge_methods_supported": []any{"S256"},
				"authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": false,
				"scopes_supported": []any{"mcp:read", "mcp:write", "offline_access"},
			} {
				if !reflect.DeepEqual(doc[name], want) {
					t.Errorf("%s: %s is %v, want %v", path, name, doc[name], want)
				}
			}
			if _, has := doc["subject_types_supported"]; has != strings.Contains(path, "openid") {
				t.Errorf("%s: subject_types_supported is there: %v", path, has)
			}
		}
		for _, path := range test.not {
			if status, _ := fetch(t, root+path); status != 404 {
				t.Errorf("%s: status %d, want 404", path, status)
			}
		}
		if paths := p.Paths(); !slices.Contains(paths, "GET "+test.found[0]) || len(paths) != len(test.found)+len(test.not) {
			t.Errorf("the IdP saw %v", paths)
		}
	}
}

func TestProtectedResource(t *testing.T) {
	p := authtest.New(authtest.Options{Issuer: "https://as.test"})
	rec := httptest.NewRecorder()
	p.ProtectedResource(resource, "mcp:read").ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	_, doc := read(t, rec.Result())
	want := map[string]any{"resource": resource, "authorization_servers": []any{"https://as.test"},
		"bearer_methods_supported": []any{"header"}, "scopes_supported": []any{"mcp:read"}}
	if !reflect.DeepEqual(doc, want) || rec.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %v of %s, want %v", doc, rec.Header().Get("Content-Type"), want)
	}
	rec = httptest.NewRecorder()
	p.ProtectedResource(resource).ServeHTTP(rec, httptest.NewRequest("POST", "/", nil))
	if rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST gives %d, Allow %q", rec.Code, rec.Header().Get("Allow"))
	}
	for in, want := range map[string]string{
		"https://mcp.test":          "https://mcp.test/.well-known/oauth-protected-resource",
		"https://mcp.test/":         "https://mcp.test/.well-known/oauth-protected-resource",
		"http://127.0.0.1:81/a/mcp": "http://127.0.0.1:81/.well-known/oauth-protected-resource/a/mcp",
		"https://mcp.test/mcp?x=1":  "https://mcp.test/.well-known/oauth-protected-resource/mcp?x=1",
		"mcp":                       "",
	} {
		if got := authtest.ProtectedResourceURL(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
