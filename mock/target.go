// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// HTTP is a target that calls the server as a handler, without sockets. Each
// Open is a connection of its own.
func (s *Server) HTTP(name string) transport.Target {
	return &handled{transport.Handler{Handler: s, Name: name}, s}
}

type handled struct {
	transport.Handler
	server *Server
}

// Sending is the same server, which is sent these headers too.
func (t *handled) Sending(header []wire.HeaderField) transport.Target {
	c := *t
	c.Header = append(slices.Clone(t.Header), header...)
	return &c
}

func (t *handled) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	number := t.server.connect()
	return (&transport.Handler{Name: t.Name, Header: t.Header, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.server.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connectionKey{}, number)))
	})}).Open(ctx, o)
}

// Stdio is a target that speaks to the server over pipes. Each Open is a
// connection of its own, like a process that is started.
func (s *Server) Stdio(name string) transport.Target { return &pipes{s, name} }

type pipes struct {
	server *Server
	name   string
}

func (t *pipes) Kind() transport.Kind { return transport.Stdio }

func (t *pipes) String() string {
	if t.name == "" {
		return "mock"
	}
	return t.name
}

func (t *pipes) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	p := &transport.Pipe{R: fromServer, W: toServer, Name: t.String()}
	inner, err := p.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	told := make(chan struct{})
	life, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), toldKey{}, told))
	c := &pipesConn{Conn: inner, server: t.server, told: told, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		// How it ended shows in what the client reads.
		_ = t.server.ServeStdio(life, fromClient, toClient)
		_ = toClient.Close()
		_ = fromClient.CloseWithError(syscall.EPIPE) // as the kernel says of a process that is gone
	}()
	return c, nil
}

// pipesConn is the client's end, which owns the server's goroutine.
type pipesConn struct {
	transport.Conn
	server *Server
	told   chan struct{} // closed when the server is told to end
	once   sync.Once
	cancel context.CancelFunc
	done   chan struct{}
}

// Close implements transport.Conn.
func (c *pipesConn) Close(ctx context.Context) error {
	err := c.Conn.Close(ctx)
	c.cancel()
	select {
	case <-c.done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return err
	default:
		return errors.Join(err, ctx.Err())
	}
}
