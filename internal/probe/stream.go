// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// Stream is an exchange that goes on while a check looks at it.
type Stream struct {
	conn *Conn
	call *call
	ctx  context.Context
	of   *Case
}

// Same reports whether two streams are of one connection and under one id, so
// that what comes for them cannot be told apart by that.
func (s *Stream) Same(o *Stream) bool {
	return s.conn == o.conn && s.call.keyed && s.call.key == o.call.key
}

// Now is the exchange as it is. One that was turned away for a reason of the
// moment is as it is when it was sent again.
func (s *Stream) Now() *Exchange {
	if x := s.conn.now(s.call); !x.Busy() {
		return x
	}
	return s.Answer()
}

// Until waits until the exchange is as wanted, has ended, or the time is up,
// and returns it as it is then; ok says whether it is as wanted.
func (s *Stream) Until(d time.Duration, wanted func(*Exchange) bool) (x *Exchange, ok bool) {
	x = s.of.taken(s.conn.await(s.ctx, s.call, d, wanted))
	return x, wanted(x)
}

// Answer waits for the response as [Case.Send] does.
func (s *Stream) Answer() *Exchange {
	x := s.conn.finish(s.ctx, s.call)
	if x.Died() && !s.conn.probe.Stdio() {
		s.conn.probe.fell(s.ctx, x)
	}
	return s.of.taken(x)
}

// Missed says that what was waited for did not come in time, so that less is
// waited for later.
func (s *Stream) Missed() { s.conn.probe.wasSilent(s.Now()) }

// Close ends the exchange as a client of its transport does: over HTTP by
// closing the stream, over stdio by notifications/cancelled, which it returns.
func (s *Stream) Close() *Exchange {
	if s.conn.conn == nil {
		return nil // it was never sent
	}
	if s.conn.conn.Kind() != transport.Stdio {
		s.conn.give(s.call)
		s.conn.cancel(s.call)
		return nil
	}
	return s.Cancel()
}

// Cancel says by notifications/cancelled, which it returns, that nobody waits
// for the answer: in the handshake era on every carrier, since there a stream
// that closes cancels nothing. Where the era has no such notification over HTTP
// it is Close.
func (s *Stream) Cancel() *Exchange {
	if s.conn.conn == nil {
		return nil // it was never sent
	}
	if s.conn.conn.Kind() != transport.Stdio && !s.conn.probe.Legacy() {
		return s.Close()
	}
	s.conn.give(s.call)
	s.conn.mu.Lock()
	s.call.x.Cancelled = true
	id := s.call.x.ID
	s.conn.mu.Unlock()
	if id == nil {
		return nil
	}
	r := s.conn.probe.Notification(spec.NotificationCancelled).Param("requestId", string(id))
	return s.conn.finish(s.ctx, s.conn.start(s.ctx, r))
}
