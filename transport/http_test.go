// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// carriers reach one handler in three ways.
func carriers(t *testing.T, h http.HandlerFunc) map[string]transport.Target {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	rt := &http.Transport{}
	t.Cleanup(rt.CloseIdleConnections)
	return map[string]transport.Target{
		"own":      &transport.HTTP{URL: srv.URL + "/mcp?k=secret"},
		"net/http": &transport.HTTP{URL: srv.URL + "/mcp?k=secret", RoundTripper: rt},
		"handler":  &transport.Handler{Handler: h, URL: "http://localhost/mcp?k=secret"},
	}
}

func stream(w http.ResponseWriter, blocks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, b := range blocks {
		_, _ = io.WriteString(w, b)
		w.(http.Flusher).Flush()
	}
}

// scripted answers by path of its question.
func scripted(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch string(body) {
	case "json":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"id":1}`)
	case "bad request":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(400)
		_, _ = io.WriteString(w, `{"error":1}`)
	case "accepted":
		w.WriteHeader(202)
	case "events":
		stream(w, ": hello\n\n", "event: message\nid: 1\ndata: {\"a\":1}\n\n", "data: {}\n\n", "event: other\ndata: {}\n\n", "id: 5\ndata:\n\n")
	case "page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>"+strings.Repeat("x", 100_000))
	case "plain":
		_, _ = io.WriteString(w, `{"id":1}`)
	case "redirect":
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	case "broken":
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":1`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case "half event":
		stream(w, "data: {}\n\ndata: {")
	case "hang":
		stream(w, "data: {}\n\n")
		<-r.Context().Done()
	case "silent":
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	}
}

func TestHTTPExchanges(t *testing.T) {
	for name, target := range carriers(t, scripted) {
		for _, tc := range []struct{ ask, want string }{
			{"json", `head 200 frame {"id":1} closed`},
			{"bad request", `head 400 frame {"error":1} closed`},
			{"accepted", `head 202 closed`},
			{"events", `head 200 sse ": hello\n\n" frame {"a":1} frame {} sse "event: other\ndata: {}\n\n" sse "id: 5\ndata:\n\n" closed`},
			{"page", `head 200 body 100006 closed`},
			{"plain", `head 200 body 8 closed`},
			{"redirect", `head 307 closed`},
			{"half event", `head 200 frame {} sse "data: {" closed`},
		} {
			c := open(t, target, transport.Options{})
			for range 3 {
				if got := story(t, c, send(t, c, tc.ask).Channel); got != tc.want {
					t.Errorf("%s, %s: %s, want %s", name, tc.ask, got, tc.want)
				}
			}
		}
		c := open(t, target, transport.Options{})
		got := story(t, c, send(t, c, "broken").Channel)
		if got != "head 200 body 7 closed broken" {
			t.Errorf("%s: %s", name, got)
		}
		if s := target.String(); strings.Contains(s, "secret") {
			t.Errorf("%s: %s", name, s)
		}
	}
}

func TestHTTPOtherRequests(t *testing.T) {
	for name, target := range carriers(t, scripted) {
		c := open(t, target, transport.Options{}).(transport.Requester)
		for _, tc := range []struct {
			r    transport.Request
			want string
		}{
			{transport.Request{Method: "GET"}, "head 200 frame GET /mcp closed"},
			{transport.Request{Method: "DELETE"}, "head 200 frame DELETE /mcp closed"},
			{transport.Request{Method: "GET", Path: "/.well-known/x"}, "head 200 frame GET /.well-known/x closed"},
		} {
			s, err := c.Request(t.Context(), tc.r)
			if err != nil {
				t.Fatal(err)
			}
			if got := story(t, c.(transport.Conn), s.Channel); got != tc.want {
				t.Errorf("%s: %s, want %s", name, got, tc.want)
			}
		}
		_, err := c.Request(t.Context(), transport.Request{Method: "GET", Path: "http://elsewhere/"})
		reason(t, err, transport.BadTarget)
		_, err = c.Request(t.Context(), transport.Request{Method: "GET", Path: "//elsewhere/"})
		reason(t, err, transport.BadTarget)
	}
}

func TestHTTPCloseChannel(t *testing.T) {
	for name, target := range carriers(t, scripted) {
		for _, ask := range []string{"hang", "silent"} {
			c := open(t, target, transport.Options{})
			s := send(t, c, ask)
			if ask == "hang" {
				for receive(t, c).Kind != transport.EventFrame {
				}
			}
			c.CloseChannel(s.Channel)
			c.CloseChannel(s.Channel)
			if got := story(t, c, s.Channel); got != "closed closed" {
				t.Errorf("%s, %s: %s", name, ask, got)
			}
			// The others go on.
			if got := story(t, c, send(t, c, "accepted").Channel); got != "head 202 closed" {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

func TestHTTPCloseEndsStreams(t *testing.T) {
	for name, target := range carriers(t, scripted) {
		c := open(t, target, transport.Options{})
		for range 5 {
			send(t, c, "hang")
		}
		begin := time.Now()
		shut(t, c)
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("%s: Close took %s", name, d)
		}
		if _, err := c.Send(t.Context(), transport.Outgoing{}); transport.ReasonOf(err) != transport.Closed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHTTPHeaders(t *testing.T) {
	seen := make(chan http.Header, 1)
	h := func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Clone()
		h.Set("Host", r.Host)
		seen <- h
		w.Header().Set("X-B", "1")
		w.Header().Add("X-A", "2")
		w.WriteHeader(202)
	}
	for name, target := range carriers(t, h) {
		switch x := target.(type) {
		case *transport.HTTP:
			x.Header = []wire.HeaderField{{Name: "Authorization", Value: "Bearer t"}, {Name: "X-Kept", Value: "k"}}
		case *transport.Handler:
			x.Header = []wire.HeaderField{{Name: "Authorization", Value: "Bearer t"}, {Name: "X-Kept", Value: "k"}}
		}
		c := open(t, target, transport.Options{})
		s, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("x"), Header: []wire.HeaderField{
			{Name: "authorization", Value: "Bearer other"}, {Name: "accept", Value: "text/plain"}}})
		if err != nil {
			t.Fatal(err)
		}
		got := <-seen
		for k, want := range map[string]string{
			"Authorization": "Bearer other", "Accept": "text/plain", "X-Kept": "k", "Content-Type": "application/json",
			"Content-Length": "1", "User-Agent": "mcprove",
		} {
			if k == "Content-Length" && name == "handler" {
				continue
			}
			if vs := got.Values(k); len(vs) != 1 || vs[0] != want {
				t.Errorf("%s: %s: %v, want %s", name, k, vs, want)
			}
		}
		head := s.Head
		if head.Get("Authorization") != "Bearer other" || len(head.Values("accept")) != 1 || s.Frame.HTTP != head {
			t.Errorf("%s: %+v", name, head)
		}
		if got := story(t, c, s.Channel); got != "head 202 closed" {
			t.Errorf("%s: %s", name, got)
		}
		_, err = c.Send(t.Context(), transport.Outgoing{Raw: []byte("x"), Bare: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got.Get("Accept")+got.Get("X-Kept")+got.Get("Content-Type") != "" {
			t.Errorf("%s: bare, but %v", name, got)
		}
		_, err = c.Send(t.Context(), transport.Outgoing{Header: []wire.HeaderField{{Name: "X", Value: "a\r\nY: b"}}})
		reason(t, err, transport.BadTarget)
	}
}

func TestOwnCarrierReadsTheBytes(t *testing.T) {
	u := raw(t, "HTTP/1.1 200 Fine\r\nconTENT-type:application/json\r\nX-Two:  b \r\nx-two: a\r\nContent-Length: 2\r\n\r\n{}"+
		"", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"1;x=y\r\n{\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n",
		"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n[1]<close>",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 1\n\n7")
	c := open(t, &transport.HTTP{URL: u}, transport.Options{})
	s := send(t, c, "1")
	head := receive(t, c).Head
	want := []wire.HeaderField{{Name: "conTENT-type", Value: "application/json"}, {Name: "X-Two", Value: "b"},
		{Name: "x-two", Value: "a"}, {Name: "Content-Length", Value: "2"}}
	if fmt.Sprint(head.Header) != fmt.Sprint(want) || head.Reason != "Fine" || !head.Exact {
		t.Errorf("head %+v", head)
	}
	if got := story(t, c, s.Channel); got != "frame {} closed" {
		t.Error(got)
	}
	for _, want := range []string{"head 200 frame {} closed", "head 200 frame [1] closed", "head 200 frame 7 closed"} {
		if got := story(t, c, send(t, c, "2").Channel); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestOwnCarrierRefusesBrokenHTTP(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, tc := range []struct{ answer, want string }{
		{"<close>", "closed broken"},
		{"HTTP/1.1 200 OK\r\nContent-Le<close>", "closed broken"},
		{"hello\r\n\r\n", "closed bad-http"},
		{"hello<close>", "closed bad-http"},
		{"\x15\x03\x01\x00\x02\x02\x16<close>", "closed bad-http"},
		{"HTTP/1.1 99 Odd\r\n\r\n", "closed bad-http"},
		{"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "closed bad-http"},
		{"HTTP/1.1 200 OK\r\nA: " + long + "\r\n\r\n", "closed bad-http"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", "head 200 closed bad-http"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "head 200 closed bad-http"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}", "head 200 closed bad-http"},
		{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{}<close>", "head 200 body 2 closed broken"},
		{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n<close>", "head 200 body 2 closed broken"},
		{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", "head 200 closed broken"},
		{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\ndata: 1\n\n<close>", "head 200 frame 1 closed broken"},
		{strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), "closed bad-http"},
	} {
		c := open(t, &transport.HTTP{URL: raw(t, tc.answer)}, transport.Options{})
		got := story(t, c, send(t, c, "x").Channel)
		// A body whose framing is unknown is known only with its head.
		if got != tc.want && got != strings.TrimPrefix(tc.want, "head 200 ") {
			t.Errorf("%.40q: %s, want %s", tc.answer, got, tc.want)
		}
		shut(t, c)
	}
}

func TestOwnCarrierNoticesAClosedConnection(t *testing.T) {
	answer := "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n<close>"
	c := open(t, &transport.HTTP{URL: raw(t, answer, answer, answer)}, transport.Options{})
	for range 3 {
		if got := story(t, c, send(t, c, "x").Channel); got != "head 202 closed" {
			t.Error(got)
		}
		time.Sleep(20 * time.Millisecond) // the server closes, though it promised to keep alive
	}
}

func TestOwnCarrierKeepsConnections(t *testing.T) {
	conns := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns[r.RemoteAddr] = true
		w.WriteHeader(202)
	}))
	t.Cleanup(srv.Close)
	c := open(t, &transport.HTTP{URL: srv.URL}, transport.Options{})
	for range 20 {
		story(t, c, send(t, c, "x").Channel)
	}
	if len(conns) != 1 {
		t.Errorf("%d connections for 20 requests", len(conns))
	}
}

func TestOwnCarrierSendsAnyBytes(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(scripted))
	t.Cleanup(srv.Close)
	c := open(t, &transport.HTTP{URL: srv.URL}, transport.Options{})
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n": "head 400 body",
		"NONSENSE\r\n\r\n": "head 400 body",
		"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n": "head 200 frame GET /x closed",
	} {
		s, err := c.(transport.RawRequester).RequestBytes(t.Context(), []byte(request), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := story(t, c, s.Channel); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", request, got, want)
		}
	}
}

func TestOwnCarrierLimitsTheBody(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Repeat("1", 3000))
	}))
	t.Cleanup(srv.Close)
	c := open(t, &transport.HTTP{URL: srv.URL}, transport.Options{Limit: 2000})
	if got := story(t, c, send(t, c, "x").Channel); got != "head 200 body 2001 closed bad-http" {
		t.Error(got)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String()
	_ = l.Close()
	rt := &http.Transport{}
	for name, target := range map[string]*transport.HTTP{
		"own": {URL: refused + "/a?token=secret"}, "net/http": {URL: refused + "/a?token=secret", RoundTripper: rt},
		"no host": {URL: "http://no-such-host.invalid/"}, "no host, net/http": {URL: "http://no-such-host.invalid/", RoundTripper: rt},
	} {
		c := open(t, target, transport.Options{})
		_, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("x")})
		if e := reason(t, err, transport.Unreachable); strings.Contains(e.Error(), "secret") {
			t.Errorf("%s: %v", name, e)
		}
	}
	for _, bad := range []string{"", "ftp://x/", "http:///a", "localhost:80/x", "http://user:secret@[bad/"} {
		_, err := (&transport.HTTP{URL: bad}).Open(t.Context(), transport.Options{})
		if e := reason(t, err, transport.BadTarget); strings.Contains(e.Error(), "secret") {
			t.Errorf("%v", e)
		}
	}
}

func TestServerThatDoesNotAnswerTheHandshake(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c := open(t, &transport.HTTP{URL: "https://" + l.Addr().String(), DialTimeout: 50 * time.Millisecond}, transport.Options{})
	_, err = c.Send(t.Context(), transport.Outgoing{Raw: []byte("x")})
	reason(t, err, transport.Unreachable)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = c.Send(ctx, transport.Outgoing{Raw: []byte("x")})
	reason(t, err, transport.TimedOut)
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(scripted))
	srv.Config.ErrorLog = quietLog()
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	plain := httptest.NewServer(http.HandlerFunc(scripted))
	t.Cleanup(plain.Close)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	cfg := &tls.Config{RootCAs: pool}
	for _, h2 := range []bool{false, true} {
		c := open(t, &transport.HTTP{URL: srv.URL, TLS: cfg, HTTP2: h2}, transport.Options{})
		send(t, c, "json")
		head := receive(t, c).Head
		if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]; head.Proto != want {
			t.Errorf("spoke %s, want %s", head.Proto, want)
		}
		for range 2 {
			receive(t, c)
		}
		if got := story(t, c, send(t, c, "json").Channel); got != `head 200 frame {"id":1} closed` {
			t.Error(got)
		}
		c = open(t, &transport.HTTP{URL: srv.URL, HTTP2: h2}, transport.Options{})
		_, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("x")})
		reason(t, err, transport.TLSFailed)
		c = open(t, &transport.HTTP{URL: strings.Replace(plain.URL, "http:", "https:", 1), HTTP2: h2}, transport.Options{})
		_, err = c.Send(t.Context(), transport.Outgoing{Raw: []byte("x")})
		reason(t, err, transport.TLSFailed)
	}
}

func TestProxy(t *testing.T) {
	proxied := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied <- r.URL.String()
		w.WriteHeader(202)
	}))
	t.Cleanup(proxy.Close)
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, &transport.HTTP{URL: "http://server.example/mcp", Proxy: u}, transport.Options{})
	if got := story(t, c, send(t, c, "x").Channel); got != "head 202 closed" {
		t.Error(got)
	}
	if got := <-proxied; got != "http://server.example/mcp" {
		t.Error(got)
	}
}

func TestStatusError(t *testing.T) {
	for _, tc := range []struct {
		status int
		header wire.HeaderField
		body   string
		want   transport.Reason
	}{
		{401, wire.HeaderField{Name: "www-authenticate", Value: "Bearer x"}, "", transport.AuthNeeded},
		{403, wire.HeaderField{}, "", transport.AuthNeeded},
		{404, wire.HeaderField{}, "", transport.NotFound},
		{405, wire.HeaderField{}, "", transport.BadStatus},
		{302, wire.HeaderField{Name: "Location", Value: "https://login.example/?code=secret"}, "", transport.Redirected},
		{500, wire.HeaderField{}, "", transport.BadStatus},
		{200, wire.HeaderField{Name: "Content-Type", Value: "text/html"}, "", transport.NotMCP},
		{200, wire.HeaderField{}, " <!DOCTYPE html>", transport.NotMCP},
		{200, wire.HeaderField{Name: "Content-Type", Value: "text/plain"}, "ok", ""},
		{202, wire.HeaderField{}, "", ""},
	} {
		err := transport.StatusError(&wire.Head{Status: tc.status, Header: []wire.HeaderField{tc.header}}, []byte(tc.body))
		if transport.ReasonOf(err) != tc.want {
			t.Errorf("%d: %v, want %s", tc.status, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}
