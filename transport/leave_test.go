// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/mcprove/mcprove/transport"
)

// What a server says when it is ended is received, which Close alone drops.
func TestLastWordsOfAProcess(t *testing.T) {
	for word, end := range map[string]func(transport.ProcessConn) error{
		"ended": transport.ProcessConn.CloseInput,
		"told":  func(p transport.ProcessConn) error { p.Terminate(); return nil },
	} {
		if word == "told" && runtime.GOOS == "windows" {
			continue // a signal reaches it only where it shares our console
		}
		c := open(t, command("polite"), transport.Options{})
		p, ok := c.(transport.ProcessConn)
		if !ok {
			t.Fatalf("%T is no connection to a process", c)
		}
		receive(t, c)
		if err := end(p); err != nil {
			t.Fatal(err)
		}
		if e := receive(t, c); e.Frame == nil || string(e.Frame.Raw) != word {
			t.Errorf("%s: %+v", word, e)
		}
		if e := receive(t, c); e.Kind != transport.EventLost {
			t.Errorf("%s: %+v", word, e)
		}
		<-p.Exited()
		if x := p.Exit(); x.Code != 0 || p.Left() != 0 {
			t.Errorf("%s: %s, %d left", word, &x, p.Left())
		}
	}
}

func TestLastWordsOverAPipe(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	c := open(t, &transport.Pipe{R: fromServer, W: toServer}, transport.Options{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, fromClient)
		_, _ = io.WriteString(toClient, "bye\n")
		_ = toClient.Close()
	}()
	if err := c.(transport.InputCloser).CloseInput(); err != nil {
		t.Fatal(err)
	}
	if e := receive(t, c); e.Frame == nil || string(e.Frame.Raw) != "bye" {
		t.Errorf("%+v", e)
	}
	if e := receive(t, c); e.Kind != transport.EventLost {
		t.Errorf("%+v", e)
	}
	<-ended
}
