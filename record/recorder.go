// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Options of a Recorder. The zero value is useful.
type Options struct {
	// Limit is how many bytes are kept, about; zero is 64 MiB. Beyond it the
	// oldest entries are dropped, and counted.
	Limit int
	// Tail drops half of what is kept at a time, and all that was known of it: an
	// answer to a request that was dropped is one to nothing. It is for recordings
	// of which the end matters, and costs less.
	Tail bool
	// Redact says what is a secret, beside what is known to be one.
	Redact Redaction
}

// Redaction names secrets. They are cut out of everything that is written. The
// credentials of requests (Authorization, cookies, keys in headers and queries)
// and texts in the form of well-known tokens are cut out in any case, and so
// are those credentials wherever else they stand.
type Redaction struct {
	// Values are secrets, of six bytes or more: shorter ones would blank out
	// ordinary words. They are cut out in their JSON, URL and Base64 forms too.
	Values []string
	// Keys are names of JSON members, query parameters and headers whose value
	// is a secret, in any case of letters. A text of eight bytes or more that
	// stands there is a secret everywhere.
	Keys []string
	// Patterns match secrets; what they match is cut out.
	Patterns []*regexp.Regexp
	// Headers are names of headers whose value is a secret.
	Headers []string
}

const (
	defaultLimit = 64 << 20
	// entryOverhead stands for what an entry costs beside its bytes.
	entryOverhead = 512
)

// Recorder keeps what crosses. Its methods may be called from any goroutine.
type Recorder struct {
	limit  int
	tail   bool
	redact Redaction

	mu      sync.Mutex
	conns   map[uint64]*conn
	opened  int // connections
	seq     int
	entries []entry
	head    int // of the entries: what stands before is gone
	bytes   int
	dropped int
	carried carried
	changes uint64 // of all that a view is made of

	viewMu sync.Mutex
	view   *Recording
	viewOf uint64 // the changes it has seen
}

// conn is one connection. It is changed under Recorder.mu.
type conn struct {
	n       int
	wrapped bool
	lines   [wire.ToClient + 1]int // by direction, of a stream of lines
}

// entry is one thing as the tap saw it.
type entry struct {
	seq     int
	at      time.Time
	conn    int
	channel transport.Channel
	kind    transport.EventKind
	sent    bool
	line    int
	frame   *wire.Frame
	head    *wire.Head
	body    []byte
	size    int64
	sse     *wire.Event
	err     error
	unsent  *transport.Sent
	target  string
}

// The kinds of entries that no tap sees.
const (
	kindOpening transport.EventKind = iota + 201
	kindOpenFailed
)

// New returns a recorder that has heard nothing.
func New(o Options) *Recorder {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	return &Recorder{limit: o.Limit, tail: o.Tail, redact: o.Redact, conns: map[uint64]*conn{}}
}

// Tap returns a tap that records, for those who open connections themselves.
// What Wrap records already is not recorded again.
func (r *Recorder) Tap() transport.Tap {
	return func(e transport.TapEvent) {
		r.mu.Lock()
		defer r.mu.Unlock()
		c := r.conns[e.Conn]
		if c == nil {
			c = r.newConn()
			r.conns[e.Conn] = c
		}
		if !c.wrapped {
			r.take(c, e)
		}
	}
}

// Wrap returns the target with every connection that it opens recorded. It may
// fall back to HTTP+SSE as the target does. Its connections are the target's
// own, so they can do what those can.
func (r *Recorder) Wrap(t transport.Target) transport.Target {
	w := wrapped{t, r}
	if f, ok := t.(transport.SSEFallback); ok {
		return &wrappedFallback{w, f}
	}
	return &w
}

type wrapped struct {
	transport.Target
	r *Recorder
}

type wrappedFallback struct {
	wrapped
	fallback transport.SSEFallback
}

// HTTPSSE implements transport.SSEFallback.
func (w *wrappedFallback) HTTPSSE() transport.Target {
	t := w.fallback.HTTPSSE()
	if t == nil {
		return nil
	}
	return w.r.Wrap(t)
}

// Open implements transport.Target.
func (w *wrapped) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	r := w.r
	r.mu.Lock()
	c := r.newConn()
	c.wrapped = true
	r.add(entry{at: time.Now(), conn: c.n, kind: kindOpening, target: w.String()})
	r.mu.Unlock()
	next, bound := o.Tap, uint64(0)
	o.Tap = func(e transport.TapEvent) {
		r.mu.Lock()
		if e.Conn != bound { // calls of one connection do not overlap
			bound = e.Conn
			r.conns[bound] = c
		}
		r.take(c, e)
		r.mu.Unlock()
		if next != nil {
			next(e)
		}
	}
	conn, err := w.Target.Open(ctx, o)
	if err != nil {
		r.mu.Lock()
		r.add(entry{at: time.Now(), conn: c.n, kind: kindOpenFailed, err: err, target: w.String()})
		r.mu.Unlock()
	}
	return conn, err
}

// Reporting is the same recorded target, which tells of errors that its server
// keeps from the client where it can; what it gives is recorded too.
func (w *wrapped) Reporting(report func(err error, stack []byte)) transport.Target {
	t := w.Target
	if x, ok := t.(interface {
		Reporting(report func(err error, stack []byte)) transport.Target
	}); ok {
		t = x.Reporting(report)
	}
	return w.r.Wrap(t)
}

// Sending is the same recorded target, which sends these headers too where it can.
func (w *wrapped) Sending(header []wire.HeaderField) transport.Target {
	t := w.Target
	if x, ok := t.(interface {
		Sending(header []wire.HeaderField) transport.Target
	}); ok {
		t = x.Sending(header)
	}
	return w.r.Wrap(t)
}

// newConn numbers a connection. mu is held, as for what follows.
func (r *Recorder) newConn() *conn {
	r.opened++
	return &conn{n: r.opened}
}

// take keeps an event.
func (r *Recorder) take(c *conn, e transport.TapEvent) {
	n := entry{
		conn: c.n, channel: e.Channel, kind: e.Kind, sent: e.Sent, frame: e.Frame, head: e.Head,
		body: e.Body, size: e.BodySize, sse: e.SSE, err: e.Err, unsent: e.Unsent,
	}
	switch {
	case e.Frame != nil:
		n.at = e.Frame.Time
		if e.Frame.Line != nil && int(e.Frame.Dir) < len(c.lines) {
			c.lines[e.Frame.Dir]++
			n.line = c.lines[e.Frame.Dir]
		}
	case e.Kind == transport.EventHead && e.Head != nil:
		n.at = e.Head.Time
	}
	if n.at.IsZero() {
		n.at = time.Now()
	}
	r.add(n)
}

func (r *Recorder) add(n entry) {
	r.seq++
	r.changes++
	n.seq = r.seq
	r.entries = append(r.entries, n)
	r.bytes += n.weight()
	if r.tail && r.bytes > r.limit {
		r.dropHalf()
	}
	for r.bytes > r.limit && len(r.entries)-r.head > 1 {
		r.forget()
		r.dropped++
	}
}

func (n *entry) weight() int {
	w := entryOverhead + len(n.body)
	if n.frame != nil {
		w += len(n.frame.Raw)
		if n.frame.Event != nil {
			w += len(n.frame.Event.Raw)
		}
	}
	if n.sse != nil {
		w += len(n.sse.Raw)
	}
	if n.kind == transport.EventHead && n.head != nil {
		w += len(n.head.URL)
		for _, f := range n.head.Header {
			w += len(f.Name) + len(f.Value)
		}
	}
	return w
}

// forget lets go of the oldest entry. A request is carried on, so that its
// answer is still known for what it is.
func (r *Recorder) forget() {
	n := &r.entries[r.head]
	r.bytes -= n.weight()
	r.carried.take(n)
	*n = entry{}
	if r.head++; r.head > 1024 && r.head > len(r.entries)/2 {
		kept := copy(r.entries, r.entries[r.head:])
		clear(r.entries[kept:])
		r.entries, r.head = r.entries[:kept], 0
	}
}

// dropHalf lets go of the older half, and of all that was carried on.
func (r *Recorder) dropHalf() {
	r.carried = carried{}
	from := r.head
	for ; r.bytes > r.limit/2 && len(r.entries)-from > 1; from++ {
		r.bytes -= r.entries[from].weight()
	}
	r.dropped += from - r.head
	kept := copy(r.entries, r.entries[from:])
	clear(r.entries[kept:])
	r.entries, r.head = r.entries[:kept], 0
}

// Clear forgets everything that was kept. An answer that comes later to a
// request from before still has its method and its latency.
func (r *Recorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.entries) > r.head {
		r.forget()
	}
	r.entries, r.head, r.dropped = nil, 0, 0
	r.changes++
}

// Recording is what was kept until now, as it stands. What comes later does
// not change it.
func (r *Recorder) Recording() *Recording {
	r.viewMu.Lock()
	defer r.viewMu.Unlock()
	r.mu.Lock()
	if r.view != nil && r.viewOf == r.changes {
		r.mu.Unlock()
		return r.view
	}
	entries, before := slices.Clone(r.entries[r.head:]), r.carried.clone()
	dropped, changes := r.dropped, r.changes
	r.mu.Unlock()
	r.view, r.viewOf = newRecording(entries, before, dropped, r.redact), changes
	return r.view
}
