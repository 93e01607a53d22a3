// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// stream is a place where unasked notifications go: the standing GET of a
// legacy session, a legacy stdio connection, or a subscription.
type stream struct {
	messages chan []byte
	closed   chan struct{}
	q        *request // that opened it
	peer     *peer    // legacy
	filter   *filter  // modern
}

// filter is what a subscription asked for and gets
// (2026-07-28/basic/patterns/subscriptions).
type filter struct {
	types map[string]bool // methods of notifications
	uris  map[string]bool
	tasks map[string]bool // of the tasks extension
}

func (s *Server) open(st *stream) {
	st.messages, st.closed = make(chan []byte), make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st] = struct{}{}
}

func (s *Server) close(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.streams[st]; open {
		delete(s.streams, st)
		close(st.closed)
		s.endTogether(st)
	}
}

// Notify sends a notification to every client that listens for it: legacy
// sessions by their standing stream, modern ones by their subscription. It
// returns when each of them has taken it or left, with their number.
func (s *Server) Notify(method string, params json.RawMessage) int {
	return s.tell(context.Background(), method, params)
}

// tell is Notify that ends with a context.
func (s *Server) tell(ctx context.Context, method string, params json.RawMessage) int {
	return s.tellSome(ctx, method, params, func(*stream) bool { return true })
}

// tellPeer tells one legacy client alone.
func (s *Server) tellPeer(ctx context.Context, p *peer, method string, params json.RawMessage) {
	s.tellSome(ctx, method, params, func(st *stream) bool { return st.filter == nil && st.peer == p })
}

func (s *Server) tellSome(ctx context.Context, method string, params json.RawMessage, some func(*stream) bool) int {
	s.mu.Lock()
	var to []*stream
	for st := range s.streams {
		if some(st) && st.wants(method, params) {
			to = append(to, st)
		}
	}
	s.mu.Unlock()
	n := 0
	for _, st := range to {
		texts, delay := s.sent(st.q, method, notification(method, st.tagged(params)))
		if pause(ctx, delay) != nil {
			return n
		}
		taken := true
		for _, text := range texts {
			select {
			case st.messages <- text:
			case <-st.closed:
				taken = false
			case <-ctx.Done():
				taken = false
			}
		}
		if taken {
			n++
		}
	}
	return n
}

func (st *stream) wants(method string, params []byte) bool {
	if st.filter == nil {
		return method != spec.ExtensionNotificationsTasks && st.peer.isReady() &&
			(method != spec.NotificationResourcesUpdated || st.peer.wants(word(params, "uri")))
	}
	switch method {
	case spec.NotificationResourcesUpdated:
		uri := word(params, "uri")
		return st.filter.uris[uri] || st.q.lenient(CheckListenFilter) || len(st.filter.uris) > 0 && st.q.lenient(CheckListenURIs)
	case spec.ExtensionNotificationsTasks:
		return st.filter.tasks[word(params, "taskId")]
	}
	return st.filter.types[method] || listChanged[method] != "" && st.q.lenient(CheckListenFilter)
}

// listChanged names the filter's member for a notification.
var listChanged = map[string]string{
	spec.NotificationToolsListChanged:     "toolsListChanged",
	spec.NotificationPromptsListChanged:   "promptsListChanged",
	spec.NotificationResourcesListChanged: "resourcesListChanged",
}

// tagged adds the id of the subscription to params.
func (st *stream) tagged(params []byte) []byte {
	if st.filter == nil {
		return line(params)
	}
	if params == nil {
		params = []byte("{}")
	}
	return with(line(params), st.tag())
}

func (st *stream) tag() member {
	return member{spec.FieldMeta, object(member{spec.MetaSubscriptionID, st.q.ID})}
}

// honour reads a filter: what is declared is honoured, and told so.
func (s *Server) honour(q *request, asked []byte) (*filter, []member, *Error) {
	f := &filter{types: map[string]bool{}, uris: map[string]bool{}, tasks: map[string]bool{}}
	var honoured []member
	declared := func(capability string) bool { return s.declares(capability) || q.lenient(CheckListenCapability) }
	for _, kind := range []struct{ method, capability string }{
		{spec.NotificationToolsListChanged, "tools.listChanged"},
		{spec.NotificationPromptsListChanged, "prompts.listChanged"},
		{spec.NotificationResourcesListChanged, "resources.listChanged"},
	} {
		name := listChanged[kind.method]
		if v := get(asked, name); v != nil && jsonx.KindOf(v) != jsonx.True && jsonx.KindOf(v) != jsonx.False && !q.lenient(CheckListenMistyped) {
			return nil, nil, invalidParams("%s must be a boolean", name)
		}
		if jsonx.KindOf(get(asked, name)) == jsonx.True && declared(kind.capability) {
			f.types[kind.method] = true
			honoured = append(honoured, member{name, []byte("true")})
		}
	}
	for _, name := range []string{"resourceSubscriptions", "taskIds"} {
		if v := get(asked, name); v != nil && !isTexts(v) && !q.lenient(CheckListenMistyped) {
			return nil, nil, invalidParams("%s must be an array of strings", name)
		}
	}
	wanted := func(name string, into map[string]bool) {
		es, err := jsonx.Elements(get(asked, name), jsonx.Lenient)
		if err != nil {
			return
		}
		var got []string
		for _, e := range es {
			if text, ok := jsonx.Text(e); ok && !slices.Contains(got, text) {
				got, into[text] = append(got, text), true
			}
		}
		honoured = append(honoured, member{name, texts(got)})
	}
	if declared("resources.subscribe") {
		wanted("resourceSubscriptions", f.uris)
	}
	if get(asked, "taskIds") != nil && s.declaresTasks() {
		if !q.takesTasks() && !q.lenient(CheckTaskUndeclared) {
			return nil, nil, needsTasks()
		}
		wanted("taskIds", f.tasks)
	}
	return f, honoured, nil
}

func isTexts(v []byte) bool {
	es, err := jsonx.Elements(v, jsonx.Lenient)
	return err == nil && !slices.ContainsFunc(es, func(e jsonx.Raw) bool { return jsonx.KindOf(e) != jsonx.String })
}

// listen answers subscriptions/listen: it acknowledges what it honours, then
// hands on notifications until the client leaves or cancels, or the server ends.
func (s *Server) listen(ctx context.Context, q *request) (json.RawMessage, *Error) {
	if f := q.find(OpError); f != nil && f.decided() {
		return nil, &Error{Code: f.Code, Message: f.Text} // refused, before anything is acknowledged
	}
	asked := q.param("notifications")
	if jsonx.KindOf(asked) != jsonx.Object && !q.lenient(CheckListenFilterMissing) {
		return nil, invalidParams("notifications must be an object")
	}
	f, honoured, e := s.honour(q, asked)
	if e != nil {
		return nil, e
	}
	st := &stream{filter: f, q: q}
	s.open(st)
	defer s.close(st)
	q.emit(s, spec.NotificationSubscriptionsAck, notification(spec.NotificationSubscriptionsAck, st.tagged(object(member{"notifications", object(honoured...)}))))
	for _, fault := range q.faults {
		if fault.Op == OpNotify || fault.Op == OpRequest {
			q.send(q.note(fault))
		}
	}
	if q.find(OpUnanswered) == nil && q.find(OpAtOnce) == nil && q.find(OpJSON) == nil {
		s.relay(ctx, st, q.send)
	}
	return object(st.tag()), nil
}

// relay hands on what comes for a stream until somebody ends it.
func (s *Server) relay(ctx context.Context, st *stream, send func([]byte)) {
	var left chan struct{} // over HTTP the context tells
	if st.q.peer != nil {
		left = st.q.peer.ended
	}
	for {
		select {
		case m := <-st.messages:
			send(m)
			continue
		case <-left:
		case <-s.ending:
		case <-st.closed:
		case <-ctx.Done():
		}
		return
	}
}
