// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// ServeHTTP is the MCP endpoint at any path: Streamable HTTP of both eras, as
// the script's revisions say, and HTTP+SSE at its own path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := &httpCall{server: s, w: w, r: r, flush: http.NewResponseController(w).Flush}
	if s.isDead() {
		h.hangUp()
	}
	if s.script.SSEPath != "" && r.URL.Path == s.script.SSEPath && h.serveSSE() {
		return
	}
	if r.Method == http.MethodPost {
		h.post()
		return
	}
	q := h.request(&wire.Message{Method: r.Method})
	switch {
	case r.Method == http.MethodOptions && q.lenient(CheckPreflight):
		h.allowAnybody(q)
	case !h.fromHere(q):
	case r.Method == http.MethodGet:
		h.get(q)
	case r.Method == http.MethodDelete:
		h.delete(q)
	default:
		h.notAllowed(q)
	}
}

func (s *Server) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// httpCall is one HTTP request and its response.
type httpCall struct {
	server    *Server
	w         http.ResponseWriter
	r         *http.Request
	q         *request
	flush     func() error
	streaming bool // the event stream has begun
}

// request reads what an HTTP request is about, and finds its faults.
func (h *httpCall) request(m *wire.Message) *request {
	return h.read(m, h.server.reached)
}

// read is request where something else finds the faults.
func (h *httpCall) read(m *wire.Message, reached func(*request) []*Fault) *request {
	s := h.server
	q := newRequest(m)
	q.header = h.r.Header
	if q.header == nil {
		q.header = http.Header{}
	}
	q.sent = transport.SentHeader(h.r.Context())
	q.revision = spec.Latest
	if !s.modern {
		q.revision = s.newestLegacy
	}
	q.connection, q.socket = s.connectionOf(h.r)
	q.peer, _ = h.session(q)
	s.setPage(q)
	q.faults = reached(q)
	h.q = q
	return q
}

// maxBody bounds a request's body.
const maxBody = 64 << 20

func (h *httpCall) post() {
	if h.server.tooLarge(h.r) {
		h.refuse(h.request(&wire.Message{Method: h.r.Method}), http.StatusRequestEntityTooLarge, "the body is too large")
		return
	}
	over := h.server.alone(SerialReading)
	body, err := io.ReadAll(http.MaxBytesReader(h.w, h.r.Body, maxBody))
	over()
	q := h.request(h.server.read(body))
	switch {
	case !h.fromHere(q), !h.isJSON(q):
		return
	case err != nil:
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		h.refuse(q, status, "the body cannot be read")
		return
	}
	if h.isModern(q) {
		h.postModern(q)
	} else {
		h.postLegacy(q)
	}
}

// isJSON reports whether a POST is of the media type of JSON; it has answered
// when not.
func (h *httpCall) isJSON(q *request) bool {
	media, _, _ := strings.Cut(h.r.Header.Get(spec.HeaderContentType), ";")
	if strings.EqualFold(strings.TrimSpace(media), spec.MediaJSON) || q.lenient(CheckMediaType) {
		return true
	}
	h.refuse(q, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	return false
}

// isModern tells the eras apart: a request with the modern _meta is stateless,
// initialize and whatever has a session belong to the handshake
// (2026-07-28/basic/versioning#backward-compatibility).
func (h *httpCall) isModern(q *request) bool {
	s := h.server
	switch {
	case !s.legacy:
		return true
	case !s.modern, q.begins():
		return false
	case q.claimsModern(), q.missesModern() && h.r.Header.Get(spec.HeaderSessionID) == "":
		return true
	}
	version, err := spec.ParseRevision(h.r.Header.Get(spec.HeaderProtocolVersion))
	return err == nil && version.Era() == spec.Modern
}

func (h *httpCall) postModern(q *request) {
	q.revision, q.peer = spec.Latest, nil
	switch q.Kind {
	case wire.Notification:
		h.write(h.r.Context(), q, h.server.accepted(q, spec.StatusNotificationAccepted))
		return
	case wire.Response, wire.ErrorResponse:
		if q.lenient(CheckResponsePosted) {
			h.write(h.r.Context(), q, h.server.accepted(q, spec.StatusNotificationAccepted))
			return
		}
		q.ID = nil
		h.answer(q, invalidRequest("clients send no responses"))
		return
	case wire.Batch:
		if n := len(q.Batch()); n > 0 && n <= maxBatch && q.lenient(CheckBatch) {
			h.batch(q)
			return
		}
	}
	e := readable(q)
	if e == nil {
		e = h.server.checkModern(q)
	}
	h.answer(q, e)
}

// answer makes and writes the answer to a request. In the modern era a client
// that closes the stream cancels; in the legacy one it must say so
// (2025-11-25/basic/transports#sending-messages-to-the-server).
func (h *httpCall) answer(q *request, e *Error) {
	s, ctx := h.server, h.r.Context()
	if !q.modern() || q.lenient(CheckCancelDisconnect) {
		var stop func()
		ctx, stop = s.detached(ctx)
		defer stop()
	}
	if q.peer != nil {
		var done func()
		ctx, done = q.peer.run(ctx, q)
		defer done()
	}
	q.over = func() bool { return ctx.Err() != nil && !q.lenient(CheckCancelAnswer) }
	if q.mute = q.find(OpJSON) != nil; !q.mute {
		q.send = h.event
	}
	if (s.script.Stream && e == nil || q.find(OpSSE) != nil) && !q.mute {
		h.startStream()
	}
	h.write(ctx, q, s.reply(ctx, q, e))
}

// patience is how long a legacy request runs on after its client has gone.
const patience = 10 * time.Second

// detached is a context that outlives its parent for a while.
func (s *Server) detached(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	left := context.AfterFunc(parent, func() {
		t := time.AfterFunc(patience, cancel)
		context.AfterFunc(ctx, func() { t.Stop() })
	})
	down := context.AfterFunc(s.life, cancel)
	return ctx, func() { left(); down(); cancel() }
}

func (h *httpCall) postLegacy(q *request) {
	s := h.server
	q.revision = s.newestLegacy
	if v := h.r.Header.Get(spec.HeaderProtocolVersion); v != "" && q.Method != spec.MethodInitialize && !q.lenient(CheckSessionVersion) {
		if r, err := spec.ParseRevision(v); err != nil || r.Era() != spec.Legacy || !s.serves(r) {
			h.answerBad(q, spec.StatusBadVersionHeader, "unsupported "+spec.HeaderProtocolVersion+": "+clip(v))
			return
		}
	}
	if q.Method == spec.MethodInitialize && readable(q) == nil {
		h.begin(q)
		return
	}
	p, bad := h.session(q)
	if bad == spec.StatusMissingSession && q.lenient(CheckSessionFallback) && q.Kind == wire.Request && h.fallBack(q) {
		return
	}
	if bad != 0 {
		h.answerBad(q, bad, "no session; send initialize first, and its "+spec.HeaderSessionID+" with every request")
		return
	}
	q.peer, q.revision = p, p.agreed()
	switch q.Kind {
	case wire.Batch:
		if n := len(q.Batch()); (spec.BatchAllowed(q.revision) || q.lenient(CheckBatch)) && n > 0 && n <= maxBatch && q.find(OpError) == nil {
			h.batch(q)
			return
		}
	case wire.Notification:
		switch q.Method {
		case spec.NotificationCancelled:
			q.peer.cancel(q)
		case spec.NotificationInitialized:
			q.peer.initialized()
		}
		h.write(h.r.Context(), q, s.accepted(q, spec.StatusNotificationAccepted))
		return
	case wire.Response, wire.ErrorResponse:
		q.peer.answer(q.Message)
		h.write(h.r.Context(), q, s.accepted(q, spec.StatusNotificationAccepted))
		return
	}
	e := readable(q)
	if e == nil && s.script.Resumable {
		h.answerResumably(q)
		return
	}
	h.answer(q, e)
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
// (2025-03-26/basic/transports#sending-messages-to-the-server), or by a stream of
// them where a fault says so. Of faults in a message only those that change its
// answer show in it.
func (h *httpCall) batch(q *request) {
	ctx := h.r.Context()
	var answers []json.RawMessage
	for _, m := range q.Batch() {
		if m.Kind == wire.Notification && m.Method == spec.NotificationInitialized && q.peer != nil {
			q.peer.initialized()
		}
		if m.Kind == wire.Notification || m.IsResponse() {
			continue
		}
		one := newRequest(m)
		one.mute = true // the answers are one body
		one.peer, one.revision, one.header, one.connection, one.socket = q.peer, q.revision, q.header, q.connection, q.socket
		h.server.setPage(one)
		one.faults = h.server.reached(one)
		e := readable(one)
		switch {
		case e == nil && m.Method == spec.MethodInitialize:
			e = invalidRequest("initialize in a batch")
		case e == nil && q.modern():
			one.header = nil // the headers are those of no single message
			e = h.server.checkModern(one)
		}
		if r := h.server.reply(ctx, one, e); r.text != nil {
			answers = append(answers, r.text)
		}
	}
	switch {
	case answers == nil:
		h.write(ctx, q, h.server.accepted(q, spec.StatusNotificationAccepted))
	case q.find(OpSSE) != nil:
		for _, a := range answers {
			h.event(a)
		}
	default:
		h.write(ctx, q, &reply{status: http.StatusOK, text: array(answers)})
	}
}

func (h *httpCall) notAllowed(q *request) {
	if q.lenient(CheckHTTPMethod) {
		h.write(h.r.Context(), q, h.server.accepted(q, http.StatusOK))
		return
	}
	allow := http.MethodPost
	if h.server.legacy {
		allow = "POST, GET, DELETE"
	}
	h.w.Header().Set("Allow", allow)
	h.refuse(q, spec.StatusMethodNotAllowed, "method not allowed")
}

// refuse answers with a status and a text that is no JSON-RPC.
func (h *httpCall) refuse(q *request, status int, why string) {
	r := h.server.accepted(q, status)
	if r.body == nil {
		r.body = []byte(why + "\n")
		r.header = append([]wire.HeaderField{{Name: spec.HeaderContentType, Value: "text/plain; charset=utf-8"}}, r.header...)
	}
	h.write(h.r.Context(), q, r)
}
