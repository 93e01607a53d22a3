// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"slices"
	"testing"
)

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		raw     string
		kind    ProblemKind
		pointer string
	}{
		{`{"required":true}`, ProblemWrongShape, "/required"},
		{`{"required":null}`, ProblemWrongShape, "/required"},
		{`{"required":[1]}`, ProblemWrongShape, "/required"},
		{`{"properties":[]}`, ProblemWrongShape, "/properties"},
		{`{"properties":{"a":1}}`, ProblemNotSchema, "/properties/a"},
		{`{"properties":{"a/b":{"type":"strin"}}}`, ProblemWrongShape, "/properties/a~1b/type"},
		{`{"type":"object","type":"string"}`, ProblemSyntax, "/type"},
		{`{"minLength":-1}`, ProblemWrongShape, "/minLength"},
		{`{"maximum":"3"}`, ProblemWrongShape, "/maximum"},
		{`{"maximum":1e99999}`, ProblemWrongShape, "/maximum"},
		{`{"multipleOf":0}`, ProblemWrongShape, "/multipleOf"},
		{`{"anyOf":[]}`, ProblemWrongShape, "/anyOf"},
		{`{"items":[{}]}`, ProblemWrongShape, "/items"},
		{`{"pattern":"("}`, ProblemBadPattern, "/pattern"},
		{`{"patternProperties":{"[":{}}}`, ProblemBadPattern, "/patternProperties/["},
		{`{"$ref":"https://example.com/other.json"}`, ProblemExternalRef, "/$ref"},
		{`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, ProblemDanglingRef, "/properties/a/$ref"},
		{`{"$ref":"#nowhere"}`, ProblemDanglingRef, "/$ref"},
		{`{"$schema":"https://example.com/schema"}`, ProblemUnknownDialect, "/$schema"},
		{`{"$schema":7}`, ProblemWrongShape, "/$schema"},
		{`[]`, ProblemNotSchema, ""},
		{`"object"`, ProblemNotSchema, ""},
		{``, ProblemSyntax, ""},
		{`{"enum":1}`, ProblemWrongShape, "/enum"},
		{`{"uniqueItems":"yes"}`, ProblemWrongShape, "/uniqueItems"},
	} {
		s, problems := Parse([]byte(c.raw), ParseOptions{})
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Kind == c.kind && p.Pointer == c.pointer }) {
			t.Errorf("%s: %v, want %s at %q", c.raw, problems, c.kind, c.pointer)
		}
		// Nothing is claimed to be safe in such a schema.
		if r := Contained(parsed(t, `true`), s, Budget{}); r.Verdict == Inside {
			t.Errorf("%s: everything is inside a schema of no meaning", c.raw)
		}
	}
}

func TestDialects(t *testing.T) {
	const (
		d4 = `"$schema":"http://json-schema.org/draft-04/schema#"`
		d6 = `"$schema":"http://json-schema.org/draft-06/schema#"`
		d7 = `"$schema":"http://json-schema.org/draft-07/schema#"`
		d9 = `"$schema":"https://json-schema.org/draft/2019-09/schema"`
		d0 = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	)
	for _, c := range []struct {
		a, b string
		want Relation
	}{
		{`{` + d4 + `,"minimum":1,"exclusiveMinimum":true}`, `{"exclusiveMinimum":1}`, Equal},
		{`{` + d7 + `,"items":[{"type":"string"}],"additionalItems":false}`, `{` + d0 + `,"prefixItems":[{"type":"string"}],"items":false}`, Equal},
		{`{` + d7 + `,"$ref":"#/definitions/a","maxLength":1,"definitions":{"a":{"type":"string"}}}`, `{"type":"string"}`, Equal},
		{`{` + d9 + `,"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{"type":"string"}}}`, `{"type":"string","maxLength":1}`, Equal},
		{`{` + d7 + `,"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"dependentRequired":{"a":["b"],"c":["d"]}}`, Equal},
		{`{` + d0 + `,"dependencies":{"a":["b"]}}`, `{}`, Equal},
		{`{` + d6 + `,"if":{"type":"string"},"then":false}`, `{}`, Equal},
		{`{` + d4 + `,"const":1}`, `{}`, Equal},
		{`{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"string"}}}`, `{"type":"string"}`, Equal},
		{`{"$id":"https://example.com/root","$ref":"item","$defs":{"x":{"$id":"item","type":"string"}}}`, `{"type":"string"}`, Equal},
		{`{"$id":"https://example.com/root","$ref":"https://example.com/root#/$defs/x","$defs":{"x":{"type":"string"}}}`, `{"type":"string"}`, Equal},
		{`{` + d7 + `,"$ref":"#a","definitions":{"x":{"$id":"#a","type":"string"}}}`, `{"type":"string"}`, Equal},
		{`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, Equal},
		{`{"properties":{"a":{},"b":{"$dynamicRef":"#n"}},"$dynamicAnchor":"n"}`, `{"properties":{"b":{"$ref":"#"}}}`, Equal},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"properties":{"a":{}},"additionalProperties":false}`, Equal},
		{`{"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}},"unevaluatedProperties":false}`, `{"properties":{"a":{},"b":{}},"additionalProperties":false}`, Equal},
		{`{"prefixItems":[true],"unevaluatedItems":false}`, `{"maxItems":1}`, Equal},
		{`{"type":"integer","minimum":1}`, `{"type":"integer","exclusiveMinimum":0}`, Equal},
		{`{"enum":[1,1.0,2]}`, `{"enum":[2,1e0]}`, Equal},
		{`{"type":"string","pattern":"^[0-9]+$"}`, `{"type":"string","pattern":"^\\d\\d*$"}`, Equal},
		{`{"type":"string","pattern":"^a"}`, `{"type":"string","pattern":"a"}`, Widened},
		{`{"type":"string","pattern":"^[a-c]$"}`, `{"enum":["a","b","c"]}`, Equal},
		{`{"type":"number","multipleOf":0.5}`, `{"type":"number","multipleOf":0.25}`, Widened},
		{`{"type":"integer","multipleOf":2.5}`, `{"type":"integer","multipleOf":5}`, Equal},
		{`{"type":"integer"}`, `{"type":"number","multipleOf":1}`, Equal},
		{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"a":{"$ref":"#/$defs/m"}}},"m":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}}}}`, Equal},
		{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `false`, Equal},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `{"anyOf":[{"type":"integer"},{"minimum":2}]}`, Widened},
		{`{"type":"string","pattern":"^(?=a).*$"}`, `{"type":"string","pattern":"^a.*$"}`, Equal},
		{`{"type":"string","pattern":"^(?!x)[a-z]$"}`, `{"type":"string","pattern":"^[a-wyz]$"}`, Equal},
		{`{"type":"string","pattern":"(?=a)"}`, `{"type":"string","pattern":"(?=a)","maxLength":3}`, Unsettled},
		{`{"type":"string","pattern":"(?=a)"}`, `{"type":"string","pattern":"(?=a)"}`, Equal},
		{`{"contains":{"type":"integer"},"minContains":2,"maxContains":1}`, `{"not":{"type":"array"}}`, Equal},
	} {
		got := Compare(parsed(t, c.a), parsed(t, c.b), Budget{})
		if got.Relation != c.want {
			t.Errorf("%s\n%s\n%v, want %v; lost %s %s gained %s %s", c.a, c.b, got.Relation, c.want, got.Lost.Value, got.Lost.Reason, got.Gained.Value, got.Gained.Reason)
		}
	}
}

func TestPathString(t *testing.T) {
	p := Path{{Kind: StepProperty, Name: "filters"}, {Kind: StepProperty, Name: "a.b"}, {Kind: StepItems}, {Kind: StepProperty, Name: "name"},
		{Kind: StepAdditional}, {Kind: StepIndex, Index: 2}, {Kind: StepPattern, Name: "^x-"}, {Kind: StepProperty, Name: "x"}}
	if got, want := p.String(), `filters."a.b"[].name{}[2]{/^x-/}.x`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
