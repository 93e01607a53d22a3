// SPDX-License-Identifier: Apache-2.0

package spec

var pageParams = requestParams(may("cursor", str))

var initializeParams = requestParams(
	must("protocolVersion", str),
	must("capabilities", ref("ClientCapabilities")),
	must("clientInfo", ref("Implementation")))

var progressParams = notificationParams(
	must("progressToken", ref("ProgressToken")),
	must("progress", num),
	may("total", num),
	may("message", str).since(Rev20250326))

var cancelledParams = notificationParams(
	must("requestId", ref("RequestId")).until(Rev20250618),
	may("requestId", ref("RequestId")).only(Rev20251125),
	must("requestId", ref("RequestId")).since(Rev20260728),
	may("reason", str))

var logParams = notificationParams(
	must("level", ref("LoggingLevel")), must("data", anything), may("logger", str))

var levelParams = requestParams(must("level", ref("LoggingLevel")))

var listenParams = requestParams(must("notifications", ref("SubscriptionFilter")))

var acknowledgedParams = notificationParams(must("notifications", ref("SubscriptionFilter")))

var taskIDParams = object(must("taskId", str))

// flag is a capability object with boolean members.
func flags(names ...string) *shape {
	s := object()
	for _, n := range names {
		s.fields = append(s.fields, may(n, boolean))
	}
	return s
}

// settings is a capability object with members that are objects.
func settings(names ...string) *shape {
	s := object()
	for _, n := range names {
		s.fields = append(s.fields, may(n, open))
	}
	return s
}

// taskSettings is the tasks capability; requests says which requests may
// become tasks.
func taskSettings(requests ...field) *shape {
	return object(may("list", open), may("cancel", open), may("requests", object(requests...)))
}

// lifecycleShapes are the handshake, discovery, capabilities and utilities.
var lifecycleShapes = []definition{
	define("Implementation", object(must("name", str), must("version", str), titleField,
		may("description", str).since(Rev20251125), may("websiteUrl", uri).since(Rev20251125), iconsField)),
	define("BaseMetadata", object(must("name", str), titleField)).since(Rev20250618),
	define("Icon", object(must("src", uri), may("mimeType", str), may("sizes", texts),
		may("theme", choice("dark", "light")))).since(Rev20251125),
	define("Icons", object(iconsField)).since(Rev20251125),

	define("ClientCapabilities", object(
		may("experimental", dict(open)),
		may("extensions", dict(open)).since(Rev20260728),
		may("roots", flags("listChanged")).until(Rev20251125),
		may("roots", open).since(Rev20260728),
		may("sampling", open).until(Rev20250618),
		may("sampling", settings("context", "tools")).since(Rev20251125),
		may("elicitation", open).only(Rev20250618),
		may("elicitation", settings("form", "url")).since(Rev20251125),
		may("tasks", taskSettings(
			may("sampling", settings("createMessage")),
			may("elicitation", settings("create")))).only(Rev20251125))),
	define("ServerCapabilities", object(
		may("experimental", dict(open)),
		may("extensions", dict(open)).since(Rev20260728),
		may("tools", flags("listChanged")),
		may("prompts", flags("listChanged")),
		may("resources", flags("listChanged", "subscribe")),
		may("completions", open).since(Rev20250326),
		may("logging", open),
		may("tasks", taskSettings(may("tools", settings("call")))).only(Rev20251125))),

	define("InitializeRequest", request(MethodInitialize, must("params", initializeParams))).until(Rev20251125),
	define("InitializeRequestParams", initializeParams).only(Rev20251125),
	define("InitializeResult", result(
		must("protocolVersion", str),
		must("capabilities", ref("ServerCapabilities")),
		must("serverInfo", ref("Implementation")),
		may("instructions", str))).until(Rev20251125),
	define("InitializedNotification", notification(NotificationInitialized, may("params", bareNotificationParams))).until(Rev20251125),
	define("PingRequest", request(MethodPing, may("params", object(may("_meta", progressMeta))))).until(Rev20251125),
	define("DiscoverRequest", request(MethodDiscover, must("params", requestParams()))).since(Rev20260728),
	define("DiscoverResult", cacheable(
		must("supportedVersions", texts),
		must("capabilities", ref("ServerCapabilities")),
		may("instructions", str))).since(Rev20260728),
	define("DiscoverResultResponse", response(ref("DiscoverResult"))).since(Rev20260728),

	define("CancelledNotification", notification(NotificationCancelled, must("params", cancelledParams))),
	define("CancelledNotificationParams", cancelledParams).since(Rev20251125),
	define("ProgressNotification", notification(NotificationProgress, must("params", progressParams))),
	define("ProgressNotificationParams", progressParams).since(Rev20251125),
	define("LoggingMessageNotification", notification(NotificationMessage, must("params", logParams))),
	define("LoggingMessageNotificationParams", logParams).since(Rev20251125),
	define("SetLevelRequest", request(MethodSetLevel, must("params", levelParams))).until(Rev20251125),
	define("SetLevelRequestParams", levelParams).only(Rev20251125),

	define("SubscriptionFilter", object(
		may("toolsListChanged", boolean), may("promptsListChanged", boolean), may("resourcesListChanged", boolean),
		may("resourceSubscriptions", texts))).since(Rev20260728),
	define("SubscriptionsListenRequest", request(MethodListen, must("params", listenParams))).since(Rev20260728),
	define("SubscriptionsListenRequestParams", listenParams).since(Rev20260728),
	define("SubscriptionsListenResult", object(
		must("_meta", ref("SubscriptionsListenResultMetaObject")), must(FieldResultType, str))).since(Rev20260728),
	define("SubscriptionsListenResultResponse", response(ref("SubscriptionsListenResult"))).since(Rev20260728),
	define("SubscriptionsAcknowledgedNotification",
		notification(NotificationSubscriptionsAck, must("params", acknowledgedParams))).since(Rev20260728),
	define("SubscriptionsAcknowledgedNotificationParams", acknowledgedParams).since(Rev20260728),

	define("Task", object(
		must("taskId", str), must("status", ref("TaskStatus")), must("createdAt", str), must("lastUpdatedAt", str),
		must("ttl", union(integer, null)), may("pollInterval", integer), may("statusMessage", str))).only(Rev20251125),
	define("TaskStatus", choice("cancelled", "completed", "failed", "input_required", "working")).only(Rev20251125),
	define("TaskMetadata", object(may("ttl", integer))).only(Rev20251125),
	define("RelatedTaskMetadata", object(must("taskId", str))).only(Rev20251125),
	define("CreateTaskResult", result(must("task", ref("Task")))).only(Rev20251125),
	define("GetTaskRequest", request(MethodTasksGet, must("params", taskIDParams))).only(Rev20251125),
	define("GetTaskResult", all(ref("Result"), ref("Task"))).only(Rev20251125),
	define("GetTaskPayloadRequest", request(MethodTasksResult, must("params", taskIDParams))).only(Rev20251125),
	define("GetTaskPayloadResult", result()).only(Rev20251125),
	define("CancelTaskRequest", request(MethodTasksCancel, must("params", taskIDParams))).only(Rev20251125),
	define("CancelTaskResult", all(ref("Result"), ref("Task"))).only(Rev20251125),
	define("ListTasksRequest", request(MethodTasksList, optionalParams(pageParams)...)).only(Rev20251125),
	define("ListTasksResult", result(must("tasks", list(ref("Task"))), may("nextCursor", str))).only(Rev20251125),
	define("TaskStatusNotification", notification(NotificationTasksStatus,
		must("params", ref("TaskStatusNotificationParams")))).only(Rev20251125),
	define("TaskStatusNotificationParams", all(ref("NotificationParams"), ref("Task"))).only(Rev20251125),
}
