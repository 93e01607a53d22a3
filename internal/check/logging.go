// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

const (
	loggingPage = "2026-07-28/server/utilities/logging"
	// logged is the params of a log message that faults send.
	logged = `{"level":"emergency","logger":"mcprove","data":"made up"}`
)

// loggingRules are those of what log messages are and say.
var loggingRules = []Rule{
	{
		Info: rule.Info{
			ID: "logging.capability-declared", Level: rule.Must, Basis: rule.Keyword, Section: loggingPage + "#capabilities",
			Title: "a server that sends log messages declares the logging capability",
			Why:   "clients that look at the capabilities first do not listen, and strict ones take the message for an error",
			Fix:   `add "logging": {} to the capabilities`,
		},
		In: every, Watch: loggingDeclared, Stir: stirDeclared, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodDiscover).When(elicitingClient).Remove("/result/capabilities/logging"),
		}, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodInitialize).When(mock.HasParam("/capabilities/roots")).Remove("/result/capabilities/logging")}, In: handshakeEra}},
	},
	{
		Info: rule.Info{
			ID: "logging.invalid-level-32602", Level: rule.Should, Basis: rule.Keyword, Section: loggingPage + "#error-handling",
			Title: "a request with an unknown log level is refused with -32602",
			Why:   "a client that misspells a level waits for messages that never come",
			Fix:   "answer code -32602 when the logLevel in _meta is none of the eight",
		},
		In: modern, Check: loggingInvalidLevel,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckLogLevel)}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.Place{}.When(mock.MetaIs(spec.MetaLogLevel, string(jsonx.Quote(noLevel)))).Error(spec.CodeInternalError, "no such level")}},
		},
	},
	{
		Info: rule.Info{
			ID: "logging.message-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#loggingmessagenotificationparams",
			Title: "a log message has a level of the eight and data, and its logger is a string",
			Why:   "a client that sorts by level drops the message, or the connection",
			Fix:   "use the names debug to emergency, and always send data",
		},
		In: every, Watch: loggingShape, Stir: stir, Needs: "--tool",
		Break:  Break{Faults: []mock.Fault{logMessage.Remove("/params/data")}},
		Breaks: []Break{{Faults: []mock.Fault{logMessage.Set("/params/level", `"WARN"`)}}},
	},
	{
		Info: rule.Info{
			ID: "logging.no-secrets", Level: rule.MustNot, Basis: rule.Keyword, Section: loggingPage + "#security",
			Title: "log messages hold no credentials, personal data or internals that help an attack",
			Why:   "clients show and keep the messages, and pass them to models",
			Fix:   "log what happened, not with which token, and not where in the code",
			Detail: "Private keys, tokens of well-known forms and passwords in addresses fail. E-mail addresses, stack traces and " +
				"paths of homes are a warning, since they may be meant to be seen.",
		},
		In: every, Watch: loggingSecrets, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{logMessage.Set("/params/data", `"connect postgres://admin:`+"hunter2hunter2"+`@db.internal/books"`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{logMessage.Set("/params/data", `{"error":"Error: no\n    at run (/home/alice/app/server.js:10:5)"}`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "logging.rate-limited", Level: rule.Should, Basis: rule.Keyword, Section: loggingPage + "#implementation-considerations",
			Title: "log messages come at a rate that a client can take",
			Why:   "thousands of messages a second keep client and network busy",
			Fix:   "drop or join messages that come too fast",
		},
		In: every, Watch: loggingRate, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{{Place: logMessage.When(mock.ParamIs("/name", `"survey_harbour"`)), Op: mock.OpRepeat, Count: 2 * mostPerSecond}}},
	},
	{
		Info: rule.Info{
			ID: "logging.consistent-logger", Level: rule.Should, Basis: rule.Keyword, Section: loggingPage + "#implementation-considerations",
			Title: "a logger has one name",
			Why:   "who filters by logger sees half of what it says",
			Fix:   "spell each name in one way",
		},
		In: every, Watch: loggingNames, Stir: stir, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).OfType(spec.ResultComplete).When(mock.HasMeta(spec.MetaLogLevel)).Notify(spec.NotificationMessage, logged),
			mock.On(spec.MethodToolsCall).OfType(spec.ResultComplete).When(mock.HasMeta(spec.MetaLogLevel)).Notify(spec.NotificationMessage, strings.Replace(logged, `"mcprove"`, `"MCProve"`, 1)),
		}, In: modern},
		Breaks: []Break{{Faults: []mock.Fault{logMessage.When(mock.ParamIs("/name", `"survey_harbour"`)).OnTurn(2).Set("/params/logger", `"Survey"`)}, In: handshakeEra}},
	},
	{
		Info: rule.Info{
			ID: "logging.not-newly-adopted", Level: rule.ShouldNot, Basis: rule.Keyword, Section: "2026-07-28/deprecated#deprecated",
			Title: "a new server does not offer logging",
			Why:   "the feature is deprecated and may be gone a year after this revision",
			Fix:   "log to stderr, or by OpenTelemetry",
		},
		In: modern, Watch: loggingAdopted,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/capabilities/logging", "{}")}},
	},
}

// logMessage is the place of log messages.
var logMessage = mock.OnNotification(spec.NotificationMessage)

// noLevel is a log level that does not exist.
const noLevel = "loud"

// unseenLog is why a rule on log messages has nothing to look at.
const unseenLog = "no log message was seen: name a tool that logs with --tool 'NAME={...}'"

// stirDeclared hears log messages, and what is declared.
func stirDeclared(c *probe.Case) {
	loudCalls(c)
	stirDeclarations(c)
}

func loggingDeclared(c *probe.Case, t *probe.Traffic) {
	for _, s := range sayings(t, spec.NotificationMessage) {
		silent := undeclared(t, "logging", s.conn)
		switch {
		case silent != nil:
			c.Fail(s.x, "a log message came, and the server declares no logging").In(s.Frame, "").And(silent)
			return
		case t.Facts.Capabilities == nil:
			c.SkipFor(ruleGreeting(t.Revision), "what the server declares is not known")
			return
		default:
			c.Pass(s.x)
		}
	}
	c.Unseen(unseenLog)
}

func loggingInvalidLevel(c *probe.Case) {
	if !c.Declared("logging") {
		return
	}
	control, ok := c.Works(c.Request(spec.MethodDiscover, "").LogLevel("error"))
	if !ok {
		return
	}
	x := c.Send(c.Request(spec.MethodDiscover, "").LogLevel(noLevel).Planting("a log level that does not exist"))
	switch {
	case x.Is(spec.CodeInvalidParams):
		c.Pass(x)
	case busy(x):
		c.Skip("the request was answered by %s", x.Brief())
	default:
		c.Fail(x, "a request with the log level %s is answered by %s, not by error %d", brief(noLevel), x.Brief(), spec.CodeInvalidParams).And(control)
	}
}

func loggingShape(c *probe.Case, t *probe.Traffic) {
	var bad one
	for _, s := range sayings(t, spec.NotificationMessage) {
		if s.Message().Params == nil {
			bad.add(c.Fail, s, "a log message has no params")
			continue
		}
		vs := violations(t.Revision, "LoggingMessageNotification", s.Raw, "/params")
		switch v, malformed := malformation(vs, []string{"/params/_meta"}); {
		case malformed:
			bad.add(c.Fail, s, "a log message is malformed: %s", v.Message)
		default:
			c.Pass(s.x)
		}
	}
	c.Unseen(unseenLog)
}

func loggingSecrets(c *probe.Case, t *probe.Traffic) {
	var bad, odd one
	for _, s := range sayings(t, spec.NotificationMessage) {
		params := string(s.Message().Params)
		if what := credentialLogged(params); what != "" {
			bad.add(c.Fail, s, "a log message holds %s", what)
			continue
		}
		if what := internalIn(params); what != "" {
			odd.add(c.Warn, s, "a log message holds %s", what)
			continue
		}
		c.Pass(s.x)
	}
	c.Unseen(unseenLog)
}

func loggingRate(c *probe.Case, t *probe.Traffic) {
	rate(c, t, spec.NotificationMessage, "log messages", unseenLog)
}

func loggingNames(c *probe.Case, t *probe.Traffic) {
	spelt := map[string]said{}
	for _, s := range sayings(t, spec.NotificationMessage) {
		name, ok := jsonx.Text(s.param("logger"))
		if !ok {
			continue
		}
		folded := strings.ToLower(name)
		before, twice := spelt[folded]
		if !twice {
			spelt[folded] = s
			c.Pass(s.x)
			continue
		}
		if other := probe.Text(before.param("logger")); other != name {
			c.Note(s.x, "one logger is called %s and %s", brief(other), brief(name)).In(s.Frame, "/params/logger").And(before.x)
			return
		}
	}
	c.Unseen("no log message with a logger was seen")
}

func loggingAdopted(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Results(spec.MethodDiscover) {
		if announces(x, "logging") {
			c.Note(x, "the server declares logging, which is deprecated").In(x.Response, "/result/capabilities/logging")
			return
		}
		c.Pass(x)
	}
	c.Unseen("what the server declares was not seen")
}

// messagesOf are the log messages on the stream of an exchange.
func messagesOf(x *probe.Exchange) []*wire.Frame { return x.Notifications(spec.NotificationMessage) }
