// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// set puts a value at a pointer of a JSON text. Members and objects that are
// not there are made; an index one past the end, or -, appends. A pointer that
// leads nowhere changes nothing.
func set(raw []byte, pointer string, value []byte) json.RawMessage {
	tokens, err := jsonx.Tokens(pointer)
	if err != nil {
		return raw
	}
	return edit(raw, tokens, value)
}

// remove takes out the value at a pointer.
func remove(raw []byte, pointer string) json.RawMessage {
	tokens, err := jsonx.Tokens(pointer)
	if err != nil || len(tokens) == 0 {
		return raw
	}
	return edit(raw, tokens, nil)
}

// edit replaces the value that a path leads to; nil takes it out.
func edit(raw []byte, path []string, value []byte) json.RawMessage {
	if len(path) == 0 {
		return value
	}
	switch jsonx.KindOf(raw) {
	case jsonx.Array:
		return editElement(raw, path, value)
	case jsonx.Object:
	case 0:
		if value == nil {
			return raw
		}
		raw = []byte("{}")
	default:
		return raw
	}
	ms := members(raw)
	at := index(ms, path[0])
	if at < 0 {
		if value == nil {
			return raw
		}
		ms, at = append(ms, member{name: path[0]}), len(ms)
	}
	ms[at].value = edit(ms[at].value, path[1:], value)
	return object(ms...)
}

func editElement(raw []byte, path []string, value []byte) json.RawMessage {
	es, err := jsonx.Elements(raw, jsonx.Lenient)
	if err != nil {
		return raw
	}
	i, err := strconv.Atoi(path[0])
	if path[0] == "-" {
		i, err = len(es), nil
	}
	if err != nil || i < 0 || i > len(es) || i == len(es) && value == nil {
		return raw
	}
	out := make([]json.RawMessage, 0, len(es)+1)
	for _, e := range es {
		out = append(out, json.RawMessage(e))
	}
	if i == len(es) {
		out = append(out, nil)
	}
	out[i] = edit(out[i], path[1:], value)
	if out[i] == nil {
		out = append(out[:i], out[i+1:]...)
	}
	return array(out)
}

func replaceFirst(raw []byte, old, with string) json.RawMessage {
	return bytes.Replace(raw, []byte(old), []byte(with), 1)
}
