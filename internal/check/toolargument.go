// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/spec"
)

// mostArgumentTools bounds the tools that are called with bad arguments, and
// mostHostile the hostile calls of each.
const (
	mostArgumentTools = 2
	mostHostile       = 3
)

// badArguments are arguments that a tool's schema refuses, with what is wrong
// with them.
type badArguments struct {
	arguments json.RawMessage
	what      string
	kind      badKind
}

type badKind uint8

const (
	leftOut badKind = iota // a required argument
	madeUp                 // a value that a model may make up
	hostile                // a value that code which trusts its input stumbles over
)

// refusedArguments changes good arguments so that the schema refuses them, one
// thing at a time: a required one is left out, one has a wrong type, one is too
// many. A property that a header mirrors is left alone, since the header would
// be wrong as well.
func refusedArguments(t probe.Tool) []badArguments {
	schema, _ := schemaset.Parse(t.Get("inputSchema"), schemaset.ParseOptions{})
	var out []badArguments
	add := func(kind badKind, what string, arguments json.RawMessage) {
		if schemaset.Eval(arguments, schema) == schemaset.No {
			out = append(out, badArguments{arguments, what, kind})
		}
	}
	for _, r := range probe.Elements(probe.Lookup(t.Get("inputSchema"), "/required")) {
		name := probe.Text(r)
		if !hasHeader(t.Item, name) {
			add(leftOut, "without the argument "+brief(name)+", which is required", withArgument(t.Arguments, name, nil))
		}
	}
	for _, m := range probe.Members(probe.Lookup(t.Get("inputSchema"), "/properties")) {
		if hasHeader(t.Item, m.Name) {
			continue
		}
		for _, w := range wrongValues {
			add(w.kind, "with "+w.text+" as the argument "+brief(m.Name), withArgument(t.Arguments, m.Name, json.RawMessage(w.text)))
		}
	}
	return out
}

// wrongValues stand in for an argument, where the schema refuses them there.
var wrongValues = []struct {
	text string
	kind badKind
}{{`{"mcprove":1}`, madeUp}, {`[["mcprove"]]`, hostile}, {`null`, hostile}}

// withArgument sets a member of an object of arguments, or takes it out.
func withArgument(arguments json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	put := func(name string, value []byte) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(jsonx.Quote(name))
		b.WriteByte(':')
		b.Write(value)
	}
	done := value == nil
	for _, m := range probe.Members(arguments) {
		switch {
		case m.Name != name:
			put(m.Name, m.Value)
		case !done:
			put(name, value)
			done = true
		}
	}
	if !done {
		put(name, value)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

// hasHeader reports whether an HTTP header mirrors an argument, or a part of it.
func hasHeader(i probe.Item, name string) bool {
	hs, err := spec.ParseParamHeaders(i.Get("inputSchema"))
	if err != nil {
		return false
	}
	for _, h := range hs.Valid {
		if len(h.Path) > 0 && h.Path[0] == name {
			return true
		}
	}
	return false
}

func invalidArguments(c *probe.Case) { eachBadCall(c, invalidCall) }

// eachBadCall calls tools with arguments that their schemas refuse, and has each
// answer x judged beside a call that works. It ends where judge says that there is
// no point in another one.
func eachBadCall(c *probe.Case, judge func(c *probe.Case, t probe.Tool, b badArguments, control, x *probe.Exchange) bool) {
	tools := 0
	for _, t := range callable(c) {
		bad := slices.Concat(some(refusedArguments(t), leftOut, 1), some(refusedArguments(t), madeUp, 1))
		if len(bad) == 0 {
			continue
		}
		control, ok := goodCall(c, t)
		if !ok {
			continue
		}
		for _, b := range bad {
			x := c.Send(c.Probe().CallRequest(t.Item, b.arguments).Planting("a call " + b.what))
			switch {
			case busy(x):
				c.Skip("the call was answered by %s", x.Brief())
				return
			case x.Silent(), x.Died():
				c.SkipFor("tools.inputs-validated", "a call of the tool %s %s was answered by %s", brief(t.Name), b.what, x.Brief())
				return
			case !judge(c, t, b, control, x):
				return
			}
		}
		if tools++; tools == mostArgumentTools {
			return
		}
	}
	if tools == 0 {
		c.Skip("no tool that may be called works and has a schema that refuses some arguments")
	}
}

// invalidCall judges one call with bad arguments. It returns false when there
// is no point in another one.
func invalidCall(c *probe.Case, t probe.Tool, b badArguments, control, x *probe.Exchange) bool {
	switch {
	case x.OK() && x.ResultType() == spec.ResultInputRequired:
		c.Skip("the tool %s asks for what is missing", brief(t.Name))
	case x.OK() && isError(x):
		c.Pass(x)
	case x.OK():
		c.Fail(x, "a call of the tool %s %s gives a result without isError, and its inputSchema refuses that", brief(t.Name), b.what).And(control).Of("tool", t.Name)
	case x.Is(spec.CodeInvalidParams):
		c.Warn(x, "a call of the tool %s %s is answered by error %d, as the message schema lists it; the section asks for a result with isError, which a model can see", brief(t.Name), b.what, spec.CodeInvalidParams).Of("tool", t.Name)
		return false // the others would say the same
	default:
		c.Fail(x, "a call of the tool %s %s is answered by %s, not by a result with isError", brief(t.Name), b.what, x.Brief()).And(control).Of("tool", t.Name)
	}
	return true
}

// some are the first bad arguments of a kind.
func some(bad []badArguments, kind badKind, most int) []badArguments {
	bad = slices.DeleteFunc(slices.Clone(bad), func(b badArguments) bool { return b.kind != kind })
	return bad[:min(len(bad), most)]
}

func inputsValidated(c *probe.Case) {
	tools := callable(c)
	if len(tools) == 0 {
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	tried, accepted := 0, ""
	for _, t := range tools {
		all := refusedArguments(t)
		bad := slices.Concat(some(all, leftOut, 1), some(all, hostile, mostHostile))
		if len(bad) == 0 {
			continue
		}
		control := c.SendOn(conn, c.Probe().CallRequest(t.Item, t.Arguments))
		if !control.Complete() || isError(control) {
			continue
		}
		for _, b := range bad {
			x := c.SendOn(conn, c.Probe().CallRequest(t.Item, b.arguments).Planting("a call "+b.what))
			switch code, coded := x.Code(); {
			case x.Died():
				c.Fail(x, "a call of the tool %s %s is answered by nothing: %s", brief(t.Name), b.what, x.Brief()).And(control).Of("tool", t.Name)
				return
			case x.Silent():
				c.Warn(x, "a call of the tool %s %s gives no answer in time", brief(t.Name), b.what).And(control).Of("tool", t.Name)
				return
			case coded && code == spec.CodeInternalError, !coded && x.Status() >= 500:
				c.Warn(x, "a call of the tool %s %s is answered by %s, as if nobody had looked at the arguments", brief(t.Name), b.what, x.Brief()).And(control).Of("tool", t.Name)
			case x.Refused(), x.OK() && isError(x):
				c.Pass(x)
			case x.OK():
				accepted = t.Name
			}
		}
		if tried++; tried == mostArgumentTools {
			break
		}
	}
	switch {
	case tried == 0:
		c.Skip("no tool that may be called works and has a schema that refuses some arguments")
	case accepted != "":
		c.SkipFor(ruleBadArguments(c.Probe().Revision()), "the tool %s takes arguments that its schema refuses, and survives them", brief(accepted))
	}
}
