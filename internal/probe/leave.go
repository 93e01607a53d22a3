// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// CloseInput ends the input of a server over stdio, as a client that leaves
// does. What the server still writes is taken in. It reports whether there is
// such an input.
func (c *Conn) CloseInput() bool {
	ic, ok := c.conn.(transport.InputCloser)
	if !ok {
		return false
	}
	c.leaving()
	_ = ic.CloseInput() // an input that is gone is closed
	return true
}

// Terminate tells the server of a connection to end, as a system that shuts
// down does; what it still writes is taken in. It reports whether the server
// can be told.
func (c *Conn) Terminate() bool {
	t, ok := c.conn.(transport.Terminator)
	if !ok {
		return false
	}
	c.leaving()
	t.Terminate()
	return true
}

func (c *Conn) leaving() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left.IsZero() {
		c.left = time.Now()
	}
}

// Left is when the server's input was closed or it was told to end; zero as
// long as neither has happened.
func (c *Conn) Left() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// Gone waits until the server of a connection has ended, at most so long: its
// process, or where there is none its output. It reports whether it has.
func (c *Conn) Gone(ctx context.Context, d time.Duration) bool {
	defer c.probe.o.Clock.Wait()(Ending)
	limit, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if p := c.Process(); p != nil {
		select {
		case <-p.Exited():
			// Its last words are still on the way.
			c.heard(limit)
			return true
		case <-limit.Done():
			return false
		}
	}
	return c.heard(limit)
}

// Leftover counts what a server that has ended left behind, once it had so long
// to end too. It is false where nobody knows.
func (c *Conn) Leftover(ctx context.Context, d time.Duration) (n int, known bool) {
	tree, ok := c.conn.(transport.Tree)
	if !ok {
		return 0, false
	}
	defer c.probe.o.Clock.Wait()(Ending)
	limit, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	tick := time.NewTicker(leftTick)
	defer tick.Stop()
	for {
		if n = tree.Left(); n == 0 {
			return 0, true
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			return n, true
		}
	}
}

// leftTick is how often to look for what a server left behind.
const leftTick = 20 * time.Millisecond

// heard waits for the end of the output.
func (c *Conn) heard(ctx context.Context) bool {
	for {
		c.mu.Lock()
		lost, changed := c.isLost, c.changed
		c.mu.Unlock()
		if lost {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Patience with a server over stdio that is left.
const (
	leaveGrace = time.Second
	termGrace  = time.Second
	// staysGrace is leaveGrace with a server that is known not to end with its
	// input.
	staysGrace = 50 * time.Millisecond
)

// leave ends a server over stdio, and hears what it says meanwhile.
func (c *Conn) leave(ctx context.Context) {
	before := c.Left()
	if !c.CloseInput() {
		return
	}
	grace := leaveGrace
	switch {
	case c.probe.stays.Load():
		grace = staysGrace
	case !before.IsZero():
		grace = max(0, leaveGrace-time.Since(before))
	}
	if !c.Gone(ctx, grace) {
		c.probe.stays.Store(true)
		if c.Terminate() {
			c.Gone(ctx, termGrace)
		}
	}
	if h, ok := c.conn.(transport.Hurrier); ok {
		h.Hurry(time.Millisecond, time.Millisecond) // it had its time
	}
}

// Stray are the frames of a connection that belong to no exchange so far.
func (c *Conn) Stray() []*wire.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*wire.Frame(nil), c.stray...)
}

// Stray are the frames of the shared connection that belong to no exchange so
// far.
func (c *Case) Stray() []*wire.Frame {
	c.probe.mu.Lock()
	conn := c.probe.shared
	c.probe.mu.Unlock()
	return conn.Stray()
}
