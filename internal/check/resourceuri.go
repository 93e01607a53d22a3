// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const securitySection = resourcesPage + "#security-considerations"

// resourceURIRules are those of URIs, as they are shown and as they are asked for.
var resourceURIRules = []Rule{
	{
		Info: rule.Info{
			ID: "resources.custom-scheme-rfc3986", Level: rule.Must, Basis: rule.Keyword, Section: resourcesPage + "#custom-uri-schemes",
			Title: "the URIs of resources have a scheme by RFC 3986",
			Why:   "clients that parse the URI refuse it, or take it for a path on their own disk",
			Fix:   "begin a scheme with a letter and use only letters, digits, +, - and . in it",
		},
		In: since2506, Watch: schemes, Stir: func(c *probe.Case) { c.Reads() },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).OfType(spec.ResultComplete).Set("/result/contents/0/uri", `"my_scheme://x"`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).OfType(spec.ResultComplete).Set("/result/contents/0/uri", `"/package.json"`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.uri-validated", Level: rule.Must, Basis: rule.Keyword, Section: securitySection,
			Title: "what is no URI is refused by resources/read",
			Why:   "text that nobody checked reaches file systems, databases and other servers",
			Fix:   "parse the uri, compare it with what you serve, and answer anything else with error -32602",
		},
		In: every, Check: uriValidated,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).When(mock.ParamIs("/uri", string(jsonx.Quote(noSchemeURI)))).Result(someContents)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).When(mock.ParamIs("/uri", string(jsonx.Quote(longURI)))).Drop()}},
		},
	},
	{
		Info: rule.Info{
			ID: "resources.no-path-traversal", Level: rule.Must, Basis: rule.Keyword, Section: securitySection,
			Title: "a file URI does not lead out of what the server shares",
			Why:   "anybody who may read a resource can read the keys and passwords on the server's machine",
			Fix:   "resolve the path first, links included, and refuse what is not below the directory that you share",
		},
		In: modern, Check: noTraversal,
		Break: Break{
			Base:   shareFile,
			Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).When(mock.ParamIs("/uri", string(jsonx.Quote(traversals(sharedFile)[1])))).Result(someContents)},
		},
	},
	annotationRule("audience", rule.Must, every, "audience names only user and assistant",
		"clients show what was meant for the model, or hide what was meant for people", `use "user" and "assistant", in an array`, `["robot"]`),
	annotationRule("priority", rule.Must, every, "priority is a number from 0 to 1",
		"clients that sort by it put the resource first or last whatever it says", "send a number between 0 and 1, both allowed", "2"),
	annotationRule("lastModified", rule.Should, since2506, "lastModified is an ISO 8601 timestamp",
		"clients that sort or filter by time cannot read it, and leave the resource out", "send a text such as 2025-01-12T15:00:58Z", `"yesterday"`),
}

// someContents is the result of a read that found something.
const someContents = `{"resultType":"complete","contents":[{"uri":"demo://x","text":"x"}],"ttlMs":0,"cacheScope":"private","_meta":{"` + spec.MetaServerInfo + `":{"name":"mock","version":"1.0.0"}}}`

// noResource is the end of a URI that names nothing.
const noResource = "mcprove-no-such-resource"

// URIs that are none.
const noSchemeURI = "mcprove no such thing"

var longURI = "mcprove:" + strings.Repeat("a", 3000)

// schemes judges every URI that the server names, but for the missing scheme of
// what other rules look at: resources in the list, and what prompts embed.
func schemes(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	judge := func(b block, member string, all bool) {
		raw := b.get(member)
		if jsonx.KindOf(raw) != jsonx.String {
			return
		}
		switch fault, what := checkURI(probe.Text(raw)); {
		case fault == uriBadScheme:
			l.fail("scheme", what, b.x, "%s is no scheme of a URI, in %s", jsonQuote(what), jsonQuote(probe.Text(raw))).
				In(b.x.Response, jsonx.Push(b.pointer, member))
		case fault == uriNoScheme && all:
			l.fail("none", what, b.x, "%s is no URI: it has no scheme", jsonQuote(what)).In(b.x.Response, jsonx.Push(b.pointer, member))
		case fault == uriNoScheme:
		default:
			c.Pass(b.x)
		}
	}
	for _, b := range listBlocks(t, spec.MethodResourcesList) {
		judge(b, "uri", false)
	}
	for _, b := range readBlocks(t) {
		judge(b, "uri", true)
	}
	embedded := func(bs []block, all bool) {
		for _, b := range bs {
			switch b.text("type") {
			case spec.ContentResourceLink:
				judge(b, "uri", true)
			case spec.ContentResource:
				judge(b.at("resource"), "uri", all)
			}
		}
	}
	embedded(toolBlocks(t), true)
	embedded(promptBlocks(t), false)
	l.close()
	c.Unseen("no URI of a resource was seen")
}

// missingURI is a URI that names nothing: beside the first resource, or in a
// scheme of our own, and where no template leads.
func missingURI(f *probe.Facts) (uri string, ok bool) {
	candidates := []string{"mcprove://" + noResource}
	if rs := f.Resources(); len(rs) > 0 {
		if fault, _ := checkURI(rs[0].Name); fault == 0 {
			candidates = []string{sibling(rs[0].Name, noResource), candidates[0]}
		}
	}
	for _, uri := range candidates {
		free := true
		for _, t := range f.Templates() {
			free = free && !readTemplate(t.Name).mayMatch(uri)
		}
		if free {
			return uri, true
		}
	}
	return "", false
}

// sibling is a URI with another last segment of its path, or another authority
// where it has no path.
func sibling(uri, name string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	if i := strings.LastIndexByte(uri, '/'); i >= 0 {
		return uri[:i+1] + name
	}
	return uri[:strings.IndexByte(uri, ':')+1] + name
}

// refusesMissing makes sure that a URI that names nothing is refused: where the
// server makes something of any text, its checks cannot be told from that.
func refusesMissing(c *probe.Case) bool {
	if _, ok := c.Listed(spec.MethodResourcesList); !ok {
		return false
	}
	if _, ok := someRead(c); !ok {
		return false
	}
	x, ok := missing(c)
	if ok && x.OK() {
		c.SkipFor("resources.not-found-32602", "a uri that names nothing is answered by a result, so a result proves nothing")
		return false
	}
	return ok
}

func uriValidated(c *probe.Case) {
	if !refusesMissing(c) {
		return
	}
	l := ledger{c: c}
	for _, p := range []struct{ uri, what string }{
		{"", "an empty uri"},
		{noSchemeURI, "a uri without a scheme"},
		{"%zz%", "a uri with broken percent-encoding"},
		{longURI, "a uri of 3 kB"},
	} {
		x := insist(c, c.Probe().ReadRequest(p.uri).Planting(p.what))
		switch {
		case x.Refused():
			c.Pass(x)
		case x.OK():
			l.fail("taken", p.what, x, "resources/read took %s, and gave a result", p.what)
		default:
			l.fail("lost", p.what, x, "resources/read of %s got no refusal: %s", p.what, x.Brief())
		}
		if x.Silent() {
			break // each more would cost as long
		}
	}
	l.close()
}

// sharedFile is a file of a server that shares some.
const sharedFile = "file:///srv/shared/notes/today.txt"

func shareFile(s *mock.Script) {
	s.Resources = append([]mock.Resource{{
		Definition: []byte(`{"uri":"` + sharedFile + `","name":"today","mimeType":"text/plain"}`),
	}}, s.Resources...)
}

// traversals are URIs that lead from a file out of its directory to one that
// every system of a kind has.
func traversals(file string) []string {
	dir := file[:strings.LastIndexByte(file, '/')+1]
	up := strings.Count(dir, "/")
	return []string{
		dir + strings.Repeat("../", up) + "etc/passwd",
		dir + strings.Repeat("%2e%2e%2f", up) + "etc%2fpasswd",
		dir + strings.Repeat("..%5c", up) + "windows%5cwin.ini",
	}
}

func noTraversal(c *probe.Case) {
	if _, ok := c.Listed(spec.MethodResourcesList); !ok {
		return
	}
	file := ""
	for _, item := range c.Facts().Resources() {
		if scheme, rest, _ := strings.Cut(item.Name, ":"); strings.EqualFold(scheme, "file") && strings.HasPrefix(rest, "//") {
			file = item.Name
			break
		}
	}
	if file == "" {
		c.Skip("the server lists no file:// resource")
		return
	}
	if _, ok := someRead(c); !ok {
		return
	}
	if x := c.Once(c.Probe().ReadRequest(sibling(file, noResource)).Planting("a uri that names no resource")); x.OK() {
		c.SkipFor("resources.not-found-32602", "a file that is not there is answered by a result, so a result proves nothing")
		return
	}
	l := ledger{c: c}
	for _, uri := range traversals(file) {
		x := c.Send(c.Probe().ReadRequest(uri).Planting("a path that leads out of the directory"))
		if x.OK() && len(probe.Elements(x.Member("contents"))) > 0 {
			l.fail("", uri, x, "%s was answered by contents", jsonQuote(uri)).Of("resource", file)
		} else {
			c.Pass(x)
		}
	}
	l.close()
}

// annotationRule is the rule about one member of annotations, wherever they
// stand but on tools, whose annotations are of another kind.
func annotationRule(member string, level string, in spec.Range, title, why, fix, bad string) Rule {
	ids := map[string]string{"audience": "audience", "priority": "priority", "lastModified": "last-modified"}
	return Rule{
		Info: rule.Info{
			ID: "resources.annotations-" + ids[member], Level: level, Basis: rule.Schema, Section: "2026-07-28/schema#annotations",
			Title: title, Why: why, Fix: fix,
		},
		In: in,
		Watch: func(c *probe.Case, t *probe.Traffic) {
			l := ledger{c: c}
			for _, b := range annotations(t) {
				raw := b.get(member)
				if raw == nil {
					continue
				}
				ok := len(violations(t.Revision, "Annotations", b.raw, "/"+member)) == 0
				if member == "lastModified" {
					ok = ok && timestamp(probe.Text(raw))
				}
				if ok {
					c.Pass(b.x)
					continue
				}
				l.fail("", string(raw)+b.pointer, b.x, "%s of annotations is %s", member, clipped(string(raw))).
					In(b.x.Response, jsonx.Push(b.pointer, member))
			}
			l.close()
			c.Unseen("no annotations with %s were seen", member)
		},
		Stir:  func(c *probe.Case) { c.Reads(); c.Gets(); c.Calls() },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesList).OnPage(1).Set("/result/resources/0/annotations/"+member, bad)}},
	}
}

// annotations are the annotations of resources, templates and content blocks.
func annotations(t *probe.Traffic) []block {
	var out []block
	for _, bs := range [][]block{
		listBlocks(t, spec.MethodResourcesList), listBlocks(t, spec.MethodResourceTemplatesList), toolBlocks(t), promptBlocks(t),
	} {
		for _, b := range bs {
			if a := b.at("annotations"); jsonx.KindOf(a.raw) == jsonx.Object {
				out = append(out, a)
			}
		}
	}
	return out
}

// timestamp reports whether a text is a time of ISO 8601 in one of its common
// forms: the day alone, with a time, with or without an offset.
func timestamp(s string) bool {
	for _, form := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05Z0700", "2006-01-02",
		"20060102T150405Z0700", "20060102T150405", "20060102",
	} {
		if _, err := time.Parse(form, strings.Replace(strings.ToUpper(s), ",", ".", 1)); err == nil {
			return true
		}
	}
	return false
}
