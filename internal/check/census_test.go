// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/transport"
)

// What real servers do, and what must be said of it: these and nothing else.
var met = []struct {
	name   string
	kind   transport.Kind
	in     spec.Revision // zero is the newest
	change func(*mock.Script)
	faults []mock.Fault
	want   []string
	warn   []string // those of want that are no more than a warning
}{
	{
		name: "discover is answered, and the revision is not served",
		kind: transport.StreamableHTTP,
		faults: append(earlierOnly(),
			mock.Lenient(mock.CheckOrigin),
		),
		want: []string{"discover.supported-versions", "transport-http.origin-validated"},
	},
	{
		name:   "discover is answered over stdio, and the revision is not served",
		kind:   transport.Stdio,
		faults: earlierOnly(),
		want:   []string{"discover.supported-versions"},
	},
	{
		name: "a subscription that grants nothing is answered while another one is being ended", kind: transport.StreamableHTTP,
		faults: []mock.Fault{mock.On(spec.MethodListen).When(mock.ParamIs("/notifications", "{}")).Together()},
	},
	{
		name: "nothing is granted, and streams that grant nothing end together", kind: transport.StreamableHTTP,
		change: func(s *mock.Script) {
			s.Capabilities = []byte(`{"tools":{},"resources":{},"prompts":{},"completions":{}}`)
		},
		faults: []mock.Fault{mock.On(spec.MethodListen).Together()},
	},
	{
		name: "both eras are served, and discover names one", kind: transport.Stdio,
		faults: namesOneEra(),
	},
	{
		name: "both eras are served over HTTP, and discover names one", kind: transport.StreamableHTTP,
		faults: append(namesOneEra(), mock.Lenient(mock.CheckOrigin)),
		want:   []string{"transport-http.origin-validated"},
	},
	{
		name: "a handshake is refused by the version that it asks for", kind: transport.Stdio,
		change: func(s *mock.Script) { s.Revisions = []spec.Revision{spec.Latest} },
		faults: []mock.Fault{
			mock.On(spec.MethodInitialize).When(mock.HasMeta(spec.MetaProtocolVersion)).ErrorData(spec.CodeUnsupportedVersion,
				"no handshake is accepted on this connection", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`),
		},
	},
	{
		name: "a server of the handshake era that does not insist on it", kind: transport.StreamableHTTP,
		faults: append(handshakeOnly(), mock.Lenient(mock.CheckOrigin)),
		want:   []string{"discover.implemented", "transport-http.origin-validated"},
	},
	{
		name: "a server of the handshake era that has a text for an error", kind: transport.Stdio,
		faults: append(handshakeOnly(), mock.On(spec.MethodDiscover).Set("/error", `"no such method"`)),
		want:   []string{"discover.implemented"},
	},
	{
		name: "a server of the handshake era that has a name for a code", kind: transport.Stdio,
		faults: append(handshakeOnly(), mock.On(spec.MethodDiscover).Set("/error/code", `"E_METHOD"`)),
		want:   []string{"discover.implemented"},
	},
	{
		name: "a server of the handshake era that takes every method", kind: transport.Stdio,
		faults: append(handshakeOnly(), mock.On(spec.MethodDiscover).Remove("/error"), mock.On(spec.MethodDiscover).Set("/result", `{}`)),
		want:   []string{"discover.implemented"},
	},
	{
		name: "a server of the handshake era that does not insist on it, with a banner", kind: transport.Stdio,
		faults: append(handshakeOnly(), mock.Banner("Server running on stdio")),
		want:   []string{"discover.implemented", "stdio.stdout-only-mcp"},
	},
	{name: "wrong params are internal errors", kind: transport.StreamableHTTP, faults: anyParams(), want: []string{"jsonrpc.invalid-params-32602"}},
	{name: "wrong params are internal errors over stdio", kind: transport.Stdio, faults: anyParams(), want: []string{"jsonrpc.invalid-params-32602"}},
	{
		name: "wrong params are internal errors in a session", kind: transport.StreamableHTTP, in: spec.Rev20251125,
		faults: append(anyParams(),
			mock.On(spec.MethodToolsCall).OfCode(spec.CodeInvalidParams).Set("/error/code", "-32603"),
			mock.On(spec.MethodSetLevel).OfError().Set("/error/code", "-32603"),
		),
		want: []string{"jsonrpc.invalid-params-32602", "tools.unknown-tool-32602"},
	},
	{
		name: "a resource without a name is not found", kind: transport.StreamableHTTP, in: spec.Rev20251125,
		faults: []mock.Fault{mock.On(spec.MethodResourcesRead).When(mock.NoParam("/uri")).OfCode(spec.CodeInvalidParams).Set("/error/code", "-32002")},
		want:   []string{"jsonrpc.invalid-params-32602"},
		warn:   []string{"jsonrpc.invalid-params-32602"},
	},
	{
		name: "arrays are never answered", kind: transport.Stdio, in: spec.Rev20250326,
		faults: []mock.Fault{mock.On(mock.Batched).Drop(), mock.On("").When(mock.ParamIs("/_meta/"+spec.MetaProgressToken, `"mcprove-batched"`)).Unanswered()},
		want:   []string{"batch.receive"},
	},
	{
		name: "initialize is served, and discover does not say so",
		kind: transport.StreamableHTTP,
		faults: []mock.Fault{
			mock.On(spec.MethodDiscover).Set("/result/supportedVersions", `["2026-07-28"]`),
			mock.On("").OfCode(spec.CodeUnsupportedVersion).Set("/error/data/supported", `["2026-07-28"]`),
		},
	},
}

// anyParams is a server that calls every mistake in params its own.
func anyParams() []mock.Fault {
	var out []mock.Fault
	for _, on := range []mock.Place{
		mock.On(spec.MethodToolsCall).When(mock.NoParam("/name")),
		mock.On(spec.MethodResourcesRead).When(mock.NoParam("/uri")),
		mock.On(spec.MethodPromptsGet).When(mock.NoParam("/name")),
		mock.On(spec.MethodComplete).When(mock.NoParam("/argument")),
	} {
		out = append(out, on.OfCode(spec.CodeInvalidParams).Set("/error/code", "-32603"))
	}
	return out
}

// handshakeOnly is a server that has never heard of server/discover, and serves
// lists in the language of its own revision.
func handshakeOnly() []mock.Fault {
	out := []mock.Fault{mock.On(spec.MethodDiscover).Error(spec.CodeMethodNotFound, "Method not found")}
	for _, m := range []string{
		spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourceTemplatesList,
	} {
		out = append(out, mock.On(m).Remove("/result/resultType"), mock.On(m).Remove("/result/ttlMs"),
			mock.On(m).Remove("/result/cacheScope"), mock.On(m).Remove("/result/_meta"))
	}
	return out
}

// earlierOnly is a server that answers server/discover to everybody, names
// handshake revisions there, and serves no other.
func earlierOnly() []mock.Fault {
	const versions = `["2025-11-25","2025-06-18"]`
	out := []mock.Fault{mock.On(spec.MethodDiscover).Set("/result/supportedVersions", versions)}
	for _, m := range []string{
		spec.MethodToolsList, spec.MethodToolsCall, spec.MethodPromptsList, spec.MethodPromptsGet, spec.MethodComplete,
		spec.MethodResourcesList, spec.MethodResourceTemplatesList, spec.MethodResourcesRead, spec.MethodListen,
	} {
		on := mock.On(m).When(mock.HasMeta(spec.MetaProtocolVersion))
		out = append(out, on.Error(spec.CodeUnsupportedVersion, "unsupported protocol version"), on.Status(400),
			on.Set("/error/data", `{"supported":`+versions+`,"requested":"2026-07-28"}`))
	}
	return out
}

// namesOneEra is a server of both eras that tells clients without a handshake of
// their own versions alone.
func namesOneEra() []mock.Fault {
	const versions = `["2026-07-28"]`
	return []mock.Fault{
		mock.On(spec.MethodDiscover).Set("/result/supportedVersions", versions),
		mock.On("").OfCode(spec.CodeUnsupportedVersion).Set("/error/data/supported", versions),
	}
}

func TestMetInTheWild(t *testing.T) {
	for _, m := range met {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := specimen()
			s.Faults = m.faults
			if m.change != nil {
				m.change(&s)
			}
			at := newest(m.kind)
			if m.in != 0 {
				at.revision = m.in
			}
			got := judgeBy(t, s, at, check.Options{})
			for id, o := range got {
				if (o.Status == rule.Fail || o.Status == rule.Warn) && !slices.Contains(m.want, id) {
					t.Errorf("found besides: %s", show(o))
				}
			}
			for _, id := range m.want {
				if !blamed(got[id]) {
					t.Errorf("not found: %s", show(got[id]))
				}
				if slices.Contains(m.warn, id) && got[id].Status != rule.Warn {
					t.Errorf("not a warning: %s", show(got[id]))
				}
			}
		})
	}
}

// A process that logs to stdout while it starts has not begun to serve.
func TestNoiseIsNotTheEndOfTheStart(t *testing.T) {
	s := specimen()
	s.Faults = []mock.Fault{mock.Banner(`{"level":"info","msg":"starting"}`), mock.On(spec.MethodDiscover).OnTurn(1).Late(900 * time.Millisecond)}
	o := check.Options{Only: []string{"base.answers", "stdio.stdout-only-mcp"}}
	o.Timeout = 300 * time.Millisecond
	got := judgeBy(t, s, newest(transport.Stdio), o)
	if o := got["base.answers"]; o.Status != rule.Pass {
		t.Error(show(o))
	}
	if o := got["stdio.stdout-only-mcp"]; o.Status != rule.Fail {
		t.Error(show(o))
	}
}
