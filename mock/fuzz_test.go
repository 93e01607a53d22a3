// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// FuzzRequests sends any bytes over both transports. The server must not
// panic, and must write nothing but JSON-RPC.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		``, `{`, `[]`, `7`, `[[[]]]`, initialize("2025-03-26"), modern(spec.MethodToolsList, ""),
		modern(spec.MethodToolsCall, `"name":"search_books","arguments":{"query":"ab","filters":{"published":{"from":1e999}}}`),
		modern(spec.MethodResourcesRead, `"uri":"library://books/%00/cover"`),
		formed(spec.MethodToolsCall, `"name":"two","requestState":"AAAA","inputResponses":{"name":{"action":"accept","content":{"it":"x"}}}`),
		tasked(spec.MethodToolsCall, `"name":"quick"`), tasked(spec.ExtensionTasksUpdate, `"taskId":"x","inputResponses":{"a":7}`),
		modern(spec.MethodComplete, `"ref":{"type":"ref/prompt","name":"plan_reading"},"argument":{"name":"topic","value":""},"context":{"arguments":[]}`),
		modern(spec.MethodPromptsGet, `"name":"plan_reading","arguments":{"topic":"\ud800"}`),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"page-9223372036854775807"}}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":1}]`, "\xff\xfe", "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(body), "2026-07-28", "search_books", true)
		f.Add([]byte(body), "", "=?base64?!?=", false)
	}
	s := everything()
	s.Tools = append(append(s.Tools, asking().Tools...), jobs().Tools...)
	srv := mock.New(s)
	f.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	session := post(srv, initialize("2025-03-26"), nil).Header().Get(spec.HeaderSessionID)
	f.Fuzz(func(t *testing.T, body []byte, version, name string, legacy bool) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if !listens(body) {
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)).WithContext(ctx)
			r.Header = http.Header{
				"Content-Type":               {"application/json"},
				"Mcp-Protocol-Version":       {version},
				"Mcp-Name":                   {name},
				"Mcp-Method":                 {wire.Read(body).Method},
				spec.HeaderParamPrefix + "X": {name},
			}
			if legacy {
				r.Header.Set(spec.HeaderSessionID, session)
			}
			w := httptest.NewRecorder()
			srv.ServeHTTP(w, r)
			if w.Header().Get("Content-Type") == spec.MediaJSON && jsonx.Check(w.Body.Bytes(), jsonx.Strict) != nil {
				t.Errorf("%d %q", w.Code, w.Body)
			}
		}
		var out bytes.Buffer
		in := append([]byte(initialize("2025-03-26")+"\n"), body...)
		if err := srv.ServeStdio(ctx, bytes.NewReader(in), &out); err != nil {
			t.Errorf("serve: %v", err)
		}
		for l := range bytes.Lines(out.Bytes()) {
			if m := wire.Read(l[:len(l)-1]); m.Kind == wire.Invalid || m.Kind == wire.Batch {
				t.Errorf("line %q", l)
			}
		}
	})
}

// FuzzExchange sends any bytes as one message. Its answer is a message, and what
// is said of it afterwards can be printed.
func FuzzExchange(f *testing.F) {
	for _, body := range []string{
		``, `{`, `[]`, `null`, initialize("2025-03-26"), modern(spec.MethodToolsList, ""),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add\u001b[2J","arguments":{"a":1e999,"password":"\u202e"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1},"_meta":7}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`, "\xff", "{\"method\":\"\xff\"}",
	} {
		for i := range len(spec.All()) + 1 {
			f.Add([]byte(body), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, at uint8) {
		srv := tooled()
		srv.Expect(spec.MethodToolsCall).Named("add").With(map[string]any{"a": 1, "b": []int{2}}).Times(2)
		srv.NoOtherCalls()
		var revision []spec.Revision
		if all := spec.All(); int(at) < len(all) {
			revision = all[at : at+1]
		}
		if answer, ok := srv.Exchange(body, revision...); ok && jsonx.Check(answer, jsonx.Strict) != nil {
			t.Errorf("%q", answer)
		}
		for _, line := range srv.Unmet() {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(line) || len(line) > 4000 {
				t.Errorf("%q", line)
			}
		}
		if ps := srv.Panics(); len(ps) > 0 {
			t.Errorf("%v\n%s", ps[0].Value, ps[0].Stack)
		}
	})
}

// listens reports whether a text asks for a stream that only its reader ends.
func listens(body []byte) bool {
	return bytes.Contains(body, []byte("subscriptions")) || bytes.Contains(body, []byte(`\u`))
}
