// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// endTime is how long a server that is told to end may take to finish what it
// answers, and again to end its tasks. Both are within lastMoment.
const endTime = 400 * time.Millisecond

// mockPath is the path of the endpoint. What else a client asks for, such as
// the metadata of authorization, is not there.
const mockPath = "/mcp"

// mockServer is the server of a script in this process.
func (a *app) mockServer(script mock.Script) *mock.Server {
	a.serving = true
	a.stderr = &lockedWriter{w: a.stderr}
	script.Stderr = a.stderr
	s := mock.New(script)
	if s.IgnoresTerm() {
		signal.Ignore(syscall.SIGTERM)
	}
	return s
}

// mockHTTP serves a script until the run is told to end.
func (a *app) mockHTTP(ctx context.Context, script mock.Script, name string, f *mockFlags) error {
	l, err := net.Listen("tcp", f.http)
	if err != nil {
		return &Error{Exit: exitUsage, Code: "cannot-listen", Where: "--http", Message: err.Error(), Try: "port 0 takes a free one"}
	}
	s := a.mockServer(script)
	handler := http.Handler(s)
	if f.verbose {
		handler = a.logged(handler)
	}
	mux := http.NewServeMux()
	mux.Handle(mockPath, handler)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	fmt.Fprintf(a.stderr, "mcprove: serving %s (%s); interrupt it to end\n", text.LogLine(name), strings.Join(revisionNames(&script), ", "))
	if _, err := fmt.Fprintf(a.stdout, "http://%s%s\n", l.Addr(), mockPath); err != nil {
		_ = srv.Close()
		<-served
		return fmt.Errorf("print the URL: %w", err)
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	// Whoever still waits for an answer after that has waited long enough.
	_ = s.Shutdown(patient)
	if srv.Shutdown(patient) != nil {
		_ = srv.Close()
	}
	<-served
	return nil
}

func revisionNames(script *mock.Script) []string {
	var out []string
	rs := script.Revisions
	if rs == nil {
		rs = spec.All()
	}
	for _, r := range rs {
		out = append(out, r.String())
	}
	return out
}

// mockStdio serves one client over stdin and stdout until its input ends, or
// the run is told to end, which is to the server as if its input had ended.
func (a *app) mockStdio(ctx context.Context, script mock.Script, verbose bool) error {
	s := a.mockServer(script)
	r, w := io.Pipe()
	in, out := io.Writer(w), a.stdout
	if verbose {
		in = io.MultiWriter(w, &lineWriter{a: a, prefix: "<- "})
		out = io.MultiWriter(out, &lineWriter{a: a, prefix: "-> "})
	}
	// A read of stdin cannot be ended from here: this goroutine ends with its
	// input, or with the process, which is about to.
	go func() {
		_, err := io.Copy(in, a.env.Stdin)
		_ = w.CloseWithError(err) // nil is the end of the input
	}()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() {
		_ = w.Close()
		time.AfterFunc(endTime, end) // for what heeds neither this nor the end of its input
		_ = s.Shutdown(life)
	})
	defer stop()
	err := s.ServeStdio(life, r, out)
	_ = r.Close()
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_ = s.Shutdown(patient) // what still runs then ends with the process
	if s.LeavesBehind() {
		leaveBehind()
	}
	switch {
	case errors.Is(err, mock.ErrEnded):
		a.say("mcprove: %s", a.clean(err.Error()))
		return nil
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// leaveBehind starts a process that goes on for a minute, and forgets it. Where
// there is no such program nothing is left.
func leaveBehind() {
	argv := []string{"sleep", "60"}
	if runtime.GOOS == "windows" {
		argv = []string{"ping", "-n", "60", "127.0.0.1"}
	}
	_ = exec.Command(argv[0], argv[1:]...).Start()
}

// lockedWriter lets several requests log at once.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// maxLogged bounds what is shown of one message.
const maxLogged = 2_000

// logged shows what crosses, like -v of the other verbs seen from the other
// side: what comes with <-, what goes with ->.
func (a *app) logged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.say("<- %s %s", r.Method, text.LogLine(a.redactor.String(r.URL.Path)))
		var body bytes.Buffer
		// A body that cannot be read is the server's to judge.
		_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, 64<<20))
		if body.Len() > 0 {
			a.message("<-", body.Bytes())
		}
		rest := io.Reader(&body)
		if err != nil {
			rest = io.MultiReader(rest, failing{err})
		}
		r.Body = io.NopCloser(rest)
		h.ServeHTTP(&loggedResponse{ResponseWriter: w, app: a}, r)
	})
}

// failing is a reader that fails as another did.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (a *app) message(arrow string, b []byte) {
	a.say("%s %s", arrow, text.Clip(text.LogLine(a.redactor.String(string(b))), maxLogged))
}

// loggedResponse shows the status and what is written.
type loggedResponse struct {
	http.ResponseWriter
	app *app
}

// Unwrap lets net/http find what the response can do besides.
func (l *loggedResponse) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *loggedResponse) WriteHeader(status int) {
	l.app.say("-> HTTP %d %s", status, text.Line(l.Header().Get(spec.HeaderContentType)))
	l.ResponseWriter.WriteHeader(status)
}

func (l *loggedResponse) Write(b []byte) (int, error) {
	shown := bytes.TrimSpace(b)
	shown = bytes.TrimPrefix(bytes.TrimPrefix(shown, []byte("event: message\n")), []byte("data: "))
	if len(shown) > 0 {
		l.app.message("->", shown)
	}
	return l.ResponseWriter.Write(b)
}
