// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// jsonrpcMessageRules are those of what every message of a server is.
var jsonrpcMessageRules = []Rule{
	{
		Info: rule.Info{
			ID: "jsonrpc.version-member", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#messages",
			Title: `every message has jsonrpc "2.0"`,
			Why:   "strict clients drop the message, and wait for an answer that has come",
			Fix:   `put "jsonrpc": "2.0", a string, into every message`,
		},
		In: every, Watch: versionMember,
		Break: Break{Faults: []mock.Fault{mock.On(noMethod).Remove("/jsonrpc")}},
		Breaks: []Break{
			{Faults: unusually(func(p mock.Place) mock.Fault { return p.OfResult().Set("/jsonrpc", "2.0") })},
		},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.utf8", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/transports#messages",
			Title: "messages are encoded in UTF-8",
			Why:   "many clients cannot read the whole message, and some hang on it",
			Fix:   "encode what you send as UTF-8, without a byte order mark, and convert foreign text before you put it in",
		},
		In: since2503, Watch: messagesUTF8,
		Break: Break{Faults: []mock.Fault{mock.On(noMethod).BadUTF8("/error/data")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(noMethod).Replace("{", "\ufeff{")}},
		},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.request-id-present", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#requests",
			Title: "a request has an id, a string or an integer",
			Why:   "the client cannot answer a request whose id it cannot repeat",
			Fix:   "number requests by integers, or name them by strings",
		},
		In: every, Watch: requestIDPresent, Stir: discoverUnderIDs,
		Break:  Break{Faults: []mock.Fault{unusualID.Request(spec.MethodRootsList, `{}`, `1.5`)}, Also: asksTheClient, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{unusualPing.Request(spec.MethodPing, `{}`, `1.5`)}, In: handshakeEra}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.request-id-not-null", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#requests",
			Title: "the id of a request is not null",
			Why:   "an answer under null belongs to nothing, so the client can give none",
			Fix:   "number requests by integers, or name them by strings",
		},
		In: every, Watch: requestIDNotNull, Stir: discoverUnderIDs,
		Break:  Break{Faults: []mock.Fault{unusualID.Request(spec.MethodRootsList, `{}`, `null`)}, Also: asksTheClient, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{unusualPing.Request(spec.MethodPing, `{}`, `null`)}, In: handshakeEra}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.server-no-requests", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns#overview",
			Title: "a server sends no requests",
			Why:   "clients of this revision have nobody who answers it, so whatever waits for the answer hangs",
			Fix:   "ask in an input_required result, by inputRequests",
		},
		In: modern, Watch: serverNoRequests, Stir: discoverUnderIDs,
		Under: []string{probe.RuleRequests, ruleNoRequests},
		Break: Break{
			Faults: []mock.Fault{unusualID.Request(spec.MethodRootsList, `{}`, `7`)}, Also: asksTheClient[1:],
		},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.notification-no-id", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#notifications",
			Title: "a notification has no id",
			Why:   "with an id it is a request, which clients refuse or try to answer",
			Fix:   "leave id out of notifications, null too",
		},
		In: every, Watch: notificationNoID, Stir: discoverUnderIDs,
		Break: Break{
			Faults: unusually(func(p mock.Place) mock.Fault {
				return p.Request(spec.NotificationMessage, `{"level":"info","data":"x"}`, `7`)
			}),
			Also: []string{"stdio.server-no-requests", "transport-http.sse-no-server-requests"},
		},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.notification-no-response", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#notifications",
			Title: "a notification is not answered",
			Why:   "the answer belongs to no request; where it repeats an id, a client takes it for the answer to that one",
			Fix:   "send nothing for a message without id, whatever its method is",
		},
		In: every, Watch: notificationNoResponse, Stir: notifyUnknown, Apart: true,
		Under: []string{ruleAccepted, ruleNotifRefused},
		Break: Break{Faults: []mock.Fault{
			mock.On(noNotification).Answer(`{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.no-batch", Level: rule.MustNot, Basis: rule.Prose, Section: "2025-11-25/basic/transports#sending-messages-to-the-server",
			Title: "there are no batches: an array of messages is neither sent nor executed",
			Why:   "whatever looks at a request on its way, to allow or to count it, sees none of those in the array",
			Fix:   "refuse an array with code -32600, and send every message by itself",
		},
		In: since2506, Watch: noBatch, Stir: sendBatch, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckBatch)}},
	},
}

// asksTheClient are the rules that a request of a server breaks, whatever it
// asks.
var asksTheClient = []string{
	"jsonrpc.server-no-requests", probe.RuleRequests,
	"stdio.server-no-requests", "transport-http.sse-no-server-requests",
}

// isMessage reports whether a frame is to be held to the form of a message. A
// line that is none is noise, and the body of a refusal by HTTP need not be
// one.
func isMessage(f *wire.Frame) bool {
	m := f.Message()
	switch {
	case m.Kind == wire.Invalid:
		return false
	case f.HTTP == nil || f.HTTP.Status < http.StatusBadRequest:
		return true
	}
	return m.JSONRPC != nil || m.ID != nil || m.Error != nil && !m.Has(wire.FaultErrorShape)
}

// named is what a message is about, for findings: the method it answers, or its
// own.
func named(r probe.Received) string {
	m := r.Message()
	switch {
	case m.Method != "":
		return m.Method
	case r.Exchange != nil && r.Exchange.Method != "":
		return "the answer to " + r.Exchange.Method
	}
	return "a message"
}

// fault returns the first fault of a message with a code.
func fault(m *wire.Message, code wire.FaultCode) (wire.Fault, bool) {
	i := slices.IndexFunc(m.Faults, func(f wire.Fault) bool { return f.Code == code })
	if i < 0 {
		return wire.Fault{}, false
	}
	return m.Faults[i], true
}

func versionMember(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages() {
		m := r.Message()
		if m.Kind == wire.Batch || !isMessage(r.Frame) {
			continue
		}
		f, bad := fault(m, wire.FaultVersion)
		switch {
		case !bad:
			c.Pass(r.Exchange)
		case m.JSONRPC == nil:
			c.Fail(r.Exchange, "%s has no jsonrpc member", named(r)).In(r.Frame, "")
		default:
			c.Fail(r.Exchange, `%s has jsonrpc %.40s, not "2.0"`, named(r), m.JSONRPC).In(r.Frame, f.Pointer)
		}
	}
	c.Unseen("the server sent no message")
}

func messagesUTF8(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages() {
		m := r.Message()
		if f, bad := fault(m, wire.FaultUTF8); bad {
			c.Fail(r.Exchange, "%s is not UTF-8: byte %d is % x", named(r), f.Offset, around(m.Raw, f.Offset)).In(r.Frame, f.Pointer)
			continue
		}
		if m.Has(wire.FaultBOM) {
			c.Warn(r.Exchange, "%s begins with a byte order mark, which not every reader takes", named(r)).In(r.Frame, "")
			continue
		}
		c.Pass(r.Exchange)
	}
	c.Unseen("the server sent no message")
}

// around is a byte of a text and the next ones.
func around(raw []byte, at int64) []byte {
	if at < 0 || at >= int64(len(raw)) {
		return nil
	}
	return raw[at:min(int64(len(raw)), at+4)]
}

// isNotification reports whether a method is that of a notification, by its
// name.
func isNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }

// requests are the requests of the server, those that lack their id too.
func requests(t *probe.Traffic) []probe.Received {
	return slices.DeleteFunc(t.Messages(wire.Request, wire.Notification), func(r probe.Received) bool {
		m := r.Message()
		if isNotification(m.Method) {
			return true
		}
		if m.Kind == wire.Request {
			return false
		}
		known, ok := spec.MethodAt(m.Method, t.Revision)
		return !ok || known.Kind == spec.Notification
	})
}

// noRequests is why rules on requests have nothing to look at.
const noRequests = "the server sent no request of its own"

func requestIDPresent(c *probe.Case, t *probe.Traffic) {
	for _, r := range requests(t) {
		m := r.Message()
		switch {
		case m.ID == nil:
			c.Fail(r.Exchange, "the server's request %s has no id", m.Method).In(r.Frame, "")
		case m.Has(wire.FaultIDType):
			c.Fail(r.Exchange, "the server's request %s has the id %.40s, neither a string nor an integer", m.Method, m.ID).In(r.Frame, "/id")
		case !m.Has(wire.FaultIDNull):
			c.Pass(r.Exchange)
		}
	}
	c.Unseen(noRequests)
}

func requestIDNotNull(c *probe.Case, t *probe.Traffic) {
	for _, r := range requests(t) {
		m := r.Message()
		switch {
		case m.Has(wire.FaultIDNull):
			c.Fail(r.Exchange, "the server's request %s has the id null", m.Method).In(r.Frame, "/id")
		case m.ID != nil:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen(noRequests)
}

func serverNoRequests(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages() {
		m := r.Message()
		if m.Kind == wire.Request && !isNotification(m.Method) {
			c.Fail(r.Exchange, "the server sent the request %s", m.Method).In(r.Frame, "")
			continue
		}
		c.Pass(r.Exchange)
	}
	c.Unseen("the server sent no message")
}

func notificationNoID(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages(wire.Request, wire.Notification) {
		m := r.Message()
		switch {
		case !isNotification(m.Method):
		case m.Kind == wire.Request:
			c.Fail(r.Exchange, "the notification %s has the id %.40s", m.Method, m.ID).In(r.Frame, "/id")
		default:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen("the server sent no notification")
}
