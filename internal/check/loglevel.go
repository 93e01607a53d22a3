// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const loggingHandshake = "2025-11-25/server/utilities/logging"

// logLevelRules are those of logging/setLevel, by which a session of the
// handshake era asks for log messages.
var logLevelRules = []Rule{
	{
		Info: rule.Info{
			ID: "logging.set-level", Level: rule.Must, Basis: rule.Prose, Section: loggingHandshake + "#setting-log-level",
			Title: "a server with logging answers logging/setLevel with an empty result, for each of the eight levels",
			Why:   "the client cannot turn the messages down or up, and some show the error to the user",
			Fix:   "serve logging/setLevel with debug to emergency and answer {}, or do not declare logging",
		},
		In: handshakeEra, Check: setLevelAnswered, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodSetLevel).When(mock.ParamIs("/level", `"notice"`)).Error(spec.CodeInvalidParams, "no such level")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodSetLevel).Set("/result/level", `"info"`)}},
			{Faults: []mock.Fault{mock.On(spec.MethodSetLevel).Error(spec.CodeMethodNotFound, "Method not found")}},
		},
	},
	{
		Info: rule.Info{
			ID: ruleNoLevel, Level: rule.Should, Basis: rule.Keyword, Section: loggingHandshake + "#error-handling",
			Title: "logging/setLevel with an unknown level is refused with -32602",
			Why:   "a client that misspells a level waits for messages that never come",
			Fix:   "answer code -32602 when the level is none of the eight",
		},
		In: handshakeEra, Check: setLevelRefused, Apart: true,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodSetLevel).Lenient(mock.CheckLogLevel)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodSetLevel).OfError().Set("/error/code", "-32603")}},
		},
	},
}

const (
	ruleSetLevel = "logging.set-level"
	ruleNoLevel  = "logging.set-level-invalid-32602"
)

func setLevelAnswered(c *probe.Case) {
	if !c.Declared("logging") {
		return
	}
	o := secondSession(c)
	if o == nil {
		return
	}
	l := ledger{c: c}
	for _, x := range o.levels {
		level := probe.Text(x.Request.Value("level"))
		switch {
		case busy(x):
			c.Skip("%s was answered by %s", x.Method, x.Brief())
		case !x.OK():
			l.fail("refused", level, x, "logging is declared, and %s with %s %s", x.Method, brief(level), outcome(x)).And(c.Facts().Greeting)
		case notEmpty(x) != "":
			l.fail("not empty", level, x, "%s is answered by a result that is not empty: it has %s", x.Method, brief(notEmpty(x))).In(x.Response, "/result")
		default:
			c.Pass(x)
		}
	}
	l.close()
}

func setLevelRefused(c *probe.Case) {
	if !c.Declared("logging") {
		return
	}
	o := secondSession(c)
	if o == nil {
		return
	}
	if !c.Probe().Mine() {
		c.Skip("the target is not on this machine, so that no level was sent that does not exist; --target-is-mine allows it")
		return
	}
	var good *probe.Exchange
	for _, x := range o.levels {
		if x.OK() {
			good = x
		}
	}
	switch x := o.noLevel; {
	case good == nil:
		c.SkipFor(ruleSetLevel, "%s is answered by no result, whatever the level", spec.MethodSetLevel)
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	case busy(x):
		c.Skip("%s was answered by %s", x.Method, x.Brief())
	case wrongAlike(c, x):
	default:
		c.Fail(x, "%s with the level %s %s, not by error %d", x.Method, brief(noLevel), outcome(x), spec.CodeInvalidParams).And(good)
	}
}
