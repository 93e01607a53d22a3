// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/order"
	"github.com/mcprove/mcprove/surface"
)

// maxRows bounds the rows of one schema, and depth how far they go down.
const (
	maxRows  = 60
	maxDepth = 6
)

// schemaRows lists the members of a schema, nested ones by their paths, behind
// references and in unions too.
func schemaRows(schema jsonx.Raw) []row {
	if schema == nil {
		return nil
	}
	l := rowLister{root: schema}
	l.object(schema, "", 0)
	if len(l.rows) == maxRows {
		l.rows = append(l.rows, row{name: "...", typ: "more members"})
	}
	return l.rows
}

type rowLister struct {
	root jsonx.Raw
	rows []row
	deep int // typeOf inside itself: references may circle
}

// behind follows a local reference.
func (l *rowLister) behind(schema jsonx.Raw) jsonx.Raw {
	for range 8 {
		ref := member(schema, "$ref")
		if ref == "#" {
			return l.root
		}
		if !strings.HasPrefix(ref, "#/") {
			return schema
		}
		v, err := jsonx.Lookup(l.root, ref[1:])
		if err != nil {
			return schema
		}
		schema = v
	}
	return schema
}

func (l *rowLister) object(schema jsonx.Raw, path string, depth int) {
	if depth > maxDepth {
		return
	}
	schema = l.behind(schema)
	required := map[string]bool{}
	if r, err := jsonx.Lookup(schema, "/required"); err == nil {
		es, _ := jsonx.Elements(r, jsonx.Strict)
		for _, e := range es {
			n, _ := jsonx.Text(e)
			required[n] = true
		}
	}
	if ps, err := jsonx.Lookup(schema, "/properties"); err == nil {
		ms, _ := jsonx.Members(ps, jsonx.Strict)
		order.Stable(ms, func(a, b jsonx.Member) int {
			return cmp.Compare(b2i(required[a.Name]), b2i(required[b.Name]))
		})
		for _, m := range ms {
			if len(l.rows) >= maxRows {
				return
			}
			need := ""
			if required[m.Name] {
				need = "required"
			}
			name := m.Name
			if path != "" {
				name = path + "." + name
			}
			l.rows = append(l.rows, row{name, l.typeOf(m.Value), need})
			l.inside(m.Value, name, depth+1)
		}
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		branches, err := jsonx.Lookup(schema, "/"+k)
		if err != nil {
			continue
		}
		es, _ := jsonx.Elements(branches, jsonx.Strict)
		for _, e := range es {
			l.object(e, path, depth+1)
		}
	}
}

// inside goes into a member that is an object or a list of objects.
func (l *rowLister) inside(schema jsonx.Raw, path string, depth int) {
	schema = l.behind(schema)
	if items, err := jsonx.Lookup(schema, "/items"); err == nil && jsonx.KindOf(items) == jsonx.Object {
		l.inside(items, path+"[]", depth)
		return
	}
	l.object(schema, path, depth)
}

func b2i(b bool) int {
	if b {
		return 0
	}
	return 1
}

// typeOf words a schema's type: string, string|null, integer[], "a"|"b".
func (l *rowLister) typeOf(schema jsonx.Raw) string {
	if l.deep++; l.deep > maxDepth {
		l.deep--
		return "..."
	}
	defer func() { l.deep-- }()
	schema = l.behind(schema)
	look := func(p string) jsonx.Raw {
		v, err := jsonx.Lookup(schema, p)
		if err != nil {
			return nil
		}
		return v
	}
	join := func(raw jsonx.Raw, one func(jsonx.Raw) string) string {
		es, _ := jsonx.Elements(raw, jsonx.Strict)
		var out []string
		for _, e := range es {
			if s := one(e); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
		return strings.Join(out, "|")
	}
	switch t := look("/type"); {
	case look("/enum") != nil:
		return join(look("/enum"), func(e jsonx.Raw) string { return string(e) })
	case look("/const") != nil:
		return string(look("/const"))
	case jsonx.KindOf(t) == jsonx.Array:
		return join(t, func(e jsonx.Raw) string { s, _ := jsonx.Text(e); return s })
	case string(t) == `"array"`:
		if items := look("/items"); items != nil {
			if t := l.typeOf(items); strings.Contains(t, "|") {
				return "(" + t + ")[]"
			} else {
				return t + "[]"
			}
		}
		return "array"
	case t != nil:
		s, _ := jsonx.Text(t)
		return s
	case look("/anyOf") != nil:
		return join(look("/anyOf"), l.typeOf)
	case look("/oneOf") != nil:
		return join(look("/oneOf"), l.typeOf)
	}
	return "any"
}

func promptRows(it *surface.Item) []row {
	es, _ := jsonx.Elements(it.Member("arguments"), jsonx.Strict)
	var rows []row
	for _, e := range es {
		need := ""
		if v, err := jsonx.Lookup(e, "/required"); err == nil && string(v) == "true" {
			need = "required"
		}
		rows = append(rows, row{member(e, "name"), "string", need})
	}
	return rows
}
