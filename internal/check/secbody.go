// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
)

// paramPadding is the parameter, which nobody has, that makes a body long.
const paramPadding = "mcprove/padding"

// secBodyRules are those of requests that are too much.
var secBodyRules = []Rule{{
	Info: rule.Info{
		ID: ruleBodySize, Level: rule.Must, Basis: rule.Harm, Section: httpSecurity, Transport: "http",
		Title: "a long body does not end the server, and its limit holds for every form of body",
		Why:   "anybody who reaches the endpoint takes the server away from everybody else by one request, or fills its memory",
		Fix:   "bound what you read of a body, however it is sent, and answer HTTP 413 beyond that",
		Detail: "a request with a parameter that nobody has is padded to 256 KiB, 1 MiB and 3 MiB. It fails where the server serves nobody afterwards. " +
			"It is a warning where a limit is enforced for a Content-Length only, and the same body in chunks is served. " +
			"That all of them are served is no finding: whether there is a limit further up is not known",
	},
	In: since2503, Check: bodySize, Whole: true, Intrusive: true,
	Break:  Break{Faults: []mock.Fault{mock.On("").When(mock.HasParam("/mcprove~1padding")).Die()}},
	Breaks: []Break{{Faults: []mock.Fault{mock.BodyLimit(2 << 20)}}},
}}

// bodySizes are how long the bodies are.
var bodySizes = []int{256 << 10, 1 << 20, 3 << 20}

// bodyWait bounds the sending and the answering of one of them.
const bodyWait = otherWait

// longPost is what came for a long body.
type longPost struct {
	status int
	served bool // by a result
	err    error
}

// refused reports whether the server said that it does not take the body.
func (p longPost) refused() bool {
	return p.status >= http.StatusBadRequest && p.status < http.StatusInternalServerError
}

func bodySize(c *probe.Case) {
	s, end := strained(c)
	if s == nil {
		return
	}
	defer end()
	if !s.client.CanHold() {
		c.Skip(noSockets)
		return
	}
	for _, n := range bodySizes {
		p, ok := s.post(n, false)
		if !ok {
			break
		}
		if !s.goesOn("a body of "+size(n), nil) {
			return
		}
		c.Pass(s.control)
		if !p.refused() {
			continue
		}
		chunked, ok := s.post(n, true)
		switch {
		case !ok:
		case !s.goesOn("a body of "+size(n)+" in chunks", nil):
		case p.status == http.StatusRequestEntityTooLarge && chunked.served:
			s.warn(s.control, "a body of %s is refused with HTTP %d, and the same in chunks, without a Content-Length, is served: whoever wants to passes the limit", size(n), p.status)
		}
		return
	}
	c.Unseen("the time was up before a body could be sent")
}

// noSockets is why a rule cannot be slow, or in chunks.
const noSockets = "it needs sockets of its own, and the target is reached through a proxy or by HTTP/2"

// post sends a plain request that is padded to about n bytes, in chunks or not.
// It is false where that is beyond the load.
func (s *strain) post(n int, chunked bool) (longPost, bool) {
	r := s.plain.Param(paramPadding, string(jsonx.Quote(strings.Repeat("a", n)))).Planting("padding")
	body := r.Encode([]byte(`"mcprove-padded"`))
	if !s.takes(len(body)) {
		return longPost{}, false
	}
	limit, cancel := contextWithin(s, bodyWait)
	defer cancel()
	length := int64(len(body))
	if chunked {
		length = -1
	}
	h, err := s.c.Hold(limit, s.client, r, length)
	if err != nil {
		return longPost{err: err}, true
	}
	defer h.Close()
	if err := h.Write(limit, body); err == nil { // whoever refuses it need not read it
		_ = h.End()
	}
	head, text, err := h.Answer(limit, 8<<10)
	if err != nil {
		return longPost{err: err}, true
	}
	return longPost{status: head.Status, served: head.Status < 300 && bytes.Contains(text, []byte(`"result"`))}, true
}
