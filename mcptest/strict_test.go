// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// giving is a server whose only tool gives the value that it is made with, written
// as most servers in Go do.
func giving(t testing.TB, v any) mock.Script {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(string(raw))
	return mock.Script{Tools: []mock.Tool{{
		Definition: []byte(`{"name":"give","inputSchema":{"type":"object"}}`),
		Result:     json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`),
	}}}
}

// A value that a server wrote by encoding/json is the value that a test wants, and
// arguments are sent as encoding/json writes them.
func TestValuesAreThoseOfGo(t *testing.T) {
	type odd struct {
		N int               `json:"n,omitempty"`
		B bool              `json:"b,omitempty"`
		S []int             `json:"s"`
		M map[string]string `json:"m"`
		A [3]byte           `json:"a"`
		J json.Number       `json:"j"`
		D time.Duration     `json:"d"`
		H string            `json:"h"`
	}
	v := odd{J: "3", D: time.Second, H: "<&>"}
	c := mcptest.Open(t, giving(t, v))
	var back odd
	c.CallTool("give", nil).HasJSON(v).HasAt("/j", json.Number("3")).HasAt("/d", time.Second).Decode(&back)
	if fmt.Sprint(back) != fmt.Sprint(odd{S: nil, M: nil, J: "3", D: time.Second, H: "<&>"}) {
		t.Errorf("decoded %+v", back)
	}
	want, _ := json.Marshal(v)
	r := c.CallTool("give", v)
	sent := wire.Read(r.Frames()[0].Raw)
	var params struct{ Arguments json.RawMessage }
	if err := json.Unmarshal(sent.Params, &params); err != nil {
		t.Fatal(err)
	}
	var a, b any
	_ = json.Unmarshal(params.Arguments, &a)
	_ = json.Unmarshal(want, &b)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("sent %s, want %s", params.Arguments, want)
	}
}

// A secret is found however it is spelled, and nothing is said to be clean that never
// came.
func TestSecretsAreFoundBehindEscapes(t *testing.T) {
	for name, x := range map[string]struct{ text, secret string }{
		"angle brackets": {`dsn=p\u003cw\u0026d\u003e1`, "p<w&d>1"},
		"a letter":       {`hun\u0074er3`, "hunter3"},
		"a Java trace":   {`java.lang.NullPointerException\n\tat com.x.Y.z(Y.java:10)`, ""},
		"a home":         {`C:\\Users\\joe\\notes`, ""},
	} {
		s := mock.Script{Tools: []mock.Tool{{
			Definition: []byte(`{"name":"leak","inputSchema":{"type":"object"}}`),
			Result:     json.RawMessage(`{"content":[{"type":"text","text":"` + x.text + `"}]}`),
		}}}
		w := watch(t, func(t testing.TB) { mcptest.Open(t, s).CallTool("leak", nil).HasNoSecrets(x.secret) })
		if !w.failed {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// wrongs are tests that must fail, each for one reason.
var wrongs = []struct {
	name string
	do   func(t testing.TB)
	want string
}{
	{"within, and no answer", func(t testing.TB) {
		mcptest.Open(t, echoing(), mcptest.Timeout(10*time.Millisecond)).CallTool("echo", mcptest.Args{"text": "", "minutes": 1}).Within(time.Hour)
	}, "want an answer within"},
	{"clean, and no answer", func(t testing.TB) {
		mcptest.Open(t, echoing(), mcptest.Timeout(10*time.Millisecond)).CallTool("echo", mcptest.Args{"text": "", "minutes": 1}).HasNoSecrets()
	}, "want an answer without secrets"},
	{"satisfied, and no answer", func(t testing.TB) {
		mcptest.Open(t, harbour()).CallTool("moor", nil).Satisfies(func(*mcptest.Reply) error { return nil })
	}, "did not look at it"},
	{"quick, and a tool error", func(t testing.TB) { mcptest.Open(t, harbour()).CallTool("sunk", nil).Within(time.Hour) }, "did not look at it"},
	{"a status, and an error", func(t testing.TB) {
		mcptest.Open(t, harbour(), mcptest.Revision("2025-11-25")).CallTool("moor", nil).HasStatus(200)
	}, "did not look at it"},
	{"progress, and an error", func(t testing.TB) {
		mcptest.Open(t, harbour()).CallTool("moor", nil, mcptest.WithProgress()).Reports(0)
	}, "did not look at it"},
	{"no Go error, and a tool error", func(t testing.TB) {
		if mcptest.Open(t, harbour()).CallTool("sunk", nil).Err() != nil {
			t.Error("a tool error is no Go error")
		}
	}, "did not look at it"},
	{"started, and never waited for", func(t testing.TB) {
		p := mcptest.Open(t, harbour()).Start("sunk", nil)
		<-p.Done()
	}, "did not look at it"},
	{"a stampede of tool errors", func(t testing.TB) {
		mcptest.Open(t, harbour()).Stampede(3, "sunk", nil, func(int, *mcptest.Reply) error { return nil })
	}, "did not look at it"},
	{"a stampede that cannot tell", func(t testing.TB) { mcptest.Open(t, harbour()).Stampede(3, "echo", nil, nil) }, "tells whether an answer is its own"},
	{"a result under 500", func(t testing.TB) { withFault(t, mock.On(spec.MethodToolsCall).Status(500)) }, "HTTP status 500"},
	{"a result under 202", func(t testing.TB) { withFault(t, mock.On(spec.MethodToolsCall).Status(202)) }, "HTTP status 202"},
	{"no list of tools", func(t testing.TB) { withFault(t, mock.On(spec.MethodToolsList).Error(-32603, "no list")) }, "tools/list failed"},
	{"a schema that is none", func(t testing.TB) {
		withFault(t, mock.On(spec.MethodToolsList).OfResult().Set("/result/tools/0/inputSchema/properties", `{"x":{"type":"strin"}}`))
	}, "is no JSON Schema"},
	{"a schema that dangles", func(t testing.TB) {
		withFault(t, mock.On(spec.MethodToolsList).OfResult().Set("/result/tools/1/outputSchema", `{"type":"object","properties":{"x":{"$ref":"#/$defs/nope"}}}`))
	}, "is no JSON Schema"},
	{"two tools of a name", func(t testing.TB) {
		mcptest.Open(t, mock.Script{Tools: []mock.Tool{echo, echo}}, mcptest.Lax).HasTools("echo")
	}, "listed twice"},
	{"progress that does not rise", func(t testing.TB) {
		s := mock.Script{Tools: []mock.Tool{{
			Definition: []byte(`{"name":"stall","inputSchema":{"type":"object"}}`),
			Answers:    []mock.Answer{{Steps: []mock.Step{{Progress: &mock.Progress{Progress: 5}}, {Progress: &mock.Progress{Progress: 6}}}}},
		}}, Faults: []mock.Fault{mock.OnNotification(spec.NotificationProgress).Set("/params/progress", "1")}}
		mcptest.Open(t, s).CallTool("stall", nil, mcptest.WithProgress()).IsOK()
	}, "progress went from 1 to 1"},
	{"a golden file elsewhere", func(t testing.TB) { mcptest.Open(t, harbour()).CallTool("tide", nil).Golden(t, "../x") }, "below testdata/golden"},
	{"a golden file without a name", func(t testing.TB) { mcptest.Open(t, harbour()).CallTool("tide", nil).Golden(t, "") }, "below testdata/golden"},
	{"no bound", func(t testing.TB) { mcptest.Open(t, harbour(), mcptest.Timeout(-1)) }, "above zero"},
}

func withFault(t testing.TB, f mock.Fault) {
	s := harbour()
	s.Faults = []mock.Fault{f}
	mcptest.Open(t, s).CallTool("tide", nil).Ignore()
}

func TestWrongTestsFail(t *testing.T) {
	for _, x := range wrongs {
		t.Run(x.name, func(t *testing.T) {
			w := watch(t, x.do)
			if got := strings.Join(w.said, "\n"); !strings.Contains(got, x.want) {
				t.Errorf("the test said %q", got)
			}
		})
	}
}

// lines serves 2025-11-25 over lines: each answer to a call is what say writes.
func lines(say func(out io.Writer, id string), last string) mcptest.Serve {
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		for scan := bufio.NewScanner(in); scan.Scan(); {
			m := wire.Read(scan.Bytes())
			switch m.Method {
			case spec.MethodInitialize:
				_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"lines","version":"1"}}}`+"\n", m.ID)
			case spec.MethodToolsCall:
				say(out, string(m.ID))
			}
		}
		_, _ = io.WriteString(out, last)
		return nil
	}
}

// What a server says after its last answer is heard too, every time.
func TestLastWordsAreHeard(t *testing.T) {
	ok := func(out io.Writer, id string) {
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`+"\n", id)
	}
	for name, x := range map[string]struct {
		serve mcptest.Serve
		want  string
	}{
		"a second answer": {lines(func(out io.Writer, id string) { ok(out, id); ok(out, id) }, ""), "a second response"},
		"half a line":     {lines(ok, `{"jsonrpc":"2.0"`), "inside a line"},
		"a farewell":      {lines(ok, "bye bye\n"), "standard output"},
		"nothing":         {lines(ok, ""), ""},
	} {
		for range 10 {
			w := watch(t, func(t testing.TB) {
				mcptest.Open(t, x.serve, mcptest.Revision("2025-11-25")).CallTool("any", nil).HasText("ok")
			})
			if got := strings.Join(w.said, "\n"); (x.want == "") != (got == "") || !strings.Contains(got, x.want) {
				t.Fatalf("%s: the test said %q", name, got)
			}
		}
	}
}

// A message that comes with the handshake is held as any other.
func TestEarlyMessagesAreHeld(t *testing.T) {
	serve := func(_ context.Context, in io.Reader, out io.Writer) error {
		for scan := bufio.NewScanner(in); scan.Scan(); {
			if m := wire.Read(scan.Bytes()); m.Method == spec.MethodInitialize {
				_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"early","version":"1"}}}`+"\n", m.ID)
				_, _ = io.WriteString(out, strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"bogus","data":1}}`+"\n", 50))
			}
		}
		return nil
	}
	w := watch(t, func(t testing.TB) { mcptest.Open(t, serve, mcptest.Revision("2025-11-25")) })
	if got := strings.Join(w.said, "\n"); !strings.Contains(got, "notifications/message breaks the rules") {
		t.Errorf("the test said %q", got)
	}
}

// What a test made on a server it can take away again by the same client.
func TestCallsWhileCleaningUp(t *testing.T) {
	cleaned := false
	w := watch(t, func(t testing.TB) {
		c := mcptest.Open(t, echoing())
		t.Cleanup(func() {
			c.CallTool("echo", mcptest.Args{"text": "clean"}).HasText("clean")
			cleaned = true
		})
	})
	if w.failed || !cleaned {
		t.Errorf("the test said %q", w.said)
	}
}

// A tool that was allowed to be called and is not there judges nothing.
func TestFailingCalls(t *testing.T) {
	onlyWhenAsked(t)
	mcptest.Check(t, http.Handler(mock.New(harbour())), mcptest.Only("base.*"), mcptest.Calls("tidde", nil), mcptest.Opened(mcptest.Revision("2026-07-28")))
}

func TestMisspelledCallsFail(t *testing.T) {
	if out := runFailing(t, "TestFailingCalls", "."); !strings.Contains(out, `there is no tool "tidde"`) || !strings.Contains(out, "nearest: tide") {
		t.Error(out)
	}
}

// A server that ends at once says why.
func TestServersThatEndAtOnce(t *testing.T) {
	w := watch(t, func(t testing.TB) {
		mcptest.Open(t, func(context.Context, io.Reader, io.Writer) error { return fmt.Errorf("no such harbour") })
	})
	if got := strings.Join(w.said, "\n"); !strings.Contains(got, "no such harbour") {
		t.Errorf("the test said %q", got)
	}
}

// Progress is for those who asked for it.
func TestProgressOfNobodysToken(t *testing.T) {
	serve := lines(func(out io.Writer, id string) {
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":1}}`+"\n")
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", id)
	}, "")
	w := watch(t, func(t testing.TB) {
		mcptest.Open(t, serve, mcptest.Revision("2025-11-25")).CallTool("any", nil, mcptest.WithProgress()).IsOK()
	})
	if got := strings.Join(w.said, "\n"); !strings.Contains(got, `the token "mine", which nobody gave it`) {
		t.Errorf("the test said %q", got)
	}
}

// What answers under the id in another type, or twice in one event stream, is no
// answer of a right server, whatever it says.
func TestAnswersUnderOddIDs(t *testing.T) {
	events := func(h http.Header) { h.Set("Content-Type", "text/event-stream") }
	plain := func(h http.Header) { h.Set("Content-Type", "application/json") }
	const ok = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"ok"}]}}`
	for name, x := range map[string]struct {
		header func(http.Header)
		body   string
		want   string // empty for a right server
	}{
		"right":                  {plain, ok, ""},
		"right, in a stream":     {events, "data: " + ok + "\n\n", ""},
		"a string for a number":  {plain, strings.Replace(ok, "ID", `"ID"`, 1), "in another type"},
		"twice in one stream":    {events, strings.Repeat("data: "+ok+"\n\n", 2), "a second response"},
		"another id in a stream": {events, "data: " + ok + "\n\ndata: " + strings.Replace(ok, "ID", "4711", 1) + "\n\n", "never used"},
	} {
		w := watch(t, func(t testing.TB) {
			mcptest.Open(t, answering(x.header, x.body), mcptest.Revision("2025-06-18"), mcptest.Timeout(time.Second)).CallTool("any", nil).HasText("ok")
		})
		if got := strings.Join(w.said, "\n"); (x.want == "") != (got == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: the test said %q", name, got)
		}
	}
}
