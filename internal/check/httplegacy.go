// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	httpPosting    = transportsPage + "#sending-messages-to-the-server"
	httpVersioned  = transportsPage + "#protocol-version-header"
	ruleEarlyClose = "http-legacy.sse-no-early-close"
)

// headed are the revisions of the handshake era with a version header.
var headed = spec.Range{Since: spec.Rev20250618, Until: spec.Rev20251125}

// httpLegacyRules are those of the answer to a POST, and of the version header,
// in the handshake era.
var httpLegacyRules = []Rule{
	{
		Info: rule.Info{
			ID: "http-legacy.sse-closes-after", Level: rule.Should, Basis: rule.Keyword, Section: httpPosting, Transport: "http",
			Title: "the stream of a request ends after the response",
			Why:   "each request leaves an open connection behind, until the client or a proxy has no more",
			Fix:   "close the body after the response",
		},
		In: streamable, Watch: streamCloses, Stir: stirPosted,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).SSE(), mock.On(spec.MethodPromptsList).Linger(lingering)}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.sse-has-response", Level: rule.Should, Basis: rule.Keyword, Section: httpPosting, Transport: "http",
			Title: "the stream of a request holds its response",
			Why:   "the client waits for an answer that never comes, or takes the request for lost",
			Fix:   "write the response before you close the stream; give events an id where the client should come back for it",
		},
		In: streamable, Watch: streamAnswers, Stir: stirPosted, Under: []string{ruleEarlyClose},
		Break: Break{Faults: unending, Also: []string{ruleEarlyClose}},
	},
	{
		Info: rule.Info{
			ID: ruleEarlyClose, Level: rule.ShouldNot, Basis: rule.Keyword,
			Section: "2025-06-18/basic/transports#sending-messages-to-the-server", Transport: "http",
			Title: "the stream of a request is not closed before the response",
			Why:   "a client of these revisions does not come back for the rest, and the answer is lost",
			Fix:   "keep the stream open until the response is written",
		},
		In: spec.Range{Since: spec.Rev20250326, Until: spec.Rev20250618}, Watch: streamStays, Stir: stirPosted,
		Break: Break{Faults: unending},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.sse-priming-event", Level: rule.Should, Basis: rule.Keyword, Section: httpPosting, Transport: "http",
			Title: "a stream with event ids begins with an event of an id and empty data",
			Why:   "a client whose connection breaks before the first message has nothing to come back with",
			Fix:   "send an event with an id and an empty data field before anything else on each stream that can be resumed",
			Detail: "judged on the responses to requests whose events have ids: a server that gives its events none offers no resumption, " +
				"which is its choice",
		},
		In: spec.Range{Since: spec.Rev20251125, Until: spec.Rev20251125}, Watch: streamPrimed, Stir: stirPosted,
		Break: Break{Base: resumableServer, Faults: []mock.Fault{mock.On(spec.MethodPing).Lenient(mock.CheckStreamPriming)}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.sse-retry-before-close", Level: rule.Should, Basis: rule.Keyword, Section: httpPosting, Transport: "http",
			Title: "a stream that is closed before the response says how long to wait",
			Why:   "clients come back at once, all of them, and again and again",
			Fix:   "send an event with a retry field before you close the connection",
		},
		In: spec.Range{Since: spec.Rev20251125, Until: spec.Rev20251125}, Watch: retrySaid, Stir: stirPosted,
		Break: Break{Base: pollingServer, Change: func(s *mock.Script) { s.Retry = 0 }},
	},
	{
		Info: rule.Info{
			ID: "transport-http.sse-related-only-legacy", Level: rule.Should, Basis: rule.Keyword, Section: httpPosting, Transport: "http",
			Title: "what comes before the response on the stream of a request concerns that request",
			Why:   "progress and changes reach whoever happens to ask something, and each client misses its own",
			Fix:   "send what belongs to a request on the response to it, and everything else on the stream that the client opened by GET",
		},
		In: streamable, Watch: relatedToPost, Stir: stirSideBySide, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, relatedA)).
				Notify(spec.NotificationProgress, `{"progressToken":`+relatedB+`,"progress":0.25}`),
		}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Notify(spec.NotificationToolsListChanged, `{}`)}}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.version-header-absent", Level: rule.Should, Basis: rule.Keyword, Section: httpVersioned, Transport: "http",
			Title: "a request without MCP-Protocol-Version is served",
			Why:   "clients of 2025-03-26 send no such header, and are locked out",
			Fix:   "take the version of the session, or 2025-03-26, where the header is missing",
		},
		In: headed, Check: versionAbsent,
		Break: Break{Faults: []mock.Fault{
			mock.On("").When(mock.HasHeader(spec.HeaderSessionID), mock.NoHeader(spec.HeaderProtocolVersion), mock.IDIs("string")).
				HTTP(http.StatusBadRequest, "text/plain", "no version"),
		}},
	},
	{
		Info: rule.Info{
			ID: "http-legacy.version-header-invalid-400", Level: rule.Must, Basis: rule.Keyword, Section: httpVersioned, Transport: "http",
			Title: "a request with a version that is not served is answered with HTTP 400",
			Why:   "a client is answered in a form that it does not know, and cannot tell why",
			Fix:   "compare MCP-Protocol-Version with the versions you serve, and answer any other with HTTP 400",
		},
		In: headed, Check: versionInvalid,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckSessionVersion)}},
		Breaks: []Break{{Faults: []mock.Fault{
			mock.On("").When(mock.HeaderIs(spec.HeaderProtocolVersion, unservedVersion)).HTTP(http.StatusNotFound, "text/plain", "no"),
		}}},
	},
}

// postedToken marks the request that is made for the rules on streams.
const postedToken = `"mcprove-posted"`

var (
	posted = mock.On(spec.MethodToolsList).When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, postedToken))
	// unending is a request whose stream ends and holds no answer.
	unending = []mock.Fault{posted.SSE(), posted.Unanswered()}
)

// resumableServer is a Base whose events have ids.
func resumableServer(s *mock.Script) { s.Resumable = true }

// pollingServer is a Base that closes streams and lets its clients come back.
func pollingServer(s *mock.Script) {
	s.Resumable, s.Retry = true, 10*time.Millisecond
	s.Faults = append(s.Faults, posted.Poll())
}

// anyList is a request for a list of the server, the plainest one where it has
// none.
func anyList(c *probe.Case) (*probe.Request, bool) {
	for _, l := range lists(c) {
		if r := c.Request(l.Method, ""); c.Once(r).OK() {
			return r, true
		}
	}
	return c.Plain()
}

// stirPosted makes requests that may be answered by a stream: a list, and calls
// of tools that say something on the way.
func stirPosted(c *probe.Case) {
	if r, ok := anyList(c); ok {
		c.Once(r.Progress(postedToken))
	}
	stir(c)
}

// postedStreams are the responses to good requests that are event streams.
func postedStreams(t *probe.Traffic) (out []*probe.Exchange) {
	for _, x := range streams(t) {
		if judged(x) && x.Planted() == "" && x.Status() == http.StatusOK {
			out = append(out, x)
		}
	}
	return out
}

// noPosted is why rules on such streams have nothing to look at.
const noPosted = "no request was answered by an event stream"

func streamCloses(c *probe.Case, t *probe.Traffic) { closesAfter(c, postedStreams(t)) }

// endedEarly reports whether a stream was closed by the server before its
// response. One that broke is no such stream, nor is one whose client said that
// it does not wait for the response.
func endedEarly(t *probe.Traffic, x *probe.Exchange) bool {
	return x.Response == nil && x.Closed && x.ClosedErr == nil && !x.Cancelled && !slices.ContainsFunc(t.Exchanges, func(o *probe.Exchange) bool {
		return o.Method == spec.NotificationCancelled && o.Conn == x.Conn && o.Turn > x.Turn && o.Sent != nil &&
			sameID(x.ID, probe.Lookup(o.Sent.Message().Params, "/requestId"))
	})
}

// numbered reports whether an event of a stream has an id, so that a client can
// come back to it.
func numbered(x *probe.Exchange) bool { return len(eventIDs(x)) > 0 }

// eventIDs are the ids of the events of a stream: those of messages, then those
// of other events. An empty one is no id to come back with.
func eventIDs(x *probe.Exchange) (ids []string) {
	for _, f := range x.Frames {
		if e := f.Event; e != nil && e.HasID && e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	for _, e := range x.Other {
		if e.HasID && e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// streamAnswers: from 2025-11-25 on a server may close the connection of a
// stream to which its client can come back.
func streamAnswers(c *probe.Case, t *probe.Traffic) {
	for _, x := range postedStreams(t) {
		switch {
		case x.Response != nil:
			c.Pass(x)
		case !endedEarly(t, x), t.Revision >= spec.Rev20251125 && numbered(x):
		default:
			c.Fail(x, "the stream of %s ended without a response", x.Method)
		}
	}
	c.Unseen(noPosted)
}

func streamStays(c *probe.Case, t *probe.Traffic) {
	for _, x := range postedStreams(t) {
		switch {
		case x.Response != nil:
			c.Pass(x)
		case endedEarly(t, x):
			c.Fail(x, "the stream of %s was closed before the response", x.Method)
		}
	}
	c.Unseen(noPosted)
}

func streamPrimed(c *probe.Case, t *probe.Traffic) {
	for _, x := range postedStreams(t) {
		first := x.Opening
		switch {
		case x.Method == spec.MethodInitialize, first == nil, !numbered(x):
		case x.SentHead.Get(spec.HeaderProtocolVersion) != t.Revision.String(): // it may be served as one of another
		case first.HasID && first.ID != "" && len(first.Data) == 0:
			c.Pass(x)
		default:
			b := c.Fail(x, "the events on the stream of %s have ids, and the first is none with an id and empty data", x.Method)
			if len(x.Frames) > 0 {
				b.In(x.Frames[0], "")
			}
			return
		}
	}
	c.Unseen("no request was answered by an event stream with ids: the server offers no resumption, which is optional")
}

// retrySaid: what was said of the wait holds for all further ones on the stream.
func retrySaid(c *probe.Case, t *probe.Traffic) {
	for _, x := range postedStreams(t) {
		if len(x.Waits) > 0 && x.Waits[0] < 0 {
			c.Fail(x, "the stream of %s was closed before the response, and no retry field was sent", x.Method)
			return
		}
		if len(x.Waits) > 0 {
			c.Pass(x)
		}
	}
	c.Unseen("no stream was closed before its response")
}

// stirSideBySide runs two calls side by side of a tool that reports progress.
func stirSideBySide(c *probe.Case) {
	stirPosted(c)
	t, _, ok := talker(c, spec.NotificationProgress)
	if !ok {
		return
	}
	r := c.Probe().CallRequest(t.Item, t.Arguments)
	a, b := c.Start(nil, r.Progress(relatedA)), c.Start(nil, r.Progress(relatedB))
	a.Answer()
	b.Answer()
}

// changing are the methods behind which a server may do anything, and change what
// it lists: each runs a tool, a prompt or a resource of its own.
var changing = []string{
	spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead, spec.MethodResourcesSubscribe, spec.MethodTasksResult,
}

// ofTask reports whether one request waits for what another one began as a task,
// whose progress goes on under the token of that.
func ofTask(waits, began *probe.Exchange) bool {
	return waits.Method == spec.MethodTasksResult && began.Sent != nil && probe.Lookup(began.Sent.Message().Params, "/task") != nil
}

// relatedToPost looks for what belongs to another request of the session, and
// for changes that the request cannot have made.
func relatedToPost(c *probe.Case, t *probe.Traffic) {
	key := func(x *probe.Exchange, token []byte) string { return fmt.Sprintf("%d %s", x.Conn, token) }
	owner := map[string]*probe.Exchange{}
	for _, x := range t.Exchanges {
		if token := x.Meta(spec.MetaProgressToken); token != nil {
			owner[key(x, token)] = x
		}
	}
	for _, x := range postedStreams(t) {
		for _, f := range x.Frames {
			m := f.Message()
			switch {
			case m.Kind != wire.Notification:
			case m.Method == spec.NotificationProgress:
				o := owner[key(x, tokenIn(f))]
				if o != nil && o != x && !ofTask(x, o) && !probe.Same(x.Meta(spec.MetaProgressToken), tokenIn(f)) {
					c.Fail(x, "the stream of %s holds the progress of another request, %s", x.Method, o.Method).In(f, "").And(o)
					return
				}
			case isChange(m.Method) && !slices.Contains(changing, x.Method):
				c.Fail(x, "%s was sent on the stream of %s, which changes nothing", m.Method, x.Method).In(f, "")
				return
			}
		}
		c.Pass(x)
	}
	c.Unseen(noPosted)
}

func versionAbsent(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	// Who sends no header sends its id as every client does; faults tell the
	// request by the id.
	x := c.Once(plain.NoHeader(spec.HeaderProtocolVersion).WithID(`"mcprove-no-version"`))
	switch {
	case x.OK():
		c.Pass(x)
	case overloaded(x):
		c.Skip("%s was answered by %s", plain.Method, x.Brief())
	case c.Probe().Shared().Session() == "" && !c.Once(plain.Version(spec.Rev20250326.String())).OK():
		c.Skip("without a session a request without the header is one of %s, which the server does not serve", spec.Rev20250326)
	default:
		c.Fail(x, "%s without %s was answered by %s", plain.Method, spec.HeaderProtocolVersion, x.Brief()).And(c.Once(plain))
	}
}

// unservedVersion is one that no server has.
const unservedVersion = "1900-01-01"

// unmadeVersion is one that there is not yet. A server that compares dates may
// refuse what is old and take what is new.
const unmadeVersion = "2099-01-01"

func versionInvalid(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	var served []*probe.Exchange
	var how []string
	for _, v := range []string{unservedVersion, unmadeVersion, garbageVersion} {
		x := c.Once(plain.Version(v).Planting("a version that no server has"))
		switch {
		case x.Sent == nil: // held back
		case x.Status() == spec.StatusBadVersionHeader:
			c.Pass(x)
		case overloaded(x):
			c.Skip("%s was answered by %s", plain.Method, x.Brief())
		default:
			served, how = append(served, x), append(how, v+" by "+x.Brief())
		}
	}
	if len(served) > 0 {
		c.Fail(served[0], "%s was not answered by HTTP %d: %s", spec.HeaderProtocolVersion, spec.StatusBadVersionHeader, strings.Join(how, ", ")).
			And(served[1:]...).And(c.Once(plain))
	}
}
