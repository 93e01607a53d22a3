// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/spec"
)

// asksUnder makes the request of x with other client capabilities, and judges
// each thing that is asked then.
func asksUnder(c *probe.Case, x *probe.Exchange, capabilities string, bad func(*ask) bool) {
	y := c.Send(x.Request.Capabilities(capabilities))
	for _, a := range inputsOf(y) {
		if bad(&a) {
			c.Fail(y, "%s asks %s of a client that declares %s", x.Method, describe(&a), capabilities).In(y.Response, "/result/"+spec.FieldInputRequests)
			return
		}
	}
	c.Pass(y)
}

// describe is what is asked, in a few words.
func describe(a *ask) string {
	switch {
	case a.url():
		return "a URL elicitation"
	case a.form():
		return "a form elicitation"
	}
	return a.method
}

func modeUndeclared(c *probe.Case) {
	if c.Probe().Legacy() {
		askedAgain(c, `{"elicitation":{"form":{}}}`, isURL, isURL)
		askedAgain(c, `{"elicitation":{"url":{}}}`, isForm, isForm)
		c.Unseen("%s", probe.NoAsk)
		return
	}
	for _, x := range askers(c, asking(isElicit)) {
		asksUnder(c, x, `{"elicitation":{"form":{}}}`, isURL)
		asksUnder(c, x, `{"elicitation":{"url":{}}}`, isForm)
	}
}

func emptyMeansForm(c *probe.Case) {
	if c.Probe().Legacy() {
		askedAgain(c, `{"elicitation":{}}`, isURL, isURL)
		c.Unseen("%s", probe.NoAsk)
		return
	}
	for _, x := range askers(c, asking(isURL)) {
		asksUnder(c, x, `{"elicitation":{}}`, isURL)
	}
}

func samplingTools(c *probe.Case) {
	tools := func(a *ask) bool { return isSampling(a) && (a.get("/tools") != nil || a.get("/toolChoice") != nil) }
	if c.Probe().Legacy() {
		askedAgain(c, `{"sampling":{}}`, isSampling, tools)
		c.Unseen("%s", probe.NoAsk)
		return
	}
	for _, x := range askers(c, asking(isSampling)) {
		asksUnder(c, x, `{"sampling":{}}`, tools)
	}
}

func undeclaredCapability(c *probe.Case) {
	for _, without := range []struct {
		is           func(*ask) bool
		capabilities string
	}{
		{isElicit, `{"sampling":{},"roots":{}}`},
		{isSampling, `{"elicitation":{"form":{},"url":{}},"roots":{}}`},
		{func(a *ask) bool { return a.method == spec.MethodRootsList }, `{"elicitation":{"form":{},"url":{}},"sampling":{}}`},
	} {
		for _, x := range c.Asks() {
			if asking(without.is)(x) {
				asksUnder(c, x, without.capabilities, without.is)
				break
			}
		}
	}
	c.Unseen("%s", probe.NoAsk)
}

// noCredentials goes through a page as far as a client can, and looks at what
// the tool says afterwards.
func noCredentials(c *probe.Case) {
	known := &text.Redactor{}
	if c.Probe().Legacy() {
		for _, x := range askedAbout(c, isURL) {
			judgeCredentials(c, known, x, nil)
		}
		c.Unseen("%s", probe.NoAsk)
		return
	}
	for _, x := range askers(c, asking(isURL)) {
		first, ok := anew(c, x)
		if !ok {
			return
		}
		y := c.Send(retry(first, replies(first)))
		judgeCredentials(c, known, y, first)
	}
}

// judgeCredentials looks at what a tool says after the page; ask is the
// exchange that asked for it, where that is another one.
func judgeCredentials(c *probe.Case, known *text.Redactor, y, ask *probe.Exchange) {
	for _, b := range probe.Elements(y.Member("content")) {
		if s := probe.Text(probe.Lookup(b, "/text")); known.String(s) != s {
			c.Fail(y, "the result after a URL elicitation holds what looks like a credential: %.120s", known.String(s)).And(ask)
			return
		}
	}
	c.Pass(y)
}

func rootsUndeclared(c *probe.Case, t *probe.Traffic) {
	c.Pass(nil)
	for _, a := range asks(t) {
		roots, known := t.Declared(probe.Received{Frame: a.frame, Exchange: a.x, Conn: a.conn}, "roots")
		if t.Revision.Era() == spec.Modern {
			known = true // a request that declares nothing
		}
		if a.method == spec.MethodRootsList && roots == nil && known {
			c.Fail(a.x, "roots/list is asked of a client that does not declare roots").In(a.frame, a.at)
			return
		}
	}
}
