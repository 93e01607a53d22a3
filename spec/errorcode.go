// SPDX-License-Identifier: Apache-2.0

package spec

import "fmt"

// Error codes of JSON-RPC and of the protocol.
const (
	CodeParseError              = -32700
	CodeInvalidRequest          = -32600
	CodeMethodNotFound          = -32601
	CodeInvalidParams           = -32602
	CodeInternalError           = -32603
	CodeResourceNotFound        = -32002
	CodeURLElicitationRequired  = -32042
	CodeHeaderMismatch          = -32020
	CodeMissingClientCapability = -32021
	CodeUnsupportedVersion      = -32022
	// CodeUserRejected is what a client answers when a person refuses a
	// sampling request (2025-11-25/client/sampling#error-handling).
	CodeUserRejected = -1
)

// Ends of the code ranges of 2026-07-28/basic#error-codes.
const (
	firstLegacyCode   = -32019
	lastLegacyCode    = -32000
	firstReservedCode = -32099
	lastReservedCode  = -32020
	firstJSONRPCCode  = -32768
)

// HTTP statuses that the specification fixes without an error code of their
// own.
const (
	StatusNotificationAccepted = 202
	StatusMissingMeta          = 400 // modern: a required _meta field is absent, with CodeInvalidParams
	StatusMissingSession       = 400 // legacy: no session id where one is needed
	StatusBadVersionHeader     = 400 // legacy: version header invalid or not supported
	StatusBadOrigin            = 403
	StatusSessionEnded         = 404 // legacy: the server ended the session
	StatusMethodNotAllowed     = 405 // GET or DELETE that the endpoint does not offer
)

// DataMember is one member of an error's data object.
type DataMember struct {
	Name     string
	Required bool
}

// ErrorInfo is what a run of revisions says about one error code.
type ErrorInfo struct {
	Code  int
	Name  string
	Range Range
	// Status is the HTTP status of a response with this code where the
	// specification fixes one; zero where it does not.
	Status int
	Data   []DataMember
	// Definition is the official name of the whole error response; empty for
	// the general one.
	Definition string
}

var errorTable = []ErrorInfo{
	{Code: CodeParseError, Name: "ParseError"},
	{Code: CodeInvalidRequest, Name: "InvalidRequest"},
	{Code: CodeMethodNotFound, Name: "MethodNotFound", Range: legacyOnly},
	{Code: CodeMethodNotFound, Name: "MethodNotFound", Range: modernOnly, Status: 404},
	{Code: CodeInvalidParams, Name: "InvalidParams"},
	{Code: CodeInternalError, Name: "InternalError"},
	{Code: CodeResourceNotFound, Name: "ResourceNotFound", Range: legacyOnly, Data: []DataMember{{"uri", false}}},
	{Code: CodeUserRejected, Name: "UserRejected", Range: legacyOnly},
	{Code: CodeURLElicitationRequired, Name: "URLElicitationRequired", Range: only(Rev20251125),
		Data: []DataMember{{"elicitations", true}}, Definition: "URLElicitationRequiredError"},
	{Code: CodeHeaderMismatch, Name: "HeaderMismatch", Range: modernOnly, Status: 400, Definition: "HeaderMismatchError"},
	{Code: CodeMissingClientCapability, Name: "MissingRequiredClientCapability", Range: modernOnly, Status: 400,
		Data: []DataMember{{"requiredCapabilities", true}}, Definition: "MissingRequiredClientCapabilityError"},
	{Code: CodeUnsupportedVersion, Name: "UnsupportedProtocolVersion", Range: modernOnly, Status: 400,
		Data: []DataMember{{"supported", true}, {"requested", true}}, Definition: "UnsupportedProtocolVersionError"},
}

// ErrorCode returns the facts of a code that the revision defines.
func ErrorCode(code int, r Revision) (e ErrorInfo, ok bool) {
	for _, row := range errorTable {
		if row.Code == code && row.Range.Contains(r) {
			return row, true
		}
	}
	return ErrorInfo{}, false
}

// ErrorCodes returns the codes that the revision defines, in table order.
func ErrorCodes(r Revision) []ErrorInfo {
	var es []ErrorInfo
	for _, row := range errorTable {
		if row.Range.Contains(r) {
			es = append(es, row)
		}
	}
	return es
}

// ModernError reports whether only a server of the modern era gives the code a
// meaning, so that a client seeing it must not fall back to the handshake
// (2026-07-28/basic/transports/streamable-http#backward-compatibility).
func ModernError(code int) bool {
	_, modern := ErrorCode(code, FirstModern)
	_, legacy := ErrorCode(code, FirstModern-1)
	return modern && !legacy
}

// CodeClass says who may give an error code its meaning.
type CodeClass uint8

const (
	// CodeDefined codes are in the revision's table.
	CodeDefined CodeClass = iota + 1
	// CodeRetired codes were defined by an earlier revision, and must not be
	// sent any more.
	CodeRetired
	// CodeLegacyRange codes (-32019 to -32000) carry no meaning from 2026-07-28
	// on; before, they are the server's own.
	CodeLegacyRange
	// CodeReserved codes (-32099 to -32020) belong to the protocol, which has
	// not defined them; the rule starts with 2026-07-28.
	CodeReserved
	// CodeJSONRPC codes lie in the rest of JSON-RPC's own range.
	CodeJSONRPC
	// CodeApplication codes are the application's own.
	CodeApplication
)

// String returns the class in a word or two.
func (c CodeClass) String() string {
	names := [...]string{CodeDefined: "defined", CodeRetired: "retired", CodeLegacyRange: "legacy range",
		CodeReserved: "reserved", CodeJSONRPC: "JSON-RPC range", CodeApplication: "application"}
	if c < CodeDefined || int(c) >= len(names) {
		return fmt.Sprintf("class(%d)", uint8(c))
	}
	return names[c]
}

// ClassOf sorts a code by the rules of a revision
// (2026-07-28/basic#error-codes, JSON-RPC 2.0 section 5.1).
func ClassOf(code int, r Revision) CodeClass {
	if _, ok := ErrorCode(code, r); ok {
		return CodeDefined
	}
	modern := r.Era() == Modern
	if modern && (code == CodeResourceNotFound || code == CodeURLElicitationRequired) {
		return CodeRetired
	}
	switch {
	case code >= firstLegacyCode && code <= lastLegacyCode:
		return CodeLegacyRange
	case code >= firstReservedCode && code <= lastReservedCode:
		if modern {
			return CodeReserved
		}
		return CodeLegacyRange
	case code >= firstJSONRPCCode && code < firstReservedCode:
		return CodeJSONRPC
	}
	return CodeApplication
}
