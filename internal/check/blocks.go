// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
)

// block is one content block, or anything else that a message holds, and where
// it was seen.
type block struct {
	raw     json.RawMessage
	x       *probe.Exchange
	pointer string // into the message
}

func (b block) text(name string) string { return probe.Text(b.get(name)) }

func (b block) get(name string) json.RawMessage { return probe.Lookup(b.raw, jsonx.Push("", name)) }

// at is the block below a member.
func (b block) at(name string) block {
	return block{b.get(name), b.x, jsonx.Push(b.pointer, name)}
}

// resultBlocks are the elements of an array in the complete results of a method.
func resultBlocks(t *probe.Traffic, method, member string) []block {
	var out []block
	for _, x := range completes(t, method) {
		for i, e := range probe.Elements(x.Member(member)) {
			out = append(out, block{e, x, jsonx.Push("/result", member) + "/" + strconv.Itoa(i)})
		}
	}
	return out
}

// readBlocks are the contents of resources that were read.
func readBlocks(t *probe.Traffic) []block {
	return resultBlocks(t, spec.MethodResourcesRead, "contents")
}

// toolBlocks are the content blocks of tool results.
func toolBlocks(t *probe.Traffic) []block { return resultBlocks(t, spec.MethodToolsCall, "content") }

// promptBlocks are the content blocks of prompt messages.
func promptBlocks(t *probe.Traffic) []block {
	out := resultBlocks(t, spec.MethodPromptsGet, "messages")
	for i := range out {
		out[i] = out[i].at("content")
	}
	return out
}

// listBlocks are the items of a list.
func listBlocks(t *probe.Traffic, method string) []block {
	var out []block
	for _, item := range t.Items(method) {
		if applies(t, item.Page) {
			out = append(out, block{item.Raw, item.Page, item.Pointer})
		}
	}
	return out
}

// judgeBase64 judges a text that must be Base64 by RFC 4648 section 4. What
// only strict decoders refuse is a warning.
func judgeBase64(l *ledger, b block, what string) {
	if jsonx.KindOf(b.raw) != jsonx.String {
		return // its type is the schema's matter
	}
	s := probe.Text(b.raw)
	if _, err := base64.StdEncoding.DecodeString(s); err == nil && !strings.ContainsAny(s, "\r\n") {
		l.c.Pass(b.x)
		return
	}
	kind, why := "base64", ""
	bare := strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return -1
		}
		return r
	}, s), "=")
	switch {
	case strings.ContainsAny(s, "\r\n"):
		why = "is broken over lines"
	case decodes(base64.RawStdEncoding, bare):
		why = "has wrong padding"
	case decodes(base64.RawURLEncoding, bare):
		why = "is in the alphabet for URLs"
	}
	if why != "" && (decodes(base64.RawStdEncoding, bare) || decodes(base64.RawURLEncoding, bare)) {
		l.warn(kind+why, b.pointer, b.x, "%s %s: strict decoders refuse it", what, why).In(b.x.Response, b.pointer)
		return
	}
	l.fail(kind, b.pointer, b.x, "%s is not Base64: %s", what, jsonQuote(s)).In(b.x.Response, b.pointer)
}

func decodes(e *base64.Encoding, s string) bool {
	_, err := e.DecodeString(s)
	return err == nil
}

// isMediaType reports whether a text is a media type of the form type/subtype,
// with or without parameters.
func isMediaType(s string) bool {
	t, _, err := mime.ParseMediaType(s)
	if err != nil {
		return false
	}
	top, sub, ok := strings.Cut(t, "/")
	return ok && top != "" && sub != ""
}

// contentBytes is the size of what was read, -1 when it is in several parts or
// cannot be decoded.
func contentBytes(x *probe.Exchange) int64 {
	parts := probe.Elements(x.Member("contents"))
	if len(parts) != 1 {
		return -1
	}
	if text, ok := jsonx.Text(probe.Lookup(parts[0], "/text")); ok {
		return int64(len(text))
	}
	if blob, ok := jsonx.Text(probe.Lookup(parts[0], "/blob")); ok {
		if b, err := base64.StdEncoding.DecodeString(blob); err == nil {
			return int64(len(b))
		}
	}
	return -1
}

// wholeNumber reads a JSON number of plain digits.
func wholeNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}

// jsonText is the string in a JSON text; ok is false for anything else.
func jsonText(raw json.RawMessage) (s string, ok bool) { return jsonx.Text(raw) }

// orNothing is a foreign JSON value for a message, also where there is none.
func orNothing(raw json.RawMessage) string {
	if raw == nil {
		return "missing"
	}
	return clipped(string(raw))
}
