// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// direct is the one conversation that Exchange holds.
type direct struct {
	mu   sync.Mutex
	conn *lineConn
}

// Exchange takes in one message and returns the answer, or false where there is
// none, as for a notification. All calls are one conversation, like a connection
// of lines: initialize comes first, unless the script is lax. A revision answers
// as to a client that agreed on it already; where it is of the modern era, a
// request without _meta is taken as if it had one.
//
// A batch is answered by an array where the revision has batches. What the
// server says besides the answer is lost, what it would ask the client is
// refused, and a subscription ends at once.
func (s *Server) Exchange(message []byte, revision ...spec.Revision) (answer []byte, ok bool) {
	c := s.conversation(revision)
	if len(revision) > 0 && revision[0].Era() == spec.Modern {
		message = s.claiming(message, revision[0])
	}
	m := s.read(message)
	batch := m.Batch()
	q := c.request(m)
	if len(batch) == 0 || len(batch) > maxBatch || !spec.BatchAllowed(c.peer.agreed()) && !q.lenient(CheckBatch) {
		answer = c.exchange(q)
		return answer, answer != nil
	}
	var answers []json.RawMessage
	for _, one := range batch {
		if a := c.exchange(c.request(one)); a != nil {
			answers = append(answers, a)
		}
	}
	if answers == nil {
		return nil, false
	}
	return array(answers), true
}

// conversation is the standing one, or one that agreed on a revision.
func (s *Server) conversation(revision []spec.Revision) *lineConn {
	s.direct.mu.Lock()
	defer s.direct.mu.Unlock()
	if len(revision) > 0 {
		c := newLineConn(s, s.connect(), func([]byte) {}, func(error) {})
		if revision[0].Era() == spec.Legacy {
			c.peer.begin(revision[0], []byte("{}"))
			c.peer.initialized()
		}
		return c
	}
	if s.direct.conn == nil {
		s.direct.conn = newLineConn(s, s.connect(), func([]byte) {}, func(error) {})
	}
	return s.direct.conn
}

// claiming adds to a request what every request of the modern era has. A text
// that is no request stays what it is.
func (s *Server) claiming(message []byte, r spec.Revision) []byte {
	m := wire.Read(message)
	if m.Kind != wire.Request || len(m.Faults) > 0 || newRequest(m).claimsModern() || m.Params != nil && jsonx.KindOf(m.Params) != jsonx.Object {
		return message
	}
	return set(message, "/params/"+spec.FieldMeta, with(metaOf(m.Params),
		member{spec.MetaProtocolVersion, quote(r.String())}, member{spec.MetaClientCapabilities, []byte("{}")}))
}

func metaOf(params []byte) json.RawMessage {
	if meta := get(params, spec.FieldMeta); jsonx.KindOf(meta) == jsonx.Object {
		return json.RawMessage(meta)
	}
	return json.RawMessage("{}")
}

// exchange answers one message, nil for nothing.
func (c *lineConn) exchange(q *request) []byte {
	q.send, q.mute = func([]byte) {}, true
	ctx, end := context.WithCancel(c.server.life)
	defer end()
	switch q.Kind {
	case wire.Notification:
		switch q.Method {
		case spec.NotificationCancelled:
			c.peer.cancel(q)
		case spec.NotificationInitialized:
			if c.peer.agreed() != 0 {
				c.peer.initialized()
			}
		}
		return nil
	case wire.Response, wire.ErrorResponse:
		return nil
	}
	e := c.judge(q)
	if e == nil && q.Method == spec.MethodListen {
		end()
	}
	ctx, done := c.peer.run(ctx, q)
	defer done()
	r := c.server.reply(ctx, q, e)
	if r.drop || r.ending != goOn {
		return nil
	}
	return r.text
}
