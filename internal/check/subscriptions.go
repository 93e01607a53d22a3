// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	pageAcknowledgment = "2026-07-28/basic/patterns/subscriptions#acknowledgment"
	pageReceiving      = "2026-07-28/basic/patterns/subscriptions#receiving-notifications"
)

// Places of the subscriptions that the checks open.
var (
	onOne      = mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", filterOne))
	onURI      = mock.On(spec.MethodListen).When(mock.HasParam("/notifications/resourceSubscriptions"), mock.NoParam("/notifications/toolsListChanged"))
	onEmpty    = mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", filterEmpty))
	onAck      = mock.OnNotification(spec.NotificationSubscriptionsAck)
	onOneAck   = onAck.When(mock.ParamIs("/notifications", filterOne))
	onEmptyAck = onAck.When(mock.ParamIs("/notifications", filterEmpty))
)

// tagged is the params of a notification of a subscription, in a fault.
const tagged = `{"_meta":{"io.modelcontextprotocol/subscriptionId":{{/id}}}}`

// subscriptionRules are those on how a subscription begins.
var subscriptionRules = []Rule{
	{
		Info: rule.Info{
			ID: "subscriptions.supported", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic#overview",
			Title: "the server has subscriptions/listen",
			Why:   "a client cannot learn of changes, and shows tools and resources that are no longer there",
			Fix:   "answer subscriptions/listen, by an acknowledgement that honours nothing if there is nothing to tell",
		},
		In: modern, Check: listenSupported, Under: []string{"base.core-supported"},
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", filterAll)).Error(spec.CodeMethodNotFound, "Method not found"),
		}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.ack-sent", Level: rule.Must, Basis: rule.Keyword, Section: pageAcknowledgment,
			Title: "a subscription is acknowledged",
			Why:   "a client cannot tell a subscription that is quiet from one that was never made",
			Fix:   "send notifications/subscriptions/acknowledged as soon as the subscription is made",
		},
		In: modern, Check: ackSent,
		Break: Break{Faults: []mock.Fault{onEmptyAck.Drop()}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.ack-first", Level: rule.Must, Basis: rule.Keyword, Section: pageAcknowledgment,
			Title: "the first message of a subscription is its acknowledgement",
			Why:   "a client that waits for the acknowledgement takes an earlier message for a fault, or drops it",
			Fix:   "send nothing with the id of the subscription before its acknowledgement",
		},
		In: modern, Watch: ackFirst, Stir: stirSubscriptions, Under: []string{"subscriptions.nothing-before-ack"},
		Break: Break{
			Faults: []mock.Fault{onEmptyAck.Before(`{"jsonrpc":"2.0","id":{{/id}},"result":{"resultType":"complete",` +
				`"_meta":{"io.modelcontextprotocol/subscriptionId":{{/id}},"io.modelcontextprotocol/serverInfo":{"name":"mock","version":"1.0.0"}}}}`)},
			Also: []string{"transport-http.sse-no-message-after-response"},
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.nothing-before-ack", Level: rule.MustNot, Basis: rule.Keyword, Section: pageAcknowledgment,
			Title: "no notification of a subscription comes before its acknowledgement",
			Why:   "a client does not yet know what was granted, and loses the change it was told",
			Fix:   "hold changes back until the acknowledgement was sent",
		},
		In: modern, Watch: nothingBeforeAck, Stir: stirSubscriptions,
		Break: Break{Faults: []mock.Fault{onOne.NotifyFirst(spec.NotificationToolsListChanged, tagged)}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.ack-filter-present", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#subscriptionsacknowledgednotificationparams",
			Title: "an acknowledgement says what is honoured, even when that is nothing",
			Why:   "a client cannot know which changes it will be told, and must look for the others itself",
			Fix:   "put the honoured filter into params.notifications, an empty object when nothing is honoured",
		},
		In: modern, Watch: ackFilterPresent, Stir: stirSubscriptions,
		Break: Break{Faults: []mock.Fault{onEmptyAck.Remove("/params/notifications")}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.ack-subset", Level: rule.Must, Basis: rule.Prose, Section: pageAcknowledgment,
			Title: "an acknowledgement grants nothing that was not asked for",
			Why:   "a client is told of changes that it has no use for, and of resources that it never named",
			Fix:   "honour only members that the request's filter has, and only the URIs that it names",
		},
		In: modern, Watch: ackSubset, Stir: stirSubscriptions,
		Break: Break{Faults: []mock.Fault{onOneAck.Set("/params/notifications/promptsListChanged", "true")}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.ack-omits-unsupported", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#subscriptionsacknowledgednotificationparams",
			Title: "an acknowledgement leaves out what the server does not support",
			Why:   "a client relies on a change that it will never be told, and goes on with an old list",
			Fix:   "acknowledge a type only where the capability that announces it is declared",
		},
		In: modern, Check: ackOmitsUnsupported,
		Break: Break{
			Base:   quietPrompts,
			Faults: []mock.Fault{onAck.When(mock.HasParam("/notifications/promptsListChanged")).Set("/params/notifications/promptsListChanged", "true")},
		},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.missing-filter-32602", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#subscriptionslistenrequestparams",
			Title: "a listen request without a filter is refused with -32602",
			Why:   "a client that forgot the filter waits on a stream that will never say anything",
			Fix:   "refuse subscriptions/listen without params.notifications by code -32602",
		},
		In: modern, Check: missingFilter,
		Break:  Break{Faults: []mock.Fault{mock.Lenient(mock.CheckListenFilterMissing)}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.NoParam("/notifications")).Set("/error/code", "-32603")}}},
	},
	{
		Info: rule.Info{
			ID: "subscriptions.ignored-unknown-filter", Level: rule.Must, Basis: rule.Derived, Section: pageAcknowledgment,
			Title: "a filter member the server does not know is left out, and does no harm",
			Why:   "a newer client cannot subscribe at all, or believes that the server knows what it asked for",
			Fix:   "build the acknowledgement from the members you know, and ignore the rest",
		},
		In: modern, Check: unknownFilter,
		Break: Break{Faults: []mock.Fault{
			onAck.When(mock.HasParam("/notifications/"+noFilter)).Set("/params/notifications/"+noFilter, "true"),
		}},
		Breaks: []Break{{Faults: []mock.Fault{
			mock.On(spec.MethodListen).When(mock.HasParam("/notifications/"+noFilter)).Error(spec.CodeInvalidParams, "unknown filter"),
		}}},
	},
}

// noFilter is a member of a filter that nobody knows.
const noFilter = "mcproveNoSuchChange"

// quietPrompts is a server that has prompts, and does not tell of changes.
func quietPrompts(s *mock.Script) {
	var b strings.Builder
	for i, m := range probe.Members(s.Capabilities) {
		if i > 0 {
			b.WriteByte(',')
		}
		value := []byte(m.Value)
		if m.Name == "prompts" {
			value = []byte("{}")
		}
		fmt.Fprintf(&b, "%q:%s", m.Name, value)
	}
	s.Capabilities = []byte("{" + b.String() + "}")
}

// listens are the subscriptions that crossed: well-formed listen requests that
// were not refused. What came for them is looked at until we ended them.
func listens(c *probe.Case, t *probe.Traffic) []subscription {
	var out []subscription
	var refused *probe.Exchange
	for _, x := range t.Exchanges {
		if x.Method != spec.MethodListen || x.Sent == nil || x.Planted() != "" {
			continue
		}
		s := subscription{x: x, ack: acknowledgement(x)}
		if s.refused() {
			refused = x
			continue
		}
		out = append(out, s)
	}
	if len(out) == 0 && refused != nil {
		c.Lacks(refused)
	}
	return out
}

// noSubscription is why a rule on subscriptions has nothing to look at.
const noSubscription = "no subscription was seen that was acknowledged"

func listenSupported(c *probe.Case) {
	set := probe.Share(c.Probe(), "subscriptions", func() *subscriptionSet { return subscribe(c) })
	if set.all != nil && set.all.ack == nil && !set.all.refused() && !set.all.x.OK() {
		c.SkipFor("subscriptions.ack-sent", "a subscription was neither acknowledged nor refused")
		return
	}
	conn, ok := beside(c)
	if !ok {
		return
	}
	o := &opening{c: c, conn: conn}
	s := o.open(listenRequest(c, filterAll))
	x, ack := s.stream.Now(), s.now().ack
	s.stream.Close()
	tells := slices.ContainsFunc(changes, func(ch change) bool { return c.Facts().Declares(ch.capability) })
	_, refused := x.Code()
	switch {
	case ack != nil, x.OK():
		c.Pass(x)
	case refused && !tells:
		c.Note(x, "subscriptions/listen %s, by a server that declares no changes to tell of", outcome(x))
	case x.Refused(), x.Died(), x.Status() >= 300:
		c.Warn(x, "subscriptions/listen %s", outcome(x))
	default:
		c.SkipFor("subscriptions.ack-sent", "a subscription was neither acknowledged nor refused")
	}
}

func ackSent(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok && (s.failed != "" || s.all.refused()) {
		return
	}
	for _, one := range []*subscription{s.all, s.one, s.empty, s.uri} {
		switch {
		case one == nil || one.refused():
		case one.ack == nil && c.HTTP() && one.x.OK() && !one.x.Streamed():
			c.SkipFor("subscriptions.http-sse-stream", "a subscription is answered by a JSON object, which cannot hold an acknowledgement")
		case one.ack == nil:
			switch {
			case one.x.Died():
				c.Fail(one.x, "a subscription to %s %s", asked(one.x), outcome(one.x))
				return
			case one.x.Response != nil:
				c.Fail(one.x, "a subscription to %s ended without having been acknowledged", asked(one.x))
				return
			}
			c.Fail(one.x, "no acknowledgement of a subscription to %s came within %s", asked(one.x), c.Probe().Patience())
			return
		default:
			c.Pass(one.x)
		}
	}
}

// before are the frames of a subscription in front of its acknowledgement.
func before(s *subscription) []*wire.Frame {
	if i := slices.Index(s.x.Frames, s.ack); i >= 0 {
		return s.x.Frames[:i]
	}
	return nil
}

func ackFirst(c *probe.Case, t *probe.Traffic) {
	for _, s := range listens(c, t) {
		if s.ack == nil {
			continue
		}
		first := true
		for _, f := range before(&s) {
			if probe.Same(subscriptionID(f), s.x.ID) {
				c.Fail(s.x, "the first message with the id of the subscription is a %s, not its acknowledgement", f.Message().Kind).In(f, "")
				first = false
				break
			}
		}
		if first {
			c.Pass(s.x)
		}
	}
	c.Unseen(noSubscription)
}

func nothingBeforeAck(c *probe.Case, t *probe.Traffic) {
	for _, s := range listens(c, t) {
		if s.ack == nil {
			continue
		}
		early := slices.IndexFunc(before(&s), func(f *wire.Frame) bool { return f.Message().Kind == wire.Notification })
		if early < 0 {
			c.Pass(s.x)
			continue
		}
		f := before(&s)[early]
		c.Fail(s.x, "%s comes before the acknowledgement of the subscription", f.Message().Method).In(f, "")
	}
	c.Unseen(noSubscription)
}

func ackFilterPresent(c *probe.Case, t *probe.Traffic) {
	for _, s := range listens(c, t) {
		if s.ack == nil {
			continue
		}
		switch f := honoured(s.ack); jsonx.KindOf(f) {
		case jsonx.Object:
			c.Pass(s.x)
		case 0:
			c.Fail(s.x, "the acknowledgement has no notifications, for a subscription to %s", asked(s.x)).In(s.ack, "/params")
		default:
			c.Fail(s.x, "notifications of the acknowledgement is a %s, not an object", jsonx.KindOf(f).Name()).In(s.ack, "/params/notifications")
		}
	}
	c.Unseen(noSubscription)
}

func ackSubset(c *probe.Case, t *probe.Traffic) {
	for _, s := range listens(c, t) {
		granted, filter := honoured(s.ack), asked(s.x)
		if jsonx.KindOf(granted) != jsonx.Object {
			continue
		}
		more := ""
		for _, ch := range changes {
			if wants(granted, ch.member) && !wants(filter, ch.member) {
				more = ch.member
			}
		}
		for _, uri := range probe.Elements(probe.Lookup(granted, "/"+memberResources)) {
			if !slices.ContainsFunc(probe.Elements(probe.Lookup(filter, "/"+memberResources)), func(a json.RawMessage) bool { return probe.Same(a, uri) }) {
				more = memberResources
			}
		}
		if more == "" {
			c.Pass(s.x)
			continue
		}
		c.Fail(s.x, "a subscription to %s was acknowledged with %s: %s was not asked for", filter, granted, more).In(s.ack, "/params/notifications/"+more)
	}
	c.Unseen(noSubscription)
}

// ackOmitsUnsupported asks for everything, which a server grants only as far
// as it declares to announce it. That a type is granted whose family is there,
// and only the flag is not, may be a flag that was forgotten.
func ackOmitsUnsupported(c *probe.Case) {
	s, ok := subscribed(c)
	if !ok {
		return
	}
	if c.Facts().Capabilities == nil {
		c.Skip("what the server supports is not known: server/discover gave no capabilities")
		return
	}
	granted, filter := honoured(s.all.ack), asked(s.all.x)
	if jsonx.KindOf(granted) != jsonx.Object {
		c.SkipFor("subscriptions.ack-filter-present", "the acknowledgement says nothing of what is honoured")
		return
	}
	for _, ch := range changes {
		switch {
		case !wants(filter, ch.member) || c.Facts().Declares(ch.capability):
		case !wants(granted, ch.member):
			c.Pass(s.all.x)
		case c.Facts().Declares(ch.family):
			c.Warn(s.all.x, "%s is acknowledged, and the server does not declare %s", ch.member, ch.capability).
				In(s.all.ack, "/params/notifications/"+ch.member)
		default:
			c.Fail(s.all.x, "%s is acknowledged by a server that has no %s", ch.member, ch.family).
				In(s.all.ack, "/params/notifications/"+ch.member)
		}
	}
	c.Unseen("the server declares every type of change, so none could be left out")
}

func missingFilter(c *probe.Case) {
	if _, ok := subscribed(c); !ok {
		return
	}
	conn, ok := beside(c)
	if !ok {
		return
	}
	o := &opening{c: c, conn: conn}
	s := o.open(c.Request(spec.MethodListen, "").Planting("no notifications in params"))
	x, ack := s.stream.Now(), s.now().ack
	s.stream.Close()
	switch {
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	case ack != nil:
		c.Fail(x, "a listen request without notifications was acknowledged, not refused with %d", spec.CodeInvalidParams)
	default:
		c.Fail(x, "a listen request without notifications %s, and should be refused with %d", outcome(x), spec.CodeInvalidParams)
	}
}

func unknownFilter(c *probe.Case) {
	if _, ok := subscribed(c); !ok {
		return
	}
	conn, ok := beside(c)
	if !ok {
		return
	}
	o := &opening{c: c, conn: conn}
	s := o.open(listenRequest(c, `{"toolsListChanged":true,"`+noFilter+`":true}`).Planting("a filter member that nobody knows"))
	x, ack := s.stream.Now(), s.now().ack
	s.stream.Close()
	switch {
	case ack == nil:
		c.Fail(x, "a subscription with a filter member that nobody knows %s, and is not acknowledged", outcome(x))
	case wants(honoured(ack), noFilter):
		c.Fail(x, "the acknowledgement honours %s, a filter member that nobody knows", noFilter).In(ack, "/params/notifications/"+noFilter)
	default:
		c.Pass(x)
	}
}
