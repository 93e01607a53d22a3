// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const (
	paramServer   = httpPage + "#server-behavior-for-custom-headers"
	ruleParamSeen = "x-mcp-header.server-checks-match"
)

// paramCallRules are those of what a server does with Mcp-Param headers. A
// server that does not look at them runs the tool, so a header that is wrong is
// sent to no tool but one that the user named.
var paramCallRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleParamSeen, Level: rule.Must, Basis: rule.Keyword, Section: paramServer, Transport: "http",
			Title: "an Mcp-Param header that differs from its argument is refused with -32020",
			Why:   "a call that a gateway let pass for one tenant or region is executed for another",
			Fix:   "compare each annotated argument with its header, and answer HTTP 400 and error -32020 where they differ",
		},
		In: modern, Check: paramMismatch, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderParamMismatch)}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.server-refuses-missing", Level: rule.Must, Basis: rule.Keyword, Section: paramServer, Transport: "http",
			Title: "a value for an annotated argument without its header is refused with -32020",
			Why:   "who leaves the header out goes around the policy that looks at it",
			Fix:   "answer HTTP 400 and error -32020 when an annotated argument has a value and its header is missing",
		},
		In: modern, Check: paramMissing, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderParamMissing)}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.server-accepts-null-without", Level: rule.MustNot, Basis: rule.Keyword, Section: paramServer, Transport: "http",
			Title: "no header is expected for an annotated argument that is null or absent",
			Why:   "clients must not send one, so the tool cannot be called without the argument",
			Fix:   "look for the header only where the argument has a value",
		},
		In: modern, Check: paramAbsent, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.HasParam("/arguments/region"), mock.NoParam("/arguments/copies")).
				Error(spec.CodeHeaderMismatch, "Mcp-Param-Copies is missing"),
		}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.server-decodes", Level: rule.Must, Basis: rule.Keyword, Section: httpEncoding, Transport: "http",
			Title: "an Mcp-Param header in Base64 form is decoded before it is compared",
			Why:   "no call with a letter beyond ASCII in an annotated argument succeeds",
			Fix:   "decode what stands between =?base64? and ?= as Base64 of UTF-8, then compare it with the argument",
		},
		In: modern, Check: paramDecoded, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderParamDecode)}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.server-refuses-invalid-chars", Level: rule.Must, Basis: rule.Keyword, Section: paramServer, Transport: "http",
			Title: "an Mcp-Param header with bytes beyond printable ASCII is refused",
			Why:   "what stands between reads such bytes in one encoding or another, so header and argument are no longer the same for all",
			Fix:   "answer HTTP 400 and error -32020 when the value holds a byte outside 0x20 to 0x7E but a tab",
		},
		In: modern, Check: paramCharacters, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.HasHeader(spec.HeaderParamPrefix + "Region")).Lenient(mock.CheckHeaderChars)}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.server-numeric-compare", Level: rule.Should, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "integers in Mcp-Param headers are compared as numbers: 42.0 is 42",
			Why:   "clients whose language has one kind of number write the same value in another way, and are refused",
			Fix:   "read the header as a number before you compare it with an integer argument",
		},
		In: modern, Check: paramNumeric, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderParamNumeric)}},
	},
	{
		Info: rule.Info{
			ID: "x-mcp-header.server-ignores-unrecognised", Level: rule.Must, Basis: rule.Derived, Section: paramServer, Transport: "http",
			Title: "an Mcp-Param header that the server does not know is ignored",
			Why:   "a client with an older list of tools, or a gateway that adds a header, is refused",
			Fix:   "look only at the headers that the tool's schema names",
		},
		In: modern, Check: paramUnknown,
		Break: Break{Faults: []mock.Fault{mock.On("").When(mock.HasHeader(unknownParam)).Error(spec.CodeInvalidRequest, "unknown header")}},
	},
}

// unknownParam is a header that no tool names.
const unknownParam = spec.HeaderParamPrefix + "Mcprove-Unknown"

// paramCall is a call with a value in an annotated argument.
type paramCall struct {
	tool  probe.Tool
	param spec.ParamHeader
	value json.RawMessage
	*probe.Request
}

// text is what the header of the argument says.
func (m *paramCall) text() string {
	if s, ok := jsonx.Text(m.value); ok {
		return s
	}
	return string(m.value)
}

// mirroredCall finds a call with an annotated argument of one of the types, of
// a tool that may be called. The case is skipped when there is none, or the call
// does not work.
func mirroredCall(c *probe.Case, types ...string) (m *paramCall, ok bool) {
	if !c.Declared("tools") {
		return nil, false
	}
	seen := false
	for _, t := range c.Probe().Callable() {
		hs, err := spec.ParseParamHeaders(t.Get("inputSchema"))
		if err != nil {
			continue
		}
		for _, p := range hs.Valid {
			if len(types) > 0 && !strings.Contains(strings.Join(types, " "), p.Type) {
				continue
			}
			seen = true
			arguments, value := withValue(t, p)
			if value == nil {
				continue
			}
			m = &paramCall{t, p, value, c.Probe().CallRequest(t.Item, arguments)}
			if c.Once(m.Request).OK() {
				return m, true
			}
		}
	}
	switch {
	case m != nil:
		c.Lacks(c.Once(m.Request))
	case seen:
		c.Skip("no value was found for an argument with x-mcp-header: name the tool with --tool 'NAME={...}'")
	default:
		c.Skip("no tool that may be called has x-mcp-header on such an argument; --tool 'NAME={...}' names one")
	}
	return nil, false
}

// namedCall is mirroredCall of a tool that the user named, since a server which
// does not compare headers runs it.
func namedCall(c *probe.Case, types ...string) (m *paramCall, ok bool) {
	if m, ok = mirroredCall(c, types...); !ok {
		return nil, false
	}
	if !m.tool.Named {
		c.Skip("it sends a call with a wrong header, which a server that does not look executes: allow it with --tool '%s={...}'", m.tool.Name)
		return nil, false
	}
	return m, true
}

// wrongValue is a header that says something else than the argument.
func (m *paramCall) wrongValue() string {
	switch {
	case m.param.Type != "boolean":
		return m.text() + "7"
	case m.text() == "true":
		return "false"
	}
	return "true"
}

func (m *paramCall) mismatch(c *probe.Case) *probe.Exchange {
	return c.Once(m.Header(m.param.HeaderName(), spec.EncodeHeaderValue(m.wrongValue())).Planting("an Mcp-Param header that differs from its argument"))
}

func paramMismatch(c *probe.Case) {
	if m, ok := namedCall(c); ok {
		refusedForHeader(c, m.mismatch(c), m.Request, m.param.HeaderName()+" that differs from its argument")
	}
}

func paramMissing(c *probe.Case) {
	if m, ok := namedCall(c); ok {
		x := c.Once(m.NoHeader(m.param.HeaderName()).Planting("no Mcp-Param header for an argument"))
		refusedForHeader(c, x, m.Request, "a call without "+m.param.HeaderName())
	}
}

// paramAbsent calls a tool without an annotated argument that may be left out,
// and with null in it where the schema takes that.
func paramAbsent(c *probe.Case) {
	if !c.Declared("tools") {
		return
	}
	for _, t := range c.Probe().Callable() {
		schema := t.Get("inputSchema")
		whole, _ := schemaset.Parse(schema, schemaset.ParseOptions{})
		hs, err := spec.ParseParamHeaders(schema)
		if err != nil || whole == nil {
			continue
		}
		for _, p := range hs.Valid {
			for what, v := range map[string]json.RawMessage{"absent": nil, "null": json.RawMessage("null")} {
				arguments := put(t.Arguments, p.Path, v)
				if schemaset.Eval(arguments, whole) != schemaset.Yes {
					continue
				}
				x := c.Once(c.Probe().CallRequest(t.Item, arguments))
				if x.Is(spec.CodeHeaderMismatch) {
					c.Fail(x, "a call of %s with its argument %s %s was refused with error %d", quoted(t.Name), quoted(p.Path[len(p.Path)-1]), what, spec.CodeHeaderMismatch).
						Of("tool", t.Name)
					return
				}
				if x.Response != nil {
					c.Pass(x)
				}
			}
		}
	}
	c.Unseen("no tool that may be called has x-mcp-header on an argument that may be left out")
}

// paramDecoded is a call that any client may make. What is not refused proves
// something only where a wrong header is.
func paramDecoded(c *probe.Case) {
	m, ok := mirroredCall(c, "string")
	if !ok {
		return
	}
	x := c.Once(m.Header(m.param.HeaderName(), spec.Base64HeaderValue(m.text())))
	switch {
	case !x.OK():
		c.Fail(x, "a call with %s in Base64 form was answered by %s", m.param.HeaderName(), x.Brief()).And(c.Once(m.Request)).Of("tool", m.tool.Name)
	case compared(c, m):
		c.Pass(x)
	}
}

// compared reports whether the server compares the header of a call. The case
// is skipped where it does not, or that cannot be asked.
func compared(c *probe.Case, m *paramCall) bool {
	if !m.tool.Named {
		c.Skip("it worked; whether the header was looked at is told only by a call with a wrong one: allow it with --tool '%s={...}'", m.tool.Name)
		return false
	}
	if !m.mismatch(c).Is(spec.CodeHeaderMismatch) {
		c.SkipFor(ruleParamSeen, "the header is not compared: another value in it was not refused with error %d", spec.CodeHeaderMismatch)
		return false
	}
	return true
}

// paramNumeric writes an integer with a fraction of zero.
func paramNumeric(c *probe.Case) {
	m, ok := namedCall(c, "integer")
	if !ok || !compared(c, m) {
		return
	}
	x := c.Once(m.Header(m.param.HeaderName(), m.text()+".0").Planting("an integer with a fraction of zero in its header"))
	if x.OK() {
		c.Pass(x)
		return
	}
	c.Fail(x, "%s: %s.0 for the argument %s was answered by %s", m.param.HeaderName(), m.text(), m.text(), x.Brief()).And(c.Once(m.Request)).Of("tool", m.tool.Name)
}

// paramCharacters sends an argument whose letters stand in the header as they
// are, so that a server which takes the bytes finds header and argument equal.
func paramCharacters(c *probe.Case) {
	for _, t := range c.Probe().Callable() {
		whole, _ := schemaset.Parse(t.Get("inputSchema"), schemaset.ParseOptions{})
		hs, err := spec.ParseParamHeaders(t.Get("inputSchema"))
		if err != nil || whole == nil || !t.Named {
			continue
		}
		for _, p := range hs.Valid {
			value := json.RawMessage(`"a\u00e9"`)
			arguments := put(t.Arguments, p.Path, value)
			m := &paramCall{t, p, value, c.Probe().CallRequest(t.Item, arguments)}
			if p.Type != "string" || schemaset.Eval(arguments, whole) != schemaset.Yes || !c.Once(m.Request).OK() {
				continue
			}
			if compared(c, m) {
				m.characters(c)
			}
			return
		}
	}
	c.Skip("it needs a tool with x-mcp-header on a string that may hold any letter, named with --tool 'NAME={...}'")
}

func (m *paramCall) characters(c *probe.Case) {
	x := c.Once(m.Header(m.param.HeaderName(), m.text()).Planting("bytes beyond ASCII in an Mcp-Param header"))
	switch {
	case x.Sent == nil || x.Head == nil && !x.Silent() && !x.Died():
		c.Skip("such a header cannot be sent: %s", x.Brief())
	case x.Is(spec.CodeHeaderMismatch), x.Status() == http.StatusBadRequest:
		c.Pass(x)
	default:
		c.Fail(x, "a call with bytes beyond ASCII in %s was answered by %s", m.param.HeaderName(), x.Brief()).And(c.Once(m.Request)).Of("tool", m.tool.Name)
	}
}

func paramUnknown(c *probe.Case) {
	plain, ok := c.Plain()
	if !ok {
		return
	}
	x := c.Once(plain.Header(unknownParam, "1"))
	if x.OK() {
		c.Pass(x)
		return
	}
	c.Fail(x, "%s with the unknown header %s was answered by %s", plain.Method, unknownParam, x.Brief()).And(c.Once(plain))
}
