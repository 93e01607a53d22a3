// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const resourcesPage = "2026-07-28/server/resources"

// resourceRules are those of the lists of resources and templates.
var resourceRules = []Rule{
	{
		Info: rule.Info{
			ID: "resources.capability-declared", Level: rule.Must, Basis: rule.Keyword, Section: resourcesPage + "#capabilities",
			Title: "a server that has resources declares the resources capability",
			Why:   "clients that go by the capabilities never ask for them",
			Fix:   `add "resources": {} to the capabilities, or take the methods away`,
		},
		In:    every,
		Watch: declares("resources", spec.MethodResourcesList, spec.MethodResourceTemplatesList, spec.MethodResourcesRead),
		Stir:  askUndeclared("resources", spec.MethodResourcesList, ""),
		Break: Break{
			Base:   withoutResources,
			Faults: []mock.Fault{mock.On(spec.MethodResourcesList).Lenient(mock.CheckCapabilityUndeclared)},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.list-answered", Level: rule.Must, Basis: rule.Keyword, Section: resourcesPage + "#capabilities",
			Title: "a server that declares resources answers resources/list",
			Why:   "clients show the server as one with resources, and then show an error in their place",
			Fix:   "answer resources/list by a list, an empty one where there is nothing, on every page; or do not declare resources",
		},
		In: modern, Watch: answersList("resources", spec.MethodResourcesList), Under: aboveLists,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).OnPage(2).Error(spec.CodeInternalError, "no")}},
	},
	{
		Info: rule.Info{
			ID: "resources.list-not-per-connection", Level: rule.MustNot, Basis: rule.Keyword, Section: resourcesPage + "#capabilities",
			Title: "every connection sees the same resources",
			Why:   "a client that reconnects, or uses two connections at once, loses resources it was told of",
			Fix:   "make the list from what the request says, its authorization included, not from the connection it came on",
		},
		In: modern, Check: listPerConnection(spec.MethodResourcesList),
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).FromConn(2).OnPage(1).Remove("/result/resources/0")}},
	},
	{
		Info: rule.Info{
			ID: "resources.list-not-side-effect", Level: rule.MustNot, Basis: rule.Keyword, Section: resourcesPage + "#capabilities",
			Title: "no other request on a connection changes the resources that it sees",
			Why:   "what a client may read depends on what it happened to ask before, which nobody can repeat",
			Fix:   "keep no state of a connection that decides which resources are listed",
		},
		In: modern, Check: listSideEffect(spec.MethodResourcesList),
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodResourcesList).OnConn(1).OnPage(1).FromTurn(2).Remove("/result/resources/0"),
		}},
	},
	{
		Info: rule.Info{
			ID: "resources.item-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#resource",
			Title: "each resource has a uri that is a URI and a name",
			Why:   "typed clients fail to read the whole list because of one entry",
			Fix:   "send uri as an absolute URI with its scheme, name as a string, and optional members of the type that the schema names",
		},
		In: every, Watch: resourceShape,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).OnPage(1).Remove("/result/resources/0/name")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).OnPage(2).Set("/result/resources/-", `{"uri":"/etc/motd","name":"motd"}`)},
				Also: []string{"resources.listed-readable"}},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.template-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#resourcetemplate",
			Title: "each resource template has a uriTemplate that is a URI template and a name",
			Why:   "clients cannot expand it, or fail to read the whole list because of one entry",
			Fix:   "write uriTemplate by RFC 6570, {name} for a variable, and send name as a string",
		},
		In: every, Watch: templateShape,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).OnPage(1).Remove("/result/resourceTemplates/0/name")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).OnPage(1).Set("/result/resourceTemplates/-", `{"uriTemplate":"demo://{id","name":"x"}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.template-pagination-cacheable", Level: rule.Must, Basis: rule.Prose, Section: resourcesPage + "#resource-templates",
			Title: "resources/templates/list is answered like the other lists, page by page",
			Why:   "clients that look for templates at the start of a conversation stop at the error",
			Fix:   "answer resources/templates/list by a list, an empty one where there are no templates",
		},
		In: modern, Watch: templatesAnswered, Under: aboveLists,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodResourceTemplatesList).OnPage(2).Error(spec.CodeInternalError, "no")},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.size-integer", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#resource",
			Title: "size is a whole number of bytes, before any encoding",
			Why:   "clients that reckon with it cut a resource short, or refuse the list",
			Fix:   "send the number of bytes that reading gives, or leave size out",
		},
		In: every, Watch: resourceSize, Stir: func(c *probe.Case) { c.Reads() },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).OnPage(1).Set("/result/resources/0/size", "1.5")}},
	},
}

// otherwise are members that have rules of their own.
var otherwise = []string{"/size", "/annotations", "/icons", "/_meta"}

// shapeOf are the violations of an item but for members with rules of their own.
func shapeOf(r spec.Revision, definition string, item probe.Item) []spec.Violation {
	var out []spec.Violation
	for _, v := range violations(r, definition, item.Raw) {
		own := false
		for _, p := range otherwise {
			own = own || isBelow(place(v), p)
		}
		if !own {
			out = append(out, v)
		}
	}
	return out
}

func resourceShape(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, item := range t.Items(spec.MethodResourcesList) {
		if !applies(t, item.Page) {
			continue
		}
		vs := shapeOf(t.Revision, "Resource", item)
		for _, v := range vs {
			l.fail(causeOf(v), item.Pointer, item.Page, "a resource of resources/list breaks the schema: %s", v).
				In(item.Page.Response, item.Pointer+v.Pointer).Of("resource", item.Name)
		}
		fault, what := checkURI(item.Text("uri"))
		switch {
		case len(vs) > 0:
		case fault == uriNoScheme:
			l.fail("scheme", item.Pointer, item.Page, "the uri %s of a resource is no URI: it has no scheme", jsonQuote(what)).
				In(item.Page.Response, item.Pointer+"/uri").Of("resource", item.Name)
		case fault == uriBadChar:
			l.warn("char", item.Pointer, item.Page, "the uri %s of a resource holds %s, which must be percent-encoded", jsonQuote(item.Name), jsonQuote(what)).
				In(item.Page.Response, item.Pointer+"/uri").Of("resource", item.Name)
		default:
			c.Pass(item.Page)
		}
	}
	l.close()
	c.UnseenOf(t, spec.MethodResourcesList)
}

// causeOf tells violations apart that have different causes: the same member is
// wrong in the same way.
func causeOf(v spec.Violation) string {
	p := place(v)
	return p[strings.LastIndexByte(p, '/')+1:] + v.Kind.String()
}

func templateShape(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, item := range t.Items(spec.MethodResourceTemplatesList) {
		if !applies(t, item.Page) {
			continue
		}
		vs := shapeOf(t.Revision, "ResourceTemplate", item)
		for _, v := range vs {
			l.fail(causeOf(v), item.Pointer, item.Page, "a template of resources/templates/list breaks the schema: %s", v).
				In(item.Page.Response, item.Pointer+v.Pointer).Of("template", item.Name)
		}
		at := item.Pointer + "/uriTemplate"
		read := readTemplate(item.Text("uriTemplate"))
		switch {
		case len(vs) > 0:
		case read.broken != "":
			l.fail("broken", at, item.Page, "the uriTemplate %s is no URI template: it has %s", jsonQuote(item.Name), read.broken).
				In(item.Page.Response, at).Of("template", item.Name)
		case read.odd != "":
			l.warn("odd", at, item.Page, "the uriTemplate %s has a variable %s, which RFC 6570 does not allow", jsonQuote(item.Name), jsonQuote(read.odd)).
				In(item.Page.Response, at).Of("template", item.Name)
		case relative(read):
			l.warn("scheme", at, item.Page, "the uriTemplate %s makes no URI: it has no scheme", jsonQuote(item.Name)).
				In(item.Page.Response, at).Of("template", item.Name)
		default:
			c.Pass(item.Page)
		}
	}
	l.close()
	c.UnseenOf(t, spec.MethodResourceTemplatesList)
}

// relative reports whether a template cannot make a URI with a scheme.
func relative(t uriTemplate) bool {
	start := t.literals[0]
	if start == "" {
		return false // a variable may bring it
	}
	if !strings.ContainsAny(start, ":/?#") {
		return len(t.literals) == 1 // the scheme may end behind a variable
	}
	fault, _ := checkURI(start)
	return fault == uriNoScheme
}

// templatesAnswered leaves the hints of the list to their own rule. A server
// without the method has no templates to page through: only resources/list is
// owed by who declares resources.
func templatesAnswered(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Facts.List(spec.MethodResourceTemplatesList).Pages {
		if x.Is(spec.CodeMethodNotFound) {
			c.Skip("the server has no resources/templates/list")
			return
		}
	}
	answersList("resources", spec.MethodResourceTemplatesList)(c, t)
}

func resourceSize(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	sizes := map[string]string{} // by uri, as the list says; empty where listings differ
	for _, item := range t.Items(spec.MethodResourcesList) {
		size := item.Get("size")
		if size == nil || !applies(t, item.Page) {
			continue
		}
		if vs := violations(t.Revision, "Resource", item.Raw, "/size"); len(vs) > 0 || strings.HasPrefix(string(size), "-") {
			l.fail("type", item.Name, item.Page, "the size of a resource is %s, not a number of bytes", clipped(string(size))).
				In(item.Page.Response, item.Pointer+"/size").Of("resource", item.Name)
			continue
		}
		if was, ok := sizes[item.Name]; ok && was != string(size) {
			size = nil
		}
		sizes[item.Name] = string(size)
		c.Pass(item.Page)
	}
	for _, x := range completes(t, spec.MethodResourcesRead) {
		uri := probe.Text(probe.Lookup(x.Sent.Message().Params, "/uri"))
		size, n := sizes[uri], contentBytes(x)
		if listed, ok := wholeNumber(size); ok && n >= 0 && listed != n {
			l.warn("value", uri, x, "the list says that a resource has %s bytes, and reading it gives %d", size, n).Of("resource", uri)
		}
	}
	l.close()
	c.Unseen("no resource has a size")
}
