// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"net/http"
	"slices"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// begin opens a session.
func (h *httpCall) begin(q *request) {
	q.peer = newPeer()
	r := h.server.reply(h.r.Context(), q, nil)
	if q.peer.agreed() != 0 {
		id := h.server.enter(q)
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
	case id == "" && (q.lenient(CheckSessionMissing) || h.server.script.Lax && h.server.legacy && h.r.Method == http.MethodPost), id != "" && q.lenient(CheckSessionUnknown):
		p = newPeer()
		p.begin(h.server.newestLegacy, []byte("{}"))
		p.initialized()
		return p, 0
	case id == "":
		return nil, spec.StatusMissingSession
	}
	return nil, spec.StatusSessionEnded
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
	if !q.peer.startStream() && !q.lenient(CheckStreamSecond) {
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
		if !slices.ContainsFunc(q.faults, func(f *Fault) bool { return f.Op != OpLenient && f.decided() && f.Op != OpEvent && !f.everywhere() }) {
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
