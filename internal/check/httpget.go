// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	transportsPage = "2025-11-25/basic/transports"
	httpStanding   = transportsPage + "#listening-for-messages-from-the-server"
	rulePostGet    = "http-legacy.endpoint-post-get"
	ruleGetStream  = "http-legacy.get-sse-or-405"
)

// streamable are the revisions of the handshake era that have Streamable HTTP.
var streamable = spec.Range{Since: spec.Rev20250326, Until: spec.Rev20251125}

// httpGetRules are those of the stream that a client opens by GET.
var httpGetRules = []Rule{
	{
		Info: rule.Info{
			ID: rulePostGet, Level: rule.Must, Basis: rule.Keyword, Section: transportsPage + "#streamable-http", Transport: "http",
			Title: "one path serves POST and GET",
			Why:   "clients know one URL, and take a path without GET for one that is no MCP endpoint",
			Fix:   "route GET to the same endpoint as POST, and answer HTTP 405 where you offer no stream",
		},
		In: streamable, Check: postAndGet,
		Break: Break{Faults: []mock.Fault{mock.On(http.MethodGet).Status(http.StatusNotFound)}},
	},
	{
		Info: rule.Info{
			ID: ruleGetStream, Level: rule.Must, Basis: rule.Keyword, Section: httpStanding, Transport: "http",
			Title: "GET is answered by an event stream or by HTTP 405",
			Why:   "clients try again and again, or give the server up, on any other answer",
			Fix:   "answer GET with text/event-stream, or with HTTP 405 where you offer no stream",
		},
		In: streamable, Check: streamOr405, Under: []string{rulePostGet},
		Break:  Break{Faults: []mock.Fault{mock.On(http.MethodGet).HTTP(http.StatusOK, spec.MediaJSON, `{}`)}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(http.MethodGet).Status(http.StatusBadRequest)}}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.get-no-response", Level: rule.MustNot, Basis: rule.Keyword, Section: httpStanding, Transport: "http",
			Title: "a stream that is opened by GET holds no JSON-RPC response",
			Why:   "the client waits for its answer on the stream of its request, where it never comes",
			Fix:   "answer a request on the response to its POST alone; only a stream that is resumed may hold its answer",
		},
		In: streamable, Watch: getNoResponse, Stir: func(c *probe.Case) { standingStreams(c) },
		Break: Break{Faults: []mock.Fault{
			mock.OnNotification(spec.NotificationToolsListChanged).After(`{"jsonrpc":"2.0","id":"mcprove-elsewhere","result":{}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.get-unrelated", Level: rule.Should, Basis: rule.Keyword, Section: httpStanding, Transport: "http",
			Title: "a stream that is opened by GET holds nothing of running requests",
			Why:   "a client cannot tell whose it is, and who has no such stream open misses it",
			Fix:   "send progress on the response to the request that it is about",
		},
		In: streamable, Check: getUnrelated, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, standingToken)).Aside()}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.no-broadcast", Level: rule.MustNot, Basis: rule.Keyword, Section: transportsPage + "#multiple-connections", Transport: "http",
			Title: "a message is sent on one stream only",
			Why:   "a client with two streams handles it twice, and answers a request twice",
			Fix:   "choose one of the open streams of the session for each message",
		},
		In: streamable, Check: noBroadcast, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(http.MethodGet).Lenient(mock.CheckStreamSecond)}},
	},
}

// standingToken is that of the call by which a tool that reports progress is
// heard while a stream is open.
const standingToken = `"mcprove-standing"`

// standing is what was seen on streams that were opened by GET in one session.
type standing struct {
	skip    string          // why nothing was seen
	x       *probe.Exchange // the first GET, when its head had come
	control *probe.Exchange // a POST of the same session, after it
	session bool            // the server gave the session an id
	talk    *probe.Exchange // the call of a tool that reports progress, nil without one

	// What came while one stream was open, and then while there were two, and what
	// a stream of another session heard meanwhile.
	alone, first, second, elsewhere []*wire.Frame

	calls      []*probe.Exchange // while there was one
	end, other *probe.Exchange   // the streams; other is nil where there was one only
}

// streams reports whether the GET gave a stream.
func (s *standing) streams() bool {
	return s.x != nil && s.x.Status() == http.StatusOK && s.x.Streamed()
}

// standingStreams opens the streams, one time for all rules.
func standingStreams(c *probe.Case) *standing {
	return probe.Share(c.Probe(), "standing streams", func() *standing { return stand(c) })
}

func openStanding(c *probe.Case, conn *probe.Conn) (*probe.Stream, *probe.Exchange) {
	s := c.Start(conn, c.Request(http.MethodGet, "").Verb(http.MethodGet))
	x, _ := s.Until(headPatience, func(x *probe.Exchange) bool { return x.Head != nil })
	return s, x
}

func stand(c *probe.Case) *standing {
	plain, ok := c.Plain()
	if !ok {
		return &standing{skip: "no plain request works"}
	}
	conn := c.Open()
	if conn == nil {
		return &standing{skip: "a further session could not be opened"}
	}
	o := &standing{session: conn.Session() != ""}
	var s *probe.Stream
	s, o.x = openStanding(c, conn)
	defer func() {
		s.Close()
		o.end = s.Now()
	}()
	o.control = c.SendOn(conn, plain)
	if !o.streams() {
		return o
	}
	if t, _, ok := talker(c, spec.NotificationProgress); ok {
		o.talk = c.SendOn(conn, c.Probe().CallRequest(t.Item, t.Arguments).Progress(standingToken))
		o.calls = append(o.calls, o.talk)
	}
	o.calls = append(o.calls, standingCalls(c, conn)...)
	c.Rest(c.Probe().Quiet())
	o.alone = s.Now().Frames
	if len(o.alone) == 0 {
		return o // nothing to send twice
	}
	other, x := openStanding(c, conn)
	defer other.Close()
	if x.Status() != http.StatusOK || !x.Streamed() {
		return o
	}
	streams := []*probe.Stream{s, other}
	if witness := c.Open(); witness != nil {
		w, _ := openStanding(c, witness)
		defer w.Close()
		streams = append(streams, w)
	}
	listen := since(streams...)
	standingCalls(c, conn)
	c.Rest(c.Probe().Quiet())
	heard := listen()
	o.first, o.second, o.other = heard[0], heard[1], other.Now()
	if len(heard) > 2 {
		o.elsewhere = heard[2]
	}
	return o
}

// since returns what says, in its turn, what has come on streams from now on.
func since(streams ...*probe.Stream) func() [][]*wire.Frame {
	from := make([]int, len(streams))
	for i, s := range streams {
		from[i] = len(s.Now().Frames)
	}
	return func() [][]*wire.Frame {
		out := make([][]*wire.Frame, len(streams))
		for i, s := range streams {
			out[i] = s.Now().Frames[from[i]:]
		}
		return out
	}
}

// standingCalls calls tools that may be called, but for those that take long: one
// of them may make the server say something.
func standingCalls(c *probe.Case, conn *probe.Conn) (out []*probe.Exchange) {
	tools := c.Probe().Callable()
	begin := time.Now()
	for i, x := range c.Calls() {
		if t := tools[i]; x.OK() && (t.Named || x.End.Sub(x.Start) <= quickCall && time.Since(begin) <= callBudget) {
			out = append(out, c.SendOn(conn, c.Probe().CallRequest(t.Item, t.Arguments).Progress(fmt.Sprintf(`"mcprove-standing-%d"`, i))))
		}
	}
	return out
}

// stood is what was seen; ok is false where the case is skipped.
func stood(c *probe.Case) (o *standing, ok bool) {
	o = standingStreams(c)
	if o.skip != "" {
		if _, ok := c.Plain(); ok {
			c.Skip("%s", o.skip)
		}
		return o, false
	}
	return o, true
}

// streamRefused skips a case that needs a stream which a GET did not open. One that is
// refused as it must not be is the matter of a rule of its own.
func streamRefused(c *probe.Case, x *probe.Exchange) {
	switch {
	case x == nil || x.Status() == http.StatusMethodNotAllowed:
		c.Skip("the server offers no stream by GET")
	case x.Status() == http.StatusNotFound:
		c.SkipFor(rulePostGet, "the server offers no stream by GET: %s", x.Brief())
	default:
		c.SkipFor(ruleGetStream, "the server offers no stream by GET: %s", x.Brief())
	}
}

// onStream is stood where there is a stream to look at.
func onStream(c *probe.Case) (o *standing, ok bool) {
	if o, ok = stood(c); !ok {
		return o, false
	}
	if !o.streams() {
		streamRefused(c, o.x)
		return o, false
	}
	return o, true
}

// lost are statuses by which a server says that there is nothing at a path, or
// that it does not know the verb at all.
var lost = []int{http.StatusNotFound, http.StatusGone, http.StatusNotImplemented}

func postAndGet(c *probe.Case) {
	o, ok := stood(c)
	if !ok {
		return
	}
	switch s := o.x.Status(); {
	case !o.control.OK():
		c.Lacks(o.control)
	case slices.Contains(lost, s), s >= 300 && s < 400:
		c.Fail(o.x, "GET of the endpoint was answered by HTTP %d, while POST is served there", s).And(o.control)
	case o.x.Head == nil:
		c.Skip("GET was not answered: %s", o.x.Brief())
	default:
		c.Pass(o.x)
	}
}

func streamOr405(c *probe.Case) {
	o, ok := stood(c)
	if !ok {
		return
	}
	switch s := o.x.Status(); {
	case o.streams(), s == spec.StatusMethodNotAllowed:
		c.Pass(o.x)
	case !o.control.OK():
		c.Lacks(o.control)
	case o.x.Head == nil && o.x.Closed:
		c.Fail(o.x, "GET was not answered: %s", o.x.Brief()).And(o.control)
	case o.x.Head == nil: // some send the head with the first event
		c.Warn(o.x, "GET was not answered within %s: a stream should begin with its head", headPatience).And(o.control)
	case s == http.StatusConflict && !o.session, overloaded(o.x):
		c.Skip("GET was answered by HTTP %d, which may be for now only", s)
	case s == http.StatusOK:
		c.Fail(o.x, "GET was answered by HTTP 200 and %s, not by text/event-stream", media(o.x)).And(o.control)
	default:
		c.Fail(o.x, "GET was answered by HTTP %d, which is neither an event stream nor 405", s).And(o.control)
	}
}

// media is the media type of an answer, in words.
func media(x *probe.Exchange) string {
	if m := x.Head.MediaType(); m != "" {
		return m
	}
	return "no Content-Type"
}

// unresumed reports whether an exchange is a stream that was opened by GET, and
// does not resume another.
func unresumed(x *probe.Exchange) bool {
	if x.SentHead == nil || x.SentHead.Method != http.MethodGet || !x.Streamed() {
		return false
	}
	_, resumes := x.SentHead.Lookup(spec.HeaderLastEventID)
	return !resumes
}

func getNoResponse(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if !unresumed(x) {
			continue
		}
		i := slices.IndexFunc(x.Frames, func(f *wire.Frame) bool {
			m := f.Message()
			return m.IsResponse() || slices.ContainsFunc(m.Batch(), (*wire.Message).IsResponse)
		})
		if i < 0 {
			c.Pass(x)
			continue
		}
		c.Fail(x, "a stream that was opened by GET holds a response").In(x.Frames[i], "")
	}
	c.Unseen("no stream was opened by GET")
}

func getUnrelated(c *probe.Case) {
	o, ok := onStream(c)
	if !ok {
		return
	}
	for _, f := range o.alone {
		if f.Message().Method != spec.NotificationProgress {
			continue // whether another message is about a call cannot be seen
		}
		for _, x := range o.calls {
			if concerns(f.Message(), x) {
				c.Fail(o.end, "progress of a running %s came on the stream that was opened by GET", x.Method).In(f, "").And(x)
				return
			}
		}
	}
	if o.talk == nil || !o.talk.OK() {
		c.Skip("no tool that may be called reports progress: name one with --tool 'NAME={...}'")
		return
	}
	c.Pass(o.end)
}

// tellApart reports whether two messages with the same text are one message: a
// request has an id, and a report of progress is never made twice.
func tellApart(m *wire.Message) bool {
	return m.Kind == wire.Request || m.Kind == wire.Notification && m.Method == spec.NotificationProgress
}

func noBroadcast(c *probe.Case) {
	o, ok := onStream(c)
	if !ok {
		return
	}
	for _, x := range o.calls {
		for _, f := range x.Frames {
			if tellApart(f.Message()) && copies(o.alone, f) > 0 {
				c.Fail(x, "%s was sent on the response to its request and on the stream that was opened by GET", f.Message().Method).In(f, "").And(o.end)
				return
			}
		}
	}
	for _, f := range o.first {
		here, there := copies(o.first, f), copies(o.second, f)
		if there > 0 && (tellApart(f.Message()) || here == there && here == o.usual(f)) {
			c.Fail(o.end, "%s was sent on both streams that the session has open", f.Message().Method).In(f, "").And(o.other)
			return
		}
	}
	if len(o.alone)+len(o.first)+len(o.second) == 0 {
		c.Skip("nothing was said on the stream that was opened by GET: name a tool that makes the server say something with --tool 'NAME={...}'")
		return
	}
	c.Pass(o.end)
}

// usual is how often a message was there to be sent while two streams were open.
// What changes for everybody shows in another session, whoever changed it; what
// does not, by the same calls before.
func (s *standing) usual(f *wire.Frame) int {
	if n := copies(s.elsewhere, f); n > 0 {
		return n
	}
	return copies(s.alone, f)
}

// copies counts the messages with the text of another.
func copies(fs []*wire.Frame, of *wire.Frame) (n int) {
	for _, f := range fs {
		if string(f.Raw) == string(of.Raw) {
			n++
		}
	}
	return n
}
