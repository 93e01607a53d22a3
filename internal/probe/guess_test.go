// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"testing"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// An answer to a notification, under an id that nobody used, must not be taken
// for that of the request which was sent after it.
func TestALateErrorIsNotTheAnswerOfTheNextRequest(t *testing.T) {
	const wrong = `{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"method not found"}}`
	for _, c := range []struct {
		name     string
		lines    []string // those of the server
		response string
		stray    int
	}{
		{"the answer comes too", []string{wrong, `{"jsonrpc":"2.0","id":5,"result":{}}`}, `{"jsonrpc":"2.0","id":5,"result":{}}`, 1},
		{"nothing else comes", []string{wrong}, wrong, 0},
		{"the answer came first", []string{`{"jsonrpc":"2.0","id":5,"result":{}}`, wrong}, `{"jsonrpc":"2.0","id":5,"result":{}}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := probe.NewRecorder(transport.Stdio, spec.Rev20260728)
			rec.Line("a", wire.ToServer, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
			rec.Line("a", wire.ToServer, []byte(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`))
			for _, l := range c.lines {
				rec.Line("a", wire.ToClient, []byte(l))
			}
			got := rec.Traffic()
			x := got.Exchanges[1]
			if x.Response == nil || string(x.Response.Raw) != c.response || len(x.Frames) != 1 || len(x.Extra) != 0 {
				t.Errorf("response %v, %d frames, %d extra", x.Message(), len(x.Frames), len(x.Extra))
			}
			if len(got.Stray) != c.stray {
				t.Errorf("%d stray frames, want %d", len(got.Stray), c.stray)
			}
		})
	}
}
