// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Command is a target that starts a program and speaks over its standard
// input and output.
type Command struct {
	// Argv is the program and its arguments. The program is looked up in the
	// PATH of Env.
	Argv []string
	Dir  string
	// Env is the whole environment of the program. Nothing is added to it.
	Env []string
	// CloseGrace is how long Close waits after closing the input, TermGrace
	// how long after the terminate signal; zero means 1 s each.
	CloseGrace, TermGrace time.Duration
}

// HTTP is a target at a URL that speaks Streamable HTTP.
type HTTP struct {
	URL string
	// Header is sent with every request to the target and nowhere else.
	Header []wire.HeaderField
	// TLS adds to how certificates are checked; nil means the system's roots.
	TLS *tls.Config
	// Proxy is the proxy to use, nil for none. It selects the carrier by
	// net/http.
	Proxy *url.URL
	// HTTP2 asks for HTTP/2. It selects the carrier by net/http.
	HTTP2 bool
	// RoundTripper, when not nil, carries the requests.
	RoundTripper http.RoundTripper
	// DialTimeout bounds connecting and the TLS handshake; zero means 10 s.
	DialTimeout time.Duration
}

// SSE is a target at a URL that speaks HTTP+SSE of 2024-11-05. Its fields are
// those of HTTP.
type SSE HTTP

// Handler is a target inside the process: an http.Handler that speaks
// Streamable HTTP. It is called without sockets; what it writes is held back
// as net/http would, until it flushes, fills 4 KiB or returns.
type Handler struct {
	Handler http.Handler
	// URL is what requests are addressed to; empty means http://localhost/.
	URL    string
	Header []wire.HeaderField
	// Name describes the target; empty means "handler".
	Name string
}

// Pipe is a target over a pair of streams that exist already, in the framing
// of stdio. It opens once. Close closes both.
type Pipe struct {
	R    io.ReadCloser
	W    io.WriteCloser
	Name string // describes the target; empty means "pipe"
	// Server makes this the server's side: what arrives has the direction
	// ToServer.
	Server bool

	opened atomic.Bool
}

// Sending is the same target, whose requests have these headers too.
func (t *HTTP) Sending(header []wire.HeaderField) Target {
	c := *t
	c.Header = append(slices.Clone(t.Header), header...)
	return &c
}

// Sending is the same target, whose requests have these headers too.
func (t *SSE) Sending(header []wire.HeaderField) Target {
	c := *t
	c.Header = append(slices.Clone(t.Header), header...)
	return &c
}

// Sending is the same target, whose requests have these headers too.
func (t *Handler) Sending(header []wire.HeaderField) Target {
	c := *t
	c.Header = append(slices.Clone(t.Header), header...)
	return &c
}
