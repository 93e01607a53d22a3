// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	httpSending      = httpPage + "#sending-messages"
	ruleAccepted     = "transport-http.notification-202"
	ruleNotifRefused = "transport-http.notification-refused-4xx"
)

// httpNotificationRules are those of what is posted and is no request.
var httpNotificationRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleAccepted, Level: rule.Must, Basis: rule.Keyword, Section: httpSending, Transport: "http",
			Title: "a notification that is accepted gets HTTP 202",
			Why:   "a client that gets another success waits for a body with an answer that never comes",
			Fix:   "answer HTTP 202 without a body to every notification you take",
		},
		In: since2503, Check: notificationAccepted,
		Break: Break{Faults: []mock.Fault{mock.On(spec.NotificationCancelled).Status(http.StatusOK)}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.notification-202-empty", Level: rule.Must, Basis: rule.Keyword, Section: httpSending, Transport: "http",
			Title: "the 202 to a notification has no body",
			Why:   "a client that reads a body where there is none by the rules takes it for an answer to something else",
			Fix:   "send HTTP 202 with Content-Length 0",
		},
		In: since2503, Check: notificationEmpty,
		Break: Break{Faults: []mock.Fault{mock.On(spec.NotificationCancelled).HTTP(http.StatusAccepted, "text/plain", "accepted")}},
	},
	{
		Info: rule.Info{
			ID: ruleNotifRefused, Level: rule.Must, Basis: rule.Keyword, Section: httpSending, Transport: "http",
			Title: "a notification that cannot be accepted gets an HTTP error status",
			Why:   "the client takes the notification for delivered, since it reads no body after one",
			Fix:   "answer HTTP 400 to a notification you do not take",
		},
		In: since2503, Check: notificationRefused,
		Break: Break{Faults: []mock.Fault{
			mock.On(noNotifier).HTTP(http.StatusOK, spec.MediaJSON, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown notification"}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.notification-refused-body", Level: rule.May, Basis: rule.Keyword, Section: httpSending, Transport: "http",
			Title: "a JSON body of the refusal of a notification is an error without an id",
			Why:   "a notification has no id, so one in the answer is that of another message",
			Fix:   "leave the body empty, or send a JSON-RPC error without id",
		},
		In: since2503, Check: notificationRefusedBody,
		Break: Break{Faults: []mock.Fault{
			mock.On(noNotifier).HTTP(http.StatusBadRequest, spec.MediaJSON, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"unknown notification"}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "transport-http.server-rejects-response-body", Level: rule.Must, Basis: rule.Derived, Section: httpSending, Transport: "http",
			Title: "a posted JSON-RPC response is not accepted",
			Why:   "a client of another revision believes its answer was taken, and the server waits for none",
			Fix:   "answer HTTP 400 to a body that is a response",
		},
		In: modern, Check: responsePosted,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckResponsePosted)}},
	},
}

// noNotifier is a notification that nobody knows.
const noNotifier = "notifications/mcprove/no-such-notification"

// cancelNothing is a notification that every server may take: the end of a
// request that was never made.
func cancelNothing(c *probe.Case) (*probe.Exchange, bool) {
	if _, ok := c.Plain(); !ok {
		return nil, false
	}
	return c.Once(c.Probe().Notification(spec.NotificationCancelled).Param("requestId", `"mcprove-never-sent"`)), true
}

func notifyNothing(c *probe.Case) *probe.Exchange {
	return c.Once(c.Probe().Notification(noNotifier).Planting("a notification that nobody knows"))
}

// success reports whether the status is one of success.
func success(x *probe.Exchange) bool { return x.Status() >= 200 && x.Status() < 300 }

// refusedInBody reports whether a success that is not 202 carries an error.
func refusedInBody(x *probe.Exchange) bool {
	m := x.Message()
	return success(x) && x.Status() != spec.StatusNotificationAccepted && m != nil && m.Kind == wire.ErrorResponse
}

func notificationAccepted(c *probe.Case) {
	x, ok := cancelNothing(c)
	if !ok {
		return
	}
	// The one that ends the handshake is looked at too: it is the one that a
	// server takes which refuses those that it does not know.
	if first := c.Probe().Shared().Initialized(); first != nil &&
		first.Status() >= http.StatusOK && first.Status() < http.StatusMultipleChoices && first.Status() != spec.StatusNotificationAccepted {
		c.Fail(first, "%s was answered by %s, not by HTTP %d", first.Method, first.Brief(), spec.StatusNotificationAccepted)
		return
	}
	switch {
	case x.Status() == spec.StatusNotificationAccepted:
		c.Pass(x)
	case refusedInBody(x):
		c.SkipFor(ruleNotifRefused, "the notification was refused in the body: %s", x.Brief())
	case x.Status() >= http.StatusBadRequest:
		c.Skip("the notification was refused, which is allowed: %s", x.Brief())
	default:
		c.Fail(x, "a notification was answered by %s, not by HTTP %d", x.Brief(), spec.StatusNotificationAccepted)
	}
}

func notificationEmpty(c *probe.Case) {
	x, ok := cancelNothing(c)
	switch {
	case !ok:
	case x.Status() == spec.StatusNotificationAccepted && len(x.Body) == 0 && len(x.Frames) == 0 && len(x.Other) == 0:
		c.Pass(x)
	case x.Status() == spec.StatusNotificationAccepted:
		c.Fail(x, "the HTTP %d to a notification has a body", x.Status())
	case x.Status() >= http.StatusBadRequest:
		c.Skip("the notification was refused, which is allowed: %s", x.Brief())
	default:
		c.SkipFor(ruleAccepted, "no notification was answered by HTTP %d", spec.StatusNotificationAccepted)
	}
}

func notificationRefused(c *probe.Case) {
	first, ok := cancelNothing(c)
	if !ok {
		return
	}
	for _, x := range []*probe.Exchange{first, notifyNothing(c)} {
		switch {
		case x.Sent == nil: // held back
		case refusedInBody(x):
			c.Fail(x, "a notification was refused in the body alone: %s", x.Brief())
			return
		case x.Status() == spec.StatusNotificationAccepted, x.Status() >= http.StatusBadRequest:
			c.Pass(x)
		case x == first:
			c.SkipFor(ruleAccepted, "a notification was answered by %s", x.Brief())
			return
		default:
			c.Fail(x, "an unknown notification was answered by %s: that is neither HTTP %d nor a refusal", x.Brief(), spec.StatusNotificationAccepted)
		}
	}
}

func notificationRefusedBody(c *probe.Case) {
	first, ok := cancelNothing(c)
	if !ok {
		return
	}
	for _, x := range []*probe.Exchange{first, notifyNothing(c)} {
		m := x.Message()
		switch {
		case x.Sent == nil: // held back
		case x.Status() >= http.StatusBadRequest && m != nil && m.ID != nil && string(m.ID) != "null":
			c.Note(x, "the refusal of a notification has id %s", short(m.ID)).In(x.Response, "/id")
		case x.Status() >= http.StatusBadRequest, x.Status() == spec.StatusNotificationAccepted:
			c.Pass(x)
		default:
			c.SkipFor(ruleAccepted, "a notification was answered by %s", x.Brief())
		}
	}
}

func responsePosted(c *probe.Case) {
	if _, ok := c.Plain(); !ok {
		return
	}
	r := c.Request(spec.MethodDiscover, "").NoHeader(spec.HeaderMethod).
		Text(`{"jsonrpc":"2.0","id":"mcprove-never-asked","result":{}}`).Planting("a response")
	x := c.Send(r)
	switch {
	case x.Status() >= http.StatusBadRequest:
		c.Pass(x)
	case x.Sent == nil: // held back
	default:
		c.Fail(x, "a posted response was answered by %s", x.Brief())
	}
}
