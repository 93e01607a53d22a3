// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Web is a server behind an http.Handler that speaks Streamable HTTP, called
// without sockets.
type Web struct {
	Name    string
	Report  Report // may be nil
	Handler http.Handler
	Header  []wire.HeaderField
}

// Kind implements transport.Target.
func (t *Web) Kind() transport.Kind { return transport.StreamableHTTP }

func (t *Web) String() string { return t.Name }

// Reporting is the same server, whose errors are told.
func (t *Web) Reporting(report func(err error, stack []byte)) transport.Target {
	c := *t
	c.Report = report
	return &c
}

// Sending is the same server, which is sent these headers too.
func (t *Web) Sending(header []wire.HeaderField) transport.Target {
	c := *t
	c.Header = append(t.Header[:len(t.Header):len(t.Header)], header...)
	return &c
}

// Open implements transport.Target.
func (t *Web) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	l := newLife(ctx, t.Report)
	l.binds = true
	h := &transport.Handler{Name: t.Name, Header: t.Header, Handler: l.handler(t.Handler)}
	c, err := h.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &webConn{Conn: c, Requester: c.(transport.Requester), Holder: c.(transport.Holder), life: l, name: t.Name}, nil
}

// handler is h in the life of one connection. When that has ended, every
// exchange breaks off.
func (l *Life) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := l.failed(); err != nil {
			panic(err)
		}
		ctx, done := l.bind(l.Request(r.Context()))
		defer done()
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) && l.failed() == nil {
				l.Panicked(ctx, v, debug.Stack())
			}
			panic(v) // the carrier ends the response as a server would
		}()
		out := &response{w, l}
		defer out.begin()()
		h.ServeHTTP(out, r.WithContext(within{ctx, l}))
		if err := l.failed(); err != nil {
			panic(err)
		}
	})
}

// response is closed by the end of the life.
type response struct {
	http.ResponseWriter
	life *Life
}

// begin makes the response one that breaks off with the life, until it is done.
func (w *response) begin() (done func()) {
	w.life.mu.Lock()
	defer w.life.mu.Unlock()
	w.life.open[w] = struct{}{}
	return func() {
		w.life.mu.Lock()
		defer w.life.mu.Unlock()
		delete(w.life.open, w)
	}
}

// breakOff ends the response though its handler may go on.
func (w *response) breakOff(why error) {
	if b, ok := w.ResponseWriter.(interface{ BreakOff(error) }); ok {
		b.BreakOff(why)
	}
}

func (w *response) Write(b []byte) (int, error) {
	if err := w.life.failed(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController calls.
func (w *response) FlushError() error {
	if err := w.life.failed(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type webConn struct {
	transport.Conn
	transport.Requester
	transport.Holder
	life *Life
	name string
}

// Close implements transport.Conn. What is under way is aborted first.
func (c *webConn) Close(ctx context.Context) error {
	c.life.stop()
	if c.life.hangs() {
		// Nothing will end the call that has no end, and that was told.
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_ = c.Conn.Close(gone)
		return nil
	}
	err := c.Conn.Close(ctx)
	if end := c.life.wait(ctx, c.name); err == nil {
		err = end
	}
	return err
}
