// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"net/http"

	"github.com/mcprove/mcprove/transport"
)

// CanHold reports whether [Case.Hold] can be used.
func (c *Conn) CanHold() bool {
	h, ok := c.conn.(transport.Holder)
	return ok && h.CanHold()
}

// Hold sends the head of a request on a further socket of a connection, within
// the context. Its body, of size bytes or in chunks where that is below zero, and
// the reading of its answer are the caller's. What crosses so is in no traffic.
func (c *Case) Hold(ctx context.Context, conn *Conn, r *Request, size int64) (*transport.Held, error) {
	switch {
	case !c.probe.o.Mine:
		return nil, errNotMine
	case c.probe.Down() != nil:
		return nil, errDown
	}
	h, ok := conn.conn.(transport.Holder)
	if !ok {
		return nil, errNoBytes
	}
	header := append(r.headers(), conn.inSession(r)...)
	return h.Hold(ctx, transport.Request{Method: http.MethodPost, Header: header, Without: r.without}, size)
}

// Rejoin makes a connection of the case's own that goes on in the session of
// another one: a client with sockets of its own that needs no handshake. It is
// nil, and the case skipped, when that fails.
func (c *Case) Rejoin(conn *Conn) *Conn {
	other := c.Dial()
	if g := conn.Greeting(); other != nil && g != nil {
		other.Adopt(g)
		other.mu.Lock()
		other.ended = true // the other one ends it
		other.mu.Unlock()
	}
	return other
}
