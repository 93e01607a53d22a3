// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Lure is an address on this machine that nobody has a reason to ask for. Who
// does has followed a reference that it was sent.
type Lure struct {
	// URL is the address, with a path of its own.
	URL string

	listener net.Listener
	wait     sync.WaitGroup
	hit      chan struct{} // closed by the first who asks
	once     sync.Once
}

// Lure begins to listen. Close must be called.
func (p *Probe) Lure() (*Lure, error) {
	listen := p.o.Listen
	if listen == nil {
		listen = func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	}
	l, err := listen()
	if err != nil {
		return nil, err
	}
	u := &Lure{URL: "http://" + l.Addr().String() + "/mcprove.json", listener: l, hit: make(chan struct{})}
	u.wait.Go(u.serve)
	return u, nil
}

// lurePatience bounds the reading of one request.
const lurePatience = time.Second

func (l *Lure) serve() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.answer(conn)
	}
}

// answer counts who asks by HTTP: a port scanner is no hit.
func (l *Lure) answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(lurePatience))
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || r.URL.Path != "/mcprove.json" {
		return
	}
	l.once.Do(func() { close(l.hit) })
	_, _ = conn.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
}

// Hit waits until somebody asks, for a while.
func (l *Lure) Hit(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.hit:
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	return false
}

// Close ends it.
func (l *Lure) Close() {
	_ = l.listener.Close()
	l.wait.Wait()
}
