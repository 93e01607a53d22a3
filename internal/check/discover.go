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

// discoverRules are those of server/discover.
var discoverRules = []Rule{
	{
		Info: rule.Info{
			ID: "discover.implemented", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/server/discover#overview",
			Title: "the server implements server/discover",
			Why:   "a client cannot learn what the server offers and which versions it speaks, and may take it for one of the handshake era",
			Fix:   "answer server/discover by a result, as the first request too",
		},
		In: modern, Check: discoverImplemented,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Error(spec.CodeMethodNotFound, "Method not found")}},
	},
	{
		Info: rule.Info{
			ID: "discover.result-shape", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#discoverresult",
			Title: "the result of server/discover has the shape of the schema",
			Why:   "typed clients fail to read it, and never get to the first tool",
			Fix:   "send supportedVersions as an array of strings and capabilities as an object of the members that the schema names",
		},
		In: modern, Check: discoverShape,
		Break:  Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/instructions", "5")}},
		Breaks: []Break{{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/capabilities/experimental", "5")}}},
	},
	{
		Info: rule.Info{
			ID: "discover.supported-versions", Level: rule.Must, Basis: rule.Prose, Section: "2026-07-28/server/discover#discoverresult",
			Title: "supportedVersions names the versions that the server accepts",
			Why:   "a client that trusts the list gives up on a server that would have served it, or asks for what is refused",
			Fix:   "list every version that requests may name, and no other",
		},
		In: modern, Check: discoverSupported,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/supportedVersions", `["2024-11-05","2025-03-26","2025-06-18","2025-11-25"]`)},
			Also:   []string{"discover.lists-agree"},
		},
	},
	{
		Info: rule.Info{
			ID: "discover.lists-agree", Level: rule.Should, Basis: rule.Derived, Section: "2026-07-28/basic/versioning#protocol-version-negotiation",
			Title: "the versions of discover and those of the version error are the same",
			Why:   "which version a client ends up with depends on how it asked",
			Fix:   "make both lists from one place",
		},
		In: modern, Check: discoverListsAgree,
		Break: Break{Faults: []mock.Fault{mock.On("").OfCode(spec.CodeUnsupportedVersion).Set("/error/data/supported", `["2026-07-28"]`)}},
	},
	{
		Info: rule.Info{
			ID: "discover.server-info", Level: rule.Should, Basis: rule.Keyword, Section: "2026-07-28/server/discover#discoverresult",
			Title: "the result of server/discover names the server in _meta",
			Why:   "logs and people cannot tell which server and version answered",
			Fix:   "put serverInfo with name and version under " + spec.MetaServerInfo + " in _meta",
		},
		In: modern, Check: discoverServerInfo,
		Break: Break{
			Faults: []mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/_meta/io.modelcontextprotocol~1serverInfo")},
			Also:   []string{"meta.server-info-stamp"},
		},
	},
	{
		Info: rule.Info{
			ID: "discover.legacy-server-info-misplaced", Level: rule.ShouldNot, Basis: rule.Derived, Section: "2026-07-28/server/discover#discoverresult",
			Title: "the server is named in _meta, not at the top of the result as initialize did",
			Why:   "clients of this revision look in _meta, and find no name",
			Fix:   "move serverInfo into _meta, under " + spec.MetaServerInfo + "; leave protocolVersion out",
		},
		In: modern, Check: discoverMisplaced,
		Break: Break{
			Faults: []mock.Fault{
				mock.On(spec.MethodDiscover).Set("/result/serverInfo", `{"name":"m","version":"1"}`),
				mock.On(spec.MethodDiscover).Remove("/result/_meta/io.modelcontextprotocol~1serverInfo"),
			},
			Also: []string{"discover.server-info", "meta.server-info-stamp"},
		},
	},
	{
		Info: rule.Info{
			ID: "discover.cache-hints", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/server/utilities/caching#cacheable-results",
			Title: "the result of server/discover has ttlMs and cacheScope",
			Why:   "clients ask again for every conversation, or keep what they should not",
			Fix:   "add ttlMs (milliseconds, 0 for none) and cacheScope (private when in doubt)",
		},
		In: modern, Check: discoverHints,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Remove("/result/ttlMs")}},
	},
	{
		Info: rule.Info{
			ID: "discover.bogus-version", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/basic/versioning#protocol-version-negotiation",
			Title: "server/discover itself is refused under a version the server does not have",
			Why:   "a client of a later revision is answered in a language it did not ask for",
			Fix:   "check the version before the method, for every method",
		},
		In: modern, Check: discoverBogus, Under: []string{"version.unsupported-32022"},
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodDiscover).Lenient(mock.CheckVersionUnsupported)}},
	},
	{
		Info: rule.Info{
			ID: "discover.capabilities-truthful", Level: rule.Must, Basis: rule.Derived, Section: "2026-07-28/architecture#capability-negotiation",
			Title: "what server/discover declares is served",
			Why:   "clients offer the feature to people and models, and it fails when it is used",
			Fix:   "declare completions and list changes only where the server has them",
		},
		In: modern, Check: discoverTruthful,
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodComplete).When(mock.ParamIs("/ref/name", `"`+noName+`"`)).Set("/error/code", "-32601")}},
	},
}

// noName is a name that nothing has.
const noName = "mcprove_no_such_name"

// discovered is the result of server/discover; without one the case is skipped.
func discovered(c *probe.Case) (*probe.Exchange, bool) {
	x := c.Facts().Greeting
	if !x.OK() {
		c.Lacks(x)
		return nil, false
	}
	return x, true
}

func discoverImplemented(c *probe.Case) {
	if x := c.Facts().Greeting; !x.OK() {
		c.Fail(x, "server/discover was answered by %s", x.Brief())
	} else if x.Member("supportedVersions") == nil && x.Member("capabilities") == nil && x.ResultType() == "" {
		// as a server answers that takes any method
		c.Fail(x, "server/discover was answered by a result with none of its members")
	} else {
		c.Pass(x)
	}
}

func discoverShape(c *probe.Case) {
	x, ok := discovered(c)
	if !ok {
		return
	}
	vs, err := spec.ValidateDefinition(c.Probe().Revision(), "DiscoverResult", x.Result())
	if err != nil {
		c.Skip("the result cannot be read: %v", err)
		return
	}
	for _, v := range vs {
		if ownedElsewhere(v) {
			continue
		}
		c.Fail(x, "the result of server/discover: %s", v.Message).In(x.Response, "/result"+v.Pointer)
	}
	c.Pass(x)
}

// ownedElsewhere reports whether a violation of a result's shape has a rule of
// its own: resultType, the caching hints, extensions, and what stands in _meta.
func ownedElsewhere(v spec.Violation) bool {
	for _, own := range []string{spec.FieldResultType, spec.FieldTTL, spec.FieldCacheScope} {
		if v.Pointer == "" && v.Member == own || v.Pointer == "/"+own {
			return true
		}
	}
	if strings.HasPrefix(v.Pointer, "/capabilities/extensions/") {
		return true
	}
	return v.Disputed || v.Pointer == "/"+spec.FieldMeta || strings.HasPrefix(v.Pointer, "/"+spec.FieldMeta+"/")
}

// claimed is the result of server/discover where it names versions; otherwise
// the case is skipped.
func claimed(c *probe.Case) (*probe.Exchange, bool) {
	x, ok := discovered(c)
	if ok && len(c.Facts().Supported) == 0 {
		c.SkipFor("discover.result-shape", "the result of server/discover names no versions")
		return nil, false
	}
	return x, ok
}

func discoverSupported(c *probe.Case) {
	x, ok := claimed(c)
	if !ok {
		return
	}
	used := c.Probe().Revision().String()
	if !slices.Contains(c.Facts().Supported, used) {
		c.Fail(x, "supportedVersions does not name %s, under which the server answers", used)
		return
	}
	c.Pass(x)
}

// versionError is the answer to a version that no server has, on a list request; ok is false when it is not the error it should be.
func versionError(c *probe.Case) (x *probe.Exchange, ok bool) {
	r, ok := versioned(c)
	if !ok {
		return nil, false
	}
	x = c.Once(r.Version(noVersions[0]).Planting("a version that no server has"))
	if !x.Is(spec.CodeUnsupportedVersion) {
		c.SkipFor("version.unsupported-32022", "an unknown version was answered by %s, not by error %d", x.Brief(), spec.CodeUnsupportedVersion)
		return x, false
	}
	return x, true
}

// supportedIn are the versions that a version error names.
func supportedIn(x *probe.Exchange) []string {
	var out []string
	for _, v := range probe.Elements(x.Data("supported")) {
		out = append(out, probe.Text(v))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func discoverListsAgree(c *probe.Case) {
	d, ok := claimed(c)
	if !ok {
		return
	}
	x, ok := versionError(c)
	if !ok {
		return
	}
	named := slices.Clone(c.Facts().Supported)
	slices.Sort(named)
	named = slices.Compact(named)
	other := supportedIn(x)
	if len(other) == 0 {
		c.SkipFor("version.unsupported-supported-list", "the version error names no versions")
		return
	}
	if !slices.Equal(named, other) {
		c.Fail(x, "server/discover names %s, the version error names %s", strings.Join(named, ", "), strings.Join(other, ", ")).And(d)
		return
	}
	c.Pass(x)
}

// serverInfoAt is where the server is named in a result.
var serverInfoAt = jsonx.Push("/"+spec.FieldMeta, spec.MetaServerInfo)

func discoverServerInfo(c *probe.Case) {
	x, ok := discovered(c)
	if !ok {
		return
	}
	if x.At(serverInfoAt) == nil {
		c.Fail(x, "the result of server/discover has no %s in _meta", spec.MetaServerInfo)
		return
	}
	c.Pass(x)
}

func discoverMisplaced(c *probe.Case) {
	x, ok := discovered(c)
	if !ok {
		return
	}
	// Further members are allowed in any result: only a name that stands
	// nowhere else is misplaced.
	if x.At(serverInfoAt) == nil && jsonx.KindOf(x.Member("serverInfo")) == jsonx.Object {
		c.Fail(x, "serverInfo stands at the top of the result, and not in _meta").In(x.Response, "/result/serverInfo")
		return
	}
	c.Pass(x)
}

func discoverHints(c *probe.Case) {
	x, ok := discovered(c)
	if !ok {
		return
	}
	for _, name := range []string{spec.FieldTTL, spec.FieldCacheScope} {
		if x.Member(name) == nil {
			c.Fail(x, "the result of server/discover has no %s", name)
		}
	}
	c.Pass(x)
}

func discoverBogus(c *probe.Case) {
	if _, ok := c.Works(c.Request(spec.MethodDiscover, "")); !ok {
		return
	}
	x := c.Once(c.Request(spec.MethodDiscover, "").Version(noVersions[0]).Planting("a version that no server has"))
	if !x.Is(spec.CodeUnsupportedVersion) {
		c.Fail(x, "server/discover under version %s was answered by %s", noVersions[0], x.Brief())
		return
	}
	c.Pass(x)
}

// discoverTruthful asks for what no rule of its own asks for: a completion,
// and the list changes of each family. The lists have their own rules.
func discoverTruthful(c *probe.Case) {
	x, ok := discovered(c)
	if !ok {
		return
	}
	f := c.Facts()
	if !f.Declares("completions") {
		c.Pass(x) // nothing is declared that would have to be served
		return
	}
	r := c.Request(spec.MethodComplete, `{"ref":{"type":"ref/prompt","name":"`+noName+`"},"argument":{"name":"a","value":""}}`)
	if got := c.Send(r); got.Is(spec.CodeMethodNotFound) {
		c.Fail(got, "completions are declared, and completion/complete is answered by %s", got.Brief()).And(x)
		return
	}
	c.Pass(x)
}
