// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/transport"
)

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

func TestHandlerHoldsBackWhatIsNotFlushed(t *testing.T) {
	release := make(chan struct{})
	c := open(t, &transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		<-release
		w.(http.Flusher).Flush()
		<-release
	})}, transport.Options{})
	s := send(t, c, "x")
	early := make(chan transport.Event)
	go func() { early <- receive(t, c) }()
	select {
	case e := <-early:
		t.Errorf("before the flush: %s", tell(e))
	case <-time.After(30 * time.Millisecond):
	}
	release <- struct{}{}
	<-early
	if e := receive(t, c); e.Kind != transport.EventFrame {
		t.Error(tell(e))
	}
	release <- struct{}{}
	if got := story(t, c, s.Channel); got != "closed" {
		t.Error(got)
	}
}

func TestHandlerIsSlowedDown(t *testing.T) {
	wrote := make(chan int, 1)
	c := open(t, &transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		n := 0
		for {
			k, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<16)+"\n\n")
			if n += k; err != nil {
				break
			}
		}
		wrote <- n
	})}, transport.Options{})
	send(t, c, "x")
	time.Sleep(100 * time.Millisecond)
	shut(t, c)
	if n := <-wrote; n > 24<<20 {
		t.Errorf("the handler wrote %d MB that nobody read", n>>20)
	}
}

func TestHandlerPanics(t *testing.T) {
	c := open(t, &transport.Handler{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh no") })}, transport.Options{})
	s := send(t, c, "x")
	e := receive(t, c)
	err := reason(t, e.Err, transport.Broken)
	if e.Channel != s.Channel || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("%v", err)
	}
}

// TestHandlerLooksLikeHTTP compares what a handler sees and what a client gets
// in process and over a socket.
func TestHandlerLooksLikeHTTP(t *testing.T) {
	big := strings.Repeat("b", 10_000)
	for name, h := range map[string]http.HandlerFunc{
		"nothing":       func(http.ResponseWriter, *http.Request) {},
		"status only":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"text":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"late header":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.Header().Set("X-Late", "1") },
		"two statuses":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) },
		"interim":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(204) },
		"more than 4 K": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, big) },
		"html":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"flush alone":   func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"request": func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Method+r.RequestURI+r.URL.Path+r.URL.RawQuery+string(b)+r.Proto+r.Header.Get("Accept"))
		},
		"error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad", 400) },
	} {
		srv := httptest.NewUnstartedServer(h)
		srv.Config.ErrorLog = quietLog()
		srv.Start()
		var got [2]string
		for i, target := range []transport.Target{&transport.HTTP{URL: srv.URL + "/p?q=1"}, &transport.Handler{Handler: h, URL: "http://localhost/p?q=1"}} {
			c := open(t, target, transport.Options{})
			send(t, c, "body")
			e := receive(t, c)
			for _, f := range e.Head.Header {
				// A response without a socket has no date, and no framing.
				if f.Name != "Date" && f.Name != "Transfer-Encoding" && f.Name != "Connection" {
					got[i] += f.Name + ": " + f.Value + "\n"
				}
			}
			got[i] += tell(e) + " "
			for e.Kind != transport.EventClosed {
				e = receive(t, c)
				got[i] += tell(e) + string(e.Body) + " "
			}
		}
		srv.Close()
		sorted := func(s string) map[string]int {
			m := map[string]int{}
			for _, l := range strings.Split(s, "\n") {
				m[l]++
			}
			return m
		}
		a, b := sorted(got[0]), sorted(got[1])
		for l := range a {
			if a[l] != b[l] {
				t.Errorf("%s: over a socket\n%s\nin process\n%s", name, got[0], got[1])
				break
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: over a socket\n%s\nin process\n%s", name, got[0], got[1])
		}
	}
}
