// SPDX-License-Identifier: Apache-2.0

package jsonx_test

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
)

func TestSkim(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	ms := jsonx.Skim([]byte(` { "a" : 1 , "b\"]":` + deep + `,"c":"}\\", "d":{"x":[1,2]},"e":true,"f":-1.5e3}`))
	want := []struct{ name, value string }{{"a", "1"}, {`b"]`, deep}, {"c", `"}\\"`}, {"d", `{"x":[1,2]}`}, {"e", "true"}, {"f", "-1.5e3"}}
	if len(ms) != len(want) {
		t.Fatalf("%d members", len(ms))
	}
	for i, m := range ms {
		if m.Name != want[i].name || string(m.Value) != want[i].value {
			t.Errorf("member %d: %s = %.40s", i, m.Name, m.Value)
		}
	}
	if es := jsonx.Skim([]byte(`[1, {"a":[]},"x" ]`)); len(es) != 3 || string(es[1].Value) != `{"a":[]}` {
		t.Errorf("elements %v", es)
	}
	for _, broken := range []string{"", "1", "{", "[", `{"a`, `{"a"`, `{"a":`, `{a:1}`, `{"a":1`, "[,", "[}", `{"a":"`, `{"a" 1}`} {
		jsonx.Skim([]byte(broken))
	}
}

func FuzzSkim(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\"]"}],"c":null}`))
	f.Add([]byte("{\"\xcb\":null}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got := jsonx.Skim(in)
		byName := map[string]jsonx.Raw{}
		for _, m := range got {
			byName[m.Name] = m.Value
		}
		for name, want := range byName {
			if one := jsonx.SkimMember(in, name); jsonx.KindOf(in) == jsonx.Object && string(one) != string(want) {
				t.Errorf("member %q of %q is %q, want %q", name, in, one, want)
			}
		}
		want, err := jsonx.Members(in, jsonx.Lenient)
		if err != nil {
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%d members, want %d", len(got), len(want))
		}
		for i, m := range want {
			if got[i].Name != m.Name || string(got[i].Value) != string(m.Value) || got[i].Offset != m.Offset {
				t.Fatalf("member %d: %+v, want %+v", i, got[i], m)
			}
		}
	})
}
