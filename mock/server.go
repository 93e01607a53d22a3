// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Server is a running script. Its methods may be called from any goroutine. It
// starts no goroutine that outlives the call of ServeHTTP or ServeStdio that
// needed it.
type Server struct {
	script         Script
	names          []string // of the revisions served, as clients are told
	legacy, modern bool
	newestLegacy   spec.Revision

	info         json.RawMessage
	capabilities json.RawMessage
	declared     map[string]bool // dotted paths of capabilities
	stamp        json.RawMessage // _meta of modern results

	tools     []tool
	toolAt    map[string]*tool
	resources []resource
	templates []template
	prompts   []prompt
	lists     map[string]*list

	mu       sync.Mutex
	turns    []int // how often each fault's place was reached
	dead     bool  // HTTP: a fault ended the server
	over     bool  // Shutdown was called
	sessions map[string]*peer
	streams  map[*stream]struct{}
}

// New makes a server of a script. Nothing in the script must change after it.
func New(script Script) *Server {
	s := &Server{
		script: script, turns: make([]int, len(script.Faults)),
		sessions: map[string]*peer{}, streams: map[*stream]struct{}{},
	}
	s.legacy, s.modern = script.Eras()
	for _, r := range script.revisions() {
		s.names = append(s.names, r.String())
		if r.Era() == spec.Legacy {
			s.newestLegacy = max(s.newestLegacy, r)
		}
	}
	s.info = line(script.ServerInfo)
	if s.info == nil {
		s.info = json.RawMessage(`{"name":"mock","version":"1.0.0"}`)
	}
	s.stamp = object(member{spec.MetaServerInfo, s.info})
	if script.Meta != nil {
		s.stamp = with(s.stamp, members(line(script.Meta))...)
	}
	s.compile()
	s.capabilities = line(script.Capabilities)
	if s.capabilities == nil {
		s.capabilities = s.derived()
	}
	s.declared = map[string]bool{}
	declare(s.declared, "", s.capabilities, 2)
	return s
}

// members are those of an object, none of anything else.
func members(raw []byte) []member {
	ms, _ := jsonx.Members(raw, jsonx.Lenient)
	out := make([]member, len(ms))
	for i, m := range ms {
		out[i] = member{m.Name, m.Value}
	}
	return out
}

// declare collects the paths of capabilities: objects count by being there,
// flags by being true.
func declare(into map[string]bool, path string, raw []byte, depth int) {
	for _, m := range members(raw) {
		at := m.name
		if path != "" {
			at = path + "." + m.name
		}
		switch k := jsonx.KindOf(m.value); {
		case k == jsonx.Object:
			into[at] = true
			if depth > 1 {
				declare(into, at, m.value, depth-1)
			}
		case k == jsonx.True:
			into[at] = true
		}
	}
}

// derived is the capabilities of what the script has.
func (s *Server) derived() json.RawMessage {
	empty := func(there bool) []byte {
		if !there {
			return nil
		}
		return []byte("{}")
	}
	completes := slices.ContainsFunc(s.script.Prompts, func(p Prompt) bool { return p.Complete != nil }) ||
		slices.ContainsFunc(s.script.Templates, func(t Template) bool { return t.Complete != nil })
	return object(
		member{"completions", empty(completes)},
		member{"prompts", empty(len(s.prompts) > 0)},
		member{"resources", empty(len(s.resources)+len(s.templates) > 0)},
		member{"tools", empty(len(s.tools) > 0)},
	)
}

// serves reports whether a revision is in the script.
func (s *Server) serves(r spec.Revision) bool { return slices.Contains(s.names, r.String()) }

// method returns the facts of a request method, if the server serves it: the
// revision has it, clients may send it, and its capability is declared.
func (s *Server) method(name string, r spec.Revision) (spec.Method, bool) {
	m, ok := spec.MethodAt(name, r)
	if !ok || m.Kind != spec.Request || !m.Direction.Includes(spec.ClientToServer) {
		return m, false
	}
	if path := m.Capability.Path; path != "" && m.Capability.Side != spec.Client {
		return m, s.declared[path]
	}
	return m, true
}
