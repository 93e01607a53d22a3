// SPDX-License-Identifier: Apache-2.0

package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is the client of one connection, as its server knows it.
type session struct {
	id      string
	notes   chan mcp.JSONRPCNotification
	writing sync.Mutex
	out     io.Writer

	initialized atomic.Bool
	mu          sync.Mutex
	level       mcp.LoggingLevel
	info        mcp.Implementation
	declared    mcp.ClientCapabilities
	revision    string
	asked       int64
	pending     map[int64]chan reply
}

// reply is the client's answer to a question.
type reply struct {
	result json.RawMessage
	err    error
}

var (
	_ server.SessionWithLogging     = (*session)(nil)
	_ server.SessionWithClientInfo  = (*session)(nil)
	_ server.SessionWithSampling    = (*session)(nil)
	_ server.SessionWithElicitation = (*session)(nil)
	_ server.SessionWithRoots       = (*session)(nil)
)

var sessions atomic.Uint64

func newSession(out io.Writer) *session {
	return &session{
		id: "stdio-" + strconv.FormatUint(sessions.Add(1), 10), out: out, level: mcp.LoggingLevelError,
		notes: make(chan mcp.JSONRPCNotification, unwritten), pending: map[int64]chan reply{},
	}
}

// write writes a message as the SDK encodes it.
func (s *session) write(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.out.Write(append(line, '\n'))
	return err
}

// notify writes notifications as they come.
func (s *session) notify(ctx context.Context) {
	for {
		select {
		case n := <-s.notes:
			_ = s.write(n)
		case <-ctx.Done():
			return
		}
	}
}

// SessionID implements server.ClientSession.
func (s *session) SessionID() string { return s.id }

// NotificationChannel implements server.ClientSession.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notes }

// Initialize implements server.ClientSession.
func (s *session) Initialize() { s.initialized.Store(true) }

// Initialized implements server.ClientSession.
func (s *session) Initialized() bool { return s.initialized.Load() }

// set changes what is known of the client.
func set[T any](s *session, to *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = value
}

func get[T any](s *session, from *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *from
}

// SetLogLevel implements server.SessionWithLogging.
func (s *session) SetLogLevel(level mcp.LoggingLevel) { set(s, &s.level, level) }

// GetLogLevel implements server.SessionWithLogging.
func (s *session) GetLogLevel() mcp.LoggingLevel { return get(s, &s.level) }

// SetClientInfo implements server.SessionWithClientInfo.
func (s *session) SetClientInfo(info mcp.Implementation) { set(s, &s.info, info) }

// GetClientInfo implements server.SessionWithClientInfo.
func (s *session) GetClientInfo() mcp.Implementation { return get(s, &s.info) }

// SetClientCapabilities implements server.SessionWithClientInfo.
func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) { set(s, &s.declared, c) }

// GetClientCapabilities implements server.SessionWithClientInfo.
func (s *session) GetClientCapabilities() mcp.ClientCapabilities { return get(s, &s.declared) }

// SetProtocolVersion is what the SDK tells the revision to.
func (s *session) SetProtocolVersion(version string) { set(s, &s.revision, version) }

// ProtocolVersion is where it asks for it.
func (s *session) ProtocolVersion() string { return get(s, &s.revision) }

// ask sends a request of the server's, and waits for the answer.
func (s *session) ask(ctx context.Context, method mcp.MCPMethod, params any) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	s.mu.Lock()
	s.asked++
	id := s.asked
	s.pending[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pending, id)
	}()
	err := s.write(struct {
		JSONRPC string        `json:"jsonrpc"`
		ID      int64         `json:"id"`
		Method  mcp.MCPMethod `json:"method"`
		Params  any           `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, id, method, params})
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", method, err)
	}
	select {
	case r := <-answer:
		return r.result, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// takeAnswer gives an answer of the client to whoever waits for it.
func (s *session) takeAnswer(text json.RawMessage) bool {
	var m struct {
		ID     json.Number     `json:"id"`
		Result json.RawMessage `json:"result,omitempty"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error,omitempty"`
	}
	if json.Unmarshal(text, &m) != nil || m.Result == nil && m.Error == nil {
		return false
	}
	id, err := m.ID.Int64()
	if err != nil {
		return false
	}
	answer, ok := func() (chan reply, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c, ok := s.pending[id]
		return c, ok
	}()
	if !ok {
		return false
	}
	r := reply{result: m.Result}
	if m.Error != nil {
		r = reply{err: errors.New(m.Error.Message)}
	}
	select {
	case answer <- r:
	default: // a second answer
	}
	return true
}

func decode[T any](method mcp.MCPMethod, raw json.RawMessage, err error) (*T, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("the result of %s: %w", method, err)
	}
	return v, nil
}

// RequestSampling implements server.SessionWithSampling.
func (s *session) RequestSampling(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	raw, err := s.ask(ctx, mcp.MethodSamplingCreateMessage, r.CreateMessageParams)
	result, err := decode[mcp.CreateMessageResult](mcp.MethodSamplingCreateMessage, raw, err)
	if err != nil {
		return nil, err
	}
	if result.Content, err = mcp.ParseSamplingContent(result.Content); err != nil {
		return nil, fmt.Errorf("the content of %s: %w", mcp.MethodSamplingCreateMessage, err)
	}
	return result, nil
}

// RequestElicitation implements server.SessionWithElicitation.
func (s *session) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	raw, err := s.ask(ctx, mcp.MethodElicitationCreate, r.Params)
	return decode[mcp.ElicitationResult](mcp.MethodElicitationCreate, raw, err)
}

// ListRoots implements server.SessionWithRoots.
func (s *session) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	raw, err := s.ask(ctx, mcp.MethodListRoots, nil)
	return decode[mcp.ListRootsResult](mcp.MethodListRoots, raw, err)
}
