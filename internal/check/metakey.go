// SPDX-License-Identifier: Apache-2.0

package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// metaKeyRules are those of the keys in the _meta objects of a server, and of
// the values under the keys of tracing.
var metaKeyRules = []Rule{
	{
		Info: rule.Info{
			ID: "meta.key-prefix-format", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "the prefix of a _meta key is labels with dots between them, and a slash",
			Why:   "clients that sort keys by their owner find none, and drop the key or the message",
			Fix:   "write keys as com.example/name, without empty labels",
		},
		In: since2506, Watch: keyPrefixFormat, Stir: discoverUnderIDs,
		Break:  Break{Faults: metaKey("com..example/x")},
		Breaks: []Break{{Faults: metaKey("/x")}},
	},
	{
		Info: rule.Info{
			ID: "meta.key-label-format", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a label of a prefix starts with a letter, ends with a letter or digit, and holds only those and hyphens",
			Why:   "clients that check keys drop the key or the message",
			Fix:   "use the labels of a domain that is yours",
		},
		In: since2506, Watch: keyLabelFormat, Stir: discoverUnderIDs,
		Break: Break{Faults: metaKey("com.1example/x")},
	},
	{
		Info: rule.Info{
			ID: "meta.key-name-format", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "the name of a _meta key starts and ends with a letter or digit, and holds only those, hyphens, underscores and dots",
			Why:   "clients that check keys drop the key or the message",
			Fix:   "leave out what is none of those, a second slash and an underscore in front too",
		},
		In: since2506, Watch: keyNameFormat, Stir: discoverUnderIDs,
		Break: Break{Faults: metaKey("com.example/_x")},
	},
	{
		Info: rule.Info{
			ID: "meta.key-reverse-dns", Level: rule.Should, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "the prefix of a _meta key is a domain read backwards, such as com.example/",
			Why:   "keys of two owners meet under one name",
			Fix:   "turn the domain round: example.com becomes com.example/",
		},
		In: since2511, Watch: keyReverseDNS, Stir: discoverUnderIDs,
		Break: Break{Faults: metaKey("example.com/x")},
	},
	{
		Info: rule.Info{
			ID: "meta.reserved-prefix", Level: rule.MustNot, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "no key is made up under a prefix that belongs to the protocol",
			Why:   "a later revision may define the key, and clients will read your value as if it were theirs",
			Fix:   "use a prefix of your own domain",
		},
		In: since2511, Watch: reservedPrefix, Stir: discoverUnderIDs,
		Break: Break{Faults: metaKey("com.mcp.tools/x")},
	},
	{
		Info: rule.Info{
			ID: "meta.traceparent-format", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a traceparent in _meta follows W3C Trace Context",
			Why:   "the trace ends there: what reads it drops the value",
			Fix:   "send version, trace id, parent id and flags in lower-case hexadecimal, as 00-<32>-<16>-<2>",
		},
		In: modern, Watch: traceParentFormat,
		Break: Break{Base: tracingServer, Faults: []mock.Fault{unusualResult.Set("/result/_meta/"+spec.MetaTraceParent, `"00-00000000000000000000000000000000-1122334455667788-01"`)}},
	},
	{
		Info: rule.Info{
			ID: "meta.tracestate-format", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a tracestate in _meta follows W3C Trace Context",
			Why:   "what reads it drops the whole state, that of other vendors too",
			Fix:   "send key=value members with commas between them, the keys in lower case",
		},
		In: modern, Watch: traceStateFormat,
		Break: Break{Base: tracingServer, Faults: []mock.Fault{unusualResult.Set("/result/_meta/"+spec.MetaTraceState, `"not a state"`)}},
	},
	{
		Info: rule.Info{
			ID: "meta.baggage-format", Level: rule.Must, Basis: rule.Keyword, Section: "2026-07-28/basic#_meta",
			Title: "a baggage in _meta follows W3C Baggage",
			Why:   "what reads it drops it all",
			Fix:   "send key=value members with commas between them, values percent-encoded",
		},
		In: modern, Watch: baggageFormat,
		Break: Break{Base: tracingServer, Faults: []mock.Fault{unusualResult.Set("/result/_meta/"+spec.MetaBaggage, `"no pairs here"`)}},
	},
}

// tracingServer is a server that says where its results belong in a trace.
func tracingServer(s *mock.Script) {
	s.Meta = []byte(`{"traceparent":"00-4d43505052f0f1e2d3c4b5a697887766-1122334455667788-01","tracestate":"tide=1, office@dt=x y,,","baggage":"desk=east;kind=a,shift=2"}`)
}

// metaKey puts a key into the _meta of a result.
func metaKey(key string) []mock.Fault {
	return unusually(func(p mock.Place) mock.Fault { return p.OfResult().Set(jsonx.Push("/result/_meta", key), "1") })
}

// metaEntry is one key in a _meta object of a message of the server.
type metaEntry struct {
	probe.Received
	key     string
	value   []byte
	pointer string // of the object
}

// metaEntries calls visit with every key in every _meta object that belongs to
// the protocol: of results and notifications, of the items and contents in
// them, and of what is asked of the client. A member of that name in arguments,
// schemas or structured content is the author's own data.
func metaEntries(t *probe.Traffic, visit func(metaEntry)) {
	for _, e := range probe.Known(t, "_meta", func() []metaEntry {
		var out []metaEntry
		readMetaEntries(t, func(e metaEntry) { out = append(out, e) })
		return out
	}) {
		visit(e)
	}
}

func readMetaEntries(t *probe.Traffic, visit func(metaEntry)) {
	for _, r := range t.Messages(wire.Response, wire.Notification, wire.Request) {
		w := metaWalk{r, visit}
		if m := r.Message(); m.Result != nil {
			w.result(m.Result, "/result")
		} else {
			w.object(m.Params, "/params")
		}
	}
}

type metaWalk struct {
	probe.Received
	visit func(metaEntry)
}

// member calls f with a member of an object, when it is there.
func member(object []byte, pointer, name string, f func(value []byte, pointer string)) {
	for _, m := range probe.Members(object) {
		if m.Name == name {
			f(m.Value, jsonx.Push(pointer, name))
		}
	}
}

// each calls f with the elements of an array in a member.
func each(object []byte, pointer, name string, f func(value []byte, pointer string)) {
	member(object, pointer, name, func(array []byte, at string) {
		for i, e := range probe.Elements(array) {
			f(e, at+"/"+strconv.Itoa(i))
		}
	})
}

// object visits the _meta of an object.
func (w metaWalk) object(object []byte, pointer string) {
	member(object, pointer, spec.FieldMeta, func(meta []byte, at string) {
		for _, m := range probe.Members(meta) {
			w.visit(metaEntry{w.Received, m.Name, m.Value, at})
		}
	})
}

// content visits a content block, and the resource that it embeds.
func (w metaWalk) content(block []byte, pointer string) {
	w.object(block, pointer)
	member(block, pointer, "resource", w.object)
}

// messages visits prompts' and sampling messages, whose content is a block or
// an array of them.
func (w metaWalk) message(message []byte, pointer string) {
	w.object(message, pointer)
	member(message, pointer, "content", func(v []byte, at string) {
		if jsonx.KindOf(v) == jsonx.Object {
			w.content(v, at)
		}
	})
	each(message, pointer, "content", w.content)
}

func (w metaWalk) result(result []byte, pointer string) {
	w.object(result, pointer)
	for _, name := range []string{"tools", "prompts", "resources", "resourceTemplates", "contents"} {
		each(result, pointer, name, w.object)
	}
	each(result, pointer, "content", w.content)
	each(result, pointer, "messages", w.message)
	member(result, pointer, "inputRequests", func(asks []byte, at string) {
		for _, ask := range probe.Members(asks) {
			member(ask.Value, jsonx.Push(at, ask.Name), "params", func(params []byte, at string) {
				w.object(params, at)
				each(params, at, "messages", w.message)
			})
		}
	})
}

// noMeta is why rules on keys have nothing to look at.
const noMeta = "no _meta of the server has a key that it is about"

// watchKeys judges keys; relevant keys are those the rule is about.
func watchKeys(c *probe.Case, t *probe.Traffic, relevant func(prefix, name string, prefixed bool) bool, bad func(prefix, name string) string) {
	metaEntries(t, func(e metaEntry) {
		prefix, prefixed := spec.MetaPrefix(e.key)
		name := e.key
		if prefixed {
			name = strings.TrimPrefix(e.key, prefix+"/")
		}
		if !relevant(prefix, name, prefixed) {
			return
		}
		if why := bad(prefix, name); why != "" {
			c.Fail(e.Exchange, "the _meta key %.80q in %s: %s", e.key, named(e.Received), why).In(e.Frame, e.pointer)
			return
		}
		c.Pass(e.Exchange)
	})
	c.Unseen(noMeta)
}

func hasPrefix(_, _ string, prefixed bool) bool { return prefixed }

func keyPrefixFormat(c *probe.Case, t *probe.Traffic) {
	watchKeys(c, t, hasPrefix, func(prefix, _ string) string {
		switch {
		case prefix == "":
			return "there is nothing before the slash"
		case slices.Contains(strings.Split(prefix, "."), ""):
			return "a label of the prefix is empty"
		}
		return ""
	})
}

func keyLabelFormat(c *probe.Case, t *probe.Traffic) {
	watchKeys(c, t, hasPrefix, func(prefix, _ string) string {
		for label := range strings.SplitSeq(prefix, ".") {
			if label != "" && spec.CheckMetaKey(label+"/", t.Revision) != nil {
				return "the label " + clipped(label) + " must start with a letter, end with a letter or digit, and hold only those and hyphens"
			}
		}
		return ""
	})
}

func keyNameFormat(c *probe.Case, t *probe.Traffic) {
	always := func(_, _ string, _ bool) bool { return true }
	watchKeys(c, t, always, func(_, name string) string {
		// Behind a good prefix, so that a slash in the name stays in it.
		if spec.CheckMetaKey("a/"+name, t.Revision) != nil {
			return "its name must start and end with a letter or digit, and hold only those, hyphens, underscores and dots"
		}
		return ""
	})
}

// topDomains are well-known first labels of a reversed domain, beside those of
// countries, which have two letters.
var topDomains = []string{
	"com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "name", "pro", "dev", "app", "cloud", "tech", "tools",
	"page", "xyz", "online", "site", "software", "systems", "network", "agency", "studio", "google", "microsoft", "aws", "local", "internal",
}

func isTopDomain(label string) bool {
	return len(label) == 2 || slices.Contains(topDomains, strings.ToLower(label))
}

// keyReverseDNS blames what is plainly no reversed domain: one label, or a
// domain the right way round. Labels that nobody can judge pass.
func keyReverseDNS(c *probe.Case, t *probe.Traffic) {
	relevant := func(prefix, name string, prefixed bool) bool {
		return prefixed && spec.CheckMetaKey(prefix+"/", t.Revision) == nil
	}
	watchKeys(c, t, relevant, func(prefix, _ string) string {
		labels := strings.Split(prefix, ".")
		first, last := labels[0], labels[len(labels)-1]
		switch {
		case isTopDomain(first):
			return ""
		case len(labels) == 1:
			return "the prefix is one label, not a domain read backwards"
		case isTopDomain(last):
			return "the domain is not read backwards: " + clipped(last) + " belongs in front"
		}
		return ""
	})
}

// reservedPrefix leaves alone what an official extension may have defined,
// where the server declares one.
func reservedPrefix(c *probe.Case, t *probe.Traffic) {
	official := false
	ours, _ := spec.MetaPrefix(spec.MetaServerInfo)
	if t.Facts != nil {
		for _, m := range probe.Members(probe.Lookup(t.Facts.Capabilities, "/extensions")) {
			official = official || spec.ReservedMetaKey(m.Name, t.Revision)
		}
	}
	metaEntries(t, func(e metaEntry) {
		switch {
		case !spec.ReservedMetaKey(e.key, t.Revision):
			c.Pass(e.Exchange)
		case slices.ContainsFunc(spec.All(), func(r spec.Revision) bool { return spec.KnownMetaKey(e.key, r) }):
			c.Pass(e.Exchange)
		case official && strings.HasPrefix(e.key, ours+"/"):
		default:
			c.Fail(e.Exchange, "the _meta key %.80q in %s has a prefix of the protocol, which does not define it", e.key, named(e.Received)).In(e.Frame, e.pointer)
		}
	})
	c.Unseen("no _meta of the server has a key")
}

// watchTrace judges the values under a key of tracing.
func watchTrace(c *probe.Case, t *probe.Traffic, key string, good func(string) bool, form string) {
	metaEntries(t, func(e metaEntry) {
		if e.key != key {
			return
		}
		if s, ok := jsonx.Text(e.value); ok && good(s) {
			c.Pass(e.Exchange)
			return
		}
		c.Fail(e.Exchange, "%s in %s is %.100s, not %s", key, named(e.Received), e.value, form).In(e.Frame, jsonx.Push(e.pointer, key))
	})
	c.Unseen("the server sends no %s", key)
}

var (
	// Version 00 has four fields and no more; later ones may have further
	// fields behind them (Trace Context, section 3.2).
	traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
	// A key has no capitals, and may name a tenant before an @; a value is
	// printable ASCII without comma and equals sign that does not end in a
	// space (Trace Context, section 3.3.1, the wider form of level 2).
	traceMember = regexp.MustCompile(`^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$`)
	// A key is a token, a value holds no space, quote, comma, semicolon or
	// backslash; properties follow behind semicolons (W3C Baggage, section 3.2).
	baggageMember = regexp.MustCompile(`^[!#$%&'*+\-.^_|~0-9A-Za-z` + "`" + `]+[ \t]*=[ \t]*[!#-+\--:<-\[\]-~]*(?:[ \t]*;[ \t]*[!#$%&'*+\-.^_|~0-9A-Za-z` + "`" + `]+(?:[ \t]*=[ \t]*[!#-+\--:<-\[\]-~]*)?)*$`)
)

// mostTraceMembers bounds the list of tracestate (Trace Context, section
// 3.3.1.1).
const mostTraceMembers = 32

func traceParentFormat(c *probe.Case, t *probe.Traffic) {
	good := func(s string) bool {
		m := traceParent.FindStringSubmatch(s)
		return m != nil && m[1] != "ff" && (m[1] != "00" || m[4] == "") &&
			strings.Trim(m[2], "0") != "" && strings.Trim(m[3], "0") != ""
	}
	watchTrace(c, t, spec.MetaTraceParent, good, "version, trace id, parent id and flags in hexadecimal")
}

func traceStateFormat(c *probe.Case, t *probe.Traffic) {
	good := func(s string) bool {
		n := 0
		for member := range strings.SplitSeq(s, ",") {
			if member = strings.Trim(member, " \t"); member == "" {
				continue // empty members are allowed
			}
			if n++; !traceMember.MatchString(member) {
				return false
			}
		}
		return n <= mostTraceMembers
	}
	watchTrace(c, t, spec.MetaTraceState, good, "a list of key=value members")
}

func baggageFormat(c *probe.Case, t *probe.Traffic) {
	good := func(s string) bool {
		for member := range strings.SplitSeq(s, ",") {
			if !baggageMember.MatchString(strings.Trim(member, " \t")) {
				return false
			}
		}
		return true
	}
	watchTrace(c, t, spec.MetaBaggage, good, "a list of key=value members")
}
