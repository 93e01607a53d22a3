// SPDX-License-Identifier: Apache-2.0

package authtest_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/authtest"
)

// Whatever comes: no panic, a JSON object of OAuth or a redirect to a registered
// place, and never a token, a code or a secret for what proves nothing.
func FuzzEndpoints(f *testing.F) {
	right := request().Encode()
	f.Add(uint8(0), "application/x-www-form-urlencoded", exchange("x").Encode(), "")
	f.Add(uint8(0), "application/x-www-form-urlencoded", "grant_type=client_credentials&client_assertion=a.b.c&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer", "")
	f.Add(uint8(1), "application/json", `{"redirect_uris":["http://localhost/cb"],"jwks":{"keys":[{}]}}`, "")
	f.Add(uint8(2), "application/x-www-form-urlencoded", "token=a.b.c", "Basic c2VydmljZTp4")
	f.Add(uint8(3), "application/x-www-form-urlencoded", "token=a.b.c&client_id=app", "")
	f.Add(uint8(4), "application/x-www-form-urlencoded", right, "")
	f.Add(uint8(4), "application/x-www-form-urlencoded", right+"&resource=https%3A%2F%2Fother.test", "Basic %%%")
	paths := []string{"/token", "/register", "/introspect", "/revoke", "/authorize"}
	f.Fuzz(func(t *testing.T, which uint8, media, body, authorization string) {
		path := paths[int(which)%len(paths)]
		p := authtest.New(authtest.Options{})
		req := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
		req.Header.Set("Content-Type", media)
		if authorization != "" {
			req.Header["Authorization"] = []string{authorization}
		}
		rec := httptest.NewRecorder()
		p.ServeHTTP(rec, req)
		if rec.Code == 302 {
			u, err := url.Parse(rec.Header().Get("Location"))
			if path != "/authorize" || err != nil || u.Path != "/callback" || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" && u.Hostname() != "::1" && u.Hostname() != "service.invalid" {
				t.Fatalf("%s leads to %q", path, rec.Header().Get("Location"))
			}
			return
		}
		var doc map[string]any
		if rec.Body.Len() > 0 || rec.Code >= 400 {
			if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
				t.Fatalf("%s: status %d and no JSON object", path, rec.Code)
			}
		}
		if code, _ := doc["error"].(string); rec.Code >= 400 && (code == "" || rec.Code >= 500) {
			t.Fatalf("%s: status %d, error %q", path, rec.Code, code)
		}
		if path == "/token" && rec.Code < 400 || path == "/introspect" && doc["active"] == true {
			t.Fatalf("%s: status %d for somebody who proved nothing", path, rec.Code)
		}
	})
}
