// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// fromHere reports whether the request's host and origin are allowed; it has
// answered when not.
func (h *httpCall) fromHere(q *request) bool {
	if !h.server.ours(h.r) && !q.lenient(CheckHost) {
		h.refuse(q, spec.StatusBadOrigin, "this host is not served")
		return false
	}
	origin, ok := h.r.Header[spec.HeaderOrigin]
	if !ok || h.server.allowed(origin) || h.overlooked(q, origin) {
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
	return isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ours reports whether a request from this machine names it in Host, or a host of
// the script's origins. A page whose name was bound to this machine's address
// names another.
func (s *Server) ours(r *http.Request) bool {
	if from, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !isLoopback(from) {
		return true // no browser of this machine
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	return host == "" || isLoopback(host) || slices.ContainsFunc(s.script.Origins, func(o string) bool {
		u, err := url.Parse(o)
		return err == nil && u.Hostname() == host
	})
}

// overlooked reports whether a foreign origin passes by a leniency.
func (h *httpCall) overlooked(q *request, origins []string) bool {
	if q.lenient(CheckOrigin) {
		return true
	}
	if len(origins) != 1 {
		return false
	}
	o := origins[0]
	switch {
	case q.lenient(CheckOriginHost) && strings.TrimPrefix(o, "http://") == h.r.Host:
		return true
	case o == "null":
		return q.lenient(CheckOriginNull)
	case strings.HasPrefix(o, "https:") && q.lenient(CheckOriginHTTPS):
		return true
	case !q.lenient(CheckOriginPrefix):
		return false
	}
	for _, known := range append([]string{"localhost", "127.0.0.1"}, h.server.script.Origins...) {
		if strings.Contains(o, known) {
			return true
		}
	}
	return false
}

// allowAnybody answers a preflight as a server does that reflects any origin
// (Fetch standard, CORS protocol).
func (h *httpCall) allowAnybody(q *request) {
	r := h.server.accepted(q, http.StatusNoContent)
	r.header = append(r.header,
		wire.HeaderField{Name: "Access-Control-Allow-Origin", Value: h.r.Header.Get(spec.HeaderOrigin)},
		wire.HeaderField{Name: "Access-Control-Allow-Credentials", Value: "true"},
		wire.HeaderField{Name: "Access-Control-Allow-Methods", Value: "POST, GET, DELETE"},
		wire.HeaderField{Name: "Access-Control-Allow-Headers", Value: h.r.Header.Get("Access-Control-Request-Headers")},
	)
	h.write(h.r.Context(), q, r)
}
