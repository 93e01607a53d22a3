// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// httpConn sends every frame as a POST to one endpoint, each a channel.
type httpConn struct {
	core
	carrier carrier
	base    *url.URL
	// post is where frames go; it differs from base for HTTP+SSE alone.
	post   *url.URL
	header []wire.HeaderField

	mu      sync.Mutex
	last    Channel
	flows   map[Channel]*flow
	held    map[*Held]struct{}
	closed  bool
	running group
}

// flow is one exchange that has not ended.
type flow struct {
	channel Channel
	tag     any
	p       pending
	ours    bool // we ended it; under httpConn.mu
}

// userAgent names the product to servers.
const userAgent = "mcprove"

func newHTTPConn(target string, kind Kind, u *url.URL, header []wire.HeaderField, c carrier, o Options) *httpConn {
	h := &httpConn{core: newCore(target, kind, o), carrier: c, base: u, post: u, flows: map[Channel]*flow{}}
	h.header = header
	return h
}

// Send implements Conn: one POST.
func (c *httpConn) Send(ctx context.Context, out Outgoing) (Sent, error) {
	defaults := []wire.HeaderField{
		{Name: "Content-Type", Value: "application/json"},
		{Name: "Accept", Value: "application/json, text/event-stream"},
	}
	f := &wire.Frame{Raw: out.Raw, Dir: wire.ToServer}
	body := out.Raw
	if body == nil {
		body = []byte{}
	}
	r := &request{method: "POST", url: c.post, body: body, header: c.fields(defaults, out.Header, out.Without, out.Bare), fresh: out.Fresh}
	return c.exchange(ctx, r, f, out.Tag)
}

// Request implements Requester.
func (c *httpConn) Request(ctx context.Context, r Request) (Sent, error) {
	u := c.base
	if r.Path != "" {
		ref, err := url.Parse(r.Path)
		if err != nil || ref.Host != "" || ref.Scheme != "" {
			return Sent{}, c.errorf(BadTarget, "a path must name a resource of the same server", err)
		}
		u = c.base.ResolveReference(ref)
	}
	q := c.requestOf(r)
	q.url = u
	return c.exchange(ctx, q, nil, r.Tag)
}

// requestOf puts a request to the endpoint together.
func (c *httpConn) requestOf(r Request) *request {
	var defaults []wire.HeaderField
	if r.Method == "GET" {
		defaults = []wire.HeaderField{{Name: "Accept", Value: "text/event-stream"}}
	}
	if r.Body != nil {
		defaults = append(defaults, wire.HeaderField{Name: "Content-Type", Value: "application/json"},
			wire.HeaderField{Name: "Accept", Value: "application/json, text/event-stream"})
	}
	return &request{method: r.Method, url: c.base, body: r.Body, header: c.fields(defaults, r.Header, r.Without, r.Bare), fresh: r.Fresh}
}

// fields puts the header of a request together: defaults, then the target's,
// then the caller's; a later name replaces an earlier one.
func (c *httpConn) fields(defaults, own []wire.HeaderField, leftOut []string, bare bool) []wire.HeaderField {
	if bare {
		return own
	}
	defaults, of := without(defaults, leftOut), without(slices.Clone(c.header), leftOut)
	all := make([]wire.HeaderField, 0, len(defaults)+len(of)+len(own)+1)
	keep := func(fs []wire.HeaderField, later ...[]wire.HeaderField) {
		for _, f := range fs {
			if !named(f.Name, later) {
				all = append(all, f)
			}
		}
	}
	keep([]wire.HeaderField{{Name: "User-Agent", Value: userAgent}}, of, own)
	keep(defaults, of, own)
	keep(of, own)
	return append(all, own...)
}

// without leaves the fields of some names out.
func without(fields []wire.HeaderField, names []string) []wire.HeaderField {
	return slices.DeleteFunc(fields, func(f wire.HeaderField) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, f.Name) })
	})
}

func named(name string, lists [][]wire.HeaderField) bool {
	for _, l := range lists {
		for _, f := range l {
			if strings.EqualFold(f.Name, name) {
				return true
			}
		}
	}
	return false
}

// exchange sends a request and starts reading its response.
func (c *httpConn) exchange(ctx context.Context, r *request, f *wire.Frame, tag any) (Sent, error) {
	head := &wire.Head{
		Time: time.Now(), Dir: wire.ToServer, Method: r.method, URL: r.url.String(), Proto: "HTTP/1.1",
		Exact: c.carrier.exact(),
	}
	head.Header = r.fields()
	sent := Sent{Head: head, Frame: f}
	if f != nil {
		f.Time, f.HTTP = head.Time, head
	}
	if err := checkFields(r); err != nil {
		return sent, c.unsent(sent, tag, c.errorf(BadTarget, "request header", err))
	}
	fl := &flow{tag: tag}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return sent, c.unsent(sent, tag, c.errorf(Closed, "the connection is closed", nil))
	}
	c.last++
	fl.channel = c.last
	c.mu.Unlock()
	sent.Channel = fl.channel

	c.observe(TapEvent{Sent: true, Event: Event{Kind: EventHead, Channel: fl.channel, Tag: tag, Head: head}})
	if f != nil {
		c.observe(TapEvent{Sent: true, Event: Event{Kind: EventFrame, Channel: fl.channel, Tag: tag, Frame: f, Head: head}})
	}
	p, err := c.carrier.start(ctx, r)
	if err != nil {
		return sent, c.unsent(sent, tag, c.named(err))
	}
	c.mu.Lock()
	fl.p = p
	c.flows[fl.channel] = fl
	if c.closed {
		fl.ours = true
		p.abort()
	}
	c.mu.Unlock()
	if !c.running.start(func() { c.receive(fl) }) {
		c.CloseChannel(fl.channel)
		return sent, c.unsent(sent, tag, c.errorf(Closed, "the connection is closed", nil))
	}
	return sent, nil
}

// named puts the target's name into an error of a carrier.
func (c *httpConn) named(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		return c.errorf(Broken, "", err)
	}
	e.Target = c.target
	return e
}

// receive reads one response to its end.
func (c *httpConn) receive(fl *flow) {
	err := c.readResponse(fl)
	c.mu.Lock()
	delete(c.flows, fl.channel)
	ours := fl.ours
	c.mu.Unlock()
	e := Event{Kind: EventClosed, Channel: fl.channel, Tag: fl.tag}
	switch {
	case ours: // the server may have seen it and ended the stream properly
		e.Err = c.errorf(Closed, "closed by us", nil)
	case err != nil:
		e.Err = c.named(err)
	}
	c.arrive(e)
}

// CloseChannel implements Conn.
func (c *httpConn) CloseChannel(ch Channel) {
	c.mu.Lock()
	fl := c.flows[ch]
	if fl == nil || fl.ours {
		c.mu.Unlock()
		return
	}
	fl.ours = true
	c.mu.Unlock()
	c.observe(TapEvent{Event: Event{Kind: EventLeft, Channel: ch, Tag: fl.tag}})
	fl.p.abort()
}

// Close implements Conn.
func (c *httpConn) Close(ctx context.Context) error {
	c.leave()
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.queue.closed)
		for _, fl := range c.flows {
			fl.ours = true
			fl.p.abort()
		}
	}
	held := slices.Collect(maps.Keys(c.held))
	c.mu.Unlock()
	for _, h := range held {
		h.Close()
	}
	err := c.running.wait(ctx)
	return errors.Join(err, c.carrier.close(ctx))
}

// fields is the header of a request as it will cross, Host and Content-Length
// included.
func (r *request) fields() []wire.HeaderField {
	if r.bytes != nil {
		return nil
	}
	fs := make([]wire.HeaderField, 0, len(r.header)+2)
	if !named("Host", [][]wire.HeaderField{r.header}) {
		fs = append(fs, wire.HeaderField{Name: "Host", Value: r.url.Host})
	}
	fs = append(fs, r.header...)
	if r.body != nil && !named("Content-Length", [][]wire.HeaderField{r.header}) &&
		!named("Transfer-Encoding", [][]wire.HeaderField{r.header}) {
		fs = append(fs, wire.HeaderField{Name: "Content-Length", Value: strconv.Itoa(len(r.body))})
	}
	return fs
}

// checkFields refuses what would end a header line early: a value must not
// become a header of its own. Illegal requests are sent as bytes.
func checkFields(r *request) error {
	for _, f := range r.header {
		if f.Name == "" || strings.ContainsAny(f.Name, ": \t\r\n\x00") {
			return errors.New("a header name holds a space, a colon or a line end, or is empty")
		}
		if strings.ContainsAny(f.Value, "\r\n\x00") {
			return errors.New("the value of " + f.Name + " holds a line end")
		}
	}
	if strings.ContainsAny(r.method, " \t\r\n\x00") || r.bytes == nil && r.method == "" {
		return errors.New("the method is no token")
	}
	return nil
}
