// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"crypto/rand"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/spec"
)

// The operators of sessions of the handshake era.
const (
	// OpSession says what the id of a session is, by its Text: {{random}} stands
	// for a secret, {{short}} for one that is too short, and {{number}} for the
	// number of the session.
	OpSession Op = "session"
	// OpAside sends what comes before an answer on the standing stream of the
	// session, not on the stream of the request.
	OpAside Op = "aside"
	// OpPoll closes the stream of a resumable session before the answer, which
	// the client finds by Last-Event-ID.
	OpPoll Op = "poll"
)

// SessionID mints the id of a session in a form of its own; see [OpSession]. It
// stands at initialize.
func (p Place) SessionID(form string) Fault { return Fault{Place: p, Op: OpSession, Text: form} }

// Aside sends notifications and requests before the answer on the standing
// stream of the session.
func (p Place) Aside() Fault { return Fault{Place: p, Op: OpAside} }

// Poll closes the stream of a request before its answer; see [OpPoll].
func (p Place) Poll() Fault { return Fault{Place: p, Op: OpPoll} }

// shortID is how many characters of 5 bits a short secret has.
const shortID = 12

// fallBack takes a request without a session for one of a client that has a
// standing stream, and answers it there. It is false where there is none.
func (h *httpCall) fallBack(q *request) bool {
	s := h.server
	s.mu.Lock()
	for st := range s.streams {
		if st.filter == nil && st.peer != nil && st.peer.agreed() != 0 {
			q.peer, q.revision = st.peer, st.peer.agreed()
		}
	}
	s.mu.Unlock()
	if q.peer == nil {
		return false
	}
	s.aside(q, [][]byte{s.reply(h.r.Context(), q, readable(q)).text})
	h.w.WriteHeader(spec.StatusNotificationAccepted)
	return true
}

// enter remembers the client of a session, and returns the id of that.
func (s *Server) enter(q *request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entered++
	id := rand.Text()
	if f := q.find(OpSession); f != nil {
		id = strings.NewReplacer("{{random}}", id, "{{short}}", id[:shortID], "{{number}}", strconv.Itoa(s.entered)).Replace(f.Text)
	}
	s.sessions[id] = q.peer
	return id
}

// aside sends texts on the standing streams of a request's session.
func (s *Server) aside(q *request, texts [][]byte) {
	s.mu.Lock()
	var own []*stream
	for st := range s.streams {
		if st.filter == nil && st.peer == q.peer {
			own = append(own, st)
		}
	}
	s.mu.Unlock()
	for _, st := range own {
		for _, text := range texts {
			select {
			case st.messages <- text:
			case <-st.closed:
			}
		}
	}
}
