// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Seen is one request or notification of a client.
type Seen struct {
	// Number counts from 1 in the order in which they came.
	Number int
	Method string
	// Name is that of a tool or prompt, or the URI of a resource.
	Name string
	// Arguments is the object that was sent, nil for none.
	Arguments json.RawMessage
	// Params is the whole params object, nil for none.
	Params json.RawMessage
	// Retry tells a later round of a call that asked for input.
	Retry bool
	// Revision is zero until the request is answered, and of notifications.
	Revision spec.Revision
	// Code is that of the JSON-RPC error that answered it, zero for a result or
	// no answer.
	Code int
}

// Bounds of what is kept.
const (
	maxSeen      = 10_000
	maxSeenBytes = 32 << 20
)

// seen is what came, in its order.
type seen struct {
	mu    sync.Mutex
	kept  []*Seen
	bytes int
	lost  int // that came after the bound was reached
}

// note keeps what a message asks for.
func (n *seen) note(q *request) {
	if q.Kind != wire.Request && q.Kind != wire.Notification {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.kept) >= maxSeen || n.bytes+len(q.Raw) > maxSeenBytes {
		n.lost++
		return
	}
	n.bytes += len(q.Raw)
	one := &Seen{Number: len(n.kept) + 1, Method: q.Method, Params: json.RawMessage(q.Params)}
	if q.Kind == wire.Request {
		if m, _ := spec.MethodAt(q.Method, spec.Latest); m.NameFrom != "" {
			one.Name, _ = jsonx.Text(q.param(m.NameFrom))
			one.Arguments = json.RawMessage(q.param("arguments"))
		}
		one.Retry = q.claimsModern() && (q.param(spec.FieldRequestState) != nil || q.param(spec.FieldInputResponses) != nil)
		q.noted = one
	}
	n.kept = append(n.kept, one)
}

// answered notes how a request is answered.
func (n *seen) answered(q *request, e *Error) {
	if q.noted == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	q.noted.Revision = q.revision
	if e != nil {
		q.noted.Code = e.Code
	}
}

// Calls returns the requests and notifications that clients sent so far, in
// the order in which they came. The first 10 000 are kept, and no more than
// 32 MiB of messages.
func (s *Server) Calls() []Seen {
	calls, _ := s.seen.all()
	return calls
}

func (n *seen) all() (calls []Seen, lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.kept {
		calls = append(calls, *one)
	}
	return calls, n.lost
}
