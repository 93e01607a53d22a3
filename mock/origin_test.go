// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// What a browser of this machine sends for a foreign page is refused, whichever
// way the page was reached.
func TestForeignPages(t *testing.T) {
	body := modern(spec.MethodDiscover, "")
	for _, tc := range []struct {
		name, method, from, host, origin string
		lenient                          []string
		status                           int
		allows                           string
	}{
		{"own name", "POST", "127.0.0.1:5", "localhost:80", "", nil, 200, ""},
		{"own address", "POST", "127.0.0.1:5", "127.0.0.1:3000", "http://127.0.0.1:3000", nil, 200, ""},
		{"own address of IPv6", "POST", "[::1]:5", "[::1]:3000", "", nil, 200, ""},
		{"a host of the script", "POST", "127.0.0.1:5", "app.example.com", "https://app.example.com", nil, 200, ""},
		{"foreign host", "POST", "127.0.0.1:5", "attacker.example:80", "", nil, 403, ""},
		{"foreign host, lenient", "POST", "127.0.0.1:5", "attacker.example:80", "", []string{mock.CheckHost}, 200, ""},
		{"foreign host from another machine", "POST", "192.0.2.7:5", "attacker.example:80", "", nil, 200, ""},
		{"a rebound name", "POST", "127.0.0.1:5", "attacker.example:80", "http://attacker.example:80", []string{mock.CheckHost}, 403, ""},
		{"a rebound name, lenient", "POST", "127.0.0.1:5", "attacker.example:80", "http://attacker.example:80", []string{mock.CheckHost, mock.CheckOriginHost}, 200, ""},
		{"another origin than the host, lenient", "POST", "127.0.0.1:5", "localhost", "http://attacker.example:80", []string{mock.CheckOriginHost}, 403, ""},
		{"preflight", "OPTIONS", "127.0.0.1:5", "localhost", "http://attacker.example", nil, 403, ""},
		{"preflight, lenient", "OPTIONS", "127.0.0.1:5", "localhost", "http://attacker.example", []string{mock.CheckPreflight}, 204, "http://attacker.example"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := mock.Script{Origins: []string{"https://app.example.com"}}
			for _, c := range tc.lenient {
				s.Faults = append(s.Faults, mock.Lenient(c))
			}
			r := httptest.NewRequest(tc.method, "/", strings.NewReader(body))
			r.RemoteAddr, r.Host = tc.from, tc.host
			for _, f := range headerOf(body) {
				r.Header.Set(f.Name, f.Value)
			}
			r.Header.Set("Content-Type", spec.MediaJSON)
			r.Header.Set("Accept", "application/json, text/event-stream")
			if tc.origin != "" {
				r.Header.Set(spec.HeaderOrigin, tc.origin)
			}
			w := httptest.NewRecorder()
			mock.New(s).ServeHTTP(w, r)
			if w.Code != tc.status || w.Header().Get("Access-Control-Allow-Origin") != tc.allows {
				t.Errorf("got %d, allowed %q; want %d, %q", w.Code, w.Header().Get("Access-Control-Allow-Origin"), tc.status, tc.allows)
			}
		})
	}
}
