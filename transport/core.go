// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mcprove/mcprove/wire"
)

// core is what every Conn has: its name, the tap and the queue of events.
type core struct {
	id     uint64
	target string
	kind   Kind
	limit  int

	tapMu   sync.Mutex
	tap     Tap
	leaving sync.Once

	queue queue
}

func newCore(target string, kind Kind, o Options) core {
	limit := o.Limit
	if limit <= 0 {
		limit = wire.DefaultLimit
	}
	return core{id: lastConn.Add(1), target: target, kind: kind, limit: limit, tap: o.Tap, queue: newQueue(limit)}
}

// lastConn numbers connections.
var lastConn atomic.Uint64

func (c *core) Kind() Kind { return c.kind }

func (c *core) Receive(ctx context.Context) (Event, error) { return c.queue.pop(ctx) }

// arrive shows an event to the tap and queues it. It blocks while the queue is
// full, and drops the event once the connection is closed.
func (c *core) arrive(e Event) {
	c.observe(TapEvent{Event: e})
	c.queue.push(e)
}

func (c *core) observe(e TapEvent) {
	if c.tap == nil {
		return
	}
	c.tapMu.Lock()
	defer c.tapMu.Unlock()
	e.Conn = c.id
	c.tap(e)
}

// unsent tells the tap that sending failed, and returns the error.
func (c *core) unsent(s Sent, tag any, err *Error) error {
	if c.tap != nil {
		c.observe(TapEvent{Event: Event{Kind: EventUnsent, Channel: s.Channel, Tag: tag, Err: err}, Unsent: &s})
	}
	return err
}

// leave tells the tap, once, that the connection is being closed.
func (c *core) leave() {
	c.leaving.Do(func() { c.observe(TapEvent{Event: Event{Kind: EventLeaving}}) })
}

func (c *core) errorf(reason Reason, detail string, err error) *Error {
	return &Error{Reason: reason, Target: c.target, Detail: detail, Err: err}
}

// queue holds events that nobody received yet, bounded in number and in bytes,
// so that a server that floods is slowed down and not stored.
type queue struct {
	events chan Event
	closed chan struct{} // ends waiting of both sides
	lost   bool          // EventLost was received; only the receiver looks

	mu    sync.Mutex
	bytes int
	limit int
	room  chan struct{} // has a token when bytes became fewer
}

const (
	queueEvents = 256
	// eventOverhead stands for what an event costs beside its bytes.
	eventOverhead = 256
)

func newQueue(frameLimit int) queue {
	return queue{
		events: make(chan Event, queueEvents), closed: make(chan struct{}),
		limit: min(frameLimit, 16<<20), room: make(chan struct{}, 1),
	}
}

func weight(e Event) int {
	n := eventOverhead + len(e.Body)
	if e.Frame != nil {
		n += len(e.Frame.Raw)
	}
	if e.SSE != nil {
		n += len(e.SSE.Raw)
	}
	return n
}

func (q *queue) push(e Event) {
	select {
	case <-q.closed:
		return
	default:
	}
	w := weight(e)
	for !q.reserve(w) {
		select {
		case <-q.room:
		case <-q.closed:
			return
		}
	}
	select {
	case q.events <- e:
	case <-q.closed:
	}
}

// reserve takes w bytes of the budget. A single event may be larger than it.
func (q *queue) reserve(w int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes > 0 && q.bytes+w > q.limit {
		return false
	}
	if q.bytes += w; q.bytes < q.limit {
		q.wake() // others may fit too
	}
	return true
}

func (q *queue) wake() {
	select {
	case q.room <- struct{}{}:
	default:
	}
}

func (q *queue) pop(ctx context.Context) (Event, error) {
	if q.lost {
		return Event{}, io.EOF
	}
	select {
	case e := <-q.events:
		return q.taken(e), nil
	default:
	}
	select {
	case e := <-q.events:
		return q.taken(e), nil
	case <-ctx.Done():
		return Event{}, ctx.Err()
	case <-q.closed:
	}
	select {
	case e := <-q.events:
		return q.taken(e), nil
	default:
		return Event{}, io.EOF
	}
}

func (q *queue) taken(e Event) Event {
	q.mu.Lock()
	q.bytes -= weight(e)
	q.mu.Unlock()
	q.wake()
	q.lost = e.Kind == EventLost
	return e
}
