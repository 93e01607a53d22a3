// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
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
	pageFilter     = "2026-07-28/basic/patterns/subscriptions#notification-filter"
	pageConcurrent = "2026-07-28/basic/patterns/subscriptions#multiple-concurrent-subscriptions"
	pageStreams    = "2026-07-28/basic/transports/streamable-http#receiving-messages"
)

// subscriptionStreamRules are those on what comes while a subscription is open.
var subscriptionStreamRules = []Rule{
	{
		Info: rule.Info{
			ID: "subscriptions.http-sse-stream", Level: rule.Must, Basis: rule.Prose, Section: pageStreams, Transport: "http",
			Title: "the answer to a subscription is an event stream that stays open",
			Why:   "no change can ever be told on an answer that is over",
			Fix:   "answer subscriptions/listen with Content-Type text/event-stream, and keep the stream until the client closes it",
		},
		In: modern, Check: listenStreams,
		Break:  Break{Faults: []mock.Fault{onOne.JSON()}},
		Breaks: []Break{{Faults: []mock.Fault{onOne.Unanswered()}}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.id-on-every-notification", Level: rule.Must, Basis: rule.Keyword, Section: pageReceiving,
			Title: "every notification of a subscription carries its id",
			Why:   "a client with several subscriptions, or over stdio, cannot tell whom the change concerns, and drops it",
			Fix:   "put the id of the listen request into _meta as io.modelcontextprotocol/subscriptionId of each notification",
		},
		In: modern, Watch: idOnEvery, Stir: stirSubscriptions,
		Break: Break{Faults: []mock.Fault{onOneAck.Remove("/params/_meta")}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.id-equals-request-id", Level: rule.Must, Basis: rule.Prose, Section: pageReceiving,
			Title: "the id of a subscription is that of its listen request, of the same type",
			Why:   "a client looks the id up among its requests, finds nothing, and drops the change",
			Fix:   "repeat the id of the request as it came: a number stays a number, a string a string",
		},
		In: modern, Check: idEquals,
		Break: Break{Faults: []mock.Fault{onOneAck.Set("/params/_meta/io.modelcontextprotocol~1subscriptionId", "1")}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.only-requested-types", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/subscriptions#opening-a-stream",
			Title: "a subscription is told only of changes that it asked for",
			Why:   "a client reads lists again that it does not show, on every change of a server with many",
			Fix:   "hold every change against the filter of the subscription before you send it",
		},
		In: modern, Watch: onlyTypes, Stir: stirSubscriptions, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onOne.Lenient(mock.CheckListenFilter)}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.only-requested-uris", Level: rule.MustNot, Basis: rule.Schema, Section: "2026-07-28/schema#resourceupdatednotification",
			Title: "a subscription is told only of resources that it named, or what is below them",
			Why:   "a client learns of resources that it never asked about, and reads them for nothing",
			Fix:   "hold the URI of every update against the URIs of the subscription before you send it",
		},
		In: modern, Watch: onlyURIs, Stir: stirSubscriptions, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.IDIs("string"), mock.HasParam("/notifications/"+memberResources)).
			Lenient(mock.CheckListenURIs)}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.empty-filter-quiet", Level: rule.MustNot, Basis: rule.Derived, Section: pageFilter,
			Title: "a subscription to nothing is told nothing",
			Why:   "a client that opted out of every change is told of some all the same",
			Fix:   "treat a type that the filter leaves out as not asked for",
		},
		In: modern, Check: emptyQuiet, Under: []string{"subscriptions.nothing-before-ack"},
		Break: Break{
			Faults: []mock.Fault{onEmpty.Lenient(mock.CheckListenFilter)},
			Also:   []string{"subscriptions.only-requested-types"},
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.no-request-scoped", Level: rule.MustNot, Basis: rule.Prose, Section: pageStreams,
			Title: "progress and log messages do not come on a subscription",
			Why:   "a client looks for the progress of a call on the answer of the call, and never sees it",
			Fix:   "send them on the response stream of the request that they are about",
		},
		In: modern, Check: noRequestScoped, Needs: "--tool", Under: []string{"logging.not-on-listen"},
		Break: Break{
			Faults: []mock.Fault{onOne.Notify(spec.NotificationMessage, `{"level":"info","data":"busy",`+tagged[1:])},
			Also:   []string{"logging.not-on-listen"},
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.no-result-while-open", Level: rule.MustNot, Basis: rule.Schema, Section: "2026-07-28/schema#subscriptionslistenresult",
			Title: "a subscription is not answered while it lives",
			Why:   "the answer says that it is over: the client takes it for a shutdown and subscribes again and again",
			Fix:   "answer the listen request only when the server ends the subscription",
		},
		In: modern, Check: noResultWhileOpen,
		Break: Break{Faults: []mock.Fault{onOne.AtOnce()}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.concurrent", Level: rule.Must, Basis: rule.Derived, Section: pageConcurrent,
			Title: "several subscriptions of a client live side by side",
			Why:   "a client that listens to tools in one place and to a resource in another loses one of them",
			Fix:   "keep subscriptions by the id of their request, not one for each client",
		},
		In: modern, Check: concurrent,
		Break: Break{Faults: []mock.Fault{onOne.Error(spec.CodeInternalError, "there is a subscription already")}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.concurrent-independent", Level: rule.Must, Basis: rule.Derived, Section: pageConcurrent,
			Title: "the end of one subscription leaves the others open",
			Why:   "a client that closes one view stops learning of changes in all the others",
			Fix:   "end only the subscription whose stream was closed, or whose id was cancelled",
		},
		In: modern, Check: concurrentIndependent,
		Break: Break{Faults: []mock.Fault{onURI.Together()}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.no-state-across-reconnect", Level: rule.MustNot, Basis: rule.Prose, Section: "2026-07-28/basic/patterns/subscriptions#graceful-closure",
			Title: "a subscription does not outlive its connection",
			Why:   "a client that came back is told of changes under an id that it does not know",
			Fix:   "forget the subscriptions of a connection when that ends",
		},
		In: modern, Check: noStateAcross,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.ParamIs("/_meta/progressToken", tokenBack)).
				Notify(spec.NotificationToolsListChanged, `{"_meta":{"io.modelcontextprotocol/subscriptionId":1001}}`)},
			Only: transport.Stdio,
		},
	},
}

// tokenBack is the progress token of the request of a client that came back: a
// request like any other, told apart by the mock.
const tokenBack = `"mcprove-back"`

func listenStreams(c *probe.Case) {
	s := probe.Share(c.Probe(), "subscriptions", func() *subscriptionSet { return subscribe(c) })
	if s.failed != "" {
		c.Skip("%s", s.failed)
		return
	}
	for _, one := range []*subscription{s.all, s.one, s.empty} {
		if one == nil || one.refused() || one.x.Head == nil {
			continue
		}
		switch x := one.x; {
		case !x.Streamed():
			c.Fail(x, "a subscription is answered by %s of type %s, not by an event stream", x.Brief(), mediaType(x))
		case one.ack == nil:
			c.SkipFor("subscriptions.ack-sent", "a subscription is not acknowledged")
		case x.Closed && x.Response == nil && x.Ended.Before(s.cancelled):
			c.Fail(x, "the stream of a subscription ended by itself, without an answer")
		default:
			c.Pass(x)
		}
	}
	if s.all.refused() {
		c.Lacks(s.all.x)
		return
	}
	c.Unseen("no subscription was answered")
}

// mediaType is what an answer says it is.
func mediaType(x *probe.Exchange) string {
	if t := x.Head.MediaType(); t != "" {
		return t
	}
	return "nothing"
}

// idOnEvery: over HTTP the stream says what belongs to a subscription, over
// stdio the method does, where it is one of subscriptions alone.
func idOnEvery(c *probe.Case, t *probe.Traffic) {
	look := func(x *probe.Exchange, f *wire.Frame) {
		m := f.Message()
		if m.Kind != wire.Notification || scoped(m.Method) {
			return
		}
		if subscriptionID(f) != nil {
			c.Pass(x)
			return
		}
		c.Fail(x, "%s of a subscription has no %s in _meta", m.Method, spec.MetaSubscriptionID).In(f, "/params")
	}
	for _, s := range listens(c, t) {
		for _, f := range s.x.Frames {
			look(s.x, f)
		}
	}
	if t.Stdio() {
		for _, r := range t.Notifications() {
			own := r.Exchange != nil && r.Exchange.Method == spec.MethodListen
			if m := r.Message().Method; !own && (isChange(m) || m == spec.NotificationSubscriptionsAck) {
				look(r.Exchange, r.Frame)
			}
		}
	}
	c.Unseen(noSubscription)
}

// scoped are the notifications that belong to a request, and the end of one.
func scoped(method string) bool {
	switch method {
	case spec.NotificationProgress, spec.NotificationMessage, spec.NotificationCancelled:
		return true
	}
	return false
}

func idEquals(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	for _, one := range []*subscription{s.all, s.one, s.empty, s.uri} {
		if one == nil || one.ack == nil {
			continue
		}
		switch id := subscriptionID(one.ack); {
		case id == nil: // another rule says so
		case sameID(id, one.x.ID):
			c.Pass(one.x)
		default:
			c.Fail(one.x, "the subscription of request %s is acknowledged under the id %s", one.x.ID, id).
				In(one.ack, jsonx.Push("/params/"+spec.FieldMeta, spec.MetaSubscriptionID))
		}
	}
	c.Unseen("no acknowledgement has the id of a subscription")
}

func sameID(a, b json.RawMessage) bool {
	x, okX := wire.KeyOf(a)
	y, okY := wire.KeyOf(b)
	return okX && okY && x == y
}

func onlyTypes(c *probe.Case, t *probe.Traffic) {
	for _, s := range listens(c, t) {
		filter := asked(s.x)
		for _, f := range s.x.Frames {
			m := f.Message()
			i := slices.IndexFunc(changes, func(ch change) bool { return ch.method == m.Method })
			switch {
			case i < 0 || m.Kind != wire.Notification:
			case wants(filter, changes[i].member):
				c.Pass(s.x)
			default:
				c.Fail(s.x, "a subscription to %s is told %s", filter, m.Method).In(f, "")
			}
		}
	}
	c.Unseen("no change was told while a subscription was open: name a tool that changes a list with --tool")
}

func onlyURIs(c *probe.Case, t *probe.Traffic) {
	for _, s := range listens(c, t) {
		named := probe.Elements(probe.Lookup(asked(s.x), "/"+memberResources))
		for _, f := range s.x.Notifications(spec.NotificationResourcesUpdated) {
			uri := probe.Text(probe.Lookup(f.Message().Params, "/uri"))
			if len(named) == 0 || uri == "" {
				continue // not asked for at all, or no uri, which other rules say
			}
			if slices.ContainsFunc(named, func(n json.RawMessage) bool { return below(uri, probe.Text(n)) }) {
				c.Pass(s.x)
				continue
			}
			c.Fail(s.x, "a subscription to %s is told of an update of %s", named[0], jsonx.Quote(uri)).In(f, "/params/uri")
		}
	}
	c.Unseen("no update of a resource was told while a subscription was open: name a tool that changes one with --tool")
}

// below reports whether a resource is another one, or a part of it. What a part
// is, a server knows best: any longer URI with the same beginning may be one.
func below(uri, of string) bool {
	return of != "" && strings.HasPrefix(uri, strings.TrimSuffix(of, "/"))
}

func emptyQuiet(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	if s.empty.ack == nil {
		c.Skip("a subscription to nothing was not acknowledged")
		return
	}
	for _, f := range s.empty.x.Notifications("") {
		if isChange(f.Message().Method) {
			c.Fail(s.empty.x, "a subscription to nothing is told %s", f.Message().Method).In(f, "")
			return
		}
	}
	c.Pass(s.empty.x)
}

func noRequestScoped(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	for _, one := range []*subscription{s.all, s.one, s.empty} {
		for _, f := range one.x.Notifications("") {
			m := f.Message().Method
			// Over stdio every request shares the channel: only what says that
			// it is of the subscription is.
			if (m == spec.NotificationProgress || m == spec.NotificationMessage) && (c.HTTP() || subscriptionID(f) != nil) {
				c.Fail(one.x, "%s comes on a subscription", m).In(f, "").And(s.calls...)
				return
			}
		}
	}
	if len(s.calls) == 0 {
		c.Skip("%s", probe.NoTool)
		return
	}
	c.Pass(s.all.x)
}

// noResultWhileOpen: a server may end a subscription at any time, and says so
// by the result. One that ends what it has just granted does not mean that.
func noResultWhileOpen(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	for _, one := range []*subscription{s.all, s.one, s.empty, s.uri} {
		if one == nil || one.ack == nil {
			continue
		}
		x := one.x
		at := slices.Index(x.Frames, x.Response)
		switch {
		case x.Response == nil || !x.Response.Time.Before(s.cancelled):
			c.Pass(x)
		case at >= 0 && at < slices.Index(x.Frames, one.ack): // which another rule says
		case grantsNothing(one.ack):
			c.Note(x, "a subscription that grants nothing is answered at once, which ends it")
		default:
			c.Fail(x, "a subscription is answered right after its acknowledgement").In(x.Response, "")
		}
	}
	c.Unseen(noSubscription)
}

func grantsNothing(ack *wire.Frame) bool {
	return !slices.ContainsFunc(changes, func(ch change) bool {
		return wants(honoured(ack), ch.member)
	})
}

func concurrent(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	for _, one := range []*subscription{s.one, s.empty} {
		switch x := one.x; {
		case one.refused():
			c.Fail(x, "a second subscription %s while the first is open", outcome(x)).And(s.all.x)
		case one.ack == nil:
			c.SkipFor("subscriptions.ack-sent", "a second subscription is not acknowledged")
		default:
			c.Pass(x)
		}
	}
}

func concurrentIndependent(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	if s.one.ack == nil || over(s.one.x, s.cancelled) {
		c.Skip("there was no second subscription to end")
		return
	}
	for _, one := range []*subscription{s.all, s.empty, s.uri} {
		switch {
		case one == nil || one.ack == nil || over(one.x, s.cancelled):
		case grantsNothing(one.ack): // such a one may end by itself, at any time
		case one.x.Died():
			c.Skip("the connection ended when a subscription was cancelled")
		case one.x.Response != nil || one.x.Closed:
			c.Fail(one.x, "a subscription ended when another one was ended by the client").And(s.one.x)
			return
		default:
			c.Pass(one.x)
		}
	}
	c.Unseen("no subscription was open when another one ended")
}

// over reports whether an exchange was answered or ended before a time.
func over(x *probe.Exchange, at time.Time) bool {
	return x.Response != nil && x.Response.Time.Before(at) || x.Closed && x.Ended.Before(at)
}

// noStateAcross comes back on a connection of its own, after subscriptions of
// others ended with theirs, and subscribes to nothing.
func noStateAcross(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	back := c.Start(conn, c.Request(spec.MethodDiscover, "").Progress(tokenBack))
	x := back.Answer()
	if !x.OK() {
		c.Lacks(x)
		return
	}
	if !x.Closed {
		x, _ = back.Until(c.Probe().Quiet(), func(*probe.Exchange) bool { return false })
	}
	frames := slices.Concat(x.Frames, conn.Stray())
	for _, f := range frames {
		if m := f.Message(); isChange(m.Method) && subscriptionID(f) != nil {
			c.Fail(x, "%s of subscription %s comes on a new connection that has no subscription", m.Method, subscriptionID(f)).In(f, "").And(s.all.x)
			return
		}
	}
	c.Pass(x)
}
