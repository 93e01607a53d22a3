// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const paginationPage = "2026-07-28/server/utilities/pagination"

// paginationRules are those of lists that come in pages.
var paginationRules = []Rule{
	{
		Info: rule.Info{
			ID: "pagination.next-cursor-string", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#paginatedresult",
			Title: "nextCursor is a string, or is left out",
			Why:   "clients take null or a number for a cursor and ask for a page that is not there, or fail to read the list",
			Fix:   "leave nextCursor out of the last page, and send a string on all others",
		},
		In: every, Watch: nextCursorString,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).OnPage(2).Set("/result/nextCursor", "null")}},
	},
	{
		Info: rule.Info{
			ID: "pagination.invalid-cursor-32602", Level: rule.Should, Basis: rule.Keyword, Section: paginationPage + "#error-handling",
			Title: "a cursor that the server never gave is refused with -32602",
			Why:   "a client whose cursor went stale is given the first page again, and shows its items twice",
			Fix:   "answer a cursor you cannot read or did not make with code -32602; without pages every cursor is such a one",
		},
		In: every, Check: invalidCursor,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckCursorInvalid)}, Also: []string{"tasks-legacy.list-cursor-32602"}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On("").When(mock.ParamIs("/cursor", string(jsonx.Quote(noCursor)))).Set("/error/code", "-32603")}},
		},
	},
	{
		Info: rule.Info{
			ID: "pagination.stable-cursors", Level: rule.Should, Basis: rule.Keyword, Section: paginationPage + "#implementation-guidelines",
			Title: "the same cursor leads to the same page again",
			Why:   "a client that repeats a request which got lost, or renews a cached page, skips items or gets an error",
			Fix:   "put the position into the cursor, not into the state of the server, and accept a cursor more than once",
		},
		In: every, Check: stableCursors,
		Break: Break{Faults: []mock.Fault{
			cursorAgain.Error(spec.CodeInvalidParams, "the cursor was used"),
		}},
		Breaks: []Break{{Faults: []mock.Fault{cursorAgain.Set("/result/resourceTemplates", "[]")}}},
	},
	{
		Info: rule.Info{
			ID: "pagination.terminates", Level: rule.Must, Basis: rule.Derived, Section: paginationPage + "#pagination-flow",
			Title: "following the cursors of a list leads to its end",
			Why:   "a client that reads the list never comes to its end, and uses it never",
			Fix:   "leave nextCursor out when no items follow, and let each cursor lead on",
		},
		In: every, Watch: terminates, Stir: followRepeated,
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).RepeatCursor()}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).EndlessCursors()}}},
	},
	{
		Info: rule.Info{
			ID: "pagination.cursorless-first-page", Level: rule.Must, Basis: rule.Derived, Section: paginationPage + "#pagination-model",
			Title: "a list request without a cursor starts from the beginning",
			Why:   "a client that asks twice gets the second half for the whole, and misses the first",
			Fix:   "do not keep the position between requests: without a cursor answer the first page",
		},
		In: every, Check: cursorlessFirst,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodResourceTemplatesList).OnPage(1).FromTurn(2).Set("/result/resourceTemplates", "[]"),
		}},
	},
	{
		Info: rule.Info{
			ID: "pagination.no-duplicates", Level: rule.Should, Basis: rule.Derived, Section: paginationPage + "#pagination-model",
			Title: "no item stands on two pages of a list",
			Why:   "clients show an item twice, or refuse the list because names clash",
			Fix:   "let each page begin behind the last item of the page before it, in an order that stays",
		},
		In: every, Check: noDuplicates,
		Break: Break{Change: func(s *mock.Script) { s.Templates = append(s.Templates, s.Templates[0]) }},
	},
}

// noCursor is a cursor that nobody gave.
const noCursor = "mcprove-no-such-cursor"

// pagedMethods are the methods whose results come in pages.
func pagedMethods(r spec.Revision) []string {
	var out []string
	for _, m := range spec.Methods(r, spec.ClientToServer) {
		if m.Paged {
			out = append(out, m.Name)
		}
	}
	return out
}

// cursorOf is the cursor that a list was asked for by; ok is false for the
// first page.
func cursorOf(x *probe.Exchange) (cursor string, ok bool) {
	if x.Sent == nil {
		return "", false
	}
	return jsonx.Text(probe.Lookup(x.Sent.Message().Params, "/"+spec.FieldCursor))
}

// nextCursor is the cursor of the page behind a page; ok is false for the last.
func nextCursor(x *probe.Exchange) (cursor string, ok bool) {
	return jsonx.Text(x.Member(spec.FieldNextCursor))
}

func nextCursorString(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range completes(t, pagedMethods(t.Revision)...) {
		raw := x.Member(spec.FieldNextCursor)
		if raw == nil || jsonx.KindOf(raw) == jsonx.String {
			c.Pass(x)
			continue
		}
		l.fail("", subject(x), x, "nextCursor of %s is %s, not a string", x.Method, clipped(string(raw))).
			In(x.Response, "/result/"+spec.FieldNextCursor)
	}
	l.close()
	c.Unseen("no list was seen")
}

// lists are the lists that the server declares and that were answered.
func lists(c *probe.Case) []*probe.List {
	var out []*probe.List
	for _, method := range pagedMethods(c.Probe().Revision()) {
		if l := c.Facts().List(method); len(l.Pages) > 0 && l.Pages[0].Complete() {
			out = append(out, l)
		}
	}
	return out
}

func invalidCursor(c *probe.Case) {
	l := ledger{c: c}
	for _, list := range lists(c) {
		x := c.Send(c.Request(list.Method, "").Param(spec.FieldCursor, string(jsonx.Quote(noCursor))).Planting("a cursor that was never given"))
		switch {
		case x.Is(spec.CodeInvalidParams):
			c.Pass(x)
		case x.OK():
			l.warn("taken", list.Method, x, "%s answered a cursor that it never gave by a list", list.Method).And(list.Pages[0])
		default:
			l.fail("other", list.Method, x, "%s answered a cursor that it never gave by %s, not by error %d", list.Method, x.Brief(), spec.CodeInvalidParams).
				And(list.Pages[0])
		}
	}
	l.close()
	c.Unseen("the server has no list that is answered")
}

// paged judges each list that has a second page and was read to its end.
func paged(c *probe.Case, judge func(*probe.List)) {
	var unread *probe.List
	for _, list := range lists(c) {
		switch {
		case len(list.Pages) < 2 || !list.OK():
		case !list.Whole:
			unread = list
		default:
			judge(list)
		}
	}
	if unread != nil {
		id := "pagination.terminates"
		if _, ok := nextCursor(unread.Pages[len(unread.Pages)-1]); !ok {
			id = "pagination.next-cursor-string"
		}
		c.UnseenFor(id, "%s could not be read to its end", unread.Method)
	}
	c.Unseen("no list has a second page that stays as it is")
}

// cursorMark tells a faulty mock that a cursor was used before.
const cursorMark = "cursor-again"

var cursorAgain = mock.On(spec.MethodResourceTemplatesList).OnPage(2).When(mock.ParamIs(markAt, `"`+cursorMark+`"`))

func stableCursors(c *probe.Case) {
	paged(c, func(list *probe.List) {
		cursor, _ := nextCursor(list.Pages[0])
		x := c.Send(marked(c.Request(list.Method, "").Param(spec.FieldCursor, string(jsonx.Quote(cursor))), cursorMark))
		before := list.Pages[1]
		if x.OK() && slices.Equal(itemsOf(list.Method, x), itemsOf(list.Method, before)) {
			c.Pass(x)
			return
		}
		if now := c.ReadList(nil, list.Method); !now.Same(list) {
			return // what changed is the list
		}
		if x.OK() {
			c.Fail(x, "a cursor of %s led to other items the second time", list.Method).And(before)
		} else {
			c.Fail(x, "a cursor of %s was good once, and gave %s the second time", list.Method, x.Brief()).And(before)
		}
	})
}

// itemsOf are the names of the items of a page, sorted.
func itemsOf(method string, x *probe.Exchange) []string {
	member, name := listMember(method)
	var out []string
	for _, e := range probe.Elements(x.Member(member)) {
		out = append(out, probe.Text(probe.Lookup(e, "/"+name)))
	}
	slices.Sort(out)
	return out
}

// listMember is the member of a list's result that holds the items, and the
// member of an item that names it.
func listMember(method string) (list, name string) {
	switch method {
	case spec.MethodToolsList:
		return "tools", "name"
	case spec.MethodPromptsList:
		return "prompts", "name"
	case spec.MethodResourcesList:
		return "resources", "uri"
	case spec.MethodTasksList:
		return "tasks", "taskId"
	}
	return "resourceTemplates", "uriTemplate"
}

func cursorlessFirst(c *probe.Case) {
	paged(c, func(list *probe.List) {
		x := c.Send(c.Request(list.Method, ""))
		first, now := itemsOf(list.Method, list.Pages[0]), itemsOf(list.Method, x)
		later := slices.ContainsFunc(list.Pages[1:], func(p *probe.Exchange) bool { return slices.Equal(now, itemsOf(list.Method, p)) })
		switch {
		case !x.OK():
			c.Fail(x, "%s without a cursor gave %s after the list had been read once", list.Method, x.Brief()).And(list.Pages[0])
		case slices.Equal(now, first):
			c.Pass(x)
		case later, len(now) == 0:
			c.Fail(x, "%s without a cursor did not begin with the first item again", list.Method).And(list.Pages[0])
		}
	})
}

func noDuplicates(c *probe.Case) {
	paged(c, func(list *probe.List) {
		name := repeated(list)
		if name == "" {
			c.Pass(list.Pages[1])
			return
		}
		if repeated(c.ReadList(nil, list.Method)) == "" {
			return // it moved between the pages while they were read
		}
		c.Fail(list.Pages[0], "%q stands on two pages of %s, both times that the list was read", clipped(name), list.Method).
			And(list.Pages[1:]...)
	})
}

// repeated is the name of an item that stands on two pages with the same
// content, empty when there is none.
func repeated(list *probe.List) string {
	at := map[string]*probe.Exchange{}
	for _, item := range list.Items {
		content := string(item.Raw)
		if c, err := jsonx.Canonical(item.Raw); err == nil {
			content = string(c)
		}
		if page := at[content]; page != nil && page != item.Page {
			return item.Name
		}
		at[content] = item.Page
	}
	return ""
}
