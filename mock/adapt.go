// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// adapted turns content blocks of a tool's result into text where an older
// revision does not know their type, and leaves out structured content where it
// has none.
func adapted(result json.RawMessage, r spec.Revision) json.RawMessage {
	if r >= spec.Rev20250618 {
		return result
	}
	if get(result, "structuredContent") != nil {
		result = remove(result, "/structuredContent")
	}
	es, err := jsonx.Elements(get(result, "content"), jsonx.Lenient)
	if err != nil {
		return result
	}
	blocks, other := make([]json.RawMessage, len(es)), false
	for i, e := range es {
		var changed bool
		blocks[i], changed = adaptedBlock(e, r)
		other = other || changed
	}
	if !other {
		return result
	}
	return set(result, "/content", array(blocks))
}

// adaptedMessages is adapted for the messages of a prompt.
func adaptedMessages(messages json.RawMessage, r spec.Revision) json.RawMessage {
	es, err := jsonx.Elements(messages, jsonx.Lenient)
	if err != nil {
		return messages
	}
	out := make([]json.RawMessage, len(es))
	for i, e := range es {
		out[i] = json.RawMessage(e)
		if block, changed := adaptedBlock(get(e, "content"), r); changed {
			out[i] = set(out[i], "/content", block)
		}
	}
	return array(out)
}

func adaptedBlock(block jsonx.Raw, r spec.Revision) (json.RawMessage, bool) {
	kind := word(block, "type")
	known := func(r spec.Revision) bool { return slices.Contains(spec.ResultContentTypes(r), kind) }
	if known(r) || !known(spec.Latest) { // what no revision knows was meant
		return json.RawMessage(block), false
	}
	say := "[" + kind + " " + word(block, "mimeType") + "]"
	if uri := word(block, "uri"); uri != "" {
		say = uri
	}
	return textBlock(say), true
}
