// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"net/http"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// The operators of servers that one client can keep from others.
const (
	// OpSerial does one thing at a time, for all clients together: Text is
	// what, see [SerialReading] and [SerialWriting].
	OpSerial Op = "serial"
	// OpLimit refuses a body over HTTP that announces more than Count bytes. One
	// in chunks announces nothing, and is taken.
	OpLimit Op = "limit"
	// OpBacktrack answers late, by Delay for none and twice as late with each
	// time that Text stands in the string at Pointer of the request.
	OpBacktrack Op = "backtrack"
)

// What a server may do for one client at a time.
const (
	SerialReading = "reading" // the body of a request over HTTP
	SerialWriting = "writing" // a part of an answer over HTTP
)

var serials = []string{SerialReading, SerialWriting}

// Serial makes the server do something for one client at a time over HTTP: one
// that is slow keeps all others waiting. It has no place.
func Serial(what string) Fault { return Fault{Op: OpSerial, Text: what} }

// BodyLimit refuses bodies over HTTP that announce more than n bytes, and takes
// those that announce nothing. It has no place.
func BodyLimit(n int) Fault { return Fault{Op: OpLimit, Count: n} }

// Backtrack answers as late as a regular expression does that tries every way
// to match: unit for a string at the pointer of the request without the text,
// and twice that with each time that the text stands there.
//
//go:noinline
func (p Place) Backtrack(pointer, text string, unit time.Duration) Fault {
	return Fault{Place: p, Op: OpBacktrack, Pointer: pointer, Text: text, Delay: unit}
}

// everywhere reports whether a fault is one of the whole server, at no request.
func (f *Fault) everywhere() bool { return f.Op == OpSerial || f.Op == OpLimit }

// mostBacktrack bounds how late that is.
const mostBacktrack = 5 * time.Second

// backtracks is how late an answer is.
func (f *Fault) backtracks(q *request) time.Duration {
	v, _ := jsonx.Lookup(q.Raw, f.Pointer)
	if v == nil || f.Text == "" {
		return 0
	}
	late := f.Delay
	for range bytes.Count(v, []byte(f.Text)) {
		if late *= 2; late >= mostBacktrack {
			return mostBacktrack
		}
	}
	return late
}

// alone waits until nobody else does something that the script wants done for
// one at a time, and returns what ends it.
func (s *Server) alone(what string) func() {
	if !s.serial[what] {
		return func() {}
	}
	s.one <- struct{}{}
	return func() { <-s.one }
}

// tooLarge reports whether a request announces more than a fault takes.
func (s *Server) tooLarge(r *http.Request) bool {
	for i := range s.script.Faults {
		if f := &s.script.Faults[i]; f.Op == OpLimit && r.ContentLength > int64(f.Count) {
			return true
		}
	}
	return false
}

// DepthFrom holds for messages in which that many arrays and objects, or more,
// stand in each other.
func DepthFrom(n int) Condition {
	return Condition{Of: OfDepth, Is: IsFrom, Value: string(number(int64(n)))}
}

// depthOf counts them, in a text that may be no JSON.
func depthOf(text []byte) int64 {
	var deepest, depth int64
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
