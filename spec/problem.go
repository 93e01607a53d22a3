// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/wire"
)

// Problem is one thing that is wrong with a message, in a form that programs can
// sort and people can look up. Message and Pointer may repeat foreign text.
type Problem struct {
	Rule    string `json:"rule"`    // of ProblemRules
	Pointer string `json:"pointer"` // RFC 6901, empty for the whole
	Message string `json:"message"` // one line
	// Section is where it is written: "2026-07-28/schema#calltoolresult",
	// "JSON-RPC 2.0, section 5", "RFC 8259, section 4".
	Section string `json:"section"`
	// Disputed problems rest on a point where the official texts disagree.
	Disputed bool `json:"disputed"`
}

// String returns the pointer and the message.
func (p Problem) String() string { return Violation{Pointer: p.Pointer, Message: p.Message}.String() }

// ProblemRule is a kind of problem.
type ProblemRule struct {
	ID    string
	Title string // what holds where there is no such problem
}

// The rules of problems. Ids are stable.
const (
	ProblemUnreadable    = "message.readable"
	ProblemType          = "message.type"
	ProblemValue         = "message.value"
	ProblemMissing       = "message.required"
	ProblemForbidden     = "message.allowed"
	ProblemOtherRevision = "message.revision"
	ProblemKind          = "message.kind"
	ProblemText          = "message.text"
	ProblemEnvelope      = "message.envelope"
	ProblemName          = "message.name"
)

// ProblemRules are the kinds of problems, in the order of their ids.
func ProblemRules() []ProblemRule {
	return []ProblemRule{
		{ProblemForbidden, "nothing stands in a message that must not be there"},
		{ProblemEnvelope, "the message is one of JSON-RPC 2.0"},
		{ProblemKind, "the message is of the kind that it is taken for"},
		{ProblemName, "a tool has a name"},
		{ProblemUnreadable, "the message is a JSON text"},
		{ProblemMissing, "every required member is there"},
		{ProblemOtherRevision, "the method is one of the revision"},
		{ProblemText, "every reader of the text reads the same"},
		{ProblemType, "every value has its type"},
		{ProblemValue, "every value is one that is allowed"},
	}
}

var problemRules = map[ViolationKind]string{
	Unreadable: ProblemUnreadable, WrongType: ProblemType, WrongValue: ProblemValue,
	Missing: ProblemMissing, Forbidden: ProblemForbidden, OtherRevision: ProblemOtherRevision,
}

// faultProblems are the faults of a text that no definition shows, with where
// they are written.
var faultProblems = map[wire.FaultCode]string{
	wire.FaultBOM:          "RFC 8259, section 8.1",
	wire.FaultUTF8:         "RFC 8259, section 8.1",
	wire.FaultDuplicateKey: "RFC 8259, section 4",
	wire.FaultTrailing:     "RFC 8259, section 2",
	wire.FaultTooDeep:      "RFC 8259, section 9",
}

// envelopeProblems are the faults of the envelope of plain JSON-RPC.
var envelopeProblems = map[wire.FaultCode]string{
	wire.FaultNotObject:  "JSON-RPC 2.0, section 4",
	wire.FaultEmptyBatch: "JSON-RPC 2.0, section 6",
	wire.FaultVersion:    "JSON-RPC 2.0, section 4",
	wire.FaultIDType:     "JSON-RPC 2.0, section 4",
	wire.FaultIDMissing:  "JSON-RPC 2.0, section 5",
	wire.FaultMethodType: "JSON-RPC 2.0, section 4",
	wire.FaultParamsType: "JSON-RPC 2.0, section 4.2",
	wire.FaultErrorShape: "JSON-RPC 2.0, section 5.1",
	wire.FaultBoth:       "JSON-RPC 2.0, section 5",
	wire.FaultMixed:      "JSON-RPC 2.0, section 4",
	wire.FaultNoKind:     "JSON-RPC 2.0, section 4",
}

// Problems judges a whole message of either side, request, notification or
// response, by a revision: its text, its envelope, its method and what belongs to
// that. None is a message that is right.
func Problems(r Revision, c MessageContext, raw []byte) []Problem {
	m := wire.Read(raw)
	var out []Problem
	for _, v := range Validate(r, c, raw) {
		out = append(out, Problem{
			Rule: problemRules[v.Kind], Pointer: v.Pointer, Message: v.Message, Disputed: v.Disputed,
			Section: sectionOf(r, c, m, v),
		})
	}
	if slices.ContainsFunc(out, func(p Problem) bool { return p.Rule == ProblemUnreadable }) {
		return out
	}
	return append(out, faults(m, ProblemText, faultProblems)...)
}

func faults(m *wire.Message, rule string, sections map[wire.FaultCode]string) []Problem {
	var out []Problem
	for _, f := range m.Faults {
		if s, ok := sections[f.Code]; ok {
			out = append(out, Problem{Rule: rule, Pointer: f.Pointer, Message: f.Detail, Section: s})
		}
	}
	return out
}

// sectionOf is where the rule that a violation breaks is written: the envelope on
// the page of the base protocol, everything else with its definition.
func sectionOf(r Revision, c MessageContext, m *wire.Message, v Violation) string {
	if v.Kind == Unreadable {
		return "RFC 8259, section 2"
	}
	definition := ""
	if row, ok := MethodAt(cmp.Or(m.Method, c.Method), r); ok {
		if definition = row.Definition; m.IsResponse() {
			definition = row.Result
		}
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(v.Pointer, "/"), "/")
	if v.Pointer == "" {
		first = v.Member
	}
	switch first {
	case "params", "result":
		if definition != "" {
			return r.String() + "/schema#" + strings.ToLower(definition)
		}
	}
	if m.IsResponse() {
		return r.String() + "/basic#responses"
	}
	if m.Kind == wire.Notification {
		return r.String() + "/basic#notifications"
	}
	return r.String() + "/basic#requests"
}

// ValidateRequest judges a request or a notification of either side by a
// revision: the envelope, the name of the method, its params.
func ValidateRequest(r Revision, raw []byte) []Problem {
	return append(ofKind(raw, "a request or a notification", func(m *wire.Message) bool {
		return m.Kind == wire.Request || m.Kind == wire.Notification
	}), Problems(r, MessageContext{}, raw)...)
}

// ValidateResponse judges a response by a revision and the method that it
// answers. Without a method only its envelope is judged.
func ValidateResponse(r Revision, method string, raw []byte) []Problem {
	return append(ofKind(raw, "a response", (*wire.Message).IsResponse), Problems(r, MessageContext{Method: method}, raw)...)
}

// ofKind is the problem of a message of another kind. What is of no kind at all
// has problems that say more.
func ofKind(raw []byte, want string, is func(*wire.Message) bool) []Problem {
	m := wire.Read(raw)
	if m.Kind == wire.Invalid || is(m) {
		return nil
	}
	return []Problem{{Rule: ProblemKind, Message: "it is " + kindNames[m.Kind] + ", not " + want, Section: "JSON-RPC 2.0, section 4"}}
}

var kindNames = map[wire.Kind]string{
	wire.Request: "a request", wire.Notification: "a notification", wire.Response: "a response",
	wire.ErrorResponse: "an error response", wire.Batch: "a batch",
}

// ValidateToolDefinition judges one tool as it stands in a list, by a revision.
func ValidateToolDefinition(r Revision, raw []byte) []Problem {
	violations, err := ValidateDefinition(r, "Tool", raw)
	if err != nil {
		return []Problem{{Rule: ProblemOtherRevision, Message: err.Error()}}
	}
	section := r.String() + "/schema#tool"
	var out []Problem
	for _, v := range violations {
		out = append(out, Problem{Rule: problemRules[v.Kind], Pointer: v.Pointer, Message: v.Message, Disputed: v.Disputed, Section: section})
	}
	if name, err := jsonx.Lookup(raw, "/name"); err == nil {
		if s, ok := jsonx.Text(name); ok && strings.TrimSpace(s) == "" {
			out = append(out, Problem{Rule: ProblemName, Pointer: "/name", Message: "the name is blank", Section: section})
		}
	}
	return out
}

// JSONRPCProblems judges a message by JSON-RPC 2.0 alone, which knows no methods,
// takes arrays for params, and has a null id.
func JSONRPCProblems(raw []byte) []Problem {
	m := wire.Read(raw)
	if err := jsonx.Check(raw, jsonx.Lenient); err != nil && (m.Has(wire.FaultNotJSON) || m.Has(wire.FaultEmpty)) {
		v := unreadable(err)[0]
		return []Problem{{Rule: ProblemUnreadable, Pointer: v.Pointer, Message: v.Message, Section: "RFC 8259, section 2"}}
	}
	out := append(faults(m, ProblemText, faultProblems), plainEnvelope(m)...)
	for i, one := range m.Batch() {
		for _, p := range plainEnvelope(one) {
			p.Pointer = "/" + strconv.Itoa(i) + p.Pointer
			out = append(out, p)
		}
	}
	return out
}

// plainEnvelope is what JSON-RPC alone says of one message. A fraction as an id is
// only advised against there, and the id of an error may be null but not absent.
func plainEnvelope(m *wire.Message) []Problem {
	out := slices.DeleteFunc(faults(m, ProblemEnvelope, envelopeProblems), func(p Problem) bool {
		return p.Pointer == "/id" && jsonx.KindOf(m.ID) == jsonx.Number
	})
	if m.Kind == wire.ErrorResponse && m.ID == nil {
		out = append(out, Problem{Rule: ProblemEnvelope, Message: "an error without an id, which is null where it could not be read", Section: "JSON-RPC 2.0, section 5"})
	}
	return out
}

// Valid reports whether a message of any kind is right by a revision. A response
// is judged by its envelope, because it does not say what it answers.
func Valid(r Revision, raw []byte) bool {
	return len(Problems(r, MessageContext{}, raw)) == 0
}
