// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// probed is a script with something for every check to refuse.
func probed() mock.Script {
	many := make([]string, 120)
	for i := range many {
		many[i] = fmt.Sprintf("v%03d", i)
	}
	return mock.Script{
		Capabilities: raw(`{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}`),
		Tools: []mock.Tool{
			{Definition: raw(headerTool)},
			{Definition: raw(`{"name":"strict","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)},
			{Definition: raw(`{"name":"ask","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{{Ask: []mock.Ask{{
				Key: "who", Method: spec.MethodElicit,
				Params: raw(`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`),
			}}}}},
			{Definition: raw(`{"name":"job","inputSchema":{"type":"object"}}`), Task: mock.TaskRequired},
			{Definition: raw(`{"name":"log","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{{
				Steps: []mock.Step{{Log: &mock.Log{Level: "info", Data: raw(`"hello"`)}}},
			}}},
		},
		Resources: []mock.Resource{{Definition: raw(`{"uri":"a://b","name":"b"}`)}},
		Templates: []mock.Template{{Definition: raw(`{"uriTemplate":"a://t/{x}","name":"t"}`)}},
		Prompts: []mock.Prompt{{
			Definition: raw(`{"name":"p","arguments":[{"name":"a","required":true}]}`), Complete: map[string][]string{"a": many},
		}},
	}
}

// refusal is one thing that the server refuses or holds back, and the check by
// which it does.
type refusal struct {
	check      string
	body       string
	change     func(http.Header)
	strict     string // outcome without a leniency
	lenient    string // outcome with it
	method     string // HTTP, empty for POST
	modernOnly bool
	http       bool // says nothing over stdio
}

func header(name, value string) func(http.Header) {
	return func(h http.Header) {
		if value == "" {
			h.Del(name)
		} else {
			h.Set(name, value)
		}
	}
}

func refusals() []refusal {
	list := modern(spec.MethodToolsList, "")
	route := func(arguments string) string {
		return modern(spec.MethodToolsCall, `"name":"route","arguments":`+arguments)
	}
	call := func(name, more string) string { return modern(spec.MethodToolsCall, `"name":"`+name+`"`+more) }
	read := func(uri string) string { return modern(spec.MethodResourcesRead, `"uri":"`+uri+`"`) }
	complete := func(ref, argument string) string { return modern(spec.MethodComplete, `"ref":`+ref+argument) }
	meta := func(body, old, new string) string { return strings.Replace(body, old, new, 1) }
	version := fmt.Sprintf("%q:\"2026-07-28\",", spec.MetaProtocolVersion)
	capabilities := fmt.Sprintf(",%q:{}", spec.MetaClientCapabilities)
	const (
		mismatch = "400 -32020"
		params   = "200 -32602"
		ok       = "200 0"
		aCap     = `"a://`
	)
	return []refusal{
		{check: mock.CheckHeaderVersionMissing, body: list, change: header(spec.HeaderProtocolVersion, ""), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderVersionMismatch, body: list, change: header(spec.HeaderProtocolVersion, "2025-11-25"), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderMethodMissing, body: list, change: header(spec.HeaderMethod, ""), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderMethodMismatch, body: list, change: header(spec.HeaderMethod, "prompts/list"), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderNameMissing, body: read("a://b"), change: header(spec.HeaderName, ""), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderNameMismatch, body: read("a://b"), change: header(spec.HeaderName, "a://c"), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderNameDecode, body: read("a://b"), change: header(spec.HeaderName, "=?base64?YTovL2I=?="), strict: ok, lenient: mismatch, http: true},
		{check: mock.CheckHeaderBase64Malformed, body: read("a://b"), change: header(spec.HeaderName, "=?base64?***?="), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderBase64Markers, body: read("a://b"), change: header(spec.HeaderName, "=?BASE64?YTovL2I=?="), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderChars, body: read("a://b"), change: header(spec.HeaderName, "a://b\xe9"), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderRepeated, body: list, change: func(h http.Header) { h.Add(spec.HeaderMethod, "tools/list") }, strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderCase, body: list, change: header(spec.HeaderMethod, "TOOLS/LIST"), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderParamMissing, body: route(`{"region":"eu"}`), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderParamMismatch, body: route(`{"region":"eu"}`), change: header("Mcp-Param-Region", "us"), strict: mismatch, lenient: ok, http: true},
		{check: mock.CheckHeaderParamDecode, body: route(`{"region":"eu"}`), change: header("Mcp-Param-Region", "=?base64?ZXU=?="), strict: ok, lenient: mismatch, http: true},
		{check: mock.CheckHeaderParamNumeric, body: route(`{"opts":{"n":42}}`), change: header("Mcp-Param-Count", "42.0"), strict: ok, lenient: mismatch, http: true},

		{check: mock.CheckHeaderParamRange, body: route(`{"opts":{"n":9007199254740992}}`), change: header("Mcp-Param-Count", "9007199254740992"), strict: mismatch, lenient: ok, http: true},

		{check: mock.CheckMetaMissing, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, change: func(h http.Header) {
			h.Set(spec.HeaderProtocolVersion, "2026-07-28")
			h.Set(spec.HeaderMethod, "tools/list")
		}, strict: "400 -32602", lenient: ok, modernOnly: true},
		{check: mock.CheckMetaVersionMissing, body: meta(list, version, ""), change: func(h http.Header) {
			h.Set(spec.HeaderProtocolVersion, "2026-07-28")
			h.Set(spec.HeaderMethod, "tools/list")
		}, strict: "400 -32602", lenient: ok},
		{check: mock.CheckMetaCapabilitiesMissing, body: meta(list, capabilities, ""), strict: "400 -32602", lenient: ok},
		{check: mock.CheckMetaMistyped, body: meta(list, capabilities, strings.Replace(capabilities, "{}", "[]", 1)), strict: "400 -32602", lenient: ok},
		{check: mock.CheckVersionUnsupported, body: meta(list, "2026-07-28", "2031-01-01"), strict: "400 -32022", lenient: ok},
		{check: mock.CheckEraInitialize, body: initialize("2025-11-25"), strict: "400 -32022", lenient: ok, modernOnly: true},

		{check: mock.CheckOrigin, body: list, change: header("Origin", "http://attacker.example"), strict: "403", lenient: ok, http: true},
		{check: mock.CheckOriginNull, body: list, change: header("Origin", "null"), strict: "403", lenient: ok, http: true},
		{check: mock.CheckOriginPrefix, body: list, change: header("Origin", "http://localhost.attacker.example"), strict: "403", lenient: ok, http: true},
		{check: mock.CheckOriginHTTPS, body: list, change: header("Origin", "https://attacker.example"), strict: "403", lenient: ok, http: true},
		{check: mock.CheckHTTPMethod, method: "PUT", strict: "405", lenient: "200", http: true},
		{check: mock.CheckHTTPDelete, method: "DELETE", strict: "405", lenient: "204", http: true, modernOnly: true},
		{check: mock.CheckMediaType, body: list, change: header("Content-Type", "text/plain"), strict: "415", lenient: ok, http: true},

		{check: mock.CheckJSONRPCVersion, body: meta(list, `"2.0"`, `"1.0"`), strict: "400 -32600", lenient: ok},
		{check: mock.CheckIDType, body: meta(list, `"id":1`, `"id":1.5`), strict: "400 -32600", lenient: ok},
		{check: mock.CheckBatch, body: "[" + list + "]", strict: "400 -32600", lenient: ok, modernOnly: true},
		{check: mock.CheckResponsePosted, body: `{"jsonrpc":"2.0","id":1,"result":{}}`, strict: "400 -32600", lenient: "202", http: true, modernOnly: true},
		{check: mock.CheckUTF8, body: meta(list, `"params":{`, "\"params\":{\"x\":\"\xff\","), change: func(h http.Header) {
			h.Set(spec.HeaderProtocolVersion, "2026-07-28")
			h.Set(spec.HeaderMethod, "tools/list")
		}, strict: "400 -32700", lenient: ok},

		{check: mock.CheckMethodUnknown, body: modern("no/such", ""), strict: "404 -32601", lenient: ok},
		{check: mock.CheckMethodRemoved, body: modern(spec.MethodPing, ""), strict: "404 -32601", lenient: ok},
		{check: mock.CheckParamsMistyped, body: modern(spec.MethodToolsCall, `"name":7`), change: header(spec.HeaderName, ""), strict: params, lenient: params},
		{check: mock.CheckToolUnknown, body: call("nobody", ""), strict: params, lenient: ok},
		{check: mock.CheckToolCase, body: call("LOG", ""), strict: params, lenient: ok},
		{check: mock.CheckArgumentsMistyped, body: call("log", `,"arguments":[]`), strict: params, lenient: ok},
		{check: mock.CheckArgumentsInvalid, body: call("strict", `,"arguments":{}`), strict: ok + " isError", lenient: ok},
		{check: mock.CheckResourceUnknown, body: read("a://nothing"), strict: params, lenient: ok},
		{check: mock.CheckResourceURI, body: read("a://t/%2e%2e"), strict: params, lenient: ok},
		{check: mock.CheckPromptUnknown, body: modern(spec.MethodPromptsGet, `"name":"nothing"`), strict: params, lenient: ok},
		{check: mock.CheckPromptArgumentMissing, body: modern(spec.MethodPromptsGet, `"name":"p"`), strict: params, lenient: ok},
		{check: mock.CheckPromptArgumentType, body: modern(spec.MethodPromptsGet, `"name":"p","arguments":{"a":5}`), strict: params, lenient: ok},
		{check: mock.CheckCompletionRef, body: complete(`{"type":"ref/prompt","name":"nothing"}`, `,"argument":{"name":"a","value":""}`), strict: params, lenient: ok},
		{check: mock.CheckCompletionArgument, body: complete(`{"type":"ref/prompt","name":"p"}`, ``), strict: params, lenient: ok},
		{check: mock.CheckCompletionContext, body: complete(`{"type":"ref/prompt","name":"p"}`, `,"argument":{"name":"a","value":"x"},"context":{"arguments":{"b":7}}`), strict: params, lenient: ok},
		{check: mock.CheckCompletionMax, body: complete(`{"type":"ref/prompt","name":"p"}`, `,"argument":{"name":"a","value":"v"}`), strict: ok + " hasMore", lenient: ok},
		{check: mock.CheckCursorInvalid, body: modern(spec.MethodToolsList, `"cursor":"bogus"`), strict: params, lenient: ok},
		{check: mock.CheckLogLevel, body: meta(list, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`), strict: params, lenient: ok},
		{check: mock.CheckLogOptIn, body: call("log", ""), strict: ok, lenient: ok + " logged"},
		{check: mock.CheckLogThreshold, body: meta(call("log", ""), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"error",`), strict: ok, lenient: ok + " logged"},
		{check: mock.CheckClientCapability, body: call("ask", ""), strict: "400 -32021", lenient: ok + " input_required"},
		{check: mock.CheckInputsMalformed, body: call("ask", `,"inputResponses":{"who":{"action":"maybe"}}`), strict: params, lenient: ok},
		{check: mock.CheckInputsSchema, body: call("ask", `,"inputResponses":{"who":{"action":"accept","content":{"name":5}}}`), strict: params, lenient: ok},
		{check: mock.CheckStateIntegrity, body: call("ask", `,"requestState":"bogus","inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`), strict: params, lenient: ok},
		{check: mock.CheckListenMistyped, body: modern(spec.MethodListen, `"notifications":{"toolsListChanged":"yes"}`), strict: params, lenient: "stream"},
		{check: mock.CheckListenFilterMissing, body: modern(spec.MethodListen, ""), strict: params, lenient: "stream"},
		{check: mock.CheckTaskUndeclared, body: call("job", ""), strict: "400 -32021", lenient: ok + " task"},
		{check: mock.CheckSessionMissing, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, strict: "400 -32600", lenient: ok, http: true},
		{check: mock.CheckSessionUnknown, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, change: header(spec.HeaderSessionID, "x"), strict: "404 -32600", lenient: ok, http: true},
	}
}

// script is what the refusal is tried on.
func (x *refusal) script(fs ...mock.Fault) mock.Script {
	s := probed()
	s.Faults = fs
	if x.modernOnly {
		s.Revisions = []spec.Revision{spec.Rev20260728}
	}
	return s
}

func (x *refusal) overHTTP(t *testing.T, fs ...mock.Fault) string {
	t.Helper()
	s := mock.New(x.script(fs...))
	defer func() { _ = s.Shutdown(within(t)) }()
	if x.method != "" {
		r := httptest.NewRequest(x.method, "/", nil)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return fmt.Sprint(w.Code)
	}
	if strings.Contains(x.body, spec.MethodListen) {
		go func() {
			time.Sleep(20 * time.Millisecond)
			_ = s.Shutdown(t.Context())
		}()
	}
	w := post(s, x.body, x.change)
	if w.Header().Get("Content-Type") == spec.MediaEventStream {
		var lines []string
		for l := range strings.Lines(w.Body.String()) {
			if data, ok := strings.CutPrefix(l, "data: "); ok {
				lines = append(lines, strings.TrimSpace(data))
			}
		}
		return outcome(t, w.Code, lines)
	}
	if w.Header().Get("Content-Type") != spec.MediaJSON {
		return fmt.Sprint(w.Code)
	}
	return outcome(t, w.Code, []string{w.Body.String()})
}

// outcome puts in a word what came. Over stdio the status is left out.
func outcome(t *testing.T, status int, lines []string) string {
	t.Helper()
	if len(lines) == 0 {
		return "nothing"
	}
	if strings.Contains(lines[0], spec.NotificationSubscriptionsAck) {
		return "stream"
	}
	last := lines[len(lines)-1]
	m := wire.Read([]byte(last))
	if b := m.Batch(); len(b) > 0 {
		m = b[0]
	}
	c := 0
	if m.Error != nil {
		c = int(m.Error.Code)
	}
	out := fmt.Sprintf("%d %d", status, c)
	for _, word := range []string{`"isError":true`, `"hasMore":true`, `"resultType":"input_required"`, `"resultType":"task"`} {
		if strings.Contains(last, word) {
			_, word, _ = strings.Cut(strings.TrimSuffix(strings.ReplaceAll(word, `"`, ""), ":true"), "resultType:")
			if word == "" {
				word = map[bool]string{true: "isError", false: "hasMore"}[strings.Contains(last, `"isError"`)]
			}
			out += " " + word
		}
	}
	if len(lines) > 1 {
		out += " logged"
	}
	return out
}

func (x *refusal) overStdio(t *testing.T, fs ...mock.Fault) string {
	t.Helper()
	s := mock.New(x.script(fs...))
	defer func() { _ = s.Shutdown(within(t)) }()
	return outcome(t, 0, say(t, s, x.body))
}

// overStdioWants is an outcome without its status.
func overStdioWants(s string) string {
	if _, rest, ok := strings.Cut(s, " "); ok {
		return "0 " + rest
	}
	return s
}

// umbrella are leniencies that let pass what others do too.
var umbrella = map[string][]string{
	mock.CheckOrigin:               {mock.CheckOriginNull, mock.CheckOriginPrefix, mock.CheckOriginHTTPS},
	mock.CheckMethodUnknown:        {mock.CheckMethodRemoved},
	mock.CheckToolUnknown:          {mock.CheckToolCase},
	mock.CheckResourceUnknown:      {mock.CheckResourceURI},
	mock.CheckInputsMalformed:      {mock.CheckInputsSchema},
	mock.CheckHeaderNameMismatch:   {mock.CheckHeaderNameDecode, mock.CheckHeaderBase64Markers},
	mock.CheckHeaderNameDecode:     {mock.CheckHeaderBase64Malformed, mock.CheckHeaderChars},
	mock.CheckHeaderParamMismatch:  {mock.CheckHeaderParamDecode, mock.CheckHeaderParamNumeric},
	mock.CheckHeaderMethodMismatch: {mock.CheckHeaderCase},
	// A request without anything modern is then taken for a modern one.
	mock.CheckMetaMissing:        {mock.CheckSessionMissing, mock.CheckMetaVersionMissing},
	mock.CheckMetaVersionMissing: {mock.CheckSessionMissing},
}

func TestEveryLeniencySkipsItsCheckAlone(t *testing.T) {
	all := refusals()
	for _, x := range all {
		t.Run(x.check, func(t *testing.T) {
			if got := x.overHTTP(t); got != x.strict {
				t.Errorf("strict over HTTP: %s, want %s", got, x.strict)
			}
			if got := x.overHTTP(t, mock.Lenient(x.check)); got != x.lenient {
				t.Errorf("lenient over HTTP: %s, want %s", got, x.lenient)
			}
			if !x.http {
				if got, want := x.overStdio(t), overStdioWants(x.strict); got != want {
					t.Errorf("strict over stdio: %s, want %s", got, want)
				}
				if got, want := x.overStdio(t, mock.Lenient(x.check)), overStdioWants(x.lenient); got != want {
					t.Errorf("lenient over stdio: %s, want %s", got, want)
				}
			}
			for _, other := range all {
				if other.check == x.check || slices.Contains(umbrella[x.check], other.check) {
					continue
				}
				if got := other.overHTTP(t, mock.Lenient(x.check)); got != other.strict {
					t.Errorf("%s is now %s, want %s", other.check, got, other.strict)
				}
			}
		})
	}
}

// Every check is tried: here, or by name in the tests of what takes time.
func TestEveryCheckIsTried(t *testing.T) {
	elsewhere := []string{
		mock.CheckHTTPGet, mock.CheckCapabilityUndeclared, mock.CheckParamsMissing,
		mock.CheckStateRequestBound, mock.CheckStateExpiry, mock.CheckStateSingleUse, mock.CheckStatePrincipal,
		mock.CheckListenFilter, mock.CheckListenURIs, mock.CheckListenCapability, mock.CheckListenCancel,
		mock.CheckCancel, mock.CheckCancelAnswer, mock.CheckCancelDisconnect, mock.CheckTaskUnknown, mock.CheckTaskOwner,
		mock.CheckSessionVersion, mock.CheckHandshake, mock.CheckHost, mock.CheckOriginHost, mock.CheckPreflight,
		mock.CheckSessionFallback, mock.CheckKeyFold, mock.CheckKeyNUL, mock.CheckKeyDuplicate,
		mock.CheckStreamSecond, mock.CheckStreamPriming, mock.CheckStreamReplay, mock.CheckAskEra,
	}
	tried := map[string]bool{}
	for _, x := range refusals() {
		tried[x.check] = true
	}
	seen := map[string]bool{}
	for _, c := range mock.Checks() {
		if seen[c.Name] || c.What == "" {
			t.Errorf("%s stands twice, or says nothing", c.Name)
		}
		seen[c.Name] = true
		if !tried[c.Name] && !slices.Contains(elsewhere, c.Name) {
			t.Errorf("%s is not tried", c.Name)
		}
	}
}

// A client of the handshake era is asked by requests, unless the check is left out.
func TestAskingInTheHandshakeEra(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`,
	}
	for _, tc := range []struct {
		faults     []mock.Fault
		want, deny string
	}{
		{nil, `"method":"elicitation/create"`, spec.ResultInputRequired},
		{[]mock.Fault{mock.Lenient(mock.CheckAskEra)}, `"resultType":"input_required"`, `"id":2,"method"`},
	} {
		s := probed()
		s.Faults = tc.faults
		out := strings.Join(say(t, mock.New(s), lines...), "\n")
		if !strings.Contains(out, tc.want) || strings.Contains(out, tc.deny) {
			t.Errorf("%s, want %s and not %s", out, tc.want, tc.deny)
		}
	}
}
