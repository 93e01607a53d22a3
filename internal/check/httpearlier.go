// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const httpEarlier = httpPage + "#earlier-streamable-http-revisions"

// httpEarlierRules are those of what clients of earlier revisions send, and
// this one does not have. A server that serves those revisions too is exempt.
var httpEarlierRules = []Rule{
	{
		Info: rule.Info{
			ID: "transport-http.get-405", Level: rule.Should, Basis: rule.Keyword, Section: httpEarlier, Transport: "http",
			Title: "a server of this revision alone answers GET with 405",
			Why:   "an older client that opens a standing stream waits on it for messages that never come",
			Fix:   "answer HTTP 405 to GET on the endpoint",
		},
		In: modern, Check: getNotAllowed,
		Break: Break{Base: modernServer, Faults: []mock.Fault{mock.On(http.MethodGet).Status(http.StatusNotFound)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.delete-405", Level: rule.Should, Basis: rule.Keyword, Section: httpEarlier, Transport: "http",
			Title: "a server of this revision alone answers DELETE with 405",
			Why:   "an older client believes that it ended a session, which does not exist",
			Fix:   "answer HTTP 405 to DELETE on the endpoint, whether or not it names a session",
		},
		In: modern, Check: deleteNotAllowed,
		Break: Break{Base: modernServer, Faults: []mock.Fault{mock.On(http.MethodDelete).Status(http.StatusNoContent)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.get-405-allow-header", Level: rule.Should, Basis: rule.Prose, Section: httpEarlier, Transport: "http",
			Title: "a 405 names the allowed methods in Allow",
			Why:   "whoever probes the endpoint cannot tell that POST works; HTTP demands the header (RFC 9110, section 15.5.6)",
			Fix:   "send Allow: POST with HTTP 405",
		},
		In: modern, Watch: allowHeader, Stir: func(c *probe.Case) { bare(c, http.MethodGet, true) },
		Break: Break{Faults: []mock.Fault{mock.On(http.MethodGet).Header("Allow", ""), mock.On(http.MethodDelete).Header("Allow", "")}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.session-id-ignored", Level: rule.Should, Basis: rule.Keyword, Section: httpEarlier, Transport: "http",
			Title: "an Mcp-Session-Id on a request has no effect",
			Why:   "a client that kept its session from before an upgrade is refused, though it needs none any more",
			Fix:   "do not read Mcp-Session-Id on requests of this revision",
		},
		In: modern, Check: sessionIgnored,
		Break: Break{
			Base:   modernServer,
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.HasHeader(spec.HeaderSessionID)).Status(http.StatusNotFound)},
		},
	},
	{
		Info: rule.Info{
			ID: "transport-http.session-id-not-minted", Level: rule.Should, Basis: rule.Keyword, Section: httpEarlier, Transport: "http",
			Title: "no answer has an Mcp-Session-Id",
			Why:   "clients and balancers tie themselves to a session that the server does not have",
			Fix:   "do not set Mcp-Session-Id on answers to requests of this revision",
		},
		In: modern, Watch: sessionNotMinted,
		Break: Break{Base: modernServer, Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Header(spec.HeaderSessionID, "s1")}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.last-event-id-ignored", Level: rule.Should, Basis: rule.Keyword, Section: httpEarlier, Transport: "http",
			Title: "a Last-Event-ID on a request has no effect",
			Why:   "a client that reconnects is refused, or gets events of another stream",
			Fix:   "do not read Last-Event-ID on requests of this revision",
		},
		In: modern, Check: lastEventIgnored,
		Break: Break{
			Base:   modernServer,
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.HasHeader(spec.HeaderLastEventID)).Status(http.StatusBadRequest)},
		},
	},
}

// bare sends an HTTP request without a message, as a client of an earlier
// revision does, and waits for the head of the response alone: a standing
// stream never ends.
func bare(c *probe.Case, verb string, versioned bool, header ...string) *probe.Exchange {
	r := c.Request(verb, "").Verb(verb)
	if versioned {
		r = r.Header(spec.HeaderProtocolVersion, c.Probe().Revision().String())
	}
	for i := 0; i+1 < len(header); i += 2 {
		r = r.Header(header[i], header[i+1])
	}
	s := c.Start(nil, r)
	x, _ := s.Until(headPatience, func(x *probe.Exchange) bool { return x.Head != nil })
	s.Close()
	return x
}

// headPatience bounds the wait for the head of a response.
const headPatience = 3 * time.Second

// exemptEarlier skips a case whose server serves the handshake era too. It is
// asked only once something is not as it should be.
func exemptEarlier(c *probe.Case) bool {
	if servesHandshake(c) {
		c.Skip("the server serves the handshake era too, which has sessions, GET and DELETE")
		return true
	}
	return false
}

// notAllowed judges GET and DELETE. With the version header a server of both
// eras has no doubt which of them is meant.
func notAllowed(c *probe.Case, verb string, header ...string) (ok bool) {
	x := bare(c, verb, false, header...)
	if x.Status() == spec.StatusMethodNotAllowed {
		c.Pass(x)
		return true
	}
	if y := bare(c, verb, true, header...); y.Status() == spec.StatusMethodNotAllowed {
		c.Pass(y)
		return true
	}
	if exemptEarlier(c) {
		return false
	}
	if x.Head == nil {
		c.Fail(x, "%s was not answered: %s", verb, x.Brief())
		return false
	}
	c.Fail(x, "%s was answered by HTTP %d, not by 405", verb, x.Status())
	return false
}

func getNotAllowed(c *probe.Case) { notAllowed(c, http.MethodGet) }

func deleteNotAllowed(c *probe.Case) {
	if notAllowed(c, http.MethodDelete) {
		notAllowed(c, http.MethodDelete, spec.HeaderSessionID, noSession)
	}
}

// noSession is a session that no server gave out.
const noSession = "mcprove-no-such-session"

func allowHeader(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.SentHead == nil || x.SentHead.Method == http.MethodPost || x.Status() != spec.StatusMethodNotAllowed {
			continue
		}
		if _, ok := x.Head.Lookup("Allow"); ok {
			c.Pass(x)
			continue
		}
		c.Fail(x, "the HTTP 405 to %s has no Allow header", x.SentHead.Method)
		return
	}
	c.Unseen("nothing was answered by HTTP 405")
}

// ignored judges a header of earlier revisions on an ordinary request.
func ignored(c *probe.Case, name, value string) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	x := c.Once(plain.Header(name, value))
	switch {
	case x.OK():
		c.Pass(x)
	case exemptEarlier(c):
	default:
		c.Fail(x, "%s with %s was answered by %s", plain.Method, name, x.Brief()).And(c.Once(plain))
	}
}

func sessionIgnored(c *probe.Case) { ignored(c, spec.HeaderSessionID, noSession) }

func lastEventIgnored(c *probe.Case) { ignored(c, spec.HeaderLastEventID, "5") }

// sessionNotMinted looks at answers to requests of this revision. A server of
// both eras may have its reasons.
func sessionNotMinted(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if x.Head == nil || x.Revision().Era() != spec.Modern {
			continue
		}
		// By its header, or without one, it is a request of the handshake era, and
		// there are servers that go by that.
		if v, err := spec.ParseRevision(x.SentHead.Get(spec.HeaderProtocolVersion)); err != nil || v.Era() != spec.Modern {
			continue
		}
		v, minted := x.Head.Lookup(spec.HeaderSessionID)
		switch {
		case !minted:
			c.Pass(x)
		case t.Facts.Legacy():
			c.Note(x, "the answer to %s has an %s; the server serves the handshake era too", x.Method, spec.HeaderSessionID)
			return
		case sentSession(x) == v && v != "":
			c.Fail(x, "the answer to %s repeats the %s of the request", x.Method, spec.HeaderSessionID)
			return
		default:
			c.Fail(x, "the answer to %s has an %s", x.Method, spec.HeaderSessionID)
			return
		}
	}
	c.Unseen("no answer was seen")
}

func sentSession(x *probe.Exchange) string { return x.SentHead.Get(spec.HeaderSessionID) }
