// SPDX-License-Identifier: Apache-2.0

package authtest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// The scopes of an IdP that is told of no others.
const (
	ScopeRead  = "mcp:read"
	ScopeWrite = "mcp:write"
)

// Lifetime is how long an access token lives.
const Lifetime = time.Hour

// Options say what an IdP is. The zero value is a useful one.
type Options struct {
	// Issuer is the issuer identifier: an absolute URL without query, fragment
	// or last slash, under which the handler is reached. It may have a path.
	// Empty means http://127.0.0.1, until SetIssuer.
	Issuer string
	// Seed decides the keys and all that is random elsewhere.
	Seed uint64
	// Alg signs the access tokens: RS256 when empty, or ES256.
	Alg string
	// Now is the clock. Nil means one that stands at the time of New and moves
	// by Advance alone; a server that looks at its own clock then sees good
	// tokens expire one Lifetime after New.
	Now func() time.Time
	// Principals are the people who can log in: alice, who may all, and bob,
	// who may read, when nil.
	Principals []Principal
	// Clients are those that are known from the start: app and service when nil.
	Clients []Client
	// Login names the principal who logs in at an authorization, and agrees;
	// an empty name refuses. Nil means alice. LoginNext comes first.
	Login func(client string, scopes []string) string
	// Resources are the only ones that tokens are issued for; nil means any.
	Resources []string
	// DefaultAudience is that of tokens for which no resource was asked, as
	// clients before 2025-06-18 do. Empty means that they are refused.
	DefaultAudience string
	// FetchClient fetches a client id metadata document. Nil means that such
	// clients are unknown. Nothing else here ever reaches out. Which addresses
	// may be asked, how long an answer may be and take, is for it to decide.
	FetchClient func(ctx context.Context, url string) ([]byte, error)
}

// Principal is somebody on whose behalf a token is issued.
type Principal struct {
	Name    string
	Subject string   // the claim sub; the name when empty
	Scopes  []string // what they may at most
}

// IdP is an authorization server. Its methods may be called concurrently.
type IdP struct {
	seed       uint64
	alg        string
	now        func() time.Time
	principals []Principal

	pick            func(client string, scopes []string) string
	resources       []string
	defaultAudience string
	fetchClient     func(ctx context.Context, url string) ([]byte, error)

	mu       sync.Mutex
	issuer   string
	moved    time.Duration
	serial   uint64 // of what was drawn by random
	number   int    // of the current generation
	current  generation
	old      []generation // still published, the newest first
	retired  []generation // no more published, the newest first
	foreign  func() generation
	unlisted func() generation

	clients    map[string]*Client
	logins     []string
	codes      map[string]*code
	refreshes  map[string]*grant
	issued     map[string]issued // by jti
	assertions map[string]int64  // used ones, by client and jti, with their end
	paths      []string

	misbehaving []Misbehaviour
}

// New returns an IdP. It panics on an algorithm that it does not have.
func New(o Options) *IdP {
	if o.Alg == "" {
		o.Alg = RS256
	}
	if o.Alg != RS256 && o.Alg != ES256 {
		panic("authtest: New: the algorithm must be RS256 or ES256")
	}
	if o.Issuer == "" {
		o.Issuer = "http://127.0.0.1"
	}
	if o.Now == nil {
		start := time.Now().Truncate(time.Second)
		o.Now = func() time.Time { return start }
	}
	if o.Principals == nil {
		o.Principals = []Principal{
			{Name: "alice", Scopes: []string{ScopeRead, ScopeWrite}},
			{Name: "bob", Scopes: []string{ScopeRead}},
		}
	}
	if o.Clients == nil {
		o.Clients = readyMade(o.Seed)
	}
	p := &IdP{
		pick: o.Login, resources: slices.Clone(o.Resources), defaultAudience: o.DefaultAudience, fetchClient: o.FetchClient,
		clients: map[string]*Client{}, codes: map[string]*code{}, refreshes: map[string]*grant{},
		issued: map[string]issued{}, assertions: map[string]int64{},
		seed: o.Seed, alg: o.Alg, now: o.Now, issuer: o.Issuer,
		principals: slices.Clone(o.Principals),
		number:     1,
		current:    newGeneration(o.Seed, "issuer", 1),
		// Only wrong tokens need these, and each takes a while.
		unlisted: sync.OnceValue(func() generation { return newGeneration(o.Seed, "issuer", 0) }),
	}
	p.setForeign()
	for _, c := range o.Clients {
		own := c.clone()
		p.clients[c.ID] = &own
	}
	return p
}

// setForeign makes the keys of somebody else, published under the ids of ours.
func (p *IdP) setForeign() {
	seed, number := p.seed, p.number
	p.foreign = sync.OnceValue(func() generation { return newGeneration(seed, "foreign", number) })
}

// SetIssuer says where the handler is reached, when that is known only after New.
func (p *IdP) SetIssuer(issuer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.issuer = issuer
}

// Issuer is the issuer identifier.
func (p *IdP) Issuer() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.issuer
}

// Now is the time of the IdP.
func (p *IdP) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.time()
}

func (p *IdP) time() time.Time { return p.now().Add(p.moved) }

// Advance moves the time of the IdP.
func (p *IdP) Advance(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved += d
}

// Rotate makes new keys, with which everything is signed from now on. The old
// ones stay published until RetireOldKeys.
func (p *IdP) Rotate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.old = slices.Insert(p.old, 0, p.current)
	p.number++
	p.current = newGeneration(p.seed, "issuer", p.number)
	p.setForeign()
}

// RetireOldKeys takes all keys but the current ones out of the JWKS document.
func (p *IdP) RetireOldKeys() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = append(p.old, p.retired...)
	p.old = nil
}

// JWKS is the document of the published keys (RFC 7517).
func (p *IdP) JWKS() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	published := append([]generation{p.current}, p.old...)
	for _, m := range p.misbehaving {
		if m.keys != nil {
			published = m.keys(published, p.unlisted)
		}
	}
	return keySet(published)
}

func keySet(gs []generation) []byte {
	keys := []json.RawMessage{}
	for _, g := range gs {
		keys = append(keys, g.rsa.jwk(), g.ec.jwk())
	}
	return document(map[string]any{"keys": keys})
}

// document is the JSON of a value of ours.
func document(v any) []byte {
	out, err := jsonx.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("authtest: write a document: %v", err))
	}
	return out
}

// random returns 128 bits that follow from the seed and the number of calls.
// The caller holds the lock.
func (p *IdP) random(use string) string {
	p.serial++
	return derive(p.seed, fmt.Sprintf("%s %d", use, p.serial))
}

func derive(seed uint64, label string) string {
	mac := hmac.New(sha256.New, binary.BigEndian.AppendUint64(nil, seed))
	_, _ = mac.Write([]byte(label)) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
