// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/rand"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
)

const keyWhy = "a gateway that reads the message strictly lets pass what the server then does: its rules for methods and tools are worth nothing"

// secKeyRules are those of messages that two readers understand differently.
var secKeyRules = []Rule{
	{
		Info: rule.Info{
			ID: "sec.key-fold", Level: rule.MustNot, Basis: rule.Harm, Section: "2026-07-28/basic#requests",
			Title: "members are found by their exact names", Why: keyWhy,
			Fix: "read JSON with regard to case; Go's encoding/json and others fold names unless they are told not to",
		},
		In: every, Check: keyFold,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckKeyFold)}},
	},
	{
		Info: rule.Info{
			ID: "sec.key-nul", Level: rule.MustNot, Basis: rule.Harm, Section: "2026-07-28/basic#requests",
			Title: "a name with U+0000 in it is not the name before that", Why: keyWhy,
			Fix: "compare whole names, or refuse texts with U+0000 in a name",
		},
		In: every, Check: keyNUL,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckKeyNUL)}},
	},
	{
		Info: rule.Info{
			ID: "sec.key-duplicate", Level: rule.Should, Basis: rule.Harm, Section: "2026-07-28/basic#requests", ReportOnly: true,
			Title: "a message with the same member twice is refused", Why: keyWhy,
			Fix:    "refuse it with code -32600; where that cannot be, make sure that gateway and server take the same one of the two",
			Detail: "RFC 8259, section 4 leaves it open which of two equal names counts; most readers take the last",
		},
		In: every, Check: keyDuplicate,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckKeyDuplicate)}},
	},
}

// plainTwins are two plain requests whose results can be told apart: where a
// message says both, its answer shows which one was read. ok is false, and the
// case skipped, when there are no two.
func plainTwins(c *probe.Case) (a, b *probe.Request, ofB func(*probe.Exchange) bool, ok bool) {
	plain, ok := c.Plain()
	if !ok {
		return nil, nil, nil, false
	}
	for _, l := range lists(c) {
		member, _ := listMember(l.Method)
		if l.Method == plain.Method || !c.Once(c.Request(l.Method, "")).OK() {
			continue
		}
		return plain, c.Request(l.Method, ""), func(x *probe.Exchange) bool { return x.OK() && x.Member(member) != nil }, true
	}
	c.Skip("the server has no list, so that nothing shows what it read")
	return nil, nil, nil, false
}

// spelled is the text of a request with the names of two members replaced.
func spelled(r *probe.Request, method, params string) string {
	// The id is its own: there are servers that mix the answers to equal ids up,
	// and these requests are under way together.
	text := string(r.Encode([]byte(jsonx.Quote("mcprove-key-" + rand.Text()[:8]))))
	text = strings.Replace(text, `"method":`, method, 1)
	return strings.Replace(text, `"params":`, params, 1)
}

func keyFold(c *probe.Case) {
	_, list, ofList, ok := plainTwins(c)
	if !ok {
		return
	}
	for _, name := range []string{"Method", "METHOD"} {
		text := spelled(list, string(jsonx.Quote(name))+":", `"params":`)
		x := c.Dropped(list.Text(text).Planting("the member "+name+" and no method"), list)
		switch {
		case x.Sent == nil:
		case ofList(x):
			c.Fail(x, "a message without method, but with %s, was served as %s", name, list.Method).And(c.Once(list))
			return
		default:
			c.Pass(x)
		}
	}
}

func keyNUL(c *probe.Case) {
	plain, list, ofList, ok := plainTwins(c)
	if !ok {
		return
	}
	text := spelled(plain, `"method\u0000":`+string(jsonx.Quote(list.Method))+`,"method":`, `"params":`)
	for _, t := range []string{text, spelled(plain, `"method":`+string(jsonx.Quote(plain.Method))+`,"method\u0000":`+string(jsonx.Quote(list.Method))+`,"other":`, `"params":`)} {
		// The headers are those of the second: a server that compares them with
		// what it read finds no difference.
		x := c.Dropped(list.Text(t).Planting("the member method, and one whose name goes on behind U+0000"), list)
		switch {
		case x.Sent == nil:
		case ofList(x):
			c.Fail(x, `a message with method %s and "method\u0000" %s was served as the second`, plain.Method, list.Method).And(c.Once(plain))
			return
		default:
			c.Pass(x)
		}
	}
}

func keyDuplicate(c *probe.Case) {
	plain, list, ofList, ok := plainTwins(c)
	if !ok {
		return
	}
	twice := func(first, second *probe.Request) *probe.Exchange {
		text := spelled(second, `"method":`+string(jsonx.Quote(first.Method))+`,"method":`, `"params":`)
		return c.Once(second.Text(text).Planting("the member method twice"))
	}
	x, y := twice(plain, list), twice(list, plain)
	switch {
	case x.Sent == nil || y.Sent == nil:
	case ofList(x):
		c.Note(x, "a message with method twice is served, as the last one says")
	case ofList(y):
		c.Note(y, "a message with method twice is served, as the first one says")
	case x.OK() || y.OK():
		c.Note(x, "a message with method twice is served").And(y)
	default:
		c.Pass(x)
	}
}
