// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const elicitPage2511 = "2025-11-25/client/elicitation"

// elicitationLegacyRules are those of elicitation by requests of the server,
// which 2025-11-25 alone has.
var elicitationLegacyRules = []Rule{
	elicits("elicitation.url-fields-legacy", rule.Must, rule.Keyword, elicitPage2511+"#url-mode-elicitation-requests", only2511, elicitURLFieldsLegacy,
		"a URL elicitation has mode, message, url and elicitationId", "the client has no page to open, or cannot tell when the user is done there", "send mode url, message, url and an elicitationId of its own",
		onCall(urlTool).Remove(urlAt+"/params/elicitationId")),
	{
		Info: rule.Info{
			ID: "elicitation.error-32042-only-when-required", Level: rule.MustNot, Basis: rule.Keyword, Section: elicitPage2511 + "#url-elicitation-required-error",
			Title: "error -32042 comes with the pages that the user has to visit first",
			Why:   "a client waits for a page to be finished that nobody named, and then makes the same request again",
			Fix:   "list each page in data.elicitations, and use another code where none is needed",
		},
		In: only2511, Watch: pagesRequired, Stir: stirAsks, Needs: "--tool",
		Break: Break{
			Base:   requiringPage,
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeURLElicitationRequired).Set("/error/data/elicitations", "[]")},
		},
		Breaks: []Break{{
			Base:   requiringPage,
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeURLElicitationRequired).Remove("/error/data")},
		}},
	},
}

// requiringPage is a server with a tool that refuses to work before the user
// was on a page.
func requiringPage(s *mock.Script) {
	for i := range s.Tools {
		if t := &s.Tools[i]; probe.Text(probe.Lookup(t.Definition, "/name")) == urlTool {
			t.Answers = []mock.Answer{{Error: &mock.Error{
				Code: spec.CodeURLElicitationRequired, Message: "The reading must be confirmed on our page first.",
				Data: []byte(`{"elicitations":[{"mode":"url","message":"Please confirm the reading.","url":"https://example.com/tide-office/confirm","elicitationId":"reading-1"}]}`),
			}}}
		}
	}
}

func elicitURLFieldsLegacy(c *probe.Case, t *probe.Traffic) {
	eachAsk(c, t, isURL, func(a *ask) {
		for _, name := range []string{"message", "url", "elicitationId"} {
			if jsonx.KindOf(a.get("/"+name)) != jsonx.String {
				a.fail(c, "/"+name, "the URL elicitation %q has no %s", a.key, name)
			}
		}
	})
}

// pagesRequired takes the error from a client that cannot open pages too: the
// server needs one all the same, and cannot ask for it.
func pagesRequired(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Errors() {
		if !x.Is(spec.CodeURLElicitationRequired) {
			continue
		}
		if pages := probe.Elements(x.Data("elicitations")); len(pages) == 0 {
			c.Fail(x, "error %d to %s names no page that the user has to visit", spec.CodeURLElicitationRequired, x.Method).In(x.Response, "/error")
			continue
		}
		c.Pass(x)
	}
	c.Unseen("no error %d was seen", spec.CodeURLElicitationRequired)
}

// askedAbout are exchanges of the handshake era while which the server asked for
// something of a kind, a few.
func askedAbout(c *probe.Case, about func(*ask) bool) []*probe.Exchange {
	xs := slices.DeleteFunc(slices.Clone(c.Asks()), func(x *probe.Exchange) bool {
		return !slices.ContainsFunc(askedIn(x), func(a ask) bool { return about(&a) })
	})
	return xs[:min(len(xs), mostAskers)]
}

// askedAgain makes what asked for something of a kind again, as a client with
// other capabilities, and judges each thing that is asked then.
func askedAgain(c *probe.Case, capabilities string, about, bad func(*ask) bool) {
	xs := askedAbout(c, about)
	if len(xs) == 0 {
		return
	}
	conn := c.OpenAs(capabilities)
	if conn == nil {
		return
	}
	c.Stand(conn)
	for _, x := range xs {
		if y := c.SendOn(conn, x.Request); y.Response != nil {
			c.Pass(y)
		}
	}
	for _, a := range asksAmong(conn.Heard(func(m *wire.Message) bool { return m.Kind == wire.Request })) {
		if bad(&a) {
			c.Fail(a.x, "%s is asked of a client that declares %s", describe(&a), capabilities).In(a.frame, "").And(conn.Greeting())
			return
		}
	}
}
