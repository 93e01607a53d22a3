// SPDX-License-Identifier: Apache-2.0

package mock

// What makes places, conditions and faults is not inlined: the literals of
// hundreds of rules call it, once each, and would make a third of a megabyte.

import (
	"net/http"
	"strconv"

	"github.com/mcprove/mcprove/spec"
)

// Place is where a fault happens: at a method, a page and a turn, and where all
// conditions hold. The zero Place is everywhere. Build it with [On],
// [OnNotification] and the methods of Place.
type Place struct {
	// Method is that of the request or notification received, or GET or DELETE
	// for such an HTTP request, or one of the pseudo-methods; empty is every
	// one.
	Method string
	// Sent makes Method that of a notification or request which the server
	// sends.
	Sent bool
	// Page is the page of a list that is asked for, from 1; zero is every one.
	Page int
	// Turn is the n-th time that the place is reached, from 1, over the life
	// of the server, whatever the answer is; zero is every time.
	Turn int
	// Onward makes Turn that time and all later ones, Every every multiple of
	// it.
	Onward, Every bool
	// Conditions must all hold.
	Conditions []Condition
}

// On is the place of a method's requests, on every page and turn.
//
//go:noinline
func On(method string) Place { return Place{Method: method} }

// OnNotification is the place of the notifications of a method that the server
// sends: on the stream of a request, of a subscription or of a session.
//
//go:noinline
func OnNotification(method string) Place { return Place{Method: method, Sent: true} }

// OnPage is the place narrowed to one page of a list, from 1.
//
//go:noinline
func (p Place) OnPage(page int) Place { p.Page = page; return p }

// OnTurn is the place narrowed to the n-th time it is reached, from 1.
//
//go:noinline
func (p Place) OnTurn(n int) Place { p.Turn = n; return p }

// FromTurn is the place narrowed to the n-th time it is reached and later ones.
//
//go:noinline
func (p Place) FromTurn(n int) Place { p.Turn, p.Onward = n, true; return p }

// EveryTurn is the place narrowed to every n-th time it is reached.
//
//go:noinline
func (p Place) EveryTurn(n int) Place { p.Turn, p.Every = n, true; return p }

// When is the place narrowed to where all of the conditions hold.
//
//go:noinline
func (p Place) When(cs ...Condition) Place {
	p.Conditions = append(append([]Condition(nil), p.Conditions...), cs...)
	return p
}

// OnHTTP is the place narrowed to HTTP.
//
//go:noinline
func (p Place) OnHTTP() Place { return p.When(Condition{Of: OfTransport, Is: IsEqual, Value: "http"}) }

// OnStdio is the place narrowed to stdio.
//
//go:noinline
func (p Place) OnStdio() Place {
	return p.When(Condition{Of: OfTransport, Is: IsEqual, Value: "stdio"})
}

// OnConn is the place narrowed to the n-th connection of the server's life,
// from 1: a pair of streams over stdio, a TCP connection over HTTP, an Open of
// a target inside the process.
//
//go:noinline
func (p Place) OnConn(n int) Place {
	return p.When(Condition{Of: OfConnection, Is: IsEqual, Value: strconv.Itoa(n)})
}

// FromConn is the place narrowed to the n-th connection and later ones.
//
//go:noinline
func (p Place) FromConn(n int) Place {
	return p.When(Condition{Of: OfConnection, Is: IsFrom, Value: strconv.Itoa(n)})
}

// OfResult is the place narrowed to answers with a result. It is judged before
// any fault changed the answer.
//
//go:noinline
func (p Place) OfResult() Place { return p.When(AnswerHas("/result")) }

// OfError is the place narrowed to answers with an error.
//
//go:noinline
func (p Place) OfError() Place { return p.When(AnswerHas("/error")) }

// OfCode is the place narrowed to errors of one code.
//
//go:noinline
func (p Place) OfCode(code int) Place { return p.When(AnswerIs("/error/code", strconv.Itoa(code))) }

// OfType is the place narrowed to results of one resultType. Those of the
// handshake era, which have none, are complete.
//
//go:noinline
func (p Place) OfType(resultType string) Place {
	return p.When(AnswerIs(resultTypeAt, string(quote(resultType))))
}

const resultTypeAt = "/result/" + spec.FieldResultType

// reached returns the faults that may apply to a request, and counts its turn.
func (s *Server) reached(q *request) []*Fault {
	s.seen.note(q)
	return s.at(q, placeName(q.Message), false)
}

// peeked is reached for a request whose turn is counted later.
func (s *Server) peeked(q *request) []*Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing(q, placeName(q.Message), false, func(i int) int { return s.turns[i] + 1 })
}

// at returns the faults whose place is a method, received or sent.
func (s *Server) at(q *request, method string, sent bool) []*Fault {
	if len(s.script.Faults) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fs := s.standing(q, method, sent, func(i int) int { s.turns[i]++; return s.turns[i] })
	if !sent {
		s.remember(q)
	}
	return fs
}

// standing are the faults at a method whose turn it is. The lock is held.
func (s *Server) standing(q *request, method string, sent bool, turn func(fault int) int) []*Fault {
	var fs []*Fault
	for i := range s.script.Faults {
		f := &s.script.Faults[i]
		if f.Sent != sent || f.Method != "" && f.Method != method || f.Page != 0 && f.Page != q.page || !f.meets(s, q) {
			continue
		}
		if f.turn(turn(i)) {
			fs = append(fs, f)
		}
	}
	return fs
}

func (p *Place) meets(s *Server, q *request) bool {
	for i := range p.Conditions {
		if !p.Conditions[i].holds(s, q) {
			return false
		}
	}
	return true
}

// meetsAnswer judges the conditions on an answer.
func (p *Place) meetsAnswer(answer []byte) bool {
	for i := range p.Conditions {
		if !p.Conditions[i].holdsOf(answer) {
			return false
		}
	}
	return true
}

func (p *Place) turn(n int) bool {
	switch {
	case p.Turn == 0:
		return true
	case p.Every:
		return n%p.Turn == 0
	case p.Onward:
		return n >= p.Turn
	}
	return n == p.Turn
}

// connectionOf numbers the connections of HTTP: those of targets inside the
// process by their number, sockets by the client's address.
func (s *Server) connectionOf(r *http.Request) (n int, socket bool) {
	if n, ok := r.Context().Value(connectionKey{}).(int); ok {
		return n, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.addresses[r.RemoteAddr]
	if n == 0 {
		if len(s.addresses) >= maxAddresses {
			clear(s.addresses)
		}
		s.connections++
		n = s.connections
		s.addresses[r.RemoteAddr] = n
	}
	return n, true
}

// maxAddresses bounds the client addresses that are remembered.
const maxAddresses = 4096

type connectionKey struct{}

// connect numbers a new connection.
func (s *Server) connect() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections++
	return s.connections
}
