// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
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

// asking is a script whose tools, resource and prompt ask for a name, and then
// for a mood.
func asking() mock.Script {
	ask := func(key string, round int) mock.Ask {
		return mock.Ask{Key: key, Round: round, Method: spec.MethodElicit, Params: raw(
			`{"message":"Say it.","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}},"required":["it"]}}`)}
	}
	return mock.Script{
		Tools: []mock.Tool{
			{Definition: raw(`{"name":"one","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}}}}`), Answers: []mock.Answer{{
				Ask: []mock.Ask{ask("name", 1)}, Result: raw(`{"content":[{"type":"text","text":"{{input.name.content.it}} {{x}}"}]}`),
			}}},
			{Definition: raw(`{"name":"two","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{{
				Ask: []mock.Ask{ask("name", 1), ask("mood", 2)}, Result: raw(`{"content":[{"type":"text","text":"{{input.name.content.it}} is {{input.mood.content.it}}"}]}`),
			}}},
			{Definition: raw(`{"name":"both","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{{
				Ask: []mock.Ask{ask("name", 1), {Key: "roots", Method: spec.MethodRootsList, Optional: true}}, Deferrals: 1,
			}}},
		},
		Templates: []mock.Template{{Definition: raw(`{"uriTemplate":"a://{x}","name":"a"}`), Answers: []mock.Answer{{
			Ask: []mock.Ask{ask("name", 1)}, Result: raw(`[{"uri":"{{uri}}","text":"{{input.name.content.it}} {{x}}"}]`),
		}}}},
		Prompts: []mock.Prompt{{Definition: raw(`{"name":"p"}`), Answers: []mock.Answer{{
			Ask: []mock.Ask{ask("name", 1)}, Result: raw(`[{"role":"user","content":{"type":"text","text":"{{input.name.content.it}}"}}]`),
		}}}},
	}
}

// formed is a request of a client that answers forms and names its roots.
func formed(method, params string) string {
	return strings.Replace(modern(method, params), spec.MetaClientCapabilities+`":{}`, spec.MetaClientCapabilities+`":{"elicitation":{},"roots":{}}`, 1)
}

func state(t *testing.T, body []byte) string {
	t.Helper()
	v, err := lookup(body, "/result/requestState")
	if err != nil {
		t.Fatalf("no state in %s", body)
	}
	s, _ := jsonx.Text(v)
	return s
}

func TestRounds(t *testing.T) {
	srv := mock.New(asking())
	say := func(key, it string) string {
		return `"` + key + `":{"action":"accept","content":{"it":"` + it + `"}}`
	}
	ask := func(name, more string) []byte {
		return post(srv, formed(spec.MethodToolsCall, `"name":"`+name+`"`+more), nil).Body.Bytes()
	}
	first := ask("two", "")
	if v, _ := lookup(first, "/result/inputRequests/name/method"); string(v) != `"elicitation/create"` || contains(first, "mood") || contains(first, "ttlMs") {
		t.Errorf("first round: %s", first)
	}
	retry := func(st, responses string) []byte {
		return ask("two", `,"requestState":"`+st+`","inputResponses":{`+responses+`}`)
	}
	if again := retry(state(t, first), ""); !contains(again, `"inputRequests":{"name"`) {
		t.Errorf("without an answer: %s", again)
	}
	second := retry(state(t, first), say("name", "Ada")+","+say("other", "x"))
	if !contains(second, `"inputRequests":{"mood"`) {
		t.Errorf("second round: %s", second)
	}
	third := retry(state(t, second), say("mood", "glad"))
	if !contains(third, `"text":"Ada is glad"`) || !contains(third, `"resultType":"complete"`) {
		t.Errorf("the end: %s", third)
	}
	if declined := retry(state(t, first), `"name":{"action":"decline"}`); !contains(declined, "declined") || contains(declined, "error") {
		t.Errorf("declined: %s", declined)
	}
	for _, bad := range []string{`[]`, `"x"`, `{"name":5}`, `{"name":{"action":"accept","content":{}}}`} {
		if b := ask("two", `,"inputResponses":`+bad); code(t, b) != spec.CodeInvalidParams {
			t.Errorf("%s: %s", bad, b)
		}
	}
	deferred := ask("both", "")
	if contains(deferred, "inputRequests") || !contains(deferred, `"resultType":"input_required"`) {
		t.Errorf("deferral: %s", deferred)
	}
	if b := ask("both", `,"requestState":"`+state(t, deferred)+`"`); !contains(b, `"roots":{"method":"roots/list"}`) {
		t.Errorf("after it: %s", b)
	}
	w := post(srv, modern(spec.MethodToolsCall, `"name":"one"`), nil)
	if w.Code != 400 || !contains(w.Body.Bytes(), `"code":-32021`) || !contains(w.Body.Bytes(), `"data":{"requiredCapabilities":{"elicitation":{"form":{}}}}`) {
		t.Errorf("undeclared: %d %s", w.Code, w.Body)
	}
}

func TestStatesAreRefused(t *testing.T) {
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	make := func(fs ...mock.Fault) *mock.Server {
		s := asking()
		s.Now = func() time.Time { return now }
		s.State, s.Faults = mock.State{TTL: time.Minute, SingleUse: true}, fs
		return mock.New(s)
	}
	const answer = `,"inputResponses":{"name":{"action":"accept","content":{"it":"Ada"}}}`
	call := func(s *mock.Server, method, params, st string) int {
		more := ""
		if st != "" {
			more = `,"requestState":"` + st + `"` + answer
		}
		return code(t, post(s, formed(method, params+more), nil).Body.Bytes())
	}
	begin := func(s *mock.Server) string {
		return state(t, post(s, formed(spec.MethodToolsCall, `"name":"one","arguments":{"x":1}`), nil).Body.Bytes())
	}
	const same = `"name":"one","arguments":{ "x":1.0}`
	for _, tc := range []struct {
		name, check    string
		method, params string
		change         func(string) string
	}{
		{"flipped", mock.CheckStateIntegrity, spec.MethodToolsCall, same, func(s string) string { return flip(s, len(s)/2) }},
		{"flipped at the end", mock.CheckStateIntegrity, spec.MethodToolsCall, same, func(s string) string { return flip(s, len(s)-1) }},
		{"truncated", mock.CheckStateIntegrity, spec.MethodToolsCall, same, func(s string) string { return s[:len(s)-3] }},
		{"extended", mock.CheckStateIntegrity, spec.MethodToolsCall, same, func(s string) string { return s + "AAAA" }},
		{"other arguments", mock.CheckStateRequestBound, spec.MethodToolsCall, `"name":"one","arguments":{"x":2}`, nil},
		{"another tool", mock.CheckStateRequestBound, spec.MethodToolsCall, `"name":"both"`, nil},
		{"another method", mock.CheckStateRequestBound, spec.MethodPromptsGet, `"name":"p"`, nil},
		{"too old", mock.CheckStateExpiry, spec.MethodToolsCall, same, func(s string) string { now = now.Add(2 * time.Minute); return s }},
	} {
		for _, fs := range [][]mock.Fault{nil, {mock.Lenient(tc.check)}} {
			s := make(fs...)
			st := begin(s)
			if tc.change != nil {
				st = tc.change(st)
			}
			if c := call(s, tc.method, tc.params, st); (c == spec.CodeInvalidParams) != (fs == nil) {
				t.Errorf("%s with %d leniencies: code %d", tc.name, len(fs), c)
			}
		}
	}
	for _, lenient := range []bool{false, true} {
		var fs []mock.Fault
		if lenient {
			fs = []mock.Fault{mock.Lenient(mock.CheckStateSingleUse)}
		}
		s := make(fs...)
		st := begin(s)
		if c := call(s, spec.MethodToolsCall, same, st); c != 0 {
			t.Errorf("first use: %d", c)
		}
		if c := call(s, spec.MethodToolsCall, same, st); (c == 0) != lenient {
			t.Errorf("second use, lenient %t: %d", lenient, c)
		}
	}
	// The state of one principal is not taken from another.
	for _, lenient := range []bool{false, true} {
		var fs []mock.Fault
		if lenient {
			fs = []mock.Fault{mock.Lenient(mock.CheckStatePrincipal)}
		}
		s := make(fs...)
		w := post(s, formed(spec.MethodToolsCall, same+`,"requestState":"`+begin(s)+`"`+answer), header("Authorization", "Bearer b"))
		if (code(t, w.Body.Bytes()) == 0) != lenient {
			t.Errorf("another principal, lenient %t: %s", lenient, w.Body)
		}
	}
	// A server with the same key takes the state.
	one, other := asking(), asking()
	one.State.Key, other.State.Key = []byte("k"), []byte("k")
	if c := call(mock.New(other), spec.MethodToolsCall, same, begin(mock.New(one))); c != 0 {
		t.Errorf("another server with the key: %d", c)
	}
}

// flip changes one character of a state into another of its alphabet.
func flip(s string, i int) string {
	c := byte('A')
	if s[i] == 'A' {
		c = 'B'
	}
	return s[:i] + string(c) + s[i+1:]
}

// One script asks in both eras, by what each has for it.
func TestTheSameQuestionsInBothEras(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, r := range []spec.Revision{spec.Rev20250618, spec.Rev20251125, spec.Rev20260728} {
			srv, j := mock.New(mock.Specimen()), newJudge(r)
			s := open(t, target(srv), session.Options{Revision: r, Tap: j.tap, Handlers: willing(), Capabilities: raw(able)})
			for name, want := range map[string]string{
				"complete_report": "Ada saw 2.5 metres.", "explain_tide": "The model explained the tide.",
				"count_folders": "The folders are known.", "write_digest": "The digest of west is written.",
			} {
				res, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"`+name+`"}`))
				if err != nil || !contains(res.Raw, want) {
					t.Errorf("%s %s: %v %s", r, name, err, res.Raw)
				}
			}
			j.report(t)
			// A client that can answer nothing.
			mute := open(t, target(srv), session.Options{Revision: r, Capabilities: raw(`{}`)})
			res, err := mute.Call(within(t), spec.MethodToolsCall, raw(`{"name":"complete_report"}`))
			rpc, isRPC := errors.AsType[*session.RPCError](err)
			if r.Era() == spec.Modern && (!isRPC || rpc.Code != spec.CodeMissingClientCapability) || r.Era() == spec.Legacy && (err != nil || !contains(res.Raw, `"isError":true`)) {
				t.Errorf("%s, mute: %v %s", r, err, res.Raw)
			}
			if err := srv.Shutdown(within(t)); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAnswersBySequenceAndMatch(t *testing.T) {
	say := func(s string) json.RawMessage { return raw(`{"content":[{"type":"text","text":"` + s + `"}]}`) }
	answers := []mock.Answer{
		{Match: raw(`{"to":"Ada"}`), Result: say("first {{to}}")},
		{Match: raw(`{"to":"Ada"}`), Result: say("then {{to}} {{call}}")},
		{Result: say("{{to}}, {{list.1.n}}")},
		{Result: raw(`{"content":[],"structuredContent":{"list":"{{json list}}","none":"{{json none}}"}}`)},
		{Result: nil, Error: &mock.Error{Code: spec.CodeInternalError, Message: "no more"}},
	}
	for _, cycle := range []bool{false, true} {
		s := mock.New(mock.Script{Tools: []mock.Tool{{Definition: raw(`{"name":"t","inputSchema":{"type":"object"}}`), Answers: answers, Cycle: cycle}}})
		last := `"then Ada 3"`
		if cycle {
			last = `"first Ada"`
		}
		for i, x := range []struct{ arguments, want string }{
			{`{"to":"Ada","x":1}`, `"first Ada"`}, {`{"to":"\"B\"","list":[1,{"n":2.50}]}`, `"\"B\", 2.50"`}, {`{"to":"Ada"}`, `"then Ada 2"`},
			{`{"list":[1,{"n":2}]}`, `{"list":[1,{"n":2}],"none":null}`}, {`{"to":"Ada"}`, last}, {`{}`, `"code":-32603`},
		} {
			if w := post(s, modern(spec.MethodToolsCall, `"name":"t","arguments":`+x.arguments), nil); !contains(w.Body.Bytes(), x.want) {
				t.Errorf("cycle %t, call %d: %s, want %s", cycle, i, w.Body, x.want)
			}
		}
	}
}
