// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/spec"
)

// Error is a JSON-RPC error that the server answers.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage

	status  int  // HTTP status where the code alone does not fix it
	unknown bool // the script has no answer to the arguments
}

func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// text is the whole response. An id that could not be read is left out
// (2026-07-28/schema#jsonrpcerrorresponse).
func (e *Error) text(id []byte) []byte {
	return object(member{"jsonrpc", []byte(`"2.0"`)}, member{"id", id}, member{"error", e.object()})
}

// object is the error member alone.
func (e *Error) object() json.RawMessage {
	return object(member{"code", number(int64(e.Code))}, member{"message", quote(e.Message)}, member{"data", e.Data})
}

// httpStatus is the status that carries the error in a revision. What the
// specification leaves open is 400 for a text that is no request, and 200 for
// a request that was understood.
func (e *Error) httpStatus(r spec.Revision) int {
	if e.status != 0 {
		return e.status
	}
	if info, ok := spec.ErrorCode(e.Code, r); ok && info.Status != 0 {
		return info.Status
	}
	if e.Code == spec.CodeParseError || e.Code == spec.CodeInvalidRequest {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func invalidRequest(format string, args ...any) *Error {
	return &Error{Code: spec.CodeInvalidRequest, Message: "Invalid request: " + fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *Error {
	return &Error{Code: spec.CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

func methodNotFound(method string) *Error {
	return &Error{Code: spec.CodeMethodNotFound, Message: "Method not found: " + clip(method)}
}

func headerMismatch(format string, args ...any) *Error {
	return &Error{Code: spec.CodeHeaderMismatch, Message: "Header mismatch: " + fmt.Sprintf(format, args...)}
}

// unsupportedVersion names what is served, so that a client can choose
// (2026-07-28/basic/versioning#protocol-version-negotiation).
func (s *Server) unsupportedVersion(requested string) *Error {
	// One that is served by the handshake alone is not supported here.
	names := slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return name == requested })
	return &Error{
		Code: spec.CodeUnsupportedVersion, Message: "Unsupported protocol version: " + clip(requested),
		Data: object(member{"supported", texts(names)}, member{"requested", quote(requested)}),
	}
}

// clip keeps what a client sent short when it is repeated to it.
func clip(s string) string { return text.Clip(s, 100) }
