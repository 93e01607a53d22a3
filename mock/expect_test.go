// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares texts by name with a file, or writes it.
func golden(t *testing.T, path string, got []txtar.File, prose string) {
	t.Helper()
	text := txtar.Format(&txtar.Archive{Comment: []byte(prose), Files: got})
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(text, want) {
		return
	}
	for i, f := range txtar.Parse(want).Files {
		if i >= len(got) || got[i].Name != f.Name || !bytes.Equal(got[i].Data, f.Data) {
			t.Errorf("%s differs at %s:\n%s", path, f.Name, text)
			return
		}
	}
	t.Errorf("%s differs:\n%s", path, text)
}

// tooled is a server on which everything can be called.
func tooled() *mock.Server {
	return mock.New(mock.Script{Lax: true}).
		Tool("add", mock.Text("")).Tool("mul", mock.Text("")).
		Resource("file:///a.txt", mock.Text("")).Prompt("p", mock.UserMessage(""))
}

// calls makes calls of tools, written as "add {...}", or of a method.
func calls(srv *mock.Server, all ...string) {
	for _, c := range all {
		name, arguments, _ := strings.Cut(c, " ")
		params := fmt.Sprintf(`{"name":%q`, name)
		if arguments != "" {
			params += `,"arguments":` + arguments
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}}`
		if strings.Contains(name, "/") {
			body = `{"jsonrpc":"2.0","id":1,"method":"` + name + `"}`
			if arguments != "" {
				body = `{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":` + arguments + `}`
			}
			if strings.HasPrefix(name, "notifications/") {
				body = strings.Replace(body, `"id":1,`, "", 1)
			}
		}
		srv.Exchange([]byte(body))
	}
}

// unmet are cases of expectations and calls, and which of them hold.
var unmet = []struct {
	name   string
	expect func(*mock.Server)
	calls  []string
	held   bool
}{
	{"nothing is expected", func(*mock.Server) {}, []string{"add"}, true},
	{"once, and it came", func(s *mock.Server) { s.Expect("tools/call").Named("add") }, []string{"add"}, true},
	{"never came at all", func(s *mock.Server) { s.Expect("tools/call").Named("add") }, nil, false},
	{"another name came", func(s *mock.Server) { s.Expect("tools/call").Named("add") }, []string{"mul", "ad"}, false},
	{"too few", func(s *mock.Server) { s.Expect("tools/call").Named("add").Times(2) }, []string{"add"}, false},
	{"too many", func(s *mock.Server) { s.Expect("tools/call").Named("add") }, []string{"add", "mul", "add"}, false},
	{"never, and it came", func(s *mock.Server) { s.Expect("tools/call").Named("add").Never() }, []string{"mul", "add"}, false},
	{"never, and another came", func(s *mock.Server) { s.Expect("tools/call").Named("add").Never() }, []string{"mul"}, true},
	{"at least", func(s *mock.Server) { s.Expect("tools/call").AtLeast(2) }, []string{"add", "mul", "add"}, true},
	{"at least, and fewer", func(s *mock.Server) { s.Expect("tools/call").AtLeast(3) }, []string{"add", "mul"}, false},
	{"at most", func(s *mock.Server) { s.Expect("tools/call").AtMost(1) }, nil, true},
	{"at most, and more", func(s *mock.Server) { s.Expect("tools/call").AtMost(1) }, []string{"add", "mul"}, false},
	{"a range", func(s *mock.Server) { s.Expect("tools/call").AtLeast(2).AtMost(3) }, []string{"add"}, false},
	{"arguments by value", func(s *mock.Server) {
		s.Expect("tools/call").Named("add").With(map[string]any{"a": 1, "b": []any{2.5, "x"}})
	}, []string{`add {"b":[25e-1,"\u0078"],"a":1.0}`}, true},
	{"other arguments", func(s *mock.Server) { s.Expect("tools/call").Named("add").With(map[string]any{"a": 1}) },
		[]string{`add {"a":2}`, `mul {"a":1}`}, false},
	{"an argument too few", func(s *mock.Server) { s.Expect("tools/call").With(map[string]any{"a": 1, "b": 2}) }, []string{`add {"a":1}`}, false},
	{"an argument too many", func(s *mock.Server) { s.Expect("tools/call").With(map[string]any{"a": 1}) }, []string{`add {"a":1,"b":{"c":2}}`}, false},
	{"no arguments are an empty object", func(s *mock.Server) { s.Expect("tools/call").With(map[string]any{}) }, []string{"add"}, true},
	{"numbers beyond a float64", func(s *mock.Server) { s.Expect("tools/call").With(json.RawMessage(`{"a":9007199254740993}`)) },
		[]string{`add {"a":9007199254740992}`}, false},
	{"deep in the arguments", func(s *mock.Server) { s.Expect("tools/call").With(map[string]any{"a": []int{1, 2}}) }, []string{`add {"a":[1,3]}`}, false},
	{"a value at a pointer", func(s *mock.Server) { s.Expect("tools/call").Having("/a/b", 1) }, []string{`add {"a":{"b":1,"c":2},"d":3}`}, true},
	{"another value at a pointer", func(s *mock.Server) { s.Expect("tools/call").Having("/a/b", 1) }, []string{`add {"a":{"b":"1"}}`}, false},
	{"nothing at a pointer", func(s *mock.Server) { s.Expect("tools/call").Having("/a", nil) }, []string{`add {"b":1}`}, false},
	{"a function says no", func(s *mock.Server) {
		s.Expect("tools/call").Named("add").Where("a first call", func(c mock.Seen) bool { return c.Number == 1 })
	}, []string{"mul", "add"}, false},
	{"several conditions", func(s *mock.Server) {
		s.Expect("tools/call").Named("add").Having("/a", 1).Having("/b", 2).Times(2)
	}, []string{`mul {"a":1}`, `add {"a":1,"b":2}`, `add {"a":1,"b":3}`}, false},
	{"the narrow one first", func(s *mock.Server) {
		s.Expect("tools/call").Named("add").With(map[string]any{"a": 1})
		s.Expect("tools/call").Named("add").AtLeast(1)
	}, []string{`add {"a":2}`, `add {"a":1}`}, true},
	{"two of a kind", func(s *mock.Server) {
		s.InOrder(s.Expect("tools/call").Named("add"), s.Expect("tools/call").Named("mul"), s.Expect("tools/call").Named("add"))
	}, []string{"add", "mul", "add"}, true},
	{"out of order", func(s *mock.Server) {
		s.InOrder(s.Expect("tools/call").Named("add"), s.Expect("tools/call").Named("mul"))
	}, []string{"mul", "add"}, false},
	{"out of order, between", func(s *mock.Server) {
		s.InOrder(s.Expect("tools/call").Named("add").Times(2), s.Expect("resources/read"))
	}, []string{"add", `resources/read {"uri":"file:///a.txt"}`, "add"}, false},
	{"in order, one is missing", func(s *mock.Server) {
		s.InOrder(s.Expect("tools/call").Named("add"), s.Expect("tools/call").Named("mul"))
	}, []string{"mul"}, false},
	{"other calls", func(s *mock.Server) {
		s.Expect("tools/call").Named("add")
		s.NoOtherCalls()
	}, []string{"tools/list", "add", `mul {"a":1}`, `resources/read {"uri":"file:///a.txt"}`, `prompts/get {"name":"p"}`}, false},
	{"no other calls", func(s *mock.Server) {
		s.Expect("tools/call").Named("add")
		s.NoOtherCalls()
	}, []string{"tools/list", "add", "notifications/initialized"}, true},
	{"no calls at all", func(s *mock.Server) { s.NoOtherCalls() }, []string{"rm {}"}, false},
	{"very many other calls", func(s *mock.Server) { s.NoOtherCalls() }, strings.Fields(strings.Repeat("add ", 25)), false},
	{"very many calls too many", func(s *mock.Server) { s.Expect("tools/call").Never() }, strings.Fields(strings.Repeat("add ", 25)), false},
	{"a notification", func(s *mock.Server) {
		s.Expect("notifications/cancelled").Where("about 7", func(c mock.Seen) bool { return strings.Contains(string(c.Params), "7") })
	}, []string{`notifications/cancelled {"requestId":8}`}, false},
	{"a call that was refused came too", func(s *mock.Server) { s.Expect("tools/call").Named("gone") }, []string{"gone"}, true},
	{"secrets", func(s *mock.Server) {
		s.Expect("tools/call").With(map[string]any{"password": "hunter2", "n": 1})
		s.Expect("tools/call").Having("/api_key", "hunter3")
	}, []string{`add {"password":"hunter4","n":1}`, `add {"n":[{"token":"hunter5"}],"k":"sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA"}`}, false},
	{"hostile text", func(s *mock.Server) { s.Expect("tools/call").Named("add") },
		[]string{`tools/call {"name":"add\u001b[2J\n::error::","arguments":{"\u202e":"\u001b]0;x\u0007"}}`}, false},
	{"long text", func(s *mock.Server) { s.Expect("tools/call").Having("/a", "b") }, []string{`add {"a":"` + strings.Repeat("x", 1000) + `"}`}, false},
}

func TestUnmet(t *testing.T) {
	var said []txtar.File
	for _, tc := range unmet {
		t.Run(tc.name, func(t *testing.T) {
			srv := tooled()
			tc.expect(srv)
			calls(srv, tc.calls...)
			got := srv.Unmet()
			if held := len(got) == 0; held != tc.held {
				t.Errorf("%q", got)
			}
			if !tc.held {
				said = append(said, txtar.File{Name: tc.name, Data: []byte(strings.Join(got, "\n") + "\n")})
			}
			if strings.Contains(strings.Join(got, ""), "hunter") {
				t.Errorf("a secret: %q", got)
			}
		})
	}
	golden(t, "testdata/unmet.golden", said, "What Unmet says, by the cases of the test.\n\n")
}

// A message that is not kept must not pass for one that never came.
func TestUnmetBeyondTheBound(t *testing.T) {
	srv := tooled()
	srv.Expect("tools/call").Never()
	for range 10_000 {
		calls(srv, "tools/list")
	}
	if got := srv.Unmet(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	calls(srv, "add", "add")
	got := srv.Unmet()
	if len(got) != 1 || !strings.Contains(got[0], "2 messages came after the first 10000") {
		t.Errorf("%q", got)
	}
	if n := len(srv.Calls()); n != 10_000 {
		t.Errorf("%d calls are kept", n)
	}
}

// What cannot be meant panics, and says what to try.
func TestRegistrationErrors(t *testing.T) {
	type selfish struct {
		Next []*selfish
	}
	type one struct {
		X int
	}
	type other struct {
		X int
	}
	type twice struct {
		one
		other
	}
	script := func(f func(s *mock.Server)) func() {
		return func() { f(mock.New(mock.Script{})) }
	}
	typed := func(b mock.Behaviour) func() { return script(func(s *mock.Server) { s.Tool("t", b) }) }
	var said []txtar.File
	for _, tc := range []struct {
		name string
		do   func()
	}{
		{"a tool without a name", script(func(s *mock.Server) { s.Tool("", mock.Text("")) })},
		{"a tool that does nothing", script(func(s *mock.Server) { s.Tool("t", nil) })},
		{"text that is no text", typed(mock.Text("\xff"))},
		{"an error that is no text", typed(mock.ToolError("\xff"))},
		{"an image that is none", typed(mock.Image([]byte("x"), "text/plain"))},
		{"an image of no type", typed(mock.Image([]byte("x"), "image/"))},
		{"audio that is none", typed(mock.Audio([]byte("x"), "image/png"))},
		{"a blob in a tool", typed(mock.Blob([]byte("x"), "a/b"))},
		{"a blob of no type", script(func(s *mock.Server) { s.Resource("a://b", mock.Blob(nil, "")) })},
		{"a link to nowhere", typed(mock.Link("a.txt", "a"))},
		{"an embedded fault", typed(mock.Embed("a://b", mock.Text("\xff")))},
		{"an embedded link", typed(mock.Embed("a://b", mock.Link("a://c", "c")))},
		{"a value without JSON", typed(mock.JSON(make(chan int)))},
		{"a JSON text that is none", typed(mock.JSON(json.RawMessage(`{"a":1,"a":2}`)))},
		{"two structured values", typed(mock.Contents(mock.JSON(map[string]int{}), mock.JSON(map[string]int{})))},
		{"a content that is none", typed(mock.Content{})},
		{"a message in a tool", typed(mock.UserMessage("x"))},
		{"messages in a resource", script(func(s *mock.Server) { s.Resource("a://b", mock.Messages()) })},
		{"contents in a prompt", script(func(s *mock.Server) { s.Prompt("p", mock.Text("x")) })},
		{"a value in a message", script(func(s *mock.Server) { s.Prompt("p", mock.UserContent(mock.JSON(1))) })},
		{"a tool error in a prompt", script(func(s *mock.Server) { s.Prompt("p", mock.ToolError("x")) })},
		{"a link in a resource", script(func(s *mock.Server) { s.Resource("a://b", mock.Link("a://c", "c")) })},
		{"a result of the wrong shape", typed(mock.Result(json.RawMessage(`{"content":[{"type":"text","text":{"a":1}}]}`)))},
		{"a result of the wrong kind", script(func(s *mock.Server) { s.Prompt("p", mock.Result(json.RawMessage(`{"content":[]}`))) })},
		{"a result that is no JSON", typed(mock.Result(json.RawMessage(`{`)))},
		{"an empty sequence", typed(mock.Sequence())},
		{"a sequence in a sequence", typed(mock.Sequence(mock.Cycle(mock.Text(""))))},
		{"a sequence with a fault", typed(mock.Sequence(mock.Text(""), mock.Text("\xff")))},
		{"a resource without a scheme", script(func(s *mock.Server) { s.Resource("/a.txt", mock.Text("")) })},
		{"an option of another kind", script(func(s *mock.Server) { s.Tool("t", mock.Text(""), mock.MIME("a/b")) })},
		{"an argument of a tool", script(func(s *mock.Server) { s.Tool("t", mock.Text(""), mock.Argument("a", "")) })},
		{"a schema that is no JSON", script(func(s *mock.Server) { s.Tool("t", mock.Text(""), mock.Input(`{`)) })},
		{"a schema of another type", script(func(s *mock.Server) { s.Tool("t", mock.Text(""), mock.Input(`{"type":"string"}`)) })},
		{"annotations of another type", script(func(s *mock.Server) {
			s.Tool("t", mock.Text(""), mock.Annotate(map[string]any{"readOnlyHint": "yes"}))
		})},
		{"an icon that is none", script(func(s *mock.Server) { s.Tool("t", mock.Text(""), mock.Member("icons", "x")) })},
		{"a text for an outputSchema", script(func(s *mock.Server) { s.Tool("t", mock.Text("x"), mock.Output(`{"type":"object"}`)) })},
		{"a value that breaks the outputSchema", script(func(s *mock.Server) {
			s.Tool("t", mock.JSON(map[string]int{"a": 1}), mock.Output(`{"type":"object","properties":{"a":{"type":"string"}}}`))
		})},
		{"a text beside a promise of structure", typed(mock.Sequence(mock.Text("x"), mock.Typed(add)))},
		{"arguments that are no object", typed(mock.Typed(func(context.Context, int) (string, error) { return "", nil }))},
		{"a type that holds itself", typed(mock.Typed(func(context.Context, selfish) (string, error) { return "", nil }))},
		{"a type that JSON cannot hold", typed(mock.Typed(func(context.Context, struct{ F func() }) (string, error) { return "", nil }))},
		{"a duration", typed(mock.Typed(func(context.Context, struct{ D time.Duration }) (string, error) { return "", nil }))},
		{"a map of other keys", typed(mock.Typed(func(context.Context, struct{ M map[int]string }) (string, error) { return "", nil }))},
		{"an answer that JSON cannot hold", typed(mock.Typed(func(context.Context, struct{}) (chan int, error) { return nil, nil }))},
		{"two fields of one name", typed(mock.Typed(func(context.Context, twice) (string, error) { return "", nil }))},
		{"a typed prompt", script(func(s *mock.Server) {
			s.Prompt("p", mock.Typed(func(context.Context, struct{}) (string, error) { return "", nil }))
		})},
		{"capabilities without it", func() {
			mock.New(mock.Script{Capabilities: json.RawMessage(`{"tools":{}}`)}).Prompt("p", mock.UserMessage(""))
		}},
		{"data without JSON", func() { _ = mock.ProtocolError(1, "", make(chan int)) }},
		{"a method that nobody has", script(func(s *mock.Server) { s.Expect("tool/call") })},
		{"an expected name that is none", script(func(s *mock.Server) { s.Expect("tools/call").Named("") })},
		{"expected arguments without JSON", script(func(s *mock.Server) { s.Expect("tools/call").With(make(chan int)) })},
		{"a pointer that is none", script(func(s *mock.Server) { s.Expect("tools/call").Having("a.b", 1) })},
		{"a count that is none", script(func(s *mock.Server) { s.Expect("tools/call").Times(-1) })},
		{"bounds that cross", script(func(s *mock.Server) { s.Expect("tools/call").AtLeast(3).AtMost(2) })},
		{"a bound below zero", script(func(s *mock.Server) { s.Expect("tools/call").AtMost(-1) })},
		{"a bound that cannot be missed", script(func(s *mock.Server) { s.Expect("tools/call").AtLeast(0) })},
		{"an order of one", script(func(s *mock.Server) { s.InOrder(s.Expect("tools/call")) })},
		{"an order over two servers", script(func(s *mock.Server) { s.InOrder(s.Expect("tools/call"), tooled().Expect("tools/call")) })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				e, ok := recover().(*mock.RegistrationError)
				if !ok || e.What == "" || e.Why == "" || e.Try == "" {
					t.Fatalf("%v", e)
				}
				said = append(said, txtar.File{Name: tc.name, Data: []byte(e.Error() + "\n")})
			}()
			tc.do()
		})
	}
	golden(t, "testdata/registration.golden", said, "What a registration that cannot be right panics with.\n\n")
}

// Each message is seen once, in its order, over every carrier.
func TestCalls(t *testing.T) {
	eachWay(t, func() *mock.Server {
		return mock.New(mock.Script{}).Tool("t", mock.Text("")).Tool("bad", mock.ProtocolError(-32000, ""))
	}, func(t *testing.T, w way) {
		w.call(spec.MethodToolsList, `{}`) // the handshake is over
		before := len(w.srv.Calls())
		w.call(spec.MethodToolsCall, `{"name":"t","arguments":{"a":1}}`)
		w.refused(spec.MethodToolsCall, `{"name":"bad"}`)
		w.call(spec.MethodToolsList, `{}`)
		got := w.srv.Calls()[before:]
		if len(got) != 3 {
			t.Fatalf("%v", got)
		}
		if c := got[0]; c.Method != spec.MethodToolsCall || c.Name != "t" || string(c.Arguments) != `{"a":1}` || c.Revision != w.revision || c.Code != 0 || c.Number != before+1 || c.Retry {
			t.Errorf("%+v", c)
		}
		if c := got[1]; c.Name != "bad" || c.Arguments != nil || c.Code != -32000 {
			t.Errorf("%+v", c)
		}
		if c := got[2]; c.Method != spec.MethodToolsList || c.Name != "" {
			t.Errorf("%+v", c)
		}
	})
}

// The rounds of one call are one call.
func TestCallsThatAsk(t *testing.T) {
	eachCarrier(t, func(t *testing.T, target func(*mock.Server) transport.Target) {
		for _, r := range []spec.Revision{spec.Rev20251125, spec.Rev20260728} {
			srv := mock.New(mock.Script{}).Tool("t", mock.Answer{Ask: []mock.Ask{{Method: spec.MethodRootsList}}})
			srv.Expect(spec.MethodToolsCall).Named("t")
			srv.NoOtherCalls()
			s := open(t, target(srv), session.Options{Revision: r, Handlers: session.Handlers{Roots: func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return raw(`{"roots":[]}`), nil
			}}})
			if _, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"t"}`)); err != nil {
				t.Fatal(err)
			}
			if bad := srv.Unmet(); len(bad) > 0 {
				t.Errorf("%s: %q", r, bad)
			}
		}
	})
}

// Expectations may be made, met and judged from many goroutines.
func TestExpectationsSideBySide(t *testing.T) {
	srv := tooled()
	const n = 50
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range n {
			calls(srv, "add")
		}
	}()
	for range n {
		srv.Expect("tools/call").Named("add").AtLeast(1)
		_ = srv.Unmet()
		srv.Tool("late", mock.Text(""))
	}
	<-done
	if got := srv.Unmet(); len(got) != n-1 { // the first takes every call
		t.Errorf("%d are unmet", len(got))
	}
}

// The verdict on a count is that of arithmetic.
func TestUnmetCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least, span, came := rapid.IntRange(0, 4).Draw(t, "least"), rapid.IntRange(0, 4).Draw(t, "span"), rapid.IntRange(0, 9).Draw(t, "came")
		srv := tooled()
		srv.Expect("tools/call").Named("add").AtMost(least + span).AtLeast(least)
		for range came {
			calls(srv, "add", "mul")
		}
		if held := len(srv.Unmet()) == 0; held != (came >= least && came <= least+span) {
			t.Errorf("%d calls, from %d to %d: %q", came, least, least+span, srv.Unmet())
		}
	})
}
