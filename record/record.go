// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Kind says what a Record is of.
type Kind uint8

// The kinds of records. The first five are messages.
const (
	Request       Kind = iota + 1
	Notification       // a message that wants no answer
	Response           // an answer with a result
	ErrorResponse      // an answer with an error
	Batch              // an array of messages, each of which has a record of its own behind it
	Noise              // a text that is no JSON-RPC message
	HTTPRequest        // an HTTP request without a message
	HTTPResponse       // an HTTP response without a message
	Body               // what an HTTP response carried when it was no message
	Block              // an SSE block without a message: comments, an id alone
	FailedSend         // what could not be sent; some of it may have crossed
	Opened             // a connection was opened
	OpenFailed         // opening a connection failed
	Left               // the client closed the stream of a request
	Closed             // the client closed the connection
	Broken             // an HTTP exchange ended before its response was complete
	Lost               // the stream of a connection ended
)

var kindNames = [...]string{
	Request: "request", Notification: "notification", Response: "response", ErrorResponse: "error",
	Batch: "batch", Noise: "noise", HTTPRequest: "http request", HTTPResponse: "http response", Body: "http body",
	Block: "sse block", FailedSend: "failed send", Opened: "opened", OpenFailed: "open failed", Left: "left",
	Closed: "closed", Broken: "broken", Lost: "lost",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "no kind"
}

// Record is one thing that crossed, or that happened to a connection.
type Record struct {
	// Seq counts what was seen, from 1, in the order in which it was handed to
	// or read from the carrier. There are gaps: an HTTP head that carries a
	// message is part of the message's record.
	Seq int
	// Part is the position in a batch, from 1; zero for everything else. The
	// batch and its messages share one Seq.
	Part int
	Time time.Time
	// Conn numbers the connections of a recording, from 1.
	Conn    int
	Channel transport.Channel
	Dir     wire.Direction // zero for what has none
	Kind    Kind

	// Method is that of the message, and for an answer that of its request.
	// It is empty for what has none, and for an answer to nothing.
	Method string
	// ID is the id as it was spelled, nil without one.
	ID json.RawMessage
	// Answers is the Seq of the request that this answers, zero for none. The
	// request may be from before [Recorder.Clear], or dropped.
	Answers int
	// Latency is the time from sending the request to having read its first
	// answer. It is zero for everything else: see Timed.
	Latency time.Duration
	// Repeated marks a further answer to a request that was answered.
	Repeated bool
	// Answered and Cancelled are of a request: an answer came; it was cancelled
	// before one did.
	Answered, Cancelled bool
	// AfterCancel marks an answer that came when its request was cancelled. A
	// server may have sent it before it knew.
	AfterCancel bool

	// Size is the number of bytes of the text, body or block.
	Size int
	// HTTP is what is known of the HTTP message, nil without one.
	HTTP *HTTP
	// EventID is the id of the server-sent event.
	EventID string
	// Line is the number of the line on its stream, from 1; zero where no line
	// carried the text.
	Line int

	// Frame is the text exactly as it crossed; of a batch for its messages too.
	Frame *wire.Frame
	// Body is at most the first 64 KiB of an HTTP body that is no message.
	Body []byte
	// Event is an SSE block without a message.
	Event *wire.Event

	// Err says what failed, in words, and Reason classes it. For Opened and
	// OpenFailed, Target describes the target without secrets.
	Err    string
	Reason transport.Reason
	Target string

	msg     *wire.Message
	request int // index of the record that this answers, plus one
}

// HTTP is what a record knows of HTTP.
type HTTP struct {
	// Method and URL are of the request, for a response too. URL has neither
	// query nor user information; that of Head is whole.
	Method, URL string
	Status      int // of a response
	// Head is the head of the message that carried this.
	Head *wire.Head
}

// Message reads the text, nil without one. For a part of a batch it is that
// part.
func (r *Record) Message() *wire.Message {
	if r.msg == nil && r.Frame != nil {
		return r.Frame.Message()
	}
	return r.msg
}

// IsAnswer reports whether the record is a result or an error, whomever it
// answers.
func (r *Record) IsAnswer() bool { return r.Kind == Response || r.Kind == ErrorResponse }

// Timed reports whether Latency was measured: this is the first answer to a
// request that was seen.
func (r *Record) Timed() bool { return r.IsAnswer() && r.Answers > 0 && !r.Repeated }

// Name is what the record is counted under: its method, or in parentheses what
// it is.
func (r *Record) Name() string {
	switch {
	case r.Method != "":
		return r.Method
	case r.IsAnswer():
		return AnswerToNothing
	}
	return "(" + r.Kind.String() + ")"
}

// AnswerToNothing is the name of an answer whose request was not seen: its id
// is of no request, or it has none.
const AnswerToNothing = "(answer to nothing)"
