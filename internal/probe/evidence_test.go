// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcprove/mcprove/wire"
)

// An answer that came after what was sent behind its request stands after it.
func TestEvidenceIsInOrder(t *testing.T) {
	begin := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	frame := func(ms int, dir wire.Direction, text string) *wire.Frame {
		return &wire.Frame{Raw: []byte(text), Dir: dir, Time: begin.Add(time.Duration(ms) * time.Millisecond)}
	}
	late := frame(900, wire.ToClient, "result")
	call := &Exchange{Conn: 1, Start: begin, Sent: frame(0, wire.ToServer, "call"), Frames: []*wire.Frame{frame(50, wire.ToClient, "progress"), late}, Response: late}
	cancel := &Exchange{Conn: 1, Start: begin.Add(100 * time.Millisecond), Sent: frame(101, wire.ToServer, "cancel")}
	silent := &Exchange{Conn: 1, Start: begin.Add(200 * time.Millisecond), Sent: frame(200, wire.ToServer, "ping"), Err: ErrSilent}
	other := &Exchange{Conn: 2, Start: begin.Add(-time.Second), Sent: frame(-1000, wire.ToServer, "list"), Response: frame(-990, wire.ToClient, "tools")}
	other.Frames = []*wire.Frame{other.Response}
	for _, tc := range []struct {
		name string
		of   []*Exchange
		want []string
	}{
		{"one", []*Exchange{cancel}, []string{"0ms cancel"}},
		{"a late answer", []*Exchange{call, cancel}, []string{"0ms call", "50ms progress", "101ms cancel", "900ms result"}},
		{"named the other way round", []*Exchange{cancel, call}, []string{"0ms call", "50ms progress", "101ms cancel", "900ms result"}},
		{"no answer", []*Exchange{call, silent}, []string{"0ms call", "50ms progress", "200ms ping", "200ms (no answer in time)", "900ms result"}},
		{"two connections", []*Exchange{cancel, other}, []string{"0ms cancel", "0ms list", "10ms tools"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, c := range Evidence(nil, tc.of...) {
				got = append(got, fmt.Sprintf("%s %s", c.At, c.Text))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
