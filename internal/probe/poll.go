// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Events are those of the stream of HTTP+SSE that carry no message, in order;
// whatever came before the endpoint was named is one of them.
func (c *Conn) Events() []*wire.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// heard takes note of an event of a stream. Comments and a retry alone are none
// with which a stream begins.
func (k *call) heard(e *wire.Event) {
	if e == nil {
		return
	}
	if k.x.Opening == nil && (e.HasID || e.HasData) {
		k.x.Opening = e
	}
	if e.LastID != "" {
		k.last = e.LastID
	}
	if e.Retry >= 0 {
		k.retry = e.Retry
	}
}

const (
	// maxComeBacks bounds how often we come back to one stream.
	maxComeBacks = 20
	// longestWait is the longest that a server may ask us to wait for.
	longestWait = 2 * time.Second
)

// comeBack goes on with a stream that the server closed before the response, as
// it may do where its events have ids: the client comes back by GET
// (2025-11-25/basic/transports#sending-messages-to-the-server). It reports
// whether there is something to wait for again.
func (c *Conn) comeBack(ctx context.Context, k *call) bool {
	rq, ok := c.conn.(transport.Requester)
	if !ok || c.conn.Kind() != transport.StreamableHTTP || c.probe.o.Revision != spec.Rev20251125 {
		return false
	}
	c.mu.Lock()
	x := &k.x
	left := x.Response == nil && x.Closed && x.ClosedErr == nil && !x.Cancelled && x.Streamed() && k.last != ""
	var wait time.Duration
	switch {
	case !left:
	case k.sentAway:
		// For a reason of the moment, or for good.
		away := &Exchange{Method: http.MethodGet, Head: k.away}
		if left = away.turnedAway(); left {
			wait, left = c.probe.limit.refused(away, k.refusals)
			k.turned = !left
			k.refusals++
		}
	case len(x.Waits) == maxComeBacks:
		left = false
	default:
		x.Waits = append(slices.Clone(x.Waits), k.retry)
		if k.retry >= 0 {
			k.wait = time.Duration(k.retry) * time.Millisecond // until another one comes
		}
		wait, k.retry = k.wait, -1
		left = wait <= longestWait
	}
	last := k.last
	c.mu.Unlock()
	if !left {
		return false
	}
	end := c.probe.o.Clock.Wait()
	defer end(Told)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return false
	}
	end(Told)
	c.mu.Lock()
	x.Closed, x.Err, k.back, k.sentAway = false, nil, true, false
	c.mu.Unlock()
	limit, cancel := context.WithTimeout(ctx, c.probe.o.Timeout)
	defer cancel()
	header := append(c.inSession(k.x.Request), wire.HeaderField{Name: spec.HeaderLastEventID, Value: last})
	sent, err := rq.Request(limit, transport.Request{Method: http.MethodGet, Header: header, Tag: k})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		x.Closed = true
		return false
	}
	k.channel = sent.Channel
	return true
}
