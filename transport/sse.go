// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Open implements Target: it opens the stream and waits for its endpoint.
func (t *SSE) Open(ctx context.Context, o Options) (Conn, error) {
	c, err := (*HTTP)(t).conn(HTTPSSE, o)
	if err != nil {
		return nil, err
	}
	return openSSE(ctx, c)
}

// Kind implements Target.
func (t *SSE) Kind() Kind { return HTTPSSE }

// String is the URL without user information and query.
func (t *SSE) String() string { return safeURL(t.URL) }

// sseHandler reaches a handler by HTTP+SSE.
type sseHandler struct{ h *Handler }

func (t *sseHandler) Open(ctx context.Context, o Options) (Conn, error) {
	conn, err := t.h.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	c := conn.(*httpConn)
	c.kind = HTTPSSE
	return openSSE(ctx, c)
}

func (t *sseHandler) Kind() Kind     { return HTTPSSE }
func (t *sseHandler) String() string { return t.h.String() }

// sseConn receives everything on one standing stream, and sends by POST to the
// endpoint that the stream named first (2024-11-05/basic/transports).
type sseConn struct {
	*httpConn
	stream pending
}

func openSSE(ctx context.Context, c *httpConn) (Conn, error) {
	r := &request{method: "GET", url: c.base, header: c.fields([]wire.HeaderField{{Name: "Accept", Value: "text/event-stream"}}, nil, nil, false)}
	head := &wire.Head{
		Time: time.Now(), Dir: wire.ToServer, Method: r.method, URL: r.url.String(), Proto: "HTTP/1.1",
		Header: r.fields(), Exact: c.carrier.exact(),
	}
	fail := func(err error) (Conn, error) {
		_ = c.carrier.close(ctx)
		return nil, c.named(err)
	}
	if err := checkFields(r); err != nil {
		return fail(&Error{Reason: BadTarget, Detail: "request header", Err: err})
	}
	c.observe(TapEvent{Sent: true, Event: Event{Kind: EventHead, Channel: Main, Head: head}})
	p, err := c.carrier.start(ctx, r)
	if err != nil {
		_ = c.unsent(Sent{Channel: Main, Head: head}, nil, c.named(err))
		return fail(err)
	}
	stop := context.AfterFunc(ctx, p.abort)
	s := &sseConn{httpConn: c, stream: p}
	resp, events, err := s.endpoint(p)
	if !stop() {
		err = contextError(ctx, "waiting for the endpoint event")
	}
	if err != nil {
		p.abort()
		if resp != nil {
			_ = resp.body.Close()
		}
		return fail(err)
	}
	c.running.start(func() { s.read(resp, events) })
	return s, nil
}

// endpoint reads up to the event that names the endpoint for POST.
func (c *sseConn) endpoint(p pending) (*response, *wire.Events, error) {
	resp, err := p.response()
	if err != nil {
		return nil, nil, err
	}
	c.arrive(Event{Kind: EventHead, Channel: Main, Head: resp.head})
	if resp.head.Status != 200 || resp.head.MediaType() != "text/event-stream" {
		page, _ := readAll(io.LimitReader(resp.body, maxPage), resp.head)
		err := StatusError(resp.head, page)
		if err == nil {
			err = &Error{Reason: NotMCP, Status: resp.head.Status, Detail: "GET gives no event stream"}
		}
		return resp, nil, err
	}
	events := wire.NewEvents(resp.body, c.limit)
	for range queueEvents / 2 {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return resp, nil, &Error{Reason: Broken, Detail: "the stream ended before its endpoint event"}
		}
		if err != nil {
			return resp, nil, brokenBody(err)
		}
		c.arrive(Event{Kind: EventSSE, Channel: Main, Head: resp.head, SSE: e})
		if e.Dispatched() && e.Type == "endpoint" {
			if c.post, err = sameOrigin(c.base, string(e.Data)); err != nil {
				return resp, nil, &Error{Reason: NotMCP, Detail: "endpoint event", Err: err}
			}
			return resp, events, nil
		}
	}
	return resp, nil, &Error{Reason: NotMCP, Detail: "the stream does not begin with an endpoint event"}
}

// sameOrigin resolves the endpoint's URI. Credentials must not leave the
// origin they were given for.
func sameOrigin(base *url.URL, ref string) (*url.URL, error) {
	u, err := base.Parse(strings.TrimSpace(ref))
	if err != nil {
		return nil, errors.New("its URI cannot be parsed")
	}
	if u.Scheme != base.Scheme || !strings.EqualFold(u.Host, base.Host) {
		return nil, errors.New("it names another origin, " + u.Scheme + "://" + u.Host)
	}
	u.Fragment, u.User = "", nil
	return u, nil
}

func (c *sseConn) read(resp *response, events *wire.Events) {
	defer func() { _ = resp.body.Close() }()
	fl := &flow{channel: Main}
	for {
		e, err := events.Next()
		if err != nil {
			lost := c.errorf(Broken, "the event stream ended", nil)
			if !errors.Is(err, io.EOF) {
				lost = c.named(brokenBody(err))
			}
			c.arrive(Event{Kind: EventLost, Head: resp.head, Err: lost})
			return
		}
		c.arrive(eventOf(fl, resp.head, e))
	}
}

// Close implements Conn.
func (c *sseConn) Close(ctx context.Context) error {
	c.leave()
	c.stream.abort()
	return c.httpConn.Close(ctx)
}
