// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// request is one message of a client, and where its answer goes.
type request struct {
	*wire.Message
	params     []jsonx.Member
	metas      []jsonx.Member // of params._meta
	revision   spec.Revision
	peer       *peer              // of a legacy session or a stdio connection; nil elsewhere
	header     http.Header        // over HTTP
	sent       []wire.HeaderField // its names as they were spelled, inside the process
	connection int                // its number
	socket     bool               // the connection is a socket, of which a client may have many
	page       int                // of a list, from 1
	faults     []*Fault           // those that may apply to this request
	sealed     bool               // the result was finished when the script was read
	interim    bool               // the result is finished, and not a complete one
	noted      *Seen              // what is kept of it, nil for nothing

	// send puts a message on the request's own stream before the answer; a
	// carrier that cannot does nothing.
	send func(message []byte)
	// mute tells that the carrier can send nothing before the answer.
	mute bool
	// hide closes the stream for a while, where the carrier can.
	hide func()
	// over tells that nothing may be sent for the request any more.
	over func() bool
}

func newRequest(m *wire.Message) *request {
	q := &request{Message: m, page: 1, send: func([]byte) {}, hide: func() {}, over: func() bool { return false }}
	if jsonx.KindOf(m.Params) == jsonx.Object {
		q.params, _ = jsonx.Members(m.Params, jsonx.Lenient)
		if meta := q.param(spec.FieldMeta); jsonx.KindOf(meta) == jsonx.Object {
			q.metas, _ = jsonx.Members(meta, jsonx.Lenient)
		}
	}
	return q
}

func (q *request) param(name string) jsonx.Raw { return find(q.params, name) }

// text returns a parameter that must be a string. A lenient server takes what
// is no string for its JSON text.
func (q *request) text(name string) (string, *Error) {
	v := q.param(name)
	s, ok := jsonx.Text(v)
	switch {
	case ok:
		return s, nil
	case q.lenient(CheckParamsMistyped):
		return string(v), nil
	}
	return "", invalidParams("%s must be a string", name)
}

func (q *request) modern() bool { return q.revision.Era() == spec.Modern }

// meta returns a member of params._meta.
func (q *request) meta(key string) jsonx.Raw { return find(q.metas, key) }

// claimsModern reports whether a request is one of the modern era: it carries
// what only such requests carry.
func (q *request) claimsModern() bool {
	return q.meta(spec.MetaProtocolVersion) != nil || q.meta(spec.MetaClientCapabilities) != nil
}

// missesModern reports whether a request is taken for one of the modern era
// though it carries nothing that tells so, by a leniency of the script.
func (q *request) missesModern() bool {
	return q.lenient(CheckMetaMissing) || q.lenient(CheckMetaVersionMissing)
}

// emit sends a notification or request on the stream of the request, as the
// faults that stand there say.
func (q *request) emit(s *Server, method string, message []byte) {
	if q.over() {
		return
	}
	texts, delay := s.sent(q, method, message)
	if pause(s.life, delay) != nil && delay > 0 {
		return
	}
	if q.find(OpAside) != nil {
		s.aside(q, texts)
		return
	}
	for _, t := range texts {
		q.send(t)
	}
}

// begins reports whether a request begins the handshake of the legacy era. One
// that carries the modern _meta is a modern request for a method that is gone.
func (q *request) begins() bool { return q.Method == spec.MethodInitialize && !q.claimsModern() }

// checkModern holds a request to what every request of the modern era needs,
// and finds out its revision. Without a header the transport is stdio.
func (s *Server) checkModern(q *request) *Error {
	q.revision = spec.Latest // for errors until the real one is known
	if q.begins() {
		if q.lenient(CheckEraInitialize) {
			q.revision = spec.Rev20251125
			return nil
		}
		// 2026-07-28/basic/versioning: name the versions to a legacy client.
		version, _ := jsonx.Text(q.param("protocolVersion"))
		return s.unsupportedVersion(version)
	}
	version, e := s.checkMeta(q)
	if e != nil {
		return e
	}
	if q.header != nil {
		if e := s.checkHeaders(q, version); e != nil {
			return e
		}
	}
	r, err := spec.ParseRevision(version)
	if err != nil || r.Era() != spec.Modern || !s.serves(r) {
		if !q.lenient(CheckVersionUnsupported) {
			return s.unsupportedVersion(version)
		}
		r = spec.Latest
	}
	q.revision = r
	if level := q.meta(spec.MetaLogLevel); level != nil && !q.lenient(CheckLogLevel) {
		word, _ := jsonx.Text(level)
		if _, ok := spec.LogSeverity(word); !ok {
			return invalidParams("%s must be a log level", spec.MetaLogLevel)
		}
	}
	return nil
}

// checkMeta looks for the fields that every modern request has, and returns the
// version.
func (s *Server) checkMeta(q *request) (string, *Error) {
	claimed, capabilities := q.meta(spec.MetaProtocolVersion), q.meta(spec.MetaClientCapabilities)
	missing := q.lenient(CheckMetaMissing) && q.metas == nil
	version, ok := jsonx.Text(claimed)
	switch {
	case ok:
	case missing,
		claimed == nil && q.lenient(CheckMetaVersionMissing),
		claimed != nil && q.lenient(CheckMetaMistyped):
		if version = q.header.Get(spec.HeaderProtocolVersion); version == "" {
			version = spec.Latest.String()
		}
	default:
		return "", missingMeta(spec.MetaProtocolVersion, "a string")
	}
	switch {
	case jsonx.KindOf(capabilities) == jsonx.Object, missing,
		capabilities == nil && q.lenient(CheckMetaCapabilitiesMissing),
		capabilities != nil && q.lenient(CheckMetaMistyped):
		return version, nil
	}
	return "", missingMeta(spec.MetaClientCapabilities, "an object")
}

func missingMeta(key, kind string) *Error {
	e := invalidParams("_meta must have %s, %s", key, kind)
	e.status = spec.StatusMissingMeta
	return e
}

// seal finishes a result of the modern era: its type, the server's stamp, and
// caching hints where the method has them.
func (s *Server) seal(result json.RawMessage, cacheable bool) json.RawMessage {
	add := []member{{spec.FieldResultType, quote(spec.ResultComplete)}, {spec.FieldMeta, s.stamp}}
	if cacheable {
		scope := s.script.CacheScope
		if scope == "" {
			scope = spec.CachePrivate
		}
		add = append(add, member{spec.FieldTTL, number(s.script.TTL)}, member{spec.FieldCacheScope, quote(scope)})
	}
	return with(result, add...)
}

// answer makes the correct answer to a request whose revision is known.
func (s *Server) answer(ctx context.Context, q *request) (json.RawMessage, *Error) {
	m, e := s.method(q)
	if e != nil {
		return nil, e
	}
	if m.ParamsRequired && jsonx.KindOf(q.Params) != jsonx.Object && !q.lenient(CheckParamsMissing) && !q.lenient(CheckMetaMissing) {
		return nil, invalidParams("params must be an object")
	}
	h := handlers[q.Method]
	if x, ok := s.extension(q); ok {
		h = x
	}
	if h == nil { // a lenient server knows no better answer
		h = (*Server).ping
	}
	result, e := h(s, ctx, q)
	switch {
	case e != nil || !q.modern() || q.sealed:
		return result, e
	case q.interim:
		return with(result, member{spec.FieldMeta, s.stamp}), nil
	}
	return s.seal(result, m.Cacheable), nil
}

// handlers answer the requests of clients.
var handlers = map[string]func(*Server, context.Context, *request) (json.RawMessage, *Error){
	spec.MethodInitialize:            (*Server).initialize,
	spec.MethodDiscover:              (*Server).discover,
	spec.MethodPing:                  (*Server).ping,
	spec.MethodToolsList:             (*Server).list,
	spec.MethodResourcesList:         (*Server).list,
	spec.MethodResourceTemplatesList: (*Server).list,
	spec.MethodPromptsList:           (*Server).list,
	spec.MethodToolsCall:             (*Server).callTool,
	spec.MethodResourcesRead:         (*Server).readResource,
	spec.MethodPromptsGet:            (*Server).getPrompt,
	spec.MethodComplete:              (*Server).complete,
	spec.MethodSetLevel:              (*Server).setLevel,
	spec.MethodResourcesSubscribe:    (*Server).subscribe,
	spec.MethodResourcesUnsubscribe:  (*Server).unsubscribe,
	spec.MethodListen:                (*Server).listen,
	spec.MethodTasksGet:              (*Server).taskGet,
	spec.MethodTasksResult:           (*Server).taskResult,
	spec.MethodTasksList:             (*Server).taskList,
	spec.MethodTasksCancel:           (*Server).taskCancel,
}

// method returns the facts of a request method, if the server serves it: the
// revision has it, clients may send it, and its capability is declared.
func (s *Server) method(q *request) (spec.Method, *Error) {
	m, ok := spec.MethodAt(q.Method, q.revision)
	if !ok || m.Kind != spec.Request || !m.Direction.Includes(spec.ClientToServer) {
		if _, ours := s.extension(q); ours {
			return spec.Method{Name: q.Method, ParamsRequired: true}, nil
		}
		_, elsewhere := handlers[q.Method]
		if q.lenient(CheckMethodUnknown) || elsewhere && q.lenient(CheckMethodRemoved) {
			return spec.Method{Name: q.Method}, nil
		}
		return m, methodNotFound(q.Method)
	}
	if path := m.Capability.Path; path != "" && m.Capability.Side != spec.Client && !s.declares(path) && !q.lenient(CheckCapabilityUndeclared) {
		return m, methodNotFound(q.Method)
	}
	return m, nil
}
