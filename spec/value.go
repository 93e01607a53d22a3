// SPDX-License-Identifier: Apache-2.0

package spec

import "slices"

// JSONRPCVersion is the value of every message's jsonrpc member.
const JSONRPCVersion = "2.0"

// Values of resultType in the core protocol (2026-07-28/basic#resulttype).
// Extensions add their own.
const (
	ResultComplete      = "complete"
	ResultInputRequired = "input_required"
)

// Values of cacheScope (2026-07-28/server/utilities/caching).
const (
	CachePublic  = "public"
	CachePrivate = "private"
)

// Values of a content block's type member.
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResource     = "resource"
	ContentResourceLink = "resource_link"
	ContentToolUse      = "tool_use"
	ContentToolResult   = "tool_result"
)

// Members of the 2026-07-28 messages that are not found by name in a table.
const (
	FieldResultType     = "resultType"
	FieldTTL            = "ttlMs"
	FieldCacheScope     = "cacheScope"
	FieldInputRequests  = "inputRequests"
	FieldInputResponses = "inputResponses"
	FieldRequestState   = "requestState"
	FieldCursor         = "cursor"
	FieldNextCursor     = "nextCursor"
	FieldMeta           = "_meta"
)

var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// LogLevels returns the log levels, least severe first (RFC 5424).
func LogLevels() []string { return slices.Clone(logLevels) }

// LogSeverity returns the place of a level in LogLevels; ok is false for a word
// that is no level.
func LogSeverity(level string) (n int, ok bool) {
	n = slices.Index(logLevels, level)
	return n, n >= 0
}

// ContentType is a kind of content block and where it may stand.
type ContentType struct {
	Type string
	// Results may hold it in tools/call results and prompt messages, Sampling
	// in sampling messages.
	Results, Sampling Range
	// NoResults and NoSampling say that it never stands there.
	NoResults, NoSampling bool
}

var contentTable = []ContentType{
	{Type: ContentText},
	{Type: ContentImage},
	{Type: ContentAudio, Results: since(Rev20250326), Sampling: since(Rev20250326)},
	{Type: ContentResource, NoSampling: true},
	{Type: ContentResourceLink, Results: since(Rev20250618), NoSampling: true},
	{Type: ContentToolUse, NoResults: true, Sampling: since(Rev20251125)},
	{Type: ContentToolResult, NoResults: true, Sampling: since(Rev20251125)},
}

// ResultContentTypes returns the content types of tool results and prompt
// messages in a revision.
func ResultContentTypes(r Revision) []string {
	var ts []string
	for _, c := range contentTable {
		if !c.NoResults && c.Results.Contains(r) {
			ts = append(ts, c.Type)
		}
	}
	return ts
}

// SamplingContentTypes returns the content types of sampling messages in a
// revision.
func SamplingContentTypes(r Revision) []string {
	var ts []string
	for _, c := range contentTable {
		if !c.NoSampling && c.Sampling.Contains(r) {
			ts = append(ts, c.Type)
		}
	}
	return ts
}

// ResultTypes returns the resultType values of the core protocol in a
// revision; none before 2026-07-28.
func ResultTypes(r Revision) []string {
	if r.Era() != Modern {
		return nil
	}
	return []string{ResultComplete, ResultInputRequired}
}

// BatchAllowed reports whether a JSON-RPC batch is a legal message
// (2025-03-26/basic#batching).
func BatchAllowed(r Revision) bool { return only(Rev20250326).Contains(r) }

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}
