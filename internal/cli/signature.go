// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/text"
)

// Bounds on a signature: how deep objects are written out, how many members of
// one, how long one type and one default may be, and how many objects there are
// in all.
const (
	maxShapeDepth  = 2
	maxShapeFields = 12
	maxShapeType   = 80
	maxShapes      = 100
	maxDefault     = 30
)

// signature is a tool as a function: name(city: string, days?: integer = 3) ->
// {temperature: number}. It may hold foreign text.
func signature(definition jsonx.Raw) string {
	in := look(definition, "/inputSchema")
	out := member(definition, "name") + "(" + viewOf(in).members(in, 0) + ")"
	if result := look(definition, "/outputSchema"); result != nil {
		out += " -> " + viewOf(result).shape(result, 0)
	}
	return out
}

// promptSignature is a prompt as a function; its arguments are texts.
func promptSignature(definition jsonx.Raw) string {
	var args []string
	es, _ := jsonx.Elements(look(definition, "/arguments"), jsonx.Strict)
	for _, e := range es {
		n := member(e, "name")
		if string(look(e, "/required")) != "true" {
			n += "?"
		}
		args = append(args, n)
	}
	return member(definition, "name") + "(" + strings.Join(args, ", ") + ")"
}

// members are those of an object schema, the required ones first.
func (v *schemaView) members(schema jsonx.Raw, depth int) string {
	f := v.fields(schema)
	var out []string
	for _, wanted := range []bool{true, false} {
		for _, n := range f.names {
			if slices.Contains(f.required, n) != wanted {
				continue
			}
			if len(out) == maxShapeFields {
				return strings.Join(append(out, "..."), ", ")
			}
			s := n
			if !wanted {
				s += "?"
			}
			s += ": " + v.shape(f.of[n][0], depth+1)
			if d := look(f.of[n][0], "/default"); d != nil && depth == 0 {
				if len(d) > maxDefault {
					d = jsonx.Raw("...")
				}
				s += " = " + string(d)
			}
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// shape is the type of a schema, objects written out for a few levels.
func (v *schemaView) shape(schema jsonx.Raw, depth int) string {
	schema = v.behind(schema)
	if items := look(schema, "/items"); items != nil && depth <= maxShapeDepth && v.isObject(v.behind(items)) {
		return v.shape(items, depth) + "[]"
	}
	if !v.isObject(schema) {
		return text.Clip(v.typeOf(schema), maxShapeType)
	}
	if v.shapes++; depth > maxShapeDepth || v.shapes > maxShapes {
		return "{...}"
	}
	return "{" + v.members(schema, depth+1) + "}"
}

// isObject reports whether a schema is that of an object with named members.
func (v *schemaView) isObject(schema jsonx.Raw) bool {
	return look(schema, "/properties") != nil && (look(schema, "/type") == nil || member(schema, "type") == "object")
}
