// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/rule"
	"github.com/mcprove/mcprove/transport"
)

// brokenServers are servers with the defects of the official suite's broken
// examples, and the rules that must find each. None may be found by more than
// these and at most two others: one defect is told once.
var brokenServers = []struct {
	file  string
	only  transport.Kind
	tools map[string]json.RawMessage
	want  []string
}{
	{file: "plain"},
	{file: "any-origin", only: transport.StreamableHTTP, want: []string{"transport-http.origin-validated"}},
	{file: "empty-contents", want: []string{"resources.not-found-no-empty-contents"}},
	{file: "no-caching-hints", want: []string{
		"discover.cache-hints", "caching.hints-tools-list", "caching.hints-prompts-list", "caching.hints-resources-list",
		"caching.hints-templates-list", "caching.hints-resources-read",
	}},
	{file: "any-state", tools: map[string]json.RawMessage{"ask_name": []byte(`{}`)}, want: []string{"mrtr.state-tamper-rejected"}},
	{file: "state-without-type", tools: map[string]json.RawMessage{"ask_name": []byte(`{}`)}, want: []string{"jsonrpc.result-type-present"}},
	{file: "asks-everywhere", want: []string{"mrtr.supported-methods-only"}},
	{file: "stripped-schema", want: []string{"schema.default-2020-12"}},
}

func TestBrokenServers(t *testing.T) {
	for _, b := range brokenServers {
		path := filepath.Join("testdata", "broken", b.file+".yaml")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range modernCarriers {
			if b.only != 0 && b.only != c.kind {
				continue
			}
			t.Run(b.file+"/"+c.kind.String(), func(t *testing.T) {
				t.Parallel()
				script, err := mock.ReadScript(path, data, mock.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var o check.Options
				o.Tools = b.tools
				got := judgeBy(t, script, newest(c.kind), o)
				others := 0
				for id, o := range got {
					if o.Status != rule.Fail && o.Status != rule.Warn {
						continue
					}
					if !slices.Contains(b.want, id) {
						others++
						if len(b.want) == 0 || others > 2 {
							t.Errorf("found besides: %s", show(o))
						}
					}
				}
				for _, id := range b.want {
					if o, known := got[id]; known && !blamed(o) {
						t.Errorf("not found: %s", show(o))
					} else if !known {
						t.Errorf("%s is no rule", id)
					}
				}
			})
		}
	}
}
