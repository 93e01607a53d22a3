// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Subscription is one subscriptions/listen stream (modern era,
// 2026-07-28/basic/patterns/subscriptions).
type Subscription struct {
	link *link
	call *call

	mu     sync.Mutex
	queue  []*wire.Frame
	size   int // of the queue in bytes
	honour json.RawMessage
	err    error         // why it ended; io.EOF for a proper end
	more   chan struct{} // has a token when queue or err changed
	acked  chan struct{}
}

// maxQueued bounds the bytes of the notifications of a subscription that
// nobody reads. Later ones are not given by Next.
const maxQueued = 16 << 20

// Subscribe opens a subscriptions/listen stream with the given notifications
// filter and waits for its acknowledgement.
func (s *Session) Subscribe(ctx context.Context, filter json.RawMessage) (*Subscription, error) {
	l := s.link
	if len(filter) == 0 {
		filter = json.RawMessage(`{}`)
	}
	params, err := l.params(json.RawMessage(`{"notifications":`+string(filter)+`}`), nil)
	if err != nil {
		return nil, err
	}
	id, key := l.newID()
	c := newCall(spec.MethodListen, &wire.Exchange{Method: spec.MethodListen, ID: id})
	c.keys = []wire.IDKey{key}
	u := &Subscription{link: l, call: c, more: make(chan struct{}, 1), acked: make(chan struct{})}
	c.sub = u
	if err := l.register(c); err != nil {
		return nil, err
	}
	out := transport.Outgoing{Raw: requestText(id, c.method, params), Header: l.header(c.method, params)}
	limit := bound(s.o.Timeouts.Request)
	sendCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.send(sendCtx, c, out); err != nil {
		err = l.sendFailed(c, err)
		l.abandon(c, err, fateAbandoned)
		return nil, err
	}
	select {
	case <-u.acked:
		return u, nil
	case <-c.done:
		select {
		case <-u.acked: // it came before the end, and both are there now
			return u, nil
		default:
			return nil, u.refused()
		}
	case <-sendCtx.Done():
	}
	err = ctx.Err()
	if err == nil {
		err = &TimeoutError{Method: spec.MethodListen, After: limit, Stderr: l.stderr()}
	}
	if l.abandon(c, err, fateAbandoned) {
		l.cancelAt(c, "timed out")
	}
	return nil, err
}

// refused is why a subscription ended before its acknowledgement.
func (u *Subscription) refused() error {
	if u.call.err != nil {
		return u.call.err
	}
	if err := u.link.interpret(spec.MethodListen, u.call.response, &Result{}); err != nil {
		return err
	}
	return &ResultError{Method: spec.MethodListen, Detail: "it ended without an acknowledgement", Frame: u.call.response}
}

// arrived takes in a notification of the stream. It does not block.
func (u *Subscription) arrived(f *wire.Frame) {
	m := f.Message()
	u.mu.Lock()
	defer u.mu.Unlock()
	if m.Method == spec.NotificationSubscriptionsAck && u.honour == nil {
		u.honour = member(m.Params, "notifications")
		if jsonx.KindOf(u.honour) == 0 {
			u.honour = json.RawMessage("null")
		}
		close(u.acked)
		return
	}
	if u.size < maxQueued {
		u.size += len(f.Raw) + frameOverhead
		u.queue = append(u.queue, f)
	}
	u.wake()
}

// ended takes in the end of the stream.
func (u *Subscription) ended(response *wire.Frame, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err != nil:
		u.err = err
	case response.Message().Kind == wire.ErrorResponse:
		u.err = failure(spec.MethodListen, response)
	default:
		u.err = io.EOF
	}
	u.wake()
}

func (u *Subscription) wake() {
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// Acknowledged is the notifications member of the acknowledgement: what the
// server honours.
func (u *Subscription) Acknowledged() json.RawMessage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.honour
}

// Exchange is the request and everything that came for it so far.
func (u *Subscription) Exchange() *wire.Exchange {
	u.link.mu.Lock()
	defer u.link.mu.Unlock()
	x := *u.call.exchange
	x.Frames = append([]*wire.Frame(nil), x.Frames...)
	x.Heads = append([]*wire.Head(nil), x.Heads...)
	return &x
}

// Next returns the next notification of the subscription. It returns io.EOF
// after the server ended it properly, and a *transport.Error after a break.
func (u *Subscription) Next(ctx context.Context) (*wire.Frame, error) {
	for {
		u.mu.Lock()
		if len(u.queue) > 0 {
			f := u.queue[0]
			u.queue = u.queue[1:]
			u.size -= len(f.Raw) + frameOverhead
			if len(u.queue) > 0 || u.err != nil {
				u.wake()
			}
			u.mu.Unlock()
			return f, nil
		}
		err := u.err
		u.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-u.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close cancels the subscription. Over stdio it waits a moment, within the
// context, for the answer that a server SHOULD send; over HTTP the closed
// stream is the end.
func (u *Subscription) Close(ctx context.Context) error {
	u.link.mu.Lock()
	finished := u.call.finished
	u.link.mu.Unlock()
	if finished {
		return nil
	}
	u.link.cancelAt(u.call, "not needed any more")
	t := time.NewTimer(unsubscribePatience)
	defer t.Stop()
	select {
	case <-u.call.done:
	case <-t.C:
	case <-ctx.Done():
	}
	u.link.abandon(u.call, &transport.Error{Reason: transport.Closed, Detail: "closed by us"}, fateCancelled)
	return nil
}

const unsubscribePatience = 500 * time.Millisecond
