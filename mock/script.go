// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/mcprove/mcprove/spec"
)

// Script is all that a server shows and answers. JSON texts are sent as they
// are, clean or not, so a script can hold what no library would encode.
type Script struct {
	// Revisions are those served, in the order they are named to clients; nil
	// serves all. They decide the eras: legacy, modern or both at once.
	Revisions []spec.Revision

	// ServerInfo is the Implementation object; nil is the name mock.
	ServerInfo   json.RawMessage
	Instructions string
	// Capabilities is the ServerCapabilities object; nil declares what the
	// script has, and what was registered since.
	Capabilities json.RawMessage
	// Open declares from the start whatever may be registered later: tools,
	// prompts and resources with listChanged, subscriptions, completions and
	// logging. A client that connects before anything is registered is then
	// told of each thing that is; it cannot be told of what was not declared to
	// it. Capabilities, where there are any, stand against it.
	Open bool
	// Lax answers every method before initialize, as a legacy client of the
	// newest revision would be answered, over HTTP without a session too.
	// Other rules stay.
	Lax bool

	Tools     []Tool
	Resources []Resource
	Templates []Template
	Prompts   []Prompt

	// PageSize is the number of items on a page of a list, zero for all.
	PageSize int
	// TTL and CacheScope are the caching hints of modern results
	// (2026-07-28/server/utilities/caching); an empty scope is private.
	TTL        int64 // milliseconds
	CacheScope string
	// Meta is an object whose members are added to _meta of every modern
	// result, after the server's own stamp.
	Meta json.RawMessage

	// State is how requestState is made.
	State State
	// Tasks is how tasks live.
	Tasks TaskLife
	// Validate, when not nil, judges arguments and answers against a schema in
	// place of the plain check of types, members, enumerations and bounds. Its
	// error is told to the client.
	Validate func(schema, value json.RawMessage) error
	// Now is the clock; nil is that of the system. Delays do not follow it.
	Now func() time.Time

	// Stream answers requests over HTTP as event streams, not only those whose
	// answer has notifications before it.
	Stream bool
	// Resumable gives the events of legacy sessions ids, from 2025-11-25 on
	// with an event of an id alone at the start of each stream, and replays
	// what a client missed that comes back with Last-Event-ID.
	Resumable bool
	// Retry is how long such a client is told to wait.
	Retry time.Duration
	// SSEPath is the path of the event stream of HTTP+SSE (2024-11-05), whose
	// messages are posted there too; empty serves none. It may be that of the
	// endpoint.
	SSEPath string
	// Origins are allowed values of the Origin header, besides those of
	// loopback hosts.
	Origins []string

	// Stderr takes what faults write to the standard error; nil discards it.
	Stderr io.Writer

	Faults []Fault
}

// State says how a requestState is made
// (2026-07-28/basic/patterns/mrtr#server-requirements).
type State struct {
	// Key seals it; nil is one of the server's own. Servers with one key take
	// each other's states, as the processes of one service do.
	Key []byte
	// TTL is how long it is taken; zero is ten minutes.
	TTL time.Duration
	// SingleUse takes each state once.
	SingleUse bool
	// Form is how the state is written, sealed where it is empty.
	Form StateForm
}

// StateForm is a way to write a requestState.
type StateForm string

// The forms. Each is taken back only as it was given.
const (
	StateSealed   StateForm = "sealed"   // nobody can read or make one
	StateSigned   StateForm = "signed"   // anybody can read it, nobody can make one
	StateNumbered StateForm = "numbered" // a number, under which the server keeps it
)

// TaskLife says how long tasks are kept and how often to ask for them.
type TaskLife struct {
	TTL  time.Duration // zero is an hour
	Poll time.Duration // zero is 100 ms
}

// TaskUse says whether a tool runs as a task.
type TaskUse string

// The uses. A tool without one never does.
const (
	// TaskOptional runs as a task for who can take one: in 2025-11-25 who asks
	// for it, in the extension of 2026-07-28 who declares it.
	TaskOptional TaskUse = "optional"
	// TaskRequired refuses everybody else.
	TaskRequired TaskUse = "required"
)

// Func makes what a call is answered with: the result of a tool, the contents
// of a resource, the messages of a prompt. An error of type *Error is sent as it
// is, another one as a result with isError where there is such a thing, and as
// an internal error elsewhere. A panic is an internal error that says nothing
// of it; [Server.Panics] has it. A call that was cancelled has its context done.
type Func func(ctx context.Context, c *Call) (json.RawMessage, error)

// Tool is a tool and what a call of it gives: the first of Func, Answers and
// Result that is there.
type Tool struct {
	Definition json.RawMessage
	// Result is the CallToolResult; nil is a short text.
	Result  json.RawMessage
	Answers []Answer
	// Cycle begins a sequence of answers again after its last.
	Cycle bool
	Func  Func
	// Task lets calls run as tasks. The definition says so in 2025-11-25.
	Task TaskUse
}

// Resource is a resource and its contents.
type Resource struct {
	Definition json.RawMessage
	// Contents is the array of ReadResourceResult; nil is a short text. That
	// is also what Answers and Func give.
	Contents json.RawMessage
	Answers  []Answer
	Cycle    bool
	Func     Func
}

// Template is a resource template. Only {name} expressions match; one stands
// for a run of characters without a slash. The matched values are the arguments
// of its calls.
type Template struct {
	Definition json.RawMessage
	// Contents is the array of ReadResourceResult, in which {{uri}} and
	// {{name}} of the expressions are replaced; nil is a short text.
	Contents json.RawMessage
	Answers  []Answer
	Cycle    bool
	Func     Func
	// Complete holds the values that completion/complete offers, by variable.
	Complete map[string][]string
}

// Prompt is a prompt and its messages.
type Prompt struct {
	Definition json.RawMessage
	// Messages is the array of GetPromptResult, in which {{name}} of the
	// arguments is replaced; nil is a short text. That is also what Answers
	// and Func give.
	Messages json.RawMessage
	Answers  []Answer
	Cycle    bool
	Func     Func
	// Complete holds the values that completion/complete offers, by argument.
	Complete map[string][]string
}

// Eras returns the eras that the script serves.
func (s *Script) Eras() (legacy, modern bool) {
	for _, r := range s.revisions() {
		legacy = legacy || r.Era() == spec.Legacy
		modern = modern || r.Era() == spec.Modern
	}
	return legacy, modern
}

func (s *Script) revisions() []spec.Revision {
	if s.Revisions == nil {
		return spec.All()
	}
	return s.Revisions
}
