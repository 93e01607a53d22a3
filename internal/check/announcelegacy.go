// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// stirTold lets the server tell of changes: to subscriptions, or in the
// handshake era to connections.
func stirTold(c *probe.Case) {
	if !c.Probe().Legacy() {
		stirSubscriptions(c)
		return
	}
	c.CapableCalls()
	if tells(c.Facts()) {
		witnessing(c)
	}
}

// witnessing is the witness of one run.
func witnessing(c *probe.Case) *witness {
	return probe.Share(c.Probe(), "changes", func() *witness { return witnessChanges(c) })
}

// handshake witnesses changes on a connection of the handshake era: it has
// nothing to ask for but updates of resources, and over HTTP a stream to open.
func (w *witness) handshake(c *probe.Case) {
	if w.conn = c.Open(); w.conn == nil {
		w.failed = "a further connection could not be opened"
		return
	}
	w.listen, w.acknowledged = w.conn.Greeting(), true
	standing := c.Stand(w.conn)
	if w.deaf = c.HTTP() && standing == nil; standing != nil {
		w.listen = standing.Now()
	}
	if !c.Facts().Declares("resources.subscribe") {
		w.uris = nil
	}
	for _, uri := range w.uris {
		x := c.SendOn(w.conn, c.Request(spec.MethodResourcesSubscribe, "").Param("uri", string(jsonx.Quote(uri))))
		if !x.OK() {
			w.refusal = x
			break
		}
	}
	w.look(c, w.before, 0, "before-calls")
	w.call(c)
	w.look(c, w.after, 1, afterMark)
	w.heard = map[string]bool{}
	for _, r := range c.Overhear(w.conn, func(m *wire.Message) bool { return m.Kind == wire.Notification }) {
		w.heard[r.Message().Method] = true
	}
	if standing != nil {
		w.listen = standing.Now()
	}
}

// told reports whether a notification came.
func (w *witness) told(notification string) bool {
	return w.heard[notification] || len(w.listen.Notifications(notification)) > 0
}

// open says in words what was open.
func (w *witness) open() string {
	if w.conn != nil {
		return "a client was connected that listens for changes"
	}
	return "a subscription to changes of it was open"
}
