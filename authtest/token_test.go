// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcprove/mcprove/authtest"
)

func TestGoodTokenIsThatOfRFC9068(t *testing.T) {
	for _, alg := range []string{authtest.RS256, authtest.ES256} {
		p := served(t, authtest.Options{Alg: alg})
		token := p.Token("alice", resource, "mcp:read", "mcp:write")
		header, claims, _ := decode(t, token)
		if want := map[string]any{"alg": alg, "kid": map[string]string{"RS256": "rsa-1", "ES256": "ec-1"}[alg], "typ": "at+jwt"}; !reflect.DeepEqual(header, want) {
			t.Errorf("the header is %v, want %v", header, want)
		}
		now := float64(p.Now().Unix())
		jti, _ := claims["jti"].(string)
		want := map[string]any{"iss": p.Issuer(), "sub": "alice", "aud": resource, "client_id": "app",
			"iat": now, "exp": now + 3600, "scope": "mcp:read mcp:write", "jti": jti}
		if !reflect.DeepEqual(claims, want) || len(jti) < 20 {
			t.Errorf("the claims are %v, want %v", claims, want)
		}
		if _, err := newVerifier(t, p).verify(token); err != nil {
			t.Errorf("%s: the good token is refused: %v", alg, err)
		}
	}
}

// The verifier of this test checks all there is, so it refuses everything that
// the catalogue has. With one check left out it accepts exactly what lacks
// nothing else: so a token that is accepted names the check that is missing.
func TestEveryWrongTokenIsRefused(t *testing.T) {
	lacking := map[string][]string{
		"":          nil,
		"iss":       {"issuer-missing", "issuer-other", "issuer-slash"},
		"aud":       {"audience-array-other", "audience-client", "audience-empty", "audience-longer", "audience-missing", "audience-other"},
		"aud exact": {"audience-longer"},
		"exp":       {"exp-missing", "expired"},
		"nbf":       {"not-yet-valid"},
		"sub":       {"sub-missing"},
		"typ":       {"typ-jwt", "typ-logout"},
		"algorithm": {"hs256-pem"},
		"signature": {"crit-unknown", "jku-foreign", "jwk-embedded", "key-stale", "kid-empty", "kid-missing", "kid-path", "kid-sql", "kid-unknown",
			"scope-raised", "signature-cut", "signature-foreign", "signature-missing", "signature-of-other", "sub-changed"},
		"key source": {"jwk-embedded"},
	}
	for _, alg := range []string{authtest.RS256, authtest.ES256} {
		p := served(t, authtest.Options{Alg: alg})
		v := newVerifier(t, p)
		good := p.Claims("alice", resource, "mcp:read")
		for lacks, want := range lacking {
			v.lacks = lacks
			var accepted []string
			for _, w := range p.Wrongs() {
				if _, err := v.verify(w.Token(good)); err == nil {
					accepted = append(accepted, w.Name)
				}
			}
			slices.Sort(accepted)
			if !slices.Equal(accepted, want) {
				t.Errorf("%s: without the check of %q it accepts %v, want %v", alg, lacks, accepted, want)
			}
			if _, err := v.verify(p.Mint(good)); err != nil {
				t.Errorf("%s: without the check of %q the good token is refused: %v", alg, lacks, err)
			}
		}
		v.lacks = ""
		for _, r := range p.Rights() {
			token := r.Token(good)
			if _, err := v.verify(token); err != nil || token == p.Mint(good) || !strings.HasSuffix(r.What, ".") || r.Section == "" {
				t.Errorf("%s: %s is refused, or the usual one, or says nothing: %v", alg, r.Name, err)
			}
		}
	}
}

// differences names all header members and claims that differ.
func differences(kind string, a, b map[string]any) []string {
	var out []string
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		x, inA := a[name]
		y, inB := b[name]
		if inA != inB || !reflect.DeepEqual(x, y) {
			out = append(out, kind+" "+name)
		}
	}
	return out
}

// Whatever the good token says, each wrong one differs in the part that it names
// and in nothing else; where only the signature is wrong, it alone differs.
func TestWrongTokenDiffersInOnePart(t *testing.T) {
	p := authtest.New(authtest.Options{})
	wrongs := p.Wrongs()
	word := rapid.StringMatching(`[a-z]{1,8}`)
	rapid.Check(t, func(rt *rapid.T) {
		good := p.Claims(word.Draw(rt, "principal"), "https://"+word.Draw(rt, "host")+".test/"+word.Draw(rt, "path"),
			rapid.SliceOfN(word, 1, 3).Draw(rt, "scopes")...)
		if rapid.Bool().Draw(rt, "more") {
			good = good.With("extra", word.Draw(rt, "extra"))
		}
		w := rapid.SampledFrom(wrongs).Draw(rt, "wrong")
		h1, c1, s1 := decode(t, p.Mint(good))
		h2, c2, s2 := decode(t, w.Token(good))
		diff := append(differences("header", h1, h2), differences("claim", c1, c2)...)
		if len(diff) == 0 && s1 != s2 {
			diff = []string{"signature"}
		}
		if !slices.Equal(diff, []string{w.Part}) {
			rt.Fatalf("%s: it differs in %v, and says %s", w.Name, diff, w.Part)
		}
		if before := p.Mint(good); before == w.Token(good) {
			rt.Fatalf("%s: it is the good one", w.Name)
		}
	})
}

func TestCatalogueIsWellFormed(t *testing.T) {
	p := authtest.New(authtest.Options{})
	seen := map[string]bool{}
	good := p.Claims("alice", resource, "mcp:read")
	for _, w := range p.Wrongs() {
		if seen[w.Name] || w.Name == "" || !strings.HasSuffix(w.What, ".") || w.Section == "" {
			t.Errorf("%+v: a name of its own, a sentence and a section", w)
		}
		seen[w.Name] = true
		token := w.Token(good)
		if w.Token(good) != token {
			t.Errorf("%s: the same claims give two tokens", w.Name)
		}
	}
	for _, name := range []string{"audience-other", "audience-array-other", "audience-missing", "issuer-foreign", "expired", "not-yet-valid",
		"alg-none", "hs256-pem", "hs256-jwk", "jwk-embedded", "jku-foreign", "kid-path", "kid-sql", "kid-empty", "kid-unknown",
		"typ-jwt", "sub-missing", "signature-foreign", "signature-cut", "signature-of-other", "key-stale"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
	for _, m := range authtest.Misbehaviours() {
		if seen[m.Name] || !strings.HasSuffix(m.What, ".") || m.Section == "" {
			t.Errorf("%s: a name of its own, a sentence and a section", m.Name)
		}
		seen[m.Name] = true
	}
}

// What a naive verifier would fetch or take is really there, so that it would
// accept the token: otherwise the catalogue proves nothing.
func TestWrongTokensWorkOnTheNaive(t *testing.T) {
	p := served(t, authtest.Options{})
	good := p.Claims("alice", resource, "mcp:read")
	tokens := map[string]string{}
	for _, w := range p.Wrongs() {
		tokens[w.Name] = w.Token(good)
	}
	h, _, _ := decode(t, tokens["jku-foreign"])
	jku, _ := h["jku"].(string)
	v := newVerifier(t, p)
	naive := *v
	_, doc := fetch(t, jku)
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	naive.keys.Keys = nil
	if err := json.Unmarshal(raw, &naive.keys); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jku-foreign", "jwk-embedded", "signature-foreign"} {
		if _, err := naive.verify(tokens[name]); err != nil {
			t.Errorf("%s: whoever takes the foreign keys refuses it: %v", name, err)
		}
	}
	naive.issuer = p.Issuer() + "/foreign"
	if _, err := naive.verify(tokens["issuer-foreign"]); err != nil {
		t.Errorf("issuer-foreign: whoever believes its iss refuses it: %v", err)
	}
	if status, doc := fetch(t, p.Issuer()+"/.well-known/oauth-authorization-server/foreign"); status != 200 || doc["issuer"] != p.Issuer()+"/foreign" {
		t.Errorf("the foreign issuer has no metadata: %d %v", status, doc["issuer"])
	}

	ours := *v
	ours.audience = "https://other.invalid/mcp"
	for _, name := range []string{"audience-other", "audience-array-other"} {
		if _, err := ours.verify(tokens[name]); err != nil {
			t.Errorf("%s: its own audience refuses it: %v", name, err)
		}
	}
	later := *v
	later.now = func() time.Time { return p.Now().Add(45 * time.Minute) }
	if _, err := later.verify(tokens["not-yet-valid"]); err != nil {
		t.Errorf("not-yet-valid is refused later: %v", err)
	}
	earlier := *v
	earlier.now = func() time.Time { return p.Now().Add(-2 * time.Hour) }
	if _, err := earlier.verify(tokens["expired"]); err != nil {
		t.Errorf("expired is refused earlier: %v", err)
	}
}

func TestRotation(t *testing.T) {
	p := served(t, authtest.Options{})
	before := p.Token("alice", resource, "mcp:read")
	p.Rotate()
	after := p.Token("alice", resource, "mcp:read")
	both := newVerifier(t, p)
	for name, token := range map[string]string{"old": before, "new": after} {
		if _, err := both.verify(token); err != nil {
			t.Errorf("after a rotation the %s token is refused: %v", name, err)
		}
	}
	p.RetireOldKeys()
	one := newVerifier(t, p)
	if _, err := one.verify(before); err == nil {
		t.Error("a token of a retired key is accepted")
	}
	if _, err := one.verify(after); err != nil {
		t.Errorf("the current token is refused: %v", err)
	}
	p.Rotate()
	p.RetireOldKeys() // two generations are gone, and the newer of them is the stale one
	both, one = one, newVerifier(t, p)
	for _, w := range p.Wrongs() {
		token := w.Token(p.Claims("alice", resource, "mcp:read"))
		if _, err := one.verify(token); err == nil {
			t.Errorf("%s is accepted after a rotation", w.Name)
		}
		if w.Name == "key-stale" && w.Demanded {
			t.Error("key-stale is demanded, although a cache may have its key")
		}
		if _, err := both.verify(token); w.Name == "key-stale" && err != nil {
			t.Errorf("key-stale is refused by whoever kept the old keys: %v", err)
		}
	}
}

func TestTimeMovesWhenTold(t *testing.T) {
	p := served(t, authtest.Options{})
	v := newVerifier(t, p)
	token := p.Token("bob", resource, "mcp:read")
	p.Advance(59 * time.Minute)
	if _, err := v.verify(token); err != nil {
		t.Errorf("refused within its life: %v", err)
	}
	p.Advance(time.Minute)
	if _, err := v.verify(token); err == nil {
		t.Error("accepted after its life")
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	run := func(seed uint64) []byte {
		p := authtest.New(authtest.Options{Seed: seed, Now: func() time.Time { return at }})
		p.Rotate()
		return append(p.JWKS(), p.Token("alice", resource, "mcp:read")...)
	}
	if !bytes.Equal(run(7), run(7)) {
		t.Error("one seed gives two IdPs")
	}
	if bytes.Equal(run(7), run(8)) {
		t.Error("two seeds give one IdP")
	}
}

func TestConcurrentUse(t *testing.T) {
	p := served(t, authtest.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				p.Token("alice", resource, "mcp:read")
				p.Advance(time.Second)
				_ = p.Misbehave("iss-missing")
				rec := httptest.NewRecorder()
				p.ServeHTTP(rec, httptest.NewRequest("GET", p.Issuer()+"/authorize?"+request().Encode(), nil))
				if rec.Code != 302 {
					t.Errorf("status %d", rec.Code)
				}
				p.LoginNext("bob")
				p.Wrongs()[0].Token(p.Claims("bob", resource))
				p.JWKS()
				p.Clients()
				p.Paths()
			}
		})
	}
	p.Rotate()
	p.RetireOldKeys()
	wg.Wait()
}

// What a client changes in what it was given changes nothing in the IdP.
func TestClientsAreCopies(t *testing.T) {
	p := authtest.New(authtest.Options{})
	p.Clients()[0].Scopes[0] = "changed"
	if got := p.Clients()[0].Scopes[0]; got != "mcp:read" {
		t.Errorf("the scope is %s", got)
	}
}

func TestMintAsSetsAndRemovesMembers(t *testing.T) {
	p := authtest.New(authtest.Options{})
	h, c, _ := decode(t, p.MintAs(authtest.Header{"typ": nil, "x": 1}, authtest.Claims{"a": "b"}))
	if _, has := h["typ"]; has || h["x"] != 1.0 || c["a"] != "b" {
		t.Errorf("header %v, claims %v", h, c)
	}
}
