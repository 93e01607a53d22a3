// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// Question is something that the server asked its client: by a request of its
// own in the legacy era, by an input request in the modern one.
type Question struct {
	Method string // elicitation/create, sampling/createMessage, roots/list
	// Key is the name in inputRequests; empty in the legacy era, which has none.
	Key     string
	Message string // of an elicitation
	Params  json.RawMessage
}

// asks reports whether the question is known by a key: that of inputRequests, or
// the name of a field of its form, which is there in both eras.
func (q *Question) asks(key string) bool {
	if q.Key == key {
		return true
	}
	field, err := jsonx.Lookup(q.Params, jsonx.Push("/requestedSchema/properties", key))
	return err == nil && field != nil
}

func (q *Question) String() string {
	s := q.Method
	if q.Key != "" {
		s += fmt.Sprintf(" %q", q.Key)
	}
	if q.Message != "" {
		s += fmt.Sprintf(" (%s)", shown(q.Message))
	}
	return s
}

// Answer is what the test's client says to a question of the server. The same
// answers serve both eras.
type Answer struct {
	give   func(ctx context.Context, q *Question) (any, error)
	after  time.Duration
	always bool
	raw    bool // no form is held against it
}

// Accept answers an elicitation with the content of its form: a struct, a map or
// JSON. It must fit the form that was asked for. nil accepts without content, as
// for a URL.
func Accept(content any) Answer {
	return Answer{give: func(_ context.Context, q *Question) (any, error) {
		if content == nil {
			return map[string]any{"action": "accept"}, nil
		}
		return map[string]any{"action": "accept", "content": content}, nil
	}}
}

// Decline answers an elicitation with no.
func Decline() Answer { return action("decline") }

// Cancel answers an elicitation by closing it without a choice.
func Cancel() Answer { return action("cancel") }

func action(what string) Answer {
	return Answer{give: func(context.Context, *Question) (any, error) { return map[string]any{"action": what}, nil }}
}

// Completion answers a sampling request with a text of the assistant.
func Completion(text string) Answer {
	return Answer{give: func(context.Context, *Question) (any, error) {
		return map[string]any{
			"role": "assistant", "model": "mcptest", "stopReason": "endTurn",
			"content": map[string]any{"type": "text", "text": text},
		}, nil
	}}
}

// Result answers any question with a whole result, a value or JSON, which is
// sent as it is.
func Result(result any) Answer {
	return Answer{raw: true, give: func(context.Context, *Question) (any, error) { return result, nil }}
}

// Refuse answers with a JSON-RPC error. The modern era has no way to send one:
// there the call fails at the client.
func Refuse(code int, message string) Answer {
	return Answer{raw: true, give: func(context.Context, *Question) (any, error) {
		return nil, &session.RPCError{Code: int64(code), Message: message}
	}}
}

// Asked answers by a function, whose result is sent as it is.
func Asked(f func(ctx context.Context, q *Question) (result any, err error)) Answer {
	return Answer{raw: true, give: f}
}

// After waits before it answers.
func After(d time.Duration, a Answer) Answer {
	a.after += d
	return a
}

// Always answers any number of times, none included. An answer without it is
// given once, and must be asked for.
func Always(a Answer) Answer {
	a.always = true
	return a
}

// script is the queues of answers.
type script struct {
	queues []*queue
}

// queue is the answers to one kind of question, or to those of one key.
type queue struct {
	method string // of the kind
	key    string
	left   []Answer
	given  int
}

func (q *queue) name() string {
	if q.key != "" {
		return fmt.Sprintf("OnAsk(%q)", q.key)
	}
	return map[string]string{spec.MethodElicit: "OnElicit", spec.MethodCreateMessage: "OnSample", spec.MethodRootsList: "Roots"}[q.method]
}

// OnElicit answers elicitations, in this order, and declares the capability.
func OnElicit(answers ...Answer) Option { return on(spec.MethodElicit, "", answers) }

// OnSample answers sampling requests, in this order, and declares the
// capability.
func OnSample(answers ...Answer) Option { return on(spec.MethodCreateMessage, "", answers) }

// OnAsk answers elicitations of one key, in this order: the name in inputRequests
// of the modern era, or in both eras that of a field of the form. It goes before
// OnElicit.
func OnAsk(key string, answers ...Answer) Option { return on(spec.MethodElicit, key, answers) }

// Roots are given to a server that asks, any number of times; the capability is
// declared, also for none.
func Roots(uris ...string) Option {
	roots := make([]map[string]any, len(uris))
	for i, u := range uris {
		roots[i] = map[string]any{"uri": u}
	}
	return on(spec.MethodRootsList, "", []Answer{Always(Result(map[string]any{"roots": roots}))})
}

func on(method, key string, answers []Answer) Option {
	return func(o *options) {
		o.answers.queues = append(o.answers.queues, &queue{method: method, key: key, left: append([]Answer(nil), answers...)})
	}
}

// fresh is a copy whose answers are all there: each client has its own.
func (s *script) fresh() script {
	var c script
	for _, q := range s.queues {
		n := *q
		n.left = append([]Answer(nil), q.left...)
		c.queues = append(c.queues, &n)
	}
	return c
}

// askable reports whether the revision has a question; of none in particular, some
// revision does.
func askable(method string, r spec.Revision) bool {
	if !r.Valid() || r.Era() != spec.Legacy {
		return true
	}
	m, ok := spec.MethodAt(method, r)
	return ok && m.Direction&spec.ServerToClient != 0
}

// capabilities is the ClientCapabilities object that the answers stand for. A
// client that asks for a revision knows no question of a later one.
func (s *script) capabilities(asked spec.Revision) json.RawMessage {
	var members []string
	for _, c := range []struct{ method, member string }{
		{spec.MethodElicit, `"elicitation":{}`}, {spec.MethodRootsList, `"roots":{}`}, {spec.MethodCreateMessage, `"sampling":{}`},
	} {
		for _, q := range s.queues {
			if q.method == c.method && askable(q.method, asked) {
				members = append(members, c.member)
				break
			}
		}
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// take finds the answer to a question. A keyed one goes before the others.
func (s *script) take(q *Question) (Answer, bool) {
	for _, keyed := range []bool{true, false} {
		for _, list := range s.queues {
			if list.method != q.Method || (list.key != "") != keyed || keyed && !q.asks(list.key) || len(list.left) == 0 {
				continue
			}
			a := list.left[0]
			list.given++
			if !a.always {
				list.left = list.left[1:]
			}
			return a, true
		}
	}
	return Answer{}, false
}

// unused says which answers nobody asked for. A question that the revision does not
// have cannot be asked.
func (s *script) unused(r spec.Revision) []string {
	var out []string
	for _, q := range s.queues {
		if !askable(q.method, r) {
			continue
		}
		n := 0
		for _, a := range q.left {
			if !a.always {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%s has %s that the server never asked for; it asked %s", q.name(), count(n, "answer"), times(q.given)))
		}
	}
	return out
}

// NoAnswerError is a question of the server for which the test has no answer.
type NoAnswerError struct {
	Question Question
	Ran      bool // there were answers, and they ran out
}

func (e *NoAnswerError) Error() string {
	if e.Ran {
		return fmt.Sprintf("the server asked for %s once more than the test has answers", e.Question.String())
	}
	option := map[string]string{
		spec.MethodElicit: "mcptest.OnElicit", spec.MethodCreateMessage: "mcptest.OnSample", spec.MethodRootsList: "mcptest.Roots",
	}[e.Question.Method]
	if option == "" {
		return fmt.Sprintf("the server asked for %s, which this client does not know", e.Question.String())
	}
	return fmt.Sprintf("the server asked for %s, and the test has no answer: open it with %s", e.Question.String(), option)
}

// answer is the handler of every question.
func (s *shared) answer(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &Question{Method: method, Params: params}
	q.Key, _ = session.InputKey(ctx)
	if m, err := jsonx.Lookup(params, "/message"); err == nil {
		q.Message, _ = jsonx.Text(m)
	}
	s.mu.Lock()
	s.asked = append(s.asked, *q)
	step, gate := s.stepper, s.gate
	s.mu.Unlock()
	if gate != nil {
		gate(q)
	}
	if step != nil {
		return s.stepped(ctx, step, q)
	}
	s.mu.Lock()
	a, ok := s.o.answers.take(q)
	if !ok {
		e := &NoAnswerError{Question: *q}
		for _, list := range s.o.answers.queues {
			e.Ran = e.Ran || list.method == method && list.given > 0
		}
		s.vain = append(s.vain, &inVain{error: e})
		s.mu.Unlock()
		// -32601 is what a client without the capability says.
		return nil, errors.Join(e, &session.RPCError{Code: spec.CodeMethodNotFound, Message: "no answer to " + method})
	}
	s.mu.Unlock()
	return s.give(ctx, a, q)
}

// stepped hands a question to the call that is stepped, and waits for what the
// test says.
func (s *shared) stepped(ctx context.Context, step chan asking, q *Question) (json.RawMessage, error) {
	a := asking{*q, make(chan Answer)}
	select {
	case step <- a:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case given := <-a.answer:
		return s.give(ctx, given, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// give makes the result of an answer.
func (s *shared) give(ctx context.Context, a Answer, q *Question) (json.RawMessage, error) {
	if a.after > 0 {
		t := time.NewTimer(a.after)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	value, err := a.give(ctx, q)
	if err != nil {
		return nil, err
	}
	raw, err := encode(value)
	if err != nil {
		s.fault("the answer to %s: %v", q.String(), err)
		return nil, err
	}
	s.fits(&a, q, raw)
	return raw, nil
}

// fits holds the content of an accepted form against the form. A wrong one is a
// mistake of the test, which a lenient server would hide.
func (s *shared) fits(a *Answer, q *Question, raw json.RawMessage) {
	if a.raw || s.o.lax || q.Method != spec.MethodElicit {
		return
	}
	content, err := jsonx.Lookup(raw, "/content")
	form, ferr := jsonx.Lookup(q.Params, "/requestedSchema")
	if err != nil || ferr != nil {
		return
	}
	if ok, why, err := contract.Accepts(form, content); err == nil && !ok {
		s.fault("the test's answer to %s does not fit the form: %s", q.String(), shown(why))
	}
}
