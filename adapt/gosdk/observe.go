// SPDX-License-Identifier: Apache-2.0

package gosdk

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprove/mcprove/internal/inside"
)

// observed are the servers that have our middleware. It is added once, and does
// nothing for clients of others.
var observed struct {
	sync.Mutex
	servers map[weak.Pointer[mcp.Server]]struct{}
}

func observe(s *mcp.Server) {
	if s == nil {
		panic("gosdk: the *mcp.Server is nil")
	}
	key := weak.Make(s)
	observed.Lock()
	defer observed.Unlock()
	if _, is := observed.servers[key]; is {
		return
	}
	if observed.servers == nil {
		observed.servers = map[weak.Pointer[mcp.Server]]struct{}{}
	}
	observed.servers[key] = struct{}{}
	runtime.AddCleanup(s, func(key weak.Pointer[mcp.Server]) {
		observed.Lock()
		defer observed.Unlock()
		delete(observed.servers, key)
	}, key)
	s.AddReceivingMiddleware(watch)
}

// watch is the middleware. The client gets what it would get without it.
func watch(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		life := inside.Of(ctx)
		if life == nil {
			return next(ctx, method, req)
		}
		if ss, ok := req.GetSession().(*mcp.ServerSession); ok && ss.ID() != "" {
			life.Keep(ss, func() { _ = ss.Close() }) // it outlives the requests of its client
		}
		var result mcp.Result
		var err error
		if dead := life.Call(ctx, func(ctx context.Context) { result, err = next(ctx, method, req) }); dead != nil {
			return nil, dead
		}
		if err != nil {
			life.Tell(err.Error(), err)
		} else if r, ok := result.(*mcp.CallToolResult); ok && r.IsError {
			life.Tell(textOf(r), r.GetError())
		}
		return result, err
	}
}

// textOf is the text that the client gets of a tool's error.
func textOf(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}
