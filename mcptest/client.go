// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Client is one client of the server under test. Its methods may be called from
// any goroutine.
type Client struct {
	t testing.TB
	*shared
}

// shared is what the clients of one connection have in common, whatever test
// they report to.
type shared struct {
	o       *options
	target  any
	session *session.Session
	ctx     context.Context // of calls: it outlives the test's own, so that they can be made while it cleans up
	cancel  context.CancelFunc
	agreed  session.Negotiated
	tape    *tape
	told    *told
	tools   *toolList

	faulty atomic.Bool // there are faults to tell

	lost    chan struct{} // closed when a connection over stdio has ended
	streams streams

	mu        sync.Mutex
	faults    []string // found in goroutines, told by the test's own
	failing   []*Reply
	asked     []Question
	vain      []*inVain
	gate      func(*Question) // sees each question before it is answered
	stepper   chan asking     // takes the questions of a legacy call that is stepped
	ready     bool            // what was negotiated is known
	notes     []*wire.Frame   // notifications
	noteBytes int
	more      chan struct{}       // closed and replaced at each notification
	known     int                 // anomalies that were told
	tokens    map[wire.IDKey]bool // of progress, that were given
	raw       bool                // text of the test's own was sent
}

// inVain is a question without an answer.
type inVain struct {
	error *NoAnswerError
	seen  bool // the test asserted it
}

// With is the same client, reporting to another test. In a subtest use it: what the
// client itself asserts fails the test that it was opened for.
func (c *Client) With(t testing.TB) *Client { return &Client{t: t, shared: c.shared} }

// Revision is the protocol revision in use, such as "2026-07-28".
func (c *Client) Revision() string { return c.agreed.Revision.String() }

// Modern reports whether it is one of the stateless era.
func (c *Client) Modern() bool { return c.agreed.Era == spec.Modern }

// Negotiated is what was agreed on, and what the server said of itself.
func (c *Client) Negotiated() session.Negotiated { return c.session.Negotiated() }

// ServerInfo is the name and the version that the server gives of itself.
func (c *Client) ServerInfo() (name, version string) {
	n, _ := jsonx.Lookup(c.agreed.ServerInfo, "/name")
	v, _ := jsonx.Lookup(c.agreed.ServerInfo, "/version")
	name, _ = jsonx.Text(n)
	version, _ = jsonx.Text(v)
	return name, version
}

// Instructions are those of the server, empty for none.
func (c *Client) Instructions() string {
	if c.agreed.Instructions == nil {
		return ""
	}
	return *c.agreed.Instructions
}

// HasCapability asserts that the server declares a capability, by its path:
// "tools", "resources.subscribe".
func (c *Client) HasCapability(path string) {
	c.t.Helper()
	if _, ok := c.capability(path); !ok {
		c.t.Errorf("the server does not declare the capability %q, but %s", path, shownJSON(c.agreed.Capabilities))
	}
}

func (s *shared) capability(path string) (json.RawMessage, bool) {
	v := s.agreed.Capabilities
	for name := range splitPath(path) {
		m, err := jsonx.Lookup(v, jsonx.Push("", name))
		if err != nil {
			return nil, false
		}
		v = json.RawMessage(m)
	}
	return v, jsonx.KindOf(v) != jsonx.False
}

// Asked is every question of the server so far, in order.
func (c *Client) Asked() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Question(nil), c.asked...)
}

// AsksInVain asserts that the server asked for something that this client has no
// answer for, as a client without the capability has none.
func (c *Client) AsksInVain(method string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for _, v := range c.vain {
		if v.error.Question.Method == method {
			v.seen, found = true, true
		}
	}
	if !found {
		c.t.Errorf("the server did not ask for %s in vain; it asked for %s", method, askedNames(c.asked))
	}
}

func askedNames(qs []Question) string {
	if len(qs) == 0 {
		return "nothing"
	}
	var list []string
	for _, q := range qs {
		list = append(list, q.String())
	}
	return names(list)
}

// fault keeps a fault that was found outside of the test's own goroutine.
func (s *shared) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faulty.Store(true)
	if len(s.faults) < most {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

// tell fails the test with the faults that were found since.
func (c *Client) tell() {
	if !c.faulty.Load() {
		return
	}
	c.t.Helper()
	c.mu.Lock()
	faults := c.faults
	c.faults = nil
	c.faulty.Store(false)
	c.mu.Unlock()
	for _, f := range faults {
		c.t.Error(f)
	}
}
