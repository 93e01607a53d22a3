// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// nextRound answers what an input_required result asks for and returns the
// params of the retry: those of the first request, with the answers and the
// state as it came (2026-07-28/basic/patterns/mrtr).
func (l *link) nextRound(ctx context.Context, params json.RawMessage, result *Result) (json.RawMessage, error) {
	requests := result.Member(spec.FieldInputRequests)
	state := result.Member(spec.FieldRequestState)
	if requests == nil && state == nil {
		return nil, errors.New("input_required without inputRequests and requestState")
	}
	var add []pair
	if requests != nil {
		answers, err := l.answers(ctx, requests)
		if err != nil {
			return nil, err
		}
		add = append(add, pair{spec.FieldInputResponses, answers})
	} else {
		// Nothing is asked for but to come again: the server sheds load.
		t := time.NewTimer(statePause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if state != nil {
		if jsonx.KindOf(state) != jsonx.String {
			return nil, errors.New("requestState is no string")
		}
		add = append(add, pair{spec.FieldRequestState, state})
	}
	return withMembers(params, true, add...)
}

// statePause keeps a retry that nothing delays from spinning.
const statePause = 20 * time.Millisecond

type inputKey struct{}

// InputKey is the name that an input request of the modern era has in
// inputRequests, for a Handler that answers it. A request of the legacy era has
// none.
func InputKey(ctx context.Context) (key string, ok bool) {
	key, ok = ctx.Value(inputKey{}).(string)
	return key, ok
}

// answers runs the handlers and returns inputResponses.
func (l *link) answers(ctx context.Context, requests json.RawMessage) (json.RawMessage, error) {
	ms, err := jsonx.Members(requests, jsonx.Strict)
	if err != nil {
		return nil, fmt.Errorf("inputRequests: %w", err)
	}
	out := json.RawMessage("{}")
	var add []pair
	for _, m := range ms {
		method, ok := jsonx.Text(member(json.RawMessage(m.Value), "method"))
		if !ok {
			return nil, fmt.Errorf("inputRequests.%s has no method", m.Name)
		}
		keyed := context.WithValue(ctx, inputKey{}, m.Name)
		answer, err := l.o.Handlers.run(keyed, method, member(json.RawMessage(m.Value), "params"))
		if err != nil {
			// There is no way to send an error here: the client gives up.
			return nil, fmt.Errorf("the server asks for %s: %w", method, err)
		}
		add = append(add, pair{m.Name, answer})
	}
	if len(add) == 0 {
		return out, nil
	}
	return withMembers(out, true, add...)
}
