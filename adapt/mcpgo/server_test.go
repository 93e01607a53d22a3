// SPDX-License-Identifier: Apache-2.0

package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/adapt/mcpgo"
	"github.com/mcprove/mcprove/mcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func echo(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	said, err := r.RequireString("text")
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	t := time.NewTimer(time.Duration(r.GetInt("minutes", 0)) * time.Minute)
	defer t.Stop()
	select {
	case <-t.C:
		return mcp.NewToolResultText(said), nil
	case <-ctx.Done():
		cancelled.Store(said, true)
		return nil, ctx.Err()
	}
}

// cancelled are the texts of calls whose context was done.
var cancelled sync.Map

type addArgs struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, _ mcp.CallToolRequest, in addArgs) (sum, error) {
	return sum{in.A + in.B}, nil
}

// work reports progress and logs. Around its steps is time in which what it said is
// sent: this SDK lets the result of a call overtake its notifications, and over HTTP
// loses one to what forwards those of a request that has just ended.
func work(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	time.Sleep(time.Millisecond)
	s := server.ServerFromContext(ctx)
	_ = s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "work", "starting"))
	for step := range 3 {
		if m := r.Params.Meta; m != nil && m.ProgressToken != nil {
			_ = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": m.ProgressToken, "progress": step + 1, "total": 3})
		}
		time.Sleep(time.Millisecond)
	}
	return mcp.NewToolResultText("done"), nil
}

var errDatabase = errors.New("dial tcp 10.1.2.3:5432: connection refused")

// broken fails in many ways; discreetly hides what it says.
func broken(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch r.GetString("how", "") {
	case "by a tool error":
		return mcp.NewToolResultError("sorry"), nil
	case "by a panic":
		panic("the index is lost")
	}
	return nil, errDatabase
}

// discreetly is the middleware that servers have to hide what happened.
func discreetly(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := next(ctx, r)
		if err != nil && r.GetString("how", "") == "discreetly" {
			err = errors.New("the store is not available")
		}
		return result, err
	}
}

func ask(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(r.Params.InputResponses, "name"); answer != nil {
		if answer.Action != mcp.ElicitationResponseActionAccept {
			return mcp.NewToolResultText("nobody: " + string(answer.Action)), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("hello, %v", answer.Content.(map[string]any)["name"])), nil
	}
	form := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}}
	return server.NewInputRequestBuilder("").Elicit("name", mcp.ElicitationParams{Message: "Who are you?", RequestedSchema: form}).ToolResult(), nil
}

func sample(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.SamplingResponse(r.Params.InputResponses, "poem"); answer != nil {
		switch c := answer.Content.(type) {
		case mcp.TextContent:
			return mcp.NewToolResultText(c.Text), nil
		case map[string]any:
			return mcp.NewToolResultText(fmt.Sprint(c["text"])), nil
		}
		return mcp.NewToolResultError(fmt.Sprintf("a %T", answer.Content)), nil
	}
	return server.NewInputRequestBuilder("").Sample("poem", mcp.CreateMessageParams{
		MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("a poem, please")}},
	}).ToolResult(), nil
}

func roots(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.RootsResponse(r.Params.InputResponses, "roots"); answer != nil {
		return mcp.NewToolResultText(answer.Roots[0].URI), nil
	}
	return server.NewInputRequestBuilder("").Roots("roots").ToolResult(), nil
}

// imperative asks through the session, which works for clients of the handshake
// revisions alone.
func imperative(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	form := map[string]any{"type": "object", "properties": map[string]any{}}
	r, err := server.ServerFromContext(ctx).RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "Sure?", RequestedSchema: form}})
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(string(r.Action)), nil
}

func note(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	body := "about " + strings.TrimPrefix(r.Params.URI, "notes://")
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: body}}, nil
}

func explain(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	said := "Explain " + r.Params.Arguments["topic"] + "."
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(said))}), nil
}

type topics struct{}

func (topics) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	found := []string{}
	for _, topic := range []string{"tides", "timber", "winds"} {
		if strings.HasPrefix(topic, a.Value) {
			found = append(found, topic)
		}
	}
	return &mcp.Completion{Values: found, Total: len(found)}, nil
}

func newServer(opts ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("fixture", "v1.0.0", append([]server.ServerOption{
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithLogging(), server.WithCompletions(), server.WithPromptCompletionProvider(topics{}),
		server.WithElicitation(), server.WithRoots(), server.WithToolHandlerMiddleware(discreetly),
	}, opts...)...)
	s.EnableSampling()
	reads := mcp.WithReadOnlyHintAnnotation(true)
	s.AddTool(mcp.NewTool("echo", mcp.WithDescription("repeat a text"), reads, mcp.WithString("text", mcp.Required()), mcp.WithInteger("minutes")), echo)
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("add two numbers"), reads, mcp.WithInputSchema[addArgs](), mcp.WithOutputSchema[sum]()), mcp.NewStructuredToolHandler(add))
	s.AddTool(mcp.NewTool("work", mcp.WithDescription("work, and say how far it is")), work)
	s.AddTool(mcp.NewTool("broken", mcp.WithDescription("fail in many ways"), mcp.WithString("how")), broken)
	s.AddTool(mcp.NewTool("ask", mcp.WithDescription("ask for a name")), ask)
	s.AddTool(mcp.NewTool("sample", mcp.WithDescription("have a poem written")), sample)
	s.AddTool(mcp.NewTool("roots", mcp.WithDescription("give the first root")), roots)
	s.AddTool(mcp.NewTool("imperative", mcp.WithDescription("ask at once")), imperative)
	s.AddResource(mcp.NewResource("notes://today", "today", mcp.WithMIMEType("text/plain")), note)
	s.AddResourceTemplate(mcp.NewResourceTemplate("notes://about/{topic}", "about", mcp.WithTemplateMIMEType("text/plain")), server.ResourceTemplateHandlerFunc(note))
	s.AddPrompt(mcp.NewPrompt("explain", mcp.WithArgument("topic", mcp.RequiredArgument())), explain)
	return s
}

// door is a way to the server.
type door struct {
	name string
	open func(*server.MCPServer) any
	// asks: questions reach a client of the handshake revisions.
	asks bool
}

// quiet keeps the SDK's log out of the tests.
var quiet = server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))

func handler(s *server.MCPServer, opts ...server.StreamableHTTPOption) http.Handler {
	return server.NewStreamableHTTPServer(s, append(opts, quiet)...)
}

var doors = []door{
	{"messages", func(s *server.MCPServer) any { return mcpgo.Server(s) }, true},
	{"default", func(s *server.MCPServer) any { return mcpgo.Handler(s, quiet) }, true},
	{"stateful", func(s *server.MCPServer) any { return mcpgo.Handler(s, quiet, server.WithStateful(true)) }, true},
	{"stateless", func(s *server.MCPServer) any { return mcpgo.Handler(s, quiet, server.WithStateLess(true)) }, false},
	{"through", func(s *server.MCPServer) any {
		h := handler(s, server.WithStateful(true))
		return mcpgo.Through(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }), s)
	}, true},
	{"handler alone", func(s *server.MCPServer) any { return handler(s, server.WithStateful(true)) }, true},
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
