// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// guide is the folder of the example that the guide shows.
const guide = "../docs/guides/mock"

func readExample(t testing.TB) mock.Script {
	t.Helper()
	path := filepath.Join(guide, "weather.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mock.ReadScript(path, data, beside(guide))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func beside(folder string) mock.ReadOptions {
	return mock.ReadOptions{
		File: func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, name)) },
		Fault: func(id string) (func(*mock.Script), error) {
			if id != "carrier.wrong-id" {
				return nil, &rule.FileError{Message: "there is no such fault", Try: "did you mean carrier.wrong-id?"}
			}
			return func(s *mock.Script) { s.Faults = append(s.Faults, mock.On(spec.MethodToolsCall).Set("/id", "77")) }, nil
		},
	}
}

// call calls a tool and returns the result.
func call(t testing.TB, s *session.Session, name, arguments string) json.RawMessage {
	t.Helper()
	r, err := s.Call(within(t), spec.MethodToolsCall, raw(fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)))
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return r.Raw
}

// The example of the guide does what its comments say, in both eras, and what
// it sends is right.
func TestExampleOfTheGuide(t *testing.T) {
	for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
		t.Run(r.String(), func(t *testing.T) {
			srv, j := mock.New(readExample(t)), newJudge(r)
			s := open(t, srv.HTTP(""), session.Options{
				Revision: r, Tap: j.tap,
				Handlers: session.Handlers{Elicit: func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return raw(`{"action":"accept","content":{"city":"Bergen"}}`), nil
				}},
			})
			for _, c := range []struct{ tool, arguments, want string }{
				{"echo_city", `{"city":"Oslo \"north\""}`, `"text":"You said Oslo \"north\"."`},
				{"today", `{"city":"Oslo"}`, `"structuredContent":{"city":"Oslo","celsius":-3.5,"sky":"clear"}`},
				{"today", `{"city":"Oslo"}`, `"celsius":-4`},
				{"today", `{"city":"Oslo"}`, `"celsius":-4`},
				{"today", `{"city":"Atlantis"}`, `"isError":true`},
				{"today", `{"city":"Rome"}`, `"city":"Rome","celsius":12`},
				{"card", `{}`, `"type":"resource_link"`},
				{"forecast", `{"days":3}`, `Sun for 3 days.`},
				{"warn_me", `{}`, `storms in Bergen.`},
				{"open_station", `{}`, `The station is open.`},
			} {
				if got := call(t, s, c.tool, c.arguments); !contains(got, c.want) {
					t.Errorf("%s %s: %s; want %s", c.tool, c.arguments, got, c.want)
				}
			}
			for uri, want := range map[string]string{
				"weather://stations": "harbour,3", "weather://sun": `"mimeType":"image/png","blob":"iVBOR`,
				"weather://Bergen/history": `rained in Bergen`, "weather://stations/new": "A new station.",
			} {
				got, err := s.Call(within(t), spec.MethodResourcesRead, raw(fmt.Sprintf(`{"uri":%q}`, uri)))
				if err != nil || !contains(got.Raw, want) || !contains(got.Raw, `"uri":"`+uri+`"`) {
					t.Errorf("%s: %+v, %v; want %s", uri, got, err, want)
				}
			}
			got, err := s.Call(within(t), spec.MethodPromptsGet, raw(`{"name":"plan_trip","arguments":{"city":"Oslo","days":"3"}}`))
			if err != nil || !contains(got.Raw, "trip to Oslo, 3 days.") || !contains(got.Raw, `"role":"assistant"`) {
				t.Errorf("plan_trip: %+v, %v", got, err)
			}
			got, err = s.Call(within(t), spec.MethodComplete, raw(`{"ref":{"type":"ref/resource","uri":"weather://{city}/history"},"argument":{"name":"city","value":"T"}}`))
			if err != nil || !contains(got.Raw, `["Tromsø"]`) {
				t.Errorf("complete: %+v, %v", got, err)
			}
			j.report(t)
		})
	}
}

// read reads a script that is part of a test.
func read(text string) (mock.Script, error) {
	return mock.ReadScript("s.yaml", []byte(text), beside(guide))
}

// wrongScripts are scripts, with what is said of them.
func wrongScripts() []struct{ text, want, try string } {
	return []struct{ text, want, try string }{
		{"toolz: []", "s.yaml:1:1: unknown key \"toolz\" in the script", "did you mean tools?"},
		{"tools:\n  - name: a\n    descripton: b", "s.yaml:3:5: unknown key \"descripton\" in a tool", "did you mean description?"},
		{"tools:\n  - name: a\n    name: b", "s.yaml:3:5: key \"name\" stands twice", ""},
		{"tools: {a: b}", "s.yaml:1:8: tools must be a list", ""},
		{"tools: [a]", "s.yaml:1:9: a tool must be a mapping", ""},
		{"tools:\n  - description: b", "s.yaml:2:5: the tool needs a name", ""},
		{"tools:\n  - {name: a}\n  - {name: a}", "s.yaml:3:5: tool \"a\" stands twice", ""},
		{"tools:\n  - {name: a, inputSchema: missing.json}", "s.yaml:2:28: read missing.json", ""},
		{"tools:\n  - {name: a, inputSchema: sun.png}", "s.yaml:2:28: sun.png:", "JSON"},
		{"tools:\n  - {name: a, task: maybe}", "s.yaml:2:21: unknown word \"maybe\"", "optional"},
		{"tools:\n  - {name: a, answer: x, answers: [y]}", "two ways", ""},
		{"tools:\n  - {name: a, answers: []}", "answers is empty", ""},
		{"tools:\n  - {name: a, answer: {text: x, error: {code: 1}}}", "an error or a result", ""},
		{"tools:\n  - {name: a, answer: {text: x, result: {}}}", "the whole answer", ""},
		{"tools:\n  - {name: a, answer: {error: {message: x}}}", "needs a code", ""},
		{"tools:\n  - {name: a, answer: {delay: soon}}", "\"soon\" is not a length of time", "200ms"},
		{"tools:\n  - {name: a, answer: {structured: {x: \"{{y}}\"}}}", "placeholders", ""},
		{"tools:\n  - {name: a, answer: {ask: [{key: a}]}}", "exactly one of elicitation", ""},
		{"tools:\n  - {name: a, answer: {ask: [{roots: {}, sampling: {}}]}}", "exactly one of elicitation", ""},
		{"tools:\n  - {name: a, answer: {steps: [{log: {level: loud}}]}}", "unknown level", "warning"},
		{"tools:\n  - {name: a, answer: {content: [{image: {base64: x}}]}}", "not base64", ""},
		{"tools:\n  - {name: a, answer: {content: [{image: {base64: eA==}}]}}", "mimeType", ""},
		{"tools:\n  - {name: a, answer: {content: [{image: {}}]}}", "exactly one of file", ""},
		{"tools:\n  - {name: a, answer: {content: [{text: x, link: y}]}}", "exactly one of text", ""},
		{"tools:\n  - {name: a, answer: {content: [{link: y}]}}", "a link needs a name", ""},
		{"tools:\n  - {name: a, answer: {content: [{text: y, name: z}]}}", "name belongs to a link", ""},
		{"tools:\n  - {name: a, answer: {content: [{resource: {uri: x}}]}}", "one of text and blob", ""},
		{"server: {name: a}", "server needs a name and a version", ""},
		{"server: {name: a, version: 1.0}", "server needs a name and a version", ""},
		{"revisions: [2026-07-29]", "unknown revision", "2026-07-28"},
		{"revisions: []", "revisions is empty", ""},
		{"cache: {scope: shared}", "unknown word", "public"},
		{"page-size: 0", "a whole number, 1 or more", ""},
		{"stream: yes", "expected true or false", ""},
		{"meta: [a]", "meta must be a mapping", ""},
		{"meta: {a: .nan}", "JSON has no number", ""},
		{"meta: {<<: {a: b}}", "keys are not merged", ""},
		{"meta: {a: 1, a: 2}", "stands twice", ""},
		{"templates: [{uriTemplate: \"x://{?a}\"}]", "cannot be matched", "{name}"},
		{"prompts: [{name: a, arguments: [{title: b}]}]", "the argument needs a name", ""},
		{"prompts: [{name: a, answer: {messages: [{role: user}]}}]", "a message needs content", ""},
		{"prompts: [{name: a, complete: [x]}]", "complete must be a mapping", ""},
		{"faults: [carrier.wrong-di]", "s.yaml:1:10: there is no such fault", "did you mean"},
		{"faults: [{method: x}]", "needs do", "operators:"},
		{"faults: [{do: sett}]", "unknown word \"sett\"", "did you mean set?"},
		{"faults: [{do: set, pointer: /a}]", "the operator set needs value", ""},
		{"faults: [{do: set, pointer: a, value: 1}]", "not a JSON pointer", ""},
		{"faults: [{do: drop, pointer: /a}]", "unknown key \"pointer\" in the fault drop", ""},
		{"faults: [{do: lenient, check: header.name}]", "unknown check", "did you mean header.name-"},
		{"faults: [{do: error, code: x, message: y}]", "whole number", ""},
		{"faults: [{do: drop, when: [{is: present}]}]", "exactly one thing", ""},
		{"faults: [{do: drop, when: [{header: a, is: equal}]}]", "needs a value", ""},
		{"faults: [{do: drop, when: [{transport: pigeon}]}]", "http or stdio", ""},
		{"a: &a [*a]", "s.yaml:1:", ""},
		{"- a", "the script must be a mapping", ""},
		{"tools: [", "s.yaml:2:1:", ""},
		{"meta: &a {a: [" + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "]}", "s.yaml:1:", ""},
		{bomb(), "stands for more than", ""},
	}
}

func TestScriptsThatAreWrong(t *testing.T) {
	for _, c := range wrongScripts() {
		_, err := read(c.text)
		var fe *rule.FileError
		if !errors.As(err, &fe) {
			t.Errorf("%s\n%v, which is no FileError", c.text, err)
			continue
		}
		if !strings.Contains(fe.Error(), c.want) || !strings.Contains(fe.Try, c.try) || fe.Line == 0 {
			t.Errorf("%s\n%v; try %q; want %s; try %q", c.text, fe, fe.Try, c.want, c.try)
		}
	}
}

// bomb is a small file whose aliases stand for many values.
func bomb() string {
	var b strings.Builder
	b.WriteString("meta:\n  a0: &a0 [x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), ", "))
	}
	return b.String()
}

func TestEmptyScripts(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n\n", "{}"} {
		if s, err := read(text); err != nil || len(s.Tools) > 0 {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// JSON keeps what YAML says: every digit, and texts that look like something
// else.
func TestValuesOfScripts(t *testing.T) {
	s, err := read(`
meta: {a: 1.50, b: 12345678901234567890, c: "1", d: 2026-07-28, e: no, f: null, g: ~, h: 0x1F, i: [true, False], j: 1e3, k: &x {y: z}, l: *x, m: .5}
faults:
  - carrier.wrong-id
  - {do: set, method: tools/list, page: 2, turn: 3, every: true, pointer: /result/x, value: {a: [1]}, when: [{header: X-A}, {param: /a, value: 1}, {revision: 2026-07-28, is: from}]}
  - {do: header, header: {X-A: b, X-C: ""}}
  - {do: request, send: ping, id: 7}
  - {do: copy, from: /result, pointer: /error}
`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"a":1.50,"b":12345678901234567890,"c":"1","d":"2026-07-28","e":"no","f":null,"g":null,"h":31,"i":[true,false],"j":1e3,"k":{"y":"z"},"l":{"y":"z"},"m":0.5}`
	if string(s.Meta) != want {
		t.Errorf("got  %s\nwant %s", s.Meta, want)
	}
	got := fmt.Sprintf("%+v", s.Faults)
	place := mock.On(spec.MethodToolsList).OnPage(2).EveryTurn(3).When(mock.HasHeader("X-A"), mock.ParamIs("/a", "1"), mock.RevisionFrom(spec.Rev20260728))
	if w := fmt.Sprintf("%+v", []mock.Fault{
		place.Set("/result/x", `{"a":[1]}`),
		{Op: mock.OpHeader, Header: append(mock.Place{}.Header("X-A", "b").Header, mock.Place{}.Header("X-C", "").Header...)},
		mock.Place{}.Request("ping", "", "7"),
		mock.Place{}.Copy("/result", "/error"),
		mock.On(spec.MethodToolsCall).Set("/id", "77"), // an id comes last: it sees the whole script
	}); got != w {
		t.Errorf("got  %s\nwant %s", got, w)
	}
}

// The guide names every key that a script may have, and every operator.
func TestGuideNamesEveryKey(t *testing.T) {
	page, err := os.ReadFile("../docs/guides/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{
		"zzzzzzzzz: 1", "cache: {zzzzzzzzz: 1}", "state: {zzzzzzzzz: 1}", "tasks: {zzzzzzzzz: 1}", "tools: [{zzzzzzzzz: 1}]", "resources: [{zzzzzzzzz: 1}]",
		"templates: [{zzzzzzzzz: 1}]", "prompts: [{zzzzzzzzz: 1}]", "prompts: [{arguments: [{zzzzzzzzz: 1}]}]", "tools: [{answer: {zzzzzzzzz: 1}}]",
		"resources: [{answer: {zzzzzzzzz: 1}}]", "prompts: [{answer: {zzzzzzzzz: 1}}]", "prompts: [{answer: {messages: [{zzzzzzzzz: 1}]}}]",
		"tools: [{answer: {content: [{zzzzzzzzz: 1}]}}]", "tools: [{answer: {content: [{resource: {zzzzzzzzz: 1}}]}}]", "tools: [{answer: {content: [{image: {zzzzzzzzz: 1}}]}}]",
		"tools: [{answer: {ask: [{zzzzzzzzz: 1}]}}]", "tools: [{answer: {steps: [{zzzzzzzzz: 1}]}}]", "tools: [{answer: {steps: [{log: {zzzzzzzzz: 1}}]}}]",
		"tools: [{answer: {steps: [{progress: {zzzzzzzzz: 1}}]}}]", "tools: [{answer: {steps: [{notify: {zzzzzzzzz: 1}}]}}]", "tools: [{answer: {steps: [{change: {zzzzzzzzz: 1}}]}}]",
		"tools: [{answer: {error: {zzzzzzzzz: 1}}}]", "faults: [{do: drop, zzzzzzzzz: 1}]", "faults: [{do: drop, when: [{zzzzzzzzz: 1}]}]", "faults: [{zzzzzzzzz: 1}]",
	} {
		_, err := read(place)
		var fe *rule.FileError
		if !errors.As(err, &fe) {
			t.Errorf("%s: %v", place, err)
			continue
		}
		_, names, ok := strings.Cut(fe.Try, ": ")
		if !ok {
			t.Errorf("%s: the error names no keys: %v; try %s", place, fe, fe.Try)
		}
		for name := range strings.SplitSeq(names, ", ") {
			if !regexp.MustCompile("[`{]" + regexp.QuoteMeta(name) + "[`:]").Match(page) {
				t.Errorf("%s: the guide does not name %s", place, name)
			}
		}
	}
}

// A script can name every operator, and what a condition looks at but for
// what only tests inside the process can see.
func TestScriptsNameEveryOperator(t *testing.T) {
	_, err := read("faults: [{do: zzzzzzzzz}]")
	var fe *rule.FileError
	if !errors.As(err, &fe) {
		t.Fatal(err)
	}
	operators := strings.Split(strings.TrimPrefix(fe.Try, "one of "), ", ")
	_, err = read("faults: [{do: drop, when: [{is: present}]}]")
	if !errors.As(err, &fe) {
		t.Fatal(err)
	}
	subjects := strings.NewReplacer(",", "", " or ", " ").Replace(fe.Try)
	for file, known := range map[string][]string{"fault.go": operators, "condition.go": append(strings.Fields(subjects), string(mock.OfSpelling))} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^\t\w+ +(?:Op|Subject) += "([^"]+)"`).FindAllSubmatch(source, -1)
		if len(found) < 5 {
			t.Errorf("%s: only %d constants were found", file, len(found))
		}
		for _, m := range found {
			if !slices.Contains(known, string(m[1])) {
				t.Errorf("%s: a script cannot say %s", file, m[1])
			}
		}
	}
}

func FuzzReadScript(f *testing.F) {
	for _, c := range wrongScripts() {
		f.Add(c.text)
	}
	f.Add("faults: [carrier.wrong-id, {do: set, pointer: /a, value: [1, *a]}]")
	f.Add("tools: [{name: a, answer: {content: [x, {image: {base64: eA==}, mimeType: image/png}], structured: {a: 1.0}}}]")
	f.Add("tools: [{name: a, task: optional, answers: [{match: {a: 1}, ask: [{key: k, roots: {}}], steps: [{wait: 1ms, log: {data: x}}], text: a}, b], cycle: true}]")
	f.Add("resources: [{uri: 'a:b', answer: {blob: {text: x}}}]\ntemplates: [{uriTemplate: 'a:{b}', complete: {b: [c]}, answer: '{{b}}'}]\nprompts: [{name: a, arguments: [{name: b, required: true}], answer: '{{b}}'}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := mock.ReadScript("s.yaml", []byte(text), mock.ReadOptions{})
		if err != nil {
			var fe *rule.FileError
			if !errors.As(err, &fe) || fe.Message == "" {
				t.Errorf("%v is no FileError", err)
			}
			return
		}
		// What was read can be served, and every definition is JSON.
		for _, tool := range s.Tools {
			if !json.Valid(tool.Definition) {
				t.Errorf("no JSON: %s", tool.Definition)
			}
		}
		if err := mock.New(s).Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
