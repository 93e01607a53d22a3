// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const ruleNameElsewhere = "http-header.name-not-needed-elsewhere"

// headerNameRules are those of Mcp-Name.
var headerNameRules = []Rule{
	{
		Info: rule.Info{
			ID: "http-header.name-missing-32020", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "a call, read or prompt without Mcp-Name is refused with -32020",
			Why:   "a gateway that admits by name sees none, and what it would have stopped is executed",
			Fix:   "answer HTTP 400 and error -32020 when tools/call, resources/read or prompts/get comes without Mcp-Name",
		},
		In: modern, Check: nameMissing,
		Break: Break{Faults: []mock.Fault{mock.Lenient(mock.CheckHeaderNameMissing)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.name-mismatch-tools", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "a tools/call whose Mcp-Name differs from params.name is refused with -32020",
			Why:   "a call that a gateway let pass as a harmless tool runs another one",
			Fix:   "compare Mcp-Name with params.name before the tool is looked up, and answer HTTP 400 and error -32020 where they differ",
		},
		In: modern, Check: func(c *probe.Case) { nameMismatch(c, "tools") }, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).Lenient(mock.CheckHeaderNameMismatch)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.name-mismatch-resources", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "a resources/read whose Mcp-Name differs from params.uri is refused with -32020",
			Why:   "a read that a gateway let pass as a public resource returns another one",
			Fix:   "compare Mcp-Name with params.uri, and answer HTTP 400 and error -32020 where they differ",
		},
		In: modern, Check: func(c *probe.Case) { nameMismatch(c, "resources") },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodResourcesRead).Lenient(mock.CheckHeaderNameMismatch)}},
	},
	{
		Info: rule.Info{
			ID: "http-header.name-mismatch-prompts", Level: rule.Must, Basis: rule.Keyword, Section: httpValidation, Transport: "http",
			Title: "a prompts/get whose Mcp-Name differs from params.name is refused with -32020",
			Why:   "a request that a gateway let pass as one prompt gets another one",
			Fix:   "compare Mcp-Name with params.name, and answer HTTP 400 and error -32020 where they differ",
		},
		In: modern, Check: func(c *probe.Case) { nameMismatch(c, "prompts") },
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsGet).Lenient(mock.CheckHeaderNameMismatch)}},
	},
	{
		Info: rule.Info{
			ID: ruleNameElsewhere, Level: rule.MustNot, Basis: rule.Derived, Section: httpStandard, Transport: "http",
			Title: "Mcp-Name is not demanded for methods that have nothing to name",
			Why:   "a client has no value to send, so a method that demands one can be reached by nobody",
			Fix:   "look at Mcp-Name for tools/call, resources/read and prompts/get alone",
		},
		In: modern, Check: nameNotNeeded,
		Break: Break{
			Faults: []mock.Fault{
				mock.On(spec.MethodResourceTemplatesList).When(mock.NoHeader(spec.HeaderName)).Error(spec.CodeHeaderMismatch, "Mcp-Name is missing"),
			},
		},
	},
	{
		Info: rule.Info{
			ID: "http-header.no-execution-on-mismatch", Level: rule.Must, Basis: rule.Derived, Section: httpValidation, Transport: "http",
			Title:  "a request that is refused for its headers is not executed",
			Why:    "the caller is told that nothing was done, and repeats what was done already",
			Fix:    "compare the headers before the tool is run",
			Detail: "judged by a tool that the user names and that reports progress: a call with another name in Mcp-Name must bring no report",
		},
		In: modern, Check: noExecution, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{
			mock.On(spec.MethodToolsCall).When(mock.HeaderIs(spec.HeaderName, otherName), mock.HasMeta(spec.MetaProgressToken)).
				Notify(spec.NotificationProgress, `{"progressToken":{{/params/_meta/progressToken}},"progress":1}`),
		}},
	},
}

// nameRequest is a request that Mcp-Name mirrors.
type nameRequest struct {
	family string
	*probe.Request
	name string // what the header says
	// real: the request names something that the server has, so that a fault
	// that is not seen is shown by a result.
	real bool
}

// Names that no server has.
const (
	noSuchName = "mcprove_no_such_name"
	otherName  = "mcprove_another_name"
	noSuchURI  = "mcprove://no-such/resource"
	// wideName cannot stand in a header as it is.
	wideName = "mcprove_no_such_name_\u00e9"
)

// unreal is a request for something that the server does not have, so that
// nothing is done even where a fault is not seen.
func unreal(c *probe.Case, family, name string) *nameRequest {
	method, member := spec.MethodToolsCall, "name"
	switch family {
	case "prompts":
		method = spec.MethodPromptsGet
	case "resources":
		method, member = spec.MethodResourcesRead, "uri"
	}
	return &nameRequest{family: family, Request: c.Request(method, "").Param(member, string(jsonx.Quote(name))), name: name}
}

// namedOf is the request of a family that tells most: a resource that is read
// or a prompt that is got, and a tool only where the user named it for the run.
// Whatever answers a request for nothing as it answers any request serves too.
func namedOf(c *probe.Case, family string) *nameRequest {
	switch family {
	case "tools":
		for _, t := range c.Probe().Callable() {
			if r := c.Probe().CallRequest(t.Item, t.Arguments); t.Named && c.Once(r).OK() {
				return &nameRequest{family, r, t.Name, true}
			}
		}
		return unreal(c, family, noSuchName)
	case "resources":
		for _, x := range c.Reads() {
			if x.OK() {
				return &nameRequest{family, x.Request, probe.Text(x.Request.Value("uri")), true}
			}
		}
		return unreal(c, family, noSuchURI)
	}
	for _, x := range c.Gets() {
		if x.OK() {
			return &nameRequest{family, x.Request, probe.Text(x.Request.Value("name")), true}
		}
	}
	return unreal(c, family, noSuchName)
}

// allNamed are the requests of the families that the server declares.
func allNamed(c *probe.Case) []*nameRequest {
	var out []*nameRequest
	for _, family := range []string{"resources", "prompts", "tools"} {
		if c.Facts().Declares(family) {
			out = append(out, namedOf(c, family))
		}
	}
	return out
}

// control is the request without a fault.
func (n *nameRequest) control(c *probe.Case) *probe.Exchange { return c.Once(n.Request) }

func (n *nameRequest) missing(c *probe.Case) *probe.Exchange {
	return c.Once(n.NoHeader(spec.HeaderName).Planting("no Mcp-Name for " + n.Method))
}

func (n *nameRequest) mismatch(c *probe.Case) *probe.Exchange {
	return c.Once(n.Header(spec.HeaderName, n.other()).Planting("an Mcp-Name that differs from the body of " + n.Method))
}

// other is a name that differs from that of the body.
func (n *nameRequest) other() string { return otherName }

// with sends the request with another value in Mcp-Name.
func (n *nameRequest) with(c *probe.Case, value, planting string) *probe.Exchange {
	return c.Once(n.Header(spec.HeaderName, value).Planting(planting))
}

// sound reports whether the request without a fault is served, or refused for
// what it names and nothing else.
func (n *nameRequest) sound(c *probe.Case) bool {
	x := n.control(c)
	if n.real || x.OK() {
		return x.OK()
	}
	code, refused := x.Code()
	return refused && !slices.Contains(elsewhere, code)
}

// elsewhere are the codes of a refusal that has nothing to do with what a
// request names.
var elsewhere = []int{spec.CodeHeaderMismatch, spec.CodeMissingClientCapability, spec.CodeUnsupportedVersion, spec.CodeMethodNotFound}

// alike reports whether an answer is that of the request without the fault.
func (n *nameRequest) alike(c *probe.Case, x *probe.Exchange) bool {
	control := n.control(c)
	if x.OK() {
		return control.OK()
	}
	a, okA := control.Code()
	b, okB := x.Code()
	return okA && okB && a == b
}

// judge says what an answer to a fault in Mcp-Name means. A server that looks
// for the tool or prompt before it compares names says the same with and
// without the fault when there is no such thing; which of both it does cannot
// be told from here, unless it passes over Mcp-Method as well.
func (n *nameRequest) judge(c *probe.Case, x *probe.Exchange, what string) {
	if n.real || !n.alike(c, x) {
		refusedForHeader(c, x, n.Request, what)
		return
	}
	c.Warn(x, "%s was answered like one with the right name, by %s: the name is not compared, or only after it was looked up", what, x.Brief()).
		And(n.control(c))
}

func nameMissing(c *probe.Case) {
	ns := allNamed(c)
	for _, n := range ns {
		if !n.sound(c) {
			c.Lacks(n.control(c))
			continue
		}
		n.judge(c, n.missing(c), n.Method+" without Mcp-Name")
	}
	if len(ns) == 0 {
		c.Skip(nothingNamed)
	}
}

const nothingNamed = "the server declares no tools, prompts or resources"

func nameMismatch(c *probe.Case, family string) {
	if !c.Declared(family) {
		return
	}
	n := namedOf(c, family)
	if !n.sound(c) {
		c.Lacks(n.control(c))
		return
	}
	n.judge(c, n.mismatch(c), n.Method+" with another name in Mcp-Name")
}

// nameNotNeeded looks at what was asked without Mcp-Name at the start. Only a
// refusal that ends when the header is there shows that it was demanded.
func nameNotNeeded(c *probe.Case) {
	xs := []*probe.Exchange{c.Facts().Greeting}
	for _, l := range c.Facts().Lists {
		xs = append(xs, l.Pages[0])
	}
	for _, x := range xs {
		switch {
		case x.OK():
			c.Pass(x)
		case x.Is(spec.CodeHeaderMismatch):
			if y := c.Once(x.Request.Header(spec.HeaderName, noSuchName)); y.OK() {
				c.Fail(x, "%s without Mcp-Name was refused with error %d, and served with one", x.Method, spec.CodeHeaderMismatch).And(y)
			}
		}
	}
	c.Unseen("no method without a name was served")
}

// noExecution calls a tool that reports progress when it runs, under another
// name in its header: then nothing may be reported.
func noExecution(c *probe.Case) {
	if !c.Declared("tools") {
		return
	}
	for _, t := range c.Probe().Callable() {
		if !t.Named {
			continue
		}
		r := c.Probe().CallRequest(t.Item, t.Arguments).Progress(`"mcprove-refused"`)
		control := c.Once(r)
		if !control.OK() || len(control.Notifications("")) == 0 {
			continue
		}
		x := c.Once(r.Header(spec.HeaderName, otherName).Planting("an Mcp-Name that differs from the body of " + r.Method))
		switch {
		case x.OK():
			c.SkipFor("http-header.name-mismatch-tools", "the call is not refused")
		case len(x.Notifications("")) > 0:
			c.Fail(x, "a call of %s was refused for its Mcp-Name after it had begun to report", quoted(t.Name)).And(control).Of("tool", t.Name)
		default:
			c.Pass(x)
		}
		return
	}
	c.Skip("it needs a tool that reports progress, named with --tool 'NAME={...}'")
}

func upper(s string) string { return strings.ToUpper(s) }
