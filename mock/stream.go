// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// stream is a place where unasked notifications go: the standing GET of a
// legacy session, a legacy stdio connection, or a subscription.
type stream struct {
	messages chan []byte
	closed   chan struct{}
	peer     *peer   // legacy
	filter   *filter // modern
	id       json.RawMessage
}

// filter is what a subscription asked for and gets
// (2026-07-28/basic/patterns/subscriptions).
type filter struct {
	tools, prompts, resources bool
	uris                      map[string]bool
}

func (s *Server) open(st *stream) {
	st.messages, st.closed = make(chan []byte), make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		close(st.closed)
		return
	}
	s.streams[st] = struct{}{}
}

func (s *Server) close(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.streams[st]; open {
		delete(s.streams, st)
		close(st.closed)
	}
}

// Notify sends a notification to every client that listens for it: legacy
// sessions by their standing stream, modern ones by their subscription. It
// returns when each of them has taken it or left, with their number.
func (s *Server) Notify(method string, params json.RawMessage) int {
	s.mu.Lock()
	var to []*stream
	for st := range s.streams {
		if st.wants(method, params) {
			to = append(to, st)
		}
	}
	s.mu.Unlock()
	n := 0
	for _, st := range to {
		select {
		case st.messages <- notification(method, st.tagged(params)):
			n++
		case <-st.closed:
		}
	}
	return n
}

func (st *stream) wants(method string, params []byte) bool {
	if st.filter == nil {
		return method != spec.NotificationResourcesUpdated || st.peer.wants(word(params, "uri"))
	}
	switch method {
	case spec.NotificationToolsListChanged:
		return st.filter.tools
	case spec.NotificationPromptsListChanged:
		return st.filter.prompts
	case spec.NotificationResourcesListChanged:
		return st.filter.resources
	case spec.NotificationResourcesUpdated:
		return st.filter.uris[word(params, "uri")]
	}
	return false
}

// tagged adds the id of the subscription to params.
func (st *stream) tagged(params []byte) []byte {
	if st.filter == nil {
		return line(params)
	}
	if params == nil {
		params = []byte("{}")
	}
	return with(line(params), member{spec.FieldMeta, object(member{spec.MetaSubscriptionID, st.id})})
}

// listen answers subscriptions/listen: it acknowledges what it honours, then
// hands on notifications until the client leaves or cancels.
func (s *Server) listen(ctx context.Context, q *request) (json.RawMessage, *Error) {
	asked := q.param("notifications")
	if jsonx.KindOf(asked) != jsonx.Object {
		return nil, invalidParams("notifications must be an object")
	}
	st := &stream{filter: &filter{uris: map[string]bool{}}, id: q.ID}
	var honoured []member
	flag := func(name, capability string, on *bool) {
		if *on = jsonx.KindOf(get(asked, name)) == jsonx.True && s.declared[capability]; *on {
			honoured = append(honoured, member{name, []byte("true")})
		}
	}
	flag("toolsListChanged", "tools.listChanged", &st.filter.tools)
	flag("promptsListChanged", "prompts.listChanged", &st.filter.prompts)
	flag("resourcesListChanged", "resources.listChanged", &st.filter.resources)
	if es, err := jsonx.Elements(get(asked, "resourceSubscriptions"), jsonx.Lenient); err == nil && s.declared["resources.subscribe"] {
		var uris []string
		for _, e := range es {
			if uri, ok := jsonx.Text(e); ok {
				uris = append(uris, uri)
				st.filter.uris[uri] = true
			}
		}
		honoured = append(honoured, member{"resourceSubscriptions", texts(uris)})
	}
	s.open(st)
	defer s.close(st)
	q.send(notification(spec.NotificationSubscriptionsAck, st.tagged(object(member{"notifications", object(honoured...)}))))
	var left chan struct{} // over HTTP the context tells
	if q.peer != nil {
		left = q.peer.ended
	}
	for {
		select {
		case m := <-st.messages:
			q.send(m)
			continue
		case <-left:
		case <-st.closed:
		case <-ctx.Done():
		}
		return object(member{spec.FieldMeta, object(member{spec.MetaSubscriptionID, q.ID})}), nil
	}
}
