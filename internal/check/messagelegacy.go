// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const ruleErrorID = "jsonrpc.error-id-match"

// messageLegacyRules are those of messages that only revisions of the handshake
// era have.
var messageLegacyRules = []Rule{
	{
		Info: rule.Info{
			ID: "jsonrpc.error-id-required-legacy", Level: rule.Must, Basis: rule.Schema, Section: "2025-06-18/schema#jsonrpcerror",
			Title: "an error has an id, a string or an integer",
			Why:   "clients that check messages by the schema drop the error, and wait for an answer",
			Fix:   "read the id of a request before you refuse it, and put it into the error",
			Detail: "An error to what has no id that could be read has no form in these revisions, so it is left alone. " +
				"One that may have been given by the headers alone is for information.",
		},
		In: spec.Range{Until: spec.Rev20250618}, Watch: errorIDRequired, Stir: refuseUnderID, Under: []string{ruleErrorID},
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Remove("/id")}, Also: []string{ruleErrorID}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.request-id-unique-session", Level: rule.MustNot, Basis: rule.Keyword, Section: "2025-11-25/basic#requests",
			Title: "no id is used for two requests of the server in one session",
			Why:   "a late answer to the first request is taken for one to the second",
			Fix:   "count ids up for as long as the session lasts, or make them random",
		},
		In: handshakeEra, Watch: requestIDUnique, Stir: stirAsks, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPing).OfResult().Request(spec.MethodPing, "{}", `"mcprove-p"`)}},
	},
	{
		Info: rule.Info{
			ID: "meta.reserved-prefix-2025-06", Level: rule.MustNot, Basis: rule.Keyword, Section: "2025-06-18/basic#_meta",
			Title: "no key is made up under a prefix that belongs to the protocol, such as mcp.dev/",
			Why:   "a later revision may define the key, and clients will read your value as if it were theirs",
			Fix:   "use a prefix of your own domain",
		},
		In: spec.Range{Since: spec.Rev20250618, Until: spec.Rev20250618}, Watch: reservedPrefix, Stir: discoverUnderIDs,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPing).When(mock.IDIs("string")).OfResult().Set("/result/_meta/tools.mcp.dev~1x", "1")}},
	},
}

func errorIDRequired(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages(wire.ErrorResponse) {
		m, x := r.Message(), r.Exchange
		if _, has := m.Key(); has {
			c.Pass(x)
			continue
		}
		if x == nil || !isMessage(r.Frame) {
			continue // an error of nobody's answers what could not be read, or has a rule of its own
		}
		switch sent, ok := sentRequest(x); {
		case !ok, len(sent.Faults) > 0:
			// There is nothing to repeat.
		case mustRepeatID(x):
			c.Fail(x, "the error to %s has the id %.60s, not a string or an integer", x.Method, shownID(m)).In(r.Frame, "/id")
		default:
			c.Note(x, "the error to %s has the id %.60s, not a string or an integer; it may have been given before the message was read", x.Method, shownID(m)).In(r.Frame, "/id")
		}
	}
	c.Unseen("no error was seen")
}

// requestIDUnique looks at each session, which a second initialize begins anew.
// Over HTTP a server that opens none has no session in which an id could come
// again.
func requestIDUnique(c *probe.Case, t *probe.Traffic) {
	type use struct {
		session string
		begun   int
		id      wire.IDKey
	}
	begins := sessionBegins(t)
	seen := map[use]sessionFrame{}
	l := ledger{c: c}
	for _, r := range receivedIn(t) {
		m := r.Message()
		key, ok := m.Key()
		if m.Kind != wire.Request || !ok || otherwiseWrong(m) || redelivered(r.Exchange) || t.Transport == transport.StreamableHTTP && !r.named {
			continue
		}
		u := use{r.session, begun(begins[r.session], &r), key}
		before, twice := seen[u]
		if !twice {
			seen[u] = r
			c.Pass(r.Exchange)
			continue
		}
		l.fail("", string(m.ID), r.Exchange, "the server used the id %.60s for %s and for %s in one session", m.ID, brief(before.Message().Method), brief(m.Method)).
			In(r.Frame, "/id").And(before.Exchange)
	}
	l.close()
	c.Unseen("the server sent no request")
}

// sessionBegins are the initializes of each session that were answered well.
func sessionBegins(t *probe.Traffic) map[string][]*probe.Exchange {
	out := map[string][]*probe.Exchange{}
	for _, x := range t.Exchanges {
		if x.Method == spec.MethodInitialize && x.OK() {
			session, _ := sessionOf(x)
			out[session] = append(out[session], x)
		}
	}
	return out
}

// begun counts the initializes that a frame of their session may have come after.
func begun(initializes []*probe.Exchange, r *sessionFrame) (n int) {
	for _, x := range initializes {
		if r.Exchange != nil && x.Turn <= r.Exchange.Turn || r.Exchange == nil && x.Start.Before(r.Time) {
			n++
		}
	}
	return n
}

// otherwiseWrong reports whether a request has no business to have its id: a
// notification, or an id of another form. Rules of their own say so.
func otherwiseWrong(m *wire.Message) bool {
	return strings.HasPrefix(m.Method, "notifications/") || m.Has(wire.FaultIDType)
}

// redelivered reports whether what came in an exchange may have been sent
// before, on a stream that broke.
func redelivered(x *probe.Exchange) bool {
	return x != nil && x.SentHead != nil && x.SentHead.Get(spec.HeaderLastEventID) != ""
}
