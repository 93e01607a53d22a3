// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
)

func TestCheckSchema(t *testing.T) {
	const draft7, draft4 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"http://json-schema.org/draft-04/schema#"`
	for _, tc := range []struct {
		name, schema string
		kind         contract.SchemaFaultKind // empty for none
		says         string
	}{
		{"nothing", `{}`, "", ""},
		{"unknown words", `{"type":"object","x-mcp-header":"a","format":"unheard"}`, "", ""},
		{"definitions", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, "", ""},
		{"the older word for them", `{"$ref":"#/definitions/a","definitions":{"a":{}}}`, "", ""},
		{"an anchor", `{"$ref":"#a","$defs":{"x":{"$anchor":"a"}}}`, "", ""},
		{"patterns of ECMA-262", `{"pattern":"^(?!x)\\p{L}+(?<n>a)\\k<n>$"}`, "", ""},
		{"the same in draft-07", `{` + draft7 + `,"pattern":"^(?!x)(?<n>a)\\k<n>$"}`, "", ""},
		{"a tuple of draft-07", `{` + draft7 + `,"items":[{"type":"string"}]}`, "", ""},
		{"an https address of draft-07", `{"$schema":"https://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, "", ""},
		{"an exclusive minimum of draft-04", `{` + draft4 + `,"minimum":1,"exclusiveMinimum":true}`, "", ""},
		{"an unusual id", `{"$id":"x y"}`, "", ""},

		{"an unknown type", `{"properties":{"a":{"type":"strng"}}}`, contract.SchemaInvalid, "/properties/a/type"},
		{"required is no array", `{"required":true}`, contract.SchemaInvalid, "/required"},
		{"required of a property", `{"properties":{"a":{"type":"string","required":true}}}`, contract.SchemaInvalid, "/properties/a/required"},
		{"a tuple of draft-07 in 2020-12", `{"items":[{"type":"string"}]}`, contract.SchemaInvalid, "/items"},
		{"an exclusive minimum of draft-04 in 2020-12", `{"minimum":1,"exclusiveMinimum":true}`, contract.SchemaInvalid, "/exclusiveMinimum"},
		{"an unknown type in draft-07", `{` + draft7 + `,"type":"strng"}`, contract.SchemaInvalid, "/type"},
		{"a reference to nothing", `{"$ref":"#/$defs/a"}`, contract.SchemaDangling, "#/$defs/a"},
		{"an anchor that is not there", `{"$ref":"#a"}`, contract.SchemaDangling, "#a"},
		{"a pattern of Python", `{"pattern":"(?P<n>a)"}`, contract.SchemaPattern, "(?P<n>a)"},
		{"a pattern that ends early", `{"pattern":"["}`, contract.SchemaPattern, "["},
		{"another document", `{"$ref":"https://example.com/a.json"}`, contract.SchemaUnjudged, "not fetched"},
		{"another dialect", `{"$schema":"https://example.com/dialect"}`, contract.SchemaUnjudged, ""},
		{"a fault beside a bad pattern", `{"properties":{"b":{"type":"strng"},"a":{"pattern":"["}}}`, contract.SchemaInvalid, "/properties/b/type"},
		{"a bad pattern in what may be two things", `{` + draft7 + `,"items":{"pattern":"["}}`, contract.SchemaPattern, "["},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := contract.CheckSchema([]byte(tc.schema))
			switch {
			case got == nil && tc.kind == "":
			case got == nil:
				t.Errorf("no fault, want %s", tc.kind)
			case got.Kind != tc.kind || !strings.Contains(got.Text, tc.says):
				t.Errorf("got %s %q, want %s with %q", got.Kind, got.Text, tc.kind, tc.says)
			}
		})
	}
}

func TestAccepts(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"total":{"type":"integer"},"items":{"type":"array","items":{"enum":["a","b"]}}},"required":["total"]}`)
	for value, says := range map[string]string{
		`{"total":1}`:                 "",
		`{"total":1.0,"items":["a"]}`: "",
		`{"total":"1"}`:               "/total: ",
		`{"total":1,"items":["c"]}`:   "/items/0: ",
		`{"items":["c","a","d"]}`:     "missing property 'total'; /items/0: value must be one of 'a', 'b'; /items/2: ",
		`{}`:                          "total",
		`null`:                        "null",
	} {
		ok, why, err := contract.Accepts(schema, []byte(value))
		if err != nil || ok != (says == "") || !strings.Contains(why, says) || strings.Contains(why, "\n") {
			t.Errorf("%s: %v %q %v", value, ok, why, err)
		}
	}
	if _, _, err := contract.Accepts([]byte(`{"$ref":"https://example.com/a.json"}`), []byte(`1`)); err == nil {
		t.Error("a schema that needs another document is judged")
	}
}
