// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/record"
	"github.com/mcprove/mcprove/session"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// What the inspector of the Java kit does, each under the name it has there.

// slow is a mock with a tool that takes as long as it is told to.
func slow() *mock.Server {
	return mock.New(mock.Script{Tools: []mock.Tool{{
		Definition: raw(`{"name":"wait","inputSchema":{"type":"object"}}`),
		Func: func(ctx context.Context, c *mock.Call) (json.RawMessage, error) {
			var d time.Duration
			if err := json.Unmarshal(c.Arguments, &struct{ For *time.Duration }{&d}); err != nil {
				return nil, err
			}
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return raw(`{"content":[]}`), nil
		},
	}}})
}

func noisy() *transport.Command {
	return &transport.Command{
		Argv: []string{os.Args[0]}, Env: []string{actor + "=1", "GORACE=atexit_sleep_ms=0"},
		CloseGrace: 2 * time.Second, TermGrace: 100 * time.Millisecond,
	}
}

func TestWrapsAnyTransport(t *testing.T) { // D: wraps any transport (mock, stdio, HTTP)
	srv := httptest.NewServer(slow())
	defer srv.Close()
	legacy := httptest.NewServer(mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20241105}, SSEPath: "/sse"}))
	defer legacy.Close()
	for name, target := range map[string]transport.Target{
		"mock":     slow().HTTP(""),
		"pipes":    slow().Stdio(""),
		"function": &transport.Func{Serve: slow().ServeStdio},
		"command":  noisy(),
		"HTTP":     &transport.HTTP{URL: srv.URL},
		"HTTP+SSE": (&transport.HTTP{URL: legacy.URL + "/sse"}).HTTPSSE(),
	} {
		t.Run(name, func(t *testing.T) {
			r := record.New(record.Options{})
			wrapped := r.Wrap(target)
			if wrapped.Kind() != target.Kind() || wrapped.String() != target.String() {
				t.Errorf("%s %s became %s %s", target.Kind(), target, wrapped.Kind(), wrapped)
			}
			seen := 0
			s, stop := open(t, wrapped, session.Options{Era: spec.Legacy, Tap: func(transport.TapEvent) { seen++ }})
			if _, err := s.Call(within(t), "ping", nil); err != nil {
				t.Fatal(err)
			}
			stop()
			if seen == 0 {
				t.Error("the tap that was there is not called any more")
			}
			rs := r.Records()
			if rs[0].Kind != record.Opened || rs[0].Target != target.String() {
				t.Errorf("first %s", brief(rs[0]))
			}
			closed := r.Filter(func(x *record.Record) bool { return x.Kind == record.Closed })
			if len(closed) != 1 {
				t.Errorf("%d closings in\n%s", len(closed), briefs(rs))
			}
			if got := r.Counts()["ping"]; got != 2 {
				t.Errorf("%d records of ping in\n%s", got, briefs(rs))
			}
			if u := r.Unanswered(); len(u) != 0 {
				t.Errorf("unanswered: %s", briefs(u))
			}
		})
	}
}

func TestKeepsWhatATargetCan(t *testing.T) {
	r := record.New(record.Options{})
	http := r.Wrap(&transport.HTTP{URL: "http://127.0.0.1:1/"})
	f, ok := http.(transport.SSEFallback)
	if !ok || f.HTTPSSE().Kind() != transport.HTTPSSE {
		t.Error("HTTP has lost its fallback")
	}
	if _, err := f.HTTPSSE().Open(within(t), transport.Options{}); err == nil {
		t.Error("nobody listens there")
	}
	failed := r.Filter(func(x *record.Record) bool { return x.Kind == record.OpenFailed })
	if len(failed) != 1 || failed[0].Reason != transport.Unreachable || failed[0].Target != "http://127.0.0.1:1/" {
		t.Errorf("failed to open: %+v", failed)
	}
	if _, ok := r.Wrap(noisy()).(transport.SSEFallback); ok {
		t.Error("a command has no fallback")
	}
	c, err := r.Wrap(noisy()).Open(within(t), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.(transport.ProcessConn); !ok {
		t.Error("the connection has lost its process")
	}
	_ = c.Close(within(t))
	h, err := http.Open(within(t), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"Requester": is[transport.Requester](h), "RawRequester": is[transport.RawRequester](h), "Holder": is[transport.Holder](h),
	} {
		if !ok {
			t.Errorf("the connection is no %s any more", name)
		}
	}
	_ = h.Close(within(t))
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// One who taps what is wrapped does not hear it twice.
func TestWrapAndTap(t *testing.T) {
	r := record.New(record.Options{})
	s, stop := open(t, r.Wrap(slow().HTTP("")), session.Options{Tap: r.Tap()})
	if _, err := s.Call(within(t), spec.MethodToolsList, nil); err != nil {
		t.Fatal(err)
	}
	stop()
	if got := r.Counts()[spec.MethodToolsList]; got != 2 {
		t.Errorf("%d records of one call", got)
	}
	tapped := record.New(record.Options{})
	s, stop = open(t, slow().HTTP(""), session.Options{Tap: tapped.Tap()})
	if _, err := s.Call(within(t), spec.MethodToolsList, nil); err != nil {
		t.Fatal(err)
	}
	stop()
	if got := tapped.Counts()[spec.MethodToolsList]; got != 2 {
		t.Errorf("%d records of one call by tap", got)
	}
}

func TestInspectorRecord(t *testing.T) { // D: record: timestamp, direction, method, content, latency
	synctest.Test(t, func(t *testing.T) {
		r := record.New(record.Options{})
		s, stop := open(t, r.Wrap(slow().HTTP("")), session.Options{})
		defer stop()
		began := time.Now()
		if _, err := s.Call(t.Context(), spec.MethodToolsCall, raw(`{"name":"wait","arguments":{"For":3000000000}}`)); err != nil {
			t.Fatal(err)
		}
		rs := r.ByMethod(spec.MethodToolsCall)
		if len(rs) != 2 {
			t.Fatalf("%s", briefs(r.Records()))
		}
		q, a := rs[0], rs[1]
		if q.Kind != record.Request || q.Dir != wire.ToServer || !q.Time.Equal(began) || !strings.Contains(string(q.Frame.Raw), `"wait"`) {
			t.Errorf("request %+v", q)
		}
		if a.Kind != record.Response || a.Dir != wire.ToClient || a.Latency != 3*time.Second || !strings.Contains(string(a.Frame.Raw), `"content":[]`) {
			t.Errorf("answer %+v", a)
		}
		if a.Size != len(a.Frame.Raw) || a.HTTP.Status != 200 || a.HTTP.Method != "POST" || a.HTTP.URL != "http://localhost/" ||
			q.HTTP.Head.Get("Mcp-Method") != spec.MethodToolsCall {
			t.Errorf("facts %+v %+v", q.HTTP, a.HTTP)
		}
	})
}

func TestInspectorFailedSend(t *testing.T) { // D: directions outgoing / incoming / error; failed send recorded with the message
	r := record.New(record.Options{})
	c, err := r.Wrap(&transport.HTTP{URL: "http://127.0.0.1:1/"}).Open(within(t), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, want := c.Send(within(t), transport.Outgoing{Raw: []byte(request("1", "tools/call"))})
	_ = c.Close(within(t))
	failed := r.Failed()
	if len(failed) != 1 || want == nil || failed[0].Err != want.Error() || failed[0].Reason != transport.Unreachable ||
		failed[0].Method != "tools/call" || failed[0].Dir != wire.ToServer || string(failed[0].Frame.Raw) != request("1", "tools/call") {
		t.Fatalf("failed: %+v, want %v", failed, want)
	}
	if got := r.Counts()["tools/call"]; got != 1 {
		t.Errorf("%d records of one send", got)
	}
}

func TestInspectorGetMessages(t *testing.T) { // D: getMessages() copy
	f := newFeed(record.Options{})
	f.ask(7, request("1", "ping"))
	rs := f.r.Records()
	rs[0].Method = "changed"
	rs = append(rs[:0], record.Record{})
	if again := f.r.Records(); again[0].Method != "ping" || len(rs) != 1 {
		t.Errorf("the records were changed from outside: %s", briefs(again))
	}
	before := f.r.Recording()
	f.say(7, result("1"))
	if len(before.Records()) != 1 || len(f.r.Records()) != 2 {
		t.Error("a recording changes, or does not follow")
	}
}

func TestInspectorByMethod(t *testing.T) { // D: getMessagesByMethod
	f := newFeed(record.Options{})
	f.ask(7, request("1", "tools/list"))
	f.ask(7, request("2", "tools/call"))
	f.say(7, result("2"))
	f.say(7, result("1"))
	// D: responses have no method: missing from by-method, counted as 'unknown'.
	expect(t, "tools/call", briefs(f.r.ByMethod("tools/call")), "1 request tools/call 2\n1 response tools/call 2 in 1ms")
	if got := f.r.ByMethod("unknown"); got != nil {
		t.Errorf("unknown: %s", briefs(got))
	}
}

func TestInspectorMethodCounts(t *testing.T) { // D: getMethodCounts
	f := newFeed(record.Options{})
	f.ask(7, request("1", "tools/call"))
	f.say(7, "noise")
	f.say(7, result("1"))
	f.say(7, result("9"))
	f.ask(7, "["+request("2", "ping")+"]")
	want := map[string]int{"tools/call": 2, "(noise)": 1, record.AnswerToNothing: 1, "(batch)": 1, "ping": 1}
	if got := f.r.Counts(); !maps.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
}

func TestInspectorLatency(t *testing.T) { // D: getAverageLatency
	f := newFeed(record.Options{})
	if f.r.Average() != 0 || f.r.Percentile(50) != 0 {
		t.Error("of nothing")
	}
	f.ask(7, request("1", "tools/call"))
	f.ask(7, request("2", "ping"))
	f.ask(7, request("3", "tools/call"))
	f.say(7, request("1", "roots/list"))
	f.ask(7, result("1")) // how long the client took is not the server's doing
	f.say(7, result("1"))
	f.say(7, result("2"))
	f.say(7, result("3"))
	f.say(7, result("3")) // has no latency
	// D: latency measured from last outgoing, wrong with more than one request
	// in flight: by that all three were 1 to 3 ms.
	ms := time.Millisecond
	if got := f.r.Latencies(); !slices.Equal(got, []time.Duration{5 * ms, 5 * ms, 5 * ms}) {
		t.Fatalf("latencies %v", got)
	}
	f.ask(7, request("4", "ping"))
	f.say(7, result("4"))
	for _, tc := range []struct {
		what      string
		got, want time.Duration
	}{
		{"average", f.r.Average(), 4 * ms},
		{"average of ping", f.r.Average("ping"), 3 * ms},
		{"average of two methods", f.r.Average("ping", "tools/call"), 4 * ms},
		{"average of none", f.r.Average("roots/list"), 0},
		{"0th", f.r.Percentile(0), ms},
		{"25th", f.r.Percentile(25), ms},
		{"26th", f.r.Percentile(26), 5 * ms},
		{"50th of ping", f.r.Percentile(50, "ping"), ms},
		{"51st of ping", f.r.Percentile(51, "ping"), 5 * ms},
		{"100th", f.r.Percentile(100), 5 * ms},
		{"above", f.r.Percentile(1000), 5 * ms},
		{"below", f.r.Percentile(-1), ms},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, tc.got, tc.want)
		}
	}
}

func TestInspectorClear(t *testing.T) { // D: clear
	f := newFeed(record.Options{Limit: 4 << 10})
	for range 20 {
		f.ask(7, `{"jsonrpc":"2.0","method":"notifications/x"}`)
	}
	f.ask(7, request("0", "ping"))
	f.say(7, result("0"))
	f.ask(7, request("1", "tools/call"))
	if f.r.Recording().Dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	f.r.Clear()
	if r := f.r.Recording(); len(r.Records()) != 0 || r.Dropped != 0 || len(r.Counts()) != 0 || r.Average() != 0 || len(f.r.Unanswered()) != 0 {
		t.Errorf("after clear: %s", briefs(r.Records()))
	}
	f.say(7, result("1"))
	f.say(7, result("0"))
	expect(t, "what came later", briefs(f.r.Records()), "1 response tools/call 1 in 1ms\n1 response 0")
}

// What the best of the others finds: D: late result after cancel, hung call,
// stray stdout, malformed frame detection.
func TestOfARealProcess(t *testing.T) {
	r := record.New(record.Options{})
	s, stop := open(t, r.Wrap(noisy()), session.Options{Era: spec.Legacy})
	if _, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"x"}`)); err != nil {
		t.Fatal(err)
	}
	stop()
	var got []string
	for _, x := range r.Stray() {
		got = append(got, string(x.Frame.Raw))
		if x.Line == 0 || x.Frame.Line == nil {
			t.Errorf("no line: %+v", x)
		}
	}
	if want := []string{"starting up", "working", "bye"}; !slices.Equal(got, want) {
		t.Errorf("stray %q, want %q", got, want)
	}
	a := r.Filter(func(x *record.Record) bool { return x.IsAnswer() && x.Method == spec.MethodToolsCall })
	if len(a) != 1 || a[0].Frame.Line.Terminator != wire.CRLF || a[0].Line != 4 {
		t.Errorf("answer %+v", a)
	}
}

func TestCancelledOverModernHTTP(t *testing.T) {
	r := record.New(record.Options{})
	s, stop := open(t, r.Wrap(slow().HTTP("")), session.Options{Era: spec.Modern})
	_, err := s.Do(within(t), session.Request{Method: spec.MethodToolsCall, Params: raw(`{"name":"wait","arguments":{"For":3600000000000}}`), Timeout: 50 * time.Millisecond})
	stop()
	if err == nil {
		t.Fatal("there was an answer")
	}
	q := r.ByMethod(spec.MethodToolsCall)
	if len(q) != 1 || !q[0].Cancelled || len(r.Unanswered()) != 0 {
		t.Errorf("calls %s, unanswered %s", briefs(q), briefs(r.Unanswered()))
	}
}

func TestRoundsOfAMock(t *testing.T) {
	script := mock.Script{Tools: []mock.Tool{{Definition: raw(`{"name":"one","inputSchema":{"type":"object"}}`), Answers: []mock.Answer{{
		Ask: []mock.Ask{{Key: "name", Round: 1, Method: spec.MethodElicit, Params: raw(
			`{"message":"Say it.","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}},"required":["it"]}}`)}},
		Result: raw(`{"content":[{"type":"text","text":"{{input.name.content.it}}"}]}`),
	}}}}}
	r := record.New(record.Options{})
	s, stop := open(t, r.Wrap(mock.New(script).HTTP("")), session.Options{Era: spec.Modern, Handlers: session.Handlers{
		Elicit: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return raw(`{"action":"accept","content":{"it":"hello"}}`), nil
		},
	}})
	defer stop()
	if _, err := s.Call(within(t), spec.MethodToolsCall, raw(`{"name":"one"}`)); err != nil {
		t.Fatal(err)
	}
	var calls []record.Call
	for _, c := range r.Calls() {
		if c.Method == spec.MethodToolsCall {
			calls = append(calls, c)
		}
	}
	if len(calls) != 1 || len(calls[0].Rounds) != 2 || calls[0].Answer() == nil || !strings.Contains(string(calls[0].Answer().Frame.Raw), "hello") {
		t.Errorf("calls %+v", calls)
	}
}

// Questions may be asked while everything goes on.
func TestAskedMeanwhile(t *testing.T) {
	r := record.New(record.Options{Limit: 256 << 10})
	s, stop := open(t, r.Wrap(slow().HTTP("")), session.Options{})
	var calls, asks sync.WaitGroup
	over := make(chan struct{})
	asks.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			r.Records()
			r.Calls()
			if err := r.WriteJSONL(io.Discard); err != nil {
				t.Error(err)
			}
			if r.Average() > time.Minute {
				r.Clear()
			}
		}
	})
	for range 8 {
		calls.Go(func() {
			for range 20 {
				if _, err := s.Call(context.Background(), spec.MethodToolsList, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	close(over)
	asks.Wait()
	stop()
	for _, x := range r.Filter((*record.Record).IsAnswer) {
		if x.Method == "" || !x.Timed() {
			t.Errorf("%s", brief(x))
		}
	}
}
