// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Request is one message to send. [Probe.Request] makes a well-formed one; the
// methods return changed copies, so that a probe and its control differ by one
// call. A change that makes the message wrong must come with [Request.Planting].
type Request struct {
	Method   string
	Revision spec.Revision
	// Planted says what is wrong with the message on purpose, in a few words;
	// empty for a well-formed one.
	Planted string

	id      json.RawMessage // nil: the connection numbers it
	noID    bool            // a notification
	params  []member        // without _meta
	meta    []member
	noMeta  bool
	bare    bool   // no params at all
	text    []byte // replaces the whole text
	header  []wire.HeaderField
	without []string // names of headers that are left out
	verb    string   // HTTP method in place of POST
	bytes   []byte   // replaces the whole HTTP request
}

type member struct {
	name  string
	value json.RawMessage
}

func (r *Request) copy() *Request {
	c := *r
	c.params, c.meta = slices.Clone(r.params), slices.Clone(r.meta)
	c.header, c.without = slices.Clone(r.header), slices.Clone(r.without)
	return &c
}

func put(ms []member, name string, value json.RawMessage) []member {
	i := slices.IndexFunc(ms, func(m member) bool { return m.name == name })
	switch {
	case i < 0 && value == nil:
		return ms
	case i < 0:
		return append(ms, member{name, value})
	case value == nil:
		return slices.Delete(ms, i, i+1)
	}
	ms[i].value = value
	return ms
}

// Planting says that the message is wrong on purpose, and how.
func (r *Request) Planting(what string) *Request {
	c := r.copy()
	c.Planted = what
	return c
}

// Param sets one member of params to a JSON text; an empty one takes it out.
func (r *Request) Param(name, value string) *Request {
	c := r.copy()
	c.params = put(c.params, name, raw(value))
	return c
}

// Meta sets one key of params._meta to a JSON text; an empty one takes it out.
func (r *Request) Meta(key, value string) *Request {
	c := r.copy()
	c.meta = put(c.meta, key, raw(value))
	return c
}

// NoMeta leaves _meta out.
func (r *Request) NoMeta() *Request {
	c := r.copy()
	c.noMeta = true
	return c
}

// NoParams leaves params out, with all that stands in it.
func (r *Request) NoParams() *Request {
	c := r.copy()
	c.bare = true
	return c
}

// WithID sets the id to a JSON text.
func (r *Request) WithID(id string) *Request {
	c := r.copy()
	c.id = raw(id)
	return c
}

// Of makes the message one of another revision: nothing of this one's metadata
// and headers, and rules of this one that look on do not see it.
func (r *Request) Of(rev spec.Revision) *Request {
	c := r.NoMeta()
	c.Revision = rev
	return c
}

// Notification makes the message one without an id.
func (r *Request) Notification() *Request {
	c := r.copy()
	c.noID = true
	return c
}

// Text replaces the whole JSON-RPC text. Headers still mirror what the request
// would have said.
func (r *Request) Text(text string) *Request {
	c := r.copy()
	c.text = []byte(text)
	return c
}

// Header sets an HTTP header, in place of the one the request would have.
func (r *Request) Header(name, value string) *Request {
	c := r.NoHeader(name)
	c.header = append(c.header, wire.HeaderField{Name: name, Value: value})
	return c
}

// AddHeader adds an HTTP header line beside what is there.
func (r *Request) AddHeader(name, value string) *Request {
	c := r.copy()
	c.header = append(c.header, wire.HeaderField{Name: name, Value: value})
	return c
}

// NoHeader leaves an HTTP header out.
func (r *Request) NoHeader(name string) *Request {
	c := r.copy()
	c.without = append(c.without, name)
	c.header = slices.DeleteFunc(c.header, func(f wire.HeaderField) bool { return strings.EqualFold(f.Name, name) })
	return c
}

// Verb replaces POST by another HTTP method. Without [Request.Text] no body is
// sent.
func (r *Request) Verb(method string) *Request {
	c := r.copy()
	c.verb = method
	return c
}

// Bytes replaces the whole HTTP request by the given bytes, on a connection of
// its own. It needs a carrier that can send them; see [Conn.CanSendBytes].
func (r *Request) Bytes(b []byte) *Request {
	c := r.copy()
	c.bytes = b
	return c
}

// Capabilities declares client capabilities, a JSON object. In the handshake era
// a connection declares them and not a request, which stays as it is; see
// [Case.OpenAs].
func (r *Request) Capabilities(object string) *Request {
	if r.Revision.Era() == spec.Legacy {
		return r
	}
	return r.Meta(spec.MetaClientCapabilities, object)
}

// Progress asks for progress under a token, a JSON text.
func (r *Request) Progress(token string) *Request { return r.Meta(spec.MetaProgressToken, token) }

// LogLevel asks for log messages. In the handshake era logging/setLevel does.
func (r *Request) LogLevel(level string) *Request {
	if r.Revision.Era() == spec.Legacy {
		return r
	}
	return r.Meta(spec.MetaLogLevel, string(jsonx.Quote(level)))
}

// Version says another protocol version, in _meta and, over HTTP, in the header;
// in the handshake era in the header alone.
func (r *Request) Version(v string) *Request {
	if r.Revision.Era() == spec.Legacy {
		return r.Header(spec.HeaderProtocolVersion, v)
	}
	return r.Meta(spec.MetaProtocolVersion, string(jsonx.Quote(v)))
}

// Value returns a member of params, nil when it is not there.
func (r *Request) Value(name string) json.RawMessage {
	for _, m := range r.params {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// MetaValue returns a key of params._meta, nil when it is not there.
func (r *Request) MetaValue(key string) json.RawMessage {
	if r.noMeta || r.bare {
		return nil
	}
	for _, m := range r.meta {
		if m.name == key {
			return m.value
		}
	}
	return nil
}

// Encode returns the JSON-RPC text under an id.
func (r *Request) Encode(id json.RawMessage) []byte {
	if r.text != nil {
		return r.text
	}
	b := []byte(`{"jsonrpc":"2.0"`)
	if !r.noID {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(append(b, `,"method":`...), jsonx.Quote(r.Method)...)
	if !r.bare {
		ms := r.params
		if !r.noMeta && len(r.meta) > 0 {
			ms = append(slices.Clone(ms), member{spec.FieldMeta, object(r.meta)})
		}
		if len(ms) > 0 || !r.noID {
			b = append(append(b, `,"params":`...), object(ms)...)
		}
	}
	return append(b, '}')
}

func object(ms []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, jsonx.Quote(m.name)...), ':'), m.value...)
	}
	return append(b, '}')
}

// headers are the HTTP headers that mirror the body, as the revision demands
// (2026-07-28/basic/transports/streamable-http#standard-mcp-request-headers),
// then those of the request's own.
func (r *Request) headers() []wire.HeaderField {
	var out []wire.HeaderField
	add := func(name, value string) {
		left := func(n string) bool { return strings.EqualFold(n, name) }
		if value != "" && !slices.ContainsFunc(r.without, left) {
			out = append(out, wire.HeaderField{Name: name, Value: value})
		}
	}
	if r.Revision.Era() == spec.Modern && r.verb == "" {
		version, _ := jsonx.Text(r.metaOf(spec.MetaProtocolVersion))
		add(spec.HeaderProtocolVersion, version)
		add(spec.HeaderMethod, r.Method)
		if m, ok := spec.MethodAt(r.Method, r.Revision); ok && m.NameFrom != "" {
			name, _ := jsonx.Text(r.Value(m.NameFrom))
			add(spec.HeaderName, spec.EncodeHeaderValue(name))
		}
	}
	return append(out, r.header...)
}

// metaOf is MetaValue even where the body leaves _meta out: one thing wrong at
// a time.
func (r *Request) metaOf(key string) json.RawMessage {
	for _, m := range r.meta {
		if m.name == key {
			return m.value
		}
	}
	return raw(string(jsonx.Quote(r.Revision.String())))
}

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}
