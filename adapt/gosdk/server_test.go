// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 2026-07-28 deprecates them, and the revisions before have nothing else

package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/adapt/gosdk"
	"github.com/mcprove/mcprove/mcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type echoArgs struct {
	Text    string `json:"text" jsonschema:"what to repeat"`
	Minutes int    `json:"minutes,omitempty" jsonschema:"how long to think about it"`
}

type addArgs struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func echo(ctx context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
	t := time.NewTimer(time.Duration(in.Minutes) * time.Minute)
	defer t.Stop()
	select {
	case <-t.C:
		return text(in.Text), nil, nil
	case <-ctx.Done():
		cancelled.Store(in.Text, true)
		return nil, nil, ctx.Err()
	}
}

// cancelled are the texts of calls whose context was done.
var cancelled sync.Map

func add(_ context.Context, _ *mcp.CallToolRequest, in addArgs) (*mcp.CallToolResult, sum, error) {
	return nil, sum{in.A + in.B}, nil
}

// work reports progress and logs.
func work(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "starting"})
	for step := range 3 {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(step + 1), Total: 3})
		}
	}
	return text("done"), nil, nil
}

var errDatabase = errors.New("dial tcp 10.1.2.3:5432: connection refused")

// discreet is an error that shows nothing of its cause.
type discreet struct{ error }

func (discreet) Error() string   { return "the store is not available" }
func (d discreet) Unwrap() error { return d.error }

func broken(_ context.Context, _ *mcp.CallToolRequest, in struct {
	How string `json:"how"`
}) (*mcp.CallToolResult, any, error) {
	switch in.How {
	case "plainly":
		return nil, nil, errDatabase
	case "discreetly":
		return nil, nil, discreet{errDatabase}
	case "by another text":
		r := text("sorry")
		r.SetError(errDatabase)
		return r, nil, nil
	case "by a panic":
		panic("the index is lost")
	}
	return nil, nil, fmt.Errorf("%w: %s", &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}, in.How)
}

// ask asks its user by input requests, which the SDK turns into a request of the
// server's for clients of the handshake revisions.
func ask(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	switch answer := req.Params.InputResponses["name"].(type) {
	case *mcp.ElicitResult:
		if answer.Action != "accept" {
			return text("nobody: " + answer.Action), nil, nil
		}
		return text(fmt.Sprintf("hello, %v", answer.Content["name"])), nil, nil
	case nil:
	default:
		return nil, nil, fmt.Errorf("a %T", answer)
	}
	form := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: form}}}, nil, nil
}

func sample(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if answer, ok := req.Params.InputResponses["poem"].(*mcp.CreateMessageWithToolsResult); ok {
		return text(answer.Content[0].(*mcp.TextContent).Text), nil, nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"poem": &mcp.CreateMessageParams{
		MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "a poem, please"}}},
	}}}, nil, nil
}

func roots(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if answer, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult); ok {
		return text(answer.Roots[0].URI), nil, nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil, nil
}

// imperative asks through the session, which works for clients of the handshake
// revisions alone.
func imperative(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
	if err != nil {
		return nil, nil, err
	}
	return text(r.Action), nil, nil
}

func note(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	body := "about " + strings.TrimPrefix(req.Params.URI, "notes://")
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: body}}}, nil
}

func explain(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	said := "Explain " + req.Params.Arguments["topic"] + "."
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}}, nil
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	found := []string{}
	for _, topic := range []string{"tides", "timber", "winds"} {
		if strings.HasPrefix(topic, req.Params.Argument.Value) {
			found = append(found, topic)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: found, Total: len(found)}}, nil
}

func newServer() *mcp.Server {
	subscribe := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	unsubscribe := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "v1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: complete, SubscribeHandler: subscribe, UnsubscribeHandler: unsubscribe,
	})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "repeat a text", Annotations: reads}, echo)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "add two numbers", Annotations: reads}, add)
	mcp.AddTool(s, &mcp.Tool{Name: "work", Description: "work, and say how far it is"}, work)
	mcp.AddTool(s, &mcp.Tool{Name: "broken", Description: "fail in many ways"}, broken)
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "ask for a name"}, ask)
	mcp.AddTool(s, &mcp.Tool{Name: "sample", Description: "have a poem written"}, sample)
	mcp.AddTool(s, &mcp.Tool{Name: "roots", Description: "give the first root"}, roots)
	mcp.AddTool(s, &mcp.Tool{Name: "imperative", Description: "ask at once"}, imperative)
	s.AddResource(&mcp.Resource{Name: "today", URI: "notes://today", MIMEType: "text/plain"}, note)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "about", URITemplate: "notes://about/{topic}", MIMEType: "text/plain"}, note)
	s.AddPrompt(&mcp.Prompt{Name: "explain", Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}}}, explain)
	return s
}

// door is a way to the server.
type door struct {
	name string
	open func(*mcp.Server) any
	// modern: 2026-07-28 is served.
	modern bool
	// asks: questions reach a client of the handshake revisions.
	asks bool
	// cancels: a call that its client gave up ends in the era.
	legacyCancels, modernCancels bool
}

func handler(s *mcp.Server, o mcp.StreamableHTTPOptions) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &o)
}

var doors = []door{
	{name: "messages", open: func(s *mcp.Server) any { return gosdk.Server(s) }, modern: true, asks: true, legacyCancels: true, modernCancels: true},
	{name: "stateful", open: func(s *mcp.Server) any { return gosdk.Handler(s, nil) }, asks: true, legacyCancels: true},
	{name: "stateless", open: func(s *mcp.Server) any {
		return gosdk.Handler(s, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	}, modern: true, modernCancels: true},
	{name: "JSON", open: func(s *mcp.Server) any {
		return gosdk.Handler(s, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
	}, modern: true, modernCancels: true},
	{name: "through", open: func(s *mcp.Server) any {
		h := handler(s, mcp.StreamableHTTPOptions{})
		return gosdk.Through(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }), s)
	}, asks: true, legacyCancels: true},
	{name: "handler alone", open: func(s *mcp.Server) any { return handler(s, mcp.StreamableHTTPOptions{Stateless: true}) }, modern: true},
}

// each runs a test once per door and revision that is claimed there.
func each(t *testing.T, body func(t *testing.T, d door, c *mcptest.Client), opts ...mcptest.Option) {
	t.Helper()
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			mcptest.EachEra(t, d.open(newServer()), func(t *testing.T, c *mcptest.Client) { body(t, d, c) }, opts...)
		})
	}
}
