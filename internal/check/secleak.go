// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// secLeakRules are those of what a server should keep to itself, and of how much
// it says at once.
var secLeakRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.error-leak", Level: rule.MustNot, Basis: rule.Harm, Section: "2026-07-28/basic#error-codes",
			Title: "errors tell nothing of the inside of the server",
			Why:   "stack traces, paths and credentials in an error reach the model, its logs, and whoever provoked the error",
			Fix:   "answer with a message of your own, and write what happened to your log",
			Detail: "credentials fail; stack traces and paths of homes fail over HTTP, where others than the owner of the machine read them, " +
				"and are a warning over stdio",
		},
		In: every, Watch: errorLeak,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.AnswerIs("/error/code", "-32602")).
				Set("/error/data", `"Traceback (most recent call last):\n  File \"server.py\", line 7, in call\n    raise KeyError(name)"`),
		}},
		Breaks: []Break{{Faults: []mock.Fault{
			mock.On(spec.MethodResourcesRead).When(mock.AnswerHas("/error")).Set("/error/message", `"no such file: postgres://office:tideoffice1@db/notes"`),
		}}},
	},
	{
		Info: rule.Info{
			ID: "sec.secret-in-surface", Level: rule.MustNot, Basis: rule.Harm, Section: toolsPage + "#security-considerations",
			Title: "what the server shows of itself has no credentials in it",
			Why:   "every model that is shown the tools is shown the credential, and so is every log on the way",
			Fix:   "take it out, and revoke it: it has been read",
		},
		In: every, Watch: secretInSurface,
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsList).OnPage(1).Set("/result/tools/0/description", `"Uses the key AKIATIDEOFFICE4NOTES of the office."`),
		}},
	},
	{
		Info: rule.Info{
			ID: ruleListBytes, Level: rule.Must, Basis: rule.Harm, Section: toolsListing,
			Title:  "the list of tools is small enough for a model to read",
			Why:    "each conversation begins with the whole list: a large one costs money every time, and leaves less room to think",
			Fix:    "shorten descriptions and schemas, or offer fewer tools at once",
			Detail: "a warning above 64 KiB over all pages; it fails above what --max-list-bytes says",
		},
		In: every, Check: listBytes,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsList).OnPage(1).OfResult().Oversize("/result/tools/0/description", 70_000)}},
	},
}

const ruleListBytes = "sec.list-bytes"

// mostSearched bounds the text that a rule searches: it is the server that says
// how much there is.
const mostSearched = 2 << 20

// searches are the texts that a rule has searched.
type searches struct {
	seen map[string]bool
	size int
}

// fresh reports whether a text is to be searched. It is false for one that was
// before: many answers are the same.
func (s *searches) fresh(text string) bool {
	if s.seen[text] {
		return false
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[text] = true
	s.size += len(text)
	return s.size <= mostSearched
}

// tell skips the case where there was more than is searched.
func (s *searches) tell(c *probe.Case) {
	if s.size > mostSearched {
		c.Skip("there are more than %d MB to search, and nothing was found in what was", mostSearched>>20)
	}
}

func errorLeak(c *probe.Case, t *probe.Traffic) {
	var s searches
	for _, x := range t.Exchanges {
		m := x.Message()
		text := ""
		switch {
		case m != nil && m.Error != nil:
			text = string(m.Error.Raw)
		case x.Head != nil && x.Status() >= 400 && m == nil:
			text = string(x.Body)
			for _, f := range x.Frames { // JSON, and no message
				text += string(f.Raw)
			}
		default:
			continue
		}
		if !s.fresh(text) {
			continue
		}
		if what := CredentialIn(text); what != "" {
			c.Fail(x, "an error shows %s", what)
			return
		}
		sent := ""
		if x.Sent != nil {
			sent = string(x.Sent.Raw) // it may be repeated
		}
		if what := InsideIn(text, sent); what != "" {
			say := c.Fail
			if t.Stdio() {
				say = c.Warn
			}
			say(x, "an error shows %s", what)
			return
		}
		c.Pass(x)
	}
	s.tell(c)
	c.Unseen("no error was seen")
}

func secretInSurface(c *probe.Case, t *probe.Traffic) {
	methods := append([]string{spec.MethodDiscover, spec.MethodInitialize}, pagedMethods(t.Revision)...)
	var s searches
	for _, x := range t.Results(methods...) {
		if !s.fresh(string(x.Result())) {
			continue
		}
		if what := CredentialIn(string(x.Result())); what != "" {
			c.Fail(x, "the result of %s shows %s", x.Method, what)
			return
		}
		c.Pass(x)
	}
	s.tell(c)
	c.Unseen("the server showed nothing of itself")
}

func listBytes(c *probe.Case) {
	l, ok := c.Listed(spec.MethodToolsList)
	if !ok {
		return
	}
	sum := 0
	for _, x := range l.Pages {
		sum += len(x.Result())
	}
	most, named := c.Probe().ListBytes()
	switch {
	case sum <= most && !l.Whole:
		c.Skip("the list has no end that was reached: %d bytes until there", sum)
	case sum <= most:
		c.Pass(l.Pages[0])
	case named:
		c.Fail(l.Pages[0], "%d tools in %d bytes, more than the %d that were allowed", len(l.Items), sum, most)
	default:
		c.Warn(l.Pages[0], "%d tools in %d bytes, more than %d", len(l.Items), sum, most)
	}
}
