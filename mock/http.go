// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
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
	q.connection = s.connectionOf(h.r)
	q.peer, _ = h.session(q)
	s.setPage(q)
	q.faults = s.reached(q)
	h.q = q
	return q
}

// fromHere reports whether the request's origin is allowed; it has answered
// when not.
func (h *httpCall) fromHere(q *request) bool {
	origin, ok := h.r.Header[spec.HeaderOrigin]
	if !ok || h.server.allowed(origin) || h.server.overlooked(q, origin) {
		return true
	}
	h.refuse(q, spec.StatusBadOrigin, "this origin is not allowed")
	return false
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

// overlooked reports whether a foreign origin passes by a leniency.
func (s *Server) overlooked(q *request, origins []string) bool {
	if q.lenient(CheckOrigin) {
		return true
	}
	if len(origins) != 1 {
		return false
	}
	o := origins[0]
	switch {
	case o == "null":
		return q.lenient(CheckOriginNull)
	case strings.HasPrefix(o, "https:") && q.lenient(CheckOriginHTTPS):
		return true
	case !q.lenient(CheckOriginPrefix):
		return false
	}
	for _, known := range append([]string{"localhost", "127.0.0.1"}, s.script.Origins...) {
		if strings.Contains(o, known) {
			return true
		}
	}
	return false
}

// maxBody bounds a request's body.
const maxBody = 64 << 20

func (h *httpCall) post() {
	body, err := io.ReadAll(http.MaxBytesReader(h.w, h.r.Body, maxBody))
	q := h.request(wire.Read(body))
	media, _, _ := strings.Cut(h.r.Header.Get(spec.HeaderContentType), ";")
	switch {
	case !h.fromHere(q):
		return
	case !strings.EqualFold(strings.TrimSpace(media), spec.MediaJSON) && !q.lenient(CheckMediaType):
		h.refuse(q, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
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
	if q.find(OpJSON) == nil {
		q.send = h.event
	}
	if (s.script.Stream && e == nil || q.find(OpSSE) != nil) && q.find(OpJSON) == nil {
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
	if bad != 0 {
		h.answerBad(q, bad, "no session; send initialize first, and its "+spec.HeaderSessionID+" with every request")
		return
	}
	q.peer, q.revision = p, p.agreed()
	switch q.Kind {
	case wire.Batch:
		if n := len(q.Batch()); (spec.BatchAllowed(q.revision) || q.lenient(CheckBatch)) && n > 0 && n <= maxBatch {
			h.batch(q)
			return
		}
	case wire.Notification:
		if q.Method == spec.NotificationCancelled {
			q.peer.cancel(q)
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

// session finds the session of a request, or the status that refuses it. A
// lenient server makes one up.
func (h *httpCall) session(q *request) (*peer, int) {
	id := h.r.Header.Get(spec.HeaderSessionID)
	h.server.mu.Lock()
	defer h.server.mu.Unlock()
	p := h.server.sessions[id]
	switch {
	case id != "" && p != nil:
		return p, 0
	case id == "" && q.lenient(CheckSessionMissing), id != "" && q.lenient(CheckSessionUnknown):
		p = newPeer()
		p.begin(h.server.newestLegacy, []byte("{}"))
		return p, 0
	case id == "":
		return nil, spec.StatusMissingSession
	}
	return nil, spec.StatusSessionEnded
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
		one.peer, one.revision, one.header, one.connection = q.peer, q.revision, q.header, q.connection
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
	if answers == nil {
		h.write(ctx, q, &reply{status: spec.StatusNotificationAccepted})
		return
	}
	h.write(ctx, q, &reply{status: http.StatusOK, text: array(answers)})
}

// get is the standing stream of a legacy session.
func (h *httpCall) get(q *request) {
	if !h.verb(q, CheckHTTPGet) {
		return
	}
	if h.server.script.Resumable && q.peer.agreed() != 0 {
		h.standResumably(q)
		return
	}
	if !q.peer.startStream() {
		h.refuse(q, http.StatusConflict, "the session has a standing stream already")
		return
	}
	defer q.peer.stopStream()
	st := &stream{q: q, peer: q.peer}
	h.server.open(st)
	defer h.server.close(st)
	h.startStream()
	h.server.relay(h.r.Context(), st, h.event)
}

// delete ends a legacy session.
func (h *httpCall) delete(q *request) {
	if !h.verb(q, CheckHTTPDelete) {
		return
	}
	h.server.mu.Lock()
	delete(h.server.sessions, h.r.Header.Get(spec.HeaderSessionID))
	h.server.mu.Unlock()
	q.peer.end()
	h.write(h.r.Context(), q, h.server.accepted(q, http.StatusNoContent))
}

// verb finds the session of a GET or DELETE. It returns false when it has
// answered: there is none, the era has no such request, or a fault stands here.
func (h *httpCall) verb(q *request, check string) bool {
	s := h.server
	version, err := spec.ParseRevision(h.r.Header.Get(spec.HeaderProtocolVersion))
	p, bad := h.session(q)
	modern := !s.legacy || s.modern && err == nil && version.Era() == spec.Modern
	switch {
	case modern && q.lenient(check):
		p, bad = newPeer(), 0
	case modern:
		bad = spec.StatusMethodNotAllowed
	}
	if bad == 0 {
		q.peer, q.revision = p, p.agreed()
		if !slices.ContainsFunc(q.faults, func(f *Fault) bool { return f.Op != OpLenient && f.decided() && f.Op != OpEvent }) {
			return true
		}
		bad = http.StatusOK // until the faults have changed it
	}
	if bad == spec.StatusMethodNotAllowed {
		h.w.Header().Set("Allow", http.MethodPost)
	}
	h.write(h.r.Context(), q, s.accepted(q, bad))
	return false
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
