// SPDX-License-Identifier: Apache-2.0

package spec

// Parts that many definitions share.
var (
	// openMeta is _meta without a described key.
	openMeta = may("_meta", open)
	// progressMeta is the request _meta of the legacy era.
	progressMeta = object(may("progressToken", ref("ProgressToken")))
	titleField   = may("title", str).since(Rev20250618)
	iconsField   = may("icons", list(ref("Icon"))).since(Rev20251125)
	metaField    = openMeta.since(Rev20250618)
	taskField    = may("task", ref("TaskMetadata")).only(Rev20251125)
	annotated    = may("annotations", annotations)
	annotations  = object(
		may("audience", list(ref("Role"))),
		may("priority", ratio),
		may("lastModified", str).since(Rev20250618),
	)
)

// with returns the fields of both lists.
func with(a []field, b ...field) []field {
	return append(append([]field(nil), a...), b...)
}

// envelope is what a message definition says about JSON-RPC. The first three
// revisions describe it in definitions of its own.
func envelope(fs ...field) []field {
	return with(fs, must("jsonrpc", choice(JSONRPCVersion)).since(Rev20251125))
}

// request is a message with an id; params is its field for them.
//
//go:noinline
func request(method string, params ...field) *shape {
	return object(with(envelope(params...),
		must("id", ref("RequestId")).since(Rev20251125),
		must("method", choice(method)))...)
}

// inputRequest is request, but travels without envelope in the modern era.
func inputRequest(method string, params field) *shape {
	return object(params,
		must("jsonrpc", choice(JSONRPCVersion)).only(Rev20251125),
		must("id", ref("RequestId")).only(Rev20251125),
		must("method", choice(method)))
}

//go:noinline
func notification(method string, params field) *shape {
	return object(envelope(params, must("method", choice(method)))...)
}

// requestParams are the params of a client's request. Before 2025-11-25 the
// concrete definitions leave _meta to the envelope.
func requestParams(fs ...field) *shape {
	return object(with(fs,
		may("_meta", progressMeta).only(Rev20251125),
		must("_meta", ref("RequestMetaObject")).since(Rev20260728))...)
}

// optionalParams are params that only the modern era requires.
func optionalParams(s *shape) []field {
	return []field{may("params", s).until(Rev20251125), must("params", s).since(Rev20260728)}
}

// notificationParams are the params of a notification that has its own.
func notificationParams(fs ...field) *shape {
	return object(with(fs,
		openMeta.only(Rev20251125),
		may("_meta", ref("NotificationMetaObject")).since(Rev20260728))...)
}

// bareNotificationParams are the params of a notification that has none of its
// own; here the early revisions do describe _meta.
var bareNotificationParams = object(
	openMeta.until(Rev20251125),
	may("_meta", ref("NotificationMetaObject")).since(Rev20260728))

// resultFields are what every result starts with.
func resultFields(fs ...field) []field {
	return with(fs,
		openMeta.until(Rev20251125),
		may("_meta", ref("ResultMetaObject")).since(Rev20260728),
		must(FieldResultType, str).since(Rev20260728))
}

//go:noinline
func result(fs ...field) *shape { return object(resultFields(fs...)...) }

// cacheable is a result that says how long it may be kept.
//
//go:noinline
func cacheable(fs ...field) *shape {
	return result(with(fs,
		must(FieldTTL, natural).since(Rev20260728),
		must(FieldCacheScope, choice(CachePublic, CachePrivate)).since(Rev20260728))...)
}

// response is the envelope of a result.
func response(result *shape) *shape {
	return object(must("jsonrpc", choice(JSONRPCVersion)), must("id", ref("RequestId")), must("result", result))
}

// errorResponse is the envelope of an error; its id may be absent since
// 2025-11-25, when the request could not be read.
func errorResponse(err *shape) *shape {
	return object(must("jsonrpc", choice(JSONRPCVersion)),
		must("id", ref("RequestId")).until(Rev20250618),
		may("id", ref("RequestId")).since(Rev20251125),
		must("error", err))
}

var errorObject = object(must("code", integer), must("message", str), may("data", anything))

// codedError is an error object with one code.
func codedError(code string) *shape {
	return object(must("code", fixed(code)), must("message", str), may("data", anything))
}

// dataError is the error of a response with one code and described data.
func dataError(code string, data ...field) *shape {
	return errorResponse(all(ref("Error"), object(with(data, must("code", fixed(code)))...)))
}

// envelopeShapes are JSON-RPC itself, and the general shapes of the protocol.
var envelopeShapes = []definition{
	define("RequestId", union(str, integer)),
	define("ProgressToken", union(str, integer)),
	define("Cursor", str),
	define("Role", choice("assistant", "user")),
	define("LoggingLevel", choice(logLevels...)),

	define("Request", object(must("method", str), may("params", object(may("_meta", progressMeta).until(Rev20250618))))),
	define("Notification", object(must("method", str), may("params", object(openMeta.until(Rev20250618))))),
	define("JSONRPCRequest", object(must("jsonrpc", choice(JSONRPCVersion)), must("id", ref("RequestId")), must("method", str),
		may("params", object(may("_meta", progressMeta).until(Rev20250618))))),
	define("JSONRPCNotification", object(must("jsonrpc", choice(JSONRPCVersion)), must("method", str),
		may("params", object(openMeta.until(Rev20250618))))),
	define("JSONRPCResponse", response(ref("Result"))).until(Rev20250618),
	define("JSONRPCResponse", refs("JSONRPCResultResponse", "JSONRPCErrorResponse")).since(Rev20251125),
	define("JSONRPCResultResponse", response(ref("Result"))).since(Rev20251125),
	define("JSONRPCError", errorResponse(errorObject)).until(Rev20250618),
	define("JSONRPCErrorResponse", errorResponse(errorObject)).since(Rev20251125),
	define("JSONRPCBatchRequest", list(refs("JSONRPCRequest", "JSONRPCNotification"))).only(Rev20250326),
	define("JSONRPCBatchResponse", list(refs("JSONRPCResponse", "JSONRPCError"))).only(Rev20250326),
	define("JSONRPCMessage", refs("JSONRPCRequest", "JSONRPCNotification", "JSONRPCBatchRequest",
		"JSONRPCResponse", "JSONRPCError", "JSONRPCBatchResponse")).until(Rev20250618),
	define("JSONRPCMessage", refs("JSONRPCRequest", "JSONRPCNotification",
		"JSONRPCResultResponse", "JSONRPCErrorResponse")).since(Rev20251125),

	define("Error", errorObject).since(Rev20251125),
	define("ParseError", codedError("-32700")).since(Rev20260728),
	define("InvalidRequestError", codedError("-32600")).since(Rev20260728),
	define("MethodNotFoundError", codedError("-32601")).since(Rev20260728),
	define("InvalidParamsError", codedError("-32602")).since(Rev20260728),
	define("InternalError", codedError("-32603")).since(Rev20260728),
	define("HeaderMismatchError", dataError("-32020")).since(Rev20260728),
	define("MissingRequiredClientCapabilityError", dataError("-32021",
		must("data", object(must("requiredCapabilities", ref("ClientCapabilities")))))).since(Rev20260728),
	define("UnsupportedProtocolVersionError", dataError("-32022",
		must("data", object(must("supported", texts), must("requested", str))))).since(Rev20260728),
	define("URLElicitationRequiredError", dataError("-32042",
		must("data", object(must("elicitations", list(ref("ElicitRequestURLParams"))))))).only(Rev20251125),

	define("Result", result()),
	define("EmptyResult", ref("Result")),
	define("PaginatedRequest", object(must("method", str), may("params", object(may("cursor", str))))).until(Rev20250618),
	define("PaginatedRequest", object(envelope(must("id", ref("RequestId")), must("method", str),
		may("params", ref("PaginatedRequestParams")).until(Rev20251125),
		must("params", ref("PaginatedRequestParams")).since(Rev20260728))...)).since(Rev20251125),
	define("PaginatedResult", result(may("nextCursor", str))),
	define("CacheableResult", cacheable()).since(Rev20260728),
	define("ResultType", str).since(Rev20260728),

	define("RequestParams", requestParams()).since(Rev20251125),
	define("NotificationParams", notificationParams()).since(Rev20251125),
	define("PaginatedRequestParams", pageParams).since(Rev20251125),
	define("ResourceRequestParams", uriParams).since(Rev20251125),
	define("TaskAugmentedRequestParams", object(may("_meta", progressMeta), taskField)).only(Rev20251125),

	define("MetaObject", open).since(Rev20260728),
	define("RequestMetaObject", object(
		must(MetaProtocolVersion, str),
		must(MetaClientCapabilities, ref("ClientCapabilities")),
		may(MetaClientInfo, ref("Implementation")),
		may(MetaLogLevel, ref("LoggingLevel")),
		may(MetaProgressToken, ref("ProgressToken")))).since(Rev20260728),
	define("ResultMetaObject", object(may(MetaServerInfo, ref("Implementation")))).since(Rev20260728),
	define("NotificationMetaObject", object(may(MetaSubscriptionID, ref("RequestId")))).since(Rev20260728),
	define("SubscriptionsListenResultMetaObject", object(
		may(MetaServerInfo, ref("Implementation")),
		must(MetaSubscriptionID, ref("RequestId")))).since(Rev20260728),

	// The official file leaves null and fractions out of JSONValue, which its
	// source allows; any JSON value is meant.
	define("JSONValue", anything).since(Rev20260728),
	define("JSONObject", open).since(Rev20260728),
	define("JSONArray", list(anything)).since(Rev20260728),

	define("ServerNotification", refs("CancelledNotification", "ProgressNotification", "ResourceListChangedNotification",
		"SubscriptionsAcknowledgedNotification", "ResourceUpdatedNotification", "PromptListChangedNotification",
		"ToolListChangedNotification", "TaskStatusNotification", "LoggingMessageNotification", "ElicitationCompleteNotification")),
	define("ClientNotification", refs("CancelledNotification", "InitializedNotification", "ProgressNotification",
		"TaskStatusNotification", "RootsListChangedNotification")).until(Rev20251125),
	define("ClientNotification", ref("CancelledNotification")).since(Rev20260728),
	define("ClientRequest", refs("InitializeRequest", "PingRequest", "DiscoverRequest", "ListResourcesRequest",
		"ListResourceTemplatesRequest", "ReadResourceRequest", "SubscribeRequest", "UnsubscribeRequest",
		"SubscriptionsListenRequest", "ListPromptsRequest", "GetPromptRequest", "ListToolsRequest", "CallToolRequest",
		"GetTaskRequest", "GetTaskPayloadRequest", "CancelTaskRequest", "ListTasksRequest", "SetLevelRequest", "CompleteRequest")),
	define("ServerRequest", refs("PingRequest", "GetTaskRequest", "GetTaskPayloadRequest", "CancelTaskRequest",
		"ListTasksRequest", "CreateMessageRequest", "ListRootsRequest", "ElicitRequest")).until(Rev20251125),
	define("ClientResult", refs("Result", "GetTaskResult", "GetTaskPayloadResult", "CancelTaskResult", "ListTasksResult",
		"CreateMessageResult", "ListRootsResult", "ElicitResult")).until(Rev20251125),
	define("ClientResult", ref("Result")).since(Rev20260728),
	define("ServerResult", refs("Result", "InputRequiredResult", "InitializeResult", "DiscoverResult", "ListResourcesResult",
		"ListResourceTemplatesResult", "ReadResourceResult", "SubscriptionsListenResult", "ListPromptsResult",
		"GetPromptResult", "ListToolsResult", "CallToolResult", "GetTaskResult", "GetTaskPayloadResult",
		"CancelTaskResult", "ListTasksResult", "CompleteResult")),
}
