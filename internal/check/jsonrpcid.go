// SPDX-License-Identifier: Apache-2.0

package check

import (
	"net/http"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// jsonrpcIDRules are those of the ids of answers.
var jsonrpcIDRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleResultID, Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#result-responses",
			Title: "a result repeats the id of its request, type and value",
			Why:   "the client that asked never gets its answer, and another may take it for its own",
			Fix:   "keep the id as it came, a string as a string and a number digit by digit, and send it back",
		},
		In: every, Watch: resultIDMatch, Stir: discoverUnderIDs, Under: []string{ruleNoFurther},
		Break: Break{Faults: unusually(func(p mock.Place) mock.Fault { return p.OfResult().Set("/id", `"other"`) })},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.error-id-match", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#error-responses",
			Title: "an error repeats the id of its request where that could be read",
			Why:   "the client waits for an answer that came without its name, until it times out",
			Fix:   "read the id before you refuse a request, and put it into the error",
		},
		In: every, Watch: errorIDMatch, Stir: refuseUnderID,
		Break:  Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/id", `"other"`)}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(noMethodNamed).Remove("/id")}}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.error-id-omitted-not-null", Level: rule.MustNot, Basis: rule.Schema, Section: "2026-07-28/schema#jsonrpcerrorresponse",
			Title: "an error to what could not be read has no id, rather than null",
			Why:   "clients that check messages by the schema drop the error, and never learn what was wrong",
			Fix:   "leave id out where it could not be read; JSON-RPC 2.0 asks for null there, the schema of MCP does not take it",
		},
		In: since2511, Watch: errorIDOmitted,
		Break: Break{Faults: []mock.Fault{mock.On(mock.Unreadable).Set("/id", "null")}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.concurrent-ids-correlated", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic#result-responses",
			Title: "answers to requests that are in flight together go to the request that each belongs to",
			Why:   "one conversation is shown what another one asked for",
			Fix:   "keep the id with the work that is done for it, not in a variable of the connection",
		},
		In: every, Check: concurrentIDs,
		Break: Break{Faults: []mock.Fault{
			mock.On(noMethodTogether).Result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},` +
				`"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}`),
		}, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(noMethodTogether).Result(`{"prompts":[]}`)}, In: handshakeEra}},
	},
}

// Methods that nobody has, each for one probe.
const (
	noMethodNamed    = "mcprove/no-such-method-by-name"
	noMethodTogether = "mcprove/no-such-method-together"
)

// unusualIDs are good ids that programs are known to trip over: the largest
// integer that every JSON reader keeps, zero, a string that looks like a
// number, an empty one, and one that has to be escaped.
var unusualIDs = []string{`9007199254740991`, `0`, `"7"`, `""`, `"mcprove \u00e9 \"1\" \\"`}

// discoverUnderIDs makes a plain request under each unusual id.
func discoverUnderIDs(c *probe.Case) {
	good, ok := c.Plain()
	if !ok {
		return
	}
	for _, id := range unusualIDs {
		c.Once(good.WithID(id))
	}
}

// sentRequest is the request of an exchange when it is one, with an id that may
// be repeated.
func sentRequest(x *probe.Exchange) (m *wire.Message, ok bool) {
	if x == nil || x.Sent == nil {
		return nil, false
	}
	m = x.Sent.Message()
	return m, m.Kind == wire.Request && !m.Has(wire.FaultIDNull) && !m.Has(wire.FaultIDType)
}

// askedIDs are the ids of what was sent on a connection, those in batches too.
func askedIDs(t *probe.Traffic, conn int) map[wire.IDKey]bool {
	ids := map[wire.IDKey]bool{}
	for _, x := range t.Exchanges {
		if x.Conn != conn || x.Sent == nil {
			continue
		}
		m := x.Sent.Message()
		for _, m := range append(m.Batch(), m) {
			if key, ok := m.Key(); ok {
				ids[key] = true
			}
		}
	}
	return ids
}

func resultIDMatch(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Exchanges {
		sent, ok := sentRequest(x)
		if !ok {
			continue
		}
		unusual := x.Request != nil && slices.Contains(unusualIDs, string(sent.ID))
		cut := x.Cancelled && !x.Silent() // the run ended before it could be answered
		if unusual && x.Planted() == "" && !x.OK() && !cut {
			c.Warn(x, "%s under the id %s was answered by %s, though that is a good id", x.Method, sent.ID, x.Brief())
			continue
		}
		for _, f := range x.Frames {
			if f.Message().Kind == wire.Response {
				resultID(c, x, f, sent)
			}
		}
	}
	for _, s := range t.Stray {
		m := s.Frame.Message()
		if m.Kind != wire.Response {
			continue
		}
		if key, ok := m.Key(); !ok || !askedIDs(t, s.Conn)[key] {
			c.Fail(nil, "a result came under the id %.60s, which no request had", shownID(m)).In(s.Frame, "/id")
		}
	}
	c.Unseen("no result was seen")
}

func resultID(c *probe.Case, x *probe.Exchange, f *wire.Frame, sent *wire.Message) {
	m := f.Message()
	want, _ := sent.Key()
	got, ok := m.Key()
	switch {
	case !ok || got != want:
		c.Fail(x, "the result of %s came under the id %.60s; it was asked under %.60s", x.Method, shownID(m), sent.ID).In(f, "/id")
	case m.Has(wire.FaultIDSpelling) && !sent.Has(wire.FaultIDSpelling):
		c.Warn(x, "the id %s came back as %.60s, which not every client takes for an integer", sent.ID, m.ID).In(f, "/id")
	default:
		c.Pass(x)
	}
}

// shownID is an id for findings.
func shownID(m *wire.Message) string {
	if m.ID == nil {
		return "(none)"
	}
	return string(m.ID)
}

// refuseUnderID provokes an error under an id that is like no other.
func refuseUnderID(c *probe.Case) {
	c.Once(c.Request(noMethodNamed, "").WithID(`"mcprove-refuse"`).Planting("a method that does not exist"))
}

// bodyRead are the errors that nobody can give who has not read the body of the
// request. Others a server may give over HTTP by looking at the headers alone.
var bodyRead = []int{spec.CodeMethodNotFound, spec.CodeInvalidParams, spec.CodeInternalError, spec.CodeMissingClientCapability}

// mustRepeatID reports whether the error that answers an exchange has to repeat
// the id: the request could be read, and was.
func mustRepeatID(x *probe.Exchange) bool {
	sent, ok := sentRequest(x)
	if !ok || len(sent.Faults) > 0 {
		return false
	}
	want, _ := sent.Key()
	for _, f := range x.Extra {
		if key, ok := f.Message().Key(); ok && key == want {
			return false // the answer came too, so the error was for something else
		}
	}
	code, _ := x.Code()
	return x.Head == nil || x.Status() < http.StatusBadRequest || slices.Contains(bodyRead, code)
}

func errorIDMatch(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Errors() {
		sent, ok := sentRequest(x)
		if !ok {
			continue
		}
		m := x.Message()
		want, _ := sent.Key()
		got, ok := m.Key()
		switch {
		case ok && got == want:
			c.Pass(x)
		case ok:
			c.Fail(x, "the error to %s came under the id %.60s; it was asked under %.60s", x.Method, m.ID, sent.ID).In(x.Response, "/id")
		case mustRepeatID(x):
			c.Fail(x, "the error to %s has the id %.60s; it was asked under %.60s, which could be read", x.Method, shownID(m), sent.ID).In(x.Response, "/id")
		}
	}
	for _, s := range t.Stray {
		m := s.Frame.Message()
		_, keyed := m.Key()
		if m.Kind != wire.ErrorResponse || keyed || sentUnreadable(t, s.Conn) {
			continue
		}
		if waiting := unanswered(t, s.Conn); len(waiting) > 0 {
			c.Fail(waiting[0], "an error came under the id %.60s, while %s under %.60s was never answered",
				shownID(m), waiting[0].Method, waiting[0].ID).In(s.Frame, "/id")
		}
	}
	c.Unseen("no error to a request was seen")
}

// errorIDOmitted looks at errors to what has no id that could be repeated.
func errorIDOmitted(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages(wire.ErrorResponse) {
		m := r.Message()
		if _, has := m.Key(); has || !isMessage(r.Frame) || !unreadable(t, r) {
			continue
		}
		if m.Has(wire.FaultIDNull) {
			c.Warn(r.Exchange, "an error that does not repeat the id of what was sent has the id null").In(r.Frame, "/id")
			continue
		}
		c.Pass(r.Exchange)
	}
	c.Unseen("no error was seen to a message whose id cannot be read")
}

// unreadable reports whether an error answers something without an id that
// could be read: what is nobody's answer over stdio does where such a thing was
// sent.
func unreadable(t *probe.Traffic, r probe.Received) bool {
	if r.Exchange != nil {
		sent := r.Exchange.Sent
		return sent != nil && !mustRepeatID(r.Exchange) && sent.Message().Kind != wire.Notification
	}
	return slices.ContainsFunc(t.Stray, func(s probe.Stray) bool { return s.Frame == r.Frame && sentUnreadable(t, s.Conn) })
}

// sentUnreadable reports whether something was sent on a connection that may be
// answered without an id.
func sentUnreadable(t *probe.Traffic, conn int) bool {
	return slices.ContainsFunc(t.Exchanges, func(x *probe.Exchange) bool {
		if x.Conn != conn || x.Sent == nil {
			return false
		}
		m := x.Sent.Message()
		return m.Kind != wire.Notification && len(m.Faults) > 0
	})
}

// togetherTimes is how often each request is in flight.
const togetherTimes = 2

// concurrentIDs has requests in flight together whose answers can be told apart
// by what they hold. Each was answered well when it was alone.
func concurrentIDs(c *probe.Case) {
	alone := aloneAnswers(c)
	if len(alone) < 2 {
		c.Skip("the server has no two requests whose answers could be told apart")
		return
	}
	var streams []*probe.Stream
	for range togetherTimes {
		for _, a := range alone {
			streams = append(streams, c.Start(nil, a.request))
		}
	}
	for i, s := range streams {
		x, want := s.Answer(), alone[i%len(alone)].holds
		got := holds(x)
		other := slices.IndexFunc(alone, func(a aloneAnswer) bool { return a.holds == got })
		switch {
		case got == want:
			c.Pass(x)
		case other >= 0:
			c.Fail(x, "with %d requests in flight, %s got what belongs to %s", len(streams), x.Method, alone[other].request.Method)
		}
	}
	c.Unseen("none of the requests in flight together was answered as when it was alone")
}

// aloneAnswer is a request with what tells its answer from those of others.
type aloneAnswer struct {
	request *probe.Request
	holds   string
}

// mostReads bounds the resources that are read together.
const mostReadsTogether = 4

func aloneAnswers(c *probe.Case) []aloneAnswer {
	var out []aloneAnswer
	add := func(r *probe.Request, x *probe.Exchange) {
		h := holds(x)
		if h != "" && !slices.ContainsFunc(out, func(a aloneAnswer) bool { return a.holds == h }) {
			out = append(out, aloneAnswer{r, h})
		}
	}
	// An answer to ping holds nothing that tells it apart.
	methods := []string{
		spec.MethodDiscover, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList,
	}
	for _, m := range methods {
		if m == c.Probe().Plainest() || len(c.Facts().List(m).Pages) > 0 {
			r := c.Request(m, "")
			add(r, c.Once(r))
		}
	}
	reads := c.Reads()
	for _, x := range reads[:min(len(reads), mostReadsTogether)] {
		add(x.Request, x)
	}
	if c.Probe().Mine() {
		r := c.Request(noMethodTogether, "").Planting("a method that does not exist")
		out = append(out, aloneAnswer{r, "an error"})
	}
	return out
}

// holds is what an answer holds that those of other requests do not; empty when
// that cannot be told.
func holds(x *probe.Exchange) string {
	if m := x.Message(); m != nil && m.Error != nil {
		return "an error"
	}
	for _, name := range []string{"supportedVersions", "tools", "prompts", "resources", "resourceTemplates"} {
		if jsonx.KindOf(x.Member(name)) == jsonx.Array {
			return name
		}
	}
	if uri := probe.Text(x.At("/contents/0/uri")); uri != "" {
		return "contents of " + uri
	}
	return ""
}
