// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// ErrEnded is what ServeStdio returns when a fault ended the connection.
var ErrEnded = errors.New("ended by a fault of the script")

// maxRunning bounds the requests of one connection that are being answered.
const maxRunning = 64

// maxBatch bounds the messages of one batch.
const maxBatch = 1000

// grace is how long requests may run on after the end of the input.
const grace = 500 * time.Millisecond

// ServeStdio serves one client over a pair of streams, a message a line, until
// r ends, the context is done or a fault ends it; in the latter two cases r is
// closed if it can be, because nothing else ends its Read. It returns when
// every request it began has ended.
func (s *Server) ServeStdio(ctx context.Context, r io.Reader, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &stdioConn{server: s, w: w, peer: newPeer(), slots: make(chan struct{}, maxRunning), fail: cancel}
	unread := context.AfterFunc(ctx, func() {
		if rc, ok := r.(io.Closer); ok {
			_ = rc.Close() // there is nobody to tell
		}
	})
	err := c.serve(ctx, r)
	unread()
	c.peer.leave()
	// Whoever ends his input still wants the answers to what he asked.
	patience := time.AfterFunc(grace, func() { cancel(nil) })
	c.running.Wait()
	patience.Stop()
	if cause := context.Cause(ctx); cause != nil && cause != context.Canceled {
		err = cause // a fault, or a writer that failed
	}
	cancel(nil)
	return err
}

// serve takes in lines until there are no more.
func (c *stdioConn) serve(ctx context.Context, r io.Reader) error {
	for _, b := range c.server.banners() {
		c.write(b)
	}
	in := wire.NewLines(r, 0)
	for {
		text, _, err := in.Next()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		c.line(ctx, text)
	}
}

// stdioConn is one connection over a pair of streams.
type stdioConn struct {
	server  *Server
	peer    *peer
	slots   chan struct{} // held by requests that are being answered
	running sync.WaitGroup
	fail    context.CancelCauseFunc

	mu sync.Mutex
	w  io.Writer
}

// line takes in one line. A batch, where the revision has such, is answered by
// a line for each message (2025-03-26/basic#batching).
func (c *stdioConn) line(ctx context.Context, text []byte) {
	if len(text) == 0 {
		return
	}
	m := wire.Read(text)
	if batch := m.Batch(); len(batch) > 0 && len(batch) <= maxBatch && spec.BatchAllowed(c.peer.agreed()) {
		for _, one := range batch {
			c.message(ctx, one)
		}
		return
	}
	c.message(ctx, m)
}

// message takes in one message. Requests are answered side by side, but
// everything that makes their order matter happens here: turns of faults, the
// handshake.
func (c *stdioConn) message(ctx context.Context, m *wire.Message) {
	q := newRequest(m)
	q.peer = c.peer
	q.send = func(message []byte) { c.write(message) }
	c.server.setPage(q)
	q.faults = c.server.reached(q.Method, q.page)
	switch m.Kind {
	case wire.Notification:
		c.notified(ctx, q)
		return
	case wire.Response, wire.ErrorResponse:
		return // the server asked nothing; an answer to nothing is ignored
	}
	e := c.judge(q)
	if e != nil || q.Method == spec.MethodInitialize {
		r := c.server.reply(ctx, q, e)
		c.finish(ctx, q, r)
		return
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	ctx, done := c.peer.run(ctx, q)
	c.running.Go(func() {
		defer func() { done(); <-c.slots }()
		r := c.server.reply(ctx, q, nil)
		c.finish(ctx, q, r)
	})
}

// judge finds out the era and revision of a request, and whether it may be
// answered.
func (c *stdioConn) judge(q *request) *Error {
	s := c.server
	q.revision = c.peer.agreed()
	if q.revision == 0 {
		q.revision = s.newestLegacy
	}
	if e := readable(q.Message); e != nil {
		return e
	}
	_, known := spec.MethodAt(q.Method, s.newestLegacy)
	switch {
	case !s.legacy, s.modern && q.Method != spec.MethodInitialize && (q.claimsModern() || !known && c.peer.agreed() == 0):
		return s.checkModern(q)
	case q.Method == spec.MethodInitialize, q.Method == spec.MethodPing, c.peer.agreed() != 0, !known:
		return nil
	}
	return invalidRequest("%s before initialize", clip(q.Method))
}

// readable says what is wrong with a message that is no request.
func readable(m *wire.Message) *Error {
	switch {
	case m.Has(wire.FaultNotJSON), m.Has(wire.FaultEmpty), m.Has(wire.FaultTrailing), m.Has(wire.FaultTooDeep), m.Has(wire.FaultUTF8):
		m.ID = nil
		return &Error{Code: spec.CodeParseError, Message: "Parse error: " + m.Faults[0].String()}
	case m.Kind != wire.Request:
		m.ID = nil
		return invalidRequest("a message that is no request")
	case m.Has(wire.FaultIDType), m.Has(wire.FaultIDNull):
		m.ID = nil
		return invalidRequest("the id must be a string or an integer")
	case m.Has(wire.FaultVersion), m.Has(wire.FaultMethodType), m.Has(wire.FaultMixed), m.Has(wire.FaultParamsType):
		return invalidRequest("%s", m.Faults[0])
	}
	return nil
}

func (c *stdioConn) notified(ctx context.Context, q *request) {
	switch q.Method {
	case spec.NotificationCancelled:
		c.peer.cancel(q)
	case spec.NotificationInitialized:
		if c.peer.agreed() != 0 {
			c.relay(ctx)
		}
	}
	c.finish(ctx, q, accepted(q, 0))
}

// relay hands on unasked notifications of the legacy era, for the rest of the
// connection.
func (c *stdioConn) relay(ctx context.Context) {
	if !c.peer.startStream() {
		return
	}
	st := &stream{peer: c.peer}
	c.server.open(st)
	c.running.Go(func() {
		defer c.server.close(st)
		for {
			select {
			case m := <-st.messages:
				c.write(m)
			case <-c.peer.ended:
				return
			case <-st.closed:
				return
			case <-ctx.Done():
				return
			}
		}
	})
}

// finish writes a reply. A request that was cancelled gets nothing any more
// (2026-07-28/basic/transports/stdio#cancellation).
func (c *stdioConn) finish(ctx context.Context, q *request, r *reply) {
	if q.Kind == wire.Request && q.Method != spec.MethodInitialize && ctx.Err() != nil {
		return
	}
	if r.drop || !r.wait(ctx) {
		return
	}
	switch {
	case r.ending != goOn:
		c.fail(ErrEnded)
		return
	case r.half:
		c.writeRaw(r.text[:len(r.text)/2])
		c.fail(ErrEnded)
		return
	}
	for _, noise := range r.before {
		c.write(noise)
	}
	for range r.more + 1 {
		if r.text != nil {
			c.write(r.text)
		}
	}
	for _, noise := range r.after {
		c.write(noise)
	}
}

func (c *stdioConn) write(text []byte) {
	c.writeRaw(append(append(make([]byte, 0, len(text)+1), text...), '\n'))
}

// writeRaw writes whole, so that lines of several requests never mix.
func (c *stdioConn) writeRaw(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.w.Write(b); err != nil {
		c.fail(err)
	}
}
