// SPDX-License-Identifier: Apache-2.0

package mock_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"

	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/mock"
	"github.com/mcprove/mcprove/spec"
)

type inner struct {
	Deep  string `json:"deep" jsonschema:"how deep"`
	Plain bool
}

type base struct {
	ID     string `json:"id"`
	Hidden string `json:"hidden"`
}

type wide struct {
	base
	*inner
	Text     string             `json:"text" jsonschema:"a text"`
	Whole    int64              `json:"whole,omitempty"`
	Small    int8               `json:"small"`
	Unsigned uint               `json:"unsigned"`
	Byte     uint8              `json:"byte"`
	Mid      int32              `json:"mid"`
	MidU     uint32             `json:"midU"`
	Real     float32            `json:"real"`
	Maybe    *int               `json:"maybe,omitzero"`
	Sub      inner              `json:"sub"`
	SubP     *inner             `json:"subP"`
	List     []inner            `json:"list"`
	Fixed    [3]string          `json:"fixed"`
	Map      map[string]float64 `json:"map"`
	Any      any                `json:"any"`
	When     time.Time          `json:"when"`
	Skipped  chan int           `json:"-"`
	Hidden   int                `json:"hidden"`
	private  int
	Untagged string
}

// definition is a tool as it is listed.
func definition(t *testing.T, b mock.Behaviour) []byte {
	t.Helper()
	got, ok := mock.New(mock.Script{}).Tool("t", b).Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), spec.Latest)
	if !ok {
		t.Fatal("no answer")
	}
	d, err := lookup(got, "/result/tools/0")
	if err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	return d
}

// The schema that is derived is that of the library of the official SDK, but
// for what the comment of the deriver says.
func TestSchemaOfGoTypes(t *testing.T) {
	t.Setenv("JSONSCHEMAGODEBUG", "typeschemasnull=1") // slices are not null
	_ = wide{private: 1}
	compare(t, definition(t, mock.Typed(takes[wide])), "/inputSchema", jsonschema.For[wide])
	compare(t, definition(t, mock.Typed(takes[inner])), "/inputSchema", jsonschema.For[inner])
	compare(t, definition(t, mock.Typed(takes[struct{}])), "/inputSchema", jsonschema.For[struct{}])
	compare(t, definition(t, mock.Typed(takes[map[string][]uint16])), "/inputSchema", jsonschema.For[map[string][]uint16])
	compare(t, definition(t, mock.Typed(takes[map[netip.Addr]int])), "/inputSchema", jsonschema.For[map[netip.Addr]int])
	compare(t, definition(t, mock.Typed(func(context.Context, struct{}) (wide, error) { return wide{}, nil })), "/outputSchema", jsonschema.For[wide])
}

func takes[In any](context.Context, In) (string, error) { return "called", nil }

func compare(t *testing.T, definition []byte, at string, oracle func(*jsonschema.ForOptions) (*jsonschema.Schema, error)) {
	t.Helper()
	got, err := lookup(definition, at)
	if err != nil {
		t.Fatalf("%v in %s", err, definition)
	}
	o, err := oracle(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := jsonx.Canonical(sorted(t, got))
	b, errB := jsonx.Canonical(sorted(t, text))
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s\nthe oracle: %s", a, b)
	}
}

// sorted is a schema whose required names have an order, without the format of
// times, which the oracle does not know.
func sorted(t *testing.T, schema []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if names, ok := v["required"].([]any); ok {
				set := map[string]any{}
				for _, n := range names {
					set[n.(string)] = true
				}
				v["required"] = set
			}
			if v["format"] == "date-time" {
				delete(v, "format")
			}
			if ps, ok := v["properties"].(map[string]any); ok {
				for name, p := range ps {
					if p == true { // the same as an empty schema
						ps[name] = map[string]any{}
					}
				}
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Where it is its own way, what it promises is what it sends and takes.
func TestTypedSendsWhatItPromises(t *testing.T) {
	type out struct {
		Bytes []byte          `json:"bytes"`
		List  []string        `json:"list"`
		Map   map[string]int  `json:"map"`
		Addr  netip.Addr      `json:"addr"`
		Raw   json.RawMessage `json:"raw,omitempty"`
		When  time.Time       `json:"when"`
		Maybe *int            `json:"maybe"`
	}
	echo := mock.Typed(func(_ context.Context, in out) (out, error) { return in, nil })
	d := definition(t, echo)
	srv := mock.New(mock.Script{}).Tool("t", echo)
	const value = `{"bytes":"AQI=","list":[],"map":{},"addr":"1.2.3.4","raw":{"a":1},"when":"2026-01-02T03:04:05Z","maybe":null}`
	got, _ := srv.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":`+value+`}}`), spec.Latest)
	at(t, got, "/result/structuredContent", value)
	schema, err := lookup(d, "/outputSchema")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, schema)
	}
}

// What a function returns decides the form of the answer.
func TestTypedAnswers(t *testing.T) {
	pointer := func(context.Context, struct{}) (*addOut, error) { return &addOut{1}, nil }
	none := func(context.Context, struct{}) (*addOut, error) { return nil, nil }
	for name, tc := range map[string]struct {
		b                   mock.Behaviour
		content, structured string
		schema              bool
	}{
		"a pointer":   {mock.Typed(pointer), `[{"type":"text","text":"{\"sum\":1}"}]`, `{"sum":1}`, true},
		"a text":      {mock.Typed(takes[struct{}]), `[{"type":"text","text":"called"}]`, ``, false},
		"a list":      {mock.Typed(func(context.Context, struct{}) ([]int, error) { return []int{1}, nil }), `[{"type":"text","text":"[1]"}]`, ``, false},
		"a content":   {mock.Typed(func(context.Context, struct{}) (mock.Content, error) { return mock.Text("x"), nil }), `[{"type":"text","text":"x"}]`, ``, false},
		"anything":    {mock.Typed(func(context.Context, struct{}) (any, error) { return addOut{2}, nil }), `[{"type":"text","text":"{\"sum\":2}"}]`, `{"sum":2}`, false},
		"nothing":     {mock.Typed(func(context.Context, struct{}) (any, error) { return nil, nil }), `[]`, ``, false},
		"a behaviour": {mock.Typed(func(context.Context, struct{}) (mock.Behaviour, error) { return mock.ToolError("no"), nil }), `[{"type":"text","text":"no"}]`, ``, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := lookup(definition(t, tc.b), "/outputSchema"); (err == nil) != tc.schema {
				t.Errorf("outputSchema: %v", err)
			}
			got, _ := mock.New(mock.Script{}).Tool("t", tc.b).Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`), spec.Latest)
			at(t, got, "/result/content", tc.content)
			at(t, got, "/result/structuredContent", tc.structured)
		})
	}
	// What breaks the tool's own promise is a mistake of the test.
	for name, s := range map[string]*mock.Server{
		"nothing":  mock.New(mock.Script{}).Tool("t", mock.Typed(none)),
		"no error": mock.New(mock.Script{}).Tool("t", mock.With(func(context.Context, map[string]any) (any, error) { return errors.ErrUnsupported, nil })),
		"a sequence": mock.New(mock.Script{}).Tool("t", mock.With(func(context.Context, map[string]any) (any, error) {
			return mock.Sequence(mock.Text("")), nil
		})),
	} {
		got, _ := s.Exchange([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`), spec.Latest)
		if code(t, got) != spec.CodeInternalError || len(s.Panics()) != 1 {
			t.Errorf("%s: %s, %v", name, got, s.Panics())
		}
	}
}
