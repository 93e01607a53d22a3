// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// extension returns the handler of a method that the tasks extension adds to
// the modern era (SEP-2663).
func (s *Server) extension(q *request) (func(*Server, context.Context, *request) (json.RawMessage, *Error), bool) {
	if !q.modern() || !s.declaresTasks() {
		return nil, false
	}
	switch q.Method {
	case spec.MethodTasksGet:
		return (*Server).modernTaskGet, true
	case spec.ExtensionTasksUpdate:
		return (*Server).modernTaskUpdate, true
	case spec.MethodTasksCancel:
		return (*Server).modernTaskCancel, true
	}
	return nil, false
}

// takesTasks reports whether the client declared the extension on this request.
func (q *request) takesTasks() bool {
	return jsonx.KindOf(get(get(q.meta(spec.MetaClientCapabilities), "extensions"), spec.ExtensionTasks)) == jsonx.Object
}

func needsTasks() *Error {
	return &Error{
		Code: spec.CodeMissingClientCapability, Message: "Missing client capability: this needs the tasks extension",
		Data: object(member{"requiredCapabilities", object(member{"extensions", object(member{spec.ExtensionTasks, []byte("{}")})})}),
	}
}

func (s *Server) modernTask(q *request) (*task, *Error) {
	if !q.takesTasks() && !q.lenient(CheckTaskUndeclared) {
		return nil, needsTasks()
	}
	return s.task(q)
}

func (s *Server) modernTaskGet(_ context.Context, q *request) (json.RawMessage, *Error) {
	k, e := s.modernTask(q)
	if e != nil {
		return nil, e
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown(true), nil
}

// modernTaskUpdate takes answers to what a task asked. Those that nobody waits
// for are ignored.
func (s *Server) modernTaskUpdate(_ context.Context, q *request) (json.RawMessage, *Error) {
	k, e := s.modernTask(q)
	if e != nil {
		return nil, e
	}
	given := q.param(spec.FieldInputResponses)
	if jsonx.KindOf(given) != jsonx.Object {
		return nil, invalidParams("%s must be an object", spec.FieldInputResponses)
	}
	ms, _ := jsonx.Members(given, jsonx.Lenient)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range ms {
		if a, there := k.asked[m.Name]; there {
			if e := s.judge(q, &a, m.Value); e != nil {
				return nil, e
			}
		}
	}
	for _, m := range ms {
		if _, there := k.asked[m.Name]; there {
			delete(k.asked, m.Name)
			k.answers[m.Name] = json.RawMessage(m.Value)
			k.updated = s.now()
		}
	}
	k.wake()
	return json.RawMessage("{}"), nil
}

func (s *Server) modernTaskCancel(_ context.Context, q *request) (json.RawMessage, *Error) {
	k, e := s.modernTask(q)
	if e != nil {
		return nil, e
	}
	k.move(taskCancelled, func() { clear(k.asked) })
	k.cancel()
	return json.RawMessage("{}"), nil
}

// postpone implements asker: a task asks when it wants to.
func (k *task) postpone(int) error { return nil }

// ask implements asker. In the modern era it waits for tasks/update, in the
// legacy one for a tasks/result whose stream can carry requests.
func (k *task) ask(ctx context.Context, asks []Ask) (map[string]json.RawMessage, error) {
	if !k.modern {
		return k.askLegacy(ctx, asks)
	}
	got, keys := map[string]json.RawMessage{}, map[string]string{}
	k.move(taskInput, func() {
		for _, a := range asks {
			k.requests++
			// No key is used twice in the life of a task.
			key := a.Key
			if _, used := k.answers[key]; used {
				key += "-" + strconv.Itoa(k.requests)
			}
			keys[key] = a.Key
			k.asked[key] = a
		}
	})
	for {
		k.mu.Lock()
		open := len(k.asked)
		changed := k.changed
		k.mu.Unlock()
		if open == 0 {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	k.mu.Lock()
	for key, own := range keys {
		got[own] = k.answers[key]
	}
	k.mu.Unlock()
	k.move(taskWorking, nil)
	return got, nil
}
