// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// calling is a call with a progress token, quiet one without; both may have a
// log level.
func calling(id int, meta string) string {
	return fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a","_meta":{%s}}}`, id, meta)
}

func reports(token, progress string) string {
	return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":` + progress + `}}`
}

func called(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[]}}`, id)
}

const (
	token1  = `"progressToken":1`
	level   = `"io.modelcontextprotocol/logLevel":"debug"`
	message = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"x"}}`
)

func TestProgressOverStdio(t *testing.T) {
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		lines      []string
	}{
		{"it grows", "progress.monotonic", rule.Pass, []string{calling(1, token1), reports("1", "0.1"), reports("1", "0.2"), called(1)}},
		{"it stands", "progress.monotonic", rule.Fail, []string{calling(1, token1), reports("1", "1"), reports("1", "1.0"), called(1)}},
		{"it stands in another form", "progress.monotonic", rule.Fail, []string{calling(1, token1), reports("1", "100"), reports("1", "100.00"), called(1)}},
		{"it falls", "progress.monotonic", rule.Fail, []string{calling(1, token1), reports("1", "2"), reports("1", "1"), called(1)}},
		{"it grows beyond what a double tells apart", "progress.monotonic", rule.Pass, []string{calling(1, token1), reports("1", "9007199254740992"), reports("1", "9007199254740993"), called(1)}},
		{"once", "progress.monotonic", rule.Skip, []string{calling(1, token1), reports("1", "1"), called(1)}},
		{"two calls", "progress.monotonic", rule.Skip, []string{calling(1, token1), calling(2, `"progressToken":2`), reports("1", "5"), reports("2", "1"), called(1), called(2)}},
		{"the token used again", "progress.monotonic", rule.Skip, []string{calling(1, token1), reports("1", "5"), called(1), calling(2, token1), reports("1", "1"), called(2)}},

		{"its own", "progress.token-active-only", rule.Pass, []string{calling(1, token1), reports("1", "1"), called(1)}},
		{"made up", "progress.token-active-only", rule.Fail, []string{calling(1, token1), reports(`"x"`, "1"), called(1)}},
		{"as a string", "progress.token-active-only", rule.Skip, []string{calling(1, token1), reports(`"1"`, "1"), called(1)}},
		{"as a string", "progress.token-type", rule.Fail, []string{calling(1, token1), reports(`"1"`, "1"), called(1)}},
		{"a string that is one", "progress.token-type", rule.Pass, []string{calling(1, `"progressToken":"1"`), reports(`"1"`, "1"), called(1)}},
		{"null", "progress.token-type", rule.Fail, []string{calling(1, token1), reports("null", "1"), called(1)}},
		{"no token was given", "progress.no-token-no-progress", rule.Warn, []string{calling(1, ""), reports(`1`, "1"), called(1)}},
		{"another request gave one", "progress.no-token-no-progress", rule.Pass, []string{calling(1, token1), calling(2, ""), reports("1", "1"), called(1), called(2)}},
		{"after the response", "progress.stops-after-completion", rule.Fail, []string{calling(1, token1), called(1), reports("1", "1")}},
		{"before the response", "progress.stops-after-completion", rule.Pass, []string{calling(1, token1), reports("1", "1"), called(1)}},
		{"a word", "progress.shape", rule.Fail, []string{calling(1, token1), reports("1", `"half"`), called(1)}},

		{"asked for", "logging.opt-in-per-request", rule.Skip, []string{calling(1, level), message, called(1)}},
		{"not asked for", "logging.opt-in-per-request", rule.Fail, []string{calling(1, ""), message, called(1)}},
		{"asked for before", "logging.opt-in-per-request", rule.Skip, []string{calling(1, level), called(1), calling(2, ""), message, called(2)}},
		{"nobody asked", "logging.opt-in-per-request", rule.Fail, []string{message}},
		{"after the response", "logging.before-response", rule.Warn, []string{calling(1, level), called(1), message}},
		{"while another may log", "logging.before-response", rule.Pass, []string{calling(1, level), calling(2, level), called(1), message, called(2)}},
		{"before the response", "logging.before-response", rule.Pass, []string{calling(1, level), message, called(1)}},
	} {
		t.Run(tc.name+"/"+tc.rule, func(t *testing.T) {
			if o := watched(t, tc.rule, tc.lines...); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}

// streams is a recording of HTTP streams: each begins with a request.
func streams(streams ...[]string) *probe.Traffic {
	r := probe.NewRecorder(transport.StreamableHTTP, spec.Rev20260728)
	for i, s := range streams {
		head := &wire.Head{Status: 200, Header: []wire.HeaderField{{Name: "Content-Type", Value: "text/event-stream"}}}
		var frames []*wire.Frame
		for _, l := range s[1:] {
			frames = append(frames, &wire.Frame{Raw: []byte(l), Dir: wire.ToClient, HTTP: head})
		}
		r.HTTP(fmt.Sprint(i), &wire.Head{Method: "POST"}, []byte(strings.TrimPrefix(s[0], ">")), head, frames, nil)
	}
	return r.Traffic()
}

func TestProgressOverHTTP(t *testing.T) {
	listen := `>{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"_meta":{}}}`
	for _, tc := range []struct {
		name, rule string
		want       rule.Status
		streams    [][]string
	}{
		{"on its stream", "progress.on-request-stream", rule.Pass, [][]string{{calling(1, token1), reports("1", "1"), called(1)}}},
		{"on the stream of a subscription", "progress.on-request-stream", rule.Fail, [][]string{{calling(1, token1), called(1)}, {listen, reports("1", "1")}}},
		{"on the stream of a subscription", "progress.token-active-only", rule.Pass, [][]string{{calling(1, token1), called(1)}, {listen, reports("1", "1")}}},
		{"made up", "progress.on-request-stream", rule.Skip, [][]string{{calling(1, token1), reports(`"x"`, "1"), called(1)}}},
		{"no token was given", "progress.no-token-no-progress", rule.Warn, [][]string{{calling(1, ""), reports(`"x"`, "1"), called(1)}, {calling(2, token1), called(2)}}},
		{"without a level", "logging.opt-in-per-request", rule.Fail, [][]string{{calling(1, ""), message, called(1)}, {calling(2, level), message, called(2)}}},
		{"on a subscription", "logging.opt-in-per-request", rule.Skip, [][]string{{listen, message}}},
		{"after the response", "logging.before-response", rule.Warn, [][]string{{calling(1, level), called(1), message}}},
	} {
		t.Run(tc.name+"/"+tc.rule, func(t *testing.T) {
			if o := only(t, tc.rule, streams(tc.streams...)); o.Status != tc.want {
				t.Errorf("want %s\n%s", tc.want, show(o))
			}
		})
	}
}

// What stands in a log message is told apart by its form.
func TestSecretsInLogMessages(t *testing.T) {
	for data, want := range map[string]rule.Status{
		`"8 rows in 3 ms"`:                                          rule.Pass,
		`"see https://example.com/a?b=c#d"`:                         rule.Pass,
		`"token accepted, mail sent to 3 people @ desk"`:            rule.Pass,
		`{"path":"/var/log/app.log","line":12}`:                     rule.Pass,
		`"git@github.com:a/b.git"`:                                  rule.Pass,
		`"sent to alice@example.com"`:                               rule.Warn,
		`"open /home/alice/notes.txt"`:                              rule.Warn,
		`"Traceback (most recent call last):\n  File x"`:            rule.Warn,
		`"Authorization: Bearer ` + strings.Repeat("a1B2", 8) + `"`: rule.Fail,
		`{"url":"postgres://app:` + "s3cretpass" + `@db/books"}`:    rule.Fail,
		`"-----BEGIN ` + `PRIVATE KEY-----\nMIIE"`:                  rule.Fail,
		`"` + strings.Join([]string{"eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0In0", strings.Repeat("x", 32)}, ".") + `"`: rule.Fail,
	} {
		o := watched(t, "logging.no-secrets", calling(1, level), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":`+data+`}}`, called(1))
		if o.Status != want {
			t.Errorf("%s: want %s\n%s", data, want, show(o))
		}
	}
}
