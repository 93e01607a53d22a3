// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// secMalformedRules are those of a server that has to go on after bad input.
var secMalformedRules = []Rule{{
	Info: rule.Info{
		ID: "sec.malformed-survives", Level: rule.Must, Basis: rule.Harm, Section: "2026-07-28/basic#error-codes",
		Title: "malformed messages end neither the server nor its connection",
		Why:   "one message that a broken or hostile client sends takes the server away from everybody who uses it",
		Fix:   "catch what the decoder throws, answer an error, and read on",
		Detail: "more than a dozen texts that are wrong in one way each are sent one after the other; after each a plain request must be answered " +
			"on the same connection",
	},
	In: every, Check: malformedSurvives, Apart: true, Under: []string{"jsonrpc.parse-error-32700", "stdio.long-line", probe.RuleStaysUp},
	// Over HTTP a server that ends is seen by everybody, and base.stays-up says so.
	Break:  Break{Only: transport.Stdio, Faults: []mock.Fault{mock.On("").When(mock.ParamIs("/mcprove", `"no-number"`)).Die()}},
	Breaks: []Break{{Only: transport.Stdio, Faults: []mock.Fault{mock.On("").When(mock.ParamIs("/mcprove", `"deep"`)).Die()}}},
}}

// wrongTexts are texts that are wrong in one way each. METHOD stands for that of
// a plain request, PARAMS for its params with a mark in front.
var wrongTexts = []struct{ name, what, text string }{
	{"utf-8", "bytes that are not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"mcprove-bad\",\"method\":METHOD,\"params\":{PARAMS,\"bad\":\"\xff\xfe\"}}"},
	{"surrogate", "half of a surrogate pair", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS,"bad":"\ud800"}}`},
	{"bom", "a byte order mark", "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS}}`},
	{"comma", "a comma too many", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS,}}`},
	{"half", "half of an object", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS`},
	{"scalar", "a number alone", `7`},
	{"null", "null alone", `null`},
	{"empty", "an empty object", `{}`},
	{"array", "an array of numbers", `[1,2,3]`},
	{"no-number", "a number beyond every number", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS,"bad":1e400}}`},
	{"no-method", "a method that is a number", `{"jsonrpc":"2.0","id":"mcprove-bad","method":7,"params":{PARAMS}}`},
	{"no-params", "params that are a string", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":"text"}`},
	{"array-params", "params that are an array", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":[1]}`},
	{"meta", "_meta that is a string", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{"_meta":"text"}}`},
	{"both", "a request that has a result too", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS},"result":{}}`},
	{"deep", "200 arrays in each other", `{"jsonrpc":"2.0","id":"mcprove-bad","method":METHOD,"params":{PARAMS,"bad":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`},
}

func malformedSurvives(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	if x := c.SendOn(conn, plain); !x.OK() {
		c.Lacks(x)
		return
	}
	method := `"` + plain.Method + `"`
	for _, m := range wrongTexts {
		text := strings.ReplaceAll(m.text, "METHOD", method)
		if strings.Contains(text, "PARAMS") {
			// What the revision wants in _meta stays, so that one thing is wrong.
			own := strings.TrimSuffix(strings.TrimPrefix(string(paramsOf(plain)), "{"), "}")
			mark := `"mcprove":"` + m.name + `"`
			if own != "" {
				mark += "," + own
			}
			text = strings.Replace(text, "PARAMS", mark, 1)
		}
		s := c.Start(conn, plain.Text(text).Planting(m.what))
		after := c.SendOn(conn, plain)
		switch bad := s.Now(); {
		case bad.Sent == nil && bad.Err != nil && !bad.Died():
			return // it was held back
		case after.OK():
			c.Pass(bad)
		case after.Died() || bad.Died():
			c.Fail(bad, "%s ended the connection: %s after it %s", m.what, after.Method, outcome(after)).And(after)
			return
		default:
			if again := c.SendOn(conn, plain); again.OK() {
				c.Pass(bad) // it was late
				continue
			}
			c.Fail(bad, "after %s the connection is of no use any more: %s %s", m.what, after.Method, outcome(after)).And(after)
			return
		}
	}
}

// paramsOf are the params of a request as they are sent.
func paramsOf(r *probe.Request) []byte {
	_, params, found := strings.Cut(string(r.Encode([]byte("0"))), `"params":`)
	if !found {
		return []byte("{}")
	}
	return []byte(strings.TrimSuffix(params, "}"))
}
