// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

type total struct {
	Total int `json:"total"`
}

// What a kit of another language documents, by its names.
func TestKitDoesWhatIsExpectedOfOne(t *testing.T) {
	for _, era := range []struct {
		name string
		opt  mcptest.Option
	}{{"legacy", mcptest.Legacy}, {"modern", mcptest.Modern}} {
		t.Run(era.name, func(t *testing.T) {
			t.Run("C/fresh server and connected client", func(t *testing.T) {
				kit := mcptest.NewKit(t, era.opt)
				kit.HasTools()
				kit.Server.Tool("hi", mock.Text("hello"))
				kit.HasTools("hi")
				if name, _ := mcptest.NewKit(t, era.opt).ServerInfo(); name != "mock" {
					t.Errorf("the server is %q", name)
				}
			})
			t.Run("C/assertToolExists lists the tools present", func(t *testing.T) {
				w := watch(t, func(t testing.TB) {
					kit := mcptest.NewKit(t, era.opt)
					kit.Server.Tool("echo", mock.Text("x")).Tool("other", mock.Text("y"))
					kit.HasTool("ecko")
				})
				if got := strings.Join(w.said, ""); !strings.Contains(got, "nearest: echo") || !strings.Contains(got, "echo, other") {
					t.Error(got)
				}
			})
			t.Run("C/assertToolReturns with a predicate", func(t *testing.T) {
				kit := mcptest.NewKit(t, era.opt)
				kit.Server.Tool("add", mock.Typed(func(_ context.Context, in sum) (total, error) { return total{in.A + in.B}, nil }))
				kit.CallTool("add", sum{1, 2}).HasJSON(total{3}).Satisfies(func(r *mcptest.Reply) error {
					var got total
					r.Decode(&got)
					return mcptest.Is(got.Total, 3)
				})
			})
			t.Run("C/not here: resources and prompts fail through the kit's client", func(t *testing.T) {
				kit := mcptest.NewKit(t, era.opt)
				kit.Server.Resource("notes://today", mock.Text("Ship the docs.")).Prompt("greet", mock.UserMessage("Hello"))
				kit.ReadResource("notes://today").HasText("Ship the docs.")
				kit.GetPrompt("greet", nil).HasText("Hello")
			})
			t.Run("B/not here: isError is always false", func(t *testing.T) {
				kit := mcptest.NewKit(t, era.opt)
				kit.Server.Tool("sunk", mock.ToolError("the ship is gone")).
					Tool("fails", mock.With(func(context.Context, map[string]any) (any, error) { return nil, errors.New("no wind") })).
					Tool("refused", mock.ProtocolError(-32000, "index offline"))
				kit.CallTool("sunk", nil).IsToolError().HasText("the ship is gone")
				kit.CallTool("fails", nil).IsToolError().Contains("no wind")
				kit.CallTool("refused", nil).HasErrorCode(-32000).HasErrorMessage("index offline")
			})
		})
	}
}

func TestKitFailsForWhatTheServerKnows(t *testing.T) {
	for name, x := range map[string]struct {
		do   func(kit *mcptest.Kit)
		want []string
	}{
		"an expectation": {func(kit *mcptest.Kit) {
			kit.Server.Tool("add", mock.Text("3"))
			kit.Server.Expect(spec.MethodToolsCall).Named("add").With(map[string]any{"a": 1}).Times(2)
			kit.CallTool("add", mcptest.Args{"a": 1}).IsOK()
		}, []string{"add", "2"}},
		"an unexpected call": {func(kit *mcptest.Kit) {
			kit.Server.Tool("add", mock.Text("3")).Tool("drop", mock.Text("gone"))
			kit.Server.Expect(spec.MethodToolsCall).Named("add")
			kit.Server.NoOtherCalls()
			kit.CallTool("add", nil).IsOK()
			kit.CallTool("drop", nil).IsOK()
		}, []string{"drop"}},
		"a panic": {func(kit *mcptest.Kit) {
			kit.Server.Tool("sink", mock.With(func(context.Context, map[string]any) (any, error) { panic("no hull") }))
			kit.CallTool("sink", nil).HasErrorCode(spec.CodeInternalError).HasNoSecrets("no hull")
		}, []string{"no hull", "kit_test.go:"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t, func(t testing.TB) { x.do(mcptest.NewKit(t)) })
			got := strings.Join(w.said, "\n")
			if !w.failed {
				t.Error("the test did not fail")
			}
			for _, want := range x.want {
				if !strings.Contains(got, want) {
					t.Errorf("the test did not say %q: %s", want, got)
				}
			}
		})
	}
}

func TestKitIsSilentWhenAllIsMet(t *testing.T) {
	w := watch(t, func(t testing.TB) {
		kit := mcptest.NewKit(t)
		kit.Server.Tool("add", mock.Text("3"))
		kit.Server.Expect(spec.MethodToolsCall).Named("add").Times(2)
		kit.Server.NoOtherCalls()
		kit.HasTool("add")
		kit.CallTool("add", nil).IsOK()
		kit.CallTool("add", nil).IsOK()
	})
	if w.failed {
		t.Errorf("the test said %q", w.said)
	}
}
