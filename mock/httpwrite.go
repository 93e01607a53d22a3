// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/mcprove/mcprove/spec"
)

// startStream begins an event stream as the response.
func (h *httpCall) startStream() {
	if h.streaming {
		return
	}
	h.streaming = true
	head := h.w.Header()
	head.Set(spec.HeaderContentType, spec.MediaEventStream)
	head.Set("Cache-Control", "no-cache")
	head.Set(spec.HeaderAccelBuffering, "no")
	h.w.WriteHeader(http.StatusOK)
	_ = h.flush() // a client that is gone shows in the context
}

// event sends a message as an event.
func (h *httpCall) event(message []byte) {
	h.startStream()
	_, _ = h.w.Write(eventOf(message))
	_ = h.flush()
}

func eventOf(message []byte) []byte {
	var b bytes.Buffer
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
	if !r.wait(ctx) || ctx.Err() != nil {
		h.startStream() // one that ends without the answer of a cancelled request
		return
	}
	switch r.ending {
	case die:
		h.server.mu.Lock()
		h.server.dead = true
		h.server.mu.Unlock()
		fallthrough
	case hangUp:
		h.hangUp()
	}
	if r.more > 0 && r.body == nil {
		h.startStream() // one JSON body cannot hold two answers
	}
	if h.streaming {
		h.finishStream(r)
		return
	}
	head := h.w.Header()
	body := r.body
	if body == nil && (r.text != nil || len(r.before)+len(r.after) > 0) {
		head.Set(spec.HeaderContentType, spec.MediaJSON)
		parts := append(append(append([][]byte{}, r.before...), r.text), r.after...)
		body = bytes.Join(parts, nil)
	}
	for _, f := range r.header {
		if f.Value == "" {
			head.Del(f.Name)
		} else {
			head.Set(f.Name, f.Value)
		}
	}
	if len(body) > 0 {
		head.Set("Content-Length", strconv.Itoa(len(body)))
	}
	h.w.WriteHeader(statusOf(r.status))
	if !r.half {
		_, _ = h.w.Write(body) // a client that is gone needs no answer
		return
	}
	_, _ = h.w.Write(body[:len(body)/2])
	_ = h.flush()
	h.hangUp()
}

// statusOf keeps a script's figure within what net/http writes.
func statusOf(code int) int {
	if code < 200 || code > 999 {
		return http.StatusOK
	}
	return code
}

func (h *httpCall) finishStream(r *reply) {
	for _, noise := range r.before {
		h.event(noise)
	}
	if r.half {
		e := eventOf(r.text)
		_, _ = h.w.Write(e[:len(e)/2])
		_ = h.flush()
		h.hangUp()
	}
	for range r.more + 1 {
		if r.text != nil {
			h.event(r.text)
		}
	}
	for _, noise := range r.after {
		h.event(noise)
	}
}

// hangUp ends the connection without a proper end of the response: it is what
// net/http offers for it.
func (h *httpCall) hangUp() { panic(http.ErrAbortHandler) }
