// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const pageShutdown = "2026-07-28/basic/transports/stdio#shutdown"

// stdioProcessRules are those on the process of a server over stdio.
var stdioProcessRules = []Rule{
	{
		Info: rule.Info{
			ID: "stdio.interleaved-requests", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic#statelessness", Transport: "stdio",
			Title: "several requests at once are each answered",
			Why:   "clients send list requests and calls without waiting; one that is lost hangs the client",
			Fix:   "read on while a request is answered, and answer every one under its own id",
		},
		In: modern, Check: interleaved,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.ParamIs("/_meta/progressToken", `"mcprove-together-2"`)).Drop()}},
	},
	{
		Info: rule.Info{
			ID: "stdio.exit-on-eof", Level: rule.Should, Basis: rule.Keyword, Section: pageShutdown, Transport: "stdio",
			Title: "the server ends soon after its input has ended",
			Why:   "every client that leaves or crashes leaves a process behind, with its memory and its locks",
			Fix:   "end the process when reading stdin gives the end of the file, whatever else is running",
		},
		In: modern, Apart: true, Check: exitOnEOF,
		Break: Break{Faults: []mock.Fault{mock.IgnoreEOF()}},
	},
	{
		Info: rule.Info{
			ID: "stdio.exit-on-eof-with-subscription", Level: rule.Should, Basis: rule.Derived, Section: pageShutdown, Transport: "stdio",
			Title: "an open subscription does not keep the server alive after the end of its input",
			Why:   "clients that subscribe, as most do, leave a process behind each time",
			Fix:   "end subscriptions with the input, and wait for nothing that they started",
		},
		In: modern, Apart: true, Check: exitWithSubscription,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", filterEOF)).IgnoreEOF()}},
	},
	{
		Info: rule.Info{
			ID: "stdio.processes-left", Level: rule.Should, Basis: rule.Advisory, Section: pageShutdown, Transport: "stdio",
			Title: "no process that the server started outlives it",
			Why:   "what a server starts and forgets adds up with every client that comes and goes",
			Fix:   "end the processes you started, and their children, before you end",
		},
		In: every, Apart: true, Check: processesLeft,
		Break: Break{Faults: []mock.Fault{mock.LeaveBehind()}},
	},
	{
		Info: rule.Info{
			ID: "stdio.long-line", Level: rule.Must, Basis: rule.Derived, Section: pageStdio, Transport: "stdio",
			Title: "a request on a line of one megabyte is answered",
			Why:   "a file or a picture in the arguments of a tool makes such a line; the server ends, or waits for ever",
			Fix:   "read lines without a small fixed limit, and refuse what is too long by an error",
		},
		In: modern, Apart: true, Check: longLine,
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.HasMeta(metaFiller)).Die()}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.HasMeta(metaFiller)).Drop()}}},
	},
}

const (
	// filterEOF is the filter of the subscription under which the input ends.
	filterEOF = `{"toolsListChanged":true,"promptsListChanged":true}`
	// metaFiller is the _meta key that makes a line long: _meta is open to any.
	metaFiller = "dev.mcprove/filler"
	longBytes  = 1 << 20
)

// interleaved writes several requests before it reads an answer.
func interleaved(c *probe.Case) {
	if _, ok := c.Works(c.Request(spec.MethodDiscover, "")); !ok {
		return
	}
	const several = 5
	streams := make([]*probe.Stream, several)
	for i := range streams {
		streams[i] = c.Start(nil, c.Request(spec.MethodDiscover, "").Progress(`"mcprove-together-`+string(rune('0'+i))+`"`))
	}
	for i, s := range streams {
		switch x := s.Answer(); {
		case x.OK():
			c.Pass(x)
		default:
			c.Fail(x, "of %d requests at once, number %d %s", several, i+1, outcome(x))
			return
		}
	}
}

// endOfInput is a server whose input ended.
type endOfInput struct {
	skip    string // why nothing can be said
	because string // the rule that says so, may be empty
	x       *probe.Exchange
	// took is how long it went on; ended is false when it still did after the
	// patience with it.
	took  time.Duration
	ended bool
	// left counts the processes that it started and that are still there.
	left      int
	isProcess bool
}

const (
	// exitPatience is how long a server may take to end with its input, if it did
	// not take longer to start: then the machine is busy, or the server large.
	exitPatience = 3 * time.Second
	// leftPatience is how long its children may take after it.
	leftPatience = time.Second
)

// endInput ends the input of a server of its own, on which a request was
// answered and, with a filter, a subscription made.
func endInput(c *probe.Case, filter string) *endOfInput {
	conn := c.Open()
	if conn == nil {
		return &endOfInput{skip: "a further connection could not be opened"}
	}
	e := &endOfInput{x: c.SendOn(conn, plain(c))}
	if !e.x.OK() {
		e.skip = "on a further connection " + e.x.Method + " " + outcome(e.x)
		return e
	}
	if filter != "" {
		o := &opening{c: c, conn: conn}
		s := o.open(listenRequest(c, filter)).now()
		if e.x = s.x; s.ack == nil {
			e.skip, e.because = "a subscription was not acknowledged", "subscriptions.ack-sent"
			if s.refused() {
				e.skip, e.because = "subscriptions/listen "+outcome(s.x), "subscriptions.supported"
			}
			return e
		}
	}
	begin := time.Now()
	if !conn.CloseInput() {
		e.skip = "the input of the server cannot be closed"
		return e
	}
	e.ended = conn.Gone(c.Context(), max(exitPatience, 2*c.Probe().SlowestStart()))
	e.took = time.Since(begin)
	if e.ended {
		e.left, e.isProcess = conn.Leftover(c.Context(), leftPatience)
	}
	return e
}

func plainEnd(c *probe.Case) (*endOfInput, bool) {
	e := probe.Share(c.Probe(), "end-of-input", func() *endOfInput { return endInput(c, "") })
	if e.skip != "" {
		c.Skip("%s", e.skip)
		return nil, false
	}
	return e, true
}

func exitOnEOF(c *probe.Case) {
	e, ok := plainEnd(c)
	switch {
	case !ok:
	case e.ended:
		c.Pass(e.x)
	case c.Context().Err() != nil:
	default:
		c.Fail(e.x, "the server still runs %s after the end of its input", e.took.Round(100*time.Millisecond))
	}
}

func exitWithSubscription(c *probe.Case) {
	if plain, ok := plainEnd(c); !ok {
		return
	} else if !plain.ended {
		c.SkipFor("stdio.exit-on-eof", "the server does not end with its input, whether there is a subscription or not")
		return
	}
	e := endInput(c, filterEOF)
	switch {
	case e.because != "":
		c.SkipFor(e.because, "%s", e.skip)
	case e.skip != "":
		c.Skip("%s", e.skip)
	case e.ended:
		c.Pass(e.x)
	case c.Context().Err() != nil:
	default:
		c.Fail(e.x, "with a subscription open, the server still runs %s after the end of its input", e.took.Round(100*time.Millisecond))
	}
}

func processesLeft(c *probe.Case) {
	e, ok := plainEnd(c)
	switch {
	case !ok:
	case !e.ended && c.Probe().Legacy():
		c.Skip("the server does not end with its input")
	case !e.ended:
		c.SkipFor("stdio.exit-on-eof", "the server does not end with its input")
	case !e.isProcess:
		c.Skip("the server is no process of its own")
	case e.left == 1:
		c.Fail(e.x, "a process that the server started is still there %s after the server has ended", leftPatience)
	case e.left > 1:
		c.Fail(e.x, "%d processes that the server started are still there %s after the server has ended", e.left, leftPatience)
	default:
		c.Pass(e.x)
	}
}

// longLine takes any answer: a server may refuse what is too long for it, but
// it must read on.
func longLine(c *probe.Case) {
	conn := c.Open()
	if conn == nil {
		return
	}
	plain := c.Request(spec.MethodDiscover, "")
	if x := c.SendOn(conn, plain); !x.OK() {
		c.Lacks(x)
		return
	}
	x := c.SendOn(conn, plain.Meta(metaFiller, `"`+strings.Repeat("x", longBytes)+`"`).Planting("a line of one megabyte"))
	switch {
	case x.Response == nil:
		c.Fail(x, "a request on a line of one megabyte %s", outcome(x))
	default:
		next := c.SendOn(conn, plain)
		if !next.OK() {
			c.Fail(next, "after a line of one megabyte, the next request %s", outcome(next)).And(x)
			return
		}
		c.Pass(x)
	}
}
