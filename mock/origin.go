// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/spec"
)

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
