// SPDX-License-Identifier: Apache-2.0

package mcpgo

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"weak"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprove/mcprove/internal/inside"
)

// observed are the servers that have our middleware. It is added once, and does
// nothing for clients of others.
var observed struct {
	sync.Mutex
	servers map[weak.Pointer[server.MCPServer]]struct{}
}

func observe(s *server.MCPServer) {
	if s == nil {
		panic("mcpgo: the *server.MCPServer is nil")
	}
	key := weak.Make(s)
	observed.Lock()
	defer observed.Unlock()
	if _, is := observed.servers[key]; is {
		return
	}
	if observed.servers == nil {
		observed.servers = map[weak.Pointer[server.MCPServer]]struct{}{}
	}
	observed.servers[key] = struct{}{}
	runtime.AddCleanup(s, func(key weak.Pointer[server.MCPServer]) {
		observed.Lock()
		defer observed.Unlock()
		delete(observed.servers, key)
	}, key)
	// The middleware that is added last stands next to the handler.
	s.Use(func(next server.ToolHandlerFunc) server.ToolHandlerFunc { return watch(next) })
	server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc { return watch(next) })(s)
	server.WithPromptHandlerMiddleware(func(next server.PromptHandlerFunc) server.PromptHandlerFunc { return watch(next) })(s)
}

// watch is the middleware: a handler whose errors and panics are told. They go on
// as they are.
func watch[Request, Result any](next func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, r Request) (Result, error) {
		life := inside.Of(ctx)
		if life == nil {
			return next(ctx, r)
		}
		returned := false
		defer func() {
			if returned {
				return
			}
			v := recover()
			if v == nil {
				life.Exited(debug.Stack())
				return
			}
			life.Panicked(ctx, v, debug.Stack())
			panic(v)
		}()
		result, err := next(ctx, r)
		returned = true
		if err != nil && !errors.Is(err, context.Canceled) {
			life.Tell("", err)
		}
		return result, err
	}
}
