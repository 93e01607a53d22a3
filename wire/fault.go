// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// FaultCode names one way in which a text is not a clean JSON-RPC message.
// Codes are stable: findings and recordings hold them.
type FaultCode string

// Faults of the text.
const (
	FaultEmpty         FaultCode = "empty"          // no text at all
	FaultNotJSON       FaultCode = "not-json"       // does not parse
	FaultTrailing      FaultCode = "trailing-bytes" // bytes after the JSON value
	FaultBOM           FaultCode = "bom"            // byte order mark before the text
	FaultUTF8          FaultCode = "bad-utf8"       // not valid UTF-8
	FaultSurrogate     FaultCode = "lone-surrogate" // \ud800 without its other half
	FaultDuplicateKey  FaultCode = "duplicate-key"  // a member name twice in one object
	FaultNULKey        FaultCode = "nul-key"        // U+0000 in a member name
	FaultTooDeep       FaultCode = "too-deep"       // more than 10,000 levels
	FaultTooLong       FaultCode = "too-long"       // longer than the reader's limit
	FaultUnfinished    FaultCode = "unfinished"     // the stream ended inside a line or event
	FaultManyFaults    FaultCode = "more-faults"    // more faults than are listed
	FaultFieldIgnored  FaultCode = "sse-field"      // an SSE field no reader understands
	FaultEventIDNUL    FaultCode = "sse-id-nul"     // an SSE id with U+0000, ignored
	FaultRetryNotDigit FaultCode = "sse-retry"      // an SSE retry that is no number, ignored
)

// Faults of the JSON-RPC envelope.
const (
	FaultNotObject  FaultCode = "not-object"       // neither object nor batch
	FaultBatch      FaultCode = "batch"            // an array of messages
	FaultEmptyBatch FaultCode = "empty-batch"      // an array of none
	FaultFoldedKey  FaultCode = "folded-key"       // "Method" for "method"
	FaultVersion    FaultCode = "jsonrpc"          // member jsonrpc absent or not "2.0"
	FaultIDNull     FaultCode = "id-null"          // id null; JSON-RPC 2.0 prescribes it in some errors, MCP never
	FaultIDType     FaultCode = "id-type"          // id a boolean, object, array or fraction
	FaultIDSpelling FaultCode = "id-spelling"      // a whole number as 1.0 or 1e0
	FaultIDMissing  FaultCode = "id-missing"       // a result without an id
	FaultMethodType FaultCode = "method-type"      // method not a string
	FaultParamsType FaultCode = "params-type"      // params neither object nor array
	FaultErrorShape FaultCode = "error-shape"      // error without integer code and string message
	FaultBoth       FaultCode = "result-and-error" // both in one response
	FaultMixed      FaultCode = "mixed"            // method together with result or error
	FaultNoKind     FaultCode = "no-kind"          // none of method, result, error
)

// Fault is one thing that is wrong in a text.
type Fault struct {
	Code FaultCode
	// Offset is the byte in the text (Frame.Raw) at which the fault is seen.
	Offset int64
	// Pointer is the RFC 6901 JSON pointer of the value concerned, empty for
	// the whole text.
	Pointer string
	// Detail says what was found, in words of ours. It may quote foreign
	// text, which the one who prints it escapes.
	Detail string
}

func (f Fault) String() string {
	s := string(f.Code)
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	if f.Pointer != "" {
		return fmt.Sprintf("%s (at %s, byte %d)", s, f.Pointer, f.Offset)
	}
	return fmt.Sprintf("%s (byte %d)", s, f.Offset)
}

// maxFaults bounds what a hostile text can make us list.
const maxFaults = 64

// addFault appends f, or the mark that there are more.
func addFault(fs []Fault, f Fault) []Fault {
	switch n := len(fs); {
	case n < maxFaults-1:
		return append(fs, f)
	case n == maxFaults-1:
		return append(fs, Fault{Code: FaultManyFaults, Offset: f.Offset, Detail: "further faults are not listed"})
	}
	return fs
}
