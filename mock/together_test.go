// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// A fault ties one subscription to the end of another.
func TestSubscriptionsThatEndTogether(t *testing.T) {
	script := mock.Specimen()
	script.Faults = []mock.Fault{mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", `{}`)).Together()}
	c, err := mock.New(script).Stdio("").Open(within(t), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(within(t)) }()
	listen := func(id, filter string) {
		text := `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + filter +
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		if _, err := c.Send(within(t), transport.Outgoing{Raw: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		if e, err := c.Receive(within(t)); err != nil || e.Frame == nil || e.Frame.Message().Method != spec.NotificationSubscriptionsAck {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	listen("1", `{}`)
	listen("2", `{"toolsListChanged":true}`)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
	if _, err := c.Send(within(t), transport.Outgoing{Raw: []byte(cancel)}); err != nil {
		t.Fatal(err)
	}
	e, err := c.Receive(within(t))
	if err != nil || e.Frame == nil || string(e.Frame.Message().ID) != "1" || jsonx.KindOf(e.Frame.Message().Result) != jsonx.Object {
		t.Fatalf("%+v, %v", e, err)
	}
}

// The end of the input over pipes, and being told to end, are seen by whoever
// still listens.
func TestPipesAreLeftStepByStep(t *testing.T) {
	for name, faults := range map[string][]mock.Fault{
		"ends with its input":      {mock.Farewell("bye")},
		"ends when told":           {mock.IgnoreEOF()},
		"goes on whatever is said": {mock.IgnoreEOF(), mock.IgnoreTerm()},
	} {
		script := mock.Specimen()
		script.Faults = faults
		c, err := mock.New(script).Stdio("").Open(within(t), transport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.(transport.InputCloser).CloseInput(); err != nil {
			t.Fatal(err)
		}
		if len(faults) == 1 && name == "ends with its input" {
			if e, err := c.Receive(within(t)); err != nil || e.Frame == nil || string(e.Frame.Raw) != "bye" {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
		}
		c.(transport.Terminator).Terminate()
		lost := make(chan transport.Event, 1)
		go func() {
			e, _ := c.Receive(within(t))
			lost <- e
		}()
		if len(faults) < 2 {
			if e := <-lost; e.Kind != transport.EventLost {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if err := c.Close(within(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
