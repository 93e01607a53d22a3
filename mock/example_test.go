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
