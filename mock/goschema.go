// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// goSchema derives a JSON Schema of 2020-12 from a Go type, as JSON writes the
// type: the same rules as google/jsonschema-go, which would not fit into the
// binary and is the oracle of the tests, except that a slice is never null and
// bytes are a text. outer are the types that this one stands in.
func goSchema(t reflect.Type, outer []reflect.Type) (json.RawMessage, error) {
	if slices.Contains(outer, t) && t.Name() != "" {
		return nil, fmt.Errorf("%s holds itself", t)
	}
	outer = append(slices.Clip(outer), t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return json.RawMessage(`{"type":"string","format":"date-time"}`), nil
	case t == reflect.TypeFor[time.Duration]():
		return nil, errors.New("time.Duration has no JSON form of its own")
	case implements(t, reflect.TypeFor[marshaler]()):
		return json.RawMessage(`{}`), nil // whatever it makes of itself
	case implements(t, reflect.TypeFor[encoding.TextMarshaler]()):
		return json.RawMessage(`{"type":"string"}`), nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		elem, err := goSchema(t.Elem(), outer)
		return nullable(elem), err
	case reflect.Interface:
		return json.RawMessage(`{}`), nil
	case reflect.Bool:
		return json.RawMessage(`{"type":"boolean"}`), nil
	case reflect.String:
		return json.RawMessage(`{"type":"string"}`), nil
	case reflect.Float32, reflect.Float64:
		return json.RawMessage(`{"type":"number"}`), nil
	case reflect.Struct:
		return goStruct(t, outer)
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !implements(t.Key(), reflect.TypeFor[encoding.TextMarshaler]()) {
			return nil, fmt.Errorf("a map with keys of %s", t.Key())
		}
		elem, err := goSchema(t.Elem(), outer)
		return object(member{"type", quote("object")}, member{"additionalProperties", elem}), err
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return json.RawMessage(`{"type":"string","contentEncoding":"base64"}`), nil
		}
		elem, err := goSchema(t.Elem(), outer)
		ms := []member{{"type", quote("array")}, {"items", elem}}
		if t.Kind() == reflect.Array {
			n := number(int64(t.Len()))
			ms = append(ms, member{"minItems", n}, member{"maxItems", n})
		}
		return object(ms...), err
	}
	if low, high, ok := integers(t); ok {
		return object(member{"type", quote("integer")}, member{"minimum", low}, member{"maximum", high}), nil
	}
	return nil, fmt.Errorf("JSON holds no %s", t)
}

// marshaler is a type that writes its own JSON.
type marshaler interface{ MarshalJSON() ([]byte, error) }

func implements(t, i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }

// integers are the bounds of an integer type; nil where a float64 cannot say
// them.
func integers(t reflect.Type) (low, high []byte, ok bool) {
	switch bits := 8 * int(t.Size()); t.Kind() {
	case reflect.Int, reflect.Int64:
		return nil, nil, true
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return number(0), nil, true
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return number(math.MinInt64 >> (64 - bits)), number(math.MaxInt64 >> (64 - bits)), true
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return number(0), strconv.AppendUint(nil, math.MaxUint64>>(64-bits), 10), true
	}
	return nil, nil, false
}

// nullable lets a schema take null too.
func nullable(schema json.RawMessage) json.RawMessage {
	kind := get(schema, "type")
	if jsonx.KindOf(kind) != jsonx.String {
		return schema // it takes anything, or null already
	}
	return set(schema, "/type", array([]json.RawMessage{quote("null"), json.RawMessage(kind)}))
}

// goStruct is an object of a struct's fields, and of those of what it embeds.
func goStruct(t reflect.Type, outer []reflect.Type) (json.RawMessage, error) {
	properties, required, err := goFields(t, outer)
	if err != nil {
		return nil, err
	}
	ms := []member{{"type", quote("object")}}
	if properties != nil {
		ms = append(ms, member{"properties", object(properties...)})
	}
	if required != nil {
		ms = append(ms, member{"required", texts(required)})
	}
	return object(append(ms, member{"additionalProperties", []byte("false")})...), nil
}

// goFields are the members of a struct, and which of them it always has. A field
// of the struct hides one of the name in what it embeds.
func goFields(t reflect.Type, outer []reflect.Type) (properties []member, required []string, err error) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if inner := plainStruct(f.Type); f.Anonymous && name == "" && inner != nil {
			embedded = append(embedded, inner)
			continue
		}
		if !f.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		schema, err := goSchema(f.Type, outer)
		if err != nil {
			return nil, nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if text := f.Tag.Get("jsonschema"); text != "" {
			schema = with(schema, member{"description", quote(text)})
		}
		properties = append(properties, member{name, schema})
		if opts := strings.Split(options, ","); !slices.Contains(opts, "omitempty") && !slices.Contains(opts, "omitzero") {
			required = append(required, name)
		}
	}
	own := len(properties)
	for _, inner := range embedded {
		if slices.Contains(outer, inner) {
			return nil, nil, fmt.Errorf("%s holds itself", inner)
		}
		more, always, err := goFields(inner, append(slices.Clip(outer), inner))
		if err != nil {
			return nil, nil, err
		}
		for _, m := range more {
			switch at := index(properties, m.name); {
			case at >= own:
				return nil, nil, fmt.Errorf("two embedded fields are %q in JSON", m.name)
			case at < 0:
				properties = append(properties, m)
				if slices.Contains(always, m.name) {
					required = append(required, m.name)
				}
			}
		}
	}
	return properties, required, nil
}

// plainStruct is the struct that a type or what it points to is, if it does not
// write its own JSON.
func plainStruct(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || implements(t, reflect.TypeFor[marshaler]()) || implements(t, reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	return t
}
