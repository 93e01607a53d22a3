// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
	"github.com/mcprove/mcprove/rule"
)

// Whatever stands in a configuration file, reading it ends in a configuration
// or in an error with a place, and filling in its variables ends too.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		"targets:\n  a:\n    command: [x, \"${Y:-z}\"]\ncontract:\n  fail-on: routing\n  ignore: [\"tools[name=a*]\"]\n",
		"targets: {a: {url: \"http://x\", timeout: 3s, header: {A: b}}}",
		"a: &a [*a]", "contract: {max-list-bytes: 5, deprecation-policy: true}", "- 1\n- 2", "#only a comment\n",
		`{"mcpServers":{"a":{"command":"x","args":["${A}"],"env":{"B":1}},}} // c`, `{"servers":{"b":{"url":"${env:U}"}}}`, `{"mcp":{"servers":{}}}`, `/* `, `{"mcpServers":[`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, yaml bool) {
		read := parseHostConfig
		if yaml {
			read = parseYAMLConfig
		}
		c, err := read("config", data)
		if err != nil {
			var fe *rule.FileError
			if !errors.As(err, &fe) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		a := &app{redactor: &text.Redactor{}}
		for name, s := range c.servers {
			x := &expander{app: a, workspace: "/w"}
			_, _ = x.server(name, s) // an error is a variable that is not set
		}
	})
}

func TestPlainJSONKeepsOffsets(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"a":1,}`, `{"a":1 }`},
		{"{// x\n\"a\":[1,2,],}", "{    \n\"a\":[1,2 ] }"},
		{`{"a":"// no, /* no */ ,}"}`, `{"a":"// no, /* no */ ,}"}`},
		{`{/* x */"a":1}`, `{       "a":1}`},
		{"\ufeff{}", "   {}"},
		{`{"a":"\\"/*x*/}`, `{"a":"\\"     }`},
	} {
		got := plainJSON([]byte(tc.in))
		if string(got) != tc.want {
			t.Errorf("plainJSON(%q) = %q, want %q", tc.in, got, tc.want)
		}
		if err := jsonx.Check(got, jsonx.Strict); err != nil {
			t.Errorf("plainJSON(%q) is no JSON: %v", tc.in, err)
		}
	}
}
