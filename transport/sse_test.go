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

// oldServer speaks HTTP+SSE: what is posted comes back on the stream.
func oldServer(endpoint string) http.HandlerFunc {
	posted := make(chan string)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			b, _ := io.ReadAll(r.Body)
			select {
			case posted <- r.URL.RequestURI() + " " + string(b):
			case <-r.Context().Done():
			}
			w.WriteHeader(202)
			_, _ = io.WriteString(w, "Accepted")
			return
		}
		stream(w, ": welcome\n\n", "event: endpoint\ndata: "+endpoint+"\n\n")
		for {
			select {
			case p := <-posted:
				stream(w, "event: message\ndata: "+p+"\n\n")
				if strings.HasSuffix(p, "bye") {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
	}
}

func TestSSE(t *testing.T) {
	h := oldServer("messages?session=1")
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	for name, target := range map[string]transport.Target{
		"own":     (&transport.HTTP{URL: srv.URL + "/a/sse"}).HTTPSSE(),
		"handler": (&transport.Handler{Handler: oldServer("messages?session=1"), URL: "http://localhost/a/sse"}).HTTPSSE(),
	} {
		if target.Kind() != transport.HTTPSSE {
			t.Errorf("%s: kind %v", name, target.Kind())
		}
		c := open(t, target, transport.Options{})
		if c.Kind() != transport.HTTPSSE {
			t.Errorf("%s: kind %v", name, c.Kind())
		}
		s := send(t, c, "one")
		var main, post []string
		for len(main) < 4 || len(post) < 3 {
			e := receive(t, c)
			switch e.Channel {
			case transport.Main:
				main = append(main, tell(e))
			case s.Channel:
				post = append(post, tell(e))
			}
		}
		if got := strings.Join(main, " "); got != `head 200 sse ": welcome\n\n" sse "event: endpoint\ndata: messages?session=1\n\n" frame /a/messages?session=1 one` {
			t.Errorf("%s: stream %s", name, got)
		}
		if got := strings.Join(post, " "); got != "head 202 body 8 closed" {
			t.Errorf("%s: post %s", name, got)
		}
		send(t, c, "bye")
		if got := story(t, c, transport.Main); got != "frame /a/messages?session=1 bye lost broken" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestSSECannotOpen(t *testing.T) {
	for _, tc := range []struct {
		name   string
		h      http.HandlerFunc
		reason transport.Reason
	}{
		{"another origin", oldServer("http://elsewhere.example/x"), transport.NotMCP},
		{"another origin without a scheme", oldServer("//elsewhere.example/x"), transport.NotMCP},
		{"another scheme", oldServer("https://localhost/x"), transport.NotMCP},
		{"405", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, transport.BadStatus},
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, transport.AuthNeeded},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, transport.NotMCP},
		{"text", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, transport.NotMCP},
		{"an end", func(w http.ResponseWriter, _ *http.Request) { stream(w, ": x\n\n") }, transport.Broken},
		{"endless comments", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				stream(w, ": x\n\n")
			}
		}, transport.NotMCP},
	} {
		_, err := (&transport.Handler{Handler: tc.h}).HTTPSSE().Open(t.Context(), transport.Options{})
		if transport.ReasonOf(err) != tc.reason {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.reason)
		}
	}
}

func TestSSESilentStream(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		stream(w, ": x\n\n")
		<-r.Context().Done()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := (&transport.Handler{Handler: http.HandlerFunc(h)}).HTTPSSE().Open(ctx, transport.Options{})
	reason(t, err, transport.TimedOut)
}
