// SPDX-License-Identifier: Apache-2.0

package mcpgo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprove/mcprove/internal/inside"
)

// door is how messages reach a server.
type door struct{ server *server.MCPServer }

// The measures of a StdioServer, unless it is told others.
const (
	workers   = 5
	queued    = 100
	unwritten = 100 // notifications
)

// job is a tool call that waits for a worker.
type job struct {
	id   any
	text json.RawMessage
}

// serve is one connection.
func (d door) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := newSession(out)
	if err := d.server.RegisterSession(ctx, s); err != nil {
		return fmt.Errorf("register the session: %w", err)
	}
	defer d.server.UnregisterSession(ctx, s.SessionID())
	ctx, cancel := context.WithCancel(d.server.WithContext(ctx, s))
	calls := make(chan job, queued)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // nothing outlives the input
	for range workers {
		running.Go(func() {
			for {
				select {
				case j := <-calls:
					d.answer(ctx, s, j)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	running.Go(func() { s.notify(ctx) })
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // a line without an end is none
		}
		d.take(ctx, s, line, calls, &running)
	}
}

// take does what a message asks for, or has it done.
func (d door) take(ctx context.Context, s *session, line []byte, calls chan<- job, running *sync.WaitGroup) {
	var text json.RawMessage
	if json.Unmarshal(line, &text) != nil {
		_ = s.write(mcp.NewJSONRPCError(mcp.NewRequestId(nil), mcp.PARSE_ERROR, "Parse error", nil))
		return
	}
	if s.takeAnswer(text) {
		return
	}
	var head struct {
		Method string `json:"method"`
		ID     any    `json:"id,omitempty"`
	}
	readable := json.Unmarshal(text, &head) == nil
	j := job{head.ID, text}
	switch {
	case readable && head.Method == string(mcp.MethodToolsCall):
		select {
		case calls <- j:
		default: // it is called here, and nothing else is read until it has ended
			d.answer(ctx, s, j)
		}
	case readable && head.ID != nil:
		running.Go(func() { d.answer(ctx, s, j) })
	default:
		d.answer(ctx, s, j)
	}
}

// answer has the server handle a message, and writes what it says.
func (d door) answer(ctx context.Context, s *session, j job) {
	life := inside.Of(ctx)
	ctx = life.Request(ctx)
	response := func() (response mcp.JSONRPCMessage) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			life.Panicked(ctx, v, debug.Stack())
			if j.id != nil {
				response = mcp.NewJSONRPCError(mcp.NewRequestId(j.id), mcp.INTERNAL_ERROR, fmt.Sprintf("internal panic: %v", v), nil)
			}
		}()
		return d.server.HandleMessage(ctx, j.text)
	}()
	if response != nil {
		_ = s.write(response)
	}
}
