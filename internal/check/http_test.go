// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// refusals are the rules that ask for one certain refusal of something wrong.
var refusals = []string{
	"http-header.version-mismatch-32020", "http-header.version-missing-refused", "http-header.method-missing-32020",
	"http-header.method-mismatch-32020", "http-header.name-missing-32020", "http-header.name-mismatch-tools",
	"http-header.name-mismatch-resources", "http-header.name-mismatch-prompts", "http-header.base64-markers-exact",
	"http-header.base64-mismatch-after-decode", "http-header.base64-malformed", "http-header.invalid-characters-refused",
	"http-header.mismatch-status-400", "http-header.mismatch-jsonrpc-body", "transport-http.header-values-case-sensitive",
	"transport-http.unknown-method-404", "transport-http.unsupported-version-400", "x-mcp-header.server-checks-match",
	"x-mcp-header.server-refuses-missing", "x-mcp-header.server-refuses-invalid-chars", "x-mcp-header.server-numeric-compare",
}

// A server that serves what is right and refuses everything else in one way
// passes none of the rules that ask for a certain refusal.
func TestOneRefusalForEverything(t *testing.T) {
	wrong := mock.On("").OfError()
	for name, faults := range map[string][]mock.Fault{
		"400 and -32600":          {wrong.Error(spec.CodeInvalidRequest, "bad request"), wrong.Status(http.StatusBadRequest)},
		"400 and -32602":          {wrong.Error(spec.CodeInvalidParams, "bad request"), wrong.Status(http.StatusBadRequest)},
		"400 and a page":          {wrong.HTTP(http.StatusBadRequest, "text/html", "<h1>Bad request</h1>")},
		"400 and nothing":         {wrong.HTTP(http.StatusBadRequest, "", "")},
		"200 and -32020":          {wrong.Error(spec.CodeHeaderMismatch, "bad request"), wrong.Status(http.StatusOK)},
		"400 and another message": {wrong.HTTP(http.StatusBadRequest, spec.MediaJSON, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := mock.Specimen()
			script.Revisions = spec.Modern.Revisions()
			script.Faults = faults
			got := judgeBy(t, script, newest(transport.StreamableHTTP), check.Options{Only: []string{"http-header", "transport-http", "x-mcp-header"}})
			blamed := 0
			for _, id := range refusals {
				o, ok := got[id]
				switch {
				case !ok:
					t.Errorf("%s was not judged", id)
				case o.Status == rule.Error:
					t.Error(show(o))
				case o.Status == rule.Pass && !(strings.Contains(name, "-32020") && headerOnly(id)):
					t.Errorf("%s passes", id)
				case o.Status == rule.Fail || o.Status == rule.Warn:
					blamed++
				}
			}
			if blamed == 0 {
				t.Error("nothing is blamed")
			}
			if blamed > 3 {
				for _, id := range refusals {
					if o := got[id]; o.Status == rule.Fail || o.Status == rule.Warn {
						t.Log(show(o))
					}
				}
				t.Errorf("%d findings for one cause", blamed)
			}
		})
	}
}

// headerOnly reports whether the code -32020 is what the rule asks for, whatever
// the status, which has a rule of its own.
func headerOnly(id string) bool {
	return id != "http-header.mismatch-status-400" && !strings.HasPrefix(id, "transport-http.un")
}

// A server that listens at every address of the machine is told from one that
// listens at loopback alone.
func TestBindLocalhost(t *testing.T) {
	const id, all = "transport-http.bind-localhost", "sec.bind-all"
	for _, tc := range []struct {
		address string
		started bool
		want    map[string]rule.Status
	}{
		{"127.0.0.1:0", false, map[string]rule.Status{id: rule.Pass, all: rule.Skip}},
		{"127.0.0.1:0", true, map[string]rule.Status{id: rule.Pass, all: rule.Pass}},
		{"0.0.0.0:0", false, map[string]rule.Status{id: rule.Warn, all: rule.Skip}},
		{"0.0.0.0:0", true, map[string]rule.Status{id: rule.Skip, all: rule.Fail}}, // one cause
	} {
		address := tc.address
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: mock.New(mock.Specimen()), ReadHeaderTimeout: 5 * time.Second}
		var wait sync.WaitGroup
		wait.Go(func() { _ = s.Serve(l) })
		_, port, _ := net.SplitHostPort(l.Addr().String())
		o := check.Options{Only: []string{id, all}}
		o.Mine, o.Started = true, tc.started
		r, err := check.Run(t.Context(), &transport.HTTP{URL: "http://127.0.0.1:" + port + "/mcp"}, o)
		_ = s.Close()
		wait.Wait()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range r.Outcomes {
			want, named := tc.want[o.Rule.ID]
			switch {
			case !named:
			case o.Status == rule.Skip && strings.Contains(o.Reason, "no address"):
				t.Skip(o.Reason)
			case o.Status != want:
				t.Errorf("a server at %s, started %t: want %s\n%s", address, tc.started, want, show(o))
			}
		}
	}
}

// A message that has a method and a result may be read as a response, and is
// accepted as one.
func TestWhatMayBeAResponse(t *testing.T) {
	s := specimen()
	s.Faults = append(s.Faults, mock.On("").When(mock.ParamIs("/mcprove", `"both"`)).HTTP(http.StatusAccepted, "", ""))
	got := judge(t, s, newest(transport.StreamableHTTP))
	if o := got["transport-http.request-content-type"]; o.Status != rule.Pass {
		t.Error(show(o))
	}
	if o := got["sec.malformed-survives"]; o.Status != rule.Pass {
		t.Error(show(o))
	}
}

// A server may close a connection that it keeps at any moment, also when a
// request is on its way to it (RFC 9112, section 9.6): that is nobody's fault.
func TestKeptConnectionsThatClose(t *testing.T) {
	t.Parallel()
	for _, revision := range []spec.Revision{spec.Latest, spec.Rev20251125} {
		type requests struct{ n atomic.Int64 }
		type key struct{}
		inner, closed := served(t, specimen()), atomic.Int64{}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Context().Value(key{}).(*requests).n.Add(1) == 3 {
				c, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					closed.Add(1)
					_ = c.Close()
				}
				return
			}
			inner.ServeHTTP(w, r)
		}))
		s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, key{}, &requests{})
		}
		s.Start()
		o := check.Options{Options: probe.Options{Failing: failing, Revision: revision, Tools: namedTools}}
		for _, out := range judgeAt(t, &transport.HTTP{URL: s.URL + "/mcp"}, o) {
			if out.Status > rule.Note {
				t.Errorf("%s: %s", revision, show(out))
			}
		}
		_ = inner.Shutdown(t.Context()) // ends its streams
		s.Close()
		if closed.Load() == 0 {
			t.Error("no connection was closed")
		}
		t.Logf("%s: %d connections were closed", revision, closed.Load())
	}
}

// Servers agree on the oldest revision over a transport that is younger: they are
// judged by all of that revision but its transport.
func TestOldestOverStreamableHTTP(t *testing.T) {
	t.Parallel()
	s := specimen()
	s.Revisions = []spec.Revision{spec.Rev20241105}
	o := check.Options{Options: probe.Options{Failing: failing, Revision: spec.Rev20241105, Tools: namedTools}}
	r := runOn(t, s, func(m *mock.Server) transport.Target {
		return &transport.Handler{Handler: m, URL: "http://127.0.0.1/mcp"}
	}, o)
	passed := 0
	for _, out := range r.Outcomes {
		switch {
		case out.Status > rule.Note, strings.HasPrefix(out.Rule.ID, "http-sse."):
			t.Error(show(out))
		case out.Status == rule.Pass:
			passed++
		}
	}
	if passed < 100 {
		t.Errorf("%d rules passed", passed)
	}
}
