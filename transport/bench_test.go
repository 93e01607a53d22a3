// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcprove/mcprove/internal/proc"
	"github.com/mcprove/mcprove/transport"
)

const (
	question = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`
	reply    = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`
)

// exchange sends one question and receives until its channel ends, or for
// stdio until the answer is there.
func exchange(b *testing.B, c transport.Conn, until transport.EventKind) {
	if _, err := c.Send(b.Context(), transport.Outgoing{Raw: []byte(question)}); err != nil {
		b.Fatal(err)
	}
	for {
		e, err := c.Receive(b.Context())
		if err != nil || e.Err != nil {
			b.Fatal(err, e.Err)
		}
		if e.Kind == until {
			return
		}
	}
}

func answerJSON(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, reply)
}

func answerEvents(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	block := "event: message\ndata: " + reply + "\n\n"
	stream(w, block, block, block)
}

func BenchmarkHandlerJSON(b *testing.B) {
	c := open(b, &transport.Handler{Handler: http.HandlerFunc(answerJSON)}, transport.Options{})
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		exchange(b, c, transport.EventClosed)
	}
}

func BenchmarkHandlerEvents(b *testing.B) {
	c := open(b, &transport.Handler{Handler: http.HandlerFunc(answerEvents)}, transport.Options{})
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		exchange(b, c, transport.EventClosed)
	}
}

func BenchmarkLoopback(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(answerJSON))
	defer srv.Close()
	rt := &http.Transport{}
	defer rt.CloseIdleConnections()
	for name, t := range map[string]*transport.HTTP{"own": {URL: srv.URL}, "nethttp": {URL: srv.URL, RoundTripper: rt}} {
		b.Run(name, func(b *testing.B) {
			c := open(b, t, transport.Options{})
			b.ReportAllocs()
			defer cpuTime(b)()
			for b.Loop() {
				exchange(b, c, transport.EventClosed)
			}
		})
	}
}

// BenchmarkStdio is to be held against BenchmarkStdioFloor: the same process
// and pipes, with a bufio.Reader alone.
func BenchmarkStdio(b *testing.B) {
	c := open(b, command("echo"), transport.Options{})
	b.ReportAllocs()
	defer cpuTime(b)()
	for b.Loop() {
		exchange(b, c, transport.EventFrame)
	}
}

func BenchmarkStdioFloor(b *testing.B) {
	t := command("echo")
	p, err := proc.Start(proc.Command{Argv: t.Argv, Env: t.Env})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Stop(proc.Grace{})
	r := bufio.NewReader(p.Stdout)
	line := []byte(question + "\n")
	defer cpuTime(b)()
	for b.Loop() {
		_, _ = p.Stdin.Write(line)
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
