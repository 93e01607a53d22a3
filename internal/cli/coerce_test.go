// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
	"pgregory.net/rapid"
)

// coerced is what the words of a command line make of a schema: the arguments,
// or what is wrong with them.
func coerced(t *testing.T, schema string, lax bool, words ...string) (string, string) {
	t.Helper()
	a := &app{env: Env{Stdin: strings.NewReader("")}}
	whole := ""
	if len(words) > 0 && strings.HasPrefix(words[0], "{") {
		whole, words = words[0], words[1:]
	}
	given, err := a.readArguments(words, whole)
	if err != nil {
		return "", err.Error()
	}
	var raw jsonx.Raw
	if schema != "" {
		raw = jsonx.Raw(schema)
	}
	c := newCoercer(raw, "argument", lax)
	object, wrong := c.arguments(given)
	if len(wrong) == 0 && !lax {
		var unjudged string
		if wrong, unjudged = c.judge(object); unjudged != "" {
			return string(object), "unjudged: " + unjudged
		}
	}
	return string(object), strings.Join(wrong, "; ")
}

func of(property string) string {
	return `{"type":"object","properties":{"v":` + property + `},"required":["v"]}`
}

func TestCoercion(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		words        []string
		want         string // the arguments; with wrong set, not looked at
		wrong        string // part of what is wrong
	}{
		{"string", of(`{"type":"string"}`), []string{"v=hello"}, `{"v":"hello"}`, ""},
		{"string that reads as a number", of(`{"type":"string"}`), []string{"v=5"}, `{"v":"5"}`, ""},
		{"string that reads as null", of(`{"type":"string"}`), []string{"v=null"}, `{"v":"null"}`, ""},
		{"string with quotes keeps them", of(`{"type":"string"}`), []string{`v="a"`}, `{"v":"\"a\""}`, ""},
		{"empty string", of(`{"type":"string"}`), []string{"v="}, `{"v":""}`, ""},
		{"string with =", of(`{"type":"string"}`), []string{"v=a=b"}, `{"v":"a=b"}`, ""},
		{"string that is no UTF-8", of(`{"type":"string"}`), []string{"v=\xff"}, "", "not UTF-8"},
		{"integer", of(`{"type":"integer"}`), []string{"v=5"}, `{"v":5}`, ""},
		{"integer keeps its digits", of(`{"type":"integer"}`), []string{"v=12345678901234567890123"}, `{"v":12345678901234567890123}`, ""},
		{"integer spelled as a float", of(`{"type":"integer"}`), []string{"v=5.0"}, `{"v":5.0}`, ""},
		{"integer with exponent", of(`{"type":"integer"}`), []string{"v=15e-1"}, "", `argument v must be integer; given "15e-1"`},
		{"fraction for an integer", of(`{"type":"integer"}`), []string{"v=5.5"}, "", `argument v must be integer; given "5.5"`},
		{"word for an integer", of(`{"type":"integer"}`), []string{"v=ten"}, "", `argument v must be integer; given "ten"`},
		{"nothing for an integer", of(`{"type":"integer"}`), []string{"v="}, "", `given nothing`},
		{"plus sign", of(`{"type":"integer"}`), []string{"v=+5"}, "", `must be integer`},
		{"integer beyond the maximum", of(`{"type":"integer","maximum":3}`), []string{"v=5"}, "", `/v: maximum: got 5, want 3`},
		{"number", of(`{"type":"number"}`), []string{"v=-1.5e3"}, `{"v":-1.5e3}`, ""},
		{"NaN", of(`{"type":"number"}`), []string{"v=NaN"}, "", `must be number`},
		{"boolean", of(`{"type":"boolean"}`), []string{"v=true"}, `{"v":true}`, ""},
		{"yes", of(`{"type":"boolean"}`), []string{"v=yes"}, "", `must be boolean (true or false); given "yes"`},
		{"null", of(`{"type":"null"}`), []string{"v=null"}, `{"v":null}`, ""},
		{"array", of(`{"type":"array","items":{"type":"string"}}`), []string{`v=["a"]`}, `{"v":["a"]}`, ""},
		{"word for an array", of(`{"type":"array","items":{"type":"string"}}`), []string{"v=a"}, "", `must be string[] (write a list as JSON); given "a"`},
		{"object", of(`{"type":"object"}`), []string{`v={"a":1}`}, `{"v":{"a":1}}`, ""},
		{"broken object", of(`{"type":"object"}`), []string{`v={"a":1`}, "", "write an object as JSON"},

		{"enum", of(`{"enum":["a","b"]}`), []string{"v=b"}, `{"v":"b"}`, ""},
		{"enum, near", of(`{"type":"string","enum":["celsius","kelvin"]}`), []string{"v=celcius"}, "", `must be one of "celsius"|"kelvin"; given "celcius" (did you mean celsius?)`},
		{"enum of numbers", of(`{"enum":[1,2]}`), []string{"v=2"}, `{"v":2}`, ""},
		{"enum of numbers, none of them", of(`{"enum":[1,2]}`), []string{"v=3"}, "", `must be one of 1|2`},
		{"enum of mixed types: the text", of(`{"enum":["1",2]}`), []string{"v=1"}, `{"v":"1"}`, ""},
		{"enum of mixed types: the number", of(`{"enum":["1",2]}`), []string{"v=2"}, `{"v":2}`, ""},
		{"const", of(`{"const":7}`), []string{"v=7"}, `{"v":7}`, ""},

		{"string or null: null", of(`{"type":["string","null"]}`), []string{"v=null"}, `{"v":null}`, ""},
		{"string or null: a text", of(`{"type":["string","null"]}`), []string{"v=x"}, `{"v":"x"}`, ""},
		{"string or null: the text null", of(`{"type":["string","null"]}`), []string{`v="null"`}, `{"v":"null"}`, ""},
		{"string or integer: JSON first", of(`{"type":["string","integer"]}`), []string{"v=5"}, `{"v":5}`, ""},
		{"string or integer: what is accepted", of(`{"anyOf":[{"type":"string"},{"type":"integer","minimum":10}]}`), []string{"v=5"}, `{"v":"5"}`, ""},
		{"integer or null", of(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), []string{"v=5"}, `{"v":5}`, ""},
		{"integer or null: a word", of(`{"anyOf":[{"type":"integer"},{"type":"null"}]}`), []string{"v=x"}, "", "must be integer|null"},
		{"oneOf of objects and a text", of(`{"oneOf":[{"type":"object"},{"type":"string"}]}`), []string{"v={}"}, `{"v":{}}`, ""},
		{"allOf narrows", of(`{"allOf":[{"type":["string","integer"]},{"type":"integer"}]}`), []string{"v=x"}, "", "must be"},
		{"no type: JSON", of(`{}`), []string{"v=[1]"}, `{"v":[1]}`, ""},
		{"no type: text", of(`true`), []string{"v=hello there"}, `{"v":"hello there"}`, ""},
		{"a schema that nothing fits", of(`{"allOf":[{"type":"string"},{"type":"integer"}]}`), []string{"v=5"}, "", "which no value is"},

		{"reference", `{"type":"object","properties":{"v":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, []string{"v=5"}, `{"v":5}`, ""},
		{"reference, wrong", `{"type":"object","properties":{"v":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`, []string{"v=x"}, "", "must be integer"},
		{"reference in a circle", `{"type":"object","properties":{"v":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"integer"}]}}}`, []string{"v=5"}, `{"v":5}`, ""},
		{"reference to itself alone", `{"type":"object","properties":{"v":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`, []string{"v=5"}, `{"v":5}`, "reference cycle"},
		{"union with references", `{"type":"object","properties":{"v":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"string"}]}},"$defs":{"n":{"type":"integer","minimum":3}}}`, []string{"v=1"}, `{"v":"1"}`, ""},
		{"members behind allOf", `{"allOf":[{"type":"object","properties":{"v":{"type":"integer"}},"required":["v"]}]}`, []string{"v=5"}, `{"v":5}`, ""},
		{"members in branches", `{"type":"object","oneOf":[{"properties":{"id":{"type":"integer"}},"required":["id"]},{"properties":{"name":{"type":"string"}},"required":["name"]}]}`, []string{"name=5"}, `{"name":"5"}`, ""},
		{"no branch fits", `{"type":"object","oneOf":[{"properties":{"id":{"type":"integer"}},"required":["id"]},{"properties":{"name":{"type":"string"}},"required":["name"]}]}`, nil, "", "missing propert"},

		{"missing", of(`{"type":"string"}`), nil, "", "argument v (string) is missing"},
		{"unknown, near", of(`{"type":"string"}`), []string{"v=a", "vv=b"}, "", "there is no argument vv (did you mean v?)"},
		{"unknown where others are meant", `{"properties":{"v":{}},"additionalProperties":{"type":"integer"}}`, []string{"x=5"}, `{"x":5}`, ""},
		{"unknown by a pattern", `{"properties":{"v":{}},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, []string{"x-a=b"}, `{"x-a":"b"}`, ""},
		{"a schema of no members", `{"type":"object"}`, []string{"x=5"}, `{"x":5}`, ""},
		{"a schema that allows none", `{"type":"object","properties":{},"additionalProperties":false}`, []string{"x=5"}, "", "there is no argument x"},

		{"into an object", of(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`), []string{"v.city=5", "v.days=5"}, `{"v":{"city":"5","days":5}}`, ""},
		{"into an object, unknown", of(`{"type":"object","properties":{"city":{"type":"string"}}}`), []string{"v.citty=x"}, "", "there is no argument v.citty (did you mean v.city?)"},
		{"a name with a dot comes first", `{"properties":{"a.b":{"type":"integer"},"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`, []string{"a.b=5"}, `{"a.b":5}`, ""},
		{"over an object", of(`{"type":"object","properties":{"city":{"type":"string"}}}`), []string{`{"v":{"city":"a","x":1}}`, "v.city=b"}, `{"v":{"city":"b","x":1}}`, ""},

		{"forced", of(`{"type":"string"}`), []string{`v:="5"`}, `{"v":"5"}`, ""},
		{"forced, refused", of(`{"type":"string"}`), []string{`v:=5`}, "", "/v: got number, want string"},
		{"forced, no JSON", of(`{}`), []string{`v:=x`}, "", "argument v is no JSON"},
		{"forced, a name twice", of(`{}`), []string{`v:={"a":1,"a":2}`}, "", "argument v is no JSON"},
		{"twice", of(`{}`), []string{`v=1`, `v=2`}, "", "argument v is given twice"},
		{"no argument at all", of(`{}`), []string{`v`}, "", `"v" is no argument`},
		{"no schema", "", []string{"v=5", "w=x"}, `{"v":5,"w":"x"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, wrong := coerced(t, c.schema, false, c.words...)
			if c.wrong == "" && wrong != "" || !strings.Contains(wrong, c.wrong) {
				t.Errorf("wrong: %q; want %q", wrong, c.wrong)
			}
			if c.want != "" && got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
		})
	}
}

// With --no-check what does not fit is sent all the same.
func TestCoercionUnchecked(t *testing.T) {
	for _, c := range []struct{ schema, word, want string }{
		{of(`{"type":"integer"}`), "v=ten", `{"v":"ten"}`},
		{of(`{"type":"integer"}`), "v=5", `{"v":5}`},
		{of(`{"type":"boolean"}`), "v=5", `{"v":5}`},
		{of(`{"enum":["a"]}`), "v=b", `{"v":"b"}`},
		{`{"properties":{"v":{}},"additionalProperties":false}`, "x=5", `{"x":5}`},
	} {
		if got, wrong := coerced(t, c.schema, true, c.word); wrong != "" || got != c.want {
			t.Errorf("%s for %s: %s, %q; want %s", c.word, c.schema, got, wrong, c.want)
		}
	}
}

// What coercion gives to a schema of one type is what the validator accepts,
// whatever is typed.
func TestCoercionIsJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := rapid.SampledFrom([]string{
			`{"type":"string"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"boolean"}`, `{"type":"null"}`,
			`{"type":"array"}`, `{"type":"object"}`, `{"type":["string","integer"]}`, `{}`,
		}).Draw(t, "schema")
		typed := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-+]?[0-9]{1,3}(\.[0-9]{0,3})?([eE][-+]?[0-9]{1,2})?`),
			rapid.SampledFrom([]string{"true", "null", "[]", "{}", `"x"`, " 5 ", "[1", "5.0", "50e-1", "0e-9", "1.20e1"})).Draw(t, "typed")
		c := newCoercer(jsonx.Raw(of(schema)), "argument", false)
		object, wrong := c.arguments(givenArguments{set: []argument{{name: "v", value: typed}}})
		whole := jsonx.Raw(`{"v":` + typed + `}`)
		asJSON, _, err := contract.Accepts(jsonx.Raw(of(schema)), whole)
		if len(wrong) > 0 {
			if err == nil && asJSON && jsonx.Check(whole, jsonx.Strict) == nil && len(mustMembers(t, whole)) == 1 {
				t.Fatalf("%q is refused for %s: %v", typed, schema, wrong)
			}
			return
		}
		if ok, why, err := contract.Accepts(jsonx.Raw(of(schema)), object); err != nil || !ok {
			t.Fatalf("%q for %s became %s: %s %v", typed, schema, object, why, err)
		}
	})
}

func mustMembers(t *rapid.T, raw jsonx.Raw) []jsonx.Member {
	ms, err := jsonx.Members(raw, jsonx.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func TestSignature(t *testing.T) {
	for _, c := range []struct{ definition, want string }{
		{`{"name":"a","inputSchema":{"type":"object"}}`, `a()`},
		{`{"name":"a"}`, `a()`},
		{`{"name":"a","inputSchema":{"properties":{"x":{"type":"integer","default":3},"y":{"type":"string"}},"required":["y"]}}`, `a(y: string, x?: integer = 3)`},
		{`{"name":"a","inputSchema":{"properties":{"x":{"type":"array","items":{"enum":["p","q"]}}}}}`, `a(x?: ("p"|"q")[])`},
		{`{"name":"a","inputSchema":{"properties":{"x":{"type":"array","items":{"type":"object","properties":{"z":{}}}}}}}`, `a(x?: {z?: any}[])`},
		{`{"name":"a","inputSchema":{"properties":{"x":{"properties":{"y":{"properties":{"z":{"properties":{"w":{}}}}}}}}}}`, `a(x?: {y?: {...}})`},
		{`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]}}`, `a() -> {t: number}`},
		{`{"name":"a","inputSchema":{"properties":{"x":{"$ref":"#"}}}}`, `a(x?: {x?: {...}})`},
		{`{"name":"a","inputSchema":{"properties":{"x":{"default":"` + strings.Repeat("x", 60) + `"}}}}`, `a(x?: any = ...)`},
	} {
		if got := signature(jsonx.Raw(c.definition)); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.definition, got, c.want)
		}
	}
}

// A schema that refers to itself everywhere costs no more than another.
func TestSignatureOfCircles(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"name":"a","inputSchema":{"properties":{`)
	for i := range 40 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"p` + strings.Repeat("x", i) + `":{"anyOf":[{"$ref":"#"},{"$ref":"#"}],"allOf":[{"$ref":"#"}],"properties":{"q":{"$ref":"#"}}}`)
	}
	b.WriteString(`}}}`)
	if got := signature(jsonx.Raw(b.String())); len(got) > 20_000 {
		t.Errorf("the signature has %d bytes", len(got))
	}
}

func TestTargetWords(t *testing.T) {
	for word, want := range map[string]bool{
		"http://x/mcp": true, "HTTPS://x": true, "demo:": true, "demo:drift": true, "demo:=1": false, "demo:x=1": false,
		"https://x/{id}": false, "url=http://x": false, "library://x": false, "call": false,
	} {
		if isTarget(word) != want {
			t.Errorf("isTarget(%q) is %v", word, !want)
		}
	}
}

// Both eras ask in their own way; one rule finds the answer.
func TestAnswers(t *testing.T) {
	form := jsonx.Raw(`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}}`)
	elicit := input{key: "who", method: spec.MethodElicit, params: form}
	sample := input{key: "say", method: spec.MethodCreateMessage}
	for _, c := range []struct {
		name    string
		q       input
		answers []string
		want    string
		problem string
	}{
		{"by key", elicit, []string{`who={"name":"Ada"}`}, `{"action":"accept","content":{"name":"Ada"}}`, ""},
		{"by key, whole", elicit, []string{`who={"action":"decline"}`}, `{"action":"decline"}`, ""},
		{"by key, declined", elicit, []string{`who=decline`}, `{"action":"decline"}`, ""},
		{"by method", elicit, []string{`elicitation/create=cancel`}, `{"action":"cancel"}`, ""},
		{"by the short word", elicit, []string{`elicit=cancel`}, `{"action":"cancel"}`, ""},
		{"the key before the method", elicit, []string{`elicit=cancel`, `who=decline`}, `{"action":"decline"}`, ""},
		{"by members", elicit, []string{`name=5`, `age=5`}, `{"action":"accept","content":{"name":"5","age":5}}`, ""},
		{"by members, wrong", elicit, []string{`name=a`, `age=x`}, "", "answer age must be integer"},
		{"by members, missing", elicit, []string{`age=5`}, "", "answer name (string) is missing"},
		{"a member may be called as an action", elicit, []string{`name=decline`}, `{"action":"accept","content":{"name":"decline"}}`, ""},
		{"a member that is called as the key", input{key: "name", method: spec.MethodElicit, params: form}, []string{`name=Ada`}, `{"action":"accept","content":{"name":"Ada"}}`, ""},
		{"the key comes first", input{key: "name", method: spec.MethodElicit, params: form}, []string{`name=decline`}, `{"action":"decline"}`, ""},
		{"none", elicit, []string{`other=1`}, "", noAnswer},
		{"no object", elicit, []string{`who=5`}, "", "takes an object, accept, decline or cancel"},
		{"sampling by text", sample, []string{`say=a tide`}, `{"role":"assistant","content":{"type":"text","text":"a tide"},"model":"mcprove","stopReason":"endTurn"}`, ""},
		{"sampling by result", sample, []string{`sample:={"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`}, `{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`, ""},
		{"sampling cannot be declined", sample, []string{`say=decline`}, "", "only an elicitation can be declined"},
		{"roots by URI", input{method: spec.MethodRootsList}, []string{`roots=file:///a`}, `{"roots":[{"uri":"file:///a"}]}`, ""},
		{"roots by list", input{method: spec.MethodRootsList}, []string{`roots=["file:///a",{"uri":"file:///b","name":"b"}]`}, `{"roots":[{"uri":"file:///a"},{"uri":"file:///b","name":"b"}]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := readAnswers(&askFlags{answers: c.answers})
			if err != nil {
				t.Fatal(err)
			}
			got, problem := in.answer(c.q)
			if string(got) != c.want || problem != c.problem && !(c.problem != "" && strings.Contains(problem, c.problem)) {
				t.Errorf("got %s, %q; want %s, %q", got, problem, c.want, c.problem)
			}
		})
	}
}

// Schemas are foreign: whatever they are, an argument is refused or becomes JSON
// that holds it, and a signature ends.
func FuzzCoercion(f *testing.F) {
	for _, schema := range []string{
		of(`{"type":"integer"}`), of(`{"$ref":"#/properties/v"}`), `{"$ref":"#"}`, `{"properties":{"v":{"enum":[1,"1",null]}}}`,
		`{"allOf":[{"$ref":"#/allOf/0"}],"anyOf":[true,false]}`, `[]`, `true`, `{"properties":[],"required":{},"enum":1,"type":[1]}`, ``, `{`,
	} {
		f.Add(schema, "v=5")
		f.Add(schema, "v.a.b=x")
		f.Add(schema, `v:={"a":[1]}`)
	}
	f.Fuzz(func(t *testing.T, schema, word string) {
		arg, ok, err := parseArgument(word)
		if err != nil || !ok || strings.HasPrefix(arg.value, "@") || strings.Contains(word, ":=@") {
			return
		}
		for _, lax := range []bool{false, true} {
			c := newCoercer(jsonx.Raw(schema), "argument", lax)
			object, wrong := c.arguments(givenArguments{set: []argument{arg}})
			if len(wrong) > 0 {
				if lax {
					t.Fatalf("unchecked, and refused: %v", wrong)
				}
				continue
			}
			ms, err := jsonx.Members(object, jsonx.Strict)
			if err != nil || len(ms) != 1 {
				t.Fatalf("%s for %s became %s: %v", word, schema, object, err)
			}
			c.judge(object)
		}
		if s := signature(jsonx.Raw(`{"name":"x","inputSchema":` + schema + `}`)); len(s) > 64<<10+len(schema)*20 {
			t.Fatalf("a signature of %d bytes", len(s))
		}
	})
}
