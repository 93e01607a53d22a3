// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"time"

	"github.com/mcprove/mcprove/wire"
)

// Op says what a fault does. Its arguments are the fields of [Fault].
type Op string

// The operators. Those of the first group change the answer, or at a place of
// [OnNotification] what is sent there; texts in them may name values of the
// request as {{/json/pointer}}.
const (
	OpSet     Op = "set"     // Pointer, Text: put JSON there
	OpRemove  Op = "remove"  // Pointer
	OpReplace Op = "replace" // Text, With: in the bytes
	OpCopy    Op = "copy"    // Text: a pointer in the answer; Pointer: where its value goes too
	OpReverse Op = "reverse" // Pointer: of an array
	OpGrow    Op = "grow"    // Pointer, Count: a string of that many bytes there
	OpPretty  Op = "pretty"  // over several lines
	OpText    Op = "text"    // Text: in place of the message
	OpResult  Op = "result"  // Text: a result in place of the answer
	OpError   Op = "error"   // Code, Text, With: an error, its message and its data, in place of the answer
	OpDrop    Op = "drop"    // never send it
	OpDelay   Op = "delay"   // Delay
	OpRepeat  Op = "repeat"  // Count: that many times more
	OpBefore  Op = "before"  // Text: noise before it
	OpAfter   Op = "after"   // Text: noise after it
	OpJoin    Op = "join"    // Text: on the same line or event, after it
	OpStderr  Op = "stderr"  // Text, Count: to the script's Stderr, that many times
	OpFetch   Op = "fetch"   // Pointer: of the request, where the URL stands that is asked for
	OpLenient Op = "lenient" // Text: the name of a check that is skipped

	OpNotifyFirst Op = "notify-first" // Text, With: a notification before everything else
	OpNotify      Op = "notify"       // Text, With: a notification before the answer, or after the acknowledgement of a subscription
	OpNotifyAfter Op = "notify-after" // Text, With: a notification after the answer
	OpRequest     Op = "request"      // Text, With, Pointer: a request of the server, its params and its id, before the answer
	OpUnanswered  Op = "unanswered"   // the stream ends without the answer
	OpAtOnce      Op = "at-once"      // a subscription is answered at once

	OpHalf    Op = "half"    // the first half of the answer, then hang up
	OpHangUp  Op = "hang-up" // close the connection instead of answering
	OpDie     Op = "die"     // end the server instead of answering
	OpDribble Op = "dribble" // Count, Delay: that many bytes at a time

	OpStatus Op = "status" // Code: HTTP status
	OpHeader Op = "header" // Header: set, or removed where the value is empty
	OpBody   Op = "body"   // Text: HTTP body in place of the message
	OpJSON   Op = "json"   // answer with a JSON body and nothing before it
	OpSSE    Op = "sse"    // answer with an event stream
	OpEvent  Op = "event"  // Text: what an event looks like, around {{data}}
	OpLinger Op = "linger" // Delay: keep the stream open after the answer

	OpStray Op = "stray" // the answer to a client that closed the stream goes to its other subscriptions

	OpBanner     Op = "banner"      // Text: on stdout before anything is read
	OpFarewell   Op = "farewell"    // Text: on stdout after the end of the input
	OpChatter    Op = "chatter"     // Text, Delay: on stdout again and again
	OpIgnoreEOF  Op = "ignore-eof"  // do not end with the input
	OpIgnoreTerm Op = "ignore-term" // do not end when told to terminate
	OpLineEnd    Op = "line-end"    // Text: in place of the line feed

	OpRepeatCursor   Op = "repeat-cursor"   // nextCursor leads to the page it stands on
	OpEndlessCursors Op = "endless-cursors" // there is always another page
	OpEmptyCursor    Op = "empty-cursor"    // nextCursor is the empty string
)

// Fault is one way to break a rule: what happens at a place. It is data; the
// methods of [Place] make the useful ones. Faults of one place are applied in
// the order of the script.
type Fault struct {
	Place
	Op      Op
	Pointer string // RFC 6901, from the root of the JSON-RPC message
	Text    string
	With    string
	Code    int
	Count   int
	Delay   time.Duration
	Header  []wire.HeaderField
}

// Set puts a JSON value at a pointer of the answer: "/id", "/result/tools/0",
// "/error/code", or "/-" appended to an array for one more element. Objects on
// the way are made, but not a result in an error, nor an error in a result.
//
//go:noinline
func (p Place) Set(pointer, value string) Fault {
	return Fault{Place: p, Op: OpSet, Pointer: pointer, Text: value}
}

// Remove takes the value at a pointer out of the answer.
//
//go:noinline
func (p Place) Remove(pointer string) Fault { return Fault{Place: p, Op: OpRemove, Pointer: pointer} }

// Replace replaces the first occurrence of old in the bytes of the answer.
//
//go:noinline
func (p Place) Replace(old, with string) Fault {
	return Fault{Place: p, Op: OpReplace, Text: old, With: with}
}

// Answer sends any text in place of the answer.
//
//go:noinline
func (p Place) Answer(text string) Fault { return Fault{Place: p, Op: OpText, Text: text} }

// Error answers with an error.
//
//go:noinline
func (p Place) Error(code int, message string) Fault {
	return Fault{Place: p, Op: OpError, Code: code, Text: message}
}

// Drop never answers. What other faults send before the answer is sent: with
// [Place.Request] it makes a server that asks and waits.
//
//go:noinline
func (p Place) Drop() Fault { return Fault{Place: p, Op: OpDrop} }

// Late answers after a delay.
//
//go:noinline
func (p Place) Late(d time.Duration) Fault { return Fault{Place: p, Op: OpDelay, Delay: d} }

// Twice sends the answer two times.
//
//go:noinline
func (p Place) Twice() Fault { return Fault{Place: p, Op: OpRepeat, Count: 1} }

// Before sends a text that is no message before the answer: a line over stdio,
// an event in an event stream, bytes before any other body.
//
//go:noinline
func (p Place) Before(noise string) Fault { return Fault{Place: p, Op: OpBefore, Text: noise} }

// After is Before behind the answer.
//
//go:noinline
func (p Place) After(noise string) Fault { return Fault{Place: p, Op: OpAfter, Text: noise} }

// Copy puts the value at one pointer of the answer at another one too.
//
//go:noinline
func (p Place) Copy(from, to string) Fault {
	return Fault{Place: p, Op: OpCopy, Text: from, Pointer: to}
}

// Reverse turns an array of the answer round.
//
//go:noinline
func (p Place) Reverse(pointer string) Fault { return Fault{Place: p, Op: OpReverse, Pointer: pointer} }

// Oversize puts a string of n bytes at a pointer of the answer.
//
//go:noinline
func (p Place) Oversize(pointer string, n int) Fault {
	return Fault{Place: p, Op: OpGrow, Pointer: pointer, Count: n}
}

// BadUTF8 puts a string that is not UTF-8 at a pointer of the answer.
//
//go:noinline
func (p Place) BadUTF8(pointer string) Fault { return p.Set(pointer, "\"\xff\xfe\"") }

// Pretty spreads the message over several lines.
//
//go:noinline
func (p Place) Pretty() Fault { return Fault{Place: p, Op: OpPretty} }

// Result answers with another result.
//
//go:noinline
func (p Place) Result(result string) Fault { return Fault{Place: p, Op: OpResult, Text: result} }

// ErrorData is Error with data, a JSON value.
//
//go:noinline
func (p Place) ErrorData(code int, message, data string) Fault {
	return Fault{Place: p, Op: OpError, Code: code, Text: message, With: data}
}

// SameLine sends a text on the line of the answer, behind it.
//
//go:noinline
func (p Place) SameLine(text string) Fault { return Fault{Place: p, Op: OpJoin, Text: text} }

// AskForever answers every time with an input_required result that asks for the
// input requests, an object, however often it was answered.
//
//go:noinline
func (p Place) AskForever(inputRequests string) Fault {
	return p.Result(`{"resultType":"input_required","inputRequests":` + inputRequests + `,"requestState":"again"}`)
}

// Lenient skips a check everywhere: the server answers as if it had passed.
// [Checks] holds the names.
func Lenient(check string) Fault { return Place{}.Lenient(check) }

// Lenient skips a check at the place.
//
//go:noinline
func (p Place) Lenient(check string) Fault { return Fault{Place: p, Op: OpLenient, Text: check} }

// Notify sends a notification before the answer, on the stream of the request.
// A subscription gets it right after its acknowledgement. Params is an object,
// or empty for none.
//
//go:noinline
func (p Place) Notify(method, params string) Fault {
	return Fault{Place: p, Op: OpNotify, Text: method, With: params}
}

// NotifyFirst sends a notification before everything else on the stream of the
// request, the acknowledgement of a subscription included.
//
//go:noinline
func (p Place) NotifyFirst(method, params string) Fault {
	return Fault{Place: p, Op: OpNotifyFirst, Text: method, With: params}
}

// NotifyAfter sends a notification after the answer, on its stream.
//
//go:noinline
func (p Place) NotifyAfter(method, params string) Fault {
	return Fault{Place: p, Op: OpNotifyAfter, Text: method, With: params}
}

// Request sends a request of the server before the answer, on the stream of the
// client's request. Nobody waits for what answers it.
//
//go:noinline
func (p Place) Request(method, params, id string) Fault {
	return Fault{Place: p, Op: OpRequest, Text: method, With: params, Pointer: id}
}

// Unanswered ends the stream of the request without the answer. A subscription
// ends after its acknowledgement.
//
//go:noinline
func (p Place) Unanswered() Fault { return Fault{Place: p, Op: OpUnanswered} }

// AtOnce answers a subscription right after its acknowledgement.
//
//go:noinline
func (p Place) AtOnce() Fault { return Fault{Place: p, Op: OpAtOnce} }
