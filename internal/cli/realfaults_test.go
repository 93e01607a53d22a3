// SPDX-License-Identifier: Apache-2.0

//go:build real

package cli

import (
	"slices"
	"testing"
)

// finder is what finds a fault of the pinned list.
type finder struct {
	rule, transport string
	// ask is the rest of a command line of its own, where a fault shows only
	// when a tool is named.
	ask []string
}

// faultRules are the faults of the pinned list, in its words, and what finds
// them; one of a single server stands behind its name. Empty is one that no
// rule is about.
var faultRules = map[string]finder{
	"modern: unsupported protocolVersion served on later requests": {rule: "version.unsupported-32022", transport: "stdio"},
	"modern: request without _meta served after discover":          {rule: "meta.missing-meta-32602", transport: "stdio"},
	"dies on a non-JSON line":                                      {rule: "jsonrpc.parse-error-32700", transport: "stdio"},
	"stdout noise: Code Runner MCP Server running on stdio":        {rule: "stdio.stdout-only-mcp", transport: "stdio"},
	"JSON lines that are not JSON-RPC on stdout":                   {rule: "stdio.stdout-only-mcp", transport: "stdio"},
	"tools/call without name -> -32603 (should be -32602)":         {rule: "jsonrpc.invalid-params-32602", transport: "stdio"},
	"unknown cursor ignored (first page returned)":                 {rule: "pagination.invalid-cursor-32602", transport: "stdio"},
	"unknown tool -> -32603":                                       {rule: "tools.unknown-tool-32602", transport: "stdio"},
	"unknown tool -> success":                                      {rule: "tools.unknown-tool-32602", transport: "stdio"},
	"resources declared but resources list fails: -32601":          {rule: "lifecycle.capabilities-respected", transport: "stdio"},
	"resources declared but resourceTemplates list fails: -32601":  {rule: "lifecycle.capabilities-respected", transport: "stdio"}, // one declaration, one finding
	"HTTP: foreign Origin answered 200":                            {rule: "transport-http.origin-validated", transport: "http"},
	"HTTP: listens on all interfaces":                              {rule: "sec.bind-all", transport: "http"},
	"HTTP: foreign Host answered 200":                              {rule: "transport-http.origin-validated", transport: "http"}, // who serves every Origin has nothing to tell by the Host
	"code-runner: HTTP: listens on all interfaces":                 {rule: "base.answers", transport: "http"},                    // after one request nobody is served, from wherever
	"notion: missing required argument -> -32603":                  {rule: "tools.execution-error-is-error", transport: "stdio"}, // whatever goes wrong in a call is -32603
	"slack-ref: missing required argument -> success": {
		rule: "tools.invalid-args-protocol-error", transport: "stdio", ask: []string{"--tool", `slack_get_user_profile={"user_id":"U1"}`},
	},
	"elastic: no exit within 8 s of stdin close": {}, // no revision before 2026-07-28 says when a server ends
}

// knownFaultsFound holds the table against what the pinned list knows of the
// servers from outside.
func knownFaultsFound(t *testing.T, known []*judgement, cs []candidate) {
	t.Helper()
	for _, s := range realServers(t) {
		for _, f := range slices.Concat(s.Faults.Must, s.Faults.Should) {
			want, ok := faultRules[s.Name+": "+f]
			if !ok {
				want, ok = faultRules[f]
			}
			if !ok {
				t.Errorf("%s: nothing is said to find %q", s.Name, f)
			}
			if want.rule == "" {
				continue
			}
			if !slices.ContainsFunc(known, func(j *judgement) bool {
				return j.Server == s.Name && j.Transport == want.transport && j.blames(want.rule)
			}) && !found(t, cs, &s, want) {
				t.Errorf("%s: %q is not found by %s over %s", s.Name, f, want.rule, want.transport)
			}
		}
	}
}

// found asks a server for one rule alone: one that needs a tool, or that a
// whole run had no time for.
func found(t *testing.T, cs []candidate, s *realServer, want finder) bool {
	t.Helper()
	i := slices.IndexFunc(cs, func(c candidate) bool { return c.server == s.Name && c.transport == want.transport })
	if i < 0 {
		return false
	}
	c := cs[i]
	c.flags = slices.Concat([]string{"--only", want.rule}, want.ask, c.flags)
	if !slices.Contains(s.Eras, "modern") {
		c.flags = append(c.flags, "--era", "legacy")
	}
	return judge(t, &c).blames(want.rule)
}
