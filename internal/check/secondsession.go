// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// otherClient is what a second client of the server did, one thing after the
// other on one connection: over stdio each connection is a process, and several
// rules need one of their own. What may leave a trace comes last.
type otherClient struct {
	unopened bool
	greeting *probe.Exchange // the answer to its initialize
	agreed   bool
	first    *probe.Exchange   // the plainest request that the first client was served
	levels   []*probe.Exchange // logging/setLevel with each level, the most silent first
	watched  []*probe.Exchange // resources/subscribe, until one was served
	left     *probe.Exchange   // resources/unsubscribe of that one, nil without
	noLevel  *probe.Exchange   // logging/setLevel with a level that does not exist
	// A second initialize: a request before it, itself, and the request again.
	good, again, after *probe.Exchange
}

// secondSession is made once for all rules. It is nil, and the case skipped,
// where the handshake of a second client fails.
func secondSession(c *probe.Case) *otherClient {
	o := secondAct(c)
	switch {
	case o == nil:
	case o.unopened:
		c.Skip("a further connection could not be opened")
	case !o.agreed:
		c.Disagreed(o.greeting)
	default:
		return o
	}
	return nil
}

// secondAct is secondSession however the handshake ended.
func secondAct(c *probe.Case) *otherClient {
	g := c.Facts().Greeting
	if !g.OK() {
		c.Lacks(g)
		return nil
	}
	return probe.Share(c.Probe(), "second session", func() *otherClient { return actSecond(c) })
}

func actSecond(c *probe.Case) *otherClient {
	conn := c.Dial()
	if conn == nil {
		return &otherClient{unopened: true}
	}
	o := &otherClient{greeting: conn.Greet(c.Context(), "{}")}
	if o.agreed = conn.Agreed() == c.Probe().Revision(); !o.agreed {
		return o
	}
	r := c.Request(spec.MethodPing, "")
	if known := lists(c); len(known) > 0 {
		r = c.Request(known[0].Method, "")
	}
	o.first = c.SendOn(conn, marked(r, markFurther))
	if c.Facts().Declares("logging") {
		names := spec.LogLevels()
		for i := range names { // it ends on the level that holds nothing back
			o.levels = append(o.levels, c.SendOn(conn, setLevel(c, names[len(names)-1-i])))
		}
	}
	if c.Facts().Declares("resources.subscribe") {
		o.watch(c, conn)
	}
	if !c.Probe().Mine() {
		return o
	}
	if c.Facts().Declares("logging") {
		o.noLevel = c.SendOn(conn, setLevel(c, noLevel).Planting("a log level that does not exist"))
	}
	o.good = c.SendOn(conn, r)
	o.reinitialize(c, conn, r)
	return o
}

func setLevel(c *probe.Case, level string) *probe.Request {
	return c.Request(spec.MethodSetLevel, "").Param("level", string(jsonx.Quote(level)))
}

// watch tries resource after resource: a server may watch some of them and not
// others. What holds for all of them ends it.
func (o *otherClient) watch(c *probe.Case, conn *probe.Conn) {
	for _, uri := range resourceURIs(c) {
		x := c.SendOn(conn, ofURI(c, spec.MethodResourcesSubscribe, uri))
		o.watched = append(o.watched, x)
		if x.OK() {
			o.left = c.SendOn(conn, ofURI(c, spec.MethodResourcesUnsubscribe, uri))
			return
		}
		if _, coded := x.Code(); !coded || x.Is(spec.CodeMethodNotFound) || busy(x) {
			return
		}
	}
}

func ofURI(c *probe.Case, method, uri string) *probe.Request {
	return c.Request(method, "").Param("uri", string(jsonx.Quote(uri)))
}

func (o *otherClient) reinitialize(c *probe.Case, conn *probe.Conn, r *probe.Request) {
	session := conn.Session()
	hello := marked(c.Probe().Hello("{}"), markAgain).Planting("a second initialize in one session")
	if session != "" {
		hello = hello.Header(spec.HeaderSessionID, session)
	}
	o.again = c.SendOn(conn, hello)
	if o.again.Silent() || o.again.Died() {
		return
	}
	initialized := c.Probe().Notification(spec.NotificationInitialized)
	if o.again.OK() {
		c.SendOn(conn, initialized) // which the client of a new handshake sends
	}
	o.after = c.SendOn(conn, marked(r, markAgain))
	fresh := sessionIn(o.again)
	if fresh == "" || fresh == session {
		return
	}
	if !o.after.OK() {
		// The old session may have given way to a new one.
		conn.Adopt(o.again)
		c.SendOn(conn, initialized)
		o.after = c.SendOn(conn, marked(r, markAgain))
	}
	for _, id := range []string{session, fresh} {
		if id != "" {
			c.SendOn(conn, conn.EndSession().Header(spec.HeaderSessionID, id))
		}
	}
}

// sessionIn is the session that an answer opens.
func sessionIn(x *probe.Exchange) string {
	if x.Head == nil || !x.OK() {
		return ""
	}
	return x.Head.Get(spec.HeaderSessionID)
}
