// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// taps keeps what a tap sees.
type taps struct {
	mu   sync.Mutex
	seen []transport.TapEvent
}

func (k *taps) tap(e transport.TapEvent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen = append(k.seen, e)
}

func (k *taps) all() []transport.TapEvent {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]transport.TapEvent(nil), k.seen...)
}

func (k *taps) story() string {
	var words []string
	for _, e := range k.all() {
		if e.Sent && e.Kind == transport.EventHead {
			words = append(words, e.Head.Method)
			continue
		}
		words = append(words, tell(e.Event))
	}
	return strings.Join(words, ", ")
}

// unsent is the one failure that a tap was told of.
func (k *taps) unsent(t *testing.T) transport.TapEvent {
	t.Helper()
	var found []transport.TapEvent
	for _, e := range k.all() {
		if e.Kind == transport.EventUnsent {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d failures in %s", len(found), k.story())
	}
	// Who looks at frames must not take it for one that crossed.
	if e := found[0]; e.Frame != nil || e.Head != nil || e.Sent || e.Unsent == nil || e.Err == nil || e.Tag != "tag" {
		t.Fatalf("%+v", e)
	}
	return found[0]
}

// What cannot be sent is told, with what was to be sent, once.
func TestTapSeesFailedSends(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + dead.Addr().String() + "/"
	_ = dead.Close()
	rt := &http.Transport{}
	t.Cleanup(rt.CloseIdleConnections)
	given, cancel := context.WithCancel(context.Background())
	cancel()
	ok := http.HandlerFunc(scripted)
	for _, tc := range []struct {
		name   string
		target transport.Target
		ctx    context.Context
		header string
		closed bool
		reason transport.Reason
		story  string // up to the failure
	}{
		{"nobody listens", &transport.HTTP{URL: url}, nil, "", false, transport.Unreachable, "POST, frame {}, unsent unreachable"},
		{"nobody listens, net/http", &transport.HTTP{URL: url, RoundTripper: rt}, nil, "", false, transport.Unreachable, "POST, frame {}, unsent unreachable"},
		{"a header that ends its line", &transport.Handler{Handler: ok}, nil, "a\r\nb", false, transport.BadTarget, "unsent bad-target"},
		{"closed", &transport.Handler{Handler: ok}, nil, "", true, transport.Closed, "leaving, unsent closed"},
		{"closed process", command("echo"), nil, "", true, transport.Closed, "leaving, lost died, frame {}, unsent closed"},
		{"given up before", command("echo"), given, "", false, transport.Closed, "frame {}, unsent closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := &taps{}
			c := open(t, tc.target, transport.Options{Tap: k.tap})
			if tc.closed {
				shut(t, c)
			}
			if tc.ctx == nil {
				tc.ctx = t.Context()
			}
			out := transport.Outgoing{Raw: []byte("{}"), Tag: "tag"}
			if tc.header != "" {
				out.Header = []wire.HeaderField{{Name: "X", Value: tc.header}}
			}
			sent, err := c.Send(tc.ctx, out)
			reason(t, err, tc.reason)
			e := k.unsent(t)
			if !errors.Is(e.Err, err) || e.Unsent.Frame != sent.Frame || string(sent.Frame.Raw) != "{}" {
				t.Errorf("told %v of %v, returned %v of %v", e.Err, e.Unsent.Frame, err, sent.Frame)
			}
			// With nobody's turn and no time either may be seen first.
			if got := k.story(); got != tc.story && !(tc.name == "given up before" && got == "unsent closed") {
				t.Errorf("the tap saw %s, want %s", got, tc.story)
			}
		})
	}
}

// What our side ends is told before it ends.
func TestTapSeesLeaving(t *testing.T) {
	for name, target := range carriers(t, scripted) {
		t.Run(name, func(t *testing.T) {
			k := &taps{}
			c := open(t, target, transport.Options{Tap: k.tap})
			s := send(t, c, "hang")
			for receive(t, c).Kind != transport.EventFrame {
			}
			c.CloseChannel(s.Channel)
			c.CloseChannel(s.Channel) // a second time says nothing
			for receive(t, c).Kind != transport.EventClosed {
			}
			shut(t, c)
			shut(t, c)
			want := "POST, frame hang, head 200, frame {}, left, closed closed, leaving"
			if got := k.story(); got != want {
				t.Errorf("the tap saw %s, want %s", got, want)
			}
		})
	}
}
