// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// listen opens the standing GET stream of a legacy session and waits for its
// head, so that a server can use it from then on. A server without one answers
// 405, which is its right.
func (l *link) listen(ctx context.Context) {
	r, ok := l.conn.(transport.Requester)
	if !ok || !l.http() || l.spoken().Era() != spec.Legacy {
		return
	}
	opened := make(chan struct{}, 1)
	limit, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	c := newCall("GET", &wire.Exchange{Method: "GET"})
	c.opened = opened
	if l.register(c) != nil {
		return
	}
	_, err := r.Request(limit, transport.Request{Method: "GET", Header: l.header("", nil), Tag: c})
	if err != nil {
		l.abandon(c, err, fateAnswered)
		return
	}
	select {
	case <-opened:
	case <-c.done:
	case <-limit.Done():
	}
}

const (
	listenPatience = 2 * time.Second
	// resumePause is the reconnection time of a stream that names none.
	resumePause = time.Second
	maxResumes  = 100
)

// resumable reports whether a legacy stream that ended before the answer is to
// be taken up again by GET with Last-Event-ID (2025-11-25/basic/transports).
// mu is held.
func (l *link) resumable(c *call, e transport.Event) bool {
	if !l.http() || !l.legacy || c.lastEventID == "" || c.resumes >= maxResumes || len(c.keys) == 0 {
		return false
	}
	switch transport.ReasonOf(e.Err) {
	case "", transport.Broken:
		return true
	}
	return false
}

// resume asks for the rest of a stream, after the time the server named.
func (l *link) resume(c *call) {
	pause := resumePause
	l.mu.Lock()
	if c.retry >= 0 {
		pause = time.Duration(min(c.retry, int64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	c.resumes++
	header := wire.HeaderField{Name: spec.HeaderLastEventID, Value: c.lastEventID}
	l.mu.Unlock()
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.done:
		return
	case <-l.life.Done():
		return
	}
	r, ok := l.conn.(transport.Requester)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(l.life, bound(l.o.Timeouts.Request))
	defer cancel()
	_, err := r.Request(ctx, transport.Request{Method: "GET", Header: append(l.header("", nil), header), Tag: c})
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.finish(c, nil, err)
	}
}
