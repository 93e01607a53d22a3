// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"fmt"
	"slices"
	"strings"
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
		{`{"type":[]}`, ProblemWrongShape, "/type"},
		{`{"type":["null","null"]}`, ProblemWrongShape, "/type"},
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

// TestRepeatedType: validators refuse the list, though what it means is clear.
// Where both sides have it nothing is lost.
func TestRepeatedType(t *testing.T) {
	build := func(rest string) *Schema {
		s, problems := Parse([]byte(`{"type":"object","properties":{"x":{"type":["string","null","null"]`+rest+`}}}`), ParseOptions{})
		if len(problems) != 1 || problems[0].Kind != ProblemWrongShape || problems[0].Pointer != "/properties/x/type" {
			t.Errorf("%v", problems)
		}
		return s
	}
	x := Explain(build(``), build(`,"title":"X"`), Options{})
	if x.Root.Relation != Equal || len(x.Deltas) != 1 || x.Deltas[0].Facet != FacetTitle {
		t.Errorf("%v, %d deltas", x.Root.Relation, len(x.Deltas))
	}
	if x = Explain(build(``), build(`,"maxLength":3`), Options{}); show(x) != "maxLength less x" {
		t.Error(show(x))
	}
	if x = Explain(parsed(t, props(`"x":{"type":["string","null"]}`)), build(``), Options{}); x.Root.Relation != Equal {
		t.Error(x.Root.Relation)
	}
}

// TestNumbersBeyondTheLimits are refused wherever a number is read: none is
// rounded, none is missing without notice.
func TestNumbersBeyondTheLimits(t *testing.T) {
	plain := parsed(t, `{"type":"number"}`)
	for _, num := range [...]string{"1e999999999", "1e-999999999", "-1e999999999", "0e999999999", "1e10001", "1.5E+10001", "1e-10001",
		strings.Repeat("7", 100_000), "0." + strings.Repeat("0", 100_000) + "1"} {
		short := clip(num)
		for _, c := range [...]struct {
			shape, pointer string
			opaque         bool
		}{
			{`{"type":"number","minimum":%s}`, "/minimum", true},
			{`{"type":"number","maximum":%s}`, "/maximum", true},
			{`{"type":"number","exclusiveMinimum":%s}`, "/exclusiveMinimum", true},
			{`{"type":"number","exclusiveMaximum":%s}`, "/exclusiveMaximum", true},
			{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":%s,"exclusiveMinimum":true}`, "/minimum", true},
			{`{"type":"number","multipleOf":%s}`, "/multipleOf", true},
			{`{"minLength":%s}`, "/minLength", true},
			{`{"maxItems":%s}`, "/maxItems", true},
			{`{"contains":{},"minContains":%s}`, "/minContains", true},
			{`{"maxProperties":%s}`, "/maxProperties", true},
			{`{"enum":[2,%s]}`, "/enum", true},
			{`{"enum":[{"a":[%s]}]}`, "/enum", true},
			{`{"const":%s}`, "/const", true},
			{`{"enum":[1],"const":%s}`, "/const", true},
			{`{"const":[%s]}`, "/const", true},
			{`{"anyOf":[{"const":1},{"const":%s}]}`, "/anyOf/1/const", true},
			{`{"not":{"enum":[%s]}}`, "/not/enum", true},
			{`{"type":"number","default":%s}`, "/default", false},
			{`{"type":"number","default":[%s]}`, "/default", false},
		} {
			s, problems := Parse(fmt.Appendf(nil, c.shape, num), ParseOptions{})
			if len(problems) != 1 || problems[0].Kind != ProblemWrongShape || problems[0].Pointer != c.pointer {
				t.Errorf(c.shape+": %v", short, problems)
			}
			for _, p := range [...][2]*Schema{{s, plain}, {plain, s}} {
				r := Compare(p[0], p[1], Budget{}).Relation
				if c.opaque && (r == Equal || r == Widened && p[1] == s || r == Narrowed && p[0] == s) || !c.opaque && r != Equal {
					t.Errorf(c.shape+": %v", short, r)
				}
				Explain(p[0], p[1], Options{})
			}
			if Compare(s, s, Budget{}).Relation != Equal {
				t.Errorf(c.shape+": not equal to itself", short)
			}
			Generate(s, Budget{})
			for _, v := range [...]string{num, `[` + num + `]`, `{"a":[` + num + `]}`, `1`} {
				Eval([]byte(v), s)
			}
		}
		for raw, want := range map[string]Truth{
			`{}`: Yes, `{"type":"string"}`: No, `{"type":"number"}`: Yes, `{"type":"integer"}`: Unknown,
			`{"minimum":1}`: Unknown, `{"multipleOf":0.5}`: Unknown, `{"const":1}`: Unknown, `{"enum":[1,"a"]}`: Unknown,
			`{"minLength":3}`: Yes, `{"anyOf":[{"maximum":1},{"type":"number"}]}`: Yes,
		} {
			if got := Eval([]byte(num), parsed(t, raw)); got != want {
				t.Errorf("%s of %s: %v, want %v", raw, short, got, want)
			}
		}
		if got := Eval([]byte(`[`+num+`]`), parsed(t, `{"items":{"maximum":3}}`)); got != Unknown {
			t.Errorf("an element %s: %v", short, got)
		}
		if got := Eval([]byte(`[`+num+`,1`+num[1:]+`]`), parsed(t, `{"uniqueItems":true}`)); got == Yes {
			t.Errorf("elements like %s: %v", short, got)
		}
		if got := Eval([]byte(`[`+num+`]`), parsed(t, `{"const":[0]}`)); got != Unknown {
			t.Errorf("an element %s and a constant: %v", short, got)
		}
		if got := Eval([]byte(`[`+num+`,`+num+`]`), parsed(t, `{"uniqueItems":true}`)); got == Yes {
			t.Errorf("elements %s twice: %v", short, got)
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
