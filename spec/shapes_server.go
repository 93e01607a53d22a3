// SPDX-License-Identifier: Apache-2.0

package spec

// contentBlock is what tool results and prompt messages may hold. The first two
// revisions spell the union out at each place.
var contentBlock = refs("TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource")

var contents = refs("TextResourceContents", "BlobResourceContents")

// roundFields are what a client adds to a request that it repeats after an
// input_required result.
var roundFields = []field{
	may(FieldInputResponses, ref("InputResponses")).since(Rev20260728),
	may(FieldRequestState, str).since(Rev20260728),
}

var callToolParams = requestParams(with(roundFields, must("name", str), may("arguments", open), taskField)...)

var readParams = requestParams(with(roundFields, must("uri", uri))...)

var uriParams = requestParams(must("uri", uri))

var updatedParams = notificationParams(must("uri", uri))

var promptParams = requestParams(with(roundFields, must("name", str), may("arguments", dict(str)))...)

var completeParams = requestParams(
	must("ref", refs("PromptReference", "ResourceReference", "ResourceTemplateReference")),
	must("argument", object(must("name", str), must("value", str))),
	may("context", object(may("arguments", dict(str)))).since(Rev20250618))

// legacySchema is as much of a tool's schema as the legacy era described: each
// property's schema must be an object, so true and false are not schemas there.
var legacySchema = object(
	must("type", choice("object")),
	may("properties", dict(open)),
	may("required", texts),
	may("$schema", str).only(Rev20251125))

// rounds is the result of a request that may be answered by an
// input_required result first.
func rounds(result string) *shape { return response(refs("InputRequiredResult", result)) }

// serverShapes are tools, resources, prompts and completion.
var serverShapes = []definition{
	define("Annotated", object(annotated)).only(Rev20241105),
	define("Annotations", annotations).since(Rev20250326),
	define("TextContent", object(must("type", choice(ContentText)), must("text", str), annotated, metaField)),
	define("ImageContent", object(must("type", choice(ContentImage)), must("data", binary), must("mimeType", str), annotated, metaField)),
	define("AudioContent", object(must("type", choice(ContentAudio)), must("data", binary), must("mimeType", str),
		annotated, metaField)).since(Rev20250326),
	define("EmbeddedResource", object(must("type", choice(ContentResource)), must("resource", contents), annotated, metaField)),
	define("ResourceLink", object(must("type", choice(ContentResourceLink)), must("name", str), must("uri", uri),
		may("description", str), may("mimeType", str), may("size", integer),
		titleField, iconsField, annotated, metaField)).since(Rev20250618),
	define("ContentBlock", contentBlock).since(Rev20250618),

	define("Tool", object(
		must("name", str), titleField, may("description", str), iconsField, metaField,
		must("inputSchema", legacySchema).until(Rev20251125),
		must("inputSchema", object(must("type", choice("object")), may("$schema", str))).since(Rev20260728),
		may("outputSchema", legacySchema).since(Rev20250618).until(Rev20251125),
		may("outputSchema", object(may("$schema", str))).since(Rev20260728),
		may("annotations", ref("ToolAnnotations")).since(Rev20250326),
		may("execution", ref("ToolExecution")).only(Rev20251125))),
	define("ToolAnnotations", object(may("title", str), may("readOnlyHint", boolean), may("destructiveHint", boolean),
		may("idempotentHint", boolean), may("openWorldHint", boolean))).since(Rev20250326),
	define("ToolExecution", object(may("taskSupport", choice("forbidden", "optional", "required")))).only(Rev20251125),
	define("ListToolsRequest", request(MethodToolsList, optionalParams(pageParams)...)),
	define("ListToolsResult", cacheable(must("tools", list(ref("Tool"))), may("nextCursor", str))),
	define("ListToolsResultResponse", response(ref("ListToolsResult"))).since(Rev20260728),
	define("CallToolRequest", request(MethodToolsCall, must("params", callToolParams))),
	define("CallToolRequestParams", callToolParams).since(Rev20251125),
	define("CallToolResult", result(
		must("content", list(contentBlock)),
		may("isError", boolean),
		may("structuredContent", open).since(Rev20250618).until(Rev20251125),
		may("structuredContent", anything).since(Rev20260728))),
	define("CallToolResultResponse", rounds("CallToolResult")).since(Rev20260728),
	define("ToolListChangedNotification", notification(NotificationToolsListChanged, may("params", bareNotificationParams))),

	define("Resource", object(must("name", str), must("uri", uri), may("description", str), may("mimeType", str),
		may("size", integer), titleField, iconsField, annotated, metaField)),
	define("ResourceTemplate", object(must("name", str), must("uriTemplate", template), may("description", str),
		may("mimeType", str), titleField, iconsField, annotated, metaField)),
	define("ResourceContents", object(must("uri", uri), may("mimeType", str), metaField)),
	define("TextResourceContents", object(must("uri", uri), must("text", str), may("mimeType", str), metaField)),
	define("BlobResourceContents", object(must("uri", uri), must("blob", binary), may("mimeType", str), metaField)),
	define("ListResourcesRequest", request(MethodResourcesList, optionalParams(pageParams)...)),
	define("ListResourcesResult", cacheable(must("resources", list(ref("Resource"))), may("nextCursor", str))),
	define("ListResourcesResultResponse", response(ref("ListResourcesResult"))).since(Rev20260728),
	define("ListResourceTemplatesRequest", request(MethodResourceTemplatesList, optionalParams(pageParams)...)),
	define("ListResourceTemplatesResult", cacheable(must("resourceTemplates", list(ref("ResourceTemplate"))), may("nextCursor", str))),
	define("ListResourceTemplatesResultResponse", response(ref("ListResourceTemplatesResult"))).since(Rev20260728),
	define("ReadResourceRequest", request(MethodResourcesRead, must("params", readParams))),
	define("ReadResourceRequestParams", readParams).since(Rev20251125),
	define("ReadResourceResult", cacheable(must("contents", list(contents)))),
	define("ReadResourceResultResponse", rounds("ReadResourceResult")).since(Rev20260728),
	define("SubscribeRequest", request(MethodResourcesSubscribe, must("params", uriParams))).until(Rev20251125),
	define("SubscribeRequestParams", uriParams).only(Rev20251125),
	define("UnsubscribeRequest", request(MethodResourcesUnsubscribe, must("params", uriParams))).until(Rev20251125),
	define("UnsubscribeRequestParams", uriParams).only(Rev20251125),
	define("ResourceListChangedNotification", notification(NotificationResourcesListChanged, may("params", bareNotificationParams))),
	define("ResourceUpdatedNotification", notification(NotificationResourcesUpdated, must("params", updatedParams))),
	define("ResourceUpdatedNotificationParams", updatedParams).since(Rev20251125),

	define("Prompt", object(must("name", str), may("description", str), may("arguments", list(ref("PromptArgument"))),
		titleField, iconsField, metaField)),
	define("PromptArgument", object(must("name", str), may("description", str), may("required", boolean), titleField)),
	define("PromptMessage", object(must("role", ref("Role")), must("content", contentBlock))),
	define("ListPromptsRequest", request(MethodPromptsList, optionalParams(pageParams)...)),
	define("ListPromptsResult", cacheable(must("prompts", list(ref("Prompt"))), may("nextCursor", str))),
	define("ListPromptsResultResponse", response(ref("ListPromptsResult"))).since(Rev20260728),
	define("GetPromptRequest", request(MethodPromptsGet, must("params", promptParams))),
	define("GetPromptRequestParams", promptParams).since(Rev20251125),
	define("GetPromptResult", result(must("messages", list(ref("PromptMessage"))), may("description", str))),
	define("GetPromptResultResponse", rounds("GetPromptResult")).since(Rev20260728),
	define("PromptListChangedNotification", notification(NotificationPromptsListChanged, may("params", bareNotificationParams))),

	define("PromptReference", object(must("type", choice("ref/prompt")), must("name", str), titleField)),
	define("ResourceReference", object(must("type", choice("ref/resource")), must("uri", template))).until(Rev20250326),
	define("ResourceTemplateReference", object(must("type", choice("ref/resource")), must("uri", template))).since(Rev20250618),
	define("CompleteRequest", request(MethodComplete, must("params", completeParams))),
	define("CompleteRequestParams", completeParams).since(Rev20251125),
	define("CompleteResult", result(
		must("completion", object(must("values", texts), may("total", integer), may("hasMore", boolean))).until(Rev20251125),
		must("completion", object(must("values", texts.atMost(100)), may("total", integer), may("hasMore", boolean))).since(Rev20260728))),
	define("CompleteResultResponse", response(ref("CompleteResult"))).since(Rev20260728),
}
