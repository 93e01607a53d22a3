// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

func TestStdioExchange(t *testing.T) {
	var tapped []string
	c := open(t, command("echo"), transport.Options{Tap: func(e transport.TapEvent) {
		tapped = append(tapped, tell(e.Event))
	}})
	s := send(t, c, `{"a": 1}`)
	e := receive(t, c)
	if e.Kind != transport.EventFrame || string(e.Frame.Raw) != `{"a": 1}` || e.Channel != s.Channel {
		t.Fatalf("%+v", e)
	}
	if f := e.Frame; f.Dir != wire.ToClient || f.Line == nil || f.Line.Terminator != wire.LF || f.Time.Before(s.Frame.Time) {
		t.Errorf("frame %+v", f)
	}
	if s.Frame.Dir != wire.ToServer || s.Frame.Line == nil {
		t.Errorf("sent %+v", s.Frame)
	}
	_, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("x"), Terminator: []byte("\r\n")})
	if err != nil {
		t.Fatal(err)
	}
	if e := receive(t, c); e.Frame.Line.Terminator != wire.CRLF {
		t.Errorf("terminator %q", e.Frame.Line.Terminator)
	}
	shut(t, c)
	if got := strings.Join(tapped, ", "); got != `frame {"a": 1}, frame {"a": 1}, frame x, frame x, leaving, lost died` {
		t.Errorf("the tap saw %s", got)
	}
	if _, err := c.Receive(t.Context()); err != io.EOF {
		t.Errorf("Receive after Close: %v", err)
	}
	if _, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte("x")}); transport.ReasonOf(err) != transport.Closed {
		t.Errorf("Send after Close: %v", err)
	}
}

func TestStdioHalfLine(t *testing.T) {
	c := open(t, command("half"), transport.Options{})
	send(t, c, `{}`)
	e := receive(t, c)
	if f := e.Frame; f == nil || len(f.Line.Faults) != 1 || f.Line.Faults[0].Code != wire.FaultUnfinished {
		t.Fatalf("%+v", e)
	}
	if e := receive(t, c); e.Kind != transport.EventLost {
		t.Fatalf("%+v", e)
	}
}

func TestStdioExitsAtOnce(t *testing.T) {
	var stderr bytes.Buffer
	c := open(t, command("exit"), transport.Options{Stderr: &stderr})
	e := receive(t, c)
	err := reason(t, e.Err, transport.Died)
	if err.Exit == nil || err.Exit.Code != 7 || err.Exit.Stderr != "first line\nno database\n" {
		t.Errorf("exit %+v", err.Exit)
	}
	for _, part := range []string{"exit status 7", "no database"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	shut(t, c)
	if stderr.String() != err.Exit.Stderr {
		t.Errorf("copied %q", stderr.String())
	}
}

func TestStdioCannotStart(t *testing.T) {
	target := &transport.Command{Argv: []string{"no-such-server", "--token=secret"}, Env: []string{"PATH=/nowhere"}}
	_, err := target.Open(t.Context(), transport.Options{})
	e := reason(t, err, transport.NotStarted)
	if !strings.Contains(e.Error(), "no-such-server") || strings.Contains(e.Error(), "secret") {
		t.Errorf("%v", e)
	}
}

func TestStdioFloodIsNotStored(t *testing.T) {
	c := open(t, command("flood"), transport.Options{})
	receive(t, c)
	time.Sleep(300 * time.Millisecond)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 40<<20 {
		t.Errorf("%d MB are held", m.HeapAlloc>>20)
	}
	begin := time.Now()
	shut(t, c)
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("Close took %s", d)
	}
}

func TestStdioFloodOfStderr(t *testing.T) {
	c := open(t, command("flood stderr"), transport.Options{})
	send(t, c, "{}")
	if e := receive(t, c); e.Kind != transport.EventFrame {
		t.Errorf("%+v", e)
	}
	if n := len(c.(transport.ProcessConn).Stderr()); n != 64<<10 {
		t.Errorf("a tail of %d bytes", n)
	}
}

func TestStdioServerThatDoesNotRead(t *testing.T) {
	c := open(t, command("deaf"), transport.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Send(ctx, transport.Outgoing{Raw: bytes.Repeat([]byte("x"), 1<<20)})
	reason(t, err, transport.TimedOut)
	// Half a line went out: the next one must not be glued to it.
	_, err = c.Send(t.Context(), transport.Outgoing{Raw: []byte("{}")})
	if err == nil {
		t.Error("a line was sent behind half a line")
	}
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Receive(ctx); err != context.DeadlineExceeded {
		t.Errorf("Receive: %v", err)
	}
}

func TestStdioStubbornServer(t *testing.T) {
	c := open(t, command("stubborn"), transport.Options{})
	receive(t, c)
	pid := c.(transport.ProcessConn).PID()
	begin := time.Now()
	shut(t, c)
	if d := time.Since(begin); d < 300*time.Millisecond || d > 2*time.Second {
		t.Errorf("Close took %s", d)
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(nil) == nil && runtime.GOOS != "windows" {
		t.Error("the process is still there")
	}
}

func TestStdioCloseIsHurriedByItsContext(t *testing.T) {
	target := command("stubborn")
	target.CloseGrace, target.TermGrace = time.Hour, time.Hour
	c := open(t, target, transport.Options{})
	receive(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("Close took %s", d)
	}
}

func TestStdioChildHoldsThePipe(t *testing.T) {
	c := open(t, command("fork"), transport.Options{})
	if e := receive(t, c); e.Kind != transport.EventFrame {
		t.Fatalf("%+v", e)
	}
	begin := time.Now()
	e := receive(t, c)
	err := reason(t, e.Err, transport.Died)
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("noticed after %s", d)
	}
	if err.Exit == nil || !strings.Contains(err.Error(), "holds its output") {
		t.Errorf("%v", err)
	}
}

func TestStdioOutputClosed(t *testing.T) {
	c := open(t, command("mute"), transport.Options{})
	err := reason(t, receive(t, c).Err, transport.Died)
	if err.Exit != nil || !strings.Contains(err.Error(), "closed its output") {
		t.Errorf("%v", err)
	}
}

func TestPipeBothSides(t *testing.T) {
	cr, sw := io.Pipe()
	sr, cw := io.Pipe()
	client := open(t, &transport.Pipe{R: cr, W: cw}, transport.Options{})
	server := open(t, &transport.Pipe{R: sr, W: sw, Server: true}, transport.Options{})
	for i := range 100 {
		text := strings.Repeat("x", i)
		send(t, client, text)
		e := receive(t, server)
		if string(e.Frame.Raw) != text || e.Frame.Dir != wire.ToServer {
			t.Fatalf("%+v", e)
		}
		send(t, server, text)
		if e := receive(t, client); string(e.Frame.Raw) != text || e.Frame.Dir != wire.ToClient {
			t.Fatalf("%+v", e)
		}
	}
	shut(t, server)
	if e := receive(t, client); e.Kind != transport.EventLost {
		t.Errorf("%+v", e)
	}
	if _, err := client.Receive(t.Context()); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

func TestPipeOpensOnce(t *testing.T) {
	r, w := io.Pipe()
	p := &transport.Pipe{R: r, W: w}
	open(t, p, transport.Options{})
	_, err := p.Open(t.Context(), transport.Options{})
	reason(t, err, transport.BadTarget)
}

// What a program says of its end is not always its last line.
func TestSaidOfAnEnd(t *testing.T) {
	for stderr, want := range map[string]string{
		"": "",
		"node:internal/modules/cjs/loader:1215\n  throw err;\n  ^\n\nError: Cannot find module '/x/nofile.js'\n    at Module._load (node:internal)\n    at node:internal/main {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n": "Error: Cannot find module '/x/nofile.js'",
		"Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\nModuleNotFoundError: No module named 'mcp'\n":                                                                                                      "ModuleNotFoundError: No module named 'mcp'",
		"panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x1\nexit status 2\n":                                                                                                                                    "panic: boom",
		"Exception in thread \"main\" java.lang.IllegalStateException: no port\n\tat Server.main(Server.java:9)\n":                                                                                                                    "Exception in thread \"main\" java.lang.IllegalStateException: no port",
		"usage: server DIR\n\n": "usage: server DIR",
	} {
		if got := (&transport.Exit{Stderr: stderr}).Said(); got != want {
			t.Errorf("%q says %q, want %q", stderr, got, want)
		}
	}
}
