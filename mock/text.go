// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// member is one member of an object that is being written.
type member struct {
	name  string
	value []byte // nil leaves it out
}

// object writes an object. Names are the protocol's own and need no escapes
// but for those of JSON.
func object(ms ...member) json.RawMessage {
	n := 2
	for _, m := range ms {
		n += len(m.name) + len(m.value) + 4
	}
	b := append(make([]byte, 0, n), '{')
	for _, m := range ms {
		if m.value == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, jsonx.Quote(m.name)...)
		b = append(b, ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

func array(es []json.RawMessage) json.RawMessage {
	n := 2
	for _, e := range es {
		n += len(e) + 1
	}
	b := append(make([]byte, 0, n), '[')
	for i, e := range es {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

func quote(s string) []byte { return jsonx.Quote(s) }
func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

func texts(ss []string) json.RawMessage {
	es := make([]json.RawMessage, len(ss))
	for i, s := range ss {
		es[i] = quote(s)
	}
	return array(es)
}

// get returns a member of an object, nil when there is none or raw is no
// object. Of a name that stands twice the last one counts.
func get(raw []byte, name string) jsonx.Raw {
	if jsonx.KindOf(raw) != jsonx.Object {
		return nil
	}
	ms, _ := jsonx.Members(raw, jsonx.Lenient)
	return find(ms, name)
}

func find(ms []jsonx.Member, name string) jsonx.Raw {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Name == name {
			return ms[i].Value
		}
	}
	return nil
}

// word returns a string member, empty when it is absent or no string.
func word(raw []byte, name string) string {
	s, _ := jsonx.Text(get(raw, name))
	return s
}

// with adds members to an object. One that is there already stays, but _meta
// objects are joined. What is no object comes back as it is.
func with(raw []byte, add ...member) json.RawMessage {
	ms, err := jsonx.Members(raw, jsonx.Lenient)
	if err != nil {
		return raw
	}
	out := make([]member, 0, len(ms)+len(add))
	for _, m := range ms {
		out = append(out, member{m.Name, m.Value})
	}
	for _, a := range add {
		switch at := index(out, a.name); {
		case a.value == nil:
		case at < 0:
			out = append(out, a)
		case a.name == "_meta":
			if own, err := jsonx.Members(a.value, jsonx.Lenient); err == nil {
				more := make([]member, len(own))
				for i, m := range own {
					more[i] = member{m.Name, m.Value}
				}
				out[at].value = with(out[at].value, more...)
			}
		}
	}
	return object(out...)
}

func index(ms []member, name string) int {
	for i := range ms {
		if ms[i].name == name {
			return i
		}
	}
	return -1
}

// line returns raw without line breaks between its tokens, so that it can be a
// line of stdio. A text that is not JSON keeps them.
func line(raw []byte) json.RawMessage {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	c, err := jsonx.Compact(raw)
	if err != nil {
		return raw
	}
	return c
}

func response(id, result []byte) []byte {
	return object(member{"jsonrpc", []byte(`"2.0"`)}, member{"id", id}, member{"result", result})
}

func notification(method string, params []byte) []byte {
	return object(member{"jsonrpc", []byte(`"2.0"`)}, member{"method", quote(method)}, member{"params", params})
}
