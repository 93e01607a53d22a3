// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// bugServer is a scripted server with the fault of a report.
type bugServer struct {
	Script  string     `yaml:"script"`
	Lenient []string   `yaml:"lenient"`
	Faults  []bugFault `yaml:"faults"`
}

// bugFault is a fault of the mock in the words of the table.
type bugFault struct {
	On      string `yaml:"on"`
	When    string `yaml:"when"`
	Op      string `yaml:"op"`
	Pointer string `yaml:"pointer"`
	Text    string `yaml:"text"`
	With    string `yaml:"with"`
	Media   string `yaml:"media"`
	Code    int    `yaml:"code"`
}

// script is the mock that a row describes.
func (s *bugServer) script(t *testing.T) mock.Script {
	t.Helper()
	build := bugScripts[s.Script]
	if build == nil {
		t.Fatalf("there is no script %q", s.Script)
	}
	script := build()
	for _, name := range s.Lenient {
		script.Faults = append(script.Faults, mock.Lenient(name))
	}
	for _, f := range s.Faults {
		place := f.place(t, script)
		switch f.Op {
		case "http":
			script.Faults = append(script.Faults, place.HTTP(f.Code, cmp.Or(f.Media, spec.MediaJSON), f.Text))
			continue
		case string(mock.OpHeader):
			script.Faults = append(script.Faults, place.Header(f.Text, f.With))
			continue
		}
		script.Faults = append(script.Faults, mock.Fault{
			Place: place, Op: mock.Op(f.Op), Pointer: f.Pointer, Text: f.Text, With: f.With, Code: f.Code,
		})
	}
	return script
}

// place is where the fault happens.
func (f *bugFault) place(t *testing.T, s mock.Script) mock.Place {
	t.Helper()
	var p mock.Place
	switch f.On {
	case "", "*":
	case "notification":
		// A notification has no id, and no answer before the fault makes one.
		p = p.When(mock.IDIs("none"), mock.Not(mock.AnswerHas("/jsonrpc")))
	default:
		p = mock.On(f.On)
	}
	switch f.When {
	case "":
	case "result":
		p = p.OfResult()
	case "not-json":
		p.Method = mock.Unreadable
	case "unknown-method":
		p = p.OfCode(spec.CodeMethodNotFound)
	case "unknown-resource":
		p = p.OfCode(spec.CodeInvalidParams).When(mock.HasParam("/uri"))
	case "unknown-tool":
		p = p.OfCode(spec.CodeInvalidParams).When(mock.HasParam("/name"), mock.Not(mock.ParamIs("/arguments", "[]")))
		for _, tool := range s.Tools {
			p = p.When(mock.Not(mock.ParamIs("/name", string(probe.Lookup(tool.Definition, "/name")))))
		}
	case "divide":
		p = p.When(mock.ParamIs("/name", `"divide"`))
	case "absent-resource":
		p = p.OfCode(spec.CodeResourceNotFound)
	case "unknown-session":
		p = p.When(mock.HasHeader(spec.HeaderSessionID), mock.HeaderIs(spec.HeaderProtocolVersion, spec.Rev20251125.String())).OfCode(spec.CodeInvalidRequest)
	case "other-audience":
		p = p.When(bearer("TOKEN_FOR_OTHER_AUDIENCE"))
	case "same-user-in-session": // its first list is the one in a session of its own
		p = p.When(bearer("A_TOKEN_2_SAME_SUBJECT")).OnTurn(2)
	case "unserved-version":
		for _, r := range s.Revisions {
			p = p.When(mock.Not(mock.ParamIs("/protocolVersion", string(jsonx.Quote(r.String())))))
		}
	case "session-after-discover":
		p = p.When(mock.Earlier(spec.MethodDiscover), mock.Earlier(spec.MethodInitialize), mock.NoMeta(spec.MetaProtocolVersion))
	default:
		t.Fatalf("there is no case %q", f.When)
	}
	return p
}

// bugScripts are the servers that rows start from.
var bugScripts = map[string]func() mock.Script{
	"plain": mock.Specimen,
	"paged": func() mock.Script {
		s := mock.Specimen()
		s.PageSize = 1
		return s
	},
	"only-2025-06-18": func() mock.Script {
		s := mock.Specimen()
		s.Revisions = []spec.Revision{spec.Rev20250618}
		return s
	},
	"divide": func() mock.Script {
		t := reading("divide", nil)
		t.Definition = []byte(`{"name":"divide","description":"Fixture tool.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}`)
		return mock.Script{Tools: []mock.Tool{t}}
	},
	"log-viewer": func() mock.Script {
		const log = `Traceback (most recent call last):\n  File \"gauge.py\", line 7, in read\nKeyError`
		return mock.Script{Tools: []mock.Tool{reading("show_log", []byte(`{"content":[{"type":"text","text":"`+log+`"}]}`))}}
	},
	"tools-only": func() mock.Script { return ofTools(reading("lookup", nil)) },
	// It knows who issued a token, and not for whom.
	"takes-tokens": func() mock.Script {
		s := mock.Script{Tools: []mock.Tool{reading("lookup", nil)}}
		invalid := mock.On("")
		for _, known := range []string{"A_TOKEN_1", "A_TOKEN_2_SAME_SUBJECT", "TOKEN_FOR_OTHER_AUDIENCE"} {
			invalid = invalid.When(mock.Not(bearer(known)))
		}
		challenge := wire.HeaderField{Name: "WWW-Authenticate", Value: `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`}
		s.Faults = []mock.Fault{
			invalid.HTTP(http.StatusUnauthorized, "", "", challenge),
			mock.On("").When(mock.NoHeader(probe.HeaderAuthorization)).HTTP(http.StatusUnauthorized, "", "", challenge),
		}
		return s
	},
	"read-and-delete": func() mock.Script {
		return ofTools(
			reading("read_public", nil),
			mock.Tool{Definition: []byte(`{"name":"delete_all","description":"Deletes everything.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true}}`)},
		)
	},
	// The server makes a progress token of each call, whether one was given or not.
	"made-up-progress": func() mock.Script {
		t := reading("x", nil)
		var n atomic.Int64
		t.Func = func(_ context.Context, c *mock.Call) (json.RawMessage, error) {
			c.Notify(spec.NotificationProgress, fmt.Appendf(nil, `{"progressToken":"tool-call-%d","progress":0,"total":1}`, n.Add(1)))
			return []byte(`{"content":[{"type":"text","text":"done"}]}`), nil
		}
		return ofTools(t)
	},
	"relative-uri": func() mock.Script {
		s := ofTools(reading("get_file", []byte(`{"content":[{"type":"resource","resource":{"uri":"/package.json","mimeType":"text/plain","blob":"e30K"}}]}`)))
		s.Resources = []mock.Resource{{Definition: []byte(`{"uri":"fixture://one","name":"one"}`)}} // so that resources are declared
		return s
	},
	"legacy-code-page": func() mock.Script {
		return ofTools(reading("get_source", []byte("{\"content\":[{\"type\":\"text\",\"text\":\"/* \xc7\xd1\xb1\xdb */\"}]}")))
	},
	"large-results": func() mock.Script {
		s := ofTools()
		sizes := []int{65535, 65536, 65537, 1 << 20, 5 << 20}
		if testing.Short() {
			sizes = sizes[:4] // every rule reads every answer, and the race detector reads slowly
		}
		for _, size := range sizes {
			s.Tools = append(s.Tools, reading(fmt.Sprintf("give_%d", size),
				fmt.Appendf(nil, `{"content":[{"type":"text","text":"%s"}]}`, strings.Repeat("x", size))))
		}
		return s
	},
}

// bearer holds for requests that carry a token.
func bearer(token string) mock.Condition {
	return mock.HeaderIs(probe.HeaderAuthorization, probe.Bearer(token))
}

// ofTools is a server of the modern era with tools alone.
func ofTools(tools ...mock.Tool) mock.Script {
	return mock.Script{Revisions: []spec.Revision{spec.Rev20260728}, Tools: tools}
}

// reading is a tool that only reads and takes no arguments.
func reading(name string, result json.RawMessage) mock.Tool {
	return mock.Tool{
		Definition: fmt.Appendf(nil, `{"name":%q,"description":"Fixture tool.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true}}`, name),
		Result:     result,
	}
}

// bugLine is one line of a transcript.
type bugLine struct {
	Dir    string          `json:"dir"`
	JSON   json.RawMessage `json:"json"`
	Raw    *string         `json:"raw"`
	B64    []byte          `json:"b64"`
	Stderr string          `json:"stderr"`
	Event  json.RawMessage `json:"event"`
	HTTP   *struct {
		Request struct {
			Method  string            `json:"method"`
			Path    string            `json:"path"`
			Headers map[string]string `json:"headers"`
			Body    json.RawMessage   `json:"body"`
		} `json:"request"`
		Response struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Body    json.RawMessage   `json:"body"`
		} `json:"response"`
	} `json:"http"`
}

// traffic reads the transcript of a play.
func (p *play) traffic(t *testing.T) *probe.Traffic {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(bugDir, p.Recording))
	if err != nil {
		t.Fatal(err)
	}
	r, err := spec.ParseRevision(p.Revision)
	if err != nil {
		t.Fatal(err)
	}
	kind := transport.Stdio
	if p.Transport == "http" {
		kind = transport.StreamableHTTP
	}
	rec := probe.NewRecorder(kind, r)
	if p.Tools != "" {
		listed(t, rec, filepath.Join(bugDir, p.Tools))
	}
	if filepath.Ext(p.Recording) == ".txt" {
		streamed(t, rec, data)
		return rec.Traffic()
	}
	for text := range bytes.Lines(data) {
		var l bugLine
		if err := jsonx.Unmarshal(text, &l); err != nil {
			t.Fatalf("%s: %v", p.Recording, err)
		}
		l.add(t, rec)
	}
	return rec.Traffic()
}

// listed puts the list of tools before a recording that begins behind it.
func listed(t *testing.T, rec *probe.Recorder, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var result bytes.Buffer
	if err := json.Compact(&result, data); err != nil {
		t.Fatal(err)
	}
	rec.Line("stdio", wire.ToServer, []byte(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`))
	rec.Line("stdio", wire.ToClient, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"list","result":%s}`, result.Bytes()))
}

// streamed puts an event stream into a recording, as the answer to tools/list.
func streamed(t *testing.T, rec *probe.Recorder, text []byte) {
	t.Helper()
	var l bugLine
	const line = `{"http":{"request":{"method":"POST","path":"/mcp","headers":{"Content-Type":"application/json"},` +
		`"body":{"jsonrpc":"2.0","id":1,"method":"tools/list"}},"response":{"status":200,"headers":{"Content-Type":"text/event-stream"}}}}`
	if err := jsonx.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	l.HTTP.Response.Body = json.RawMessage(jsonx.Quote(string(text)))
	l.add(t, rec)
}

// add puts a line of a transcript into a recording.
func (l *bugLine) add(t *testing.T, rec *probe.Recorder) {
	t.Helper()
	switch {
	case l.HTTP != nil:
		q, a := &l.HTTP.Request, &l.HTTP.Response
		answer := &wire.Head{Dir: wire.ToClient, Status: a.Status, Header: fields(a.Headers), Exact: true}
		frames, body := framesOf(t, answer, a.Body)
		rec.HTTP("http",
			&wire.Head{Dir: wire.ToServer, Method: q.Method, URL: "http://127.0.0.1" + q.Path, Header: fields(q.Headers), Exact: true},
			q.Body, answer, frames, body)
		return
	case l.Stderr != "" || l.Event != nil:
		return
	}
	dir := wire.ToServer
	if l.Dir == "s2c" {
		dir = wire.ToClient
	}
	text := []byte(l.JSON)
	if l.Raw != nil {
		text = []byte(*l.Raw)
	} else if l.B64 != nil {
		text = l.B64
	}
	for one := range bytes.Lines(text) {
		rec.Line("stdio", dir, bytes.TrimSuffix(one, []byte("\n")))
	}
}

func fields(m map[string]string) []wire.HeaderField {
	var out []wire.HeaderField
	for k, v := range m {
		out = append(out, wire.HeaderField{Name: k, Value: v})
	}
	return out
}

// framesOf are the messages of a body: a JSON text, or the events of a stream,
// which a transcript holds as a string.
func framesOf(t *testing.T, head *wire.Head, body json.RawMessage) (frames []*wire.Frame, other []byte) {
	t.Helper()
	text, isText := jsonx.Text(body)
	switch {
	case body == nil, string(body) == "null": // there was none
		return nil, nil
	case !isText:
		return []*wire.Frame{{Raw: body, Dir: wire.ToClient, HTTP: head}}, nil
	case head.MediaType() != spec.MediaEventStream:
		return nil, []byte(text)
	}
	events := wire.NewEvents(strings.NewReader(text), 0)
	for {
		e, err := events.Next()
		if err == io.EOF {
			return frames, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Dispatched() {
			frames = append(frames, &wire.Frame{Raw: e.Data, Dir: wire.ToClient, HTTP: head, Event: e})
		}
	}
}
