// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// actor makes the test binary play a server.
const actor = "SESSION_TEST_ACTOR"

func TestMain(m *testing.M) {
	if serve, ok := actors[os.Getenv(actor)]; ok {
		serve(&peer{in: bufio.NewReader(os.Stdin), out: os.Stdout})
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// peer is the server's side of a stream of lines.
type peer struct {
	in   *bufio.Reader
	out  io.Writer
	dead <-chan struct{} // closed when the "process" is ended
}

// next reads one message; nil at the end of the stream.
func (p *peer) next() *wire.Message {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return nil
	}
	return wire.Read(line[:len(line)-1])
}

func (p *peer) say(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }

func (p *peer) result(m *wire.Message, result string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *peer) fail(m *wire.Message, code int, rest string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"%s}}`, m.ID, code, rest)
}

const (
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
		`"instructions":"be kind","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}`
	initialized = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"l","version":"1"},"instructions":"be quick"}`
)

// modern answers server/discover, and every other method by more, or by an
// empty complete result.
func modern(more func(*peer, *wire.Message) bool) func(*peer) {
	return func(p *peer) {
		for m := p.next(); m != nil; m = p.next() {
			switch {
			case more != nil && more(p, m):
			case m.Method == "server/discover":
				p.result(m, discovered)
			case m.Method == "initialize":
				p.fail(m, -32601, "")
			case m.Kind == wire.Request:
				p.result(m, `{"resultType":"complete"}`)
			}
		}
	}
}

// legacy does the handshake and answers by more, or by {}.
func legacy(more func(*peer, *wire.Message) bool) func(*peer) {
	return func(p *peer) {
		for m := p.next(); m != nil; m = p.next() {
			switch {
			case more != nil && more(p, m):
			case m.Method == "initialize":
				p.result(m, initialized)
			case m.Method == "server/discover":
				p.fail(m, -32601, "")
			case m.Kind == wire.Request:
				p.result(m, `{}`)
			}
		}
	}
}

// fake is a stdio target whose processes are goroutines: serve plays the
// n-th one, from 0.
type fake struct {
	serve func(n int, p *peer)
	n     atomic.Int32
}

func once(serve func(*peer)) *fake { return &fake{serve: func(_ int, p *peer) { serve(p) }} }

func (f *fake) Kind() transport.Kind { return transport.Stdio }
func (f *fake) String() string       { return "fake" }

func (f *fake) Open(ctx context.Context, o transport.Options) (transport.Conn, error) {
	clientIn, serverOut := io.Pipe()
	serverIn, clientOut := io.Pipe()
	n := int(f.n.Add(1)) - 1
	done, dead := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f.serve(n, &peer{in: bufio.NewReader(serverIn), out: serverOut, dead: dead})
		_ = serverOut.Close()
		_ = serverIn.Close()
	}()
	return (&transport.Pipe{R: &joined{PipeReader: clientIn, done: done, dead: dead}, W: clientOut, Name: "fake"}).Open(ctx, o)
}

// joined waits for the server when its output is closed.
type joined struct {
	*io.PipeReader
	done <-chan struct{}
	dead chan struct{}
	once sync.Once
}

func (j *joined) Close() error {
	err := j.PipeReader.Close()
	j.once.Do(func() { close(j.dead) })
	<-j.done
	return err
}

func open(t testing.TB, target transport.Target, o session.Options) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t testing.TB, s *session.Session) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// as returns the error of type E in err's chain, and fails without one.
func as[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a %T", err, err, e)
	}
	return e
}

// anomalies tells kinds and counts.
func anomalies(s *session.Session) string {
	var out []string
	for _, a := range s.Anomalies() {
		out = append(out, fmt.Sprintf("%s×%d", a.Kind, a.Count))
	}
	return strings.Join(out, " ")
}

func attempts(as []session.Attempt) string {
	var out []string
	for _, a := range as {
		w := a.Method
		if a.Fresh {
			w = "fresh " + w
		}
		out = append(out, w)
	}
	return strings.Join(out, ", ")
}

func call(t testing.TB, s *session.Session, method, params string) *session.Result {
	t.Helper()
	r, err := s.Call(t.Context(), method, json.RawMessage(params))
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return r
}

// actors are servers that must be processes to be what they are.
var actors = map[string]func(*peer){
	"modern": modern(nil),
	"legacy": legacy(nil),
	"silent": func(*peer) { time.Sleep(time.Hour) },
	"stubborn": func(*peer) {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	},
	"dies on discover": legacy(func(p *peer, m *wire.Message) bool {
		if m.Method == "server/discover" {
			fmt.Fprintln(os.Stderr, "unknown method, leaving")
			os.Exit(4)
		}
		return false
	}),
	"dies": func(p *peer) {
		fmt.Fprintln(os.Stderr, "no configuration")
		os.Exit(2)
	},
	"half": func(p *peer) {
		p.next()
		fmt.Print(`{"jsonrpc":"2.0","id":1,"result":{"protocol`)
		time.Sleep(time.Hour)
	},
	"floods": func(p *peer) {
		for {
			if _, err := io.WriteString(os.Stdout, strings.Repeat("noise\n", 1000)); err != nil {
				return
			}
		}
	},
	"forks": legacy(func(p *peer, m *wire.Message) bool {
		if m.Method == "tools/call" {
			c := exec.Command(os.Args[0])
			c.Env = []string{actor + "=silent"}
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			if c.Start() == nil {
				os.Exit(0)
			}
		}
		return false
	}),
	"never exits": func(p *peer) {
		legacy(nil)(p)
		time.Sleep(time.Hour)
	},
}

func process(name string) *transport.Command {
	return &transport.Command{
		Argv: []string{os.Args[0]}, Env: []string{actor + "=" + name, "GORACE=atexit_sleep_ms=0"},
		CloseGrace: 200 * time.Millisecond, TermGrace: 200 * time.Millisecond,
	}
}

// reply is what an HTTP server does with one message.
type reply func(w http.ResponseWriter, r *http.Request, m *wire.Message)

func handler(f reply) *transport.Handler {
	return &transport.Handler{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f(w, r, wire.Read(body))
	})}
}

func writeJSON(w http.ResponseWriter, status int, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, format, args...)
}

func writeEvents(w http.ResponseWriter, texts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, t := range texts {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", t)
		w.(http.Flusher).Flush()
	}
}

func answer(m *wire.Message, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}
