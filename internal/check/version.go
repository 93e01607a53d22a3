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

const versioning = "2026-07-28/basic/versioning#protocol-version-negotiation"

// noVersions are versions that no server has: an old-looking date, a future
// one, and one that is none. One string hides faults: servers compare dates,
// or know the one that the specification's example names.
var noVersions = []string{"1900-01-01", "2099-12-31", "2026-07-27", "not-a-version"}

// versionRules are those of the protocol version of each request.
var versionRules = []Rule{
	{
		Info: rule.Info{
			ID: "version.unsupported-32022", Level: rule.Must, Basis: rule.Keyword, Section: versioning,
			Title: "a version that the server does not implement is answered with -32022",
			Why:   "a client of another revision is served in a language it did not ask for, and misreads the answer",
			Fix:   "compare the version of every request with those you implement, and answer error -32022 with data.supported and data.requested",
		},
		In: modern, Check: versionUnsupported,
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.MetaIs(spec.MetaProtocolVersion, `"`+noVersions[3]+`"`)).Lenient(mock.CheckVersionUnsupported)},
		},
	},
	{
		Info: rule.Info{
			ID: "version.unsupported-supported-list", Level: rule.Must, Basis: rule.Keyword, Section: versioning,
			Title: "the version error lists the supported versions in data.supported",
			Why:   "the client cannot choose another version, and gives up on a server that it could talk to",
			Fix:   "put the versions you implement into data.supported, as strings",
		},
		In: modern, Check: versionSupportedList,
		Break: Break{Faults: []mock.Fault{mock.On("").OfCode(spec.CodeUnsupportedVersion).Remove("/error/data/supported")}},
	},
	{
		Info: rule.Info{
			ID: "version.unsupported-requested", Level: rule.Must, Basis: rule.Schema, Section: "2026-07-28/schema#unsupportedprotocolversionerror",
			Title: "the version error repeats the refused version in data.requested",
			Why:   "whoever reads the error cannot tell which version was refused, and a typed client fails to read it",
			Fix:   "put the version of the request into data.requested",
		},
		In: modern, Check: versionRequested,
		Break: Break{Faults: []mock.Fault{mock.On("").OfCode(spec.CodeUnsupportedVersion).Remove("/error/data/requested")}},
	},
	{
		Info: rule.Info{
			ID: "version.supported-excludes-requested", Level: rule.Must, Basis: rule.Derived, Section: versioning,
			Title: "data.supported does not name the version that was refused",
			Why:   "the client asks again for the same version, and is refused for ever",
			Fix:   "accept the version, or leave it out of the list",
		},
		In: modern, Check: versionExcludes,
		Break: Break{
			Faults: []mock.Fault{mock.On("").OfCode(spec.CodeUnsupportedVersion).Set("/error/data/supported/-", `"`+noVersions[0]+`"`)},
			Also:   []string{"discover.lists-agree"},
		},
	},
	{
		Info: rule.Info{
			ID: "version.legacy-string-in-modern-request", Level: rule.Must, Basis: rule.Derived, Section: versioning,
			Title: "a stateless request that names a handshake version is refused, or served by a server that claims that version",
			Why:   "the client believes it speaks a revision that the server does not serve this way",
			Fix:   "answer error -32022 unless you serve that version without a handshake",
		},
		In: modern, Check: versionLegacyString, Under: []string{"version.unsupported-32022"},
		Break: Break{
			Base:   modernServer,
			Faults: []mock.Fault{mock.On("").When(mock.MetaIs(spec.MetaProtocolVersion, `"2025-06-18"`)).Lenient(mock.CheckVersionUnsupported)},
		},
	},
	{
		Info: rule.Info{
			ID: "version.all-methods-check", Level: rule.Must, Basis: rule.Derived, Section: versioning,
			Title: "the version of every request is checked, not only that of server/discover",
			Why:   "a client that changes its version in the middle is served in a language it did not ask for",
			Fix:   "check the version in one place, before the method is looked at",
		},
		In: modern, Check: versionAllMethods, Under: []string{"version.unsupported-32022"},
		Break: Break{Faults: []mock.Fault{mock.On(spec.MethodPromptsList).Lenient(mock.CheckVersionUnsupported)}},
	},
}

// versioned is the plainest request after server/discover, which has a rule of
// its own: a list, or discover where the server has none.
func versioned(c *probe.Case) (*probe.Request, bool) {
	for _, m := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList} {
		if l := c.Facts().List(m); len(l.Pages) > 0 && l.Pages[0].OK() {
			return c.Request(m, ""), true
		}
	}
	return c.Plain()
}

func versionUnsupported(c *probe.Case) {
	r, ok := versioned(c)
	if !ok {
		return
	}
	good, ok := c.Works(r)
	if !ok {
		return
	}
	for _, v := range noVersions {
		x := c.Once(r.Version(v).Planting("a version that no server has"))
		switch {
		case x.Is(spec.CodeUnsupportedVersion):
			c.Pass(x)
		case x.OK():
			c.Fail(x, "%s under version %s was served", r.Method, v).And(good)
		default:
			c.Fail(x, "%s under version %s was answered by %s, not by error %d", r.Method, v, x.Brief(), spec.CodeUnsupportedVersion).And(good)
		}
	}
}

func versionSupportedList(c *probe.Case) {
	x, ok := versionError(c)
	if !ok {
		return
	}
	es := probe.Elements(x.Data("supported"))
	if len(es) == 0 {
		c.Fail(x, "data.supported of the version error is %s", orAbsent(x.Data("supported")))
		return
	}
	for _, e := range es {
		if jsonx.KindOf(e) != jsonx.String {
			c.Fail(x, "data.supported holds %s, which is no string", jsonx.KindOf(e).Name()).In(x.Response, "/error/data/supported")
			return
		}
	}
	if v := c.Probe().Revision().String(); !slices.Contains(supportedIn(x), v) {
		c.Warn(x, "data.supported names %s, and not %s, under which the server answers", strings.Join(supportedIn(x), ", "), v)
		return
	}
	c.Pass(x)
}

// orAbsent words a JSON text that may not be there.
func orAbsent(raw []byte) string {
	switch {
	case raw == nil:
		return "absent"
	case len(raw) > 60:
		return "a long " + jsonx.KindOf(raw).Name()
	}
	return string(raw)
}

func versionRequested(c *probe.Case) {
	x, ok := versionError(c)
	if !ok {
		return
	}
	if got := x.Data("requested"); probe.Text(got) != noVersions[0] {
		c.Fail(x, "data.requested of the version error is %s; %q was asked for", orAbsent(got), noVersions[0])
		return
	}
	c.Pass(x)
}

func versionExcludes(c *probe.Case) {
	x, ok := versionError(c)
	if !ok {
		return
	}
	if slices.Contains(supportedIn(x), noVersions[0]) {
		c.Fail(x, "the error refuses %s and names it as supported", noVersions[0])
		return
	}
	c.Pass(x)
}

func versionLegacyString(c *probe.Case) {
	r, ok := versioned(c)
	if !ok {
		return
	}
	if _, ok := c.Works(r); !ok {
		return
	}
	const v = "2025-06-18"
	x := c.Send(r.Version(v).Planting("a version of the handshake era in a stateless request"))
	claims := slices.Contains(c.Facts().Supported, v)
	switch {
	case x.Is(spec.CodeUnsupportedVersion), claims && x.Refused():
		c.Pass(x)
	case claims:
		c.Note(x, "%s under %s, which the server claims, was answered by %s", x.Method, v, x.Brief())
	default:
		c.Fail(x, "%s under %s, which the server does not claim, was answered by %s", x.Method, v, x.Brief())
	}
}

func versionAllMethods(c *probe.Case) {
	seen := false
	for _, m := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList} {
		l := c.Facts().List(m)
		if len(l.Pages) == 0 || !l.Pages[0].OK() {
			continue
		}
		seen = true
		x := c.Once(c.Request(m, "").Version(noVersions[0]).Planting("a version that no server has"))
		if !x.Is(spec.CodeUnsupportedVersion) {
			c.Fail(x, "%s under version %s was answered by %s", m, noVersions[0], x.Brief()).And(l.Pages[0])
			continue
		}
		c.Pass(x)
	}
	if !seen {
		c.Skip("the server has no list that could be asked for under another version")
	}
}
