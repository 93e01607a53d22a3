// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The well-known suffixes of RFC 8414, OpenID Connect Discovery and RFC 9728.
const (
	wellKnownOAuth    = "/.well-known/oauth-authorization-server"
	wellKnownOpenID   = "/.well-known/openid-configuration"
	wellKnownResource = "/.well-known/oauth-protected-resource"
)

// isMetadata reports whether a path is one of those where the metadata of the
// issuer with the path base is found: inserted before it, and for OpenID also
// behind it.
func isMetadata(path, base string) bool {
	return path == wellKnownOAuth+base || path == wellKnownOpenID+base || path == base+wellKnownOpenID
}

func (p *IdP) serveMetadata(w http.ResponseWriter, r *http.Request, as role) {
	base := strings.TrimSuffix(as.issuer, "/")
	doc := map[string]any{
		"issuer":                                                   as.issuer,
		"scopes_supported":                                         append(p.scopes(), scopeOffline),
		"response_types_supported":                                 []string{"code"},
		"response_modes_supported":                                 []string{"query"},
		"grant_types_supported":                                    grantTypes,
		"code_challenge_methods_supported":                         []string{"S256"},
		"token_endpoint_auth_methods_supported":                    authMethods,
		"token_endpoint_auth_signing_alg_values_supported":         []string{RS256, ES256},
		"introspection_endpoint_auth_methods_supported":            authMethods[1:],
		"revocation_endpoint_auth_methods_supported":               authMethods,
		"authorization_response_iss_parameter_supported":           true,
		"client_id_metadata_document_supported":                    p.fetchClient != nil,
		"introspection_endpoint_auth_signing_alg_values_supported": []string{RS256, ES256},
		"revocation_endpoint_auth_signing_alg_values_supported":    []string{RS256, ES256},
	}
	for _, e := range endpoints {
		doc[e.member] = base + e.path
	}
	if strings.Contains(r.URL.Path, wellKnownOpenID) {
		doc["subject_types_supported"] = []string{"public"}
		doc["id_token_signing_alg_values_supported"] = []string{RS256}
	}
	for _, m := range p.faults() {
		if m.metadata != nil {
			m.metadata(doc, as)
		}
	}
	writeJSON(w, http.StatusOK, document(doc))
}

// scopes are those that anybody can be granted, sorted.
func (p *IdP) scopes() []string {
	out := []string{}
	for _, q := range p.principals {
		out = append(out, q.Scopes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ProtectedResource serves the metadata of a resource that trusts this IdP
// (RFC 9728), at whatever place it is mounted: see [ProtectedResourceURL].
func (p *IdP) ProtectedResource(resource string, scopes ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(w, r, "GET,HEAD") {
			return
		}
		doc := map[string]any{
			"resource":                 resource,
			"authorization_servers":    []string{p.Issuer()},
			"bearer_methods_supported": []string{"header"},
		}
		if len(scopes) > 0 {
			doc["scopes_supported"] = scopes
		}
		writeJSON(w, http.StatusOK, document(doc))
	})
}

// ProtectedResourceURL is where the metadata of a resource stands (RFC 9728
// section 3.1): the well-known suffix goes between its host and its path. It is
// empty for what is no absolute URL.
func ProtectedResourceURL(resource string) string {
	u, err := url.Parse(resource)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return ""
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	out := u.Scheme + "://" + u.Host + wellKnownResource + path
	if u.RawQuery != "" {
		out += "?" + u.RawQuery
	}
	return out
}
