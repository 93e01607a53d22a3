// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"time"
)

// h1 is our own HTTP/1.1 (RFC 9112): what it sends and reads is known to the
// byte. It keeps connections alive, never follows and never decodes.
type h1 struct {
	addr        string
	tls         *tls.Config // nil for plain TCP
	dialTimeout time.Duration

	mu     sync.Mutex
	idle   []*h1Conn
	closed bool
}

// h1Conn is one connection, used by one exchange at a time.
type h1Conn struct {
	net.Conn
	br *bufio.Reader
}

const (
	defaultDialTimeout = 10 * time.Second
	maxIdle            = 64
)

func newH1(u *url.URL, cfg *tls.Config, dialTimeout time.Duration) *h1 {
	c := &h1{dialTimeout: dialTimeout}
	if c.dialTimeout <= 0 {
		c.dialTimeout = defaultDialTimeout
	}
	port := u.Port()
	if u.Scheme == "https" {
		if port == "" {
			port = "443"
		}
		c.tls = &tls.Config{}
		if cfg != nil {
			c.tls = cfg.Clone()
		}
		if c.tls.ServerName == "" {
			c.tls.ServerName = u.Hostname()
		}
		c.tls.NextProtos = []string{"http/1.1"}
	} else if port == "" {
		port = "80"
	}
	c.addr = net.JoinHostPort(u.Hostname(), port)
	return c
}

func (c *h1) exact() bool { return true }
func (c *h1) raw()        {}

// take returns a connection, and whether it has been used before.
func (c *h1) take(ctx context.Context, fresh bool) (conn *h1Conn, reused bool, err error) {
	for !fresh {
		c.mu.Lock()
		n := len(c.idle)
		if n == 0 {
			c.mu.Unlock()
			break
		}
		conn = c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		// A server may have closed it in the meantime. A request must not be
		// lost that way, and must not be sent twice either.
		if conn.br.Buffered() == 0 && quiet(conn.Conn) {
			return conn, true, nil
		}
		_ = conn.Close()
	}
	conn, err = c.dial(ctx)
	return conn, false, err
}

func (c *h1) put(conn *h1Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= maxIdle {
		_ = conn.Close()
		return
	}
	c.idle = append(c.idle, conn)
}

func (c *h1) close(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.idle {
		_ = conn.Close()
	}
	c.idle = nil
	return nil
}

func (c *h1) dial(ctx context.Context) (*h1Conn, error) {
	limit, cancel := context.WithTimeout(ctx, c.dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(limit, "tcp", c.addr)
	if err != nil {
		return nil, dialError(ctx, err)
	}
	if c.tls != nil {
		tc := tls.Client(conn, c.tls)
		if err := tc.HandshakeContext(limit); err != nil {
			_ = conn.Close()
			return nil, tlsError(ctx, err)
		}
		conn = tc
	}
	return &h1Conn{Conn: conn, br: bufio.NewReaderSize(conn, 4<<10)}, nil
}

// start implements carrier.
func (c *h1) start(ctx context.Context, r *request) (pending, error) {
	b := r.bytes
	if b == nil {
		b = r.encode()
	}
	fresh := r.fresh
	for {
		conn, reused, err := c.take(ctx, fresh)
		if err != nil {
			return nil, err
		}
		p := &h1Pending{h1: c, conn: conn, head: r.method == "HEAD", reused: reused, whole: r.bytes != nil}
		n, err := writeContext(ctx, conn.Conn, b)
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			_ = conn.Close()
			return nil, &Error{Reason: TimedOut, Detail: "sending the request", Err: ctx.Err()}
		case reused && n == 0:
			// Nothing of it was taken: a fresh connection sends it the first time.
			_ = conn.Close()
			fresh = true
			continue
		}
		// A server may answer and close before it has read a long request.
		p.writeErr = err
		return p, nil
	}
}

// encode is the request as bytes.
func (r *request) encode() []byte {
	target := r.url.RequestURI()
	b := make([]byte, 0, 512+len(r.body))
	b = append(append(append(append(b, r.method...), ' '), target...), " HTTP/1.1\r\n"...)
	for _, f := range r.fields() {
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	return append(append(b, "\r\n"...), r.body...)
}
