// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// Every assertion that fails in failing_test.go holds here, in every revision.
func TestAssertionsHold(t *testing.T) {
	mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return mock.New(harbour()) }), func(t *testing.T, c *mcptest.Client) {
		if name, v := c.ServerInfo(); name != "mock" || v == "" || c.Instructions() != "" {
			t.Errorf("the server is %s %s, and says %q", name, v, c.Instructions())
		}
		c.HasCapability("tools")
		if tool := c.HasTool("echo"); tool.Description != "Gives back the text." || len(tool.InputSchema) == 0 {
			t.Errorf("the tool is %+v", tool)
		}
		c.HasNoTool("moor")
		c.HasTools("echo", "tide", "wrong_tide", "no_tide", "map", "sunk", "leak", "ships", "sail", "scuttle", "count")
		c.HasResource("file:///log")
		c.HasPrompt("watch")
		c.ListsWithin(2000)
		c.ListsTheSame()
		structured := c.Revision() >= "2025-06-18"
		tide := c.CallTool("tide", nil).IsOK().HasText(`{"height":2.5}`).HasJSON(mcptest.Args{"height": 2.5}).HasJSON(mcptest.JSON(`{"height":2.50}`)).
			Within(time.Minute).HasNoSecrets("hunter2")
		if structured {
			tide.MatchesOutputSchema()
			c.CallTool("ships", nil).HasAt("/ships/1/name", "Bell").HasAt("$.ships[?@.tons > 10].name", "Ada").HasAt("$.ships[*].tons", []int{12, 7})
		}
		var height struct{ Height float64 }
		if tide.Decode(&height); height.Height != 2.5 {
			t.Errorf("decoded %+v", height)
		}
		c.CallTool("map", nil).HasImage("image/png").Contains("the harbour")
		if mime, data := c.CallTool("map", nil).Image(); mime != "image/png" || string(data) != "harbour" {
			t.Errorf("the image is %s %q", mime, data)
		}
		c.CallTool("sunk", nil).IsToolError().HasText("the ship is gone")
		c.CallTool("moor", nil).HasErrorCode(spec.CodeInvalidParams).HasErrorMessage("moor")
		c.ReadResource("file:///log").HasText("calm").HasAt("/contents/0/uri", "file:///log")
		c.GetPrompt("watch", nil).HasText("Keep watch.").HasAt("/messages/0/role", "user")
		c.CallTool("echo", mcptest.Args{"text": "a"}).Satisfies(func(r *mcptest.Reply) error { return mcptest.Is(r.Text(), "a") }).HasStatus(200)
		if structured { // and so are elicitations
			c.CallTool("sail", nil, mcptest.WithProgress()).HasText("out").Reports(2)
		}
		c.StaysTheSame(func() { c.CallTool("count", nil).Ignore() })
		c.Stampede(20, "echo", func(i int) any { return mcptest.Args{"text": fmt.Sprint(i)} },
			func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint(i)) })
		if !c.Modern() {
			c.Ping().IsOK()
		}
	}, mcptest.OnElicit(mcptest.Accept(mcptest.Args{"sure": true})))
}

// One set of answers serves both eras.
func TestAnswersServeBothEras(t *testing.T) {
	for _, x := range []struct {
		name string
		opts []mcptest.Option
		then func(c *mcptest.Client, r *mcptest.Reply)
	}{
		{"accepted", []mcptest.Option{mcptest.OnElicit(mcptest.Accept(mcptest.Args{"sure": true}))}, func(_ *mcptest.Client, r *mcptest.Reply) { r.HasText("out") }},
		{"declined", []mcptest.Option{mcptest.OnElicit(mcptest.Decline())}, func(_ *mcptest.Client, r *mcptest.Reply) {
			r.Satisfies(func(r *mcptest.Reply) error {
				return unless(!strings.Contains(string(r.Result()), `"out"`), "it sailed")
			}).Ignore()
		}},
		{"cancelled", []mcptest.Option{mcptest.OnElicit(mcptest.Cancel())}, func(_ *mcptest.Client, r *mcptest.Reply) { r.Ignore() }},
		{"by key", []mcptest.Option{mcptest.OnAsk("other"), mcptest.OnAsk("sure", mcptest.Accept(mcptest.Args{"sure": true})), mcptest.OnElicit(mcptest.Always(mcptest.Decline()))},
			func(_ *mcptest.Client, r *mcptest.Reply) { r.HasText("out") }},
		{"whole", []mcptest.Option{mcptest.OnElicit(mcptest.Result(mcptest.JSON(`{"action":"accept","content":{"sure":true}}`)))},
			func(_ *mcptest.Client, r *mcptest.Reply) { r.HasText("out") }},
		{"late", []mcptest.Option{mcptest.OnElicit(mcptest.After(time.Minute, mcptest.Accept(mcptest.Args{"sure": true})))},
			func(c *mcptest.Client, r *mcptest.Reply) {
				r.HasText("out").Satisfies(func(r *mcptest.Reply) error { return unless(r.Took() >= time.Minute, "it took "+r.Took().String()) })
			}},
	} {
		for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
			synctest.Test(t, func(t *testing.T) {
				c := mcptest.Open(t, harbour(), append(x.opts, era)...)
				r := c.CallTool("sail", nil, mcptest.WithProgress())
				x.then(c, r)
				if rounds := r.Rounds(); c.Modern() && (len(rounds) != 2 || len(rounds[0].Questions) != 1 || rounds[0].State == "" ||
					string(rounds[0].Request.Message().ID) == string(rounds[1].Request.Message().ID)) || !c.Modern() && len(rounds) != 1 {
					t.Errorf("%s: the rounds are %+v", x.name, rounds)
				}
				if qs := c.Asked(); len(qs) != 1 || qs[0].Message != "Sail out?" || qs[0].Method != spec.MethodElicit || (qs[0].Key == "sure") != c.Modern() {
					t.Errorf("%s: it asked %v", x.name, qs)
				}
			})
		}
	}
}

func unless(ok bool, why string) error {
	if ok {
		return nil
	}
	return errors.New(why)
}

// What is sent as it is gets its answer, in every revision.
func TestRawTextsAreAnswered(t *testing.T) {
	mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return mock.New(harbour()) }), func(t *testing.T, c *mcptest.Client) {
		meta := ""
		header := []wire.HeaderField{{Name: "Content-Type", Value: "application/json"}, {Name: "Accept", Value: "application/json, text/event-stream"}, {Name: "MCP-Protocol-Version", Value: c.Revision()}}
		if c.Modern() {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
			header = append(header, wire.HeaderField{Name: "Mcp-Method", Value: "tools/call"}, wire.HeaderField{Name: "Mcp-Name", Value: "sunk"})
		} else {
			header = append(header, wire.HeaderField{Name: "Mcp-Session-Id", Value: c.Negotiated().SessionID})
		}
		r := c.Raw([]byte(`{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"sunk"`+meta+`}}`), header...)
		r.IsToolError().HasText("the ship is gone")
		if got := string(r.Frames()[1].Message().ID); got != `"mine"` {
			t.Errorf("the id is %s", got)
		}
		c.Raw([]byte(`{"jsonrpc":"2.0","id":7,`), header...).HasErrorCode(spec.CodeParseError)
	})
}

// What the test forgot, or has too much of, fails it.
func TestAnswersAreCounted(t *testing.T) {
	for name, x := range map[string]struct {
		opts []mcptest.Option
		do   func(c *mcptest.Client)
		want string
	}{
		"too many": {[]mcptest.Option{mcptest.OnElicit(mcptest.Decline(), mcptest.Decline())},
			func(c *mcptest.Client) { c.CallTool("sail", nil).Ignore() }, "OnElicit has 1 answer that the server never asked for; it asked once"},
		"too few": {[]mcptest.Option{mcptest.OnElicit(mcptest.Decline())},
			func(c *mcptest.Client) { c.CallTool("sail", nil).Ignore(); c.CallTool("sail", nil).Ignore() }, "once more than the test has answers"},
		"no fit": {[]mcptest.Option{mcptest.OnElicit(mcptest.Accept(mcptest.Args{"sure": "yes"}))},
			func(c *mcptest.Client) { c.CallTool("sail", nil).Ignore() }, "does not fit the form: /sure"},
		"no JSON": {[]mcptest.Option{mcptest.OnElicit(mcptest.Result(func() {}))},
			func(c *mcptest.Client) { c.CallTool("sail", nil).Ignore() }, "cannot be written as JSON"},
	} {
		for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
			t.Run(name, func(t *testing.T) {
				w := watch(t, func(t testing.TB) { x.do(mcptest.Open(t, harbour(), append(x.opts, era)...)) })
				if got := strings.Join(w.said, "\n"); !strings.Contains(got, x.want) {
					t.Errorf("the test said %s", got)
				}
			})
		}
	}
}

// A client without a capability, and one that declares what it cannot answer.
func TestQuestionsInVain(t *testing.T) {
	t.Run("modern, undeclared", func(t *testing.T) {
		mcptest.Open(t, harbour(), mcptest.Modern).CallTool("sail", nil).HasErrorCode(spec.CodeMissingClientCapability)
	})
	for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
		c := mcptest.Open(t, harbour(), era, mcptest.Capabilities(`{"elicitation":{}}`))
		r := c.CallTool("sail", nil)
		r.AsksInVain(spec.MethodElicit)
		var none *mcptest.NoAnswerError
		if c.Modern() && !errors.As(r.Err(), &none) {
			t.Errorf("the error is %v", r.Err())
		}
		r.Ignore()
	}
}

func TestStepsStandStill(t *testing.T) {
	for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
		c := mcptest.Open(t, harbour(), era, mcptest.OnElicit())
		s := c.Step("sail", nil)
		s.Asks("sure")
		if s.Round() != 1 || len(s.Questions()) != 1 || (s.State() != "") != c.Modern() {
			t.Errorf("round %d, %v, state %q", s.Round(), s.Questions(), s.State())
		}
		s.Answer(mcptest.Accept(mcptest.Args{"sure": true})).Reply().HasText("out")
		if c.Modern() {
			c.Step("sail", nil).AnswerWithState("forged", mcptest.Accept(mcptest.Args{"sure": true})).Reply().HasErrorCode(spec.CodeInvalidParams)
		}
	}
}

func TestConfirmationsComeFirst(t *testing.T) {
	for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
		mcptest.Open(t, harbour(), era).AsksBefore("sail", nil, func() any { return sunkShips })
	}
}

// slow is a server whose tool takes an hour and tells of it.
func slow() mock.Script {
	var steps []mock.Step
	for i := range 60 {
		steps = append(steps, mock.Step{Wait: time.Minute, Progress: &mock.Progress{Progress: float64(i + 1)}})
	}
	return mock.Script{Tools: []mock.Tool{{
		Definition: []byte(`{"name":"dig","inputSchema":{"type":"object"}}`),
		Answers:    []mock.Answer{{Steps: steps, Result: []byte(`{"content":[{"type":"text","text":"dug"}]}`)}},
	}}}
}

func TestProgressAndCancellationInVirtualTime(t *testing.T) {
	mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return mock.New(slow()) }), func(t *testing.T, c *mcptest.Client) {
		p := c.Start("dig", nil, mcptest.WithProgress())
		p.Reports(10, 11*time.Minute)
		p.Sees(spec.NotificationProgress, 0)
		p.Wait().HasText("dug").Reports(60)

		p = c.Start("dig", nil, mcptest.WithProgress())
		p.Reports(1, 2*time.Minute)
		p.Cancel()
		n := len(c.Notifications(spec.NotificationProgress))
		c.StaysSilent(spec.NotificationProgress, time.Hour)
		if got := len(c.Notifications("")); got != n {
			t.Errorf("%d notifications became %d", n, got)
		}
	}, mcptest.VirtualTime)
}

func TestChangesAreHeard(t *testing.T) {
	for name, target := range targets {
		if name == "script" || name == "fresh" || name == "function" || name == "streams" {
			continue // the server that changes must be at hand
		}
		for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
			t.Run(name, func(t *testing.T) {
				server := mock.New(changing())
				var to any = server
				if name == "pipes" {
					to = server.Stdio("pipes")
				}
				_ = target
				c := mcptest.Open(t, to, era, mcptest.Listen)
				sub := c.Subscribe("tools", "file:///log")
				server.Change(mock.Change{AddTools: []mock.Tool{{Definition: []byte(`{"name":"late","inputSchema":{"type":"object"}}`)}}})
				if f := sub.Next(time.Second); f == nil || f.Message().Method != spec.NotificationToolsListChanged {
					t.Errorf("heard %+v", f)
				}
				c.Awaits(spec.NotificationToolsListChanged, time.Second, nil)
				c.HasTool("late")
				c.CallTool("late", nil).IsOK()
				server.Change(mock.Change{Updated: []string{"file:///log"}})
				if f := sub.Next(time.Second); f == nil || f.Message().Method != spec.NotificationResourcesUpdated {
					t.Errorf("heard %+v", f)
				}
				sub.Close()
			})
		}
	}
}

func changing() mock.Script {
	s := harbour()
	s.Capabilities = []byte(`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true}}`)
	return s
}

// Answers that cross between clients are named, with whose they were.
func TestStampedesFindCrossedAnswers(t *testing.T) {
	s := echoing()
	s.Faults = []mock.Fault{mock.On(spec.MethodToolsCall).Cross(mock.CrossIDs)}
	w := watch(t, func(t testing.TB) {
		c := mcptest.Open(t, s, mcptest.Lax)
		c.Stampede(8, "echo", func(i int) any { return mcptest.Args{"text": fmt.Sprint("call ", i)} },
			func(i int, r *mcptest.Reply) error { return mcptest.Is(r.Text(), fmt.Sprint("call ", i)) })
	})
	if !w.failed {
		t.Error("the test did not fail")
	}
	t.Log(strings.Join(w.said, "\n"))
}
