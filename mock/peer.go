// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"sync"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// peer is a client that the server remembers: a legacy session, or whoever is
// at the other end of a stdio connection.
type peer struct {
	ended chan struct{} // closed when the session is over
	once  sync.Once

	mu         sync.Mutex
	revision   spec.Revision // agreed in the handshake, zero before
	running    map[wire.IDKey]context.CancelFunc
	subscribed map[string]bool // URIs
	streaming  bool            // its standing stream is open
}

func newPeer() *peer {
	return &peer{ended: make(chan struct{}), running: map[wire.IDKey]context.CancelFunc{}, subscribed: map[string]bool{}}
}

func (p *peer) begin(r spec.Revision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision = r
}

func (p *peer) agreed() spec.Revision {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.revision
}

// startStream reports whether the caller is the one to serve the standing
// stream; there is at most one.
func (p *peer) startStream() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.streaming
	p.streaming = true
	return first
}

func (p *peer) stopStream() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streaming = false
}

func (p *peer) subscribe(uri string, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.subscribed[uri] = true
	} else {
		delete(p.subscribed, uri)
	}
}

func (p *peer) wants(uri string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.subscribed[uri]
}

// run makes a request cancellable by its id. done must be called in the end.
func (p *peer) run(ctx context.Context, q *request) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	key, ok := q.Key()
	if !ok || q.Method == spec.MethodInitialize {
		return ctx, cancel
	}
	p.mu.Lock()
	p.running[key] = cancel
	p.mu.Unlock()
	return ctx, func() {
		p.mu.Lock()
		delete(p.running, key)
		p.mu.Unlock()
		cancel()
	}
}

// cancel ends the request that notifications/cancelled names. One that is not
// running is ignored.
func (p *peer) cancel(q *request) {
	key, ok := wire.KeyOf(q.param("requestId"))
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel := p.running[key]; cancel != nil {
		cancel()
	}
}

// leave ends what would last as long as the session.
func (p *peer) leave() { p.once.Do(func() { close(p.ended) }) }

// end closes the session and cancels what is running in it.
func (p *peer) end() {
	p.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.running {
		cancel()
	}
}
