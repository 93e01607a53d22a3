// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// ServeHTTP is the MCP endpoint at any path: Streamable HTTP of both eras, as
// the script's revisions say.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := &httpCall{server: s, w: w, r: r, flush: http.NewResponseController(w).Flush}
	if s.isDead() {
		h.hangUp()
	}
	if origin, ok := r.Header[spec.HeaderOrigin]; ok && !s.allowed(origin) {
		h.refuse(spec.StatusBadOrigin, "this origin is not allowed")
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post()
	case http.MethodGet:
		h.get()
	case http.MethodDelete:
		h.delete()
	default:
		h.notAllowed()
	}
}

func (s *Server) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// allowed: a page from elsewhere must not reach a server on this machine by
// the user's browser (2026-07-28/basic/transports/streamable-http#security-warning).
func (s *Server) allowed(origins []string) bool {
	if len(origins) != 1 {
		return false
	}
	if slices.Contains(s.script.Origins, origins[0]) {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// httpCall is one HTTP request and its response.
type httpCall struct {
	server    *Server
	w         http.ResponseWriter
	r         *http.Request
	flush     func() error
	streaming bool // the event stream has begun
}

// maxBody bounds a request's body.
const maxBody = 64 << 20

func (h *httpCall) post() {
	media, _, _ := strings.Cut(h.r.Header.Get(spec.HeaderContentType), ";")
	if !strings.EqualFold(strings.TrimSpace(media), spec.MediaJSON) {
		h.refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(h.w, h.r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		h.refuse(status, "the body cannot be read")
		return
	}
	s := h.server
	q := newRequest(wire.Read(body))
	q.header = h.r.Header
	s.setPage(q)
	q.faults = s.reached(q.Method, q.page)
	if h.isModern(q) {
		h.postModern(q)
	} else {
		h.postLegacy(q)
	}
}

// isModern tells the eras apart: a request with the modern _meta is stateless,
// initialize and whatever has a session belong to the handshake
// (2026-07-28/basic/versioning#backward-compatibility).
func (h *httpCall) isModern(q *request) bool {
	s := h.server
	switch {
	case !s.legacy:
		return true
	case !s.modern, q.Method == spec.MethodInitialize:
		return false
	case q.claimsModern():
		return true
	}
	version, err := spec.ParseRevision(h.r.Header.Get(spec.HeaderProtocolVersion))
	return err == nil && version.Era() == spec.Modern
}

func (h *httpCall) postModern(q *request) {
	q.revision = spec.Latest
	switch q.Kind {
	case wire.Notification:
		h.write(h.r.Context(), q, accepted(q, spec.StatusNotificationAccepted))
		return
	case wire.Response, wire.ErrorResponse:
		q.ID = nil
		h.answer(q, invalidRequest("clients send no responses"))
		return
	}
	e := readable(q.Message)
	if e == nil {
		e = h.server.checkModern(q)
	}
	h.answer(q, e)
}

// answer makes and writes the answer to a request.
func (h *httpCall) answer(q *request, e *Error) {
	ctx := h.r.Context()
	if q.peer != nil {
		var done func()
		ctx, done = q.peer.run(ctx, q)
		defer done()
	}
	q.send = h.event
	if h.server.script.Stream && e == nil {
		h.startStream()
	}
	h.write(ctx, q, h.server.reply(ctx, q, e))
}

func (h *httpCall) postLegacy(q *request) {
	s := h.server
	q.revision = s.newestLegacy
	if v := h.r.Header.Get(spec.HeaderProtocolVersion); v != "" && q.Method != spec.MethodInitialize {
		if r, err := spec.ParseRevision(v); err != nil || r.Era() != spec.Legacy || !s.serves(r) {
			h.answerBad(q, spec.StatusBadVersionHeader, "unsupported "+spec.HeaderProtocolVersion+": "+clip(v))
			return
		}
	}
	if q.Method == spec.MethodInitialize && readable(q.Message) == nil {
		h.begin(q)
		return
	}
	var bad int
	if q.peer, bad = h.session(); bad != 0 {
		h.answerBad(q, bad, "no session; send initialize first, and its "+spec.HeaderSessionID+" with every request")
		return
	}
	q.revision = q.peer.agreed()
	switch q.Kind {
	case wire.Batch:
		if n := len(q.Batch()); spec.BatchAllowed(q.revision) && n > 0 && n <= maxBatch {
			h.batch(q)
			return
		}
	case wire.Notification:
		if q.Method == spec.NotificationCancelled {
			q.peer.cancel(q)
		}
		h.write(h.r.Context(), q, accepted(q, spec.StatusNotificationAccepted))
		return
	case wire.Response, wire.ErrorResponse:
		h.write(h.r.Context(), q, accepted(q, spec.StatusNotificationAccepted))
		return
	}
	h.answer(q, readable(q.Message))
}

// begin opens a session.
func (h *httpCall) begin(q *request) {
	q.peer = newPeer()
	r := h.server.reply(h.r.Context(), q, nil)
	if q.peer.agreed() != 0 {
		id := rand.Text()
		h.server.mu.Lock()
		h.server.sessions[id] = q.peer
		h.server.mu.Unlock()
		r.header = append([]wire.HeaderField{{Name: spec.HeaderSessionID, Value: id}}, r.header...)
	}
	h.write(h.r.Context(), q, r)
}

// session finds the session of a request, or the status that refuses it.
func (h *httpCall) session() (*peer, int) {
	id := h.r.Header.Get(spec.HeaderSessionID)
	if id == "" {
		return nil, spec.StatusMissingSession
	}
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	p := h.server.sessions[id]
	if p == nil {
		return nil, spec.StatusSessionEnded
	}
	return p, 0
}

// answerBad refuses a POST in the way that suits its body.
func (h *httpCall) answerBad(q *request, status int, why string) {
	e := invalidRequest("%s", why)
	e.status = status
	if q.Kind != wire.Request {
		q.ID = nil
	}
	h.write(h.r.Context(), q, h.server.reply(h.r.Context(), q, e))
}

// batch answers an array of messages by an array of answers
// (2025-03-26/basic/transports#sending-messages-to-the-server). Of faults only
// those of the message show in it.
func (h *httpCall) batch(q *request) {
	ctx := h.r.Context()
	var answers []json.RawMessage
	for _, m := range q.Batch() {
		if m.Kind == wire.Notification || m.IsResponse() {
			continue
		}
		one := newRequest(m)
		one.peer, one.revision, one.header = q.peer, q.revision, q.header
		h.server.setPage(one)
		one.faults = h.server.reached(one.Method, one.page)
		e := readable(m)
		if e == nil && m.Method == spec.MethodInitialize {
			e = invalidRequest("initialize in a batch")
		}
		if r := h.server.reply(ctx, one, e); r.text != nil {
			answers = append(answers, r.text)
		}
	}
	if answers == nil {
		h.write(ctx, q, &reply{status: spec.StatusNotificationAccepted})
		return
	}
	h.write(ctx, q, &reply{status: http.StatusOK, text: array(answers)})
}

// get is the standing stream of a legacy session.
func (h *httpCall) get() {
	q, ok := h.verb()
	if !ok {
		return
	}
	if !q.peer.startStream() {
		h.refuse(http.StatusConflict, "the session has a standing stream already")
		return
	}
	defer q.peer.stopStream()
	st := &stream{peer: q.peer}
	h.server.open(st)
	defer h.server.close(st)
	h.startStream()
	for {
		select {
		case m := <-st.messages:
			h.event(m)
		case <-q.peer.ended:
			return
		case <-st.closed:
			return
		case <-h.r.Context().Done():
			return
		}
	}
}

// delete ends a legacy session.
func (h *httpCall) delete() {
	q, ok := h.verb()
	if !ok {
		return
	}
	h.server.mu.Lock()
	delete(h.server.sessions, h.r.Header.Get(spec.HeaderSessionID))
	h.server.mu.Unlock()
	q.peer.end()
	h.write(h.r.Context(), q, accepted(q, http.StatusNoContent))
}

// verb finds the session of a GET or DELETE. It returns false when it has
// answered: there is none, the era has no such request, or a fault stands here.
func (h *httpCall) verb() (*request, bool) {
	q := newRequest(&wire.Message{Method: h.r.Method})
	q.faults = h.server.reached(h.r.Method, 1)
	version, err := spec.ParseRevision(h.r.Header.Get(spec.HeaderProtocolVersion))
	p, bad := h.session()
	switch {
	case !h.server.legacy, h.server.modern && err == nil && version.Era() == spec.Modern:
		bad = spec.StatusMethodNotAllowed
	case bad == 0 && len(q.faults) == 0:
		q.peer = p
		return q, true
	case bad == 0:
		bad = http.StatusOK // until the faults have changed it
	}
	if bad == spec.StatusMethodNotAllowed {
		h.w.Header().Set("Allow", http.MethodPost)
	}
	h.write(h.r.Context(), q, accepted(q, bad))
	return nil, false
}

func (h *httpCall) notAllowed() {
	h.w.Header().Set("Allow", "POST, GET, DELETE")
	h.refuse(spec.StatusMethodNotAllowed, "method not allowed")
}

func (h *httpCall) refuse(status int, why string) { http.Error(h.w, why, status) }
