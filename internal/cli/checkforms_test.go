// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"testing"

	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/spec"
	"github.com/mcprove/mcprove/wire"
)

// listed is a server that declares tools and prompts, and whose tools were listed.
func listed(tools ...string) *probe.Facts {
	l := &probe.List{Method: spec.MethodToolsList, Whole: true, Pages: []*probe.Exchange{answeredBy(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)}}
	for _, name := range tools {
		l.Items = append(l.Items, probe.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"}`)})
	}
	return &probe.Facts{Capabilities: json.RawMessage(`{"tools":{}}`), Lists: map[string]*probe.List{l.Method: l}}
}

func answeredBy(text string) *probe.Exchange {
	return &probe.Exchange{Response: &wire.Frame{Raw: []byte(text)}}
}

// A list that was never got is no difference, and no agreement either.
func TestFormsAreComparedByWhatWasGot(t *testing.T) {
	unasked, cut := listed(), listed()
	unasked.Lists = nil
	cut.Lists[spec.MethodToolsList].Pages = append(cut.Lists[spec.MethodToolsList].Pages, &probe.Exchange{})
	none := &probe.Facts{Capabilities: json.RawMessage(`{}`)}
	for _, tc := range []struct {
		name  string
		other *probe.Facts
		diff  string
		lacks string
	}{
		{"the same", listed("add"), "", ""},
		{"another", listed("sub"), `tools/list has "add" in the first only`, ""},
		{"none declared", none, `tools/list has "add" in the first only`, ""},
		{"never asked", unasked, "", spec.MethodToolsList},
		{"cut short", cut, "", spec.MethodToolsList},
		{"no greeting", &probe.Facts{}, "", spec.MethodToolsList},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff, lacks := differs(listed("add"), tc.other, false); diff != tc.diff || lacks != tc.lacks {
				t.Errorf("got %q and %q missing, want %q and %q", diff, lacks, tc.diff, tc.lacks)
			}
		})
	}
}
