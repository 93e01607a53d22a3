// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcprove/mcprove/authtest"
)

func register(t testing.TB, p *authtest.IdP, body string) (int, map[string]any) {
	t.Helper()
	resp, err := client.Post(p.Issuer()+"/register", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func TestRegisteredClientWorks(t *testing.T) {
	p := served(t, authtest.Options{})
	status, doc := register(t, p, `{"client_name":"N","application_type":"native","redirect_uris":["http://localhost/cb"],
		"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`)
	id, _ := doc["client_id"].(string)
	if status != 201 || id == "" || doc["application_type"] != "native" || doc["client_name"] != "N" || doc["client_secret"] != nil {
		t.Fatalf("status %d, error %v", status, doc["error"])
	}
	redirect := "http://localhost:99/cb"
	given := code(t, p, "client_id", id, "redirect_uri", redirect)
	if status, doc := post(t, p, "/token", exchange(given, "client_id", id, "redirect_uri", redirect)); status != 200 || doc["refresh_token"] == nil {
		t.Errorf("status %d, error %v", status, doc["error"])
	}

	status, doc = register(t, p, `{"application_type":"web","redirect_uris":["https://web.test/cb"]}`)
	id, _ = doc["client_id"].(string)
	secret, _ := doc["client_secret"].(string)
	if status != 201 || secret == "" || doc["client_secret_expires_at"] != 0.0 || doc["token_endpoint_auth_method"] != "client_secret_basic" {
		t.Fatalf("status %d, error %v", status, doc["error"])
	}
	given = code(t, p, "client_id", id, "redirect_uri", "-") // there is only one
	v := exchange(given, "client_id", "-", "redirect_uri", "https://web.test/cb")
	status, doc = post(t, p, "/token", v, id, secret)
	if status != 200 || doc["refresh_token"] != nil {
		t.Errorf("without the grant of refresh tokens: status %d, error %v", status, doc["error"])
	}
}

func TestRegistrationRefusals(t *testing.T) {
	p := served(t, authtest.Options{})
	for body, want := range map[string]string{
		`[]`:                      "invalid_client_metadata",
		`{"redirect_uris":"x"}`:   "invalid_client_metadata",
		`{"scope":"a","scope":1}`: "invalid_client_metadata",
		`{}`:                      "invalid_redirect_uri",
		`{"redirect_uris":["https://a.test/#x"]}`:                                                       "invalid_redirect_uri",
		`{"redirect_uris":["http://a.test/"]}`:                                                          "invalid_redirect_uri",
		`{"redirect_uris":["javascript:alert(1)"]}`:                                                     "invalid_redirect_uri",
		`{"redirect_uris":["https://u@a.test/"]}`:                                                       "invalid_redirect_uri",
		`{"redirect_uris":["http://localhost/cb"],"application_type":"web"}`:                            "invalid_redirect_uri",
		`{"redirect_uris":["https://localhost/cb"],"application_type":"web"}`:                           "invalid_redirect_uri",
		`{"redirect_uris":["com.example.app:/cb"],"application_type":"web"}`:                            "invalid_redirect_uri",
		`{"redirect_uris":["https://a.test/"],"application_type":"other"}`:                              "invalid_client_metadata",
		`{"redirect_uris":["https://a.test/"],"grant_types":["password"]}`:                              "invalid_client_metadata",
		`{"redirect_uris":["https://a.test/"],"response_types":["token"]}`:                              "invalid_client_metadata",
		`{"redirect_uris":["https://a.test/"],"scope":"admin"}`:                                         "invalid_client_metadata",
		`{"redirect_uris":["https://a.test/"],"token_endpoint_auth_method":"tls"}`:                      "invalid_client_metadata",
		`{"redirect_uris":["https://a.test/"],"token_endpoint_auth_method":"private_key_jwt"}`:          "invalid_client_metadata",
		`{"grant_types":["client_credentials"],"token_endpoint_auth_method":"none"}`:                    "invalid_client_metadata",
		`{"redirect_uris":["https://a.test/"],"token_endpoint_auth_method":"private_key_jwt","jwks":1}`: "invalid_client_metadata",
	} {
		if status, doc := register(t, p, body); status != 400 || doc["error"] != want || doc["client_id"] != nil {
			t.Errorf("%s: %d %v, want %s", body, status, doc["error"], want)
		}
	}
	for _, body := range []string{
		`{"redirect_uris":["http://127.0.0.1:8/cb"],"application_type":"native"}`,
		`{"redirect_uris":["com.example.app:/cb"],"application_type":"native"}`,
		`{"redirect_uris":["http://localhost/cb"]}`, // says nothing of its type
		`{"grant_types":["client_credentials"]}`,
	} {
		if status, doc := register(t, p, body); status != 201 {
			t.Errorf("%s: %d %v", body, status, doc["error"])
		}
	}
	if got := len(p.Clients()); got != 6 {
		t.Errorf("%d clients, want the two that are ready made and four", got)
	}
}

func TestClientIDMetadataDocuments(t *testing.T) {
	const id = "https://client.test/app.json"
	good := map[string]any{"client_id": id, "client_name": "C", "redirect_uris": []string{callback}}
	with := func(name string, value any) map[string]any {
		out := map[string]any{name: value}
		for k, v := range good {
			if _, set := out[k]; !set {
				out[k] = v
			}
		}
		return out
	}
	document := any(good)
	var asked []string
	p := served(t, authtest.Options{FetchClient: func(_ context.Context, url string) ([]byte, error) {
		asked = append(asked, url)
		if document == nil {
			return nil, errors.New("no such host")
		}
		if text, ok := document.(string); ok {
			return []byte(text), nil
		}
		return json.Marshal(document)
	}})
	if _, doc := fetch(t, p.Issuer()+"/.well-known/oauth-authorization-server"); doc["client_id_metadata_document_supported"] != true {
		t.Error("the metadata does not say so")
	}
	given := code(t, p, "client_id", id)
	if status, doc := post(t, p, "/token", exchange(given, "client_id", id)); status != 200 {
		t.Errorf("status %d, error %v", status, doc["error"])
	}
	if len(asked) != 1 || asked[0] != id {
		t.Errorf("fetched %v", asked)
	}
	for name, bad := range map[string]any{
		"none": nil, "no JSON": "<html>", "too long": with("x", strings.Repeat("x", 70<<10)),
		"other id": with("client_id", id+"2"), "no name": with("client_name", ""), "a secret": with("client_secret", "x"),
		"secret method": with("token_endpoint_auth_method", "client_secret_post"), "no redirect": with("redirect_uris", []string{}),
		"other redirect": with("redirect_uris", []string{"http://127.0.0.1/other"}),
	} {
		document = bad
		if place, _ := authorize(t, p, request("client_id", id)); place != "" {
			t.Errorf("%s: it leads to %s", name, place)
		}
	}
	document, asked = good, nil
	for _, bad := range []string{"http://client.test/app.json", "https://client.test", "https://client.test/", "https://u@client.test/a",
		"https://client.test/a#b", "https://client.test/a/../b", "https:///a"} {
		if place, _ := authorize(t, p, request("client_id", bad)); place != "" || asked != nil {
			t.Errorf("%s: it leads to %s, fetched %v", bad, place, asked)
		}
	}
	q := served(t, authtest.Options{})
	if place, _ := authorize(t, q, request("client_id", id)); place != "" {
		t.Errorf("without a fetcher it leads to %s", place)
	}
}

// A client that registered its own key proves by it who it is, and only so.
func TestAssertions(t *testing.T) {
	p := served(t, authtest.Options{})
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set := func(key any) string {
		raw, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key, KeyID: "mine"}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const body = `{"grant_types":["client_credentials"],"token_endpoint_auth_method":"private_key_jwt","jwks":`
	for name, keys := range map[string]string{"private": set(private), "symmetric": set([]byte("0123456789abcdef0123456789abcdef"))} {
		if status, doc := register(t, p, body+keys+`}`); status != 400 || doc["error"] != "invalid_client_metadata" {
			t.Errorf("a %s key: %d %v", name, status, doc["error"])
		}
	}
	status, doc := register(t, p, body+set(private.Public())+`}`)
	id, _ := doc["client_id"].(string)
	if status != 201 || id == "" || doc["client_secret"] != nil {
		t.Fatalf("status %d, error %v", status, doc["error"])
	}
	_, doc = register(t, p, `{"grant_types":["client_credentials"],"jwks":`+set(private.Public())+`}`)
	other, _ := doc["client_id"].(string) // has the key, and registered for a secret

	now := p.Now().Unix()
	for name, test := range map[string]struct {
		claims authtest.Claims
		id     string
		works  bool
	}{
		"right":          {nil, "", true},
		"with its id":    {nil, id, true},
		"token endpoint": {authtest.Claims{"aud": p.Issuer() + "/token"}, "", true},
		"two audiences":  {authtest.Claims{"aud": []string{"x", p.Issuer()}}, "", true},
		"another id":     {nil, "service", false},
		"other audience": {authtest.Claims{"aud": "https://other.test"}, "", false},
		"no audience":    {authtest.Claims{"aud": nil}, "", false},
		"odd audience":   {authtest.Claims{"aud": 1}, "", false},
		"other issuer":   {authtest.Claims{"iss": "other"}, "", false},
		"other subject":  {authtest.Claims{"iss": "service", "sub": "service"}, "", false},
		"other method":   {authtest.Claims{"iss": other, "sub": other}, "", false},
		"expired":        {authtest.Claims{"exp": now}, "", false},
		"no id":          {authtest.Claims{"jti": ""}, "", false},
	} {
		claims := authtest.Claims{"iss": id, "sub": id, "aud": p.Issuer(), "exp": now + 60, "jti": name}
		maps.Copy(claims, test.claims)
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: "mine"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign(payload)
		if err != nil {
			t.Fatal(err)
		}
		text, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		v := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}, "client_assertion": {text},
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
		if test.id != "" {
			v.Set("client_id", test.id)
		}
		status, doc := post(t, p, "/token", v)
		if works := status == 200 && doc["access_token"] != nil; works != test.works || !works && doc["error"] != "invalid_client" {
			t.Errorf("%s: %d %v", name, status, doc["error"])
		}
	}
}
