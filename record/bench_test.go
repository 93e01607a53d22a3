// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// frames are ready to be tapped, as a transport has them.
func frames(n int) []transport.TapEvent {
	out := make([]transport.TapEvent, 0, 2*n)
	for i := range n {
		for _, dir := range []wire.Direction{wire.ToServer, wire.ToClient} {
			text := request(fmt.Sprint(i), "tools/call")
			if dir == wire.ToClient {
				text = result(fmt.Sprint(i))
			}
			out = append(out, transport.TapEvent{Conn: 7, Sent: dir == wire.ToServer, Event: transport.Event{
				Kind: transport.EventFrame, Frame: &wire.Frame{Raw: []byte(text), Time: time.Unix(1, int64(i)), Dir: dir, Line: &wire.Line{}},
			}})
		}
	}
	return out
}

// BenchmarkCapture is to be held against BenchmarkBareTap: a tap that counts.
func BenchmarkCapture(b *testing.B) {
	events := frames(500)
	tap := record.New(record.Options{}).Tap()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tap(events[i%len(events)])
		i++
	}
}

func BenchmarkBareTap(b *testing.B) {
	events := frames(500)
	n := 0
	tap := transport.Tap(func(transport.TapEvent) { n++ })
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tap(events[i%len(events)])
		i++
	}
}

// BenchmarkRecords is what the first question costs, for 1000 frames.
func BenchmarkRecords(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r := record.New(record.Options{})
		tap := r.Tap()
		for _, e := range frames(500) {
			tap(e)
		}
		b.StartTimer()
		if n := len(r.Records()); n != 1000 {
			b.Fatal(n)
		}
	}
}

// Capture allocates next to nothing: the slice grows, and that is all.
func TestCaptureAllocates(t *testing.T) {
	const most, mostBeyond = 0.1, 2.05
	events := frames(500)
	for name, limit := range map[string]int{"in the limit": 0, "beyond it": 64 << 10} {
		tap := record.New(record.Options{Limit: limit}).Tap()
		for _, e := range events { // read once, as a session does before
			e.Frame.Message()
			tap(e)
		}
		i := 0
		each := testing.AllocsPerRun(20_000, func() {
			tap(events[i%len(events)])
			i++
		})
		t.Logf("%s: %.3f allocations an event", name, each)
		if limit == 0 && each > most || each > mostBeyond {
			t.Errorf("%s: %.3f allocations an event, at most %v and %v", name, each, most, mostBeyond)
		}
	}
}
