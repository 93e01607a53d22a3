// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// question is a request that may be answered.
type question struct {
	conn    int
	dir     wire.Direction
	key     wire.IDKey
	channel transport.Channel
	method  string
	at      time.Time
	seq     int
	record  int  // its index among the records, -1 when it is not kept
	modern  bool // it names its revision itself: to leave its stream is to cancel it
	// What became of it.
	answered, cancelled, left bool
}

// carried are the requests whose entry was let go of before that of their
// answer.
type carried struct {
	list []*question
}

// maxCarried bounds them: a server may ask without end, and never be answered.
const maxCarried = 10_000

// take keeps what an entry leaves behind.
func (c *carried) take(n *entry) {
	if n.kind != transport.EventFrame {
		return
	}
	m := n.frame.Message()
	if m.Kind != wire.Batch {
		c.message(n, m)
		return
	}
	for _, part := range m.Batch() {
		c.message(n, part)
	}
}

func (c *carried) message(n *entry, m *wire.Message) {
	switch {
	case m.Kind == wire.Request:
		if key, ok := m.Key(); ok {
			if len(c.list) == maxCarried {
				c.list = append(c.list[:0], c.list[maxCarried/2:]...)
			}
			c.list = append(c.list, ask(n, m, key))
		}
	case m.IsResponse() && len(c.list) > 0:
		if key, ok := m.Key(); ok {
			c.answered(n, key)
		}
	}
}

// answered lets go of the request that an answer belongs to: that on its own
// channel, or else the first.
func (c *carried) answered(n *entry, key wire.IDKey) {
	found := -1
	for i, q := range c.list {
		if q.key != key || q.conn != n.conn || q.dir == n.frame.Dir {
			continue
		}
		if found < 0 {
			found = i
		}
		if q.channel == n.channel {
			found = i
			break
		}
	}
	if found >= 0 {
		c.list = slices.Delete(c.list, found, found+1)
	}
}

func (c *carried) clone() []*question {
	out := make([]*question, len(c.list))
	for i, q := range c.list {
		one := *q
		out[i] = &one
	}
	return out
}

// metaVersion is what a request that names its revision holds.
var metaVersion = []byte(spec.MetaProtocolVersion)

func ask(n *entry, m *wire.Message, key wire.IDKey) *question {
	q := &question{
		conn: n.conn, dir: n.frame.Dir, key: key, channel: n.channel, method: m.Method, at: n.at, seq: n.seq, record: -1,
	}
	if bytes.Contains(m.Params, metaVersion) {
		version, err := jsonx.Lookup(m.Params, jsonx.Push("/_meta", spec.MetaProtocolVersion))
		q.modern = err == nil && jsonx.KindOf(version) == jsonx.String
	}
	return q
}
