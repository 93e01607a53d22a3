// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
)

// B/processMessage and what the Java kit's mock answers, message by message.
func TestExchange(t *testing.T) {
	const (
		ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		none = 1 // no answer at all
	)
	fresh := func() *mock.Server { return mock.New(mock.Script{}).Tool("t", mock.Text("hi")) }
	for _, tc := range []struct {
		name, message string
		revision      spec.Revision
		code          int // zero is a result
	}{
		{"B/not JSON", `{"jsonrpc":`, 0, spec.CodeParseError},
		{"B/not JSON: words", `hello`, spec.Latest, spec.CodeParseError},
		{"B/not JSON: nothing", ``, 0, spec.CodeParseError},
		{"B/no jsonrpc", `{"id":1,"method":"ping"}`, 0, spec.CodeInvalidRequest},
		{"B/another jsonrpc", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, spec.Rev20251125, spec.CodeInvalidRequest},
		{"B/no method", `{"jsonrpc":"2.0","id":1}`, 0, spec.CodeInvalidRequest},
		{"B/no method in the modern era", `{"jsonrpc":"2.0","id":1}`, spec.Latest, spec.CodeInvalidRequest},
		{"B/an array of nothing", `[]`, spec.Rev20250326, spec.CodeInvalidRequest},
		{"B/unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, spec.Rev20251125, spec.CodeMethodNotFound},
		{"B/unknown method in the modern era", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, spec.Latest, spec.CodeMethodNotFound},
		{"B/a method that is gone", ping, spec.Latest, spec.CodeMethodNotFound},
		{"B/no id", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0, none},
		{"B/no id: an unknown notification", `{"jsonrpc":"2.0","method":"notifications/whatever"}`, 0, none},
		{"B/no id: a request's method", `{"jsonrpc":"2.0","method":"tools/list"}`, spec.Latest, none},
		{"B/an answer to nothing", `{"jsonrpc":"2.0","id":1,"result":{}}`, 0, none},
		{"B/before initialize: ping", ping, 0, 0},
		{"B/before initialize: a list", list, 0, spec.CodeInvalidRequest},
		{"B/agreed on", list, spec.Rev20241105, 0},
		{"B/modern", list, spec.Latest, 0},
		{"B/params of another type", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":7}`, spec.Latest, spec.CodeInvalidRequest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []byte
			var ok bool
			if tc.revision == 0 {
				got, ok = fresh().Exchange([]byte(tc.message))
			} else {
				got, ok = fresh().Exchange([]byte(tc.message), tc.revision)
			}
			if tc.code == none {
				if ok || got != nil {
					t.Errorf("an answer: %s", got)
				}
				return
			}
			if !ok || code(t, got) != tc.code {
				t.Errorf("%s, want code %d", got, tc.code)
			}
		})
	}

	t.Run("B/strict order", func(t *testing.T) {
		srv := fresh()
		if got, _ := srv.Exchange([]byte(list)); code(t, got) != spec.CodeInvalidRequest {
			t.Errorf("before initialize: %s", got)
		}
		if got, _ := srv.Exchange([]byte(initialize("2025-06-18"))); code(t, got) != 0 {
			t.Errorf("initialize: %s", got)
		}
		if got, ok := srv.Exchange([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); ok {
			t.Errorf("initialized: %s", got)
		}
		got, _ := srv.Exchange([]byte(list))
		at(t, got, "/result/tools/0/name", `"t"`)
	})

	t.Run("B/the mock accepts any method before initialize", func(t *testing.T) {
		lax := mock.New(mock.Script{Lax: true}).Tool("t", mock.Text("hi")).Resource("a://b", mock.Text("")).Prompt("p", mock.UserMessage(""))
		for message, want := range map[string]int{
			ping: 0, list: 0,
			`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t"}}`:         0,
			`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`:                             0,
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a://b"}}`:    0,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`:                               0,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}`:          0,
			`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:                                    spec.CodeMethodNotFound,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`:           spec.CodeInvalidParams,
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a://gone"}}`: spec.CodeResourceNotFound,
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`:                                spec.CodeInvalidParams,
			`nonsense`: spec.CodeParseError,
		} {
			got, ok := lax.Exchange([]byte(message))
			if !ok || code(t, got) != want {
				t.Errorf("%s: %s, want code %d", message, got, want)
			}
			if w := post(lax, message, nil); code(t, w.Body.Bytes()) != want {
				t.Errorf("over HTTP, %s: %d %s, want code %d", message, w.Code, w.Body, want)
			}
		}
		if got, _ := lax.Exchange([]byte(modern(spec.MethodToolsList, ""))); code(t, got) != 0 || !contains(got, "resultType") {
			t.Errorf("a modern request: %s", got)
		}
		// What is lax is the order alone: a session that is not known stays so.
		if w := post(lax, list, func(h http.Header) { h.Set(spec.HeaderSessionID, "x") }); w.Code != spec.StatusSessionEnded {
			t.Errorf("an unknown session: %d", w.Code)
		}
		// A correct client finds a correct server.
		eachWay(t, func() *mock.Server { return mock.New(mock.Script{Lax: true}).Tool("t", mock.Text("hi")) }, func(t *testing.T, w way) {
			at(t, w.call(spec.MethodToolsCall, `{"name":"t"}`), "/content/0/text", `"hi"`)
		})
		strict := post(fresh(), list, nil)
		if strict.Code != spec.StatusMissingSession {
			t.Errorf("a strict server: %d %s", strict.Code, strict.Body)
		}
	})

	t.Run("B/notification over modern HTTP", func(t *testing.T) {
		body := strings.Replace(modern("notifications/cancelled", `"requestId":5`), `"id":1,`, "", 1)
		if w := post(fresh(), body, nil); w.Code != 202 || w.Body.Len() != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w := post(fresh(), modern("no/such", ""), nil); w.Code != 404 || code(t, w.Body.Bytes()) != spec.CodeMethodNotFound {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})

	t.Run("a batch", func(t *testing.T) {
		batch := `[` + ping + `,{"jsonrpc":"2.0","method":"notifications/initialized"},` + list + `]`
		got, _ := fresh().Exchange([]byte(batch), spec.Rev20250326)
		at(t, got, "/0/id", "1")
		at(t, got, "/1/result/tools/0/name", `"t"`)
		if got, _ := fresh().Exchange([]byte(batch), spec.Rev20251125); code(t, got) != spec.CodeInvalidRequest {
			t.Errorf("%s", got)
		}
		if got, ok := fresh().Exchange([]byte(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`), spec.Rev20250326); ok {
			t.Errorf("%s", got)
		}
	})

	t.Run("nothing waits for ever", func(t *testing.T) {
		asks := mock.Answer{Ask: []mock.Ask{{Method: spec.MethodRootsList}}}
		srv := mock.New(mock.Script{Open: true}).Tool("asks", asks)
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks"}}`
		got, _ := srv.Exchange([]byte(call), spec.Rev20251125)
		at(t, got, "/result/isError", "true")
		// Nor is a client asked that says it could answer.
		srv.Exchange([]byte(strings.Replace(initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1)))
		srv.Exchange([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		got, _ = srv.Exchange([]byte(call))
		at(t, got, "/result/isError", "true")
		got, _ = srv.Exchange([]byte(strings.Replace(call, `"name"`, `"_meta":{"traceparent":"x"},"name"`, 1)), spec.Latest)
		at(t, got, "/error/code", "-32021")
		got, _ = srv.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`), spec.Latest)
		if code(t, got) != 0 {
			t.Errorf("%s", got)
		}
		srv = mock.New(mock.Script{Faults: []mock.Fault{mock.On(spec.MethodPing).Drop()}})
		if got, ok := srv.Exchange([]byte(ping)); ok {
			t.Errorf("%s", got)
		}
	})

	t.Run("it is what a client over a carrier gets", func(t *testing.T) {
		srv := fresh()
		s := open(t, srv.Stdio(""), session.Options{})
		over, err := s.Call(within(t), spec.MethodToolsList, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := srv.Exchange([]byte(list), spec.Latest)
		at(t, got, "/result", string(over.Raw))
	})
}
