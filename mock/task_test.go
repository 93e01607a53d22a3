// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

func jobs() mock.Script {
	ask := mock.Ask{Key: "who", Method: spec.MethodElicit, Params: raw(`{"message":"Who?","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}},"required":["it"]}}`)}
	other := ask
	other.Key = "why"
	tool := func(name string, use mock.TaskUse, a mock.Answer) mock.Tool {
		return mock.Tool{Definition: raw(`{"name":"` + name + `","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{a}, Task: use}
	}
	return mock.Script{Tools: []mock.Tool{
		tool("quick", mock.TaskOptional, mock.Answer{Result: raw(`{"content":[{"type":"text","text":"quick"}]}`)}),
		tool("slow", mock.TaskRequired, mock.Answer{Delay: time.Hour}),
		tool("broken", mock.TaskOptional, mock.Answer{Result: raw(`{"content":[],"isError":true}`)}),
		tool("error", mock.TaskOptional, mock.Answer{Error: &mock.Error{Code: spec.CodeInternalError, Message: "no"}}),
		tool("ask", mock.TaskOptional, mock.Answer{Ask: []mock.Ask{ask, other}, Result: raw(`{"content":[{"type":"text","text":"{{input.who.content.it}} {{input.why.content.it}}"}]}`)}),
		tool("first", mock.TaskOptional, mock.Answer{Ask: []mock.Ask{ask}, AskBeforeTask: true, Result: raw(`{"content":[{"type":"text","text":"{{input.who.content.it}}"}]}`)}),
		{Definition: raw(`{"name":"plain","inputSchema":{"type":"object"}}`)},
	}}
}

// text returns a string of a result.
func text(t *testing.T, raw []byte, pointer string) string {
	t.Helper()
	v, err := lookup(raw, pointer)
	if err != nil {
		t.Fatalf("%s is not in %s", pointer, raw)
	}
	s, _ := jsonx.Text(v)
	return s
}

func TestModernTasks(t *testing.T) {
	srv := mock.New(jobs())
	defer func() { _ = srv.Shutdown(within(t)) }()
	ask := func(method, params string) []byte {
		name := header("X", "")
		if i := strings.Index(params, `"taskId":"`); i >= 0 {
			id, _, _ := strings.Cut(params[i+len(`"taskId":"`):], `"`)
			name = header(spec.HeaderName, id)
		}
		return post(srv, tasked(method, params), name).Body.Bytes()
	}
	begin := func(name, more string) string {
		b := ask(spec.MethodToolsCall, `"name":"`+name+`"`+more)
		if text(t, b, "/result/resultType") != "task" || text(t, b, "/result/status") != "working" {
			t.Fatalf("%s: %s", name, b)
		}
		return text(t, b, "/result/taskId")
	}
	until := func(id, status string) []byte {
		for range 1000 {
			b := ask(spec.MethodTasksGet, `"taskId":"`+id+`"`)
			if got := text(t, b, "/result/status"); got == status {
				return b
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatalf("task %s never became %s", id, status)
		return nil
	}
	if b := until(begin("quick", ""), "completed"); text(t, b, "/result/result/content/0/text") != "quick" || text(t, b, "/result/resultType") != "complete" {
		t.Errorf("quick: %s", b)
	}
	if b := until(begin("broken", ""), "completed"); !contains(b, `"isError":true`) {
		t.Errorf("broken: %s", b)
	}
	if b := until(begin("error", ""), "failed"); !contains(b, `"error":{"code":-32603,"message":"no"}`) {
		t.Errorf("error: %s", b)
	}
	slow := begin("slow", "")
	if b := ask(spec.MethodTasksCancel, `"taskId":"`+slow+`"`); text(t, b, "/result/resultType") != "complete" {
		t.Errorf("cancel: %s", b)
	}
	until(slow, "cancelled")
	if b := ask(spec.MethodTasksCancel, `"taskId":"`+slow+`"`); code(t, b) != 0 {
		t.Errorf("cancel again: %s", b)
	}

	asks := begin("ask", "")
	if b := until(asks, "input_required"); !contains(b, `"inputRequests":{"who":{`) || !contains(b, `"why":{`) {
		t.Errorf("ask: %s", b)
	}
	update := func(key string) []byte {
		return ask(spec.ExtensionTasksUpdate, `"taskId":"`+asks+`","inputResponses":{"`+key+`":{"action":"accept","content":{"it":"`+key+`"}}}`)
	}
	for _, key := range []string{"nobody", "who"} {
		if b := update(key); code(t, b) != 0 {
			t.Errorf("update: %s", b)
		}
	}
	if b := until(asks, "input_required"); contains(b, `"who"`) || !contains(b, `"why"`) {
		t.Errorf("after one answer: %s", b)
	}
	update("why")
	if b := until(asks, "completed"); text(t, b, "/result/result/content/0/text") != "who why" {
		t.Errorf("ask: %s", b)
	}

	before := ask(spec.MethodToolsCall, `"name":"first"`)
	if !contains(before, `"resultType":"input_required"`) {
		t.Errorf("before the task: %s", before)
	}
	first := begin("first", `,"requestState":"`+state(t, before)+`","inputResponses":{"who":{"action":"accept","content":{"it":"Ada"}}}`)
	if b := until(first, "completed"); text(t, b, "/result/result/content/0/text") != "Ada" {
		t.Errorf("first: %s", b)
	}

	for _, tc := range []struct {
		name, body, task string
		want             int
	}{
		{"unknown", tasked(spec.MethodTasksGet, `"taskId":"x"`), "x", spec.CodeInvalidParams},
		{"another name", tasked(spec.MethodTasksGet, `"taskId":"`+slow+`"`), "x", spec.CodeHeaderMismatch},
		{"undeclared", modern(spec.MethodTasksGet, `"taskId":"`+slow+`"`), slow, spec.CodeMissingClientCapability},
		{"required", modern(spec.MethodToolsCall, `"name":"slow"`), "slow", spec.CodeMissingClientCapability},
		{"plain for who takes none", modern(spec.MethodToolsCall, `"name":"quick"`), "quick", 0},
		{"tasks/list is gone", tasked(spec.MethodTasksList, ""), "", spec.CodeMethodNotFound},
		{"tasks/result is gone", tasked(spec.MethodTasksResult, `"taskId":"x"`), "", spec.CodeMethodNotFound},
		{"listening undeclared", modern(spec.MethodListen, `"notifications":{"taskIds":["x"]}`), "", spec.CodeMissingClientCapability},
	} {
		if b := post(srv, tc.body, header(spec.HeaderName, tc.task)).Body.Bytes(); code(t, b) != tc.want {
			t.Errorf("%s: %s", tc.name, b)
		}
	}
	if b := ask(spec.MethodDiscover, ""); !contains(b, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) || contains(b, `"tasks":{`) {
		t.Errorf("capabilities: %s", b)
	}
	if b := ask(spec.MethodToolsList, ""); contains(b, "execution") {
		t.Errorf("tools: %s", b)
	}
}

func TestTaskNotifications(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		script := jobs()
		release := make(chan struct{})
		script.Tools = append(script.Tools, mock.Tool{Definition: raw(`{"name":"held","inputSchema":{"type":"object"}}`), Task: mock.TaskOptional,
			Func: func(ctx context.Context, c *mock.Call) (json.RawMessage, error) {
				select {
				case <-release:
				case <-ctx.Done():
				}
				return raw(`{"content":[]}`), nil
			}})
		srv := mock.New(script)
		defer func() { _ = srv.Shutdown(within(t)) }()
		s := open(t, target(srv), session.Options{Era: spec.Modern, Capabilities: raw(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)})
		res, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"held"}`))
		if err != nil && res == nil {
			t.Fatal(err)
		}
		id, _ := lookup(res.Exchange.Response.Raw, "/result/taskId")
		sub, err := s.Subscribe(within(t), raw(`{"taskIds":[`+string(id)+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		close(release)
		f, err := sub.Next(within(t))
		if err != nil || !contains(f.Raw, `"status":"completed"`) || !contains(f.Raw, `"result":{"content":[]}`) {
			t.Errorf("%v %v", f, err)
		}
		_ = sub.Close(within(t))
	})
}

func TestLegacyTasks(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		srv, j := mock.New(jobs()), newJudge(spec.Rev20251125)
		defer func() { _ = srv.Shutdown(within(t)) }()
		answers := session.Handlers{Elicit: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(`{"action":"accept","content":{"it":"Ada"}}`), nil
		}}
		s := open(t, target(srv), session.Options{Revision: spec.Rev20251125, Handlers: answers})
		call := func(method, params string) (json.RawMessage, int) {
			res, err := s.Call(within(t), method, raw(params))
			if rpc, ok := errors.AsType[*session.RPCError](err); ok {
				return nil, int(rpc.Code)
			}
			if err != nil {
				t.Fatalf("%s %s: %v", method, params, err)
			}
			return res.Raw, 0
		}
		begin := func(name string) string {
			r, _ := call(spec.MethodToolsCall, `{"name":"`+name+`","task":{"ttl":60000}}`)
			if text(t, r, "/task/status") != "working" {
				t.Errorf("%s: %s", name, r)
			}
			return `{"taskId":"` + text(t, r, "/task/taskId") + `"}`
		}
		quick := begin("quick")
		r, _ := call(spec.MethodTasksResult, quick)
		if text(t, r, "/content/0/text") != "quick" || !contains(r, `"io.modelcontextprotocol/related-task":`+quick) {
			t.Errorf("result: %s", r)
		}
		if r, _ := call(spec.MethodTasksGet, quick); text(t, r, "/status") != "completed" {
			t.Errorf("status: %s", r)
		}
		broken := begin("broken")
		call(spec.MethodTasksResult, broken)
		if r, _ := call(spec.MethodTasksGet, broken); text(t, r, "/status") != "failed" {
			t.Errorf("status: %s", r)
		}
		if _, c := call(spec.MethodTasksResult, begin("error")); c != spec.CodeInternalError {
			t.Errorf("error: %d", c)
		}
		if r, _ := call(spec.MethodTasksResult, begin("ask")); text(t, r, "/content/0/text") != "Ada Ada" {
			t.Errorf("ask: %s", r)
		}
		slow := begin("slow")
		if r, _ := call(spec.MethodTasksCancel, slow); text(t, r, "/status") != "cancelled" {
			t.Errorf("cancel: %s", r)
		}
		if r, _ := call(spec.MethodTasksList, `{}`); !contains(r, text(t, []byte(slow), "/taskId")) || !contains(r, text(t, []byte(quick), "/taskId")) {
			t.Errorf("list: %s", r)
		}
		for _, tc := range []struct {
			name, method, params string
			want                 int
		}{
			{"cancel again", spec.MethodTasksCancel, slow, spec.CodeInvalidParams},
			{"unknown", spec.MethodTasksGet, `{"taskId":"x"}`, spec.CodeInvalidParams},
			{"a cursor", spec.MethodTasksList, `{"cursor":"x"}`, spec.CodeInvalidParams},
			{"forbidden", spec.MethodToolsCall, `{"name":"plain","task":{}}`, spec.CodeMethodNotFound},
			{"required", spec.MethodToolsCall, `{"name":"slow"}`, spec.CodeMethodNotFound},
			{"optional", spec.MethodToolsCall, `{"name":"quick"}`, 0},
		} {
			if _, c := call(tc.method, tc.params); c != tc.want {
				t.Errorf("%s: %d, want %d", tc.name, c, tc.want)
			}
		}
		l, err := s.List(within(t), spec.MethodToolsList)
		if err != nil || !contains(l.Pages[0].Raw, `"execution":{"taskSupport":"required"}`) {
			t.Errorf("tools: %v", err)
		}
		if c := s.Negotiated().Capabilities; !contains(c, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`) || contains(c, "extensions") {
			t.Errorf("capabilities: %s", c)
		}
		// Another client knows nothing of these tasks.
		other := open(t, target(srv), session.Options{Revision: spec.Rev20251125})
		if _, err := other.Call(within(t), spec.MethodTasksGet, raw(quick)); err == nil {
			t.Error("another client sees the task")
		}
		j.report(t)
	})
}
