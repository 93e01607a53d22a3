// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"time"
)

// OpCross is what servers do that keep the answers under way in one table by
// their ids. Text says between whom; see [Crossing].
const OpCross Op = "cross"

// Crossing says whose answers meet.
type Crossing string

// The crossings, between connections, and over sockets between sessions. Two requests must be under way at once.
const (
	CrossIDs     Crossing = "ids"     // of one connection, with different ids: they change places
	CrossSameID  Crossing = "same-id" // of one connection, with the same id: they change places
	CrossClients Crossing = "clients" // of two connections, with the same id: they change places
	CrossLost    Crossing = "lost"    // of one connection, with the same id: only the first is answered
)

// crossings are all of them.
var crossings = []string{string(CrossIDs), string(CrossSameID), string(CrossClients), string(CrossLost)}

// Cross mixes up the answers of two requests that are under way at once.
//
//go:noinline
func (p Place) Cross(how Crossing) Fault { return Fault{Place: p, Op: OpCross, Text: string(how)} }

// crossWait is how long an answer is held for another one to meet.
const crossWait = 60 * time.Millisecond

// held is an answer that waits for another one.
type held struct {
	fault *Fault
	q     *request
	text  json.RawMessage
	other chan json.RawMessage // the text of the one it met
}

// meets reports whether two requests are such as the fault is about.
func (h *held) meets(f *Fault, q *request) bool {
	same := string(h.q.ID) == string(q.ID)
	// A client has many sockets: one of HTTP is told by its session, and without
	// sessions all clients are one.
	near := h.q.peer == q.peer && (q.socket || h.q.connection == q.connection)
	if h.fault != f {
		return false
	}
	switch Crossing(f.Text) {
	case CrossIDs:
		return near && !same
	case CrossClients:
		return same && (!near || q.socket && q.peer == nil)
	}
	return near && same
}

// cross holds an answer until it meets another one, or for a moment.
func (s *Server) cross(f *Fault, q *request, r *reply) {
	if r.text == nil {
		return
	}
	s.mu.Lock()
	for i, h := range s.crossing {
		if !h.meets(f, q) {
			continue
		}
		s.crossing = append(s.crossing[:i], s.crossing[i+1:]...)
		s.mu.Unlock()
		if Crossing(f.Text) == CrossLost {
			close(h.other)
			r.drop = true
			return
		}
		h.other <- r.text
		r.text = set(h.text, "/id", q.ID)
		return
	}
	h := &held{fault: f, q: q, text: r.text, other: make(chan json.RawMessage, 1)}
	s.crossing = append(s.crossing, h)
	s.mu.Unlock()
	t := time.NewTimer(crossWait)
	defer t.Stop()
	select {
	case other, ok := <-h.other:
		if ok {
			r.text = set(other, "/id", q.ID)
		}
		return
	case <-t.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range s.crossing {
		if o == h {
			s.crossing = append(s.crossing[:i], s.crossing[i+1:]...)
			return
		}
	}
	if other, ok := <-h.other; ok { // it was met just now
		r.text = set(other, "/id", q.ID)
	}
}
