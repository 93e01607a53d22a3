// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprove/mcprove/spec"
)

// replay is an event stream of a resumable session: it goes on when its client
// is away, and remembers what it said
// (2025-11-25/basic/transports#resumability-and-redelivery).
type replay struct {
	name   string
	format string // of its events, when a fault says so

	mu      sync.Mutex
	events  [][]byte // with their ids
	first   int      // number of the first of them
	done    bool
	hidden  int    // how often the carrier was closed on purpose
	ending  ending // how a fault ends the connection
	cut     int    // the number of the event that came after the last time
	carrier int    // number of the response that carries it
	carried bool
	changed chan struct{} // closed at the next change
}

// maxEvents is how many events a stream remembers.
const maxEvents = 1000

// maxStreams is how many streams a session remembers beside those that go on.
const maxStreams = 100

// standing is the name of a session's own stream.
const standing = "0"

// newReplay opens a stream of a session. It begins with an event of an id
// alone where the revision has that.
func (p *peer) newReplay(q *request, name string) *replay {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == "" {
		p.opened++
		name = strconv.Itoa(p.opened)
	}
	if len(p.streams) >= maxStreams {
		maps.DeleteFunc(p.streams, func(_ string, old *replay) bool {
			old.mu.Lock()
			defer old.mu.Unlock()
			return old.done && old.carrier > old.hidden // nobody has to come back for it
		})
	}
	rp := &replay{name: name, first: 1, changed: make(chan struct{})}
	p.streams[name] = rp
	if p.revision >= spec.Rev20251125 && !q.lenient(CheckStreamPriming) {
		rp.append(func(id string) []byte { return []byte("id: " + id + "\ndata: \n\n") })
	}
	return rp
}

// add says a message.
func (rp *replay) add(message []byte) {
	rp.append(func(id string) []byte {
		if rp.format != "" {
			return []byte(strings.NewReplacer("{{id}}", id, "{{data}}", string(message)).Replace(rp.format))
		}
		return eventOf(id, message)
	})
}

func (rp *replay) append(event func(id string) []byte) {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	rp.events = append(rp.events, event(rp.name+"-"+strconv.Itoa(rp.first+len(rp.events))))
	if len(rp.events) > maxEvents {
		rp.events = rp.events[1:]
		rp.first++
	}
	rp.wake()
}

// wake tells who carries the stream. The caller holds the lock.
func (rp *replay) wake() {
	close(rp.changed)
	rp.changed = make(chan struct{})
}

func (rp *replay) finish() {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	rp.done = true
	rp.wake()
}

// hide closes the carrier of the stream, which the client has to find again.
func (rp *replay) hide() {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	rp.hidden++
	rp.cut = rp.first + len(rp.events)
	rp.wake()
}

// next returns the events from a number on with the number behind them, and what
// to wait for when there are none. Those behind a closing of the carrier are held back.
func (rp *replay) next(from, hidden int) (events [][]byte, after int, done, closed bool, changed <-chan struct{}) {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	closed = rp.hidden != hidden
	end := len(rp.events)
	if closed {
		end = min(end, rp.cut-rp.first)
	}
	from = max(from, rp.first) // older ones are forgotten
	if at := from - rp.first; at < end {
		events = rp.events[at:end:end]
	}
	return events, from + len(events), rp.done, closed, rp.changed
}

// take makes the caller the one response that carries the stream: a client that
// comes back takes it from the response that it lost.
func (rp *replay) take() int {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	rp.carrier++
	rp.carried = true
	rp.wake()
	return rp.carrier
}

func (rp *replay) mine(carrier int) bool {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	return rp.carrier == carrier
}

func (rp *replay) leave(carrier int) {
	rp.mu.Lock()
	defer rp.mu.Unlock()
	if rp.carrier == carrier {
		rp.carried = false
	}
}

// carry is the HTTP response that carries a stream from an event on, until its
// carrier is closed more often than it was.
func (h *httpCall) carry(rp *replay, from, hidden int) {
	h.startStream()
	me := rp.take()
	defer rp.leave(me)
	for {
		events, after, done, closed, changed := rp.next(from, hidden)
		for _, e := range events {
			if _, err := h.w.Write(e); err != nil {
				return
			}
		}
		from = after
		_ = h.flush()
		switch {
		case closed:
			h.retry()
			return
		case done, !rp.mine(me):
			return
		}
		select {
		case <-changed:
		case <-h.r.Context().Done():
			return
		}
	}
}

// retry tells the client how long to wait before it comes back.
func (h *httpCall) retry() {
	if d := h.server.script.Retry; d > 0 {
		_, _ = h.w.Write([]byte("retry: " + strconv.FormatInt(d.Milliseconds(), 10) + "\n\n"))
		_ = h.flush()
	}
}

// answerResumably answers a request on a stream that outlives its response.
func (h *httpCall) answerResumably(q *request) {
	s := h.server
	rp := q.peer.newReplay(q, "")
	if f := q.find(OpEvent); f != nil {
		rp.format = f.Text
	}
	ctx, cancel := context.WithCancel(s.life)
	ctx, done := q.peer.run(ctx, q)
	q.send, q.hide = rp.add, rp.hide
	q.over = func() bool { return ctx.Err() != nil && !q.lenient(CheckCancelAnswer) }
	s.background.Go(func() {
		defer func() { done(); cancel(); rp.finish() }()
		r := s.reply(ctx, q, nil)
		if r.drop {
			for _, m := range r.ahead() {
				rp.add(m)
			}
		}
		if !r.wait(ctx) || q.over() {
			return
		}
		if q.find(OpPoll) != nil {
			rp.hide()
		}
		if r.ending != goOn || r.half {
			rp.ending = max(r.ending, hangUp)
			return
		}
		for _, m := range r.ahead() {
			rp.add(m)
		}
		for range r.more + 1 {
			if r.text != nil {
				rp.add(r.text)
			}
		}
		for _, m := range append(r.after, r.later...) {
			rp.add(m)
		}
	})
	h.carry(rp, 1, 0)
	select {
	case <-h.r.Context().Done():
	default:
		rp.mu.Lock()
		done, ends := rp.done, rp.ending
		rp.mu.Unlock()
		if done {
			h.endBy(ends)
		}
	}
}

// standResumably is the GET of a resumable session: its own stream, or with
// Last-Event-ID the stream of that event, from behind it on.
func (h *httpCall) standResumably(q *request) {
	name, from := standing, 0
	if last := q.header.Get(spec.HeaderLastEventID); last != "" {
		stream, n, _ := strings.Cut(last, "-")
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 {
			h.refuse(q, http.StatusBadRequest, "no such event")
			return
		}
		name, from = stream, i+1
	}
	q.peer.mu.Lock()
	rp := q.peer.streams[name]
	q.peer.mu.Unlock()
	switch {
	case rp == nil && name != standing:
		h.refuse(q, http.StatusBadRequest, "no such stream")
		return
	case rp == nil:
		rp = h.stand(q)
	case from == 0:
		rp.mu.Lock()
		from = rp.first + len(rp.events)
		rp.mu.Unlock()
	}
	rp.mu.Lock()
	hidden, busy := rp.hidden, rp.carried
	rp.mu.Unlock()
	if busy && name == standing && q.header.Get(spec.HeaderLastEventID) == "" {
		h.refuse(q, http.StatusConflict, "the session has a standing stream already")
		return
	}
	if q.lenient(CheckStreamReplay) {
		h.startStream()
		for _, other := range q.peer.others(rp) {
			h.replayed(other)
		}
	}
	h.carry(rp, from, hidden)
}

// others are the streams of a session but for one and its own, in their order.
func (p *peer) others(than *replay) (out []*replay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.streams)) {
		if rp := p.streams[name]; rp != than && name != standing {
			out = append(out, rp)
		}
	}
	return out
}

// replayed writes what a stream has said so far.
func (h *httpCall) replayed(rp *replay) {
	events, _, _, _, _ := rp.next(0, 0)
	for _, e := range events {
		_, _ = h.w.Write(e)
	}
}

// stand opens a session's own stream, which lasts as long as the session.
func (h *httpCall) stand(q *request) *replay {
	s := h.server
	rp := q.peer.newReplay(q, standing)
	st := &stream{q: q, peer: q.peer}
	s.open(st)
	s.background.Go(func() {
		defer rp.finish()
		defer s.close(st)
		s.relay(s.life, st, rp.add)
	})
	return rp
}
