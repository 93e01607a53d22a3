// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcprove/mcprove/wire"
)

const (
	// maxPage is what is kept of a body that carries no frames.
	maxPage = 64 << 10
	// maxPageRead is how much of such a body is read before the exchange is
	// given up.
	maxPageRead = 1 << 20
)

// readResponse turns one response into events. The error says why the
// response is not complete.
func (c *httpConn) readResponse(fl *flow) error {
	resp, err := fl.p.response()
	if err != nil {
		return err
	}
	defer func() { _ = resp.body.Close() }()
	head := resp.head
	c.arrive(Event{Kind: EventHead, Channel: fl.channel, Tag: fl.tag, Head: head})
	switch head.MediaType() {
	case "text/event-stream":
		return c.readStream(fl, head, resp.body)
	case "application/json":
		return c.readJSON(fl, head, resp.body)
	}
	return c.readPage(fl, head, resp.body)
}

func (c *httpConn) readStream(fl *flow, head *wire.Head, body io.Reader) error {
	events := wire.NewEvents(body, c.limit)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenBody(err)
		}
		c.arrive(eventOf(fl, head, e))
	}
}

// eventOf makes a frame of an event that carries one: type message, and data.
func eventOf(fl *flow, head *wire.Head, e *wire.Event) Event {
	out := Event{Kind: EventSSE, Channel: fl.channel, Tag: fl.tag, Head: head, SSE: e}
	if e.Dispatched() && len(e.Data) > 0 && (e.Type == "" || e.Type == "message") {
		out.Kind, out.SSE = EventFrame, nil
		out.Frame = &wire.Frame{Raw: e.Data, Time: time.Now(), Dir: wire.ToClient, HTTP: head, Event: e}
	}
	return out
}

func (c *httpConn) readJSON(fl *flow, head *wire.Head, body io.Reader) error {
	raw, err := readAll(io.LimitReader(body, int64(c.limit)+1), head)
	if err == nil && len(raw) > c.limit {
		err = &Error{Reason: BadHTTP, Detail: fmt.Sprintf("a body longer than %d bytes", c.limit), Status: head.Status}
	}
	if err != nil {
		// Half an answer is no frame, but it is evidence.
		if len(raw) > 0 {
			c.arrive(pageOf(fl, head, raw, int64(len(raw))))
		}
		return brokenBody(err)
	}
	if len(raw) > 0 {
		f := &wire.Frame{Raw: raw, Time: time.Now(), Dir: wire.ToClient, HTTP: head}
		c.arrive(Event{Kind: EventFrame, Channel: fl.channel, Tag: fl.tag, Head: head, Frame: f})
	}
	return nil
}

const (
	// maxTrustedLength is how much memory a Content-Length alone may claim.
	maxTrustedLength = 1 << 20
	minPart, maxPart = 512, 1 << 20
)

// readAll is io.ReadAll that copies a long body only once: it is read in parts
// that double, the first one of the announced size.
func readAll(r io.Reader, head *wire.Head) ([]byte, error) {
	size := minPart
	if n, ok := contentLength(head); ok {
		size = int(min(n, maxTrustedLength)) + 1
	}
	part := make([]byte, 0, size)
	var full [][]byte
	total := 0
	for {
		n, err := r.Read(part[len(part):cap(part)])
		part = part[:len(part)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if len(full) == 0 {
				return part, err
			}
			all := make([]byte, 0, total+len(part))
			for _, p := range full {
				all = append(all, p...)
			}
			return append(all, part...), err
		}
		if len(part) == cap(part) {
			full, total = append(full, part), total+len(part)
			part = make([]byte, 0, min(max(2*cap(part), 4<<10), maxPart))
		}
	}
}

func pageOf(fl *flow, head *wire.Head, body []byte, size int64) Event {
	return Event{Kind: EventBody, Channel: fl.channel, Tag: fl.tag, Head: head, Body: body[:min(len(body), maxPage)], BodySize: size}
}

func (c *httpConn) readPage(fl *flow, head *wire.Head, body io.Reader) error {
	raw, err := readAll(io.LimitReader(body, maxPage), head)
	size := int64(len(raw))
	if err == nil && size == maxPage {
		var more int64
		more, err = io.Copy(io.Discard, io.LimitReader(body, maxPageRead))
		size += more
	}
	if size > 0 {
		c.arrive(pageOf(fl, head, raw, size))
	}
	if err != nil {
		return brokenBody(err)
	}
	return nil
}

func brokenBody(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Reason: Broken, Detail: "the response was cut off", Err: err}
}
