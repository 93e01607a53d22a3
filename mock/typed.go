// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// Typed is a function of a tool on Go types. The inputSchema is that of In, which
// is a struct or a map; the outputSchema that of Out where it is one of these, and
// then the result is structuredContent with the same JSON as text. A string is a
// text, a [Content] and the like are contents, another type is its JSON as text.
//
// Fields go by their json tags; omitempty and omitzero make one optional, a
// pointer nullable, and a tag jsonschema:"..." describes it. Arguments are held
// to the schema before the function is called. A type that JSON cannot hold is
// refused where the tool is registered.
func Typed[In, Out any](f func(context.Context, In) (Out, error)) Behaviour {
	return &typed{
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), zero: [2]any{*new(In), *new(Out)},
		call: func(ctx context.Context, c *Call) (any, error) {
			var in In
			if err := jsonx.Unmarshal(c.Arguments, &in); err != nil {
				return nil, badArguments(c.Revision, "arguments do not fit: "+clip(err.Error()))
			}
			return f(ctx, in)
		},
	}
}

type typed struct {
	in, out reflect.Type
	zero    [2]any
	call    func(context.Context, *Call) (any, error)
}

func (t *typed) does(it *item) does {
	if it.kind != kindTool {
		it.refuse("mock.Typed is for tools", "use mock.With")
	}
	if it.input == nil {
		it.input = it.schemaOf("In", t.in, t.zero[0])
		if word(it.input, "type") != "object" {
			it.refuse("In is "+t.in.String()+", and arguments are an object", "take a struct")
		}
	}
	held := t.out.Kind() == reflect.Interface || t.out.Kind() == reflect.String || t.out.Implements(reflect.TypeFor[Behaviour]())
	if !held && it.output == nil {
		schema := it.schemaOf("Out", t.out, t.zero[1])
		if word(schema, "type") == "object" {
			it.promise(schema)
		}
	}
	return does{play: func(ctx context.Context, c *Call) (json.RawMessage, error) {
		v, err := t.call(calling(ctx, c), c)
		return it.returned(c, v, err)
	}}
}

// schemaOf is the schema of a Go type, whose zero value shows whether JSON can
// hold it at all.
func (it *item) schemaOf(what string, t reflect.Type, zero any) json.RawMessage {
	const try = "use types that have a JSON form, or mock.With and mock.Input"
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	schema, err := goSchema(t, nil)
	if err == nil {
		_, err = jsonx.Marshal(zero)
	}
	if err != nil {
		it.refuse(what+" is "+t.String()+": "+err.Error(), try)
	}
	return schema
}
