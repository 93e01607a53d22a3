// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// initialize agrees on the revision asked for, or names the newest that is
// served (2025-11-25/basic/lifecycle#version-negotiation).
func (s *Server) initialize(_ context.Context, q *request) (json.RawMessage, *Error) {
	version, e := q.text("protocolVersion")
	if e != nil {
		return nil, e
	}
	if jsonx.KindOf(q.param("capabilities")) != jsonx.Object || jsonx.KindOf(q.param("clientInfo")) != jsonx.Object {
		return nil, invalidParams("capabilities and clientInfo must be objects")
	}
	r, err := spec.ParseRevision(version)
	if err != nil || r.Era() != spec.Legacy || !s.serves(r) {
		r = s.newestLegacy
	}
	if r == 0 {
		r = q.revision // of a lenient server that has no legacy era
	}
	c := s.catalog.Load()
	if q.peer != nil { // of a lenient server there may be none
		q.peer.begin(r, q.param("capabilities"))
		q.peer.tell(c.declared)
	}
	return object(
		member{"protocolVersion", quote(r.String())}, member{"capabilities", s.shownCapabilities(c, r)},
		member{"serverInfo", s.info}, member{"instructions", s.instructions()},
	), nil
}

func (s *Server) instructions() []byte {
	if s.script.Instructions == "" {
		return nil
	}
	return quote(s.script.Instructions)
}

// discover tells a modern client what the server is
// (2026-07-28/server/discover).
func (s *Server) discover(_ context.Context, q *request) (json.RawMessage, *Error) {
	return object(
		member{"supportedVersions", texts(s.names)}, member{"capabilities", s.shownCapabilities(s.catalog.Load(), q.revision)},
		member{"instructions", s.instructions()},
	), nil
}

func (s *Server) ping(context.Context, *request) (json.RawMessage, *Error) {
	return json.RawMessage("{}"), nil
}

func (s *Server) setLevel(_ context.Context, q *request) (json.RawMessage, *Error) {
	level, e := q.text("level")
	if e != nil {
		return nil, e
	}
	if _, ok := spec.LogSeverity(level); !ok && !q.lenient(CheckLogLevel) {
		return nil, invalidParams("level %q is none of debug, info, notice, warning, error, critical, alert, emergency", clip(level))
	}
	if q.peer != nil {
		q.peer.setLogLevel(level)
	}
	return json.RawMessage("{}"), nil
}

func (s *Server) subscribe(ctx context.Context, q *request) (json.RawMessage, *Error) {
	uri, e := q.text("uri")
	if e != nil {
		return nil, e
	}
	if !s.knows(uri) && !q.lenient(CheckResourceUnknown) {
		_, e := s.contents(ctx, q, uri)
		return nil, e
	}
	if q.peer != nil {
		q.peer.subscribe(uri, true)
	}
	return json.RawMessage("{}"), nil
}

func (s *Server) unsubscribe(_ context.Context, q *request) (json.RawMessage, *Error) {
	uri, e := q.text("uri")
	if e != nil {
		return nil, e
	}
	if q.peer != nil {
		q.peer.subscribe(uri, false)
	}
	return json.RawMessage("{}"), nil
}

// knows reports whether a resource or a template has the URI.
func (s *Server) knows(uri string) bool {
	c := s.catalog.Load()
	return slices.ContainsFunc(c.resources, func(r resource) bool { return r.uri == uri }) ||
		slices.ContainsFunc(c.templates, func(t template) bool { return t.values(uri, false) != nil })
}
