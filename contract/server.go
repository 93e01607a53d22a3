// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/surface"
)

// VersionNotRaised is the id of the change that tells of breaking ones under the
// same major version, which is about a release and not about a running server.
const VersionNotRaised = "server-version-unchanged-with-break"

var (
	kindServerName = define("server-name-changed", Routing, "server's name changed",
		"allow lists and settings may be keyed by it", "keep the name")
	kindServerOther = define("server-title-or-website-changed", Cosmetic, "server's title, website, description or icons changed",
		"only what people see", nothing)
	kindServerVersion = define("server-version-changed", Cosmetic, "server's version changed",
		"it says that something changed, not what", nothing)
	kindVersionBump = define(VersionNotRaised, Routing, "breaking changes under the same major version",
		"callers who trust semantic versions are not warned", "raise the major version")
	kindInstructions = define("instructions-changed", Routing, "instructions changed",
		"hosts often put them into the system prompt; it is also where instructions are smuggled in", "read the new words as a model would")
	kindInstructionsLong = define("instructions-over-limit", Routing, "instructions passed 2 KB",
		"some hosts cut them there", "shorten them")
	kindRevisionDropped = define("protocol-version-dropped", Breaking, "a protocol revision is no longer offered",
		"clients that speak only it cannot connect", "keep serving the revision")
	kindRevisionAdded = define("protocol-version-added", Additive, "a newer protocol revision is offered",
		"clients of the older ones are not concerned", nothing)
	kindEra = define("protocol-era-changed", Breaking, "the server went from one era of the protocol to the other",
		"clients of the old era cannot talk to it", "serve both eras")
	kindCacheWidened = define("cache-scope-widened", Breaking, "a listing may now be cached for everybody",
		"shared gateways may show one user's list to others", "keep cacheScope private")
)

// server compares what a server says of itself.
func (c *comparer) server() {
	a := at{kind: "server"}
	if c.both(surface.ServerName) || c.both(surface.ServerVersion) {
		c.serverInfo(a.member("server"))
	}
	if c.both(surface.Instructions) {
		p := a.member("instructions")
		c.text(wording{changed: kindInstructions}, p, str(c.old.Instructions), str(c.new.Instructions))
		const limit = 2048
		if b, n := len(c.old.Instructions), len(c.new.Instructions); b <= limit && n > limit {
			c.add(kindInstructionsLong, p, values(number(b), number(n)))
		}
	}
	if c.both(surface.Revisions) {
		c.revisions(a.member("revisions"))
	}
	if c.both(surface.Capabilities) {
		c.capabilities(a.member("capabilities"))
	}
	if c.both(surface.CacheScope) {
		c.cacheScopes(a.member("cacheScope"))
	}
}

func (c *comparer) serverInfo(a at) {
	read := func(s *surface.Surface) map[string]jsonx.Raw {
		out := map[string]jsonx.Raw{}
		ms, _ := jsonx.Members(s.Server, jsonx.Strict)
		for _, m := range ms {
			out[m.Name] = m.Value
		}
		return out
	}
	b, n := read(c.old), read(c.new)
	if c.both(surface.ServerName) {
		c.text(wording{changed: kindServerName}, a.member("name"), b["name"], n["name"])
	}
	if v := "version"; c.both(surface.ServerVersion) && string(b[v]) != string(n[v]) {
		c.add(kindServerVersion, a.member(v), values(b[v], n[v]))
	}
	if !c.both(surface.ServerOther) {
		return
	}
	seen := map[string]bool{"name": true, "version": true}
	for _, x := range []map[string]jsonx.Raw{b, n} {
		for _, name := range sortedKeys(x) {
			if !seen[name] && string(b[name]) != string(n[name]) {
				c.add(kindServerOther, a.member(name), values(b[name], n[name]))
			}
			seen[name] = true
		}
	}
}

// firstModern is the first revision without a handshake.
var firstModern = spec.FirstModern.String()

func (c *comparer) revisions(a at) {
	b, n := c.old.Revisions, c.new.Revisions
	if slices.Equal(b, n) || len(b) == 0 || len(n) == 0 {
		return
	}
	before, _ := jsonx.Marshal(b)
	after, _ := jsonx.Marshal(n)
	set := values(before, after)
	eras := func(rs []string) (legacy, modern bool) {
		for _, r := range rs {
			legacy, modern = legacy || r < firstModern, modern || r >= firstModern
		}
		return legacy, modern
	}
	wasLegacy, wasModern := eras(b)
	isLegacy, isModern := eras(n)
	if wasLegacy && !isLegacy || wasModern && !isModern {
		c.add(kindEra, a, set)
		return
	}
	for _, r := range b {
		if !slices.Contains(n, r) && !handshakeCovers(r, n) {
			c.add(kindRevisionDropped, a, set, message("protocol revision "+r+" is no longer offered"))
			return
		}
	}
	added := slices.DeleteFunc(slices.Clone(n), func(r string) bool { return slices.Contains(b, r) })
	c.add(kindRevisionAdded, a, set, message(kindRevisionAdded.Title+": "+text.Line(strings.Join(added, ", "))))
}

// handshakeCovers reports whether a legacy revision may still be served though
// it is not listed: a handshake shows only the newest revision that both sides
// know, so a newer one in its place says nothing of the older.
func handshakeCovers(r string, offered []string) bool {
	return r < firstModern && slices.ContainsFunc(offered, func(o string) bool { return o > r && o < firstModern })
}

// cacheScopes judges in one direction only: the way back costs a shared cache
// its hits, and leaks nothing (docs/decisions/0004).
func (c *comparer) cacheScopes(a at) {
	for _, method := range sortedKeys(c.old.CacheScopes) {
		was, is := c.old.CacheScopes[method], c.new.CacheScopes[method]
		p := a.member(method)
		if was == "private" && is == "public" {
			c.add(kindCacheWidened, p, values(str(was), str(is)))
		}
	}
}

// versionBump reports breaking changes that the server's version hides.
func (c *comparer) versionBump() {
	if c.result.Worst() != Breaking || !c.both(surface.ServerVersion) {
		return
	}
	version := func(s *surface.Surface) string {
		v, err := jsonx.Lookup(orNull(s.Server), "/version")
		if err != nil {
			return ""
		}
		t, _ := jsonx.Text(v)
		return t
	}
	was, is := version(c.old), version(c.new)
	x, xOK := major(was)
	y, yOK := major(is)
	if !xOK || !yOK || x != y || x == 0 {
		return // below 1.0.0 anything may change
	}
	ch := Change{
		ID: kindVersionBump.ID, Class: Routing, Certainty: Structural, Kind: "server",
		Place:  Place{Pointer: "/server/version", Path: "server.version"},
		Before: str(was), After: str(is), Why: kindVersionBump.Why,
		Message: fmt.Sprintf("breaking changes under major version %d (%s to %s)", x, was, is),
	}
	ch.Fingerprint = ch.fingerprint()
	i := slices.IndexFunc(c.result.Changes, func(o Change) bool { return o.Class < Routing })
	if i < 0 {
		i = len(c.result.Changes)
	}
	c.result.Changes = slices.Insert(c.result.Changes, i, ch)
}

// major is the major number of a semantic version.
func major(v string) (int, bool) {
	parts := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	if len(parts) != 3 {
		return 0, false
	}
	n, err := strconv.Atoi(parts[0])
	return n, err == nil && n >= 0
}
