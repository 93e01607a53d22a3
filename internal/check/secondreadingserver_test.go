// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// perfectServer is the server that the situations start from.
type perfectServer struct {
	readScript `yaml:",inline"`
	Sends      []sending `yaml:"sends"`
	Asks       string    `yaml:"asks"`
}

// readScript is what a server shows. What is nil is that of the perfect server.
type readScript struct {
	PageSize     *int       `yaml:"pageSize"`
	Capabilities string     `yaml:"capabilities"`
	Tools        []string   `yaml:"tools"`
	Prompts      []readItem `yaml:"prompts"`
	Resources    []string   `yaml:"resources"`
	Templates    []readItem `yaml:"templates"`
	Revisions    []string   `yaml:"revisions"`
}

// readItem is a prompt or a template.
type readItem struct {
	Definition string              `yaml:"definition"`
	Messages   string              `yaml:"messages"`
	Complete   map[string][]string `yaml:"complete"`
}

// sending is a notification of the tool work.
type sending struct {
	With   string `yaml:"with"`
	Method string `yaml:"method"`
	Params string `yaml:"params"`
}

// readServer is how a server differs from the perfect one.
type readServer struct {
	Faults     []readFault    `yaml:"faults"`
	Script     readScript     `yaml:"script"`
	Sends      []sending      `yaml:"sends"`
	Asks       string         `yaml:"asks"`
	Behaviour  *readBehaviour `yaml:"behaviour"`
	Transcript []readLine     `yaml:"transcript"`
}

type readFault struct {
	On      string    `yaml:"on"`
	Page    int       `yaml:"page"`
	Turn    int       `yaml:"turn"`
	When    *readWhen `yaml:"when"`
	Op      string    `yaml:"op"`
	Pointer string    `yaml:"pointer"`
	Text    string    `yaml:"text"`
	Code    int       `yaml:"code"`
	Status  int       `yaml:"status"`
	Type    string    `yaml:"type"`
	Name    string    `yaml:"name"`
	Value   string    `yaml:"value"`
}

type readWhen struct {
	Pointer string   `yaml:"pointer"`
	Header  string   `yaml:"header"`
	Absent  bool     `yaml:"absent"`
	Is      string   `yaml:"is"`
	Not     []string `yaml:"not"`
}

// readLine is one line of a transcript over stdio.
type readLine struct {
	Dir  string    `yaml:"dir"`
	JSON yaml.Node `yaml:"json"`
}

// target builds the server, and tells whether its dangerous tool was called.
func (s *readServer) target(t *testing.T, perfect *perfectServer, k transport.Kind) (transport.Target, *atomic.Bool) {
	t.Helper()
	script, erased := s.script(t, perfect)
	if s.Behaviour != nil {
		behave := behaviours[s.Behaviour.Name]
		if behave == nil {
			t.Fatalf("there is no behaviour %q", s.Behaviour.Name)
		}
		return behave(s.Behaviour, script), erased
	}
	if k == transport.Stdio {
		return mock.New(script).Stdio("mock"), erased
	}
	return mock.New(script).HTTP("mock"), erased
}

// script is the mock of the server.
func (s *readServer) script(t *testing.T, perfect *perfectServer) (mock.Script, *atomic.Bool) {
	t.Helper()
	look := perfect.readScript.with(s.Script)
	sends, asks := perfect.Sends, perfect.Asks
	if s.Sends != nil {
		sends = s.Sends
	}
	if s.Asks != "" {
		asks = s.Asks
	}
	erased := &atomic.Bool{}
	does := map[string]mock.Func{
		"echo": func(_ context.Context, c *mock.Call) (json.RawMessage, error) {
			return textResult(probe.Text(probe.Lookup(c.Arguments, "/text"))), nil
		},
		"work": func(ctx context.Context, c *mock.Call) (json.RawMessage, error) { return work(ctx, c, sends) },
		"ask":  func(_ context.Context, c *mock.Call) (json.RawMessage, error) { return ask(c, asks) },
		"erase": func(context.Context, *mock.Call) (json.RawMessage, error) {
			erased.Store(true)
			return textResult("Erased."), nil
		},
	}
	script := mock.Script{Capabilities: []byte(look.Capabilities), PageSize: *look.PageSize}
	for _, r := range look.Revisions {
		revision, err := spec.ParseRevision(r)
		if err != nil {
			t.Fatal(err)
		}
		script.Revisions = append(script.Revisions, revision)
	}
	for _, d := range look.Tools {
		do := does[probe.Text(probe.Lookup([]byte(d), "/name"))]
		if do == nil {
			t.Fatalf("nothing is known of the tool %s", d)
		}
		script.Tools = append(script.Tools, mock.Tool{Definition: []byte(d), Func: do})
	}
	for _, p := range look.Prompts {
		script.Prompts = append(script.Prompts, mock.Prompt{Definition: []byte(p.Definition), Messages: optional(p.Messages), Complete: p.Complete})
	}
	for _, d := range look.Resources {
		script.Resources = append(script.Resources, mock.Resource{Definition: []byte(d)})
	}
	for _, p := range look.Templates {
		script.Templates = append(script.Templates, mock.Template{Definition: []byte(p.Definition), Complete: p.Complete})
	}
	// The states of ask are none of the mock's own.
	script.Faults = append(script.Faults, mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"ask"`)).Lenient(mock.CheckStateIntegrity))
	for _, f := range s.Faults {
		fault := f.fault(t)
		if fault.Op == mock.OpBody {
			// Nothing has been said on an event stream before.
			script.Faults = append(script.Faults, mock.Fault{Place: fault.Place, Op: mock.OpJSON})
		}
		script.Faults = append(script.Faults, fault)
	}
	return script, erased
}

// with is a script with the parts of another in place of its own.
func (r readScript) with(o readScript) readScript {
	if o.PageSize != nil {
		r.PageSize = o.PageSize
	}
	if o.Capabilities != "" {
		r.Capabilities = o.Capabilities
	}
	if o.Tools != nil {
		r.Tools = o.Tools
	}
	if o.Prompts != nil {
		r.Prompts = o.Prompts
	}
	if o.Resources != nil {
		r.Resources = o.Resources
	}
	if o.Templates != nil {
		r.Templates = o.Templates
	}
	r.Revisions = o.Revisions
	if r.Revisions == nil {
		r.Revisions = []string{spec.Rev20260728.String()}
	}
	return r
}

func optional(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func textResult(s string) json.RawMessage {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonx.Quote(s))
}

// work takes its time, and tells how far it is to whoever asks.
func work(ctx context.Context, c *mock.Call, sends []sending) (json.RawMessage, error) {
	const takes = 150 * time.Millisecond
	token := probe.Lookup(c.Params, "/_meta/progressToken")
	level := probe.Lookup(c.Params, "/_meta/io.modelcontextprotocol~1logLevel")
	pause := func() error {
		select {
		case <-time.After(takes / time.Duration(len(sends)+1)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, s := range sends {
		if err := pause(); err != nil {
			return nil, err
		}
		if s.With == "token" && token != nil || s.With == "level" && level != nil {
			c.Notify(s.Method, []byte(strings.ReplaceAll(s.Params, "$token", string(token))))
		}
	}
	return textResult("Three."), pause()
}

// ask asks what it is told to, of a client that can answer.
func ask(c *mock.Call, asks string) (json.RawMessage, error) {
	answers, state := probe.Lookup(c.Params, "/inputResponses"), probe.Lookup(c.Params, "/requestState")
	if answers != nil || state != nil {
		if string(state) != string(probe.Lookup([]byte(asks), "/requestState")) {
			return nil, &mock.Error{Code: spec.CodeInvalidParams, Message: "requestState is not valid"}
		}
		for _, a := range probe.Members(answers) {
			for _, field := range probe.Members(probe.Lookup(json.RawMessage(a.Value), "/content")) {
				if jsonx.KindOf(field.Value) != jsonx.String {
					return nil, &mock.Error{Code: spec.CodeInvalidParams, Message: "an answer is not valid"}
				}
			}
		}
		return textResult("Thank you."), nil
	}
	requests, _ := jsonx.Members(probe.Lookup([]byte(asks), "/inputRequests"), jsonx.Lenient)
	for _, r := range requests {
		mode := probe.Text(probe.Lookup(json.RawMessage(r.Value), "/params/mode"))
		if mode == "" {
			mode = "form"
		}
		declared := probe.Lookup(c.Params, "/_meta/io.modelcontextprotocol~1clientCapabilities/elicitation")
		if probe.Lookup(declared, "/"+mode) == nil && !(mode == "form" && string(declared) == "{}") {
			return nil, &mock.Error{
				Code: spec.CodeMissingClientCapability, Message: "the client cannot be asked",
				Data: fmt.Appendf(nil, `{"requiredCapabilities":{"elicitation":{%q:{}}}}`, mode),
			}
		}
	}
	return []byte(asks), nil
}

// fault is the fault of the mock.
func (f *readFault) fault(t *testing.T) mock.Fault {
	t.Helper()
	out := mock.Fault{
		Place: mock.Place{Method: f.On, Page: f.Page, Turn: f.Turn}, Op: mock.Op(f.Op),
		Pointer: f.Pointer, Text: strings.ReplaceAll(f.Text, "$id", "{{/id}}"), Code: f.Code,
	}
	switch out.Op {
	case mock.OpHeader:
		out.Header = []wire.HeaderField{{Name: f.Name, Value: f.Value}}
	case mock.OpBody:
		out.Code, out.Header = f.Status, []wire.HeaderField{{Name: spec.HeaderContentType, Value: f.Type}}
	}
	if w := f.When; w != nil {
		at := strings.TrimPrefix(w.Pointer, "/params")
		switch {
		case w.Header != "":
			out.Place = out.When(mock.HeaderIs(w.Header, w.Is))
		case at == w.Pointer:
			t.Fatalf("%s is not in the params", w.Pointer)
		case w.Absent:
			out.Place = out.When(mock.NoParam(at))
		case w.Is != "":
			out.Place = out.When(mock.ParamIs(at, w.Is))
		}
		for _, v := range w.Not {
			out.Place = out.When(mock.Not(mock.ParamIs(at, v)))
		}
	}
	return out
}

// traffic is a transcript as a recording.
func (s *readServer) traffic(k transport.Kind) *probe.Traffic {
	rec := probe.NewRecorder(k, spec.Rev20260728)
	for i := range s.Transcript {
		l := &s.Transcript[i]
		dir := wire.ToServer
		if l.Dir == "s2c" {
			dir = wire.ToClient
		}
		rec.Line("1", dir, jsonOf(&l.JSON))
	}
	return rec.Traffic()
}

// jsonOf is a node as JSON, its members in their order.
func jsonOf(n *yaml.Node) []byte {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, string(jsonx.Quote(n.Content[i].Value))+":"+string(jsonOf(n.Content[i+1])))
		}
		return []byte("{" + strings.Join(parts, ",") + "}")
	case yaml.SequenceNode:
		for _, e := range n.Content {
			parts = append(parts, string(jsonOf(e)))
		}
		return []byte("[" + strings.Join(parts, ",") + "]")
	}
	if n.ShortTag() == "!!str" {
		return jsonx.Quote(n.Value)
	}
	return []byte(n.Value)
}
