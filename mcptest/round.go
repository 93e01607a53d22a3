// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Round is one request of a call and what answered it. A call whose server asks by
// its results takes several, each under an id of its own.
type Round struct {
	Request   *wire.Frame
	Response  *wire.Frame // nil when none came
	Questions []Question  // of an input_required result
	State     string      // requestState of that, empty for none
}

// Rounds are those that the call took, one for most.
func (r *Reply) Rounds() []Round {
	var out []Round
	for _, f := range r.exchange.Frames {
		m := f.Message()
		switch {
		case f.Dir == wire.ToServer && m.Kind == wire.Request:
			out = append(out, Round{Request: f})
		case f.Dir == wire.ToClient && m.IsResponse() && len(out) > 0:
			round := &out[len(out)-1]
			round.Response = f
			round.Questions, round.State = asksOf(m.Result)
		}
	}
	return out
}

// asksOf reads the questions and the state of an input_required result.
func asksOf(result json.RawMessage) (qs []Question, state string) {
	if textOf(result, "/"+spec.FieldResultType) != spec.ResultInputRequired {
		return nil, ""
	}
	for _, m := range members(lookup(result, "/"+spec.FieldInputRequests)) {
		q := Question{Key: m.Name, Method: textOf(m.Value, "/method"), Params: lookup(json.RawMessage(m.Value), "/params")}
		q.Message = textOf(q.Params, "/message")
		qs = append(qs, q)
	}
	return qs, textOf(result, "/"+spec.FieldRequestState)
}

func members(object json.RawMessage) []jsonx.Member {
	ms, err := jsonx.Members(object, jsonx.Lenient)
	if err != nil {
		return nil
	}
	return ms
}
