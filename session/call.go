// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// call is one request on its way. It is the tag of the HTTP channel that it
// opened. Its fields are under link.mu until done is closed.
type call struct {
	method   string
	keys     []wire.IDKey // ids that are still to be answered; several for a batch
	token    wire.IDKey   // progress token, empty for none
	exchange *wire.Exchange
	notify   func(*wire.Frame)
	patient  bool   // progress begins its timeout anew
	renew    func() // does so; nil before it is sent
	// sub is set for subscriptions/listen, which goes on after its answer's
	// place in time: notifications are handed to it.
	sub *Subscription

	// parent is the call that an answer of ours belongs to.
	parent *call

	channel   transport.Channel
	onChannel bool // channel is valid: HTTP

	// stray is the last text of the channel that could not be the answer.
	stray *wire.Frame
	// resume holds what a legacy stream needs to go on after a break.
	lastEventID string
	retry       int64 // milliseconds, -1 when the server named none
	resumes     int
	// opened gets a token at the first response head; may be nil.
	opened chan struct{}

	// echoed is closed when the request came back as it was sent, and it is one
	// that opens a session.
	echoed   chan struct{}
	isEchoed bool

	done     chan struct{}
	finished bool
	size     int // of the frames in the exchange
	response *wire.Frame
	err      error
}

func newCall(method string, x *wire.Exchange) *call {
	return &call{method: method, exchange: x, done: make(chan struct{}), echoed: make(chan struct{}), retry: -1}
}

// sent takes in a frame or head that is about to be sent. link.mu is held.
func (c *call) sent(e transport.TapEvent) {
	x := c.exchange
	switch e.Kind {
	case transport.EventHead:
		c.channel, c.onChannel = e.Channel, true
		x.Heads = append(x.Heads, e.Head)
	case transport.EventFrame:
		x.Frames = append(x.Frames, e.Frame)
		if x.Start.IsZero() {
			x.Start = e.Frame.Time
		}
		if c.parent != nil {
			c.parent.add(e.Frame)
		}
	}
}

// maxExchange bounds the bytes of the frames beside the response that one
// exchange keeps.
const maxExchange = 64 << 20

// add puts a frame into the exchange. link.mu is held.
func (c *call) add(f *wire.Frame) {
	if c.finished {
		return
	}
	if c.size > maxExchange && !f.Message().IsResponse() {
		c.exchange.Dropped++
		return
	}
	c.size += len(f.Raw) + frameOverhead
	c.exchange.Frames = append(c.exchange.Frames, f)
}

// frameOverhead stands for what a frame costs beside its bytes.
const frameOverhead = 1 << 10

// name is what errors call the request.
func (c *call) name() string {
	if c.method == "" {
		return "raw text"
	}
	return c.method
}

// finish ends the call, once. link.mu is held.
func (c *call) finish(response *wire.Frame, err error) {
	if c.finished {
		return
	}
	c.response, c.err = response, err
	c.exchange.Response, c.exchange.End = response, time.Now()
	if response != nil {
		c.exchange.End = response.Time
	}
	c.finished = true
	close(c.done)
}

// cameBack notes that the request came back as it was sent. link.mu is held.
func (c *call) cameBack() {
	if opening(c.method) && !c.isEchoed {
		c.isEchoed = true
		close(c.echoed)
	}
}

// answered takes a key off the list of ids and reports whether none is left.
func (c *call) answered(key wire.IDKey) bool {
	for i, k := range c.keys {
		if k == key {
			c.keys = append(c.keys[:i:i], c.keys[i+1:]...)
			break
		}
	}
	return len(c.keys) == 0
}

// head returns the last response head of the call's HTTP exchange.
func (c *call) head() *wire.Head {
	for i := len(c.exchange.Heads) - 1; i >= 0; i-- {
		if h := c.exchange.Heads[i]; h.Status != 0 {
			return h
		}
	}
	return nil
}

// member returns one member of an object read leniently, nil when it is absent
// or raw is no object. Of two of a name the last counts.
func member(raw json.RawMessage, name string) json.RawMessage {
	ms, err := jsonx.Members(raw, jsonx.Lenient)
	if err != nil {
		return nil
	}
	var found json.RawMessage
	for _, m := range ms {
		if m.Name == name {
			found = json.RawMessage(m.Value)
		}
	}
	return found
}

// skimmed is member of a text that was read strictly before.
func skimmed(raw json.RawMessage, name string) json.RawMessage {
	return json.RawMessage(jsonx.SkimMember(raw, name))
}

// path follows member names.
func path(raw json.RawMessage, names ...string) json.RawMessage {
	for _, n := range names {
		if raw = member(raw, n); raw == nil {
			return nil
		}
	}
	return raw
}
