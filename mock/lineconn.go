// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// lineConn is one connection without HTTP requests of its own: a pair of
// streams, or HTTP+SSE.
type lineConn struct {
	server  *Server
	number  int
	peer    *peer
	slots   chan struct{} // held by requests that are being answered
	running sync.WaitGroup
	talking sync.WaitGroup
	fail    context.CancelCauseFunc
	posted  chan []byte // HTTP+SSE: messages of the client
	held    bool        // a fault that was reached keeps it open when the input ends

	mu   sync.Mutex
	w    io.Writer
	emit func(message []byte) // in place of w
}

func newLineConn(s *Server, number int, emit func([]byte), fail context.CancelCauseFunc) *lineConn {
	return &lineConn{
		server: s, number: number, peer: newPeer(), slots: make(chan struct{}, maxRunning),
		emit: emit, fail: fail, posted: make(chan []byte),
	}
}

// line takes in one line. A batch, where the revision has such, is answered by
// a line for each message (2025-03-26/basic#batching).
func (c *lineConn) line(ctx context.Context, text []byte) {
	if len(text) == 0 {
		return
	}
	m := c.server.read(text)
	if batch := m.Batch(); len(batch) > 0 && len(batch) <= maxBatch {
		q := c.request(m)
		if (spec.BatchAllowed(c.peer.agreed()) || q.lenient(CheckBatch)) && q.find(OpError) == nil {
			for _, one := range batch {
				c.message(ctx, c.request(one))
			}
			return
		}
		c.message(ctx, q)
		return
	}
	c.message(ctx, c.request(m))
}

// request reads a message, and finds its faults.
func (c *lineConn) request(m *wire.Message) *request {
	q := newRequest(m)
	q.peer, q.connection = c.peer, c.number
	q.send = c.write
	c.server.setPage(q)
	q.faults = c.server.reached(q)
	c.held = c.held || q.find(OpIgnoreEOF) != nil
	return q
}

// message takes in one message. Requests are answered side by side, but
// everything that makes their order matter happens here: turns of faults, the
// handshake.
func (c *lineConn) message(ctx context.Context, q *request) {
	switch q.Kind {
	case wire.Notification:
		c.notified(ctx, q)
		return
	case wire.Response, wire.ErrorResponse:
		c.peer.answer(q.Message) // an answer to nothing is ignored
		if len(q.faults) > 0 {
			c.finish(ctx, q, c.server.accepted(q, 0))
		}
		return
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
	q.over = func() bool { return ctx.Err() != nil && !q.lenient(CheckCancelAnswer) }
	c.running.Go(func() {
		defer func() { done(); <-c.slots }()
		r := c.server.reply(ctx, q, nil)
		c.finish(ctx, q, r)
	})
}

// judge finds out the era and revision of a request, and whether it may be
// answered.
func (c *lineConn) judge(q *request) *Error {
	s := c.server
	q.revision = c.peer.agreed()
	if q.revision == 0 {
		q.revision = s.newestLegacy
	}
	if e := readable(q); e != nil {
		return e
	}
	_, known := spec.MethodAt(q.Method, s.newestLegacy)
	switch {
	case s.legacy && s.script.Lax && !q.claimsModern() && !q.missesModern():
		return nil
	case !s.legacy, s.modern && !q.begins() && (q.claimsModern() || (!known || q.missesModern()) && c.peer.agreed() == 0):
		return s.checkModern(q)
	case q.Method == spec.MethodInitialize, q.Method == spec.MethodPing, c.peer.agreed() != 0, !known, q.lenient(CheckHandshake):
		return nil
	}
	return invalidRequest("%s before initialize", clip(q.Method))
}

// readable says what is wrong with a message that is no request.
func readable(q *request) *Error {
	m := q.Message
	switch {
	case m.Has(wire.FaultNotJSON), m.Has(wire.FaultEmpty), m.Has(wire.FaultTrailing), m.Has(wire.FaultTooDeep),
		m.Has(wire.FaultUTF8) && !q.lenient(CheckUTF8):
		m.ID = nil
		return &Error{Code: spec.CodeParseError, Message: "Parse error: " + m.Faults[0].String()}
	case m.Kind != wire.Request:
		m.ID = nil
		return invalidRequest("a message that is no request")
	case (m.Has(wire.FaultIDType) || m.Has(wire.FaultIDNull)) && !q.lenient(CheckIDType):
		m.ID = nil
		return invalidRequest("the id must be a string or an integer")
	case m.Has(wire.FaultVersion) && !q.lenient(CheckJSONRPCVersion),
		m.Has(wire.FaultDuplicateKey) && !q.lenient(CheckKeyDuplicate),
		m.Has(wire.FaultMethodType), m.Has(wire.FaultMixed), m.Has(wire.FaultParamsType):
		return invalidRequest("%s", m.Faults[0])
	}
	return nil
}

func (c *lineConn) notified(ctx context.Context, q *request) {
	switch q.Method {
	case spec.NotificationCancelled:
		c.peer.cancel(q)
	case spec.NotificationInitialized:
		if c.peer.agreed() != 0 {
			c.peer.initialized()
			c.relay(ctx, q)
		}
	}
	c.finish(ctx, q, c.server.accepted(q, 0))
}

// relay hands on unasked notifications of the legacy era, for the rest of the
// connection.
func (c *lineConn) relay(ctx context.Context, q *request) {
	if !c.peer.startStream() {
		return
	}
	st := &stream{q: q, peer: c.peer}
	c.server.open(st)
	c.running.Go(func() {
		defer c.server.close(st)
		c.server.relay(ctx, st, c.write)
	})
}

// finish writes a reply. A request that was cancelled gets nothing any more
// (2026-07-28/basic/transports/stdio#cancellation).
func (c *lineConn) finish(ctx context.Context, q *request, r *reply) {
	if q.over() {
		return
	}
	if r.drop {
		for _, m := range r.ahead() {
			c.write(m)
		}
		return
	}
	if q.Kind == wire.Request && ctx.Err() == nil && !r.wait(ctx) {
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
	for _, m := range r.ahead() {
		c.write(m)
	}
	for range r.more + 1 {
		if r.text != nil {
			c.writeEnd(ctx, r)
		}
	}
	for _, m := range append(r.after, r.later...) {
		c.write(m)
	}
}

// writeEnd writes the answer with the line end, and at the speed, that its
// faults say.
func (c *lineConn) writeEnd(ctx context.Context, r *reply) {
	if c.emit != nil || r.lineEnd == nil && r.part <= 0 {
		c.write(r.text)
		return
	}
	end := "\n"
	if r.lineEnd != nil {
		end = *r.lineEnd
	}
	whole := append(append(make([]byte, 0, len(r.text)+len(end)), r.text...), end...)
	if r.part <= 0 {
		c.writeRaw(whole)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for part := range slices.Chunk(whole, r.part) {
		if _, err := c.w.Write(part); err != nil {
			c.fail(err)
			return
		}
		if pause(ctx, r.pause) != nil {
			return
		}
	}
}

func (c *lineConn) write(text []byte) {
	if c.emit != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.emit(text)
		return
	}
	c.writeRaw(append(append(make([]byte, 0, len(text)+1), text...), '\n'))
}

// writeRaw writes whole, so that lines of several requests never mix.
func (c *lineConn) writeRaw(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.w.Write(b); err != nil {
		c.fail(err)
	}
}
