// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// ask is one thing that a server asks of its client: an entry of inputRequests
// in this revision, a request of its own in those before.
type ask struct {
	x      *probe.Exchange
	frame  *wire.Frame
	key    string // in inputRequests; the id elsewhere
	at     string // pointer into the frame
	raw    json.RawMessage
	method string
	params json.RawMessage
	conn   int // that it came on
}

// get returns what a pointer reaches in the params.
func (a *ask) get(pointer string) json.RawMessage { return probe.Lookup(a.params, pointer) }

// text is the string that a pointer reaches in the params, empty for anything else.
func (a *ask) text(pointer string) string { return probe.Text(a.get(pointer)) }

// fail blames the ask at a pointer into its params.
func (a *ask) fail(c *probe.Case, pointer, format string, args ...any) {
	c.Fail(a.x, format, args...).In(a.frame, a.at+"/params"+pointer)
}

// form and url tell the modes of an elicitation apart; without a mode it is a form.
func (a *ask) form() bool {
	return a.method == spec.MethodElicit && (a.get("/mode") == nil || a.text("/mode") == "form")
}
func (a *ask) url() bool { return a.method == spec.MethodElicit && a.text("/mode") == "url" }

// asksFor are the methods by which a server asks.
var asksFor = map[string]bool{spec.MethodElicit: true, spec.MethodCreateMessage: true, spec.MethodRootsList: true}

// inputRequired are the exchanges whose result asks for input, by its type or
// by what stands in it.
func inputRequired(t *probe.Traffic) []*probe.Exchange {
	return probe.Known(t, "input required", func() []*probe.Exchange { return readInputRequired(t) })
}

func readInputRequired(t *probe.Traffic) []*probe.Exchange {
	var out []*probe.Exchange
	for _, x := range t.Results() {
		if x.ResultType() == spec.ResultInputRequired || x.Member(spec.FieldInputRequests) != nil {
			out = append(out, x)
		}
	}
	return out
}

// asks is everything that the server asked, in order.
func asks(t *probe.Traffic) []ask { return probe.Known(t, "asks", func() []ask { return readAsks(t) }) }

func readAsks(t *probe.Traffic) []ask {
	var out []ask
	for _, x := range inputRequired(t) {
		for _, m := range probe.Members(x.Member(spec.FieldInputRequests)) {
			raw := json.RawMessage(m.Value)
			out = append(out, ask{
				x: x, frame: x.Response, key: m.Name, at: jsonx.Push("/result/"+spec.FieldInputRequests, m.Name), raw: raw,
				method: probe.Text(probe.Lookup(raw, "/method")), params: probe.Lookup(raw, "/params"), conn: x.Conn,
			})
		}
	}
	return append(out, asksAmong(t.Messages(wire.Request))...)
}

// asksAmong are those of the requests of a server by which it asks.
func asksAmong(rs []probe.Received) []ask {
	var out []ask
	for _, r := range rs {
		if m := r.Message(); m.Kind == wire.Request && asksFor[m.Method] {
			out = append(out, ask{x: r.Exchange, frame: r.Frame, key: string(m.ID), raw: m.Raw, method: m.Method, params: m.Params, conn: r.Conn})
		}
	}
	return out
}

// askedIn are those that came on the stream of an exchange, or while it went on.
func askedIn(x *probe.Exchange) []ask {
	rs := make([]probe.Received, len(x.Frames))
	for i, f := range x.Frames {
		rs[i] = probe.Received{Frame: f, Exchange: x, Conn: x.Conn}
	}
	return asksAmong(rs)
}

// eachAsk runs over the asks that a rule is about, and skips it where there are
// none.
func eachAsk(c *probe.Case, t *probe.Traffic, about func(*ask) bool, judge func(*ask)) {
	all := asks(t)
	for i := range all {
		if a := &all[i]; about(a) {
			c.Pass(a.x)
			judge(a)
		}
	}
	if len(all) > 0 {
		c.Unseen("what the server asks for is of another kind")
		return
	}
	c.Unseen("%s", probe.NoAsk)
}

func isForm(a *ask) bool     { return a.form() }
func isURL(a *ask) bool      { return a.url() }
func isElicit(a *ask) bool   { return a.method == spec.MethodElicit }
func isSampling(a *ask) bool { return a.method == spec.MethodCreateMessage }

// onCall is the place of the calls of one tool of the specimen that asks for input.
func onCall(tool string) mock.Place {
	return mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"`+tool+`"`)).OfType(spec.ResultInputRequired)
}

// askPlaces are where tools of the specimen ask in each era.
var askPlaces = []struct{ tool, at, method string }{
	{formTool, formAt, spec.MethodElicit}, {urlTool, urlAt, spec.MethodElicit}, {sampleTool, sampleAt, spec.MethodCreateMessage},
}

// ofAsk are the breaks of a rule on what a server asks: a fault of an input
// request, and the same one of the request that asks it in the handshake era.
func ofAsk(fault mock.Fault, in spec.Range) (first Break, others []Break) {
	before := fault
	var with []mock.Condition
	for _, c := range fault.Conditions {
		if c.Of == mock.OfTransport {
			with = append(with, c)
		}
	}
	for _, p := range askPlaces {
		if rest, ok := strings.CutPrefix(fault.Pointer, p.at); ok {
			before.Place, before.Pointer = mock.OnNotification(p.method).When(mock.ParamIs("/name", `"`+p.tool+`"`)).When(with...), rest
		}
	}
	var out []Break
	for _, b := range []Break{{Faults: []mock.Fault{fault}, In: modern}, {Faults: []mock.Fault{before}, In: handshakeEra}} {
		if b.In.Overlaps(in) {
			out = append(out, b)
		}
	}
	return out[0], out[1:]
}

// Places in what tools of the specimen ask.
const (
	formTool   = "complete_report"
	formAt     = "/result/inputRequests/report"
	urlTool    = "confirm_reading"
	urlAt      = "/result/inputRequests/page"
	sampleTool = "explain_tide"
	sampleAt   = "/result/inputRequests/summary"
)
