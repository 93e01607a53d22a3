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
	params   []jsonx.Member
	metas    []jsonx.Member // of params._meta
	revision spec.Revision
	peer     *peer       // of a legacy session or a stdio connection; nil elsewhere
	header   http.Header // over HTTP
	page     int         // of a list, from 1
	faults   []*Fault    // those that apply to this request
	sealed   bool        // the result was finished when the script was read

	// send puts a message on the request's own stream before the answer; a
	// carrier that cannot does nothing.
	send func(message []byte)
}

func newRequest(m *wire.Message) *request {
	q := &request{Message: m, page: 1, send: func([]byte) {}}
	if jsonx.KindOf(m.Params) == jsonx.Object {
		q.params, _ = jsonx.Members(m.Params, jsonx.Lenient)
		if meta := q.param(spec.FieldMeta); jsonx.KindOf(meta) == jsonx.Object {
			q.metas, _ = jsonx.Members(meta, jsonx.Lenient)
		}
	}
	return q
}

func (q *request) param(name string) jsonx.Raw { return find(q.params, name) }

// text returns a parameter that must be a string.
func (q *request) text(name string) (string, *Error) {
	s, ok := jsonx.Text(q.param(name))
	if !ok {
		return "", invalidParams("%s must be a string", name)
	}
	return s, nil
}

func (q *request) modern() bool { return q.revision.Era() == spec.Modern }

// meta returns a member of params._meta.
func (q *request) meta(key string) jsonx.Raw { return find(q.metas, key) }

// claimsModern reports whether a request is one of the modern era: it carries
// what only such requests carry.
func (q *request) claimsModern() bool {
	return q.meta(spec.MetaProtocolVersion) != nil || q.meta(spec.MetaClientCapabilities) != nil
}

// checkModern holds a request to what every request of the modern era needs,
// and finds out its revision. Without a header the transport is stdio.
func (s *Server) checkModern(q *request) *Error {
	q.revision = spec.Latest // for errors until the real one is known
	if q.Method == spec.MethodInitialize {
		// 2026-07-28/basic/versioning: name the versions to a legacy client.
		version, _ := jsonx.Text(q.param("protocolVersion"))
		return s.unsupportedVersion(version)
	}
	version, ok := jsonx.Text(q.meta(spec.MetaProtocolVersion))
	if !ok {
		return missingMeta(spec.MetaProtocolVersion, "a string")
	}
	if jsonx.KindOf(q.meta(spec.MetaClientCapabilities)) != jsonx.Object {
		return missingMeta(spec.MetaClientCapabilities, "an object")
	}
	if q.header != nil {
		if e := s.checkHeaders(q, version); e != nil {
			return e
		}
	}
	r, err := spec.ParseRevision(version)
	if err != nil || r.Era() != spec.Modern || !s.serves(r) {
		return s.unsupportedVersion(version)
	}
	q.revision = r
	if level := q.meta(spec.MetaLogLevel); level != nil {
		word, _ := jsonx.Text(level)
		if _, ok := spec.LogSeverity(word); !ok {
			return invalidParams("%s must be a log level", spec.MetaLogLevel)
		}
	}
	return nil
}

func missingMeta(key, kind string) *Error {
	e := invalidParams("_meta must have %s, %s", key, kind)
	e.status = spec.StatusMissingMeta
	return e
}

// checkHeaders compares the headers with the body they mirror
// (2026-07-28/basic/transports/streamable-http#server-validation).
func (s *Server) checkHeaders(q *request, version string) *Error {
	mirror := func(name, want string, decode bool) *Error {
		values := q.header.Values(name)
		if len(values) != 1 {
			return headerMismatch("%s must be sent once, came %d times", name, len(values))
		}
		got := values[0]
		if decode {
			var err error
			if got, err = spec.DecodeHeaderValue(got); err != nil {
				return headerMismatch("%s: %v", name, err)
			}
		}
		if got != want {
			return headerMismatch("%s is %q, the body says %q", name, clip(got), clip(want))
		}
		return nil
	}
	if e := mirror(spec.HeaderProtocolVersion, version, false); e != nil {
		return e
	}
	if e := mirror(spec.HeaderMethod, q.Method, false); e != nil {
		return e
	}
	m, _ := spec.MethodAt(q.Method, spec.Latest)
	if m.NameFrom != "" {
		name, ok := jsonx.Text(q.param(m.NameFrom))
		if !ok && len(q.header.Values(spec.HeaderName)) == 0 {
			return nil // nothing to mirror; the params themselves are wrong
		}
		if e := mirror(spec.HeaderName, name, true); e != nil {
			return e
		}
	}
	if q.Method != spec.MethodToolsCall {
		return nil
	}
	name, _ := jsonx.Text(q.param("name"))
	if t := s.toolAt[name]; t != nil {
		return checkParamHeaders(q, t)
	}
	return nil
}

// checkParamHeaders: a value without its header, or an unequal one, is refused.
func checkParamHeaders(q *request, t *tool) *Error {
	for _, p := range t.headers.Valid {
		v := q.param("arguments")
		for _, name := range p.Path {
			v = get(v, name)
		}
		if k := jsonx.KindOf(v); k == 0 || k == jsonx.Null {
			continue
		}
		values := q.header.Values(p.HeaderName())
		if len(values) != 1 {
			return headerMismatch("%s must be sent once, came %d times", p.HeaderName(), len(values))
		}
		if same, err := p.Matches(values[0], v); err != nil || !same {
			return headerMismatch("%s does not say what the argument says", p.HeaderName())
		}
	}
	return nil
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
	m, ok := s.method(q.Method, q.revision)
	if !ok {
		return nil, methodNotFound(q.Method)
	}
	if m.ParamsRequired && q.params == nil && jsonx.KindOf(q.Params) != jsonx.Object {
		return nil, invalidParams("params must be an object")
	}
	h := handlers[q.Method]
	if h == nil {
		return nil, methodNotFound(q.Method)
	}
	result, e := h(s, ctx, q)
	if e != nil || !q.modern() || q.sealed {
		return result, e
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
}
