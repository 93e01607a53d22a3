// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// resourceReadRules are those of resources/read and what it gives.
var resourceReadRules = []Rule{
	{
		Info: rule.Info{
			ID: "resources.read-contents", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#readresourceresult",
			Title: "resources/read gives an array of contents, each with a uri and either text or blob",
			Why:   "typed clients fail to read the resource, and show nothing of it",
			Fix:   "put one object for each part into contents, with uri and with text or blob as strings",
		},
		In: every, Watch: readContents, Stir: func(c *probe.Case) { c.Reads() },
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).OfType(spec.ResultComplete).Remove("/result/contents/0/uri")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).OfType(spec.ResultComplete).Copy("/result/contents/0", "/result/contents")}}},
	},
	{
		Info: rule.Info{
			ID: "resources.listed-readable", Level: rule.Should, Basis: rule.Derived, Section: resourcesPage + "#reading-resources",
			Title: "a resource that is listed can be read by its uri",
			Why:   "people choose it from the list, and get an error",
			Fix:   "list only what can be read, under the uri by which it can be read",
		},
		In: every, Check: listedReadable,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).OnPage(1).Set("/result/resources/-", `{"uri":"mcprove://gone","name":"gone"}`)}},
	},
	{
		Info: rule.Info{
			ID: "resources.not-found-32602", Level: rule.Must, Basis: rule.Keyword, Section: resourcesPage + "#error-handling",
			Title: "reading a resource that does not exist is refused with -32602",
			Why:   "clients cannot tell a resource that is gone from a server that is broken, and models take an error text for the contents",
			Fix:   "answer a uri that names nothing with code -32602; earlier revisions had -32002",
		},
		In: modern, Check: notFound,
		Break: Break{Faults: []mock.Fault{absentRead.OfCode(spec.CodeInvalidParams).Set("/error/code", "-32603")}},
		Breaks: []Break{{
			Faults: []mock.Fault{absentRead.OfCode(spec.CodeInvalidParams).Set("/error/code", "-32002")},
			Also:   []string{"errors.no-32002"},
		}},
	},
	{
		Info: rule.Info{
			ID: "resources.not-found-no-empty-contents", Level: rule.MustNot, Basis: rule.Keyword, Section: resourcesPage + "#error-handling",
			Title: "a resource that does not exist is not reported as empty contents",
			Why:   "clients take it for a resource that is there and has nothing in it",
			Fix:   "answer a uri that names nothing with error -32602",
		},
		In: modern, Check: notFoundEmpty,
		Break: Break{Faults: []mock.Fault{absentRead.OfCode(spec.CodeInvalidParams).Result(emptyRead)}},
	},
	{
		Info: rule.Info{
			ID: "resources.binary-base64", Level: rule.Must, Basis: rule.Keyword, Section: resourcesPage + "#security-considerations",
			Title: "the blob of a resource is Base64",
			Why:   "clients fail to decode it, or save bytes that are not the resource",
			Fix:   "encode the bytes by RFC 4648 section 4, with padding and without line breaks",
		},
		In: every, Watch: blobsEncoded, Stir: func(c *probe.Case) { c.Reads() },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).When(mock.AnswerHas("/result/contents/0/blob")).Set("/result/contents/0/blob", `"not base64!"`)}},
	},
	{
		Info: rule.Info{
			ID: "resources.updated-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#resourceupdatednotification",
			Title: "notifications/resources/updated names the uri of the resource",
			Why:   "a client that is told of a change without a name can only read everything again",
			Fix:   "put the uri that was subscribed to into params.uri",
		},
		In: every, Watch: updatedShape, Stir: stirTold, Starts: true, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.OnNotification(spec.NotificationResourcesUpdated).Remove("/params/uri")}},
	},
}

// absentRead is where reads of what does not exist are, and not those that are
// said to fail.
var absentRead = mock.On(spec.MethodResourcesRead).When(mock.Not(mock.ParamIs("/uri", string(jsonx.Quote(failingName)))))

// emptyRead is the result of a read that found nothing.
const emptyRead = `{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private","_meta":{"` + spec.MetaServerInfo + `":{"name":"mock","version":"1.0.0"}}}`

func readContents(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range completes(t, spec.MethodResourcesRead) {
		vs := violations(t.Revision, "ReadResourceResult", x.Result(), "/contents")
		for _, v := range vs {
			l.fail(causeOf(v), subject(x)+v.Pointer, x, "a result of resources/read breaks the schema: %s", v).In(x.Response, "/result"+v.Pointer)
		}
		if len(vs) == 0 {
			c.Pass(x)
		}
	}
	l.close()
	noRead(c, t)
}

// noRead is why a rule about what is read saw nothing.
func noRead(c *probe.Case, t *probe.Traffic) {
	if len(t.Facts.Resources()) == 0 {
		c.UnseenOf(t, spec.MethodResourcesList)
	}
	c.Unseen("no resource could be read that has such content")
}

// readable reports whether a resource can be read: it may ask for input first,
// or for what the client did not declare.
func readable(x *probe.Exchange) bool {
	return x.OK() || x.Is(spec.CodeMissingClientCapability)
}

func listedReadable(c *probe.Case) {
	list, ok := c.Listed(spec.MethodResourcesList)
	if !ok {
		return
	}
	l := ledger{c: c}
	for _, x := range c.Reads() {
		if readable(x) {
			c.Pass(x)
			continue
		}
		uri := probe.Text(x.Request.Value("uri"))
		l.fail("", uri, x, "the resource %s is listed, and reading it gives %s", jsonQuote(uri), x.Brief()).Of("resource", uri).And(list.Pages[0])
	}
	l.close()
	c.Unseen("the server lists no resources")
}

// missing is a read of a resource that cannot exist: beside one that is listed,
// and where no template leads. ok is false, and the case skipped, when there is
// no such place.
func missing(c *probe.Case) (x *probe.Exchange, ok bool) {
	uri, ok := missingURI(c.Facts())
	if !ok {
		c.Skip("a template of the server may make any uri")
		return nil, false
	}
	return c.Once(c.Probe().ReadRequest(uri).Planting("a uri that names no resource")), true
}

// someRead is a read that works, the positive control; ok is false, and the
// case skipped, when there is none.
func someRead(c *probe.Case) (x *probe.Exchange, ok bool) {
	reads := c.Reads()
	for _, x := range reads {
		if x.OK() {
			return x, true
		}
	}
	if len(reads) > 0 {
		c.Lacks(reads[0])
		return nil, false
	}
	c.Skip("the server lists no resource that could be read, so a refusal proves nothing")
	return nil, false
}

func notFound(c *probe.Case) {
	if _, ok := c.Listed(spec.MethodResourcesList); !ok {
		return
	}
	x, ok := missing(c)
	if !ok {
		return
	}
	switch {
	case x.OK() && len(probe.Elements(x.Member("contents"))) > 0:
		c.Fail(x, "a uri that names nothing was answered by contents, not by error %d", spec.CodeInvalidParams)
		return
	case x.OK():
		c.SkipFor("resources.not-found-no-empty-contents", "a uri that names nothing was answered by a result without contents")
		return
	}
	control, ok := someRead(c)
	switch {
	case !ok:
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	default:
		c.Fail(x, "a uri that names nothing was answered by %s, not by error %d", x.Brief(), spec.CodeInvalidParams).And(control)
	}
}

func notFoundEmpty(c *probe.Case) {
	if _, ok := c.Listed(spec.MethodResourcesList); !ok {
		return
	}
	x, ok := missing(c)
	if !ok {
		return
	}
	if x.OK() && x.Complete() && len(probe.Elements(x.Member("contents"))) == 0 {
		c.Fail(x, "a uri that names nothing was answered by a result without contents")
		return
	}
	if _, ok := someRead(c); ok {
		c.Pass(x)
	}
}

func blobsEncoded(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, part := range readBlocks(t) {
		judgeBase64(&l, part.at("blob"), "the blob of a resource")
	}
	l.close()
	noRead(c, t)
}

func updatedShape(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, f := range t.Notifications(spec.NotificationResourcesUpdated) {
		vs := violations(t.Revision, "ResourceUpdatedNotification", f.Raw, "/params")
		bad := false
		for _, v := range vs {
			if p := place(v); p == "/params" || isBelow(p, "/params/uri") {
				bad = true
				l.fail(causeOf(v), "", f.Exchange, "%s breaks the schema: %s", spec.NotificationResourcesUpdated, v).In(f.Frame, v.Pointer)
			}
		}
		if !bad {
			c.Pass(f.Exchange)
		}
	}
	l.close()
	c.Unseen("no %s was seen", spec.NotificationResourcesUpdated)
}
