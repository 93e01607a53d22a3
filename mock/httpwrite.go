// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// startStream begins an event stream as the response. What faults say of its
// head must be known by now.
func (h *httpCall) startStream() {
	if h.streaming {
		return
	}
	h.streaming = true
	head := h.w.Header()
	head.Set(spec.HeaderContentType, spec.MediaEventStream)
	head.Set("Cache-Control", "no-cache")
	head.Set(spec.HeaderAccelBuffering, "no")
	status := http.StatusOK
	if h.q != nil {
		for _, f := range h.q.faults {
			switch {
			case !f.decided():
			case f.Op == OpHeader:
				h.setHeader(f.Header)
			case f.Op == OpStatus:
				status = statusOf(f.Code)
			}
		}
	}
	h.w.WriteHeader(status)
	_ = h.flush() // a client that is gone shows in the context
}

func (h *httpCall) setHeader(fields []wire.HeaderField) {
	for _, f := range fields {
		if f.Value == "" {
			h.w.Header()[http.CanonicalHeaderKey(f.Name)] = nil // net/http would make one up
		} else {
			h.w.Header().Set(f.Name, f.Value)
		}
	}
}

// event sends a message as an event.
func (h *httpCall) event(message []byte) {
	h.startStream()
	over := h.server.alone(SerialWriting)
	defer over()
	_, _ = h.w.Write(h.eventOf(message))
	_ = h.flush()
}

// eventOf is the event of a message, in the form that a fault says.
func (h *httpCall) eventOf(message []byte) []byte {
	if h.q != nil {
		if f := h.q.find(OpEvent); f != nil {
			return []byte(strings.ReplaceAll(f.Text, "{{data}}", string(message)))
		}
	}
	return eventOf("", message)
}

// eventOf is an event of type message; an empty id leaves that field out.
func eventOf(id string, message []byte) []byte {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: message\n")
	for l := range bytes.SplitSeq(message, []byte{'\n'}) {
		b.WriteString("data: ")
		b.Write(l)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// write writes a reply, and does what its faults ask of the connection.
func (h *httpCall) write(ctx context.Context, q *request, r *reply) {
	if r.drop {
		for _, m := range r.ahead() {
			h.event(m)
		}
	}
	if !h.wait(ctx, r) || ctx.Err() != nil && !q.lenient(CheckCancelAnswer) {
		h.server.left(q, r)
		h.startStream() // one that ends without the answer of a cancelled request
		return
	}
	h.endBy(r.ending)
	asked := q.Kind == wire.Request
	if r.body == nil && (q.find(OpJSON) == nil && (r.more > 0 || len(r.notes)+len(r.later) > 0) ||
		asked && r.text == nil && len(r.before)+len(r.after) == 0) {
		if !h.streaming {
			h.setHeader(r.header) // that of a session that begins here, too
		}
		h.startStream() // one JSON body cannot hold two messages, nor none
	}
	if h.streaming {
		h.finishStream(ctx, r)
		return
	}
	head := h.w.Header()
	body := r.body
	if body == nil && (r.text != nil || len(r.before)+len(r.after) > 0) {
		head.Set(spec.HeaderContentType, spec.MediaJSON)
		body = bytes.Join(slices.Concat(r.before, [][]byte{r.text}, r.after), nil)
	}
	h.setHeader(r.header)
	if len(body) > 0 {
		head.Set("Content-Length", strconv.Itoa(len(body)))
	}
	h.w.WriteHeader(statusOf(r.status))
	if !r.half {
		h.put(ctx, r, body)
		return
	}
	_, _ = h.w.Write(body[:len(body)/2])
	_ = h.flush()
	h.hangUp()
}

// endBy ends the connection, or the server, as a fault says.
func (h *httpCall) endBy(e ending) {
	switch e {
	case die:
		h.server.mu.Lock()
		h.server.dead = true
		h.server.mu.Unlock()
		fallthrough
	case hangUp:
		h.hangUp()
	}
}

// wait waits as long as the faults say, or until the client has gone.
func (h *httpCall) wait(ctx context.Context, r *reply) bool {
	if r.drop {
		select {
		case <-ctx.Done():
		case <-h.r.Context().Done():
		}
		return false
	}
	return r.wait(ctx)
}

// put writes bytes, in parts if a fault says so. A client that is gone needs
// none.
func (h *httpCall) put(ctx context.Context, r *reply, b []byte) {
	over := h.server.alone(SerialWriting)
	defer over()
	if r.part <= 0 {
		_, _ = h.w.Write(b)
		return
	}
	for part := range slices.Chunk(b, r.part) {
		if _, err := h.w.Write(part); err != nil || h.flush() != nil || pause(ctx, r.pause) != nil {
			return
		}
	}
}

// statusOf keeps a script's figure within what net/http writes.
func statusOf(code int) int {
	if code < 200 || code > 999 {
		return http.StatusOK
	}
	return code
}

func (h *httpCall) finishStream(ctx context.Context, r *reply) {
	for _, m := range r.ahead() {
		h.event(m)
	}
	if r.half {
		e := h.eventOf(r.text)
		_, _ = h.w.Write(e[:len(e)/2])
		_ = h.flush()
		h.hangUp()
	}
	for range r.more + 1 {
		if r.text != nil {
			h.put(ctx, r, h.eventOf(r.text))
			_ = h.flush()
		}
	}
	for _, m := range append(r.after, r.later...) {
		h.event(m)
	}
	if r.linger > 0 {
		select {
		case <-time.After(r.linger):
		case <-h.r.Context().Done():
		}
	}
}

// hangUp ends the connection without a proper end of the response: it is what
// net/http offers for it.
func (h *httpCall) hangUp() { panic(http.ErrAbortHandler) }
