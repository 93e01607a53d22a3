// SPDX-License-Identifier: Apache-2.0

// Command notes is an MCP server that keeps notes, as an example of one that is
// tested: see notes_test.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Note is one note.
type Note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// Store keeps notes in memory.
type Store struct {
	mu    sync.Mutex
	last  int
	notes []Note
}

// Add keeps a note and gives it an id.
func (s *Store) Add(text string) Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	n := Note{s.last, text}
	s.notes = append(s.notes, n)
	return n
}

// All returns every note, oldest first.
func (s *Store) All() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Note{}, s.notes...)
}

// Delete removes a note, and reports whether it was there.
func (s *Store) Delete(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.notes)
	s.notes = slices.DeleteFunc(s.notes, func(n Note) bool { return n.ID == id })
	return len(s.notes) < before
}

// NewServer makes the server of a store.
func NewServer(s *Store) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add_note", Description: "Keeps a note."}, s.add)
	mcp.AddTool(server, &mcp.Tool{
		Name: "list_notes", Description: "Lists the notes, oldest first.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, s.list)
	mcp.AddTool(server, &mcp.Tool{Name: "delete_note", Description: "Deletes a note for good, once the user has agreed."}, s.delete)
	mcp.AddTool(server, &mcp.Tool{Name: "remind", Description: "Answers after some minutes, with the text that it was given."}, remind)
	return server
}

// Handler is what is deployed.
func Handler(s *Store) http.Handler {
	server := NewServer(s)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.NewCrossOriginProtection().Handler(handler)
}

type addArgs struct {
	Text string `json:"text" jsonschema:"what to keep"`
}

func (s *Store) add(_ context.Context, _ *mcp.CallToolRequest, in addArgs) (*mcp.CallToolResult, Note, error) {
	if in.Text == "" {
		return nil, Note{}, errors.New("a note needs a text")
	}
	return nil, s.Add(in.Text), nil
}

type listResult struct {
	Notes []Note `json:"notes"`
}

func (s *Store) list(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, listResult, error) {
	return nil, listResult{s.All()}, nil
}

type deleteArgs struct {
	ID int `json:"id" jsonschema:"the id of the note"`
}

// delete asks first. The SDK hands the question to clients of both eras.
func (s *Store) delete(_ context.Context, r *mcp.CallToolRequest, in deleteArgs) (*mcp.CallToolResult, any, error) {
	answer, ok := r.Params.InputResponses["sure"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{
			Message:         fmt.Sprintf("Delete note %d for good?", in.ID),
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}},
		}}}, nil, nil
	}
	if answer.Action != "accept" {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "kept"}}}, nil, nil
	}
	if !s.Delete(in.ID) {
		return nil, nil, fmt.Errorf("there is no note %d", in.ID)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deleted"}}}, nil, nil
}

type remindArgs struct {
	Text    string `json:"text" jsonschema:"what to say"`
	Minutes int    `json:"minutes" jsonschema:"after how long"`
}

func remind(ctx context.Context, _ *mcp.CallToolRequest, in remindArgs) (*mcp.CallToolResult, any, error) {
	t := time.NewTimer(time.Duration(in.Minutes) * time.Minute)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
}
