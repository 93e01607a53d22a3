// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const samplingPage = "2026-07-28/client/sampling"

// samplingRules are those of what a server asks a client's model, as it crosses.
var samplingRules = []Rule{
	samples("sampling.request-shape", rule.Must, rule.Schema, "2026-07-28/schema#createmessagerequestparams", every, sampleShape,
		"a sampling request has messages and an integer maxTokens", "the client refuses the request, and the call never ends", "send messages as an array and maxTokens as an integer",
		onCall(sampleTool).Remove(sampleAt+"/params/maxTokens")),
	samples("sampling.message-shape", rule.Must, rule.Keyword, samplingPage+"#messages", every, sampleMessages,
		"each message of a sampling request has role user or assistant, and content", "models take these two roles alone", "set role to user or assistant, and content to a block",
		onCall(sampleTool).Set(sampleAt+"/params/messages/0/role", `"system"`)),
	samples("sampling.tool-result-only", rule.Must, rule.Keyword, samplingPage+"#tool-result-messages", since2511, sampleResultOnly,
		"a user message with tool results holds nothing else", "providers refuse a message that mixes them", "send further text in a message of its own",
		onCall(sampleTool).Set(sampleAt+"/params/messages", messagesWith(`{"type":"tool_result","toolUseId":"u-1","content":[]},{"type":"text","text":"and?"}`))),
	samples("sampling.tool-use-balanced", rule.Must, rule.Keyword, samplingPage+"#tool-use-and-result-balance", since2511, sampleBalanced,
		"tool uses of the assistant are followed at once by their results", "providers refuse a conversation with open tool uses", "add a user message with a result for every tool use",
		onCall(sampleTool).Set(sampleAt+"/params/messages", `[{"role":"user","content":{"type":"text","text":"a"}},{"role":"assistant","content":{"type":"tool_use","id":"u-1","name":"t","input":{}}},{"role":"user","content":{"type":"text","text":"b"}}]`)),
	samples("sampling.tool-result-id", rule.Must, rule.Schema, "2026-07-28/schema#toolresultcontent", since2511, sampleResultID,
		"a tool result names an earlier tool use", "the model cannot tell what the result answers", "repeat the id of the tool use in toolUseId",
		onCall(sampleTool).Set(sampleAt+"/params/messages", `[{"role":"user","content":{"type":"tool_result","toolUseId":"u-9","content":[]}}]`)),
	samples("sampling.priorities-range", rule.Must, rule.Schema, "2026-07-28/schema#modelpreferences", every, samplePriorities,
		"the priorities of modelPreferences lie between 0 and 1", "clients refuse or clamp them, and pick another model than was meant", "send numbers from 0 to 1",
		onCall(sampleTool).Set(sampleAt+"/params/modelPreferences/costPriority", "7")),
	samples("sampling.include-context-avoided", rule.ShouldNot, rule.Keyword, samplingPage+"#capabilities", since2511, sampleContext,
		"includeContext is none or left out", "thisServer and allServers are deprecated, and clients ignore or refuse them", "put the context that you need into the messages",
		onCall(sampleTool).Set(sampleAt+"/params/includeContext", `"allServers"`)),
}

// messagesWith are the messages of a tool use and a user message with blocks.
func messagesWith(blocks string) string {
	return `[{"role":"assistant","content":{"type":"tool_use","id":"u-1","name":"t","input":{}}},{"role":"user","content":[` + blocks + `]}]`
}

// samples makes one rule about sampling requests that looks on.
func samples(id, level string, basis rule.Basis, section string, in spec.Range, watch func(*probe.Case, *probe.Traffic), title, why, fix string, fault mock.Fault) Rule {
	r := Rule{
		Info: rule.Info{ID: id, Level: level, Basis: basis, Section: section, Title: title, Why: why, Fix: fix},
		In:   in, Watch: watch, Stir: stirAsks, Needs: "--tool",
	}
	r.Break, r.Breaks = ofAsk(fault, in)
	return r
}

func sampleShape(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		if jsonx.KindOf(a.get("/messages")) != jsonx.Array {
			a.fail(c, "/messages", "messages of the sampling request %q is %s", a.key, orAbsent(a.get("/messages")))
		}
		raw := a.get("/maxTokens")
		if jsonx.KindOf(raw) != jsonx.Number || strings.ContainsAny(string(raw), ".eE") {
			a.fail(c, "/maxTokens", "maxTokens of the sampling request %q is %s, not an integer", a.key, orAbsent(raw))
		}
	})
}

// turn is one message of a sampling request.
type turn struct {
	role   string
	blocks []json.RawMessage
	raw    json.RawMessage
	at     string
}

func (m *turn) of(kind string) []json.RawMessage {
	var out []json.RawMessage
	for _, b := range m.blocks {
		if probe.Text(probe.Lookup(b, "/type")) == kind {
			out = append(out, b)
		}
	}
	return out
}

func turns(a *ask) []turn {
	var out []turn
	for i, raw := range probe.Elements(a.get("/messages")) {
		m := turn{role: probe.Text(probe.Lookup(raw, "/role")), raw: raw, at: fmt.Sprintf("/messages/%d", i)}
		content := probe.Lookup(raw, "/content")
		if jsonx.KindOf(content) == jsonx.Array {
			m.blocks = probe.Elements(content)
		} else if content != nil {
			m.blocks = []json.RawMessage{content}
		}
		out = append(out, m)
	}
	return out
}

func sampleMessages(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		for _, m := range turns(a) {
			switch {
			case m.role != "user" && m.role != "assistant":
				a.fail(c, m.at+"/role", "a message of the sampling request %q has role %s", a.key, orAbsent(probe.Lookup(m.raw, "/role")))
			case probe.Lookup(m.raw, "/content") == nil:
				a.fail(c, m.at, "a message of the sampling request %q has no content", a.key)
			}
		}
	})
}

func sampleResultOnly(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		for _, m := range turns(a) {
			if n := len(m.of(spec.ContentToolResult)); m.role == "user" && n > 0 && n < len(m.blocks) {
				a.fail(c, m.at, "a message of the sampling request %q mixes tool results with other content", a.key)
			}
		}
	})
}

func sampleBalanced(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		ms := turns(a)
		for i := range ms {
			if ms[i].role != "assistant" {
				continue
			}
			open := map[string]bool{}
			for _, u := range ms[i].of(spec.ContentToolUse) {
				open[probe.Text(probe.Lookup(u, "/id"))] = true
			}
			if len(open) == 0 {
				continue
			}
			if i+1 < len(ms) && ms[i+1].role == "user" {
				for _, r := range ms[i+1].of(spec.ContentToolResult) {
					delete(open, probe.Text(probe.Lookup(r, "/toolUseId")))
				}
			}
			if len(open) > 0 {
				a.fail(c, ms[i].at, "a tool use of the sampling request %q has no result in the next message", a.key)
			}
		}
	})
}

func sampleResultID(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		used := map[string]bool{}
		for _, m := range turns(a) {
			for _, r := range m.of(spec.ContentToolResult) {
				if raw := probe.Lookup(r, "/toolUseId"); !used[probe.Text(raw)] {
					a.fail(c, m.at, "a tool result of the sampling request %q names no earlier tool use: %s", a.key, orAbsent(raw))
				}
			}
			for _, u := range m.of(spec.ContentToolUse) {
				used[probe.Text(probe.Lookup(u, "/id"))] = true
			}
		}
	})
}

func samplePriorities(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		for _, name := range []string{"costPriority", "speedPriority", "intelligencePriority"} {
			at := "/modelPreferences/" + name
			raw := a.get(at)
			if raw == nil {
				continue
			}
			var n float64
			if jsonx.KindOf(raw) != jsonx.Number || jsonx.Unmarshal(raw, &n) != nil || n < 0 || n > 1 {
				a.fail(c, at, "%s of the sampling request %q is %s", name, a.key, orAbsent(raw))
			}
		}
	})
}

func sampleContext(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isSampling, func(a *ask) {
		if v := a.text("/includeContext"); v == "thisServer" || v == "allServers" {
			a.fail(c, "/includeContext", "includeContext of the sampling request %q is %q", a.key, v)
		}
	})
}
