// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxBody bounds what a request may carry; 64 KiB is far more than any needs.
const maxBody = 64 << 10

// maxPaths bounds how many requests are remembered.
const maxPaths = 10_000

// endpoint is one that the metadata names.
type endpoint struct {
	member  string // of the metadata
	path    string // below that of the issuer
	methods string // comma-separated
	serve   func(p *IdP, w http.ResponseWriter, r *http.Request, as role)
}

// endpoints are all but the metadata itself.
var endpoints = []endpoint{
	{"jwks_uri", "/jwks", "GET,HEAD", (*IdP).serveJWKS},
	{"authorization_endpoint", "/authorize", "GET,POST", (*IdP).serveAuthorize},
	{"token_endpoint", "/token", "POST", (*IdP).serveToken},
	{"registration_endpoint", "/register", "POST", (*IdP).serveRegister},
	{"introspection_endpoint", "/introspect", "POST", (*IdP).serveIntrospect},
	{"revocation_endpoint", "/revoke", "POST", (*IdP).serveRevoke},
}

// role is the issuer that answers: the IdP itself, or the foreign one that
// stands below it and shares its endpoints.
type role struct {
	issuer  string
	foreign bool
}

// ServeHTTP serves the metadata at every place that RFC 8414 and OpenID Connect
// Discovery prescribe for the issuer, and the endpoints that it names. What is
// asked for elsewhere is not found, so a client that guesses is seen.
func (p *IdP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	issuer := p.issuer
	if len(p.paths) < maxPaths {
		p.paths = append(p.paths, r.Method+" "+r.URL.Path)
	}
	p.mu.Unlock()
	for _, m := range p.faults() {
		if m.serve != nil && m.serve(w, r) {
			return
		}
	}

	as := role{issuer: issuer}
	base := issuerPath(issuer)
	if isMetadata(r.URL.Path, base+foreignPath) || strings.HasPrefix(r.URL.Path, base+foreignPath+"/") {
		as, base = role{issuer + foreignPath, true}, base+foreignPath
	}
	if isMetadata(r.URL.Path, base) {
		if allowed(w, r, "GET,HEAD") {
			p.serveMetadata(w, r, as)
		}
		return
	}
	for _, e := range endpoints {
		if r.URL.Path == base+e.path {
			if allowed(w, r, e.methods) {
				e.serve(p, w, r, as)
			}
			return
		}
	}
	http.NotFound(w, r)
}

// Paths lists the method and the path of every request, in order of arrival:
// the first 10,000 of them.
func (p *IdP) Paths() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.paths)
}

// issuerPath is the path of an issuer without its last slash.
func issuerPath(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}

func allowed(w http.ResponseWriter, r *http.Request, methods string) bool {
	if slices.Contains(strings.Split(methods, ","), r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.ReplaceAll(methods, ",", ", "))
	w.WriteHeader(http.StatusMethodNotAllowed)
	return false
}

func (p *IdP) serveJWKS(w http.ResponseWriter, _ *http.Request, as role) {
	if !as.foreign {
		writeJSON(w, http.StatusOK, p.JWKS())
		return
	}
	p.mu.Lock()
	foreign := p.foreign
	p.mu.Unlock()
	writeJSON(w, http.StatusOK, keySet([]generation{foreign()}))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // whoever left gets nothing
}

// fault is an error as OAuth has it (RFC 6749 section 5.2). Its text is always
// one of ours: nothing of a request stands in it.
type fault struct {
	status     int
	code, text string
}

func refuse(code, text string) *fault { return &fault{http.StatusBadRequest, code, text} }

func (f *fault) write(w http.ResponseWriter) {
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="authtest"`)
	}
	writeJSON(w, f.status, document(map[string]any{"error": f.code, "error_description": f.text}))
}

// body reads a bounded body of the media type.
func body(w http.ResponseWriter, r *http.Request, media string) ([]byte, *fault) {
	if got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || got != media {
		return nil, refuse("invalid_request", "the content type must be "+media)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, refuse("invalid_request", "the body cannot be read, or has more than 64 KiB")
	}
	return raw, nil
}

// form reads the parameters of a request with a form.
func form(w http.ResponseWriter, r *http.Request) (url.Values, *fault) {
	raw, f := body(w, r, "application/x-www-form-urlencoded")
	if f != nil {
		return nil, f
	}
	return parameters(string(raw))
}

// parameters reads a form or a query. Only resource may stand twice (RFC 6749
// section 3.1, RFC 8707 section 2).
func parameters(raw string) (url.Values, *fault) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse("invalid_request", "the parameters cannot be read")
	}
	for name, all := range values {
		if len(all) > 1 && name != "resource" {
			return nil, refuse("invalid_request", "a parameter stands there twice")
		}
	}
	return values, nil
}
