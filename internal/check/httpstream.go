// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	httpReceiving  = httpPage + "#receiving-messages"
	ruleNoRequests = "transport-http.sse-no-server-requests"
)

const (
	// streamLinger is how long a stream may stay open behind its response: a
	// server that is busy closes it a moment later.
	streamLinger = time.Second
	lingering    = 3 * streamLinger // of a fault
)

// httpStreamRules are those of the response to a request, mostly by looking on.
var httpStreamRules = []Rule{
	{
		Info: rule.Info{
			ID: "transport-http.request-content-type", Level: rule.Must, Basis: rule.Keyword, Section: httpSending, Transport: "http",
			Title: "a request is answered as application/json or text/event-stream",
			Why:   "clients choose how to read the answer by its media type, and drop what has another",
			Fix:   "set Content-Type to application/json for one JSON object, or to text/event-stream",
		},
		In: since2503, Watch: requestContentType,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).When(mock.ParamIs("/name", `"show_board"`)).Header(spec.HeaderContentType, "text/plain")},
		},
	},
	{
		Info: rule.Info{
			ID: "transport-http.json-single-object", Level: rule.Must, Basis: rule.Prose, Section: httpSending, Transport: "http",
			Title: "an application/json answer is one JSON object",
			Why:   "a strict client refuses the whole body, a lenient one reads its first part",
			Fix:   "write one JSON-RPC message as the body, and nothing after it",
		},
		In: since2503, Watch: jsonSingleObject,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).After(`{"jsonrpc":"2.0"}`)}},
	},
	{
		Info: rule.Info{
			ID: ruleNoRequests, Level: rule.MustNot, Basis: rule.Keyword, Section: httpReceiving, Transport: "http",
			Title: "no JSON-RPC request is sent on an event stream",
			Why:   "clients of this revision have no way to answer it, so the server waits for ever",
			Fix:   "ask for input by a result of type input_required",
		},
		In: modern, Watch: sseNoRequests, Under: []string{probe.RuleRequests},
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Request("example/ask", `{}`, `"r1"`)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.sse-final-response", Level: rule.Should, Basis: rule.Keyword, Section: httpReceiving, Transport: "http",
			Title: "the response ends the event stream",
			Why:   "each request leaves an open connection behind, until the client or a proxy has no more",
			Fix:   "close the body after the response",
		},
		In: modern, Watch: sseFinalResponse, Stir: stirStream,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).SSE(), mock.On(spec.MethodPromptsList).Linger(lingering)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.sse-no-message-after-response", Level: rule.MustNot, Basis: rule.Prose, Section: "2026-07-28/basic/patterns/progress#implementation-notes", Transport: "http",
			Title: "nothing follows the response on an event stream",
			Why:   "the client has closed its side, so what comes later is lost, or breaks its bookkeeping",
			Fix:   "send the response last",
		},
		In: modern, Watch: sseNothingAfter, Stir: stirStream,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).NotifyAfter("notifications/late", `{}`)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.sse-event-is-one-message", Level: rule.Must, Basis: rule.Derived, Section: httpReceiving, Transport: "http",
			Title: "the data of each message event is one JSON-RPC message",
			Why:   "a client that parses every event fails on the stream, and the answer after it is lost",
			Fix:   "send nothing but JSON-RPC messages as events, and comments to keep the stream open",
		},
		In: since2503, Watch: sseOneMessage, Stir: stirStream,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).SSE(), mock.On(spec.MethodPromptsList).Before("working")}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.x-accel-buffering", Level: rule.Should, Basis: rule.Keyword, Section: httpReceiving, Transport: "http",
			Title: "an event stream has the header X-Accel-Buffering: no",
			Why:   "nginx and proxies like it hold events back until their buffer is full, so progress and changes come late or never",
			Fix:   "set X-Accel-Buffering: no on every event stream",
		},
		In: modern, Watch: accelBuffering, Stir: stirStream,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodListen).Header(spec.HeaderAccelBuffering, "")}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.no-event-ids", Level: rule.ShouldNot, Basis: rule.Derived, Section: httpEarlier, Transport: "http",
			Title: "events have no id: streams are not resumable",
			Why:   "a client that sees ids tries to resume, and waits for events that nobody kept",
			Fix:   "leave the id field out of events",
		},
		In: modern, Watch: noEventIDs, Stir: stirStream,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodListen).Event("id: 1\nevent: message\ndata: {{data}}\n\n")}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.no-delivery-without-listen", Level: rule.MustNot, Basis: rule.Prose, Section: httpReceiving, Transport: "http",
			Title: "changes are told on a subscription's stream alone",
			Why:   "a client that did not subscribe has no handler for them, and one that did sees them twice",
			Fix:   "send list changes and resource updates on streams of subscriptions/listen only",
		},
		In: modern, Watch: noDeliveryElsewhere, Stir: stirStream,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Notify(spec.NotificationToolsListChanged, `{}`)}},
	},
}

// judged reports whether an exchange is a request of this protocol with an
// answer to look at. What may as well be read as a response is none.
func judged(x *probe.Exchange) bool {
	if x.Head == nil || x.Sent == nil {
		return false
	}
	m := x.Sent.Message()
	return m.Kind == wire.Request && m.Result == nil && m.Error == nil
}

// streams are the exchanges that were answered by an event stream.
func streams(t *probe.Traffic) []*probe.Exchange {
	return slices.DeleteFunc(slices.Clone(t.Exchanges), func(x *probe.Exchange) bool { return !x.Streamed() })
}

const noStream = "no event stream was seen"

// stirStream opens the stream that every server has, that of a subscription,
// once for all rules; in the handshake era that of a GET.
func stirStream(c *probe.Case) {
	if c.Probe().Legacy() {
		standingStreams(c)
		return
	}
	probe.Share(c.Probe(), "a stream", func() *probe.Exchange {
		s := c.Start(nil, listenRequest(c, filterAll))
		x, _ := s.Until(acknowledging, acknowledged)
		s.Close()
		return x
	})
}

// requestContentType looks at answers of success: a refusal may come from a
// layer that does not know the protocol, and what its body must be is the
// matter of the rule that asks for the refusal.
func requestContentType(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if !judged(x) || !success(x) {
			continue
		}
		switch media := x.Head.MediaType(); media {
		case spec.MediaJSON, spec.MediaEventStream:
			c.Pass(x)
		case "":
			c.Fail(x, "%s was answered by %s, without a Content-Type", x.Method, x.Brief())
		default:
			c.Fail(x, "%s was answered as %s", x.Method, media)
		}
	}
	c.Unseen("no request was answered by a success")
}

// jsonSingleObject leaves batches to the rule that forbids them.
func jsonSingleObject(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		if !judged(x) || x.Head.MediaType() != spec.MediaJSON {
			continue
		}
		for _, f := range x.Frames {
			m := f.Message()
			switch {
			case m.Kind == wire.Batch:
			case m.Has(wire.FaultTrailing):
				c.Fail(x, "the body that answers %s has more after its JSON object", x.Method).In(f, "")
			case m.Has(wire.FaultNotJSON), m.Has(wire.FaultNotObject), m.Has(wire.FaultUnfinished):
				c.Fail(x, "the application/json body that answers %s is no JSON object", x.Method).In(f, "")
			default:
				c.Pass(x)
			}
		}
	}
	c.Unseen("no answer was application/json")
}

func sseNoRequests(c *probe.Case, t *probe.Traffic) {
	for _, x := range streams(t) {
		i := slices.IndexFunc(x.Frames, func(f *wire.Frame) bool { return f.Message().Kind == wire.Request })
		if i < 0 {
			c.Pass(x)
			continue
		}
		c.Fail(x, "the stream of %s holds a request, %s", x.Method, quoted(x.Frames[i].Message().Method)).In(x.Frames[i], "")
	}
	c.Unseen(noStream)
}

func sseFinalResponse(c *probe.Case, t *probe.Traffic) { closesAfter(c, streams(t)) }

// closesAfter blames streams that stay open after the response. Nothing is said
// of one that the run closed too soon to tell.
func closesAfter(c *probe.Case, xs []*probe.Exchange) {
	for _, x := range xs {
		if x.Response == nil || x.Cancelled {
			continue
		}
		end := x.Ended
		if end.IsZero() && !x.Closed {
			end = time.Now()
		}
		switch {
		case end.Sub(x.Response.Time) >= streamLinger:
			c.Fail(x, "the stream of %s stayed open for %s and more after the response", x.Method, streamLinger).In(x.Response, "")
		case x.Closed && transport.ReasonOf(x.ClosedErr) != transport.Closed:
			c.Pass(x)
		}
	}
	c.Unseen("no event stream with a response was open for long enough to tell")
}

// sseNothingAfter leaves progress, log messages, changes and second responses
// to the rules that say when each may come.
func sseNothingAfter(c *probe.Case, t *probe.Traffic) {
	owned := []string{spec.NotificationProgress, spec.NotificationMessage}
	for _, x := range streams(t) {
		after := slices.Index(x.Frames, x.Response)
		if x.Response == nil || after < 0 {
			continue
		}
		i := slices.IndexFunc(x.Frames[after+1:], func(f *wire.Frame) bool {
			m := f.Message()
			return m.Kind == wire.Notification && !slices.Contains(owned, m.Method) && !isChange(m.Method)
		})
		if i < 0 {
			c.Pass(x)
			continue
		}
		late := x.Frames[after+1+i]
		c.Fail(x, "%s follows the response to %s on its stream", quoted(late.Message().Method), x.Method).In(late, "")
	}
	c.Unseen("no event stream with a response was seen")
}

func sseOneMessage(c *probe.Case, t *probe.Traffic) {
	for _, x := range streams(t) {
		seen := false
		for _, f := range x.Frames {
			switch m := f.Message(); {
			case m.Kind == wire.Batch:
			case m.Has(wire.FaultNotJSON), m.Has(wire.FaultNotObject), m.Has(wire.FaultTrailing):
				c.Fail(x, "the data of an event on the stream of %s is no JSON-RPC message", x.Method).In(f, "")
				seen = true
			}
		}
		for _, e := range x.Other {
			if t.Revision.Era() == spec.Modern && e.Complete && e.HasData && len(e.Data) == 0 {
				c.Fail(x, "an event on the stream of %s has empty data", x.Method)
				seen = true
			}
		}
		if !seen && len(x.Frames) > 0 {
			c.Pass(x)
		}
	}
	c.Unseen(noStream)
}

func accelBuffering(c *probe.Case, t *probe.Traffic) {
	for _, x := range streams(t) {
		v, ok := x.Head.Lookup(spec.HeaderAccelBuffering)
		switch {
		case strings.EqualFold(v, "no"):
			c.Pass(x)
		case ok:
			c.Fail(x, "the event stream of %s has %s: %s", x.Method, spec.HeaderAccelBuffering, v)
			return
		default:
			c.Fail(x, "the event stream of %s has no %s header", x.Method, spec.HeaderAccelBuffering)
			return
		}
	}
	c.Unseen(noStream)
}

func noEventIDs(c *probe.Case, t *probe.Traffic) {
	for _, x := range streams(t) {
		events := x.Other
		for _, f := range x.Frames {
			events = append(events, f.Event)
		}
		if i := slices.IndexFunc(events, func(e *wire.Event) bool { return e != nil && e.HasID }); i >= 0 {
			c.Fail(x, "an event on the stream of %s has the id %s", x.Method, quoted(events[i].ID))
			return
		}
		c.Pass(x)
	}
	c.Unseen(noStream)
}

func noDeliveryElsewhere(c *probe.Case, t *probe.Traffic) {
	for _, x := range streams(t) {
		if x.Method == spec.MethodListen {
			continue
		}
		i := slices.IndexFunc(x.Frames, func(f *wire.Frame) bool { return f.Message().Kind == wire.Notification && isChange(f.Message().Method) })
		if i < 0 {
			c.Pass(x)
			continue
		}
		c.Fail(x, "%s was sent on the stream of %s", x.Frames[i].Message().Method, x.Method).In(x.Frames[i], "")
	}
	c.Unseen("no event stream but those of subscriptions was seen")
}

// quoted is a foreign word for a message.
func quoted(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return string(jsonx.Quote(s))
}
