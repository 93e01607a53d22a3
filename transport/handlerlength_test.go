// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcprove/mcprove/transport"
)

// A handler that declares another length than it writes, or writes where nothing may
// be, is met inside the process as over a socket.
func TestHandlerLengthsAreThoseOfSockets(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for name, x := range map[string]struct {
		handle http.HandlerFunc
		frames bool // an answer is there
		fails  bool // the response ended early
	}{
		"right": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "36")
			_, _ = io.WriteString(w, answer)
		}, true, false},
		"too short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "3")
			if _, err := io.WriteString(w, answer); !errors.Is(err, http.ErrContentLength) {
				t.Errorf("written: %v", err)
			}
		}, false, true},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "3000")
			_, _ = io.WriteString(w, answer)
		}, false, true},
		"no number": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "many")
			_, _ = io.WriteString(w, answer)
		}, true, false},
		"204 with a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, answer); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("written: %v", err)
			}
		}, false, false},
	} {
		srv := httptest.NewServer(x.handle)
		for where, target := range map[string]transport.Target{"process": &transport.Handler{Handler: x.handle}, "socket": &transport.HTTP{URL: srv.URL}} {
			c := open(t, target, transport.Options{})
			send(t, c, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			frames, failed := false, false
			for {
				e := receive(t, c)
				frames = frames || e.Kind == transport.EventFrame
				if e.Kind == transport.EventClosed {
					failed = e.Err != nil
					break
				}
			}
			if frames != x.frames || failed != x.fails {
				t.Errorf("%s in the %s: an answer %v, cut off %v", name, where, frames, failed)
			}
		}
		srv.Close()
	}
}
