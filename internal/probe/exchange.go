// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Exchange is one message of ours and all that came for it, as it was when it
// was looked at: it does not change any more.
type Exchange struct {
	// Request is what was meant; nil in a recording and for a stray exchange.
	Request *Request
	Method  string          // of the message that was sent
	ID      json.RawMessage // as it was sent, nil for a notification
	Sent    *wire.Frame     // nil when no JSON-RPC text was sent
	Head    *wire.Head      // HTTP response, nil when there was none
	// Conn tells the connections of one run apart.
	Conn int
	// Turn numbers the exchanges of one run in the order of their start.
	Turn int

	// Frames is what came for it, in order: notifications, the response, and
	// whatever else stood on its stream.
	Frames   []*wire.Frame
	Response *wire.Frame // the first one with its id, or without any where the id could not be read
	// Extra are responses after the first.
	Extra []*wire.Frame
	Body  []byte        // HTTP body that was no JSON-RPC text, its first 64 KiB
	Other []*wire.Event // SSE blocks without a message
	// Opening is the first event of its stream, one with an id or data.
	Opening *wire.Event
	// Waits has an entry for each time that the server closed the stream before
	// the response and its client came back: the retry field in milliseconds
	// that had come before, -1 for none.
	Waits []int64

	SentHead *wire.Head // HTTP request
	// Err says why there is no response: *transport.Error or ErrSilent; or that
	// what came is none, see [Exchange.Busy].
	Err error
	// Closed: nothing can come any more. ClosedErr says how an HTTP stream ended.
	Closed    bool
	ClosedErr error
	Cancelled bool // we ended it

	Start, End time.Time // End of the response, or of waiting
	Ended      time.Time // when the stream closed

	read *reading // shared by all that look at the exchange
}

// reading holds what was read of an exchange's texts: hundreds of rules look at
// the same ones.
type reading struct {
	mu      sync.Mutex
	of      *wire.Frame // the response that members are of
	members []jsonx.Member
	sent    *wire.Frame // the request that meta is of
	meta    []jsonx.Member
}

// result are the members of the result.
func (x *Exchange) result() []jsonx.Member {
	if x.read == nil {
		return Members(x.Result())
	}
	x.read.mu.Lock()
	defer x.read.mu.Unlock()
	if x.read.of != x.Response {
		x.read.of, x.read.members = x.Response, Members(x.Result())
	}
	return x.read.members
}

// metas are the members of params._meta in the request.
func (x *Exchange) metas() []jsonx.Member {
	if x.Sent == nil {
		return nil
	}
	of := func() []jsonx.Member { return Members(value(x.Sent.Message().Params, spec.FieldMeta)) }
	if x.read == nil {
		return of()
	}
	x.read.mu.Lock()
	defer x.read.mu.Unlock()
	if x.read.sent != x.Sent {
		x.read.sent, x.read.meta = x.Sent, of()
	}
	return x.read.meta
}

// last is the last member of a name, nil where there is none.
func last(ms []jsonx.Member, name string) json.RawMessage {
	for _, m := range slices.Backward(ms) {
		if m.Name == name {
			return json.RawMessage(m.Value)
		}
	}
	return nil
}

// Planted says what was wrong with the request on purpose; empty for a
// well-formed one.
func (x *Exchange) Planted() string {
	if x.Request == nil {
		return ""
	}
	return x.Request.Planted
}

// Status is the HTTP status of the response, zero where there is none.
func (x *Exchange) Status() int {
	if x.Head == nil {
		return 0
	}
	return x.Head.Status
}

// Message is the response, read; nil without one.
func (x *Exchange) Message() *wire.Message {
	if x.Response == nil {
		return nil
	}
	return x.Response.Message()
}

// OK reports whether a result came, over HTTP with a status of success.
func (x *Exchange) OK() bool {
	m := x.Message()
	return m != nil && m.Kind == wire.Response && (x.Head == nil || x.Status() >= 200 && x.Status() < 300)
}

// Code is the code of the JSON-RPC error that came; ok is false without one,
// and for a code that is no integer.
func (x *Exchange) Code() (code int, ok bool) {
	m := x.Message()
	if m == nil || m.Error == nil {
		return 0, false
	}
	n := value(m.Error.Raw, "code")
	if jsonx.KindOf(n) != jsonx.Number || jsonx.Unmarshal(n, &code) != nil {
		return 0, false
	}
	return code, true
}

// Is reports whether a JSON-RPC error of that code came.
func (x *Exchange) Is(code int) bool {
	c, ok := x.Code()
	return ok && c == code
}

// Refused reports whether the server said no in any way that can be read: a
// JSON-RPC error, or an HTTP status of 400 or above and below 500.
func (x *Exchange) Refused() bool {
	if x.Busy() {
		return false
	}
	if m := x.Message(); m != nil && m.Error != nil {
		return true
	}
	return x.Status() >= http.StatusBadRequest && x.Status() < http.StatusInternalServerError && !x.OK()
}

// Silent reports whether nothing came in time.
func (x *Exchange) Silent() bool { return x.Err == ErrSilent }

// Died reports whether the connection or the process ended instead.
func (x *Exchange) Died() bool {
	switch transport.ReasonOf(x.Err) {
	case transport.Died, transport.Broken, transport.Unreachable, transport.NotStarted:
		return true
	}
	return false
}

// Result is the result object, nil without one.
func (x *Exchange) Result() json.RawMessage {
	m := x.Message()
	if m == nil || m.Kind != wire.Response {
		return nil
	}
	return m.Result
}

// Member returns a member of the result, nil when it is not there.
func (x *Exchange) Member(name string) json.RawMessage { return last(x.result(), name) }

// At returns what a JSON pointer reaches in the result, nil when it leads
// nowhere.
func (x *Exchange) At(pointer string) json.RawMessage { return Lookup(x.Result(), pointer) }

// ResultType is the resultType of the result; empty when it has none.
func (x *Exchange) ResultType() string {
	s, _ := jsonx.Text(x.Member(spec.FieldResultType))
	return s
}

// Complete reports whether a final result came.
func (x *Exchange) Complete() bool {
	return x.OK() && (x.ResultType() == spec.ResultComplete || x.ResultType() == "")
}

// Data returns a member of the error's data, nil when it is not there.
func (x *Exchange) Data(name string) json.RawMessage {
	if m := x.Message(); m != nil && m.Error != nil {
		return value(m.Error.Data, name)
	}
	return nil
}

// Notifications are those of its stream with a method, all with an empty one.
func (x *Exchange) Notifications(method string) []*wire.Frame {
	var out []*wire.Frame
	for _, f := range x.Frames {
		if m := f.Message(); m.Kind == wire.Notification && (method == "" || m.Method == method) {
			out = append(out, f)
		}
	}
	return out
}

// Streamed reports whether the answer was an event stream.
func (x *Exchange) Streamed() bool { return x.Head.MediaType() == spec.MediaEventStream }

// Revision is the revision that the request named, by its _meta; that of the
// handshake era for a request that was made for it.
func (x *Exchange) Revision() spec.Revision {
	if x.Request != nil && x.Request.Revision.Era() == spec.Legacy {
		return x.Request.Revision
	}
	r, _ := spec.ParseRevision(Text(x.Meta(spec.MetaProtocolVersion)))
	return r
}

// Declared returns what the request declares at a dotted path of its client
// capabilities, nil where it declares nothing there.
func (x *Exchange) Declared(path string) json.RawMessage {
	if x == nil {
		return nil
	}
	return dotted(x.Meta(spec.MetaClientCapabilities), path)
}

// Meta returns a key of _meta in the request, nil when it is not there.
func (x *Exchange) Meta(key string) json.RawMessage {
	return last(x.metas(), key)
}
