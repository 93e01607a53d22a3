// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	toServer = wire.ToServer
	toClient = wire.ToClient
)

func TestAnswersFindTheirRequest(t *testing.T) {
	for _, tc := range []struct {
		name string
		play func(*feed)
		want string
	}{
		{"in another order", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.ask(7, request("2", "prompts/get"))
			f.say(7, result("2"))
			f.say(7, result("1"))
		}, `1 request tools/call 1
			1 request prompts/get 2
			1 response prompts/get 2 in 1ms
			1 response tools/call 1 in 3ms`},
		{"one id on two connections", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.ask(9, request("1", "prompts/get"))
			f.say(9, result("1"))
			f.say(7, result("1"))
		}, `1 request tools/call 1
			2 request prompts/get 1
			2 response prompts/get 1 in 1ms
			1 response tools/call 1 in 3ms`},
		{"one id in both directions", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.say(7, request("1", "sampling/createMessage"))
			f.ask(7, result("1"))
			f.say(7, result("1"))
		}, `1 request tools/call 1
			1 request sampling/createMessage 1
			1 response sampling/createMessage 1 in 1ms
			1 response tools/call 1 in 3ms`},
		{"1 and \"1\" are two ids, 1 and 1.0 one", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.ask(7, request(`"1"`, "prompts/get"))
			f.say(7, result("1.0"))
			f.say(7, result(`"\u0031"`))
		}, `1 request tools/call 1
			1 request prompts/get "1"
			1 response tools/call 1.0 in 2ms
			1 response prompts/get "\u0031" in 2ms`},
		{"a second answer has no latency", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.say(7, result("1"))
			f.say(7, result("1"))
		}, `1 request tools/call 1
			1 response tools/call 1 in 1ms
			1 response tools/call 1 repeated`},
		{"an id that is used again", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.say(7, result("1"))
			f.ask(7, request("1", "prompts/get"))
			f.say(7, result("1"))
			f.say(7, result("1"))
		}, `1 request tools/call 1
			1 response tools/call 1 in 1ms
			1 request prompts/get 1
			1 response prompts/get 1 in 1ms
			1 response prompts/get 1 repeated`},
		{"one id twice in flight, each on its own HTTP request", func(f *feed) {
			f.post(7, 1, request("1", "tools/call"))
			f.post(7, 2, request("1", "prompts/get"))
			f.reply(7, 2, result("1"))
			f.reply(7, 2, result("1")) // is not the other's
			f.reply(7, 1, result("1"))
		}, `1 request tools/call 1
			1 request prompts/get 1
			1 response prompts/get 1 in 1ms
			1 response prompts/get 1 repeated
			1 response tools/call 1 in 4ms`},
		{"on the stream that a client came back by", func(f *feed) {
			f.post(7, 1, request("1", "tools/call"))
			f.reply(7, 5, result("1"))
		}, `1 request tools/call 1
			1 response tools/call 1 in 1ms`},
		{"an error that does not know its id, over HTTP", func(f *feed) {
			f.post(7, 1, request("1", "tools/call"))
			f.reply(7, 1, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
		}, `1 request tools/call 1
			1 error tools/call null in 1ms`},
		{"an error that may be that of two requests", func(f *feed) {
			f.post(7, 1, "["+request("1", "tools/call")+","+request("2", "ping")+"]")
			f.reply(7, 1, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
		}, `1 batch
			1 request tools/call 1
			1 request ping 2
			1 error null`},
		{"a result without an id", func(f *feed) {
			f.post(7, 1, request("1", "tools/call"))
			f.reply(7, 1, `{"jsonrpc":"2.0","result":{}}`)
		}, `1 request tools/call 1
			1 response`},
		{"an error that does not know its id, over stdio", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.say(7, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`)
		}, `1 request tools/call 1
			1 error null`},
		{"an answer to nothing", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.say(7, result("2"))
			f.say(7, result("true"))
		}, `1 request tools/call 1
			1 response 2
			1 response true`},
		{"a batch, answered by a batch", func(f *feed) {
			f.ask(7, "["+request("1", "tools/call")+","+request("2", "ping")+`,{"jsonrpc":"2.0","method":"notifications/x"}]`)
			f.say(7, "["+result("2")+","+result("1")+",3]")
		}, `1 batch
			1 request tools/call 1
			1 request ping 2
			1 notification notifications/x
			1 batch
			1 response ping 2 in 1ms
			1 response tools/call 1 in 1ms
			1 noise`},
		{"after a notification that cancels", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.ask(7, request("2", "prompts/get"))
			f.ask(7, cancelled("1"))
			f.say(7, result("1"))
			f.say(7, result("2"))
			f.ask(7, cancelled("2")) // too late to mean anything
			f.say(7, result("2"))
		}, `1 request tools/call 1 cancelled
			1 request prompts/get 2
			1 notification notifications/cancelled
			1 response tools/call 1 in 3ms after cancel
			1 response prompts/get 2 in 3ms
			1 notification notifications/cancelled
			1 response prompts/get 2 repeated`},
		{"a server cancels its own requests alone", func(f *feed) {
			f.ask(7, request("1", "tools/call"))
			f.say(7, cancelled("1"))
			f.say(7, result("1"))
		}, `1 request tools/call 1
			1 notification notifications/cancelled
			1 response tools/call 1 in 2ms`},
		{"after its stream was closed", func(f *feed) {
			f.post(7, 1, request("1", "tools/call"))
			f.event(7, transport.Event{Kind: transport.EventLeft, Channel: 1})
			f.reply(7, 1, result("1"))
		}, `1 request tools/call 1
			1 left
			1 response tools/call 1 in 1ms after cancel`},
		{"legacy streams may be left and come back to", func(f *feed) {
			f.post(7, 1, request("1", "tools/call"))
			f.event(7, transport.Event{Kind: transport.EventLeft, Channel: 1})
			f.reply(7, 2, result("1"))
		}, `1 request tools/call 1
			1 left
			1 response tools/call 1 in 1ms`},
		{"modern ones may not", func(f *feed) {
			f.post(7, 1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
			f.event(7, transport.Event{Kind: transport.EventLeft, Channel: 1})
			f.reply(7, 2, result("1"))
		}, `1 request tools/call 1 cancelled
			1 left
			1 response tools/call 1 in 1ms after cancel`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFeed(record.Options{})
			tc.play(f)
			expect(t, "records", briefs(f.r.Records()), tc.want)
			counted := 0
			for _, n := range f.r.Counts() {
				counted += n
			}
			if counted != len(f.r.Records()) {
				t.Errorf("%d records are counted, of %d: %v", counted, len(f.r.Records()), f.r.Counts())
			}
		})
	}
}

func TestWhatIsAsked(t *testing.T) {
	f := newFeed(record.Options{})
	f.ask(7, request("1", "tools/call"))
	f.ask(7, request("2", "tools/call"))
	f.ask(7, request("3", "prompts/get"))
	f.say(7, request("1", "roots/list"))
	f.ask(7, cancelled("2"))
	f.say(7, "Server ready.")
	f.say(7, "")
	f.say(7, result("3"))
	f.say(7, result("2"))
	f.event(7, transport.Event{Kind: transport.EventLost, Err: &transport.Error{Reason: transport.Died, Detail: "the process ended"}})

	expect(t, "unanswered", briefs(f.r.Unanswered()), "1 request tools/call 1\n1 request roots/list 1")
	expect(t, "after cancel", briefs(f.r.AfterCancel()), "1 response tools/call 2 in 7ms after cancel")
	stray := f.r.Stray()
	expect(t, "stray", briefs(stray), "1 noise\n1 noise")
	if stray[0].Line != 2 || stray[1].Line != 3 || string(stray[0].Frame.Raw) != "Server ready." {
		t.Errorf("lines %d and %d, %q", stray[0].Line, stray[1].Line, stray[0].Frame.Raw)
	}
	lost := f.r.Filter(func(r *record.Record) bool { return r.Kind == record.Lost })
	if len(lost) != 1 || lost[0].Reason != transport.Died || lost[0].Err != "the process ended" {
		t.Errorf("lost: %+v", lost)
	}
}

func TestHTTPFacts(t *testing.T) {
	f := newFeed(record.Options{})
	f.post(7, 1, request("1", "tools/call"), wire.HeaderField{Name: "Mcp-Method", Value: "tools/call"})
	sse := &wire.Head{Time: f.now, Dir: toClient, Status: 200, Header: []wire.HeaderField{{Name: "Content-Type", Value: "text/event-stream"}}}
	f.head(7, 1, sse)
	f.event(7, transport.Event{Kind: transport.EventSSE, Channel: 1, Head: sse, SSE: &wire.Event{Raw: []byte(": hi\n\n"), Complete: true}})
	f.frame(7, 1, toClient, result("1"), func(fr *wire.Frame) {
		fr.HTTP, fr.Event = sse, &wire.Event{Raw: []byte("id: 4\ndata: " + result("1") + "\n\n"), Data: fr.Raw, HasData: true, ID: "4", HasID: true, Complete: true}
	})
	f.event(7, transport.Event{Kind: transport.EventClosed, Channel: 1})
	f.event(7, transport.Event{Kind: transport.EventClosed, Channel: 9, Err: &transport.Error{Reason: transport.Closed, Detail: "closed by us"}})
	f.post(7, 2, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	f.head(7, 2, &wire.Head{Time: f.now, Dir: toClient, Status: 202})
	f.head(7, 3, &wire.Head{Time: f.now, Dir: toServer, Method: "DELETE", URL: "http://u:p@localhost/mcp?key=v"})
	gone := &wire.Head{Time: f.now, Dir: toClient, Status: 405}
	f.head(7, 3, gone)
	f.event(7, transport.Event{Kind: transport.EventBody, Channel: 3, Head: gone, Body: []byte("no"), BodySize: 2})
	f.post(7, 4, request("2", "ping"))
	f.event(7, transport.Event{Kind: transport.EventClosed, Channel: 4, Err: &transport.Error{Reason: transport.Broken, Detail: "cut off"}})

	rs := f.r.Records()
	var got []string
	for _, r := range rs {
		line := brief(r)
		if r.HTTP != nil {
			line += fmt.Sprintf(" | %s %s %d", r.HTTP.Method, r.HTTP.URL, r.HTTP.Status)
		}
		if r.EventID != "" {
			line += " #" + r.EventID
		}
		got = append(got, fmt.Sprintf("%s (%d)", line, r.Size))
	}
	expect(t, "records", strings.Join(got, "\n"), `
		1 request tools/call 1 | POST http://localhost/mcp 0 (46)
		1 sse block | POST http://localhost/mcp 200 (6)
		1 response tools/call 1 in 1ms | POST http://localhost/mcp 200 #4 (36)
		1 notification notifications/initialized | POST http://localhost/mcp 0 (54)
		1 http response | POST http://localhost/mcp 202 (0)
		1 http request | DELETE http://localhost/mcp 0 (0)
		1 http body | DELETE http://localhost/mcp 405 (2)
		1 request ping 2 | POST http://localhost/mcp 0 (40)
		1 broken failed (0)`)
	if h := rs[5].HTTP.Head; h.URL != "http://u:p@localhost/mcp?key=v" {
		t.Errorf("in memory the head is exact: %s", h.URL)
	}
	if len(f.r.Stray()) != 0 {
		t.Errorf("a refusal is no stray output: %s", briefs(f.r.Stray()))
	}
	if got := f.r.Counts()["(http response)"]; got != 1 {
		t.Errorf("counts %v", f.r.Counts())
	}
}

// A send that fails is one record, not two, whether it was shown or not.
func TestFailedSends(t *testing.T) {
	f := newFeed(record.Options{})
	why := &transport.Error{Reason: transport.Broken, Detail: "write", Err: errors.New("broken pipe")}
	shown := f.ask(7, request("1", "tools/call"))
	f.ask(7, request("2", "ping"))
	f.tap(transport.TapEvent{Conn: 7, Event: transport.Event{Kind: transport.EventUnsent, Err: why}, Unsent: &transport.Sent{Frame: shown}})
	f.tap(transport.TapEvent{Conn: 7, Event: transport.Event{Kind: transport.EventUnsent, Err: why},
		Unsent: &transport.Sent{Frame: &wire.Frame{Raw: []byte(request("3", "prompts/get")), Dir: toServer, Time: f.tick()}}})
	f.tap(transport.TapEvent{Conn: 7, Event: transport.Event{Kind: transport.EventUnsent, Err: why},
		Unsent: &transport.Sent{Head: &wire.Head{Method: "GET", URL: "http://localhost/"}}})
	f.say(7, result("1")) // it had reached the server all the same

	expect(t, "records", briefs(f.r.Records()), `
		1 failed send tools/call 1 failed
		1 request ping 2
		1 failed send prompts/get 3 failed
		1 failed send failed
		1 response tools/call 1 in 3ms`)
	failed := f.r.Failed()
	if len(failed) != 3 || failed[0].Err != "write: broken pipe" || failed[0].Reason != transport.Broken ||
		string(failed[1].Frame.Raw) != request("3", "prompts/get") || failed[2].HTTP.Method != "GET" {
		t.Errorf("failed: %+v", failed)
	}
	expect(t, "unanswered", briefs(f.r.Unanswered()), "1 request ping 2")
}

// What is dropped is counted, and answers still know their requests.
func TestLimit(t *testing.T) {
	f := newFeed(record.Options{Limit: 64 << 10})
	f.ask(7, request("1", "tools/call"))
	f.ask(7, request("2", "prompts/get"))
	for range 5000 {
		f.say(7, `{"jsonrpc":"2.0","method":"notifications/message"}`)
	}
	f.say(7, result("1"))
	r := f.r.Recording()
	rs := r.Records()
	if n := len(rs); n < 20 || n > 128 || r.Dropped != 5003-n {
		t.Fatalf("%d records, %d dropped", n, r.Dropped)
	}
	last := rs[len(rs)-1]
	if last.Method != "tools/call" || last.Latency != 5002*time.Millisecond || last.Answers != 1 || last.Seq != 5003 || last.Line != 5001 {
		t.Errorf("%s, answers %d, seq %d, line %d", brief(last), last.Answers, last.Seq, last.Line)
	}
	// One that is larger than the limit is kept alone.
	f.say(7, `{"jsonrpc":"2.0","method":"`+strings.Repeat("x", 100<<10)+`"}`)
	if rs := f.r.Records(); len(rs) != 1 {
		t.Errorf("%d records", len(rs))
	}
	f.say(7, result("2"))
	if rs := f.r.Records(); rs[len(rs)-1].Method != "prompts/get" {
		t.Errorf("%s", brief(rs[len(rs)-1]))
	}
}

func TestCalls(t *testing.T) {
	ask := func(id, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"n"` + more + `}}`
	}
	again := func(id, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}}` + more + `}}`
	}
	for _, tc := range []struct {
		name string
		play func(*feed)
		want string
	}{
		{"by state", func(f *feed) {
			f.ask(7, ask("1", ""))
			f.ask(7, ask("2", ""))
			f.say(7, again("1", `,"requestState":"s1"`))
			f.say(7, again("2", `,"requestState":"s2"`))
			f.ask(7, ask("3", `,"requestState":"s2","inputResponses":{}`))
			f.ask(7, ask("4", `,"requestState":"s\u0031"`))
			f.say(7, again("4", `,"requestState":"s3"`))
			f.ask(7, ask("5", `,"requestState":"s3"`))
			f.say(7, result("5"))
			f.say(7, result("3"))
		}, "1 4 5 in 8ms\n2 3 in 8ms"},
		{"without a state, by what else was asked", func(f *feed) {
			f.ask(7, ask("1", `,"arguments":{"a":1,"b":2}`))
			f.say(7, again("1", ""))
			f.ask(7, ask("2", `,"arguments":{"a":2}`))
			f.say(7, again("2", ""))
			f.ask(7, ask("3", `,"inputResponses":{},"arguments":{"a":2}`))
			f.ask(7, ask("4", `,"arguments":{"b":2,"a":1},"inputResponses":{},"_meta":{"progressToken":1}`))
		}, "1 4 in 0s\n2 3 in 0s"},
		{"one state for all: the same connection and params first", func(f *feed) {
			f.ask(7, ask("1", `,"arguments":{"a":1}`))
			f.ask(9, ask("1", `,"arguments":{"a":1}`))
			f.ask(9, ask("2", `,"arguments":{"a":2}`))
			f.say(7, again("1", `,"requestState":"s"`))
			f.say(9, again("1", `,"requestState":"s"`))
			f.say(9, again("2", `,"requestState":"s"`))
			f.ask(9, ask("3", `,"arguments":{"a":2},"requestState":"s"`))
			f.ask(9, ask("4", `,"arguments":{"a":1},"requestState":"s"`))
			f.ask(9, ask("5", `,"arguments":{"other":1},"requestState":"s"`))
		}, "1 5 in 0s\n1 4 in 0s\n2 3 in 0s"},
		{"no retry", func(f *feed) {
			f.ask(7, ask("1", ""))
			f.say(7, again("1", `,"requestState":"s"`))
			f.ask(7, ask("2", ""))                    // begins anew
			f.ask(7, ask("3", `,"requestState":"t"`)) // of nobody
			f.ask(7, `{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"requestState":"s"}}`)
			f.say(7, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`) // not the client's
		}, "1 in 1ms\n2 in 0s\n3 in 0s\n4 in 0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFeed(record.Options{})
			tc.play(f)
			var got []string
			for _, c := range f.r.Calls() {
				line := ""
				for _, r := range c.Rounds {
					if r.Answer != nil && r.Answer.Answers != r.Request.Seq {
						t.Errorf("the answer to %d stands beside %d", r.Answer.Answers, r.Request.Seq)
					}
					line += string(r.Request.ID) + " "
				}
				got = append(got, line+"in "+c.Latency().String())
			}
			expect(t, "calls", strings.Join(got, "\n"), tc.want)
		})
	}
}
