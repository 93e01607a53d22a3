// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// example stands for the *testing.T of a test.
type example struct{ *witness }

func newExample() example {
	ctx, cancel := context.WithCancel(context.Background())
	return example{&witness{ctx: ctx, cancel: cancel}}
}

// end ends the test, and says how.
func (e example) end() {
	e.cancel()
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
	if e.failed {
		fmt.Println("fail:", e.said)
		return
	}
	fmt.Println("pass")
}

// handler is what you deploy: here a mock stands for it.
func handler() *mock.Server {
	type args struct {
		Name string `json:"name"`
	}
	return mock.New(mock.Script{}).Tool("greet", mock.Typed(func(_ context.Context, in args) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}))
}

// In a test of yours t is the test's own.
func ExampleOpen() {
	t := newExample()
	defer t.end()

	c := mcptest.Open(t, handler())
	c.HasTool("greet")
	c.CallTool("greet", mcptest.Args{"name": "Ada"}).Contains("Hello, Ada!").HasNoSecrets()
	c.CallTool("great", nil).HasErrorCode(-32602)

	// Output: pass
}

func ExampleNewKit() {
	t := newExample()
	defer t.end()

	kit := mcptest.NewKit(t)
	kit.Server.Tool("add", mock.Text("3"))
	kit.Server.Expect(spec.MethodToolsCall).Named("add").With(map[string]any{"a": 1, "b": 2})
	kit.CallTool("add", mcptest.Args{"a": 1, "b": 2}).HasText("3")

	// Output: pass
}

// One set of answers serves both eras.
func ExampleOnElicit() {
	t := newExample()
	defer t.end()

	for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
		c := mcptest.Open(t, harbour(), era, mcptest.OnElicit(mcptest.Accept(mcptest.Args{"sure": true})))
		c.CallTool("sail", nil).HasText("out")
	}

	// Output: pass
}

func ExampleClient_Stampede() {
	t := newExample()
	defer t.end()

	c := mcptest.Open(t, echoing())
	c.Stampede(50, "echo",
		func(i int) any { return mcptest.Args{"text": fmt.Sprint("call ", i)} },
		func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint("call ", i)) })

	// Output: pass
}

func ExampleClient_Recording() {
	t := newExample()
	defer t.end()

	c := mcptest.Open(t, handler())
	for range 3 {
		c.CallTool("greet", mcptest.Args{"name": "Ada"}).IsOK()
	}
	fmt.Println(len(c.Recording().Latencies("tools/call")), "calls,", len(c.Recording().Unanswered()), "unanswered")

	// Output:
	// 3 calls, 0 unanswered
	// pass
}

var _ testing.TB = example{}
