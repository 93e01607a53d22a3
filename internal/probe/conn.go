// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// ErrSilent is the Err of an exchange to which nothing came in time.
var ErrSilent = errors.New("no answer in time")

// Conn is one connection to the server: a process of its own over stdio, a set
// of sockets of its own over HTTP. Its methods may be called from any goroutine.
type Conn struct {
	probe *Probe
	n     int // of this run, from 1
	conn  transport.Conn
	pump  sync.WaitGroup
	life  context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	lastID  int64
	calls   []*call
	stray   []*wire.Frame
	lost    error
	isLost  bool
	lines   []*wire.Frame // stdio: everything that came, in order
	events  []*wire.Event // HTTP+SSE: those of the stream that are no messages
	spoke   bool          // stdio: a message came
	matched bool          // stdio: a response came under the id of its request
	left    time.Time     // stdio: when its input was closed or it was told to end
	// stillborn: a further process that ended by itself before its first answer.
	stillborn bool
	// Of the handshake era: the answer to initialize, what it agreed on, whether
	// we ended the session, and what is answered to requests of the server.
	greeting *Exchange
	// initialized is the notification that ended the handshake.
	initialized *Exchange
	agreed      spec.Revision
	session     string
	// See [Conn.As].
	token, alias string
	ended        bool
	over         bool // the server ended the session
	reply        Reply
	replied      []*wire.Frame
	changed      chan struct{} // closed and replaced when anything came
}

// call is an exchange that is still growing. The connection's lock guards it.
type call struct {
	x       Exchange
	channel transport.Channel
	onChan  bool
	key     wire.IDKey
	keyed   bool
	token   wire.IDKey // of progress
	tokened bool
	given   bool // nobody waits for it any more
	guessed bool // stdio: its response has an id that was never asked for

	last  string        // id of the last event of its stream
	retry int64         // the retry field that came since it was opened, -1 for none
	wait  time.Duration // the last one
	// Its stream was closed by the server, we came back to it, and were sent away.
	back, sentAway bool
	away           *wire.Head // by which we were

	fresh     bool // it was sent a second time, on a connection of its own
	refusals  int  // how often it was turned away for a reason of the moment
	settled   bool // it is not sent again for that
	turned    bool // coming back to its stream stayed refused for such a reason
	own       bool // it is turned away for what it asks
	alone     bool // nobody else sends meanwhile
	resending bool // it was cleared, and is about to be sent
}

func (c *call) open() bool { return c.x.Response == nil && !c.given && !c.x.Closed }

// open connects, and does the handshake where the revision has one.
func (p *Probe) open(ctx context.Context) (*Conn, error) {
	c, err := p.dial(ctx)
	if err == nil && p.Legacy() {
		c.Greet(ctx, "{}")
	}
	return c, err
}

// dial connects.
func (p *Probe) dial(ctx context.Context) (*Conn, error) { return p.dialTo(ctx, p.target) }

// dialTo connects to a variation of the target.
func (p *Probe) dialTo(ctx context.Context, target transport.Target) (*Conn, error) {
	limit, cancel := context.WithTimeout(ctx, cmp.Or(p.o.Start, DefaultStart))
	defer cancel()
	end := p.o.Clock.Wait()
	tc, err := target.Open(limit, transport.Options{Tap: p.o.Tap, Stderr: p.o.Stderr})
	end(Starting)
	if err != nil {
		return nil, err
	}
	if _, is := tc.(transport.ProcessConn); is {
		p.o.Clock.started()
	}
	c := &Conn{probe: p, conn: tc, changed: make(chan struct{})}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	p.conns = append(p.conns, c)
	c.n = len(p.conns)
	p.mu.Unlock()
	c.pump.Go(c.receive)
	return c, nil
}

// Close ends the connection in the middle of a run and waits for it, within the
// context: what has not ended by then had no time to. A server over stdio is left
// as a good client leaves it, and what it still says is heard.
func (c *Conn) Close(ctx context.Context) {
	if ctx.Err() != nil {
		c.cut()
	}
	c.disown()
	c.close(ctx)
}

// close is Close where everything had its time to end.
func (c *Conn) close(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	c.bye(limit)
	c.leave(limit)
	end := c.probe.o.Clock.Wait()
	_ = c.conn.Close(limit) // what it could say is in the traffic already
	end(Ending)
	c.end()
	c.pump.Wait()
}

// disown takes note that streams which have not ended are about to be closed by
// us: their server was given no time to.
func (c *Conn) disown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.onChan && k.channel != transport.Main && !k.x.Closed {
			k.x.Cancelled = true
		}
	}
}

// closePatience bounds the end of a connection, that of a process included.
const closePatience = 4 * time.Second

// Transport is the carrier underneath, for its facts.
func (c *Conn) Transport() transport.Conn { return c.conn }

// CanSendBytes reports whether [Request.Bytes] can be sent.
func (c *Conn) CanSendBytes() bool {
	_, ok := c.conn.(transport.RawRequester)
	return ok
}

// Process is the child process of a stdio connection, nil where there is none.
func (c *Conn) Process() transport.ProcessConn {
	p, _ := c.conn.(transport.ProcessConn)
	return p
}

// Lines is every line that came over stdio so far, in order.
func (c *Conn) Lines() []*wire.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// Lost reports whether the connection has ended, and how.
func (c *Conn) Lost() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isLost, c.lost
}

// receive takes in what comes, until the connection ends.
func (c *Conn) receive() {
	for {
		e, err := c.conn.Receive(c.life)
		if err == nil {
			c.probe.keeps(&e)
		}
		c.mu.Lock()
		if err != nil {
			c.lose(err)
			c.mu.Unlock()
			return
		}
		c.take(e)
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
	}
}

func (c *Conn) lose(err error) {
	if !c.isLost {
		c.isLost, c.lost = true, err
	}
	now := time.Now()
	for _, k := range c.calls {
		if !k.x.Closed { // by us, with the connection
			k.x.Closed, k.x.ClosedErr, k.x.Ended = true, &transport.Error{Reason: transport.Closed}, now
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Conn) take(e transport.Event) {
	if e.Kind == transport.EventLost {
		c.isLost, c.lost = true, e.Err
		c.bornDead()
		for _, k := range c.calls {
			if !k.x.Closed {
				k.x.Closed, k.x.ClosedErr, k.x.Ended = true, e.Err, time.Now()
			}
		}
		return
	}
	k, _ := e.Tag.(*call)
	if k == nil {
		if e.SSE != nil && len(c.events) < maxOther {
			c.events = append(c.events, e.SSE)
		}
		if e.Frame != nil {
			// What a process prints while it starts is no message.
			if !c.spoke && e.Frame.Message().Kind != wire.Invalid {
				c.spoke = true
				if len(c.calls) > 0 {
					c.probe.hasStarted(time.Since(c.calls[0].x.Start))
				}
			}
			c.lines = append(c.lines, e.Frame)
			c.line(e.Frame)
			c.answer(e.Frame)
		}
		return
	}
	if k.sentAway && e.Kind != transport.EventClosed {
		return // what the request itself was answered by counts
	}
	switch e.Kind {
	case transport.EventHead:
		if k.sentAway = k.back && e.Head.Status != http.StatusOK; !k.sentAway {
			k.x.Head = e.Head
		} else {
			k.away = e.Head
		}
		if !transient[e.Head.Status] {
			c.probe.limit.served(&k.x)
		}
	case transport.EventFrame:
		k.heard(e.Frame.Event)
		c.add(k, e.Frame)
		c.answer(e.Frame)
	case transport.EventBody:
		k.x.Body = e.Body
	case transport.EventSSE:
		k.heard(e.SSE)
		if len(k.x.Other) < maxOther {
			k.x.Other = append(k.x.Other, e.SSE)
		}
	case transport.EventClosed:
		if c.accepted(k, e) {
			return
		}
		k.x.Closed, k.x.ClosedErr, k.x.Ended = true, e.Err, time.Now()
		if k.x.End.IsZero() {
			k.x.End = k.x.Ended
		}
	}
}

// accepted reports whether over HTTP+SSE a request was taken: its answer comes on
// the stream that all share.
func (c *Conn) accepted(k *call, e transport.Event) bool {
	return c.conn.Kind() == transport.HTTPSSE && e.Err == nil && !k.given && k.x.Response == nil &&
		k.x.Status() >= 200 && k.x.Status() < 300
}

// Bounds on what one exchange keeps: a server that floods must not fill the
// memory.
const (
	maxOther  = 1000
	maxFrames = 10_000
)

// add puts a frame to an exchange. Over HTTP the channel says whose it is, so
// a response under a wrong id is its response all the same; the rule about ids
// says what is wrong with it.
func (c *Conn) add(k *call, f *wire.Frame) {
	if len(k.x.Frames) < maxFrames {
		k.x.Frames = append(k.x.Frames, f)
	}
	m := f.Message()
	if !m.IsResponse() && m.Kind != wire.Batch {
		return
	}
	if k.x.Response == nil {
		k.x.Response, k.x.End = f, f.Time
		return
	}
	k.x.Extra = append(k.x.Extra, f)
}

// line finds the exchange of a line of stdio. A response under an id that was
// never asked for is taken for that of the one request which waits, until a
// better one comes: it may as well answer a notification.
func (c *Conn) line(f *wire.Frame) {
	m := f.Message()
	k := c.owner(m)
	if k == nil {
		c.stray = append(c.stray, f)
		return
	}
	if key, ok := m.Key(); ok && m.IsResponse() {
		exact := k.keyed && k.key == key
		switch {
		case exact && k.guessed:
			wrong := k.x.Response
			k.x.Frames = slices.DeleteFunc(k.x.Frames, func(o *wire.Frame) bool { return o == wrong })
			c.stray = append(c.stray, wrong)
			k.x.Response = nil
			k.guessed = false
		case !exact && k.x.Response == nil:
			k.guessed = true
		}
		c.matched = c.matched || exact
	}
	c.add(k, f)
}

func (c *Conn) owner(m *wire.Message) *call {
	switch m.Kind {
	case wire.Response, wire.ErrorResponse:
		if key, ok := m.Key(); ok {
			if k := c.latest(func(k *call) bool { return k.keyed && k.key == key }); k != nil {
				return k
			}
		}
		return c.only()
	case wire.Notification, wire.Request:
		switch m.Method {
		case spec.NotificationProgress:
			key, ok := wire.KeyOf(value(m.Params, spec.MetaProgressToken))
			if !ok {
				return nil
			}
			return c.latest(func(k *call) bool { return k.tokened && k.token == key })
		case spec.NotificationCancelled:
			if key, ok := wire.KeyOf(value(m.Params, "requestId")); ok {
				return c.latest(func(k *call) bool { return k.keyed && k.key == key })
			}
			return nil
		}
		if id := Lookup(m.Params, "/_meta/"+escaped(spec.MetaSubscriptionID)); id != nil {
			key, _ := wire.KeyOf(id)
			return c.latest(func(k *call) bool { return k.keyed && k.key == key })
		}
		return c.only()
	}
	return nil // noise, which belongs to nobody
}

func (c *Conn) latest(is func(*call) bool) *call {
	for _, k := range slices.Backward(c.calls) {
		if is(k) {
			return k
		}
	}
	return nil
}

// only is the one exchange that waits for something, nil when there are more
// or none.
func (c *Conn) only() *call {
	var found *call
	for _, k := range c.calls {
		if k.open() && k.x.Method != spec.MethodListen {
			if found != nil {
				return nil
			}
			found = k
		}
	}
	return found
}

// start sends a request and returns its call. A request that cannot be sent
// has an exchange that says so.
func (c *Conn) start(ctx context.Context, r *Request) *call { return c.begin(ctx, r, false) }

// begin is start; alone says that the caller keeps all others from sending.
func (c *Conn) begin(ctx context.Context, r *Request, alone bool) *call {
	c.mu.Lock()
	r = c.disguised(r)
	c.lastID++
	id := r.id
	if id == nil {
		id = json.RawMessage(strconv.FormatInt(c.probe.firstID+c.lastID, 10))
	}
	text := r.Encode(id)
	m := wire.Read(text)
	k := &call{retry: -1, alone: alone, settled: alone}
	k.x = Exchange{Request: r, Method: r.Method, Conn: c.n, Turn: c.probe.turn(), Start: time.Now(), read: &reading{}}
	if m.Kind == wire.Request || m.Kind == wire.Invalid {
		k.x.ID = m.ID
		k.key, k.keyed = m.Key()
	}
	k.given = m.Kind == wire.Notification || m.IsResponse() // nothing answers it
	if token := r.MetaValue(spec.MetaProgressToken); token != nil {
		k.token, k.tokened = wire.KeyOf(token)
	}
	c.calls = append(c.calls, k)
	c.ended = c.ended || r.verb == http.MethodDelete
	c.mu.Unlock()

	c.deliver(ctx, k, text)
	return k
}

// deliver sends the text of a call, as soon as the server takes it.
func (c *Conn) deliver(ctx context.Context, k *call, text []byte) {
	if c.probe.yields() && !k.alone && c.probe.limit.pass(ctx, c.probe.o.Clock) {
		c.mu.Lock()
		k.x.Start = time.Now()
		c.mu.Unlock()
	}
	limit, cancel := context.WithTimeout(ctx, c.probe.o.Timeout)
	defer cancel()
	sent, err := c.hand(limit, k.x.Request, text, k)
	c.mu.Lock()
	defer c.mu.Unlock()
	k.x.Sent, k.x.SentHead = sent.Frame, sent.Head
	k.channel, k.onChan = sent.Channel, err == nil
	if err != nil {
		k.x.Err, k.given, k.x.Closed = err, true, true
		switch {
		case ctx.Err() != nil:
			k.x.Err, k.x.Cancelled = errRunEnded, true
		case c.isLost && c.lost != nil:
			k.x.Err = c.lost
		}
		if k.x.Died() {
			c.bornDead()
		}
	}
}

// hand gives a request to the carrier in the form it has.
func (c *Conn) hand(ctx context.Context, r *Request, text []byte, k *call) (transport.Sent, error) {
	if c.conn.Kind() == transport.Stdio {
		return c.conn.Send(ctx, transport.Outgoing{Raw: text, Tag: k})
	}
	header := append(r.headers(), c.inSession(r)...)
	switch {
	case r.bytes != nil:
		rr, ok := c.conn.(transport.RawRequester)
		if !ok {
			return transport.Sent{}, errNoBytes
		}
		return rr.RequestBytes(ctx, r.bytes, k)
	case r.verb != "":
		rq, ok := c.conn.(transport.Requester)
		if !ok {
			return transport.Sent{}, errNoBytes
		}
		return rq.Request(ctx, transport.Request{Method: r.verb, Header: header, Without: r.without, Body: r.text, Tag: k, Fresh: k.fresh})
	}
	return c.conn.Send(ctx, transport.Outgoing{Raw: text, Header: header, Without: r.without, Tag: k, Fresh: k.fresh})
}

var errNoBytes = errors.New("this carrier cannot send such a request")

// unsent reports whether a request never left, because the process had ended
// already. It is taken out of the exchanges, and the connection is lost.
func (c *Conn) unsent(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn.Kind() != transport.Stdio || k.onChan || k.x.Err == nil {
		return false
	}
	switch transport.ReasonOf(k.x.Err) {
	case transport.Closed, transport.Broken, transport.Died:
	default:
		return false
	}
	c.calls = slices.DeleteFunc(c.calls, func(o *call) bool { return o == k })
	c.lose(k.x.Err)
	return true
}

// cancel closes the stream of an exchange.
func (c *Conn) cancel(k *call) {
	c.mu.Lock()
	k.x.Cancelled = true
	ch := k.channel
	c.mu.Unlock()
	c.conn.CloseChannel(ch)
}

// exchanges are all of the connection, as they are now.
func (c *Conn) exchanges() []*Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Exchange, len(c.calls))
	for i, k := range c.calls {
		out[i] = c.snapshot(k)
	}
	return out
}
