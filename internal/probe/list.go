// SPDX-License-Identifier: Apache-2.0

package probe

// elsewhere is a further connection that all checks share.
type elsewhere struct {
	once once
	conn *Conn
	err  error
}

// Elsewhere is a connection beside the shared one, over stdio another process.
// It is opened once for all checks, and they do it no harm. When it cannot be
// opened the case is skipped, and ok is false.
func (c *Case) Elsewhere() (conn *Conn, ok bool) {
	if !c.further() {
		return nil, false
	}
	e := &c.probe.elsewhere
	e.once.Do(func() { e.conn, e.err = c.probe.open(c.ctx) })
	if e.err != nil {
		c.Skip("a further connection could not be opened: %v", e.err)
		return nil, false
	}
	if c.probe.Legacy() && e.conn.Agreed() != c.probe.o.Revision {
		c.Lacks(e.conn.Greeting())
		return nil, false
	}
	return e.conn, true
}

// UnseenFor is [Case.Unseen] because of another rule's failure.
func (c *Case) UnseenFor(id, format string, args ...any) {
	if c.Unjudged() {
		c.SkipFor(id, format, args...)
	}
}

// UnseenOf is [Case.Unseen] for a rule that looks at the results of a method,
// and says why there are none: the server does not declare it, or it does not
// work, which another rule says.
func (c *Case) UnseenOf(t *Traffic, method string) {
	f := t.Facts
	for _, fam := range families {
		if fam.method == method && f.Capabilities != nil && !f.Declares(fam.capability) {
			c.Unseen("the server declares no %s", fam.capability)
			return
		}
	}
	l := f.List(method)
	if l.Whole && l.OK() && len(l.Items) == 0 {
		c.Unseen("%s gave an empty list", method)
		return
	}
	for _, x := range l.Pages {
		if x.Busy() {
			c.Unseen("%s", Busy)
			return
		}
		if id := owner(method); !x.OK() && id != c.info.ID {
			c.UnseenFor(id, "%s without any fault does not work: %s", method, x.Brief())
			return
		}
	}
	c.Unseen("no result of %s was seen", method)
}

// Unjudged reports whether nothing was seen yet, good or bad.
func (c *Case) Unjudged() bool { return c.verdict.Seen == 0 && len(c.verdict.Blames) == 0 }

// Failing is a request of a method that fails inside the server, as the user
// says. Where none is named the case is skipped, and ok is false.
func (c *Case) Failing(method string) (r *Request, ok bool) {
	params := c.probe.o.Failing[method]
	if params == nil {
		c.Skip("it needs a request that fails inside the server: name one with --failing '%s={...}'", method)
		return nil, false
	}
	return c.Request(method, string(params)), true
}
