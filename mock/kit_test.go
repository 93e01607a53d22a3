// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// eachWay runs a test in both eras, over both carriers, with a fresh server and
// a client that is connected to it. What the server sends is validated.
func eachWay(t *testing.T, make func() *mock.Server, f func(t *testing.T, w way)) {
	t.Helper()
	for _, r := range []spec.Revision{spec.Rev20241105, spec.Rev20251125, spec.Rev20260728} {
		t.Run(r.String(), func(t *testing.T) {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				w := way{srv: make(), t: t, target: target, revision: r, judge: newJudge(r)}
				w.session = open(t, target(w.srv), session.Options{Revision: r, Tap: w.judge.tap})
				f(t, w)
				w.judge.report(t)
			})
		})
	}
}

type way struct {
	t        *testing.T
	srv      *mock.Server
	target   func(*mock.Server) transport.Target
	revision spec.Revision
	session  *session.Session
	judge    *judge
}

func (w way) modern() bool { return w.revision.Era() == spec.Modern }

// call makes a call that is answered by a result.
func (w way) call(method, params string) json.RawMessage {
	w.t.Helper()
	res, err := w.session.Call(within(w.t), method, raw(params))
	if err != nil {
		w.t.Errorf("%s %s: %v", method, params, err)
		return nil
	}
	return res.Raw
}

// refused makes a call that is answered by an error.
func (w way) refused(method, params string) *session.RPCError {
	w.t.Helper()
	res, err := w.session.Call(within(w.t), method, raw(params))
	rpc, ok := errors.AsType[*session.RPCError](err)
	if !ok {
		w.t.Errorf("%s %s: %v, %v, want a JSON-RPC error", method, params, res, err)
		return &session.RPCError{}
	}
	return rpc
}

// at compares the value at a pointer of a JSON text; empty is none.
func at(t *testing.T, text []byte, pointer, want string) {
	t.Helper()
	if got, _ := lookup(text, pointer); string(got) != want {
		t.Errorf("%s is %s, want %s, in %s", pointer, got, want, text)
	}
}

type addIn struct {
	A int `json:"a" jsonschema:"one number"`
	B int `json:"b,omitempty"`
}

type addOut struct {
	Sum int `json:"sum"`
}

func add(_ context.Context, in addIn) (addOut, error) {
	if in.A == 13 {
		return addOut{}, errors.New("no thirteens")
	}
	return addOut{in.A + in.B}, nil
}

// The items of the Java kit's mock, by their names there: each in one line, and
// right where that one is wrong.
func TestKit(t *testing.T) {
	t.Run("B/MockMcpServer", func(t *testing.T) {
		for want, s := range map[string]mock.Script{
			`{"name":"mock","version":"1.0.0"}`: {},
			`{"name":"till","version":"3.1"}`:   {ServerInfo: raw(`{"name":"till","version":"3.1"}`)},
		} {
			eachWay(t, func() *mock.Server { return mock.New(s) }, func(t *testing.T, w way) {
				if got := w.session.Negotiated().ServerInfo; string(got) != want {
					t.Errorf("serverInfo %s, want %s", got, want)
				}
			})
		}
	})

	t.Run("B/whenTool", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}). // registrations chain
							Tool("add", mock.Typed(add), mock.Describe("Adds two numbers.")).
							Tool("greet", mock.With(func(_ context.Context, args map[string]any) (any, error) {
					return fmt.Sprintf("Hello, %v.", args["who"]), nil
				})).
				Tool("raw", mock.Func(func(_ context.Context, c *mock.Call) (json.RawMessage, error) {
					return raw(`{"content":[{"type":"text","text":"` + c.Name + `"}]}`), nil
				}))
		}, func(t *testing.T, w way) {
			got := w.call(spec.MethodToolsCall, `{"name":"add","arguments":{"a":1,"b":2}}`)
			at(t, got, "/content/0/text", `"{\"sum\":3}"`)
			if w.revision >= spec.Rev20250618 {
				at(t, got, "/structuredContent", `{"sum":3}`)
			}
			at(t, w.call(spec.MethodToolsCall, `{"name":"greet","arguments":{"who":"the crew"}}`), "/content/0/text", `"Hello, the crew."`)
			at(t, w.call(spec.MethodToolsCall, `{"name":"raw"}`), "/content/0/text", `"raw"`)
		})
	})

	t.Run("B/whenToolReturns", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Tool("text", mock.Text("hello {{who}}")).
				Tool("value", mock.JSON(map[string]any{"n": 1})).
				Tool("number", mock.JSON(7)).
				Tool("word", mock.JSON("yes")).
				Tool("image", mock.Image([]byte{1, 2}, "image/png")).
				Tool("audio", mock.Audio([]byte{1, 2}, "audio/wav")).
				Tool("link", mock.Link("file:///a.txt", "a")).
				Tool("embed", mock.Embed("file:///a.txt", mock.Text("inside"))).
				Tool("several", mock.Contents(mock.Text("a"), mock.JSON(raw(`{"b":1}`)))).
				Tool("nothing", mock.Contents()).
				Tool("whole", mock.Result(raw(`{"content":[],"structuredContent":{"a":1}}`))).
				Tool("seq", mock.Sequence(mock.Text("a"), mock.ToolError("b"), mock.ProtocolError(-32000, "c"))).
				Tool("round", mock.Cycle(mock.Text("a"), mock.Text("b")))
		}, func(t *testing.T, w way) {
			call := func(name string) json.RawMessage {
				return w.call(spec.MethodToolsCall, `{"name":"`+name+`"}`)
			}
			at(t, call("text"), "/content", `[{"type":"text","text":"hello {{who}}"}]`)
			at(t, call("number"), "/content", `[{"type":"text","text":"7"}]`)
			at(t, call("word"), "/content", `[{"type":"text","text":"\"yes\""}]`)
			at(t, call("nothing"), "/content", `[]`)
			at(t, call("embed"), "/content", `[{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"inside"}}]`)
			at(t, call("image"), "/content", `[{"type":"image","data":"AQI=","mimeType":"image/png"}]`)
			if w.revision >= spec.Rev20250618 {
				at(t, call("value"), "/structuredContent", `{"n":1}`)
				at(t, call("value"), "/content", `[{"type":"text","text":"{\"n\":1}"}]`)
				at(t, call("number"), "/structuredContent", ``)
				at(t, call("audio"), "/content", `[{"type":"audio","data":"AQI=","mimeType":"audio/wav"}]`)
				at(t, call("link"), "/content", `[{"type":"resource_link","uri":"file:///a.txt","name":"a"}]`)
				at(t, call("several"), "/content/1/text", `"{\"b\":1}"`)
				at(t, call("whole"), "/structuredContent", `{"a":1}`)
			}
			at(t, call("seq"), "/content/0/text", `"a"`)
			at(t, call("seq"), "/isError", `true`)
			for range 2 { // the last one stays
				if e := w.refused(spec.MethodToolsCall, `{"name":"seq"}`); e.Code != -32000 || e.Message != "c" {
					t.Errorf("%v", e)
				}
			}
			for _, want := range []string{`"a"`, `"b"`, `"a"`} {
				at(t, call("round"), "/content/0/text", want)
			}
		})
	})

	t.Run("B/whenToolThrows", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Tool("broken", mock.ToolError("no such file")).
				Tool("bad", mock.ProtocolError(-32000, "nope", map[string]any{"retry": true})).
				Tool("fails", mock.Typed(add)).
				Tool("wraps", mock.With(func(context.Context, map[string]any) (any, error) {
					return nil, fmt.Errorf("while adding: %w", mock.ProtocolError(-32001, "full", "slowly"))
				}))
		}, func(t *testing.T, w way) {
			got := w.call(spec.MethodToolsCall, `{"name":"broken"}`)
			at(t, got, "/isError", `true`)
			at(t, got, "/content/0/text", `"no such file"`)
			if e := w.refused(spec.MethodToolsCall, `{"name":"bad"}`); e.Code != -32000 || e.Message != "nope" || string(e.Data) != `{"retry":true}` {
				t.Errorf("%+v", e)
			}
			got = w.call(spec.MethodToolsCall, `{"name":"fails","arguments":{"a":13}}`)
			at(t, got, "/isError", `true`)
			at(t, got, "/content/0/text", `"no thirteens"`)
			if e := w.refused(spec.MethodToolsCall, `{"name":"wraps"}`); e.Code != -32001 || e.Message != "full" || string(e.Data) != `"slowly"` {
				t.Errorf("%+v", e)
			}
		})
	})

	t.Run("B/isError is set, and only where it is meant", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).Tool("good", mock.Text("")).Tool("bad", mock.ToolError("")).
				Tool("either", mock.With(func(_ context.Context, args map[string]any) (any, error) {
					if args["fail"] == true {
						return mock.ToolError("failed"), nil
					}
					return "fine", nil
				}))
		}, func(t *testing.T, w way) {
			at(t, w.call(spec.MethodToolsCall, `{"name":"good"}`), "/isError", ``)
			at(t, w.call(spec.MethodToolsCall, `{"name":"bad"}`), "/isError", `true`)
			at(t, w.call(spec.MethodToolsCall, `{"name":"either","arguments":{"fail":false}}`), "/isError", ``)
			at(t, w.call(spec.MethodToolsCall, `{"name":"either","arguments":{"fail":true}}`), "/isError", `true`)
		})
	})

	t.Run("B/ill-typed content is refused at registration", func(t *testing.T) {
		defer func() {
			if e, ok := recover().(*mock.RegistrationError); !ok || e.What != `tool "t"` {
				t.Errorf("%v", e)
			}
		}()
		mock.New(mock.Script{}).Tool("t", mock.Result(raw(`{"content":[{"type":"text","text":{"a":1}}]}`)))
	})

	t.Run("B/a function reaches its call", func(t *testing.T) {
		srv := mock.New(mock.Script{Open: true}).Tool("ask", mock.With(func(ctx context.Context, _ map[string]any) (any, error) {
			c := mock.CallOf(ctx)
			got, err := c.Ask(ctx, mock.Ask{Key: "roots", Method: spec.MethodRootsList})
			if err != nil {
				return nil, err
			}
			c.Report(mock.Progress{Progress: 1})
			c.Log(mock.Log{Level: "info", Data: raw(`"asked"`)})
			return got["roots"], nil
		}))
		if mock.CallOf(t.Context()) != nil {
			t.Error("a call out of nowhere")
		}
		roots := func(context.Context, json.RawMessage) (json.RawMessage, error) { return raw(`{"roots":[]}`), nil }
		for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
			eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
				h := &heard{}
				s := open(t, target(srv), session.Options{Revision: r, LogLevel: "info", Handlers: session.Handlers{Roots: roots}, OnNotification: h.add})
				res, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"ask","_meta":{"progressToken":"p"}}`))
				if err != nil {
					t.Fatal(err)
				}
				at(t, res.Raw, "/structuredContent", `{"roots":[]}`)
				h.until(t, spec.NotificationProgress)
				h.until(t, spec.NotificationMessage)
			})
		}
	})

	t.Run("B/whenResource", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Resource("file:///a.txt", mock.Text("text"), mock.Describe("A file.")).
				Resource("file:///a.md", mock.Text("# a"), mock.MIME("text/markdown")).
				Resource("file:///a.bin", mock.Blob([]byte{1, 2}, "application/zip")).
				Resource("file:///a.json", mock.JSON(map[string]int{"a": 1})).
				Resource("file:///seq", mock.Sequence(mock.Text("a"), mock.Blob([]byte{1}, "image/png"))).
				Resource("file:///made", mock.With(func(ctx context.Context, _ map[string]any) (any, error) {
					return mock.CallOf(ctx).Name, nil
				})).
				Resource("file:///gone", mock.ProtocolError(-32000, "gone")).
				Template("db://{table}/{row}", mock.Text("{{row}} of {{table}} at {{uri}}"), mock.Completes("table", "men", "mice"))
		}, func(t *testing.T, w way) {
			read := func(uri string) json.RawMessage {
				got, _ := lookup(w.call(spec.MethodResourcesRead, `{"uri":"`+uri+`"}`), "/contents")
				return json.RawMessage(got)
			}
			for uri, want := range map[string]string{
				"file:///a.txt":  `"mimeType":"text/plain","text":"text"`,
				"file:///a.md":   `"mimeType":"text/markdown","text":"# a"`,
				"file:///a.bin":  `"mimeType":"application/zip","blob":"AQI="`,
				"file:///a.json": `"mimeType":"application/json","text":"{\"a\":1}"`,
				"file:///seq":    `"mimeType":"text/plain","text":"a"`,
				"file:///made":   `"mimeType":"text/plain","text":"file:///made"`,
				"db://men/7":     `"mimeType":"text/plain","text":"7 of men at db://men/7"`,
			} {
				if got := read(uri); string(got) != `[{"uri":"`+uri+`",`+want+`}]` {
					t.Errorf("%s: %s", uri, got)
				}
			}
			at(t, read("file:///seq"), "/0/mimeType", `"image/png"`)
			if e := w.refused(spec.MethodResourcesRead, `{"uri":"file:///gone"}`); e.Code != -32000 {
				t.Error(e)
			}
			l, err := items(t, w.session, spec.MethodResourcesList)
			if err != nil || string(l[0]) != `{"uri":"file:///a.txt","name":"a.txt","description":"A file.","mimeType":"text/plain"}` {
				t.Errorf("%v, %s", err, l[0])
			}
			at(t, w.call(spec.MethodComplete, `{"ref":{"type":"ref/resource","uri":"db://{table}/{row}"},"argument":{"name":"table","value":"mi"}}`), "/completion/values", `["mice"]`)
		})
	})

	t.Run("B/whenPrompt", func(t *testing.T) {
		whole := `{"description":"as is","messages":[{"role":"assistant","content":{"type":"text","text":"{{who}}"}}]}`
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Prompt("p", mock.UserMessage("Greet {{who}}."), mock.Argument("who", "Whom."), mock.OptionalArgument("how", "")).
				Prompt("two", mock.Messages(mock.UserMessage("a"), mock.AssistantMessage("b"), mock.UserContent(mock.Image([]byte{1}, "image/png")))).
				Prompt("whole", mock.Result(raw(whole))).
				Prompt("made", mock.With(func(_ context.Context, args map[string]any) (any, error) {
					return fmt.Sprint("for ", args["who"]), nil
				}), mock.Argument("who", ""))
		}, func(t *testing.T, w way) {
			get := func(params string) json.RawMessage { return w.call(spec.MethodPromptsGet, params) }
			at(t, get(`{"name":"p","arguments":{"who":"me"}}`), "/messages", `[{"role":"user","content":{"type":"text","text":"Greet me."}}]`)
			at(t, get(`{"name":"two"}`), "/messages/1", `{"role":"assistant","content":{"type":"text","text":"b"}}`)
			at(t, get(`{"name":"made","arguments":{"who":"x"}}`), "/messages/0/content/text", `"for x"`)
			got := get(`{"name":"whole"}`)
			at(t, got, "/description", `"as is"`)
			at(t, got, "/messages/0/content/text", `"{{who}}"`)
			if e := w.refused(spec.MethodPromptsGet, `{"name":"p"}`); e.Code != spec.CodeInvalidParams {
				t.Error(e)
			}
			l, err := items(t, w.session, spec.MethodPromptsList)
			if err != nil || !strings.Contains(string(l[0]), `"arguments":[{"name":"who","description":"Whom.","required":true},{"name":"how","required":false}]`) {
				t.Errorf("%v, %s", err, l[0])
			}
		})
	})

	t.Run("B/unknown names have the code of their revision", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).Tool("t", mock.Text("")).Prompt("p", mock.UserMessage("")).Resource("a://b", mock.Text(""))
		}, func(t *testing.T, w way) {
			notFound := int64(spec.CodeResourceNotFound)
			if w.modern() {
				notFound = spec.CodeInvalidParams
			}
			for _, tc := range []struct {
				method, params string
				code           int64
			}{
				{spec.MethodToolsCall, `{"name":"x"}`, spec.CodeInvalidParams},
				{spec.MethodToolsCall, `{}`, spec.CodeInvalidParams},
				{spec.MethodPromptsGet, `{"name":"x"}`, spec.CodeInvalidParams},
				{spec.MethodPromptsGet, `{}`, spec.CodeInvalidParams},
				{spec.MethodResourcesRead, `{"uri":"a://x"}`, notFound},
				{spec.MethodResourcesRead, `{}`, spec.CodeInvalidParams},
				{"no/such/method", `{}`, spec.CodeMethodNotFound},
			} {
				e := w.refused(tc.method, tc.params)
				if e.Code != tc.code {
					t.Errorf("%s %s: %v, want %d", tc.method, tc.params, e, tc.code)
				}
				if tc.code == spec.CodeMethodNotFound && w.modern() && e.Status != 0 && e.Status != http.StatusNotFound {
					t.Errorf("%s: status %d", tc.method, e.Status)
				}
			}
		})
	})

	t.Run("B/bad arguments", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Tool("add", mock.Typed(add)).
				Tool("map", mock.Typed(func(_ context.Context, in map[string]int) (string, error) { return "called", nil })).
				Tool("given", mock.Text("called"), mock.Input(`{"type":"object","required":["x"]}`))
		}, func(t *testing.T, w way) {
			for _, params := range []string{
				`{"name":"add","arguments":{"a":"1"}}`, `{"name":"add","arguments":{}}`, `{"name":"add","arguments":{"a":1,"c":2}}`,
				`{"name":"map","arguments":{"a":"x"}}`, `{"name":"given","arguments":{}}`,
			} {
				if w.revision < spec.Rev20251125 {
					if e := w.refused(spec.MethodToolsCall, params); e.Code != spec.CodeInvalidParams {
						t.Error(e)
					}
					continue
				}
				at(t, w.call(spec.MethodToolsCall, params), "/isError", "true")
			}
			at(t, w.call(spec.MethodToolsCall, `{"name":"map","arguments":{"a":1}}`), "/content/0/text", `"called"`)
		})
	})

	t.Run("B/handler exception", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Tool("panics", mock.With(func(context.Context, map[string]any) (any, error) { panic("hunter2 at /etc/passwd") })).
				Tool("wrong", mock.With(func(context.Context, map[string]any) (any, error) { return make(chan int), nil })).
				Resource("a://b", mock.Func(func(context.Context, *mock.Call) (json.RawMessage, error) { panic(errors.New("hunter2")) })).
				Prompt("ends", mock.With(func(context.Context, map[string]any) (any, error) {
					failNow()
					return nil, nil
				}))
		}, func(t *testing.T, w way) {
			for _, x := range []struct{ method, params string }{
				{spec.MethodToolsCall, `{"name":"panics"}`}, {spec.MethodToolsCall, `{"name":"wrong"}`},
				{spec.MethodResourcesRead, `{"uri":"a://b"}`}, {spec.MethodPromptsGet, `{"name":"ends"}`},
			} {
				if e := w.refused(x.method, x.params); e.Code != spec.CodeInternalError || e.Message != "Internal error" || e.Data != nil {
					t.Errorf("%s: %+v", x.method, e)
				}
			}
			ps := w.srv.Panics()
			if len(ps) != 4 {
				t.Fatalf("%d panics are kept", len(ps))
			}
			if ps[0].Value != "hunter2 at /etc/passwd" || ps[0].Name != "panics" || ps[0].Method != spec.MethodToolsCall || !contains(ps[0].Stack, "kit_test.go") {
				t.Errorf("%+v", ps[0])
			}
			if e, ok := ps[1].Value.(*mock.RegistrationError); !ok || !strings.Contains(e.Error(), "no JSON") {
				t.Errorf("%v", ps[1].Value)
			}
			if ps[3].Value != nil || ps[3].Name != "ends" || !contains(ps[3].Stack, "failNow") {
				t.Errorf("%v\n%s", ps[3].Value, ps[3].Stack)
			}
		})
	})

	t.Run("B/handler exception: one that closes the connection", func(t *testing.T) {
		srv := mock.New(mock.Script{}).Tool("t", mock.Func(func(context.Context, *mock.Call) (json.RawMessage, error) { panic(http.ErrAbortHandler) }))
		defer func() {
			if v := recover(); v != http.ErrAbortHandler || len(srv.Panics()) != 0 {
				t.Errorf("%v %v", v, srv.Panics())
			}
		}()
		post(srv, modern(spec.MethodToolsCall, `"name":"t"`), nil)
	})

	t.Run("B/tools-list has real definitions", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).
				Tool("plain", mock.Text(""), mock.Describe("Not this one."), mock.Describe("Plain.")).
				Tool("add", mock.Typed(add), mock.Titled("Sum"), mock.Describe("Adds."), mock.Annotate(map[string]any{"readOnlyHint": true})).
				Tool("own", mock.JSON(map[string]int{"x": 1}), mock.Input(map[string]any{"type": "object"}), mock.Output(`{"type":"object","required":["x"]}`), mock.Member("icons", []any{}))
		}, func(t *testing.T, w way) {
			l, err := items(t, w.session, spec.MethodToolsList)
			if err != nil || len(l) != 3 {
				t.Fatal(err, l)
			}
			output := [2]string{`,"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"],"additionalProperties":false}`, `,"outputSchema":{"type":"object","required":["x"]}`}
			if w.revision < spec.Rev20250618 {
				output = [2]string{}
			}
			for i, want := range []string{
				`{"name":"plain","description":"Plain.","inputSchema":{"type":"object"}}`,
				`{"name":"add","title":"Sum","description":"Adds.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"a":{"type":"integer","description":"one number"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}` + output[0] + `}`,
				`{"name":"own","icons":[],"inputSchema":{"type":"object"}` + output[1] + `}`,
			} {
				if string(l[i]) != want {
					t.Errorf("%s\nwant %s", l[i], want)
				}
			}
		})
	})

	t.Run("B/registering again replaces", func(t *testing.T) {
		eachWay(t, func() *mock.Server {
			return mock.New(mock.Script{}).Tool("t", mock.Sequence(mock.Text("1"), mock.Text("2")))
		}, func(t *testing.T, w way) {
			at(t, w.call(spec.MethodToolsCall, `{"name":"t"}`), "/content/0/text", `"1"`)
			w.srv.Tool("t", mock.Sequence(mock.Text("first"), mock.Text("second")))
			at(t, w.call(spec.MethodToolsCall, `{"name":"t"}`), "/content/0/text", `"first"`)
			if l, err := items(t, w.session, spec.MethodToolsList); err != nil || len(l) != 1 {
				t.Errorf("%v %v", l, err)
			}
		})
	})

	t.Run("B/a call that asks, in a sequence", func(t *testing.T) {
		srv := mock.New(mock.Script{}).Tool("t", mock.Sequence(
			mock.Answer{
				Ask:    []mock.Ask{{Key: "who", Method: spec.MethodElicit, Params: raw(`{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`)}},
				Result: raw(`{"content":[{"type":"text","text":"{{input.who.content.name}}"}]}`),
			},
			mock.Text("second"),
		))
		answer := func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(`{"action":"accept","content":{"name":"me"}}`), nil
		}
		want := []string{`"me"`, `"second"`, `"second"`, `"second"`}
		for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
			s := open(t, srv.Stdio(""), session.Options{Revision: r, Handlers: session.Handlers{Elicit: answer}})
			for range 2 {
				res, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"t"}`))
				if err != nil {
					t.Fatal(err)
				}
				at(t, res.Raw, "/content/0/text", want[0])
				want = want[1:]
			}
		}
	})

	t.Run("B/whatever travels is a transport target", func(t *testing.T) {
		for _, kind := range []transport.Kind{mock.New(mock.Script{}).HTTP("").Kind(), mock.New(mock.Script{}).Stdio("").Kind()} {
			if kind != transport.StreamableHTTP && kind != transport.Stdio {
				t.Error(kind)
			}
		}
	})

	t.Run("B/initialize, ping and the lists", func(t *testing.T) {
		srv := mock.New(mock.Script{}).Tool("t", mock.Text("")).Resource("a://b", mock.Text("")).Prompt("p", mock.UserMessage("")).Template("a://{x}/c", mock.Text(""))
		for _, r := range spec.All() {
			methods := []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList, spec.MethodPromptsList, spec.MethodPing}
			if r.Era() == spec.Modern {
				methods = append(methods[:4], spec.MethodDiscover)
			}
			for _, m := range methods {
				got, ok := srv.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+m+`"}`), r)
				if !ok || code(t, got) != 0 {
					t.Errorf("%s %s: %s", r, m, got)
				}
			}
		}
	})
}

// failNow ends a goroutine as FailNow of the package testing does.
func failNow() { runtime.Goexit() }

// The holes of the Java kit's test kit, which are not here.
func TestKitCapabilities(t *testing.T) {
	changed := []string{spec.NotificationToolsListChanged, spec.NotificationResourcesListChanged, spec.NotificationPromptsListChanged}
	register := func(s *mock.Server) {
		s.Tool("late", mock.Text("hi")).Resource("a://late", mock.Text("hi")).Prompt("late", mock.UserMessage("hi"))
	}
	calls := func(t *testing.T, s *session.Session) {
		t.Helper()
		for method, params := range map[string]string{
			spec.MethodToolsCall: `{"name":"late"}`, spec.MethodResourcesRead: `{"uri":"a://late"}`, spec.MethodPromptsGet: `{"name":"late"}`,
		} {
			if _, err := s.Call(within(t), method, raw(params)); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
	}

	t.Run("C/capabilities fixed before the test body", func(t *testing.T) {
		for _, r := range []spec.Revision{spec.Rev20241105, spec.Rev20251125, spec.Rev20260728} {
			t.Run(r.String(), func(t *testing.T) {
				eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
					srv, h, j := mock.New(mock.Script{Open: true}), &heard{}, newJudge(r)
					s := open(t, target(srv), session.Options{Revision: r, Listen: true, OnNotification: h.add, Tap: j.tap})
					listen(t, srv, s, r, h)
					for _, kind := range []string{"tools", "resources", "prompts"} {
						at(t, s.Negotiated().Capabilities, "/"+kind+"/listChanged", "true")
					}
					register(srv)
					calls(t, s)
					for _, m := range changed {
						h.until(t, m)
					}
					j.report(t)
				})
			})
		}
	})

	t.Run("C/a server never says what it did not declare", func(t *testing.T) {
		for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
			t.Run(r.String(), func(t *testing.T) {
				eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
					srv, h := mock.New(mock.Script{}).Tool("early", mock.Text("")), &heard{}
					s := open(t, target(srv), session.Options{Revision: r, Listen: true, OnNotification: h.add})
					if got := string(s.Negotiated().Capabilities); got != `{"tools":{"listChanged":true}}` {
						t.Errorf("capabilities %s", got)
					}
					listen(t, srv, s, r, h)
					register(srv)
					calls(t, s) // all the same it is answered
					srv.Tool("last", mock.Text(""))
					h.until(t, spec.NotificationToolsListChanged)
					h.mu.Lock()
					defer h.mu.Unlock()
					for _, m := range changed[1:] {
						if slices.Contains(h.got, m) {
							t.Errorf("%s was not declared to this client", m)
						}
					}
					later := open(t, target(srv), session.Options{Revision: r})
					if got := string(later.Negotiated().Capabilities); got != `{"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}` &&
						got != `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}` {
						t.Errorf("capabilities of a later client %s", got)
					}
				})
			})
		}
	})

	t.Run("C/a listener that does not read holds nobody up for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := mock.New(mock.Script{Open: true})
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			ctx, end := context.WithCancel(t.Context())
			var serving sync.WaitGroup
			serving.Go(func() { _ = srv.ServeStdio(ctx, in, out) })
			say := func(s string) {
				if _, err := io.WriteString(toServer, s+"\n"); err != nil {
					t.Error(err)
				}
			}
			say(initialize("2025-11-25"))
			if _, err := bufio.NewReader(fromServer).ReadBytes('\n'); err != nil {
				t.Error(err)
			}
			say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			synctest.Wait()
			begun := time.Now()
			srv.Tool("a", mock.Text("")).Tool("b", mock.Text(""))
			if took := time.Since(begun); took == 0 || took > 10*time.Second {
				t.Errorf("registering took %v", took)
			}
			end()
			_ = fromServer.Close()
			serving.Wait()
		})
	})

	t.Run("C/a script keeps its own capabilities", func(t *testing.T) {
		srv := mock.New(mock.Script{Capabilities: raw(`{"tools":{}}`)}).Tool("t", mock.Text(""))
		got, _ := srv.Exchange([]byte(initialize("2025-11-25")))
		at(t, got, "/result/capabilities", `{"tools":{}}`)
	})

	t.Run("C/completions are declared with what completes", func(t *testing.T) {
		srv := mock.New(mock.Script{}).Prompt("p", mock.UserMessage(""), mock.Argument("a", ""), mock.Completes("a", "x"))
		got, _ := srv.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}`), spec.Latest)
		at(t, got, "/result/completion/values", `["x"]`)
	})

	t.Run("C/fresh servers share nothing", func(t *testing.T) {
		a, b := mock.New(mock.Script{}).Tool("t", mock.Text("")), mock.New(mock.Script{})
		if _, ok := a.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), spec.Latest); !ok || len(b.Calls()) != 0 || len(a.Calls()) != 1 {
			t.Errorf("%v %v", a.Calls(), b.Calls())
		}
	})
}

// listen makes a client hear what it did not ask for, and waits until it does.
func listen(t *testing.T, srv *mock.Server, s *session.Session, r spec.Revision, h *heard) {
	t.Helper()
	if r.Era() == spec.Modern {
		sub, err := s.Subscribe(within(t), raw(`{"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true}`))
		if err != nil {
			t.Fatal(err)
		}
		var reading sync.WaitGroup
		ctx, stop := context.WithCancel(within(t))
		reading.Go(func() {
			for {
				f, err := sub.Next(ctx)
				if err != nil {
					return
				}
				h.add(f)
			}
		})
		t.Cleanup(func() {
			stop()
			reading.Wait()
			_ = sub.Close(within(t)) // the session's own Close tells
		})
		return
	}
	told(t, srv, spec.NotificationMessage, `{"level":"info","data":"are you there?"}`)
}

// items are those of a list.
func items(t *testing.T, s *session.Session, method string) ([]json.RawMessage, error) {
	l, err := s.List(within(t), method)
	if err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for _, p := range l.Pages {
		for _, m := range []string{"/tools", "/resources", "/prompts"} {
			v, err := lookup(p.Raw, m)
			if err != nil {
				continue
			}
			es, err := jsonx.Elements(v, jsonx.Strict)
			if err != nil {
				return nil, err
			}
			for _, e := range es {
				out = append(out, json.RawMessage(e))
			}
		}
	}
	return out, nil
}
