// SPDX-License-Identifier: Apache-2.0

package mock

// Check is one thing that the server refuses or corrects, by its name. The
// fault [Lenient] skips it.
type Check struct {
	Name string
	What string // what is refused or done, in a line
}

// Names of the checks.
const (
	CheckHeaderVersionMissing  = "header.version-missing"
	CheckHeaderVersionMismatch = "header.version-mismatch"
	CheckHeaderMethodMissing   = "header.method-missing"
	CheckHeaderMethodMismatch  = "header.method-mismatch"
	CheckHeaderNameMissing     = "header.name-missing"
	CheckHeaderNameMismatch    = "header.name-mismatch"
	CheckHeaderNameDecode      = "header.name-decode"
	CheckHeaderBase64Malformed = "header.base64-malformed"
	CheckHeaderBase64Markers   = "header.base64-markers"
	CheckHeaderParamMissing    = "header.param-missing"
	CheckHeaderParamMismatch   = "header.param-mismatch"
	CheckHeaderParamDecode     = "header.param-decode"
	CheckHeaderParamNumeric    = "header.param-numeric"
	CheckHeaderParamRange      = "header.param-range"
	CheckHeaderCase            = "header.case"
	CheckHeaderChars           = "header.chars"
	CheckHeaderRepeated        = "header.repeated"

	CheckMetaMissing             = "meta.missing"
	CheckMetaVersionMissing      = "meta.version-missing"
	CheckMetaCapabilitiesMissing = "meta.capabilities-missing"
	CheckMetaMistyped            = "meta.mistyped"
	CheckVersionUnsupported      = "version.unsupported"
	CheckEraInitialize           = "era.initialize"

	CheckOrigin       = "origin"
	CheckOriginNull   = "origin.null"
	CheckOriginPrefix = "origin.prefix"
	CheckOriginHTTPS  = "origin.https"
	CheckOriginHost   = "origin.host"
	CheckHost         = "host"
	CheckPreflight    = "preflight"

	CheckHTTPMethod = "http.method"
	CheckHTTPGet    = "http.get"
	CheckHTTPDelete = "http.delete"
	CheckMediaType  = "media.type"

	CheckJSONRPCVersion = "jsonrpc.version"
	CheckIDType         = "id.type"
	CheckBatch          = "batch"
	CheckResponsePosted = "response.posted"
	CheckUTF8           = "json.utf8"
	CheckKeyFold        = "key.fold"
	CheckKeyNUL         = "key.nul"
	CheckKeyDuplicate   = "key.duplicate"

	CheckMethodUnknown        = "method.unknown"
	CheckMethodRemoved        = "method.removed"
	CheckCapabilityUndeclared = "capability.undeclared"
	CheckParamsMissing        = "params.missing"
	CheckParamsMistyped       = "params.mistyped"

	CheckToolUnknown           = "tool.unknown"
	CheckToolCase              = "tool.case"
	CheckArgumentsMistyped     = "arguments.mistyped"
	CheckArgumentsInvalid      = "arguments.invalid"
	CheckResourceUnknown       = "resource.unknown"
	CheckResourceURI           = "resource.uri"
	CheckPromptUnknown         = "prompt.unknown"
	CheckPromptArgumentMissing = "prompt.argument-missing"
	CheckPromptArgumentType    = "prompt.argument-type"
	CheckCompletionRef         = "completion.ref"
	CheckCompletionArgument    = "completion.argument"
	CheckCompletionContext     = "completion.context"
	CheckCompletionMax         = "completion.max"
	CheckCursorInvalid         = "cursor.invalid"

	CheckLogLevel     = "log.level"
	CheckLogOptIn     = "log.opt-in"
	CheckLogThreshold = "log.threshold"

	CheckClientCapability  = "client-capability.undeclared"
	CheckAskEra            = "ask.era"
	CheckInputsMalformed   = "inputs.malformed"
	CheckInputsSchema      = "inputs.schema"
	CheckStateIntegrity    = "state.integrity"
	CheckStateRequestBound = "state.request-bound"
	CheckStateExpiry       = "state.expiry"
	CheckStatePrincipal    = "state.principal"
	CheckStateSingleUse    = "state.single-use"

	CheckListenFilterMissing = "listen.filter-missing"
	CheckListenMistyped      = "listen.mistyped"
	CheckListenFilter        = "listen.filter"
	CheckListenURIs          = "listen.uris"
	CheckListenCapability    = "listen.capability"
	CheckListenCancel        = "listen.cancel"

	CheckCancel           = "cancel"
	CheckCancelAnswer     = "cancel.answer"
	CheckCancelDisconnect = "cancel.disconnect"

	CheckTaskUndeclared = "task.undeclared"
	CheckTaskUnknown    = "task.unknown"
	CheckTaskOwner      = "task.owner"

	CheckSessionMissing  = "session.missing"
	CheckSessionUnknown  = "session.unknown"
	CheckSessionFallback = "session.fallback"
	CheckSessionVersion  = "session.version-header"
	CheckHandshake       = "session.handshake"

	CheckStreamSecond  = "stream.second"
	CheckStreamPriming = "stream.priming"
	CheckStreamReplay  = "stream.replay"
)

// checks says what each name stands for.
var checks = []Check{
	{CheckHeaderVersionMissing, "a modern request without MCP-Protocol-Version is refused"},
	{CheckHeaderVersionMismatch, "MCP-Protocol-Version that differs from _meta is refused"},
	{CheckHeaderMethodMissing, "a modern request without Mcp-Method is refused"},
	{CheckHeaderMethodMismatch, "Mcp-Method that differs from the body is refused"},
	{CheckHeaderNameMissing, "a request that needs Mcp-Name is refused without it"},
	{CheckHeaderNameMismatch, "Mcp-Name that differs from the body is refused"},
	{CheckHeaderNameDecode, "Mcp-Name in Base64 form is decoded before it is compared"},
	{CheckHeaderBase64Malformed, "a header value with bad Base64 between the markers is refused"},
	{CheckHeaderBase64Markers, "the Base64 markers are exact: in another case they are plain text"},
	{CheckHeaderParamMissing, "an annotated argument without its Mcp-Param header is refused"},
	{CheckHeaderParamMismatch, "a Mcp-Param header that differs from its argument is refused"},
	{CheckHeaderParamDecode, "a Mcp-Param header in Base64 form is decoded before it is compared"},
	{CheckHeaderParamNumeric, "integers in Mcp-Param headers are compared as numbers"},
	{CheckHeaderParamRange, "an annotated integer beyond 2^53-1 is refused"},
	{CheckHeaderCase, "header values are compared with regard to case"},
	{CheckHeaderChars, "a header value with bytes beyond printable ASCII is refused"},
	{CheckHeaderRepeated, "a header that mirrors the body and is sent twice is refused"},
	{CheckMetaMissing, "a modern request without _meta is refused"},
	{CheckMetaVersionMissing, "_meta without the protocol version is refused"},
	{CheckMetaCapabilitiesMissing, "_meta without the client's capabilities is refused"},
	{CheckMetaMistyped, "a required field of _meta with a wrong type is refused"},
	{CheckVersionUnsupported, "a version that is not served is refused"},
	{CheckEraInitialize, "initialize to a server of the modern era alone is refused"},
	{CheckOrigin, "a foreign Origin is refused"},
	{CheckOriginNull, "Origin null is refused"},
	{CheckOriginPrefix, "an Origin that only looks like an allowed one is refused"},
	{CheckOriginHTTPS, "a foreign Origin of scheme https is refused"},
	{CheckOriginHost, "a foreign Origin that is the request's own Host is refused"},
	{CheckHost, "a request for a host that is not this machine is refused"},
	{CheckPreflight, "a preflight of a foreign Origin is allowed nothing"},
	{CheckHTTPMethod, "an HTTP method that is none of the protocol's is refused"},
	{CheckHTTPGet, "GET is refused in the modern era"},
	{CheckHTTPDelete, "DELETE is refused in the modern era"},
	{CheckMediaType, "a POST of another media type than JSON is refused"},
	{CheckJSONRPCVersion, "a message whose jsonrpc is not 2.0 is refused"},
	{CheckIDType, "an id that is no string and no integer is refused"},
	{CheckBatch, "a batch is refused where the revision has none"},
	{CheckResponsePosted, "a response posted in the modern era is refused"},
	{CheckUTF8, "a text that is not UTF-8 is refused"},
	{CheckKeyFold, "a member whose name is spelled in other letters is another member"},
	{CheckKeyNUL, "a member whose name goes on behind U+0000 is another member"},
	{CheckKeyDuplicate, "a message with a member twice is refused"},
	{CheckMethodUnknown, "an unknown method is refused"},
	{CheckMethodRemoved, "a method of another era is refused"},
	{CheckCapabilityUndeclared, "a method of a capability that is not declared is refused"},
	{CheckParamsMissing, "a method that needs params is refused without"},
	{CheckParamsMistyped, "a parameter of a wrong type is refused"},
	{CheckToolUnknown, "a call of an unknown tool is refused"},
	{CheckToolCase, "tool names are compared with regard to case"},
	{CheckArgumentsMistyped, "arguments that are no object are refused"},
	{CheckArgumentsInvalid, "arguments that break the inputSchema are refused"},
	{CheckResourceUnknown, "a read of an unknown resource is refused"},
	{CheckResourceURI, "a malformed URI, or one that leads elsewhere, is not matched by a template"},
	{CheckPromptUnknown, "an unknown prompt is refused"},
	{CheckPromptArgumentMissing, "a prompt without a required argument is refused"},
	{CheckPromptArgumentType, "a prompt argument that is no string is refused"},
	{CheckCompletionRef, "a completion for an unknown prompt or template is refused"},
	{CheckCompletionArgument, "a completion without its argument is refused"},
	{CheckCompletionContext, "a completion whose context is no object of strings is refused"},
	{CheckCompletionMax, "a completion holds 100 values at most"},
	{CheckCursorInvalid, "a cursor that was never given is refused"},
	{CheckLogLevel, "an unknown log level is refused"},
	{CheckLogOptIn, "log messages are sent only to who asked for them"},
	{CheckLogThreshold, "log messages below the level asked for are held back"},
	{CheckClientCapability, "nothing is asked of a client that did not declare it can answer"},
	{CheckAskEra, "a client of the handshake era is asked by requests, not by results"},
	{CheckInputsMalformed, "inputResponses of a wrong shape are refused"},
	{CheckInputsSchema, "an answer that breaks the schema asked for is refused"},
	{CheckStateIntegrity, "a requestState that was altered is refused"},
	{CheckStateRequestBound, "a requestState of another request is refused"},
	{CheckStateExpiry, "a requestState that is too old is refused"},
	{CheckStatePrincipal, "a requestState of another principal is refused"},
	{CheckStateSingleUse, "a requestState that was used is refused, where the script says so"},
	{CheckListenFilterMissing, "subscriptions/listen without a filter is refused"},
	{CheckListenMistyped, "a filter with a member of a wrong type is refused"},
	{CheckListenFilter, "a subscription gets only the types it asked for"},
	{CheckListenURIs, "a subscription gets only updates of the resources it asked for"},
	{CheckListenCapability, "what is not declared is not acknowledged"},
	{CheckListenCancel, "a cancelled subscription ends"},
	{CheckCancel, "a cancelled request stops"},
	{CheckCancelAnswer, "a cancelled request is not answered"},
	{CheckCancelDisconnect, "a modern request whose stream is closed by the client stops"},
	{CheckTaskUndeclared, "a task is given only to a client that declared tasks"},
	{CheckTaskUnknown, "an unknown task is refused"},
	{CheckTaskOwner, "a task of a legacy session is shown in it alone"},
	{CheckSessionMissing, "a legacy HTTP request without its session is refused"},
	{CheckSessionFallback, "a legacy HTTP request without its session is not taken for one of another session"},
	{CheckSessionUnknown, "a session that is not known is refused"},
	{CheckSessionVersion, "a legacy request with a bad version header is refused"},
	{CheckHandshake, "a legacy request before initialize is refused"},
	{CheckStreamSecond, "a second standing stream of a legacy session is refused"},
	{CheckStreamPriming, "a resumable stream begins with an event of an id alone"},
	{CheckStreamReplay, "only the stream of the last event is replayed"},
}

// Checks returns every check of the server, in the order of the table.
func Checks() []Check { return append([]Check(nil), checks...) }
