// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// number is a JSON number with its text.
type number string

// MarshalJSON writes the text.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

func (n number) float() (float64, error) { return strconv.ParseFloat(string(n), 64) }

// decoded reads JSON into maps, slices, strings, booleans and numbers; nil when
// there is none.
func decoded(raw jsonx.Raw) any {
	if raw == nil {
		return nil
	}
	type open struct {
		object map[string]any
		list   []any
		name   string
	}
	var stack []*open
	var root any
	put := func(v any) {
		if len(stack) == 0 {
			root = v
			return
		}
		if top := stack[len(stack)-1]; top.object != nil {
			top.object[top.name] = v
		} else {
			top.list = append(top.list, v)
		}
	}
	err := jsonx.Walk(raw, func(t jsonx.Token) error {
		switch t.Kind {
		case jsonx.Object:
			stack = append(stack, &open{object: map[string]any{}})
		case jsonx.Array:
			stack = append(stack, &open{list: []any{}})
		case '}', ']':
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if top.object != nil {
				put(top.object)
			} else {
				put(top.list)
			}
		case jsonx.String:
			s, _ := jsonx.Text(t.Raw)
			if t.Name {
				stack[len(stack)-1].name = s
			} else {
				put(s)
			}
		case jsonx.Number:
			put(number(t.Raw))
		case jsonx.Null:
			put(nil)
		default:
			put(t.Kind == jsonx.True)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return root
}

// canonicalOf writes a value in canonical form.
func canonicalOf(v any) (jsonx.Raw, error) {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonx.Canonical(raw)
}

// laxBool reads a boolean as Python's pydantic does, which that SDK reads
// every message with.
func laxBool(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case number:
		if f, err := v.float(); err == nil && (f == 0 || f == 1) {
			return f == 1, true
		}
	case string:
		switch strings.ToLower(v) {
		case "1", "true", "t", "yes", "y", "on":
			return true, true
		case "0", "false", "f", "no", "n", "off":
			return false, true
		}
	}
	return false, false
}

// doubles reads JSON with its numbers as JavaScript has them.
func doubles(raw jsonx.Raw) any { return rounded(decoded(raw)) }

func rounded(v any) any {
	switch v := v.(type) {
	case number:
		if f, err := v.float(); err == nil {
			if text, err := jsonx.Marshal(f); err == nil {
				return number(text)
			}
		}
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for n := range v {
			v[n] = rounded(v[n])
		}
	}
	return v
}
