// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// object is a schema that tests build and change.
type object = map[string]any

// amount says how much a random test does: in short mode, by default, and where
// MCPROVE_SHARED asks for the whole of it. The default must end well within ten
// minutes on a slow machine that has other work.
func amount(short, dflt, whole int) int {
	switch {
	case testing.Short():
		return short
	case os.Getenv("MCPROVE_SHARED") != "":
		return whole
	}
	return dflt
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func decode(raw []byte) any {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(err)
	}
	return v
}

func mustParse(t testing.TB, raw []byte) *Schema {
	t.Helper()
	s, problems := Parse(raw, ParseOptions{})
	if len(problems) > 0 {
		t.Fatalf("parse %s: %v", raw, problems)
	}
	return s
}

// handSeeds are schemas of the shapes that tools use, written for this test.
var handSeeds = []string{
	`{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":40},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10}},"required":["query"]}`,
	`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":5}},"required":["path"],"additionalProperties":false}`,
	`{"type":"object","properties":{"mode":{"type":"string","enum":["fast","slow","safe"]},"tags":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`,
	`{"type":"object","properties":{"filter":{"anyOf":[{"type":"string"},{"type":"null"}]},"depth":{"type":["integer","null"],"minimum":0}}}`,
	`{"type":"object","properties":{"shape":{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number","minimum":0}},"required":["kind","r"]},{"type":"object","properties":{"kind":{"const":"rect"},"w":{"type":"number"},"h":{"type":"number"}},"required":["kind","w","h"]}]}},"required":["shape"]}`,
	`{"type":"object","properties":{"node":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{"v":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["v"]}}}`,
	`{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}},"n":{"type":"number","exclusiveMinimum":0,"maximum":1}},"required":["env"]}`,
	`{"type":"object","properties":{"at":{"type":"object","properties":{"lat":{"type":"number","minimum":-90,"maximum":90},"lng":{"type":"number","minimum":-180,"maximum":180}},"required":["lat","lng"],"additionalProperties":false}},"required":["at"]}`,
	`{"type":"object","properties":{"ids":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id"]}},"dry":{"type":"boolean"}},"required":["ids"]}`,
	`{"type":"object","properties":{"value":{"anyOf":[{"type":"string","maxLength":10},{"type":"array","items":{"type":"string"}},{"type":"integer"}]}},"required":["value"]}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"url":{"type":"string","minLength":3},"method":{"type":"string","enum":["GET","PUT"]},"body":{}},"required":["url"],"additionalProperties":false}`,
	`{"type":"object","properties":{"code":{"type":"string","pattern":"^[A-Z]{2}[0-9]+$"},"opt":{"type":"string","pattern":"^x-"}},"required":["code"]}`,
	`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`,
	`{"type":"object","properties":{"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"minItems":1}}}`,
	`{"type":"object","properties":{"set":{"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":1}}}`,
	`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer","minimum":0}}}]}`,
	`{"type":"object","properties":{"step":{"type":"number","multipleOf":0.5},"count":{"type":"integer","multipleOf":3}}}`,
	`{"type":"object","properties":{"l":{"type":"array","contains":{"type":"integer"}},"m":{"not":{"type":"string"}}}}`,
	`{"type":"object","properties":{"t":{"type":"string"},"u":{"type":"string"}},"if":{"properties":{"t":{"const":"x"}},"required":["t"]},"then":{"required":["u"]}}`,
	`{"type":"object","minProperties":1,"maxProperties":3,"propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":{"type":"integer"}}`,
	`{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"string"}},"dependentRequired":{"k":["v"]}}`,
	`{"type":"string"}`,
	`{"type":"object"}`,
}

// coreWords are the keywords of which nearly everything must be decided.
var coreSeeds = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 21, 22}

// realSchemas reads the listings of the shared folder, if there is one.
func realSchemas(t testing.TB) [][]byte {
	shared := os.Getenv("MCPROVE_SHARED")
	if shared == "" {
		return nil
	}
	var out [][]byte
	for _, pair := range realPairs(t) {
		out = append(out, pair[0], pair[1])
	}
	return out
}

// realPairs returns the schemas of equal place in two releases.
func realPairs(t testing.TB) [][2][]byte {
	shared := os.Getenv("MCPROVE_SHARED")
	if shared == "" {
		t.Skip("MCPROVE_SHARED is unset: no real listings at hand")
	}
	olds, err := filepath.Glob(filepath.Join(shared, "servers", "pairs", "*-old.json"))
	if err != nil || len(olds) == 0 {
		t.Fatal("no listings under MCPROVE_SHARED")
	}
	type tool struct {
		Name         string
		InputSchema  json.RawMessage
		OutputSchema json.RawMessage
	}
	read := func(path string) map[string]tool {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var l struct{ Tools json.RawMessage }
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatal(err)
		}
		var list []tool
		if err := json.Unmarshal(l.Tools, &list); err != nil {
			var w struct{ Tools []tool }
			if json.Unmarshal(l.Tools, &w) == nil {
				list = w.Tools
			}
		}
		out := map[string]tool{}
		for _, x := range list {
			out[x.Name] = x
		}
		return out
	}
	var out [][2][]byte
	for _, path := range olds {
		a := read(path)
		b := read(path[:len(path)-len("old.json")] + "new.json")
		for name, x := range a {
			y, ok := b[name]
			if !ok {
				continue
			}
			if x.InputSchema != nil && y.InputSchema != nil {
				out = append(out, [2][]byte{x.InputSchema, y.InputSchema})
			}
			if x.OutputSchema != nil && y.OutputSchema != nil {
				out = append(out, [2][]byte{x.OutputSchema, y.OutputSchema})
			}
		}
	}
	return out
}

// randomSchema builds a schema of the given depth. With core it keeps to the
// keywords that must nearly always be decided.
func randomSchema(r *rand.Rand, depth int, core bool) any {
	pick := func(ss ...string) string { return ss[r.IntN(len(ss))] }
	if depth <= 0 {
		switch r.IntN(6) {
		case 0:
			return object{"type": "string", "maxLength": r.IntN(6)}
		case 1:
			return object{"type": "integer", "minimum": r.IntN(5) - 2, "maximum": r.IntN(8)}
		case 2:
			return object{"enum": []any{"a", "b", r.IntN(3)}}
		case 3:
			return object{"type": pick("string", "number", "boolean", "null", "integer")}
		case 4:
			return object{"const": pick("a", "b", "c")}
		}
		if core {
			return object{}
		}
		return r.IntN(5) > 0
	}
	sub := func() any { return randomSchema(r, depth-1, core) }
	n := 9
	if !core {
		n = 18
	}
	switch r.IntN(n) {
	case 0, 1, 2:
		o := object{"type": "object", "properties": object{"a": sub(), "b": sub()}}
		if r.IntN(2) == 0 {
			o["required"] = []any{pick("a", "b", "c")}
		}
		if r.IntN(3) == 0 {
			o["additionalProperties"] = r.IntN(2) == 0
		} else if r.IntN(4) == 0 {
			o["additionalProperties"] = sub()
		}
		return o
	case 3, 4:
		o := object{"type": "array", "items": sub()}
		if r.IntN(2) == 0 {
			o["minItems"] = r.IntN(3)
		}
		if r.IntN(3) == 0 {
			o["maxItems"] = r.IntN(4)
		}
		return o
	case 5:
		return object{"anyOf": []any{sub(), sub()}}
	case 6:
		return object{"type": []any{pick("string", "integer"), pick("null", "number", "array")}, "minLength": r.IntN(3)}
	case 7:
		return object{"oneOf": []any{
			object{"type": "object", "properties": object{"k": object{"const": "x"}, "p": sub()}, "required": []any{"k"}},
			object{"type": "object", "properties": object{"k": object{"const": "y"}, "q": sub()}, "required": []any{"k"}},
		}}
	case 8:
		return object{"type": "number", "minimum": r.IntN(4), "exclusiveMaximum": r.IntN(9)}
	case 9:
		return object{"oneOf": []any{sub(), sub()}}
	case 10:
		return object{"not": sub()}
	case 11:
		return object{"allOf": []any{sub(), sub()}}
	case 12:
		return object{"if": sub(), "then": sub(), "else": sub()}
	case 13:
		return object{"type": "string", "pattern": pick("^a", "b$", "^[a-c]+$", "a.b", "^(x|y)*$", "^.{2}$")}
	case 14:
		return object{"prefixItems": []any{sub(), sub()}, "items": sub(), "uniqueItems": r.IntN(3) == 0}
	case 15:
		return object{"contains": sub(), "minContains": r.IntN(3), "maxContains": 1 + r.IntN(3)}
	case 16:
		return object{"type": "object", "patternProperties": object{"^a": sub(), "b$": sub()}, "additionalProperties": sub(), "minProperties": r.IntN(3)}
	case 17:
		return object{"type": "object", "propertyNames": object{"maxLength": 1 + r.IntN(3)}, "minProperties": r.IntN(3), "maxProperties": 1 + r.IntN(3),
			"dependentRequired": object{"a": []any{"b"}}, "dependentSchemas": object{"b": sub()}}
	}
	return object{}
}
