// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcprove/mcprove/spec"
)

const callInLegacy = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`

// problemCases follow what kits of other languages document of their validators,
// by the names that they use there.
var problemCases = []struct {
	name string // E/what is validated: what is wrong
	got  func(r spec.Revision) []spec.Problem
	want []string // rule and pointer of each; none for a message that is right
}{
	{"E/validateRequest: right", request(callInLegacy), nil},
	{"E/validateRequest: does not parse", request(`{"jsonrpc":`), []string{"message.readable /jsonrpc"}},
	{"E/validateRequest: nothing", request(``), []string{"message.readable "}},
	{"E/validateRequest: jsonrpc 1.0", request(`{"jsonrpc":"1.0","id":1,"method":"ping"}`), []string{"message.value /jsonrpc"}},
	{"E/validateRequest: no jsonrpc", request(`{"id":1,"method":"ping"}`), []string{"message.required "}},
	{"E/validateRequest: method a number", request(`{"jsonrpc":"2.0","id":1,"method":7}`), []string{"message.type /method"}},
	{"E/validateRequest: id a string", request(`{"jsonrpc":"2.0","id":"a","method":"ping"}`), nil},
	{"E/validateRequest: id null, which MCP forbids", request(`{"jsonrpc":"2.0","id":null,"method":"ping"}`), []string{"message.type /id"}},
	{"E/validateRequest: id an object", request(`{"jsonrpc":"2.0","id":{},"method":"ping"}`), []string{"message.type /id"}},
	{"E/validateRequest: params an array, which MCP forbids", request(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`), []string{"message.type /params"}},
	{"E/validateRequest: params a string", request(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}`), []string{"message.type /params"}},
	{"E/validateRequest: a method of another revision", request(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`), []string{"message.revision /method"}},
	{"E/validateRequest: params without their member", request(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`), []string{"message.required /params"}},
	{"E/validateRequest: a response", request(`{"jsonrpc":"2.0","id":1,"result":{}}`), []string{"message.kind "}},
	{"E/validateRequest: a name twice", request(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`), []string{"message.readable /id"}},
	{"E/validateResponse: right", response("tools/call", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`), nil},
	{"E/validateResponse: no id", response("", `{"jsonrpc":"2.0","result":{}}`), []string{"message.required "}},
	{"E/validateResponse: result and error", response("", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`), []string{"message.allowed /error"}},
	{"E/validateResponse: neither", response("", `{"jsonrpc":"2.0","id":1}`), []string{"message.required "}},
	{"E/validateResponse: code a string", response("", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}`), []string{"message.type /error/code"}},
	{"E/validateResponse: no message", response("", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`), []string{"message.required /error"}},
	{"E/validateResponse: not the result of its method", response("tools/call", `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`), []string{"message.required /result"}},
	{"E/validateResponse: a request", response("", callInLegacy), []string{"message.kind "}},
	{"E/validateToolDefinition: right", tool(`{"name":"echo","description":"x","inputSchema":{"type":"object"}}`), nil},
	{"E/validateToolDefinition: name blank", tool(`{"name":" ","inputSchema":{"type":"object"}}`), []string{"message.name /name"}},
	{"E/validateToolDefinition: no name", tool(`{"inputSchema":{"type":"object"}}`), []string{"message.required "}},
	{"E/validateToolDefinition: description a number", tool(`{"name":"a","description":7,"inputSchema":{"type":"object"}}`), []string{"message.type /description"}},
	{"E/validateToolDefinition: no schema", tool(`{"name":"a"}`), []string{"message.required "}},
	{"E/validateToolDefinition: a schema without a type", tool(`{"name":"a","inputSchema":{}}`), []string{"message.required /inputSchema"}},
	{"E/plain JSON-RPC: params an array", plain(`{"jsonrpc":"2.0","id":1,"method":"any","params":[1]}`), nil},
	{"E/plain JSON-RPC: id null", plain(`{"jsonrpc":"2.0","id":null,"method":"any"}`), nil},
	{"E/plain JSON-RPC: id a fraction", plain(`{"jsonrpc":"2.0","id":1.5,"method":"any"}`), nil},
	{"E/plain JSON-RPC: id true", plain(`{"jsonrpc":"2.0","id":true,"method":"any"}`), []string{"message.envelope /id"}},
	{"E/plain JSON-RPC: an error without an id", plain(`{"jsonrpc":"2.0","error":{"code":1,"message":""}}`), []string{"message.envelope "}},
	{"E/plain JSON-RPC: an error whose id is null", plain(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`), nil},
	{"E/plain JSON-RPC: one of a batch", plain(`[{"jsonrpc":"2.0","method":"any"},{"method":"any"}]`), []string{"message.envelope /1"}},
	{"E/plain JSON-RPC: an empty batch", plain(`[]`), []string{"message.envelope "}},
	{"E/plain JSON-RPC: a string", plain(`"x"`), []string{"message.envelope "}},
	{"E/plain JSON-RPC: a name twice", plain(`{"jsonrpc":"2.0","method":"a","method":"b"}`), []string{"message.text /method"}},
	{"E/plain JSON-RPC: half a text", plain(`{"jsonrpc"`), []string{"message.readable /jsonrpc"}},
}

func request(raw string) func(spec.Revision) []spec.Problem {
	return func(r spec.Revision) []spec.Problem { return spec.ValidateRequest(r, []byte(raw)) }
}

func response(method, raw string) func(spec.Revision) []spec.Problem {
	return func(r spec.Revision) []spec.Problem { return spec.ValidateResponse(r, method, []byte(raw)) }
}

func tool(raw string) func(spec.Revision) []spec.Problem {
	return func(r spec.Revision) []spec.Problem { return spec.ValidateToolDefinition(r, []byte(raw)) }
}

func plain(raw string) func(spec.Revision) []spec.Problem {
	return func(spec.Revision) []spec.Problem { return spec.JSONRPCProblems([]byte(raw)) }
}

func TestProblemsAreNamed(t *testing.T) {
	known := map[string]bool{}
	for _, r := range spec.ProblemRules() {
		known[r.ID] = true
	}
	for _, x := range problemCases {
		t.Run(x.name, func(t *testing.T) {
			var got []string
			for _, p := range x.got(spec.Rev20251125) {
				got = append(got, p.Rule+" "+p.Pointer)
				if !known[p.Rule] || p.Section == "" || p.Message == "" {
					t.Errorf("the problem is %+v", p)
				}
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("problems %q, want %q", got, x.want)
			}
		})
	}
	if !slices.IsSortedFunc(spec.ProblemRules(), func(a, b spec.ProblemRule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not in order")
	}
}

// E/isValid, by the shape of the message.
func TestValidGoesByShape(t *testing.T) {
	for raw, want := range map[string]bool{
		callInLegacy: true, `{"jsonrpc":"2.0","method":"notifications/initialized"}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{}}`: true, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`: true,
		`{"jsonrpc":"2.0","id":1}`: false, `{}`: false, `7`: false, ``: false,
	} {
		if got := spec.Valid(spec.Rev20251125, []byte(raw)); got != want {
			t.Errorf("%s is valid: %v", raw, got)
		}
	}
}

func TestSectionsNameTheDefinition(t *testing.T) {
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`:             "2025-11-25/schema#calltoolrequest",
		`{"jsonrpc":"2.0","id":true,"method":"tools/list"}`:                      "2025-11-25/basic#requests",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"a":1}}`:   "2025-11-25/schema#progressnotification",
		`{"jsonrpc":"1","method":"notifications/initialized"}`:                   "2025-11-25/basic#notifications",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`:                            "2025-11-25/basic#responses",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text"}]}}`:        "2025-11-25/schema#calltoolresult",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":1}}`: "2025-11-25/schema#calltoolresult",
	} {
		ps := spec.Problems(spec.Rev20251125, spec.MessageContext{Method: spec.MethodToolsCall}, []byte(raw))
		if len(ps) == 0 || ps[0].Section != want {
			t.Errorf("%s: %+v, want %s", raw, ps, want)
		}
	}
}

// Whatever the bytes are, they are judged.
func TestProblemsOfAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.StringMatching(`[\[\]{}",:0-9a-z\\ ]{0,40}`), func(s string) []byte { return []byte(s) })).Draw(t, "raw")
		for _, r := range spec.All() {
			_ = spec.Problems(r, spec.MessageContext{From: spec.Server}, raw)
		}
		_ = spec.JSONRPCProblems(raw)
		_ = spec.ValidateToolDefinition(spec.Latest, raw)
	})
}
