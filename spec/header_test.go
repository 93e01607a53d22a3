// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHeaderValues(t *testing.T) {
	for _, tc := range []struct{ plain, wire string }{
		{"", ""},
		{"get_weather", "get_weather"},
		{"a b", "a b"},
		{"~!", "~!"},
		{" a", "=?base64?IGE=?="},
		{"a ", "=?base64?YSA=?="},
		{"a\tb", "=?base64?YQli?="},
		{"a\r\nb", "=?base64?YQ0KYg==?="},
		{"\x7f", "=?base64?fw==?="},
		{"é", "=?base64?w6k=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?base64?open", "=?base64?open"},
		{"=?BASE64?YQ==?=", "=?BASE64?YQ==?="},
	} {
		if got := EncodeHeaderValue(tc.plain); got != tc.wire {
			t.Errorf("encode %q = %q, want %q", tc.plain, got, tc.wire)
		}
		if got, err := DecodeHeaderValue(tc.wire); err != nil || got != tc.plain {
			t.Errorf("decode %q = %q, %v, want %q", tc.wire, got, err, tc.plain)
		}
		if got, err := DecodeHeaderValue(Base64HeaderValue(tc.plain)); err != nil || got != tc.plain {
			t.Errorf("decode the Base64 form of %q = %q, %v", tc.plain, got, err)
		}
	}
	if got := Base64HeaderValue("get_weather"); got != "=?base64?Z2V0X3dlYXRoZXI=?=" {
		t.Errorf("Base64 form of a safe value = %q", got)
	}
}

func TestDecodeHeaderValueFaults(t *testing.T) {
	for _, tc := range []struct {
		wire string
		want error
	}{
		{"=?base64?***?=", ErrHeaderBase64},
		{"=?base64?YQ?=", ErrHeaderBase64},     // no padding
		{"=?base64?YQ-_?=", ErrHeaderBase64},   // the URL alphabet
		{"=?base64?YR==?=", ErrHeaderBase64},   // bits left over
		{"=?base64?YW\nI=?=", ErrHeaderBase64}, // line break
		{"=?base64?/w==?=", ErrHeaderBase64},   // not UTF-8
		{"é", ErrHeaderCharacter},
		{"a\x00", ErrHeaderCharacter},
		{"a\nb", ErrHeaderCharacter},
	} {
		if got, err := DecodeHeaderValue(tc.wire); !errors.Is(err, tc.want) {
			t.Errorf("decode %q = %q, %v, want %v", tc.wire, got, err, tc.want)
		}
	}
	for _, wire := range []string{"=?base64??=", "a\tb", "=?base64?="} {
		if _, err := DecodeHeaderValue(wire); err != nil {
			t.Errorf("decode %q: %v", wire, err)
		}
	}
}

func TestHeaderValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ =?]{0,2}(=\?base64\?)?[a-zA-Z0-9+/]{0,8}={0,2}(\?=)?[ \t]{0,2}`)).Draw(t, "value")
		wire := EncodeHeaderValue(s)
		if back, err := DecodeHeaderValue(wire); err != nil || back != s {
			t.Fatalf("%q became %q and then %q, %v", s, wire, back, err)
		}
		if wire != strings.TrimSpace(wire) || strings.ContainsFunc(wire, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q is not safe in a header", wire)
		}
	})
}

func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"", "a", "é", " x", "=?base64?YQ==?=", "=?base64?=", "=?base64?\xff?=", "\xff", "a\r\nX: y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wire := EncodeHeaderValue(s)
		back, err := DecodeHeaderValue(wire)
		if err != nil || back != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q became %q and then %q, %v", s, wire, back, err)
		}
		if plain, err := DecodeHeaderValue(s); err == nil {
			if again, err := DecodeHeaderValue(EncodeHeaderValue(plain)); err != nil || again != plain {
				t.Errorf("%q decodes to %q, which does not survive", s, plain)
			}
		}
	})
}

func TestParseParamHeaders(t *testing.T) {
	schema := []byte(`{
		"type": "object",
		"x-mcp-header": "Root",
		"properties": {
			"city": {"type": "string", "x-mcp-header": "City"},
			"opt": {"type": ["string", "null"], "x-mcp-header": "Opt"},
			"where": {"type": "object", "properties": {
				"zip": {"type": "integer", "x-mcp-header": "Zip"},
				"a/b": {"type": "boolean", "x-mcp-header": "Ab"}
			}},
			"x-mcp-header": {"type": "string", "default": {"x-mcp-header": "data"}},
			"same": {"type": "string", "x-mcp-header": "CITY"},
			"num": {"type": "number", "x-mcp-header": "Num"},
			"arr": {"type": "array", "x-mcp-header": "Arr", "items": {"type": "string", "x-mcp-header": "Item"}},
			"none": {"x-mcp-header": "None"},
			"two": {"type": ["string", "integer"], "x-mcp-header": "Two"},
			"empty": {"type": "string", "x-mcp-header": ""},
			"space": {"type": "string", "x-mcp-header": "a b"},
			"crlf": {"type": "string", "x-mcp-header": "a\r\nb"},
			"seven": {"type": "string", "x-mcp-header": 7},
			"any": {"anyOf": [{"type": "object", "properties": {"p": {"type": "string", "x-mcp-header": "Any"}}}]},
			"ref": {"$ref": "#/$defs/d"}
		},
		"$defs": {"d": {"type": "string", "x-mcp-header": "Def"}},
		"examples": [{"x-mcp-header": "data"}],
		"unknown": {"x-mcp-header": "data"}
	}`)
	ps, err := ParseParamHeaders(schema)
	if err != nil {
		t.Fatal(err)
	}
	var valid []string
	for _, p := range ps.Valid {
		valid = append(valid, p.Name+" "+p.Type+" "+strings.Join(p.Path, ".")+" "+p.Pointer)
	}
	wantValid := []string{
		"City string city /properties/city",
		"Opt string opt /properties/opt",
		"Zip integer where.zip /properties/where/properties/zip",
		"Ab boolean where.a/b /properties/where/properties/a~1b",
	}
	if !slices.Equal(valid, wantValid) {
		t.Errorf("valid: got %q, want %q", valid, wantValid)
	}
	faults := map[string]ParamHeaderReason{}
	for _, f := range ps.Faults {
		faults[strings.TrimSuffix(f.Pointer, "/x-mcp-header")] = f.Reason
		if f.Detail == "" || f.Value == "" {
			t.Errorf("incomplete fault %+v", f)
		}
	}
	want := map[string]ParamHeaderReason{
		"":                                     NotReachable,
		"/properties/same":                     DuplicateName,
		"/properties/num":                      NotPrimitive,
		"/properties/arr":                      NotPrimitive,
		"/properties/arr/items":                NotReachable,
		"/properties/none":                     NotPrimitive,
		"/properties/two":                      NotPrimitive,
		"/properties/empty":                    EmptyName,
		"/properties/space":                    NotToken,
		"/properties/crlf":                     NotToken,
		"/properties/seven":                    NotString,
		"/properties/any/anyOf/0/properties/p": NotReachable,
		"/$defs/d":                             NotReachable,
	}
	for pointer, reason := range want {
		if faults[pointer] != reason {
			t.Errorf("%s: got reason %d, want %d", pointer, faults[pointer], reason)
		}
		delete(faults, pointer)
	}
	for pointer := range faults {
		t.Errorf("unexpected fault at %s", pointer)
	}
	for _, bad := range []string{"", "[]", "true", `{"a":1,"a":2}`} {
		if _, err := ParseParamHeaders([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParamHeaderFields(t *testing.T) {
	ps, err := ParseParamHeaders([]byte(`{"type":"object","properties":{
		"s":{"type":"string","x-mcp-header":"S"},
		"i":{"type":"integer","x-mcp-header":"I"},
		"b":{"type":"boolean","x-mcp-header":"B"},
		"o":{"type":"object","properties":{"n":{"type":"string","x-mcp-header":"N"}}}}}`))
	if err != nil || len(ps.Faults) > 0 {
		t.Fatal(ps.Faults, err)
	}
	for _, tc := range []struct {
		arguments, want string
		fails           bool
	}{
		{`{"s":"x","i":42,"b":true,"o":{"n":"é"}}`, "Mcp-Param-S: x|Mcp-Param-I: 42|Mcp-Param-B: true|Mcp-Param-N: =?base64?w6k=?=", false},
		{`{"s":null,"o":null}`, "", false},
		{`{"o":3}`, "", false},
		{`{}`, "", false},
		{``, "", false},
		{`{"i":42.0}`, "Mcp-Param-I: 42", false},
		{`{"i":1e3}`, "Mcp-Param-I: 1000", false},
		{`{"i":-0}`, "Mcp-Param-I: 0", false},
		{`{"i":9007199254740991}`, "Mcp-Param-I: 9007199254740991", false},
		{`{"i":-9007199254740991}`, "Mcp-Param-I: -9007199254740991", false},
		{`{"i":9007199254740992,"b":false}`, "Mcp-Param-B: false", true},
		{`{"i":-9007199254740992}`, "", true},
		{`{"i":1e999999999}`, "", true},
		{`{"i":1.5}`, "Mcp-Param-I: 1.5", false},
		{`{"s":["x"],"b":true}`, "Mcp-Param-B: true", true},
		{`{"s":"=?base64?x?="}`, "Mcp-Param-S: =?base64?PT9iYXNlNjQ/eD89?=", false},
		{`{`, "", true},
	} {
		fs, err := ps.Fields([]byte(tc.arguments))
		var got []string
		for _, f := range fs {
			got = append(got, f.Name+": "+f.Value)
		}
		if s := strings.Join(got, "|"); s != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: got %q, %v, want %q", tc.arguments, s, err, tc.want)
		}
	}
}

func TestParamHeaderMatches(t *testing.T) {
	p := ParamHeader{Name: "X"}
	for _, tc := range []struct {
		header, argument string
		want, fails      bool
	}{
		{"42", `42`, true, false},
		{"42.0", `42`, true, false},
		{"042", `42`, false, false},
		{"4.2e1", `42`, true, false},
		{"x", `42`, false, false},
		{"42", `"42"`, true, false},
		{"42.0", `"42"`, false, false},
		{"true", `true`, true, false},
		{"True", `true`, false, false},
		{"=?base64?w6k=?=", `"é"`, true, false},
		{"=?base64?*?=", `"é"`, false, true},
		{"a", `"A"`, false, false},
		{"a", `null`, true, false},
		{"a", ``, true, false},
		{"a", `[]`, false, false},
	} {
		got, err := p.Matches(tc.header, []byte(tc.argument))
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%q against %s: %v, %v", tc.header, tc.argument, got, err)
		}
	}
}

func TestDecimals(t *testing.T) {
	for _, group := range [][]string{
		{"0", "-0", "0.0", "0e5", "-0.00e-3"},
		{"1", "1.0", "10e-1", "0.1e1", "100E-2"},
		{"1000", "1e3", "1E+3", "0.001e6"},
		{"-42", "-42.0", "-4.2e1"},
		{"0.005", "5e-3", "0.5E-2"},
		{"12345678901234567890", "1234567890123456789e1"},
	} {
		first := readDecimal([]byte(group[0]))
		for _, s := range group[1:] {
			if d := readDecimal([]byte(s)); d != first {
				t.Errorf("%s is %+v, %s is %+v", group[0], first, s, d)
			}
		}
	}
	for s, want := range map[string]bool{"1": true, "1.5": false, "15e-1": false, "150e-1": true, "1e999999999999": true, "1e-999999999999": false, "0.0": true} {
		if got := readDecimal([]byte(s)).integral(); got != want {
			t.Errorf("%s integral: %v", s, got)
		}
	}
	for s, want := range map[string]bool{"1": false, "1.0000000000000000000001": true, "0.99": false, "2": true, "10": true, "-5": false, "1e-1": false} {
		if got := readDecimal([]byte(s)).aboveOne(); got != want {
			t.Errorf("%s above one: %v", s, got)
		}
	}
}
