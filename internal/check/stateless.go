// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
)

const statelessness = "2026-07-28/basic#statelessness"

// statelessRules are about requests that stand alone.
var statelessRules = []Rule{
	{
		Info: rule.Info{
			ID: "stateless.no-prior-context", Level: rule.MustNot, Basis: rule.Keyword, Section: statelessness,
			Title: "a request is judged by what it says itself, not by what came before it on the connection",
			Why:   "behind a proxy the requests of many clients share a connection, and one client gets the capabilities of another",
			Fix:   "read version and capabilities from each request's _meta; keep nothing with the connection",
		},
		In: modern, Check: noPriorContext, Apart: true,
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.IDIs("string")).Lenient(mock.CheckMetaCapabilitiesMissing)},
		},
	},
	{
		Info: rule.Info{
			ID: "stateless.version-not-sticky", Level: rule.MustNot, Basis: rule.Derived, Section: statelessness,
			Title: "a version accepted on one request does not excuse the next from naming one",
			Why:   "behind a proxy a request is read under the version of somebody else",
			Fix:   "refuse a request without a version, and one with a version you do not have, whatever came before it",
		},
		In: modern, Check: versionNotSticky, Apart: true,
		Break: Break{
			Faults: []mock.Fault{
				mock.On("").When(mock.IDIs("string")).Lenient(mock.CheckMetaVersionMissing),
			},
		},
	},
	{
		Info: rule.Info{
			ID: "stateless.first-request-any", Level: rule.Must, Basis: rule.Derived, Section: versioning,
			Title: "any method may be the first one on a connection",
			Why:   "clients that do not ask server/discover first, and those whose connection is new, are turned away",
			Fix:   "serve every request by what it says; there is no handshake",
		},
		In: modern, Check: firstRequestAny, Apart: true,
		Break: Break{
			Faults: []mock.Fault{mock.On("").FromConn(2).When(mock.IDIs("string"), mock.ParamIs(markAt, `"first"`)).Error(spec.CodeInvalidRequest, "discover first")},
		},
	},
	{
		Info: rule.Info{
			ID: "stateless.multi-conversation", Level: rule.Should, Basis: rule.Keyword, Section: statelessness,
			Title: "requests of unrelated conversations may be interleaved on one connection",
			Why:   "what one conversation asks changes what another one gets",
			Fix:   "answer each request by its own parameters alone",
		},
		In: modern, Check: multiConversation,
		Under: []string{"tools.list-not-side-effect", "prompts.list-not-side-effect", "resources.list-not-side-effect"},
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.ParamIs(markAt, `"conversation-2"`)).Error(spec.CodeInternalError, "busy")},
		},
	},
	{
		Info: rule.Info{
			ID: "stateless.no-connection-affinity", Level: rule.ShouldNot, Basis: rule.Keyword, Section: statelessness,
			Title: "related requests need not use the same connection or process",
			Why:   "a page, a call or a read that follows a list fails as soon as the client reconnects or a second instance answers",
			Fix:   "make cursors, ids and handles valid on every connection",
		},
		In: modern, Check: noAffinity, Apart: true,
		Break: Break{
			Faults: []mock.Fault{mock.On("").When(mock.ParamIs(markAt, `"elsewhere"`)).Error(spec.CodeInvalidParams, "unknown cursor")},
		},
	},
}

// mark is a _meta key of ours on requests that a check must tell apart in the
// traffic; servers ignore keys they do not know.
const (
	mark   = "dev.mcprove/probe"
	markAt = "/_meta/dev.mcprove~1probe"
)

// marked puts the mark on a request.
func marked(r *probe.Request, name string) *probe.Request { return r.Meta(mark, `"`+name+`"`) }

// noPriorContext declares capabilities on one request, and leaves them out of
// the next on the same connection: that one must be refused, and the one after
// it served again.
func noPriorContext(c *probe.Case) {
	r, ok := c.Plain()
	if !ok || turnedAway(c) {
		return
	}
	bare := r.Meta(spec.MetaClientCapabilities, "").Planting("no client capabilities")
	if x := c.Once(bare); !x.Refused() {
		c.SkipFor("meta.missing-capabilities-32602", "a request without client capabilities is served anyhow")
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	first := c.SendOn(conn, r.WithID(`"context-1"`).Capabilities(probe.AllCapabilities))
	if !first.OK() {
		c.Lacks(first)
		return
	}
	if x := c.SendOn(conn, bare.WithID(`"context-2"`)); x.OK() {
		c.Fail(x, "a request without client capabilities was served after one that had them, on the same connection").And(first)
		return
	}
	if x := c.SendOn(conn, r.WithID(`"context-3"`)); !x.OK() {
		c.Fail(x, "after a refused request, a good one on the same connection was answered by %s", x.Brief()).And(first)
		return
	}
	c.Pass(first)
}

// turnedAway fails a server over stdio that refuses server/discover, and then
// does not serve the client that falls back to the handshake, as clients do. The
// same session without the question before it is the control.
func turnedAway(c *probe.Case) bool {
	g := c.Facts().Greeting
	if c.HTTP() || !g.Refused() {
		return false
	}
	session := func(before *probe.Request) (asked, hello, x *probe.Exchange) {
		conn := c.Open()
		if conn == nil {
			return nil, nil, nil
		}
		if before != nil {
			asked = c.SendOn(conn, before)
		}
		if hello = c.SendOn(conn, legacyInitialize(c, spec.Rev20251125, "{}")); !negotiated(hello) {
			return asked, hello, hello
		}
		initialized(c, conn, "")
		method := spec.MethodPing
		for _, p := range promised {
			if len(c.Facts().List(p.method).Pages) > 0 {
				method = p.method
				break
			}
		}
		return asked, hello, c.SendOn(conn, c.Request(method, "").Of(spec.Rev20251125))
	}
	_, _, alone := session(nil)
	if alone == nil || !alone.OK() {
		return false // it has no such sessions
	}
	asked, hello, x := session(c.Request(spec.MethodDiscover, ""))
	if x == nil || x.OK() {
		return false
	}
	c.Fail(x, "after %s was refused, %s of a session of %s on the same connection is answered by %s; without it before, the session is served",
		spec.MethodDiscover, x.Method, spec.Rev20251125, x.Brief()).And(asked, hello, alone)
	return true
}

func versionNotSticky(c *probe.Case) {
	r, ok := c.Plain()
	if !ok {
		return
	}
	none := r.Meta(spec.MetaProtocolVersion, "").Planting("no protocol version")
	if x := c.Once(none); !x.Refused() {
		c.SkipFor("meta.missing-version-32602", "a request without a version is served anyhow")
		return
	}
	other := r.Version(noVersions[0]).Planting("a version that no server has")
	if x := c.Once(other); !x.Refused() {
		c.SkipFor("version.unsupported-32022", "a request of an unknown version is served anyhow")
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	first := c.SendOn(conn, r.WithID(`"sticky-1"`))
	if !first.OK() {
		c.Lacks(first)
		return
	}
	if x := c.SendOn(conn, none.WithID(`"sticky-2"`)); x.OK() {
		c.Fail(x, "a request without a version was served after one that had it, on the same connection").And(first)
		return
	}
	if x := c.SendOn(conn, other.WithID(`"sticky-3"`)); x.OK() {
		c.Fail(x, "a request of an unknown version was served after a good one, on the same connection").And(first)
		return
	}
	c.Pass(first)
}

func firstRequestAny(c *probe.Case) {
	r, ok := versioned(c)
	if !ok {
		return
	}
	good, ok := c.Works(r)
	if !ok {
		return
	}
	requests := []*probe.Request{r}
	if reads := c.Reads(); len(reads) > 0 && reads[0].OK() {
		requests = append(requests, reads[0].Request)
	}
	for _, r := range requests {
		conn := c.Open()
		if conn == nil {
			return
		}
		x := c.SendOn(conn, marked(r, "first").WithID(`"first"`))
		if x.Silent() { // a process may be slow to start: what hangs, hangs again
			if conn = c.Open(); conn == nil {
				return
			}
			x = c.SendOn(conn, marked(r, "first").WithID(`"first"`))
		}
		if !x.OK() {
			c.Fail(x, "%s as the first request of a connection was answered by %s", r.Method, x.Brief()).And(good)
			return
		}
		c.Pass(x)
	}
}

// multiConversation sends requests of several conversations without waiting,
// each with a client and capabilities of its own, and compares with what the
// same requests gave one by one.
func multiConversation(c *probe.Case) {
	var plain []*probe.Request
	for _, m := range []string{spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodDiscover} {
		if m == spec.MethodDiscover && c.Facts().Greeting.OK() || len(c.Facts().List(m).Pages) > 0 {
			plain = append(plain, c.Request(m, ""))
		}
	}
	if len(plain) == 0 {
		c.Lacks(c.Facts().Greeting)
		return
	}
	type turn struct {
		alone  *probe.Exchange
		stream *probe.Stream
	}
	var turns []turn
	for i := range conversations {
		r := plain[i%len(plain)]
		alone := c.Once(r)
		if !alone.OK() {
			c.Lacks(alone)
			return
		}
		other := marked(r, fmt.Sprintf("conversation-%d", i)).Meta(spec.MetaClientInfo, fmt.Sprintf(`{"name":"conversation-%d","version":"1"}`, i))
		turns = append(turns, turn{alone, c.Start(nil, other)})
	}
	for _, t := range turns {
		x := t.stream.Answer()
		switch {
		case !x.OK():
			c.Fail(x, "%s beside other conversations was answered by %s", x.Method, x.Brief()).And(t.alone)
		case !sameAnswer(x, t.alone):
			c.Fail(x, "%s beside other conversations gave another result than alone", x.Method).And(t.alone)
		default:
			c.Pass(x)
		}
	}
}

// conversations is how many are interleaved.
const conversations = 4

// sameAnswer reports whether two results are the same but for what may change
// at any time: caching hints and _meta, and the order of a list, which is for a rule
// of its own to judge.
func sameAnswer(a, b *probe.Exchange) bool { return probe.Same(stable(a), stable(b)) }

// stable is a result without what may change from one answer to the next.
func stable(x *probe.Exchange) []byte {
	out := []byte{'{'}
	for _, m := range probe.Members(x.Result()) {
		switch m.Name {
		case spec.FieldTTL, spec.FieldMeta:
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, jsonx.Quote(m.Name)...), ':'), inOrder(m)...)
	}
	return append(out, '}')
}

// inOrder is the value of a member, the items of a list by their names.
func inOrder(m jsonx.Member) []byte {
	id, listed := map[string]string{"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}[m.Name]
	if !listed || jsonx.KindOf(m.Value) != jsonx.Array {
		return m.Value
	}
	items := probe.Elements(json.RawMessage(m.Value))
	order.Stable(items, func(a, b json.RawMessage) int {
		return cmp.Or(strings.Compare(probe.Text(probe.Lookup(a, "/"+id)), probe.Text(probe.Lookup(b, "/"+id))), bytes.Compare(a, b))
	})
	return slices.Concat([]byte{'['}, bytes.Join(asBytes(items), []byte{','}), []byte{']'})
}

func asBytes(texts []json.RawMessage) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// noAffinity goes on elsewhere with what one connection gave: the next page of
// a list, or a read of what was listed.
func noAffinity(c *probe.Case) {
	type step struct {
		request *probe.Request
		from    *probe.Exchange
	}
	var steps []step
	for _, m := range []string{spec.MethodToolsList, spec.MethodResourcesList, spec.MethodPromptsList} {
		pages := c.Facts().List(m).Pages
		if len(pages) > 1 && pages[1].OK() {
			steps = append(steps, step{c.Request(m, "").Param("cursor", string(pages[0].Member("nextCursor"))), pages[0]})
			break
		}
	}
	if reads := c.Reads(); len(reads) > 0 && reads[0].OK() {
		steps = append(steps, step{reads[0].Request, reads[0]})
	}
	if len(steps) == 0 {
		c.Skip("the server has no list of several pages and no resource, so nothing could go on elsewhere")
		return
	}
	conn := c.Open()
	if conn == nil {
		return
	}
	for _, s := range steps {
		x := c.SendOn(conn, marked(s.request, "elsewhere"))
		if !x.OK() {
			c.Fail(x, "%s on another connection was answered by %s", x.Method, x.Brief()).And(s.from)
			continue
		}
		c.Pass(x)
	}
}
