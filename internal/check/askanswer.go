// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// inputsOf are the input requests of one result.
func inputsOf(x *probe.Exchange) []ask {
	var out []ask
	for _, m := range probe.Members(x.Member(spec.FieldInputRequests)) {
		raw := json.RawMessage(m.Value)
		out = append(out, ask{
			x: x, frame: x.Response, key: m.Name, raw: raw,
			method: probe.Text(probe.Lookup(raw, "/method")), params: probe.Lookup(raw, "/params"),
		})
	}
	return out
}

// answer is what a client answers to an input request; nil where nothing fits.
func (a *ask) answer() json.RawMessage { return probe.ReplyTo(a.method, a.params) }

// replies are the answers to all that a result asks, by key; nil where one
// cannot be given.
func replies(x *probe.Exchange) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, a := range inputsOf(x) {
		v := a.answer()
		if v == nil {
			return nil
		}
		out[a.key] = v
	}
	return out
}

// retry is the request of x again with answers and its state, as a client sends
// it; nil answers send none.
func retry(x *probe.Exchange, answers map[string]json.RawMessage) *probe.Request {
	r := x.Request
	if answers != nil {
		keys := make([]string, 0, len(answers))
		for k := range answers {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b := []byte{'{'}
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, jsonx.Quote(k)...), ':'), answers[k]...)
		}
		r = r.Param(spec.FieldInputResponses, string(append(b, '}')))
	}
	if state := x.Member(spec.FieldRequestState); state != nil {
		r = r.Param(spec.FieldRequestState, string(state))
	}
	return r
}

// askers are exchanges in which the server asks for input that can be answered,
// a few, of different kinds first. Where there are none the case is skipped.
func askers(c *probe.Case, about func(*probe.Exchange) bool) []*probe.Exchange {
	var out []*probe.Exchange
	seen := map[string]bool{}
	for _, x := range c.Asks() {
		kind := ""
		for _, a := range inputsOf(x) {
			kind += a.method + " " + a.text("/mode") + " "
		}
		state := x.Member(spec.FieldRequestState)
		if state != nil && jsonx.KindOf(state) != jsonx.String {
			continue // a rule of its own says so
		}
		if replies(x) == nil || !about(x) || seen[kind] || len(out) == mostAskers {
			continue
		}
		seen[kind] = true
		out = append(out, x)
	}
	if len(out) == 0 {
		c.Skip("%s", probe.NoAsk)
	}
	return out
}

// mostAskers bounds how many things that ask are tried by one rule.
const mostAskers = 3

func anyAsk(*probe.Exchange) bool { return true }

func withState(x *probe.Exchange) bool {
	return jsonx.KindOf(x.Member(spec.FieldRequestState)) == jsonx.String && len(probe.Text(x.Member(spec.FieldRequestState))) >= 8
}

// asking reports whether a result asks for something of a kind.
func asking(is func(*ask) bool) func(*probe.Exchange) bool {
	return func(x *probe.Exchange) bool {
		as := inputsOf(x)
		return slices.ContainsFunc(as, func(a ask) bool { return is(&a) })
	}
}

// anew asks again by the same request, so that its state is fresh. ok is false,
// and the case skipped, when the server does not ask this time.
func anew(c *probe.Case, x *probe.Exchange) (*probe.Exchange, bool) {
	y := c.Send(x.Request)
	if y.ResultType() != spec.ResultInputRequired {
		c.Skip("%s asked for input once, and then gave %s", x.Method, y.Brief())
		return nil, false
	}
	return y, true
}

// honest is the positive control of a retry: answers and state as they are. It
// must end in a result, or in the next question.
func honest(c *probe.Case, x *probe.Exchange) (*probe.Exchange, bool) {
	first, ok := anew(c, x)
	if !ok {
		return nil, false
	}
	y := c.Send(retry(first, replies(first)))
	if !y.OK() {
		c.Skip("%s with all answers does not work: %s", x.Method, y.Brief())
		return nil, false
	}
	return y, true
}

// isError reports whether a complete result is that of a tool which failed.
func isError(x *probe.Exchange) bool { return jsonx.KindOf(x.Member("isError")) == jsonx.True }

// went reports whether a retry was taken for a good one: a complete result that
// is no error.
func went(x *probe.Exchange) bool {
	return x.OK() && x.ResultType() == spec.ResultComplete && !isError(x)
}
