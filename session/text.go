// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// requestText is one request. params may be nil.
func requestText(id json.RawMessage, method string, params json.RawMessage) []byte {
	b := make([]byte, 0, 64+len(method)+len(params))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	return finishText(b, method, params)
}

func notificationText(method string, params json.RawMessage) []byte {
	return finishText([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func finishText(b []byte, method string, params json.RawMessage) []byte {
	b = append(append(b, `,"method":`...), jsonx.Quote(method)...)
	if len(params) > 0 {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

// pair is one member to write.
type pair struct {
	name  string
	value json.RawMessage
}

// withMembers returns the object with members added. A name that stands in it
// already is left as it is, or replaced when replace says so.
func withMembers(object json.RawMessage, replace bool, add ...pair) (json.RawMessage, error) {
	var ms []jsonx.Member
	if len(object) > 0 {
		var err error
		if ms, err = jsonx.Members(object, jsonx.Strict); err != nil {
			return nil, err
		}
	}
	if len(add) == 0 {
		return object, nil
	}
	b := []byte{'{'}
	member := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, jsonx.Quote(name)...), ':'), value...)
	}
	for _, m := range ms {
		value := []byte(m.Value)
		for i, a := range add {
			if a.name == m.Name {
				if replace {
					value = a.value
				}
				add = append(add[:i:i], add[i+1:]...)
				break
			}
		}
		member(m.Name, value)
	}
	for _, a := range add {
		member(a.name, a.value)
	}
	return append(b, '}'), nil
}

// params puts _meta into the params of a request as the revision demands:
// version, capabilities and client in the modern era (2026-07-28/basic#_meta),
// the progress token in both. What the caller put there is kept.
func (l *link) params(params json.RawMessage, token json.RawMessage) (json.RawMessage, error) {
	if len(params) > 0 && jsonx.KindOf(params) != jsonx.Object {
		return nil, errors.New("params must be an object")
	}
	modern := l.spoken().Era() == spec.Modern
	if !modern && token == nil {
		return params, nil
	}
	if !bytes.Contains(params, []byte(spec.FieldMeta)) && !bytes.Contains(params, []byte(`\u`)) {
		return l.withMeta(params, modern, token)
	}
	var meta []pair
	if modern {
		meta = l.metaPairs()
	}
	if token != nil {
		meta = append(meta, pair{spec.MetaProgressToken, token})
	}
	own := member(params, spec.FieldMeta)
	if own != nil && jsonx.KindOf(own) != jsonx.Object {
		return params, nil // the caller sends a wrong _meta on purpose
	}
	full, err := withMembers(own, false, meta...)
	if err != nil {
		return nil, fmt.Errorf("params._meta: %w", err)
	}
	out, err := withMembers(params, true, pair{spec.FieldMeta, full})
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	return out, nil
}

// metaPairs are the members of _meta that every modern request has.
func (l *link) metaPairs() []pair {
	meta := []pair{
		{spec.MetaProtocolVersion, json.RawMessage(jsonx.Quote(l.spoken().String()))},
		{spec.MetaClientInfo, l.o.ClientInfo},
		{spec.MetaClientCapabilities, l.o.Capabilities},
	}
	if l.o.LogLevel != "" {
		meta = append(meta, pair{spec.MetaLogLevel, json.RawMessage(jsonx.Quote(l.o.LogLevel))})
	}
	return meta
}

// withMeta adds _meta to params that have none, which is what most are: the text
// is taken as it is.
func (l *link) withMeta(params json.RawMessage, modern bool, token json.RawMessage) (json.RawMessage, error) {
	body := bytes.TrimSpace(params)
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := jsonx.Check(body, jsonx.Strict); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	var meta []byte
	if modern {
		var err error
		if meta, err = l.meta(); err != nil {
			return nil, err
		}
	}
	out := make([]byte, 0, len(body)+len(meta)+len(token)+40)
	out = append(out, body[:len(body)-1]...)
	if trimmed := bytes.TrimSpace(out); len(trimmed) > 1 {
		out = append(out, ',')
	}
	out = append(out, `"`+spec.FieldMeta+`":{`...)
	out = append(out, meta...)
	if token != nil {
		if modern {
			out = append(out, ',')
		}
		out = append(append(out, `"`+spec.MetaProgressToken+`":`...), token...)
	}
	return append(out, "}}"...), nil
}

// meta is the text of metaPairs, which is made once for a revision.
func (l *link) meta() ([]byte, error) {
	r := l.spoken()
	l.mu.Lock()
	text, made := l.metaText, l.metaOf == r
	l.mu.Unlock()
	if made {
		return text, nil
	}
	whole, err := withMembers(nil, false, l.metaPairs()...)
	if err != nil {
		return nil, fmt.Errorf("params._meta: %w", err)
	}
	text = whole[1 : len(whole)-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metaText, l.metaOf = text, r
	return text, nil
}

// mirrors says which headers of the protocol the requests of a revision have.
type mirrors struct{ version, method bool }

// mostMirrored is how many there are with the name of a tool and a session.
const mostMirrored = 4

var allMirrors = sync.OnceValue(func() map[spec.Revision]mirrors {
	all := map[spec.Revision]mirrors{}
	for _, r := range spec.All() {
		_, version := spec.HeaderAt(spec.HeaderProtocolVersion, r)
		_, method := spec.HeaderAt(spec.HeaderMethod, r)
		all[r] = mirrors{version, method}
	}
	return all
})

func mirrored(r spec.Revision) mirrors { return allMirrors()[r] }

// header is the HTTP header of a message, nil for other transports. An empty
// method is an answer of ours.
func (l *link) header(method string, params json.RawMessage) []wire.HeaderField {
	if !l.http() {
		return nil
	}
	l.mu.Lock()
	revision, sessionID := l.revision, l.sessionID
	l.mu.Unlock()
	h := make([]wire.HeaderField, 0, mostMirrored)
	add := func(name, value string) { h = append(h, wire.HeaderField{Name: name, Value: value}) }
	mirrors := mirrored(revision)
	if mirrors.version && method != spec.MethodInitialize {
		add(spec.HeaderProtocolVersion, revision.String())
	}
	if sessionID != "" {
		add(spec.HeaderSessionID, sessionID)
	}
	if mirrors.method && method != "" {
		add(spec.HeaderMethod, spec.EncodeHeaderValue(method))
		if m, ok := spec.MethodAt(method, revision); ok && m.NameFrom != "" {
			if name, ok := jsonx.Text(skimmed(params, m.NameFrom)); ok {
				add(spec.HeaderName, spec.EncodeHeaderValue(name))
			}
		}
	}
	return h
}

// paramHeader mirrors arguments into Mcp-Param headers
// (2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters).
func (l *link) paramHeader(schema, params json.RawMessage) ([]wire.HeaderField, error) {
	if len(schema) == 0 || !l.http() || l.spoken().Era() != spec.Modern {
		return nil, nil
	}
	ps, err := spec.ParseParamHeaders(schema)
	if err != nil {
		return nil, err
	}
	fs, err := ps.Fields(member(params, "arguments"))
	if err != nil {
		return nil, err
	}
	out := make([]wire.HeaderField, len(fs))
	for i, f := range fs {
		out[i] = wire.HeaderField{Name: f.Name, Value: f.Value}
	}
	return out, nil
}

// replaceHeader puts own in the place of fields of the same names.
func replaceHeader(base, own []wire.HeaderField) []wire.HeaderField {
	if len(own) == 0 {
		return base
	}
	h := &wire.Head{Header: own}
	var out []wire.HeaderField
	for _, f := range base {
		if _, taken := h.Lookup(f.Name); !taken {
			out = append(out, f)
		}
	}
	return append(out, own...)
}
