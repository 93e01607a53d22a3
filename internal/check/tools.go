// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// toolListRules are those of tools/list as a whole.
var toolListRules = []Rule{
	{
		Info: rule.Info{
			ID: "tools.capability-declared", Level: rule.Must, Basis: rule.Keyword, Section: toolsPage + "#capabilities",
			Title: "a server that lists tools declares the tools capability",
			Why:   "clients that look at the capabilities first never ask for the tools",
			Fix:   `add "tools": {} to the capabilities`,
		},
		In: every, Check: toolsDeclared,
		// A server that tells only some clients: with no tools for all, every
		// rule about tools would be skipped.
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(elicitingClient).Remove("/result/capabilities/tools"),
		}, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/roots")).Remove("/result/capabilities/tools")}, In: handshakeEra}},
	},
	{
		Info: rule.Info{
			ID: "tools.list-answered", Level: rule.Must, Basis: rule.Keyword, Section: toolsPage + "#capabilities",
			Title: "a server that declares tools answers tools/list by an array of tools",
			Why:   "a client that was promised tools gets none, and the agent works without them",
			Fix:   "answer tools/list by a result whose tools is an array; an empty one is right when there are none",
		},
		In: modern, Check: toolsListed,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).When(elicitingClient).Error(spec.CodeInternalError, "no"),
		}},
	},
	{
		Info: rule.Info{
			ID: "tools.list-not-per-connection", Level: rule.MustNot, Basis: rule.Keyword, Section: toolsPage + "#capabilities",
			Title: "the tools are the same on every connection",
			Why:   "behind a balancer, or after a restart, an agent calls a tool that is gone, or reads a description that was never approved",
			Fix:   "let the list depend on nothing but the request: its credentials, not its connection",
		},
		In: modern, Check: toolsPerConnection, Apart: true,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).FromConn(2).OnPage(1).Set("/result/tools/0/description", `"of another connection"`),
		}},
	},
	{
		Info: rule.Info{
			ID: "tools.list-not-side-effect", Level: rule.MustNot, Basis: rule.Keyword, Section: toolsPage + "#capabilities",
			Title: "no other request alters the list of tools",
			Why:   "an agent that was shown one list acts on another: what was approved is not what is called",
			Fix:   "do not add, hide or reword tools because of what was asked before",
		},
		In: modern, Check: toolsSideEffect, Apart: true,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).FromConn(2).OnPage(1).When(mock.Earlier(spec.MethodToolsCall)).Set("/result/tools/0/description", `"after a call"`),
		}},
	},
	{
		Info: rule.Info{
			ID: "tools.list-deterministic-order", Level: rule.Should, Basis: rule.Keyword, Section: toolsPage + "#capabilities",
			Title: "the tools come in the same order each time",
			Why:   "every reordering makes the model's prompt cache miss, and the client's cache of the list useless",
			Fix:   "sort the tools, or keep them in a list and not in a hash table",
		},
		In: modern, Check: toolsOrder, Apart: true,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).FromConn(2).OnPage(1).Reverse("/result/tools"),
		}},
	},
}

// elicitingClient holds for requests of a client that shows forms.
var elicitingClient = mock.HasParam("/_meta/io.modelcontextprotocol~1clientCapabilities/elicitation")

func toolsDeclared(c *probe.Case) {
	if c.Facts().Capabilities == nil {
		c.SkipFor(ruleGreeting(c.Probe().Revision()), "what the server declares is not known")
		return
	}
	d := c.Facts().Greeting
	list := func() *probe.Exchange {
		return c.Once(c.Request(spec.MethodToolsList, "").Capabilities(probe.AllCapabilities))
	}
	if announces(d, "tools") {
		// Some servers declare by what the client says of itself.
		if c.Probe().Legacy() {
			conn, ok := c.Capable()
			if !ok {
				return
			}
			d, list = conn.Greeting(), func() *probe.Exchange { return c.SendOn(conn, c.Request(spec.MethodToolsList, "")) }
		} else {
			d = c.Once(c.Request(spec.MethodDiscover, "").Capabilities(probe.AllCapabilities))
		}
		if !d.OK() || announces(d, "tools") {
			c.Pass(c.Facts().Greeting)
			return
		}
	}
	x := list()
	if !x.OK() || len(probe.Elements(x.Member("tools"))) == 0 {
		c.Pass(x)
		return
	}
	c.Fail(x, "tools/list shows %d tools, and %s declares no tools", len(probe.Elements(x.Member("tools"))), d.Method).And(d)
}

// announces reports whether an answer to server/discover declares a capability,
// by its dotted path: objects count by being there, flags by being true.
func announces(d *probe.Exchange, path string) bool {
	v := d.At("/capabilities/" + strings.ReplaceAll(path, ".", "/"))
	return jsonx.KindOf(v) == jsonx.Object || jsonx.KindOf(v) == jsonx.True
}

func toolsListed(c *probe.Case) {
	if !c.Declared("tools") {
		return
	}
	x := c.Once(c.Request(spec.MethodToolsList, ""))
	if pages := c.Facts().List(spec.MethodToolsList).Pages; len(pages) > 0 {
		x = pages[0]
	}
	if toolsAnswered(c, x, "tools/list") {
		x = c.Once(c.Request(spec.MethodToolsList, "").Capabilities(probe.AllCapabilities))
		toolsAnswered(c, x, "tools/list of a client that declares capabilities")
	}
}

func toolsAnswered(c *probe.Case, x *probe.Exchange, what string) bool {
	tools := x.Member("tools")
	switch {
	case busy(x):
		c.Skip("%s was answered by %s", what, x.Brief())
	case !x.OK():
		c.Fail(x, "the server declares tools, and %s gives %s", what, x.Brief())
	case jsonx.KindOf(tools) == 0:
		c.Fail(x, "the result of %s has no tools", what).In(x.Response, "/result")
	case jsonx.KindOf(tools) != jsonx.Array:
		c.Fail(x, "the tools in the result of %s are %s, not an array", what, asJSON(tools)).In(x.Response, "/result/tools")
	default:
		c.Pass(x)
		return true
	}
	return false
}

// busy reports whether a request was turned away for a reason that has nothing
// to do with it: credentials, or too many requests.
func busy(x *probe.Exchange) bool {
	return overloaded(x) || x.Status() == http.StatusUnauthorized || x.Status() == http.StatusForbidden
}

// overloaded is busy where a refusal by credentials would be the fault: the
// server turned the request away for now only.
func overloaded(x *probe.Exchange) bool {
	return x.Status() == http.StatusTooManyRequests || x.Status() == http.StatusServiceUnavailable
}

// toolLists gives the list as it was read at the start, when that list has an
// end; otherwise the case is skipped.
func toolLists(c *probe.Case) (start *probe.List, ok bool) {
	if start, ok = c.Listed(spec.MethodToolsList); !ok {
		return nil, false
	}
	if !start.Whole {
		c.SkipFor("pagination.terminates", "the list of tools has no end, so that it cannot be compared")
		return nil, false
	}
	return start, true
}

// readTools reads the list on a connection; where that fails the case is
// skipped.
func readTools(c *probe.Case, conn *probe.Conn) (l *probe.List, ok bool) {
	l = c.ReadList(conn, spec.MethodToolsList)
	if !l.OK() {
		c.Lacks(l.Pages[len(l.Pages)-1])
		return l, false
	}
	return l, true
}

func toolsPerConnection(c *probe.Case) {
	start, ok := toolLists(c)
	if !ok {
		return
	}
	fresh := c.Open()
	if fresh == nil {
		return
	}
	one, ok := readTools(c, fresh)
	if !ok {
		return
	}
	if one.Same(start) {
		c.Pass(one.Pages[0])
		return
	}
	// The list may change with time. Whoever blames the connection has seen
	// both answers twice, in turn.
	old, ok := readTools(c, nil)
	again, ok2 := readTools(c, fresh)
	switch {
	case !ok || !ok2:
	case old.Same(start) && again.Same(one):
		c.Fail(one.Pages[0], "a new connection shows other tools than the first one: %s", listDifference(start, one)).And(old.Pages[0])
	case old.Same(again):
		c.Pass(again.Pages[0])
	default:
		c.SkipFor("tools.list-not-side-effect", "the list of tools changes from one request to the next")
	}
}

// mostSideCalls bounds the calls whose effect on the list is looked for.
const mostSideCalls = 2

func toolsSideEffect(c *probe.Case) {
	if _, ok := toolLists(c); !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	before, ok := steadyTools(c, conn)
	if !ok {
		return
	}
	for _, m := range []string{spec.MethodDiscover, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList} {
		if m == spec.MethodDiscover || len(c.Facts().List(m).Pages) > 0 {
			c.SendOn(conn, c.Request(m, ""))
		}
	}
	done := "other requests"
	tools := c.Probe().Callable()
	for _, t := range tools[:min(len(tools), mostSideCalls)] {
		c.SendOn(conn, c.Probe().CallRequest(t.Item, t.Arguments))
		done = "calls of tools and other requests"
	}
	after, ok := readTools(c, conn)
	if !ok {
		return
	}
	if after.Same(before) {
		c.Pass(after.Pages[0])
		return
	}
	fresh := c.Open()
	if fresh == nil {
		return
	}
	elsewhere, ok := readTools(c, fresh)
	again, ok2 := readTools(c, conn)
	switch {
	case !ok || !ok2:
	case !again.Same(after):
		c.Skip("the list of tools goes on changing")
	case elsewhere.Same(before):
		c.Fail(after.Pages[0], "after %s the same connection shows other tools: %s", done, listDifference(before, after)).And(before.Pages[0], elsewhere.Pages[0])
	default:
		c.Warn(after.Pages[0], "after %s the list shows other tools: %s", done, listDifference(before, after)).And(before.Pages[0])
	}
}

// steadyTools reads the list until it is the same two times in a row. A list
// that differs between requests which follow each other, again and again, is
// altered by being asked for.
func steadyTools(c *probe.Case, conn *probe.Conn) (l *probe.List, ok bool) {
	const most = 5
	last, ok := readTools(c, conn)
	for range most {
		if !ok {
			return nil, false
		}
		if l, ok = readTools(c, conn); ok && l.Same(last) {
			return l, true
		}
		last, l = l, last
	}
	if ok {
		c.Fail(last.Pages[0], "%d requests in a row each show other tools than the one before: %s", most+1, listDifference(l, last)).And(l.Pages[0])
	}
	return nil, false
}

// readings is how many readings of a list run side by side.
const readings = 3

func toolsOrder(c *probe.Case) {
	start, ok := toolLists(c)
	if !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	want := start.Order()
	for _, l := range c.ReadLists(conn, spec.MethodToolsList, readings) {
		if !l.OK() {
			c.Lacks(l.Pages[len(l.Pages)-1])
			return
		}
		got := l.Order()
		switch i := firstDifference(want, got); {
		case i < 0:
			c.Pass(l.Pages[0])
		case !slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))):
			c.Skip("the list shows other tools, so that their order cannot be compared")
			return
		default:
			c.Fail(l.Pages[0], "at place %d stands the tool %s, where %s stood before, and the tools are the same", i+1, brief(got[i]), brief(want[i])).And(start.Pages[0])
			return
		}
	}
}

// firstDifference is the first index at which two lists differ, -1 where they
// are equal.
func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// listDifference says in a few words how two readings differ.
func listDifference(old, now *probe.List) string {
	content := func(l *probe.List) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		for _, i := range l.Items {
			m[i.Name] = i.Raw
		}
		return m
	}
	was, is := content(old), content(now)
	for _, i := range old.Items {
		raw, ok := is[i.Name]
		switch {
		case !ok:
			return brief(i.Name) + " is missing"
		case !probe.Same(raw, i.Raw):
			return brief(i.Name) + " is defined in another way"
		}
	}
	for _, i := range now.Items {
		if _, ok := was[i.Name]; !ok {
			return brief(i.Name) + " is new"
		}
	}
	return fmt.Sprintf("%d entries where there were %d", len(now.Items), len(old.Items))
}
