// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
	"github.com/mcprove/mcprove/wire"
)

// jsonrpcResultRules are those of responses: what a result is, and an error.
var jsonrpcResultRules = []Rule{
	{
		Info: rule.Info{
			ID: "jsonrpc.result-field", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#result-responses",
			Title: "the result of a response is an object",
			Why:   "there is no place for resultType and _meta in anything else, and typed clients cannot read it",
			Fix:   "wrap what you answer in an object",
		},
		In: every, Watch: resultField, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Result(`"none"`)}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.result-xor-error", Level: rule.MustNot, Basis: rule.Keyword, Section: "2025-06-18/basic#responses",
			Title: "a response has a result or an error, not both and not neither",
			Why:   "one client takes it for a success and the next for a failure",
			Fix:   "leave error out of a success, null too, and result out of a failure",
		},
		In: every, Watch: resultXorError, Stir: refuseUnderID,
		Break:  Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/result", "{}")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(noMethodNamed).Remove("/error")}, Only: transport.StreamableHTTP}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.error-shape", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#error-responses",
			Title: "an error is an object with a code and a message",
			Why:   "clients have nothing to act on and nothing to show",
			Fix:   `send "error": {"code": ..., "message": "..."}, an integer and a string`,
		},
		In: every, Watch: errorShape, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Remove("/error/message")}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.error-code-integer", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#error-responses",
			Title: "the code of an error is an integer",
			Why:   "typed clients cannot read the error, and report a broken connection in its place",
			Fix:   "send the code as a JSON number without a fraction",
		},
		In: every, Watch: errorCodeInteger, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/code", `"-32601"`)}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.error-message-concise", Level: rule.Should, Basis: rule.Schema, Section: "2026-07-28/schema#error",
			Title: "the message of an error is one short sentence",
			Why:   "clients show it in a line of a log or a dialog, and hand it to models that pay for every word",
			Fix:   "say what is wrong in one line, and put details into data",
		},
		In: every, Watch: errorMessageConcise, Stir: refuseUnderID,
		Break: Break{Faults: []mock.Fault{mock.On(noMethodNamed).Set("/error/message", `"It failed.\nat line 1"`)}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.result-type-present", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#resulttype",
			Title: "every result has a resultType, a string",
			Why:   "a client cannot tell a final answer from one that asks for input, and must guess",
			Fix:   `add "resultType": "complete" to every final result`,
		},
		In: modern, Watch: resultTypePresent,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/resultType")}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.result-type-known-values", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#resulttype",
			Title: "resultType is complete, input_required, or a value of an extension that both sides declared",
			Why:   "clients must take a result of a type they do not know for invalid",
			Fix:   `say "complete" for a final result, and use an extension's type only with clients that declare the extension`,
		},
		In: modern, Watch: resultTypeKnown, Stir: discoverUnderIDs,
		Break: Break{Faults: []mock.Fault{unusualResult.Set("/result/resultType", `"done"`)}},
	},
	{
		Info: rule.Info{
			ID: "jsonrpc.result-type-complete-on-success", Level: rule.Must, Basis: rule.Prose, Section: "2026-07-28/basic#resulttype",
			Title: `a final result says resultType "complete"`,
			Why:   "the client goes on to ask, or to wait, for what is there already",
			Fix:   `say "complete" wherever nothing is left to do`,
		},
		In: modern, Watch: resultTypeComplete, Stir: discoverUnderIDs,
		Break: Break{
			Faults: []mock.Fault{unusualResult.Set("/result/resultType", `"input_required"`)},
			Also:   []string{"mrtr.supported-methods-only", "mrtr.at-least-one-field", "caching.interim-none"},
		},
	},
}

func resultField(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Messages(wire.Response) {
		if k := jsonx.KindOf(r.Message().Result); k != jsonx.Object {
			c.Fail(r.Exchange, "the result in %s is no object but %s", named(r), k.Name()).In(r.Frame, "/result")
			continue
		}
		c.Pass(r.Exchange)
	}
	c.Unseen("no result was seen")
}

func resultXorError(c *probe.Case, t *probe.Traffic) {
	for _, r := range t.Received() {
		m := r.Message()
		switch {
		case m.Has(wire.FaultBoth):
			c.Fail(r.Exchange, "%s has a result and an error", named(r)).In(r.Frame, "")
		case m.Has(wire.FaultNoKind) && m.JSONRPC != nil && m.ID != nil:
			c.Fail(r.Exchange, "%s has neither a result nor an error", named(r)).In(r.Frame, "")
		case m.IsResponse():
			c.Pass(r.Exchange)
		}
	}
	c.Unseen("no response was seen")
}

// errorsSeen are the messages that hold an error.
func errorsSeen(t *probe.Traffic) []probe.Received {
	return slices.DeleteFunc(t.Messages(wire.ErrorResponse), func(r probe.Received) bool { return !isMessage(r.Frame) })
}

// noErrors is why rules on errors have nothing to look at.
const noErrors = "no error was seen"

// atCode is where the code of an error stands.
const atCode = "/error/code"

func errorShape(c *probe.Case, t *probe.Traffic) {
	for _, r := range errorsSeen(t) {
		fs := r.Message().Faults
		i := slices.IndexFunc(fs, func(f wire.Fault) bool { return f.Code == wire.FaultErrorShape && f.Pointer != atCode })
		if i < 0 {
			c.Pass(r.Exchange)
			continue
		}
		c.Fail(r.Exchange, "%s: %s", named(r), fs[i].Detail).In(r.Frame, fs[i].Pointer)
	}
	c.Unseen(noErrors)
}

func errorCodeInteger(c *probe.Case, t *probe.Traffic) {
	for _, r := range errorsSeen(t) {
		m := r.Message()
		code := probe.Lookup(m.Error.Raw, "/code")
		switch {
		case code == nil: // the shape is wrong as a whole
		case slices.ContainsFunc(m.Faults, func(f wire.Fault) bool { return f.Code == wire.FaultErrorShape && f.Pointer == atCode }):
			c.Fail(r.Exchange, "the error in %s has the code %.40s, which is no integer", named(r), code).In(r.Frame, atCode)
		default:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen(noErrors)
}

// longMessage is how many characters nobody takes for a short sentence any
// more.
const longMessage = 300

func errorMessageConcise(c *probe.Case, t *probe.Traffic) {
	for _, r := range errorsSeen(t) {
		m := r.Message()
		if m.Has(wire.FaultErrorShape) {
			continue
		}
		switch text := unechoed(strings.TrimSpace(m.Error.Message), r.Exchange); {
		case text == "":
			c.Fail(r.Exchange, "the message of the error in %s is empty", named(r)).In(r.Frame, "/error/message")
		case strings.ContainsAny(text, "\r\n"):
			c.Fail(r.Exchange, "the message of the error in %s has %d lines", named(r), 1+strings.Count(text, "\n")).In(r.Frame, "/error/message")
		case len([]rune(text)) > longMessage:
			c.Fail(r.Exchange, "the message of the error in %s has %d characters", named(r), len([]rune(text))).In(r.Frame, "/error/message")
		default:
			c.Pass(r.Exchange)
		}
	}
	c.Unseen(noErrors)
}

// unechoed is a message without what it repeats of the request: how long that
// is was up to the client.
func unechoed(message string, x *probe.Exchange) string {
	if x == nil || x.Sent == nil || len(message) <= longMessage {
		return message
	}
	var long []string
	var gather func(json.RawMessage)
	gather = func(v json.RawMessage) {
		if s, ok := jsonx.Text(v); ok && len(s) > longEcho && !strings.ContainsAny(s, "\r\n") {
			long = append(long, s)
		}
		for _, m := range probe.Members(v) {
			gather(json.RawMessage(m.Value))
		}
		for _, e := range probe.Elements(v) {
			gather(e)
		}
	}
	gather(x.Sent.Message().Params)
	for _, s := range long {
		message = strings.ReplaceAll(message, s, "…")
	}
	return message
}

// longEcho is how long a text is that a server should rather not repeat, and
// may.
const longEcho = 100

// objects are the results that are objects; others have a rule of their own.
func objects(t *probe.Traffic) []*probe.Exchange {
	return slices.DeleteFunc(t.Results(), func(x *probe.Exchange) bool { return jsonx.KindOf(x.Result()) != jsonx.Object })
}

func resultTypePresent(c *probe.Case, t *probe.Traffic) {
	for _, x := range objects(t) {
		switch raw := x.Member(spec.FieldResultType); jsonx.KindOf(raw) {
		case jsonx.String:
			c.Pass(x)
		case 0:
			c.Fail(x, "the result of %s has no resultType", x.Method)
		default:
			c.Fail(x, "the resultType of %s is no string", x.Method).In(x.Response, "/result/"+spec.FieldResultType)
		}
	}
	c.Unseen("no result was seen")
}

// sharedExtensions are those that both sides of an exchange declare.
func sharedExtensions(t *probe.Traffic, x *probe.Exchange) []string {
	var out []string
	for _, ours := range probe.Members(x.Declared("extensions")) {
		for _, theirs := range probe.Members(probe.Lookup(t.Facts.Capabilities, "/extensions")) {
			if ours.Name == theirs.Name {
				out = append(out, ours.Name)
			}
		}
	}
	return out
}

func resultTypeKnown(c *probe.Case, t *probe.Traffic) {
	core := spec.ResultTypes(t.Revision)
	for _, x := range objects(t) {
		if jsonx.KindOf(x.Member(spec.FieldResultType)) != jsonx.String {
			continue
		}
		value, shared := x.ResultType(), sharedExtensions(t, x)
		switch {
		case slices.Contains(core, value):
			c.Pass(x)
		case value == spec.ResultTask && slices.Contains(shared, spec.ExtensionTasks):
			c.Pass(x)
		case slices.ContainsFunc(shared, func(e string) bool { return e != spec.ExtensionTasks }):
			// An extension that is not known here may define it.
		default:
			c.Fail(x, "the result of %s has the resultType %.60q, which neither the protocol nor an extension that both sides declared defines",
				x.Method, value).In(x.Response, "/result/"+spec.FieldResultType)
		}
	}
	c.Unseen("no result with a resultType was seen")
}

// resultTypeComplete judges methods that are answered once and for all. The
// others may ask for input or give a task.
func resultTypeComplete(c *probe.Case, t *probe.Traffic) {
	core := spec.ResultTypes(t.Revision)
	for _, x := range objects(t) {
		m, ok := spec.MethodAt(x.Method, t.Revision)
		if !ok || m.MultiRound {
			continue
		}
		switch value := x.ResultType(); {
		case value == spec.ResultComplete:
			c.Pass(x)
		case slices.Contains(core, value):
			c.Fail(x, "the result of %s, which is always final, has the resultType %s", x.Method, value).In(x.Response, "/result/"+spec.FieldResultType)
		}
	}
	c.Unseen("no result of a method that is answered at once was seen")
}
