// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/spec"
)

// askLegacy asks on the stream of a tasks/result, once there is one.
func (k *task) askLegacy(ctx context.Context, asks []Ask) (map[string]json.RawMessage, error) {
	k.move(taskInput, nil)
	for {
		k.mu.Lock()
		q, changed := k.stream, k.changed
		k.mu.Unlock()
		if q != nil {
			v := &conversation{server: k.server, call: &Call{Revision: q.revision, Method: spec.MethodToolsCall, Server: k.server, q: q}, q: q, related: k}
			got, err := v.ask(ctx, asks)
			k.move(taskWorking, nil)
			return got, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Server) taskGet(_ context.Context, q *request) (json.RawMessage, *Error) {
	k, e := s.task(q)
	if e != nil {
		return nil, e
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown(false), nil
}

// taskResult waits for the end of a task and answers what the call would have
// been answered (2025-11-25/basic/utilities/tasks#retrieving-task-results).
func (s *Server) taskResult(ctx context.Context, q *request) (json.RawMessage, *Error) {
	k, e := s.task(q)
	if e != nil {
		return nil, e
	}
	k.mu.Lock()
	if k.stream == nil {
		k.stream = q
		k.wake()
		defer func() {
			k.mu.Lock()
			k.stream = nil
			k.mu.Unlock()
		}()
	}
	for !k.final() {
		changed := k.changed
		k.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &Error{Code: spec.CodeInternalError, Message: "the request has ended"}
		}
		k.mu.Lock()
	}
	defer k.mu.Unlock()
	switch {
	case k.failure != nil:
		return nil, k.failure
	case k.result == nil:
		return nil, invalidParams("task %s was cancelled", k.id)
	}
	return with(k.result, k.meta()), nil
}

func (s *Server) taskList(_ context.Context, q *request) (json.RawMessage, *Error) {
	s.mu.Lock()
	var mine []*task
	for _, k := range s.tasks {
		if !k.modern && (k.owner == q.peer || q.lenient(CheckTaskOwner)) {
			mine = append(mine, k)
		}
	}
	s.mu.Unlock()
	order.Func(mine, func(a, b *task) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id))
	})
	items := make([]json.RawMessage, len(mine))
	for i, k := range mine {
		k.mu.Lock()
		items[i] = k.shown(false)
		k.mu.Unlock()
	}
	return s.page(q, "tasks", items)
}

// taskCancel ends a task before it answers
// (2025-11-25/basic/utilities/tasks#cancelling-tasks).
func (s *Server) taskCancel(_ context.Context, q *request) (json.RawMessage, *Error) {
	k, e := s.task(q)
	if e != nil {
		return nil, e
	}
	if !k.move(taskCancelled, nil) {
		return nil, invalidParams("the task has ended")
	}
	k.cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown(false), nil
}

// callAsTask answers a call of a tool that may run as a task: by a task, by a
// refusal, or not at all, when it is to be a plain call.
func (s *Server) callAsTask(ctx context.Context, q *request, t *tool, c *Call) (json.RawMessage, *Error) {
	if q.modern() {
		return s.callAsModernTask(ctx, q, t, c)
	}
	asked := q.param("task")
	if q.revision != spec.Rev20251125 || !s.declaresTasks() {
		return nil, nil
	}
	switch {
	case asked == nil && t.Task == TaskRequired:
		return nil, &Error{Code: spec.CodeMethodNotFound, Message: "Method not found: this tool runs as a task only"}
	case asked == nil:
		return nil, nil
	case t.Task == "":
		return nil, &Error{Code: spec.CodeMethodNotFound, Message: "Method not found: this tool does not run as a task"}
	case jsonx.KindOf(asked) != jsonx.Object:
		return nil, invalidParams("task must be an object")
	}
	ttl := s.taskLife()
	if wish := float(get(asked, "ttl")); wish != nil && *wish >= 0 && *wish < float64(ttl.Milliseconds()) {
		ttl = time.Duration(*wish) * time.Millisecond
	}
	// 2025-11-25/basic/utilities/tasks#creating-tasks
	return object(member{"task", s.begin(q, t, c, ttl)}), nil
}

func (s *Server) callAsModernTask(ctx context.Context, q *request, t *tool, c *Call) (json.RawMessage, *Error) {
	switch {
	case t.Task == "":
		return nil, nil
	case !q.takesTasks() && !q.lenient(CheckTaskUndeclared):
		if t.Task == TaskRequired {
			return nil, needsTasks()
		}
		return nil, nil
	}
	if t.Func == nil && len(t.Answers) > 0 {
		c.prelude = true
		if result, err := t.play(ctx, c); !errors.Is(err, errPrelude) {
			return q.outcome(result, err)
		}
	}
	q.interim = true
	return with(s.begin(q, t, c, s.taskLife()), member{spec.FieldResultType, quote(spec.ResultTask)}), nil
}
