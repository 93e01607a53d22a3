// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// peer is a client that the server remembers: a legacy session, or whoever is
// at the other end of a stdio connection.
type peer struct {
	ended chan struct{} // closed when the session is over
	once  sync.Once

	mu           sync.Mutex
	revision     spec.Revision   // agreed in the handshake, zero before
	capabilities json.RawMessage // that the client declared in it
	told         map[string]bool // capabilities that the server declared in it, nil when it never did
	ready        bool            // it has said that it is initialized
	level        string          // of log messages
	running      map[wire.IDKey]running
	subscribed   map[string]bool // URIs
	streaming    bool            // its standing stream is open
	asked        map[wire.IDKey]chan *wire.Message
	requests     int64              // that the server made
	streams      map[string]*replay // of a resumable session, by name
	opened       int                // of them
}

// running is a request that is being answered.
type running struct {
	cancel context.CancelFunc
	q      *request
}

func newPeer() *peer {
	return &peer{
		ended: make(chan struct{}), running: map[wire.IDKey]running{}, subscribed: map[string]bool{},
		asked: map[wire.IDKey]chan *wire.Message{}, streams: map[string]*replay{},
	}
}

func (p *peer) begin(r spec.Revision, capabilities []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision, p.capabilities = r, capabilities
}

// tell notes what the server declared to the client.
func (p *peer) tell(declared map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = declared
}

// knows reports whether the client was told of a capability.
func (p *peer) knows(capability string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told == nil || p.told[capability]
}

// initialized notes that the client is ready to hear what it did not ask for.
func (p *peer) initialized() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = true
}

func (p *peer) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

func (p *peer) agreed() spec.Revision {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.revision
}

func (p *peer) clientCapabilities() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.capabilities
}

func (p *peer) setLogLevel(level string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.level = level
}

func (p *peer) logLevel() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.level
}

// expect makes the id of a request of the server, and a place for its answer.
func (p *peer) expect() (id []byte, answered chan *wire.Message, forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	id = number(p.requests)
	key, _ := wire.KeyOf(id)
	answered = make(chan *wire.Message, 1)
	p.asked[key] = answered
	return id, answered, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, key)
	}
}

// answer hands a response of the client to who waits for it. One that nobody
// waits for is ignored.
func (p *peer) answer(m *wire.Message) {
	key, ok := m.Key()
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered := p.asked[key]; answered != nil {
		delete(p.asked, key)
		answered <- m
	}
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
	p.running[key] = running{cancel, q}
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
	if r, ok := p.running[key]; ok && !r.q.lenient(CheckCancel) && (r.q.Method != spec.MethodListen || !r.q.lenient(CheckListenCancel)) {
		r.cancel()
	}
}

// leave ends what would last as long as the session.
func (p *peer) leave() { p.once.Do(func() { close(p.ended) }) }

// end closes the session and cancels what is running in it.
func (p *peer) end() {
	p.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.running {
		r.cancel()
	}
}
