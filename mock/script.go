// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"

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
	// script has.
	Capabilities json.RawMessage

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

	// Stream answers requests over HTTP as event streams, not only those whose
	// answer has notifications before it.
	Stream bool
	// Origins are allowed values of the Origin header, besides those of
	// loopback hosts.
	Origins []string

	Faults []Fault
}

// Tool is a tool and what a call of it gives.
type Tool struct {
	Definition json.RawMessage
	// Result is the CallToolResult; nil is a short text.
	Result json.RawMessage
	// Func, when not nil, makes the result. An error of type *Error is sent as
	// it is, another one as a result with isError.
	Func func(ctx context.Context, c *Call) (json.RawMessage, error)
}

// Resource is a resource and its contents.
type Resource struct {
	Definition json.RawMessage
	// Contents is the array of ReadResourceResult; nil is a short text.
	Contents json.RawMessage
}

// Template is a resource template. Only {name} expressions match; one stands
// for a run of characters without a slash.
type Template struct {
	Definition json.RawMessage
	// Contents is the array of ReadResourceResult, in which {{uri}} and
	// {{name}} of the expressions are replaced; nil is a short text.
	Contents json.RawMessage
	// Complete holds the values that completion/complete offers, by variable.
	Complete map[string][]string
}

// Prompt is a prompt and its messages.
type Prompt struct {
	Definition json.RawMessage
	// Messages is the array of GetPromptResult, in which {{name}} of the
	// arguments is replaced; nil is a short text.
	Messages json.RawMessage
	// Complete holds the values that completion/complete offers, by argument.
	Complete map[string][]string
}

// Call is one call of a tool, as its Func sees it.
type Call struct {
	Revision spec.Revision
	Name     string
	// Arguments is the object that was sent, {} when there was none.
	Arguments json.RawMessage
	// Params is the whole params object, with _meta and what a retry of a
	// multi round-trip request carries.
	Params json.RawMessage

	notify func(method string, params []byte)
}

// Notify sends a notification on the stream of the call, before its answer.
// Params is an object.
func (c *Call) Notify(method string, params json.RawMessage) {
	if c.notify != nil {
		c.notify(method, params)
	}
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
