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

// metaCapabilityRules are those of capabilities that a client did not declare,
// and of what a server says of itself in results.
var metaCapabilityRules = []Rule{
	{
		Info: rule.Info{
			ID: "meta.missing-capability-32021", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "what cannot be done without a capability that the client did not declare is answered with -32021",
			Why:   "the client is not told what it would have to offer, and takes the tool for broken",
			Fix:   "answer -32021 with what is missing under data.requiredCapabilities",
		},
		In: modern, Check: missingCapability, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeMissingClientCapability).Set("/error/code", "-32603")}},
	},
	{
		Info: rule.Info{
			ID: "meta.missing-capability-data", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#missingrequiredclientcapabilityerror",
			Title: "error -32021 lists what is missing in data.requiredCapabilities",
			Why:   "the client knows that something is missing and not what, so nobody can switch it on",
			Fix:   "send requiredCapabilities in the form of client capabilities, with those that are missing and no other",
		},
		In: modern, Watch: missingCapabilityData, Stir: callWithoutCapabilities, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeMissingClientCapability).Remove("/error/data/requiredCapabilities")}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeMissingClientCapability).Set("/error/data/requiredCapabilities", `["elicitation"]`)}},
		},
	},
	{
		Info: rule.Info{
			ID: "meta.missing-capability-http-400", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta", Transport: "http",
			Title: "over HTTP error -32021 has status 400",
			Why:   "proxies and logs count the request as served, and clients that look at the status first go on",
			Fix:   "answer with status 400 where a client capability is missing",
		},
		In: modern, Watch: missingCapabilityStatus, Stir: callWithoutCapabilities, Needs: "--tool",
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodToolsCall).OfCode(spec.CodeMissingClientCapability).Status(200)}},
	},
	{
		Info: rule.Info{
			ID: "meta.no-undeclared-capability", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a server does not rely on a client capability that the request did not declare",
			Why:   "the client has nobody who could answer, so the call ends there",
			Fix:   "look at the capabilities of each request before you ask for input",
		},
		In: modern, Watch: noUndeclaredCapability, Stir: callWithoutCapabilities, Needs: "--tool",
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodToolsCall).When(mock.MetaIs(spec.MetaClientCapabilities, "{}")).Lenient(mock.CheckClientCapability)},
		},
	},
	{
		Info: rule.Info{
			ID: "meta.server-info-stamp", Level: rule.Should, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "every result names the server in _meta",
			Why:   "without a handshake nothing else says which server and version answered",
			Fix:   "put " + spec.MetaServerInfo + " with name and version into _meta of every result",
		},
		In: modern, Watch: serverInfoStamp, Stir: discoverUnderIDs,
		Break: Break{Faults: []mock.Fault{unusualResult.Remove(atServerInfo)}},
	},
	{
		Info: rule.Info{
			ID: "meta.server-info-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#implementation",
			Title: "serverInfo in _meta has a name and a version, strings",
			Why:   "typed clients cannot read the result, whatever else is in it",
			Fix:   "send name and version as strings, and the rest as the schema has it",
		},
		In: modern, Watch: serverInfoShape, Stir: discoverUnderIDs,
		Break: Break{Faults: []mock.Fault{unusualResult.Set(atServerInfo+"/version", "2")}},
	},
}

// atServerInfo is where a result names its server.
var atServerInfo = jsonx.Push("/result/_meta", spec.MetaServerInfo)

// callWithoutCapabilities calls, gets and reads as a client that can do
// nothing.
func callWithoutCapabilities(c *probe.Case) {
	c.Calls()
	c.Gets()
	for _, ask := range c.Asks() {
		c.Once(ask.Request.Capabilities(`{}`))
	}
}

// askedFor are the client capabilities that the input requests of a result
// need, in a fixed order.
func askedFor(x *probe.Exchange) []string {
	var out []string
	for _, ask := range probe.Members(x.Member("inputRequests")) {
		method := probe.Text(probe.Lookup([]byte(ask.Value), "/method"))
		m, ok := spec.MethodAt(method, x.Revision())
		if ok && m.Capability.Side == spec.Client && m.Capability.Path != "" && !slices.Contains(out, m.Capability.Path) {
			out = append(out, m.Capability.Path)
		}
	}
	slices.Sort(out)
	return out
}

// missingCapability repeats, without any capability, what asked for input when
// there were all.
func missingCapability(c *probe.Case) {
	for _, ask := range c.Asks() {
		needs := strings.Join(askedFor(ask), ", ")
		if needs == "" {
			continue // it only wants to be asked again
		}
		x := c.Once(ask.Request.Capabilities(`{}`))
		switch {
		case x.Is(spec.CodeMissingClientCapability):
			c.Pass(x)
		case x.ResultType() == spec.ResultInputRequired && len(askedFor(x)) > 0:
			c.SkipFor("meta.no-undeclared-capability", "%s asks a client for %s that declared nothing", x.Method, needs)
		case x.OK() && jsonx.KindOf(x.Member("isError")) == jsonx.True:
			c.Warn(x, "%s needs %s, and was answered by a result with isError without it, not by error %d", x.Method, needs, spec.CodeMissingClientCapability).And(ask)
		case x.OK():
			// It can do without.
		default:
			c.Fail(x, "%s needs %s, and was answered by %s without it, not by error %d", x.Method, needs, x.Brief(), spec.CodeMissingClientCapability).And(ask)
		}
	}
	c.Unseen(probe.NoAsk)
}

// lacking are the answers with -32021.
func lacking(t *probe.Traffic) []*probe.Exchange {
	return slices.DeleteFunc(t.Errors(), func(x *probe.Exchange) bool { return !x.Is(spec.CodeMissingClientCapability) })
}

// noLack is why there is no such answer.
const noLack = "nothing was refused for a missing client capability: name a tool that asks for input with --tool 'NAME={...}'"

func missingCapabilityData(c *probe.Case, t *probe.Traffic) {
	for _, x := range lacking(t) {
		required := x.Data("requiredCapabilities")
		const at = "/error/data/requiredCapabilities"
		vs, err := spec.ValidateDefinition(t.Revision, "ClientCapabilities", required)
		switch {
		case required == nil:
			c.Fail(x, "error %d to %s has no data.requiredCapabilities", spec.CodeMissingClientCapability, x.Method).In(x.Response, "/error")
		case err == nil && len(vs) > 0:
			c.Fail(x, "data.requiredCapabilities is not in the form of client capabilities: %s", vs[0]).In(x.Response, at)
		case len(probe.Members(required)) == 0:
			c.Fail(x, "data.requiredCapabilities of error %d to %s names nothing", spec.CodeMissingClientCapability, x.Method).In(x.Response, at)
		default:
			declaredAlready(c, x, required, at)
		}
	}
	c.Unseen(noLack)
}

// declaredAlready blames an error that misses nothing but what the request
// declares.
func declaredAlready(c *probe.Case, x *probe.Exchange, required []byte, at string) {
	for _, m := range probe.Members(required) {
		declared := x.Declared(m.Name)
		if declared == nil {
			c.Pass(x)
			return
		}
		for _, part := range probe.Members([]byte(m.Value)) {
			if probe.Lookup(declared, jsonx.Push("", part.Name)) == nil {
				c.Pass(x)
				return
			}
		}
	}
	c.Fail(x, "error %d to %s misses %.100s, which the request declares", spec.CodeMissingClientCapability, x.Method, required).In(x.Response, at)
}

func missingCapabilityStatus(c *probe.Case, t *probe.Traffic) {
	info, _ := spec.ErrorCode(spec.CodeMissingClientCapability, t.Revision)
	for _, x := range lacking(t) {
		if x.Head != nil && x.Status() != info.Status {
			c.Fail(x, "error %d to %s came with HTTP %d, not %d", info.Code, x.Method, x.Status(), info.Status)
			continue
		}
		c.Pass(x)
	}
	c.Unseen(noLack)
}

// noUndeclaredCapability holds what is asked for against what the request
// declares.
func noUndeclaredCapability(c *probe.Case, t *probe.Traffic) {
	for _, x := range t.Results() {
		m, ok := spec.MethodAt(x.Method, t.Revision)
		if !ok || !m.MultiRound {
			continue
		}
		bad := slices.DeleteFunc(askedFor(x), func(path string) bool { return x.Declared(path) != nil })
		if len(bad) > 0 {
			c.Fail(x, "%s asks for %s, which the request does not declare", x.Method, strings.Join(bad, ", ")).In(x.Response, "/result/inputRequests")
			continue
		}
		c.Pass(x)
	}
	for _, x := range lacking(t) {
		c.Pass(x)
	}
	c.Unseen("nothing that may ask for input was called, got or read: %s", probe.NoTool)
}

func serverInfoStamp(c *probe.Case, t *probe.Traffic) {
	for _, x := range objects(t) {
		if probe.Lookup(x.Result(), strings.TrimPrefix(atServerInfo, "/result")) == nil {
			c.Fail(x, "the result of %s does not name the server: _meta has no %s", x.Method, spec.MetaServerInfo).In(x.Response, "/result")
			continue
		}
		c.Pass(x)
	}
	c.Unseen("no result was seen")
}

func serverInfoShape(c *probe.Case, t *probe.Traffic) {
	for _, x := range objects(t) {
		info := probe.Lookup(x.Result(), strings.TrimPrefix(atServerInfo, "/result"))
		if info == nil {
			continue
		}
		if vs, err := spec.ValidateDefinition(t.Revision, "Implementation", info); err == nil && len(vs) > 0 {
			c.Fail(x, "serverInfo in the result of %s: %s", x.Method, vs[0]).In(x.Response, atServerInfo+vs[0].Pointer)
			continue
		}
		c.Pass(x)
	}
	c.Unseen("no result names its server")
}
