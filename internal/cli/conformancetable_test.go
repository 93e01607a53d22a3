// SPDX-License-Identifier: Apache-2.0

//go:build peers

package cli

import (
	"strconv"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// stampPointer leads to what a result says of its server.
const stampPointer = "/result/_meta/io.modelcontextprotocol~1serverInfo"

// calling is the place of the calls of a tool, asking that of those of its
// answers that ask for input.
func calling(tool string) mock.Place {
	return mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", strconv.Quote(tool)))
}

func asking(tool string) mock.Place { return calling(tool).OfType("input_required") }

// refereedFaults are the faults of rules that the suite judges too.
var refereedFaults = []refereed{

	// Metadata of requests, server/discover and versions.
	{"server-stateless", "sep-2575-request-meta-invalid-missing-meta", "meta.missing-meta-32602", 0, nil, ""},
	{"server-stateless", "sep-2575-request-meta-invalid-missing-meta", "meta.missing-meta-32602", 1, nil, "it asks server/discover alone"},
	{"server-stateless", "sep-2575-request-meta-invalid-missing-protocol-version", "meta.missing-version-32602", 0, nil, ""},
	{"server-stateless", "sep-2575-request-meta-invalid-missing-client-capabilities", "meta.missing-capabilities-32602", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-meta-invalid-400", "meta.missing-field-http-400", 0, nil, ""},
	{"server-stateless", "sep-2575-request-meta-client-info-optional", "meta.client-info-not-required", 0, nil, ""},
	{"server-stateless", "sep-2575-server-implements-discover", "discover.implemented", 0, nil, ""},
	{"server-stateless", "sep-2575-server-implements-discover", "discover.result-shape", 0, []mock.Fault{
		mock.On(spec.MethodDiscover).Remove("/result/capabilities"),
	}, ""},
	{"server-stateless", "sep-2575-server-implements-discover", "discover.result-shape", 1, nil, "it asks for the members, not for their types"},
	{"server-stateless", "sep-2575-server-identifies-in-result-meta", "discover.server-info", 0, nil, ""},
	{"server-stateless", "sep-2575-server-identifies-in-result-meta", "discover.legacy-server-info-misplaced", 0, nil, ""},
	{"server-stateless", "sep-2575-server-identifies-in-result-meta", "meta.server-info-stamp", 0, []mock.Fault{
		mock.On(spec.MethodDiscover).Remove(stampPointer),
	}, ""},
	{"server-stateless", "sep-2575-server-identifies-in-result-meta", "meta.server-info-shape", 0, []mock.Fault{
		mock.On(spec.MethodDiscover).Set(stampPointer+"/version", "2"),
	}, "a version that is there is enough for it"},
	{"tools-list", "wire-schema-valid", "meta.server-info-shape", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Set(stampPointer+"/version", "2"),
	}, ""},
	{"server-stateless", "sep-2575-server-declares-prompts-in-discover", "prompts.capability-declared", 0, nil, ""},
	{"server-stateless", "sep-2575-discover-capabilities-match-handlers", "tools.capability-declared", 0, []mock.Fault{
		mock.On(spec.MethodDiscover).Remove("/result/capabilities/tools"),
	}, ""},
	{"server-stateless", "sep-2575-discover-capabilities-match-handlers", "tools.list-answered", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Error(spec.CodeInternalError, "no"),
	}, ""},
	{"server-stateless", "sep-2575-discover-capabilities-match-handlers", "discover.capabilities-truthful", 0, nil, "of what is declared it tries the tools alone"},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "discover.bogus-version", 0, nil, ""},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "discover.supported-versions", 0, nil, ""},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "version.unsupported-32022", 0, []mock.Fault{
		mock.Place{}.When(mock.MetaIs(spec.MetaProtocolVersion, `"v999.0.0"`)).Lenient(mock.CheckVersionUnsupported),
	}, ""},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "version.unsupported-requested", 0, nil, ""},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "version.unsupported-supported-list", 0, nil, ""},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "version.supported-excludes-requested", 0, []mock.Fault{
		mock.Place{}.OfCode(spec.CodeUnsupportedVersion).Set("/error/data/supported/-", `"v999.0.0"`),
	}, ""},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "discover.lists-agree", 0, nil, "some of the supported versions are enough for it"},
	{"server-stateless", "sep-2575-server-unsupported-version-error", "version.all-methods-check", 0, nil, "it asks server/discover alone"},
	{"server-stateless", "sep-2575-http-server-unsupported-version-400", "transport-http.unsupported-version-400", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-header-mismatch-400", "http-header.version-mismatch-32020", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-header-mismatch-400", "http-header.mismatch-status-400", 0, nil, ""},

	// Client capabilities, removed and unknown methods.
	{"server-stateless", "sep-2575-server-rejects-undeclared-capability", "meta.missing-capability-32021", 0, nil, ""},
	{"server-stateless", "sep-2575-server-rejects-undeclared-capability", "meta.missing-capability-data", 0, nil, ""},
	{"server-stateless", "sep-2575-server-rejects-undeclared-capability", "meta.missing-capability-data", 1, nil, ""},
	{"server-stateless", "sep-2575-server-rejects-undeclared-capability", "meta.no-undeclared-capability", 0, nil, ""},
	{"server-stateless", "sep-2575-missing-capability-http-400", "meta.missing-capability-http-400", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404-initialize", "removed.initialize-with-modern-meta", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404-initialize", "era.server-initialize-refused-http", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404-ping", "removed.ping", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404-logging-setlevel", "removed.logging-set-level", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404-resources-subscribe", "removed.resources-subscribe", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404-resources-unsubscribe", "removed.resources-unsubscribe", 0, nil, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404", "transport-http.unknown-method-404", 0, []mock.Fault{
		mock.On("unknown/method").Status(200),
	}, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404", "jsonrpc.method-not-found-32601", 0, []mock.Fault{
		mock.On("unknown/method").Set("/error/code", "-32603"),
	}, ""},
	{"server-stateless", "sep-2575-http-server-method-not-found-404", "jsonrpc.error-code-integer", 0, []mock.Fault{
		mock.On("unknown/method").Set("/error/code", `"-32601"`),
	}, ""},
	{"server-stateless", "sep-2575-http-server-error-jsonrpc-id", "jsonrpc.error-id-match", 0, []mock.Fault{
		mock.On(spec.MethodDiscover).OfError().Set("/id", `"other"`),
	}, ""},
	{"server-stateless", "sep-2575-http-server-error-jsonrpc-id", "jsonrpc.error-id-match", 1, []mock.Fault{
		mock.On(spec.MethodDiscover).OfError().Remove("/id"),
	}, ""},

	// Streams and subscriptions.
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "transport-http.sse-no-server-requests", 0, []mock.Fault{
		calling("test_streaming_elicitation").Request(spec.MethodRootsList, "{}", `"r1"`),
	}, ""},
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "jsonrpc.server-no-requests", 0, []mock.Fault{
		calling("test_streaming_elicitation").Request(spec.MethodRootsList, "{}", "7"),
	}, ""},
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "mrtr.server-requests-only-in-results", 0, []mock.Fault{
		calling("test_streaming_elicitation").Request(spec.MethodElicit, `{"message":"Sure?"}`, `"r1"`),
	}, ""},
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "removed.server-ping", 0, []mock.Fault{
		calling("test_streaming_elicitation").Request(spec.MethodPing, "{}", `"p-1"`),
	}, ""},
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "jsonrpc.request-id-not-null", 0, []mock.Fault{
		calling("test_streaming_elicitation").Request(spec.MethodRootsList, "{}", "null"),
	}, ""},
	{"server-stateless", "sep-2575-http-server-no-independent-requests-on-stream", "jsonrpc.request-id-present", 0, []mock.Fault{
		calling("test_streaming_elicitation").Request(spec.MethodRootsList, "{}", "1.5"),
	}, ""},
	{"server-stateless", "sep-2575-server-no-log-without-loglevel", "logging.opt-in-per-request", 0, nil, ""},
	{"server-stateless", "sep-2575-server-sends-subscription-ack", "subscriptions.ack-sent", 0, []mock.Fault{
		mock.OnNotification(spec.NotificationSubscriptionsAck).Drop(),
	}, ""},
	{"server-stateless", "sep-2575-server-sends-subscription-ack", "subscriptions.ack-first", 0, []mock.Fault{
		mock.OnNotification(spec.NotificationSubscriptionsAck).Before(`{"jsonrpc":"2.0","method":"notifications/early"}`),
	}, ""},
	{"server-stateless", "sep-2575-server-sends-subscription-ack", "subscriptions.nothing-before-ack", 0, nil, ""},
	{"server-stateless", "sep-2575-server-sends-subscription-ack", "subscriptions.http-sse-stream", 0, nil, ""},
	{"server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription", "tools.list-changed-notification", 0, nil, ""},
	{"server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription", "subscriptions.http-sse-stream", 1, nil, ""},
	{"server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription", "subscriptions.no-result-while-open", 0, nil, ""},
	{"server-stateless", "sep-2575-server-sends-subscription-ack", "subscriptions.concurrent", 0, nil, ""},
	{"server-stateless", "sep-2575-server-sends-subscription-ack", "subscriptions.supported", 0, []mock.Fault{
		mock.On(spec.MethodListen).Error(spec.CodeMethodNotFound, "Method not found"),
	}, ""},
	{"server-stateless", "sep-2575-server-tags-subscription-id", "subscriptions.id-on-every-notification", 0, nil, ""},
	{"server-stateless", "sep-2575-server-tags-subscription-id", "subscriptions.id-equals-request-id", 0, nil, "any id is good for it"},
	{"server-stateless", "sep-2575-server-honors-notification-filter", "subscriptions.only-requested-types", 0, []mock.Fault{
		mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", `{"promptsListChanged":true}`)).Lenient(mock.CheckListenFilter),
	}, ""},
	{"server-stateless", "sep-2575-server-honors-notification-filter", "subscriptions.no-request-scoped", 0, []mock.Fault{
		mock.On(spec.MethodListen).Notify(spec.NotificationMessage, `{"level":"info","data":"busy"}`),
	}, "it looks for one notification, that of the tools"},
	{"server-stateless", "sep-2575-server-sends-prompts-list-changed-on-subscription", "prompts.list-changed-notification", 0, nil, ""},
	{"server-sse-multiple-streams", "server-accepts-multiple-post-streams", "jsonrpc.concurrent-ids-correlated", 0, nil, "it reads the status of the answers, and not whose they are"},

	// Caching hints.
	{"caching", "sep-2549-tools-list-caching-hints", "caching.hints-tools-list", 0, nil, ""},
	{"caching", "sep-2549-tools-list-caching-hints", "caching.hints-tools-list", 1, nil, ""},
	{"caching", "sep-2549-prompts-list-caching-hints", "caching.hints-prompts-list", 0, nil, ""},
	{"caching", "sep-2549-prompts-list-caching-hints", "caching.hints-prompts-list", 1, nil, ""},
	{"caching", "sep-2549-resources-list-caching-hints", "caching.hints-resources-list", 0, nil, ""},
	{"caching", "sep-2549-resources-list-caching-hints", "caching.hints-resources-list", 1, nil, ""},
	{"caching", "sep-2549-resources-templates-list-caching-hints", "caching.hints-templates-list", 0, nil, ""},
	{"caching", "sep-2549-resources-templates-list-caching-hints", "caching.hints-templates-list", 1, nil, ""},
	{"caching", "sep-2549-resources-read-caching-hints", "caching.hints-resources-read", 0, nil, ""},
	{"caching", "sep-2549-resources-read-caching-hints", "caching.hints-resources-read", 1, nil, ""},
	{"caching", "sep-2549-ttl-non-negative", "caching.ttl-integer", 0, nil, ""},
	{"caching", "sep-2549-ttl-non-negative", "caching.ttl-integer", 1, nil, ""},
	{"caching", "sep-2549-ttl-non-negative", "caching.ttl-nonnegative", 0, nil, ""},
	{"caching", "sep-2549-cache-scope-valid", "caching.scope-value", 0, nil, ""},
	{"caching", "wire-schema-valid", "discover.cache-hints", 0, nil, "it asks five of the six methods, and not server/discover"},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "caching.interim-none", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/ttlMs", "1000"),
	}, "the schema allows more members than it names"},

	// Lists.
	{"tools-list", "tools-list", "tools.list-shape", 1, nil, ""},
	{"tools-list", "tools-list", "tools.list-shape", 2, nil, ""},
	{"tools-list", "wire-schema-valid", "tools.list-shape", 0, nil, ""},
	{"tools-list", "tools-list", "tools.input-schema-not-null", 0, nil, ""},
	{"tools-list", "wire-schema-valid", "tools.input-schema-root-object", 0, nil, ""},
	{"tools-list", "wire-schema-valid", "tools.input-schema-root-object", 1, nil, ""},
	{"tools-list", "wire-schema-valid", "tools.annotations-shape", 0, nil, ""},
	{"tools-list", "wire-schema-valid", "icons.shape", 0, nil, ""},
	{"tools-list", "wire-schema-valid", "icons.shape", 1, nil, ""},
	{"tools-list", "wire-schema-valid", "icons.shape", 2, nil, "to the schema a size is any string"},
	{"tools-list", "wire-schema-valid", "schema.valid", 0, nil, "the schema of messages says of an inputSchema that it is an object"},
	{"tools-list", "wire-schema-valid", "schema.valid", 1, nil, "the schema of messages says of an inputSchema that it is an object"},
	{"tools-list", "tools-name-format", "tools.name-length", 0, nil, ""},
	{"tools-list", "tools-name-format", "tools.name-charset", 0, nil, ""},
	{"tools-list", "tools-name-format", "tools.name-no-special", 0, nil, ""},
	{"tools-list", "tools-list", "tools.name-unique", 0, nil, "it does not compare the names"},
	{"tools-list", "tools-list-deterministic-order", "tools.list-deterministic-order", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).OnTurn(2).Reverse("/result/tools"),
	}, ""},
	{"tools-list", "wire-schema-valid", "pagination.next-cursor-string", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Set("/result/nextCursor", "null"),
	}, ""},
	{"tools-list", "wire-schema-valid", "jsonrpc.result-type-present", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Remove("/result/resultType"),
	}, ""},
	{"tools-list", "wire-schema-valid", "jsonrpc.result-type-known-values", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Set("/result/resultType", `"done"`),
	}, "to the schema resultType is any string"},
	{"tools-list", "wire-schema-valid", "jsonrpc.version-member", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Remove("/jsonrpc"),
	}, ""},
	{"tools-list", "wire-schema-valid", "jsonrpc.version-member", 1, []mock.Fault{
		mock.On(spec.MethodToolsList).Set("/jsonrpc", "2.0"),
	}, ""},
	{"tools-list", "tools-list", "jsonrpc.result-field", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Set("/result", `"none"`),
	}, ""},
	{"tools-list", "tools-list", "jsonrpc.result-id-match", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Set("/id", `"other"`),
	}, "it takes the answer to an HTTP request for that of its message, whatever id it has"},
	{"prompts-list", "wire-schema-valid", "prompts.item-shape", 0, nil, ""},
	{"prompts-list", "prompts-list", "prompts.list-answered", 0, []mock.Fault{
		mock.On(spec.MethodPromptsList).Error(spec.CodeInternalError, "no"),
	}, ""},
	{"resources-list", "resources-list", "resources.item-shape", 0, nil, ""},
	{"resources-list", "wire-schema-valid", "resources.item-shape", 1, []mock.Fault{
		mock.On(spec.MethodResourcesList).Set("/result/resources/-", `{"uri":"/etc/motd","name":"motd"}`),
	}, ""},
	{"resources-list", "resources-list", "resources.list-answered", 0, []mock.Fault{
		mock.On(spec.MethodResourcesList).Error(spec.CodeInternalError, "no"),
	}, ""},
	{"resources-list", "wire-schema-valid", "resources.annotations-audience", 0, nil, ""},
	{"resources-list", "wire-schema-valid", "resources.annotations-priority", 0, nil, ""},
	{"resources-list", "wire-schema-valid", "resources.annotations-last-modified", 0, nil, "to the schema lastModified is any string"},
	{"resources-list", "wire-schema-valid", "resources.size-integer", 0, nil, ""},
	{"caching", "wire-schema-valid", "resources.template-shape", 0, nil, ""},
	{"caching", "wire-schema-valid", "resources.template-shape", 1, nil, ""},

	// Reading, prompts and completions.
	{"resources-read-text", "resources-read-text", "resources.read-contents", 0, nil, ""},
	{"resources-read-text", "wire-schema-valid", "resources.read-contents", 1, nil, ""},
	{"resources-read-text", "wire-schema-valid", "resources.custom-scheme-rfc3986", 0, nil, ""},
	{"resources-read-text", "wire-schema-valid", "resources.custom-scheme-rfc3986", 1, nil, ""},
	{"resources-read-binary", "resources-read-binary", "resources.binary-base64", 0, nil, "a blob that is there is enough for it"},
	{"sep-2164-resource-not-found", "sep-2164-error-code", "resources.not-found-32602", 0, nil, ""},
	{"sep-2164-resource-not-found", "sep-2164-error-code", "resources.not-found-32602", 1, nil, ""},
	{"sep-2164-resource-not-found", "sep-2164-no-empty-contents", "resources.not-found-no-empty-contents", 0, nil, ""},
	{"sep-2164-resource-not-found", "wire-schema-valid", "jsonrpc.error-shape", 0, []mock.Fault{
		mock.On(spec.MethodResourcesRead).OfError().Remove("/error/message"),
	}, ""},
	{"sep-2164-resource-not-found", "wire-schema-valid", "jsonrpc.error-code-integer", 0, []mock.Fault{
		mock.On(spec.MethodResourcesRead).OfError().Set("/error/code", `"-32602"`),
	}, ""},
	{"sep-2164-resource-not-found", "wire-schema-valid", "jsonrpc.result-xor-error", 0, []mock.Fault{
		mock.On(spec.MethodResourcesRead).OfError().Set("/result", "{}"),
	}, "the schema allows more members than it names"},
	{"sep-2164-resource-not-found", "wire-schema-valid", "jsonrpc.result-xor-error", 1, []mock.Fault{
		mock.On(spec.MethodResourcesRead).OfError().Remove("/error"),
	}, ""},
	{"prompts-get-simple", "wire-schema-valid", "prompts.get-shape", 0, nil, ""},
	{"prompts-get-with-args", "prompts-get-with-args", "prompts.get-shape", 1, nil, ""},
	{"prompts-get-with-image", "wire-schema-valid", "prompts.image-base64", 0, nil, "the validator does not look whether text is Base64"},
	{"prompts-get-with-image", "wire-schema-valid", "prompts.image-base64", 1, nil, "to the schema a MIME type is any string"},
	{"prompts-get-with-image", "wire-schema-valid", "prompts.audio-base64", 0, nil, "the validator does not look whether text is Base64"},
	{"prompts-get-with-image", "wire-schema-valid", "prompts.audio-base64", 1, nil, "to the schema a MIME type is any string"},
	{"prompts-get-embedded-resource", "wire-schema-valid", "prompts.embedded-resource-fields", 0, nil, ""},
	{"completion-complete", "wire-schema-valid", "completion.shape", 0, nil, ""},
	{"completion-complete", "wire-schema-valid", "completion.max-100", 0, nil, ""},
	{"completion-complete", "completion-complete", "completion.shape", 0, []mock.Fault{
		mock.On(spec.MethodComplete).Remove("/result/completion/values"),
	}, ""},
	{"prompts-get-simple", "prompts-get-simple", "prompts.get-shape", 0, []mock.Fault{
		mock.On(spec.MethodPromptsGet).Remove("/result/messages"),
	}, ""},
	{"prompts-get-embedded-resource", "prompts-get-embedded-resource", "prompts.get-shape", 1, nil, ""},
	{"prompts-get-with-image", "prompts-get-with-image", "prompts.get-shape", 1, nil, ""},
	{"resources-templates-read", "resources-templates-read", "resources.read-contents", 0, nil, ""},

	// Calls.
	{"tools-call-simple-text", "tools-call-simple-text", "tools.result-content-array", 0, nil, ""},
	{"tools-call-simple-text", "tools-call-simple-text", "tools.result-content-array", 1, nil, ""},
	{"tools-call-simple-text", "wire-schema-valid", "tools.result-content-types", 0, nil, ""},
	{"tools-call-simple-text", "wire-schema-valid", "tools.result-content-types", 1, nil, ""},
	{"tools-call-image", "wire-schema-valid", "tools.result-binary-base64", 0, nil, "the validator does not look whether text is Base64"},
	{"tools-call-image", "wire-schema-valid", "tools.result-binary-base64", 1, nil, ""},
	{"tools-call-simple-text", "wire-schema-valid", "tools.is-error-boolean", 0, nil, ""},
	{"tools-call-image", "tools-call-image", "tools.result-binary-base64", 1, []mock.Fault{
		calling("test_image_content").Remove("/result/content/0/mimeType"),
	}, ""},
	{"tools-call-audio", "tools-call-audio", "tools.result-binary-base64", 1, []mock.Fault{
		calling("test_audio_content").Remove("/result/content/0/mimeType"),
	}, ""},
	{"tools-call-embedded-resource", "tools-call-embedded-resource", "tools.result-content-types", 1, []mock.Fault{
		calling("test_embedded_resource").Remove("/result/content/0/resource/uri"),
	}, ""},
	{"tools-call-mixed-content", "tools-call-mixed-content", "tools.result-content-array", 1, nil, ""},
	{"tools-call-error", "tools-call-error", "tools.execution-error-is-error", 0, []mock.Fault{
		calling("test_error_handling").Error(spec.CodeInternalError, "the tool failed"),
	}, ""},
	{"tools-call-error", "tools-call-error", "tools.execution-error-content", 0, nil, ""},
	{"tools-call-with-progress", "tools-call-with-progress", "progress.monotonic", 0, []mock.Fault{
		mock.OnNotification(spec.NotificationProgress).Set("/params/progress", "1"),
	}, "to it equal values grow"},
	{"tools-call-with-progress", "tools-call-with-progress", "progress.token-active-only", 0, nil, ""},
	{"tools-call-with-progress", "wire-schema-valid", "progress.shape", 0, nil, ""},
	{"tools-call-with-progress", "wire-schema-valid", "progress.token-type", 1, nil, ""},
	{"tools-call-with-progress", "tools-call-with-progress", "progress.token-type", 0, []mock.Fault{
		mock.OnNotification(spec.NotificationProgress).Set("/params/progressToken", "7"),
	}, ""},

	// Multi round-trip requests.
	{"input-required-result-basic-elicitation", "sep-2322-elicitation-incomplete", "mrtr.result-type-value", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-result-type", "sep-2322-result-type-included", "mrtr.result-type-value", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-result-type", "sep-2322-result-type-included", "jsonrpc.result-type-present", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Remove("/result/resultType"),
	}, ""},
	{"input-required-result-basic-elicitation", "sep-2322-elicitation-incomplete", "mrtr.at-least-one-field", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Remove("/result/inputRequests"),
		asking("test_input_required_result_elicitation").Remove("/result/requestState"),
	}, ""},
	{"input-required-result-basic-elicitation", "sep-2322-elicitation-incomplete", "mrtr.input-request-kinds", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/method", `"dialog/open"`),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "mrtr.input-request-no-id", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/id", "7"),
	}, "the schema allows more members than it names"},
	{"input-required-result-request-state", "sep-2322-request-state-incomplete", "mrtr.request-state-string", 0, []mock.Fault{
		asking("test_input_required_result_request_state").Set("/result/requestState", `{"step":1}`),
	}, ""},
	{"input-required-result-tampered-state", "sep-2322-reject-tampered-state", "mrtr.state-tamper-rejected", 0, nil, ""},
	{"input-required-result-tampered-state", "sep-2322-reject-tampered-state", "mrtr.state-truncated-rejected", 0, nil, ""},
	{"input-required-result-tampered-state", "sep-2322-reject-tampered-state", "mrtr.state-integrity", 0, nil, ""},
	{"input-required-result-missing-input-response", "sep-2322-missing-response-rerequests", "mrtr.missing-response-reasked", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses/wrong_key")).Error(spec.CodeInvalidParams, "an answer is missing"),
	}, ""},
	{"input-required-result-ignore-extra-params", "sep-2322-ignore-unexpected-params", "mrtr.extra-response-ignored", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses/unknown_extra_key")).Error(spec.CodeInvalidParams, "unknown key"),
	}, ""},
	{"input-required-result-validate-input", "sep-2322-validate-input-responses", "mrtr.responses-validated", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.ParamIs("/inputResponses/user_name", "12345")).Lenient(mock.CheckInputsMalformed),
	}, ""},
	{"input-required-result-validate-input", "sep-2322-validate-input-responses", "mrtr.malformed-responses-error", 0, nil, ""},
	{"input-required-result-validate-input", "sep-2322-error-on-protocol-error", "mrtr.malformed-responses-error", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.ParamIs("/inputResponses", "null")).Result(`{"resultType":"complete","content":[]}`),
	}, ""},
	{"input-required-result-unsupported-methods", "sep-2322-not-on-unsupported-requests", "mrtr.supported-methods-only", 0, []mock.Fault{
		mock.On(spec.MethodPromptsList).Set("/result/resultType", `"input_required"`),
		mock.On(spec.MethodPromptsList).Set("/result/requestState", `"s"`),
	}, ""},
	{"input-required-result-unsupported-methods", "sep-2322-not-on-unsupported-requests", "jsonrpc.result-type-complete-on-success", 0, []mock.Fault{
		mock.On(spec.MethodToolsList).Set("/result/resultType", `"input_required"`),
	}, ""},
	{"input-required-result-capability-check", "sep-2322-respect-client-capabilities", "mrtr.undeclared-capability", 0, []mock.Fault{
		calling("test_input_required_result_capabilities").Lenient(mock.CheckClientCapability),
	}, ""},
	{"input-required-result-capability-check", "sep-2322-respect-client-capabilities", "roots.undeclared-not-asked", 0, []mock.Fault{
		asking("test_input_required_result_capabilities").Set("/result/inputRequests/folders", `{"method":"roots/list"}`),
	}, "it looks for elicitations alone"},
	{"input-required-result-basic-elicitation", "sep-2322-elicitation-complete", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-basic-sampling", "sep-2322-sampling-incomplete", "mrtr.result-type-value", 0, []mock.Fault{
		asking("test_input_required_result_sampling").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-basic-sampling", "sep-2322-sampling-complete", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-basic-list-roots", "sep-2322-list-roots-incomplete", "mrtr.result-type-value", 0, []mock.Fault{
		asking("test_input_required_result_list_roots").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-basic-list-roots", "sep-2322-list-roots-complete", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-request-state", "sep-2322-request-state-complete", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-multiple-input-requests", "sep-2322-multiple-inputs-incomplete", "mrtr.result-type-value", 0, []mock.Fault{
		asking("test_input_required_result_multiple_inputs").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-multiple-input-requests", "sep-2322-multiple-inputs-complete", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-multi-round", "sep-2322-multi-round-r1", "mrtr.result-type-value", 0, []mock.Fault{
		asking("test_input_required_result_multi_round").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-multi-round", "sep-2322-multi-round-r2", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-multi-round", "sep-2322-multi-round-r3", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses/step2")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},
	{"input-required-result-non-tool-request", "sep-2322-non-tool-incomplete", "mrtr.result-type-value", 0, []mock.Fault{
		mock.On(spec.MethodPromptsGet).OfType("input_required").Set("/result/resultType", `"complete"`),
	}, ""},
	{"input-required-result-non-tool-request", "sep-2322-non-tool-complete", "mrtr.retry-self-contained", 0, []mock.Fault{
		mock.On(spec.MethodPromptsGet).When(mock.HasParam("/inputResponses")).Error(spec.CodeInvalidParams, "unknown state"),
	}, ""},

	// What is asked: elicitations and samplings.
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.form-schema-present", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Remove("/result/inputRequests/user_name/params/requestedSchema"),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.form-schema-flat", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/params/requestedSchema/properties/place", `{"type":"object","properties":{}}`),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.form-string-formats", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/params/requestedSchema/properties/name/format", `"ipv4"`),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.message-present", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Remove("/result/inputRequests/user_name/params/message"),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.mode-present", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/params/mode", `"dialog"`),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.url-fields", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/params", `{"mode":"url","message":"Look."}`),
	}, ""},
	{"input-required-result-basic-elicitation", "wire-schema-valid", "elicitation.url-valid", 0, []mock.Fault{
		asking("test_input_required_result_elicitation").Set("/result/inputRequests/user_name/params", `{"mode":"url","message":"Look.","url":"look here"}`),
	}, ""},
	{"input-required-result-basic-sampling", "wire-schema-valid", "sampling.request-shape", 0, []mock.Fault{
		asking("test_input_required_result_sampling").Remove("/result/inputRequests/capital_question/params/maxTokens"),
	}, ""},
	{"input-required-result-basic-sampling", "wire-schema-valid", "sampling.message-shape", 0, []mock.Fault{
		asking("test_input_required_result_sampling").Set("/result/inputRequests/capital_question/params/messages/0/role", `"system"`),
	}, ""},
	{"input-required-result-basic-sampling", "wire-schema-valid", "sampling.priorities-range", 0, []mock.Fault{
		asking("test_input_required_result_sampling").Set("/result/inputRequests/capital_question/params/modelPreferences/costPriority", "7"),
	}, ""},

	// Headers.
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.method-mismatch-32020", 0, nil, ""},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.method-missing-32020", 0, nil, ""},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.name-mismatch-tools", 0, nil, ""},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.name-missing-32020", 0, nil, ""},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.mismatch-status-400", 0, nil, ""},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "transport-http.header-values-case-sensitive", 0, nil, ""},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.name-mismatch-prompts", 0, nil, "it compares the names of tools alone"},
	{"http-header-validation", "sep-2243-server-reject-invalid-headers", "http-header.name-mismatch-resources", 0, nil, "it compares the names of tools alone"},
	{"http-header-validation", "sep-2243-server-reject-error-code", "http-header.mismatch-jsonrpc-body", 0, nil, ""},
	{"http-header-validation", "sep-2243-header-name-case-insensitive", "transport-http.header-names-case-insensitive", 0, nil, "a server behind sockets reads header names in one form, so only inside the process does it break"},
	{"http-header-validation", "sep-2243-header-name-case-insensitive", "transport-http.header-names-case-insensitive", 1, nil, "a server behind sockets reads header names in one form, so only inside the process does it break"},
	{"http-custom-header-server-validation", "sep-2243-server-decode-base64", "x-mcp-header.server-decodes", 0, nil, ""},
	{"http-custom-header-server-validation", "sep-2243-server-reject-invalid-param-chars", "http-header.base64-malformed", 0, nil, ""},
	{"http-custom-header-server-validation", "sep-2243-server-reject-param-mismatch", "x-mcp-header.server-refuses-missing", 0, nil, ""},
	{"http-custom-header-server-validation", "sep-2243-server-validate-param-match", "x-mcp-header.server-refuses-missing", 0, nil, ""},
	{"http-custom-header-server-validation", "sep-2243-server-reject-invalid-param-chars", "x-mcp-header.server-checks-match", 0, nil, ""},
	{"dns-rebinding-protection", "localhost-host-rebinding-rejected", "transport-http.origin-validated", 0, []mock.Fault{
		mock.Lenient(mock.CheckOrigin), mock.Lenient(mock.CheckHost), // it sends both foreign at once
	}, ""},
	{"dns-rebinding-protection", "localhost-host-valid-accepted", "base.answers", 0, []mock.Fault{
		mock.Place{}.Status(500),
	}, ""},
	{"dns-rebinding-protection", "localhost-host-rebinding-rejected", "sec.origin-prefix", 0, nil, "it tries one foreign origin, and none that looks alike"},
	{"dns-rebinding-protection", "localhost-host-rebinding-rejected", "transport-http.origin-validated", 1, nil, "it tries one foreign origin, and none over https"},
	{"dns-rebinding-protection", "localhost-host-rebinding-rejected", "transport-http.origin-null-rejected", 0, nil, "it tries one foreign origin, and not null"},
	{"dns-rebinding-protection", "localhost-host-rebinding-rejected", "transport-http.origin-403", 0, []mock.Fault{
		mock.Place{}.When(mock.HeaderIs("Origin", "http://evil.example.com")).Status(401),
	}, "any status from 400 to 499 is right for it"},
}

// suiteAlone are checks of the suite, and scenarios by the start of their name,
// that no rule of ours judges, each with the reason.
var suiteAlone = map[string]string{
	"json-schema-2020-12": "whether the fixture's schema comes out as it went in, which nobody can say of an unknown server",
	"tasks-":              "the tasks extension has no rules yet",

	"sep-2164-data-uri": "the specification has the URI in an example of the error's data, and asks for it nowhere",
	"sep-2243-server-accepts-whitespace-header-value": "white space around a header's value is that of HTTP, and never reaches the server's own code",
	"server-sse-streams-functional":                   "of a server that answers by JSON it has nothing to say",
}
