// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// TestEcho: a program that repeats its input is told by name, soon, and is not
// answered.
func TestEcho(t *testing.T) {
	for _, tc := range []struct {
		o     session.Options
		limit time.Duration
		last  string
	}{
		{session.Options{}, 12 * time.Second, "initialize"},
		{session.Options{Era: spec.Legacy}, 6 * time.Second, "initialize"},
		{session.Options{Era: spec.Modern}, 6 * time.Second, "server/discover"},
		{session.Options{Timeouts: session.Timeouts{Start: time.Second}}, 1200 * time.Millisecond, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var heard []string
			cat := func(p *peer) {
				for m := p.next(); m != nil; m = p.next() {
					mu.Lock()
					heard = append(heard, string(m.Raw))
					mu.Unlock()
					p.say("%s", m.Raw)
				}
			}
			begin := time.Now()
			_, err := session.Open(t.Context(), once(cat), tc.o)
			as[*session.NegotiationError](t, err)
			echo := as[*session.EchoError](t, err)
			if !strings.HasPrefix(err.Error(), "the program only echoes what it is sent: ") || tc.last != "" && echo.Method != tc.last {
				t.Errorf("%+v: %v", tc.o, err)
			}
			if took := time.Since(begin); took > tc.limit {
				t.Errorf("%+v: took %s", tc.o, took)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, h := range heard {
				if strings.Contains(h, `"error"`) || strings.Contains(h, `"result"`) {
					t.Errorf("%+v: an echo was answered: %s", tc.o, h)
				}
			}
		})
	}
}

// TestEchoBeforeServer: behind a terminal that echoes there may be a server.
func TestEchoBeforeServer(t *testing.T) {
	for _, tc := range []struct {
		serve func(func(*peer, *wire.Message) bool) func(*peer)
		want  spec.Revision
	}{{legacy, spec.Rev20251125}, {modern, spec.Rev20260728}} {
		synctest.Test(t, func(t *testing.T) {
			begin := true
			s := open(t, once(tc.serve(func(p *peer, m *wire.Message) bool {
				p.say("%s", m.Raw)
				if begin {
					begin = false
					time.Sleep(2 * time.Second) // as long as a start may take
				}
				if strings.HasPrefix(string(m.Raw), `{"jsonrpc":"2.0","id"`) && m.Method == "" {
					t.Errorf("an echo was answered: %s", m.Raw)
				}
				return false
			})), session.Options{})
			if n := s.Negotiated(); n.Revision != tc.want {
				t.Errorf("%s, want %s", n.Revision, tc.want)
			}
			call(t, s, "tools/list", "")
			if got := anomalies(s); !strings.Contains(got, "server-request") {
				t.Errorf("anomalies: %s", got)
			}
			shut(t, s)
		})
	}
}

// A request of the server that clients may send, too, is no echo, nor one with
// other bytes.
func TestNoEcho(t *testing.T) {
	answered := make(chan string, 4)
	s := open(t, once(legacy(func(p *peer, m *wire.Message) bool {
		switch {
		case m.Method == "ping":
			p.say("%s", m.Raw) // byte for byte ours, and its right
		case m.Method == "tools/list":
			p.say(`{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":{"cursor":"x"}}`, m.ID)
		case m.Method == "" && m.ID != nil:
			answered <- string(m.Raw)
			return true
		}
		return false
	})), session.Options{Era: spec.Legacy})
	call(t, s, "ping", "")
	call(t, s, "tools/list", "")
	for _, want := range []string{`"result":{}`, `"code":-32601`} {
		if got := <-answered; !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	shut(t, s)
}
