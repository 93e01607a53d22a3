// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"strconv"
	"testing"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// A recording of which the end matters keeps that, and counts the rest.
func TestTailKeepsTheEnd(t *testing.T) {
	r := record.New(record.Options{Limit: 64 << 10, Tail: true})
	tap := r.Tap()
	frame := func(i int, dir wire.Direction, text string) {
		tap(transport.TapEvent{Conn: 1, Sent: dir == wire.ToServer, Event: transport.Event{
			Kind: transport.EventFrame, Frame: &wire.Frame{Raw: []byte(text), Dir: dir, Line: &wire.Line{}},
		}})
	}
	const n = 1000
	for i := range n {
		id := strconv.Itoa(i)
		frame(i, wire.ToServer, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
		frame(i, wire.ToClient, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		if kept := len(r.Records()); kept > 200 {
			t.Fatalf("%d records are kept", kept)
		}
	}
	recording := r.Recording()
	all := recording.Records()
	if got := recording.Dropped + len(all); got != 2*n || len(all) < 50 {
		t.Errorf("%d were dropped, and %d are kept", recording.Dropped, len(all))
	}
	if last := all[len(all)-1]; string(last.ID) != strconv.Itoa(n-1) || last.Method != "ping" || !last.Timed() {
		t.Errorf("the last is %+v", last)
	}
}
