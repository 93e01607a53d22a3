// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// sample is a surface with one of everything, items in the given order.
func sample(t testing.TB, tools ...string) *Surface {
	t.Helper()
	s := New()
	s.Facets.add(ServerName, ServerVersion, ServerOther, Revisions, Instructions, Capabilities, CacheScope)
	for _, k := range Kinds {
		s.Facets.addKind(k)
		s.Facets.add(k.Order())
	}
	s.Revisions = []string{"2025-11-25"}
	s.Server = jsonx.Raw(`{"name":"sample","version":"1.0.0"}`)
	s.Capabilities = jsonx.Raw(`{"tools":{}}`)
	s.Instructions = "Use it."
	s.CacheScopes["tools/list"] = "private"
	for i, raw := range tools {
		if err := s.add(Tools, []byte(raw), i); err != nil {
			t.Fatal(err)
		}
	}
	for k, raw := range map[Kind]string{
		Resources: `{"uri":"file:///a","name":"a","size":7,"annotations":{"lastModified":"2026-01-01T00:00:00Z","priority":1}}`,
		Templates: `{"uriTemplate":"file:///{x}","name":"t"}`,
		Prompts:   `{"name":"p","arguments":[{"name":"b"},{"name":"a"}]}`,
	} {
		if err := s.add(k, []byte(raw), 0); err != nil {
			t.Fatal(err)
		}
	}
	s.sort()
	return s
}

func TestSameSurfaceSameBytes(t *testing.T) {
	a := sample(t, `{"name":"b","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`, `{"name":"a","inputSchema":{"type":"object"}}`)
	b := sample(t, `{ "inputSchema" : {"type":"object"}, "name":"a" }`, `{"inputSchema":{"properties":{"x":{"type":"string"}},"type":"object"},"name":"b"}`)
	x, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	y, _ := b.Encode()
	if !bytes.Equal(x, y) {
		t.Errorf("order and spelling show in the file:\n%s\n%s", x, y)
	}
	if a.Digest() != b.Digest() {
		t.Error("digests differ")
	}
	if x[len(x)-1] != '\n' || bytes.Contains(x, []byte("\r")) {
		t.Error("the file must end with one LF and hold no CR")
	}
	for _, gone := range []string{"lastModified", `"size"`} {
		if bytes.Contains(x, []byte(gone)) {
			t.Errorf("%s is volatile and was recorded", gone)
		}
	}
}

func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	a := sample(t, `{"name":"a","description":"tag \udb40\udc41 and \u202e","inputSchema":{"type":"object","maximum":12345678901234567890}}`)
	x, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(x, []byte(`\udb40\udc41`)) || !bytes.Contains(x, []byte(`\u202e`)) {
		t.Errorf("invisible characters are not escaped:\n%s", x)
	}
	b, err := Decode("c.json", x)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Notes) > 0 {
		t.Errorf("notes: %v", b.Notes)
	}
	y, err := b.Encode()
	if err != nil || !bytes.Equal(x, y) {
		t.Errorf("not the inverse (%v):\n%s\n%s", err, x, y)
	}
	if b.Facets.Has("resources.size") || b.Facets.Has(Tools.Order()) || !b.Facets.Has(Tools.Of("annotations")) {
		t.Errorf("facets: %v", b.Facets.Sorted())
	}
}

func TestEditedFileIsNoted(t *testing.T) {
	x, err := sample(t, `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"bee","inputSchema":{"type":"object"}}`).Encode()
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(x, []byte(`"name": "bee"`), []byte(`"name": "c"`), 1)
	s, err := Decode("c.json", edited)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], `tool "c"`) {
		t.Errorf("notes: %q", s.Notes)
	}
}

func TestDecodeFaultsHaveAPlace(t *testing.T) {
	for _, tc := range []struct {
		name, in  string
		line, col int
		message   string
	}{
		{"not JSON", "{\n  nope", 2, 4, ""},
		{"empty", "", 1, 1, ""},
		{"an array", "[]", 1, 1, "expected an object"},
		{"duplicate key", "{\"format\":1,\n\"facets\":[],\"facets\":[]}", 2, 0, "duplicate"},
		{"another program's file", `{"tools":[]}`, 1, 1, "not an mcprove contract"},
		{"newer format", "{\"facets\":[],\n \"format\": 99}", 2, 12, "newer than this mcprove"},
		{"format zero", `{"facets":[],"format":0}`, 1, 23, "whole number"},
		{"format text", `{"facets":[],"format":"1"}`, 1, 23, "whole number"},
		{"unknown member", "{\"facets\":[],\"format\":1,\n\"tolls\":[]}", 2, 9, `"tolls"`},
		{"tools is an object", `{"facets":["tools"],"format":1,"tools":{}}`, 1, 40, "must be an array"},
		{"tools without the facet", `{"facets":[],"format":1,"tools":[]}`, 1, 33, "facets does not name"},
		{"tool is a string", "{\"facets\":[\"tools\"],\"format\":1,\"tools\":[\n{\"name\":\"a\"},\n 7]}", 3, 2, "must be an object"},
		{"tool without a name", "{\"facets\":[\"tools\"],\"format\":1,\"tools\":[\n{}]}", 2, 1, "has no name"},
		{"capabilities is a list", `{"capabilities":[],"facets":[],"format":1}`, 1, 17, "must be an object"},
		{"facets of the wrong type", `{"facets":[1],"format":1}`, 1, 0, "facets"},
	} {
		_, err := Decode("c.json", []byte(tc.in))
		var fe *FileError
		if !errors.As(err, &fe) {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if fe.Line != tc.line || tc.col > 0 && fe.Col != tc.col || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%s: %v, want %d:%d and %q", tc.name, err, tc.line, tc.col, tc.message)
		}
	}
}

func TestItemsThatCannotBeRecorded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 10_100) + "1" + strings.Repeat("}", 10_100)
	for _, tc := range []struct{ name, in, want string }{
		{"not an object", `[1]`, "tools/list item 3: must be an object, is array"},
		{"no name", `{"inputSchema":{}}`, "tools/list item 3: has no name"},
		{"name is a number", `{"name":5}`, "tools/list item 3: name must be a non-empty string, is 5"},
		{"empty name", `{"name":""}`, "name must be a non-empty string"},
		{"duplicate key", `{"name":"x","inputSchema":{"type":"object","type":"object"}}`, `tools/list item 3 (tool "x") at /inputSchema/type: duplicate`},
		{"too deep", `{"name":"x","inputSchema":` + deep + `}`, `(tool "x") at /inputSchema/a/a/`},
	} {
		_, err := newItem(Tools, []byte(tc.in), 3)
		var ie *ItemError
		if !errors.As(err, &ie) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: message of %d bytes", tc.name, len(err.Error()))
		}
	}
	// A schema that is no object is the server's promise all the same.
	if _, err := newItem(Tools, []byte(`{"name":"x","inputSchema":"no"}`), 0); err != nil {
		t.Error(err)
	}
}

func TestSettle(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"stamps go", `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"traceparent":"x"},"name":"a"}`, `{"name":"a"}`},
		{"other keys stay", `{"_meta":{"baggage":"x","ui":{"resourceUri":"ui://a"}},"name":"a"}`, `{"_meta":{"ui":{"resourceUri":"ui://a"}},"name":"a"}`},
		{"unused definition", `{"inputSchema":{"$defs":{"A":{},"B":{}},"properties":{"x":{"$ref":"#/$defs/A"}}},"name":"a"}`,
			`{"inputSchema":{"$defs":{"A":{}},"properties":{"x":{"$ref":"#/$defs/A"}}},"name":"a"}`},
		{"none used", `{"inputSchema":{"$defs":{"A":{}},"type":"object"},"name":"a"}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"an empty container goes", `{"inputSchema":{"$defs":{},"type":"object"},"name":"a"}`, `{"inputSchema":{"type":"object"},"name":"a"}`},
		{"reached through another", `{"inputSchema":{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{},"C":{"$ref":"#/$defs/A"}}},"name":"a"}`,
			`{"inputSchema":{"$defs":{"A":{"$ref":"#/$defs/B"},"B":{}},"$ref":"#/$defs/A"},"name":"a"}`},
		{"escaped name", `{"inputSchema":{"$ref":"#/definitions/a%20b~1c","definitions":{"a b/c":{},"d":{}}},"name":"a"}`,
			`{"inputSchema":{"$ref":"#/definitions/a%20b~1c","definitions":{"a b/c":{}}},"name":"a"}`},
		{"anchors keep everything", `{"inputSchema":{"$ref":"#x","$defs":{"A":{"$anchor":"x"},"B":{}}},"name":"a"}`,
			`{"inputSchema":{"$defs":{"A":{"$anchor":"x"},"B":{}},"$ref":"#x"},"name":"a"}`},
		{"an inner $id keeps everything", `{"inputSchema":{"properties":{"p":{"$id":"u","$ref":"#/$defs/A"}},"$defs":{"A":{},"B":{}}},"name":"a"}`,
			`{"inputSchema":{"$defs":{"A":{},"B":{}},"properties":{"p":{"$id":"u","$ref":"#/$defs/A"}}},"name":"a"}`},
		{"a pointer into the container keeps everything", `{"inputSchema":{"$ref":"#/$defs","$defs":{"A":{}}},"name":"a"}`,
			`{"inputSchema":{"$defs":{"A":{}},"$ref":"#/$defs"},"name":"a"}`},
	} {
		it, err := newItem(Tools, []byte(tc.in), 0)
		if err != nil {
			t.Fatal(err)
		}
		if string(it.Raw) != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, it.Raw, tc.want)
		}
	}
}

func TestIgnore(t *testing.T) {
	s := sample(t, `{"name":"tmp_1"}`, `{"name":"tmp_2/x"}`, `{"name":"keep"}`)
	for _, tc := range []struct{ pattern, kind, want string }{
		{`tools[name=tmp_*]`, "tools", "keep"},
		{`tools[name=~^tmp_\d$]`, "tools", "keep,tmp_2/x"},
		{`tools[name=keep]`, "tools", "tmp_1,tmp_2/x"},
		{`resources[uri=file:///*]`, "resources", ""},
	} {
		p, err := ParsePattern(tc.pattern)
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		var names []string
		for _, it := range s.Without([]Pattern{p}).Items(Kind(tc.kind)) {
			names = append(names, it.Name)
		}
		if got := strings.Join(names, ","); got != tc.want {
			t.Errorf("%s leaves %q, want %q", tc.pattern, got, tc.want)
		}
	}
	for _, bad := range []string{"", "tools", "tools[name]", "tools[uri=x]", "widgets[name=x]", "tools[name=~(]", "tools[name=[]"} {
		if _, err := ParsePattern(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if len(s.Items(Tools)) != 3 {
		t.Error("Without changed its receiver")
	}
}

func TestFacetsOfKinds(t *testing.T) {
	f := Facets{}
	f.addKind(Tools)
	if !f.Has(Tools.Of("inputSchema")) || !f.Has(Tools.Of("x-unknown")) || f.Has(Prompts.Of("arguments")) {
		t.Errorf("%v", f.Sorted())
	}
	if !slices.IsSorted(f.Sorted()) {
		t.Error("not sorted")
	}
}

func FuzzDecode(f *testing.F) {
	x, err := sample(f, `{"name":"a","inputSchema":{"type":"object"}}`).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(x)
	f.Add([]byte(`{"facets":["tools"],"format":1,"tools":[{"name":"a"},{"name":"a"}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode("c.json", data)
		if err != nil {
			var fe *FileError
			if !errors.As(err, &fe) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		once, err := s.Encode()
		if err != nil {
			t.Fatalf("a file that was read cannot be written: %v", err)
		}
		again, err := Decode("c.json", once)
		if err != nil {
			t.Fatalf("a file that was written cannot be read: %v\n%s", err, once)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not stable (%v):\n%s\n%s", err, once, twice)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	s := sample(b)
	for i := range 1000 {
		if err := s.add(Tools, fmt.Appendf(nil, `{"name":"tool%d","description":"Does a thing.","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`, i), i); err != nil {
			b.Fatal(err)
		}
	}
	s.sort()
	for b.Loop() {
		if _, err := s.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
