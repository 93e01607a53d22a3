// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
)

// strain is the work of one intrusive rule: it keeps the rule within its load.
type strain struct {
	c     *probe.Case
	load  Load
	ctx   context.Context // ends with the time of the load
	plain *probe.Request
	// client is the one that puts the load on; control is its plain request
	// before it does.
	client  *probe.Conn
	control *probe.Exchange
	sent    int
}

// Waits of an intrusive rule. Whoever is not served within otherWait, while a
// server without load took a moment, is not served.
const (
	otherWait = 2500 * time.Millisecond
	afterWait = 3 * time.Second
	pause     = 300 * time.Millisecond
)

// strained begins an intrusive rule. It is nil, and the case skipped, where that
// may not be done or a plain request does not work; end must be called
// otherwise.
func strained(c *probe.Case) (s *strain, end func()) {
	load := loads[c.Rule()]
	if !c.Probe().Mine() {
		c.Skip("the target is not on this machine, so no load was put on it; --target-is-mine allows it")
		return nil, nil
	}
	plain, ok := c.Plain()
	if !ok {
		return nil, nil
	}
	s = &strain{c: c, load: load, plain: plain}
	if s.client = c.Open(); s.client == nil {
		return nil, nil
	}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithTimeout(c.Context(), load.Time)
	if s.control = s.ask(s.client, plain, c.Probe().Patience()); !s.control.OK() {
		cancel()
		c.Lacks(s.control)
		return nil, nil
	}
	return s, cancel
}

// takes reports whether the load has room for so many bytes, and takes them.
func (s *strain) takes(n int) bool {
	if s.ctx.Err() != nil || s.sent+n > s.load.Bytes {
		return false
	}
	s.sent += n
	return true
}

// left is a wait, within what is left of the time.
func (s *strain) left(d time.Duration) time.Duration {
	if end, ok := s.ctx.Deadline(); ok {
		return max(0, min(d, time.Until(end)))
	}
	return d
}

// ask makes an exchange that is waited for so long, whatever the server did to
// others before.
func (s *strain) ask(conn *probe.Conn, r *probe.Request, d time.Duration) *probe.Exchange {
	st := s.c.Start(conn, r)
	x, answered := st.Until(s.left(d), func(x *probe.Exchange) bool { return x.Response != nil })
	switch {
	case answered:
	case x.Closed:
		return st.Answer() // which finds out whether the server is down
	default:
		st.Close()
	}
	return x
}

// lives reports whether an exchange shows a server that serves: that it is too
// busy just now is an answer.
func lives(x *probe.Exchange) bool {
	return x.Response != nil || x.Head != nil && x.Status() != http.StatusBadGateway && x.Status() != http.StatusGatewayTimeout
}

// other asks as a further client: over HTTP with a socket of its own in the
// session of the first, over stdio there is none but the first.
func (s *strain) other(d time.Duration) *probe.Exchange {
	if s.c.Probe().Stdio() {
		return s.ask(s.client, s.plain, d)
	}
	conn := s.c.Rejoin(s.client)
	if conn == nil {
		return &probe.Exchange{Request: s.plain, Method: s.plain.Method}
	}
	x := s.ask(conn, s.plain, d)
	if lives(x) {
		conn.Close(s.c.Context()) // another one's end may have to wait, and comes with that of the case
	}
	return x
}

// serves asks whether the server still serves, twice where it does not at first.
func (s *strain) serves() (x *probe.Exchange, ok bool) {
	for range 2 {
		if x = s.other(otherWait); lives(x) {
			return x, true
		}
		if s.c.Probe().Down() != nil {
			break
		}
		s.c.Rest(s.left(pause))
	}
	return x, false
}

// goesOn judges that the server goes on after something, and that it is the one
// it was. It says what is wrong, and is false then.
func (s *strain) goesOn(what string, hit *probe.Exchange) bool {
	after, ok := s.serves()
	switch {
	case !ok && s.ctx.Err() != nil:
		s.c.Skip("there was no time left to see whether the server goes on after %s", what)
	case !ok:
		s.fail(after, "after %s the server serves nobody any more: %s %s", what, after.Method, outcome(after)).And(hit, s.control)
	case s.client.Session() != "" && after.Status() == http.StatusNotFound:
		if fresh := s.c.Open(); fresh == nil || fresh.Session() == "" {
			return true // the rules of sessions say more of it
		}
		s.warn(after, "after %s the session of a client is gone, and new ones are opened: the server seems to have started again", what).And(hit, s.control)
	default:
		return true
	}
	return false
}

func (s *strain) fail(x *probe.Exchange, format string, args ...any) *probe.Blame {
	return s.c.Fail(x, "%s (the load was %s)", fmt.Sprintf(format, args...), s.load)
}

func (s *strain) warn(x *probe.Exchange, format string, args ...any) *probe.Blame {
	return s.c.Warn(x, "%s (the load was %s)", fmt.Sprintf(format, args...), s.load)
}

// size names a number of bytes.
func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// contextWithin is the time of the load, or a part of it.
func contextWithin(s *strain, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, d)
}
