// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// asked is a request of this revision and its result, as lines of a recording.
func asked(id int, method, params, result string) []string {
	if params != "" {
		params += ","
	}
	return []string{
		fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, method, params),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete",%s}}`, id, result),
	}
}

func lines(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// What rules on lists, hints and content make of recordings.
func TestRecordedContent(t *testing.T) {
	const hints = `,"ttlMs":0,"cacheScope":"private"`
	tools := func(id int, cursor, names, more string) []string {
		return asked(id, spec.MethodToolsList, cursor, `"tools":[`+names+`]`+more)
	}
	var endless, long []string
	for i := range 35 {
		cursor := fmt.Sprintf(`"cursor":"%d"`, i)
		if i == 0 {
			cursor = ""
		}
		next := fmt.Sprintf(`,"nextCursor":"%d"`, i+1)
		endless = append(endless, tools(i+1, cursor, `{"name":"a"}`, next)...)
		long = append(long, tools(i+1, cursor, fmt.Sprintf(`{"name":"a%d"}`, i), next)...)
	}
	completion := func(c string) []string {
		return asked(1, spec.MethodComplete, `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`, `"completion":`+c)
	}
	read := func(contents string) []string {
		return asked(1, spec.MethodResourcesRead, `"uri":"demo://a"`, `"contents":[`+contents+`]`+hints)
	}
	got := func(content string) []string {
		return asked(1, spec.MethodPromptsGet, `"name":"p","arguments":{"link":"here"}`, `"messages":[{"role":"user","content":`+content+`}]`)
	}
	form := func(field string) []string {
		ls := asked(1, spec.MethodToolsCall, `"name":"a"`, `"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"who":`+field+`}}}}}`)
		ls[1] = strings.Replace(ls[1], spec.ResultComplete, spec.ResultInputRequired, 1)
		return ls
	}
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		lines      []string
	}{
		{"minus zero", "caching.ttl-nonnegative", rule.Pass, tools(1, "", "", `,"ttlMs":-0`)},
		{"a year", "caching.ttl-nonnegative", rule.Pass, tools(1, "", "", `,"ttlMs":31536000000`)},
		{"minus one", "caching.ttl-nonnegative", rule.Fail, tools(1, "", "", `,"ttlMs":-1`)},
		{"minus one and a half is no integer, which is said elsewhere", "caching.ttl-nonnegative", rule.Pass, tools(1, "", "", `,"ttlMs":-1.5`)},
		{"an integer with a fraction of zero", "caching.ttl-integer", rule.Pass, tools(1, "", "", `,"ttlMs":1.0`)},
		{"null", "caching.ttl-integer", rule.Fail, tools(1, "", "", `,"ttlMs":null`)},
		{"no hint at all has its own rule", "caching.ttl-integer", rule.Skip, tools(1, "", "", "")},
		{"a scope on what is not cacheable", "caching.scope-value", rule.Skip, asked(1, spec.MethodPromptsGet, "", `"messages":[],"cacheScope":"none"`)},
		{"one page public, one private", "caching.scope-same-across-pages", rule.Fail, lines(
			tools(1, "", "", `,"nextCursor":"","cacheScope":"private"`), tools(2, `"cursor":""`, "", `,"cacheScope":"public"`))},
		{"two lists of their own", "caching.scope-same-across-pages", rule.Skip, lines(
			tools(1, "", "", `,"cacheScope":"private"`), asked(2, spec.MethodPromptsList, "", `"prompts":[],"cacheScope":"public"`))},
		{"a scope that changed between two readings", "caching.scope-same-across-pages", rule.Pass, lines(
			tools(1, "", "", `,"nextCursor":"2","cacheScope":"private"`), tools(2, `"cursor":"2"`, "", `,"cacheScope":"private"`),
			tools(3, "", "", `,"nextCursor":"2","cacheScope":"public"`), tools(4, `"cursor":"2"`, "", `,"cacheScope":"public"`))},

		{"one page", "pagination.terminates", rule.Pass, tools(1, "", `{"name":"a"}`, "")},
		{"an empty page in between", "pagination.terminates", rule.Pass, lines(tools(1, "", "", `,"nextCursor":"2"`), tools(2, `"cursor":"2"`, `{"name":"a"}`, ""))},
		{"an empty cursor", "pagination.terminates", rule.Pass, lines(tools(1, "", "", `,"nextCursor":""`), tools(2, `"cursor":""`, `{"name":"a"}`, ""))},
		{"a client that stopped", "pagination.terminates", rule.Skip, tools(1, "", "", `,"nextCursor":"2"`)},
		{"a client that read a page twice", "pagination.terminates", rule.Pass, lines(
			tools(1, "", "", `,"nextCursor":"2"`), tools(2, `"cursor":"2"`, `{"name":"a"}`, ""), tools(3, `"cursor":"2"`, `{"name":"a"}`, ""))},
		{"the same page again", "pagination.terminates", rule.Warn, lines(
			tools(1, "", "", `,"nextCursor":"2"`), tools(2, `"cursor":"2"`, `{"name":"a"}`, `,"nextCursor":"2"`), tools(3, `"cursor":"2"`, `{"name":"a"}`, `,"nextCursor":"2"`))},
		{"the same cursor and other items", "pagination.terminates", rule.Pass, lines(
			tools(1, "", "", `,"nextCursor":"2"`), tools(2, `"cursor":"2"`, `{"name":"a"}`, `,"nextCursor":"2"`), tools(3, `"cursor":"2"`, `{"name":"b"}`, ""))},
		{"always another page with nothing new", "pagination.terminates", rule.Warn, endless},
		{"a long list", "pagination.terminates", rule.Note, long},
		{"a cursor that is null", "pagination.next-cursor-string", rule.Fail, tools(1, "", "", `,"nextCursor":null`)},

		{"more than are shown", "completion.has-more-consistent", rule.Pass, completion(`{"values":["a"],"total":10,"hasMore":true}`)},
		{"more, of unknown number", "completion.has-more-consistent", rule.Pass, completion(`{"values":["a"],"hasMore":true}`)},
		{"silent about more", "completion.has-more-consistent", rule.Pass, completion(`{"values":["a"],"total":10}`)},
		{"more is denied", "completion.has-more-consistent", rule.Warn, completion(`{"values":["a"],"total":10,"hasMore":false}`)},
		{"all, and yet more", "completion.has-more-consistent", rule.Warn, completion(`{"values":["a"],"total":1,"hasMore":true}`)},
		{"a total that is too small", "completion.has-more-consistent", rule.Warn, completion(`{"values":["a"],"total":0}`)},

		{"padding left out", "resources.binary-base64", rule.Warn, read(`{"uri":"demo://a","blob":"QQ"}`)},
		{"the alphabet for URLs", "resources.binary-base64", rule.Warn, read(`{"uri":"demo://a","blob":"_-8="}`)},
		{"broken over lines", "resources.binary-base64", rule.Warn, read(`{"uri":"demo://a","blob":"QUFB\r\nQUFB"}`)},
		{"nothing", "resources.binary-base64", rule.Pass, read(`{"uri":"demo://a","blob":""}`)},
		{"a text", "resources.binary-base64", rule.Fail, read(`{"uri":"demo://a","blob":"Hello, world"}`)},
		{"a text is no blob", "resources.binary-base64", rule.Skip, read(`{"uri":"demo://a","text":"Hello"}`)},
		{"several parts", "resources.read-contents", rule.Pass, read(`{"uri":"demo://a/1","text":""},{"uri":"demo://a/2","blob":""}`)},
		{"neither text nor blob", "resources.read-contents", rule.Fail, read(`{"uri":"demo://a"}`)},
		{"a scheme of one's own", "resources.custom-scheme-rfc3986", rule.Pass, read(`{"uri":"x-y.z+1:a","text":""}`)},

		{"a resource without a scheme", "prompts.embedded-resource-fields", rule.Fail, got(`{"type":"resource","resource":{"uri":"a","mimeType":"text/plain","text":""}}`)},
		{"a resource whose uri the client chose", "prompts.embedded-resource-fields", rule.Pass, got(`{"type":"resource","resource":{"uri":"here","mimeType":"text/plain","text":""}}`)},
		{"a resource without a type", "prompts.embedded-resource-fields", rule.Warn, got(`{"type":"resource","resource":{"uri":"demo://a","text":""}}`)},
		{"a picture with parameters", "prompts.image-base64", rule.Pass, got(`{"type":"image","data":"QUFB","mimeType":"image/svg+xml; charset=utf-8"}`)},
		{"a bad picture is another rule's matter", "prompts.get-shape", rule.Pass, got(`{"type":"image","data":"?"}`)},
		{"a format that forms do not have", "elicitation.form-string-formats", rule.Fail, form(`{"type":"string","format":"phone"}`)},
		{"a choice, whose schema is open", "elicitation.form-string-formats", rule.Pass, form(`{"type":"string","enum":["a"],"format":"phone"}`)},
		{"a block of an unknown type", "prompts.get-shape", rule.Fail, got(`{"type":"video","data":""}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if o := watched(t, tc.rule, tc.lines...); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}

// What rules on lists, reads and prompts make of servers.
func TestListsOfServers(t *testing.T) {
	readable := mock.On(spec.MethodResourcesRead)
	unknown := readable.When(mock.HasParam("/uri")).OfCode(spec.CodeInvalidParams)
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		because    string
		change     func(*mock.Script)
		faults     []mock.Fault
	}{
		{"not served at all", "resources.list-answered", rule.Fail, "", nil,
			[]mock.Fault{mock.On(spec.MethodResourcesList).Error(spec.CodeMethodNotFound, "no")}},
		{"a list that is null", "prompts.list-answered", rule.Fail, "", nil,
			[]mock.Fault{mock.On(spec.MethodPromptsList).Set("/result/prompts", "null")}},
		{"an empty list", "prompts.list-answered", rule.Pass, "", func(s *mock.Script) { s.Prompts = nil }, nil},
		{"a server without templates", "resources.template-pagination-cacheable", rule.Skip, "", nil,
			[]mock.Fault{mock.On(spec.MethodResourceTemplatesList).Error(spec.CodeMethodNotFound, "no")}},
		{"another order elsewhere", "prompts.list-not-per-connection", rule.Pass, "", nil,
			[]mock.Fault{mock.On(spec.MethodPromptsList).FromConn(2).Reverse("/result/prompts")}},
		{"a prompt that went away for all", "prompts.list-not-per-connection", rule.Skip, "", nil,
			[]mock.Fault{mock.On(spec.MethodPromptsList).OnPage(1).FromTurn(2).Remove("/result/prompts/0")}},
		{"a prompt that went away for all, or by what was asked", "prompts.list-not-side-effect", rule.Warn, "", nil,
			[]mock.Fault{mock.On(spec.MethodPromptsList).OnPage(1).FromTurn(2).Remove("/result/prompts/0")}},
		{"another list every time", "prompts.list-not-side-effect", rule.Warn, "", nil,
			[]mock.Fault{mock.On(spec.MethodPromptsList).OnPage(1).EveryTurn(2).Remove("/result/prompts/0")}},

		{"an error as contents", "resources.not-found-32602", rule.Fail, "", nil,
			[]mock.Fault{unknown.Result(`{"resultType":"complete","contents":[{"uri":"x:y","text":"not found"}],"ttlMs":0,"cacheScope":"private"}`)}},
		{"no contents", "resources.not-found-32602", rule.Skip, "resources.not-found-no-empty-contents", nil,
			[]mock.Fault{unknown.Result(`{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}`)}},
		{"nothing can be read", "resources.not-found-32602", rule.Skip, "resources.listed-readable", nil,
			[]mock.Fault{readable.Error(spec.CodeInvalidParams, "no")}},
		{"every uri makes contents", "resources.uri-validated", rule.Skip, "resources.not-found-32602", nil,
			[]mock.Fault{readable.Result(`{"resultType":"complete","contents":[{"uri":"x:y","text":"x"}],"ttlMs":0,"cacheScope":"private"}`)}},
		{"a template for any uri", "resources.not-found-32602", rule.Skip, "", func(s *mock.Script) {
			s.Templates = append(s.Templates, mock.Template{Definition: []byte(`{"uriTemplate":"{+any}","name":"any"}`)})
		}, nil},

		{"refused by another code", "prompts.missing-argument-32602", rule.Warn, "", nil,
			[]mock.Fault{mock.On(spec.MethodPromptsGet).OfCode(spec.CodeInvalidParams).Set("/error/code", "-32603")}},
		{"filled in regardless", "prompts.missing-argument-32602", rule.Skip, "prompts.arguments-validated", nil,
			[]mock.Fault{mock.Lenient(mock.CheckPromptArgumentMissing)}},
		{"no prompt with an argument", "prompts.arguments-validated", rule.Skip, "", func(s *mock.Script) { s.Prompts = s.Prompts[:1] }, nil},
		{"every completion refused", "completion.shape", rule.Warn, "", nil,
			[]mock.Fault{mock.On(spec.MethodComplete).Error(spec.CodeInvalidParams, "no")}},
		{"no completions", "completion.unknown-prompt-32602", rule.Skip, "", nil,
			[]mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/capabilities/completions")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			script := specimen()
			if tc.change != nil {
				tc.change(&script)
			}
			script.Faults = append(script.Faults, tc.faults...)
			for _, c := range modernCarriers {
				o := judgeBy(t, script, newest(c.kind), check.Options{Only: []string{tc.rule}})[tc.rule]
				if o.Status != tc.want || o.Because != tc.because {
					t.Errorf("%s: want %s %s, because %q\n%s", c.kind, tc.want, tc.because, o.Because, show(o))
				}
			}
		})
	}
}

// One cause is one finding, however many items show it.
func TestManyPlacesOneFinding(t *testing.T) {
	script := specimen()
	for i := range 3 {
		script.Faults = append(script.Faults, mock.On(spec.MethodResourcesList).Remove(fmt.Sprintf("/result/resources/%d/name", i)))
	}
	o := judgeBy(t, script, newest(transport.StreamableHTTP), check.Options{Only: []string{"resources.item-shape"}})["resources.item-shape"]
	if len(o.Blames) != 1 {
		t.Errorf("%d findings\n%s", len(o.Blames), show(o))
	}
}

// Nobody is blamed for what was not sent.
func TestNothingMalformedToOthers(t *testing.T) {
	target := mock.New(specimen()).HTTP("mock")
	o := check.Options{Options: probe.Options{Revision: spec.Rev20260728}, Only: []string{"resources", "prompts", "completion", "pagination", "caching"}}
	r, err := check.Run(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		if blamed(o) {
			t.Error(show(o))
		}
	}
	for _, x := range r.Traffic.Exchanges {
		if x.Planted() != "" && x.Sent != nil {
			t.Errorf("sent: %s", x.Planted())
		}
	}
}
