// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// carriers are the two ways to a server.
var carriers = map[string]func(*mock.Server) transport.Target{
	"stdio": func(s *mock.Server) transport.Target { return s.Stdio("") },
	"http":  func(s *mock.Server) transport.Target { return s.HTTP("") },
}

func eachCarrier(t *testing.T, f func(t *testing.T, target func(*mock.Server) transport.Target)) {
	for name, target := range carriers {
		t.Run(name, func(t *testing.T) { f(t, target) })
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, target transport.Target, o session.Options) *session.Session {
	t.Helper()
	s, err := session.Open(within(t), target, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// judge validates everything that a server sends.
type judge struct {
	mu       sync.Mutex
	revision spec.Revision
	methods  map[string]string // by id
	bad      []string
	seen     map[string]bool // methods answered, and notifications
}

func newJudge(r spec.Revision) *judge {
	return &judge{revision: r, methods: map[string]string{}, seen: map[string]bool{}}
}

func (j *judge) tap(e transport.TapEvent) {
	if e.Frame == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	m := e.Frame.Message()
	if e.Sent {
		j.methods[string(m.ID)] = m.Method
		return
	}
	c := spec.MessageContext{From: spec.Server, Method: j.methods[string(m.ID)]}
	j.seen[c.Method+m.Method] = true
	for _, v := range spec.Validate(j.revision, c, e.Frame.Raw) {
		j.bad = append(j.bad, fmt.Sprintf("%s: %s\n\t%s", c.Method+m.Method, v, e.Frame.Raw))
	}
	for _, f := range m.Faults {
		j.bad = append(j.bad, fmt.Sprintf("%s\n\t%s", f, e.Frame.Raw))
	}
}

func (j *judge) report(t *testing.T) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.bad {
		t.Error(b)
	}
}

// post sends one HTTP request to a server, with the headers of a correct
// client unless change says otherwise.
func post(s http.Handler, body string, change func(http.Header)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, f := range headerOf(body) {
		r.Header.Set(f.Name, f.Value)
	}
	if change != nil {
		change(r.Header)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// headerOf is what a correct client sends beside a body.
func headerOf(body string) []wire.HeaderField {
	m := wire.Read([]byte(body))
	v, err := jsonx.Lookup(m.Params, "/_meta/io.modelcontextprotocol~1protocolVersion")
	if err != nil {
		return nil
	}
	version, _ := jsonx.Text(v)
	fs := []wire.HeaderField{{Name: spec.HeaderProtocolVersion, Value: version}, {Name: spec.HeaderMethod, Value: m.Method}}
	facts, _ := spec.MethodAt(m.Method, spec.Latest)
	if v, err := jsonx.Lookup(m.Params, "/"+facts.NameFrom); err == nil && facts.NameFrom != "" {
		name, _ := jsonx.Text(v)
		fs = append(fs, wire.HeaderField{Name: spec.HeaderName, Value: spec.EncodeHeaderValue(name)})
	}
	return fs
}

// modern is a request of the modern era; params are members without braces.
func modern(method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{%q:"2026-07-28",%q:{}}}}`,
		method, params, spec.MetaProtocolVersion, spec.MetaClientCapabilities)
}

func initialize(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version)
}

// code is the error code of a response, 0 for a result.
func code(t *testing.T, body []byte) int {
	t.Helper()
	m := wire.Read(body)
	switch m.Kind {
	case wire.Response:
		return 0
	case wire.ErrorResponse:
		return int(m.Error.Code)
	}
	t.Fatalf("no response: %q", body)
	return 0
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func lookup(text []byte, pointer string) (jsonx.Raw, error) { return jsonx.Lookup(text, pointer) }

func contains(text []byte, part string) bool { return strings.Contains(string(text), part) }
