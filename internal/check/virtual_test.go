// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/transport"
)

// runOn makes a run against a mock inside this process, where all that waits
// waits by a virtual clock: a busy machine judges as an idle one does.
func runOn(t *testing.T, script mock.Script, target func(*mock.Server) transport.Target, o check.Options) *check.Result {
	t.Helper()
	o.Listen = listenInside
	var r *check.Result
	synctest.Test(t, func(t *testing.T) { r = run(t, target(served(t, script)), o) })
	return r
}

// served is a mock that ends with the test.
func served(t *testing.T, script mock.Script) *mock.Server {
	s := mock.New(script)
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown of the mock: %v", err)
		}
	})
	return s
}

// insides are the listeners inside this process by their addresses, which are of
// a network that does not exist (RFC 5737).
var (
	insides  sync.Map // string to *inside
	insideNo atomic.Int64
)

// inside is a listener that is reached by pipes: waiting for a socket stops a
// virtual clock.
type inside struct {
	address string
	conns   chan net.Conn
	closed  chan struct{}
}

func listenInside() (net.Listener, error) {
	l := &inside{address: fmt.Sprintf("192.0.2.1:%d", insideNo.Add(1)), conns: make(chan net.Conn), closed: make(chan struct{})}
	insides.Store(l.address, l)
	return l, nil
}

func (l *inside) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *inside) Close() error {
	insides.Delete(l.address)
	close(l.closed)
	return nil
}

func (l *inside) Addr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", l.address)
	return a
}

// dialInside is how a tool of the mock reaches them.
func dialInside(ctx context.Context, network, address string) (net.Conn, error) {
	v, ok := insides.Load(address)
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
	}
	l := v.(*inside)
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
	case <-ctx.Done():
	}
	return nil, net.ErrClosed
}

// reachInside makes tools that ask by HTTP reach nothing but such listeners.
func reachInside() {
	http.DefaultTransport = &http.Transport{DialContext: dialInside, DisableKeepAlives: true}
}
