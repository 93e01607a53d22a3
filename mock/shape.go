// SPDX-License-Identifier: Apache-2.0

package mock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// shape is the part of an inputSchema that the server holds callers to: types,
// required members, enumerations, items. It is a script's plausible check, not
// a JSON Schema validator; what it does not know it lets pass.
type shape struct {
	types      []string
	required   []string
	properties map[string]*shape
	closed     bool
	items      *shape
	enum       []string // canonical texts
	minimum    *float64
	maximum    *float64
}

// maxDepth bounds how deep a schema is read.
const maxDepth = 32

func shapeOf(schema []byte, depth int) *shape {
	if depth == 0 || jsonx.KindOf(schema) != jsonx.Object {
		return nil
	}
	ms, _ := jsonx.Members(schema, jsonx.Lenient)
	sh := &shape{}
	for _, m := range ms {
		switch m.Name {
		case "type":
			if t, ok := jsonx.Text(m.Value); ok {
				sh.types = []string{t}
			} else {
				_ = jsonx.Unmarshal(m.Value, &sh.types) // another type lets all pass
			}
		case "required":
			_ = jsonx.Unmarshal(m.Value, &sh.required)
		case "properties":
			ps, _ := jsonx.Members(m.Value, jsonx.Lenient)
			sh.properties = map[string]*shape{}
			for _, p := range ps {
				sh.properties[p.Name] = shapeOf(p.Value, depth-1)
			}
		case "additionalProperties":
			sh.closed = jsonx.KindOf(m.Value) == jsonx.False
		case "items":
			sh.items = shapeOf(m.Value, depth-1)
		case "enum":
			es, _ := jsonx.Elements(m.Value, jsonx.Lenient)
			for _, e := range es {
				sh.enum = append(sh.enum, canonical(e))
			}
		case "minimum":
			sh.minimum = float(m.Value)
		case "maximum":
			sh.maximum = float(m.Value)
		}
	}
	return sh
}

func canonical(raw []byte) string {
	c, err := jsonx.Canonical(raw)
	if err != nil {
		return string(raw)
	}
	return string(c)
}

func float(raw []byte) *float64 {
	var f float64
	if jsonx.KindOf(raw) != jsonx.Number || jsonx.Unmarshal(raw, &f) != nil {
		return nil
	}
	return &f
}

// check returns what is wrong with a value at a path, empty for nothing.
func (sh *shape) check(v []byte, path string) string {
	if sh == nil {
		return ""
	}
	kind := jsonx.KindOf(v)
	if len(sh.types) > 0 && !slices.ContainsFunc(sh.types, func(t string) bool { return is(kind, v, t) }) {
		return fmt.Sprintf("%s must be %s", path, sh.types[0])
	}
	if sh.enum != nil && !slices.Contains(sh.enum, string(v)) && !slices.Contains(sh.enum, canonical(v)) {
		return fmt.Sprintf("%s must be one of %s", path, strings.Join(sh.enum, ", "))
	}
	switch kind {
	case jsonx.Object:
		return sh.checkMembers(v, path)
	case jsonx.Array:
		if sh.items == nil {
			return ""
		}
		es, _ := jsonx.Elements(v, jsonx.Lenient)
		for i, e := range es {
			if bad := sh.items.check(e, fmt.Sprintf("%s[%d]", path, i)); bad != "" {
				return bad
			}
		}
	case jsonx.Number:
		f := float(v)
		switch {
		case f == nil:
		case sh.minimum != nil && *f < *sh.minimum:
			return fmt.Sprintf("%s must be at least %v", path, *sh.minimum)
		case sh.maximum != nil && *f > *sh.maximum:
			return fmt.Sprintf("%s must be at most %v", path, *sh.maximum)
		}
	}
	return ""
}

func (sh *shape) checkMembers(v []byte, path string) string {
	ms, _ := jsonx.Members(v, jsonx.Lenient)
	for _, name := range sh.required {
		if find(ms, name) == nil {
			return fmt.Sprintf("%s is required", join(path, name))
		}
	}
	for _, m := range ms {
		p, known := sh.properties[m.Name]
		if !known && sh.closed {
			return fmt.Sprintf("%s is not known", join(path, clip(m.Name)))
		}
		if bad := p.check(m.Value, join(path, clip(m.Name))); bad != "" {
			return bad
		}
	}
	return ""
}

func join(path, name string) string {
	if path == "arguments" {
		return name
	}
	return path + "." + name
}

func is(k jsonx.Kind, v []byte, t string) bool {
	switch t {
	case "object":
		return k == jsonx.Object
	case "array":
		return k == jsonx.Array
	case "string":
		return k == jsonx.String
	case "number":
		return k == jsonx.Number
	case "integer":
		f := float(v)
		return f != nil && *f == float64(int64(*f))
	case "boolean":
		return k == jsonx.True || k == jsonx.False
	case "null":
		return k == jsonx.Null
	}
	return true
}
