// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"io"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Kind says which of MCP's transports a connection speaks. The rules of the
// protocol differ by it.
type Kind uint8

// The transports.
const (
	// Stdio is a stream of lines each way: a child process, or a pair of pipes.
	Stdio Kind = iota + 1
	// StreamableHTTP is one endpoint, a POST for each message (2025-03-26 on).
	StreamableHTTP
	// HTTPSSE is the pair of endpoints of 2024-11-05.
	HTTPSSE
)

func (k Kind) String() string {
	switch k {
	case Stdio:
		return "stdio"
	case StreamableHTTP:
		return "http"
	case HTTPSSE:
		return "http+sse"
	}
	return "unknown"
}

// Target is a server that can be connected to, any number of times. Each Conn
// is fresh: stdio starts a process of its own.
type Target interface {
	// Open connects. The context bounds opening alone. For HTTP nothing is
	// sent yet, except for HTTP+SSE, whose stream must be open first.
	// Errors are of type *Error.
	Open(ctx context.Context, o Options) (Conn, error)
	// Kind is the transport that Open will speak.
	Kind() Kind
	// String describes the target without secrets: no header values, no
	// environment, no query, no user information of a URL.
	String() string
}

// SSEFallback is a target that may also be reached by HTTP+SSE of 2024-11-05.
type SSEFallback interface {
	HTTPSSE() Target
}

// Options of one connection.
type Options struct {
	// Tap sees everything that crosses, may be nil.
	Tap Tap
	// Stderr receives a copy of what a child process writes there, may be nil.
	Stderr io.Writer
	// Limit is the longest frame in bytes that is held, zero for 64 MiB.
	Limit int
}

// Channel names one flow of a connection: an HTTP request with its response,
// the standing GET, or the whole of a stdio connection, which is Main.
type Channel uint64

// Main is the channel of a stdio connection, and of the SSE stream of HTTP+SSE.
const Main Channel = 0

// Outgoing is one frame to send.
type Outgoing struct {
	// Raw is the text. It is sent as it is: over stdio a line feed follows,
	// over HTTP it is the body of a POST.
	Raw []byte
	// Header is added to the HTTP request, after the target's own headers. A
	// name that stands here replaces the default and the target's value for
	// it. Other transports ignore it.
	Header []wire.HeaderField
	// Bare leaves out every default and target header: only Host,
	// Content-Length and Header are sent.
	Bare bool
	// Without names defaults and headers of the target that are left out, in any
	// case.
	Without []string
	// Fresh sends on a connection that no exchange has used, over HTTP/1.1.
	Fresh bool
	// Terminator replaces the LF of a stdio line when it is not nil.
	Terminator []byte
	// Tag comes back in every event of the channel that this opens over HTTP,
	// and in what the tap sees of the sending.
	Tag any
}

// Sent is what was handed to the carrier.
type Sent struct {
	Channel Channel
	Frame   *wire.Frame // nil when no JSON-RPC text was sent
	Head    *wire.Head  // of the HTTP request, nil over stdio
}

// Conn moves frames. Send, CloseChannel and Close may be called from any
// goroutine; Receive from one at a time. Somebody must receive: what has
// arrived is held in a bounded queue, and once it is full the server is no
// longer read from.
type Conn interface {
	Kind() Kind
	// Send writes one frame and says on which channel its answer comes, which
	// may arrive before Send returns. The context bounds connecting and writing
	// only. An error is of type *Error; what was to be sent is returned with it.
	Send(ctx context.Context, out Outgoing) (Sent, error)
	// Receive returns the next event. After EventLost every call returns
	// io.EOF. It returns the context's error when that ends first.
	Receive(ctx context.Context) (Event, error)
	// CloseChannel ends an HTTP response stream, which is cancellation in the
	// modern era. An EventClosed follows. It does nothing for Main and for a
	// channel that has ended.
	CloseChannel(ch Channel)
	// Close ends everything and waits for it: streams, connections, the whole
	// process tree. It may be called more than once. The context bounds the
	// patient part; after it the tree is killed without grace.
	Close(ctx context.Context) error
}

// Requester is a Conn that can send any HTTP request to the target's endpoint:
// GET for the standing stream, DELETE for the end of a session. The response
// is read as that of a POST.
type Requester interface {
	Request(ctx context.Context, r Request) (Sent, error)
}

// RawRequester is a Conn that can write any bytes to a fresh connection to the
// target's host and read one HTTP response: for illegal requests.
type RawRequester interface {
	RequestBytes(ctx context.Context, request []byte, tag any) (Sent, error)
}

// Request is one HTTP request to the target's endpoint.
type Request struct {
	Method string
	// Path replaces path and query of the endpoint when it is not empty, for
	// another resource of the same server.
	Path   string
	Header []wire.HeaderField // as in Outgoing
	Bare   bool               // as in Outgoing
	// Without is as in Outgoing.
	Without []string
	Fresh   bool   // as in Outgoing
	Body    []byte // nil sends no body and no Content-Length
	Tag     any    // as in Outgoing
}

// Exit says how a server's process ended.
type Exit struct {
	Code   int    // exit status, -1 when a signal ended it
	Signal string // name of that signal, or empty
	Stderr string // the last of what it wrote there, at most 64 KiB
}

// InputCloser is a Conn over stdio whose input can be ended while its output is
// still received: what a server says then is said to somebody.
type InputCloser interface {
	// CloseInput ends the server's input, as a client that leaves does.
	CloseInput() error
}

// Terminator is a Conn to something that can be told to end.
type Terminator interface {
	// Terminate asks for the end, as a system that shuts down does, and does
	// not wait for it. Output is still received.
	Terminate()
}

// Tree is a Conn to a server that may start others.
type Tree interface {
	// Left counts those that are still there once the server itself has
	// ended; it is zero before that.
	Left() int
}

// ProcessConn is a Conn to a child process.
type ProcessConn interface {
	InputCloser
	Terminator
	Tree
	// PID is the id of the process, which leads its group.
	PID() int
	// Stderr returns the last of what was written there, at most 64 KiB.
	Stderr() string
	// Exited is closed when the process has ended; Exit is valid then.
	Exited() <-chan struct{}
	Exit() Exit
}

// Hurrier is a Conn whose Close has patience that can be shortened, by what is
// known of the server alone.
type Hurrier interface {
	// Hurry makes a later Close wait no longer than this for the process to
	// end: after its input was closed, and after it was told to terminate.
	Hurry(closeGrace, termGrace time.Duration)
}

// EventKind says what an Event is.
type EventKind uint8

// The kinds of events. On an HTTP channel the order is EventHead, then
// EventFrame or EventBody, then EventClosed; a request that gets no response
// has EventClosed alone.
const (
	EventFrame  EventKind = iota + 1 // one JSON-RPC text, or a stdio line that should be one
	EventHead                        // the head of an HTTP response
	EventBody                        // a body that carries no frames: HTML, text, an unknown type
	EventSSE                         // an SSE block without a frame: comments, an id alone, another type
	EventClosed                      // the channel ended
	EventLost                        // the stream of stdio or HTTP+SSE ended; always the last event
)

// The kinds of events that a tap alone sees: what our own side did.
const (
	EventUnsent  EventKind = iota + 101 // sending failed, see TapEvent.Unsent and Err
	EventLeft                           // CloseChannel ended the channel
	EventLeaving                        // Close was called
)

// Event is one thing that arrived.
type Event struct {
	Kind    EventKind
	Channel Channel
	Tag     any         // of the request that opened the channel
	Frame   *wire.Frame // EventFrame
	Head    *wire.Head  // EventHead, and every later event of its channel
	// Body is at most the first 64 KiB of a body; BodySize is the number of
	// bytes that were read of it.
	Body     []byte
	BodySize int64
	SSE      *wire.Event // EventSSE
	// Err says why a channel or the connection ended: nil for a proper end of
	// a channel, of type *Error otherwise. A channel that was closed by us has
	// Reason Closed.
	Err error
}

// Tap sees everything that crosses a connection, both ways, in the order in
// which it was handed to or read from the carrier: events that arrive before
// Receive gives them, and frames and heads just before they are sent. When
// sending fails it is told so afterwards, by an event without Frame and Head.
// Calls of one connection do not overlap. A tap must be quick and must not call
// the Conn, nor take a lock under which the Conn is called.
type Tap func(TapEvent)

// TapEvent is one thing that crossed.
type TapEvent struct {
	// Conn tells the connections of one process apart: channels are numbered
	// anew in each.
	Conn uint64
	Sent bool // Frame or Head goes to the server
	Event
	// Unsent is what was to be sent, for EventUnsent. It was shown before,
	// unless nothing of it was tried: a connection that is closed, a header
	// that cannot be sent. Some of it may have reached the server.
	Unsent *Sent
}
