// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Misbehaviour is a fault of the authorization server itself, which a client
// (and for the keys a server) must notice. An IdP has none until Misbehave.
type Misbehaviour struct {
	Name    string
	What    string // one sentence: what the IdP does
	Section string // the text that it breaks, or that says what to do about it

	// Where it happens; nil elsewhere.
	serve    func(w http.ResponseWriter, r *http.Request) (done bool)
	metadata func(doc map[string]any, as role)
	answer   func(v url.Values)
	redirect func(uri string) string
	scopes   func(granted []string) []string
	keys     func(published []generation, before func() generation) []generation
}

// The texts of MCP about authorization servers.
const (
	discovery  = "2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery"
	validation = "2026-07-28/basic/authorization#authorization-response-validation"
	protection = "2026-07-28/basic/authorization/security-considerations#authorization-code-protection"
)

const otherIssuer = "https://issuer.invalid"

// slowFor is how long the misbehaviour slow waits: longer than any client should.
const slowFor = 30 * time.Second

// Misbehaviours is the catalogue of what an IdP can do wrong.
func Misbehaviours() []Misbehaviour { return slices.Clone(misbehaviours) }

var misbehaviours = []Misbehaviour{
	{Name: "iss-wrong", What: "The answer to an authorization names another issuer.", Section: validation,
		answer: func(v url.Values) { v.Set("iss", otherIssuer) }},
	{Name: "iss-missing", What: "The answer to an authorization names no issuer, although the metadata says that it does.", Section: validation,
		answer: func(v url.Values) { v.Del("iss") }},
	{Name: "state-wrong", What: "The answer to an authorization has another state.", Section: "RFC 6749 section 10.12",
		answer: func(v url.Values) { v.Set("state", "another") }},
	{Name: "state-missing", What: "The answer to an authorization has no state.", Section: "RFC 6749 section 10.12",
		answer: func(v url.Values) { v.Del("state") }},
	{Name: "metadata-issuer", What: "The metadata names another issuer.", Section: discovery,
		metadata: func(doc map[string]any, _ role) { doc["issuer"] = otherIssuer }},
	{Name: "metadata-no-s256", What: "The metadata names only the method plain for PKCE.", Section: protection,
		metadata: func(doc map[string]any, _ role) { doc["code_challenge_methods_supported"] = []string{"plain"} }},
	{Name: "metadata-no-pkce", What: "The metadata names no method for PKCE.", Section: protection,
		metadata: func(doc map[string]any, _ role) { delete(doc, "code_challenge_methods_supported") }},
	{Name: "mix-up", What: "The metadata sends people to another issuer, so the answer is of that one.", Section: "RFC 9207 section 1",
		metadata: func(doc map[string]any, as role) {
			if !as.foreign {
				doc["authorization_endpoint"] = strings.TrimSuffix(as.issuer, "/") + foreignPath + "/authorize"
			}
		}},
	{Name: "redirect-mismatch", What: "The answer to an authorization goes to another path than was asked for.", Section: "RFC 9700 section 4.1",
		redirect: func(uri string) string {
			place, query, found := strings.Cut(uri, "?")
			if found {
				query = "?" + query
			}
			return place + "-other" + query
		}},
	{Name: "scope-downgrade", What: "The token has only the first of the scopes that were granted, and the answer says so.", Section: "RFC 6749 section 3.3",
		scopes: func(granted []string) []string { return granted[:min(1, len(granted))] }},
	{Name: "jwks-stale", What: "The key that signs is not published; one from before it is.", Section: "RFC 7517 section 5",
		keys: func(published []generation, before func() generation) []generation {
			if len(published) > 1 {
				return published[1:]
			}
			return []generation{before()}
		}},
	{Name: "slow", What: "Every answer takes 30 seconds.", Section: "2026-07-28/basic/authorization#overview",
		serve: func(_ http.ResponseWriter, r *http.Request) bool {
			wait := time.NewTimer(slowFor)
			defer wait.Stop()
			select {
			case <-wait.C:
				return false
			case <-r.Context().Done():
				return true
			}
		}},
	{Name: "status-500", What: "Every answer is an internal error.", Section: "2026-07-28/basic/authorization#overview",
		serve: func(w http.ResponseWriter, _ *http.Request) bool {
			(&fault{http.StatusInternalServerError, "server_error", "the test server was told to fail"}).write(w)
			return true
		}},
	{Name: "html", What: "Every answer is a page with the status 200.", Section: "2026-07-28/basic/authorization#overview",
		serve: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<!doctype html><title>Sign in</title><p>Please sign in.</p>\n")) // whoever left gets nothing
			return true
		}},
}

// Misbehave says what the IdP does wrong from now on, by the names of the
// catalogue; without a name it does nothing wrong. An unknown name is an error,
// and changes nothing.
func (p *IdP) Misbehave(names ...string) error {
	var chosen []Misbehaviour
	for _, name := range names {
		i := slices.IndexFunc(misbehaviours, func(m Misbehaviour) bool { return m.Name == name })
		if i < 0 {
			return fmt.Errorf("there is no misbehaviour %q", name)
		}
		chosen = append(chosen, misbehaviours[i])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.misbehaving = chosen
	return nil
}

// faults are the misbehaviours that are on.
func (p *IdP) faults() []Misbehaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.misbehaving
}
