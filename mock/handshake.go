// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"

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
	q.peer.begin(r)
	return object(
		member{"protocolVersion", quote(r.String())}, member{"capabilities", s.capabilities},
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
func (s *Server) discover(context.Context, *request) (json.RawMessage, *Error) {
	return object(
		member{"supportedVersions", texts(s.names)}, member{"capabilities", s.capabilities},
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
	if _, ok := spec.LogSeverity(level); !ok {
		return nil, invalidParams("level %q is none of debug, info, notice, warning, error, critical, alert, emergency", clip(level))
	}
	return json.RawMessage("{}"), nil
}

func (s *Server) subscribe(_ context.Context, q *request) (json.RawMessage, *Error) {
	uri, e := q.text("uri")
	if e != nil {
		return nil, e
	}
	if _, e := s.contents(q, uri); e != nil {
		return nil, e
	}
	q.peer.subscribe(uri, true)
	return json.RawMessage("{}"), nil
}

func (s *Server) unsubscribe(_ context.Context, q *request) (json.RawMessage, *Error) {
	uri, e := q.text("uri")
	if e != nil {
		return nil, e
	}
	q.peer.subscribe(uri, false)
	return json.RawMessage("{}"), nil
}
