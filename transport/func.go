// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"
)

// Func is a target inside the process: a function that serves the framing of
// stdio. Each Open calls it in a goroutine of its own, as a process would be
// started.
type Func struct {
	// Serve reads requests from in until it ends, and writes to out. It must
	// return soon after in ends or its context does.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
	// Name describes the target; empty means "function".
	Name string
	// CloseGrace is how long Close waits after ending the input before it ends
	// the context; zero means 1 s.
	CloseGrace time.Duration
	// Failed is told of an error that Serve returned and of a panic in it, with
	// the stack of that; may be nil.
	Failed func(err error, stack []byte)
}

// Kind implements Target.
func (t *Func) Kind() Kind { return Stdio }

func (t *Func) String() string {
	if t.Name == "" {
		return "function"
	}
	return t.Name
}

// Open implements Target.
func (t *Func) Open(ctx context.Context, o Options) (Conn, error) {
	if t.Serve == nil {
		return nil, &Error{Reason: BadTarget, Target: t.String(), Detail: "no function"}
	}
	in, toServer := newPipe()
	fromServer, out := newPipe()
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &funcConn{in: in, out: out, fromServer: fromServer, cancel: cancel, done: make(chan struct{}), grace: t.CloseGrace}
	if c.grace == 0 {
		c.grace = defaultCloseGrace
	}
	c.core = newCore(t.String(), Stdio, o)
	c.init(fromServer, toServer, false)
	c.reading.start(func() { c.read(c.lost) })
	go func() {
		defer close(c.done)
		c.serve(life, t)
	}()
	return c, nil
}

type funcConn struct {
	lineConn
	in         pipeReader
	out        pipeWriter
	fromServer pipeReader
	cancel     context.CancelFunc
	done       chan struct{} // closed when Serve has returned
	grace      time.Duration
	failure    error // valid once done is closed, or fromServer has ended
}

func (c *funcConn) serve(life context.Context, t *Func) {
	defer func() {
		if v := recover(); v != nil {
			c.failure = fmt.Errorf("the server panicked: %v", v)
			c.tell(t, debug.Stack())
		}
		_ = c.in.Close()
		_ = c.out.Close()
	}()
	c.failure = t.Serve(life, c.in, c.out)
	if life.Err() != nil && errors.Is(c.failure, life.Err()) {
		c.failure = nil // it ended as it was told to
	}
	c.tell(t, nil)
}

func (c *funcConn) tell(t *Func, stack []byte) {
	if c.failure != nil && t.Failed != nil {
		t.Failed(c.failure, stack)
	}
}

func (c *funcConn) lost(err error) *Error {
	if !errors.Is(err, io.EOF) {
		return c.errorf(Broken, "read", err)
	}
	if c.failure != nil {
		return c.errorf(Died, "the server's function ended", c.failure)
	}
	return c.errorf(Died, "the server's function returned", nil)
}

// Close implements Conn. The function is given its end of input first, as a
// process would be. One that goes on after the context is left behind, and the
// error says so.
func (c *funcConn) Close(ctx context.Context) error {
	c.leave()
	c.closing.Do(func() {
		close(c.queue.closed)
		_ = c.w.Close()
		t := time.NewTimer(c.grace)
		defer t.Stop()
		select {
		case <-c.done:
		case <-t.C:
		case <-ctx.Done():
		}
		c.cancel()
		_ = c.fromServer.Close()
		_ = c.in.Close()
	})
	err := c.reading.wait(ctx)
	select {
	case <-c.done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return err
	default:
		return c.errorf(TimedOut, "the server's function goes on after its end", ctx.Err())
	}
}
