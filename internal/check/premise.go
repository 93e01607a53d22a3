// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// premiseRules are what everything else rests on.
var premiseRules = []Rule{
	{
		Info: rule.Info{
			ID: probe.RuleAnswers, Level: rule.Must, Basis: rule.Premise, Section: "2026-07-28/basic#messages",
			Title: "the server answers well-formed requests",
			Why:   "a server that refuses or drops every request works with no client at all",
			Fix:   "answer server/discover, or initialize in the revisions with a handshake, by a result, and then the list methods of what you offer",
		},
		In: every, Check: answers,
		Break: Break{Faults: []mock.Fault{mock.On("").Error(spec.CodeInternalError, "no")}},
	},
	{
		Info: rule.Info{
			ID: probe.RuleStaysUp, Level: rule.Must, Basis: rule.Premise, Section: "2026-07-28/basic#statelessness",
			Title: "the server stays up whatever it is sent",
			Why:   "one request ends the server for everybody who uses it",
			Fix:   "answer what you cannot serve by an error; look at what the server wrote before it ended",
		},
		In: every, Watch: staysUp,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OnTurn(2).Die()}},
	},
}

// staysUp fails a server that ended: over HTTP for everybody, over stdio the
// process that a good request was sent to. What ends a process on purpose, such
// as a line that is no message right before, has rules of its own.
func staysUp(c *probe.Case, t *probe.Traffic) {
	if x := t.Down; x != nil {
		what := "a well-formed " + x.Method
		if x.Planted() != "" {
			what = x.Method + " with " + x.Planted()
		}
		c.Fail(x, "the server ended while it had %s to answer, and answers nobody any more", what)
		return
	}
	c.Pass(nil)
	if !t.Stdio() {
		return
	}
	planted := map[int]bool{}            // nothing was answered since a message that was wrong on purpose
	cancels := map[int]*probe.Exchange{} // nor since a cancellation that was right
	ended := map[int]time.Time{}         // when the process of a connection ended
	for _, x := range t.Exchanges {
		left, told := t.Left[x.Conn]
		good := x.Planted() == "" && !planted[x.Conn] && !(told && !x.Ended.Before(left))
		planted[x.Conn] = x.Planted() != "" || planted[x.Conn] && x.Response == nil
		switch {
		case x.Response != nil || planted[x.Conn]:
			delete(cancels, x.Conn)
		case good && x.Method == spec.NotificationCancelled:
			cancels[x.Conn] = x
		}
		if !x.Died() {
			continue
		}
		end := ended[x.Conn]
		if end.IsZero() {
			ended[x.Conn] = x.Ended
		}
		gone := !end.IsZero() && x.Start.After(end) // before it was sent
		if good && !gone && x.ID != nil && !x.Cancelled && cancels[x.Conn] == nil {
			c.Fail(x, "the process ended while it had a well-formed %s to answer", x.Method)
			return
		}
	}
	for _, x := range t.Exchanges {
		switch {
		case cancels[x.Conn] != x, !x.Died(): // it goes on
		case raceLost(t):
			c.SkipFor(ruleRaceTolerated, "the process ended at a cancellation")
		default:
			c.Fail(x, "the process ended at a well-formed cancellation")
			return
		}
	}
}

// raceLost reports whether a process ended after a cancellation that crossed
// the answer.
func raceLost(t *probe.Traffic) bool {
	return slices.ContainsFunc(t.Exchanges, func(x *probe.Exchange) bool {
		return string(x.Meta(spec.MetaProgressToken)) == tokenRaced && (x.Died() || transport.ReasonOf(x.Err) == transport.Closed)
	})
}

// answers fails a server that no well-formed request gets an answer from. What
// it did instead is the evidence, and the cause of all that is skipped.
func answers(c *probe.Case) {
	f := c.Facts()
	if f.Answers() {
		c.Pass(f.Greeting)
		return
	}
	x := f.Greeting
	longer := ""
	if c.Probe().Stdio() && x.Silent() {
		longer = " (a server that takes long to start gets more by --start-timeout and --max-time)"
	}
	b := c.Fail(x, "no well-formed request was answered by a result: %s %s%s", x.Method, outcome(x), longer)
	for _, l := range f.Lists {
		b.And(l.Pages...)
	}
}
