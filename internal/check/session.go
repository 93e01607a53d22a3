// SPDX-License-Identifier: Apache-2.0

package check

import (
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	sessionPage    = transportsPage + "#session-management"
	ruleSessionEnd = "session.unknown-404"
)

// sessionRules are those of Mcp-Session-Id. A server that gives out none keeps
// no session, and is skipped.
var sessionRules = []Rule{
	{
		Info: rule.Info{
			ID: "session.id-visible-ascii", Level: rule.Must, Basis: rule.Keyword, Section: sessionPage, Transport: "http",
			Title: "the id of a session holds visible ASCII characters alone",
			Why:   "clients and proxies drop or change other characters in a header, and lose the session",
			Fix:   "make the id of characters from 0x21 to 0x7E, such as a UUID",
		},
		In: streamable, Watch: idVisible, Stir: stirSessions,
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).SessionID("tide office {{random}}")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).SessionID("büro-{{random}}")}}},
	},
	{
		Info: rule.Info{
			ID: "session.id-secure", Level: rule.Should, Basis: rule.Keyword, Section: sessionPage, Transport: "http",
			Title: "the id of a session is unique and cannot be guessed",
			Why:   "whoever guesses the id of another client's session reads its messages, and acts in its name",
			Fix:   "make the id from a cryptographically secure source: a random UUID, or 128 random bits",
			Detail: "judged by the ids of several sessions: one that is given out twice, and those that differ in so few characters that " +
				"one tells the next. What looks random may still be predictable",
		},
		In: streamable, Watch: idSecure, Stir: stirSessions,
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodInitialize).SessionID("tide-office-session-00000000-{{number}}")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).SessionID("{{number}}-office")}}},
	},
	{
		Info: rule.Info{
			ID: "session.missing-400", Level: rule.Should, Basis: rule.Keyword, Section: sessionPage, Transport: "http",
			Title: "a request without the session id that the server needs is answered with HTTP 400",
			Why:   "a client cannot tell that it must send the id, and takes the server for broken",
			Fix:   "answer HTTP 400 to any request but initialize that has no Mcp-Session-Id, if you need one",
		},
		In: streamable, Check: sessionMissing,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).When(mock.NoHeader(spec.HeaderSessionID), mock.NoMeta(spec.MetaProtocolVersion)).Status(http.StatusUnauthorized),
		}},
	},
	{
		Info: rule.Info{
			ID: ruleSessionEnd, Level: rule.Must, Basis: rule.Keyword, Section: sessionPage, Transport: "http",
			Title: "a request of a session that has ended is answered with HTTP 404",
			Why:   "clients begin a new session on 404 alone; on any other answer they go on failing in the old one",
			Fix:   "answer HTTP 404 to an Mcp-Session-Id whose session has ended, whatever the request",
		},
		In: streamable, Check: sessionEnded,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckSessionUnknown)}, Also: []string{"tools.structured-absent-before"}},
		Breaks: []Break{{Faults: []mock.Fault{
			mock.On("").When(mock.HasHeader(spec.HeaderSessionID)).OfCode(spec.CodeInvalidRequest).Status(http.StatusBadRequest),
		}}},
	},
	{
		Info: rule.Info{
			ID: "session.isolated", Level: rule.Must, Basis: rule.Derived, Section: sessionPage, Transport: "http",
			Title: "messages of one session do not reach another",
			Why:   "what one user is told, another reads",
			Fix:   "keep streams and running requests with the session they belong to, not in one table by request id",
		},
		In: streamable, Check: sessionIsolated,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, isolatedA)).
				Notify(spec.NotificationProgress, `{"progressToken":`+isolatedB+`,"progress":0.25}`),
		}},
		Breaks: []Break{{Also: []string{ruleResultID}, Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, isolatedA)).Set("/id", isolatedB),
		}}},
	},
}

// Tokens and ids of the requests that run in two sessions side by side.
const (
	isolatedA = `"mcprove-session-a"`
	isolatedB = `"mcprove-session-b"`
)

// noSessions is why rules on sessions have nothing to look at.
const noSessions = "the server gives out no " + spec.HeaderSessionID + ", so it keeps no session"

// manySessions is how many sessions are opened to compare their ids.
const manySessions = 6

// stirSessions opens sessions, where the server has them.
func stirSessions(c *probe.Case) {
	if !stateful(c) {
		return
	}
	probe.Share(c.Probe(), "sessions", func() struct{} {
		for range manySessions {
			if c.Open() == nil {
				break
			}
		}
		return struct{}{}
	})
}

// stateful skips the case of a server without sessions.
func stateful(c *probe.Case) bool {
	if conn := c.Probe().Shared(); conn == nil || conn.Session() == "" {
		c.Skip(noSessions)
		return false
	}
	return true
}

// sessions are the answers to initialize that gave out an id, in order.
func sessions(t *probe.Traffic) (out []*probe.Exchange) {
	for _, x := range t.Exchanges {
		if x.Method != spec.MethodInitialize || x.Head == nil || !x.OK() {
			continue
		}
		if _, ok := x.Head.Lookup(spec.HeaderSessionID); ok {
			out = append(out, x)
		}
	}
	return out
}

func sessionID(x *probe.Exchange) string { return x.Head.Get(spec.HeaderSessionID) }

func idVisible(c *probe.Case, t *probe.Traffic) {
	for _, x := range sessions(t) {
		id := sessionID(x)
		i := strings.IndexFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e })
		switch {
		case id == "":
			c.Fail(x, "%s of the answer to initialize is empty", spec.HeaderSessionID)
			return
		case i >= 0:
			c.Fail(x, "%s of the answer to initialize holds the byte 0x%02X", spec.HeaderSessionID, id[i])
			return
		}
		c.Pass(x)
	}
	c.Unseen(noSessions)
}

const (
	// neighbours is how many ids that were given out one after the other are
	// compared: who guesses begins with one of those.
	neighbours = 4
	// leastBits is how much must differ between them. A random value of 64
	// bits, the shortest that anybody calls secure, looks like more than that.
	leastBits = 48
)

func idSecure(c *probe.Case, t *probe.Traffic) {
	// An initialize within a session is answered with the id of that session.
	xs := slices.DeleteFunc(sessions(t), func(x *probe.Exchange) bool { return sentSession(x) != "" && sentSession(x) == sessionID(x) })
	if len(xs) == 0 {
		c.Skip(noSessions)
		return
	}
	seen := map[string]*probe.Exchange{}
	for _, x := range xs {
		if first := seen[sessionID(x)]; first != nil {
			c.Fail(x, "one %s was given out twice", spec.HeaderSessionID).And(first)
			return
		}
		seen[sessionID(x)] = x
	}
	if len(xs) < neighbours {
		c.Skip("only %d sessions were opened, too few to compare their ids", len(xs))
		return
	}
	for _, some := range windows(xs, neighbours) {
		ids := make([]string, len(some))
		for i, x := range some {
			ids[i] = sessionID(x)
		}
		if varied(ids) < leastBits {
			c.Fail(some[0], "the ids of %d sessions differ in so little that one tells the next: %s", len(ids), strings.Join(allQuoted(ids), ", ")).And(some[1:]...)
			return
		}
	}
	c.Pass(xs[0])
}

// windows are the runs of n that follow each other.
func windows(xs []*probe.Exchange, n int) (out [][]*probe.Exchange) {
	for i := 0; i+n <= len(xs); i++ {
		out = append(out, xs[i:i+n])
	}
	return out
}

func allQuoted(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = quoted(id)
	}
	return out
}

// varied is how many bits the characters hold, at most, in which some of the
// texts differ. Of texts of different lengths that is all but the beginning and
// the end that they share.
func varied(ids []string) float64 {
	shortest, longest := slices.Min(lengths(ids)), slices.Max(lengths(ids))
	differ := func(i int) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return id[i] != ids[0][i] })
	}
	places, used := 0, []byte(nil)
	take := func(i int) {
		places++
		for _, id := range ids {
			if i < len(id) {
				used = append(used, id[i])
			}
		}
	}
	begin := 0
	for begin < shortest && !differ(begin) {
		begin++
	}
	end := longest - sharedEnd(ids, shortest-begin)
	for i := begin; i < end; i++ {
		if shortest < longest || differ(i) {
			take(i)
		}
	}
	return float64(places) * math.Log2(float64(alphabet(used)))
}

func lengths(ids []string) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = len(id)
	}
	return out
}

// sharedEnd is the length of the end that texts share, up to a bound.
func sharedEnd(ids []string, most int) (n int) {
	for ; n < most; n++ {
		for _, id := range ids {
			if id[len(id)-1-n] != ids[0][len(ids[0])-1-n] {
				return n
			}
		}
	}
	return n
}

// alphabet is how many characters there are of the kind that was used.
func alphabet(used []byte) int {
	only := func(set string) bool {
		return !slices.ContainsFunc(used, func(b byte) bool { return strings.IndexByte(set, b) < 0 })
	}
	switch {
	case only("0123456789"):
		return 10
	case only("0123456789abcdefABCDEF-"):
		return 16
	case only("0123456789abcdefghijklmnopqrstuvwxyz-"), only("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-"):
		return 36
	}
	return 64
}

// sessionMissing asks for a list: ping is served by many before a session is.
func sessionMissing(c *probe.Case) {
	if !stateful(c) {
		return
	}
	r, ok := anyList(c)
	if !ok {
		return
	}
	x := c.Once(r.NoHeader(spec.HeaderSessionID).Planting("no session id"))
	switch {
	case x.OK():
		c.Skip("the server serves %s without %s, so it does not need one", r.Method, spec.HeaderSessionID)
	case x.Status() == spec.StatusMissingSession:
		c.Pass(x)
	case overloaded(x):
		c.Skip("%s was answered by %s", r.Method, x.Brief())
	default:
		c.Fail(x, "%s without %s was answered by %s, not by HTTP %d", r.Method, spec.HeaderSessionID, x.Brief(), spec.StatusMissingSession).And(c.Once(r))
	}
}

// sessionEnded ends a session as a client does, and uses it once more.
func sessionEnded(c *probe.Case) {
	if !stateful(c) {
		return
	}
	r, ok := anyList(c)
	if !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	before := c.SendOn(conn, r)
	if !before.OK() {
		c.Lacks(before)
		return
	}
	end := c.SendOn(conn, conn.EndSession())
	switch {
	case end.Status() == spec.StatusMethodNotAllowed:
		c.Skip("the server does not let a client end its session: it answers DELETE with HTTP %d", end.Status())
		return
	case !success(end):
		c.Skip("no session could be ended: DELETE was answered by %s", end.Brief())
		return
	}
	late := r.Planting("the id of a session that has ended")
	x := c.SendOn(conn, late)
	for n := 0; n < 2 && x.OK(); n++ { // it may take a moment
		c.Rest(c.Probe().Quiet())
		x = c.SendOn(conn, late)
	}
	switch {
	case x.Sent == nil: // held back
	case x.Status() == spec.StatusSessionEnded:
		c.Pass(x)
	case overloaded(x):
		c.Skip("%s was answered by %s", r.Method, x.Brief())
	case x.OK():
		c.Fail(x, "%s was served in a session that the client had ended by DELETE", r.Method).And(end)
	default:
		c.Fail(x, "%s in a session that had ended was answered by %s, not by HTTP %d", r.Method, x.Brief(), spec.StatusSessionEnded).And(end)
	}
}

// sessionIsolated asks in two sessions at once, each with a stream of its own
// open, and looks for what belongs to the other.
func sessionIsolated(c *probe.Case) {
	if !stateful(c) {
		return
	}
	plain, ok := anyList(c)
	if !ok {
		return
	}
	r := plain
	t, _, talks := talker(c, spec.NotificationProgress)
	if talks {
		r = c.Probe().CallRequest(t.Item, t.Arguments)
	}
	one, two := c.Open(), c.Open()
	if one == nil || two == nil {
		return
	}
	a, _ := openStanding(c, one)
	defer a.Close()
	b, _ := openStanding(c, two)
	defer b.Close()
	s := c.Start(one, r.Progress(isolatedA).WithID(isolatedA))
	u := c.Start(two, r.Progress(isolatedB).WithID(isolatedB))
	x, y := s.Answer(), u.Answer()
	a.Until(c.Probe().Quiet(), func(*probe.Exchange) bool { return false })
	for _, p := range []struct {
		theirs *probe.Exchange
		own    []*probe.Exchange
	}{{y, []*probe.Exchange{x, a.Now()}}, {x, []*probe.Exchange{y, b.Now()}}} {
		for _, o := range p.own {
			if i := slices.IndexFunc(o.Frames, func(f *wire.Frame) bool { return concerns(f.Message(), p.theirs) }); i >= 0 {
				c.Fail(o, "a session was sent what belongs to another: a message for its %s", p.theirs.Method).In(o.Frames[i], "").And(p.theirs)
				return
			}
		}
	}
	if !x.OK() || !y.OK() {
		for _, z := range []*probe.Exchange{x, y} {
			if !z.OK() {
				c.Skip("of two sessions side by side, one was answered by %s", z.Brief())
				return
			}
		}
	}
	c.Pass(x)
}
