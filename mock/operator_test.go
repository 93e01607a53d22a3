// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// Every operator on a message changes what it names, over both carriers.
func TestOperators(t *testing.T) {
	discover, list := mock.On(spec.MethodDiscover), mock.On(spec.MethodToolsList)
	const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`
	for _, tc := range []struct {
		name    string
		fault   mock.Fault
		request string
		want    func(clean string) []string // the messages that come
	}{
		{"copy", discover.Copy("/result/_meta/io.modelcontextprotocol~1serverInfo", "/result/serverInfo"), "", func(c string) []string {
			return []string{c[:len(c)-2] + `,"serverInfo":{"name":"library-desk","title":"Library desk","version":"2.3.0"}}}`}
		}},
		{"copy nothing", discover.Copy("/result/x", "/result/y"), "", same},
		{"reverse", discover.Reverse("/result/supportedVersions"), "", func(c string) []string {
			return []string{strings.Replace(c, `["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"]`, `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`, 1)}
		}},
		{"reverse what is no array", discover.Reverse("/result"), "", same},
		{"oversize", discover.Oversize("/result/instructions", 1000), "", func(c string) []string {
			i := strings.Index(c, `"instructions":"`) + len(`"instructions":"`)
			return []string{c[:i] + strings.Repeat("x", 1000) + c[i+strings.Index(c[i:], `"`):]}
		}},
		{"bad UTF-8", discover.BadUTF8("/result/x"), "", func(c string) []string { return []string{c[:len(c)-2] + ",\"x\":\"\xff\xfe\"}}"} }},
		{"result", discover.Result(`{"a":{{/params/_meta/io.modelcontextprotocol~1protocolVersion}},"b":{{/params/none}}}`), "", func(string) []string {
			return []string{`{"jsonrpc":"2.0","id":1,"result":{"a":"2026-07-28","b":null}}`}
		}},
		{"error with data", discover.ErrorData(-32000, "no", `{"id":{{/id}}}`), "", func(string) []string {
			return []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":{"id":1}}}`}
		}},
		{"notification before", discover.Notify(spec.NotificationProgress, `{"progressToken":{{/id}}}`), "", func(c string) []string { return []string{note, c} }},
		{"notification first", discover.NotifyFirst(spec.NotificationProgress, `{"progressToken":1}`), "", func(c string) []string { return []string{note, c} }},
		{"notification after", discover.NotifyAfter(spec.NotificationProgress, `{"progressToken":1}`), "", func(c string) []string { return []string{c, note} }},
		{"request", discover.Request(spec.MethodRootsList, "", `"s-1"`), "", func(c string) []string {
			return []string{`{"jsonrpc":"2.0","id":"s-1","method":"roots/list"}`, c}
		}},
		{"unanswered", discover.Unanswered(), "", func(string) []string { return nil }},
		{"ask for ever", discover.AskForever(`{"a":{"method":"roots/list"}}`), "", func(string) []string {
			return []string{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"again"}}`}
		}},
		{"pretty", mock.On("no/such").Pretty(), modern("no/such", ""), func(c string) []string {
			return []string{"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"error\": {\n    \"code\": -32601,\n    \"message\": \"Method not found: no/such\"\n  }\n}"}
		}},
		{"same line", discover.SameLine(note), "", func(c string) []string { return []string{c + note} }},
		{"of a result, an error came", mock.On("").OfResult().Answer("x"), modern("no/such", ""), same},
		{"of an error", mock.On("").OfError().Answer("x"), modern("no/such", ""), func(string) []string { return []string{"x"} }},
		{"of a code", mock.On("").OfCode(-32601).Set("/error/code", "-1"), modern("no/such", ""), func(c string) []string { return []string{strings.Replace(c, "-32601", "-1", 1)} }},
		{"of another code", mock.On("").OfCode(-32602).Set("/error/code", "-1"), modern("no/such", ""), same},
		{"of a type", mock.On("").OfType("complete").Answer("x"), "", func(string) []string { return []string{"x"} }},
		{"of another type", mock.On("").OfType("task").Answer("x"), "", same},
		{"unreadable", mock.On(mock.Unreadable).Answer("x"), "nonsense", func(string) []string { return []string{"x"} }},
		{"unreadable, and it can be read", mock.On(mock.Unreadable).Answer("x"), "", same},
		{"_meta there", list.When(mock.HasMeta(spec.MetaProtocolVersion)).Answer("x"), modern(spec.MethodToolsList, ""), func(string) []string { return []string{"x"} }},
		{"_meta not there", list.When(mock.NoMeta(spec.MetaProtocolVersion)).Answer("x"), modern(spec.MethodToolsList, ""), same},
		{"_meta equal", list.When(mock.MetaIs(spec.MetaClientCapabilities, `{ }`)).Answer("x"), modern(spec.MethodToolsList, ""), func(string) []string { return []string{"x"} }},
		{"params there", list.When(mock.HasParam("/cursor")).Answer("x"), modern(spec.MethodToolsList, ""), same},
		{"params not there", list.When(mock.NoParam("/cursor")).Answer("x"), modern(spec.MethodToolsList, ""), func(string) []string { return []string{"x"} }},
		{"params equal", list.When(mock.ParamIs("/cursor", `"a"`)).Answer("x"), modern(spec.MethodToolsList, `"cursor":"a"`), func(string) []string { return []string{"x"} }},
		{"params other", list.When(mock.Not(mock.ParamIs("/cursor", `"a"`))).Answer("x"), modern(spec.MethodToolsList, `"cursor":"a"`), same},
		{"id a number", list.When(mock.IDIs("number")).Answer("x"), modern(spec.MethodToolsList, ""), func(string) []string { return []string{"x"} }},
		{"id a string", list.When(mock.IDIs("string")).Answer("x"), modern(spec.MethodToolsList, ""), same},
		{"revision", list.When(mock.RevisionIs(spec.Rev20260728)).Answer("x"), modern(spec.MethodToolsList, ""), func(string) []string { return []string{"x"} }},
		{"older revision", list.When(mock.Not(mock.RevisionFrom(spec.Rev20250618)), mock.RevisionIs(spec.Rev20250618)).Answer("x"), modern(spec.MethodToolsList, ""), same},
		{"first connection", discover.OnConn(1).Answer("x"), "", func(string) []string { return []string{"x"} }},
		{"second connection", discover.OnConn(2).Answer("x"), "", same},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := tc.request
			if request == "" {
				request = modern(spec.MethodDiscover, "")
			}
			clean := post(withFault(mock.Fault{}), request, nil).Body.String()
			want := tc.want(clean)
			w := post(withFault(tc.fault), request, nil)
			body, lines := w.Body.String(), strings.Join(want, "\n")
			if w.Header().Get("Content-Type") == spec.MediaEventStream {
				lines = ""
				for _, m := range want {
					lines += "event: message\ndata: " + m + "\n\n"
				}
			}
			if body != lines {
				t.Errorf("over HTTP:\n%s\nwant\n%s", body, lines)
			}
			var out bytes.Buffer
			if err := withFault(tc.fault).ServeStdio(within(t), strings.NewReader(request+"\n"), &out); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(out.String(), "\n"); got != strings.Join(want, "\n") {
				t.Errorf("over stdio:\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

func same(clean string) []string { return []string{clean} }

func TestTurnsOfAPlace(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	for _, tc := range []struct {
		name  string
		place mock.Place
		hits  string
	}{
		{"second", discover.OnTurn(2), "-x----"}, {"from the third", discover.FromTurn(3), "--xxxx"}, {"every second", discover.EveryTurn(2), "-x-x-x"},
	} {
		s, got := withFault(tc.place.Answer("x")), ""
		for range 6 {
			if post(s, modern(spec.MethodDiscover, ""), nil).Body.String() == "x" {
				got += "x"
			} else {
				got += "-"
			}
		}
		if got != tc.hits {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.hits)
		}
	}
}

func TestPlacesByTransportAndHeader(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	request := modern(spec.MethodDiscover, "")
	for _, tc := range []struct {
		name        string
		place       mock.Place
		http, stdio bool
	}{
		{"HTTP", discover.OnHTTP(), true, false},
		{"stdio", discover.OnStdio(), false, true},
		{"a header", discover.When(mock.HasHeader("X-Odd")), true, false},
		{"no header", discover.When(mock.NoHeader("X-Odd")), false, true},
		{"a value", discover.When(mock.HeaderIs("x-odd", "1")), true, false},
		{"another value", discover.When(mock.HeaderIs("x-odd", "2")), false, false},
	} {
		w := post(withFault(tc.place.Answer("x")), request, func(h http.Header) { h.Set("X-Odd", "1") })
		if got := w.Body.String() == "x"; got != tc.http {
			t.Errorf("%s over HTTP: %t", tc.name, got)
		}
		if got := say(t, withFault(tc.place.Answer("x")), request)[0] == "x"; got != tc.stdio {
			t.Errorf("%s over stdio: %t", tc.name, got)
		}
	}
}

func TestOperatorsOfHTTP(t *testing.T) {
	discover := mock.On(spec.MethodDiscover)
	clean := post(withFault(mock.Fault{}), modern(spec.MethodDiscover, ""), nil).Body.String()
	event := "event: message\ndata: " + clean + "\n\n"
	for _, tc := range []struct {
		name   string
		faults []mock.Fault
		status int
		media  string
		body   string
	}{
		{"stream", []mock.Fault{discover.SSE()}, 200, spec.MediaEventStream, event},
		{"no stream", []mock.Fault{discover.JSON(), discover.Notify("notifications/x", "")}, 200, spec.MediaJSON, clean},
		{"other events", []mock.Fault{discover.SSE(), discover.Event(": hi\r\nid: 7\r\ndata: {{data}}\r\n\r\n")}, 200, spec.MediaEventStream, ": hi\r\nid: 7\r\ndata: " + clean + "\r\n\r\n"},
		{"media type of a stream", []mock.Fault{discover.SSE(), discover.Header("Content-Type", "text/plain")}, 200, "text/plain", event},
		{"status of a stream", []mock.Fault{discover.SSE(), discover.Status(500)}, 500, spec.MediaEventStream, event},
		{"dribbled", []mock.Fault{discover.Dribble(7, time.Microsecond)}, 200, spec.MediaJSON, clean},
		{"dribbled stream", []mock.Fault{discover.SSE(), discover.Dribble(7, time.Microsecond)}, 200, spec.MediaEventStream, event},
		{"lingering", []mock.Fault{discover.SSE(), discover.Linger(time.Millisecond)}, 200, spec.MediaEventStream, event},
		{"too many", []mock.Fault{mock.Place{}.HTTP(429, "text/plain", "slow down")}, 429, "text/plain", "slow down"},
	} {
		s := mock.Library()
		s.PageSize, s.Faults = 3, tc.faults
		w := post(mock.New(s), modern(spec.MethodDiscover, ""), nil)
		if w.Code != tc.status || w.Header().Get("Content-Type") != tc.media || w.Body.String() != tc.body {
			t.Errorf("%s: %d %v\n%s", tc.name, w.Code, w.Header(), w.Body)
		}
	}
	// What stands at the place of a refusal changes it.
	s := mock.Library()
	s.Faults = []mock.Fault{mock.On("").When(mock.HasHeader("Origin")).Status(200)}
	if w := post(mock.New(s), modern(spec.MethodDiscover, ""), header("Origin", "http://x.example")); w.Code != 200 || w.Body.String() == clean {
		t.Errorf("a refused origin: %d %s", w.Code, w.Body)
	}
	s.Faults = []mock.Fault{mock.On("").When(mock.HasHeader(spec.HeaderSessionID)).Status(404)}
	if w := post(mock.New(s), modern(spec.MethodDiscover, ""), header(spec.HeaderSessionID, "x")); w.Code != 404 {
		t.Errorf("a session header: %d", w.Code)
	}
}

func TestOperatorsOfStdio(t *testing.T) {
	const ping, clean = `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n", `{"jsonrpc":"2.0","id":7,"result":{}}`
	on := mock.On(spec.MethodPing)
	for _, tc := range []struct {
		name   string
		fault  mock.Fault
		in     string
		want   string
		stderr string
		ends   bool
	}{
		{"another line end", on.LineEnd("\r\n"), ping, clean + "\r\n", "", false},
		{"no line end", on.LineEnd(""), ping, clean, "", false},
		{"blank lines", on.Before(""), ping, "\n" + clean + "\n", "", false},
		{"dribbled", on.Dribble(5, time.Microsecond), ping, clean + "\n", "", false},
		{"farewell", mock.Farewell("bye"), ping, clean + "\nbye\n", "", false},
		{"stderr", on.Stderr("hm.", 3), ping, clean + "\n", "hm.hm.hm.", false},
		{"stderr at the start", mock.StderrAtStart("up.", 2), "", "", "up.up.", false},
		{"dies of garbage", mock.On(mock.Unreadable).Die(), "garbage\n" + ping, "", "", true},
		{"does not die without", mock.On(mock.Unreadable).Die(), ping, clean + "\n", "", false},
	} {
		var out, stderr bytes.Buffer
		s := mock.New(mock.Script{Revisions: []spec.Revision{spec.Rev20250618}, Stderr: &stderr, Faults: []mock.Fault{tc.fault}})
		err := s.ServeStdio(within(t), strings.NewReader(tc.in), &out)
		if out.String() != tc.want || stderr.String() != tc.stderr || tc.ends != errors.Is(err, mock.ErrEnded) {
			t.Errorf("%s: %v, wrote %q and %q, want %q and %q", tc.name, err, out.String(), stderr.String(), tc.want, tc.stderr)
		}
	}
}

func TestChatterAndStubbornness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := mock.New(mock.Script{Faults: []mock.Fault{mock.Chatter("hm", time.Second), mock.IgnoreEOF(), mock.IgnoreTerm()}})
		if !s.IgnoresTerm() || mock.New(mock.Script{}).IgnoresTerm() {
			t.Error("IgnoresTerm")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		begun := time.Now()
		if err := s.ServeStdio(ctx, strings.NewReader(""), &out); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if out.String() != "hm\nhm\nhm\n" || time.Since(begun) < 3*time.Second {
			t.Errorf("%q after %s", out.String(), time.Since(begun))
		}
	})
}

// What the server sends by itself can be changed, dropped and repeated.
func TestFaultsOfNotifications(t *testing.T) {
	progress := mock.OnNotification(spec.NotificationProgress)
	for _, tc := range []struct {
		name  string
		fault mock.Fault
		want  []string // values of progress
	}{
		{"none", mock.Fault{}, []string{"1", "2", "3"}},
		{"set", progress.Set("/params/progress", "1"), []string{"1", "1", "1"}},
		{"set once", progress.OnTurn(2).Set("/params/progress", "0"), []string{"1", "0", "3"}},
		{"removed", progress.Remove("/params/progress"), []string{"", "", ""}},
		{"dropped", progress.OnTurn(1).Drop(), []string{"2", "3"}},
		{"twice", progress.OnTurn(3).Twice(), []string{"1", "2", "3", "3"}},
		{"late", progress.Late(time.Microsecond), []string{"1", "2", "3"}},
		{"of another", mock.OnNotification(spec.NotificationMessage).Drop(), []string{"1", "2", "3"}},
	} {
		script := mock.Specimen()
		script.Faults = []mock.Fault{tc.fault}
		request := strings.Replace(modern(spec.MethodToolsCall, `"name":"survey_harbour"`), `"_meta":{`, `"_meta":{"progressToken":"t",`, 1)
		var got []string
		for _, l := range say(t, mock.New(script), request) {
			if contains([]byte(l), spec.NotificationProgress) {
				v, _ := lookup([]byte(l), "/params/progress")
				got = append(got, string(v))
			}
		}
		if strings.Join(got, ",") != strings.Join(tc.want, ",") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestFaultsOfSubscriptions(t *testing.T) {
	listen, ack := mock.On(spec.MethodListen), mock.OnNotification(spec.NotificationSubscriptionsAck)
	request := strings.Replace(modern(spec.MethodListen, `"notifications":{"toolsListChanged":true}`), `"id":1`, `"id":"s"`, 1)
	const (
		acked   = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`
		changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	)
	ended := func(t *testing.T, fs ...mock.Fault) []string {
		s := mock.Specimen()
		s.Faults = fs
		srv := httptest.NewServer(mock.New(s))
		defer srv.Close()
		r, _ := http.NewRequestWithContext(within(t), http.MethodPost, srv.URL, strings.NewReader(request))
		r.Header.Set("Content-Type", spec.MediaJSON)
		for _, f := range headerOf(request) {
			r.Header.Set(f.Name, f.Value)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		defer http.DefaultClient.CloseIdleConnections()
		b, _ := io.ReadAll(resp.Body)
		var got []string
		for l := range strings.Lines(string(b)) {
			if data, ok := strings.CutPrefix(l, "data: "); ok {
				got = append(got, strings.TrimSpace(data))
			} else if resp.Header.Get("Content-Type") == spec.MediaJSON {
				got = append(got, l)
			}
		}
		return got
	}
	const result = "result"
	for _, tc := range []struct {
		name   string
		faults []mock.Fault
		want   []string
	}{
		{"at once", []mock.Fault{listen.AtOnce()}, []string{acked, result}},
		{"ended without an answer", []mock.Fault{listen.Unanswered()}, []string{acked}},
		{"no acknowledgement", []mock.Fault{listen.AtOnce(), ack.Drop()}, []string{result}},
		{"another one", []mock.Fault{listen.AtOnce(), ack.Answer(changed)}, []string{changed, result}},
		{"before it", []mock.Fault{listen.AtOnce(), listen.NotifyFirst(spec.NotificationToolsListChanged, "")}, []string{changed, acked, result}},
		{"after it", []mock.Fault{listen.AtOnce(), listen.Notify(spec.NotificationToolsListChanged, "")}, []string{acked, changed, result}},
		{"after the answer", []mock.Fault{listen.AtOnce(), listen.NotifyAfter(spec.NotificationToolsListChanged, "")}, []string{acked, result, changed}},
		{"as JSON", []mock.Fault{listen.JSON()}, []string{result}},
	} {
		got := ended(t, tc.faults...)
		for i, l := range got {
			if contains([]byte(l), `"result":`) {
				got[i] = result
			}
		}
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}
