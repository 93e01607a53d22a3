// SPDX-License-Identifier: Apache-2.0

package spec

// Keys of _meta objects.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
	MetaRelatedTask        = "io.modelcontextprotocol/related-task"
	MetaImmediateResponse  = "io.modelcontextprotocol/model-immediate-response"
	MetaProgressToken      = "progressToken"
	MetaTraceParent        = "traceparent"
	MetaTraceState         = "tracestate"
	MetaBaggage            = "baggage"
)

// MetaPlace says in which messages a _meta key stands.
type MetaPlace uint8

// The places of _meta; they combine.
const (
	InRequest      MetaPlace = 1 << iota // params._meta of a request
	InResult                             // result._meta
	InNotification                       // params._meta of a notification
)

// Need is how strongly something is asked for.
type Need uint8

// The needs, in the words of RFC 2119.
const (
	May Need = iota + 1
	Should
	Must
)

// MetaKey is what a run of revisions says about one _meta key.
type MetaKey struct {
	Key   string
	Place MetaPlace
	Need  Need
	Range Range
	// Only names the method whose message or result the row is about; empty is
	// every method.
	Only string
	// Definition is the official name of the value's shape; empty for a plain
	// string.
	Definition string
}

// metaTable holds the keys the specification gives a meaning. All _meta objects
// are open to further keys.
var metaTable = []MetaKey{
	{Key: MetaProtocolVersion, Place: InRequest, Need: Must, Range: modernOnly},
	{Key: MetaClientCapabilities, Place: InRequest, Need: Must, Range: modernOnly, Definition: "ClientCapabilities"},
	{Key: MetaClientInfo, Place: InRequest, Need: Should, Range: modernOnly, Definition: "Implementation"},
	{Key: MetaLogLevel, Place: InRequest, Need: May, Range: modernOnly, Definition: "LoggingLevel"},
	{Key: MetaProgressToken, Place: InRequest, Need: May, Definition: "ProgressToken"},
	{Key: MetaServerInfo, Place: InResult, Need: Should, Range: modernOnly, Definition: "Implementation"},
	{Key: MetaSubscriptionID, Place: InNotification, Need: May, Range: modernOnly, Definition: "RequestId"},
	{Key: MetaSubscriptionID, Place: InResult, Need: Must, Range: modernOnly, Only: MethodListen, Definition: "RequestId"},
	{Key: MetaTraceParent, Place: InRequest | InResult | InNotification, Need: May, Range: modernOnly},
	{Key: MetaTraceState, Place: InRequest | InResult | InNotification, Need: May, Range: modernOnly},
	{Key: MetaBaggage, Place: InRequest | InResult | InNotification, Need: May, Range: modernOnly},
	{Key: MetaRelatedTask, Place: InRequest | InResult | InNotification, Need: May, Range: only(Rev20251125), Definition: "RelatedTaskMetadata"},
	{Key: MetaRelatedTask, Place: InResult, Need: Must, Range: only(Rev20251125), Only: MethodTasksResult, Definition: "RelatedTaskMetadata"},
	{Key: MetaImmediateResponse, Place: InResult, Need: May, Range: only(Rev20251125)},
}

// MetaKeyAt returns the facts of a _meta key at a place in one revision. A row
// for the method is preferred to the row for every method; method may be empty.
func MetaKeyAt(key string, place MetaPlace, method string, r Revision) (k MetaKey, ok bool) {
	for _, row := range metaTable {
		if row.Key != key || row.Place&place == 0 || !row.Range.Contains(r) {
			continue
		}
		switch row.Only {
		case "":
			if !ok {
				k, ok = row, true
			}
		case method:
			return row, true
		}
	}
	return k, ok
}

// MetaKeys returns the known keys at a place in one revision, for every method.
func MetaKeys(place MetaPlace, r Revision) []MetaKey {
	var ks []MetaKey
	for _, row := range metaTable {
		if row.Place&place != 0 && row.Only == "" && row.Range.Contains(r) {
			ks = append(ks, row)
		}
	}
	return ks
}
