// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// What came before on a connection decides, and on that connection alone.
func TestConditionsOnEarlierMessages(t *testing.T) {
	list := mock.On(spec.MethodToolsList)
	for name, f := range map[string]mock.Fault{
		"a method": list.When(mock.Earlier(spec.MethodPromptsList)).Set("/result/tools/0/name", `"other"`),
		"a member": list.When(mock.EarlierHas("/params/name")).Set("/result/tools/0/name", `"other"`),
	} {
		t.Run(name, func(t *testing.T) {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				server := target(withFault(f))
				one := open(t, server, session.Options{Revision: spec.Rev20260728})
				two := open(t, server, session.Options{Revision: spec.Rev20260728})
				changed := func(s *session.Session) bool {
					x, err := s.Call(within(t), spec.MethodToolsList, nil)
					if err != nil {
						t.Fatal(err)
					}
					return strings.Contains(string(x.Raw), `"other"`)
				}
				if changed(one) {
					t.Error("it applies before anything came")
				}
				for _, m := range []string{spec.MethodPromptsList, spec.MethodPromptsGet} {
					_, _ = one.Call(within(t), m, []byte(`{"name":"plan_reading","arguments":{"topic":"x"}}`))
				}
				if !changed(one) {
					t.Error("it does not apply after it")
				}
				if changed(two) {
					t.Error("it applies to another connection")
				}
			})
		})
	}
}
