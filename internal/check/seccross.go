// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

const (
	ruleCrossUnique    = "sec.cross-wire-unique"
	ruleCrossDuplicate = "sec.cross-wire-duplicate"
	ruleCrossClients   = "sec.cross-wire-two-sessions"
)

// markedCall is where the calls that are told by their answers are refused.
var markedCall = mock.On(spec.MethodToolsCall).When(mock.ParamIs("/arguments/mcprove", `"at-once"`))

// secCrossRules are those of answers that reach another request than their own.
var secCrossRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleCrossUnique, Level: rule.Must, Basis: rule.Harm, Section: "2026-07-28/basic#responses",
			Title: "requests that are under way at once each get their own answer",
			Why:   "an agent acts on the data of another request, or of another user",
			Fix:   "keep nothing of a request outside of it, and make a server or transport object of its own for each client",
			Detail: "two dozen requests are sent at once with ids of their own, and each carries a nonce that its answer repeats: " +
				"refusals of what is not there, then calls of a tool that only reads and repeats a text, then some among calls of a slow one; " +
				"where no answer repeats anything, lists of different kinds are asked for",
		},
		In: every, Check: crossUnique, Starts: true,
		Break: Break{Faults: []mock.Fault{markedCall.Cross(mock.CrossIDs)}},
	},
	{
		Info: rule.Info{
			ID: ruleCrossDuplicate, Level: rule.Must, Basis: rule.Harm, Section: "2026-07-28/basic#requests",
			Title: "requests under way with the same id are refused, or each gets its own answer",
			Why:   "there are clients that number every request with 1: two calls of one user then swap their answers, or one of them hangs",
			Fix:   "do not find the way back of an answer by its id alone; refuse a second request under an id that is under way with code -32600",
		},
		In: every, Check: crossDuplicate, Starts: true,
		Break:  Break{Faults: []mock.Fault{markedCall.Cross(mock.CrossSameID)}, Only: transport.StreamableHTTP},
		Breaks: []Break{{Faults: []mock.Fault{markedCall.Cross(mock.CrossLost)}}},
	},
	{
		Info: rule.Info{
			ID: ruleCrossClients, Level: rule.Must, Basis: rule.Harm, Section: "2026-07-28/basic#requests", Transport: "http",
			Title: "two clients may use the same ids at once, and each gets its own answers",
			Why:   "ids are unique to a client alone: the answers to one user reach another",
			Fix:   "keep what is under way by client and id, in a server or transport object of its own for each client",
		},
		In: every, Check: crossClients, Starts: true,
		Break: Break{Faults: []mock.Fault{markedCall.Cross(mock.CrossClients)}},
	},
}

// How many requests are under way at once.
const (
	crossMany = 24
	crossSame = 12
)

// telltale is a request that is told by its answer.
type telltale struct {
	request *probe.Request
	// mark stands in its answer and in no other one; empty where content tells.
	mark string
	// content is what its answer has, in the form that equal results have.
	content string
	// usual is how long its answer takes where a tool works for it.
	usual time.Duration
}

// is reports whether an answer is that of the request.
func (t *telltale) is(x *probe.Exchange) bool { return t.in(x.Message().Raw, x.Result()) }

func (t *telltale) in(message, result []byte) bool {
	if t.mark != "" {
		return strings.Contains(string(message), t.mark)
	}
	return result != nil && canonicalText(result) == t.content
}

// forms are well-formed requests for something that is not there: a refusal
// that names what was asked for can be told from any other. No tool runs.
var forms = []struct {
	method, capability string
	params             func(mark string) string
}{
	{spec.MethodToolsCall, "tools", func(m string) string {
		return `{"name":` + string(jsonx.Quote(m)) + `,"arguments":{"mcprove":"at-once"}}`
	}},
	{spec.MethodPromptsGet, "prompts", func(m string) string { return `{"name":` + string(jsonx.Quote(m)) + `}` }},
	{spec.MethodResourcesRead, "resources", func(m string) string { return `{"uri":` + string(jsonx.Quote("mcprove://"+m)) + `}` }},
}

// alone is held by a check of this file: what is sent alone must be alone of its
// kind.
func alone(c *probe.Case) probe.Turn {
	return probe.Share(c.Probe(), "crossings", probe.NewTurn)
}

// telltales are n requests that are told by their answers, nil where no two
// answers can be told apart.
func telltales(c *probe.Case, n int) []*telltale {
	run := rand.Text()[:10]
	for _, f := range forms {
		if !c.Facts().Declares(f.capability) {
			continue
		}
		marked := func(mark string) *telltale {
			return &telltale{request: c.Request(f.method, f.params(mark)), mark: mark}
		}
		control := marked("mcprove-" + run)
		if x := c.Send(control.request); x.Response == nil || !control.is(x) {
			continue
		}
		var out []*telltale
		for i := range n {
			out = append(out, marked(fmt.Sprintf("mcprove-%s-%02d-of", run, i)))
		}
		return out
	}
	var kinds []*telltale
	for _, l := range lists(c) {
		x, again := c.Once(c.Request(l.Method, "")), c.Send(c.Request(l.Method, ""))
		content := canonicalText(x.Result())
		told := func(k *telltale) bool { return k.content == content }
		if x.OK() && again.OK() && canonicalText(again.Result()) == content && !slices.ContainsFunc(kinds, told) {
			kinds = append(kinds, &telltale{request: c.Request(l.Method, ""), content: content})
		}
	}
	if len(kinds) < 2 {
		return nil
	}
	var out []*telltale
	for i := range n {
		out = append(out, kinds[i%len(kinds)])
	}
	return out
}

// crossing is a set of requests that were under way at once.
type crossing struct {
	asked    []*telltale
	answered []*probe.Exchange
	// idle says that the server had nothing else to do any more: a plain request
	// that was sent after all of them was answered, and silence followed.
	idle bool
}

// atOnce sends requests at once, each on its connection, and waits for all.
func atOnce(c *probe.Case, on func(i int) *probe.Conn, asked []*telltale, id func(i int) string) *crossing {
	streams := make([]*probe.Stream, len(asked))
	begin := time.Now()
	for i, t := range asked {
		r := t.request
		if v := id(i); v != "" {
			r = r.WithID(v)
		}
		streams[i] = c.Start(on(i), r)
	}
	// What silence there was before says nothing of how long a tool may take.
	usual := time.Duration(0)
	for _, t := range asked {
		usual = max(usual, t.usual)
	}
	more := 4*usual - c.Probe().Patience()
	k := &crossing{asked: asked}
	collect := func(patience time.Duration) { k.sort(c, streams, time.Now().Add(patience)) }
	if !c.Probe().OneStream() || !streams[0].Same(streams[1]) {
		k.answered = make([]*probe.Exchange, len(streams))
		var wait sync.WaitGroup
		for i, s := range streams {
			wait.Go(func() {
				if more > 0 {
					s.Until(more, heard)
				}
				k.answered[i] = s.Answer()
			})
		}
		wait.Wait()
		collect = func(patience time.Duration) {
			for i, s := range streams {
				if k.answered[i].Response == nil {
					k.answered[i], _ = s.Until(patience, heard)
					patience = 0
				}
			}
		}
	} else {
		collect(c.Probe().Patience() + max(0, more))
	}
	if len(k.lost()) > 0 {
		k.idle = !k.trickled(begin) && c.SendOn(on(0), c.Request(c.Probe().Plainest(), "")).OK() && c.SendOn(on(1), c.Request(c.Probe().Plainest(), "")).OK()
		collect(lateAnswer)
	}
	return k
}

// trickled reports whether answers were still coming one after the other when
// the wait for them ended: a server that does one thing at a time, or may ask
// its own source so often, has lost nothing.
func (k *crossing) trickled(begin time.Time) bool {
	times := []time.Time{begin}
	for _, x := range k.answered {
		if x.Response != nil {
			times = append(times, x.Response.Time)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	longest := time.Duration(0)
	for i := range times[1:] {
		longest = max(longest, times[i+1].Sub(times[i]))
	}
	return time.Since(times[len(times)-1]) < 2*longest
}

// lateAnswer is how long an answer may come after that of a later request.
const lateAnswer = time.Second

// sort takes in the answers of requests with one id on one stream, where nothing
// but their content says whose they are. What says nothing is a refusal, and
// any of them will do.
func (k *crossing) sort(c *probe.Case, streams []*probe.Stream, until time.Time) {
	var frames []*wire.Frame
	end := c.Probe().Clock().Wait()
	for {
		frames, k.answered = nil, nil
		for _, s := range streams {
			x := s.Now()
			k.answered = append(k.answered, x)
			if x.Response != nil {
				frames = append(append(frames, x.Response), x.Extra...)
			}
		}
		if len(frames) >= len(streams) || !time.Now().Before(until) || c.Context().Err() != nil {
			break
		}
		time.Sleep(crossTick)
	}
	if len(frames) < len(streams) {
		end(probe.Unanswered)
	}
	end(probe.Answering)
	own := func(t *telltale) int {
		return slices.IndexFunc(frames, func(f *wire.Frame) bool { return f != nil && t.in(f.Raw, f.Message().Result) })
	}
	named := func(f *wire.Frame) bool {
		return slices.ContainsFunc(k.asked, func(t *telltale) bool { return t.in(f.Raw, f.Message().Result) })
	}
	for i, t := range k.asked {
		x := *k.answered[i]
		x.Response, x.Extra, x.Frames = nil, nil, nil
		if at := own(t); at >= 0 {
			x.Response, frames[at] = frames[at], nil
			x.Frames = []*wire.Frame{x.Response}
		}
		k.answered[i] = &x
	}
	for _, x := range k.answered {
		if x.Response != nil {
			continue
		}
		at := slices.IndexFunc(frames, func(f *wire.Frame) bool { return f != nil && !named(f) })
		if at < 0 {
			continue
		}
		x.Response, frames[at] = frames[at], nil
		x.Frames = []*wire.Frame{x.Response}
	}
}

// crossTick is how often to look for answers that nothing announces.
const crossTick = 5 * time.Millisecond

// crossed is the first request that has the answer of another one.
func (k *crossing) crossed() (mine, whose int, found bool) {
	for i, x := range k.answered {
		if x.Response == nil || k.asked[i].is(x) {
			continue
		}
		for j, t := range k.asked {
			if (t.mark != k.asked[i].mark || t.content != k.asked[i].content) && t.is(x) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// lost are the requests to which nothing came.
func (k *crossing) lost() []*probe.Exchange {
	return slices.DeleteFunc(slices.Clone(k.answered), func(x *probe.Exchange) bool {
		return x.Response != nil || x.Head != nil && x.Status() >= 400 || x.Died()
	})
}

// judge blames answers that went astray. Lost ones count when it happens again.
func (k *crossing) judge(c *probe.Case, again func() *crossing) {
	if i, j, found := k.crossed(); found {
		if c.Rule() == ruleCrossClients && k.answered[i].Conn == k.answered[j].Conn {
			c.SkipFor(ruleCrossUnique, "the answers to one client are mixed up")
			return
		}
		x, y := k.answered[i], k.answered[j]
		c.Fail(x, "%s with id %s got the answer to %s with id %s%s", x.Method, short(x.ID), y.Method, short(y.ID), k.places(i, j)).And(y)
		return
	}
	if lost := k.lost(); len(lost) > 0 {
		if l := again(); k.idle && l != nil && l.idle && len(l.lost()) > 0 {
			c.Fail(lost[0], "%d of %d requests that were under way at once are not answered, and %d of them again", len(lost), len(k.asked), len(l.lost())).
				And(lost[1:min(2, len(lost))]...)
			return
		}
		c.Skip("%d of %d requests that were under way at once were not answered in time, and the next time all were", len(lost), len(k.asked))
		return
	}
	for _, x := range k.answered {
		c.Pass(x)
	}
}

// places names the connections where two requests went over different ones.
func (k *crossing) places(i, j int) string {
	if a, b := k.answered[i].Conn, k.answered[j].Conn; a != b {
		return fmt.Sprintf(", of another client (connections %d and %d)", a, b)
	}
	return ""
}

func crossUnique(c *probe.Case) {
	crossings(c, crossMany, func(asked []*telltale) *crossing {
		return atOnce(c, func(int) *probe.Conn { return nil }, asked, func(int) string { return "" })
	})
}

func crossDuplicate(c *probe.Case) {
	crossings(c, crossSame, func(asked []*telltale) *crossing {
		conn := c.Open()
		if conn == nil {
			return nil
		}
		same := make([]*telltale, len(asked))
		for i, t := range asked {
			copied := *t
			copied.request = t.request.Planting("an id that is under way")
			same[i] = &copied
		}
		return atOnce(c, func(int) *probe.Conn { return conn }, same, func(int) string { return `"mcprove-same"` })
	})
}

func crossClients(c *probe.Case) {
	var a, b *probe.Conn
	crossings(c, 2*crossSame, func(asked []*telltale) *crossing {
		if a == nil {
			a, b = c.Open(), c.Open()
		}
		if a == nil || b == nil {
			return nil
		}
		turns := func(i int) *probe.Conn {
			if i%2 == 0 {
				return a
			}
			return b
		}
		equal := func() *crossing {
			return atOnce(c, turns, asked, func(i int) string { return fmt.Sprintf(`"mcprove-%d"`, i/2) })
		}
		k := equal()
		i := k.refused()
		if i < 0 {
			return k
		}
		// A limit of what may be under way refuses others too, and not the same again.
		control := atOnce(c, turns, asked, func(i int) string { return fmt.Sprintf(`"mcprove-own-%d"`, i) })
		if control.refused() < 0 && !control.astray() && equal().refused() >= 0 {
			c.Fail(k.answered[i], "%s with id %s was refused while another client had a request under the same id, and is not under an id of its own", k.answered[i].Method, short(k.answered[i].ID)).
				And(k.answered[i^1], control.answered[i])
			return nil
		}
		return k
	})
}

// refused is the first request that got an error that is not its own answer,
// though it was well-formed; -1 without one. That the server has too much to do
// is none, nor is that a session is gone.
func (k *crossing) refused() int {
	for i, x := range k.answered {
		m := x.Message()
		said := m != nil && m.Error != nil && !k.asked[i].is(x)
		switch x.Status() {
		case 0, http.StatusOK:
			if said {
				return i
			}
		case http.StatusBadRequest, http.StatusConflict:
			if said || m == nil {
				return i
			}
		}
	}
	return -1
}
