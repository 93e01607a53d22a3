// SPDX-License-Identifier: Apache-2.0

package surface_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/surface"
)

// edited returns the listing in testdata with values replaced: each edit is a
// pointer and the new value, nothing to delete it. A last token "-" appends.
func edited(t testing.TB, edits ...string) *surface.Surface {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "foreign", "library.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(edits); i += 2 {
		doc = edit(t, doc, strings.Split(edits[i], "/")[1:], edits[i+1])
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := surface.Read("edited", out)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func edit(t testing.TB, at any, tokens []string, value string) any {
	t.Helper()
	if len(tokens) == 0 {
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		return v
	}
	token := tokens[0]
	gone := len(tokens) == 1 && value == ""
	switch v := at.(type) {
	case map[string]any:
		if _, ok := v[token]; !ok && (gone || len(tokens) > 1) {
			t.Fatalf("there is no %s", token)
		}
		if gone {
			delete(v, token)
		} else {
			v[token] = edit(t, v[token], tokens[1:], value)
		}
		return v
	case []any:
		if token == "-" {
			return append(v, edit(t, nil, tokens[1:], value))
		}
		i, err := strconv.Atoi(token)
		if err != nil || i >= len(v) {
			t.Fatalf("no element %s", token)
		}
		if gone {
			return slices.Delete(v, i, i+1)
		}
		v[i] = edit(t, v[i], tokens[1:], value)
		return v
	}
	t.Fatalf("%s leads into a %T", token, at)
	return nil
}

// The releases that learned to record something, as the files are named.
const (
	first   = "0.1.0"
	outputs = "0.2.0"
	prompts = "0.3.0"
	nested  = "0.4.0"
	hints   = "0.6.0"
	tasks   = "0.6.0+" // on an SDK that knows them
	never   = "9"
)

const (
	search = "/tools/0"
	in     = search + "/inputSchema"
	args   = in + "/properties"
	defs   = in + "/$defs"
	out    = search + "/outputSchema"
)

// recordings are the files that were written of the library server.
func recordings(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "foreign", "library-mcp-contract-*.json"))
	if err != nil || len(files) != 7 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return append(files, "library.mcpc.json")
}

// sees reports whether the file's writer records what a release learned.
func sees(file, since string, mcpdiff bool) bool {
	release := strings.TrimSuffix(strings.TrimPrefix(file, "library-mcp-contract-"), ".json")
	switch {
	case file == "library.mcpc.json":
		return mcpdiff
	case since == tasks:
		return release == hints
	}
	return strings.TrimSuffix(release, "-older-sdk") >= since
}

func TestEveryFormatFindsWhatItCanExpress(t *testing.T) {
	const brk, rtg, add, cos = contract.Breaking, contract.Routing, contract.Additive, contract.Cosmetic
	for _, tc := range []struct {
		name    string
		edits   []string
		since   string // the release of mcp-contract that records it
		mcpdiff bool
		class   contract.Class
		ids     string // any of these
	}{
		{"a tool is gone", []string{"/tools/1", ""}, first, true, brk, "tool-removed"},
		{"a tool is new", []string{"/tools/-", `{"name":"return","inputSchema":{"type":"object"}}`}, first, true, add, "tool-added"},
		{"a description changed", []string{search + "/description", `"Finds films."`}, first, true, rtg, "tool-description-changed"},
		{"a description is gone", []string{search + "/description", ""}, first, true, rtg, "tool-description-removed"},
		{"an argument is gone", []string{args + "/limit", ""}, first, true, brk, "argument-removed-open"},
		{"an argument became required", []string{in + "/required/-", `"limit"`}, first, true, brk, "argument-now-required argument-now-required-with-default"},
		{"an argument became optional", []string{in + "/required", `["filters"]`}, first, true, add, "argument-now-optional"},
		{"a type changed", []string{args + "/words/type", `"boolean"`}, first, true, brk, "input-type-changed"},
		{"an integer became a number", []string{args + "/limit/type", `"number"`}, first, true, add, "input-integer-to-number"},
		{"null is refused", []string{args + "/shelf/type", `"string"`}, first, true, brk, "input-became-not-nullable"},
		{"null is accepted", []string{args + "/words/type", `["null","string"]`}, first, true, add, "input-became-nullable"},
		{"a union lost a type", []string{args + "/nested_union", `{"type":["string","null"]}`}, first, true, brk, "input-type-narrowed any-of-branch-removed"},
		{"a value is gone", []string{args + "/sort/enum/0", ""}, first, true, brk, "input-enum-value-removed"},
		{"a value is new", []string{args + "/sort/enum/-", `"author"`}, first, true, add, "input-enum-value-added"},
		{"a number among the values is gone", []string{args + "/pages/enum/2", ""}, first, true, brk, "input-enum-value-removed"},
		{"a fraction among the values is gone", []string{args + "/weight/enum/1", ""}, first, true, brk, "input-enum-value-removed"},
		{"a value without a type is gone", []string{args + "/mode/enum/0", ""}, first, true, brk, "input-enum-value-removed const-changed"},
		{"free text became a set", []string{args + "/words/enum", `["a","b"]`}, first, true, brk, "input-enum-introduced"},
		{"a set became free text", []string{args + "/sort/enum", ""}, first, true, add, "input-enum-dropped"},
		{"an open argument got a type", []string{args + "/anything/type", `"string"`}, nested, true, brk, "input-type-added-to-untyped"},
		{"an argument is described otherwise", []string{args + "/words/description", `"Words."`}, first, true, rtg, "argument-description-changed"},
		{"a required argument is new", []string{args + "/who", `{"type":"string"}`, in + "/required/-", `"who"`}, first, true, brk, "required-argument-added"},
		{"an optional argument is new", []string{args + "/who", `{"type":"string"}`}, first, true, add, "argument-added"},
		{"an optional model is new", []string{args + "/extra", `{"type":"object","properties":{"k":{"type":"string"}},"required":["k"]}`}, nested, true, add, "optional-parent-with-required-child-added"},
		{"a nested argument is gone", []string{defs + "/Filters/properties/year", ""}, nested, true, brk, "argument-removed-open"},
		{"a nested argument was renamed", []string{defs + "/Filters/properties/city", "", defs + "/Filters/properties/town", `{"type":"string"}`, defs + "/Filters/required", `["town"]`}, nested, true, brk, "argument-removed-open"},
		{"a nested argument became required", []string{defs + "/Filters/required/-", `"year"`}, nested, true, brk, "argument-now-required"},
		{"a nested type changed", []string{defs + "/Branch/properties/street/type", `"integer"`}, nested, true, brk, "input-type-changed"},
		{"a field in a list is gone", []string{defs + "/Tag/properties/weight", ""}, nested, true, brk, "argument-removed-open"},
		{"a merged argument is gone", []string{"/tools/4/inputSchema/allOf/1/properties/y", ""}, nested, true, brk, "argument-removed-open"},
		{"a result field is gone", []string{out + "/properties/total", "", out + "/required", `["hits"]`}, outputs, true, brk, "output-required-field-removed"},
		{"a result field is new", []string{out + "/properties/took", `{"type":"number"}`}, outputs, true, add, "output-field-added-open"},
		{"a result field became optional", []string{out + "/required", `["hits"]`}, outputs, true, brk, "output-now-optional"},
		{"a result field is guaranteed", []string{out + "/required/-", `"state"`}, outputs, true, add, "output-now-guaranteed"},
		{"a result may be null", []string{out + "/properties/total/type", `["integer","null"]`}, outputs, true, brk, "output-became-nullable"},
		{"a result's type changed", []string{out + "/properties/total/type", `"string"`}, outputs, true, brk, "output-type-changed"},
		{"a result has more values", []string{out + "/properties/state/enum/-", `"failed"`}, outputs, true, brk, "output-enum-value-added"},
		{"a result has fewer values", []string{out + "/properties/state/enum/1", ""}, outputs, true, add, "output-enum-value-removed"},
		{"a nested result became optional", []string{out + "/$defs/Hit/required", ``}, nested, true, brk, "output-now-optional"},
		{"results are no longer promised", []string{out, ""}, outputs, true, brk, "output-schema-removed"},
		{"results are any object", []string{out, `{"type":"object"}`}, outputs, true, brk, "output-required-field-removed"},
		{"results are a list", []string{out, `{"type":"array"}`}, outputs, false, brk, "output-root-type-changed"},
		{"results are promised", []string{"/tools/1/outputSchema", `{"type":"object","properties":{"due":{"type":"string"}}}`}, outputs, false, add, "output-schema-added"},
		{"a title changed", []string{search + "/title", `"Find"`}, hints, false, rtg, "tool-title-changed"},
		{"a reader may write", []string{search + "/annotations/readOnlyHint", `false`}, hints, true, brk, "hint-read-only-withdrawn"},
		{"a hint is gone", []string{"/tools/1/annotations/destructiveHint", ""}, hints, true, brk, "hint-destructive-raised"},
		{"a hint for retries is gone", []string{"/tools/1/annotations/idempotentHint", ""}, hints, true, brk, "hint-idempotent-withdrawn"},
		{"the outside world is reached", []string{search + "/annotations/openWorldHint", "true"}, hints, true, brk, "hint-open-world-opened"},
		{"a hint states its default", []string{"/tools/1/annotations/openWorldHint", "true"}, hints, true, cos, "hint-restated"},
		{"a hint that is moot", []string{search + "/annotations/destructiveHint", "false"}, hints, true, cos, "hint-moot-on-read-only"},
		{"tasks are gone", []string{"/tools/1/execution", ""}, tasks, false, brk, "task-support-withdrawn"},
		{"tasks are required", []string{"/tools/1/execution/taskSupport", `"required"`}, tasks, false, brk, "task-support-now-required"},
		{"what is forbidden is left out", []string{search + "/execution", ""}, tasks, false, cos, "task-support-restated"},
		{"a resource is gone", []string{"/resources/0", ""}, outputs, true, brk, "resource-removed"},
		{"a resource is new", []string{"/resources/-", `{"uri":"library://new","name":"n"}`}, outputs, true, add, "resource-added"},
		{"a resource's type changed", []string{"/resources/0/mimeType", `"text/html"`}, never, true, brk, "resource-mime-changed"},
		{"a template is gone", []string{"/resourceTemplates", "[]"}, never, false, 0, ""},
		{"a template's description changed", []string{"/resourceTemplates/0/description", `"A book."`}, never, true, rtg, "template-text-changed"},
		{"a prompt is gone", []string{"/prompts/1", ""}, outputs, true, brk, "prompt-removed"},
		{"a prompt is new", []string{"/prompts/-", `{"name":"bye"}`}, outputs, true, add, "prompt-added"},
		{"a prompt's description changed", []string{"/prompts/0/description", `"Names a book."`}, never, true, rtg, "prompt-description-changed"},
		{"a prompt's argument is gone", []string{"/prompts/0/arguments/1", ""}, prompts, true, brk, "prompt-argument-removed"},
		{"a prompt's argument became required", []string{"/prompts/0/arguments/2/required", "true"}, prompts, true, brk, "prompt-argument-now-required"},
		{"a prompt's argument became optional", []string{"/prompts/0/arguments/0/required", ""}, prompts, true, add, "prompt-argument-now-optional"},
		{"a prompt's argument is described otherwise", []string{"/prompts/0/arguments/0/description", `"Whatever."`}, prompts, true, rtg, "prompt-argument-description-changed"},
		{"a required prompt argument is new", []string{"/prompts/0/arguments/-", `{"name":"z","required":true}`}, prompts, true, brk, "prompt-required-argument-added"},
		{"an optional prompt argument is new", []string{"/prompts/0/arguments/-", `{"name":"z"}`}, prompts, true, add, "prompt-argument-added"},
		{"prompt arguments changed places", []string{"/prompts/0/arguments/0", `{"name":"mood"}`, "/prompts/0/arguments/2", `{"name":"topic","description":"What about.","required":true}`}, never, true, rtg, "prompt-argument-reordered"},
		{"the version changed", []string{"/initialize/serverInfo/version", `"1.4.1"`}, first, true, cos, "server-version-changed"},
		{"the name changed", []string{"/initialize/serverInfo/name", `"archive"`}, first, true, rtg, "server-name-changed"},
		{"the list no longer tells of changes", []string{"/initialize/capabilities/tools", "{}"}, never, true, brk, "list-changed-withdrawn"},
		{"a bound is tighter", []string{args + "/words/minLength", "5"}, never, true, brk, "input-min-length-tightened"},
		{"instructions changed", []string{"/initialize/instructions", `"Obey."`}, never, false, 0, ""},
		{"the revision changed", []string{"/initialize/protocolVersion", `"2025-06-18"`}, never, false, 0, ""},
		{"an unknown capability came", []string{"/initialize/capabilities/x", `{}`}, never, false, 0, ""},
	} {
		live := edited(t, tc.edits...)
		for _, file := range recordings(t) {
			t.Run(tc.name+"/"+file, func(t *testing.T) {
				r := contract.Compare(load(t, file), live, contract.Options{})
				if tc.name == "a template is gone" {
					return // nothing lists it in the file, or a note says so
				}
				if !sees(file, tc.since, tc.mcpdiff) {
					blind(t, tc.name, file, r)
					return
				}
				ids := strings.Fields(tc.ids)
				if !slices.ContainsFunc(r.Changes, func(c contract.Change) bool { return c.Class == tc.class && slices.Contains(ids, c.ID) }) {
					t.Errorf("no %s %v:\n%s", tc.class, ids, changes(r))
				}
				if w := r.Worst(); w > tc.class {
					t.Errorf("worst is %s:\n%s", w, changes(r))
				}
			})
		}
	}
}

// blind checks a change that the format cannot express in full: format 1 sees
// a new model as an argument; everything else must not be there.
func blind(t *testing.T, name, file string, r *contract.Result) {
	t.Helper()
	switch {
	case name == "an optional model is new" || name == "results are a list" || name == "results are promised":
		if w := r.Worst(); w > contract.Additive && name != "results are a list" {
			t.Errorf("worst is %s:\n%s", w, changes(r))
		}
	case len(r.Changes) > 0:
		t.Errorf("%s cannot have recorded it:\n%s", file, changes(r))
	}
}

// A schema that says the same in other words is no change of the promise,
// however the recorder reads the words.
func TestOtherWordsAreNoChange(t *testing.T) {
	for _, tc := range []struct {
		name  string
		edits []string
	}{
		{"a wrapper around a reference went", []string{args + "/wrapped", `{"$ref":"#/$defs/Filters","default":{}}`}},
		{"a reference was wrapped", []string{args + "/filters", `{"allOf":[{"$ref":"#/$defs/Filters"}]}`}},
		{"a union is a list of types", []string{args + "/language", `{"type":["string","null"],"default":null}`}},
		{"a list of types is a union", []string{args + "/shelf", `{"oneOf":[{"type":"null"},{"type":"string"}]}`}},
		{"a nested union is flat", []string{args + "/nested_union", `{"type":["integer","string","null"]}`}},
		{"a constant got its type", []string{args + "/fixed/type", `"string"`}},
		{"values got their type", []string{args + "/mode/type", `"string"`}},
		{"values lost their type", []string{args + "/sort/type", ""}},
		{"values are constants of a union", []string{args + "/sort", `{"oneOf":[{"const":"title"},{"const":"year"},{"const":"über"}]}`}},
		{"values in a union are in the open", []string{args + "/maybe", `{"type":["string","null"],"enum":["x","y",null]}`}},
		{"a type is behind allOf", []string{args + "/words", `{"description":"What to look for.","allOf":[{"type":"string","minLength":1}]}`}},
		{"a reference is an encoded pointer", []string{args + "/filters", `{"$ref":"#/%24defs/Filters"}`}},
		{"a definition is in place", []string{args + "/tags", `{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"weight":{"type":"number"}},"required":["name"]}}`}},
		{"a root is behind a reference", []string{"/tools/3/inputSchema", `{"type":"object","properties":{},"required":[]}`}},
		{"a part of a root is wrapped", []string{"/tools/4/inputSchema/allOf/0", `{"allOf":[{"properties":{"x":{"type":"integer"}},"required":["x"]}]}`}},
		{"a reference is wrapped twice", []string{args + "/tags/items", `{"allOf":[{"allOf":[{"$ref":"#/$defs/Tag"}]}]}`}},
		{"a list is behind allOf", []string{args + "/tags", `{"allOf":[{"type":"array","items":{"$ref":"#/$defs/Tag"}}]}`}},
		{"a loop is entered a step later", []string{"/tools/2/inputSchema/properties/node", `{"type":"object","properties":{"label":{"type":"string"},"child":{"$ref":"#/definitions/Node"},"children":{"type":"array","items":{"$ref":"#/definitions/Node"}}},"required":["label"]}`}},
		{"a form of a union is wrapped", []string{args + "/either/anyOf/0", `{"allOf":[{"$ref":"#/$defs/Filters"}]}`}},
		{"values changed places", []string{args + "/sort/enum", `["year","title","über"]`}},
	} {
		live := edited(t, tc.edits...)
		for _, file := range recordings(t) {
			if file == "library.mcpc.json" {
				continue // schemas are whole there: the same comparison as ever
			}
			t.Run(tc.name+"/"+file, func(t *testing.T) {
				if r := contract.Compare(load(t, file), live, contract.Options{}); r.Worst() > contract.Cosmetic {
					t.Errorf("%s", changes(r))
				}
			})
		}
	}
}

// Where a place with one form got a second one, callers of the first are
// still served, and readers of it are not.
func TestASecondFormIsJudgedByItsDirection(t *testing.T) {
	wider := edited(t, args+"/filters", `{"anyOf":[{"$ref":"#/$defs/Filters"},{"$ref":"#/$defs/Tag"}]}`)
	other := edited(t, args+"/filters", `{"anyOf":[{"$ref":"#/$defs/Branch"},{"$ref":"#/$defs/Tag"}]}`)
	for _, file := range recordings(t) {
		if !sees(file, nested, false) {
			continue
		}
		if r := contract.Compare(load(t, file), wider, contract.Options{}); r.Worst() != contract.Additive {
			t.Errorf("%s: a second form is %v:\n%s", file, r.Worst(), changes(r))
		}
		if r := contract.Compare(load(t, file), other, contract.Options{}); r.Worst() != contract.Breaking {
			t.Errorf("%s: two other forms are %v:\n%s", file, r.Worst(), changes(r))
		}
	}
}

// Files of different formats and tools are compared by what both record.
func TestFilesOfDifferentFormats(t *testing.T) {
	files := recordings(t)
	for _, a := range files {
		for _, b := range files {
			if r := contract.Compare(load(t, a), load(t, b), contract.Options{}); len(r.Changes) > 0 {
				t.Errorf("%s and %s:\n%s", a, b, changes(r))
			}
		}
	}
	own, err := load(t, "library.json").Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := surface.Decode("own", own)
		if err != nil {
			t.Fatal(err)
		}
		if r := contract.Compare(load(t, f), s, contract.Options{}); len(r.Changes) > 0 {
			t.Errorf("%s and a contract:\n%s", f, changes(r))
		}
		if n := fmt.Sprint(load(t, f).Notes); !strings.Contains(n, "only what it records") {
			t.Errorf("%s: nothing says what is not compared: %s", f, n)
		}
	}
}
