// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/transport"
)

// A request is held by a handler inside the process as it is by a socket.
func TestHeld(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		_, _ = io.WriteString(w, strings.Join(append(r.TransferEncoding, r.Header.Get("Content-Type"), string(body)), " "))
	})
	s := httptest.NewServer(echo)
	defer s.Close()
	for _, target := range []transport.Target{&transport.Handler{Handler: echo}, &transport.HTTP{URL: s.URL}} {
		c := open(t, target, transport.Options{})
		holder := c.(transport.Holder)
		for _, size := range []int64{4, -1} {
			h, err := holder.Hold(t.Context(), transport.Request{Method: "POST"}, size)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range []string{"s", "l", "ow"} {
				if err := h.Write(t.Context(), []byte(b)); err != nil {
					t.Fatal(err)
				}
			}
			if size < 0 {
				if err := h.End(); err != nil {
					t.Fatal(err)
				}
			}
			want := "application/json slow"
			if size < 0 {
				want = "chunked " + want
			}
			head, body, err := h.Answer(t.Context(), 100)
			if err != nil || head.Status != 200 || string(body) != want {
				t.Errorf("%s, size %d: %q, %v", target, size, body, err)
			}
			h.Close()
		}
		h, err := holder.Hold(t.Context(), transport.Request{Method: "POST"}, 4)
		if err != nil {
			t.Fatal(err)
		}
		limit, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, _, err := h.Answer(limit, 100); transport.ReasonOf(err) != transport.TimedOut {
			t.Errorf("%s: an answer to half a request: %v", target, err)
		}
		cancel()
		if _, err := holder.Hold(t.Context(), transport.Request{Method: "POST"}, 4); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("%s: close: %v", target, err)
		}
	}
}

// What goes through somebody else's carrier cannot be held.
func TestHeldByNobody(t *testing.T) {
	c := open(t, &transport.HTTP{URL: "http://127.0.0.1:1", RoundTripper: http.DefaultTransport}, transport.Options{})
	h := c.(transport.Holder)
	if h.CanHold() {
		t.Error("it can")
	}
	if _, err := h.Hold(t.Context(), transport.Request{Method: "POST"}, 1); transport.ReasonOf(err) != transport.BadTarget {
		t.Errorf("%v", err)
	}
}

// What nobody reads keeps the writer, on a socket once its buffers are full.
func TestHeldUnread(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	wrote := make(chan bool, 100)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, big)
		wrote <- true
	})
	s := httptest.NewServer(handler)
	defer s.Close()
	for _, target := range []transport.Target{&transport.Handler{Handler: handler}, &transport.HTTP{URL: s.URL}} {
		c := open(t, target, transport.Options{})
		h, err := c.(transport.Holder).Hold(t.Context(), transport.Request{Method: "POST"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		h.Sips()
		if err := h.Write(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		n := 1
		for n < 20 && h.Again(t.Context(), []byte("x")) {
			n++
		}
		time.Sleep(50 * time.Millisecond)
		if len(wrote) == n {
			t.Errorf("%s: %d answers were written that nobody reads", target, n)
		}
		for len(wrote) > 0 {
			<-wrote
		}
		h.Close()
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("%s: close: %v", target, err)
		}
	}
}
