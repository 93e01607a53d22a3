// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	batchPage    = "2025-03-26/basic#batching"
	batchPosting = "2025-03-26/basic/transports#sending-messages-to-the-server"
	ruleBatch    = "batch.receive"
	ruleBatchAll = "batch.response-per-request"
)

// batching is the one revision with batches.
var batching = spec.Range{Since: spec.Rev20250326, Until: spec.Rev20250326}

// batchRules are those of arrays of messages.
var batchRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleBatch, Level: rule.Must, Basis: rule.Keyword, Section: batchPage,
			Title: "an array of requests is answered",
			Why:   "a client of this revision that sends several requests at once gets no answer to any of them",
			Fix:   "take an array, serve each message in it, and answer by an array, or by one message after the other",
		},
		In: batching, Check: batchReceived, Apart: true,
		Break:  Break{Faults: []mock.Fault{mock.On(mock.Batched).Error(spec.CodeInvalidRequest, "no batches")}},
		Breaks: []Break{{Faults: []mock.Fault{inBatch.Unanswered()}}},
	},
	{
		Info: rule.Info{
			ID: ruleBatchAll, Level: rule.Should, Basis: rule.Keyword, Section: batchPosting, Transport: "http",
			Title: "the stream that answers an array holds a response to each request in it",
			Why:   "the client waits for the answer that is missing",
			Fix:   "close the stream once every request of the array is answered",
		},
		In: batching, Check: batchAnswered,
		Break: Break{Base: streamedBatches, Faults: []mock.Fault{inBatch.Unanswered()}},
	},
	{
		Info: rule.Info{
			ID: "batch.notifications-202", Level: rule.Must, Basis: rule.Keyword, Section: batchPosting, Transport: "http",
			Title: "an array without requests that is accepted gets HTTP 202 and no body",
			Why:   "a client that gets another success waits for answers that never come",
			Fix:   "answer HTTP 202 without a body to an array of notifications",
		},
		In: batching, Check: batchAccepted,
		Break:  Break{Faults: []mock.Fault{mock.On(mock.Batched).Status(http.StatusOK)}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(mock.Batched).When(mock.Not(mock.AnswerHas("/error"))).HTTP(http.StatusAccepted, spec.MediaJSON, "[]")}}},
	},
	{
		Info: rule.Info{
			ID: "batch.empty-32600", Level: rule.Must, Basis: rule.Prose, Section: batchPage,
			Title: "an empty array is answered as an invalid request",
			Why:   "whoever sent it by mistake waits for an answer that does not come, or takes it for accepted",
			Fix:   "answer an array without messages by one error of code -32600",
		},
		In: batching, Check: batchEmpty, Apart: true,
		Break: Break{
			Only: transport.Stdio, Faults: []mock.Fault{mock.On(mock.Batched).OfCode(spec.CodeInvalidRequest).Set("/error/code", "-32603")},
		},
		Breaks: []Break{{
			Only: transport.StreamableHTTP, Faults: []mock.Fault{mock.On(mock.Batched).OfCode(spec.CodeInvalidRequest).HTTP(http.StatusAccepted, "", "")},
		}},
	},
	{
		Info: rule.Info{
			ID: "batch.none-before", Level: rule.ShouldNot, Basis: rule.Derived, Section: "2024-11-05/basic/messages",
			Title: "no array of messages is sent",
			Why:   "clients of this revision read one message at a time, and drop what is none",
			Fix:   "send every message by itself",
		},
		In: spec.Range{Since: spec.Rev20241105, Until: spec.Rev20241105}, Watch: noneBefore,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).After(`[{"jsonrpc":"2.0","method":"notifications/mcprove"}]`)}},
	},
}

// batchToken marks the second request of an array.
const batchToken = `"mcprove-batched"`

var inBatch = mock.On("").When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, batchToken))

// streamedBatches is a Base that answers an array by an event stream.
func streamedBatches(s *mock.Script) { s.Faults = append(s.Faults, mock.On(mock.Batched).SSE()) }

// Ids of the requests in an array.
var batchIDs = []string{`"mcprove-batch-1"`, `"mcprove-batch-2"`}

// batched is an array of two requests and what answered them.
type batched struct {
	skip    string
	x       *probe.Exchange
	alone   *probe.Exchange // the second request by itself
	answers []*wire.Message // by the order of the ids, nil for none
	frames  []*wire.Frame   // of the answers
	refusal *wire.Frame     // an error that answers the array as a whole
}

// results counts the requests that were answered by a result.
func (b *batched) results() (n int) {
	for _, m := range b.answers {
		if m != nil && m.Kind == wire.Response {
			n++
		}
	}
	return n
}

// read takes in what came for the array, opened where it is an array itself.
func (b *batched) read(fs []*wire.Frame) {
	b.answers, b.frames, b.refusal = make([]*wire.Message, len(batchIDs)), nil, nil
	for _, f := range fs {
		m := f.Message()
		for _, one := range append(m.Batch(), m) {
			i := slices.IndexFunc(batchIDs, func(id string) bool { return one.IsResponse() && one.ID != nil && probe.Same(one.ID, []byte(id)) })
			switch {
			case i >= 0 && b.answers[i] == nil:
				b.answers[i], b.frames = one, append(b.frames, f)
			case i < 0 && one.Kind == wire.ErrorResponse && (one.ID == nil || string(one.ID) == "null"):
				b.refusal = f
			}
		}
	}
}

// batch sends the array, once for the rules about it, on a connection of its
// own.
func batch(c *probe.Case) *batched {
	return probe.Share(c.Probe(), "batch", func() *batched { return sendTwo(c) })
}

func sendTwo(c *probe.Case) *batched {
	first, ok := c.Plain()
	if !ok {
		return &batched{skip: "no plain request works"}
	}
	conn := c.Open()
	if conn == nil {
		return &batched{skip: "a further connection could not be opened"}
	}
	second := first
	if ls := lists(c); len(ls) > 0 {
		second = c.Request(ls[0].Method, "")
	}
	b := &batched{}
	for _, r := range []*probe.Request{first, second.Progress(`"mcprove-unbatched"`)} {
		if b.alone = c.SendOn(conn, r); !b.alone.OK() {
			return &batched{skip: r.Method + " on a further connection was answered by " + b.alone.Brief()}
		}
	}
	text := "[" + string(first.Encode([]byte(batchIDs[0]))) + "," + string(second.Progress(batchToken).Encode([]byte(batchIDs[1]))) + "]"
	before := len(conn.Lines())
	s := c.Start(conn, first.Text(text))
	came := func(x *probe.Exchange) []*wire.Frame {
		if c.HTTP() {
			return x.Frames
		}
		return conn.Lines()[before:]
	}
	var all bool
	b.x, all = s.Until(c.Probe().Patience(), func(x *probe.Exchange) bool {
		b.read(came(x))
		return b.answers[0] != nil && b.answers[1] != nil || b.refusal != nil
	})
	if !all && b.x.Head == nil {
		s.Missed()
	}
	return b
}

func batchReceived(c *probe.Case) {
	b := batch(c)
	switch {
	case b.skip != "":
		c.Skip("%s", b.skip)
	case overloaded(b.x):
		c.Skip("an array of requests was answered by %s", b.x.Brief())
	case b.results() == len(batchIDs):
		c.Pass(b.x)
	case c.HTTP() && b.x.Streamed() && b.results() > 0:
		c.SkipFor(ruleBatchAll, "only %d of %d requests in an array were answered", b.results(), len(batchIDs))
	default:
		what := "no request in an array of two was answered by a result"
		if b.results() > 0 {
			what = "of two requests in an array one was answered by a result"
		}
		f := c.Fail(b.x, "%s: %s", what, b.outcome()).And(b.alone)
		if b.refusal != nil {
			f.In(b.refusal, "")
		}
	}
}

// outcome is what came for the array, in words.
func (b *batched) outcome() string {
	switch {
	case b.refusal != nil:
		return "the array was answered by an error"
	case b.x.Head != nil:
		return b.x.Brief()
	case b.x.Died():
		return "the connection ended"
	}
	return "nothing more came in time"
}

func batchAnswered(c *probe.Case) {
	b := batch(c)
	switch {
	case b.skip != "":
		c.Skip("%s", b.skip)
	case b.results() == 0:
		c.SkipFor(ruleBatch, "no request in an array was answered: %s", b.outcome())
	case !b.x.Streamed():
		c.Skip("an array of requests is not answered by an event stream, but by %s", media(b.x))
	case slices.Contains(b.answers, nil):
		c.Fail(b.x, "the stream that answers an array of two requests holds one response").And(b.alone)
	default:
		c.Pass(b.x)
	}
}

// batchAccepted posts two notifications that every server may take.
func batchAccepted(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	one := c.Probe().Notification(spec.NotificationCancelled)
	text := func(id string) string { return string(one.Param("requestId", id).Encode(nil)) }
	x := c.Send(one.Text("[" + text(`"mcprove-never-sent"`) + "," + text(`"mcprove-never-sent-either"`) + "]"))
	switch {
	case x.Status() == spec.StatusNotificationAccepted && len(x.Body) == 0 && len(x.Frames) == 0:
		c.Pass(x)
	case x.Status() == spec.StatusNotificationAccepted:
		c.Fail(x, "the HTTP %d to an array of notifications has a body", x.Status()).And(c.Once(plain))
	case x.Status() >= http.StatusBadRequest, refusedInBody(x):
		c.SkipFor(ruleBatch, "an array of notifications was refused: %s", x.Brief())
	default:
		c.Fail(x, "an array of notifications was answered by %s, not by HTTP %d", x.Brief(), spec.StatusNotificationAccepted)
	}
}

func batchEmpty(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	if b := batch(c); b.skip == "" && (b.results() == 0 || c.Probe().Stdio() && b.results() < len(batchIDs)) {
		c.SkipFor(ruleBatch, "an array of requests was not answered: %s", b.outcome())
		return
	}
	conn, ok := own(c, good)
	if !ok {
		return
	}
	s := c.Start(conn, good.Text("[]").Planting("an empty array"))
	x := refusal(c, s)
	if x.Sent == nil { // held back
		return
	}
	if c.Probe().Stdio() && !heard(x) {
		var invalid bool
		if x, invalid = slowRefusal(c, conn, s, good); invalid {
			c.Pass(x)
			return
		}
	}
	switch {
	case x.Is(spec.CodeInvalidRequest), x.Status() == http.StatusBadRequest:
		c.Pass(x)
	case overloaded(x):
		c.Skip("an empty array was answered by %s", x.Brief())
	default:
		c.Fail(x, "an empty array %s, where error %d is due", outcome(x), spec.CodeInvalidRequest).And(c.Once(good))
	}
}

// slowRefusal asks for something else over stdio, whose answer shows that the
// array was read. An error for an invalid request that comes meanwhile answers
// nothing but that.
func slowRefusal(c *probe.Case, conn *probe.Conn, s *probe.Stream, good *probe.Request) (x *probe.Exchange, invalid bool) {
	before := len(conn.Stray())
	refused := func(*probe.Exchange) bool {
		return slices.ContainsFunc(conn.Stray()[before:], func(f *wire.Frame) bool {
			m := f.Message()
			return m.Error != nil && m.Error.Code == spec.CodeInvalidRequest
		})
	}
	if y := c.SendOn(conn, good); !y.OK() {
		return s.Now(), false
	}
	x, _ = s.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return heard(x) || refused(x) })
	return x, refused(x)
}

func noneBefore(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Received() {
		if m := r.Message(); m.Kind == wire.Batch {
			c.Fail(r.Exchange, "the server sent an array of %d messages", len(m.Batch())).In(r.Frame, "")
			return
		}
		c.Pass(r.Exchange)
	}
	c.Unseen("the server sent no message")
}
