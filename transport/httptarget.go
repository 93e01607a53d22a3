// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"

	"github.com/mcprove/mcprove/wire"
)

// Open implements Target. Nothing is sent yet.
func (t *HTTP) Open(_ context.Context, o Options) (Conn, error) {
	c, err := t.conn(StreamableHTTP, o)
	if err != nil {
		return nil, err
	}
	if _, ok := c.carrier.(rawCarrier); ok {
		return &rawHTTPConn{c}, nil
	}
	return c, nil
}

// Kind implements Target.
func (t *HTTP) Kind() Kind { return StreamableHTTP }

// String is the URL without user information and query.
func (t *HTTP) String() string { return safeURL(t.URL) }

// HTTPSSE implements SSEFallback.
func (t *HTTP) HTTPSSE() Target { return (*SSE)(t) }

func (t *HTTP) conn(kind Kind, o Options) (*httpConn, error) {
	u, err := parseURL(t.URL)
	if err != nil {
		return nil, &Error{Reason: BadTarget, Target: t.String(), Err: err}
	}
	header := t.Header
	if u.User != nil && !named("Authorization", [][]wire.HeaderField{header}) {
		header = append([]wire.HeaderField{basicAuth(u.User)}, header...)
	}
	u.User = nil
	var c carrier
	if t.Proxy != nil || t.HTTP2 || t.RoundTripper != nil {
		c = newNetHTTP(t)
	} else {
		c = newH1(u, t.TLS, t.DialTimeout)
	}
	return newHTTPConn(t.String(), kind, u, header, c, o), nil
}

// rawHTTPConn is an httpConn over a carrier that takes any bytes.
type rawHTTPConn struct{ *httpConn }

// RequestBytes implements RawRequester.
func (c *rawHTTPConn) RequestBytes(ctx context.Context, b []byte, tag any) (Sent, error) {
	return c.exchange(ctx, &request{url: c.base, bytes: b, fresh: true}, nil, tag)
}
