// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Traffic is everything that crossed in a run, or in a recording.
type Traffic struct {
	Transport transport.Kind
	Revision  spec.Revision
	Facts     *Facts
	// Down is the exchange in which the server ended, nil where it did not.
	Down *Exchange
	// Exchanges are in the order of their start.
	Exchanges []*Exchange
	// Stray are frames that belong to no exchange: noise on stdout, answers to
	// nothing, notifications of nobody.
	Stray []Stray
	// Lines is what each stdio connection wrote, in order.
	Lines map[int][]*wire.Frame
	// Events is what each connection of HTTP+SSE was sent that is no message,
	// in order. A recording does not tell.
	Events map[int][]*wire.Event
	// Left is when the input of a stdio connection was closed or its server
	// was told to end; a recording does not tell.
	Left map[int]time.Time

	mu    sync.Mutex
	known map[string]any // what rules found out together, by name
}

// uncalled reports whether tools were called and no call was answered.
func (t *Traffic) uncalled() bool {
	return Known(t, "uncalled", func() bool {
		var c callings
		for _, x := range t.Exchanges {
			if x.Method == spec.MethodToolsCall && (x.Response != nil || x.Silent()) {
				c.take(x)
			}
		}
		return c.none()
	})
}

// Stray is a frame without an exchange.
type Stray struct {
	Conn  int
	Frame *wire.Frame
}

// Cut gives up all that is still waited for, because the run has ended.
func (p *Probe) Cut() {
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, c := range conns {
		c.cut()
	}
}

// settleTime bounds the wait for streams that should end with their response.
const settleTime = 500 * time.Millisecond

// Settle gives streams whose response has come a moment to end, as their rule
// demands.
func (p *Probe) Settle(ctx context.Context) {
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	limit, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	var wait sync.WaitGroup
	for _, c := range conns {
		if c.conn.Kind() == transport.Stdio {
			continue
		}
		c.mu.Lock()
		calls := slices.Clone(c.calls)
		c.mu.Unlock()
		for _, k := range calls {
			c.mu.Lock()
			open := k.x.Response != nil && !k.x.Closed && !k.x.Cancelled
			c.mu.Unlock()
			if open {
				wait.Go(func() { c.awaiting(limit, k, settleTime, Ending, func(x *Exchange) bool { return x.Closed }) })
			}
		}
	}
	wait.Wait()
}

// Traffic is what crossed until now.
func (p *Probe) Traffic() *Traffic {
	t := &Traffic{Transport: p.target.Kind(), Revision: p.o.Revision, Facts: &p.facts, Lines: map[int][]*wire.Frame{}, Events: map[int][]*wire.Event{}, Left: map[int]time.Time{}}
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	alone := p.alone.why != "" || p.alone.unsure
	p.mu.Unlock()
	for _, c := range conns {
		if !alone || !c.isStillborn() {
			t.take(c)
		}
	}
	t.sort()
	t.Down = p.Down()
	return t
}

// take takes in a connection, but for what was said on it in another revision.
func (t *Traffic) take(c *Conn) {
	elsewhere := false // an initialize of another era opened it
	exchanges := c.exchanges()
	c.mu.Lock()
	exchanges = slices.DeleteFunc(exchanges, c.lapsed)
	c.mu.Unlock()
	for _, x := range exchanges {
		other := x.Revision() != 0 && x.Revision() != t.Revision
		if !other && (x.Request == nil || x.Request.Revision == t.Revision) {
			t.Exchanges = append(t.Exchanges, x)
			continue
		}
		elsewhere = elsewhere || x.Method == spec.MethodInitialize && x.OK()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.stray {
		if !elsewhere || f.Message().Kind == wire.Invalid {
			t.Stray = append(t.Stray, Stray{c.n, f})
		}
	}
	if len(c.lines) > 0 {
		t.Lines[c.n] = slices.Clone(c.lines)
	}
	if len(c.events) > 0 {
		t.Events[c.n] = slices.Clone(c.events)
	}
	if t.Left != nil && !c.left.IsZero() {
		t.Left[c.n] = c.left
	}
}

func (t *Traffic) sort() {
	order.Stable(t.Exchanges, func(a, b *Exchange) int { return a.Turn - b.Turn })
}

// Stdio reports whether the traffic is lines of a stream.
func (t *Traffic) Stdio() bool { return t.Transport == transport.Stdio }

// Received is one frame of the server with the exchange it came in, nil for a
// stray one.
type Received struct {
	*wire.Frame
	Exchange *Exchange
	Conn     int
}

// Received is every frame of the server, those of the exchanges first. It must
// not be changed.
func (t *Traffic) Received() []Received { return Known(t, "received", t.received) }

func (t *Traffic) received() []Received {
	var out []Received
	for _, x := range t.Exchanges {
		for _, f := range x.Frames {
			out = append(out, Received{f, x, x.Conn})
		}
	}
	for _, s := range t.Stray {
		out = append(out, Received{s.Frame, nil, s.Conn})
	}
	return out
}

// Declared is what the client of a message declares at a dotted path of its
// capabilities, nil where it declares nothing there: a request in its _meta, in
// the handshake era a connection in its initialize. It is not known where that
// was not seen.
func (t *Traffic) Declared(r Received, path string) (value json.RawMessage, known bool) {
	if t.Revision.Era() == spec.Modern {
		return r.Exchange.Declared(path), r.Exchange != nil
	}
	capabilities, known := Known(t, "client capabilities", func() map[int]json.RawMessage {
		of := map[int]json.RawMessage{}
		for _, x := range t.Exchanges {
			if x.Method == spec.MethodInitialize && x.Sent != nil && x.OK() {
				of[x.Conn] = Lookup(x.Sent.Message().Params, "/capabilities")
			}
		}
		return of
	})[r.Conn]
	return dotted(capabilities, path), known
}

// Messages is every frame that is a message of one of the kinds, of any kind
// when none is named. Batches are not opened.
func (t *Traffic) Messages(kinds ...wire.Kind) []Received {
	return slices.DeleteFunc(slices.Clone(t.Received()), func(r Received) bool {
		k := r.Message().Kind
		return k == wire.Invalid || len(kinds) > 0 && !slices.Contains(kinds, k)
	})
}

// knownMethod reports whether a revision has a request method.
func knownMethod(name string, r spec.Revision) bool {
	_, ok := spec.MethodAt(name, r)
	return ok
}

// Results is every exchange that was answered by a result, those of one of the
// methods when any is named. A request whose version is wrong on purpose is
// left out, and one of a method that the revision does not have: what is served
// all the same is of no revision.
func (t *Traffic) Results(methods ...string) []*Exchange {
	var out []*Exchange
	for _, x := range t.Exchanges {
		if x.Planted() != "" && (x.Revision() != t.Revision || !knownMethod(x.Method, t.Revision)) {
			continue
		}
		if m := x.Message(); m != nil && m.Kind == wire.Response && (len(methods) == 0 || slices.Contains(methods, x.Method)) {
			out = append(out, x)
		}
	}
	return out
}

// Completes is every exchange with a complete result.
func (t *Traffic) Completes(methods ...string) []*Exchange {
	return slices.DeleteFunc(t.Results(methods...), func(x *Exchange) bool { return !x.Complete() })
}

// Errors is every exchange that was answered by a JSON-RPC error.
func (t *Traffic) Errors() []*Exchange {
	return slices.DeleteFunc(slices.Clone(t.Exchanges), func(x *Exchange) bool {
		m := x.Message()
		return m == nil || m.Error == nil
	})
}

// Notifications is every notification of the server with one of the methods,
// all when none is named.
func (t *Traffic) Notifications(methods ...string) []Received {
	return slices.DeleteFunc(t.Messages(wire.Notification), func(r Received) bool {
		return len(methods) > 0 && !slices.Contains(methods, r.Message().Method)
	})
}

// Recorder reads a recording into Traffic, by the same correlation as live.
type Recorder struct {
	t     *Traffic
	conns map[string]*Conn
	turns int
}

// NewRecorder begins a recording.
func NewRecorder(kind transport.Kind, r spec.Revision) *Recorder {
	return &Recorder{
		t:     &Traffic{Transport: kind, Revision: r, Facts: &Facts{Lists: map[string]*List{}}, Lines: map[int][]*wire.Frame{}},
		conns: map[string]*Conn{},
	}
}

func (r *Recorder) conn(name string) *Conn {
	c := r.conns[name]
	if c == nil {
		c = &Conn{n: len(r.conns) + 1, changed: make(chan struct{})}
		r.conns[name] = c
	}
	return c
}

// Line adds a line of stdio that crossed on a connection.
func (r *Recorder) Line(conn string, dir wire.Direction, text []byte) {
	c := r.conn(conn)
	f := &wire.Frame{Raw: text, Dir: dir, Line: &wire.Line{Terminator: wire.LF, Size: int64(len(text))}}
	if dir == wire.ToClient {
		c.lines = append(c.lines, f)
		c.line(f)
		return
	}
	c.calls = append(c.calls, r.call(c, f))
}

func (r *Recorder) call(c *Conn, f *wire.Frame) *call {
	r.turns++
	m := f.Message()
	k := &call{x: Exchange{Method: m.Method, Sent: f, Conn: c.n, Turn: r.turns, Start: f.Time, read: &reading{}}}
	k.x.ID = m.ID
	k.key, k.keyed = m.Key()
	k.token, k.tokened = wire.KeyOf(Lookup(m.Params, "/_meta/"+spec.MetaProgressToken))
	k.given = m.Kind == wire.Notification || m.IsResponse()
	return k
}

// HTTP adds an HTTP exchange: the request's head and text, nil without one, and
// the response's head with its frames, or with a body that is none.
func (r *Recorder) HTTP(conn string, request *wire.Head, text []byte, response *wire.Head, frames []*wire.Frame, body []byte) {
	c := r.conn(conn)
	f := &wire.Frame{Raw: text, Dir: wire.ToServer, HTTP: request}
	k := r.call(c, f)
	if text == nil {
		k.x.Sent, k.x.Method = nil, request.Method
	}
	k.x.SentHead, k.x.Head, k.x.Body, k.x.Closed = request, response, body, true
	for _, f := range frames {
		c.add(k, f)
	}
	c.calls = append(c.calls, k)
}

// ofOneEra takes out of a recording that is judged by a revision without a
// handshake what was said in a session: initialize, and what names no version
// behind one that was agreed to on its connection.
func (t *Traffic) ofOneEra() {
	if t.Revision.Era() == spec.Legacy {
		return
	}
	agreed := map[int]bool{}
	t.Exchanges = slices.DeleteFunc(t.Exchanges, func(x *Exchange) bool {
		if x.Method == spec.MethodInitialize {
			r, err := spec.ParseRevision(Text(x.Member("protocolVersion")))
			agreed[x.Conn] = agreed[x.Conn] || x.OK() && err == nil && r.Era() == spec.Legacy
			return agreed[x.Conn]
		}
		return agreed[x.Conn] && x.Revision() == 0
	})
}

// Traffic ends the recording. What the server says of itself in it is read
// into its Facts.
func (r *Recorder) Traffic() *Traffic {
	for _, c := range r.conns {
		for _, k := range c.calls {
			k.x.Closed = true
		}
		r.t.take(c)
	}
	r.t.sort()
	r.t.ofOneEra()
	f := r.t.Facts
	for _, x := range r.t.Exchanges {
		switch {
		case x.Method == spec.MethodDiscover && x.OK(), x.Method == spec.MethodInitialize && x.OK():
			f.Greeting, f.Capabilities = x, x.Member("capabilities")
			for _, v := range Elements(x.Member("supportedVersions")) {
				f.Supported = append(f.Supported, Text(v))
			}
		}
		for _, fam := range families {
			if x.Method != fam.method || !x.OK() {
				continue
			}
			l := f.Lists[fam.method]
			if l == nil {
				l = &List{Method: fam.method}
				f.Lists[fam.method] = l
			}
			l.Pages = append(l.Pages, x)
			l.Whole = l.Whole || jsonx.KindOf(x.Member("nextCursor")) == 0
			for i, e := range Elements(x.Member(fam.member)) {
				l.Items = append(l.Items, Item{
					Name: Text(value(e, fam.name)), Raw: e, Page: x, Pointer: pointerTo("/result", fam.member, i),
				})
			}
		}
	}
	return r.t
}
