// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

// The rules that are the same for prompts and resources. Those of tools ask for
// more, and stand with tools.

// declares judges whether a server that has a feature says so: what one of the
// methods gives must not be empty where the capability is not declared.
func declares(capability string, methods ...string) func(*probe.Case, *probe.Traffic) {
	return func(c *probe.Case, t *probe.Traffic) {
		f := t.Facts
		switch {
		case f.Capabilities == nil:
			c.UnseenFor(ruleGreeting(t.Revision), "the server's capabilities are not known")
			return
		case f.Declares(capability):
			c.Pass(f.Greeting)
			return
		}
		l := ledger{c: c}
		for _, x := range t.Exchanges {
			if !slices.Contains(methods, x.Method) || !told(t, x) {
				continue
			}
			if x.Complete() && gives(x) {
				l.fail("", x.Method, x, "%s gives something, and %s declares no %s", x.Method, f.Greeting.Method, capability).And(f.Greeting)
			} else {
				c.Pass(x)
			}
		}
		l.close()
		c.Unseen("the server declares no %s, and was not asked for any", capability)
	}
}

// gives reports whether a result shows that the server has the feature of its
// method: a list that is not empty, contents, messages, values.
func gives(x *probe.Exchange) bool {
	switch x.Method {
	case spec.MethodComplete:
		return len(probe.Elements(x.At("/completion/values"))) > 0
	case spec.MethodPromptsGet:
		return len(probe.Elements(x.Member("messages"))) > 0
	case spec.MethodResourcesRead:
		return len(probe.Elements(x.Member("contents"))) > 0
	}
	member, _ := listMember(x.Method)
	return len(probe.Elements(x.Member(member))) > 0
}

// askUndeclared makes a request of a feature that the server does not declare.
func askUndeclared(capability, method, params string) func(*probe.Case) {
	return func(c *probe.Case) {
		if f := c.Facts(); f.Capabilities != nil && !f.Declares(capability) {
			c.Once(c.Request(method, params))
		}
	}
}

// answersList judges whether a list that is declared is answered, all of it.
func answersList(capability, method string) func(*probe.Case, *probe.Traffic) {
	member, _ := listMember(method)
	return func(c *probe.Case, t *probe.Traffic) {
		f := t.Facts
		if f.Capabilities != nil && !f.Declares(capability) {
			c.Skip("the server declares no %s", capability)
			return
		}
		if f.Capabilities == nil {
			c.UnseenFor(ruleGreeting(t.Revision), "the server's capabilities are not known")
			return
		}
		for i, x := range f.List(method).Pages {
			raw := x.Member(member)
			switch {
			case x.OK() && !x.Complete():
				c.UnseenFor("mrtr.supported-methods-only", "%s was answered by %s", method, x.Brief())
				return
			case x.OK() && jsonx.KindOf(raw) == jsonx.Array:
				c.Pass(x)
				continue
			case x.OK() && raw == nil:
				c.Fail(x, "the result of %s has no %s", method, member).And(f.Greeting)
			case x.OK():
				c.Fail(x, "%s of %s is %s, not an array", member, method, clipped(string(raw))).In(x.Response, "/result/"+member).And(f.Greeting)
			case i > 0:
				c.Fail(x, "page %d of %s was answered by %s, with the cursor of the page before it", i+1, method, x.Brief()).And(f.List(method).Pages[i-1])
			default:
				c.Fail(x, "%s is declared, and %s was answered by %s", capability, method, x.Brief()).And(f.Greeting)
			}
			return
		}
		for _, x := range t.Errors() { // in a recording only answers are in the facts
			if _, later := cursorOf(x); x.Method == method && told(t, x) && !later && x.Is(spec.CodeMethodNotFound) {
				c.Fail(x, "%s is declared, and %s was answered by %s", capability, method, x.Brief()).And(f.Greeting)
				return
			}
		}
		c.Unseen("%s was not asked for", method)
	}
}

// names are the names of a list's items, sorted.
func names(l *probe.List) []string {
	out := l.Order()
	slices.Sort(out)
	return out
}

func sameNames(a, b *probe.List) bool { return slices.Equal(names(a), names(b)) }

// difference says in a few words what one list has and the other lacks.
func difference(a, b *probe.List) string {
	for _, n := range names(a) {
		if !slices.Contains(names(b), n) {
			return "only the first has " + jsonQuote(n)
		}
	}
	for _, n := range names(b) {
		if !slices.Contains(names(a), n) {
			return "only the second has " + jsonQuote(n)
		}
	}
	return "one repeats what the other has once"
}

func jsonQuote(s string) string { return string(jsonx.Quote(clipped(s))) }

// listPerConnection compares a list with that of another connection. A list
// that changes by itself is the same for every connection in the end.
func listPerConnection(method string) func(*probe.Case) {
	return func(c *probe.Case) {
		first, ok := c.Listed(method)
		if !ok {
			return
		}
		conn, ok := c.Elsewhere()
		if !ok {
			return
		}
		second := c.ReadList(conn, method)
		switch {
		case !second.OK():
			c.Lacks(second.Pages[len(second.Pages)-1])
			return
		case sameNames(first, second):
			c.Pass(second.Pages[0])
			return
		}
		again := c.ReadList(nil, method)
		if sameNames(again, first) && sameNames(c.ReadList(conn, method), second) {
			c.Fail(second.Pages[0], "%s gives two connections different lists, each the same every time: %s", method, difference(first, second)).
				And(first.Pages[0])
			return
		}
		c.Skip("the list of %s changes by itself: connections cannot be compared", method)
	}
}

// listSideEffect compares a list with what it is after other requests.
func listSideEffect(method string) func(*probe.Case) {
	return func(c *probe.Case) {
		first, ok := c.Listed(method)
		if !ok {
			return
		}
		c.Once(c.Request(spec.MethodDiscover, ""))
		c.Reads()
		c.Gets()
		c.Calls()
		after := c.ReadList(nil, method)
		switch {
		case !after.OK():
			c.Lacks(after.Pages[len(after.Pages)-1])
			return
		case sameNames(first, after):
			c.Pass(after.Pages[0])
			return
		}
		if again := c.ReadList(nil, method); !sameNames(after, again) {
			c.Warn(again.Pages[0], "%s gives another list with every call: %s", method, difference(after, again)).And(after.Pages[0])
			return
		}
		if conn, ok := c.Elsewhere(); ok && sameNames(c.ReadList(conn, method), first) {
			c.Fail(after.Pages[0], "%s gives another list after other requests on the connection, and the old one elsewhere: %s",
				method, difference(first, after)).And(first.Pages[0])
			return
		}
		c.Warn(after.Pages[0], "%s gives another list after other requests, on every connection: %s", method, difference(first, after)).
			And(first.Pages[0])
	}
}

// Servers that lack a feature: it is not declared, and its methods are refused.
func withoutResources(s *mock.Script) {
	undeclare(s, "resources")
	s.Tools = slices.DeleteFunc(s.Tools, embeds)
}
func withoutPrompts(s *mock.Script)     { undeclare(s, "prompts") }
func withoutCompletions(s *mock.Script) { undeclare(s, "completions") }

func undeclare(s *mock.Script, capability string) {
	var kept []string
	for _, m := range probe.Members(s.Capabilities) {
		if m.Name != capability {
			kept = append(kept, string(jsonx.Quote(m.Name))+":"+string(m.Value))
		}
	}
	s.Capabilities = []byte("{" + strings.Join(kept, ",") + "}")
}
