// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/transport"
)

// demos are the embedded servers by the names a command line knows.
var demos = map[string]func() Script{
	"demo:":      Library,
	"demo:drift": LibraryDrift,
}

// Demo returns an embedded server as a target inside the process: demo: is the
// desk of a small library, demo:drift the same server after a release that
// breaks its callers. Both speak both eras.
func Demo(name string) (transport.Target, error) {
	script, ok := demos[name]
	if !ok {
		known := slices.Sorted(maps.Keys(demos))
		return nil, fmt.Errorf("no embedded server %q: there are %s", clip(name), strings.Join(known, " and "))
	}
	return New(script()).HTTP(name), nil
}

// Library is the script of the server that demo: names.
func Library() Script {
	return Script{
		ServerInfo:   []byte(`{"name":"library-desk","title":"Library desk","version":"2.3.0"}`),
		Instructions: "Search before you place a hold: most tools take the id of a book, not its title. Ask the member before you send a reminder.",
		Capabilities: []byte(`{"tools":{},"resources":{},"prompts":{},"completions":{}}`),
		Tools:        libraryTools(),
		Resources: []Resource{
			{
				Definition: []byte(`{"uri":"library://hours","name":"hours","title":"Opening hours","description":"When each branch is open this week.","mimeType":"text/markdown"}`),
				Contents:   []byte(`[{"uri":"library://hours","mimeType":"text/markdown","text":"| branch | open |\n|---|---|\n| harbour | 9 to 18 |\n| hill | 10 to 16 |"}]`),
			},
			{
				Definition: []byte(`{"uri":"library://rules/loans","name":"loan-rules","title":"Loan rules","description":"How long books are lent, and what a late return costs.","mimeType":"text/plain"}`),
				Contents:   []byte(`[{"uri":"library://rules/loans","mimeType":"text/plain","text":"Books are lent for 21 days and may be renewed once."}]`),
			},
		},
		Templates: []Template{{
			Definition: []byte(`{"uriTemplate":"library://books/{book_id}/cover","name":"cover","title":"Book cover","description":"The cover of a book as text.","mimeType":"text/plain"}`),
			Contents:   []byte(`[{"uri":"{{uri}}","mimeType":"text/plain","text":"Cover of book {{book_id}}"}]`),
			Complete:   map[string][]string{"book_id": {"b-1024", "b-1031", "b-2048"}},
		}},
		Prompts: []Prompt{
			{
				Definition: []byte(`{"name":"plan_reading","title":"Plan reading","description":"Plan what to read in a month.","arguments":[{"name":"topic","description":"What it is about.","required":true},{"name":"books","description":"How many books."}]}`),
				Messages:   []byte(`[{"role":"user","content":{"type":"text","text":"Plan a month of reading about {{topic}}. Number of books: {{books}}."}}]`),
				Complete:   map[string][]string{"topic": {"astronomy", "gardening", "sailing", "seabirds"}},
			},
			{
				Definition: []byte(`{"name":"explain_fine","title":"Explain a fine","description":"Explain to a member, kindly, why there is a fine.","arguments":[{"name":"loan_id","description":"The loan that was late.","required":true}]}`),
				Messages:   []byte(`[{"role":"user","content":{"type":"text","text":"Explain the fine for loan {{loan_id}} in two friendly sentences."}}]`),
			},
		},
	}
}

// libraryTools are the tools of the library's desk.
func libraryTools() []Tool {
	return []Tool{
		{
			Definition: []byte(`{
				"name": "search_books",
				"title": "Search books",
				"description": "Search the catalogue by words of title, author or subject. Returns at most limit books, the best match first.",
				"inputSchema": {
					"type": "object",
					"properties": {
						"query": {"type": "string", "minLength": 2, "description": "Words to look for."},
						"filters": {
							"type": "object",
							"description": "Narrows the search.",
							"properties": {
								"author": {"type": "string"},
								"language": {"type": "string", "enum": ["en", "de", "fr", "es"]},
								"published": {
									"type": "object",
									"properties": {
										"from": {"type": "integer", "minimum": 1450},
										"to": {"type": "integer", "maximum": 2100}
									}
								}
							}
						},
						"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "Most books to return."}
					},
					"required": ["query"]
				},
				"outputSchema": {
					"type": "object",
					"properties": {
						"total": {"type": "integer", "minimum": 0},
						"books": {
							"type": "array",
							"items": {
								"type": "object",
								"properties": {
									"id": {"type": "string"},
									"title": {"type": "string"},
									"availability": {"type": "string", "enum": ["on_shelf", "on_loan"]}
								},
								"required": ["id", "title", "availability"]
							}
						}
					},
					"required": ["total", "books"]
				},
				"annotations": {"readOnlyHint": true, "openWorldHint": false}
			}`),
			Result: structured(`{"total":2,"books":[{"id":"b-1024","title":"The Quiet Harbour","availability":"on_shelf"},{"id":"b-1031","title":"Harbours of the North","availability":"on_loan"}]}`),
		},
		{
			Definition: []byte(`{
				"name": "get_book",
				"title": "Get a book",
				"description": "Everything the catalogue knows about one book.",
				"inputSchema": {
					"type": "object",
					"properties": {"book_id": {"type": "string", "description": "As search_books returns it."}},
					"required": ["book_id"]
				},
				"outputSchema": {
					"type": "object",
					"properties": {
						"id": {"type": "string"},
						"title": {"type": "string"},
						"author": {"type": "string"},
						"isbn": {"type": "string"},
						"copies": {"type": "integer", "minimum": 0}
					},
					"required": ["id", "title", "author", "isbn", "copies"]
				},
				"annotations": {"readOnlyHint": true, "openWorldHint": false}
			}`),
			Result: structured(`{"id":"b-1024","title":"The Quiet Harbour","author":"A. Wright","isbn":"9780000010247","copies":3}`),
		},
		{
			Definition: []byte(`{
				"name": "place_hold",
				"title": "Place a hold",
				"description": "Reserve a book for a member, to be picked up at a branch.",
				"inputSchema": {
					"type": "object",
					"properties": {
						"book_id": {"type": "string"},
						"member_id": {"type": "string"},
						"pickup": {
							"type": "object",
							"description": "Where and until when. Without it the home branch, for a week.",
							"properties": {
								"branch": {"type": "string", "enum": ["harbour", "hill"]},
								"days": {"type": "integer", "minimum": 1, "maximum": 14}
							}
						}
					},
					"required": ["book_id", "member_id"]
				},
				"annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true}
			}`),
			Result: textResult("Hold h-77 is placed.", false),
		},
		{
			Definition: []byte(`{
				"name": "cancel_hold",
				"title": "Cancel a hold",
				"description": "Cancel a hold. The book goes to the next member who waits.",
				"inputSchema": {
					"type": "object",
					"properties": {"hold_id": {"type": "string"}},
					"required": ["hold_id"]
				},
				"annotations": {"readOnlyHint": false, "destructiveHint": true}
			}`),
			Result: textResult("Hold h-77 is cancelled.", false),
		},
		{
			Definition: []byte(`{
				"name": "renew_loan",
				"title": "Renew a loan",
				"description": "Renew a loan, if nobody waits for the book.",
				"inputSchema": {
					"type": "object",
					"properties": {
						"loan_id": {"type": "string"},
						"days": {"type": "integer", "minimum": 1, "maximum": 28, "default": 21}
					},
					"required": ["loan_id"]
				},
				"annotations": {"readOnlyHint": false, "destructiveHint": false}
			}`),
			Result: textResult("Loan l-300 runs until 21 June.", false),
		},
		{
			Definition: []byte(`{
				"name": "list_loans",
				"title": "List loans",
				"description": "The loans of a member, the oldest first.",
				"inputSchema": {
					"type": "object",
					"properties": {
						"member_id": {"type": "string"},
						"state": {"type": "array", "items": {"type": "string", "enum": ["active", "overdue", "returned"]}}
					},
					"required": ["member_id"]
				},
				"annotations": {"readOnlyHint": true, "openWorldHint": false}
			}`),
			Result: textResult("l-300: The Quiet Harbour, until 31 May", false),
		},
		{
			Definition: []byte(`{
				"name": "recommend_books",
				"title": "Recommend books",
				"description": "Books that a member may like, by what was read before.",
				"inputSchema": {
					"type": "object",
					"properties": {
						"member_id": {"type": "string"},
						"mood": {"type": "string", "description": "Such as light, serious or thrilling."}
					},
					"required": ["member_id"]
				},
				"annotations": {"readOnlyHint": true, "openWorldHint": false}
			}`),
			Result: textResult("b-2048: A Field Guide to Seabirds", false),
		},
		{
			Definition: []byte(`{
				"name": "send_reminder",
				"title": "Send a reminder",
				"description": "Remind a member of loans that end soon.",
				"inputSchema": {
					"type": "object",
					"properties": {
						"member_id": {"type": "string"},
						"channel": {"type": "string", "enum": ["email", "sms", "letter"]}
					},
					"required": ["member_id", "channel"]
				},
				"annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": true}
			}`),
			Result: textResult("The reminder is on its way.", false),
		},
	}
}

// structured is a result with structuredContent and the same as text, as a
// server should send both (2026-07-28/server/tools#structured-content).
func structured(content string) []byte {
	return object(
		member{"content", array([]json.RawMessage{textBlock(content)})},
		member{"structuredContent", []byte(content)},
	)
}
