// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

// failingRules are those of what goes wrong inside a server. From outside
// nobody can make that happen: the user names a request that does.
var failingRules = []Rule{
	failingRule("resources.internal-error-32603", spec.MethodResourcesRead, resourcesPage, every,
		mock.On(spec.MethodResourcesRead).When(mock.ParamIs("/uri", string(jsonx.Quote(failingName))))),
	failingRule("prompts.internal-error-32603", spec.MethodPromptsGet, promptsPage, every,
		mock.On(spec.MethodPromptsGet).When(mock.ParamIs("/name", string(jsonx.Quote(failingName))))),
	failingRule("completion.internal-error-32603", spec.MethodComplete, completionPage, since2503,
		mock.On(spec.MethodComplete).When(mock.ParamIs("/argument/value", string(jsonx.Quote(failingName))))),
}

// failingName is what the specimen of the tests fails on.
const failingName = "mcprove:failing"

func failingRule(id, method, page string, in spec.Range, at mock.Place) Rule {
	return Rule{
		Info: rule.Info{
			ID: id, Level: rule.Should, Basis: rule.Keyword, Section: page + "#error-handling",
			Title: "what goes wrong inside the server in " + method + " is answered with -32603",
			Why:   "clients blame what they sent, and never try again",
			Fix:   "catch what a handler throws, and answer with code -32603",
		},
		In: in, Needs: "--failing", Under: []string{"jsonrpc.internal-error-32603"},
		Check: func(c *probe.Case) {
			r, ok := c.Failing(method)
			if !ok {
				return
			}
			switch x := c.Once(r); {
			case x.OK():
				c.Skip("the request that is said to fail was answered by %s", x.Brief())
			case x.Is(spec.CodeInternalError):
				c.Pass(x)
			default:
				c.Fail(x, "a request that fails inside the server was answered by %s, not by error %d", x.Brief(), spec.CodeInternalError)
			}
		},
		Break: Break{Faults: []mock.Fault{at.Error(spec.CodeInvalidParams, "it broke")}},
	}
}
