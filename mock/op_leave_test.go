// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// Two subscriptions of one client; the answer to the one that it closes comes on
// the other.
func TestStrayAnswer(t *testing.T) {
	script := mock.Library()
	script.Faults = []mock.Fault{mock.On(spec.MethodListen).Stray()}
	conn, err := mock.New(script).HTTP("mock").Open(within(t), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(within(t)) }()
	header := []wire.HeaderField{{Name: spec.HeaderProtocolVersion, Value: "2026-07-28"}, {Name: spec.HeaderMethod, Value: spec.MethodListen}}
	var first transport.Channel
	for _, id := range []string{"1", "2"} {
		body := `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"` +
			spec.MetaProtocolVersion + `":"2026-07-28","` + spec.MetaClientCapabilities + `":{}}}}`
		sent, err := conn.Send(within(t), transport.Outgoing{Raw: []byte(body), Header: header, Tag: id})
		if err != nil {
			t.Fatal(err)
		}
		if id == "1" {
			first = sent.Channel
		}
		until(t, conn, func(e transport.Event) bool { return e.Tag == id && e.Kind == transport.EventFrame })
	}
	conn.CloseChannel(first)
	e := until(t, conn, func(e transport.Event) bool { return e.Tag == "2" && e.Kind == transport.EventFrame })
	if m := e.Frame.Message(); string(m.ID) != "1" {
		t.Errorf("the other stream got %s", m.Raw)
	}
}

func until(t *testing.T, conn transport.Conn, is func(transport.Event) bool) transport.Event {
	t.Helper()
	for {
		e, err := conn.Receive(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if is(e) {
			return e
		}
	}
}
