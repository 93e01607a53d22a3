// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaDir returns the folder of the official schemas, and skips where the
// project's shared files are not at hand.
func schemaDir(t testing.TB) string {
	shared := os.Getenv("MCPROVE_SHARED")
	if shared == "" {
		t.Skip("MCPROVE_SHARED is not set: the official schemas, which are not part of the repository, are needed here")
	}
	return filepath.Join(shared, "spec", "schema")
}

// difference is a point where the project departs from an official schema file
// on purpose. It is stated as the change to the file that brings both together.
type difference struct {
	definition string
	in         Range
	what       string
	reason     string
	formats    bool // the change is that format is an annotation
	apply      func(defs map[string]any)
}

var differences = []difference{
	{
		definition: "JSONValue", in: since(Rev20260728),
		what:   "null and fractions are JSON values",
		reason: "schema.ts allows null and number; the generated file turns number into integer and loses null",
		apply:  func(defs map[string]any) { defs["JSONValue"] = map[string]any{} },
	},
	{
		definition: "ElicitResult", in: since(Rev20250618),
		what:   "form values may be fractions",
		reason: "schema.ts says number, and requestedSchema may ask for a number; the generated file says integer",
		apply: func(defs map[string]any) {
			content := defs["ElicitResult"].(map[string]any)["properties"].(map[string]any)["content"].(map[string]any)
			values := content["additionalProperties"].(map[string]any)
			if forms, ok := values["anyOf"].([]any); ok {
				values = forms[len(forms)-1].(map[string]any)
			}
			types := values["type"].([]any)
			types[slices.Index(types, any("integer"))] = "number"
		},
	},
	{
		definition: "*", in: until(Rev20250618), formats: true,
		what:   "the formats uri and uri-template are not asserted",
		reason: "the files are draft-07, where a validator may assert format; later files are 2020-12, where it is an annotation, and the specification asks for no check of the syntax",
	},
}

// oracle is the official schema of one revision, with some differences taken.
type oracle struct {
	defs map[string]*jsonschema.Schema
}

// official reads the schema file of a revision.
func official(t testing.TB, r Revision) (doc map[string]any, key string) {
	raw, err := os.ReadFile(filepath.Join(schemaDir(t), r.String()+".json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	doc = v.(map[string]any)
	key = "definitions"
	if _, ok := doc[key]; !ok {
		key = "$defs"
	}
	return doc, key
}

func newOracle(t testing.TB, r Revision, taken ...difference) *oracle {
	doc, key := official(t, r)
	defs := doc[key].(map[string]any)
	c := jsonschema.NewCompiler()
	for _, d := range taken {
		if d.formats {
			for _, name := range []string{"uri", "uri-template"} {
				c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
			}
			continue
		}
		d.apply(defs)
	}
	if err := c.AddResource("mem:schema", doc); err != nil {
		t.Fatal(err)
	}
	o := &oracle{defs: make(map[string]*jsonschema.Schema)}
	for name := range defs {
		s, err := c.Compile("mem:schema#/" + key + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		o.defs[name] = s
	}
	return o
}

func (o *oracle) accepts(name string, v any) bool { return o.defs[name].Validate(v) == nil }

// parse reads a text as the oracle wants it.
func parse(t testing.TB, text []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// fromSchema makes a value that fits an official schema most of the time.
func (g *gen) fromSchema(defs map[string]any, s any) any {
	g.depth++
	defer func() { g.depth-- }()
	m, ok := s.(map[string]any)
	if !ok {
		return g.probe()
	}
	if ref, ok := m["$ref"].(string); ok {
		return g.fromSchema(defs, defs[ref[lastSlash(ref)+1:]])
	}
	if forms, ok := m["anyOf"].([]any); ok && m["properties"] == nil {
		return g.fromSchema(defs, pick(g, forms))
	}
	if parts, ok := m["allOf"].([]any); ok {
		merged := map[string]any{}
		for _, p := range parts {
			if part, ok := g.fromSchema(defs, p).(map[string]any); ok {
				maps.Copy(merged, part)
			}
		}
		return merged
	}
	if c, ok := m["const"]; ok {
		return tree(c)
	}
	if e, ok := m["enum"].([]any); ok {
		return tree(pick(g, e))
	}
	typ, _ := m["type"].(string)
	if types, ok := m["type"].([]any); ok {
		typ = pick(g, types).(string)
	}
	switch typ {
	case "object":
		return g.objectFromSchema(defs, m)
	case "array":
		a := []any{}
		for range 1 + g.IntN(2) {
			a = append(a, g.fromSchema(defs, m["items"]))
		}
		return a
	case "string":
		return g.text()
	case "integer":
		if m["minimum"] != nil {
			return digits("3")
		}
		return g.integer()
	case "number":
		if m["maximum"] != nil {
			return pick(g, []digits{"0", "1", "0.75"})
		}
		return digits("2.5")
	case "boolean":
		return g.IntN(2) == 0
	case "null":
		return nil
	}
	return g.probe()
}

func (g *gen) objectFromSchema(defs map[string]any, m map[string]any) any {
	o := map[string]any{}
	required, _ := m["required"].([]any)
	props, _ := m["properties"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if slices.Contains(required, any(k)) || g.include() {
			o[k] = g.fromSchema(defs, props[k])
		}
	}
	if rest, ok := m["additionalProperties"].(map[string]any); ok && g.depth <= 2*g.reach {
		for range 1 + g.IntN(2) {
			if k := pick(g, g.names); o[k] == nil && props[k] == nil {
				o[k] = g.fromSchema(defs, rest)
			}
		}
	}
	return o
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return -1
}

// tree turns a value the oracle's reader made into a tree.
func tree(v any) any {
	switch v := v.(type) {
	case json.Number:
		return digits(v)
	case []any:
		for i := range v {
			v[i] = tree(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = tree(v[k])
		}
	}
	return v
}

// vocabulary collects the member names and fixed strings of a schema, which
// make better mutations than random ones.
func vocabulary(v any, names, words map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, s := range v {
			if k == "properties" {
				if props, ok := s.(map[string]any); ok {
					for name := range props {
						names[name] = true
					}
				}
			}
			if c, ok := s.(string); ok && k == "const" {
				words[c] = true
			}
			if e, ok := s.([]any); ok && k == "enum" {
				for _, x := range e {
					if w, ok := x.(string); ok {
						words[w] = true
					}
				}
			}
			vocabulary(s, names, words)
		}
	case []any:
		for _, s := range v {
			vocabulary(s, names, words)
		}
	}
}
