// SPDX-License-Identifier: Apache-2.0

package surface_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// A listing that also names its server is a listing: what marks the other
// tool's file is the command or the format.
func TestListingWithAServerIsAListing(t *testing.T) {
	s, err := surface.Read("l", []byte(`{"server":{"name":"x","version":"1"},"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`))
	if err != nil || len(s.Items(surface.Tools)) != 1 || s.Items(surface.Tools)[0].Member("inputSchema") == nil {
		t.Errorf("%v %v", s, err)
	}
}

func TestForeignFaultsHaveAPlace(t *testing.T) {
	const diff = `{"snapshotVersion":"1.0.0","server":{"name":"s","capabilities":{}},"resources":{},"prompts":{},` + "\n"
	for _, tc := range []struct {
		name, in  string
		line, col int
		message   string
	}{
		{"format is newer", "{\"tools\":[],\n\"format\":3}", 2, 10, "format 3 of mcp-contract is newer than this mcprove"},
		{"format is a word", `{"tools":[],"format":"two"}`, 1, 22, "whole number"},
		{"format is a fraction", `{"tools":[],"format":1.5}`, 1, 22, "whole number"},
		{"format is negative", `{"tools":[],"format":-1}`, 1, 22, "whole number"},
		{"tools are missing", `{"format":2,"server":{}}`, 1, 1, "unknown file format"},
		{"tools are a map", `{"format":2,"tools":{}}`, 1, 21, "tools must be an array, is object"},
		{"a tool is a name", "{\"format\":2,\"tools\":[\n\"a\"]}", 2, 1, "tools[0] must be an object, is string"},
		{"a tool has no name", "{\"format\":2,\"tools\":[{\"name\":\"a\"},\n  {}]}", 2, 3, "a tool has no name"},
		{"a tool's name is empty", `{"format":2,"tools":[{"name":""}]}`, 1, 30, "non-empty"},
		{"a tool's name is a number", `{"format":2,"tools":[{"name":7}]}`, 1, 30, "name must be a string, is number"},
		{"a listing in disguise", `{"format":2,"tools":[{"name":"a","inputSchema":{}}]}`, 1, 48, `unknown member "inputSchema"`},
		{"a contract without its facets", `{"format":1,"tools":[],"digests":{}}`, 1, 34, `unknown member "digests"`},
		{"arguments are a map", `{"format":2,"tools":[{"name":"a","arguments":{}}]}`, 1, 46, "arguments must be an array"},
		{"an argument has no name", "{\"format\":2,\"tools\":[{\"name\":\"a\",\"arguments\":[\n{\"required\":true}]}]}", 2, 1, "has no name"},
		{"required is a word", `{"format":2,"tools":[{"name":"a","arguments":[{"name":"x","required":"yes"}]}]}`, 1, 70, "required must be true or false, is string"},
		{"a type is a list", `{"format":2,"tools":[{"name":"a","arguments":[{"name":"x","type":["string"]}]}]}`, 1, 66, "type must be a string, is array"},
		{"an enum is a word", `{"format":2,"tools":[{"name":"a","output":[{"name":"x","enum":"b"}]}]}`, 1, 63, "enum must be an array"},
		{"a hint is a word", `{"format":2,"tools":[{"name":"a","behaviour":{"read_only":"yes"}}]}`, 1, 59, "read_only must be true or false"},
		{"an unknown hint", `{"format":2,"tools":[{"name":"a","behaviour":{"open":true}}]}`, 1, 54, `unknown member "open"`},
		{"a server is a name", `{"tools":[],"server":"s","command":"c"}`, 1, 22, "server must be an object"},
		{"a version is a number", `{"tools":[],"server":{"version":1},"command":"c"}`, 1, 33, "version must be a string"},
		{"a resource is an object", `{"tools":[],"command":"","resources":[{"uri":"a"}]}`, 1, 39, "must be a string"},
		{"a resource is empty", `{"tools":[],"command":"","resources":[""]}`, 1, 39, "non-empty"},
		{"a prompt is a number", `{"tools":[],"command":"","prompts":[1]}`, 1, 37, "must be an object"},
		{"a prompt has no name", `{"tools":[],"command":"","prompts":[{}]}`, 1, 37, "a prompt has no name"},
		{"a name twice", `{"tools":[{"name":"a","name":"b"}],"format":2}`, 1, 0, "duplicate"},
		{"cut off", `{"tools":[{"name":"a"`, 1, 0, "unexpected end"},

		{"a snapshot of a later version", `{"snapshotVersion":"1.1.0","tools":{}}`, 1, 20, "not known to this mcprove"},
		{"a snapshot of the next version", "{\n\"snapshotVersion\":\"2.0.0\",\"tools\":{}}", 2, 19, "2.0.0"},
		{"a snapshot's version is a number", `{"snapshotVersion":1,"tools":{}}`, 1, 20, "must be a string"},
		{"a snapshot without prompts", `{"snapshotVersion":"1.0.0","server":{},"tools":{},"resources":{}}`, 1, 1, "has no prompts"},
		{"a snapshot's tools are a list", diff + `"tools":[]}`, 2, 9, "tools must be an object"},
		{"a snapshot's tool is a list", diff + `"tools":{"a":[]}}`, 2, 14, "a must be an object"},
		{"a snapshot's schema is a list", diff + `"tools":{"a":{"inputSchema":[]}}}`, 2, 29, "inputSchema must be an object"},
		{"a snapshot's tool has more", diff + `"tools":{"a":{"title":"A"}}}`, 2, 23, `unknown member "title"`},
		{"a snapshot's tool has no name", diff + `"tools":{"":{}}}`, 2, 13, "has no name"},
		{"a snapshot's member", diff + `"tools":{},"x":1}`, 2, 16, `unknown member "x"`},
		{"a snapshot's schema has a name twice", diff + `"tools":{"a":{"inputSchema":{"type":"a","type":"b"}}}}`, 2, 0, "duplicate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := surface.Read("f.json", []byte(tc.in))
			fe, ok := errors.AsType[*surface.FileError](err)
			if !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if fe.Line != tc.line || tc.col > 0 && fe.Col != tc.col || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("%v, want %d:%d and %q", err, tc.line, tc.col, tc.message)
			}
			if !strings.HasPrefix(err.Error(), "f.json:") {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}

func TestNewerFormatsSayWhatToDo(t *testing.T) {
	for _, in := range []string{`{"format":9,"tools":[]}`, `{"snapshotVersion":"9.0.0"}`} {
		_, err := surface.Read("f.json", []byte(in))
		fe, ok := errors.AsType[*surface.FileError](err)
		if !ok || !strings.Contains(fe.Try, "mcprove contract snapshot") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// What a file does not show that its writer knew was not captured.
func TestFacetsFollowTheFile(t *testing.T) {
	hints := []surface.Facet{surface.Tools.Of("title"), surface.Tools.Of("annotations")}
	for _, tc := range []struct {
		name, in string
		has, not []surface.Facet
	}{
		{"the oldest", `{"server":{"name":"s","version":""},"command":"c","tools":[{"name":"a","description":"","arguments":[]}]}`,
			[]surface.Facet{"tools", "server.name", surface.Tools.Of("inputSchema")},
			append(hints, "server.version", "resources", "prompts", surface.Tools.Of("outputSchema"), surface.Tools.Of("execution"), surface.Tools.Of("_meta"), surface.Tools.Order())},
		{"names of prompts", `{"command":"c","tools":[{"name":"a"}],"prompts":["p"]}`,
			[]surface.Facet{"prompts", surface.Tools.Of("outputSchema")},
			[]surface.Facet{surface.Prompts.Of("arguments"), surface.Prompts.Of("description"), "resources"}},
		{"prompts with arguments", `{"command":"c","tools":[{"name":"a"}],"prompts":[{"name":"p","arguments":[]}]}`,
			[]surface.Facet{surface.Prompts.Of("arguments")}, hints},
		{"nested fields", `{"format":2,"tools":[{"name":"a","arguments":[]}]}`,
			[]surface.Facet{surface.Tools.Of("outputSchema")}, hints},
		{"a title", `{"format":2,"tools":[{"name":"a","title":"A"},{"name":"b"}]}`, hints, []surface.Facet{surface.Tools.Of("execution")}},
		{"a hint", `{"format":2,"tools":[{"name":"a","behaviour":{"idempotent":true}}]}`, hints, []surface.Facet{surface.Tools.Of("execution")}},
		{"tasks", `{"format":2,"tools":[{"name":"a","behaviour":{"task_support":"optional"}}]}`, append(hints, surface.Tools.Of("execution")), nil},
		{"an empty listing may have failed", `{"format":2,"tools":[]}`, nil, []surface.Facet{"tools", "resources", "prompts"}},
		{"a snapshot", `{"snapshotVersion":"1.0.0","server":{"name":"s","protocolVersion":"2025-11-25","capabilities":{"tools":{}}},"tools":{},"resources":{},"prompts":{}}`,
			[]surface.Facet{"prompts", "resources", "resourceTemplates", "capabilities", "server.name"},
			[]surface.Facet{"tools", "revisions", "instructions", "server.version", "cacheScope"}},
	} {
		s, err := surface.Read("f.json", []byte(tc.in))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for _, f := range tc.has {
			if !s.Facets.Has(f) {
				t.Errorf("%s: %s is missing in %v", tc.name, f, s.Facets.Sorted())
			}
		}
		for _, f := range tc.not {
			if s.Facets.Has(f) {
				t.Errorf("%s: %s was not captured", tc.name, f)
			}
		}
	}
}

// References that multiply do not keep anybody busy.
func TestSchemasThatMultiply(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"tools":[{"name":"a","inputSchema":{"type":"object","$defs":{`)
	const wide = 40
	for d := range 6 {
		if d > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"D%d":{"type":"object","properties":{`, d)
		for i := range wide {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"p%d":{"$ref":"#/$defs/D%d"}`, i, d+1)
		}
		b.WriteString(`}}`)
	}
	b.WriteString(`,"D6":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/D0"}}}}]}`)
	live, err := surface.Read("live", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	old, err := surface.Read("old", []byte(`{"format":2,"tools":[{"name":"a","arguments":[{"name":"x","required":false,"type":"object"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := contract.Compare(old, live, contract.Options{}); len(r.Changes) > 0 {
		t.Errorf("%.2000s", changes(r))
	}
}

// Whatever the bytes, Read returns a surface or a *FileError, and the surface
// can be compared with any other.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "foreign", "*.json"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		`{"format":2,"tools":[{"name":"a","arguments":[{"name":"x.y[].z","enum":["None","1e400"]},{"name":"x","type":"null|['string']"}]}]}`,
		`{"snapshotVersion":"1.0.0","server":{"name":"s","capabilities":{"tools":{}}},"tools":{"t":{"inputSchema":{"type":"object"}}},"resources":{},"prompts":{}}`,
		`{"result":{"tools":[]}}`, `[{"name":"a"}]`, `{"tools":[{"name":"a","input_schema":{}}]}`,
		`{"tools":[{"name":"a","inputSchema":{"$ref":"#/$defs/A","$defs":{"A":{"allOf":[{"$ref":"#/$defs/A"}],"properties":{"b":{"$ref":"#"}}}}}}]}`,
	} {
		f.Add([]byte(s))
	}
	data, err := os.ReadFile(filepath.Join("testdata", "foreign", "library.json"))
	if err != nil {
		f.Fatal(err)
	}
	listed, err := surface.Read("listed", data)
	if err != nil {
		f.Fatal(err)
	}
	var recorded []*surface.Surface
	for _, name := range []string{"library-mcp-contract-0.3.0.json", "library-mcp-contract-0.6.0.json", "library.mcpc.json"} {
		recorded = append(recorded, load(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := surface.Read("f.json", data)
		if err != nil {
			if _, ok := errors.AsType[*surface.FileError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		surface.Aligned(s, listed)
		surface.Aligned(s, s)
		for _, r := range recorded {
			a, b := surface.Aligned(r, s)
			for _, x := range []*surface.Surface{a, b} {
				if _, err := x.Encode(); err != nil {
					t.Fatalf("a reduced surface cannot be written: %v", err)
				}
			}
		}
	})
}
