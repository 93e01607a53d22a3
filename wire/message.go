// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Kind says what a JSON-RPC text is.
type Kind uint8

// The kinds of messages.
const (
	// Invalid is a text that is no JSON-RPC message: not JSON, not an object,
	// or an object without method, result and error.
	Invalid Kind = iota
	Request
	Notification
	Response // with a result
	ErrorResponse
	Batch
)

func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	case ErrorResponse:
		return "error"
	case Batch:
		return "batch"
	}
	return "invalid"
}

// Message is a reading of one JSON-RPC text. Raw members share the bytes of
// the text. Where a name stands twice, the last one was read, as most
// programs do; the fault says so. Members of a text with [FaultTooDeep] were
// found by their brackets and may be no JSON.
type Message struct {
	Raw  []byte
	Kind Kind

	JSONRPC json.RawMessage // member jsonrpc, nil when absent
	ID      json.RawMessage // nil when absent, "null" when null
	Method  string
	Params  json.RawMessage // nil when absent
	Result  json.RawMessage // nil when absent
	Error   *Error          // nil when absent

	// Faults is everything that is wrong, at most 64 entries: faults of the
	// text in the order of the text, then those of the envelope.
	Faults []Fault

	once  sync.Once
	batch []*Message
}

// Error is the error member of a response.
type Error struct {
	Raw     json.RawMessage
	Code    int64  // zero when the code is not an integer; see the faults
	Message string // empty when absent
	Data    json.RawMessage
}

// Key returns the key of the message's id; ok is false when there is no id, or
// it is neither a string nor a number.
func (m *Message) Key() (key IDKey, ok bool) {
	if m.ID == nil {
		return "", false
	}
	return KeyOf(m.ID)
}

// IsResponse reports whether the message answers a request, by result or error.
func (m *Message) IsResponse() bool { return m.Kind == Response || m.Kind == ErrorResponse }

// Has reports whether a fault with that code was seen.
func (m *Message) Has(code FaultCode) bool {
	for _, f := range m.Faults {
		if f.Code == code {
			return true
		}
	}
	return false
}

// Batch returns the messages of a batch, in order, nil for other kinds.
func (m *Message) Batch() []*Message {
	if m.Kind != Batch {
		return nil
	}
	m.once.Do(func() {
		es, _ := jsonx.Elements(trimBOM(m.Raw), jsonx.Lenient)
		for _, e := range es {
			m.batch = append(m.batch, Read(e))
		}
	})
	return m.batch
}

var bom = []byte("\xef\xbb\xbf")

func trimBOM(raw []byte) []byte { return bytes.TrimPrefix(raw, bom) }

// Read reads one JSON-RPC text. It never fails: see [Message.Faults].
//
// A clean text costs one strict pass. Details of faults are gathered in
// further passes that only faulty texts pay.
func Read(raw []byte) *Message {
	m := &Message{Raw: raw}
	text := trimBOM(raw)
	base := int64(len(raw) - len(text))
	if base > 0 {
		m.fault(FaultBOM, 0, "", "byte order mark before the text")
	}
	switch jsonx.KindOf(text) {
	case jsonx.Object:
	case jsonx.Array:
		m.readBatch(text, base)
		return m
	default:
		m.readOther(text, base)
		return m
	}
	members, err := jsonx.Members(text, jsonx.Strict)
	if err != nil || mayHoldNUL(text) {
		m.Faults = scan(text, base, m.Faults)
	}
	if err != nil {
		members, err = jsonx.Members(text, jsonx.Lenient)
		switch {
		case err == nil, isTrailing(err):
		case m.Has(FaultTooDeep):
			// Whom it answers can be told without reading what is so deep.
			members = jsonx.Skim(text)
		default:
			return m
		}
	}
	m.envelope(members, base)
	return m
}

func (m *Message) fault(code FaultCode, offset int64, pointer, detail string) {
	m.Faults = addFault(m.Faults, Fault{Code: code, Offset: offset, Pointer: pointer, Detail: detail})
}

func (m *Message) readBatch(text []byte, base int64) {
	if jsonx.Check(text, jsonx.Strict) != nil || mayHoldNUL(text) {
		m.Faults = scan(text, base, m.Faults)
	}
	es, err := jsonx.Elements(text, jsonx.Lenient)
	if err != nil && !isTrailing(err) {
		return
	}
	m.Kind = Batch
	m.fault(FaultBatch, base, "", "an array of "+strconv.Itoa(len(es))+" messages")
	if len(es) == 0 {
		m.fault(FaultEmptyBatch, base, "", "JSON-RPC 2.0 has no empty batch")
	}
}

func (m *Message) readOther(text []byte, base int64) {
	if len(bytes.TrimLeft(text, " \t\r\n")) == 0 {
		m.fault(FaultEmpty, base, "", "no text")
		return
	}
	m.Faults = scan(text, base, m.Faults)
	for _, f := range m.Faults {
		if f.Code == FaultNotJSON {
			return
		}
	}
	m.fault(FaultNotObject, base, "", "a JSON "+jsonx.KindOf(text).Name()+", not an object")
}

// envelopeNames are the members JSON-RPC 2.0 gives a meaning to.
var envelopeNames = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

func (m *Message) envelope(members []jsonx.Member, base int64) {
	var id, method, params, failure *jsonx.Member
	var version *jsonx.Member
	for i := range members {
		mem := &members[i]
		mem.Offset += base
		switch mem.Name {
		case "jsonrpc":
			version, m.JSONRPC = mem, json.RawMessage(mem.Value)
		case "id":
			id, m.ID = mem, json.RawMessage(mem.Value)
		case "method":
			method = mem
		case "params":
			params, m.Params = mem, json.RawMessage(mem.Value)
		case "result":
			m.Result = json.RawMessage(mem.Value)
		case "error":
			failure = mem
		default:
			m.checkFolded(mem)
		}
	}
	if version == nil {
		m.fault(FaultVersion, base, "", "member jsonrpc is missing")
	} else if v, ok := jsonx.Text(m.JSONRPC); !ok || v != "2.0" {
		m.fault(FaultVersion, version.Offset, "/jsonrpc", "jsonrpc is not the string 2.0")
	}
	if failure != nil {
		m.readError(failure)
	}
	m.setKind(method, failure, base)
	m.checkID(id, base)
	if params != nil {
		if k := jsonx.KindOf(m.Params); k != jsonx.Object && k != jsonx.Array {
			m.fault(FaultParamsType, params.Offset, "/params", "params is "+article(k))
		}
	}
}

func (m *Message) setKind(method, failure *jsonx.Member, base int64) {
	switch {
	case method != nil:
		name, ok := jsonx.Text(method.Value)
		if !ok {
			m.fault(FaultMethodType, method.Offset, "/method", "method is "+article(jsonx.KindOf(method.Value)))
		}
		m.Method = name
		if m.Kind = Notification; m.ID != nil {
			m.Kind = Request
		}
		if m.Result != nil || m.Error != nil {
			m.fault(FaultMixed, method.Offset, "/method", "method together with result or error")
		}
	case m.Error != nil:
		if m.Kind = ErrorResponse; m.Result != nil {
			m.fault(FaultBoth, failure.Offset, "/error", "result and error in one response")
		}
	case m.Result != nil:
		m.Kind = Response
	default:
		m.fault(FaultNoKind, base, "", "none of method, result, error")
	}
}

func (m *Message) checkID(id *jsonx.Member, base int64) {
	if id == nil {
		if m.Kind == Response {
			m.fault(FaultIDMissing, base, "", "a result without an id")
		}
		return
	}
	switch k := jsonx.KindOf(m.ID); k {
	case jsonx.String:
	case jsonx.Null:
		m.fault(FaultIDNull, id.Offset, "/id", "id is null")
	case jsonx.Number:
		if _, whole := normalNumber(string(m.ID)); !whole {
			m.fault(FaultIDType, id.Offset, "/id", "id is not a whole number")
		} else if bytes.ContainsAny(m.ID, ".eE") {
			m.fault(FaultIDSpelling, id.Offset, "/id", "a whole number with a point or exponent")
		}
	default:
		m.fault(FaultIDType, id.Offset, "/id", "id is "+article(k))
	}
}

func (m *Message) readError(failure *jsonx.Member) {
	e := &Error{Raw: json.RawMessage(failure.Value)}
	m.Error = e
	members, err := jsonx.Members(failure.Value, jsonx.Lenient)
	if err != nil {
		m.fault(FaultErrorShape, failure.Offset, "/error", "error is "+article(jsonx.KindOf(failure.Value)))
		return
	}
	hasCode, hasMessage := false, false
	for i := range members {
		mem := &members[i]
		at := failure.Offset + mem.Offset
		switch mem.Name {
		case "code":
			hasCode = true
			code, ok := integer(mem.Value)
			if !ok {
				m.fault(FaultErrorShape, at, "/error/code", "code is not an integer")
			}
			e.Code = code
		case "message":
			text, ok := jsonx.Text(mem.Value)
			if hasMessage = true; !ok {
				m.fault(FaultErrorShape, at, "/error/message", "message is "+article(jsonx.KindOf(mem.Value)))
			}
			e.Message = text
		case "data":
			e.Data = json.RawMessage(mem.Value)
		}
	}
	if !hasCode {
		m.fault(FaultErrorShape, failure.Offset, "/error", "error has no code")
	}
	if !hasMessage {
		m.fault(FaultErrorShape, failure.Offset, "/error", "error has no message")
	}
}

func integer(raw []byte) (n int64, ok bool) {
	if jsonx.KindOf(raw) != jsonx.Number {
		return 0, false
	}
	text, whole := normalNumber(string(raw))
	if !whole {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return n, true
}

func (m *Message) checkFolded(mem *jsonx.Member) {
	for _, name := range envelopeNames {
		if strings.EqualFold(name, mem.Name) {
			m.fault(FaultFoldedKey, mem.Offset, jsonx.Push("", mem.Name), mem.Name+" is not "+name)
			return
		}
	}
}

func article(k jsonx.Kind) string {
	switch k {
	case jsonx.Array, jsonx.Object:
		return "an " + k.Name()
	case jsonx.Null:
		return "null"
	case 0:
		return "nothing"
	}
	return "a " + k.Name()
}
