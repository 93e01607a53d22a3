// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// harbour is a server on which every assertion finds something to hold or to fail.
func harbour() mock.Script {
	tool := func(name, more, result string) mock.Tool {
		return mock.Tool{
			Definition: []byte(`{"name":"` + name + `","description":"A tool.","inputSchema":{"type":"object"}` + more + `}`),
			Result:     json.RawMessage(result),
		}
	}
	count := 0
	return mock.Script{
		Tools: []mock.Tool{
			echo,
			tool("tide", `,"outputSchema":{"type":"object","properties":{"height":{"type":"number"}},"required":["height"]}`,
				`{"content":[{"type":"text","text":"{\"height\":2.5}"}],"structuredContent":{"height":2.5}}`),
			tool("wrong_tide", `,"outputSchema":{"type":"object","properties":{"height":{"type":"number"}},"required":["height"]}`,
				`{"content":[{"type":"text","text":"high"}],"structuredContent":{"height":"high"}}`),
			tool("no_tide", `,"outputSchema":{"type":"object"}`, `{"content":[{"type":"text","text":"none"}]}`),
			tool("map", "", `{"content":[{"type":"image","data":"aGFyYm91cg==","mimeType":"image/png"},{"type":"text","text":"the harbour"}]}`),
			tool("sunk", "", `{"content":[{"type":"text","text":"the ship is gone"}],"isError":true}`),
			tool("leak", "", `{"content":[{"type":"text","text":"key AKIATIDEOFFICE4NOTES, Traceback (most recent call last): line 7"}],"isError":true}`),
			tool("ships", "", `{"content":[],"structuredContent":{"ships":[{"name":"Ada","tons":12},{"name":"Bell","tons":7}]}}`),
			{
				Definition: []byte(`{"name":"sail","description":"Sails out.","inputSchema":{"type":"object"}}`),
				Answers: []mock.Answer{{
					Steps: []mock.Step{{Progress: &mock.Progress{Progress: 1}}, {Progress: &mock.Progress{Progress: 2}}, {Log: &mock.Log{Level: "warning", Data: []byte(`"fog"`)}}},
					Ask: []mock.Ask{{Key: "sure", Method: spec.MethodElicit,
						Params: []byte(`{"message":"Sail out?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}}`)}},
					Result: []byte(`{"content":[{"type":"text","text":"out"}]}`),
				}},
			},
			{
				Definition: []byte(`{"name":"scuttle","description":"Sinks the ship, and asks then.","inputSchema":{"type":"object"}}`),
				Func: func(ctx context.Context, c *mock.Call) (json.RawMessage, error) {
					sunkShips++
					_, err := c.Ask(ctx, mock.Ask{Key: "sure", Method: spec.MethodElicit,
						Params: []byte(`{"message":"Sink?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}}}}`)})
					if err != nil {
						return nil, err
					}
					return []byte(`{"content":[{"type":"text","text":"gone"}]}`), nil
				},
			},
			{
				Definition: []byte(`{"name":"count","description":"Counts.","inputSchema":{"type":"object"}}`),
				Func: func(context.Context, *mock.Call) (json.RawMessage, error) {
					count++
					return []byte(fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, count)), nil
				},
			},
		},
		Resources: []mock.Resource{{Definition: []byte(`{"uri":"file:///log","name":"log"}`), Contents: []byte(`[{"uri":"file:///log","text":"calm"}]`)}},
		Prompts:   []mock.Prompt{{Definition: []byte(`{"name":"watch"}`), Messages: []byte(`[{"role":"user","content":{"type":"text","text":"Keep watch."}}]`)}},
	}
}

// sunkShips is the effect that scuttle has.
var sunkShips int

// failures are assertions that fail, each by what a test does.
var failures = []struct {
	name string
	do   func(t testing.TB, c *mcptest.Client)
}{
	{"has-tool", func(t testing.TB, c *mcptest.Client) { c.HasTool("ecko") }},
	{"has-no-tool", func(t testing.TB, c *mcptest.Client) { c.HasNoTool("echo") }},
	{"has-tools", func(t testing.TB, c *mcptest.Client) { c.HasTools("echo", "moor") }},
	{"has-resource", func(t testing.TB, c *mcptest.Client) { c.HasResource("file:///lock") }},
	{"has-template", func(t testing.TB, c *mcptest.Client) { c.HasTemplate("file:///{day}") }},
	{"has-prompt", func(t testing.TB, c *mcptest.Client) { c.HasPrompt("wacht") }},
	{"has-capability", func(t testing.TB, c *mcptest.Client) { c.HasCapability("completions") }},
	{"lists-within", func(t testing.TB, c *mcptest.Client) { c.ListsWithin(100) }},
	{"is-ok", func(t testing.TB, c *mcptest.Client) { c.CallTool("sunk", nil).IsOK() }},
	{"has-text", func(t testing.TB, c *mcptest.Client) {
		c.CallTool("echo", mcptest.Args{"text": "calm"}).HasText("storm")
	}},
	{"has-text-of-tool-error", func(t testing.TB, c *mcptest.Client) { c.CallTool("sunk", nil).HasText("the ship is gone") }},
	{"has-text-of-error", func(t testing.TB, c *mcptest.Client) { c.CallTool("moor", nil).HasText("moored") }},
	{"contains", func(t testing.TB, c *mcptest.Client) { c.GetPrompt("watch", nil).Contains("watch", "night") }},
	{"has-json", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).HasJSON(mcptest.Args{"height": 3}) }},
	{"has-json-of-text", func(t testing.TB, c *mcptest.Client) { c.CallTool("map", nil).HasJSON(1) }},
	{"has-at-pointer", func(t testing.TB, c *mcptest.Client) { c.CallTool("ships", nil).HasAt("/ships/0/name", "Bell") }},
	{"has-at-path", func(t testing.TB, c *mcptest.Client) { c.CallTool("ships", nil).HasAt("$.ships[*].tons", []int{12, 8}) }},
	{"has-at-nothing", func(t testing.TB, c *mcptest.Client) { c.CallTool("ships", nil).HasAt("/ships/2", 1) }},
	{"has-at-no-path", func(t testing.TB, c *mcptest.Client) { c.CallTool("ships", nil).HasAt("ships.0", 1) }},
	{"satisfies", func(t testing.TB, c *mcptest.Client) {
		c.CallTool("count", nil).Satisfies(func(*mcptest.Reply) error { return errors.New("it is not even") })
	}},
	{"has-image", func(t testing.TB, c *mcptest.Client) { c.CallTool("map", nil).HasImage("image/jpeg") }},
	{"is-tool-error", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).IsToolError() }},
	{"is-tool-error-of-error", func(t testing.TB, c *mcptest.Client) { c.CallTool("moor", nil).IsToolError() }},
	{"has-error-code", func(t testing.TB, c *mcptest.Client) { c.CallTool("moor", nil).HasErrorCode(-32601) }},
	{"has-error-code-of-result", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).HasErrorCode(-32602) }},
	{"has-error-message", func(t testing.TB, c *mcptest.Client) { c.CallTool("moor", nil).HasErrorMessage("no such ship") }},
	{"has-status", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).HasStatus(404) }},
	{"asks-in-vain", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).AsksInVain(spec.MethodElicit) }},
	{"matches-output-schema", func(t testing.TB, c *mcptest.Client) { c.CallTool("wrong_tide", nil).MatchesOutputSchema() }},
	{"matches-output-schema-without", func(t testing.TB, c *mcptest.Client) {
		c.CallTool("echo", mcptest.Args{"text": ""}).MatchesOutputSchema()
	}},
	{"no-structured-content", func(t testing.TB, c *mcptest.Client) { c.CallTool("no_tide", nil) }},
	{"within", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).Within(-1) }},
	{"has-no-secrets", func(t testing.TB, c *mcptest.Client) { c.CallTool("leak", nil).HasNoSecrets("line 7") }},
	{"reports", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil, mcptest.WithProgress()).Reports(1) }},
	{"logs-at", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).LogsAt("error") }},
	{"golden-missing", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).Golden(t, "not-there") }},
	{"golden-differs", func(t testing.TB, c *mcptest.Client) { c.CallTool("ships", nil).Golden(t, "tide") }},
	{"error-not-looked-at", func(t testing.TB, c *mcptest.Client) { c.CallTool("moor", nil) }},
	{"tool-error-not-looked-at", func(t testing.TB, c *mcptest.Client) { c.CallTool("sunk", nil) }},
	{"text-of-error", func(t testing.TB, c *mcptest.Client) { _ = c.CallTool("moor", nil).Text() }},
	{"decode-of-text", func(t testing.TB, c *mcptest.Client) { var n int; c.CallTool("tide", nil).Decode(&n) }},
	{"arguments-no-json", func(t testing.TB, c *mcptest.Client) { c.CallTool("echo", json.RawMessage(`{"text":`)) }},
	{"stampede", func(t testing.TB, c *mcptest.Client) {
		c.Stampede(3, "map", func(int) any { return nil }, func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint(i)) })
	}},
	{"asks-before-not-at-all", func(t testing.TB, c *mcptest.Client) { c.AsksBefore("tide", nil, func() any { return 0 }) }},
	{"asks-before-too-late", func(t testing.TB, c *mcptest.Client) { c.AsksBefore("scuttle", nil, func() any { return sunkShips }) }},
	{"stays-the-same", func(t testing.TB, c *mcptest.Client) {
		c.StaysTheSame(func() { changed.Change(mock.Change{RemoveTools: []string{"count"}}) })
	}},
	{"awaits", func(t testing.TB, c *mcptest.Client) {
		c.Awaits(spec.NotificationToolsListChanged, time.Millisecond, nil)
	}},
	{"step-asks", func(t testing.TB, c *mcptest.Client) { c.Step("tide", nil).Asks("sure") }},
	{"step-has-ended", func(t testing.TB, c *mcptest.Client) { c.Step("tide", nil).Answer(mcptest.Decline()) }},
	{"lists-the-same", func(t testing.TB, c *mcptest.Client) {
		s := harbour()
		s.Faults = []mock.Fault{mock.On(spec.MethodToolsList).OnTurn(2).OfResult().Reverse("/result/tools")}
		mcptest.Open(t, s).ListsTheSame()
	}},
	{"lists-another-number", func(t testing.TB, c *mcptest.Client) {
		s := harbour()
		s.Faults = []mock.Fault{mock.On(spec.MethodToolsList).OnTurn(2).OfResult().Remove("/result/tools/0")}
		mcptest.Open(t, s).ListsTheSame()
	}},
	{"pending-reports", func(t testing.TB, c *mcptest.Client) {
		p := c.Start("echo", mcptest.Args{"text": "x"}, mcptest.WithProgress())
		p.Reports(3, time.Second)
		p.Wait()
	}},
	{"pending-sees", func(t testing.TB, c *mcptest.Client) {
		p := c.Start("echo", mcptest.Args{"text": "x"})
		p.Sees(spec.NotificationMessage, time.Second)
		p.Wait()
	}},
	{"pending-cancel", func(t testing.TB, c *mcptest.Client) {
		p := c.Start("echo", mcptest.Args{"text": "x"})
		<-p.Done()
		p.Cancel()
	}},
	{"stays-silent", func(t testing.TB, _ *mcptest.Client) {
		server := mock.New(changing())
		c := mcptest.Open(t, server)
		c.Subscribe("tools")
		done := make(chan struct{})
		go func() {
			defer close(done)
			server.Change(mock.Change{RemoveTools: []string{"count"}})
		}()
		c.StaysSilent(spec.NotificationToolsListChanged, 500*time.Millisecond)
		<-done
	}},
	{"subscription-next", func(t testing.TB, c *mcptest.Client) {
		mcptest.Open(t, changing()).Subscribe("tools").Next(time.Millisecond)
	}},
	{"subscribe", func(t testing.TB, c *mcptest.Client) {
		s := changing()
		s.Faults = []mock.Fault{mock.On(spec.MethodListen).Error(-32603, "no listeners today")}
		mcptest.Open(t, s).Subscribe("tools")
	}},
	{"image", func(t testing.TB, c *mcptest.Client) { c.CallTool("tide", nil).Image() }},
	{"blob", func(t testing.TB, c *mcptest.Client) { c.ReadResource("file:///log").Blob() }},
	{"structured-of-tool-error", func(t testing.TB, c *mcptest.Client) { c.CallTool("sunk", nil).Structured() }},
	{"endless-pages", func(t testing.TB, c *mcptest.Client) {
		s := harbour()
		s.PageSize, s.Faults = 1, []mock.Fault{mock.On(spec.MethodToolsList).RepeatCursor()}
		for range mcptest.Open(t, s).Tools() {
		}
	}},
	{"no-list", func(t testing.TB, c *mcptest.Client) {
		s := harbour()
		s.Faults = []mock.Fault{mock.On(spec.MethodToolsList).OfResult().Set("/result/tools", `7`)}
		mcptest.Open(t, s, mcptest.Lax).HasTool("echo")
	}},
	{"notify", func(t testing.TB, c *mcptest.Client) {
		s := harbour()
		s.Faults = []mock.Fault{mock.On(spec.NotificationCancelled).HTTP(400, "text/plain", "no")}
		mcptest.Open(t, s, mcptest.Lax).Notify(spec.NotificationCancelled, mcptest.Args{"requestId": 1})
	}},
	{"with-subtest", func(t testing.TB, c *mcptest.Client) { c.With(t).HasTool("ecko") }},
	{"asks-in-vain-of-client", func(t testing.TB, c *mcptest.Client) { c.AsksInVain(spec.MethodRootsList) }},
	{"step-reply", func(t testing.TB, c *mcptest.Client) {
		mcptest.Open(t, harbour(), mcptest.OnElicit()).Step("sail", nil).Reply()
	}},
	{"step-answers", func(t testing.TB, c *mcptest.Client) {
		mcptest.Open(t, harbour(), mcptest.OnElicit()).Step("sail", nil).Answer()
	}},
	{"unknown-option", func(t testing.TB, c *mcptest.Client) { mcptest.Open(t, harbour(), mcptest.Revision("2025-06-31")) }},
	{"no-answer", func(t testing.TB, c *mcptest.Client) { c.CallTool("sail", nil) }},
}

// changed is the server of stays-the-same, which a test changes.
var changed *mock.Server

func TestFailuresSayWhatThereWas(t *testing.T) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			changed, sunkShips = mock.New(harbour()), 0
			saysAs(t, f.name, watch(t, func(t testing.TB) { f.do(t, mcptest.Open(t, changed)) }))
		})
	}
}
