// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Lookup returns what an RFC 6901 pointer reaches in a JSON text, nil when it
// leads nowhere. It reads a text with bad UTF-8 or repeated names as well: what
// is wrong with the text is the matter of the rule that says so.
func Lookup(text json.RawMessage, pointer string) json.RawMessage {
	ts, err := jsonx.Tokens(pointer)
	if err != nil {
		return nil
	}
	for _, t := range ts {
		switch jsonx.KindOf(text) {
		case jsonx.Object:
			text = value(text, t)
		case jsonx.Array:
			i, err := strconv.Atoi(t)
			es := Elements(text)
			if err != nil || strconv.Itoa(i) != t || i < 0 || i >= len(es) {
				return nil
			}
			text = es[i]
		default:
			return nil
		}
	}
	return text
}

// value is a member of an object, the last one where the name stands twice.
func value(object json.RawMessage, name string) json.RawMessage {
	if jsonx.KindOf(object) != jsonx.Object {
		return nil
	}
	var out json.RawMessage
	for _, m := range jsonx.Skim(object) { // it was read when it came
		if m.Name == name {
			out = json.RawMessage(m.Value)
		}
	}
	return out
}

// dotted is what a path of member names reaches: "tools.listChanged".
func dotted(object json.RawMessage, path string) json.RawMessage {
	for name := range strings.SplitSeq(path, ".") {
		if object = value(object, name); object == nil {
			return nil
		}
	}
	return object
}

// escaped is one reference token of a pointer.
func escaped(token string) string {
	return strings.TrimPrefix(jsonx.Push("", token), "/")
}

// Text is the string in a JSON text, empty for anything else.
func Text(text json.RawMessage) string {
	s, _ := jsonx.Text(text)
	return s
}

// Elements are the elements of an array, none of anything else.
func Elements(text json.RawMessage) []json.RawMessage {
	if jsonx.KindOf(text) != jsonx.Array {
		return nil
	}
	es, _ := jsonx.Elements(text, jsonx.Lenient)
	out := make([]json.RawMessage, len(es))
	for i, e := range es {
		out[i] = json.RawMessage(e)
	}
	return out
}

// Members are the members of an object, none of anything else.
func Members(text json.RawMessage) []jsonx.Member {
	if jsonx.KindOf(text) != jsonx.Object {
		return nil
	}
	return jsonx.Skim(text)
}

// Same reports whether two JSON texts are the same value.
func Same(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := jsonx.Canonical(a)
	y, errY := jsonx.Canonical(b)
	if errX != nil || errY != nil {
		return string(a) == string(b)
	}
	return string(x) == string(y)
}
