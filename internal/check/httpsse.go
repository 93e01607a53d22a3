// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	httpSSEPage      = "2024-11-05/basic/transports#http-with-sse"
	ruleTwoEndpoints = "http-sse.two-endpoints"
	ruleEndpoint2411 = "http-sse.endpoint-event"
)

// oldest is the revision with HTTP+SSE.
var oldest = spec.Range{Since: spec.Rev20241105, Until: spec.Rev20241105}

// httpSSERules are those of HTTP+SSE. A server whose stream names no endpoint
// cannot be judged at all: the run ends with what is missing. What is judged
// here is a further connection, as browsers make it.
var httpSSERules = []Rule{
	{
		Info: rule.Info{
			ID: ruleTwoEndpoints, Level: rule.Must, Basis: rule.Keyword, Section: httpSSEPage, Transport: "http+sse",
			Title: "one endpoint gives an event stream to every GET, another takes POST",
			Why:   "a client has no way to the server without both",
			Fix:   "serve the event stream by GET, and take messages by POST at the endpoint that it names",
		},
		In: oldest, Check: twoEndpoints,
		Break: Break{Faults: []mock.Fault{anotherGet.Status(http.StatusNotFound)}},
	},
	{
		Info: rule.Info{
			ID: ruleEndpoint2411, Level: rule.Must, Basis: rule.Keyword, Section: httpSSEPage, Transport: "http+sse",
			Title: "the stream begins with an endpoint event that names where to post",
			Why:   "a client waits for it, and has nowhere to send its first message until it comes",
			Fix:   "send an event of type endpoint with the URI as its data as soon as a client connects",
		},
		In: oldest, Check: endpointEvent,
		Break: Break{Faults: []mock.Fault{anotherGet.Drop()}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(http.MethodGet).Before("event: hello\ndata: tide office\n\n")}},
			{Faults: []mock.Fault{anotherGet.Drop(), anotherGet.Before("event: endpoint\ndata: http://[tide\n\n")}},
		},
	},
	{
		Info: rule.Info{
			ID: "http-sse.message-events", Level: rule.Must, Basis: rule.Prose, Section: httpSSEPage, Transport: "http+sse",
			Title: "what the server sends comes as message events with JSON as their data",
			Why:   "clients listen for events of that type, and drop every other",
			Fix:   "send each JSON-RPC message as the data of one event of type message, and nothing else as such events",
		},
		In: oldest, Watch: messageEvents,
		Break: Break{Faults: []mock.Fault{
			mock.On(http.MethodGet).After("event: news\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"),
		}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(http.MethodGet).After("data: tide office\n\n")}}},
	},
}

// noCache is the header by which browsers open an event stream; no client of
// this protocol need send it.
const noCache = "Cache-Control"

var anotherGet = mock.On(http.MethodGet).When(mock.HasHeader(noCache))

// further is the stream of one more client, as it was once its first event had
// come, or nothing more could be expected.
func further(c *probe.Case) *probe.Exchange {
	return probe.Share(c.Probe(), "a further stream", func() *probe.Exchange {
		s := c.Start(nil, c.Request(http.MethodGet, "").Verb(http.MethodGet).Header(noCache, "no-cache"))
		defer s.Close()
		x, _ := s.Until(c.Probe().Patience(), func(x *probe.Exchange) bool {
			return x.Head != nil && !x.Streamed() || firstEvent(x) != nil
		})
		return x
	})
}

// firstEvent is the first event of a stream with data.
func firstEvent(x *probe.Exchange) *wire.Event {
	if len(x.Other) > 0 {
		if i := slices.IndexFunc(x.Other, hasData); i >= 0 {
			return x.Other[i]
		}
	}
	if len(x.Frames) > 0 {
		return x.Frames[0].Event
	}
	return nil
}

func hasData(e *wire.Event) bool { return e.Dispatched() && len(e.Data) > 0 }

// overSSE skips a case that is not reached by HTTP+SSE.
func overSSE(c *probe.Case) bool {
	if conn := c.Probe().Shared(); conn.Transport().Kind() != transport.HTTPSSE {
		c.Skip("the server is not reached by HTTP+SSE")
		return false
	}
	return true
}

func twoEndpoints(c *probe.Case) {
	if !overSSE(c) {
		return
	}
	for _, x := range c.Facts().Exchanges() {
		if s := x.Status(); slices.Contains(lost, s) || s == spec.StatusMethodNotAllowed {
			c.Fail(x, "POST of %s to the endpoint that the stream named was answered by HTTP %d", x.Method, s)
			return
		}
	}
	x := further(c)
	switch s := x.Status(); {
	case s == http.StatusOK && x.Streamed():
		c.Pass(x)
	case s == http.StatusConflict, overloaded(x):
		c.Skip("the server takes no further client now: GET was answered by HTTP %d", s)
	case x.Head == nil:
		c.Skip("a further GET was not answered: %s", x.Brief())
	default:
		c.Fail(x, "GET was answered by HTTP %d and %s, not by an event stream, while another client has one", s, media(x)).And(c.Facts().Greeting)
	}
}

func endpointEvent(c *probe.Case) {
	if !overSSE(c) {
		return
	}
	if es := c.Probe().Shared().Events(); len(es) > 0 {
		if i := slices.IndexFunc(es, hasData); i >= 0 && es[i].Type != "endpoint" {
			c.Warn(c.Facts().Greeting, "the stream of a client begins with an event of type %s, before that of type endpoint", typeOf(es[i]))
			return
		}
	}
	x := further(c)
	if x.Status() != http.StatusOK || !x.Streamed() {
		c.SkipFor(ruleTwoEndpoints, "a further GET was answered by %s", x.Brief())
		return
	}
	e := firstEvent(x)
	switch {
	case e == nil:
		c.Fail(x, "no endpoint event came on the stream of a further client").And(c.Facts().Greeting)
	case e.Type != "endpoint":
		c.Warn(x, "the stream of a client begins with an event of type %s, and not with that of type endpoint", typeOf(e))
	default:
		uri := strings.TrimSpace(string(e.Data))
		if _, err := url.Parse(uri); err != nil {
			c.Fail(x, "the data of the endpoint event is no URI: %s", quoted(uri))
			return
		}
		c.Pass(x)
	}
}

// typeOf is the type of an event as clients see it.
func typeOf(e *wire.Event) string {
	if e.Type == "" {
		return "message"
	}
	return quoted(e.Type)
}

// messageEvents looks at the streams of all clients. What is no message may come
// under any other type.
func messageEvents(c *probe.Case, t *probe.Traffic) {
	for _, es := range t.Events {
		for _, e := range es {
			if e.Type == "" || e.Type == "message" || e.Type == "endpoint" || !hasData(e) {
				continue
			}
			if m := wire.Read(e.Data); m.JSONRPC != nil && m.Kind != wire.Invalid {
				c.Fail(t.Facts.Greeting, "a message of the server came as an event of type %s: %s", typeOf(e), short(e.Data))
				return
			}
		}
	}
	for _, r := range t.Received() {
		m := r.Message()
		switch {
		case r.Event == nil: // the body of a refusal
		case m.Has(wire.FaultNotJSON), m.Has(wire.FaultTrailing), m.Has(wire.FaultNotObject) && m.Kind != wire.Batch:
			c.Fail(t.Facts.Greeting, "the data of a message event is no JSON-RPC message: %s", short(m.Raw))
			return
		default:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen("no message of the server was seen")
}
