// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// A client took an answer with a result and an error for a success
// (modelcontextprotocol/rust-sdk#1283, B012 of the log of reports). The mock can
// send it over both transports, and the client of this repository takes it for
// no answer at all.
func TestResultAndError(t *testing.T) {
	s := mock.New(mock.Script{
		Tools: []mock.Tool{{
			Definition: json.RawMessage(`{"name":"bad","inputSchema":{"type":"object"}}`),
			Result:     json.RawMessage(`{"content":[]}`),
		}},
		Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Set("/error", `{"code":-32603,"message":"injected"}`)},
	})
	for _, era := range []spec.Era{spec.Modern, spec.Legacy} {
		for _, target := range []transport.Target{s.HTTP("mock"), s.Stdio("mock")} {
			t.Run(era.String()+"/"+target.Kind().String(), func(t *testing.T) {
				sent := false
				ctx := context.Background()
				o := session.Options{Era: era}
				o.Tap = func(e transport.TapEvent) {
					if !e.Sent && e.Frame != nil {
						m := e.Frame.Message()
						sent = sent || m.Result != nil && m.Error != nil
					}
				}
				c, err := session.Open(ctx, target, o)
				if err != nil {
					t.Fatal(err)
				}
				r, err := c.Call(ctx, spec.MethodToolsCall, json.RawMessage(`{"name":"bad","arguments":{}}`))
				c.Close(ctx)
				if !sent {
					t.Error("the answer did not have both members")
				}
				if err == nil {
					t.Errorf("taken for a result: %s", r.Raw)
				}
			})
		}
	}
}
