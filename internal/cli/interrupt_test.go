// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
)

// slowTool is a server whose tool takes longer than any test.
const slowTool = `
server: {name: slow, version: "1"}
tools:
  - name: wait
    inputSchema: {type: object}
    answers: [{delay: 5m, text: done}]
`

// running is a run of a command line that can be interrupted.
type running struct {
	cancel         context.CancelFunc
	stdout, stderr output
	code           int
	done           chan struct{}
}

func start(stdin io.Reader, args ...string) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.code = Run(ctx, Env{Args: args, Stdin: stdin, Stdout: &r.stdout, Stderr: &r.stderr, Environ: os.Environ(), Now: time.Now})
	}()
	return r
}

// until waits for a sign that the run is where it should be.
func (r *running) until(t *testing.T, sign func() bool) {
	t.Helper()
	for range 20_000 {
		if sign() {
			return
		}
		select {
		case <-r.done:
			t.Fatalf("it ended with %d before it was interrupted\n%s\n%s", r.code, &r.stdout, &r.stderr)
		case <-time.After(time.Millisecond):
		}
	}
	r.cancel()
	<-r.done
	t.Fatalf("the sign did not come\n%s\n%s", &r.stdout, &r.stderr)
}

// interrupt ends the run as Ctrl-C does.
func (r *running) interrupt(t *testing.T, want int) {
	t.Helper()
	begin := time.Now()
	r.cancel()
	<-r.done
	if took := time.Since(begin); took > lastMoment {
		t.Errorf("it took %s to end", took)
	}
	if r.code != want {
		t.Errorf("exit %d; want %d\n%s", r.code, want, &r.stderr)
	}
	if want == exitInterrupted && !strings.Contains(r.stderr.String(), `{"error":{"code":"interrupted"`) {
		t.Errorf("the last line does not say so:\n%s", &r.stderr)
	}
}

// asMcprove is a path under which this test binary is mcprove.
func asMcprove(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "mcprove")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A call over stdio that is interrupted is taken back, and its server ended.
func TestInterruptedCallOverStdio(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script, pidFile := filepath.Join(dir, "slow.yaml"), filepath.Join(dir, "pid")
			if err := os.WriteFile(script, []byte(slowTool), 0o600); err != nil {
				t.Fatal(err)
			}
			command := fmt.Sprintf("echo $$ >%s; exec %s mock --stdio -v %s", pidFile, asMcprove(t, dir), script)
			r := start(strings.NewReader(""), "call", "wait", "-v", "--era", era, "--", "sh", "-c", command)
			r.until(t, func() bool {
				return strings.Contains(r.stderr.String(), `server: <- {"jsonrpc":"2.0","id":3,"method":"tools/call"`)
			})
			r.interrupt(t, exitInterrupted)
			if !strings.Contains(r.stderr.String(), `server: <- {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3`) {
				t.Errorf("the server was not told:\n%s", &r.stderr)
			}
			data, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, 0); err == nil {
				t.Errorf("the server goes on as process %d", pid)
			}
		})
	}
}

// seen is what an HTTP server was sent.
type seen struct {
	mu     sync.Mutex
	bodies []string
	gone   int // requests whose client went away before they were answered
}

func (s *seen) count(part string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		if strings.Contains(b, part) {
			n++
		}
	}
	return n
}

// watching serves a script, and notes what it is sent.
func watching(t *testing.T, script mock.Script) (string, *seen) {
	t.Helper()
	s, server := &seen{}, mock.New(script)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies = append(s.bodies, r.Method+" "+string(body))
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			s.mu.Lock()
			s.gone++
			s.mu.Unlock()
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, s
}

// Over HTTP a call is taken back by closing its stream, and before 2026-07-28
// by a notification; a session of the server's is deleted.
func TestInterruptedCallOverHTTP(t *testing.T) {
	script, err := mock.ReadScript("slow.yaml", []byte(slowTool), mock.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		era                      string
		cancelled, deleted, gone int
	}{{"modern", 0, 0, 1}, {"legacy", 1, 1, 0}} {
		t.Run(c.era, func(t *testing.T) {
			url, s := watching(t, script)
			r := start(strings.NewReader(""), "call", "wait", "--era", c.era, url)
			r.until(t, func() bool { return s.count("tools/call") > 0 })
			r.interrupt(t, exitInterrupted)
			gone := func() int {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.gone
			}
			for range 2_000 { // the server notices in its own time
				if gone() >= c.gone {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if n := s.count("notifications/cancelled"); n != c.cancelled {
				t.Errorf("%d cancellations were sent; want %d", n, c.cancelled)
			}
			if n := s.count("DELETE "); n != c.deleted {
				t.Errorf("%d sessions were deleted; want %d", n, c.deleted)
			}
			if n := gone(); n < c.gone {
				t.Error("the stream of the call was not closed")
			}
		})
	}
}

// A batch that waits for its input ends at once, and has printed what it knew.
func TestInterruptedBatch(t *testing.T) {
	in, lines := io.Pipe()
	defer in.Close()
	go fmt.Fprintln(lines, `{"tool":"get_book","arguments":{"book_id":"b-1"}}`)
	r := start(in, "batch", "-", "demo:")
	r.until(t, func() bool { return strings.Contains(r.stdout.String(), `{"line":1,"outcome":"passed"`) })
	r.interrupt(t, exitInterrupted)
}

// The call that a batch is interrupted in has its line.
func TestInterruptedCallOfBatch(t *testing.T) {
	script, err := mock.ReadScript("slow.yaml", []byte(slowTool), mock.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url, s := watching(t, script)
	r := start(strings.NewReader(`{"id":"w","tool":"wait"}`+"\n"+`{"tool":"wait"}`+"\n"), "batch", "-", url)
	r.until(t, func() bool { return s.count("tools/call") > 0 })
	r.interrupt(t, exitInterrupted)
	want := `{"line":1,"id":"w","outcome":"incomplete","exit":130,"error":{"code":"interrupted","message":"interrupted","where":"","try":""}}` + "\n"
	if got := r.stdout.String(); got != want {
		t.Errorf("it printed\n%swant\n%s", got, want)
	}
}

// What another client's call changes is told, over HTTP in both eras.
func TestListenOverHTTP(t *testing.T) {
	url, _ := watching(t, mock.Specimen())
	for _, c := range []struct {
		era, want string
		args      []string
	}{
		{"modern", "notifications/prompts/list_changed", []string{"--kind", "prompts"}},
		{"legacy", "list_changed", nil},
		{"modern", `notifications/resources/updated {"uri":"tide://log"`, []string{"--uri", "tide://log"}},
		{"legacy", `notifications/resources/updated {"uri":"tide://log"}`, []string{"--uri", "tide://log"}},
	} {
		r := start(strings.NewReader(""), append([]string{"listen", "--count", "1", "--era", c.era, url}, c.args...)...)
		r.until(t, func() bool { return strings.Contains(r.stderr.String(), "listening to") })
		tool := "announce_lists"
		if len(c.args) > 0 && c.args[0] == "--uri" {
			tool = "announce_log"
		}
		call := start(strings.NewReader(""), "call", tool, url)
		<-call.done
		<-r.done
		if r.code != 0 || call.code != 0 || !strings.Contains(r.stdout.String(), c.want) {
			t.Errorf("%s %v: exit %d, %d; want %q\n%s\n%s\n%s", c.era, c.args, r.code, call.code, c.want, &r.stdout, &r.stderr, &call.stderr)
		}
	}
}

// Listening without a bound ends when it is told to, and did what was asked.
func TestInterruptedListen(t *testing.T) {
	url, s := watching(t, mock.Specimen())
	for _, era := range []string{"modern", "legacy"} {
		r := start(strings.NewReader(""), "listen", "--era", era, url)
		r.until(t, func() bool { return strings.Contains(r.stderr.String(), "listening to") })
		r.interrupt(t, exitOK)

		r = start(strings.NewReader(""), "listen", "--era", era, "--count", "1", url)
		r.until(t, func() bool { return strings.Contains(r.stderr.String(), "listening to") })
		r.interrupt(t, exitInterrupted)
	}
	if s.count("subscriptions/listen") != 2 {
		t.Error("the modern era was not subscribed to")
	}
}
