// SPDX-License-Identifier: Apache-2.0

package jsonx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
)

func TestCanonical(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"names sorted, space gone", `{ "b" : 1, "a" : [ true , null ] }`, `{"a":[true,null],"b":1}`},
		{"numbers in shortest form", `[1.0,-0,0.10,100]`, `[1,0,0.1,100]`},
		{"a number past float64 keeps its text", `{"b":1.0,"a":12345678901234567891}`, `{"a":12345678901234567891,"b":1}`},
		{"2^53-1 is the same on both ways", `9007199254740991`, `9007199254740991`},
		{"digits in strings are not numbers", `{"a":"12345678901234567891 \" 1.0"}`, `{"a":"12345678901234567891 \" 1.0"}`},
		{"escapes shortened", `["\u0041\u00e9"]`, `["Aé"]`},
		{"escapes shortened beside a long number", `["\u0041\u00e9",12345678901234567891]`, `["Aé",12345678901234567891]`},
	} {
		got, err := jsonx.Canonical([]byte(tc.in))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: Canonical(%s) = %s, %v; want %s", tc.name, tc.in, got, err, tc.want)
		}
	}
	if _, err := jsonx.Canonical([]byte(`{"a":1,"a":2}`)); !errors.Is(err, jsonx.ErrDuplicateName) {
		t.Errorf("duplicate names: got %v", err)
	}
	if _, err := jsonx.Canonical([]byte(`{"a":12345678901234567891,"a":2}`)); !errors.Is(err, jsonx.ErrDuplicateName) {
		t.Errorf("duplicate names beside a long number: got %v", err)
	}
}

func TestMembersShareTheText(t *testing.T) {
	text := []byte(` {"a": [1, 2], "b" : "x" }`)
	ms, err := jsonx.Members(text, jsonx.Strict)
	if err != nil || len(ms) != 2 {
		t.Fatalf("Members = %v, %v", ms, err)
	}
	for _, m := range ms {
		if &text[m.Offset] != &m.Value[0] {
			t.Errorf("%s: value is a copy", m.Name)
		}
	}
	if string(ms[0].Value) != "[1, 2]" || string(ms[1].Value) != `"x"` {
		t.Errorf("values: %s %s", ms[0].Value, ms[1].Value)
	}
	if es, err := jsonx.Elements(ms[0].Value, jsonx.Strict); err != nil || len(es) != 2 || string(es[1]) != "2" {
		t.Errorf("Elements = %s, %v", es, err)
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		in      string
		pointer string
	}{
		{`{"a":{"b":1,"b":2}}`, "/a/b"},
		{"{\"a\":\"\xff\"}", "/a"},
		{`[1,2`, ""},
		{`{} x`, ""},
		{``, ""},
	} {
		err := jsonx.Check([]byte(tc.in), jsonx.Strict)
		var syn *jsonx.SyntaxError
		if !errors.As(err, &syn) {
			t.Errorf("Check(%q) = %v, want a SyntaxError", tc.in, err)
			continue
		}
		if tc.pointer != "" && syn.Pointer != tc.pointer {
			t.Errorf("Check(%q): pointer %q, want %q", tc.in, syn.Pointer, tc.pointer)
		}
	}
	if err := jsonx.Check([]byte("{\"a\":1,\"a\":\"\xff\"}"), jsonx.Lenient); err != nil {
		t.Errorf("lenient: %v", err)
	}
}

func TestLookupAndPosition(t *testing.T) {
	text := []byte("{\n \"a/b\": [10, {\"~\": true}]\n}")
	v, err := jsonx.Lookup(text, "/a~1b/1/~0")
	if err != nil || string(v) != "true" {
		t.Errorf("Lookup = %s, %v", v, err)
	}
	if p := jsonx.Push(jsonx.Push("", "a/b"), "~"); p != "/a~1b/~0" {
		t.Errorf("Push = %s", p)
	}
	for _, p := range []string{"/x", "/a~1b/2", "/a~1b/01", "/a~1b/0/q"} {
		if _, err := jsonx.Lookup(text, p); !errors.Is(err, jsonx.ErrNotFound) {
			t.Errorf("Lookup(%s): %v", p, err)
		}
	}
	if l, c := jsonx.Position(text, 4); l != 2 || c != 3 {
		t.Errorf("Position = %d:%d", l, c)
	}
}

func TestIndent(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"a":[1,{"b":{}}],"c":[],"d":"{[,:"}`, "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    }\n  ],\n  \"c\": [],\n  \"d\": \"{[,:\"\n}"},
		{`1`, `1`},
		{` [ ] `, `[]`},
	} {
		got, err := jsonx.Indent([]byte(tc.in))
		if err != nil || string(got) != tc.want {
			t.Errorf("Indent(%s) = %s, %v; want %s", tc.in, got, err, tc.want)
		}
	}
	deep := strings.Repeat(`{"a":[`, 2000) + strings.Repeat(`]}`, 2000)
	got, err := jsonx.Indent([]byte(deep))
	if err != nil || len(got) > 3*len(deep)+10_000 {
		t.Fatalf("%d bytes of %d nested levels became %d (%v)", len(deep), 4000, len(got), err)
	}
	if back, err := jsonx.Compact(got); err != nil || string(back) != deep {
		t.Errorf("not the same value: %v", err)
	}
}
