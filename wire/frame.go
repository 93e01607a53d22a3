// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"sync"
	"time"
)

// Direction says which way a frame or a head crossed. It is absolute, so a
// recording means the same whoever made it.
type Direction uint8

// The two directions.
const (
	ToServer Direction = iota + 1
	ToClient
)

func (d Direction) String() string {
	switch d {
	case ToServer:
		return "to-server"
	case ToClient:
		return "to-client"
	}
	return "unknown"
}

// Frame is one JSON-RPC text exactly as it crossed. It is never re-encoded and
// must not be changed or copied once it was made: hand the pointer on.
type Frame struct {
	// Raw is the text without what the carrier put around it: no line
	// terminator, no SSE field names. A byte order mark stays in.
	Raw []byte
	// Time is when the last byte was read, or when writing began.
	Time time.Time
	Dir  Direction

	// Line is set when a line of a byte stream carried the text.
	Line *Line
	// HTTP is the head of the HTTP request or response that carried it. All
	// frames of one response share one head.
	HTTP *Head
	// Event is set when a server-sent event carried it.
	Event *Event

	once sync.Once
	msg  *Message
}

// Message reads the frame, once; it may be called by several goroutines.
func (f *Frame) Message() *Message {
	f.once.Do(func() { f.msg = Read(f.Raw) })
	return f.msg
}

// HeaderField is one HTTP header line as it was spelled.
type HeaderField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Head is the head of an HTTP message: of a request when Method is set, of a
// response when Status is set.
type Head struct {
	Time time.Time
	Dir  Direction

	Method string // request
	URL    string // request: the absolute URL; may hold secrets in its query
	Status int    // response
	Reason string // response: the words after the status, often empty

	// Proto is "HTTP/1.1", "HTTP/2.0", or "" when the handler was called
	// without a socket.
	Proto string
	// Header is in the order and spelling of the wire. The carrier by net/http
	// and the in-process handler cannot know either: there Exact is false and
	// names are canonical and sorted.
	Header []HeaderField
	Exact  bool
}

// Get returns the value of the first header with that name, in any case.
func (h *Head) Get(name string) string {
	v, _ := h.Lookup(name)
	return v
}

// Lookup is Get that tells an absent header from an empty one. A nil head has
// no headers.
func (h *Head) Lookup(name string) (value string, ok bool) {
	if h == nil {
		return "", false
	}
	for _, f := range h.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// Values returns the values of every header with that name, in order.
func (h *Head) Values(name string) []string {
	if h == nil {
		return nil
	}
	var vs []string
	for _, f := range h.Header {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// MediaType returns the lower-case media type of Content-Type without its
// parameters, empty when there is none (RFC 9110, section 8.3.1).
func (h *Head) MediaType() string {
	v, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(v))
}
