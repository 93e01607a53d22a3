// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// A header is found by the bytes of its name inside the process, where nothing
// has respelled them.
func TestHeaderSpelled(t *testing.T) {
	script := mock.Library()
	script.Faults = []mock.Fault{mock.On(spec.MethodDiscover).When(mock.HeaderSpelled("mcp-method")).Error(spec.CodeHeaderMismatch, "no")}
	conn, err := mock.New(script).HTTP("mock").Open(within(t), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(within(t)) }()
	for name, want := range map[string]string{spec.HeaderMethod: "result", "MCP-METHOD": "result", "mcp-method": "error"} {
		body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"` + spec.MetaProtocolVersion + `":"2026-07-28","` + spec.MetaClientCapabilities + `":{}}}}`
		header := []wire.HeaderField{{Name: spec.HeaderProtocolVersion, Value: "2026-07-28"}, {Name: name, Value: spec.MethodDiscover}}
		if _, err := conn.Send(within(t), transport.Outgoing{Raw: []byte(body), Header: header}); err != nil {
			t.Fatal(err)
		}
		for {
			e, err := conn.Receive(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != transport.EventFrame {
				continue
			}
			m := e.Frame.Message()
			if (m.Error != nil) != (want == "error") {
				t.Errorf("header %s: %s", name, m.Raw)
			}
			break
		}
	}
}
