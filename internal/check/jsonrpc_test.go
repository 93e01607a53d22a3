// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// watched plays lines of stdio through the rule of an id: what begins with > was
// sent, the rest came.
func watched(t *testing.T, id string, lines ...string) check.Outcome {
	t.Helper()
	r := probe.NewRecorder(transport.Stdio, spec.Rev20260728)
	for _, l := range lines {
		if sent, ok := strings.CutPrefix(l, ">"); ok {
			r.Line("1", wire.ToServer, []byte(sent))
			continue
		}
		r.Line("1", wire.ToClient, []byte(l))
	}
	return only(t, id, r.Traffic())
}

// only is the outcome of one rule over a recording.
func only(t *testing.T, id string, traffic *probe.Traffic) check.Outcome {
	t.Helper()
	for _, o := range check.Watched(traffic, check.Options{Only: []string{id}}) {
		if o.Rule.ID == id {
			return o
		}
	}
	t.Fatalf("%s looks at no recordings", id)
	return check.Outcome{}
}

// posted is a recording of one request over HTTP and the JSON that answers it.
func posted(status int, request, answer string) *probe.Traffic {
	r := probe.NewRecorder(transport.StreamableHTTP, spec.Rev20260728)
	head := &wire.Head{Status: status, Header: []wire.HeaderField{{Name: "Content-Type", Value: "application/json"}}}
	r.HTTP("1", &wire.Head{Method: "POST"}, []byte(request), head, []*wire.Frame{{Raw: []byte(answer), Dir: wire.ToClient, HTTP: head}}, nil)
	return r.Traffic()
}

const (
	ask7 = `>{"jsonrpc":"2.0","id":7,"method":"server/discover"}`
	ask8 = `>{"jsonrpc":"2.0","id":8,"method":"tools/list"}`
	note = `>{"jsonrpc":"2.0","method":"notifications/initialized"}`
	got7 = `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete"}}`
	got8 = `{"jsonrpc":"2.0","id":8,"result":{"resultType":"complete"}}`
)

func TestMessagesOverStdio(t *testing.T) {
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		lines      []string
	}{
		{"right id", "jsonrpc.result-id-match", rule.Pass, []string{ask7, got7}},
		{"the number as a string", "jsonrpc.result-id-match", rule.Fail, []string{ask7, `{"jsonrpc":"2.0","id":"7","result":{}}`}},
		{"another number", "jsonrpc.result-id-match", rule.Fail, []string{ask7, ask8, got8, `{"jsonrpc":"2.0","id":9,"result":{}}`}},
		{"the number with a point", "jsonrpc.result-id-match", rule.Warn, []string{ask7, `{"jsonrpc":"2.0","id":7.0,"result":{}}`}},
		{"no id", "jsonrpc.result-id-match", rule.Fail, []string{ask7, `{"jsonrpc":"2.0","result":{}}`}},
		{"the results of a batch", "jsonrpc.result-id-match", rule.Pass, []string{ask7, got7,
			`>[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"a batch that is executed", "jsonrpc.no-batch", rule.Warn, []string{
			`>[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`}},
		{"a batch that is refused", "jsonrpc.no-batch", rule.Pass, []string{
			`>[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`}},

		{"an error without id, the request open", "jsonrpc.error-id-match", rule.Fail, []string{
			ask7, ask8, got8, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`}},
		{"an error without id for garbage", "jsonrpc.error-id-match", rule.Skip, []string{
			ask7, got7, `>{"jsonrpc":`, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`}},
		{"an error with id null for garbage", "jsonrpc.error-id-omitted-not-null", rule.Warn, []string{
			ask7, got7, `>{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`}},

		{"a notification, and silence", "jsonrpc.notification-no-response", rule.Pass, []string{note, ask7, got7}},
		{"a notification that is answered", "jsonrpc.notification-no-response", rule.Fail, []string{
			ask7, got7, note, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`, ask8, got8}},
		{"a notification answered under an old id", "jsonrpc.notification-no-response", rule.Fail, []string{
			ask7, got7, note, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}`}},
		{"an error for garbage is none for the notification", "jsonrpc.notification-no-response", rule.Pass, []string{
			note, ask7, got7, `>{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`}},
		{"an error without id belongs to the open request", "jsonrpc.notification-no-response", rule.Pass, []string{
			note, ask7, ask8, got7, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`}},

		{"neither result nor error", "jsonrpc.result-xor-error", rule.Fail, []string{ask7, `{"jsonrpc":"2.0","id":7}`}},
		{"a line of a log is no response", "jsonrpc.result-xor-error", rule.Skip, []string{ask7, `{"level":"info","id":7}`}},
		{"null beside a result", "jsonrpc.result-xor-error", rule.Fail, []string{ask7, `{"jsonrpc":"2.0","id":7,"result":{},"error":null}`}},
		{"a line of a log is no message", "jsonrpc.version-member", rule.Pass, []string{ask7, `{"level":"info"}`, got7}},
		{"a line of another encoding that is no message", "jsonrpc.utf8", rule.Pass, []string{ask7, "\xff\xfeh\x00", got7}},

		{"a request without id", "jsonrpc.request-id-present", rule.Fail, []string{ask7, `{"jsonrpc":"2.0","method":"roots/list"}`}},
		{"a notification of an extension", "jsonrpc.request-id-present", rule.Skip, []string{ask7, `{"jsonrpc":"2.0","method":"com.example/changed"}`}},

		{"a message that repeats a long name it was sent", "jsonrpc.error-message-concise", rule.Pass, []string{
			`>{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"x:` + strings.Repeat("a", 3000) + `"}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no resource x:` + strings.Repeat("a", 3000) + `"}}`}},
		{"a long message of the server's own", "jsonrpc.error-message-concise", rule.Warn, []string{
			`>{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"x:` + strings.Repeat("a", 3000) + `"}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"` + strings.Repeat("no ", 200) + `"}}`}},
		{"an array for an array", "jsonrpc.no-batch", rule.Warn, []string{
			`>[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, `[{"jsonrpc":"2.0","id":1,"result":{}}]`}},

		{"a type of an extension that only the server has", "jsonrpc.result-type-known-values", rule.Fail, []string{
			ask7, `{"jsonrpc":"2.0","id":7,"result":{"resultType":"task","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`}},
		{"a type of an extension that both have", "jsonrpc.result-type-known-values", rule.Pass, []string{
			ask7, `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`,
			`>{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
			`{"jsonrpc":"2.0","id":8,"result":{"resultType":"task"}}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if o := watched(t, tc.rule, tc.lines...); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}

func TestMessagesOverHTTP(t *testing.T) {
	const ask = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		status     int
		sent, got  string
	}{
		{"the page of a proxy", "jsonrpc.version-member", rule.Skip, 401, ask, `{"error":"invalid_token"}`},
		{"a refusal that is meant to be JSON-RPC", "jsonrpc.version-member", rule.Fail, 400, ask, `{"error":{"code":-32602,"message":"no"}}`},
		{"refused by the headers alone", "jsonrpc.error-id-match", rule.Skip, 400, ask, `{"jsonrpc":"2.0","error":{"code":-32020,"message":"no"}}`},
		{"refused by what is in the body", "jsonrpc.error-id-match", rule.Fail, 400, ask, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`},
		{"a notification refused", "jsonrpc.notification-no-response", rule.Pass, 400,
			`{"jsonrpc":"2.0","method":"notifications/x"}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`},
		{"a notification answered", "jsonrpc.notification-no-response", rule.Fail, 200,
			`{"jsonrpc":"2.0","method":"notifications/x"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`},
		{"an error of the server with a page", "jsonrpc.internal-error-32603", rule.Skip, 200, ask, `{"jsonrpc":"2.0","id":7,"result":{}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if o := only(t, tc.rule, posted(tc.status, tc.sent, tc.got)); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}
