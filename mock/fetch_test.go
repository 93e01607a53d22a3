// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// A URL in the request is asked for where it is one of this machine.
func TestFetch(t *testing.T) {
	var asked atomic.Int32
	lure := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer lure.Close()
	s := withFault(mock.On(spec.MethodPromptsList).Fetch("/params/at"))
	for _, tc := range []struct {
		at   string
		want int32
	}{{lure.URL + "/a", 1}, {"http://example.invalid/", 1}, {"file:///etc/hosts", 1}, {"", 1}, {lure.URL, 2}} {
		post(s, modern(spec.MethodPromptsList, `"at":"`+tc.at+`"`), nil)
		if got := asked.Load(); got != tc.want {
			t.Errorf("%q: asked %d times, want %d", tc.at, got, tc.want)
		}
	}
}
