// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"slices"

	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// A server may end a session whenever it wants to, and says so by HTTP 404; its
// client begins another one
// (2025-11-25/basic/transports#session-management). Servers do that which keep
// so many sessions, or keep them for so long.

// maxSessions bounds how often the shared connection begins another session.
const maxSessions = 200

// mostAnew bounds how often one request is sent in another session.
const mostAnew = 3

// endedBy reports whether an exchange was refused because the server had ended the
// session of its connection: a request is refused so too that works elsewhere, and
// the session has worked before.
func (c *Conn) endedBy(ctx context.Context, x *Exchange) bool {
	if !c.mayHaveEnded(x) {
		return false
	}
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if over {
		return true
	}
	control := c.probe.served()
	if control == "" {
		return false
	}
	y := c.exchange(ctx, c.probe.Request(control, ""))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = c.over || y.Status() == spec.StatusSessionEnded
	return c.over
}

// served is a method that the server has served, the plainest one or that of a
// list, empty where there is none.
func (p *Probe) served() string {
	p.mu.Lock()
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	plain := []string{p.Plainest()}
	for _, f := range families {
		plain = append(plain, f.method)
	}
	for _, c := range conns {
		c.mu.Lock()
		i := slices.IndexFunc(c.calls, func(k *call) bool { return k.x.OK() && slices.Contains(plain, k.x.Method) })
		var method string
		if i >= 0 {
			method = c.calls[i].x.Method
		}
		c.mu.Unlock()
		if method != "" {
			return method
		}
	}
	return ""
}

// mayHaveEnded reports whether an exchange looks like one in a session that the
// server has ended.
func (c *Conn) mayHaveEnded(x *Exchange) bool {
	if x.Status() != spec.StatusSessionEnded || x.SentHead == nil || c.conn == nil || c.conn.Kind() != transport.StreamableHTTP {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != "" && !c.ended && x.SentHead.Get(spec.HeaderSessionID) == c.session && c.worked()
}

// worked reports whether anything was served in the session. The lock is held.
func (c *Conn) worked() bool {
	if c.initialized != nil && c.initialized.Status() >= 200 && c.initialized.Status() < 300 {
		return true
	}
	return slices.ContainsFunc(c.calls, func(k *call) bool { return k.x.Method != spec.MethodInitialize && k.x.OK() })
}

// lapsed reports whether an exchange was refused because its session was over.
// The lock is held.
func (c *Conn) lapsed(x *Exchange) bool {
	return c.over && x.Status() == spec.StatusSessionEnded && x.SentHead != nil && x.SentHead.Get(spec.HeaderSessionID) == c.session
}

// anew begins another session on the shared connection in place of one that is
// over, where nobody else has done so meanwhile. It is nil when that fails.
func (p *Probe) anew(ctx context.Context, over *Conn) *Conn {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if c := p.Shared(); c != over {
		return c
	}
	if p.sessions++; p.sessions > maxSessions {
		return nil
	}
	fresh, err := p.open(ctx)
	if err != nil || fresh.Agreed() != over.Agreed() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shared = fresh
	return fresh
}

// connOf is the connection of an exchange, nil where it has none.
func (p *Probe) connOf(x *Exchange) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.IndexFunc(p.conns, func(c *Conn) bool { return c.n == x.Conn }); i >= 0 {
		return p.conns[i]
	}
	return nil
}

// lapsed skips the case where an exchange was refused because the server had
// ended its session, of which nothing follows.
func (c *Case) lapsed(x *Exchange) bool {
	if c.probe == nil || x.Status() != spec.StatusSessionEnded {
		return false
	}
	if conn := c.probe.connOf(x); conn == nil || !conn.endedBy(c.ctx, x) {
		return false
	}
	c.Skip("the server ended the session in which it was judged, as it may")
	return true
}
