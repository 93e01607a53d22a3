// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// rpc puts the rest of a message behind the jsonrpc member.
func rpc(rest string) string { return `{"jsonrpc":"2.0",` + rest + `}` }

func TestValidate(t *testing.T) {
	fromServer := func(method string) MessageContext { return MessageContext{From: Server, Method: method} }
	fromClient := MessageContext{From: Client}
	for _, tc := range []struct {
		name string
		r    Revision
		c    MessageContext
		text string
		want string // violations as "kind pointer", joined; "?" marks disputed
	}{
		{"complete result without content is not taken for input_required", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"resultType":"complete"}`), "missing /result"},
		{"complete result", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"resultType":"complete","content":[],"structuredContent":[1.5,null]}`), ""},
		{"input_required with requests", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`), ""},
		{"input_required with state", Rev20260728, fromServer(MethodPromptsGet),
			rpc(`"id":1,"result":{"resultType":"input_required","requestState":""}`), ""},
		{"input_required with neither", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"resultType":"input_required"}`), "missing /result"},
		{"input_required where it is not allowed", Rev20260728, fromServer(MethodToolsList),
			rpc(`"id":1,"result":{"resultType":"input_required","requestState":"s"}`), "forbidden /result/resultType"},
		{"unknown resultType", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"resultType":"task","taskId":"1"}`), "wrong value /result/resultType"},
		{"resultType of an extension", Rev20260728, MessageContext{From: Server, Method: MethodToolsCall, ResultTypes: []string{ResultTask}},
			rpc(`"id":1,"result":{"resultType":"task","taskId":"1"}`), ""},
		{"missing resultType counts as complete", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{}`), "missing /result; missing /result"},
		{"resultType of the wrong type", Rev20260728, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"resultType":1,"content":[]}`), "wrong type /result/resultType"},
		{"legacy results have no resultType", Rev20251125, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"content":[]}`), ""},
		{"list result without cache hints", Rev20260728, fromServer(MethodToolsList),
			rpc(`"id":1,"result":{"resultType":"complete","tools":[]}`), "missing /result; missing /result"},
		{"result of an unknown method", Rev20260728, fromServer("acme/do"), rpc(`"id":1,"result":{"resultType":"complete","x":1}`), ""},
		{"listen result needs its id", Rev20260728, fromServer(MethodListen),
			rpc(`"id":1,"result":{"resultType":"complete","_meta":{}}`), "missing /result/_meta"},
		{"task result when a task was asked for", Rev20251125, MessageContext{From: Server, Method: MethodToolsCall, TaskRequested: true},
			rpc(`"id":1,"result":{"task":{"taskId":"1","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}}`), ""},
		{"task result unasked", Rev20251125, fromServer(MethodToolsCall),
			rpc(`"id":1,"result":{"task":{"taskId":"1"}}`), "missing /result"},
		{"ordinary result though a task was asked for", Rev20251125, MessageContext{From: Server, Method: MethodToolsCall, TaskRequested: true},
			rpc(`"id":1,"result":{"content":[]}`), ""},

		{"request", Rev20260728, fromClient, rpc(`"id":"a","method":"tools/list","params":{` + meta + `}`), ""},
		{"request without params", Rev20260728, fromClient, rpc(`"id":1,"method":"tools/list"`), "missing "},
		{"request without metadata", Rev20260728, fromClient, rpc(`"id":1,"method":"tools/list","params":{"_meta":{}}`),
			"missing /params/_meta; missing /params/_meta"},
		{"legacy list needs no params", Rev20250618, fromClient, rpc(`"id":1,"method":"tools/list"`), ""},
		{"legacy metadata is judged by the envelope", Rev20241105, fromClient,
			rpc(`"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":true}}`), "wrong type /params/_meta/progressToken"},
		{"extension request without metadata", Rev20260728, fromClient, rpc(`"id":1,"method":"tasks/run","params":{}`), "missing /params"},
		{"extension request with a name the core had", Rev20260728, fromClient, rpc(`"id":1,"method":"tasks/get","params":{"taskId":"1",` + meta + `}`), ""},
		{"core method that no extension took over", Rev20260728, fromClient, rpc(`"id":1,"method":"tasks/list","params":{` + meta + `}`), "other revision /method"},
		{"extension notification", Rev20260728, MessageContext{From: Server}, rpc(`"method":"notifications/tasks","params":{}`), ""},
		{"extension request", Rev20260728, fromClient, rpc(`"id":1,"method":"acme/do","params":{` + meta + `}`), ""},
		{"request with null id", Rev20251125, fromClient, rpc(`"id":null,"method":"ping"`), "wrong type /id"},
		{"request with fraction id", Rev20251125, fromClient, rpc(`"id":1.5,"method":"ping"`), "wrong type /id"},
		{"request without id", Rev20251125, fromClient, rpc(`"method":"ping"`), "missing "},
		{"notification with id", Rev20251125, fromClient, rpc(`"id":1,"method":"notifications/initialized"`), "forbidden /id"},
		{"method of another revision", Rev20260728, fromClient, rpc(`"id":1,"method":"initialize","params":{}`), "other revision /method"},
		{"server sends a client's request", Rev20251125, MessageContext{From: Server}, rpc(`"id":1,"method":"tools/list"`), "forbidden /method"},
		{"server sends an input request as a message", Rev20260728, MessageContext{From: Server}, rpc(`"id":1,"method":"roots/list"`), "forbidden /method"},
		{"modern server sends any request", Rev20260728, MessageContext{From: Server}, rpc(`"id":1,"method":"acme/ask","params":{}`), "forbidden /method"},
		{"client progress in the modern era", Rev20260728, fromClient,
			rpc(`"method":"notifications/progress","params":{"progressToken":1,"progress":1}`), "forbidden /method"},
		{"side unknown", Rev20251125, MessageContext{}, rpc(`"id":1,"method":"tools/list"`), ""},
		{"method that is no string", Rev20251125, fromClient, rpc(`"id":1,"method":7`), "wrong type /method"},
		{"method and result", Rev20251125, fromClient, rpc(`"id":1,"method":"ping","result":{}`), "forbidden /result"},
		{"result and error", Rev20251125, fromServer(MethodPing), rpc(`"id":1,"result":{},"error":{"code":1,"message":""}`), "forbidden /error"},
		{"nothing", Rev20251125, fromClient, rpc(`"id":1`), "missing "},
		{"client answers in the modern era", Rev20260728, fromClient, rpc(`"id":1,"result":{"resultType":"complete"}`), "forbidden /result"},
		{"wrong jsonrpc once", Rev20251125, fromClient, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "wrong value /jsonrpc"},

		{"error without id", Rev20260728, fromServer(MethodPing), rpc(`"error":{"code":-32700,"message":""}`), ""},
		{"error without id before it was optional", Rev20250618, fromServer(MethodPing), rpc(`"error":{"code":-32700,"message":""}`), "missing "},
		{"error with null id", Rev20260728, fromServer(MethodPing), rpc(`"id":null,"error":{"code":-32700,"message":""}`), "wrong type /id?"},
		{"error with null id, early", Rev20241105, fromServer(MethodPing), rpc(`"id":null,"error":{"code":-32700,"message":""}`), "wrong type /id?"},
		{"error with boolean id", Rev20260728, fromServer(MethodPing), rpc(`"id":true,"error":{"code":-32700,"message":""}`), "wrong type /id"},
		{"version error without data", Rev20260728, fromServer(MethodPing), rpc(`"id":1,"error":{"code":-32022,"message":""}`), "missing /error"},
		{"version error", Rev20260728, fromServer(MethodPing),
			rpc(`"id":1,"error":{"code":-32022.0,"message":"","data":{"supported":["2026-07-28"],"requested":"x"}}`), ""},
		{"the same code means nothing before", Rev20251125, fromServer(MethodPing), rpc(`"id":1,"error":{"code":-32022,"message":""}`), ""},
		{"capability error with wrong data", Rev20260728, fromServer(MethodPing),
			rpc(`"id":1,"error":{"code":-32021,"message":"","data":{"requiredCapabilities":[]}}`), "wrong type /error/data/requiredCapabilities"},
		{"code that is no integer", Rev20260728, fromServer(MethodPing), rpc(`"id":1,"error":{"code":1.5,"message":""}`), "wrong type /error/code"},

		{"batch", Rev20250326, fromClient, `[` + rpc(`"id":1,"method":"ping"`) + `,` + rpc(`"method":"notifications/initialized"`) + `]`, ""},
		{"batch with a fault", Rev20250326, fromClient, `[` + rpc(`"id":1,"method":"ping"`) + `,` + rpc(`"id":{},"method":"ping"`) + `,3]`,
			"wrong type /1/id; wrong type /2"},
		{"empty batch", Rev20250326, fromClient, `[]`, "wrong value "},
		{"initialize in a batch", Rev20250326, fromClient,
			`[` + rpc(`"id":1,"method":"initialize","params":{"protocolVersion":"","capabilities":{},"clientInfo":{"name":"","version":""}}`) + `]`,
			"forbidden /0/method"},
		{"batch elsewhere", Rev20250618, fromClient, `[` + rpc(`"id":1,"method":"ping"`) + `]`, "wrong type "},

		{"not JSON", Rev20260728, fromClient, `{`, "unreadable "},
		{"duplicate name", Rev20260728, fromClient, rpc(`"id":1,"id":2,"method":"x"`), "unreadable /id"},
		{"empty", Rev20260728, fromClient, ``, "unreadable "},
		{"scalar", Rev20260728, fromClient, `7`, "wrong type "},
		{"escaped member names are the same names", Rev20251125, fromServer(MethodToolsCall),
			`{"json\u0072pc":"2.0","\u0069d":1,"result":{"c\u006fntent":[{"type":"te\u0078t","text":"\u0041"}]}}`, ""},
		{"pointer with special characters", Rev20251125, fromServer(MethodInitialize),
			rpc(`"id":1,"result":{"protocolVersion":"","serverInfo":{"name":"","version":""},"capabilities":{"experimental":{"a/b~c":1}}}`),
			"wrong type /result/capabilities/experimental/a~1b~0c"},
	} {
		var got []string
		for _, v := range Validate(tc.r, tc.c, []byte(tc.text)) {
			s := v.Kind.String() + " " + v.Pointer
			if v.Disputed {
				s += "?"
			}
			got = append(got, s)
			if v.Message == "" || v.Kind != Unreadable && (v.Expected == "" || v.Found == "") {
				t.Errorf("%s: incomplete violation %+v", tc.name, v)
			}
		}
		if s := strings.Join(got, "; "); s != tc.want {
			t.Errorf("%s: got %q, want %q\n%v", tc.name, s, tc.want, Validate(tc.r, tc.c, []byte(tc.text)))
		}
	}
}

// TestValidateBlamesNobody sends valid messages of every method, both ways, and
// expects no violation.
func TestValidateBlamesNobody(t *testing.T) {
	for _, r := range All() {
		g := newGen(uint64(r) + 7)
		g.names = []string{"x", "y"}
		nodes := grammarOf(r).nodes
		count := 0
		for _, m := range Methods(r, 0) {
			if m.Kind == InputRequest {
				continue
			}
			for k := range 40 {
				g.full = k == 0
				from := Client
				if m.Direction == ServerToClient || m.Direction == Both && k%2 == 0 {
					from = Server
				}
				msg := g.fromNode(nodes[m.Definition]).(map[string]any)
				msg["jsonrpc"], msg["method"] = "2.0", m.Name
				delete(msg, "id")
				delete(msg, "result")
				delete(msg, "error")
				if m.Kind == Request {
					msg["id"] = g.integer()
				}
				// Before 2025-11-25 the concrete definitions leave _meta open.
				if p, ok := msg["params"].(map[string]any); ok && r < Rev20251125 {
					delete(p, "_meta")
				}
				text := write(msg)
				if vs := Validate(r, MessageContext{From: from}, text); len(vs) > 0 {
					t.Errorf("%s %s: %v\n%s", r, m.Name, vs, text)
				}
				count++
				if m.Kind != Request {
					continue
				}
				result := g.fromNode(nodes[m.Result]).(map[string]any)
				if r.Era() == Modern {
					result[FieldResultType] = ResultComplete
				}
				text = write(map[string]any{"jsonrpc": "2.0", "id": msg["id"], "result": result})
				if vs := Validate(r, MessageContext{From: from.Peer(), Method: m.Name}, text); len(vs) > 0 {
					t.Errorf("%s result of %s: %v\n%s", r, m.Name, vs, text)
				}
				count++
			}
		}
		t.Logf("%s: %d valid messages", r, count)
	}
}

func TestValidateDefinitionUnknown(t *testing.T) {
	for _, tc := range []struct {
		r    Revision
		name string
	}{{Rev20260728, "PingRequest"}, {Rev20241105, "nonsense"}, {0, "Tool"}, {99, "Tool"}} {
		if _, err := ValidateDefinition(tc.r, tc.name, []byte(`{}`)); err == nil {
			t.Errorf("%s %s: no error", tc.r, tc.name)
		}
	}
	if vs := Validate(0, MessageContext{}, []byte(`{}`)); len(vs) != 1 {
		t.Errorf("no revision: %v", vs)
	}
}

func TestViolationsAreBounded(t *testing.T) {
	text := rpc(`"id":1,"result":{"content":[` + strings.Repeat(`{"type":"text","text":1},`, 5000) + `1]}`)
	vs := Validate(Rev20251125, MessageContext{From: Server, Method: MethodToolsCall}, []byte(text))
	if len(vs) != MaxViolations {
		t.Errorf("%d violations", len(vs))
	}
	long := rpc(`"id":1,"method":"` + strings.Repeat("x", 1<<20) + `","jsonrpc2":1`)
	for _, v := range Validate(Rev20251125, MessageContext{From: Client}, []byte(strings.Replace(long, `"2.0"`, `"`+strings.Repeat("y", 1<<20)+`"`, 1))) {
		if len(v.Message) > 500 {
			t.Errorf("message of %d bytes", len(v.Message))
		}
	}
}

// TestHostileTexts wants an answer in bounded time, whatever the text.
func TestHostileTexts(t *testing.T) {
	deep := strings.Repeat(`[`, 9990) + strings.Repeat(`]`, 9990)
	nested := strings.Repeat(`{"content":[{"type":"tool_result","toolUseId":"x","content":[`, 3000) + strings.Repeat(`]}]}`, 3000)
	texts := []string{
		rpc(`"id":1,"result":{"resultType":"complete","content":` + deep + `}`),
		rpc(`"id":1,"result":{"resultType":"complete","structuredContent":` + deep + `,"content":[]}`),
		rpc(`"id":1,"result":` + nested),
		rpc(`"id":1,"result":` + nested + `}`),
		strings.Repeat(`[`, 1<<20),
		strings.Repeat(`{"a":`, 1<<18),
		`"` + strings.Repeat(`\u0000`, 1<<19) + `"`,
		rpc(`"id":1` + strings.Repeat(`0`, 1<<20) + `,"method":"ping"`),
		rpc(`"id":1e` + strings.Repeat(`9`, 1<<19) + `,"method":"ping"`),
		rpc(`"id":1,"result":{"resultType":"complete","content":[` + strings.Repeat(`{},`, 300000) + `1]}`),
		rpc(`"id":1,"result":{"resultType":"input_required","inputRequests":{` + manyMembers(20000, `{"method":"elicitation/create","params":{"message":"","requestedSchema":{"type":"object","properties":{"x":{"type":"string","enum":[1]}}}}}`) + `}}`),
	}
	// Linear work takes a tenth of this; work in the square of the length ten
	// times as much.
	const slowest = 4 * time.Second
	methods := []string{MethodToolsCall, MethodResourcesRead}
	for i, text := range texts {
		for _, r := range All() {
			for _, m := range methods {
				start := time.Now()
				Validate(r, MessageContext{From: Server, Method: m}, []byte(text))
				if d := time.Since(start); d > slowest {
					t.Errorf("text %d (%d bytes), %s %s: %v", i, len(text), r, m, d)
				}
			}
		}
		for _, name := range []string{"InputResponses", "ServerResult", "JSONRPCMessage", "JSONValue"} {
			if _, err := ValidateDefinition(Rev20260728, name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		_, _ = ParseParamHeaders([]byte(text))
		if d := time.Since(start); d > slowest {
			t.Errorf("text %d: header annotations took %v", i, d)
		}
	}
}

func manyMembers(n int, value string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":%s`, i, value)
	}
	return b.String()
}

func FuzzValidate(f *testing.F) {
	g := newGen(1)
	for _, r := range All() {
		for _, name := range Definitions(r)[:20] {
			f.Add(uint8(r), uint8(1), MethodToolsCall, write(g.fromNode(grammarOf(r).nodes[name])))
		}
	}
	f.Add(uint8(5), uint8(2), "", []byte(`[{"jsonrpc":"2.0","id":1,"method":"\u0000"}]`))
	f.Fuzz(func(t *testing.T, r, side uint8, method string, text []byte) {
		before := bytes.Clone(text)
		c := MessageContext{From: Side(side), Method: method, TaskRequested: side%2 == 0}
		vs := Validate(Revision(r), c, text)
		if !bytes.Equal(before, text) {
			t.Error("the text was changed")
		}
		if len(vs) > MaxViolations {
			t.Error("too many violations")
		}
		if !slices.Equal(vs, Validate(Revision(r), c, text)) {
			t.Error("two answers to one question")
		}
	})
}
