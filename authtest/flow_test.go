// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/authtest"
)

const (
	verifierText = "a-code-verifier-of-fifty-characters-or-a-few-more--"
	callback     = "http://127.0.0.1:4711/callback"
)

func challenge(verifier string) string {
	digest := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// request is a right authorization request of the client app.
func request(changes ...string) url.Values {
	return change(url.Values{"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {callback}, "state": {"st&te"},
		"scope": {"mcp:read mcp:write"}, "resource": {resource}, "code_challenge": {challenge(verifierText)}, "code_challenge_method": {"S256"}}, changes...)
}

// exchange is a right token request for a code of it.
func exchange(code string, changes ...string) url.Values {
	return change(url.Values{"grant_type": {"authorization_code"}, "client_id": {"app"}, "code": {code}, "redirect_uri": {callback},
		"code_verifier": {verifierText}, "resource": {resource}}, changes...)
}

// change sets names to the values behind them; "-" takes a name out.
func change(v url.Values, changes ...string) url.Values {
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "-" {
			v.Del(changes[i])
		} else {
			v.Set(changes[i], changes[i+1])
		}
	}
	return v
}

// authorize sends an authorization request and returns where it leads, with the
// parameters of the answer; the place is empty when it leads nowhere.
func authorize(t testing.TB, p *authtest.IdP, v url.Values) (place string, answer url.Values) {
	t.Helper()
	resp, err := client.Get(p.Issuer() + "/authorize?" + v.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		if resp.Header.Get("Location") != "" {
			t.Errorf("status %d with a Location", resp.StatusCode)
		}
		return "", nil
	}
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	answer = u.Query()
	place, _, _ = strings.Cut(u.String(), "?")
	return place, answer
}

// code is that of a right authorization, with changes.
func code(t testing.TB, p *authtest.IdP, changes ...string) string {
	t.Helper()
	_, answer := authorize(t, p, request(changes...))
	if answer.Get("code") == "" {
		t.Fatalf("no code: %v", answer)
	}
	return answer.Get("code")
}

// post sends a form to an endpoint. With a user it uses Basic.
func post(t testing.TB, p *authtest.IdP, path string, v url.Values, basic ...string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.Issuer()+path, strings.NewReader(v.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(basic) == 2 {
		req.SetBasicAuth(url.QueryEscape(basic[0]), url.QueryEscape(basic[1]))
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	status, doc := read(t, resp)
	if cc := resp.Header.Get("Cache-Control"); doc != nil && cc != "no-store" {
		t.Errorf("%s: Cache-Control is %q", path, cc)
	}
	// Nothing of a request stands in an error.
	if text, _ := doc["error_description"].(string); status >= 400 {
		for name, values := range v {
			for _, value := range values {
				if len(value) > 12 && name != "client_assertion_type" && name != "grant_type" && strings.Contains(text, value) {
					t.Errorf("%s: the error repeats %s", path, name)
				}
			}
		}
	}
	return status, doc
}

func secretOf(t testing.TB, p *authtest.IdP, id string) string {
	t.Helper()
	for _, c := range p.Clients() {
		if c.ID == id {
			return c.Secret
		}
	}
	t.Fatalf("no client %s", id)
	return ""
}

func TestAuthorizationCodeFlow(t *testing.T) {
	p := served(t, authtest.Options{})
	v := newVerifier(t, p)

	place, answer := authorize(t, p, request())
	if place != callback || answer.Get("state") != "st&te" || answer.Get("iss") != p.Issuer() || answer.Get("error") != "" {
		t.Fatalf("the answer goes to %s with %v", place, answer)
	}
	status, doc := post(t, p, "/token", exchange(answer.Get("code")))
	if status != 200 || doc["token_type"] != "Bearer" || doc["expires_in"] != 3600.0 || doc["scope"] != "mcp:read mcp:write" {
		t.Fatalf("status %d, error %v", status, doc["error"])
	}
	token, _ := doc["access_token"].(string)
	claims, err := v.verify(token)
	if err != nil || claims["sub"] != "alice" || claims["client_id"] != "app" || claims["aud"] != resource || claims["scope"] != "mcp:read mcp:write" {
		t.Errorf("the token says %v: %v", claims, err)
	}

	// Refresh, with rotation: the new one works, the old one ends both.
	first, _ := doc["refresh_token"].(string)
	refresh := func(text string, changes ...string) (int, map[string]any) {
		return post(t, p, "/token", change(url.Values{"grant_type": {"refresh_token"}, "client_id": {"app"}, "refresh_token": {text}, "resource": {resource}}, changes...))
	}
	if status, doc = refresh(first, "client_id", "service", "client_secret", secretOf(t, p, "service")); status != 400 || doc["error"] != "invalid_grant" {
		t.Errorf("the refresh token of another client: %d %v", status, doc["error"])
	}
	status, doc = refresh(first, "scope", "mcp:read")
	second, _ := doc["refresh_token"].(string)
	if status != 200 || second == "" || second == first || doc["scope"] != "mcp:read" {
		t.Fatalf("refresh: status %d, error %v", status, doc["error"])
	}
	if status, doc = refresh(second, "scope", "admin"); status != 400 || doc["error"] != "invalid_scope" {
		t.Errorf("a wider scope: %d %v", status, doc["error"])
	}
	if status, doc = refresh(second, "resource", "https://other.test/mcp"); status != 400 || doc["error"] != "invalid_target" {
		t.Errorf("another resource: %d %v", status, doc["error"])
	}
	if status, doc = refresh(second); status != 200 || doc["scope"] != "mcp:read mcp:write" {
		t.Errorf("the second refresh: %d %v", status, doc["error"])
	}
	third, _ := doc["refresh_token"].(string)
	for _, text := range []string{first, third, "never"} {
		if status, doc = refresh(text); status != 400 || doc["error"] != "invalid_grant" {
			t.Errorf("after reuse: %d %v", status, doc["error"])
		}
	}
}

func TestPrincipals(t *testing.T) {
	p := served(t, authtest.Options{})
	p.LoginNext("bob", "", "nobody", "bob")
	v := newVerifier(t, p)
	_, doc := post(t, p, "/token", exchange(code(t, p)))
	token, _ := doc["access_token"].(string)
	if claims, err := v.verify(token); err != nil || claims["sub"] != "bob" || claims["scope"] != "mcp:read" || doc["scope"] != "mcp:read" {
		t.Errorf("bob, who may read, got %v: %v", claims, err)
	}
	for range 2 {
		if _, answer := authorize(t, p, request()); answer.Get("error") != "access_denied" || answer.Get("iss") != p.Issuer() {
			t.Errorf("nobody agreed, and the answer is %v", answer)
		}
	}
	if _, answer := authorize(t, p, request("scope", "mcp:write")); answer.Get("error") != "access_denied" {
		t.Errorf("bob may not write, and the answer is %v", answer)
	}
	q := served(t, authtest.Options{Login: func(string, []string) string { return "bob" }})
	if _, doc := post(t, q, "/token", exchange(code(t, q))); doc["scope"] != "mcp:read" {
		t.Errorf("Login names bob, and the scope is %v", doc["scope"])
	}
}

func TestAuthorizationRefusals(t *testing.T) {
	p := served(t, authtest.Options{Resources: []string{resource, resource + "/\xff"}})
	for name, test := range map[string]struct {
		changes []string
		want    string // empty: no redirect at all
	}{
		"no PKCE":             {[]string{"code_challenge", "-", "code_challenge_method", "-"}, "invalid_request"},
		"no method":           {[]string{"code_challenge_method", "-"}, "invalid_request"},
		"plain":               {[]string{"code_challenge", verifierText, "code_challenge_method", "plain"}, "invalid_request"},
		"short challenge":     {[]string{"code_challenge", "abc"}, "invalid_request"},
		"token response":      {[]string{"response_type", "token"}, "unsupported_response_type"},
		"no response type":    {[]string{"response_type", "-"}, "invalid_request"},
		"no resource":         {[]string{"resource", "-"}, "invalid_target"},
		"unknown resource":    {[]string{"resource", "https://other.test/mcp"}, "invalid_target"},
		"resource fragment":   {[]string{"resource", resource + "#x"}, "invalid_target"},
		"bad UTF-8":           {[]string{"resource", resource + "/\xff"}, "invalid_target"},
		"relative resource":   {[]string{"resource", "/mcp"}, "invalid_target"},
		"unknown scope":       {[]string{"scope", "admin"}, "invalid_scope"},
		"unknown client":      {[]string{"client_id", "other"}, ""},
		"no client":           {[]string{"client_id", "-"}, ""},
		"no redirect":         {[]string{"redirect_uri", "-"}, ""},
		"other path":          {[]string{"redirect_uri", callback + "/x"}, ""},
		"other host":          {[]string{"redirect_uri", "http://127.0.0.1.other.test:4711/callback"}, ""},
		"with a user":         {[]string{"redirect_uri", "http://u@127.0.0.1:4711/callback"}, ""},
		"host behind a user":  {[]string{"redirect_uri", "http://127.0.0.1:4711@other.test/callback"}, ""},
		"other scheme":        {[]string{"redirect_uri", "https://127.0.0.1:4711/callback"}, ""},
		"with a query":        {[]string{"redirect_uri", callback + "?x=1"}, ""},
		"redirect of another": {[]string{"redirect_uri", "https://service.invalid/callback"}, ""},
		"fixed port of https": {[]string{"client_id", "service", "redirect_uri", "https://service.invalid:444/callback"}, ""},
	} {
		place, answer := authorize(t, p, request(test.changes...))
		switch {
		case test.want == "" && place != "":
			t.Errorf("%s: it leads to %s", name, place)
		case test.want != "" && (place != callback || answer.Get("error") != test.want || answer.Get("code") != "" || answer.Get("state") != "st&te" || answer.Get("iss") != p.Issuer()):
			t.Errorf("%s: the answer is %v, want %s", name, answer, test.want)
		}
	}
	twice := request()
	twice.Add("state", "again")
	if place, _ := authorize(t, p, twice); place != "" {
		t.Errorf("two states lead to %s", place)
	}
	for _, uri := range []string{"http://127.0.0.1/callback", "http://127.0.0.1:1/callback", "http://localhost:5/callback", "http://[::1]:5/callback"} {
		if place, answer := authorize(t, p, request("redirect_uri", uri)); place != uri || answer.Get("code") == "" {
			t.Errorf("%s: it leads to %s with %v", uri, place, answer)
		}
	}
}

// Only the port of a loopback address over http is free.
func TestRedirectPorts(t *testing.T) {
	p := served(t, authtest.Options{Clients: []authtest.Client{
		{ID: "app", AuthMethods: []string{"none"}, Grants: []string{"authorization_code"}, Scopes: []string{"mcp:read", "mcp:write"},
			RedirectURIs: []string{"https://127.0.0.1:1/cb", "http://app.test:1/cb", "http://127.0.0.2:1/cb?a=b"}},
		{ID: "machine", AuthMethods: []string{"none"}, Grants: []string{"client_credentials"}, RedirectURIs: []string{callback}},
	}})
	for uri, works := range map[string]bool{
		"https://127.0.0.1:1/cb": true, "https://127.0.0.1:2/cb": false,
		"http://app.test:1/cb": true, "http://app.test:2/cb": false,
		"http://127.0.0.2:1/cb?a=b": true, "http://127.0.0.2:2/cb?a=b": true, "http://127.0.0.2:2/cb?a=c": false, "http://127.0.0.2:2/cb": false,
	} {
		place, answer := authorize(t, p, request("redirect_uri", uri))
		want, query, _ := strings.Cut(uri, "?")
		if works != (place == want && answer.Get("code") != "") || works && query != "" && answer.Get("a") != "b" {
			t.Errorf("%s: it leads to %q with %v", uri, place, answer)
		}
	}
	if _, answer := authorize(t, p, request("client_id", "machine")); answer.Get("error") != "unauthorized_client" {
		t.Errorf("a client without the grant: %v", answer)
	}
	if _, doc := post(t, p, "/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {"machine"}, "resource": {resource}}); doc["error"] != "unauthorized_client" {
		t.Errorf("a public client with the grant: %v", doc["error"])
	}
}

func TestExchangeRefusals(t *testing.T) {
	p := served(t, authtest.Options{})
	secret := secretOf(t, p, "service")
	for name, test := range map[string]struct {
		changes []string
		want    string
	}{
		"no verifier":         {[]string{"code_verifier", "-"}, "invalid_grant"},
		"other verifier":      {[]string{"code_verifier", strings.ToUpper(verifierText)}, "invalid_grant"},
		"the challenge":       {[]string{"code_verifier", challenge(verifierText)}, "invalid_grant"},
		"other redirect":      {[]string{"redirect_uri", "http://127.0.0.1:4712/callback"}, "invalid_grant"},
		"other resource":      {[]string{"resource", "https://other.test/mcp"}, "invalid_target"},
		"unknown code":        {[]string{"code", "unknown"}, "invalid_grant"},
		"other client":        {[]string{"client_id", "service", "client_secret", secret}, "invalid_grant"},
		"service, no secret":  {[]string{"client_id", "service"}, "invalid_client"},
		"unknown client":      {[]string{"client_id", "other"}, "invalid_client"},
		"no grant type":       {[]string{"grant_type", "-"}, "invalid_request"},
		"password":            {[]string{"grant_type", "password"}, "unsupported_grant_type"},
		"not of the client":   {[]string{"grant_type", "client_credentials"}, "unauthorized_client"},
		"secret of a public ": {[]string{"client_secret", "x"}, "invalid_client"},
	} {
		status, doc := post(t, p, "/token", exchange(code(t, p), test.changes...))
		want := 400
		if test.want == "invalid_client" {
			want = 401
		}
		if status != want || doc["error"] != test.want || doc["access_token"] != nil {
			t.Errorf("%s: %d %v, want %s", name, status, doc["error"], test.want)
		}
	}

	// A verifier must be long enough to be one, whatever its challenge is.
	short := "short"
	if _, doc := post(t, p, "/token", exchange(code(t, p, "code_challenge", challenge(short)), "code_verifier", short)); doc["error"] != "invalid_grant" {
		t.Errorf("a short verifier: %v", doc["error"])
	}

	late := code(t, p)
	p.Advance(2 * time.Minute)
	if _, doc := post(t, p, "/token", exchange(late)); doc["error"] != "invalid_grant" {
		t.Errorf("an old code: %v", doc["error"])
	}

	// A wrong verifier uses the code up.
	guessed := code(t, p)
	post(t, p, "/token", exchange(guessed, "code_verifier", strings.Repeat("x", 50)))
	if _, doc := post(t, p, "/token", exchange(guessed)); doc["error"] != "invalid_grant" {
		t.Errorf("a second guess at the verifier: %v", doc["error"])
	}

	// A code that comes again ends what came of it.
	once := code(t, p)
	_, doc := post(t, p, "/token", exchange(once))
	token, _ := doc["access_token"].(string)
	if !active(t, p, token) {
		t.Fatal("the token is not active")
	}
	if _, doc := post(t, p, "/token", exchange(once)); doc["error"] != "invalid_grant" {
		t.Errorf("a code used twice: %v", doc["error"])
	}
	if active(t, p, token) {
		t.Error("the token outlives the reuse of its code")
	}
	if _, doc := post(t, p, "/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {"app"}, "refresh_token": {doc["refresh_token"].(string)}}); doc["error"] != "invalid_grant" {
		t.Errorf("the refresh token outlives it: %v", doc["error"])
	}
}

// active asks the introspection endpoint, as the client service.
func active(t testing.TB, p *authtest.IdP, token string) bool {
	t.Helper()
	status, doc := post(t, p, "/introspect", url.Values{"token": {token}}, "service", secretOf(t, p, "service"))
	if status != 200 {
		t.Fatalf("introspection: %d %v", status, doc["error"])
	}
	is, _ := doc["active"].(bool)
	if !is && len(doc) != 1 {
		t.Errorf("an inactive token has %d members", len(doc))
	}
	return is
}

func TestClientCredentials(t *testing.T) {
	p := served(t, authtest.Options{})
	v := newVerifier(t, p)
	secret := secretOf(t, p, "service")
	assertion := p.ClientAssertion()
	const jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	ask := func(changes ...string) url.Values {
		return change(url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {"mcp:read"}}, changes...)
	}
	for name, test := range map[string]struct {
		form  url.Values
		basic []string
		want  string // empty: a token
	}{
		"basic":          {ask(), []string{"service", secret}, ""},
		"post":           {ask("client_id", "service", "client_secret", secret), nil, ""},
		"private key":    {ask("client_assertion", assertion, "client_assertion_type", jwtBearer), nil, ""},
		"wrong secret":   {ask(), []string{"service", "x" + secret}, "invalid_client"},
		"empty secret":   {ask(), []string{"service", ""}, "invalid_client"},
		"two ways":       {ask("client_secret", secret), []string{"service", secret}, "invalid_request"},
		"another id":     {ask("client_id", "app"), []string{"service", secret}, "invalid_client"},
		"no way":         {ask("client_id", "service"), nil, "invalid_client"},
		"public":         {ask("client_id", "app"), nil, "unauthorized_client"},
		"assertion type": {ask("client_assertion", assertion, "client_assertion_type", "x"), nil, "invalid_request"},
		"no assertion":   {ask("client_assertion", "a.b.c", "client_assertion_type", jwtBearer), nil, "invalid_client"},
		"a token as one": {ask("client_assertion", p.Mint(authtest.Claims{"iss": "service", "sub": "service", "aud": p.Issuer(), "jti": "1",
			"exp": p.Now().Unix() + 60}), "client_assertion_type", jwtBearer), nil, "invalid_client"},
		"scope":       {ask("scope", "mcp:write"), []string{"service", secret}, "invalid_scope"},
		"no resource": {ask("resource", "-"), []string{"service", secret}, "invalid_target"},
	} {
		status, doc := post(t, p, "/token", test.form, test.basic...)
		if test.want != "" {
			if status < 400 || doc["error"] != test.want {
				t.Errorf("%s: %d %v, want %s", name, status, doc["error"], test.want)
			}
			continue
		}
		token, _ := doc["access_token"].(string)
		claims, err := v.verify(token)
		if err != nil || claims["sub"] != "service" || doc["refresh_token"] != nil {
			t.Errorf("%s: %d %v: %v", name, status, claims, err)
		}
	}
	again := ask("client_assertion", assertion, "client_assertion_type", jwtBearer)
	if _, doc := post(t, p, "/token", again); doc["error"] != "invalid_client" {
		t.Errorf("an assertion used twice: %v", doc["error"])
	}
	old := p.ClientAssertion()
	p.Advance(2 * time.Minute)
	if _, doc := post(t, p, "/token", ask("client_assertion", old, "client_assertion_type", jwtBearer)); doc["error"] != "invalid_client" {
		t.Errorf("an old assertion: %v", doc["error"])
	}
	q := served(t, authtest.Options{DefaultAudience: resource})
	_, doc := post(t, q, "/token", ask("resource", "-"), "service", secretOf(t, q, "service"))
	token, _ := doc["access_token"].(string)
	if _, err := newVerifier(t, q).verify(token); err != nil {
		t.Errorf("the default audience: %v", err)
	}
	two := ask()
	two.Add("resource", "https://other.test/mcp")
	_, doc = post(t, p, "/token", two, "service", secret)
	token, _ = doc["access_token"].(string)
	if claims, err := v.verify(token); err != nil || !slices.Equal(claims["aud"].([]any), []any{resource, "https://other.test/mcp"}) {
		t.Errorf("two resources: %v", err)
	}
}

func TestIntrospectionAndRevocation(t *testing.T) {
	p := served(t, authtest.Options{})
	secret := secretOf(t, p, "service")
	good := p.Claims("alice", resource, "mcp:read")
	if !active(t, p, p.Mint(good)) {
		t.Error("a good token is not active")
	}
	for _, r := range p.Rights() {
		if !active(t, p, r.Token(good)) {
			t.Errorf("%s is not active", r.Name)
		}
	}
	for _, w := range p.Wrongs() {
		// The authorization server does not know who asks about which audience,
		// and has no say about a subject.
		if strings.HasPrefix(w.Name, "audience-") || w.Name == "sub-missing" {
			continue
		}
		if active(t, p, w.Token(good)) {
			t.Errorf("%s is active", w.Name)
		}
	}
	if status, doc := post(t, p, "/introspect", url.Values{"token": {"x"}, "client_id": {"app"}}); status != 401 || doc["error"] != "invalid_client" {
		t.Errorf("a public client introspects: %d %v", status, doc["error"])
	}
	if status, _ := post(t, p, "/introspect", url.Values{}, "service", secret); status != 400 {
		t.Errorf("no token: %d", status)
	}

	_, doc := post(t, p, "/token", exchange(code(t, p)))
	token, _ := doc["access_token"].(string)
	refresh, _ := doc["refresh_token"].(string)
	revoke := func(text string, basic ...string) int {
		v := url.Values{"token": {text}}
		if basic == nil {
			v.Set("client_id", "app")
		}
		status, _ := post(t, p, "/revoke", v, basic...)
		return status
	}
	if !active(t, p, refresh) {
		t.Error("the refresh token is not active")
	}
	for name, text := range map[string]string{"access": token, "refresh": refresh} {
		if status := revoke(text, "service", secret); status != 400 || !active(t, p, text) {
			t.Errorf("%s: another client revoked it: %d", name, status)
		}
	}
	if status := revoke("no token"); status != 200 {
		t.Errorf("no token: %d", status)
	}
	if status := revoke(token); status != 200 || active(t, p, token) || !active(t, p, refresh) {
		t.Errorf("revoking the access token: %d", status)
	}
	_, doc = post(t, p, "/token", exchange(code(t, p)))
	token, _ = doc["access_token"].(string)
	refresh, _ = doc["refresh_token"].(string)
	if status := revoke(refresh); status != 200 || active(t, p, token) || active(t, p, refresh) {
		t.Errorf("revoking the refresh token: %d", status)
	}
}

func TestMethodsAndBodies(t *testing.T) {
	p := served(t, authtest.Options{})
	for path, allow := range map[string]string{"/token": "POST", "/register": "POST", "/jwks": "GET, HEAD", "/authorize": "GET, POST"} {
		req, err := http.NewRequestWithContext(t.Context(), "PUT", p.Issuer()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != allow {
			t.Errorf("%s: %d, Allow %q", path, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
	for name, test := range map[string]struct{ media, body string }{
		"JSON":      {"application/json", `{"grant_type":"client_credentials"}`},
		"too long":  {"application/x-www-form-urlencoded", strings.Repeat("a", 65<<10)},
		"no form":   {"application/x-www-form-urlencoded", "%zz"},
		"two names": {"application/x-www-form-urlencoded", "client_id=app&client_id=service&grant_type=refresh_token"},
	} {
		resp, err := client.Post(p.Issuer()+"/token", test.media, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if status, doc := read(t, resp); status != 400 || doc["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, doc["error"])
		}
	}
}
