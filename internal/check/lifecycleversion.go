// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const versionNegotiation = "2025-11-25/basic/lifecycle#version-negotiation"

// garbageVersion is no date at all. A server may take it for a malformed
// message, which no other unknown version is.
const garbageVersion = "not-a-version"

// unknownVersions are versions that no server has: one that looks old, one that
// looks new, and one that is none. Servers compare dates, in either direction.
var unknownVersions = []string{"1999-01-01", "2099-12-31", garbageVersion}

// Rules on what initialize agrees on, which others name.
const (
	ruleInitResult   = "lifecycle.init-result"
	ruleVersionEcho  = probe.RuleVersionEcho
	ruleAlternative  = "lifecycle.version-alternative"
	ruleModernString = "lifecycle.version-modern-string"
)

// lifecycleVersionRules are those of the version that initialize agrees on.
var lifecycleVersionRules = []Rule{
	{
		Info: rule.Info{
			ID: ruleVersionEcho, Level: rule.Must, Basis: rule.Keyword, Section: versionNegotiation,
			Title: "a version that the server supports is agreed on when a client asks for it",
			Why:   "a client that knows this version alone disconnects from a server that speaks it",
			Fix:   "answer initialize with the version asked for whenever you support it",
		},
		In: handshakeEra, Check: versionEcho, Apart: true,
		Break: Break{Faults: []mock.Fault{
			onUnknownVersion().Set("/result/protocolVersion", `"2025-06-18"`),
			onHello("2025-06-18").Set("/result/protocolVersion", `"2025-11-25"`),
		}},
		Breaks: []Break{
			{Faults: []mock.Fault{mock.On(spec.MethodInitialize).FromTurn(2).Set("/result/protocolVersion", `"2025-06-18"`)}},
		},
	},
	{
		Info: rule.Info{
			ID: ruleAlternative, Level: rule.Must, Basis: rule.Keyword, Section: versionNegotiation,
			Title: "a version that the server does not support is answered with one that it does",
			Why:   "a newer client cannot fall back to what both sides know, and gives the server up",
			Fix:   "answer initialize for an unknown version with your latest version, not by an error and not by repeating what was asked",
			Detail: "Error -32602, which the page shows as a sample, is a warning; so is -32022 where it names the versions that there are, " +
				"and any refusal of a text that is no date, which may be taken for a malformed message.",
		},
		In: handshakeEra, Check: versionAlternative, Apart: true,
		Break: Break{Faults: []mock.Fault{onUnknownVersion().Set("/result/protocolVersion", "{{/params/protocolVersion}}")}},
		Breaks: []Break{
			{Faults: []mock.Fault{onHello(unknownVersions[1]).Error(spec.CodeInvalidParams, "Unsupported protocol version")}},
			{Faults: []mock.Fault{onHello(unknownVersions[0]).Error(spec.CodeInternalError, "no such version")}},
		},
	},
	{
		Info: rule.Info{
			ID: "lifecycle.version-alternative-latest", Level: rule.Should, Basis: rule.Keyword, Section: versionNegotiation,
			Title: "the version that the server offers instead is its latest",
			Why:   "newer clients end up with fewer features than both sides have",
			Fix:   "offer the newest version you support, whatever was asked for",
		},
		In: handshakeEra, Check: versionLatest, Apart: true,
		Break: Break{Faults: []mock.Fault{onHello(unknownVersions[0]).Set("/result/protocolVersion", `"2024-11-05"`)}},
	},
	{
		Info: rule.Info{
			ID: ruleModernString, Level: rule.Must, Basis: rule.Derived, Section: versionNegotiation,
			Title: "initialize does not agree on a revision that has no initialize",
			Why:   "the client believes in a session under a revision that knows none, and sends what the server does not serve",
			Fix:   "answer initialize for 2026-07-28 with the latest version that has the handshake",
		},
		In: handshakeEra, Check: versionModernString, Apart: true,
		Break: Break{Faults: []mock.Fault{onHello(spec.Rev20260728.String()).Set("/result/protocolVersion", `"2026-07-28"`)}},
		Breaks: []Break{
			{Faults: []mock.Fault{onHello(spec.Rev20260728.String()).Error(spec.CodeInternalError, "no")}},
		},
	},
}

// onHello is the place of an initialize that asks for a version.
func onHello(version string) mock.Place {
	return mock.On(spec.MethodInitialize).When(helloFor(version))
}

func helloFor(version string) mock.Condition {
	return mock.ParamIs("/protocolVersion", string(jsonx.Quote(version)))
}

// onUnknownVersion is the place of an initialize for none of the versions that
// there are.
func onUnknownVersion() mock.Place {
	p := mock.On(spec.MethodInitialize)
	for _, r := range spec.All() {
		p = p.When(mock.Not(helloFor(r.String())))
	}
	return p
}

// negotiation is what initialize for a version was answered with.
type negotiation struct {
	version string
	x       *probe.Exchange
	got     string // the version agreed on, empty where no result came
}

// agreed is the revision of the handshake era that was agreed on, zero where
// there is none.
func (n *negotiation) agreed() spec.Revision {
	if r, err := spec.ParseRevision(n.got); err == nil && r.Era() == spec.Legacy {
		return r
	}
	return 0
}

func (n *negotiation) modern() bool {
	r, err := spec.ParseRevision(n.got)
	return err == nil && r.Era() == spec.Modern
}

// negotiatedVersions holds the negotiations of one server, each on a connection
// of its own.
type negotiatedVersions struct {
	unopened               bool
	known, unknown, modern []negotiation
}

// together is how many connections are opened side by side to ask for versions:
// over stdio each is a process.
const together = 3

// negotiations asks for versions once for all rules. It is nil, and the case
// skipped, where that proves nothing.
func negotiations(c *probe.Case) *negotiatedVersions {
	if !c.Probe().Mine() {
		c.Skip("the target is not on this machine, so that no version was asked for that is made up; --target-is-mine allows it")
		return nil
	}
	// A server that serves one client alone refuses everybody else anyhow.
	if secondSession(c) == nil {
		return nil
	}
	n := probe.Share(c.Probe(), "negotiations", func() *negotiatedVersions { return negotiate(c) })
	if n.unopened {
		c.Skip("a further connection could not be opened")
		return nil
	}
	return n
}

// negotiate asks for what the server cannot know first, and then for what it
// offered, and for what is newer than that: each question costs a connection.
func negotiate(c *probe.Case) *negotiatedVersions {
	modern := spec.Latest.String()
	n := &negotiatedVersions{}
	first := n.ask(c, append([]string{modern}, unknownVersions...))
	if n.unopened {
		return n
	}
	n.modern, n.unknown = first[:1], first[1:]
	oldest := spec.Latest
	for _, o := range first {
		if r := o.agreed(); r != 0 {
			oldest = min(oldest, r)
		}
	}
	var more []string
	for _, r := range spec.Legacy.Revisions() {
		if r >= oldest && r != c.Probe().Revision() {
			more = append(more, r.String())
		}
	}
	n.known = n.ask(c, more)
	return n
}

// ask asks for each version on a fresh connection, some at a time.
func (n *negotiatedVersions) ask(c *probe.Case, versions []string) []negotiation {
	var out []negotiation
	for some := range slices.Chunk(versions, together) {
		var conns []*probe.Conn
		var streams []*probe.Stream
		for _, v := range some {
			conn := c.Dial()
			if conn == nil {
				n.unopened = true
				return out
			}
			conns, streams = append(conns, conn), append(streams, c.Start(conn, helloOf(c, v)))
		}
		var wait sync.WaitGroup
		for i, s := range streams {
			x := s.Answer()
			conns[i].Adopt(x) // so that its session is ended
			wait.Go(func() { conns[i].Close(c.Context()) })
			out = append(out, negotiation{some[i], x, versionIn(x)})
		}
		wait.Wait()
	}
	return out
}

// helloOf is the initialize for a version.
func helloOf(c *probe.Case, version string) *probe.Request {
	hello := c.Probe().Hello("{}").Param("protocolVersion", string(jsonx.Quote(version)))
	switch r, err := spec.ParseRevision(version); {
	case err != nil:
		return hello.Planting("a version that no server has")
	case r.Era() == spec.Modern:
		return hello.Planting("a version that has no handshake")
	default:
		return hello.Of(r)
	}
}

func versionIn(x *probe.Exchange) string {
	if !x.OK() {
		return ""
	}
	return probe.Text(x.Member("protocolVersion"))
}

// versionEcho: what the server agrees on for one client it must agree on for a
// client that asks for it.
func versionEcho(c *probe.Case) {
	g := c.Facts().Greeting
	if o := secondAct(c); o != nil && !o.unopened && !o.agreed && versionIn(o.greeting) != "" {
		c.Fail(o.greeting, "the server agrees on %s for one client, and answers the next with %s", c.Probe().Revision(), brief(versionIn(o.greeting))).And(g)
		return
	}
	n := negotiations(c)
	if n == nil {
		return
	}
	c.Pass(g)
	byVersion := map[string]*negotiation{}
	for i := range n.known {
		byVersion[n.known[i].version] = &n.known[i]
	}
	l := ledger{c: c}
	for _, o := range slices.Concat(n.known, n.unknown, n.modern) {
		asked := byVersion[o.got]
		switch {
		case o.agreed() == 0, asked == nil: // it is the version judged, in which the run goes on
		case asked.got == o.got:
			c.Pass(asked.x)
		case busy(asked.x):
			c.Skip("initialize was answered by %s", asked.x.Brief())
		default:
			l.fail(o.got, o.version, asked.x, "the server offers %s to a client that asks for %s, and initialize for %s itself %s",
				o.got, o.version, o.got, agreement(asked)).And(o.x)
		}
	}
	l.close()
}

// agreement says what came of a negotiation.
func agreement(n *negotiation) string {
	if n.x.OK() {
		return "is answered with " + orNoVersion(n.got)
	}
	return outcome(n.x)
}

func orNoVersion(version string) string {
	if version == "" {
		return "no version"
	}
	return brief(version)
}

func versionAlternative(c *probe.Case) {
	g := c.Facts().Greeting
	if got := versionIn(g); got != "" && c.Facts().Agreed == 0 {
		// Nothing of the era is spoken at all.
		c.Warn(g, "initialize for %s is answered with %s, which is no revision with a handshake that is known", c.Probe().Revision(), brief(got))
		return
	}
	n := negotiations(c)
	if n == nil {
		return
	}
	l := ledger{c: c}
	for i := range n.unknown {
		n.judgeAlternative(c, &l, &n.unknown[i])
	}
	l.close()
}

func (n *negotiatedVersions) judgeAlternative(c *probe.Case, l *ledger, o *negotiation) {
	x, g := o.x, c.Facts().Greeting
	switch {
	case busy(x):
		c.Skip("initialize was answered by %s", x.Brief())
	case x.OK() && o.got == o.version:
		l.fail("echo", o.version, x, "the server agrees on %s, which no server has", brief(o.version)).And(g)
	case o.agreed() != 0:
		c.Pass(x)
	case x.OK() && o.modern() && n.modern[0].modern():
		c.SkipFor(ruleModernString, "initialize for %s is answered with %s, which has no handshake", brief(o.version), o.got)
	case x.OK():
		l.warn("strange", o.version, x, "initialize for %s is answered with %s, which is no revision with a handshake that is known",
			brief(o.version), orNoVersion(o.got)).And(g)
	case x.Is(spec.CodeInvalidParams):
		l.warn("refused", o.version, x, "initialize for %s is refused with error %d, as the page shows in a sample; its text asks for another version%s",
			brief(o.version), spec.CodeInvalidParams, offeredIn(x)).And(g)
	case x.Is(spec.CodeUnsupportedVersion) && offeredIn(x) != "":
		l.warn("refused newly", o.version, x, "initialize for %s is refused with error %d, which is of revisions without a handshake, not answered with another version%s",
			brief(o.version), spec.CodeUnsupportedVersion, offeredIn(x)).And(g)
	case o.version == garbageVersion && x.Refused():
		l.warn("garbage", o.version, x, "initialize for %s %s, not by a version that the server supports", brief(o.version), outcome(x)).And(g)
	default:
		l.fail("refused otherwise", o.version, x, "initialize for %s %s, not by a version that the server supports", brief(o.version), outcome(x)).And(g)
	}
}

// mostNamed bounds the versions of an error that are repeated.
const mostNamed = 8

// offeredIn says which versions a refusal names, by which a client can begin
// anew; empty where it names none.
func offeredIn(x *probe.Exchange) string {
	var out []string
	for _, v := range probe.Elements(probe.Lookup(x.Message().Error.Raw, "/data/supported")) {
		if _, err := spec.ParseRevision(probe.Text(v)); err == nil && len(out) < mostNamed {
			out = append(out, probe.Text(v))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; it names " + strings.Join(out, ", ")
}

func versionLatest(c *probe.Case) {
	n := negotiations(c)
	if n == nil {
		return
	}
	latest, offers := c.Probe().Revision(), []*negotiation{}
	for i := range n.known {
		if o := &n.known[i]; o.got == o.version {
			latest = max(latest, o.agreed())
		}
	}
	for i := range n.unknown {
		if o := &n.unknown[i]; o.agreed() != 0 {
			offers = append(offers, o)
		}
	}
	if len(offers) == 0 {
		c.SkipFor(ruleAlternative, "the server offers no version to a client that asks for an unknown one")
		return
	}
	l := ledger{c: c}
	for _, o := range offers {
		switch r := o.agreed(); {
		case r > latest:
			// It offers what it does not agree on when asked.
			c.SkipFor(ruleVersionEcho, "the server offers %s and does not agree on it", r)
		case !n.speaks(c, r):
			c.SkipFor(ruleVersionEcho, "the server offers %s and does not agree on it", r)
		case r < latest:
			l.fail("older", o.version, o.x, "to a client that asks for %s the server offers %s, and it speaks %s", brief(o.version), r, latest).
				And(c.Facts().Greeting)
		default:
			c.Pass(o.x)
		}
	}
	l.close()
}

// speaks reports whether the server agrees on a revision when asked for it.
func (n *negotiatedVersions) speaks(c *probe.Case, r spec.Revision) bool {
	return r == c.Probe().Revision() ||
		slices.ContainsFunc(n.known, func(o negotiation) bool { return o.version == r.String() && o.got == o.version })
}

func versionModernString(c *probe.Case) {
	n := negotiations(c)
	if n == nil {
		return
	}
	o := &n.modern[0]
	refusesAll := !slices.ContainsFunc(n.unknown, func(o negotiation) bool { return o.x.OK() })
	switch x := o.x; {
	case busy(x):
		c.Skip("initialize was answered by %s", x.Brief())
	case o.agreed() != 0:
		c.Pass(x)
	case x.OK() && o.modern():
		c.Fail(x, "initialize agrees on %s, a revision without a handshake", o.got).And(c.Facts().Greeting)
	case x.OK() && o.got == "":
		c.SkipFor(ruleInitResult, "the answer to initialize names no version")
	case x.OK():
		c.Note(x, "initialize for %s is answered with %s, which is no revision that is known", o.version, brief(o.got))
	case x.Is(spec.CodeUnsupportedVersion):
		c.Pass(x) // of a server of both eras, which says what it supports in the newer one's words
	case refusesAll:
		c.SkipFor(ruleAlternative, "initialize for any unknown version is refused")
	default:
		c.Fail(x, "initialize for %s %s, not by a version that has a handshake", o.version, outcome(x)).And(c.Facts().Greeting)
	}
}
