// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// written is everything that a recorder writes.
func written(t interface{ Fatal(...any) }, r *record.Recorder) string {
	var b bytes.Buffer
	if err := r.WriteJSONL(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHAR(&b, "1"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unescaped is s with every level of JSON escapes undone.
func unescaped(s string) string {
	escape := regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|["\\/bfnrt])`)
	for range 6 {
		s = escape.ReplaceAllStringFunc(s, func(e string) string {
			var out string
			if json.Unmarshal([]byte(`"`+e+`"`), &out) != nil {
				return e
			}
			return out
		})
	}
	return s
}

// decoded is what every run of Base64 in s says, at each place that it may
// begin at.
func decoded(s string) string {
	var b strings.Builder
	for _, run := range regexp.MustCompile(`[A-Za-z0-9+/_-]{6,}`).FindAllString(s, -1) {
		run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
		for i := range 4 {
			if i+4 <= len(run) {
				part := run[i : i+(len(run)-i)/4*4]
				raw, _ := base64.StdEncoding.DecodeString(part)
				b.Write(raw)
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// shows reports the form in which a secret stands in what was written.
func shows(out, secret string) string {
	plain := unescaped(out)
	for form, text := range map[string]string{
		"as it is": out, "behind escapes": plain, "in Base64": decoded(out) + decoded(plain),
	} {
		if strings.Contains(text, secret) {
			return form
		}
	}
	for _, coded := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		if strings.Contains(out, coded) {
			return "in a URL"
		}
	}
	return ""
}

// spread puts a secret wherever a server or client may put it.
func spread(f *feed, secret string) {
	quoted := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	odd := ""
	for _, c := range []byte(secret) {
		odd += fmt.Sprintf(`\u%04x`, c)
	}
	texts := []string{
		secret, "before " + secret + " behind", quoted(secret), quoted(quoted(secret)),
		`{"a":` + quoted(secret) + `,"b":[` + quoted(secret) + "]}", url.QueryEscape(secret),
		"x" + base64.StdEncoding.EncodeToString([]byte("u:"+secret)), base64.RawURLEncoding.EncodeToString([]byte(secret + "tail")),
	}
	for i, s := range texts {
		f.ask(7, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"arguments":{"q":%s}}}`, i, quoted(s)))
		f.say(7, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{%s:%s}}`, i, quoted(s), quoted(s)))
		f.say(7, s)                      // noise
		f.say(7, `{"broken":`+quoted(s)) // no JSON
		f.say(7, s+"\xff")               // no UTF-8
		f.post(8, transport.Channel(i+1), `{"jsonrpc":"2.0","id":1,"method":`+quoted(s)+`}`, wire.HeaderField{Name: "X-Note", Value: s})
		page := &wire.Head{Dir: wire.ToClient, Status: 500, Reason: s, Header: []wire.HeaderField{{Name: "Content-Type", Value: "text/plain; x=" + s}}}
		f.head(8, transport.Channel(i+1), page)
		f.event(8, transport.Event{Kind: transport.EventBody, Channel: transport.Channel(i + 1), Head: page, Body: []byte(s), BodySize: int64(len(s))})
		block := "id: " + s + "\r\n: " + s + "\r\ndata: " + quoted(s) + "\r\n\r\n"
		f.frame(8, transport.Channel(i+1), wire.ToClient, quoted(s), func(fr *wire.Frame) {
			fr.HTTP = page
			fr.Event = &wire.Event{Raw: []byte(block), Data: fr.Raw, HasData: true, HasID: true, ID: s, LastID: s, Complete: true}
		})
		f.event(8, transport.Event{Kind: transport.EventSSE, Channel: transport.Channel(i + 1), Head: page, SSE: &wire.Event{Raw: []byte(": " + s + "\n\n"), Complete: true}})
		f.event(8, transport.Event{Kind: transport.EventClosed, Channel: transport.Channel(i + 1), Err: &transport.Error{Reason: transport.Broken, Detail: s}})
	}
	f.say(7, `{"jsonrpc":"2.0","method":"x","params":{"odd":"`+odd+`"}}`)
	f.say(7, `{"jsonrpc":"2.0","method":"`+odd+`"`)
	f.head(8, 90, &wire.Head{Dir: wire.ToServer, Method: "GET", URL: "http://localhost/" + url.PathEscape(secret) + "?a=" + url.QueryEscape(secret) + "#" + url.PathEscape(secret)})
}

// Nothing that was named a secret is in what is written, in any form; in
// memory everything is as it was.
func TestNamedSecretsAreNotWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Letters that our own words have little of, and all that is escaped.
		secret := rapid.StringMatching(`[QZXJKqzxjk0-9]{2}[QZXJKqzxjk0-9"\\/<>&%+= é読:.]{4,16}[QZXJKqzxjk]{2}`).Draw(t, "secret")
		f := newFeed(record.Options{Redact: record.Redaction{Values: []string{secret}}})
		spread(f, secret)
		if form := shows(written(t, f.r), secret); form != "" {
			t.Fatalf("%q is written %s", secret, form)
		}
		if got := f.r.Records()[2]; string(got.Frame.Raw) != secret {
			t.Fatalf("in memory: %q", got.Frame.Raw)
		}
	})
}

// The test above can fail: the same without naming the secret.
func TestSecretsThatNobodyNamedAreWritten(t *testing.T) {
	f := newFeed(record.Options{})
	spread(f, `Zq"jx/7\kQ`)
	if form := shows(written(t, f.r), `Zq"jx/7\kQ`); form == "" {
		t.Error("nothing is found where nothing is hidden")
	}
}

// What is known to be a secret is one wherever it is echoed.
func TestSecretsThatAreFound(t *testing.T) {
	redaction := record.Redaction{
		Keys: []string{"pin", "vault"}, Headers: []string{"X-Tenant"},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`ACCT-\d+`)},
	}
	for _, tc := range []struct {
		name, secret string
		play         func(*feed)
		echoed       bool // it is cut out of an echo as well
	}{
		{"Authorization", "qz-token-1234", func(f *feed) {
			f.post(7, 1, request("1", "ping"), wire.HeaderField{Name: "authorization", Value: "Bearer qz-token-1234"})
		}, true},
		{"Basic", "hunter2-hunter2", func(f *feed) {
			f.post(7, 1, request("1", "ping"), wire.HeaderField{Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:hunter2-hunter2"))})
		}, true},
		{"a short one", "qz12", func(f *feed) {
			f.post(7, 1, request("1", "ping"), wire.HeaderField{Name: "X-Api-Key", Value: "qz12"})
		}, false},
		{"Cookie", "qz-cookie-1", func(f *feed) {
			f.post(7, 1, request("1", "ping"), wire.HeaderField{Name: "Cookie", Value: "a=b; sid=qz-cookie-1"})
		}, true},
		{"Set-Cookie", "qz-cookie-2", func(f *feed) {
			f.head(7, 1, &wire.Head{Dir: wire.ToServer, Method: "GET", URL: "http://localhost/"})
			f.head(7, 1, &wire.Head{Dir: wire.ToClient, Status: 200, Header: []wire.HeaderField{{Name: "Set-Cookie", Value: "sid=qz-cookie-2; Path=/"}}})
		}, true},
		{"a query", "qz-query-12", func(f *feed) {
			f.head(7, 1, &wire.Head{Dir: wire.ToServer, Method: "GET", URL: "http://localhost/?access_token=qz-query-12&x=1"})
		}, true},
		{"a query by any name", "qz-query-12", func(f *feed) {
			f.head(7, 1, &wire.Head{Dir: wire.ToServer, Method: "GET", URL: "http://localhost/?k=qz-query-12&x"})
		}, false},
		{"user information", "qz-user-123", func(f *feed) {
			f.head(7, 1, &wire.Head{Dir: wire.ToServer, Method: "GET", URL: "http://ada:qz-user-123@localhost/"})
		}, true},
		{"a redirect", "qz-place-12", func(f *feed) {
			f.head(7, 1, &wire.Head{Dir: wire.ToServer, Method: "GET", URL: "http://localhost/"})
			f.head(7, 1, &wire.Head{Dir: wire.ToClient, Status: 307, Header: []wire.HeaderField{{Name: "Location", Value: "http://localhost/?pin=qz-place-12"}}})
		}, false},
		{"a header of the user's", "qz-tenant-1", func(f *feed) {
			f.post(7, 1, request("1", "ping"), wire.HeaderField{Name: "x-tenant", Value: "qz-tenant-1"})
		}, true},
		{"a member of the user's", "qz-member-1", func(f *feed) {
			f.ask(7, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"PIN":"qz-member-1"}}}`)
		}, true},
		{"a short member", "qz98", func(f *feed) {
			f.ask(7, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"p\u0069n":"qz98"}}}`)
		}, false},
		{"a number, and all of an object", "771133", func(f *feed) {
			f.ask(7, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"pin":771133,"vault":{"a":[{"b":"771133"}]}}}}`)
		}, false},
		{"a member with a telling name", "qz-pass-123", func(f *feed) {
			f.ask(7, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"db_password":"qz-pass-123"}}}`)
		}, false},
		{"such a member inside a text", "qz-pass-123", func(f *feed) {
			f.say(7, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":{\"pin\":\"qz-pass-123\"}}"}]}}`)
		}, false},
		{"a pattern", "ACCT-12345", func(f *feed) {
			f.say(7, "noise about ACCT-12345")
			f.ask(7, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"q":"for A\u0043CT-12345."}}}`)
		}, true},
		{"a token by its form", "ghp_abcdefghijklmnopqrstuvwxyz0123", func(f *feed) {
			f.ask(7, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"q":"ghp_abcdefghijklmnopqrstuvwxyz0123"}}}`)
		}, true},
		{"a failed request without a text", "qz-token-1234", func(f *feed) {
			f.tap(transport.TapEvent{Conn: 7, Event: transport.Event{Kind: transport.EventUnsent, Err: &transport.Error{Detail: "no"}},
				Unsent: &transport.Sent{Head: &wire.Head{Method: "GET", URL: "http://localhost/", Header: []wire.HeaderField{{Name: "Authorization", Value: "Bearer qz-token-1234"}}}}})
		}, true},
		{"a failed send", "qz-token-1234", func(f *feed) {
			h := &wire.Head{Dir: wire.ToServer, Method: "POST", URL: "http://localhost/", Header: []wire.HeaderField{{Name: "Authorization", Value: "Bearer qz-token-1234"}}}
			f.tap(transport.TapEvent{Conn: 7, Event: transport.Event{Kind: transport.EventUnsent, Err: &transport.Error{Detail: "no"}},
				Unsent: &transport.Sent{Head: h, Frame: &wire.Frame{Raw: []byte(request("1", "ping")), Dir: wire.ToServer, HTTP: h}}})
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFeed(record.Options{Redact: redaction})
			tc.play(f)
			if tc.echoed {
				f.say(7, `{"jsonrpc":"2.0","method":"x","params":{"text":"you sent `+tc.secret+`"}}`)
			}
			if form := shows(written(t, f.r), tc.secret); form != "" {
				t.Errorf("it is written %s:\n%s", form, written(t, f.r))
			}
			bare := newFeed(record.Options{})
			bare.say(7, tc.secret[:4])
			if form := shows(written(t, bare.r), tc.secret[:4]); form == "" {
				t.Error("the look at what is written sees nothing")
			}
		})
	}
}

// Many secrets are cut out as few are.
func TestManySecrets(t *testing.T) {
	f := newFeed(record.Options{})
	for i := range 100 {
		f.post(7, transport.Channel(i+1), request("1", "ping"), wire.HeaderField{Name: "Authorization", Value: fmt.Sprintf("Bearer qz-token-%03d!", i)})
	}
	f.say(7, `{"jsonrpc":"2.0","method":"x","params":{"text":"qz-token-042! and qz-t\u006fken-099!"}}`)
	f.say(7, `{"broken":"qz-t\u006fken-077!"`)
	if out := unescaped(written(t, f.r)); strings.Contains(out, "qz-token") {
		t.Error(out)
	}
}

// What is no secret stays, to the byte.
func TestWhatIsNoSecretStays(t *testing.T) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"abcdefgh"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":100000}}`,
		`{"inputSchema":{"properties":{"password":{"type":"string"},"token":{"type":["string","null"]}},"required":["password"]}}`,
		"{ \"a\" : 1.0e3,\t\"a\":\"\\u0061\\/\" }", `[1,2]`, `"x"`, ``, ` `, "\ufeff{}", `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
	} {
		f := newFeed(record.Options{Redact: record.Redaction{Values: []string{"qz-secret"}, Keys: []string{"pin"}}})
		f.say(7, s)
		back := reread(t, f.r)
		if got := string(back.Records()[0].Frame.Raw); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}
