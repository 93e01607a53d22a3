// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// paramDeep is the parameter, which nobody has, that is deep.
const paramDeep = "mcprove/deep"

// secDepthRules are those of texts that are small and deep.
var secDepthRules = []Rule{{
	Info: rule.Info{
		ID: ruleDepth, Level: rule.Must, Basis: rule.Harm, Section: "2026-07-28/basic#error-codes",
		Title: "deep JSON ends neither the server nor its connection",
		Why:   "a few kilobytes of brackets exhaust the stack of the server, and everybody who uses it loses it",
		Fix:   "bound the depth of what you read, and answer error -32700 or -32600 beyond that",
		Detail: "arrays in each other are sent, 1,000, 10,000 and 100,000 of them, then objects, then an id of arrays. It fails where the server serves nobody afterwards, " +
			"though a flat text of the same length did it no harm. An error, a refusal and an answer all pass",
	},
	In: every, Check: depth, Whole: true, Intrusive: true,
	Break: Break{Faults: []mock.Fault{mock.On("").When(mock.DepthFrom(5000)).Die()}},
	Breaks: []Break{{
		Only:   transport.StreamableHTTP,
		Faults: []mock.Fault{mock.On("").When(mock.DepthFrom(50_000)).Die()},
	}},
}}

// depthWait bounds the wait for the answer to one of them: what is silent about
// it is asked something else.
const depthWait = otherWait

// deepText is one that is deep.
type deepText struct {
	what string
	n    int
	id   bool // it stands at the id, which is repeated in the answer
}

var deepTexts = []deepText{
	{"arrays", 1000, false}, {"arrays", 10_000, false}, {"arrays", 100_000, false},
	{"objects", 1000, false}, {"objects", 10_000, false}, {"arrays", 10_000, true},
}

func (d deepText) String() string {
	where := "in the params"
	if d.id {
		where = "as the id"
	}
	return fmt.Sprintf("%d %s in each other %s", d.n, d.what, where)
}

// text is the JSON of it.
func (d deepText) text() string {
	if d.what == "objects" {
		return strings.Repeat(`{"a":`, d.n) + "0" + strings.Repeat("}", d.n)
	}
	return strings.Repeat("[", d.n) + strings.Repeat("]", d.n)
}

// in puts it into a request.
func (d deepText) in(r *probe.Request) *probe.Request {
	if d.id {
		return r.WithID(d.text()).Planting(d.String())
	}
	return r.Param(paramDeep, d.text()).Planting(d.String())
}

func depth(c *probe.Case) {
	s, end := strained(c)
	if s == nil {
		return
	}
	defer end()
	longest := 0
	for _, d := range deepTexts {
		longest = max(longest, len(d.text()))
	}
	flat := s.plain.Param("mcprove/flat", string(jsonx.Quote(strings.Repeat("[", longest)))).Planting("a long text that is not deep")
	if !s.takes(longest) {
		return
	}
	if s.ask(s.client, flat, depthWait); !survives(s) {
		c.Skip("a text as long that is not deep is too much for the server already")
		return
	}
	for _, d := range deepTexts {
		r := d.in(s.plain)
		if !s.takes(len(d.text())) {
			break
		}
		x := s.ask(s.client, r, depthWait)
		if !s.goesOn(d.String(), x) {
			return
		}
		c.Pass(x)
		if x.Response == nil && x.Head == nil {
			return // what it does not answer it need not get more of
		}
	}
	c.Unseen("the time was up before a deep text could be sent")
}

// survives reports whether the server still serves.
func survives(s *strain) bool {
	_, ok := s.serves()
	return ok
}
