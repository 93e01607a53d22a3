// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// secSessionLeakRules are those of sessions that nobody needs any more.
var secSessionLeakRules = []Rule{{
	Info: rule.Info{
		ID: ruleSessionLeak, Level: rule.Must, Basis: rule.Harm, Section: sessionPage, Transport: "http",
		Title: "many sessions do not lock new clients out, and those that were ended are free again",
		Why:   "clients that go without a word are the rule; after some days of them the server serves nobody",
		Fix:   "forget a session that is ended by DELETE, and one that was silent for long; refuse new ones with HTTP 429 or 503 while there are too many",
		Detail: "up to 200 sessions are begun and left alone, then all are ended. It fails where the server serves nobody meanwhile, and where it refuses new sessions " +
			"and goes on to after those were ended. It is a warning where the session of the client that was there before is lost. A limit is no finding, " +
			"nor is what the server's memory grows by, which is not measured: a runtime gives it back when it likes",
	},
	In: streamable, Check: sessionLeak, Whole: true, Intrusive: true,
	Break: Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).FromTurn(leakTurn).Status(http.StatusServiceUnavailable)}},
	Breaks: []Break{
		{Faults: []mock.Fault{mock.On(spec.MethodInitialize).FromTurn(leakTurn).Die()}},
	},
}}

// leakTurn is a session that no other rule gets to.
const leakTurn = 250

// openTime bounds the time in which the sessions are begun, and endTime that in
// which they are ended.
const (
	openTime = 3 * time.Second
	endTime  = 3 * time.Second
)

func sessionLeak(c *probe.Case) {
	if !stateful(c) {
		return
	}
	s, end := strained(c)
	if s == nil {
		return
	}
	defer end()
	opener := c.Rejoin(s.client)
	if opener == nil {
		return
	}
	ids, last := s.openSessions(opener)
	if len(ids) == 0 {
		c.Skip("no further session could be begun: %s", last.Brief())
		return
	}
	full := last != nil // it stopped before there were as many as the load has
	if last != nil && !lives(last) {
		after, ok := s.serves()
		if !ok {
			s.fail(last, "after %d sessions that were begun and left alone the server serves nobody any more: %s %s", len(ids), last.Method, outcome(last)).And(after, s.control)
			return
		}
	}
	kept := s.other(otherWait)
	ended, gone := s.endSessions(opener, ids)
	fresh := s.begins()
	switch {
	case s.ctx.Err() != nil:
		c.Skip("the time was up after %d sessions, before all was seen", len(ids))
	case !lives(kept):
		s.fail(kept, "with %d sessions that were begun and left alone a client that was there before is not served any more", len(ids)).And(s.control)
	case fresh.OK() && kept.Status() == http.StatusNotFound:
		s.warn(kept, "while %d sessions were begun that of a client that was there before was lost", len(ids)).And(s.control)
	case fresh.OK() && ended > 0 && gone == 0:
		c.SkipFor(ruleSessionEnd, "a session that was ended by DELETE is served on")
	case fresh.OK() && full && !lives(last):
		s.warn(last, "after %d sessions that were begun and left alone a new one got no answer at all, until those were ended", len(ids)).And(fresh, s.control)
	case fresh.OK():
		c.Pass(fresh)
	case full && ended == 0:
		c.Skip("the server has a limit of sessions, which was met after %d, and lets no client end one: how long they live cannot be seen within the load", len(ids))
	default:
		s.fail(fresh, "after %d sessions that were begun, of which %d were ended by DELETE, no new one can be begun: %s %s", len(ids), ended, fresh.Method, outcome(fresh)).And(last, s.control)
	}
}

// openSessions begins sessions on a connection and leaves them alone, one less
// than the load has: another is begun at the end. last is the answer that gave
// none, nil where there was no such.
func (s *strain) openSessions(conn *probe.Conn) (ids []string, last *probe.Exchange) {
	hello := s.c.Probe().Hello("{}")
	until := time.Now().Add(openTime)
	for len(ids) < s.load.Sessions-1 && time.Now().Before(until) && s.takes(headRoom+len(hello.Encode([]byte("1000")))) {
		x := s.ask(conn, hello, otherWait)
		id := sessionIn(x)
		if id == "" {
			return ids, x
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// enders is how many sessions are ended at once.
const enders = 3

// endSessions ends sessions. ended counts those that the server says have, and
// gone is one where the first of them is not served any more.
func (s *strain) endSessions(conn *probe.Conn, ids []string) (ended, gone int) {
	end := func(id string) bool {
		x := s.ask(conn, conn.EndSession().Header(spec.HeaderSessionID, id), otherWait)
		return x.Status() >= 200 && x.Status() < 300
	}
	if !s.takes(headRoom*(len(ids)+1)) || !end(ids[0]) {
		return 0, 0
	}
	if x := s.ask(conn, s.plain.Header(spec.HeaderSessionID, ids[0]), otherWait); !x.OK() {
		gone = 1
	}
	until := time.Now().Add(endTime)
	var rest, count atomic.Int64
	var wait sync.WaitGroup
	for range enders {
		wait.Go(func() {
			for time.Now().Before(until) {
				i := int(rest.Add(1))
				if i >= len(ids) {
					return
				}
				if end(ids[i]) {
					count.Add(1)
				}
			}
		})
	}
	wait.Wait()
	return 1 + int(count.Load()), gone
}

// begins begins one more session, and gives a server that was full a moment.
func (s *strain) begins() (x *probe.Exchange) {
	conn := s.c.Dial()
	if conn == nil {
		return &probe.Exchange{Method: spec.MethodInitialize}
	}
	for range 3 {
		if x = s.ask(conn, s.c.Probe().Hello("{}"), otherWait); x.OK() {
			conn.Adopt(x) // it is ended with the connection
			return x
		}
		s.c.Rest(s.left(pause))
	}
	return x
}
