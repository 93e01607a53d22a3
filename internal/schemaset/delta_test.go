// SPDX-License-Identifier: Apache-2.0

package schemaset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// props wraps properties into an object schema.
func props(s string) string { return `{"type":"object","properties":{` + s + `}}` }

// show prints the deltas that affect the set, and chosen facets of the others.
func show(x *Explanation, texts ...Facet) string {
	var out []string
	for _, d := range x.Deltas {
		if !d.Facet.AffectsSet() && !slices.Contains(texts, d.Facet) {
			continue
		}
		line := fmt.Sprintf("%s %s %s", d.Facet, d.Change, d.Path)
		if d.Name != "" && d.Facet != FacetProperty && d.Facet != FacetRequired {
			line += " (" + d.Name + ")"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestDeltas(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"bounds", props(`"n":{"type":"integer","minimum":1,"maximum":9}`), props(`"n":{"type":"integer","minimum":2,"maximum":10}`), "minimum less n; maximum more n"},
		{"exclusive bounds", props(`"n":{"type":"number","exclusiveMinimum":1}`), props(`"n":{"type":"number","exclusiveMinimum":0}`), "exclusiveMinimum more n"},
		{"bound implied by an enum", props(`"n":{"enum":[5,6]}`), props(`"n":{"enum":[5,6],"minimum":5}`), ""},
		{"bound implied by a sibling", `{"allOf":[{"properties":{"n":{"type":"integer","maximum":3}}}],"type":"object","properties":{"n":{"type":"integer"}}}`,
			`{"allOf":[{"properties":{"n":{"type":"integer","maximum":3}}}],"type":"object","properties":{"n":{"type":"integer","maximum":9}}}`, ""},
		{"lengths", props(`"s":{"type":"string","minLength":1}`), props(`"s":{"type":"string","maxLength":4}`), "minLength more s; maxLength less s"},
		{"pattern respelt", props(`"s":{"type":"string","pattern":"^[0-9]+$"}`), props(`"s":{"type":"string","pattern":"^\\d+$"}`), ""},
		{"pattern widened", props(`"s":{"type":"string","pattern":"^a$"}`), props(`"s":{"type":"string","pattern":"^a"}`), "pattern more s"},
		{"multiple", props(`"n":{"type":"integer","multipleOf":10}`), props(`"n":{"type":"integer","multipleOf":5}`), "multipleOf more n"},
		{"counts", props(`"l":{"type":"array","minItems":1,"maxItems":3}`), props(`"l":{"type":"array","minItems":2,"maxItems":3,"uniqueItems":true}`), "minItems less l; uniqueItems less l"},
		{"items introduced", props(`"l":{"type":"array"}`), props(`"l":{"type":"array","items":{"type":"string"}}`), "items less l[]"},
		{"items changed below", props(`"l":{"type":"array","items":{"type":"string"}}`), props(`"l":{"type":"array","items":{"type":"string","maxLength":1}}`), "maxLength less l[]"},
		{"tuple position", `{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`, "prefixItem less [1]"},
		{"tuple closed", `{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, "items less [1..]"},
		{"array wrapped", props(`"v":{"type":"string"}`), props(`"v":{"type":"array","items":{"type":"string"}}`), "type differ v"},
		{"untyped to union", props(`"v":{}`), props(`"v":{"anyOf":[{"type":"string","maxLength":3},{"type":"integer"}]}`), "type less v"},
		{"map value", props(`"m":{"type":"object","additionalProperties":{"type":"string"}}`), props(`"m":{"type":"object","additionalProperties":{"type":"integer"}}`), "type differ m{}"},
		{"map closed", props(`"m":{"type":"object","additionalProperties":{"type":"string"}}`), props(`"m":{"type":"object","additionalProperties":false}`), "additionalProperties less m{}"},
		{"required name without property", `{"type":"object"}`, `{"type":"object","required":["z"]}`, "required less z"},
		{"pattern property", `{"type":"object"}`, `{"type":"object","patternProperties":{"^x-":{"type":"string"}}}`, "patternProperties less  (^x-)"},
		{"names", `{"type":"object"}`, `{"type":"object","propertyNames":{"maxLength":3}}`, "propertyNames less "},
		{"dependent", props(`"a":{},"b":{}`), `{"type":"object","properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]}}`, "dependentRequired less  (a)"},
		{"dependent schema", props(`"a":{},"b":{}`), `{"type":"object","properties":{"a":{},"b":{}},"dependentSchemas":{"a":{"required":["b"]}}}`, "dependentSchemas less  (a)"},
		{"member counts", `{"type":"object"}`, `{"type":"object","minProperties":1,"maxProperties":2}`, "minProperties less ; maxProperties less "},
		{"branch added", props(`"u":{"anyOf":[{"type":"string","maxLength":2},{"type":"string","pattern":"^xxx$"}]}`), props(`"u":{"anyOf":[{"type":"string","maxLength":2},{"type":"string","pattern":"^xxx$"},{"type":"string","pattern":"^yyy$"}]}`), "branch more u"},
		{"branch removed", props(`"u":{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}`), props(`"u":{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]}]}`), "branch less u"},
		{"overlapping oneOf", `{"anyOf":[{"type":"integer"},{"type":"number","minimum":3}]}`, `{"oneOf":[{"type":"integer"},{"type":"number","minimum":3}]}`, "oneOfOverlap less "},
		{"not", props(`"v":{"type":"string"}`), props(`"v":{"type":"string","not":{"const":"x"}}`), "not less v"},
		{"condition", props(`"a":{},"b":{}`), `{"type":"object","properties":{"a":{},"b":{}},"if":{"required":["a"]},"then":{"required":["b"]}}`, "ifThenElse less "},
		{"contains", `{"type":"array"}`, `{"type":"array","contains":{"type":"string"}}`, "contains less "},
		{"least contained", `{"type":"array","contains":{"type":"string"}}`, `{"type":"array","contains":{"type":"string"},"minContains":2}`, "minContains less "},
		{"false", props(`"a":{"type":"string"}`), props(`"a":false`), "false less a"},
		{"unevaluated", `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}},"unevaluatedProperties":false}`, "unevaluated less {}"},
		{"opaque", props(`"s":{"type":"string","pattern":"(?=a)"}`), props(`"s":{"type":"string","pattern":"(?=b)"}`), "pattern maybe s"},
		{"in an optional list of models", props(`"l":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}},{"type":"null"}]}`), props(`"l":{"anyOf":[{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}}},{"type":"null"}]}`), "type differ l[].a"},
	} {
		x := Explain(parsed(t, c.a), parsed(t, c.b), Options{})
		if got := show(x); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if x.LostUnexplained || x.GainedUnexplained {
			if !strings.Contains(c.want, "maybe") {
				t.Errorf("%s: unexplained", c.name)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	a := `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","title":"A","properties":{"p":{"type":"string","description":"old","default":"x","format":"date","x-mcp-header":"H"}}}`
	b := `{"type":"object","title":"B","properties":{"p":{"type":"string","description":"new","default":"y","examples":["q"],"deprecated":true,"format":"date-time","contentEncoding":"base64","readOnly":true}}}`
	x := Explain(parsed(t, a), parsed(t, b), Options{})
	want := []string{"$schema ", "title ", "description p", "default p", "examples p", "deprecated p", "readOnly p", "format p", "contentEncoding p", "vendor p"}
	var got []string
	for _, d := range x.Deltas {
		got = append(got, string(d.Facet)+" "+d.Path.String())
		if d.Change != Text {
			t.Errorf("%s changes the set", d.Facet)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	last := x.Deltas[len(x.Deltas)-1]
	if last.Name != "x-mcp-header" || last.OldPtr != "/properties/p/x-mcp-header" || string(last.Before) != `"H"` || last.HasNew {
		t.Errorf("%+v", last)
	}
}

func single(t *testing.T, a, b string) Delta {
	t.Helper()
	x := Explain(parsed(t, a), parsed(t, b), Options{})
	if len(x.Deltas) != 1 {
		t.Fatalf("%d deltas: %s", len(x.Deltas), show(x))
	}
	return x.Deltas[0]
}

func TestContext(t *testing.T) {
	s := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Error(what)
		}
	}
	d := single(t, props(`"q":{"type":"string"}`), props(`"q":{"type":"string"},"f":{"type":"object","required":["c"],"properties":{"c":{}}}`))
	s(d.Facet == FacetProperty && d.Theoretical && d.HasRequiredChild && d.Admitted == "open" && !d.OldClosed, "optional property on an open object")
	d = single(t, `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{"f":{"type":"string"}},"additionalProperties":false}`)
	s(d.Change == More && !d.Theoretical && d.OldClosed && d.NewClosed, "optional property on a closed object")
	d = single(t, props(`"q":{}`), `{"type":"object","properties":{"q":{},"r":{"type":"integer","default":"x"}},"required":["r"]}`)
	s(d.Facet == FacetProperty && d.NewRequired && d.NewProperty && string(d.NewDefault) == `"x"` && d.DefaultInvalid && string(d.Lost.Value) == `{}`, "new required property with a bad default")
	d = single(t, props(`"q":{}`), `{"type":"object","properties":{"q":{}},"required":["q"]}`)
	s(d.Facet == FacetRequired && d.Name == "q" && !d.NewProperty && !d.Undeclared, "property now required")
	d = single(t, props(`"q":{}`), `{"type":"object","properties":{"q":{}},"required":["z"]}`)
	s(d.Facet == FacetRequired && d.Undeclared, "required name without property")
	d = single(t, props(`"o":{"type":"object","properties":{"a":{}}}`), props(`"o":{"type":"object","properties":{"a":{}},"required":["a"]}`))
	s(d.ParentOptional && d.Path.String() == "o.a" && string(d.Lost.Value) == `{"o":{}}`, "required child under an optional parent")
	d = single(t, props(`"a":{"type":"string"},"b":{}`), props(`"b":{}`))
	s(d.Facet == FacetProperty && !d.HasNew && d.Admitted == "open" && d.Covered && !d.NewClosed, "property removed from an open object")
	d = single(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{}},"additionalProperties":false}`, `{"type":"object","properties":{"b":{}},"additionalProperties":false}`)
	s(d.Change == Less && d.Admitted == "" && !d.Covered && d.NewClosed && string(d.Lost.Value) == `{"a":"text"}`, "property removed from a closed object")
	d = single(t, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`)
	s(d.Change == Text && d.Admitted == "additional" && d.Covered && d.ReaderLoss, "property still admitted")
	d = single(t, props(`"a":{"type":"string"}`), props(`"a":{"type":["string","null"]}`))
	s(d.NullOnly && d.Change == More && slices.Equal(d.NewKinds, []string{"null", "string"}), "became nullable")
	d = single(t, props(`"a":{"type":"number"}`), props(`"a":{"type":"integer"}`))
	s(d.FractionOnly && d.Change == Less, "number to integer")
	d = single(t, props(`"a":{}`), props(`"a":{"type":"integer"}`))
	s(d.OldUntyped && d.Change == Less, "typed at last")
	d = single(t, props(`"a":{"const":"x"}`), props(`"a":{"const":"y"}`))
	s(d.Facet == FacetConst && d.SingleValue && d.Change == Differ, "constant changed")
	d = single(t, props(`"a":{"type":"integer"}`), props(`"a":{"type":"integer","maximum":9007199254740991}`))
	s(d.SafeInteger && d.Change == Less, "safe integer bound")
	d = single(t, props(`"a":{"type":"integer"}`), props(`"a":{"type":"integer","maximum":900719925474}`))
	s(!d.SafeInteger, "any other bound")

	x := Explain(parsed(t, props(`"maxItems":{"type":"integer","minimum":3}`)), parsed(t, props(`"max_items":{"type":"integer","minimum":3}`)), Options{})
	s(len(x.Deltas) == 2 && x.Deltas[0].RenamedFrom+x.Deltas[1].RenamedFrom == "maxItems" && x.Deltas[0].RenameBy == "case", "renamed by case")
	x = Explain(parsed(t, props(`"lat":{"type":"number","minimum":0}`)), parsed(t, props(`"at":{"type":"object","properties":{"lat":{"type":"number","minimum":0}}}`)), Options{})
	moved := ""
	for _, d := range x.Deltas {
		moved += d.MovedTo.String()
	}
	s(moved == "at.lat", "moved into a group: "+moved)

	shared := func(kind string) string {
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/T"},"b":{"type":"array","items":{"$ref":"#/$defs/T"}}},"$defs":{"T":{"type":"object","properties":{"v":{"type":"` + kind + `"}}}}}`
	}
	d = single(t, shared("string"), shared("integer"))
	s(d.Path.String() == "a.v" && len(d.Also) == 1 && d.Also[0].Path.String() == "b[].v" && d.OldPtr == "/$defs/T/properties/v/type", "one definition used twice")
}

func TestFormatRelation(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want Relation
	}{{"int32", "int64", Widened}, {"uri-reference", "uri", Narrowed}, {"date", "date-time", Disjoint}, {"", "uuid", Narrowed}, {"uuid", "", Widened}, {"uuid", "uuid", Equal}, {"regex", "uri", Unsettled}} {
		if got := FormatRelation(c.a, c.b); got != c.want {
			t.Errorf("%s to %s: %v", c.a, c.b, got)
		}
	}
}

func TestGenerate(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"type":"object","properties":{"u":{"type":"string","format":"uri"},"n":{"type":"integer","default":7}},"required":["u","n"]}`, `{"n":7,"u":"https://example.com/"}`},
		{`{"type":"object","examples":[{"a":1}]}`, `{"a":1}`},
		{`{"enum":["x","y"]}`, `"x"`},
		{`{"type":"array","items":{"type":"boolean"},"minItems":2}`, `[true,true]`},
	} {
		if got := Generate(parsed(t, c.raw), Budget{}); string(got.Value) != c.want {
			t.Errorf("%s: %s, want %s", c.raw, got.Value, c.want)
		}
	}
	if g := Generate(parsed(t, `{"type":"string","enum":[1]}`), Budget{}); g.Verdict != Inside {
		t.Errorf("the empty set generates %+v", g)
	}
}

func TestConfirmDisputes(t *testing.T) {
	x := Explain(parsed(t, `{"type":"string"}`), parsed(t, `{"type":"integer"}`), Options{Confirm: func([]byte) (bool, bool, error) { return true, true, nil }})
	if x.Disputes == 0 || !x.Root.Lost.Disputed || !strings.Contains(x.Root.Lost.Reason, "disagrees") {
		t.Errorf("%+v", x.Root.Lost)
	}
	x = Explain(parsed(t, `{"type":"string"}`), parsed(t, `{"type":"integer"}`), Options{Confirm: func(v []byte) (bool, bool, error) {
		return v[0] == '"', v[0] != '"', nil
	}})
	if x.Disputes != 0 || !x.Root.Lost.Confirmed || !x.Root.Gained.Confirmed {
		t.Errorf("%+v", x.Root)
	}
}

// TestTheoreticalBranch: a union whose open branches overlap refuses a value
// only if it holds a name that was not declared before.
func TestTheoreticalBranch(t *testing.T) {
	x := Explain(parsed(t, props(`"p":{"type":"object","properties":{"page":{"type":"string"}},"required":["page"]}`)),
		parsed(t, props(`"p":{"oneOf":[{"type":"object","properties":{"page":{"type":"string"}},"required":["page"]},{"type":"object","properties":{"base":{"type":"string"}},"required":["base"]}]}`)), Options{})
	if x.Root.Relation != Overlapping || x.DeclaredLost.Verdict != Inside {
		t.Errorf("%v, declared %v", x.Root.Relation, x.DeclaredLost.Verdict)
	}
	for _, d := range x.Deltas {
		if d.Lost.Verdict == Outside && !d.Theoretical {
			t.Errorf("%s at %s is not theoretical: %s", d.Facet, d.Path, d.Lost.Value)
		}
	}
}

// TestTheoreticalRefusals: only the value under a name that nobody declared may
// be in theory; refusing the name, or demanding one, is not.
func TestTheoreticalRefusals(t *testing.T) {
	const ab = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}`
	for _, c := range []struct {
		name, old, new string
		want           bool
	}{
		{"not, of another name", `},"not":{"required":["a","b"]}}`, `},"not":{"required":["a","c"]}}`, false},
		{"not, of a name", `}}`, `},"not":{"required":["c"]}}`, false},
		{"not, of a kind", `}}`, `},"not":{"properties":{"c":{"type":"string"}},"required":["c"]}}`, true},
		{"declared name needs an unknown one", `}}`, `},"dependentRequired":{"b":["c"]}}`, false},
		{"unknown name needs a declared one", `}}`, `},"dependentRequired":{"c":["b"]}}`, false},
		{"schema that requires", `}}`, `},"dependentSchemas":{"b":{"required":["c"]}}}`, false},
		{"schema that refuses", `}}`, `},"dependentSchemas":{"b":{"properties":{"c":false}}}}`, false},
		{"schema of a kind", `}}`, `},"dependentSchemas":{"b":{"properties":{"c":{"type":"string"}}}}}`, true},
		{"condition that refuses", `}}`, `},"if":{"required":["a"]},"then":{"properties":{"c":false}}}`, false},
		{"condition of a kind", `}}`, `},"if":{"required":["a"]},"then":{"properties":{"c":{"type":"string"}}}}`, true},
		{"pattern that refuses", `}}`, `},"patternProperties":{"^c":false}}`, false},
		{"pattern of a kind", `}}`, `},"patternProperties":{"^c":{"type":"string"}}}`, true},
		{"property that refuses", `}}`, `,"c":false}}`, false},
		{"property of a kind", `}}`, `,"c":{"type":"string"}}}`, true},
		{"property with a required child", `}}`, `,"c":{"type":"object","properties":{"d":{"type":"integer","minimum":7}},"required":["d"]}}}`, true},
		{"not, inside an element", `,"l":{"type":"array","items":` + ab + `}}}}}`, `,"l":{"type":"array","items":` + ab + `},"not":{"required":["c"]}}}}}`, false},
	} {
		x := Explain(parsed(t, ab+c.old), parsed(t, ab+c.new), Options{Direction: Input})
		lost := 0
		for _, d := range x.Deltas {
			if d.Lost.Verdict != Outside {
				continue
			}
			if lost++; d.Theoretical != c.want {
				t.Errorf("%s: %s with %s: theoretical %v", c.name, d.Facet, d.Lost.Value, d.Theoretical)
			}
		}
		if lost != 1 {
			t.Errorf("%s: %d losses", c.name, lost)
		}
	}
}

// TestNestedUnions: a branch of a branch changes its kind.
func TestNestedUnions(t *testing.T) {
	build := func(branch string) *Schema {
		return parsed(t, props(`"x":{"anyOf":[{"anyOf":[`+branch+`,{"const":"b"}]},{"type":"integer"}]}`))
	}
	branches := []string{`{"type":"string"}`, `{"type":"boolean"}`, `{"type":"array","items":{"type":"string"}}`}
	for _, a := range branches {
		for _, b := range branches {
			if a == b {
				continue
			}
			old, new := build(a), build(b)
			for _, dir := range [...]Direction{Both, Input, Output} {
				x := Explain(old, new, Options{Direction: dir})
				lost, gained := 0, 0
				for _, d := range x.Deltas {
					if d.Lost.Verdict == Outside && Eval(d.Lost.Value, old) == Yes && Eval(d.Lost.Value, new) == No {
						lost++
					}
					if d.Gained.Verdict == Outside && Eval(d.Gained.Value, old) == No && Eval(d.Gained.Value, new) == Yes {
						gained++
					}
				}
				if lost == 0 && dir != Output || gained == 0 && dir != Input || x.LostUnexplained && dir != Output || x.GainedUnexplained && dir != Input {
					t.Errorf("%s to %s, direction %d: %d losses, %d gains: %s", a, b, dir, lost, gained, show(x))
				}
			}
		}
	}
}
