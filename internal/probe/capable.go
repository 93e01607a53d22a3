// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// capable is a connection of the handshake era by a client that has every
// capability and wants to hear everything, which all checks share.
type capable struct {
	once once
	conn *Conn
	err  error
}

// Capable is a connection of the handshake era by a client that has every
// capability, over HTTP with its standing stream, on which every log message
// was asked for. It is opened once for all checks. When it cannot be opened the
// case is skipped, and ok is false.
func (c *Case) Capable() (conn *Conn, ok bool) {
	if !c.further() {
		return nil, false
	}
	k := &c.probe.capable
	k.once.Do(func() {
		if k.conn, k.err = c.probe.dial(c.ctx); k.err != nil {
			return
		}
		k.conn.Greet(c.ctx, c.probe.everyCapability())
		if k.conn.Agreed() != c.probe.o.Revision {
			return
		}
		if c.HTTP() {
			k.conn.stand(c.ctx)
		}
		if c.Facts().Declares("logging") {
			c.probe.send(c.ctx, k.conn, c.Request(spec.MethodSetLevel, "").Param("level", `"`+spec.LogLevels()[0]+`"`))
		}
	})
	if k.err != nil {
		c.Skip("a further connection could not be opened: %v", k.err)
		return nil, false
	}
	if k.conn.Agreed() != c.probe.o.Revision {
		c.Lacks(k.conn.Greeting())
		return nil, false
	}
	return k.conn, true
}

// everyCapability is [AllCapabilities] in the form of the revision.
func (p *Probe) everyCapability() string {
	switch {
	case p.o.Revision < spec.Rev20250618:
		return `{"roots":{},"sampling":{}}`
	case p.o.Revision < spec.Rev20251125:
		return `{"roots":{},"sampling":{},"elicitation":{}}`
	}
	return AllCapabilities
}

// Standing is the GET by which a client of the handshake era listens to what is
// told outside of its requests.
func (p *Probe) Standing() *Request {
	return &Request{Method: http.MethodGet, Revision: p.o.Revision, noID: true, verb: http.MethodGet}
}

// stand opens the standing stream of a connection, and gives the server a moment
// to begin it. Many servers have none.
func (c *Conn) stand(ctx context.Context) *call {
	k := c.start(ctx, c.probe.Standing())
	c.awaiting(ctx, k, standWait, Silence, func(x *Exchange) bool { return x.Head != nil })
	return k
}

// standWait bounds the wait for a standing stream to begin: some servers send
// its head with the first event alone.
const standWait = 500 * time.Millisecond

// Stand opens the standing stream of a connection of the handshake era, over
// HTTP. It is nil where the server has none, which it may.
func (c *Case) Stand(conn *Conn) *Stream {
	if !c.HTTP() {
		return nil
	}
	s := &Stream{conn: conn, call: conn.stand(c.ctx), ctx: c.ctx}
	if x := s.Now(); x.Closed || x.Head != nil && !x.Streamed() {
		return nil
	}
	return s
}

// capableCalls are CapableCalls in the handshake era, where not a request but
// its connection says what the client can do.
func (c *Case) capableCalls() []*Exchange {
	tools := c.probe.Callable()
	requests := make([]*Request, len(tools))
	for i, t := range tools {
		requests[i] = c.probe.CallRequest(t.Item, t.Arguments).Progress(fmt.Sprintf(`"mcprove-capable-%d"`, i))
	}
	return c.onCapable("calls", requests)
}

// onCapable makes requests on the capable connection, once for all checks.
func (c *Case) onCapable(what string, requests []*Request) []*Exchange {
	conn, ok := c.Capable()
	if !ok || len(requests) == 0 {
		return nil
	}
	return Share(c.probe, "capable "+what, func() []*Exchange {
		return c.several(requests, func(ctx context.Context, r *Request) *Exchange { return c.probe.send(ctx, conn, r) })
	})
}

// legacyAsks are Asks in the handshake era: exchanges on whose stream, or
// while which, the server sent a request of its own.
func (c *Case) legacyAsks() []*Exchange {
	var requests []*Request
	for _, i := range first(c.Facts().Prompts(), mostReads) {
		requests = append(requests, c.probe.PromptRequest(i))
	}
	for _, i := range first(c.Facts().Resources(), mostReads) {
		requests = append(requests, c.probe.ReadRequest(i.Name))
	}
	return slices.DeleteFunc(slices.Concat(c.capableCalls(), c.onCapable("reads", requests)), func(x *Exchange) bool {
		return !slices.ContainsFunc(x.Frames, func(f *wire.Frame) bool { return f.Message().Kind == wire.Request })
	})
}

// Overhear is [Conn.Heard] once nothing more comes for a moment: what is told
// outside of requests may come after their answers.
func (c *Case) Overhear(conn *Conn, wanted func(*wire.Message) bool) []Received {
	heard := conn.Heard(wanted)
	for wait := max(c.probe.o.Quiet, DefaultQuiet); ; wait = c.probe.o.Quiet {
		c.Rest(wait)
		now := conn.Heard(wanted)
		if len(now) == len(heard) || c.ctx.Err() != nil || len(now) > maxReplies {
			return now
		}
		heard = now
	}
}

// Heard are the messages of the server that came on a connection until now, and
// that are as wanted, wherever they came.
func (c *Conn) Heard(wanted func(*wire.Message) bool) []Received {
	var out []Received
	for _, x := range c.exchanges() {
		for _, f := range x.Frames {
			if wanted(f.Message()) {
				out = append(out, Received{f, x, c.n})
			}
		}
	}
	for _, f := range c.Stray() {
		if wanted(f.Message()) {
			out = append(out, Received{f, nil, c.n})
		}
	}
	return out
}
