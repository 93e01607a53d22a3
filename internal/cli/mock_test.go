// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// output is what a run writes, read while it writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// served runs mcprove mock and returns the first line of stdout, and what ends
// it and gives its exit code, stdout and stderr.
func served(t *testing.T, stdin io.Reader, args ...string) (first string, end func() (int, *output, *output)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, stderr, code := &output{}, &output{}, -1
	done := make(chan struct{})
	go func() {
		defer close(done)
		code = Run(ctx, Env{Args: append([]string{"mock"}, args...), Stdin: stdin, Stdout: stdout, Stderr: stderr, Now: time.Now})
	}()
	end = func() (int, *output, *output) {
		cancel()
		<-done
		return code, stdout, stderr
	}
	t.Cleanup(func() { end() })
	for range 10_000 {
		if line, _, ok := strings.Cut(stdout.String(), "\n"); ok {
			return line, end
		}
		time.Sleep(time.Millisecond)
	}
	c, _, errs := end()
	t.Fatalf("no line on stdout; exit %d\n%s", c, errs)
	return "", nil
}

// A server that is told to end answers its subscriptions, does not wait for ever
// for calls, and has done what was asked.
func TestMockEndsOnRequest(t *testing.T) {
	url, end := served(t, nil, "-v", "--fault", "carrier.silence")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := session.Open(ctx, &transport.HTTP{URL: url}, session.Options{Era: spec.Modern})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	sub, err := s.Subscribe(ctx, []byte(`{"toolsListChanged":true}`))
	if err != nil {
		t.Fatal(err)
	}
	hanging := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, spec.MethodToolsCall, []byte(`{"name":"no-such-tool"}`))
		hanging <- err
	}()
	time.Sleep(50 * time.Millisecond)
	begin := time.Now()
	code, _, stderr := end()
	if took := time.Since(begin); code != 0 || took > lastMoment {
		t.Errorf("exit %d after %s", code, took)
	}
	if f, err := sub.Next(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("the subscription: %v, %v; want its answer", f, err)
	}
	if err := <-hanging; err == nil {
		t.Error("a call that is never answered was answered")
	}
	for _, want := range []string{"<- POST /mcp", "subscriptions/listen", "-> HTTP 200 text/event-stream", "notifications/subscriptions/acknowledged"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("-v does not show %q:\n%s", want, stderr)
		}
	}
}

// Over stdio being told to end is as if the input had ended, though nobody can
// end a read of stdin.
func TestMockStdioEndsOnRequest(t *testing.T) {
	stdin, in := io.Pipe()
	go func() {
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n")
	}()
	defer in.Close()
	first, end := served(t, stdin, "--stdio")
	if !strings.Contains(first, "acknowledged") {
		t.Fatalf("the first line is %s", first)
	}
	code, stdout, stderr := end()
	if code != 0 || stderr.String() != "" {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if got := stdout.String(); !strings.Contains(got, `"id":7,"result"`) {
		t.Errorf("the subscription got %q; want its answer", got)
	}
}

// A fault may keep a server from ending with its input, but not from ending when
// it is told to.
func TestMockThatIgnoresTheEndOfItsInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("faults: [{do: ignore-eof}, {do: banner, text: here}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, end := served(t, strings.NewReader(""), "--stdio", path)
	if first != "here" {
		t.Errorf("the first line is %q", first)
	}
	begin := time.Now()
	if code, _, stderr := end(); code != 0 || time.Since(begin) > lastMoment {
		t.Errorf("exit %d after %s\n%s", code, time.Since(begin), stderr)
	}
}

// Every fault that has a name changes a script, and those of carriers can be
// moved.
func TestNamedFaults(t *testing.T) {
	for _, name := range []string{"carrier.cut", "version.unsupported-32022"} {
		if !slices.Contains(faultNames(), name) {
			t.Errorf("there is no fault %s", name)
		}
	}
	for _, name := range faultNames() {
		s := mock.Specimen()
		apply, err := faultOf(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if apply(&s); reflect.DeepEqual(s, mock.Specimen()) {
			t.Errorf("%s changes nothing", name)
		}
		if faultsKnown()[name].title == "" {
			t.Errorf("%s does not say what it is", name)
		}
	}
	var s mock.Script
	apply, err := faultOf("carrier.cut@resources/read")
	if err != nil {
		t.Fatal(err)
	}
	apply(&s)
	if _, err := faultOf("version.unsupported-32022@tools/list"); err == nil || !strings.Contains(err.Message, "cannot be moved") {
		t.Errorf("a rule's fault was moved: %v", err)
	}
	if want := mock.On(spec.MethodResourcesRead).Half(); len(s.Faults) != 1 || s.Faults[0].Op != want.Op || s.Faults[0].Method != want.Method {
		t.Errorf("moved: %+v", s.Faults)
	}
}

func TestChosenRevisions(t *testing.T) {
	for _, c := range []struct {
		era   string
		dates []string
		want  []spec.Revision
	}{
		{"auto", nil, nil},
		{"modern", nil, []spec.Revision{spec.Rev20260728}},
		{"legacy", nil, []spec.Revision{spec.Rev20241105, spec.Rev20250326, spec.Rev20250618, spec.Rev20251125}},
		{"auto", []string{"2026-07-28", "2025-03-26"}, []spec.Revision{spec.Rev20250326, spec.Rev20260728}},
	} {
		got, err := chosenRevisions(c.era, c.dates)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, %v; want %v", c.era, c.dates, got, err, c.want)
		}
	}
}

// Every carrier fault can be seen by a client, at the call it stands at, and
// leaves the rest of the server right.
func TestCarrierFaults(t *testing.T) {
	call := func(t *testing.T, script mock.Script) (seen string) {
		srv := httptest.NewServer(mock.New(script))
		defer srv.Close()
		defer srv.CloseClientConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		s, err := session.Open(ctx, &transport.HTTP{URL: srv.URL}, session.Options{Era: spec.Modern, Timeouts: session.Timeouts{Request: 500 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(ctx)
		list, err := s.Call(ctx, spec.MethodToolsList, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Call(ctx, spec.MethodToolsCall, []byte(`{"name":"get_book","arguments":{"book_id":"b-1"}}`))
		if got != nil {
			seen = string(got.Raw)
		}
		for range 60 { // what comes behind an answer comes in its own time
			if len(s.Anomalies()) > 0 || err != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		for _, a := range s.Anomalies() {
			seen += fmt.Sprintf("\n%+v", a)
		}
		return fmt.Sprintf("%s\n%s\n%v", list.Raw, seen, err)
	}
	clean := call(t, mock.Library())
	for _, c := range carrierFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := mock.Library()
			apply, err := faultOf("carrier." + c.name)
			if err != nil {
				t.Fatal(err)
			}
			apply(&script)
			if got := call(t, script); got == clean {
				t.Error("the client sees nothing of it")
			}
		})
	}
}
