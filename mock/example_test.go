// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
	"github.com/mcprove/mcprove/transport"
)

// A script is data; the server is an http.Handler.
func ExampleNew() {
	srv := httptest.NewServer(mock.New(mock.Script{
		Tools: []mock.Tool{{
			Definition: json.RawMessage(`{"name":"greet","inputSchema":{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}}`),
			Func: func(_ context.Context, c *mock.Call) (json.RawMessage, error) {
				who, _ := jsonx.Lookup(c.Arguments, "/who")
				return json.RawMessage(`{"content":[{"type":"text","text":` + string(who) + `}]}`), nil
			},
		}},
	}))
	defer srv.Close()
	ctx := context.Background()
	client, err := session.Open(ctx, &transport.HTTP{URL: srv.URL}, session.Options{Era: spec.Legacy})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	result, err := client.Call(ctx, spec.MethodToolsCall, json.RawMessage(`{"name":"greet","arguments":{"who":"the crew"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.Raw))
	// Output: {"content":[{"type":"text","text":"the crew"}]}
}

// Over stdio it serves any pair of streams.
func ExampleServer_ServeStdio() {
	s := mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20250618}})
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if err := s.ServeStdio(context.Background(), in, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: {"jsonrpc":"2.0","id":1,"result":{}}
}

// A fault is a place and what happens there.
func ExampleFault() {
	s := mock.New(mock.Script{
		Tools:    []mock.Tool{{Definition: json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`)}, {Definition: json.RawMessage(`{"name":"b","inputSchema":{"type":"object"}}`)}},
		PageSize: 1,
		Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).OnPage(2).Error(spec.CodeInternalError, "the database is gone"),
		},
	})
	ctx := context.Background()
	client, err := session.Open(ctx, s.Stdio(""), session.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	_, err = surface.Collect(ctx, client, surface.CollectOptions{})
	fmt.Println(err)
	// Output: tools/list: page 2: error -32603: the database is gone
}

// The embedded servers are targets that need no socket and no process.
func ExampleDemo() {
	target, err := mock.Demo("demo:")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	client, err := session.Open(ctx, target, session.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	fmt.Println(client.Negotiated().Revision, string(client.Negotiated().ServerInfo))
	// Output: 2026-07-28 {"name":"library-desk","title":"Library desk","version":"2.3.0"}
}

// A leniency skips one check. Here a server forgets to compare Mcp-Method.
func ExampleLenient() {
	request := func(s *mock.Server) int {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
			"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", spec.MediaJSON)
		r.Header.Set(spec.HeaderProtocolVersion, "2026-07-28")
		r.Header.Set(spec.HeaderMethod, "prompts/list")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	script := mock.Specimen()
	fmt.Println(request(mock.New(script)))
	script.Faults = []mock.Fault{mock.Lenient(mock.CheckHeaderMethodMismatch)}
	fmt.Println(request(mock.New(script)))
	// Output:
	// 400
	// 200
}

// Everything that a test needs of a server is one chained line each.
func ExampleServer_Tool() {
	type In struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type Out struct {
		Sum int `json:"sum"`
	}
	srv := mock.New(mock.Script{}).
		Tool("add", mock.Typed(func(_ context.Context, in In) (Out, error) { return Out{in.A + in.B}, nil }), mock.Describe("Adds two numbers.")).
		Tool("greet", mock.With(func(_ context.Context, args map[string]any) (any, error) {
			return fmt.Sprint("Hello, ", args["who"]), nil
		})).
		Tool("hi", mock.Text("hello")).
		Tool("broken", mock.ToolError("no such file")).
		Tool("bad", mock.ProtocolError(-32000, "nope")).
		Tool("seq", mock.Sequence(mock.Text("a"), mock.Text("b"))).
		Resource("file:///a.txt", mock.Text("text")).
		Prompt("p", mock.UserMessage("Greet {{who}}."), mock.Argument("who", "whom to greet"))

	for _, call := range []string{
		`{"name":"add","arguments":{"a":1,"b":2}}`, `{"name":"greet","arguments":{"who":"me"}}`, `{"name":"broken"}`, `{"name":"bad"}`, `{"name":"seq"}`, `{"name":"seq"}`,
	} {
		answer, _ := srv.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+call+`}`), spec.Rev20251125)
		fmt.Println(string(answer))
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Hello, me"}]}}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no such file"}],"isError":true}}
	// {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"nope"}}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"b"}]}}
}

// One message in, its answer out, or nothing for a notification.
func ExampleServer_Exchange() {
	srv := mock.New(mock.Script{Lax: true}).Tool("hi", mock.Text("hello"))
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"no/such"}`,
	} {
		answer, ok := srv.Exchange([]byte(message))
		fmt.Println(strings.TrimSpace(fmt.Sprint(ok, " ", string(answer))))
	}
	// Output:
	// true {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"hi","inputSchema":{"type":"object"}}]}}
	// false
	// true {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: no/such"}}
}

// Expectations say which calls should come; Unmet says which did not.
func ExampleServer_Expect() {
	srv := mock.New(mock.Script{Lax: true}).Tool("add", mock.Text("3"))
	srv.Expect("tools/call").Named("add").With(map[string]any{"a": 1, "b": 2})
	srv.NoOtherCalls()
	srv.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":3}}}`))
	for _, problem := range srv.Unmet() {
		fmt.Println(problem)
	}
	// Output:
	// tools/call of add with {"a":1,"b":2}: expected once, never came; nearest is call 1, tools/call of add with {"a":1,"b":3}: at /b is 3, not 2
	// call 1, tools/call of add with {"a":1,"b":3}: nothing expects it
}
