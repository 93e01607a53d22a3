// SPDX-License-Identifier: Apache-2.0

// Package inside runs the server of an SDK in the process of its client, as
// transport.Target: it ends with its connection, a panic ends it as it would end
// a process, and what it keeps from its client can be told.
package inside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcprove/mcprove/transport"
)

// Report is told of an error that a server keeps from its client, and of a panic
// in it, which has a stack.
type Report func(err error, stack []byte)

// Life is the run of a server for one connection: what its process would be.
type Life struct {
	report Report
	opened context.Context // for its values: that of Open
	binds  bool            // calls end with the life by us, not by their SDK

	mu      sync.Mutex
	failure error         // what ended it before its time
	stuck   bool          // a call left without an end
	over    bool          // it ended
	gone    chan struct{} // closed with failure
	cancels map[*cancel]struct{}
	open    map[*response]struct{}
	closers map[any]func()
}

type cancel struct{ f context.CancelFunc }

type lifeKey struct{}

// Of is the life that a context belongs to, nil for a context of another
// client's.
func Of(ctx context.Context) *Life {
	l, _ := ctx.Value(lifeKey{}).(*Life)
	return l
}

func newLife(ctx context.Context, report Report) *Life {
	return &Life{
		report: report, opened: context.WithoutCancel(ctx), gone: make(chan struct{}),
		cancels: map[*cancel]struct{}{}, open: map[*response]struct{}{}, closers: map[any]func(){},
	}
}

// within is a context of the server's, with the life and with the values of the
// context that the connection was opened with.
type within struct {
	context.Context
	life *Life
}

func (c within) Value(key any) any {
	if key == (lifeKey{}) {
		return c.life
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.life.opened.Value(key)
}

// bind makes a context that is done when the life ends.
func (l *Life) bind(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	c := &cancel{stop}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.failure != nil {
		stop()
	}
	l.cancels[c] = struct{}{}
	return ctx, func() {
		stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.cancels, c)
	}
}

// Call runs a handler of the server. A panic in it, where the SDK has not
// recovered from it, ends the life: it would end the process. So does a handler
// that never returns to its SDK (runtime.Goexit, which FailNow of a test calls).
// The error is that of the life then.
func (l *Life) Call(ctx context.Context, handler func(ctx context.Context)) (err error) {
	if l.binds {
		var done func()
		ctx, done = l.bind(ctx)
		defer done()
	}
	returned := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			err = fmt.Errorf("panic: %v", v)
			l.end(err, false, debug.Stack())
		case !returned:
			l.end(errExit, true, debug.Stack())
		}
	}()
	handler(ctx)
	returned = true
	return nil
}

// Panicked tells of a panic that the SDK or its adapter recovers from. That of
// one request is told once, by whoever sees it first.
func (l *Life) Panicked(ctx context.Context, v any, stack []byte) {
	if told, ok := ctx.Value(toldKey{}).(*atomic.Bool); ok && told.Swap(true) {
		return
	}
	if l.report != nil {
		l.report(fmt.Errorf("panic: %v", v), stack)
	}
}

// Exited tells of a handler that ended its goroutine, and ends the life: no answer
// can come.
func (l *Life) Exited(stack []byte) { l.end(errExit, false, stack) }

// Request is a context for one request of the life.
func (l *Life) Request(ctx context.Context) context.Context {
	return context.WithValue(ctx, toldKey{}, new(atomic.Bool))
}

type toldKey struct{}

var errExit = errors.New("a handler of the server ended its goroutine (runtime.Goexit, or FailNow of a test): no answer can come")

// end is the early end of the life. It is told before the client can see it.
func (l *Life) end(why error, stuck bool, stack []byte) {
	if l.report != nil {
		l.report(why, stack)
	}
	l.mu.Lock()
	if l.failure == nil {
		l.failure = why
		close(l.gone)
	}
	why = l.failure
	l.stuck = l.stuck || stuck
	open := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, r := range open {
		r.breakOff(why)
	}
	l.abort()
}

func (l *Life) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.cancels {
		c.f()
	}
}

// hangs reports whether a call was left without an end.
func (l *Life) hangs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stuck
}

// failed is what ended the life before its time.
func (l *Life) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Tell reports an error of which the client sees only another text.
func (l *Life) Tell(visible string, err error) {
	if l.report == nil || err == nil {
		return
	}
	if real := hidden(visible, err); real != nil {
		l.report(real, nil)
	}
}

// hidden is the first error of a chain whose text is not visible.
func hidden(visible string, err error) error {
	if !strings.Contains(visible, err.Error()) {
		return err
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			return hidden(visible, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			if real := hidden(visible, inner); real != nil {
				return real
			}
		}
	}
	return nil
}

// Keep remembers what must be closed in the end, such as a session, once a key.
func (l *Life) Keep(key any, close func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closers[key] = close
}

// stop ends what is under way, and whatever begins from now on.
func (l *Life) stop() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.abort()
}

// wait closes what the life kept, and waits for that and for others.
func (l *Life) wait(ctx context.Context, name string, others ...<-chan struct{}) error {
	l.mu.Lock()
	closers, stuck := l.closers, l.stuck
	l.closers = map[any]func(){}
	l.mu.Unlock()
	if stuck {
		return nil // nothing will ever end it, and that was told
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var all sync.WaitGroup
		for _, f := range closers {
			all.Go(f)
		}
		all.Wait()
		for _, other := range others {
			<-other
		}
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-closed:
		return nil
	default:
		return &transport.Error{Reason: transport.TimedOut, Target: name, Detail: "the server goes on after its end", Err: ctx.Err()}
	}
}
