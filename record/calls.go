// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Call is one logical call: a request with its answer, and the retries that an
// input_required answer led to, with theirs (2026-07-28/basic/patterns/mrtr).
type Call struct {
	Method string
	Rounds []Round // one at least
}

// Round is one request of a call and its first answer.
type Round struct {
	Request Record
	Answer  *Record // nil without one
}

// Answer is the answer to the last round, nil when there is none.
func (c *Call) Answer() *Record { return c.Rounds[len(c.Rounds)-1].Answer }

// Latency is the time from the first request to the answer of the last round,
// what the client took in between included; zero without that answer.
func (c *Call) Latency() time.Duration {
	last := c.Answer()
	if last == nil {
		return 0
	}
	return max(0, last.Time.Sub(c.Rounds[0].Request.Time))
}

// Calls is the calls of the client in the order of their first request. A
// request is a retry when a call of its method waits for one, and its
// requestState is the one that was given to it; where none was given, when it
// has inputResponses and its other params are those of the call.
func (r *Recording) Calls() []Call {
	g := grouping{waiting: map[waitKey][]*pause{}, of: map[int]place{}}
	for i := range r.records {
		x := &r.records[i]
		switch {
		case x.Kind == Request && x.Dir == wire.ToServer:
			g.request(x, i)
		case x.Timed() && x.Dir == wire.ToClient && x.request > 0:
			g.answer(x)
		}
	}
	return g.calls
}

type grouping struct {
	calls   []Call
	of      map[int]place // of a request's record
	waiting map[waitKey][]*pause
}

// place is a round of a call.
type place struct{ call, round int }

// pause is a call that waits for its retry.
type pause struct {
	call  int
	taken bool
}

// waitKey finds the call that a retry belongs to. A server may give many calls
// the same state, or none: then those of the same connection and params come
// first.
type waitKey struct {
	conn                int
	method, state, rest string
}

func (g *grouping) request(x *Record, i int) {
	n := -1
	state, rest, retry := terms(x.Message().Params)
	if retry {
		n = g.take(keys(x, state, rest))
	}
	if n < 0 {
		n = len(g.calls)
		g.calls = append(g.calls, Call{Method: x.Method})
	}
	c := &g.calls[n]
	g.of[i] = place{n, len(c.Rounds)}
	c.Rounds = append(c.Rounds, Round{Request: *x})
}

func (g *grouping) answer(x *Record) {
	at, ok := g.of[x.request-1]
	if !ok {
		return
	}
	round := &g.calls[at.call].Rounds[at.round]
	own := *x // the caller's
	round.Answer = &own
	result := x.Message().Result
	if word(result, spec.FieldResultType) != spec.ResultInputRequired {
		return
	}
	_, rest, _ := terms(round.Request.Message().Params)
	p := &pause{call: at.call}
	for _, k := range keys(&round.Request, word(result, spec.FieldRequestState), rest) {
		g.waiting[k] = append(g.waiting[k], p)
	}
}

// take is the first call that waits under one of the keys, -1 for none.
func (g *grouping) take(ks []waitKey) int {
	for _, k := range ks {
		list := g.waiting[k]
		for len(list) > 0 && list[0].taken {
			list = list[1:]
		}
		if g.waiting[k] = list; len(list) > 0 {
			list[0].taken = true
			return list[0].call
		}
	}
	return -1
}

// keys are those under which a call waits, the closest first.
func keys(x *Record, state, rest string) []waitKey {
	loose := waitKey{method: x.Method, state: state}
	if state == "" {
		loose.rest = rest
	}
	return []waitKey{{x.Conn, x.Method, state, rest}, loose}
}

// terms are the state that a request brings back, its params without what a
// retry adds, and whether it brings anything back.
func terms(params json.RawMessage) (state, rest string, retry bool) {
	ms, err := jsonx.Members(params, jsonx.Lenient)
	if err != nil {
		return "", string(params), false
	}
	own := []byte("{")
	for _, m := range ms {
		switch m.Name {
		case spec.FieldRequestState:
			state, _ = jsonx.Text(m.Value)
			retry = true
		case spec.FieldInputResponses:
			retry = true
		case "_meta": // progress tokens differ
		default:
			if len(own) > 1 {
				own = append(own, ',')
			}
			own = append(append(append(own, jsonx.Quote(m.Name)...), ':'), m.Value...)
		}
	}
	own = append(own, '}')
	if c, err := jsonx.Canonical(own); err == nil {
		own = c
	}
	return state, string(own), retry
}

// word is a member that is a string, or empty.
func word(object json.RawMessage, name string) string {
	v, err := jsonx.Lookup(object, jsonx.Push("", name))
	if err != nil {
		return ""
	}
	s, _ := jsonx.Text(v)
	return s
}
