// SPDX-License-Identifier: Apache-2.0

package mcptest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/mcptest"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// chandlery has what the harbour lacks.
func chandlery() mock.Script {
	return mock.Script{
		Instructions: "Ask for rope first.",
		Capabilities: []byte(`{"logging":{},"tools":{},"resources":{},"prompts":{},"completions":{}}`),
		Tools: []mock.Tool{{
			Definition: []byte(`{"name":"talk","inputSchema":{"type":"object"}}`),
			Answers: []mock.Answer{{
				Steps:  []mock.Step{{Log: &mock.Log{Level: "debug", Data: []byte(`"low"`)}}, {Log: &mock.Log{Level: "error", Logger: "till", Data: []byte(`"high"`)}}},
				Result: []byte(`{"content":[{"type":"text","text":"said"}]}`),
			}},
		}, {
			Definition: []byte(`{"name":"haggle","inputSchema":{"type":"object"}}`),
			Answers: []mock.Answer{{Ask: []mock.Ask{
				{Key: "a", Round: 1, Method: spec.MethodElicit, Params: haggle}, {Key: "b", Round: 2, Method: spec.MethodElicit, Params: haggle},
				{Key: "c", Round: 3, Method: spec.MethodElicit, Params: haggle},
			}}},
		}, {
			Definition: []byte(`{"name":"write","inputSchema":{"type":"object"}}`),
			Answers: []mock.Answer{{
				Ask: []mock.Ask{
					{Key: "poem", Method: spec.MethodCreateMessage, Params: []byte(`{"messages":[{"role":"user","content":{"type":"text","text":"A poem."}}],"maxTokens":10}`)},
					{Key: "where", Method: spec.MethodRootsList},
				},
				Result: []byte(`{"content":[{"type":"text","text":"{{input.poem.content.text}}"}]}`),
			}},
		}},
		Resources: []mock.Resource{{
			Definition: []byte(`{"uri":"file:///chart","name":"chart","mimeType":"image/png"}`),
			Contents:   []byte(`[{"uri":"file:///chart","mimeType":"image/png","blob":"Y2hhcnQ="}]`),
		}},
		Templates: []mock.Template{{
			Definition: []byte(`{"uriTemplate":"price://{ware}","name":"price"}`),
			Contents:   []byte(`[{"uri":"{{uri}}","text":"ten"}]`),
			Complete:   map[string][]string{"ware": {"rope", "rum"}},
		}},
		Prompts: []mock.Prompt{{
			Definition: []byte(`{"name":"order","arguments":[{"name":"ware","required":true}]}`),
			Messages:   []byte(`[{"role":"user","content":{"type":"text","text":"Order {{ware}}."}}]`),
			Complete:   map[string][]string{"ware": {"rope", "rum"}},
		}},
	}
}

var haggle = json.RawMessage(`{"message":"Less?","requestedSchema":{"type":"object","properties":{"yes":{"type":"boolean"}}}}`)

func TestTheRestOfTheClient(t *testing.T) {
	mcptest.EachEra(t, mcptest.Fresh(func(testing.TB) any { return mock.New(chandlery()) }), func(t *testing.T, c *mcptest.Client) {
		if c.Instructions() != "Ask for rope first." {
			t.Errorf("the instructions are %q", c.Instructions())
		}
		c.HasTemplate("price://{ware}")
		if p := c.HasPrompt("order"); len(p.Arguments) != 1 || !p.Arguments[0].Required {
			t.Errorf("the prompt is %+v", p)
		}
		c.GetPrompt("order", map[string]string{"ware": "rope"}).HasText("Order rope.")
		c.ReadResource("price://rum").HasText("ten")
		if mime, data := c.ReadResource("file:///chart").Blob(); mime != "image/png" || string(data) != "chart" {
			t.Errorf("the blob is %s %q", mime, data)
		}
		c.Complete("order", "ware", "ru", nil).HasAt("/completion/values", []string{"rum"})
		c.Complete("price://{ware}", "ware", "ro", nil).HasAt("/completion/values", []string{"rope"})
		c.CallTool("talk", nil).HasText("said").LogsAt("error").Satisfies(func(r *mcptest.Reply) error {
			logs := r.Logs()
			return unless(len(logs) == 1 && logs[0].Logger == "till" && string(logs[0].Data) == `"high"`, "the log is not what it was asked for")
		})
		if !c.Modern() {
			c.Ping().IsOK()
		}
		if got := c.Recording().ByMethod(spec.MethodComplete); len(got) != 4 {
			t.Errorf("%d records of completions", len(got))
		}
	}, mcptest.LogLevel("error"))
}

func TestSamplingAndRootsInBothEras(t *testing.T) {
	for _, era := range []mcptest.Option{mcptest.Legacy, mcptest.Modern} {
		c := mcptest.Open(t, chandlery(), era, mcptest.OnSample(mcptest.Completion("The sea is wide.")), mcptest.Roots("file:///home"))
		c.CallTool("write", nil).HasText("The sea is wide.")
		if got := c.Asked(); len(got) != 2 {
			t.Errorf("it asked %v", got)
		}
	}
}

func TestRoundsAreCapped(t *testing.T) {
	c := mcptest.Open(t, chandlery(), mcptest.Modern, mcptest.MaxRounds(2), mcptest.OnElicit(mcptest.Always(mcptest.Accept(mcptest.Args{"yes": true}))))
	r := c.CallTool("haggle", nil)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "asked for input 3 times") {
		t.Errorf("the error is %v", err)
	}
}

// Headers, status and middleware are in the path.
func TestMiddlewareIsInThePath(t *testing.T) {
	server := mock.New(chandlery())
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame-open-now" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "who is there?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Served-By", r.Header.Get("X-Test"))
		server.ServeHTTP(w, r)
	})
	c := mcptest.Open(t, guarded, mcptest.Header("Authorization", "Bearer sesame-open-now"))
	r := c.CallTool("talk", nil, mcptest.WithHeader("X-Test", "yes"), mcptest.WithMeta("com.example/trace", "t1"))
	if r.HasStatus(200).Header("x-served-by") != "yes" {
		t.Errorf("the header is %q", r.Header("x-served-by"))
	}
	if sent := string(r.Frames()[0].Raw); !strings.Contains(sent, `"com.example/trace":"t1"`) {
		t.Errorf("sent %s", sent)
	}
	w := watch(t, func(t testing.TB) { mcptest.Open(t, guarded) })
	if got := strings.Join(w.said, ""); !strings.Contains(got, "401") || !strings.Contains(got, `mcptest.Header("Authorization"`) {
		t.Errorf("the test said %s", got)
	}
}

// headerless is a target that no header can be given to.
type headerless struct{ transport.Target }

// A header of the test reaches every target over HTTP, or the test says that it
// cannot.
func TestHeadersReachTheTarget(t *testing.T) {
	server := mock.New(chandlery())
	for name, target := range map[string]any{
		"mock": server, "script": chandlery(), "target": server.HTTP("m"), "handler": http.Handler(server),
		"transport": &transport.Handler{Handler: server}, "pipes": server.Stdio("s"),
	} {
		c := mcptest.Open(t, target, mcptest.Header("X-Watch", "first"))
		r := c.CallTool("talk", nil).IsOK()
		if name == "pipes" {
			continue // lines have no headers
		}
		if sent := r.Exchange().Heads[0]; sent.Get("X-Watch") != "first" {
			t.Errorf("%s: sent %v", name, sent.Header)
		}
	}
	w := watch(t, func(t testing.TB) { mcptest.Open(t, headerless{server.HTTP("m")}, mcptest.Header("X-Watch", "first")) })
	if got := strings.Join(w.said, ""); !strings.Contains(got, "cannot be sent") {
		t.Errorf("the test said %q", got)
	}
}

// A server that is wrong in one point fails the test in that point, whatever the
// test asserts.
func TestWrongServersFailTheTest(t *testing.T) {
	for name, x := range map[string]struct {
		faults []mock.Fault
		want   string
	}{
		"a second answer":        {[]mock.Fault{mock.On(spec.MethodToolsCall).Twice()}, "a second response to one request"},
		"noise":                  {[]mock.Fault{mock.On(spec.MethodToolsCall).Before("starting...\n")}, "on standard output"},
		"an unknown result type": {[]mock.Fault{mock.On(spec.MethodToolsCall).OfResult().Set("/result/resultType", `"partial"`)}, "resultType"},
		"a wrong notification":   {[]mock.Fault{mock.OnNotification(spec.NotificationMessage).Remove("/params/data")}, "notifications/message breaks"},
		"a wrong listing":        {[]mock.Fault{mock.On(spec.MethodToolsList).Set("/result/tools/0/inputSchema", `true`)}, "tools/list breaks"},
		"a wrong handshake":      {[]mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/capabilities")}, "server/discover"},
	} {
		t.Run(name, func(t *testing.T) {
			s := chandlery()
			s.Faults = x.faults
			w := watch(t, func(t testing.TB) {
				c := mcptest.Open(t, mock.New(s).Stdio("stdio"), mcptest.Modern, mcptest.LogLevel("debug"))
				c.CallTool("talk", nil).Ignore()
				c.ReadResource("file:///chart").Ignore()
			})
			if got := strings.Join(w.said, "\n"); !strings.Contains(got, x.want) {
				t.Errorf("the test said %q", got)
			}
		})
	}
}
