// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Raw sends any text and waits for what answers it: the response with its id
// when it has one, the responses to all requests of a batch, or on HTTP the
// end of the response. Without an answer the exchange is returned together
// with a *TimeoutError, or with the *transport.Error that says what came
// instead. A notification over stdio is not waited for.
func (s *Session) Raw(ctx context.Context, r RawRequest) (*wire.Exchange, error) {
	l := s.link
	m := wire.Read(r.Text)
	x := &wire.Exchange{Method: m.Method}
	c := newCall(m.Method, x)
	c.keys = rawKeys(m)
	if len(c.keys) > 0 && m.Kind == wire.Request {
		x.ID = json.RawMessage(m.ID)
	}
	expects := m.Kind != wire.Notification && !m.IsResponse()
	if len(c.keys) == 0 && expects {
		c.method = "" // the next answer without an id is for it
	}
	if err := l.register(c); err != nil {
		return x, err
	}
	limit := r.Wait
	if limit == 0 {
		limit = s.o.Timeouts.Request
	}
	out := transport.Outgoing{Raw: r.Text, Header: r.Header, Bare: r.Bare}
	if !expects && l.conn.Kind() == transport.Stdio {
		err := l.send(ctx, c, out)
		l.abandon(c, err, fateAnswered)
		return x, err
	}
	_, err := l.run(ctx, c, out, limit)
	if !expects && err != nil {
		l.mu.Lock()
		h := c.head()
		l.mu.Unlock()
		if succeeded(h) {
			err = nil
		}
	}
	return x, err
}

// rawKeys are the ids whose answers are waited for.
func rawKeys(m *wire.Message) []wire.IDKey {
	var keys []wire.IDKey
	switch m.Kind {
	case wire.Request:
		if k, ok := m.Key(); ok {
			keys = append(keys, k)
		}
	case wire.Batch:
		for _, part := range m.Batch() {
			keys = append(keys, rawKeys(part)...)
		}
	case wire.Invalid:
		// Text that is no message may still show an id that gets answered.
		if k, ok := m.Key(); ok {
			keys = append(keys, k)
		}
	}
	return keys
}
