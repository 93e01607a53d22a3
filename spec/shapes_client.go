// SPDX-License-Identifier: Apache-2.0

package spec

// samplingBlock is one content block of a sampling message; since 2025-11-25 a
// message may also hold an array of them.
var samplingBlock = refs("TextContent", "ImageContent", "AudioContent", "ToolUseContent", "ToolResultContent")

var samplingContent = samplingBlock.in(since(Rev20251125), list(ref("SamplingMessageContentBlock")))

var samplingParams = object(
	must("messages", list(ref("SamplingMessage"))),
	must("maxTokens", integer),
	may("systemPrompt", str),
	may("includeContext", choice("allServers", "none", "thisServer")),
	may("temperature", num),
	may("stopSequences", texts),
	may("modelPreferences", ref("ModelPreferences")),
	may("metadata", open),
	may("tools", list(ref("Tool"))).since(Rev20251125),
	may("toolChoice", ref("ToolChoice")).since(Rev20251125),
	may("_meta", progressMeta).only(Rev20251125),
	taskField)

var requestedSchema = object(
	must("type", choice("object")),
	must("properties", dict(ref("PrimitiveSchemaDefinition"))),
	may("required", texts),
	may("$schema", str).since(Rev20251125))

var elicitFormParams = object(
	must("message", str),
	must("requestedSchema", requestedSchema),
	may("mode", choice("form")).since(Rev20251125),
	may("_meta", progressMeta).only(Rev20251125),
	taskField)

// labelled is a schema of elicitation with what all of them share.
func labelled(typ string, fs ...field) *shape {
	return object(with(fs, must("type", choice(typ)), may("title", str), may("description", str))...)
}

// titledOptions is a list of constants with a title each.
var titledOptions = list(object(must("const", str), must("title", str)))

// multiSelect is a schema of several choices; items describes one.
func multiSelect(items *shape) *shape {
	return labelled("array", must("items", items), may("minItems", integer), may("maxItems", integer), may("default", texts))
}

// clientShapes are roots, sampling, elicitation, and the rounds of the modern
// era that carry them.
var clientShapes = []definition{
	define("Root", object(must("uri", uri), may("name", str), metaField)),
	define("ListRootsRequest", inputRequest(MethodRootsList,
		may("params", object(may("_meta", progressMeta).until(Rev20251125), openMeta.since(Rev20260728))))),
	define("ListRootsResult", object(must("roots", list(ref("Root"))), openMeta.until(Rev20251125))),
	define("RootsListChangedNotification", notification(NotificationRootsListChanged,
		may("params", bareNotificationParams))).until(Rev20251125),

	define("SamplingMessage", object(must("role", ref("Role")), must("content", samplingContent), openMeta.since(Rev20251125))),
	define("SamplingMessageContentBlock", samplingBlock).since(Rev20251125),
	define("ToolUseContent", object(must("type", choice(ContentToolUse)), must("id", str), must("name", str),
		must("input", open), openMeta)).since(Rev20251125),
	define("ToolResultContent", object(must("type", choice(ContentToolResult)), must("toolUseId", str),
		must("content", list(ref("ContentBlock"))), may("isError", boolean),
		may("structuredContent", open).only(Rev20251125), may("structuredContent", anything).since(Rev20260728),
		openMeta)).since(Rev20251125),
	define("ToolChoice", object(may("mode", choice("auto", "none", "required")))).since(Rev20251125),
	define("ModelHint", object(may("name", str))),
	define("ModelPreferences", object(may("hints", list(ref("ModelHint"))),
		may("costPriority", ratio), may("speedPriority", ratio), may("intelligencePriority", ratio))),
	define("CreateMessageRequest", inputRequest(MethodCreateMessage, must("params", samplingParams))),
	define("CreateMessageRequestParams", samplingParams).since(Rev20251125),
	define("CreateMessageResult", object(must("role", ref("Role")), must("content", samplingContent), must("model", str),
		may("stopReason", str), openMeta)),

	define("ElicitRequest", inputRequest(MethodElicit, must("params", elicitFormParams))).only(Rev20250618),
	define("ElicitRequest", inputRequest(MethodElicit, must("params", ref("ElicitRequestParams")))).since(Rev20251125),
	define("ElicitRequestParams", refs("ElicitRequestFormParams", "ElicitRequestURLParams")).since(Rev20251125),
	define("ElicitRequestFormParams", elicitFormParams).since(Rev20251125),
	define("ElicitRequestURLParams", object(
		must("mode", choice("url")), must("message", str), must("url", uri),
		must("elicitationId", str).only(Rev20251125),
		may("_meta", progressMeta).only(Rev20251125),
		taskField)).since(Rev20251125),
	// The official files say integer where their source says number.
	define("ElicitResult", object(
		must("action", choice("accept", "cancel", "decline")),
		may("content", dict(union(str, num, boolean))).only(Rev20250618),
		may("content", dict(union(str, num, boolean, texts))).since(Rev20251125),
		openMeta.until(Rev20251125))).since(Rev20250618),
	define("ElicitationCompleteNotification", notification(NotificationElicitationComplete,
		must("params", object(must("elicitationId", str))))).only(Rev20251125),

	define("PrimitiveSchemaDefinition", refs("StringSchema", "NumberSchema", "BooleanSchema", "EnumSchema")).since(Rev20250618),
	define("StringSchema", labelled("string", may("minLength", integer), may("maxLength", integer),
		may("format", choice("date", "date-time", "email", "uri")), may("default", str).since(Rev20251125))).since(Rev20250618),
	define("NumberSchema", object(must("type", choice("integer", "number")), may("title", str), may("description", str),
		may("minimum", num), may("maximum", num), may("default", num).since(Rev20251125))).since(Rev20250618),
	define("BooleanSchema", labelled("boolean", may("default", boolean))).since(Rev20250618),
	define("EnumSchema", labelled("string", must("enum", texts), may("enumNames", texts))).only(Rev20250618),
	define("EnumSchema", refs("SingleSelectEnumSchema", "MultiSelectEnumSchema", "LegacyTitledEnumSchema")).since(Rev20251125),
	define("LegacyTitledEnumSchema", labelled("string", must("enum", texts), may("enumNames", texts), may("default", str))).since(Rev20251125),
	define("SingleSelectEnumSchema", refs("UntitledSingleSelectEnumSchema", "TitledSingleSelectEnumSchema")).since(Rev20251125),
	define("UntitledSingleSelectEnumSchema", labelled("string", must("enum", texts), may("default", str))).since(Rev20251125),
	define("TitledSingleSelectEnumSchema", labelled("string", must("oneOf", titledOptions), may("default", str))).since(Rev20251125),
	define("MultiSelectEnumSchema", refs("UntitledMultiSelectEnumSchema", "TitledMultiSelectEnumSchema")).since(Rev20251125),
	define("UntitledMultiSelectEnumSchema", multiSelect(object(must("type", choice("string")), must("enum", texts)))).since(Rev20251125),
	define("TitledMultiSelectEnumSchema", multiSelect(object(must("anyOf", titledOptions)))).since(Rev20251125),

	define("InputRequest", refs("CreateMessageRequest", "ListRootsRequest", "ElicitRequest")).since(Rev20260728),
	define("InputRequests", dict(ref("InputRequest"))).since(Rev20260728),
	define("InputResponse", refs("CreateMessageResult", "ListRootsResult", "ElicitResult")).since(Rev20260728),
	define("InputResponses", dict(ref("InputResponse"))).since(Rev20260728),
	define("InputResponseRequestParams", requestParams(roundFields...)).since(Rev20260728),
	define("InputRequiredResult", result(
		may(FieldInputRequests, ref("InputRequests")), may(FieldRequestState, str))).since(Rev20260728),
}
