// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// standingServer asks for roots on the standing stream of a legacy session when
// its tool is called, as the servers of the TypeScript SDK do, and answers the
// call by what it was told.
func standingServer(t *testing.T) string {
	t.Helper()
	streams, told := make(chan string, 1), make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			select {
			case q := <-streams:
				fmt.Fprintf(w, "data: %s\n\n", q)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
			<-r.Context().Done()
			return
		}
		if r.Method != http.MethodPost {
			return
		}
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Params struct{ Name string }
		}
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		answer := func(format string, args ...any) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":`+format+`}`, append([]any{m.ID}, args...)...)
		}
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "one")
			answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "tools/list":
			answer(`{"tools":[{"name":"where","inputSchema":{"type":"object"}},{"name":"mute","inputSchema":{"type":"object"}}]}`)
		case m.Params.Name == "mute":
			<-r.Context().Done()
		case m.Method == "tools/call":
			streams <- `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`
			select {
			case roots := <-told:
				text, _ := json.Marshal(roots)
				answer(`{"content":[{"type":"text","text":%s}]}`, text)
			case <-r.Context().Done():
			}
		case m.Result != nil:
			told <- string(m.Result)
			w.WriteHeader(http.StatusAccepted)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A legacy server over HTTP may ask on the standing stream alone.
func TestQuestionsOnTheStandingStream(t *testing.T) {
	url := standingServer(t)
	run := func(args ...string) (int, string, string) {
		var stdout, stderr output
		code := Run(t.Context(), Env{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Environ: os.Environ(), Now: time.Now})
		return code, stdout.String(), stderr.String()
	}
	code, stdout, stderr := run("call", "where", "--answer", "roots=file:///tmp", "--timeout", "20s", url)
	if code != exitOK || !strings.Contains(stdout, "file:///tmp") {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	code, _, stderr = run("call", "mute", "--timeout", "200ms", url)
	if want := "tools/call: no answer within 200ms, and nothing else came meanwhile"; code != exitUnreachable || !strings.Contains(stderr, want) {
		t.Errorf("exit %d; want %d and %q\n%s", code, exitUnreachable, want, stderr)
	}
}
