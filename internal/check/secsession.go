// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// secSessionRules are those of sessions that somebody else gets into.
var secSessionRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.session-entropy", Level: rule.Must, Basis: rule.Harm, Section: sessionPage, Transport: "http",
			Title: "the ids of sessions have enough that is random",
			Why:   "whoever guesses the id of another client's session reads its messages, and acts in its name",
			Fix:   "make the id of 128 bits from a cryptographically secure source, such as a random UUID",
			Detail: "judged by the ids of two dozen sessions. It fails where they count on; it is a warning where fewer than 72 bits vary among them, " +
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
		In: streamable, Stir: askAsStranger, Watch: sessionFallback,
		Break: Break{Faults: []mock.Fault{mock.On("").Lenient(mock.CheckSessionFallback)}, Also: []string{"session.missing-400", "http-legacy.get-no-response", "transport-http.request-content-type"}},
	},
}

// Bounds on the ids of sessions.
const (
	entropySessions = 24
	entropyBits     = 72 // a UUID of version 7 has 74
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

// strangerID is that of a request of somebody who has no session.
const strangerID = `"mcprove-stranger"`

// askAsStranger sends it while one client at least has a stream open.
func askAsStranger(c *probe.Case) {
	if !stateful(c) {
		return
	}
	owner, other := c.Open(), c.Dial()
	if owner == nil || other == nil {
		return
	}
	stream, x := openStanding(c, owner)
	defer stream.Close()
	if !x.Streamed() {
		return
	}
	r := c.Request(spec.MethodPing, "").WithID(strangerID).Header(spec.HeaderProtocolVersion, c.Probe().Revision().String()).Planting("no " + spec.HeaderSessionID)
	if _, has := spec.HeaderAt(spec.HeaderProtocolVersion, c.Probe().Revision()); !has {
		r = r.NoHeader(spec.HeaderProtocolVersion)
	}
	c.Start(other, r)
	stream.Until(c.Probe().Quiet(), answersStranger)
}

func answersStranger(x *probe.Exchange) bool {
	return slices.ContainsFunc(x.Frames, func(f *wire.Frame) bool { return string(f.Message().ID) == strangerID })
}

// sessionFallback looks on the streams of all clients of the run: which of them a
// server takes a stranger for is its own choice.
func sessionFallback(c *probe.Case, t *probe.Traffic) {
	i := slices.IndexFunc(t.Exchanges, func(x *probe.Exchange) bool { return string(x.ID) == strangerID })
	if i < 0 {
		c.Skip("nobody could be asked without a session while a client has a stream open: the server gives out no %s, or opens no stream for GET", spec.HeaderSessionID)
		return
	}
	for _, x := range t.Exchanges {
		if x.Method == http.MethodGet && answersStranger(x) {
			c.Fail(x, "the answer to a request of a stranger, who named no session, came on the stream of another client's session").And(t.Exchanges[i])
			return
		}
	}
	c.Pass(t.Exchanges[i])
}
