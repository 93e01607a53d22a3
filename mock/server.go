// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"crypto/cipher"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// Server is a running script. Its methods may be called from any goroutine.
// Only tasks, and what a resumable session still has to say, outlive the call
// of ServeHTTP or ServeStdio that began them; Shutdown ends them.
type Server struct {
	script         Script
	names          []string // of the revisions served, as clients are told
	legacy, modern bool
	newestLegacy   spec.Revision

	info     json.RawMessage
	base     json.RawMessage // capabilities, of the script alone
	hasTasks bool
	stamp    json.RawMessage // _meta of modern results
	cipher   cipher.AEAD     // of requestState

	catalog  atomic.Pointer[catalog]
	changing sync.Mutex      // held to make the next catalog
	opened   map[string]bool // kinds of things that may be registered; changing is held
	seen     seen
	direct   direct // the conversation of Exchange
	panics   panics
	expected expectations
	one      chan struct{} // full: held by what a fault wants done for one client at a time
	serial   map[string]bool
	stderr   sync.Mutex

	life       context.Context // ends with Shutdown
	end        context.CancelFunc
	ending     chan struct{} // closed when Shutdown begins
	background sync.WaitGroup

	mu          sync.Mutex
	turns       []int           // how often each fault's place was reached
	earlier     map[string]bool // what conditions on earlier messages were met, by connection
	counts      map[string]int
	used        map[string]int64 // nonces of states, with their end
	tasks       map[string]*task
	addresses   map[string]int // connections of HTTP by the client's address
	connections int
	dead        bool // HTTP: a fault ended the server
	down        bool // Shutdown has begun
	sessions    map[string]*peer
	kept        [][]byte // states under their numbers
	crossing    []*held  // answers that wait for one to meet
	entered     int      // sessions so far
	streams     map[*stream]struct{}
	lineConns   map[string]*lineConn // HTTP+SSE, by what their endpoint says
}

// New makes a server of a script. Nothing in the script must change after it.
func New(script Script) *Server {
	s := &Server{
		script: script, turns: make([]int, len(script.Faults)), cipher: newCipher(script.State.Key),
		sessions: map[string]*peer{}, streams: map[*stream]struct{}{}, counts: map[string]int{},
		used: map[string]int64{}, tasks: map[string]*task{}, addresses: map[string]int{}, earlier: map[string]bool{}, lineConns: map[string]*lineConn{}, one: make(chan struct{}, 1), ending: make(chan struct{}),
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.serial = map[string]bool{}
	for _, f := range script.Faults {
		if f.Op == OpSerial {
			s.serial[f.Text] = true
		}
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
	s.hasTasks = slices.ContainsFunc(script.Tools, func(t Tool) bool { return t.Task != "" })
	c := s.compile(parts{script.Tools, script.Resources, script.Templates, script.Prompts})
	s.base = line(script.Capabilities)
	if s.base == nil {
		s.base = s.derived(c)
	}
	s.opened = map[string]bool{}
	if script.Open {
		for _, k := range registrable {
			s.opened[k.name] = true
		}
	}
	s.offer(c)
	return s
}

// registrable are the capabilities of what may be registered at any time, in
// the form that lets clients be told of it.
var registrable = []member{
	{"completions", []byte(`{}`)},
	{"logging", []byte(`{}`)},
	{"prompts", []byte(`{"listChanged":true}`)},
	{"resources", []byte(`{"listChanged":true,"subscribe":true}`)},
	{"tools", []byte(`{"listChanged":true}`)},
}

// offer makes a catalog the one that is shown, with its capabilities: those of
// the script, and of what was opened since unless the script names its own.
func (s *Server) offer(c *catalog) {
	c.capabilities = s.base
	if s.script.Capabilities == nil {
		for _, k := range registrable {
			if !s.opened[k.name] {
				continue
			}
			if flags := get(c.capabilities, k.name); flags != nil {
				c.capabilities = set(c.capabilities, "/"+k.name, with(flags, members(k.value)...))
			} else {
				c.capabilities = with(c.capabilities, k)
			}
		}
	}
	c.declared = map[string]bool{}
	declare(c.declared, "", c.capabilities, 2)
	if s.hasTasks {
		for _, path := range []string{"tasks", "tasks.list", "tasks.cancel", "tasks.requests", "tasks.requests.tools.call"} {
			c.declared[path] = true
		}
	}
	s.catalog.Store(c)
}

// declares reports whether a capability is declared now, by its dotted path.
func (s *Server) declares(path string) bool { return s.catalog.Load().declared[path] }

// shownCapabilities is what a revision's clients are told. Tasks have another
// name in each era.
func (s *Server) shownCapabilities(c *catalog, r spec.Revision) json.RawMessage {
	switch {
	case !s.hasTasks:
	case r.Era() == spec.Modern:
		extensions := get(c.capabilities, "extensions")
		if extensions == nil {
			extensions = []byte("{}")
		}
		return set(c.capabilities, "/extensions", with(json.RawMessage(extensions), member{spec.ExtensionTasks, []byte("{}")}))
	case r == spec.Rev20251125:
		return with(c.capabilities, member{"tasks", []byte(`{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`)})
	}
	return c.capabilities
}

// Shutdown ends the server properly: subscriptions are answered, streams and
// tasks end. Requests that come later are still answered. It returns when
// everything in the background has ended, or the context has.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.down {
		s.down = true
		close(s.ending)
	}
	s.mu.Unlock()
	s.end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.background.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
func (s *Server) derived(c *catalog) json.RawMessage {
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
		member{"prompts", empty(len(c.prompts) > 0)},
		member{"resources", empty(len(c.resources)+len(c.templates) > 0)},
		member{"tools", empty(len(c.tools) > 0)},
	)
}

// serves reports whether a revision is in the script.
func (s *Server) serves(r spec.Revision) bool { return slices.Contains(s.names, r.String()) }
