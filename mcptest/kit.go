// SPDX-License-Identifier: Apache-2.0

package mcptest

import (
	"testing"

	"github.com/mcprove/mcprove/mock"
)

// Kit is a fresh mock server with a client connected to it.
type Kit struct {
	*Client
	// Server is open: what is registered now is there for the client, which is
	// told of it.
	Server *mock.Server
}

// NewKit makes a mock server and connects a client to it. At the end of the test
// expectations of the server that were not met fail it, and so do panics of its
// functions.
//
//	kit := mcptest.NewKit(t)
//	kit.Server.Tool("hi", mock.Text("hello"))
//	kit.CallTool("hi", nil).HasText("hello")
func NewKit(t testing.TB, opts ...Option) *Kit {
	t.Helper()
	server := mock.New(mock.Script{Open: true})
	// Registered before the client is, and so run after it has ended.
	t.Cleanup(func() {
		t.Helper()
		for _, problem := range server.Unmet() {
			t.Error(problem)
		}
	})
	return &Kit{Client: Open(t, server, opts...), Server: server}
}
