// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// progressRules are those of notifications/progress.
var progressRules = []Rule{
	{
		Info: rule.Info{
			ID: "progress.token-type", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/progress#progress-flow",
			Title: "a progress token is a string or an integer, and comes back as it was sent",
			Why:   "a client that looks the token up finds nothing when 7 comes back as \"7\"",
			Fix:   "send the token of the request back unchanged",
		},
		In: every, Watch: progressTokenType, Stir: stirInteger, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			progress.When(mock.MetaIs(spec.MetaProgressToken, integerToken)).Set("/params/progressToken", `"`+integerToken+`"`),
		}},
		Breaks: []Break{{Faults: []mock.Fault{progress.Set("/params/progressToken", "1.5")}}},
	},
	{
		Info: rule.Info{
			ID: "progress.token-unique", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/progress#progress-flow",
			Title: "requests under way have progress tokens of their own",
			Why:   "progress of one request is shown on the other",
			Fix:   "make a token for each request",
		},
		In: every, Watch: progressTokenUnique,
		Break: Break{
			Faults: []mock.Fault{
				chartCall.Request("mcprove/ask", `{"_meta":{"progressToken":"mcprove"}}`, `"mcprove-1"`),
				chartCall.Request("mcprove/ask", `{"_meta":{"progressToken":"mcprove"}}`, `"mcprove-2"`),
			},
			Also: []string{"jsonrpc.server-no-requests", "transport-http.sse-no-server-requests", "stdio.server-no-requests"},
		},
	},
	{
		Info: rule.Info{
			ID: "progress.monotonic", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/progress#progress-flow",
			Title: "progress grows with every notification",
			Why:   "a bar that jumps back or stands still tells nothing, and a client that waits for growth gives up",
			Fix:   "send progress only when it has grown",
		},
		In: every, Watch: progressMonotonic, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{progress.Set("/params/progress", "1")}},
	},
	{
		Info: rule.Info{
			ID: "progress.token-active-only", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/progress#behavior-requirements",
			Title: "progress names only tokens of requests that are under way",
			Why:   "strict clients take a token they never gave for a protocol error",
			Fix:   "send the token of the request, and nothing where it gave none",
		},
		In: every, Watch: progressTokenActive, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{progress.Set("/params/progressToken", `"mcprove-made-up"`)}},
	},
	{
		Info: rule.Info{
			ID: "progress.no-token-no-progress", Level: rule.MustNot, Basis: rule.Derived, Section: "2026-07-28/basic/patterns/progress#behavior-requirements",
			Title: "a request without a progress token gets no progress",
			Why:   "the client did not ask, and has nothing to match it with",
			Fix:   "report progress only where the request's _meta has a progressToken",
		},
		In: every, Watch: progressWithoutToken, Stir: callTools, Needs: "--tool",
		Under: []string{"progress.token-type"}, // a token of null
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfType(spec.ResultComplete).When(mock.NoMeta(spec.MetaProgressToken)).Notify(spec.NotificationProgress, `{"progressToken":"mcprove-made-up","progress":1}`)},
			Also:   []string{"progress.token-active-only"},
			Only:   transport.StreamableHTTP,
		},
	},
	{
		Info: rule.Info{
			ID: "progress.stops-after-completion", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/progress#implementation-notes",
			Title: "no progress follows the response",
			Why:   "the client has forgotten the token, and takes what comes for a protocol error",
			Fix:   "end the reporting before the response is sent",
		},
		In: every, Watch: progressLate, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).OfType(spec.ResultComplete).When(mock.HasMeta(spec.MetaProgressToken)).NotifyAfter(spec.NotificationProgress, `{"progressToken":{{/params/_meta/progressToken}},"progress":1000000}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "progress.shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#progressnotificationparams",
			Title: "progress has a token and a number, and total and message have their types",
			Why:   "a client that reads by the schema drops the notification or the connection",
			Fix:   "send progress and total as numbers and message as a string, and leave out what is not known",
		},
		In: every, Watch: progressShape, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{progress.Set("/params/total", `"ten"`)}},
	},
	{
		Info: rule.Info{
			ID: "progress.on-request-stream", Level: rule.Must, Basis: rule.Keyword, Transport: "http", Section: "2026-07-28/basic/transports/streamable-http#receiving-messages",
			Title: "progress travels on the response stream of its own request",
			Why:   "a client that reads each stream by itself shows it at the wrong place, or loses it",
			Fix:   "send notifications of a request on the stream that answers it",
		},
		In: modern, Watch: progressStream, Stir: stirStreams, Needs: "--tool", Under: []string{ruleRelated},
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.MetaIs(spec.MetaProgressToken, streamTokenB)).Notify(spec.NotificationProgress, `{"progressToken":`+streamTokenA+`,"progress":0.001}`),
		}},
	},
	{
		Info: rule.Info{
			ID: "progress.message-readable", Level: rule.Should, Basis: rule.Keyword, ReportOnly: true, Section: "2026-07-28/basic/patterns/progress#progress-flow",
			Title: "the message of progress can be read by a person",
			Why:   "an empty line or control characters tell nobody what is going on",
			Fix:   "say in a few words what was done, or leave message out",
		},
		In: since2503, Watch: progressReadable, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{progress.Set("/params/message", `""`)}},
	},
	{
		Info: rule.Info{
			ID: "progress.rate-limited", Level: rule.Should, Basis: rule.Keyword, Section: "2026-07-28/basic/patterns/progress#implementation-notes",
			Title: "progress comes at a rate that a person can follow",
			Why:   "thousands of notifications a second keep client and network busy, and show nothing more",
			Fix:   "send at most a few notifications a second",
		},
		In: every, Watch: progressRate, Stir: stir, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{{Place: progress.When(mock.ParamIs("/name", `"survey_harbour"`), mock.Not(mock.MetaIs(spec.MetaProgressToken, tokenCancelled))), Op: mock.OpRepeat, Count: 2 * mostPerSecond}},
			Also:   []string{"progress.monotonic"},
		},
	},
}

// chartCall is the first call of a tool without arguments in the specimen.
var chartCall = mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"draw_chart"`)).OnTurn(1)

// progress is the place of progress notifications.
var progress = mock.OnNotification(spec.NotificationProgress)

// stirInteger also asks for progress under an integer.
func stirInteger(c *probe.Case) {
	if t, _, ok := talker(c, spec.NotificationProgress); ok {
		c.Once(loudCall(c, t, integerToken))
	}
}

// unseenProgress is why a rule on progress has nothing to look at.
const unseenProgress = "no progress was seen: name a tool that reports it with --tool 'NAME={...}'"

// validToken reports whether a value is a progress token at all.
func validToken(token []byte) bool {
	if jsonx.KindOf(token) == jsonx.String {
		return true
	}
	vs, err := spec.ValidateDefinition(spec.Latest, "ProgressToken", token)
	return err == nil && len(vs) == 0
}

// requestsOf are the requests whose token is that of a notification: over stdio
// on its connection, over HTTP anywhere.
func requestsOf(t *probe.Traffic, s said, same func(given, named []byte) bool) []*probe.Exchange {
	var out []*probe.Exchange
	for _, a := range wantings(t) {
		if a.token != nil && (!t.Stdio() || a.x.Conn == s.conn) && same(a.token, s.token) {
			out = append(out, a.x)
		}
	}
	return out
}

func sameToken(given, named []byte) bool {
	a, okA := wire.KeyOf(given)
	b, okB := wire.KeyOf(named)
	return okA && okB && a == b
}

// retyped reports whether a token came back as the other type: 7 as "7".
func retyped(given, named []byte) bool {
	return jsonx.KindOf(given) != jsonx.KindOf(named) && strings.Trim(string(given), `"`) == strings.Trim(string(named), `"`)
}

func progressTokenType(c *probe.Case, t *probe.Traffic) {
	var bad, turned one
	for _, s := range sayings(t, spec.NotificationProgress) {
		token := s.token
		switch {
		case token == nil: // for the rule on the form
		case !validToken(token):
			bad.add(c.Fail, s, "a progress token is %s, neither a string nor an integer", asJSON(token))
		case len(requestsOf(t, s, sameToken)) == 0 && len(requestsOf(t, s, retyped)) > 0:
			turned.add(c.Fail, s, "the progress token %s came back as %s", asJSON(requestsOf(t, s, retyped)[0].Meta(spec.MetaProgressToken)), asJSON(token))
		default:
			c.Pass(s.x)
		}
	}
	c.Unseen(unseenProgress)
}

func progressTokenUnique(c *probe.Case, t *probe.Traffic) {
	seen := map[string]bool{}
	for _, r := range t.Messages(wire.Request) {
		token := probe.Lookup(r.Message().Params, "/_meta/"+spec.MetaProgressToken)
		if token == nil {
			continue
		}
		if seen[string(token)] {
			c.Fail(r.Exchange, "two requests of the server have the progress token %s", asJSON(token)).In(r.Frame, "/params/_meta/progressToken")
			return
		}
		seen[string(token)] = true
		c.Pass(r.Exchange)
	}
	c.Unseen("the server sent no request with a progress token; none may come from a server at 2026-07-28")
}

func progressMonotonic(c *probe.Case, t *probe.Traffic) {
	type last struct {
		frame *wire.Frame
		value []byte
	}
	var bad one
	before := map[string]last{}
	for _, s := range sayings(t, spec.NotificationProgress) {
		value := s.param("progress")
		if s.x == nil || jsonx.KindOf(value) != jsonx.Number || !sameToken(s.x.Meta(spec.MetaProgressToken), s.token) {
			continue
		}
		key := fmt.Sprint(s.x.Turn)
		old, ok := before[key]
		before[key] = last{s.Frame, value}
		if !ok {
			continue
		}
		switch order, known := compareNumbers(old.value, value); {
		case !known:
		case order < 0:
			c.Pass(s.x)
		default:
			bad.add(c.Fail, s, "progress went from %s to %s under one token", asJSON(old.value), asJSON(value))
		}
	}
	c.Unseen("no request got progress twice: name a tool that reports it with --tool 'NAME={...}'")
}

// compareNumbers compares two JSON numbers; known is false for numbers too long
// to be worth it.
func compareNumbers(a, b []byte) (order int, known bool) {
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	if errX != nil || errY != nil {
		return 0, false
	}
	if x != y {
		if x < y {
			return -1, true
		}
		return 1, true
	}
	const most = 60
	if len(a) > most || len(b) > most || strings.ContainsAny(string(a)+string(b), "eE") {
		return 0, string(a) == string(b)
	}
	p, okP := new(big.Rat).SetString(string(a))
	q, okQ := new(big.Rat).SetString(string(b))
	if !okP || !okQ {
		return 0, false
	}
	return p.Cmp(q), true
}

func progressTokenActive(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationProgress) {
		token := s.token
		switch {
		case !validToken(token):
		case len(requestsOf(t, s, sameToken)) > 0: // of which request is for the rule on streams
			c.Pass(s.x)
		case len(requestsOf(t, s, retyped)) > 0: // for the rule on types
		default:
			bad.add(c.Fail, s, "progress names the token %s, which no request gave", asJSON(token))
		}
	}
	c.Unseen(unseenProgress)
}

func progressWithoutToken(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationProgress) {
		others := len(requestsOf(t, s, sameToken)) > 0
		switch {
		case others:
		case s.x != nil && s.x.Meta(spec.MetaProgressToken) == nil && s.x.ID != nil && (!t.Stdio() || !tokenGiven(t, s)):
			bad.add(c.Fail, s, "%s, which has no progress token, gets progress", s.x.Method)
		case s.x == nil && t.Stdio() && !tokenGiven(t, s):
			bad.add(c.Fail, s, "progress comes, and no request on the connection has a progress token")
		}
	}
	for _, x := range t.Results(spec.MethodToolsCall) {
		if x.Meta(spec.MetaProgressToken) == nil {
			c.Pass(x)
		}
	}
	c.Unseen("no call without a progress token was seen: %s", probe.NoTool)
}

// tokenGiven reports whether a request on the connection of a notification gave a
// progress token, so that it may be meant.
func tokenGiven(t *probe.Traffic, s said) bool {
	return slices.ContainsFunc(wantings(t), func(a wanting) bool { return a.token != nil && a.x.Conn == s.conn })
}

func progressLate(c *probe.Case, t *probe.Traffic) {
	var bad one
	unanswered := false
	for _, s := range sayings(t, spec.NotificationProgress) {
		switch {
		case s.x == nil:
		case s.late:
			bad.add(c.Fail, s, "progress of %s comes after its response", s.x.Method)
		case s.x.Response != nil:
			c.Pass(s.x)
		default:
			unanswered = true
		}
	}
	if unanswered {
		c.Unseen("no request that reported progress was answered before the run ended")
	}
	c.Unseen(unseenProgress)
}

func progressShape(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationProgress) {
		if s.Message().Params == nil {
			bad.add(c.Fail, s, "a progress notification has no params")
			continue
		}
		vs := violations(t.Revision, "ProgressNotification", s.Raw, "/params")
		switch v, malformed := malformation(vs, []string{"/params/progressToken", "/params/_meta"}); {
		case malformed:
			bad.add(c.Fail, s, "a progress notification is malformed: %s", v.Message)
		default:
			c.Pass(s.x)
		}
	}
	c.Unseen(unseenProgress)
}

// mostBeside bounds the tools that are called beside a subscription when none
// is known to report: they may report on its stream alone.
const mostBeside = 4

// stirStreams lets two calls with progress run side by side, and some beside a
// subscription.
func stirStreams(c *probe.Case) {
	tools := loudTools(c)
	tools = tools[:min(len(tools), mostBeside)]
	if t, _, ok := talker(c, spec.NotificationProgress); ok {
		tools = []probe.Tool{t}
		a := c.Start(nil, loudCall(c, t, streamTokenA))
		b := c.Start(nil, loudCall(c, t, streamTokenB))
		a.Answer()
		b.Answer()
	}
	if len(tools) == 0 {
		return
	}
	s, ok := listening(c, nil)
	if !ok {
		return
	}
	defer s.Close()
	for i, t := range tools {
		c.Send(loudCall(c, t, fmt.Sprintf(`"mcprove-beside-%d"`, i)))
	}
	s.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return len(x.Notifications(spec.NotificationProgress)) > 0 })
}

func progressStream(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationProgress) {
		if s.x == nil {
			continue
		}
		if sameToken(s.x.Meta(spec.MetaProgressToken), s.token) {
			c.Pass(s.x)
			continue
		}
		if of := requestsOf(t, s, sameToken); len(of) > 0 {
			bad.add(c.Fail, s, "progress of %s comes on the stream of %s", of[0].Method, s.x.Method)
			bad.blame.And(of[0])
		}
	}
	c.Unseen(unseenProgress)
}

func progressReadable(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationProgress) {
		message, ok := jsonx.Text(s.param("message"))
		switch {
		case !ok:
		case strings.TrimFunc(text.Visible(message), unicode.IsSpace) == "":
			bad.add(c.Note, s, "the message of progress is empty")
		case strings.ContainsFunc(message, control):
			bad.add(c.Note, s, "the message of progress holds control characters")
		default:
			c.Pass(s.x)
		}
	}
	c.Unseen("no progress with a message was seen")
}

// mostPerSecond is the number of notifications of one request in a second from
// which on it is said.
const mostPerSecond = 200

func progressRate(c *probe.Case, t *probe.Traffic) {
	rate(c, t, spec.NotificationProgress, "progress notifications", unseenProgress)
}

// rate says it where one request got very many notifications within a second.
func rate(c *probe.Case, t *probe.Traffic, method, what, unseen string) {
	times := map[*probe.Exchange][]time.Time{}
	for _, s := range sayings(t, method) {
		if s.x != nil && s.x.ID != nil { // what comes on a standing stream is of many requests
			times[s.x] = append(times[s.x], s.Time)
		}
	}
	var bad one
	for _, x := range t.Exchanges {
		most, from := 0, 0
		for i, at := range times[x] {
			for at.Sub(times[x][from]) > time.Second {
				from++
			}
			most = max(most, i-from+1)
		}
		switch {
		case most > mostPerSecond && !times[x][0].IsZero():
			bad.add(c.Note, said{Frame: nil, x: x}, "%s gets %d %s within a second", x.Method, most, what)
		case most > 0:
			c.Pass(x)
		}
	}
	c.Unseen("%s", unseen)
}
