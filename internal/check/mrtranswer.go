// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const mrtrErrors = mrtrPage + "#error-handling"

// capabilityParam is the pointer of a client capability in params.
func capabilityParam(path string) string {
	return "/_meta/io.modelcontextprotocol~1clientCapabilities" + path
}

// clientHas holds on connections of the handshake era whose client declared
// exactly that as one capability.
func clientHas(path, value string) mock.Condition {
	return mock.Condition{Of: mock.OfEarlier, Name: "/params/capabilities" + path, Is: mock.IsEqual, Value: value}
}

// mrtrAnswerRules are about what clients answer, and what they may be asked.
var mrtrAnswerRules = []Rule{
	{
		Info: rule.Info{
			ID: "mrtr.missing-response-reasked", Level: rule.Should, Basis: rule.Keyword, Section: mrtrErrors,
			Title: "what was not answered is asked again",
			Why:   "one answer that is missing costs the user all others",
			Fix:   "answer by input_required again, with what is still missing",
		},
		In: modern, Check: missingReasked, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/inputResponses", "{}")).Error(spec.CodeInvalidParams, "an answer is missing")}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.extra-response-ignored", Level: rule.Should, Basis: rule.Keyword, Section: mrtrErrors,
			Title: "answers that nobody asked for are ignored",
			Why:   "a client that remembers an older question fails on the newer one",
			Fix:   "read the keys you asked for, and leave others alone",
		},
		In: modern, Check: extraIgnored, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.HasParam("/inputResponses/mcprove_extra")).Error(spec.CodeInvalidParams, "unknown key")}},
	},
	{
		Info: rule.Info{
			ID: "mrtr.malformed-responses-error", Level: rule.Should, Basis: rule.Keyword, Section: mrtrErrors,
			Title: "answers that cannot be parsed are refused by an error",
			Why:   "the client believes that its answers arrived",
			Fix:   "answer -32602 when inputResponses is no object of answers",
		},
		In: modern, Check: malformedRefused, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckInputsMalformed)},
			Also:   []string{"mrtr.responses-validated", "elicitation.server-validates"},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.responses-validated", Level: rule.Should, Basis: rule.Keyword, Section: mrtrErrors,
			Title: "answers are checked before they are used",
			Why:   "the tool goes on with data that nobody entered",
			Fix:   "check each answer against what you asked for",
		},
		In: modern, Check: responsesValidated, Needs: "--tool",
		Under: []string{"mrtr.malformed-responses-error"},
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/inputResponses/report", `5`)).Lenient(mock.CheckInputsMalformed)}},
	},
	{
		Info: rule.Info{
			ID: "elicitation.server-validates", Level: rule.Should, Basis: rule.Keyword, Section: elicitPage + "#form-mode-security",
			Title: "what a user enters is checked against the form's schema",
			Why:   "clients differ in what they check, and the tool gets values it cannot use",
			Fix:   "validate the content against requestedSchema, and ask again or refuse",
		},
		In: modern, Check: contentValidated, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckInputsSchema)}},
	},
	{
		Info: rule.Info{
			ID: "elicitation.server-handles-decline", Level: rule.Must, Basis: rule.Keyword, Section: elicitPage + "#error-handling",
			Title: "a user who declines or cancels gets an answer",
			Why:   "the call hangs or ends in an internal error, and the model tries again",
			Fix:   "go on without the data, or say in the result that it is needed",
		},
		In: modern, Check: declineHandled, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/inputResponses/report/action", `"decline"`)).Error(spec.CodeInternalError, "no content")}},
	},
	{
		Info: rule.Info{
			ID: "elicitation.mode-undeclared", Level: rule.MustNot, Basis: rule.Keyword, Section: elicitPage + "#capabilities",
			Title: "only modes that the client declares are used",
			Why:   "the client cannot show it, and the call never ends",
			Fix:   "look at the request's capabilities before you ask; answer -32021 where a mode is missing",
		},
		In: since2511, Check: modeUndeclared, Needs: "--tool", Under: []string{"meta.no-undeclared-capability"},
		Break: Break{
			In: modern,
			Faults: []mock.Fault{
				mock.On(spec.MethodToolsCall).When(mock.HasParam(capabilityParam("/elicitation/url")), mock.NoParam(capabilityParam("/elicitation/form"))).Lenient(mock.CheckClientCapability),
			},
			Also: []string{"meta.no-undeclared-capability"},
		},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(clientHas("/elicitation", `{"url":{}}`)).Lenient(mock.CheckClientCapability)}, In: handshakeEra, Also: []string{"lifecycle.server-asks-only-declared"}},
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(clientHas("/elicitation", `{"form":{}}`)).Lenient(mock.CheckClientCapability)}, In: handshakeEra},
		},
	},
	{
		Info: rule.Info{
			ID: "elicitation.empty-means-form", Level: rule.Must, Basis: rule.Prose, Section: elicitPage + "#capabilities",
			Title: "an empty elicitation capability means forms alone",
			Why:   "older clients declare {} and cannot open pages",
			Fix:   "ask by URL only when the capability has url",
		},
		In: since2511, Check: emptyMeansForm, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs(capabilityParam("/elicitation"), `{}`)).Lenient(mock.CheckClientCapability)}, In: modern},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(clientHas("/elicitation", `{}`)).Lenient(mock.CheckClientCapability)}, In: handshakeEra},
		},
	},
	{
		Info: rule.Info{
			ID: "elicitation.third-party-credentials", Level: rule.MustNot, Basis: rule.Keyword, Section: elicitPage + "#url-mode-elicitation-for-oauth-flows",
			Title: "credentials obtained on a page do not reach the client",
			Why:   "they end in the model's context and in logs",
			Fix:   "keep them on the server, bound to the user",
		},
		In: since2511, Check: noCredentials, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"`+urlTool+`"`), mock.HasParam("/inputResponses")).
			Set("/result/content/0/text", `"token ghp_0123456789abcdefghijABCDEFGHIJ012345"`)}, In: modern},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"`+urlTool+`"`), mock.EarlierHas("/params/capabilities/elicitation/url")).
				Set("/result/content/0/text", `"token ghp_0123456789abcdefghijABCDEFGHIJ012345"`)}, In: handshakeEra},
		},
	},
	{
		Info: rule.Info{
			ID: "sampling.tools-need-capability", Level: rule.MustNot, Basis: rule.Keyword, Section: samplingPage + "#tools-in-sampling",
			Title: "tools in a sampling request need the client's sampling.tools",
			Why:   "the client refuses the request or drops the tools, and the model answers without them",
			Fix:   "leave tools and toolChoice out unless sampling.tools is declared",
		},
		In: since2511, Check: samplingTools, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{onCall(sampleTool).When(mock.NoParam(capabilityParam("/sampling/tools"))).Set(sampleAt+"/params/toolChoice", `{"mode":"auto"}`)}, In: modern},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.OnNotification(spec.MethodCreateMessage).When(mock.ParamIs("/name", `"`+sampleTool+`"`), clientHas("/sampling", `{}`)).Set("/params/toolChoice", `{"mode":"auto"}`)}, In: handshakeEra},
		},
	},
	{
		Info: rule.Info{
			ID: "mrtr.undeclared-capability", Level: rule.MustNot, Basis: rule.Keyword, Section: mrtrWorkflow,
			Title: "nothing is asked of a client that did not declare it on that request",
			Why:   "the client cannot answer, and the call never ends",
			Fix:   "look at the capabilities of each request before you ask; answer -32021 where one is missing",
		},
		In: modern, Check: undeclaredCapability, Needs: "--tool", Under: []string{"meta.no-undeclared-capability"},
		Break: Break{
			Faults: []mock.Fault{
				mock.On(spec.MethodToolsCall).When(mock.HasParam(capabilityParam("/roots")), mock.NoParam(capabilityParam("/sampling"))).Lenient(mock.CheckClientCapability),
			},
			Also: []string{"meta.no-undeclared-capability"},
		},
	},
	{
		Info: rule.Info{
			ID: "roots.undeclared-not-asked", Level: rule.Should, Basis: rule.Keyword, Section: "2026-07-28/client/roots#implementation-guidelines",
			Title: "roots are asked of a client that declares them",
			Why:   "the client cannot answer, and the call never ends",
			Fix:   "look at the request's capabilities before you ask for roots",
		},
		In: every, Watch: rootsUndeclared, Stir: stirCalls,
		Under: []string{probe.RuleRequests, "meta.no-undeclared-capability", "mrtr.undeclared-capability"},
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.ParamIs("/name", `"count_folders"`)).Lenient(mock.CheckClientCapability)},
			Also:   []string{"meta.no-undeclared-capability", "mrtr.undeclared-capability"},
		},
	},
}

func missingReasked(c *probe.Case) {
	for _, x := range askers(c, anyAsk) {
		first, ok := anew(c, x)
		if !ok {
			return
		}
		y := c.Send(retry(first, map[string]json.RawMessage{}))
		switch {
		case y.ResultType() == spec.ResultInputRequired, y.OK():
			c.Pass(y)
		default:
			c.Fail(y, "%s with no answer to what it asked was answered by %s, not asked again", x.Method, y.Brief()).And(first)
		}
	}
}

func extraIgnored(c *probe.Case) {
	for _, x := range askers(c, anyAsk) {
		good, ok := honest(c, x)
		if !ok {
			return
		}
		first, ok := anew(c, x)
		if !ok {
			return
		}
		all := replies(first)
		all["mcprove_extra"] = json.RawMessage(`{"action":"decline"}`)
		if y := c.Send(retry(first, all)); !y.OK() {
			c.Fail(y, "%s with one answer more than it asked for was answered by %s", x.Method, y.Brief()).And(first, good)
			continue
		}
		c.Pass(good)
	}
}

func malformedRefused(c *probe.Case) {
	for _, x := range askers(c, anyAsk) {
		for what, value := range map[string]string{"an array": `[]`, "a string": `"yes"`} {
			first, ok := anew(c, x)
			if !ok {
				return
			}
			y := c.Send(retry(first, nil).Param(spec.FieldInputResponses, value).Planting("inputResponses that is " + what))
			switch m := y.Message(); {
			case m != nil && m.Error != nil:
				c.Pass(y)
			default:
				c.Fail(y, "%s with inputResponses that is %s was answered by %s, not by an error", x.Method, what, y.Brief()).And(first)
			}
		}
	}
}

func responsesValidated(c *probe.Case) {
	for _, x := range askers(c, anyAsk) {
		first, ok := anew(c, x)
		if !ok {
			return
		}
		bad := map[string]json.RawMessage{}
		for k := range replies(first) {
			bad[k] = json.RawMessage(`5`)
		}
		y := c.Send(retry(first, bad).Planting("answers that are numbers"))
		if went(y) {
			c.Fail(y, "%s took a number for an answer", x.Method).And(first)
			continue
		}
		c.Pass(y)
	}
}

// contentValidated answers a form by values that its schema refuses: each field
// is an object.
func contentValidated(c *probe.Case) {
	for _, x := range askers(c, asking(func(a *ask) bool { return a.form() && len(fields(a)) > 0 })) {
		first, ok := anew(c, x)
		if !ok {
			return
		}
		bad := replies(first)
		for _, a := range inputsOf(first) {
			if !a.form() {
				continue
			}
			content := []byte(`{"action":"accept","content":{`)
			for i, f := range fields(&a) {
				if i > 0 {
					content = append(content, ',')
				}
				content = append(append(content, jsonx.Quote(f.Name)...), `:{"mcprove":true}`...)
			}
			bad[a.key] = append(content, "}}"...)
		}
		y := c.Send(retry(first, bad).Planting("content that breaks the form's schema"))
		if went(y) {
			c.Fail(y, "%s took content that breaks the schema of its form", x.Method).And(first)
			continue
		}
		c.Pass(y)
	}
}

func declineHandled(c *probe.Case) {
	for _, x := range askers(c, asking(isElicit)) {
		for _, action := range []string{"decline", "cancel"} {
			first, ok := anew(c, x)
			if !ok {
				return
			}
			all := replies(first)
			for _, a := range inputsOf(first) {
				if isElicit(&a) {
					all[a.key] = json.RawMessage(`{"action":"` + action + `"}`)
				}
			}
			y := c.Send(retry(first, all))
			switch {
			case y.Silent() || y.Died():
				c.Fail(y, "%s was not answered when the user chose %s: %s", x.Method, action, y.Brief()).And(first)
			case y.Is(spec.CodeInternalError):
				c.Fail(y, "%s was answered by an internal error when the user chose %s", x.Method, action).And(first)
			default:
				c.Pass(y)
			}
		}
	}
}
