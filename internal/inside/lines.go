// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"io"

	"github.com/mcprove/mcprove/transport"
)

// Lines is a server that speaks the framing of stdio, over pipes.
type Lines struct {
	Name   string
	Report Report // may be nil
	// Serve serves one connection until in ends. Contexts of the server's
	// handlers must come from ctx.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Kind implements transport.Target.
func (t *Lines) Kind() transport.Kind { return transport.Stdio }

func (t *Lines) String() string { return t.Name }

// Reporting is the same server, whose errors are told.
func (t *Lines) Reporting(report func(err error, stack []byte)) transport.Target {
	c := *t
	c.Report = report
	return &c
}

// Open implements transport.Target.
func (t *Lines) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	l := newLife(ctx, t.Report)
	done := make(chan struct{})
	f := &transport.Func{Name: t.Name, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		ended := make(chan error, 1)
		go func() {
			defer close(done)
			ended <- t.Serve(within{ctx, l}, in, &output{out, l})
		}()
		select {
		case err := <-ended:
			l.Tell("", err)
			return err
		case <-l.gone:
			return l.failed() // the streams end now, as those of a process
		}
	}}
	c, err := f.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &linesConn{Conn: c, life: l, name: t.Name, done: done}, nil
}

// output is closed by the end of the life: an answer to a call that panicked
// would be one that no client gets.
type output struct {
	io.Writer
	life *Life
}

func (w *output) Write(b []byte) (int, error) {
	if w.life.failed() != nil {
		return 0, io.ErrClosedPipe
	}
	return w.Writer.Write(b)
}

type linesConn struct {
	transport.Conn
	life *Life
	name string
	done <-chan struct{} // closed when Serve has returned
}

// CloseInput implements transport.InputCloser.
func (c *linesConn) CloseInput() error { return c.Conn.(transport.InputCloser).CloseInput() }

// Close implements transport.Conn.
func (c *linesConn) Close(ctx context.Context) error {
	err := c.Conn.Close(ctx)
	c.life.stop()
	if end := c.life.wait(ctx, c.name, c.done); err == nil {
		err = end
	}
	return err
}
