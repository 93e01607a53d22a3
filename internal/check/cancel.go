// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	pageCancelBehavior = "2026-07-28/basic/patterns/cancellation#behavior-requirements"
	pageCancelErrors   = "2026-07-28/basic/patterns/cancellation#error-handling"
)

// Ids that the checks cancel.
const (
	idRace    = `"mcprove-race"`
	idLate    = `"mcprove-late"`
	idUnknown = `"mcprove-unknown"`
)

// onCancelled is the place of a cancellation by a client.
func onCancelled(cs ...mock.Condition) mock.Place {
	return mock.On(spec.NotificationCancelled).When(cs...)
}

// cancelRules are those on cancellation that need no tool.
var cancelRules = []Rule{
	{
		Info: rule.Info{
			ID: "cancel.only-own-inflight", Level: rule.Must, Basis: rule.Keyword, Section: pageCancelBehavior,
			Title: "a cancellation names a request that was made",
			Why:   "a client looks for a request that it never made, or ends one that has the same id by chance",
			Fix:   "cancel only with an id that the client sent, as it sent it",
		},
		In: modern, Watch: cancelsOwn,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Notify(spec.NotificationCancelled, `{"requestId":"nobody"}`)}},
	},
	{
		Info: rule.Info{
			ID: "cancel.server-only-listen", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/cancellation#overview",
			Title: "a server cancels nothing but subscriptions",
			Why:   "a client gives up a request that it still wants, though the answer is on its way",
			Fix:   "answer a request that cannot be served by an error, not by notifications/cancelled",
		},
		In: modern, Watch: cancelsListens,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Notify(spec.NotificationCancelled, `{"requestId":{{/id}}}`)}},
	},
	{
		Info: rule.Info{
			ID: "cancel.request-id-required", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#cancellednotificationparams",
			Title: "a cancellation has a requestId, a string or an integer",
			Why:   "a client cannot tell what is cancelled, and goes on waiting for all of it",
			Fix:   "name the request in params.requestId",
		},
		In: modern, Watch: cancelsByID,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Notify(spec.NotificationCancelled, `{"reason":"enough"}`)}},
	},
	{
		Info: rule.Info{
			ID: "cancel.race-tolerated", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/cancellation#timing-considerations",
			Title: "a cancellation that crosses the answer does no harm",
			Why:   "the user presses stop a moment too late, and every other request of the client is lost",
			Fix:   "ignore a cancellation of a request that is no longer running",
		},
		In: modern, Apart: true, Check: cancelRaces,
		Break: Break{Faults: []mock.Fault{onCancelled(mock.ParamIs("/requestId", idLate)).Die()}, Only: transport.Stdio},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(afterLate).Drop()}, Only: transport.Stdio},
			{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.ParamIs("/_meta/progressToken", tokenRaced)).Error(spec.CodeInternalError, "the last request was cut off")}, Only: transport.StreamableHTTP},
		},
	},
	{
		Info: rule.Info{
			ID: "cancel.unknown-id-ignored", Level: rule.Should, Basis: rule.Keyword, Section: pageCancelErrors,
			Title: "a cancellation of an unknown request is ignored",
			Why:   "a client that is a moment late is told of an error that it cannot assign, or loses the server",
			Fix:   "look the id up among the running requests, and do nothing when it is not there",
		},
		In: modern, Apart: true, Check: cancelUnknown, Under: []string{"jsonrpc.notification-no-response"},
		Break:  Break{Faults: []mock.Fault{onCancelled(mock.ParamIs("/requestId", idUnknown)).Die()}, Only: transport.Stdio},
		Breaks: []Break{{Faults: []mock.Fault{onCancelled(mock.ParamIs("/requestId", idUnknown)).Status(500)}, Only: transport.StreamableHTTP}},
	},
	{
		Info: rule.Info{
			ID: "cancel.malformed-ignored", Level: rule.Should, Basis: rule.Keyword, Section: pageCancelErrors,
			Title: "a malformed cancellation is ignored",
			Why:   "one bad message of a client ends a server, or is answered by an error that belongs to no request",
			Fix:   "drop a notifications/cancelled whose requestId is no string and no integer",
		},
		In: modern, Apart: true, Check: cancelMalformed, Under: []string{"cancel.unknown-id-ignored", "jsonrpc.notification-no-response"},
		Break:  Break{Faults: []mock.Fault{onCancelled(mock.NoParam("/requestId")).Die()}, Only: transport.Stdio},
		Breaks: []Break{{Faults: []mock.Fault{onCancelled(mock.NoParam("/requestId")).Status(500)}, Only: transport.StreamableHTTP}},
	},
}

// afterLate holds once the cancellation that comes too late was read.
var afterLate = mock.Condition{Of: mock.OfEarlier, Name: "/params/requestId", Is: mock.IsEqual, Value: idLate}

// tokenRaced is the progress token of the request that follows a race, so that
// a fault can tell it apart.
const tokenRaced = `"mcprove-raced"`

// cancellation is one notifications/cancelled of the server.
type cancellation struct {
	frame *wire.Frame
	x     *probe.Exchange // that it came in, nil for none
	conn  int
	id    json.RawMessage // that it names, nil when that is none
}

func cancellations(t *probe.Traffic) []cancellation {
	var out []cancellation
	add := func(x *probe.Exchange, conn int, f *wire.Frame) {
		m := f.Message()
		if m.Kind != wire.Notification || m.Method != spec.NotificationCancelled {
			return
		}
		id := probe.Lookup(m.Params, "/requestId")
		if k := jsonx.KindOf(id); k != jsonx.String && k != jsonx.Number {
			id = nil
		}
		out = append(out, cancellation{f, x, conn, id})
	}
	for _, x := range t.Exchanges {
		for _, f := range x.Frames {
			add(x, x.Conn, f)
		}
	}
	for _, s := range t.Stray {
		add(nil, s.Conn, s.Frame)
	}
	return out
}

const noCancellation = "the server cancelled nothing"

// of is the request of ours that a cancellation names, nil when there is none:
// on its connection, the latest with that id.
func (k *cancellation) of(t *probe.Traffic) *probe.Exchange {
	for _, x := range slices.Backward(t.Exchanges) {
		if x.Conn == k.conn && x.ID != nil && sameID(x.ID, k.id) {
			return x
		}
	}
	return nil
}

func cancelsOwn(c *probe.Case, t *probe.Traffic) {
	for _, k := range cancellations(t) {
		switch {
		case k.id == nil: // another rule says so
		case k.of(t) == nil:
			c.Fail(k.x, "notifications/cancelled names the request %s, which was never made", k.id).In(k.frame, "/params/requestId")
		default:
			c.Pass(k.x)
		}
	}
	c.Unseen(noCancellation)
}

func cancelsListens(c *probe.Case, t *probe.Traffic) {
	ks := cancellations(t)
	for _, k := range ks {
		if k.id == nil {
			continue
		}
		switch x := k.of(t); {
		case x == nil: // another rule says so
		case x.Method != spec.MethodListen:
			c.Fail(x, "notifications/cancelled names a request %s, which only the client may cancel", x.Method).In(k.frame, "/params/requestId")
		default:
			c.Pass(x)
		}
	}
	// That it cancelled nothing, where it was asked for something, is right.
	if results := t.Results(); len(ks) == 0 && len(results) > 0 {
		c.Pass(results[0])
	}
	c.Unseen(noCancellation)
}

func cancelsByID(c *probe.Case, t *probe.Traffic) {
	for _, k := range cancellations(t) {
		id := probe.Lookup(k.frame.Message().Params, "/requestId")
		switch kind := jsonx.KindOf(id); {
		case kind == 0:
			c.Fail(k.x, "notifications/cancelled has no requestId").In(k.frame, "/params")
		case kind == jsonx.String, kind == jsonx.Number && whole(id):
			c.Pass(k.x)
		default:
			c.Fail(k.x, "requestId of notifications/cancelled is %s, neither a string nor an integer", id).In(k.frame, "/params/requestId")
		}
	}
	c.Unseen(noCancellation)
}

// whole reports whether a number is an integer, however it is spelled.
func whole(number json.RawMessage) bool {
	m := wire.Read(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"x"}`, number))
	return !m.Has(wire.FaultIDType)
}

// canceller sends cancellations on a connection that it opens again where one
// of them ended the server.
type canceller struct {
	c    *probe.Case
	conn *probe.Conn // nil over HTTP: the shared one
}

// newCanceller makes sure that the server works without any cancellation.
func newCanceller(c *probe.Case) (*canceller, bool) {
	k := &canceller{c: c}
	if c.Probe().Stdio() {
		if k.conn = c.Open(); k.conn == nil {
			return nil, false
		}
	}
	x := c.SendOn(k.conn, c.Request(spec.MethodDiscover, ""))
	if !x.OK() {
		c.Lacks(x)
		return nil, false
	}
	return k, true
}

// health asks for something else and tells what came. Answered are the errors
// that came before it and answer nothing that was asked: they can only be
// meant for what was sent before.
func (k *canceller) health(r *probe.Request) (x *probe.Exchange, answered []*wire.Frame) {
	stray := 0
	if k.conn != nil {
		stray = len(k.conn.Stray())
	}
	s := k.c.Start(k.conn, r)
	if k.conn == nil {
		return s.Answer(), nil
	}
	own := func(f *wire.Frame) bool { return sameID(f.Message().ID, s.Now().ID) }
	x, _ = s.Until(k.c.Probe().Patience(), func(x *probe.Exchange) bool {
		if x.Response == nil {
			return false
		}
		for _, f := range x.Frames {
			if f.Message().IsResponse() && own(f) {
				return true
			}
		}
		return false
	})
	for _, f := range x.Frames {
		m := f.Message()
		switch {
		case m.IsResponse() && own(f):
			fixed := *x
			fixed.Response = f
			x = &fixed
		case m.Kind == wire.ErrorResponse:
			answered = append(answered, f)
		}
	}
	for _, f := range k.conn.Stray()[stray:] {
		if f.Message().Kind == wire.ErrorResponse {
			answered = append(answered, f)
		}
	}
	return x, answered
}

func discoverAgain(c *probe.Case, token string) *probe.Request {
	return c.Request(spec.MethodDiscover, "").Progress(token)
}

// cancelRaces cancels right after a request, and over stdio once more after
// the answer, when it is too late.
func cancelRaces(c *probe.Case) {
	k, ok := newCanceller(c)
	if !ok {
		return
	}
	s := c.Start(k.conn, c.Request(spec.MethodToolsList, "").WithID(idRace))
	cancel := s.Close()
	if x, _ := k.health(discoverAgain(c, tokenRaced)); !x.OK() {
		c.Fail(x, "after a request that was cancelled at once, the next one %s", outcome(x)).And(s.Now(), cancel)
		return
	}
	if k.conn == nil {
		c.Pass(s.Now())
		return
	}
	early := c.SendOn(k.conn, c.Request(spec.MethodDiscover, "").WithID(idLate))
	if !early.OK() {
		c.Lacks(early)
		return
	}
	late := c.SendOn(k.conn, c.Probe().Notification(spec.NotificationCancelled).Param("requestId", idLate).
		Planting("a cancellation that comes too late"))
	x, _ := k.health(discoverAgain(c, tokenRaced))
	if !x.OK() {
		c.Fail(x, "after a cancellation that came too late, the next request %s", outcome(x)).And(early, late)
		return
	}
	c.Pass(x)
}

// ignored sends a cancellation that must be ignored, and looks at what it did.
func (k *canceller) ignored(r *probe.Request) bool {
	c := k.c
	sent := c.SendOn(k.conn, r)
	if k.conn == nil && (sent.Silent() || sent.Died() || sent.Status() >= 500) {
		c.Fail(sent, "%s %s, and should be ignored", r.Planted, outcome(sent))
		return false
	}
	x, answered := k.health(c.Request(spec.MethodDiscover, ""))
	switch {
	case !x.OK():
		c.Fail(x, "after %s, the next request %s", r.Planted, outcome(x)).And(sent)
		return false
	case len(answered) > 0:
		c.Fail(sent, "%s is answered by an error, not ignored", r.Planted).In(answered[0], "").And(x)
		return false
	}
	c.Pass(x)
	return true
}

func cancelUnknown(c *probe.Case) {
	k, ok := newCanceller(c)
	if !ok {
		return
	}
	k.ignored(c.Probe().Notification(spec.NotificationCancelled).Param("requestId", idUnknown).
		Planting("a cancellation of a request that was never made"))
}

func cancelMalformed(c *probe.Case) {
	k, ok := newCanceller(c)
	if !ok {
		return
	}
	cancel := c.Probe().Notification(spec.NotificationCancelled)
	for _, r := range []*probe.Request{
		cancel.Planting("a cancellation without params"),
		cancel.Param("requestId", "null").Planting("a cancellation whose requestId is null"),
		cancel.Param("requestId", `{"id":1}`).Planting("a cancellation whose requestId is an object"),
	} {
		if !k.ignored(r) {
			return
		}
	}
}
