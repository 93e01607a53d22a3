// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprove/mcprove/contract"
)

// doubled is a tool whose definitions refer to each other twice, thirty deep.
func doubled(part func(ref string) string, leaf string) string {
	const levels = 30
	var defs []string
	for i := range levels {
		defs = append(defs, fmt.Sprintf(`"A%d":%s`, i, part(fmt.Sprintf(`{"$ref":"#/$defs/A%d"}`, i+1))))
	}
	defs = append(defs, fmt.Sprintf(`"A%d":%s`, levels, leaf))
	return `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/A0"}},"$defs":{` + strings.Join(defs, ",") + `}}}]}`
}

// What takes a validator hours is never handed to it, and what makes it panic
// costs the witness alone: both end in a verdict.
func TestWhatNoValidatorSurvives(t *testing.T) {
	number := func(keyword string) string {
		return `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"n":{"type":"number"` + keyword + `}}}}]}`
	}
	pairs := map[string][2]string{
		"a number of a billion digits":  {number(""), number(`,"multipleOf":1e-999999999`)},
		"a bound of a billion digits":   {number(""), number(`,"minimum":1e999999999`)},
		"a constant beyond all numbers": {number(""), number(`,"const":-1e999999999`)},
		"the same number on both sides": {number(`,"multipleOf":1e-999999999`), number(`,"multipleOf":1e-999999999,"minimum":1`)},
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		part := func(ref string) string { return fmt.Sprintf(`{%q:[%s,%s]}`, keyword, ref, ref) }
		pairs["doubling "+keyword] = [2]string{doubled(part, `{"type":"string"}`), doubled(part, `{"type":"string","maxLength":3}`)}
	}
	members := func(ref string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"l":%s,"r":%s},"required":["l","r"]}`, ref, ref)
	}
	pairs["doubling members"] = [2]string{doubled(members, `{"type":"string"}`), doubled(members, `{"type":"string","maxLength":3}`)}
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			old, now := read(t, "old", []byte(p[0])), read(t, "new", []byte(p[1]))
			for _, pair := range [][2]int{{0, 1}, {1, 0}} {
				done := make(chan *contract.Result, 1)
				go func() {
					if pair[0] == 0 {
						done <- contract.Compare(old, now, contract.Options{})
					} else {
						done <- contract.Compare(now, old, contract.Options{})
					}
				}()
				select {
				case r := <-done:
					if len(r.Changes) == 0 {
						t.Error("nothing was said")
					}
					if pair[0] == 0 && r.Worst() != contract.Breaking {
						t.Errorf("not breaking:\n%s", describe(r))
					}
				case <-time.After(time.Minute):
					t.Fatal("no end within a minute")
				}
			}
		})
	}
}
