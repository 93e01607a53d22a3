// SPDX-License-Identifier: Apache-2.0

package check

import (
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
	resumePage      = transportsPage + "#resumability-and-redelivery"
	ruleUniqueEvent = "sse-resume.event-id-unique"
	ruleCrossStream = "sse-resume.no-cross-stream"
)

// sseResumeRules are those of event ids. A server may give its events none, and
// need not replay anything.
var sseResumeRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleUniqueEvent, Level: rule.Must, Basis: rule.Keyword, Section: resumePage, Transport: "http",
			Title: "no two events of a session have the same id",
			Why:   "a client that comes back gets the events of another stream, or none",
			Fix:   "number events over all streams of the session, or make the name of the stream part of the id",
		},
		In: streamable, Watch: eventIDsUnique, Stir: stirNumbered,
		Break: Break{Base: resumableServer, Faults: []mock.Fault{numberedRequest.Event("id: 1\nevent: message\ndata: {{data}}\n\n")}},
	},
	{
		Info: rule.Info{
			ID: "sse-resume.event-id-stream", Level: rule.Should, Basis: rule.Keyword, Section: resumePage, Transport: "http",
			Title: "an event id says which stream it is of",
			Why:   "a client that comes back to a stream is sent away, and its answer is lost",
			Fix:   "make the name of the stream part of the id, or keep a table from ids to streams",
		},
		In: spec.Range{Since: spec.Rev20251125, Until: spec.Rev20251125}, Check: eventIDStream, Under: []string{ruleCrossStream},
		Break: Break{Base: resumableServer, Faults: []mock.Fault{
			mock.On(http.MethodGet).When(mock.HasHeader(spec.HeaderLastEventID)).OnTurn(2).Status(http.StatusBadRequest),
		}},
	},
	{
		Info: rule.Info{
			ID: ruleCrossStream, Level: rule.MustNot, Basis: rule.Keyword, Section: resumePage, Transport: "http",
			Title: "a stream that is resumed holds no messages of another stream",
			Why:   "a client gets answers twice, or those to requests that it still waits for elsewhere",
			Fix:   "replay only what was sent after the event on the stream of that event",
		},
		In: streamable, Check: noCrossStream,
		Break: Break{
			Base: resumableServer, Faults: []mock.Fault{mock.On(http.MethodGet).Lenient(mock.CheckStreamReplay)},
			Also: []string{"progress.stops-after-completion"}, // that of the other stream, after the answer of this one
		},
	},
}

// numberedRequest is the place of the requests whose events are looked at.
var numberedRequest = mock.On(spec.MethodToolsList).When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, numberedToken))

const numberedToken = `"mcprove-numbered"`

// stirNumbered makes two requests alike: each on a stream of its own, where
// there are such.
func stirNumbered(c *probe.Case) {
	if r, ok := anyList(c); ok {
		c.Send(r.Progress(numberedToken))
		c.Send(r.Progress(numberedToken))
	}
}

// eventIDsUnique compares all streams of a session, of which one connection may
// have several: a second initialize begins another. A server without sessions
// cannot tell clients apart: there those of one connection are compared.
func eventIDsUnique(c *probe.Case, t *probe.Traffic) {
	type place struct {
		conn        int
		session, id string
	}
	seen := map[place]*probe.Exchange{}
	for _, x := range streams(t) {
		if _, resumes := x.SentHead.Lookup(spec.HeaderLastEventID); resumes {
			continue // the same events once more
		}
		session, _ := sessionOf(x)
		for _, id := range eventIDs(x) {
			p := place{x.Conn, session, id}
			if first := seen[p]; first != nil {
				where := "on the streams of two requests"
				if first == x {
					where = "on one stream"
				}
				c.Fail(x, "two events %s have the id %s", where, quoted(id)).And(first)
				return
			}
			seen[p] = x
			c.Pass(x)
		}
	}
	c.Unseen("no event has an id: the server offers no resumption, which is optional")
}

// resumed are two requests of a session, and what came when the stream of each
// was resumed by the id of its first event.
type resumed struct {
	skip    string
	because string
	of      [2]*probe.Exchange
	again   [2]*probe.Exchange
}

// right reports whether the answer to a request came where it was resumed.
func (r *resumed) right(i int) bool {
	return slices.ContainsFunc(r.again[i].Frames, func(f *wire.Frame) bool { return concerns(f.Message(), r.of[i]) })
}

// astray is a message for the other request, nil where there is none.
func (r *resumed) astray(i int) *wire.Frame {
	for _, f := range r.again[i].Frames {
		if concerns(f.Message(), r.of[1-i]) {
			return f
		}
	}
	return nil
}

// Ids and tokens of the requests whose streams are resumed.
var resumedIDs = [2]string{`"mcprove-resumed-a"`, `"mcprove-resumed-b"`}

// resuming bounds the wait for what is replayed.
const resuming = 2 * time.Second

func resumedStreams(c *probe.Case) *resumed {
	return probe.Share(c.Probe(), "resumed streams", func() *resumed { return resume(c) })
}

func resume(c *probe.Case) *resumed {
	r, ok := anyList(c)
	if !ok {
		return &resumed{skip: "no plain request works"}
	}
	if t, _, ok := talker(c, spec.NotificationProgress); ok {
		r = c.Probe().CallRequest(t.Item, t.Arguments)
	}
	conn := c.Open()
	if conn == nil {
		return &resumed{skip: "a further session could not be opened"}
	}
	o, ids := &resumed{}, [2]string{}
	for i, id := range resumedIDs {
		x := c.SendOn(conn, r.WithID(id).Progress(id))
		switch {
		case !x.OK():
			return &resumed{skip: r.Method + " was answered by " + x.Brief()}
		case !x.Streamed() || x.Opening == nil || x.Opening.ID == "":
			return &resumed{skip: "the first event on the stream of " + r.Method + " has no id: the server offers no resumption, which is optional"}
		}
		o.of[i], ids[i] = x, x.Opening.ID
	}
	if ids[0] == ids[1] {
		return &resumed{skip: "two streams begin with the same id", because: ruleUniqueEvent}
	}
	for i, id := range ids {
		s := c.Start(conn, c.Request(http.MethodGet, "").Verb(http.MethodGet).Header(spec.HeaderLastEventID, id))
		answered := func(x *probe.Exchange) bool {
			return x.Head != nil && !x.Streamed() || slices.ContainsFunc(x.Frames, func(f *wire.Frame) bool { return f.Message().IsResponse() })
		}
		s.Until(min(resuming, c.Probe().Patience()), answered)
		// What follows the answer may be of another stream.
		o.again[i], _ = s.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return x.Closed })
		s.Close()
	}
	return o
}

// replayed are the streams that were resumed; ok is false where the case is
// skipped.
func replayed(c *probe.Case) (o *resumed, ok bool) {
	o = resumedStreams(c)
	switch {
	case o.because != "":
		c.SkipFor(o.because, "%s", o.skip)
	case o.skip != "":
		c.Skip("%s", o.skip)
	case len(o.again[0].Frames)+len(o.again[1].Frames) == 0:
		c.Skip("nothing was replayed to a GET with Last-Event-ID, which is optional: %s", o.again[0].Brief())
	default:
		return o, true
	}
	return o, false
}

func eventIDStream(c *probe.Case) {
	o, ok := replayed(c)
	if !ok {
		return
	}
	for i := range o.again {
		if f := o.astray(i); f != nil {
			c.Fail(o.again[i], "the event id of one stream of %s brought the messages of another", o.of[i].Method).In(f, "").And(o.of[i], o.of[1-i])
			return
		}
		if x := o.again[i]; o.right(1-i) && !busy(x) && x.Status() >= http.StatusBadRequest && x.Status() < http.StatusInternalServerError {
			c.Fail(x, "one of two streams of %s could be resumed by its event id, the other was refused: %s", o.of[i].Method, x.Brief()).
				And(o.of[i], o.again[1-i])
			return
		}
	}
	// A stream that holds less than was sent is known all the same.
	if !o.right(0) || !o.right(1) {
		c.Skip("an answer was not replayed to a GET with Last-Event-ID, which is optional")
		return
	}
	c.Pass(o.again[0])
}

func noCrossStream(c *probe.Case) {
	o, ok := replayed(c)
	if !ok {
		return
	}
	for i := range o.again {
		if f := o.astray(i); f != nil {
			c.Fail(o.again[i], "when the stream of one %s was resumed, a message of another came", o.of[i].Method).In(f, "").And(o.of[i], o.of[1-i])
			return
		}
	}
	c.Pass(o.again[0])
}
