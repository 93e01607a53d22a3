// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/mcprove/mcprove/rule"
)

// inMeta is a result whose _meta is the given object.
func inMeta(object string) string {
	return `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":` + object + `}}`
}

func TestMetaOfResults(t *testing.T) {
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		answer     string
	}{
		{"unusual but valid", "meta.key-name-format", rule.Pass, inMeta(`{"com.example/build":1,"example/x":1,"com.example/":1,"a-1.b-2/c_d.e-f":1,"9lives":1}`)},
		{"a second slash", "meta.key-name-format", rule.Fail, inMeta(`{"com.example/a/b":1}`)},
		{"in the _meta of a tool", "meta.key-name-format", rule.Fail, `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"t","_meta":{"com.example/_x":1}}]}}`},
		{"in the _meta of content", "meta.key-name-format", rule.Fail, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"","_meta":{"x_":1}}]}}`},
		{"in the _meta of an embedded resource", "meta.key-name-format", rule.Fail, `{"jsonrpc":"2.0","id":7,"result":{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","_meta":{"x_":1}}}}]}}`},
		{"in what the client is asked", "meta.key-name-format", rule.Fail, `{"jsonrpc":"2.0","id":7,"result":{"inputRequests":{"a":{"method":"elicitation/create","params":{"_meta":{"x_":1}}}}}}`},
		{"in a schema", "meta.key-name-format", rule.Skip, `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"t","inputSchema":{"default":{"_meta":{"_x":1}}}}]}}`},
		{"in structured content", "meta.key-name-format", rule.Skip, `{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"_meta":{"_x":1}}}}`},

		{"one label", "meta.key-prefix-format", rule.Pass, inMeta(`{"example/x":1}`)},
		{"no label", "meta.key-prefix-format", rule.Fail, inMeta(`{"/x":1}`)},
		{"a dot too many", "meta.key-prefix-format", rule.Fail, inMeta(`{"com.example./x":1}`)},
		{"a digit in front", "meta.key-label-format", rule.Fail, inMeta(`{"1com.example/x":1}`)},
		{"a hyphen at the end", "meta.key-label-format", rule.Fail, inMeta(`{"com.example-/x":1}`)},

		{"reversed", "meta.key-reverse-dns", rule.Pass, inMeta(`{"com.example/x":1,"io.modelcontextprotocol/serverInfo":{}}`)},
		{"not reversed", "meta.key-reverse-dns", rule.Warn, inMeta(`{"example.com/x":1}`)},
		{"one word", "meta.key-reverse-dns", rule.Warn, inMeta(`{"acme/x":1}`)},
		{"a domain that nobody here knows", "meta.key-reverse-dns", rule.Pass, inMeta(`{"photography.example/x":1}`)},

		{"known", "meta.reserved-prefix", rule.Pass, inMeta(`{"io.modelcontextprotocol/serverInfo":{},"com.example.mcp/x":1}`)},
		{"of an earlier revision", "meta.reserved-prefix", rule.Pass, inMeta(`{"io.modelcontextprotocol/related-task":{}}`)},
		{"made up", "meta.reserved-prefix", rule.Fail, inMeta(`{"io.modelcontextprotocol/madeUp":1}`)},
		{"made up elsewhere", "meta.reserved-prefix", rule.Fail, inMeta(`{"dev.mcp/x":1}`)},
		{"of an official extension perhaps", "meta.reserved-prefix", rule.Skip,
			`{"jsonrpc":"2.0","id":7,"result":{"capabilities":{"extensions":{"io.modelcontextprotocol/ui":{}}},"_meta":{"io.modelcontextprotocol/uiThing":1}}}`},

		{"a trace", "meta.traceparent-format", rule.Pass, inMeta(`{"traceparent":"00-4d43505052f0f1e2d3c4b5a697887766-1122334455667788-00"}`)},
		{"a trace of a later version", "meta.traceparent-format", rule.Pass, inMeta(`{"traceparent":"01-4d43505052f0f1e2d3c4b5a697887766-1122334455667788-00-more"}`)},
		{"more than version 00 has", "meta.traceparent-format", rule.Fail, inMeta(`{"traceparent":"00-4d43505052f0f1e2d3c4b5a697887766-1122334455667788-00-more"}`)},
		{"capitals", "meta.traceparent-format", rule.Fail, inMeta(`{"traceparent":"00-4D43505052F0F1E2D3C4B5A697887766-1122334455667788-00"}`)},
		{"version ff", "meta.traceparent-format", rule.Fail, inMeta(`{"traceparent":"ff-4d43505052f0f1e2d3c4b5a697887766-1122334455667788-00"}`)},
		{"no string", "meta.traceparent-format", rule.Fail, inMeta(`{"traceparent":{}}`)},
		{"two vendors", "meta.tracestate-format", rule.Pass, inMeta(`{"tracestate":"tide=00f067aa, office@dt=FfFFzA"}`)},
		{"empty members", "meta.tracestate-format", rule.Pass, inMeta(`{"tracestate":"a=1,,b=2"}`)},
		{"a key in capitals", "meta.tracestate-format", rule.Fail, inMeta(`{"tracestate":"Tide=1"}`)},
		{"an equals sign in a value", "meta.tracestate-format", rule.Fail, inMeta(`{"tracestate":"a=1=2"}`)},
		{"properties", "meta.baggage-format", rule.Pass, inMeta(`{"baggage":"user=a%20b;kind=x;open , n=1"}`)},
		{"a space in a value", "meta.baggage-format", rule.Fail, inMeta(`{"baggage":"user=a b"}`)},
		{"a key alone", "meta.baggage-format", rule.Fail, inMeta(`{"baggage":"user"}`)},

		{"no version", "meta.server-info-shape", rule.Fail, inMeta(`{"io.modelcontextprotocol/serverInfo":{"name":"a"}}`)},
		{"not stamped", "meta.server-info-stamp", rule.Warn, inMeta(`{}`)},
		{"not stamped, and no object", "meta.server-info-stamp", rule.Skip, `{"jsonrpc":"2.0","id":7,"result":"none"}`},
	} {
		t.Run(tc.rule+"/"+tc.name, func(t *testing.T) {
			if o := watched(t, tc.rule, ask7, tc.answer); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}

// A server that asks for what the request did not declare relies on it; one
// that was told does not.
func TestCapabilitiesOfTheRequest(t *testing.T) {
	const asks = `{"jsonrpc":"2.0","id":8,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}}}`
	call := func(capabilities string) string {
		return `>{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}}`
	}
	lacks := func(data string) string {
		return `{"jsonrpc":"2.0","id":8,"error":{"code":-32021,"message":"no","data":` + data + `}}`
	}
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		lines      []string
	}{
		{"declared", "meta.no-undeclared-capability", rule.Pass, []string{call(`{"elicitation":{}}`), asks}},
		{"not declared", "meta.no-undeclared-capability", rule.Fail, []string{call(`{"sampling":{}}`), asks}},
		{"named", "meta.missing-capability-data", rule.Pass, []string{call(`{}`), lacks(`{"requiredCapabilities":{"elicitation":{}}}`)}},
		{"a part of what is declared", "meta.missing-capability-data", rule.Pass, []string{call(`{"elicitation":{}}`), lacks(`{"requiredCapabilities":{"elicitation":{"url":{}}}}`)}},
		{"declared already", "meta.missing-capability-data", rule.Fail, []string{call(`{"elicitation":{"url":{}}}`), lacks(`{"requiredCapabilities":{"elicitation":{"url":{}}}}`)}},
		{"names nothing", "meta.missing-capability-data", rule.Fail, []string{call(`{}`), lacks(`{"requiredCapabilities":{}}`)}},
		{"names strings", "meta.missing-capability-data", rule.Fail, []string{call(`{}`), lacks(`{"requiredCapabilities":["elicitation"]}`)}},
	} {
		t.Run(tc.rule+"/"+tc.name, func(t *testing.T) {
			if o := watched(t, tc.rule, tc.lines...); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}
