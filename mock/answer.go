// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"time"
)

// Answer is one thing that a tool, a resource or a prompt answers, as data. Of
// several, those are meant whose Match is that of the first one that fits the
// arguments: the first call takes the first of them, the second call the next,
// and later calls the last, or the first again with Cycle.
//
// In the strings of a result {{name}} stands for an argument, {{name.member}}
// for a part of it, {{input.KEY}} for what answered an Ask, such as
// {{input.name.content.first}}, {{call}} for the number of the call and {{uri}}
// for the URI of a resource. A string that is {{json NAME}} alone becomes the
// value itself.
type Answer struct {
	// Match is an object whose members the arguments must have, with equal
	// values; nil fits everything.
	Match json.RawMessage
	// Steps happen in turn before the answer. They happen once, when nothing
	// is left to ask.
	Steps []Step
	// Delay is waited before the answer. It ends when the call is cancelled.
	Delay time.Duration
	// Ask is what is asked of the client first.
	Ask []Ask
	// AskBeforeTask asks before a task is made of the call (2026-07-28). Asks
	// belong to the task otherwise.
	AskBeforeTask bool
	// Deferrals is how many rounds give nothing but a requestState, before
	// anything is asked (2026-07-28). The legacy era knows no such thing.
	Deferrals int
	// Result is that of a call, the contents of a resource, the messages of a
	// prompt; nil is a short text.
	Result json.RawMessage
	// Refused is the result when an elicitation was declined or cancelled; nil
	// is a short text.
	Refused json.RawMessage
	// Error is answered in place of a result.
	Error *Error
}

// Ask is one thing that is asked of the client: in an input_required result of
// the modern era, by a request in the legacy one.
type Ask struct {
	// Key names it in inputRequests; empty is "input" with its number.
	Key string
	// Method is elicitation/create, sampling/createMessage or roots/list.
	Method string
	// Params is its params object, with the placeholders of a result.
	Params json.RawMessage
	// Round is when it is asked; those of a later round come when all earlier
	// ones are answered. Zero is 1.
	Round int
	// Optional leaves it out when the client did not declare that it can
	// answer; the call is refused otherwise.
	Optional bool
}

// Step is one thing that happens on the way to an answer. Each of its parts
// that is there happens, in the order of the fields.
type Step struct {
	// Wait is a pause. It ends when the call is cancelled.
	Wait     time.Duration
	Progress *Progress
	Log      *Log
	// Notify is a notification on the stream of the call.
	Notify *Notice
	// Status is a task's statusMessage from now on.
	Status string
	// Change is what becomes of the server. Whoever listens is told.
	Change *Change
	// Drop closes the event stream of a resumable legacy session; the client
	// finds the rest by Last-Event-ID.
	Drop bool
}

// Progress is a report of progress. It is sent when the client gave a token.
type Progress struct {
	Progress float64
	Total    float64 // zero for none
	Message  string
}

// Log is a log message. It is sent to clients that asked for its level: by the
// request in the modern era, by logging/setLevel in the legacy one, where a
// client that set none gets all.
type Log struct {
	Level  string
	Logger string
	Data   json.RawMessage
}

// Notice is any notification.
type Notice struct {
	Method string
	Params json.RawMessage
}

// Change is a change of what a server shows. What one change both adds and
// removes is never seen, but told of.
type Change struct {
	AddTools        []Tool
	RemoveTools     []string // by name
	AddPrompts      []Prompt
	RemovePrompts   []string // by name
	AddResources    []Resource
	RemoveResources []string // by URI
	// Updated are URIs of resources that changed.
	Updated []string
	// Quiet tells nobody.
	Quiet bool
}
