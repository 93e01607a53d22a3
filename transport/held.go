// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Holder is a Conn over HTTP that can be slow on purpose.
type Holder interface {
	// CanHold reports whether its carrier can: one through a proxy, or of HTTP/2,
	// cannot.
	CanHold() bool
	// Hold sends the head of a request on a connection of its own. Its body, of
	// size bytes or in chunks where that is below zero, is the caller's to
	// write, and nothing of the answer is read before it is asked for. Body of
	// the request is ignored. The tap sees the head alone.
	Hold(ctx context.Context, r Request, size int64) (*Held, error)
}

// Held is a request that is under way as long as its owner likes. Its methods
// are for one goroutine, but for Close. Closing the Conn closes it.
type Held struct {
	conn *httpConn
	p    pending
	body io.WriteCloser // of the request
	head []byte         // of the request as bytes, nil where a connection carries one alone
	sock net.Conn
	once sync.Once
}

// holdCarrier can hold a request.
type holdCarrier interface {
	hold(ctx context.Context, r *request, size int64) (*Held, error)
}

var errHoldless = errors.New("this carrier cannot hold a request")

// CanHold implements Holder.
func (c *httpConn) CanHold() bool {
	_, ok := c.carrier.(holdCarrier)
	return ok && c.kind == StreamableHTTP
}

// Hold implements Holder.
func (c *httpConn) Hold(ctx context.Context, r Request, size int64) (*Held, error) {
	hc, ok := c.carrier.(holdCarrier)
	if !ok {
		return nil, c.errorf(BadTarget, "holding a request", errHoldless)
	}
	r.Body = []byte{} // it has the headers of one with a body
	q := c.requestOf(r)
	q.body = nil
	if size < 0 {
		q.header = append(q.header, wire.HeaderField{Name: "Transfer-Encoding", Value: "chunked"})
	} else {
		q.header = append(q.header, wire.HeaderField{Name: "Content-Length", Value: strconv.FormatInt(size, 10)})
	}
	if err := checkFields(q); err != nil {
		return nil, c.errorf(BadTarget, "request header", err)
	}
	head := &wire.Head{Time: time.Now(), Dir: wire.ToServer, Method: q.method, URL: q.url.String(), Proto: "HTTP/1.1", Exact: c.carrier.exact(), Header: q.fields()}
	sent := Sent{Head: head}
	c.observe(TapEvent{Sent: true, Event: Event{Kind: EventHead, Tag: r.Tag, Head: head}})
	h, err := hc.hold(ctx, q, size)
	if err != nil {
		return nil, c.unsent(sent, r.Tag, c.named(err))
	}
	h.conn = c
	c.mu.Lock()
	closed := c.closed
	if !closed {
		if c.held == nil {
			c.held = map[*Held]struct{}{}
		}
		c.held[h] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		h.Close()
		return nil, c.unsent(sent, r.Tag, c.errorf(Closed, "the connection is closed", nil))
	}
	return h, nil
}

// Write writes bytes of the body, within the context. Once it failed nothing
// more can be written.
func (h *Held) Write(ctx context.Context, b []byte) error {
	var w io.Writer = h.body
	if h.sock != nil {
		stop := context.AfterFunc(ctx, func() { _ = h.sock.SetWriteDeadline(time.Unix(1, 0)) })
		defer stop()
	} else {
		stop := context.AfterFunc(ctx, h.Close) // nothing else ends it
		defer stop()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// End says that the body is whole.
func (h *Held) End() error { return h.body.Close() }

// Again sends the whole request once more behind itself, with its body, before
// the answer to the first was read. It reports whether that went; a carrier
// that is no socket does not do it.
func (h *Held) Again(ctx context.Context, body []byte) bool {
	return h.head != nil && h.Write(ctx, slices.Concat(h.head, body)) == nil
}

// Sips makes the buffer for what arrives small, so that little of an answer
// that nobody reads is out of the server's hands.
func (h *Held) Sips() {
	if t, ok := h.sock.(*net.TCPConn); ok {
		_ = t.SetReadBuffer(4 << 10) // it is a wish
	}
}

// answerWait bounds the reading of a body that does not end by itself.
const answerWait = 500 * time.Millisecond

// Answer reads the head of the answer, and at most some of its body, within the
// context. Nothing more can be done with the request but to close it.
func (h *Held) Answer(ctx context.Context, most int) (*wire.Head, []byte, error) {
	stop := context.AfterFunc(ctx, h.p.abort)
	defer stop()
	res, err := h.p.response()
	if err != nil {
		if ctx.Err() != nil {
			err = contextError(ctx, "waiting for the answer")
		}
		return nil, nil, h.conn.named(err)
	}
	limit := time.AfterFunc(answerWait, h.p.abort)
	defer limit.Stop()
	body, _ := io.ReadAll(io.LimitReader(res.body, int64(most))) // what there is
	_ = res.body.Close()
	return res.head, body, nil
}

// Drain reads everything that comes and forgets it, until the request is closed
// or the server has no more to say.
func (h *Held) Drain() {
	if h.sock != nil {
		_, _ = io.Copy(io.Discard, h.sock)
		return
	}
	if res, err := h.p.response(); err == nil {
		_, _ = io.Copy(io.Discard, res.body)
	}
}

// Close ends the request and its connection. It may be called from any
// goroutine, and more than once.
func (h *Held) Close() {
	h.once.Do(func() {
		h.p.abort()
		if h.sock == nil {
			_ = h.body.(*io.PipeWriter).CloseWithError(io.ErrUnexpectedEOF) // as net/http says of a client that is gone
		}
		if h.conn != nil {
			h.conn.mu.Lock()
			delete(h.conn.held, h)
			h.conn.mu.Unlock()
		}
	})
}

// hold implements holdCarrier.
func (c *h1) hold(ctx context.Context, r *request, size int64) (*Held, error) {
	conn, _, err := c.take(ctx, true)
	if err != nil {
		return nil, err
	}
	h := &Held{p: &h1Pending{h1: c, conn: conn, whole: true}, head: r.encode(), sock: conn.Conn}
	h.body = rawBody{conn.Conn}
	if size < 0 {
		h.body = chunkedBody{httputil.NewChunkedWriter(conn.Conn), conn.Conn}
	}
	if _, err := writeContext(ctx, conn.Conn, h.head); err != nil {
		conn.cut()
		return nil, &Error{Reason: Broken, Detail: "sending the request", Err: err}
	}
	return h, nil
}

// rawBody is a body of a length that was announced.
type rawBody struct{ io.Writer }

func (rawBody) Close() error { return nil }

// chunkedBody is one in chunks (RFC 9112, section 7.1).
type chunkedBody struct {
	io.WriteCloser
	conn net.Conn
}

func (b chunkedBody) Close() error {
	if err := b.WriteCloser.Close(); err != nil {
		return err
	}
	_, err := b.conn.Write([]byte("\r\n")) // no trailers
	return err
}

// hold implements holdCarrier.
func (c *inProcess) hold(_ context.Context, r *request, size int64) (*Held, error) {
	from, to := io.Pipe()
	var body io.ReadCloser = from
	if size >= 0 { // it is whole with its last byte
		body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(from, size), from}
	}
	p, err := c.call(r, body, size)
	if err != nil {
		return nil, err
	}
	return &Held{p: p, body: to}, nil
}
