// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/url"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// serveSSE is HTTP+SSE (2024-11-05/basic/transports#http-with-sse): a GET opens
// the stream of a connection, whose first event names where to post its
// messages. It returns false when the request is none of that.
func (h *httpCall) serveSSE() bool {
	id := h.r.URL.Query().Get("connection")
	switch {
	case h.r.Method == http.MethodGet && h.r.Header.Get(spec.HeaderSessionID) == "":
		q := h.request(&wire.Message{Method: h.r.Method})
		if f := q.find(OpStatus); f != nil {
			h.refuse(q, f.Code, "no stream here")
		} else if h.fromHere(q) {
			h.openSSE(q)
		}
		return true
	case h.r.Method == http.MethodPost && id != "":
		h.postSSE(id)
		return true
	}
	return false
}

// openSSE serves one connection until its client leaves. It is a connection of
// lines but for the carrier. Faults at GET drop its endpoint, or write bytes
// before it and after it.
func (h *httpCall) openSSE(q *request) {
	s, ctx := h.server, h.r.Context()
	id := rand.Text()
	ended := make(chan struct{})
	n, _ := s.connectionOf(h.r)
	c := newLineConn(s, n, h.event, func(error) {})
	s.mu.Lock()
	s.lineConns[id] = c
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.lineConns, id)
		s.mu.Unlock()
		c.peer.end()
		close(ended)
		c.running.Wait()
	}()
	at := url.URL{Path: h.r.URL.Path, RawQuery: url.Values{"connection": {id}}.Encode()}
	h.startStream()
	if f := q.find(OpBefore); f != nil {
		_, _ = h.w.Write([]byte(f.Text))
	}
	if q.find(OpDrop) == nil {
		_, _ = h.w.Write([]byte("event: endpoint\ndata: " + at.String() + "\n\n"))
	}
	if f := q.find(OpAfter); f != nil {
		_, _ = h.w.Write([]byte(f.Text))
	}
	_ = h.flush()
	for {
		select {
		case text := <-c.posted:
			c.line(ctx, text)
		case <-s.ending:
			return
		case <-ctx.Done():
			return
		}
	}
}

// postSSE takes in a message of a connection.
func (h *httpCall) postSSE(id string) {
	s := h.server
	body, err := io.ReadAll(http.MaxBytesReader(h.w, h.r.Body, maxBody))
	q := h.read(s.read(body), s.peeked) // the message counts where it is taken in
	if !h.fromHere(q) {
		return
	}
	s.mu.Lock()
	c := s.lineConns[id]
	s.mu.Unlock()
	switch {
	case c == nil:
		h.refuse(q, http.StatusNotFound, "no such connection")
		return
	case !h.isJSON(q):
		return
	case err != nil:
		h.refuse(q, http.StatusBadRequest, "the body cannot be read")
		return
	}
	select {
	case c.posted <- body:
		h.w.WriteHeader(http.StatusAccepted)
	case <-c.peer.ended:
		h.refuse(q, http.StatusNotFound, "no such connection")
	case <-h.r.Context().Done():
	}
}
