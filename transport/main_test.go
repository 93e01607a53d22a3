// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/transport"
)

// actor makes the test binary play a server.
const actor = "TRANSPORT_TEST_ACTOR"

func TestMain(m *testing.M) {
	if play, ok := actors[os.Getenv(actor)]; ok {
		play()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var actors = map[string]func(){
	"echo": func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"half": func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Print(`{"jsonrpc":"2.0","id":1,"res`)
	},
	"exit": func() {
		fmt.Fprintln(os.Stderr, "first line\nno database")
		os.Exit(7)
	},
	"flood": func() { // until somebody ends it
		b := bytes.Repeat([]byte("noise without end\n"), 4096)
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				return
			}
		}
	},
	"flood stderr": func() {
		b := bytes.Repeat([]byte("log without end\n"), 4096)
		for range 500 {
			_, _ = os.Stderr.Write(b)
		}
		_, _ = io.Copy(os.Stdout, os.Stdin)
	},
	"deaf": func() { time.Sleep(time.Hour) }, // never reads, never answers
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("{}")
		time.Sleep(time.Hour)
	},
	"fork": func() { // ends, and leaves a child that holds the pipes
		c := exec.Command(os.Args[0])
		c.Env = []string{actor + "=deaf"}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		fmt.Println("{}")
	},
	"polite": func() { // says goodbye, to whoever ends it
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		ended := make(chan struct{})
		fmt.Println("{}")
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			close(ended)
		}()
		select {
		case <-told:
			fmt.Println("told")
		case <-ended:
			fmt.Println("ended")
		}
	},
	"mute": func() { // closes its output and goes on
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	},
}

func command(name string) *transport.Command {
	return &transport.Command{
		Argv: []string{os.Args[0]}, Env: []string{actor + "=" + name, "GORACE=atexit_sleep_ms=0"},
		CloseGrace: 200 * time.Millisecond, TermGrace: 100 * time.Millisecond,
	}
}

const patience = 20 * time.Second

func open(t testing.TB, target transport.Target, o transport.Options) transport.Conn {
	t.Helper()
	c, err := target.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, c) })
	return c
}

func shut(t testing.TB, c transport.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func send(t testing.TB, c transport.Conn, raw string) transport.Sent {
	t.Helper()
	s, err := c.Send(t.Context(), transport.Outgoing{Raw: []byte(raw)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func receive(t testing.TB, c transport.Conn) transport.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := c.Receive(ctx)
	if err != nil {
		t.Fatalf("Receive: %v", err)
	}
	return e
}

// story receives until the channel or the connection ends, and tells what
// happened, one word or two for each event.
func story(t testing.TB, c transport.Conn, ch transport.Channel) string {
	t.Helper()
	var b strings.Builder
	for {
		e := receive(t, c)
		if e.Channel != ch {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(tell(e))
		if e.Kind == transport.EventClosed || e.Kind == transport.EventLost {
			return b.String()
		}
	}
}

func tell(e transport.Event) string {
	switch e.Kind {
	case transport.EventFrame:
		return "frame " + string(e.Frame.Raw)
	case transport.EventHead:
		return fmt.Sprintf("head %d", e.Head.Status)
	case transport.EventBody:
		return fmt.Sprintf("body %d", e.BodySize)
	case transport.EventSSE:
		return fmt.Sprintf("sse %q", e.SSE.Raw)
	case transport.EventClosed, transport.EventLost:
		word := "closed"
		if e.Kind == transport.EventLost {
			word = "lost"
		}
		if e.Err == nil {
			return word
		}
		return word + " " + string(transport.ReasonOf(e.Err))
	case transport.EventUnsent:
		return "unsent " + string(transport.ReasonOf(e.Err))
	case transport.EventLeft:
		return "left"
	case transport.EventLeaving:
		return "leaving"
	}
	return "?"
}

func reason(t testing.TB, err error, want transport.Reason) *transport.Error {
	t.Helper()
	var e *transport.Error
	if !errors.As(err, &e) || e.Reason != want {
		t.Fatalf("error %v (%s), want %s", err, transport.ReasonOf(err), want)
	}
	return e
}

// raw is a server that reads one request and answers with the given bytes,
// then goes on with the next answer on the same connection.
func raw(t testing.TB, answers ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	next := make(chan string, len(answers))
	for _, a := range answers {
		next <- a
	}
	close(next)
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serveRaw(c, next)
		}
	}()
	return "http://" + l.Addr().String() + "/mcp"
}

func serveRaw(c net.Conn, next <-chan string) {
	defer func() { _ = c.Close() }()
	br := bufio.NewReader(c)
	for {
		length := 0
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err == nil {
				continue
			}
			if line == "\r\n" {
				break
			}
		}
		if _, err := io.CopyN(io.Discard, br, int64(length)); err != nil {
			return
		}
		answer, more := <-next
		if !more {
			return
		}
		answer, end := strings.CutSuffix(answer, "<close>")
		_, _ = io.WriteString(c, answer)
		if end {
			return
		}
	}
}
