// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// actor makes the test binary play a server.
const actor = "RECORD_TEST_ACTOR"

func TestMain(m *testing.M) {
	if os.Getenv(actor) != "" {
		playNoisy()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// playNoisy is a server over stdio that also prints.
func playNoisy() {
	fmt.Println("starting up")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		m := wire.Read(lines.Bytes())
		if m.Kind != wire.Request {
			continue
		}
		if m.Method == "initialize" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"n","version":"1"}}}`+"\n", m.ID)
			continue
		}
		fmt.Println("working")
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\r\n", m.ID)
	}
	_, _ = io.WriteString(os.Stdout, "bye")
}

// feed plays a transport: every event is a millisecond after the one before.
type feed struct {
	r   *record.Recorder
	tap transport.Tap
	now time.Time
	// live takes the time from the clock, of a bubble: then what has no time
	// of its own has one that is known too.
	live bool
	url  string
}

func newFeed(o record.Options) *feed {
	r := record.New(o)
	return &feed{r: r, tap: r.Tap(), now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), url: "http://localhost/mcp?key=v"}
}

func (f *feed) tick() time.Time {
	if f.now = f.now.Add(time.Millisecond); f.live {
		time.Sleep(time.Millisecond)
	}
	return f.now
}

func (f *feed) frame(conn int, ch transport.Channel, dir wire.Direction, text string, change func(*wire.Frame)) *wire.Frame {
	fr := &wire.Frame{Raw: []byte(text), Time: f.tick(), Dir: dir}
	if change != nil {
		change(fr)
	}
	f.tap(transport.TapEvent{Conn: uint64(conn), Sent: dir == wire.ToServer,
		Event: transport.Event{Kind: transport.EventFrame, Channel: ch, Frame: fr, Head: fr.HTTP}})
	return fr
}

// line is a text over stdio.
func (f *feed) line(conn int, dir wire.Direction, text string) *wire.Frame {
	return f.frame(conn, transport.Main, dir, text, func(fr *wire.Frame) {
		fr.Line = &wire.Line{Terminator: wire.LF, Size: int64(len(text))}
	})
}

func (f *feed) ask(conn int, text string) *wire.Frame { return f.line(conn, wire.ToServer, text) }
func (f *feed) say(conn int, text string) *wire.Frame { return f.line(conn, wire.ToClient, text) }

// post is a text by an HTTP request of its own.
func (f *feed) post(conn int, ch transport.Channel, text string, header ...wire.HeaderField) *wire.Frame {
	h := &wire.Head{Time: f.now, Dir: wire.ToServer, Method: "POST", URL: f.url, Header: header}
	f.head(conn, ch, h)
	return f.frame(conn, ch, wire.ToServer, text, func(fr *wire.Frame) { fr.HTTP = h })
}

func (f *feed) head(conn int, ch transport.Channel, h *wire.Head) {
	f.tap(transport.TapEvent{Conn: uint64(conn), Sent: h.Dir == wire.ToServer,
		Event: transport.Event{Kind: transport.EventHead, Channel: ch, Head: h}})
}

// reply is a text in an HTTP response.
func (f *feed) reply(conn int, ch transport.Channel, text string) *wire.Frame {
	h := &wire.Head{Time: f.now, Dir: wire.ToClient, Status: 200, Header: []wire.HeaderField{{Name: "Content-Type", Value: "application/json"}}}
	f.head(conn, ch, h)
	return f.frame(conn, ch, wire.ToClient, text, func(fr *wire.Frame) { fr.HTTP = h })
}

func (f *feed) event(conn int, e transport.Event) {
	if f.live {
		f.tick()
	}
	f.tap(transport.TapEvent{Conn: uint64(conn), Event: e})
}

func request(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
}

func result(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id) }

func cancelled(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

// brief is a record on one line.
func brief(r record.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", r.Conn, r.Kind)
	if r.Method != "" {
		fmt.Fprintf(&b, " %s", r.Method)
	}
	if r.ID != nil {
		fmt.Fprintf(&b, " %s", r.ID)
	}
	if r.Timed() {
		fmt.Fprintf(&b, " in %s", r.Latency)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.Repeated, "repeated"}, {r.AfterCancel, "after cancel"}, {r.Cancelled, "cancelled"}, {r.Err != "", "failed"}} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}
	return b.String()
}

func briefs(rs []record.Record) string {
	var lines []string
	for _, r := range rs {
		lines = append(lines, brief(r))
	}
	return strings.Join(lines, "\n")
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if want = strings.ReplaceAll(strings.TrimSpace(want), "\t", ""); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, target transport.Target, o session.Options) (*session.Session, func()) {
	t.Helper()
	s, err := session.Open(within(t), target, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }
