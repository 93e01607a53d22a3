// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"net/http"
	"slices"
)

// reply makes the reply to a request that can be answered: the correct answer,
// or the error e, and then what the faults make of it.
func (s *Server) reply(ctx context.Context, q *request, e *Error) *reply {
	for _, f := range q.faults {
		if f.Op == OpNotifyFirst {
			q.send(q.note(f))
		}
	}
	r := &reply{status: http.StatusOK}
	if e == nil {
		var result []byte
		if result, e = s.answer(ctx, q); e == nil && result != nil {
			r.text = response(q.ID, result)
		}
	}
	s.seen.answered(q, e)
	if e != nil {
		r.text, r.status = e.text(q.ID), e.httpStatus(q.revision)
	}
	s.applyAll(q.faults, q, r)
	return r
}

// accepted is the reply to what needs no answer.
func (s *Server) accepted(q *request, status int) *reply {
	r := &reply{status: status}
	s.applyAll(q.faults, q, r)
	return r
}

// ahead is what is sent before the answer: messages, then noise.
func (r *reply) ahead() [][]byte { return slices.Concat(r.notes, r.before) }

// wait waits as long as the faults say. It returns false when there must be no
// answer, once the request is over.
func (r *reply) wait(ctx context.Context) bool {
	if r.drop {
		<-ctx.Done()
		return false
	}
	return r.delay <= 0 || pause(ctx, r.delay) == nil
}
