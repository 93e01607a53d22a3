// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const (
	cachingPage   = "2026-07-28/server/utilities/caching"
	hintsSection  = cachingPage + "#cacheable-results"
	hintsWhy      = "clients must ask again each time they need it, or guess how long it is good for and who may see it"
	hintsFix      = "add ttlMs (milliseconds, 0 for stale at once) and cacheScope (private when in doubt) to every complete result"
	schemaCaching = "2026-07-28/schema#cacheableresult"
)

// cachingRules are those of the caching hints. That of server/discover stands
// with the other rules about it.
var cachingRules = []Rule{
	hintsRule("caching.hints-tools-list", spec.MethodToolsList),
	hintsRule("caching.hints-prompts-list", spec.MethodPromptsList),
	hintsRule("caching.hints-resources-list", spec.MethodResourcesList),
	hintsRule("caching.hints-templates-list", spec.MethodResourceTemplatesList),
	hintsRule("caching.hints-resources-read", spec.MethodResourcesRead),
	{
		Info: rule.Info{
			ID: "caching.ttl-nonnegative", Level: rule.Must, Basis: rule.Keyword, Section: cachingPage + "#time-to-live-ttl-field",
			Title: "ttlMs is zero or more",
			Why:   "a client that adds it to the time of receipt gets a time in the past, or worse, one that wrapped round to far in the future",
			Fix:   "send 0 for results that should not be kept; there is no value for never",
		},
		In: modern, Watch: hintWatch(spec.FieldTTL, spec.WrongValue),
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Set("/result/ttlMs", "-1")}},
	},
	{
		Info: rule.Info{
			ID: "caching.ttl-integer", Level: rule.Must, Basis: rule.Schema, Section: schemaCaching,
			Title: "ttlMs is an integer",
			Why:   "typed clients fail to read the whole result because of it",
			Fix:   "send a JSON number of whole milliseconds, not a string and not seconds with a fraction",
		},
		In: modern, Watch: hintWatch(spec.FieldTTL, spec.WrongType),
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Set("/result/ttlMs", "1.5")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodToolsList).Set("/result/ttlMs", `"1000"`)}}},
	},
	{
		Info: rule.Info{
			ID: "caching.scope-value", Level: rule.Must, Basis: rule.Schema, Section: schemaCaching,
			Title: "cacheScope is public or private",
			Why:   "a shared cache that does not know the word may give one user's answer to another",
			Fix:   `send "public" or "private", in small letters`,
		},
		In: modern, Watch: hintWatch(spec.FieldCacheScope, 0),
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Set("/result/cacheScope", `"Public"`)}},
	},
	{
		Info: rule.Info{
			ID: "caching.interim-none", Level: rule.MustNot, Basis: rule.Prose, Section: hintsSection,
			Title: "a result that asks for input has no caching hints",
			Why:   "a cache that trusts them keeps the question and never gets to the answer",
			Fix:   "leave ttlMs and cacheScope out of results of type input_required",
		},
		In: modern, Watch: interimHints, Stir: func(c *probe.Case) { c.Asks() }, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On("").OfType(spec.ResultInputRequired).Set("/result/ttlMs", "1000")}},
	},
	{
		Info: rule.Info{
			ID: "caching.scope-same-across-pages", Level: rule.Must, Basis: rule.Keyword, Section: cachingPage + "#interaction-with-pagination",
			Title: "all pages of one list have the same cacheScope",
			Why:   "a shared cache keeps one page for everybody and not the next, and gives some users a list with holes",
			Fix:   "choose the scope once for a list, not for each page",
		},
		In: modern, Watch: scopeAcrossPages,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).OnPage(1).Set("/result/cacheScope", `"private"`),
			mock.On(spec.MethodToolsList).OnPage(2).Set("/result/cacheScope", `"public"`),
		}},
	},
}

// hintsRule is the rule about one cacheable method.
func hintsRule(id, method string) Rule {
	r := Rule{
		Info: rule.Info{
			ID: id, Level: rule.Must, Basis: rule.Keyword, Section: hintsSection,
			Title: "a complete result of " + method + " has ttlMs and cacheScope", Why: hintsWhy, Fix: hintsFix,
		},
		In: modern,
		Watch: func(c *probe.Case, t *probe.Traffic) {
			l := ledger{c: c}
			for _, x := range completes(t, method) {
				var missing []string
				for _, field := range []string{spec.FieldTTL, spec.FieldCacheScope} {
					if x.Member(field) == nil {
						missing = append(missing, "no "+field)
					}
				}
				if missing == nil {
					c.Pass(x)
					continue
				}
				l.fail("", subject(x), x, "a result of %s has %s", method, strings.Join(missing, " and ")).In(x.Response, "/result")
			}
			l.close()
			if method == spec.MethodResourcesRead {
				noRead(c, t)
			}
			c.UnseenOf(t, method)
		},
		Break: Break{Faults: []mock.Fault{mock.On(method).OfType(spec.ResultComplete).Remove("/result/" + spec.FieldTTL)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(method).OfType(spec.ResultComplete).Remove("/result/" + spec.FieldCacheScope)}},
		},
	}
	if method == spec.MethodResourcesRead {
		r.Stir = func(c *probe.Case) { c.Reads() }
	}
	return r
}

// subject is what a request asks for, so that asking for it again counts once.
func subject(x *probe.Exchange) string {
	if x.Sent == nil {
		return ""
	}
	params := x.Sent.Message().Params
	var b strings.Builder
	for _, name := range []string{spec.FieldCursor, "uri", "name"} {
		b.Write(probe.Lookup(params, jsonx.Push("", name)))
		b.WriteByte(' ')
	}
	return x.Method + " " + b.String()
}

// hintWatch judges one hint on every result that has it. A kind of violation
// narrows what is judged; zero is any.
func hintWatch(field string, kind spec.ViolationKind) func(*probe.Case, *probe.Traffic) {
	return func(c *probe.Case, t *probe.Traffic) {
		l := ledger{c: c}
		for _, x := range completes(t) {
			if m, ok := spec.MethodAt(x.Method, t.Revision); !ok || !m.Cacheable || x.Member(field) == nil {
				continue
			}
			vs := violations(t.Revision, "CacheableResult", x.Result(), jsonx.Push("", field))
			i := slices.IndexFunc(vs, func(v spec.Violation) bool { return kind == 0 || v.Kind == kind })
			if i < 0 {
				c.Pass(x)
				continue
			}
			l.fail("", subject(x), x, "%s of %s is %s, not %s", field, x.Method, clipped(string(x.Member(field))), vs[i].Expected).
				In(x.Response, "/result/"+field)
		}
		l.close()
		c.Unseen("no result with %s was seen", field)
	}
}

func interimHints(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, x := range t.Results() {
		if !told(t, x) || x.ResultType() != spec.ResultInputRequired {
			continue
		}
		clean := true
		for _, field := range []string{spec.FieldTTL, spec.FieldCacheScope} {
			if x.Member(field) != nil {
				clean = false
				l.fail("", subject(x), x, "a result of %s that asks for input has %s", x.Method, field).In(x.Response, "/result/"+field)
			}
		}
		if clean {
			c.Pass(x)
		}
	}
	l.close()
	c.Unseen(probe.NoAsk)
}

func scopeAcrossPages(c *probe.Case, t *probe.Traffic) {
	l := ledger{c: c}
	for _, method := range pagedMethods(t.Revision) {
		given := map[string]*probe.Exchange{} // pages by the cursor they name
		for _, x := range completes(t, method) {
			scope := x.Member(spec.FieldCacheScope)
			if cursor, ok := cursorOf(x); ok && scope != nil {
				before := given[cursor]
				if before != nil && before.Member(spec.FieldCacheScope) != nil {
					was := probe.Text(before.Member(spec.FieldCacheScope))
					if is := probe.Text(scope); is != was {
						l.fail(method, cursor, x, "a page of %s is %s, and the page that leads to it %s", method, clipped(is), clipped(was)).
							In(x.Response, "/result/"+spec.FieldCacheScope).And(before)
					} else {
						c.Pass(x)
					}
				}
			}
			if next, ok := nextCursor(x); ok {
				given[next] = x
			}
		}
	}
	l.close()
	c.Unseen("no list has a second page")
}
