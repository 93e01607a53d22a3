// SPDX-License-Identifier: Apache-2.0

// A small server with the Go SDK: go-sdk [http PORT | http-stateless PORT].
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type echoArgs struct {
	Text string `json:"text" jsonschema:"what to repeat"`
}

type addArgs struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}

func add(_ context.Context, _ *mcp.CallToolRequest, in addArgs) (*mcp.CallToolResult, sum, error) {
	return nil, sum{in.A + in.B}, nil
}

func slow(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "starting"})
	for step := range 3 {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if token := req.Params.GetProgressToken(); token != nil {
			req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(step + 1), Total: 3})
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
}

func broken(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New("this tool never works")
}

func note(text func(uri string) string) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text(uri)}}}, nil
	}
}

func explain(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := "Explain " + req.Params.Arguments["topic"] + " in three sentences."
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
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
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "v1.0.0"}, &mcp.ServerOptions{CompletionHandler: complete})
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "repeat a text", Annotations: reads}, echo)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "add two numbers", Annotations: reads}, add)
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "take a third of a second, and say how far it is", Annotations: reads}, slow)
	mcp.AddTool(s, &mcp.Tool{Name: "broken", Description: "fail every time", Annotations: reads}, broken)
	s.AddResource(&mcp.Resource{Name: "today", URI: "notes://today", MIMEType: "text/plain", Description: "the note of the day"},
		note(func(string) string { return "Water the plants." }))
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "about", URITemplate: "notes://about/{topic}", MIMEType: "text/plain"},
		note(func(uri string) string {
			return "Nothing is known about " + strings.TrimPrefix(uri, "notes://about/") + "."
		}))
	s.AddPrompt(&mcp.Prompt{Name: "explain", Description: "ask for an explanation of a topic",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}}}, explain)
	return s
}

func main() {
	server := newServer()
	// 2026-07-28 is served over HTTP by the stateless form alone.
	stateless := len(os.Args) > 1 && os.Args[1] == "http-stateless"
	if len(os.Args) == 3 && strings.HasPrefix(os.Args[1], "http") {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		http.Handle("/mcp", handler)
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], nil))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
