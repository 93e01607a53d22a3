// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/proc"
)

const (
	defaultCloseGrace = time.Second
	defaultTermGrace  = time.Second
	// exitWait is how long a process that closed its output is given to end,
	// so that its exit status can be told.
	exitWait = 500 * time.Millisecond
	// heldWait is how long the output of a process that has ended is read on
	// in silence: others of its tree may hold the pipe for ever.
	heldWait = 500 * time.Millisecond
	// stderrWait is how long the last words of a dead process are waited for.
	stderrWait = 100 * time.Millisecond
)

// Open implements Target: it starts the program. That the program goes on is
// not known before its first answer.
func (t *Command) Open(ctx context.Context, o Options) (Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Reason: Closed, Target: t.String(), Detail: "not started", Err: err}
	}
	p, err := proc.Start(proc.Command{Argv: t.Argv, Dir: t.Dir, Env: t.Env, Stderr: o.Stderr})
	if err != nil {
		return nil, &Error{Reason: NotStarted, Target: t.String(), Err: err}
	}
	c := &commandConn{process: p, grace: proc.Grace{Close: t.CloseGrace, Term: t.TermGrace}}
	if c.grace.Close <= 0 {
		c.grace.Close = defaultCloseGrace
	}
	if c.grace.Term <= 0 {
		c.grace.Term = defaultTermGrace
	}
	c.core = newCore(t.String(), Stdio, o)
	c.init(&heldReader{f: p.Stdout}, p.Stdin, false)
	c.reading.start(func() {
		<-p.Exited()
		_ = p.Stdout.SetReadDeadline(time.Now().Add(heldWait))
	})
	c.reading.start(func() { c.read(c.died) })
	return c, nil
}

// Kind implements Target.
func (t *Command) Kind() Kind { return Stdio }

// String names the program alone: arguments may hold secrets.
func (t *Command) String() string {
	if len(t.Argv) == 0 {
		return "command"
	}
	return filepath.Base(t.Argv[0])
}

type commandConn struct {
	lineConn
	process *proc.Process

	mu    sync.Mutex
	grace proc.Grace
}

// heldReader reads a pipe that gets a deadline when its process ends. What is
// still in the pipe is read first: only silence ends it.
type heldReader struct{ f *os.File }

// errHeld is the end of an output that somebody else keeps open.
var errHeld = errors.New("the process ended, and another one holds its output")

func (h *heldReader) Read(b []byte) (int, error) {
	n, err := h.f.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	// The deadline may have passed while nobody was reading.
	_ = h.f.SetReadDeadline(time.Now().Add(heldWait))
	if n, err = h.f.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
		err = errHeld
	}
	return n, err
}

func (c *commandConn) died(err error) *Error {
	t := time.NewTimer(exitWait)
	defer t.Stop()
	select {
	case <-c.process.Exited():
		c.process.DrainStderr(stderrWait)
		exit := c.Exit()
		detail := "the process ended"
		if errors.Is(err, errHeld) {
			detail = errHeld.Error()
		}
		return &Error{Reason: Died, Target: c.target, Detail: detail, Exit: &exit}
	case <-t.C:
	}
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		err = nil
	}
	e := c.errorf(Died, "the process closed its output and goes on", err)
	return e
}

// Close implements Conn. The process tree is gone when it returns.
func (c *commandConn) Close(ctx context.Context) error {
	c.leave()
	c.closing.Do(func() {
		// From now on the output is read and dropped, so that a server that
		// has something left to say is not kept from ending.
		close(c.queue.closed)
		c.mu.Lock()
		grace := c.grace
		c.mu.Unlock()
		grace.Hurry = ctx.Done()
		c.process.Stop(grace)
	})
	return c.reading.wait(context.Background()) // both end with the process
}

// Hurry implements Hurrier.
func (c *commandConn) Hurry(closeGrace, termGrace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grace.Close, c.grace.Term = min(c.grace.Close, closeGrace), min(c.grace.Term, termGrace)
}

func (c *commandConn) PID() int                { return c.process.PID() }
func (c *commandConn) Stderr() string          { return c.process.Tail() }
func (c *commandConn) CloseInput() error       { return c.process.EndInput() }
func (c *commandConn) Terminate()              { c.process.Terminate() }
func (c *commandConn) Left() int               { return c.process.Left() }
func (c *commandConn) Exited() <-chan struct{} { return c.process.Exited() }

func (c *commandConn) Exit() Exit {
	s := c.process.Status()
	return Exit{Code: s.Code, Signal: s.Signal, Stderr: c.process.Tail()}
}
