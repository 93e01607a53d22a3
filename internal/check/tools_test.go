// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// safe is a tool that may be called.
func safe(name, inputSchema, more, result string) mock.Tool {
	return mock.Tool{
		Definition: []byte(fmt.Sprintf(`{"name":%q,"inputSchema":%s,"annotations":{"readOnlyHint":true}%s}`, name, inputSchema, more)),
		Result:     []byte(result),
	}
}

const (
	nothing  = `{"type":"object","additionalProperties":false}`
	needsOne = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	says     = `{"content":[{"type":"text","text":"Done."}]}`
)

// small is a server with the given tools and faults.
func small(faults []mock.Fault, tools ...mock.Tool) mock.Script {
	return mock.Script{Revisions: []spec.Revision{spec.Rev20260728}, Tools: tools, Faults: faults}
}

func TestToolVerdicts(t *testing.T) {
	list, call := mock.On(spec.MethodToolsList), mock.On(spec.MethodToolsCall)
	echo := safe("echo", nothing, "", says)
	undeclared := small([]mock.Fault{list.Lenient(mock.CheckCapabilityUndeclared)}, echo)
	undeclared.Capabilities = []byte(`{}`)
	refusing := small(nil, echo)
	refusing.Capabilities = []byte(`{}`)
	output := func(schema, result string, faults ...mock.Fault) mock.Script {
		return small(faults, safe("give", nothing, `,"outputSchema":`+schema, result))
	}
	for _, tc := range []struct {
		name, rule string
		script     mock.Script
		want       rule.Status
		says       string
	}{
		{"tools that are not declared", "tools.capability-declared", undeclared, rule.Fail, "shows 1 tools"},
		{"no tools are declared, and none served", "tools.capability-declared", refusing, rule.Pass, ""},
		{"the list is null", "tools.list-answered", small([]mock.Fault{list.Set("/result/tools", "null")}, echo), rule.Fail, "null"},
		{"too many requests", "tools.list-answered", small([]mock.Fault{list.HTTP(429, "text/plain", "slow down")}, echo), rule.Skip, ""},

		{"allowed signs", "tools.name-charset", small(nil, safe("admin.tools.list-A_1", nothing, "", says)), rule.Pass, ""},
		{"a letter beyond ASCII", "tools.name-charset", small(nil, safe("größe", nothing, "", says)), rule.Warn, "ö"},
		{"a letter beyond ASCII", "tools.name-no-special", small(nil, safe("größe", nothing, "", says)), rule.Pass, ""},
		{"128 characters", "tools.name-length", small(nil, safe(strings.Repeat("a", 128), nothing, "", says)), rule.Pass, ""},
		{"100 characters in 200 bytes", "tools.name-length", small(nil, safe(strings.Repeat("é", 100), nothing, "", says)), rule.Pass, ""},
		{"an empty name", "tools.name-length", small([]mock.Fault{list.Set("/result/tools/0/name", `""`)}, echo), rule.Warn, "empty"},
		{"hints that contradict each other", "tools.annotations-shape", small([]mock.Fault{list.Set("/result/tools/0/annotations", `{"title":"a","readOnlyHint":true,"destructiveHint":true,"x-team":"desk"}`)}, echo), rule.Pass, ""},
		{"null for a hint", "tools.annotations-shape", small([]mock.Fault{list.Set("/result/tools/0/annotations/idempotentHint", "null")}, echo), rule.Fail, ""},
		{"composition beside the type", "tools.input-schema-root-object", small(nil, safe("echo", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"$ref":"#/$defs/x","$defs":{"x":{}}}`, "", says)), rule.Pass, ""},
		{"null for a schema", "tools.input-schema-root-object", small([]mock.Fault{list.Set("/result/tools/0/inputSchema", "null")}, echo), rule.Fail, "null"},
		{"null for a schema", "tools.list-shape", small([]mock.Fault{list.Set("/result/tools/0/inputSchema", "null")}, echo), rule.Pass, ""},

		{"another list at each request", "tools.list-not-side-effect", small([]mock.Fault{list.Set("/result/tools/0/description", `"seen by {{/id}}"`)}, echo), rule.Fail, "in a row"},
		{"another list at each request", "tools.list-not-per-connection", small([]mock.Fault{list.Set("/result/tools/0/description", `"seen by {{/id}}"`)}, echo), rule.Skip, ""},
		{"another list from some time on", "tools.list-not-per-connection", small([]mock.Fault{list.FromTurn(3).Set("/result/tools/0/description", `"new"`)}, echo), rule.Pass, ""},
		{"no end of pages", "tools.list-deterministic-order", small([]mock.Fault{list.EndlessCursors()}, echo), rule.Skip, ""},

		{"the other case is listed too", "tools.name-case-sensitive", small(nil, echo, safe("ECHO", nothing, "", says)), rule.Skip, ""},
		{"the only tool needs an argument", "tools.arguments-optional", small(nil, safe("echo", needsOne, "", says)), rule.Skip, ""},
		{"no arguments are an error of the tool", "tools.arguments-optional", small([]mock.Fault{call.When(mock.NoParam("/arguments")).Set("/result/isError", "true")}, echo), rule.Warn, "isError"},

		{"an unknown tool is an error of a tool", "tools.unknown-tool-32602", small([]mock.Fault{call.When(mock.Not(mock.ParamIs("/name", `"echo"`))).Result(`{"resultType":"complete","content":[],"isError":true}`)}, echo), rule.Warn, "isError"},
		{"every call is refused", "tools.unknown-tool-32602", small([]mock.Fault{call.Error(spec.CodeInvalidParams, "no")}, echo), rule.Skip, ""},
		{"no tool may be called", "tools.unknown-tool-32602", small(nil, mock.Tool{Definition: []byte(`{"name":"erase","inputSchema":{"type":"object"}}`)}), rule.Pass, ""},

		{"bad arguments are a protocol error", "tools.input-validation-is-error", small([]mock.Fault{call.When(mock.AnswerIs("/result/isError", "true")).Error(spec.CodeInvalidParams, "no")}, safe("echo", needsOne, "", says)), rule.Warn, "message schema lists it"},
		{"bad arguments are an internal error", "tools.inputs-validated", small([]mock.Fault{call.When(mock.AnswerIs("/result/isError", "true")).Error(spec.CodeInternalError, "no")}, safe("echo", needsOne, "", says)), rule.Warn, "-32603"},
		{"bad arguments are taken", "tools.inputs-validated", small([]mock.Fault{mock.Lenient(mock.CheckArgumentsInvalid)}, safe("echo", needsOne, "", says)), rule.Skip, ""},
		{"all arguments are good", "tools.input-validation-is-error", small(nil, safe("echo", `{"type":"object"}`, "", says)), rule.Skip, ""},

		{"an array", "tools.output-conforms", output(`{"type":"array","items":{"type":"integer"}}`, `{"content":[],"structuredContent":[1,2.0]}`), rule.Pass, ""},
		{"null", "tools.output-conforms", output(`{"type":["object","null"]}`, `{"content":[],"structuredContent":null}`), rule.Pass, ""},
		{"a wrong member", "tools.output-conforms", output(`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"content":[],"structuredContent":{"a":"1"}}`), rule.Fail, "/a: "},
		{"an unknown dialect", "tools.output-conforms", output(`{"$schema":"https://example.com/d","type":"array"}`, `{"content":[],"structuredContent":{}}`), rule.Skip, ""},
		{"a schema that needs another document", "tools.output-conforms", output(`{"$ref":"https://example.com/a.json"}`, `{"content":[],"structuredContent":{}}`), rule.Skip, ""},
		{"an error without output", "tools.output-conforms", output(`{"type":"object"}`, `{"content":[{"type":"text","text":"no"}],"isError":true}`), rule.Skip, ""},

		{"the same number spelt in another way", "tools.structured-text-mirror", output(`{}`, `{"content":[{"type":"text","text":"{ \"a\": 1 }"}],"structuredContent":{"a":1.0}}`), rule.Pass, ""},
		{"unpadded Base64", "tools.result-binary-base64", small(nil, safe("draw", nothing, "", `{"content":[{"type":"image","mimeType":"image/png","data":"AAA"}]}`)), rule.Warn, "padding"},
		{"the other alphabet of Base64", "tools.result-binary-base64", small(nil, safe("draw", nothing, "", `{"content":[{"type":"image","mimeType":"image/png","data":"__-_"}]}`)), rule.Fail, "no Base64"},
		{"line breaks and tabs", "tools.outputs-sanitised", small(nil, safe("list", nothing, "", `{"content":[{"type":"text","text":"a\tb\r\nc"}]}`)), rule.Pass, ""},

		{"any keyword", "schema.valid", small(nil, safe("pick", `{"type":"object","if":{"required":["a"]},"then":{"required":["b"]},"unevaluatedProperties":false,"x-mine":1}`, "", says)), rule.Pass, ""},
		{"a pattern of another language", "schema.valid", small(nil, safe("pick", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?P<n>a)"}}}`, "", says)), rule.Warn, "(?P<n>a)"},
		{"draft-07 that says so", "schema.valid", small(nil, safe("pick", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"array","items":[{}]}}}`, "", says)), rule.Pass, ""},
		{"draft-07 that says 2020-12", "schema.dialect-honoured", small(nil, safe("pick", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"array","items":[{}]}}}`, "", says)), rule.Skip, ""},
		{"a dialect nobody knows", "schema.dialect-honoured", small(nil, safe("pick", `{"$schema":"https://example.com/d","type":"object"}`, "", says)), rule.Skip, ""},
		{"a reference below a remote id", "schema.no-remote-ref-published", small(nil, safe("pick", `{"$id":"https://example.com/a/b.json","type":"object","properties":{"a":{"$ref":"c.json"}}}`, "", says)), rule.Warn, "https://example.com/a/c.json"},
		{"a reference to its own id", "schema.no-remote-ref-published", small(nil, safe("pick", `{"$id":"https://example.com/b.json","type":"object","properties":{"a":{"$ref":"https://example.com/b.json"}}}`, "", says)), rule.Pass, ""},
		{"a description of a dialect", "schema.no-remote-ref-published", small(nil, safe("pick", `{"type":"object","properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, "", says)), rule.Pass, ""},

		{"http is tolerated", "icons.src-scheme", small(nil, safe("show", nothing, `,"icons":[{"src":"http://example.com/a.png"}]`, says)), rule.Pass, ""},
		{"icons that are no array", "icons.shape", small(nil, safe("show", nothing, `,"icons":{"src":"https://example.com/a.png"}`, says)), rule.Fail, "not an array"},
	} {
		for _, c := range modernCarriers {
			t.Run(tc.name+"/"+tc.rule+"/"+c.kind.String(), func(t *testing.T) {
				if strings.Contains(tc.name, "too many requests") && c.kind.String() == "stdio" {
					t.Skip("a status of HTTP")
				}
				o := judgeBy(t, tc.script, newest(c.kind), check.Options{Only: []string{tc.rule}})[tc.rule]
				said := o.Reason
				for _, b := range o.Blames {
					said += "\n" + b.Message
				}
				if o.Status != tc.want || !strings.Contains(said, tc.says) {
					t.Errorf("want %s with %q\n%s", tc.want, tc.says, show(o))
				}
			})
		}
	}
}

// A list in another order is for the rule on the order to say, and for no other.
func TestOrderIsOneFinding(t *testing.T) {
	script := specimen()
	script.Faults = []mock.Fault{mock.On(spec.MethodToolsList).FromTurn(2).Reverse("/result/tools")}
	for _, at := range []stage{newest(transport.StreamableHTTP), newest(transport.Stdio)} {
		t.Run(at.String(), func(t *testing.T) {
			found := false
			for id, o := range judgeBy(t, script, at, check.Options{}) {
				switch {
				case o.Status <= rule.Note:
				case id == "tools.list-deterministic-order":
					found = true
				default:
					t.Error(show(o))
				}
			}
			if !found {
				t.Error("the order is not found")
			}
		})
	}
}
