// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Statuses of a task. The last three are final.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// Defaults of TaskLife.
const (
	taskTTL  = time.Hour
	taskPoll = 100 * time.Millisecond
)

// task is a call that goes on after its answer: of the core of 2025-11-25, or
// of the extension of the modern era.
type task struct {
	server  *Server
	id      string
	modern  bool
	owner   *peer // legacy: whoever may know of it
	created time.Time
	ttl     time.Duration
	cancel  context.CancelFunc

	mu      sync.Mutex
	updated time.Time
	status  string
	message string
	result  json.RawMessage
	failure *Error
	changed chan struct{} // closed at the next change

	asked    map[string]Ask             // modern: outstanding input requests
	answers  map[string]json.RawMessage // modern: that came for them
	requests int                        // that were made so far
	stream   *request                   // legacy: a tasks/result that waits
}

// begin starts a call as a task, and returns what it is then: working, however
// soon it ends. It runs until Shutdown at most.
func (s *Server) begin(q *request, t *tool, c *Call, ttl time.Duration) json.RawMessage {
	ctx, cancel := context.WithCancel(s.life)
	k := &task{
		server: s, id: rand.Text(), modern: q.modern(), owner: q.peer, created: s.now(), ttl: ttl, cancel: cancel,
		status: taskWorking, changed: make(chan struct{}), asked: map[string]Ask{}, answers: map[string]json.RawMessage{},
	}
	k.updated = k.created
	if k.modern {
		k.owner = nil
	}
	c.task, c.prelude, c.asker = k, false, k
	s.mu.Lock()
	for id, old := range s.tasks {
		if s.now().After(old.created.Add(old.ttl)) {
			delete(s.tasks, id)
		}
	}
	s.tasks[k.id] = k
	s.mu.Unlock()
	begun := k.shown(false)
	s.background.Go(func() {
		defer cancel()
		result, err := t.play(ctx, c)
		k.finish(c, line(result), err)
	})
	return begun
}

// finish makes the end of a task known. An error of the tool is a result; in
// 2025-11-25 it makes the task failed all the same.
func (k *task) finish(c *Call, result json.RawMessage, err error) {
	own, isOwn := errors.AsType[*Error](err)
	if err != nil && !isOwn {
		result = textResult(err.Error(), true)
	}
	status := taskCompleted
	if isOwn || !k.modern && jsonx.KindOf(get(result, "isError")) == jsonx.True {
		status = taskFailed
	}
	k.move(status, func() {
		k.result, k.failure = result, own
		clear(k.asked)
	})
}

// move changes the status, unless it is final, and tells who listens.
func (k *task) move(status string, also func()) bool {
	k.mu.Lock()
	if k.final() {
		k.mu.Unlock()
		return false
	}
	k.status, k.updated = status, k.server.now()
	if also != nil {
		also()
	}
	k.wake()
	shown := k.shown(k.modern)
	k.mu.Unlock()
	if k.modern {
		k.server.tell(k.server.life, spec.ExtensionNotificationsTasks, shown)
	} else {
		k.server.tellPeer(k.server.life, k.owner, spec.NotificationTasksStatus, shown)
	}
	return true
}

// wake tells who waits for a change. The caller holds the lock.
func (k *task) wake() {
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *task) final() bool {
	return k.status == taskCompleted || k.status == taskFailed || k.status == taskCancelled
}

// say sets the message beside the status.
func (k *task) say(message string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.message = message
	k.wake()
}

// notify sends a notification of the call that runs as a task. The legacy era
// sends it on the session's stream, with the task's id; the extension sends none
// (SEP-2663).
func (k *task) notify(c *Call, method string, params json.RawMessage) {
	if k.modern || k.owner == nil {
		return
	}
	if params == nil {
		params = []byte("{}")
	}
	k.server.tellPeer(k.server.life, k.owner, method, with(line(params), k.meta()))
}

// meta is the _meta of everything that belongs to a legacy task.
func (k *task) meta() member {
	return member{spec.FieldMeta, object(member{spec.MetaRelatedTask, object(member{"taskId", quote(k.id)})})}
}

// shown is the task object. The names of times differ by era; the modern one
// holds what came of the task when full. The caller holds the lock.
func (k *task) shown(full bool) json.RawMessage {
	ttl, poll := "ttl", "pollInterval"
	if k.modern {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	every := k.server.script.Tasks.Poll
	if every <= 0 {
		every = taskPoll
	}
	out := []member{
		{"taskId", quote(k.id)}, {"status", quote(k.status)},
		{"createdAt", quote(k.created.UTC().Format(time.RFC3339Nano))},
		{"lastUpdatedAt", quote(k.updated.UTC().Format(time.RFC3339Nano))},
		{ttl, number(k.ttl.Milliseconds())}, {poll, number(every.Milliseconds())},
	}
	if k.message != "" {
		out = append(out, member{"statusMessage", quote(k.message)})
	}
	if full {
		switch {
		case k.status == taskInput:
			var asks []Ask
			for _, key := range slices.Sorted(maps.Keys(k.asked)) {
				a := k.asked[key]
				a.Key = key
				asks = append(asks, a)
			}
			out = append(out, member{spec.FieldInputRequests, inputRequests(asks)})
		case k.status == taskCompleted:
			out = append(out, member{"result", k.result})
		case k.status == taskFailed && k.failure != nil:
			out = append(out, member{"error", k.failure.object()})
		}
	}
	return object(out...)
}

// task finds the task that params.taskId names.
func (s *Server) task(q *request) (*task, *Error) {
	id, e := q.text("taskId")
	if e != nil {
		return nil, e
	}
	s.mu.Lock()
	k := s.tasks[id]
	s.mu.Unlock()
	if k == nil && q.lenient(CheckTaskUnknown) {
		return s.endedTask(q, id), nil
	}
	if k == nil || k.modern != q.modern() || !k.modern && k.owner != q.peer && !q.lenient(CheckTaskOwner) || s.now().After(k.created.Add(k.ttl)) {
		return nil, invalidParams("unknown task %q", clip(id))
	}
	return k, nil
}

// declaresTasks reports whether a tool of the script runs as a task, or the
// script says that such are there.
func (s *Server) declaresTasks() bool { return s.hasTasks }

// taskLife is how long tasks are kept.
func (s *Server) taskLife() time.Duration {
	if s.script.Tasks.TTL > 0 {
		return s.script.Tasks.TTL
	}
	return taskTTL
}

// endedTask is a task that never was, as a lenient server takes it.
func (s *Server) endedTask(q *request, id string) *task {
	return &task{
		server: s, id: id, modern: q.modern(), owner: q.peer, created: s.now(), updated: s.now(), ttl: s.taskLife(), cancel: func() {},
		status: taskCompleted, result: textResult("Done.", false), changed: make(chan struct{}),
	}
}
