// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"net/http"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprove/mcprove/adapt/mcpgo"
	"github.com/mcprove/mcprove/mcptest"
)

// known leaves out what the SDK itself is known to break: over HTTP a foreign
// Origin is served, unless the handler is wrapped.
func known(d door) mcptest.CheckOption {
	if d.name == "messages" {
		return mcptest.Skip()
	}
	return mcptest.Skip("transport-http.origin-validated")
}

func TestQuick(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			mcptest.Quick(t, d.open(newServer()), mcptest.Calls("echo", mcptest.Args{"text": "hello"}), known(d))
		})
	}
}

// What is put before the SDK's handler is in the path.
func TestQuickThroughAGuard(t *testing.T) {
	s := newServer()
	h := http.NewCrossOriginProtection().Handler(handler(s, server.WithStateful(true)))
	mcptest.Quick(t, mcpgo.Through(h, s), mcptest.Calls("echo", mcptest.Args{"text": "hello"}))
}

func TestCheck(t *testing.T) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			mcptest.Check(t, d.open(newServer()), mcptest.Only("tools", "resources", "prompts", "completion", "jsonrpc"))
		})
	}
}
