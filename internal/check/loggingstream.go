// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// loggingStreamRules are those of which request gets which log messages.
var loggingStreamRules = []Rule{
	{
		Info: rule.Info{
			ID: "logging.opt-in-per-request", Level: rule.MustNot, Basis: rule.Keyword, Section: loggingPage + "#per-request-log-level",
			Title: "a request without a log level gets no log messages",
			Why:   "the client did not ask, and pays for every message with its stream and its attention",
			Fix:   "send notifications/message only where the request's _meta has a logLevel",
		},
		In: modern, Watch: loggingOptIn, Stir: stirUnasked, Apart: true, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckLogOptIn)}},
	},
	{
		Info: rule.Info{
			ID: "logging.level-threshold", Level: rule.MustNot, Basis: rule.Prose, Section: loggingPage + "#per-request-log-level",
			Title: "no log message is below the level that was asked for",
			Why:   "a client that asks for errors is flooded with the rest",
			Fix:   "compare each message with the level of its request before it is sent",
		},
		In: modern, Check: loggingThreshold, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckLogThreshold)}},
	},
	{
		Info: rule.Info{
			ID: "logging.before-response", Level: rule.Must, Basis: rule.Prose, Section: loggingPage + "#per-request-log-level",
			Title: "log messages of a request come before its response",
			Why:   "the client has closed the stream or forgotten the request, and the message is lost",
			Fix:   "send what is to be logged before the response",
		},
		In: modern, Watch: loggingBefore, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).OfType(spec.ResultComplete).When(mock.HasMeta(spec.MetaLogLevel)).NotifyAfter(spec.NotificationMessage, logged),
		}},
	},
	{
		Info: rule.Info{
			ID: "logging.same-stream-only", Level: rule.MustNot, Basis: rule.Keyword, Transport: "http", Section: loggingPage + "#per-request-log-level",
			Title: "log messages go on the stream of the request that set the level, and no other",
			Why:   "messages of one call are shown with another, perhaps to another user",
			Fix:   "bind the logger of a request to the stream that answers it",
		},
		In: modern, Check: loggingSameStream, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.MetaIs(spec.MetaProgressToken, besideToken), mock.NoMeta(spec.MetaLogLevel)).Notify(spec.NotificationMessage, logged),
		}},
	},
	{
		Info: rule.Info{
			ID: "logging.not-on-listen", Level: rule.MustNot, Basis: rule.Keyword, Section: loggingPage + "#per-request-log-level",
			Title: "log messages do not go on the stream of a subscription",
			Why:   "they belong to a request, and the subscription belongs to none",
			Fix:   "send them on the stream of their request, and none for subscriptions/listen",
		},
		In: modern, Check: loggingListen, Apart: true,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodListen).When(mock.HasMeta(spec.MetaLogLevel)).Notify(spec.NotificationMessage, logged),
		}},
	},
	{
		Info: rule.Info{
			ID: "logging.level-not-sticky", Level: rule.MustNot, Basis: rule.Derived, Section: loggingPage + "#per-request-log-level",
			Title: "a log level holds for its request alone",
			Why:   "a client that asked once gets messages with every later call, which it did not ask for",
			Fix:   "keep the level with the request, not with the connection or the process",
		},
		In: modern, Check: loggingSticky, Apart: true, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).FromConn(2).OfType(spec.ResultComplete).When(mock.NoMeta(spec.MetaLogLevel), mock.EarlierHas("/params/_meta/io.modelcontextprotocol~1logLevel")).
				Notify(spec.NotificationMessage, logged),
		}},
	},
}

// stirUnasked calls tools on a connection over which nobody ever asked for log
// messages.
func stirUnasked(c *probe.Case) {
	tools := loudTools(c)
	if len(tools) == 0 {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	for _, t := range tools {
		c.SendOn(conn, c.Probe().CallRequest(t.Item, t.Arguments))
	}
}

// firstLevel is the turn of the first request on each connection that asks for
// log messages.
func firstLevel(t *probe.Traffic) map[int]int {
	out := map[int]int{}
	for _, a := range wantings(t) {
		if turn, ok := out[a.x.Conn]; a.level && (!ok || a.x.Turn < turn) {
			out[a.x.Conn] = a.x.Turn
		}
	}
	return out
}

// loggingOptIn looks at requests before any on their connection asked for log
// messages: later ones may get them for the reason of another rule.
func loggingOptIn(c *probe.Case, t *probe.Traffic) {
	var bad one
	since := firstLevel(t)
	untouched := func(x *probe.Exchange) bool {
		turn, ok := since[x.Conn]
		return !ok || x.Turn < turn
	}
	for _, s := range sayings(t, spec.NotificationMessage) {
		_, level := since[s.conn]
		switch {
		case s.x == nil && !level:
			bad.add(c.Fail, s, "a log message came on a connection over which no request asked for any")
		case s.x == nil, leveled(s.x), s.x.Method == spec.MethodListen:
		case untouched(s.x):
			bad.add(c.Fail, s, "%s without a log level gets a log message", s.x.Method)
		}
	}
	for _, x := range t.Results(spec.MethodToolsCall) {
		if !leveled(x) && untouched(x) {
			c.Pass(x)
		}
	}
	c.Unseen("no call without a log level was seen: %s", probe.NoTool)
}

// severity is the place of a log message's level among the levels.
func severity(f *wire.Frame) (n int, ok bool) {
	return spec.LogSeverity(probe.Text(probe.Lookup(f.Message().Params, "/level")))
}

// mostThresholds bounds the tools that are called again with a higher level.
const mostThresholds = 2

func loggingThreshold(c *probe.Case) {
	if len(callable(c)) == 0 {
		return
	}
	levels, tried := spec.LogLevels(), 0
	tools := loudTools(c)
	for i, loud := range loudCalls(c) {
		least := len(levels)
		for _, f := range messagesOf(loud) {
			if n, ok := severity(f); ok {
				least = min(least, n)
			}
		}
		if least >= len(levels)-1 {
			continue // says nothing that could be held back
		}
		level := levels[least+1]
		x := c.Once(c.Probe().CallRequest(tools[i].Item, tools[i].Arguments).LogLevel(level))
		if !x.OK() {
			continue
		}
		c.Pass(x)
		below := slices.IndexFunc(messagesOf(x), func(f *wire.Frame) bool { n, ok := severity(f); return ok && n <= least })
		if below >= 0 {
			f := messagesOf(x)[below]
			c.Fail(x, "a call of the tool %s with the log level %s gets a message of the level %s", brief(tools[i].Name), level,
				asJSON(probe.Lookup(f.Message().Params, "/level"))).In(f, "/params/level").Of("tool", tools[i].Name)
		}
		if tried++; tried == mostThresholds {
			return
		}
	}
	c.Unseen("no tool that may be called logs below emergency: name one that does with --tool 'NAME={...}'")
}

func loggingBefore(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationMessage) {
		switch {
		case s.x == nil:
			if x := answeredBefore(t, s); x != nil {
				bad.add(c.Fail, said{Frame: s.Frame, x: x, conn: s.conn, late: true}, "a log message comes after the responses to all requests that asked for one")
			}
		case s.late:
			bad.add(c.Fail, s, "a log message of %s comes after its response", s.x.Method)
		case leveled(s.x) && s.x.Response != nil:
			c.Pass(s.x)
		}
	}
	c.Unseen(unseenLog)
}

// answeredBefore is the last request of a stdio connection that asked for log
// messages, when each of them was answered before a message came that belongs
// to nobody; nil otherwise.
func answeredBefore(t *probe.Traffic, s said) *probe.Exchange {
	lines := t.Lines[s.conn]
	at := slices.Index(lines, s.Frame)
	if at < 0 {
		return nil
	}
	var last *probe.Exchange
	for _, a := range wantings(t) {
		x := a.x
		if x.Conn != s.conn || !a.level {
			continue
		}
		if !s.Time.IsZero() && x.Start.After(s.Time) {
			continue
		}
		if i := slices.Index(lines, x.Response); i < 0 || i > at {
			return nil // it may still be under way
		}
		last = x
	}
	return last
}

func loggingSameStream(c *probe.Case) {
	if len(callable(c)) == 0 {
		return
	}
	t, _, ok := talker(c, spec.NotificationMessage)
	if !ok {
		c.Skip("no tool that may be called logs: name one that does with --tool 'NAME={...}'")
		return
	}
	quiet := c.Once(c.Probe().CallRequest(t.Item, t.Arguments))
	if len(messagesOf(quiet)) > 0 {
		c.SkipFor("logging.opt-in-per-request", "the tool %s sends log messages to who does not ask", brief(t.Name))
		return
	}
	asked := c.Start(nil, c.Probe().CallRequest(t.Item, t.Arguments).LogLevel(leastLevel))
	beside := c.Start(nil, c.Probe().CallRequest(t.Item, t.Arguments).Progress(besideToken))
	x, other := asked.Answer(), beside.Answer()
	switch {
	case len(messagesOf(other)) > 0:
		c.Fail(other, "a call without a log level gets log messages while another call asks for them").In(messagesOf(other)[0], "").And(x, quiet).Of("tool", t.Name)
	case len(messagesOf(x)) > 0 && other.OK():
		c.Pass(other)
	default:
		c.Skip("the tool %s did not log again", brief(t.Name))
	}
}

// listenPatience bounds the wait for a subscription to begin.
const listenPatience = 1500 * time.Millisecond

// listening opens a subscription that asks for log messages, which it must not
// get. ok is false where it does not begin.
func listening(c *probe.Case, conn *probe.Conn) (s *probe.Stream, ok bool) {
	s = c.Start(conn, c.Request(spec.MethodListen, `{"notifications":{"toolsListChanged":true}}`).LogLevel(leastLevel))
	_, ok = s.Until(listenPatience, func(x *probe.Exchange) bool {
		return len(x.Notifications(spec.NotificationSubscriptionsAck)) > 0
	})
	if !ok {
		s.Close()
	}
	return s, ok
}

func loggingListen(c *probe.Case) {
	conn := c.Open()
	if conn == nil {
		return
	}
	s, ok := listening(c, conn)
	if !ok {
		c.SkipFor("subscriptions.supported", "no subscription could be opened: %s", s.Now().Brief())
		return
	}
	defer s.Close()
	got := func(x *probe.Exchange) bool { return len(messagesOf(x)) > 0 || len(lineMessages(conn)) > 0 }
	x, bad := s.Until(c.Probe().Quiet(), got)
	if !bad {
		t, _, talks := talkerOn(c, conn, spec.NotificationMessage)
		if !talks {
			c.Pass(x)
			return
		}
		if c.HTTP() {
			c.SendOn(conn, loudCall(c, t, besideToken))
		}
		// Over stdio a message of the call stands on the same stream, and is
		// the subscription's only where it says so.
		x, bad = s.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return len(messagesOf(x)) > 0 })
	}
	if !bad {
		c.Pass(x)
		return
	}
	f := slices.Concat(messagesOf(x), lineMessages(conn))[0]
	c.Fail(x, "a log message comes for a subscription").In(f, "")
}

// lineMessages are the log messages among the lines of a stdio connection.
func lineMessages(conn *probe.Conn) []*wire.Frame {
	return slices.DeleteFunc(conn.Lines(), func(f *wire.Frame) bool {
		m := f.Message()
		return m.Kind != wire.Notification || m.Method != spec.NotificationMessage
	})
}

func loggingSticky(c *probe.Case) {
	if len(callable(c)) == 0 {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	t, _, ok := talkerOn(c, conn, spec.NotificationMessage)
	if !ok {
		c.Skip("no tool that was called logs: name one that does with --tool 'NAME={...}'")
		return
	}
	call := c.Probe().CallRequest(t.Item, t.Arguments)
	loud := c.SendOn(conn, call.LogLevel(leastLevel))
	// What is late would be taken for what the next call gets.
	c.SendOn(conn, c.Request(spec.MethodDiscover, ""))
	after := c.SendOn(conn, call)
	if len(messagesOf(after)) == 0 {
		c.Pass(after)
		return
	}
	// Does the tool log for everybody?
	fresh := c.Open()
	if fresh == nil {
		return
	}
	if plain := c.SendOn(fresh, call); len(messagesOf(plain)) > 0 {
		c.SkipFor("logging.opt-in-per-request", "the tool %s sends log messages to who does not ask", brief(t.Name))
		return
	}
	c.Fail(after, "a call without a log level gets log messages, after one that asked for them").In(messagesOf(after)[0], "").And(loud).Of("tool", t.Name)
}
