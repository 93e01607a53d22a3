// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// handle takes one event in.
func (l *link) handle(e transport.Event) {
	c, _ := e.Tag.(*call)
	switch e.Kind {
	case transport.EventFrame:
		l.frame(c, e.Frame)
	case transport.EventHead:
		l.head(c, e.Head)
	case transport.EventBody:
		l.body(c, e)
	case transport.EventSSE:
		l.block(c, e.SSE)
	case transport.EventClosed:
		l.closed(c, e)
	case transport.EventLost:
		l.end(e.Err)
	}
}

func (l *link) head(c *call, h *wire.Head) {
	id, has := h.Lookup(spec.HeaderSessionID)
	l.mu.Lock()
	if c != nil && !c.finished {
		c.exchange.Heads = append(c.exchange.Heads, h)
		if c.opened != nil {
			select {
			case c.opened <- struct{}{}:
			default:
			}
		}
	}
	known, legacy, settled := l.sessionID, l.legacy, l.settled
	l.mu.Unlock()
	switch {
	case !has, !settled:
	case !legacy:
		l.facts.note(SessionIDChanged, "a modern server sent "+spec.HeaderSessionID, nil)
	case id != known:
		l.facts.note(SessionIDChanged, "the server sent another session id", nil)
	}
}

// body looks at a body whose Content-Type carries no frames. A JSON-RPC answer
// in it is taken, and noted.
func (l *link) body(c *call, e transport.Event) {
	if c == nil {
		return
	}
	if int64(len(e.Body)) == e.BodySize && l.http() {
		f := &wire.Frame{Raw: e.Body, Time: time.Now(), Dir: wire.ToClient, HTTP: e.Head}
		if m := f.Message(); m.Kind != wire.Invalid && !l.foreign(f, m) {
			l.facts.note(WrongMediaType, fmt.Sprintf("JSON-RPC as %.80q", e.Head.Get(spec.HeaderContentType)), f)
			l.frame(c, f)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.finished {
		c.exchange.Body = e.Body
	}
}

// block takes in an SSE block without a frame.
func (l *link) block(c *call, b *wire.Event) {
	if !b.Complete && len(strings.TrimSpace(string(b.Raw))) > 0 {
		l.facts.note(UnfinishedMessage, "the event stream ended inside an event", nil)
	}
	for _, f := range b.Faults {
		if f.Code == wire.FaultTooLong {
			l.facts.note(TooLong, f.Detail, nil)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.position(c, b)
}

// position remembers where a stream can be resumed. mu is held.
func (l *link) position(c *call, b *wire.Event) {
	if c == nil || b == nil || !b.Complete {
		return
	}
	if b.LastID != "" {
		c.lastEventID = b.LastID
	}
	if b.Retry >= 0 {
		c.retry = b.Retry
	}
}

// frame takes in one text.
func (l *link) frame(c *call, f *wire.Frame) {
	if f.Line != nil {
		for _, fault := range f.Line.Faults {
			switch fault.Code {
			case wire.FaultTooLong:
				l.facts.note(TooLong, "a line longer than the limit", f)
				return
			case wire.FaultUnfinished:
				// Without its line end nobody knows whether it is whole.
				l.facts.note(UnfinishedMessage, "the output ended inside a line", f)
				return
			}
		}
	}
	m := f.Message()
	l.mu.Lock()
	if f.Event != nil {
		l.position(c, f.Event)
	}
	if l.first.IsZero() && m.Kind != wire.Invalid {
		l.first = f.Time
	}
	revision := l.revision
	l.mu.Unlock()
	if m.Kind != wire.Batch {
		l.message(c, f, m)
		return
	}
	if !spec.BatchAllowed(revision) {
		l.facts.note(BatchReceived, "an array of messages", f)
	}
	for _, part := range m.Batch() {
		one := &wire.Frame{Raw: part.Raw, Time: f.Time, Dir: f.Dir, Line: f.Line, HTTP: f.HTTP, Event: f.Event}
		l.message(c, one, one.Message())
	}
}

// foreign reports whether the JSON of a refusal is somebody else's, such as a
// framework's or a gateway's {"error":"Not Found"}: it has no jsonrpc, and the
// id of no call. It explains its status and nothing more.
func (l *link) foreign(f *wire.Frame, m *wire.Message) bool {
	if f.HTTP == nil || f.HTTP.Status < 300 || m.Kind == wire.Batch || m.JSONRPC != nil {
		return false
	}
	key, ok := m.Key()
	if !ok {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls[key]) == 0
}

func (l *link) message(c *call, f *wire.Frame, m *wire.Message) {
	if l.foreign(f, m) {
		l.noise(c, f, m)
		return
	}
	switch m.Kind {
	case wire.Request:
		l.serverRequest(c, f, m)
	case wire.Notification:
		l.notification(c, f, m)
	case wire.Response, wire.ErrorResponse:
		l.respond(c, f, m)
	default:
		l.noise(c, f, m)
	}
}

func (l *link) noise(c *call, f *wire.Frame, m *wire.Message) {
	if f.HTTP != nil && f.HTTP.Status >= 300 {
		// A status with an explanation in JSON of somebody's own.
		l.mu.Lock()
		defer l.mu.Unlock()
		if c != nil && !c.finished {
			c.exchange.Body = f.Raw[:min(len(f.Raw), maxPage)]
		}
		return
	}
	note := "not JSON-RPC"
	if m.Has(wire.FaultEmpty) {
		note = "blank line"
	}
	l.facts.note(Noise, note, f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		c.stray = f
		c.add(f)
	}
}

// maxPage is what an exchange keeps of a body that is no JSON-RPC.
const maxPage = 64 << 10

// respond finds the call that a response answers. on is the call whose HTTP
// channel it came on, nil elsewhere.
func (l *link) respond(on *call, f *wire.Frame, m *wire.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, ok := m.Key()
	if !ok {
		l.respondWithoutID(on, f, m)
		return
	}
	waiting := l.calls[key]
	if len(waiting) == 0 {
		l.unexpected(on, key, f)
		return
	}
	c := waiting[0]
	for _, w := range waiting {
		if w == on {
			c = w
		}
	}
	if on != nil && c != on {
		l.facts.note(WrongChannel, "the answer came on the stream of another request", f)
	}
	l.remove(key, c, fateAnswered)
	last := c.answered(key)
	c.add(f)
	if c.response = f; last {
		l.finish(c, f, nil)
	}
}

// respondWithoutID handles an answer that names no request. mu is held.
func (l *link) respondWithoutID(on *call, f *wire.Frame, m *wire.Message) {
	switch {
	case m.Kind == wire.ErrorResponse && f.HTTP != nil && f.HTTP.Status >= 400 && on != nil && !m.Has(wire.FaultIDType):
		// It says of its request what it says, whatever the server could read.
	case m.Has(wire.FaultIDType):
		l.facts.note(BadID, "an id that is neither string nor whole number", f)
	case m.ID == nil:
		l.facts.note(MissingID, "a response without an id", f)
	default:
		l.facts.note(MissingID, "a response with id null", f)
	}
	c := on
	if c == nil || c.finished {
		// Only a text of ours without a readable id can be meant.
		c = l.orphan
	}
	if c == nil || m.Kind != wire.ErrorResponse && c != l.orphan {
		if on != nil {
			on.stray = f
			on.add(f)
		}
		return
	}
	c.add(f)
	l.finish(c, f, nil)
}

// unexpected notes a response to no call under way. mu is held.
func (l *link) unexpected(on *call, key wire.IDKey, f *wire.Frame) {
	switch l.past[key] {
	case fateAnswered:
		l.facts.note(RepeatedResponse, "a second response to one request", f)
	case fateAbandoned:
		l.facts.note(LateResponse, "a response after we stopped waiting", f)
	case fateCancelled:
		l.facts.note(AfterCancel, "a response after we cancelled the request", f)
	default:
		note := "an id that was never used"
		if l.otherType(key) {
			note = "the id of a request in another type"
		}
		l.facts.note(UnknownID, note, f)
	}
	if on != nil {
		on.stray = f
		on.add(f)
	}
}

// otherType reports whether key has the digits of a known id, but is a string
// instead of a number or the other way round.
func (l *link) otherType(key wire.IDKey) bool {
	other := wire.IDKey("n" + key[1:])
	if key[0] == 'n' {
		other = "s" + key[1:]
	}
	_, past := l.past[other]
	return past || len(l.calls[other]) > 0
}

// closed takes in the end of an HTTP channel.
func (l *link) closed(c *call, e transport.Event) {
	if c == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.finished {
		return
	}
	if l.conn.Kind() == transport.HTTPSSE && len(c.keys) > 0 && e.Err == nil && succeeded(c.head()) {
		return // the answer comes on the standing stream
	}
	if l.resumable(c, e) {
		l.owned.Go(func() { l.resume(c) })
		return
	}
	if e.Err != nil {
		l.finish(c, nil, e.Err)
		return
	}
	l.finish(c, nil, l.unanswered(c))
}

func succeeded(h *wire.Head) bool { return h != nil && h.Status >= 200 && h.Status < 300 }

// unanswered says why a request got no answer though its response is complete.
func (l *link) unanswered(c *call) error {
	h := c.head()
	if h == nil {
		return &transport.Error{Reason: transport.Broken, Detail: "no response"}
	}
	if h.Status == spec.StatusSessionEnded && l.sessionID != "" && c.stray == nil {
		return &transport.Error{Reason: transport.Broken, Status: h.Status, Detail: "HTTP 404: the server ended the session"}
	}
	if c.stray == nil {
		if err := transport.StatusError(h, c.exchange.Body); err != nil {
			return err
		}
	}
	e := &transport.Error{Reason: transport.NotMCP, Status: h.Status}
	switch {
	case c.stray != nil && c.stray.Message().Kind != wire.Invalid:
		e.Detail = fmt.Sprintf("HTTP %d answers another request", h.Status)
	case c.stray != nil:
		e.Detail = fmt.Sprintf("HTTP %d with a body that is no JSON-RPC", h.Status)
		if fs := c.stray.Message().Faults; len(fs) > 0 {
			e.Detail += ": " + fs[0].String()
		}
	case c.exchange.Body != nil:
		e.Detail = fmt.Sprintf("HTTP %d with a body of type %.80q", h.Status, h.Get(spec.HeaderContentType))
	case h.MediaType() == spec.MediaEventStream:
		// The stream was well formed and ended without the answer.
		e.Reason, e.Detail = transport.Broken, "the event stream ended before the answer"
	default:
		e.Detail = fmt.Sprintf("HTTP %d without an answer", h.Status)
	}
	return e
}
