// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// link is one connection: it receives all that arrives and finds the call that
// each frame belongs to. A session has one in the end; finding out the era may
// take more.
type link struct {
	conn  transport.Conn
	facts *facts
	o     *Options

	life   context.Context // ends with the link
	cancel context.CancelFunc
	owned  sync.WaitGroup // the pump and all it started
	slots  chan struct{}  // bounds the answers under way

	mu      sync.Mutex
	nextID  int64
	calls   map[wire.IDKey][]*call
	tokens  map[wire.IDKey]*call
	past    map[wire.IDKey]fate // ids that are not in calls any more
	orphan  *call               // a raw text without an id: takes the next answer without one
	all     map[*call]struct{}  // every call that has not finished
	serving map[wire.IDKey]context.CancelFunc
	parting map[chan struct{}]struct{} // cancellations that are being sent; each is closed when it was
	lost    error                      // set when the connection ended
	closing bool
	gone    chan struct{}

	// What was agreed. Zero while it is being found out.
	revision  spec.Revision
	sessionID string
	// legacy says that requests of the server are to be answered.
	legacy bool
	// settled says that the above is not a try any more.
	settled bool
	// metaText is what meta made for metaOf.
	metaText []byte
	metaOf   spec.Revision
	first    time.Time // when the first message of the server arrived
}

// fate says what became of an id.
type fate uint8

const (
	fateAnswered fate = iota + 1
	fateAbandoned
	fateCancelled
)

// maxAnswers is how many requests of the server are answered at a time.
const maxAnswers = 32

func openLink(ctx context.Context, target transport.Target, o *Options, x *facts) (*link, error) {
	l := &link{
		facts: x, o: o, slots: make(chan struct{}, maxAnswers),
		calls: map[wire.IDKey][]*call{}, tokens: map[wire.IDKey]*call{}, past: map[wire.IDKey]fate{},
		all: map[*call]struct{}{}, serving: map[wire.IDKey]context.CancelFunc{}, parting: map[chan struct{}]struct{}{}, gone: make(chan struct{}),
	}
	conn, err := target.Open(ctx, transport.Options{Tap: l.tap, Stderr: o.Stderr, Limit: o.Limit})
	if err != nil {
		return nil, err
	}
	l.conn = conn
	l.life, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.owned.Go(l.pump)
	return l, nil
}

// speak sets what the next messages are made for.
func (l *link) speak(r spec.Revision, sessionID string, legacy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision, l.sessionID, l.legacy = r, sessionID, legacy
}

// spoken is the revision that messages are made for.
func (l *link) spoken() spec.Revision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

func (l *link) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = true
}

// started is when the first message of the server arrived.
func (l *link) started() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// http reports whether every request has a channel of its own.
func (l *link) http() bool { return l.conn.Kind() == transport.StreamableHTTP }

// close ends the connection and waits for everything the link started.
func (l *link) close(ctx context.Context) error {
	l.cancel()
	err := l.conn.Close(ctx)
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		l.owned.Wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
	}
	// The pump ends with the connection. What may be left is a handler of the
	// caller's that does not look at its context.
	select {
	case <-done:
		return err
	case <-time.After(handlerPatience):
		return errors.Join(err, errors.New("a handler goes on"))
	}
}

// handlerPatience is what handlers get to end after the context of Close.
const handlerPatience = 100 * time.Millisecond

// spawn runs f in a goroutine that close waits for; not while closing, which
// it reports.
func (l *link) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closing {
		l.owned.Go(f)
	}
	return !l.closing
}

// pump handles events until the connection ends.
func (l *link) pump() {
	defer close(l.gone)
	for {
		e, err := l.conn.Receive(context.Background())
		if err != nil {
			// After the last event, or after close.
			l.end(&transport.Error{Reason: transport.Closed, Detail: "the connection is closed"})
			return
		}
		l.handle(e)
		if e.Kind == transport.EventLost {
			return
		}
	}
}

// end fails every call that is under way.
func (l *link) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = err
	}
	for c := range l.all {
		l.finish(c, nil, err)
	}
}

// register makes the call known before its request is sent. It fails when the
// connection has ended.
func (l *link) register(c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	l.all[c] = struct{}{}
	for _, k := range c.keys {
		l.calls[k] = append(l.calls[k], c)
	}
	if c.token != "" {
		l.tokens[c.token] = c
	}
	if len(c.keys) == 0 && c.method == "" {
		l.orphan = c
	}
	return nil
}

// finish ends a call and forgets it. mu is held.
func (l *link) finish(c *call, response *wire.Frame, err error) {
	if c.finished {
		return
	}
	how := fateAnswered
	if response == nil {
		how = fateAbandoned
	}
	l.forget(c, how)
	c.finish(response, err)
	if c.sub != nil {
		c.sub.ended(response, err)
	}
}

// forget takes a call out of every table. mu is held.
func (l *link) forget(c *call, how fate) {
	delete(l.all, c)
	for _, k := range c.keys {
		l.remove(k, c, how)
	}
	if c.token != "" && l.tokens[c.token] == c {
		delete(l.tokens, c.token)
	}
	if l.orphan == c {
		l.orphan = nil
	}
}

func (l *link) remove(k wire.IDKey, c *call, how fate) {
	list := l.calls[k]
	for i := range list {
		if list[i] == c {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(l.calls, k)
	} else {
		l.calls[k] = list
	}
	l.past[k] = how
}

// only is the one request under way, nil when there are none or several: on a
// shared channel what names no request can belong to that one alone. mu is
// held.
func (l *link) only() *call {
	var found *call
	for c := range l.all {
		if len(c.keys) == 0 || c.sub != nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

// abandon stops waiting for a call. It returns false when the call has ended
// in the meantime.
func (l *link) abandon(c *call, err error, how fate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.finished {
		return false
	}
	l.forget(c, how)
	c.finish(nil, err)
	return true
}

// send sends one frame for a call. That it was sent is recorded by tap.
func (l *link) send(ctx context.Context, c *call, out transport.Outgoing) error {
	out.Tag = c
	_, err := l.conn.Send(ctx, out)
	return err
}

// tap records what is sent just before it is, so that it stands in the
// exchange before all that answers it.
func (l *link) tap(e transport.TapEvent) {
	if c, ok := e.Tag.(*call); ok && e.Sent {
		l.mu.Lock()
		c.sent(e)
		l.mu.Unlock()
	}
	if l.o.Tap != nil {
		l.o.Tap(e)
	}
}

// wait waits for the call until ctx ends, or limited, which is ctx with the bound d.
// On the end of the wait the call is abandoned, and the server is told.
func (l *link) wait(ctx, limited context.Context, c *call, d time.Duration) error {
	select {
	case <-c.done:
		return c.err
	case <-limited.Done():
	case <-c.echoed:
		t := time.NewTimer(echoPatience)
		defer t.Stop()
		select {
		case <-c.done:
			return c.err
		case <-limited.Done():
		case <-t.C:
		}
	}
	var err error
	how, why := fateAbandoned, "timed out"
	switch err = ctx.Err(); {
	case err == nil:
		err = &TimeoutError{Method: c.name(), After: d, Stderr: l.stderr()}
		select {
		case <-c.echoed:
			err = &EchoError{Method: c.name()}
		default:
		}
	case !errors.Is(err, context.DeadlineExceeded):
		how, why = fateCancelled, "cancelled"
	}
	if !l.abandon(c, err, how) {
		return c.err
	}
	l.cancelAt(c, why)
	return err
}

func (l *link) stderr() string {
	if p, ok := l.conn.(transport.ProcessConn); ok {
		return p.Stderr()
	}
	return ""
}

// isLost reports whether err says that the connection or stream ended.
func isLost(err error) bool {
	switch transport.ReasonOf(err) {
	case transport.Died, transport.Broken:
		return true
	}
	return errors.Is(err, io.EOF)
}
