// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"flag"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// recorded is a Recorder or a Recording.
type recorded interface {
	WriteJSONL(io.Writer) error
	Records() []record.Record
}

func lines(t interface{ Fatal(...any) }, r recorded) []byte {
	var b bytes.Buffer
	if err := r.WriteJSONL(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reread(t interface{ Fatal(...any) }, r recorded) *record.Recording {
	back, err := record.Read("x.jsonl", lines(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// same compares records as far as a file can tell them.
func same(a, b []record.Record) string {
	return cmp.Diff(a, b,
		cmpopts.IgnoreUnexported(record.Record{}, wire.Frame{}),
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond }), // a monotonic clock is not the wall's
		cmp.FilterPath(func(p cmp.Path) bool { // of those only the codes are kept
			return strings.HasSuffix(p.GoString(), ".Offset") || strings.HasSuffix(p.GoString(), ".Detail")
		}, cmp.Ignore()),
	)
}

// story is a recording with one of everything, for the time of a bubble.
func story() *feed {
	f := newFeed(record.Options{Redact: record.Redaction{Keys: []string{"pin"}}})
	f.now, f.live = time.Now(), true
	auth := wire.HeaderField{Name: "Authorization", Value: "Bearer abcdefgh12345678"}
	f.ask(7, request("1", "tools/list"))
	f.say(7, "Server ready \x1b[32m✓")
	f.say(7, result("1"))
	f.say(7, "caf\xe9")
	f.frame(7, 0, wire.ToClient, `{"half":`, func(fr *wire.Frame) {
		fr.Line = &wire.Line{Size: 8, Faults: []wire.Fault{{Code: wire.FaultUnfinished, Offset: 8}}}
	})
	f.event(7, transport.Event{Kind: transport.EventLost, Err: &transport.Error{Reason: transport.Died, Detail: "the process ended"}})
	f.post(8, 1, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"n","arguments":{"pin":1234}}}`, auth, wire.HeaderField{Name: "content-type", Value: "application/json; charset=utf-8"})
	h := &wire.Head{Time: f.tick(), Dir: wire.ToClient, Status: 200, Reason: "OK", Proto: "HTTP/1.1", Exact: true,
		Header: []wire.HeaderField{{Name: "content-type", Value: "text/event-stream"}, {Name: "x-odd", Value: "\xe9"}}}
	f.head(8, 1, h)
	blocks := wire.NewEvents(strings.NewReader("\ufeff: hello\r\r\nid: 1\ndata:\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":\"a\",\"result\":{}}\r\n\r\ndata: {"), 0)
	for {
		e, err := blocks.Next()
		if err != nil {
			break
		}
		if e.Dispatched() && len(e.Data) > 0 {
			f.frame(8, 1, wire.ToClient, string(e.Data), func(fr *wire.Frame) { fr.HTTP, fr.Event = h, e })
			continue
		}
		f.event(8, transport.Event{Kind: transport.EventSSE, Channel: 1, Head: h, SSE: e})
	}
	f.event(8, transport.Event{Kind: transport.EventClosed, Channel: 1})
	f.post(8, 2, "["+request("3", "ping")+"]")
	gone := &wire.Head{Time: f.tick(), Dir: wire.ToClient, Status: 404, Reason: "Not Found", Header: []wire.HeaderField{{Name: "Content-Type", Value: "text/html"}}}
	f.head(8, 2, gone)
	f.event(8, transport.Event{Kind: transport.EventBody, Channel: 2, Head: gone, Body: []byte("<h1>\xff"), BodySize: 70000})
	f.event(8, transport.Event{Kind: transport.EventLeft, Channel: 3})
	shown := f.post(8, 4, request("4", "ping"))
	why := &transport.Error{Reason: transport.Unreachable, Detail: "connection refused"}
	f.tap(transport.TapEvent{Conn: 8, Event: transport.Event{Kind: transport.EventUnsent, Channel: 4, Err: why}, Unsent: &transport.Sent{Channel: 4, Frame: shown, Head: shown.HTTP}})
	f.tap(transport.TapEvent{Conn: 8, Event: transport.Event{Kind: transport.EventUnsent, Err: why},
		Unsent: &transport.Sent{Frame: &wire.Frame{Raw: []byte(request("5", "ping")), Dir: wire.ToServer, HTTP: &wire.Head{Method: "POST", URL: "http://localhost/"}}}})
	f.tap(transport.TapEvent{Conn: 8, Event: transport.Event{Kind: transport.EventUnsent, Err: why}, Unsent: &transport.Sent{Head: &wire.Head{Method: "GET", URL: "http://localhost/"}}})
	f.event(8, transport.Event{Kind: transport.EventLeaving})
	return f
}

func TestFileIsAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := story()
		text := lines(t, f.r)
		golden(t, "story.jsonl", string(text))
		back, err := record.Read("story.jsonl", text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := briefs(back.Records()), briefs(f.r.Records()); got != want {
			t.Errorf("read back:\n%s\nwant\n%s", got, want)
		}
		if again := lines(t, back); !bytes.Equal(again, text) {
			t.Errorf("written again (-first +second):\n%s", cmp.Diff(string(text), string(again)))
		}
	})
}

// What crossed live, over each carrier, is read back as it was.
func TestRoundTripOfLiveTraffic(t *testing.T) {
	srv := httptest.NewServer(slow())
	defer srv.Close()
	for name, target := range map[string]transport.Target{
		"mock": slow().HTTP(""), "pipes": slow().Stdio(""), "command": noisy(), "HTTP": &transport.HTTP{URL: srv.URL},
	} {
		t.Run(name, func(t *testing.T) {
			r := record.New(record.Options{})
			s, stop := open(t, r.Wrap(target), session.Options{})
			_, _ = s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"wait","arguments":{"For":1}}`)) // an error is traffic too
			stop()
			if diff := same(r.Records(), reread(t, r).Records()); diff != "" {
				t.Errorf("read back (-live +file):\n%s", diff)
			}
			if len(r.Records()) < 6 {
				t.Errorf("only %s", briefs(r.Records()))
			}
		})
	}
}

// Any bytes survive, over any carrier.
func TestRoundTrip(t *testing.T) {
	bytesOf := func(t *rapid.T, name string) string {
		return rapid.OneOf(
			rapid.StringMatching(`\{"jsonrpc":"2\.0","id":[1-3],"(method":"[a-c]"|result":\{\})\}`),
			rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }),
		).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(record.Options{})
		f.url = "http://localhost/mcp" // values of queries are not written
		for i := range rapid.IntRange(1, 12).Draw(t, "events") {
			s := bytesOf(t, "text")
			conn, ch := rapid.IntRange(7, 8).Draw(t, "conn"), transport.Channel(rapid.IntRange(0, 3).Draw(t, "channel"))
			dir := rapid.SampledFrom([]wire.Direction{wire.ToServer, wire.ToClient}).Draw(t, "dir")
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0:
				f.frame(conn, 0, dir, s, func(fr *wire.Frame) {
					fr.Line = &wire.Line{Terminator: wire.Terminator(i % 3), Size: int64(len(s))}
				})
			case 1:
				f.post(conn, ch, s, wire.HeaderField{Name: "x-note", Value: bytesOf(t, "header")})
			case 2:
				f.reply(conn, ch, s)
			case 3: // an event stream, from its bytes
				h := &wire.Head{Time: f.tick(), Dir: wire.ToClient, Status: 200}
				stream := wire.NewEvents(strings.NewReader(rapid.StringMatching(`((id|data|event|retry|)(: ?[ -~é]{0,9})?(\n|\r|\r\n){1,2}){1,5}`).Draw(t, "sse")), 0)
				for e, err := stream.Next(); err == nil; e, err = stream.Next() {
					if e.Dispatched() && len(e.Data) > 0 {
						f.frame(conn, ch, wire.ToClient, string(e.Data), func(fr *wire.Frame) { fr.HTTP, fr.Event = h, e })
						continue
					}
					f.event(conn, transport.Event{Kind: transport.EventSSE, Channel: ch, Head: h, SSE: e})
				}
			case 4:
				f.event(conn, transport.Event{Kind: transport.EventBody, Channel: ch, Body: []byte(s), BodySize: int64(len(s))})
			case 5:
				f.event(conn, transport.Event{Kind: transport.EventClosed, Channel: ch, Err: &transport.Error{Reason: transport.Broken, Detail: strings.ToValidUTF8(s, "")}})
			case 6:
				f.event(conn, transport.Event{Kind: rapid.SampledFrom([]transport.EventKind{transport.EventLeft, transport.EventLeaving, transport.EventLost}).Draw(t, "end"), Channel: ch})
			}
		}
		text := lines(t, f.r)
		if !utf8.Valid(text) {
			t.Fatalf("the file is no UTF-8: %q", text)
		}
		back := reread(t, f.r)
		if strings.Contains(string(text), "[redacted]") {
			t.Skip("it looked like a secret")
		}
		if diff := same(f.r.Records(), back.Records()); diff != "" {
			t.Fatalf("read back (-live +file):\n%s\nof\n%s", diff, text)
		}
		if again := lines(t, back); !bytes.Equal(again, text) {
			t.Fatalf("written again:\n%s\nfirst\n%s", again, text)
		}
	})
}

func TestReadRefuses(t *testing.T) {
	const head = `{"format":1,"type":"mcprove recording","dropped":0}` + "\n"
	const frame = `{"seq":1,"time":"2026-08-01T12:00:00Z","conn":1,"event":"frame","dir":"to-client","text":"x"}` + "\n"
	for _, tc := range []struct{ name, file, want string }{
		{"nothing", "", "x: the file is empty: no recording"},
		{"no JSON", "hello", `x:1:1: no recording of mcprove`},
		{"another format of lines", `{"jsonrpc":"2.0"}`, "x:1:1: no recording of mcprove"},
		{"a newer one", `{"format":2,"type":"mcprove recording"}`, "x:1:1: a recording of format 2: this version reads format 1"},
		{"cut off", head + frame[:40], "x:2:41: unexpected end of JSON"},
		{"a name twice", head + `{"seq":1,"seq":2}`, `x:2:10: duplicate object member name`},
		{"of another type", head + `{"seq":"1"}`, "x:2:"},
		{"an empty line", head + "\n" + frame, "x:2:2: unexpected end of JSON"},
		{"seq stands still", head + frame + frame, "x:3:1: seq 1 does not follow the line before"},
		{"no conn", head + strings.Replace(frame, `"conn":1`, `"conn":0`, 1), "x:2:1: conn is below one"},
		{"time", head + strings.Replace(frame, "2026-08-01T12:00:00Z", "noon", 1), `x:2:1: time "noon" is not of RFC 3339`},
		{"event", head + strings.Replace(frame, `"frame"`, `"fame"`, 1), `x:2:1: event "fame" is not known`},
		{"dir", head + strings.Replace(frame, "to-client", "up", 1), `x:2:1: dir "up" is neither to-server nor to-client`},
		{"text", head + strings.Replace(frame, `"x"`, `7`, 1), `x:2:1: text is neither a string nor {"base64":"..."}`},
		{"no text", head + strings.Replace(frame, `,"text":"x"`, ``, 1), `x:2:1: text is neither a string`},
		{"Base64", head + strings.Replace(frame, `"x"`, `{"base64":"*"}`, 1), "x:2:1: text is no Base64"},
		{"Base64 by another name", head + strings.Replace(frame, `"x"`, `{"base65":"eA=="}`, 1), "x:2:"},
		{"head", head + strings.Replace(frame, `"text"`, `"head":9,"text"`, 1), "x:2:1: head 9 is of no line before"},
		{"line", head + strings.Replace(frame, `"text"`, `"line":{"n":1,"end":"cr","size":1},"text"`, 1), `x:2:1: line end "cr" is not known`},
		{"of", head + strings.NewReplacer("frame", "unsent", `"text":"x"`, `"of":3`).Replace(frame), "x:2:1: of 3 is of no line before"},
		{"sse", head + strings.NewReplacer("frame", "sse", `"text":"x"`, `"sse":""`).Replace(frame), "x:2:1: sse is no block of an event stream"},
		{"no http", head + strings.NewReplacer("frame", "head", `,"text":"x"`, "").Replace(frame), "x:2:1: a head without http"},
	} {
		_, err := record.Read("x", []byte(tc.file))
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
	if r, err := record.Read("x", []byte(head+frame)); err != nil || len(r.Records()) != 1 {
		t.Errorf("the good one: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	story, err := os.ReadFile("testdata/story.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(story)
	f.Add([]byte(`{"format":1,"type":"mcprove recording","dropped":3}` + "\n" +
		`{"seq":1,"time":"2026-08-01T12:00:00Z","conn":1,"event":"frame","dir":"to-client","text":{"base64":"/w=="},"line":{"n":1,"end":"lf","size":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Read("x", data)
		if err != nil {
			return
		}
		first := lines(t, r)
		again, err := record.Read("x", first)
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, first)
		}
		if second := lines(t, again); !bytes.Equal(first, second) {
			t.Fatalf("written again:\n%s\nfirst\n%s", second, first)
		}
		if a, b := len(r.Records()), len(again.Records()); a != b {
			t.Fatalf("%d records became %d", a, b)
		}
		r.Calls()
		if err := r.WriteHAR(io.Discard, "1"); err != nil {
			t.Fatal(err)
		}
	})
}
