// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"errors"
	"io"
	"time"

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
	c := newLineConn(s, s.connect(), nil, cancel)
	c.w = w
	unread := context.AfterFunc(ctx, func() {
		if rc, ok := r.(io.Closer); ok {
			_ = rc.Close() // there is nobody to tell
		}
	})
	c.chatter(ctx)
	err := c.serve(ctx, r)
	if err == nil && c.ignoresEOF() {
		err = c.linger(ctx)
	}
	unread()
	c.peer.leave()
	// Whoever ends his input still wants the answers to what he asked.
	last := time.AfterFunc(grace, func() { cancel(nil) })
	c.running.Wait()
	last.Stop()
	for _, f := range s.script.Faults {
		if f.Op == OpFarewell && ctx.Err() == nil {
			c.write([]byte(f.Text))
		}
	}
	if cause := context.Cause(ctx); cause != nil && cause != context.Canceled {
		err = cause // a fault, or a writer that failed
	}
	cancel(nil)
	c.talking.Wait()
	return err
}

// serve takes in lines until there are no more.
func (c *lineConn) serve(ctx context.Context, r io.Reader) error {
	for i := range c.server.script.Faults {
		switch f := &c.server.script.Faults[i]; {
		case f.Op == OpBanner:
			c.write([]byte(f.Text))
		case f.Op == OpStderr && f.Method == atStart:
			c.server.complain(f)
		}
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

// chatter says what faults say again and again, for the rest of the connection.
func (c *lineConn) chatter(ctx context.Context) {
	for _, f := range c.server.script.Faults {
		if f.Op != OpChatter {
			continue
		}
		c.talking.Go(func() {
			for pause(ctx, max(f.Delay, time.Millisecond)) == nil {
				c.write([]byte(f.Text))
			}
		})
	}
}
