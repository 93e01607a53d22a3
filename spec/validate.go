// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// ErrUnknownDefinition is returned for a name that a revision's schema lacks.
var ErrUnknownDefinition = errors.New("unknown definition")

// ValidateDefinition judges one value by a definition of the official schema,
// such as "CallToolResult". It knows nothing of where the value stands: for
// whole messages use Validate, which also closes the gaps of the definitions.
func ValidateDefinition(r Revision, name string, raw []byte) ([]Violation, error) {
	if !r.Valid() {
		return nil, fmt.Errorf("%w: no such %s", ErrUnknownDefinition, r)
	}
	n := grammarOf(r).nodes[name]
	if n == nil {
		return nil, fmt.Errorf("%w: %s has no %q", ErrUnknownDefinition, r, clip(name))
	}
	w, err := newWalker(raw)
	if err != nil {
		return unreadable(err), nil
	}
	defer w.release()
	w.walk(n, 0)
	return w.out, nil
}

// MessageContext is what Validate cannot read from the message itself.
type MessageContext struct {
	// From is who sent the message. Zero skips the rules about who may send
	// what.
	From Side
	// Method is the method of the request that a response answers. When it is
	// empty or belongs to an extension, only the envelope of a result is judged.
	Method string
	// TaskRequested says that the answered request carried params.task, so that
	// its result may be a task (2025-11-25).
	TaskRequested bool
	// ResultTypes are values of resultType that negotiated extensions add.
	ResultTypes []string
}

// Validate judges a whole message by the rules of a revision, and returns the
// points where it breaks them, at most MaxViolations.
//
// The definition is chosen by what the message is, who sent it, the method it
// names or answers, and resultType, never by what happens to fit: the unions of
// the official schema are so loose that a tools/call result without content
// passes as an input_required result. Methods that no revision knows belong to
// extensions, and only their envelope is judged (a modern request's metadata
// included). In a batch (2025-03-26) each
// message is judged by itself; responses in it by their envelope only, because
// the context speaks of one request.
func Validate(r Revision, c MessageContext, raw []byte) []Violation {
	if !r.Valid() {
		return []Violation{{Kind: OtherRevision, Message: "no such " + r.String()}}
	}
	w, err := newWalker(raw)
	if err != nil {
		return unreadable(err)
	}
	defer w.release()
	v := &validator{walker: w, r: r, g: grammarOf(r), c: c}
	if w.tape[0].kind == kArray && BatchAllowed(r) {
		v.batch()
	} else {
		v.message(0)
	}
	return distinct(w.out)
}

func unreadable(err error) []Violation {
	v := Violation{Kind: Unreadable, Expected: "JSON text", Found: "other bytes", Message: err.Error()}
	var syn *jsonx.SyntaxError
	if errors.As(err, &syn) {
		v.Pointer = syn.Pointer
		v.Message = "not a JSON text: " + syn.Err.Error() + " at byte " + strconv.FormatInt(syn.Offset, 10)
	}
	return []Violation{v}
}

// distinct drops what the envelope and the method's definition both reported.
func distinct(vs []Violation) []Violation {
	var out []Violation
	for _, v := range vs {
		if !slices.ContainsFunc(out, func(o Violation) bool {
			return o.Pointer == v.Pointer && o.Kind == v.Kind && (o.Message == v.Message || o.Kind == WrongType)
		}) {
			out = append(out, v)
		}
	}
	return out
}

type validator struct {
	*walker
	r Revision
	g *grammar
	c MessageContext
}

// definition walks a value by the first of the names that the revision has.
func (v *validator) definition(at int32, names ...string) {
	for _, name := range names {
		if n := v.g.nodes[name]; n != nil {
			v.walk(n, at)
			return
		}
	}
}

// at runs f with the path one member longer.
func (v *validator) at(value int32, f func()) {
	v.path = append(v.path, step{name: value - 1})
	f()
	v.path = v.path[:len(v.path)-1]
}

// reject adds a violation about the value in a cell.
func (v *validator) reject(kind ViolationKind, value int32, expected, message string) {
	v.at(value, func() {
		v.add(Violation{Kind: kind, Pointer: v.pointer(), Expected: expected, Found: v.describe(value), Message: message})
	})
}

// batch judges an array of messages (2025-03-26/basic#batching).
func (v *validator) batch() {
	v.c.Method = ""
	end := v.tape[0].next
	if end == 1 {
		v.add(Violation{Kind: WrongValue, Expected: "at least one message", Found: "array", Message: "a batch must not be empty"})
	}
	index := int32(0)
	for i := int32(1); i < end && !v.enough(); i = v.tape[i].next {
		v.path = append(v.path, step{name: -1, index: index})
		v.message(i)
		if m := v.member(i, "method"); m >= 0 && string(v.text[v.tape[m].start:v.tape[m].end]) == `"`+MethodInitialize+`"` {
			v.reject(Forbidden, m, "a message of its own", "initialize must not stand in a batch")
		}
		v.path = v.path[:len(v.path)-1]
		index++
	}
}

// message sorts one message by its members, as JSON-RPC does.
func (v *validator) message(at int32) {
	if v.tape[at].kind != kObject {
		v.fail(WrongType, at, "a message object", "")
		return
	}
	method, id := v.member(at, "method"), v.member(at, "id")
	result, failure := v.member(at, "result"), v.member(at, "error")
	switch {
	case method >= 0:
		for _, m := range []int32{result, failure} {
			if m >= 0 {
				v.reject(Forbidden, m, "nothing", "a message with method must not have a result or an error")
			}
		}
		v.call(at, method, id)
	case result >= 0 && failure >= 0:
		v.reject(Forbidden, failure, "nothing", "a response has a result or an error, never both")
	case result >= 0:
		v.senderOfResponse(result)
		v.success(at, result)
	case failure >= 0:
		v.senderOfResponse(failure)
		v.failure(at, failure, id)
	default:
		v.add(Violation{Kind: Missing, Pointer: v.pointer(), Expected: "method, result or error", Found: "none of them",
			Message: "message has no method, result or error"})
	}
}

// call judges a request or a notification.
func (v *validator) call(at, method, id int32) {
	var row Method
	var known bool
	name := ""
	if v.tape[method].kind == kString {
		name = string(v.string(method))
		row, known = MethodAt(name, v.r)
	}
	notification := id < 0
	if known {
		notification = row.Kind == Notification
	}
	envelope := "JSONRPCRequest"
	if notification {
		envelope = "JSONRPCNotification"
	}
	v.definition(at, envelope)
	switch {
	case known && notification && id >= 0:
		v.reject(Forbidden, id, "nothing", "a notification must not have an id")
	case !known && name != "":
		v.unknownMethod(at, method, name, notification)
		return
	case !known:
		return
	}
	if row.Kind == InputRequest {
		v.reject(Forbidden, method, "no message with this method",
			name+" travels inside an input_required result in "+v.r.String()+", not as a message")
		return
	}
	if v.c.From != 0 && !row.Direction.Includes(From(v.c.From)) {
		v.reject(Forbidden, method, "a message from the "+v.c.From.Peer().String(),
			"a "+v.c.From.String()+" must not send "+name+" in "+v.r.String())
	}
	v.definition(at, row.Definition)
}

func (v *validator) unknownMethod(at, method int32, name string, notification bool) {
	_, extension := ExtensionMethodAt(name, v.r)
	if gs := MethodRange(name); len(gs) > 0 && !extension {
		v.reject(OtherRevision, method, "a method of "+v.r.String(), name+" does not exist in "+v.r.String()+" ("+ranges(gs)+")")
		return
	}
	// Metadata is asked of each client request, those of extensions included.
	if v.r.Era() != Modern || notification {
		return
	}
	if v.c.From == Server {
		v.reject(Forbidden, method, "no request", "a server must not send requests in "+v.r.String())
		return
	}
	params := v.member(at, "params")
	if params < 0 {
		v.add(Violation{Kind: Missing, Pointer: v.pointer(), Member: "params", Expected: "object", Found: "nothing",
			Message: `required member "params" is missing`})
		return
	}
	v.at(params, func() { v.definition(params, "RequestParams") })
}

func ranges(gs []Range) string {
	var s string
	for i, g := range gs {
		if i > 0 {
			s += ", "
		}
		s += g.String()
	}
	return s
}

func (v *validator) senderOfResponse(at int32) {
	if v.r.Era() == Modern && v.c.From == Client {
		v.reject(Forbidden, at, "no response", "a client must not send responses in "+v.r.String())
	}
}

// success judges a result by the method it answers.
func (v *validator) success(at, result int32) {
	v.definition(at, "JSONRPCResultResponse", "JSONRPCResponse")
	if v.tape[result].kind != kObject {
		return
	}
	m, known := MethodAt(v.c.Method, v.r)
	known = known && m.Kind == Request
	v.at(result, func() {
		switch {
		case v.r.Era() == Modern:
			v.modernResult(result, m, known)
		case !known:
		case m.Taskable && v.c.TaskRequested && v.member(result, "task") >= 0:
			v.definition(result, "CreateTaskResult")
		default:
			v.definition(result, m.Result)
		}
	})
}

// modernResult chooses by resultType (2026-07-28/basic#resulttype). One that is
// missing or no string has been reported with the envelope, and counts as
// complete.
func (v *validator) modernResult(result int32, m Method, known bool) {
	kind := ResultComplete
	at := v.member(result, FieldResultType)
	if at >= 0 && v.tape[at].kind == kString {
		kind = string(v.string(at))
	}
	switch {
	case kind == ResultComplete:
		if known {
			v.definition(result, m.Result)
		}
	case kind == ResultInputRequired:
		if known && !m.MultiRound {
			v.reject(Forbidden, at, quoted([]string{ResultComplete}), m.Name+" must not be answered by an input_required result")
		}
		v.definition(result, "InputRequiredResult")
		if v.member(result, FieldInputRequests) < 0 && v.member(result, FieldRequestState) < 0 {
			v.add(Violation{Kind: Missing, Pointer: v.pointer(), Expected: "inputRequests or requestState", Found: "neither",
				Message: "an input_required result needs inputRequests, requestState or both"})
		}
	case !slices.Contains(v.c.ResultTypes, kind):
		v.reject(WrongValue, at, quoted(append(ResultTypes(v.r), v.c.ResultTypes...)),
			"resultType "+strconv.Quote(clip(kind))+" is neither of the protocol nor of a negotiated extension")
	}
}

// failure judges an error response, by its code where the code has a definition.
func (v *validator) failure(at, failure, id int32) {
	name := ""
	if code := v.member(failure, "code"); code >= 0 && v.tape[code].kind == kNumber {
		if s, ok := readDecimal(v.raw(code)).text(6); ok {
			n, _ := strconv.Atoi(s)
			info, _ := ErrorCode(n, v.r)
			name = info.Definition
		}
	}
	first := len(v.out)
	v.definition(at, name, "JSONRPCErrorResponse", "JSONRPCError")
	if id < 0 || v.tape[id].kind != kNull {
		return
	}
	// JSON-RPC 2.0 prescribes null when the id could not be read; the schema
	// allows strings and integers only.
	pointer := v.pointer() + "/id"
	for i := range v.out[first:] {
		if o := &v.out[first+i]; o.Pointer == pointer {
			o.Disputed = true
		}
	}
}
