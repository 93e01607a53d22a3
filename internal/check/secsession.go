// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// secSessionRules are those of sessions that somebody else gets into.
var secSessionRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.session-entropy", Level: rule.Must, Basis: rule.Harm, Section: sessionPage, Transport: "http",
			Title: "the ids of sessions have enough that is random",
			Why:   "whoever guesses the id of another client's session reads its messages, and acts in its name",
			Fix:   "make the id of 128 bits from a cryptographically secure source, such as a random UUID",
			Detail: "judged by the ids of two dozen sessions. It fails where they count on; it is a warning where fewer than 96 bits vary among them, " +
				"by the places that differ and the alphabet used there. What varies may still be predictable",
		},
		In: streamable, Check: sessionEntropy, Apart: true, Under: []string{"session.id-secure"},
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).SessionID("tide-{{number}}")}, Also: []string{"session.id-secure"}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).SessionID("tide-{{short}}")}}},
	},
	{
		Info: rule.Info{
			ID: "sec.sse-session-fallback", Level: rule.MustNot, Basis: rule.Harm, Section: sessionPage, Transport: "http",
			Title: "a request without a session is not taken for one of a session that is open",
			Why:   "what a stranger asks is done in the name of the user who is connected, and answered to them",
			Fix:   "refuse a request without Mcp-Session-Id with HTTP 400; never choose a session for it",
		},
		In: streamable, Check: sessionFallback,
		Break: Break{Faults: []mock.Fault{mock.On("").Lenient(mock.CheckSessionFallback)}, Also: []string{"session.missing-400", "http-legacy.get-no-response", "transport-http.request-content-type"}},
	},
}

// Bounds on the ids of sessions.
const (
	entropySessions = 24
	entropyBits     = 96
)

func sessionEntropy(c *probe.Case) {
	if !stateful(c) {
		return
	}
	var ids []string
	var xs []*probe.Exchange
	for range entropySessions {
		conn := c.Dial()
		if conn == nil {
			return
		}
		x := c.SendOn(conn, c.Probe().Hello("{}"))
		conn.Adopt(x)
		if conn.Session() == "" {
			c.Skip("only %d sessions could be opened: %s", len(ids), x.Brief())
			return
		}
		ids, xs = append(ids, conn.Session()), append(xs, x)
		conn.Close(c.Context())
	}
	bits := varied(ids)
	switch what := guessable(ids); {
	case what != "":
		c.Fail(xs[len(xs)-1], "ids of sessions that were opened one after the other %s: %s", what, strings.Join(allQuoted(ids[len(ids)-3:]), ", ")).And(xs[0])
	case bits < entropyBits:
		c.Warn(xs[len(xs)-1], "%d ids of sessions vary in about %.0f bits: %s", len(ids), bits, strings.Join(allQuoted(ids[len(ids)-3:]), ", ")).And(xs[0])
	default:
		c.Pass(xs[0])
	}
}

func sessionFallback(c *probe.Case) {
	if !stateful(c) {
		return
	}
	owner := c.Open()
	if owner == nil {
		return
	}
	stream, x := openStanding(c, owner)
	defer stream.Close()
	if !x.Streamed() {
		streamRefused(c, x)
		return
	}
	stranger := c.Dial()
	if stranger == nil {
		return
	}
	const id = `"mcprove-stranger"`
	r := c.Request(spec.MethodPing, "").WithID(id).Header(spec.HeaderProtocolVersion, c.Probe().Revision().String()).Planting("no " + spec.HeaderSessionID)
	if _, has := spec.HeaderAt(spec.HeaderProtocolVersion, c.Probe().Revision()); !has {
		r = r.NoHeader(spec.HeaderProtocolVersion)
	}
	asked := c.Start(stranger, r)
	mine := func(x *probe.Exchange) bool {
		for _, f := range x.Frames {
			if string(f.Message().ID) == id {
				return true
			}
		}
		return false
	}
	heard, got := stream.Until(c.Probe().Quiet(), mine)
	if !got {
		c.Pass(asked.Now())
		return
	}
	c.Fail(heard, "the answer to a request of a stranger, who named no session, came on the stream of another client's session").And(asked.Now())
}
