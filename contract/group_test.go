// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
)

// One kind of change can go both ways. Tools that lose something are never
// reported behind one that gains it, however many there are.
func TestGroupsGoOneWay(t *testing.T) {
	listing := func(first, others string) []byte {
		var tools []string
		for i := range 5 {
			part := others
			if i == 0 {
				part = first
			}
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object","properties":{"a":%s}}}`, i, part))
		}
		return []byte(`{"tools":[` + strings.Join(tools, ",") + `]}`)
	}
	for name, p := range map[string][2]string{
		"forbidden":  {`false`, `{"type":"string"}`},
		"impossible": {`{"type":"string","enum":[1]}`, `{"type":"string"}`},
		"bounded":    {`{"type":"string","maxLength":3}`, `{"type":"string"}`},
		"listed":     {`{"enum":["x"]}`, `{"enum":["x","y"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := contract.Compare(read(t, "old", listing(p[0], p[1])), read(t, "new", listing(p[1], p[0])), contract.Options{})
			broken := map[string]bool{}
			for _, c := range r.Changes {
				if c.Class == contract.Breaking {
					broken[c.Name] = true
					for _, a := range c.Also {
						broken[a.Name] = true
					}
				}
			}
			for i := range 5 {
				if n := fmt.Sprintf("t%d", i); broken[n] != (i > 0) {
					t.Errorf("%s is reported as breaking: %v\n%s", n, broken[n], describe(r))
				}
			}
		})
	}
}
