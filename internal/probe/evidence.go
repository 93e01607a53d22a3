// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/wire"
)

// Item of evidence: one thing that crossed, as it crossed. Text may be foreign
// and is cut where it is long; who prints it escapes it.
type Crossed struct {
	Dir  string `json:"dir"`  // to-server or to-client
	At   string `json:"at"`   // time since the first that is shown of its connection: 12ms
	Text string `json:"text"` // the JSON-RPC text, a body, or an SSE comment
	HTTP string `json:"http"` // the head in short: POST /mcp with its MCP headers, or the status; empty over stdio
}

// Bounds on evidence.
const (
	maxText    = 2000
	maxCrossed = 12
)

// Evidence is what crossed in an exchange, in order. A frame that is named
// stands in it even where the rest is cut.
func (x *Exchange) Evidence(frame *wire.Frame) []Crossed { return Evidence(frame, x) }

// Evidence is what crossed in some exchanges. That of one connection is in the order
// in which it crossed, with times from the first of it on, so that what came late is
// seen to be late.
func Evidence(frame *wire.Frame, xs ...*Exchange) []Crossed {
	var conns []int
	of := map[int][]moment{}
	for i, x := range xs {
		conn := x.Conn
		if conn == 0 {
			conn = -1 - i // on none
		}
		if of[conn] == nil {
			conns = append(conns, conn)
		}
		of[conn] = append(of[conn], x.moments(frame)...)
	}
	out := make([]Crossed, 0, len(xs))
	for _, conn := range conns {
		ms := of[conn]
		order.Stable(ms, func(a, b moment) int { return a.at.Compare(b.at) })
		for _, m := range ms {
			m.At = fmt.Sprintf("%dms", max(0, m.at.Sub(ms[0].at).Milliseconds()))
			out = append(out, m.Crossed)
		}
	}
	return out
}

// moment is one thing that crossed, and when.
type moment struct {
	Crossed
	at time.Time
}

// moments are what crossed in an exchange, in order.
func (x *Exchange) moments(frame *wire.Frame) []moment {
	var out []moment
	last := x.Start
	add := func(at time.Time, c Crossed) {
		if !at.Before(last) {
			last = at
		}
		out = append(out, moment{c, last}) // what has no time stands behind what it follows
	}
	if x.Sent != nil || x.SentHead != nil {
		c := Crossed{Dir: wire.ToServer.String(), HTTP: headLine(x.SentHead)}
		if x.Sent != nil {
			c.Text = cut(string(x.Sent.Raw))
			if !x.Sent.Time.IsZero() {
				last = x.Sent.Time
			}
		}
		if x.Request != nil && x.Request.bytes != nil {
			c.Text = cut(string(x.Request.bytes))
		}
		add(last, c)
	}
	head := headLine(x.Head)
	frames := x.Frames
	if len(frames) > maxCrossed {
		frames = frames[:maxCrossed]
		for _, f := range x.Frames[maxCrossed:] {
			if f == frame || f == x.Response {
				frames = append(frames, f)
			}
		}
	}
	for _, f := range frames {
		add(f.Time, Crossed{Dir: f.Dir.String(), Text: cut(string(f.Raw)), HTTP: head})
	}
	switch {
	case len(frames) > 0:
	case x.Head != nil:
		add(x.Head.Time, Crossed{Dir: wire.ToClient.String(), Text: cut(string(x.Body)), HTTP: head})
	case len(x.Body) > 0:
		add(x.End, Crossed{Dir: wire.ToClient.String(), Text: cut(string(x.Body)), HTTP: head})
	}
	if x.Response == nil && x.Err != nil {
		add(x.Ended, Crossed{Dir: wire.ToClient.String(), Text: "(" + x.Brief() + ")", HTTP: head})
	}
	return out
}

// headLine is an HTTP head in one line: what MCP looks at.
func headLine(h *wire.Head) string {
	if h == nil {
		return ""
	}
	var b strings.Builder
	if h.Method != "" {
		fmt.Fprintf(&b, "%s %s", h.Method, path(h.URL))
	} else {
		fmt.Fprintf(&b, "%d", h.Status)
		if h.Reason != "" {
			b.WriteString(" " + h.Reason)
		}
	}
	for _, f := range h.Header {
		if telling(f.Name) {
			fmt.Fprintf(&b, "; %s: %s", f.Name, clip(f.Value))
		}
	}
	return b.String()
}

// path is a URL from its path on, without what may be secret in its query.
func path(u string) string {
	if i := strings.Index(u, "://"); i >= 0 {
		u = u[i+3:]
		if i = strings.IndexByte(u, '/'); i < 0 {
			return "/"
		}
		u = u[i:]
	}
	u, _, _ = strings.Cut(u, "?")
	return u
}

// telling headers decide what a server does, or say what it did.
func telling(name string) bool {
	l := strings.ToLower(name)
	switch l {
	case "content-type", "origin", "host", "allow", "last-event-id", "x-accel-buffering", "accept", "www-authenticate":
		return true
	}
	return strings.HasPrefix(l, "mcp-") || strings.HasPrefix(l, "access-control-")
}

func cut(s string) string {
	s = hideSecrets(s)
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf("… (%d bytes in all)", len(s))
}
