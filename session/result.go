// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Negotiated is what the two sides agreed on, and what the server said of
// itself on the way. Raw members are as they crossed, nil when absent.
type Negotiated struct {
	Transport transport.Kind
	Era       spec.Era
	// Revision is the one spoken from now on.
	Revision spec.Revision
	// Asked is what the session asked for, Answered the protocolVersion of the
	// initialize result (legacy), Supported the list of server/discover or of
	// the error -32022 (modern).
	Asked     string
	Answered  string
	Supported []string

	ServerInfo   json.RawMessage
	Capabilities json.RawMessage
	Instructions *string
	SessionID    string // Mcp-Session-Id, legacy HTTP
	// Handshake is the exchange of initialize or server/discover; nil when a
	// modern revision was forced and the server has no server/discover.
	Handshake *wire.Exchange
	// Attempts is every try of the negotiation, in order, the last one being
	// the one that counted.
	Attempts []Attempt
}

// Attempt is one try to find a common language.
type Attempt struct {
	Transport transport.Kind
	Method    string // server/discover, initialize, or GET for HTTP+SSE
	Revision  string // asked for
	Fresh     bool   // on a connection of its own
	Exchange  *wire.Exchange
	Err       error  // nil when it succeeded
	Verdict   string // what was concluded, in words of ours
}

// Request is one request to make.
type Request struct {
	Method string
	// Params is the params object, nil for none. The session adds _meta as the
	// revision demands, and keeps what stands in it.
	Params json.RawMessage
	// Timeout of this request; zero is that of the session.
	Timeout time.Duration
	// Patient starts the timeout anew with each progress notification for this
	// request. It needs a ProgressToken; the bound of the whole is the context.
	Patient bool
	// Safe marks a request that may be sent again under a new id when a modern
	// HTTP stream breaks before its answer. Requests that the specification
	// calls repeatable are safe without it.
	Safe bool
	// ToolSchema is the inputSchema of the tool called; Mcp-Param-* headers
	// are made from it (modern HTTP).
	ToolSchema json.RawMessage
	// Header is added to the HTTP request, replacing headers of that name.
	Header []wire.HeaderField
	// ProgressToken, when not nil, is put into _meta.
	ProgressToken json.RawMessage
	// KeepRounds makes Do return an input_required result instead of answering
	// it by the handlers.
	KeepRounds bool
	// OnNotification sees notifications that belong to this request, in order.
	OnNotification func(*wire.Frame)
}

// Result is how a request ended.
type Result struct {
	Exchange *wire.Exchange
	// Raw is the result member, nil when there is none.
	Raw json.RawMessage
	// ResultType is that of the result; an absent one is "complete".
	ResultType string
	// Rounds is the number of requests it took, 1 without input_required.
	Rounds int
	// Reissued counts how often a broken stream made us send it again.
	Reissued int

	members []jsonx.Member
}

// Member returns one member of the result as it crossed, nil when it is absent.
// Of two of a name the last counts. The result is read once for all of them.
func (r *Result) Member(name string) json.RawMessage {
	for i := len(r.members) - 1; i >= 0; i-- {
		if r.members[i].Name == name {
			return json.RawMessage(r.members[i].Value)
		}
	}
	return nil
}

// Listing is a whole list, page by page.
type Listing struct {
	Pages []*Result
	Notes []string // facts worth telling that are neither failure nor anomaly
	// Failed is the page that could not be read, nil when none was asked for
	// in vain.
	Failed *Result
}

// RawRequest is any text to send, well formed or not.
type RawRequest struct {
	Text   []byte
	Header []wire.HeaderField // the whole of the added headers: the session adds none
	// Bare leaves out the target's and the default headers too.
	Bare bool
	// Wait is how long to wait for an answer, zero for the request timeout.
	Wait time.Duration
}

// Anomaly is a fact about what a server sent that no request explains.
type Anomaly struct {
	Kind  AnomalyKind
	Frame *wire.Frame // the first one
	Count int         // how often, at least 1
	Note  string
}

// AnomalyKind names what was against the rules of correlation and framing.
type AnomalyKind string

// The kinds of anomalies.
const (
	Noise             AnomalyKind = "noise"               // a line or body that is no JSON-RPC
	UnknownID         AnomalyKind = "unknown-id"          // a response to an id that was never used
	MissingID         AnomalyKind = "missing-id"          // a response without an id, or with id null
	BadID             AnomalyKind = "bad-id"              // a response with an id of a wrong type
	RepeatedResponse  AnomalyKind = "repeated-response"   // a second response to one request
	LateResponse      AnomalyKind = "late-response"       // a response after we stopped waiting
	WrongChannel      AnomalyKind = "wrong-channel"       // a response on another request's stream
	ServerRequest     AnomalyKind = "server-request"      // a request from a server that may send none (modern)
	BatchReceived     AnomalyKind = "batch"               // an array of messages where the revision has none
	WrongMediaType    AnomalyKind = "media-type"          // JSON-RPC under another Content-Type
	AfterCancel       AnomalyKind = "after-cancel"        // something for a request that was cancelled
	UnfinishedMessage AnomalyKind = "unfinished"          // half a line or event at the end
	TooLong           AnomalyKind = "too-long"            // a frame longer than the limit
	EmptyCursor       AnomalyKind = "empty-cursor"        // nextCursor "" in the legacy era, read as the end
	RefusedPost       AnomalyKind = "refused-post"        // a notification or answer of ours was not accepted
	SessionIDChanged  AnomalyKind = "session-id"          // a session id where none may be, or another one
	ExtraNotification AnomalyKind = "notification-closed" // a notification for a request that had ended
)
