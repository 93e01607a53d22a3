// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// announceRules are those of the changes that a server tells of. A change that
// nobody makes cannot be seen: they need a tool that makes one.
var announceRules = []Rule{
	listChangedRule("prompts", spec.MethodPromptsList, spec.NotificationPromptsListChanged, promptsPage),
	listChangedRule("resources", spec.MethodResourcesList, spec.NotificationResourcesListChanged, resourcesPage),
	{
		Info: rule.Info{
			ID: "resources.updated-notification", Level: rule.Should, Basis: rule.Keyword, Section: resourcesPage + "#subscriptions",
			Title: "a change of a resource that a client watches is told",
			Why:   "clients go on with the old contents, and have no reason to read again",
			Fix:   "send notifications/resources/updated on each stream that asked for the uri, or do not declare resources.subscribe",
		},
		In: every, Check: updateTold, Starts: true, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodResourcesRead).When(afterwards).OfType(spec.ResultComplete).Set("/result/contents/0/mimeType", `"text/x-other"`),
			mock.OnNotification(spec.NotificationResourcesUpdated).Drop(),
		}},
	},
}

// afterMark tells what is asked again after calls; a fault needs to know.
const afterMark = "after-calls"

var afterwards = mock.ParamIs(markAt, `"`+afterMark+`"`)

// listChangedRule is the rule about changes of one list.
func listChangedRule(family, method, notification, page string) Rule {
	member, _ := listMember(method)
	return Rule{
		Info: rule.Info{
			ID: family + ".list-changed-notification", Level: rule.Should, Basis: rule.Keyword, Section: page + "#list-changed-notification",
			Title: "a change of the list of " + family + " is told to who asked for it",
			Why:   "clients that rely on it show a list that is out of date until they connect again",
			Fix:   "send " + notification + " on each stream that asked for it, or do not declare " + family + ".listChanged",
		},
		In: every, Starts: true, Needs: "--tool",
		Check: func(c *probe.Case) {
			w, ok := witnessed(c, family+".listChanged")
			if !ok {
				return
			}
			before, was := w.before[method]
			after, is := w.after[method]
			switch {
			case w.told(notification):
				c.Pass(w.listen)
			case w.deaf:
				streamRefused(c, standingStreams(c).x)
			case was && is && !slices.Equal(before, after):
				c.Fail(w.listen, "the list of %s changed while %s, and nothing was told", family, w.open()).And(w.pages[method]...)
			default:
				c.Skip("nothing that may be called changes the list of %s: name a tool that does with --tool 'NAME={...}'", family)
			}
		},
		Break: Break{Faults: []mock.Fault{
			mock.On(method).When(afterwards).OnPage(1).Remove("/result/" + member + "/0"),
			mock.OnNotification(notification).Drop(),
		}},
	}
}

func updateTold(c *probe.Case) {
	w, ok := witnessed(c, "resources.subscribe")
	if !ok {
		return
	}
	switch {
	case w.told(spec.NotificationResourcesUpdated):
		c.Pass(w.listen)
		return
	case w.deaf:
		streamRefused(c, standingStreams(c).x)
		return
	}
	for i, uri := range w.uris {
		before, after := w.reads[i][0], w.reads[i][1]
		if steady(before) && steady(after) && !probe.Same(before[0].Member("contents"), after[0].Member("contents")) {
			c.Fail(w.listen, "the contents of %s changed while %s, and nothing was told", jsonQuote(uri), w.open()).
				And(before[0], after[0]).Of("resource", uri)
			return
		}
	}
	c.Skip("nothing that may be called changes a resource: name a tool that does with --tool 'NAME={...}'")
}

// steady reports whether a resource was the same twice in a row: one that is
// another every time has no changes to tell of.
func steady(reads []*probe.Exchange) bool {
	return len(reads) == 2 && reads[0].Complete() && reads[1].Complete() &&
		probe.Same(reads[0].Member("contents"), reads[1].Member("contents"))
}

// witness is what one subscription to everything was told while tools were
// called, and what was there before and after.
type witness struct {
	listen        *probe.Exchange
	conn          *probe.Conn     // of the handshake era
	deaf          bool            // over HTTP without a standing stream
	heard         map[string]bool // the notifications that came on conn
	acknowledged  bool
	refusal       *probe.Exchange // of a subscription to a resource
	failed        string
	before, after map[string][]string // items of the lists by method, sorted
	pages         map[string][]*probe.Exchange
	uris          []string
	reads         [][2][]*probe.Exchange // of each, twice before and twice after
}

// witnessed is made once for all rules that hang on changes. Where the server
// does not declare that it tells of them the case is skipped, and ok is false.
func witnessed(c *probe.Case, capability string) (w *witness, ok bool) {
	if !c.Declared(capability) {
		return nil, false
	}
	w = witnessing(c)
	switch {
	case w.failed != "":
		c.Skip("%s", w.failed)
		return nil, false
	case capability == "resources.subscribe" && w.refusal != nil:
		c.Skip("%s was answered by %s", w.refusal.Method, w.refusal.Brief())
		return nil, false
	case !w.acknowledged:
		c.SkipFor("subscriptions.ack-sent", "a subscription to changes was answered by %s", w.listen.Brief())
		return nil, false
	}
	return w, true
}

func witnessChanges(c *probe.Case) *witness {
	w := &witness{before: map[string][]string{}, after: map[string][]string{}, pages: map[string][]*probe.Exchange{}, uris: resourceURIs(c)}
	if c.Probe().Legacy() {
		w.handshake(c)
		return w
	}
	filter := filterAll[:len(filterAll)-1]
	if len(w.uris) > 0 {
		filter += `,"` + memberResources + `":` + textList(w.uris)
	}
	s := c.Start(nil, listenRequest(c, filter+"}"))
	defer s.Close()
	w.listen, w.acknowledged = s.Until(c.Probe().Patience(), func(x *probe.Exchange) bool { return acknowledgement(x) != nil })
	if !w.acknowledged {
		return w
	}
	w.look(c, w.before, 0, "before-calls")
	w.call(c)
	w.look(c, w.after, 1, afterMark)
	w.listen, _ = s.Until(c.Probe().Quiet(), func(x *probe.Exchange) bool { return false })
	return w
}

// look reads the lists and the resources that are watched, each twice: a list
// that is another every time has no changes to tell of.
func (w *witness) look(c *probe.Case, into map[string][]string, turn int, name string) {
	for _, list := range lists(c) {
		first, ok := w.list(c, list.Method, name)
		if !ok {
			continue
		}
		if second, ok := w.list(c, list.Method, name); ok && slices.Equal(first, second) {
			into[list.Method] = first
		}
	}
	for i, uri := range w.uris {
		if turn == 0 {
			w.reads = append(w.reads, [2][]*probe.Exchange{})
		}
		for range 2 {
			w.reads[i][turn] = append(w.reads[i][turn], c.SendOn(w.conn, marked(c.Probe().ReadRequest(uri), name)))
		}
	}
}

// list reads all pages of a list. It is not ok where a page is refused, or
// there is no end of them.
func (w *witness) list(c *probe.Case, method, name string) (items []string, ok bool) {
	member, _ := listMember(method)
	r := c.Request(method, "")
	for range manyPages {
		x := c.SendOn(w.conn, marked(r, name))
		if !x.Complete() {
			return nil, false
		}
		w.pages[method] = append(w.pages[method], x)
		for _, e := range probe.Elements(x.Member(member)) {
			items = append(items, canonicalText(e))
		}
		next, more := nextCursor(x)
		if !more {
			slices.Sort(items)
			return items, true
		}
		r = c.Request(method, "").Param(spec.FieldCursor, string(jsonx.Quote(next)))
	}
	return nil, false
}

// call calls the tools that may be called, the quickest first, but for those
// that take long: one of them may change something.
func (w *witness) call(c *probe.Case) {
	type called struct {
		tool probe.Tool
		took time.Duration
	}
	var calls []called
	tools := c.Probe().Callable()
	for i, x := range c.Calls() {
		if took := x.End.Sub(x.Start); x.OK() && (tools[i].Named || took <= quickCall) {
			calls = append(calls, called{tools[i], took})
		}
	}
	order.Stable(calls, func(a, b called) int { return cmp.Compare(a.took, b.took) })
	begin := time.Now()
	for _, k := range calls {
		if k.tool.Named || time.Since(begin) <= callBudget {
			c.SendOn(w.conn, c.Probe().CallRequest(k.tool.Item, k.tool.Arguments))
		}
	}
}

// canonicalText is a JSON value in the one form that equal values have.
func canonicalText(raw []byte) string {
	if c, err := jsonx.Canonical(raw); err == nil {
		return string(c)
	}
	return string(raw)
}
