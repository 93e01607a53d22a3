// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// lineConn speaks the framing of stdio over a pair of streams.
type lineConn struct {
	core
	r        io.Reader
	w        io.WriteCloser
	out, in  wire.Direction
	lock     chan struct{} // held while writing, so that lines never mix
	writeErr error         // under lock: a line was cut off, nothing can follow

	reading group
	closing sync.Once
}

func (c *lineConn) init(r io.Reader, w io.WriteCloser, server bool) {
	c.r, c.w, c.lock = r, w, make(chan struct{}, 1)
	c.out, c.in = wire.ToServer, wire.ToClient
	if server {
		c.out, c.in = c.in, c.out
	}
}

// read turns lines into events until the stream ends; lost says why.
func (c *lineConn) read(lost func(error) *Error) {
	lines := wire.NewLines(c.r, c.limit)
	for {
		text, line, err := lines.Next()
		if err != nil {
			c.arrive(Event{Kind: EventLost, Err: lost(err)})
			return
		}
		f := &wire.Frame{Raw: text, Time: time.Now(), Dir: c.in, Line: &line}
		c.arrive(Event{Kind: EventFrame, Frame: f})
	}
}

// Send implements Conn. A context that ends while a line is being written to
// a process leaves half a line behind; every later Send fails then. Over a
// pipe, whose writing cannot be ended, the line goes on by itself and later
// ones wait for it.
func (c *lineConn) Send(ctx context.Context, out Outgoing) (Sent, error) {
	end, terminator := []byte{'\n'}, wire.LF
	if out.Terminator != nil {
		end, terminator = out.Terminator, terminatorOf(out.Terminator)
	}
	buf := make([]byte, 0, len(out.Raw)+len(end))
	buf = append(append(buf, out.Raw...), end...)
	f := &wire.Frame{
		Raw: buf[:len(out.Raw):len(out.Raw)], Time: time.Now(), Dir: c.out,
		Line: &wire.Line{Terminator: terminator, Size: int64(len(out.Raw))},
	}
	sent := Sent{Channel: Main, Frame: f}
	select {
	case c.lock <- struct{}{}:
	case <-ctx.Done():
		return sent, c.unsent(sent, out.Tag, c.sendError(ctx.Err()))
	}
	if err := c.writeErr; err != nil {
		<-c.lock
		return sent, c.unsent(sent, out.Tag, c.sendError(err))
	}
	f.Time = time.Now() // it may have waited for its turn
	c.observe(TapEvent{Sent: true, Event: Event{Kind: EventFrame, Channel: Main, Tag: out.Tag, Frame: f}})
	if err := c.write(ctx, buf); err != nil {
		return sent, c.unsent(sent, out.Tag, c.sendError(err))
	}
	return sent, nil
}

// write writes a line and gives the lock back once that has ended.
func (c *lineConn) write(ctx context.Context, line []byte) error {
	do := func() error {
		defer func() { <-c.lock }()
		n, err := writeContext(ctx, c.w, line)
		if err != nil && n > 0 {
			c.writeErr = err
		}
		return err
	}
	if _, ok := c.w.(writeDeadliner); ok || ctx.Done() == nil {
		return do()
	}
	written := make(chan error, 1)
	if !c.reading.start(func() { written <- do() }) {
		<-c.lock
		return io.ErrClosedPipe
	}
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func terminatorOf(b []byte) wire.Terminator {
	switch string(b) {
	case "\n":
		return wire.LF
	case "\r\n":
		return wire.CRLF
	}
	return wire.NoTerminator
}

func (c *lineConn) sendError(err error) *Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return c.errorf(TimedOut, "the server does not read its input", err)
	case errors.Is(err, context.Canceled):
		return c.errorf(Closed, "sending was given up", err)
	case errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return c.errorf(Closed, "the connection is closed", err)
	}
	return c.errorf(Broken, "write", err)
}

type writeDeadliner interface{ SetWriteDeadline(time.Time) error }

// writeContext writes b, at most until ctx ends when the writer has deadlines.
func writeContext(ctx context.Context, w io.Writer, b []byte) (int, error) {
	d, ok := w.(writeDeadliner)
	if ctx.Done() == nil || !ok {
		return w.Write(b)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		if c, ok := w.(io.Closer); ok && d.SetWriteDeadline(time.Unix(1, 0)) != nil {
			_ = c.Close() // nothing else ends a Write of this system's pipes
		}
	})
	n, err := w.Write(b)
	if !stop() {
		<-fired
		_ = d.SetWriteDeadline(time.Time{})
		if err != nil {
			err = ctx.Err()
		}
	}
	return n, err
}

// CloseChannel implements Conn: there is but one channel.
func (c *lineConn) CloseChannel(Channel) {}

// CloseInput implements InputCloser.
func (c *lineConn) CloseInput() error { return c.w.Close() }

// Open implements Target. It succeeds once.
func (p *Pipe) Open(_ context.Context, o Options) (Conn, error) {
	if !p.opened.CompareAndSwap(false, true) {
		return nil, &Error{Reason: BadTarget, Target: p.String(), Detail: "a pair of streams can be opened only once"}
	}
	c := &pipeConn{closer: p.R}
	c.core = newCore(p.String(), Stdio, o)
	c.init(p.R, p.W, p.Server)
	c.reading.start(func() {
		c.read(func(err error) *Error {
			if errors.Is(err, io.EOF) {
				return c.errorf(Broken, "the stream ended", nil)
			}
			return c.errorf(Broken, "read", err)
		})
	})
	return c, nil
}

// Kind implements Target.
func (p *Pipe) Kind() Kind { return Stdio }

func (p *Pipe) String() string {
	if p.Name == "" {
		return "pipe"
	}
	return p.Name
}

type pipeConn struct {
	lineConn
	closer io.Closer
}

// Close implements Conn. A reader whose Close does not end its Read is waited
// for only as long as the context allows.
func (c *pipeConn) Close(ctx context.Context) error {
	c.leave()
	c.closing.Do(func() {
		close(c.queue.closed)
		_ = c.w.Close()
		_ = c.closer.Close()
	})
	return c.reading.wait(ctx)
}
