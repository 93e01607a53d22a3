// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Step is a call that stands still at each question of the server, in both eras:
// an input_required result in the modern one, a request of the server in the
// legacy one.
type Step struct {
	c         *Client
	name      string
	questions []Question
	reply     *Reply // when the call has ended
	round     int

	// Modern.
	request session.Request
	params  json.RawMessage // of the first request
	state   *string
	result  *session.Result

	// Legacy.
	asks    chan asking
	now     *asking
	pending chan *Reply
}

// asking is a question of a legacy server that waits for its answer.
type asking struct {
	q      Question
	answer chan Answer
}

// Step calls a tool and stops at the first question of the server.
func (c *Client) Step(name string, args any, opts ...CallOption) *Step {
	c.t.Helper()
	r, err := c.toolRequest(c.ctx, name, args, opts)
	if err != nil {
		c.t.Fatalf("the arguments of %s: %v", name, err)
	}
	s := &Step{c: c, name: name, request: r, params: r.Params}
	if c.Modern() {
		s.send(r.Params)
		return s
	}
	s.asks, s.pending = make(chan asking), make(chan *Reply, 1)
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.stepper = s.asks
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err := c.send(ctx, r)
		rep := &Reply{c: c, method: r.Method, of: name, result: result, err: err, exchange: &wire.Exchange{}}
		if result != nil {
			rep.exchange = result.Exchange
		}
		s.pending <- rep
	}()
	c.t.Cleanup(func() {
		cancel()
		<-done
		c.mu.Lock()
		c.stepper = nil
		c.mu.Unlock()
	})
	s.wait()
	return s
}

// send makes one round of a modern call.
func (s *Step) send(params json.RawMessage) {
	s.c.t.Helper()
	r := s.request
	r.Params, r.KeepRounds = params, true
	result, err := s.c.send(s.c.ctx, r)
	s.round++
	s.questions, s.state, s.result = nil, nil, result
	if err != nil || result.ResultType != spec.ResultInputRequired {
		s.reply = s.c.reply(r.Method, s.name, result, err)
		s.c.tell()
		return
	}
	s.c.hold(&Reply{c: s.c, method: r.Method, of: s.name, result: result, exchange: result.Exchange})
	s.c.tell()
	var state string
	if s.questions, state = asksOf(result.Raw); result.Member(spec.FieldRequestState) != nil {
		s.state = &state
	}
}

// wait waits for the next question of a legacy server, or the end.
func (s *Step) wait() {
	s.c.t.Helper()
	s.questions, s.now = nil, nil
	s.round++
	select {
	case a := <-s.asks:
		s.questions, s.now = []Question{a.q}, &a
	case r := <-s.pending:
		s.reply = r
		s.c.settle(r)
		s.c.tell()
	}
}

// Questions are those that the call stands at; none once it has ended.
func (s *Step) Questions() []Question { return s.questions }

// State is the requestState, empty for none and in the legacy era.
func (s *Step) State() string {
	if s.state == nil {
		return ""
	}
	return *s.state
}

// Round is how many requests were made, or in the legacy era how many questions
// were asked and how the call ended, from 1.
func (s *Step) Round() int { return s.round }

// Asks asserts that the call stands at a question of that key: the name in
// inputRequests, or that of a field of the form.
func (s *Step) Asks(key string) *Step {
	s.c.t.Helper()
	for i := range s.questions {
		if s.questions[i].asks(key) {
			return s
		}
	}
	if s.reply != nil {
		s.c.t.Errorf("%s does not ask for %q, but ended: %s", s.name, key, s.reply.outcome())
	} else {
		s.c.t.Errorf("%s does not ask for %q, but for %s", s.name, key, askedNames(s.questions))
	}
	return s
}

// Answer answers the questions, in their order, and goes on to the next ones or
// to the end.
func (s *Step) Answer(answers ...Answer) *Step {
	s.c.t.Helper()
	return s.answer(nil, answers)
}

// AnswerWithState is Answer with another requestState: a changed one, or that of
// another call, which a server must refuse (2026-07-28/basic/patterns/mrtr). It is
// for the modern era.
func (s *Step) AnswerWithState(state string, answers ...Answer) *Step {
	s.c.t.Helper()
	if s.asks != nil {
		s.c.t.Fatal("a requestState is of the modern era")
	}
	return s.answer(&state, answers)
}

func (s *Step) answer(state *string, answers []Answer) *Step {
	s.c.t.Helper()
	if s.reply != nil {
		s.c.t.Fatalf("%s has ended, and asks nothing: %s", s.name, s.reply.outcome())
	}
	if len(answers) != len(s.questions) {
		s.c.t.Fatalf("%s asks %s (%s), and the test has %s", s.name, count(len(s.questions), "question"), askedNames(s.questions), count(len(answers), "answer"))
	}
	if s.asks != nil {
		s.now.answer <- answers[0]
		s.wait()
		return s
	}
	responses := map[string]json.RawMessage{}
	for i, a := range answers {
		raw, err := s.c.give(s.c.ctx, a, &s.questions[i])
		if err != nil {
			s.c.t.Fatalf("the answer to %s: %v", s.questions[i].String(), err)
		}
		responses[s.questions[i].Key] = raw
	}
	params, err := s.retry(responses, state)
	if err != nil {
		s.c.t.Fatal(err)
	}
	s.send(params)
	return s
}

// retry is the params of the next round: those of the first request, with the
// answers and the state (2026-07-28/basic/patterns/mrtr).
func (s *Step) retry(responses map[string]json.RawMessage, state *string) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := jsonx.Unmarshal(s.params, &all); err != nil {
		return nil, fmt.Errorf("the params: %w", err)
	}
	var err error
	if len(responses) > 0 {
		if all[spec.FieldInputResponses], err = jsonx.Marshal(responses); err != nil {
			return nil, err
		}
	}
	if state == nil {
		state = s.state
	}
	if state != nil {
		all[spec.FieldRequestState] = json.RawMessage(jsonx.Quote(*state))
	}
	return jsonx.Marshal(all)
}

// Reply asserts that the call has ended, and gives its answer.
func (s *Step) Reply() *Reply {
	s.c.t.Helper()
	if s.reply == nil {
		s.c.t.Fatalf("%s has not ended, but asks for %s", s.name, askedNames(s.questions))
	}
	return s.reply
}
