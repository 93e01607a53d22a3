// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
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

const ruleRaceTolerated = "cancel.race-tolerated"

// cancelRules are those on cancellation that need no tool.
var cancelRules = []Rule{
	{
		Info: rule.Info{
			ID: "cancel.only-own-inflight", Level: rule.Must, Basis: rule.Keyword, Section: pageCancelBehavior,
			Title: "a cancellation names a request that was made",
			Why:   "a client looks for a request that it never made, or ends one that has the same id by chance",
			Fix:   "cancel only with an id that the client sent, as it sent it",
		},
		In: every, Watch: cancelsOwn,
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
		// 2025-11-25 lets requestId be missing, because of tasks.
		In: every, Except: spec.Rev20251125, Watch: cancelsByID,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Notify(spec.NotificationCancelled, `{"reason":"enough"}`)}},
	},
	{
		Info: rule.Info{
			ID: ruleRaceTolerated, Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/cancellation#timing-considerations",
			Title: "a cancellation that crosses the answer does no harm",
			Why:   "the user presses stop a moment too late, and every other request of the client is lost",
			Fix:   "ignore a cancellation of a request that is no longer running",
		},
		In: every, Apart: true, Check: cancelRaces,
		Break: Break{Faults: []mock.Fault{onCancelled(mock.ParamIs("/requestId", idLate)).Die()}, Only: transport.Stdio},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(afterLate).Drop()}, Only: transport.Stdio, In: modern},
			{Faults: []mock.Fault{mock.On(spec.MethodDiscover).When(mock.ParamIs("/_meta/progressToken", tokenRaced)).Error(spec.CodeInternalError, "the last request was cut off")}, Only: transport.StreamableHTTP, In: modern},
			{Faults: []mock.Fault{mock.On(spec.MethodPing).When(afterLate, mock.ParamIs("/_meta/progressToken", tokenRaced)).Error(spec.CodeInternalError, "no such request")}, In: handshakeEra},
			{Faults: []mock.Fault{mock.On(spec.MethodPing).When(mock.ParamIs("/_meta/progressToken", tokenRaced)).Error(spec.CodeInternalError, "the last request was cut off")}, In: handshakeEra},
		},
	},
	{
		Info: rule.Info{
			ID: "cancel.unknown-id-ignored", Level: rule.Should, Basis: rule.Keyword, Section: pageCancelErrors,
			Title: "a cancellation of an unknown request is ignored",
			Why:   "a client that is a moment late is told of an error that it cannot assign, or loses the server",
			Fix:   "look the id up among the running requests, and do nothing when it is not there",
		},
		In: every, Apart: true, Check: cancelUnknown, Under: []string{"jsonrpc.notification-no-response", ruleRaceTolerated},
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
		In: every, Apart: true, Check: cancelMalformed, Under: []string{"cancel.unknown-id-ignored", "jsonrpc.notification-no-response"},
		Break:  Break{Faults: []mock.Fault{onCancelled(mock.NoParam("/requestId")).Die()}, Only: transport.Stdio},
		Breaks: []Break{{Faults: []mock.Fault{onCancelled(mock.NoParam("/requestId")).Status(500)}, Only: transport.StreamableHTTP}},
	},
}

// afterLate holds once the cancellation that comes too late was read.
var afterLate = mock.Condition{Of: mock.OfEarlier, Name: "/params/requestId", Is: mock.IsEqual, Value: idLate}

// tokenRaced is the progress token of the request that follows a race, so that
// a fault can tell it apart.
const tokenRaced = `"mcprove-raced"`

// canceller sends cancellations, over stdio on a process that no other check
// uses, and that is started again where one of them ended it.
type canceller struct {
	c    *probe.Case
	conn *probe.Conn // nil over Streamable HTTP: the shared one
}

// cancelOutcome is what came of a cancellation. All of them are made on one
// process, so that a server which is slow to start is started once.
type cancelOutcome struct {
	skip   string // why nothing was sent
	lacks  *probe.Exchange
	blame  string // what is wrong, empty when nothing is
	x      *probe.Exchange
	shows  []*probe.Exchange
	answer *wire.Frame // an error that answers a cancellation
}

// cancelOutcomes are those of one server.
type cancelOutcomes struct{ race, unknown, malformed cancelOutcome }

// tell makes a verdict of it.
func (o *cancelOutcome) tell(c *probe.Case) {
	switch {
	case o.skip != "":
		c.Skip("%s", o.skip)
	case o.lacks != nil:
		c.Lacks(o.lacks)
	case o.blame == "":
		c.Pass(o.x)
	default:
		b := c.Fail(o.x, "%s", o.blame).And(o.shows...)
		if o.answer != nil {
			b.In(o.answer, "")
		}
	}
}

func cancelRaces(c *probe.Case) {
	if !c.Probe().OneStream() {
		(&canceller{c: c}).race().tell(c)
		return
	}
	cancelAll(c).race.tell(c)
}

func cancelUnknown(c *probe.Case) {
	if !c.Probe().OneStream() {
		(&canceller{c: c}).unknown().tell(c)
		return
	}
	cancelAll(c).unknown.tell(c)
}

func cancelMalformed(c *probe.Case) {
	if !c.Probe().OneStream() {
		(&canceller{c: c}).malformed().tell(c)
		return
	}
	cancelAll(c).malformed.tell(c)
}

func cancelAll(c *probe.Case) *cancelOutcomes {
	return probe.Share(c.Probe(), "cancellations", func() *cancelOutcomes {
		k, o := &canceller{c: c}, &cancelOutcomes{}
		// Those that should leave no trace come first, on a process that has
		// seen nothing else.
		o.unknown, o.malformed, o.race = *k.unknown(), *k.malformed(), *k.race()
		return o
	})
}

// works makes sure that the server works without any cancellation. A process
// that does not any more is left for a new one.
func (k *canceller) works() *cancelOutcome {
	discover := plain(k.c)
	if k.conn != nil {
		if lost, _ := k.conn.Lost(); !lost && k.c.SendOn(k.conn, discover).OK() {
			return nil
		}
	}
	if k.c.Probe().OneStream() {
		if k.conn = k.c.Open(); k.conn == nil {
			return &cancelOutcome{skip: "a further connection could not be opened"}
		}
	}
	if x := k.c.SendOn(k.conn, discover); !x.OK() {
		return &cancelOutcome{lacks: x}
	}
	return nil
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
		return slices.ContainsFunc(x.Frames, func(f *wire.Frame) bool { return f.Message().IsResponse() && own(f) })
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

// race cancels right after a request, and where a message does that once more
// after the answer, when it is too late.
func (k *canceller) race() *cancelOutcome {
	if o := k.works(); o != nil {
		return o
	}
	c := k.c
	next := plain(c).Progress(tokenRaced)
	s := c.Start(k.conn, c.Request(spec.MethodToolsList, "").WithID(idRace))
	cancel := s.Cancel()
	if x, _ := k.health(next); !x.OK() {
		return &cancelOutcome{
			x: x, shows: []*probe.Exchange{s.Now(), cancel},
			blame: "after a request that was cancelled at once, the next one " + outcome(x),
		}
	}
	if k.conn == nil && !c.Probe().Legacy() {
		return &cancelOutcome{x: s.Now()} // it cannot come too late
	}
	early := c.SendOn(k.conn, plain(c).WithID(idLate))
	if !early.OK() {
		return &cancelOutcome{lacks: early}
	}
	late := c.SendOn(k.conn, c.Probe().Notification(spec.NotificationCancelled).Param("requestId", idLate).
		Planting("a cancellation that comes too late"))
	x, _ := k.health(next)
	if !x.OK() {
		return &cancelOutcome{
			x: x, shows: []*probe.Exchange{early, late},
			blame: "after a cancellation that came too late, the next request " + outcome(x),
		}
	}
	return &cancelOutcome{x: x}
}

// ignored sends a cancellation that must be ignored, and looks at what it did.
func (k *canceller) ignored(r *probe.Request) *cancelOutcome {
	sent := k.c.SendOn(k.conn, r)
	if k.conn == nil && (sent.Silent() || sent.Died() || sent.Status() >= http.StatusInternalServerError) {
		return &cancelOutcome{x: sent, blame: fmt.Sprintf("%s %s, and should be ignored", r.Planted, outcome(sent))}
	}
	x, answered := k.health(plain(k.c))
	switch {
	case !x.OK():
		return &cancelOutcome{x: x, shows: []*probe.Exchange{sent}, blame: fmt.Sprintf("after %s, the next request %s", r.Planted, outcome(x))}
	case len(answered) > 0:
		return &cancelOutcome{x: sent, shows: []*probe.Exchange{x}, answer: answered[0], blame: r.Planted + " is answered by an error, not ignored"}
	}
	return &cancelOutcome{x: x}
}

func (k *canceller) unknown() *cancelOutcome {
	if o := k.works(); o != nil {
		return o
	}
	return k.ignored(k.c.Probe().Notification(spec.NotificationCancelled).Param("requestId", idUnknown).
		Planting("a cancellation of a request that was never made"))
}

func (k *canceller) malformed() *cancelOutcome {
	if o := k.works(); o != nil {
		return o
	}
	var last *cancelOutcome
	cancel := k.c.Probe().Notification(spec.NotificationCancelled)
	for _, r := range []*probe.Request{
		cancel.Planting("a cancellation without params"),
		cancel.Param("requestId", "null").Planting("a cancellation whose requestId is null"),
		cancel.Param("requestId", `{"id":1}`).Planting("a cancellation whose requestId is an object"),
	} {
		if last = k.ignored(r); last.blame != "" {
			return last
		}
	}
	return last
}
