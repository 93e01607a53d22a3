// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/mcprove/mcprove/spec"
)

// What says nothing of the content of a result does not make it useless.
func TestSideIssues(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:x","text":"calm"}]}}`:                                                                                              true,
		`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"a:x","text":"calm"}],"resultType":7,"ttlMs":"x","cacheScope":"y","_meta":{"io.modelcontextprotocol/serverInfo":1}}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{"contents":7,"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`:                                                                 false,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private"}}`:                                                                              false,
	} {
		vs := spec.Validate(spec.Latest, spec.MessageContext{From: spec.Server, Method: spec.MethodResourcesRead}, []byte(raw))
		if len(vs) == 0 {
			t.Errorf("nothing is wrong with %s", raw)
		}
		only := true
		for _, v := range vs {
			only = only && sideIssue(v)
		}
		if only != want {
			t.Errorf("%s: %v", raw, vs)
		}
	}
}
