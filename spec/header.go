// SPDX-License-Identifier: Apache-2.0

package spec

import "strings"

// Names of HTTP headers. Names compare without regard to case, values with it
// (2026-07-28/basic/transports/streamable-http#case-sensitivity).
const (
	HeaderProtocolVersion = "MCP-Protocol-Version"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
	HeaderParamPrefix     = "Mcp-Param-"
	HeaderSessionID       = "Mcp-Session-Id"
	HeaderLastEventID     = "Last-Event-ID"
	HeaderAccelBuffering  = "X-Accel-Buffering"
	HeaderAccept          = "Accept"
	HeaderContentType     = "Content-Type"
	HeaderOrigin          = "Origin"
	HeaderAuthorization   = "Authorization"
	HeaderWWWAuthenticate = "WWW-Authenticate"
)

// Media types of the HTTP transports.
const (
	MediaJSON        = "application/json"
	MediaEventStream = "text/event-stream"
)

// Header is what a run of revisions says about one HTTP header.
type Header struct {
	Name      string
	Prefix    bool // Name is the start of a family of names
	Direction Direction
	Range     Range
	// Mirrors says what part of the body the value repeats: "method",
	// "params.name or params.uri", "_meta" or "arguments"; empty for none.
	Mirrors string
	// Encoded values may use the Base64 form of EncodeHeaderValue.
	Encoded bool
}

// headerTable leaves out what every HTTP request has.
var headerTable = []Header{
	{Name: HeaderProtocolVersion, Direction: ClientToServer, Range: between(Rev20250618, Rev20251125)},
	{Name: HeaderProtocolVersion, Direction: ClientToServer, Range: modernOnly, Mirrors: "_meta"},
	{Name: HeaderMethod, Direction: ClientToServer, Range: modernOnly, Mirrors: "method"},
	{Name: HeaderName, Direction: ClientToServer, Range: modernOnly, Mirrors: "params.name or params.uri", Encoded: true},
	{Name: HeaderParamPrefix, Prefix: true, Direction: ClientToServer, Range: modernOnly, Mirrors: "arguments", Encoded: true},
	{Name: HeaderSessionID, Direction: Both, Range: between(Rev20250326, Rev20251125)},
	{Name: HeaderLastEventID, Direction: ClientToServer, Range: between(Rev20250326, Rev20251125)},
	{Name: HeaderAccelBuffering, Direction: ServerToClient, Range: modernOnly},
	{Name: HeaderAccept, Direction: ClientToServer},
	{Name: HeaderContentType, Direction: Both},
	{Name: HeaderOrigin, Direction: ClientToServer},
	{Name: HeaderAuthorization, Direction: ClientToServer, Range: since(Rev20250326)},
	{Name: HeaderWWWAuthenticate, Direction: ServerToClient, Range: since(Rev20250326)},
}

// HeaderAt returns the facts of a header, given in any case, in one revision.
func HeaderAt(name string, r Revision) (h Header, ok bool) {
	for _, row := range headerTable {
		if !row.Range.Contains(r) {
			continue
		}
		if strings.EqualFold(row.Name, name) && !row.Prefix {
			return row, true
		}
		if row.Prefix && len(name) > len(row.Name) && strings.EqualFold(row.Name, name[:len(row.Name)]) {
			return row, true
		}
	}
	return Header{}, false
}

// Headers returns the headers of a revision in the order of the table.
func Headers(r Revision) []Header {
	var hs []Header
	for _, row := range headerTable {
		if row.Range.Contains(r) {
			hs = append(hs, row)
		}
	}
	return hs
}
