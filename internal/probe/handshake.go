// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"net/http"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Legacy reports whether the revision that is judged has the handshake.
func (p *Probe) Legacy() bool { return p.o.Revision.Era() == spec.Legacy }

// GreetingMethod is the request by which a revision tells a client what the
// server is.
func GreetingMethod(r spec.Revision) string {
	if r.Era() == spec.Legacy {
		return spec.MethodInitialize
	}
	return spec.MethodDiscover
}

// Plainest is the request that every server of the revision answers.
func (p *Probe) Plainest() string {
	if p.Legacy() {
		return spec.MethodPing
	}
	return spec.MethodDiscover
}

// Hello is the initialize of a client with capabilities, a JSON object.
func (p *Probe) Hello(capabilities string) *Request {
	version := p.o.Version
	if version == "" {
		version = "0.0.0"
	}
	return p.Request(spec.MethodInitialize, "").
		Param("protocolVersion", string(jsonx.Quote(p.o.Revision.String()))).
		Param("capabilities", capabilities).
		Param("clientInfo", `{"name":"mcprove","version":`+string(jsonx.Quote(version))+`}`)
}

// Greet does the handshake on a fresh connection, as a client with capabilities
// does: initialize, and where the revision is agreed on initialized. It returns
// the answer to initialize.
func (c *Conn) Greet(ctx context.Context, capabilities string) *Exchange {
	c.mu.Lock()
	c.reply = ReplyAs(capabilities)
	c.mu.Unlock()
	x := c.exchange(ctx, c.probe.Hello(capabilities))
	if c.Adopt(x) == c.probe.o.Revision {
		sent := c.exchange(ctx, c.probe.Notification(spec.NotificationInitialized))
		c.mu.Lock()
		c.initialized = sent
		c.mu.Unlock()
	}
	return x
}

// Adopt takes over what an answer to initialize agrees on: the revision, zero
// where it names none of the era, and the session. Requests on the connection
// carry both from then on.
func (c *Conn) Adopt(x *Exchange) spec.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greeting = x
	c.agreed, c.session, c.over = 0, "", false
	if r, err := spec.ParseRevision(Text(x.Member("protocolVersion"))); err == nil && x.OK() && r.Era() == spec.Legacy {
		c.agreed = r
	}
	if x.Head != nil && x.OK() {
		c.session = x.Head.Get(spec.HeaderSessionID)
	}
	return c.agreed
}

// Answering sets what is answered to requests of the server; nil answers none.
func (c *Conn) Answering(r Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reply = r
}

// Greeting is the answer to initialize on a connection; nil where there was none.
func (c *Conn) Greeting() *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeting
}

// Initialized is the notification that ended the handshake; nil where there was
// none.
func (c *Conn) Initialized() *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.initialized
}

// Agreed is the revision of the handshake, zero without one.
func (c *Conn) Agreed() spec.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agreed
}

// Session is the id of the session, empty where there is none.
func (c *Conn) Session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Shared is the connection that all checks share, as it is now.
func (p *Probe) Shared() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shared
}

// inSession are the headers that a request carries because of the handshake
// (2025-11-25/basic/transports#session-management, #protocol-version-header),
// but for those that it sets or leaves out itself.
func (c *Conn) inSession(r *Request) []wire.HeaderField {
	if c.conn.Kind() != transport.StreamableHTTP || r.Revision.Era() != spec.Legacy || r.Method == spec.MethodInitialize {
		return nil
	}
	c.mu.Lock()
	session, agreed := c.session, c.agreed
	c.mu.Unlock()
	var out []wire.HeaderField
	add := func(name, value string) {
		for _, n := range r.without {
			if strings.EqualFold(n, name) {
				return
			}
		}
		out = append(out, wire.HeaderField{Name: name, Value: value})
	}
	if session != "" {
		add(spec.HeaderSessionID, session)
	}
	if _, has := spec.HeaderAt(spec.HeaderProtocolVersion, agreed); has {
		add(spec.HeaderProtocolVersion, agreed.String())
	}
	return out
}

// bye ends the session of a connection, as a client that leaves does.
func (c *Conn) bye(ctx context.Context) {
	c.mu.Lock()
	has := c.session != "" && !c.ended && !c.over && !c.isLost && c.conn.Kind() == transport.StreamableHTTP
	c.mu.Unlock()
	if has && c.probe.Down() == nil {
		c.exchange(ctx, c.EndSession())
	}
}

// EndSession is the DELETE by which a client ends its session.
func (c *Conn) EndSession() *Request {
	return &Request{Revision: c.probe.o.Revision, noID: true, verb: http.MethodDelete}
}

// Dial makes a connection of the case's own on which no handshake was done. It
// is nil, and the case skipped, when that fails. It is closed with the case.
func (c *Case) Dial() *Conn {
	if !c.further() {
		return nil
	}
	conn, err := c.probe.dial(c.ctx)
	if err != nil {
		c.Skip("a further connection could not be opened: %v", err)
		return nil
	}
	c.conns = append(c.conns, conn)
	return conn
}

// OpenAs is [Case.Open] for a client with capabilities, a JSON object, which
// answers what it is asked; see [ReplyTo].
func (c *Case) OpenAs(capabilities string) *Conn {
	conn := c.Dial()
	if conn == nil {
		return nil
	}
	if !c.probe.Legacy() {
		return conn
	}
	if x := c.seen(conn.Greet(c.ctx, capabilities)); conn.Agreed() != c.probe.o.Revision {
		c.Disagreed(x)
		return nil
	}
	return conn
}

// RuleVersionEcho is the id of the rule that says that a server agrees on the
// version it is asked for, where it has it.
const RuleVersionEcho = "lifecycle.version-echo"

// Disagreed skips the case because a further handshake did not end in the
// revision that is judged, as x shows: it failed, or the server agrees on
// another one than it did before.
func (c *Case) Disagreed(x *Exchange) {
	if version := Text(x.Member("protocolVersion")); x.OK() && version != "" && c.info.ID != RuleVersionEcho {
		c.SkipFor(RuleVersionEcho, "a further client asked for %s, and initialize was answered with %s", c.probe.o.Revision, clip(version))
		return
	}
	c.Lacks(x)
}
