// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/surface"
)

// schemaKey names one comparison of schemas: servers repeat schemas, so equal
// ones are compared once.
type schemaKey struct {
	old, new string
	dir      ss.Direction
}

// schemaResult is the judged comparison of two schemas, relative to the item's
// member that holds them.
type schemaResult struct {
	changes []Change // Place.Name is empty
}

// inputSchema compares the arguments of a tool.
func (c *comparer) inputSchema(a at, old, new *surface.Item) {
	b, n := old.Member("inputSchema"), new.Member("inputSchema")
	if string(b) == string(n) {
		return
	}
	a = a.member("inputSchema")
	switch {
	case jsonx.KindOf(b) != jsonx.Object && jsonx.KindOf(n) != jsonx.Object:
		c.add(kindToolMember, a, values(b, n), message("inputSchema changed; it is no object, as before"))
		return
	case n == nil || jsonx.KindOf(n) != jsonx.Object:
		c.add(kindRootNotObject, a, values(b, n), message("inputSchema is not an object any more"))
		return
	case b == nil || jsonx.KindOf(b) != jsonx.Object:
		c.add(kindSchemaRepaired, a, values(b, n), message("inputSchema is an object now"))
		return // it was no schema that a caller could follow
	}
	c.rootShape(a, b, n)
	c.schema(a, b, n, ss.Input)
	c.headers(a, b, n)
}

// outputSchema compares the structured results of a tool.
func (c *comparer) outputSchema(a at, old, new *surface.Item) {
	b, n := old.Member("outputSchema"), new.Member("outputSchema")
	a = a.member("outputSchema")
	switch {
	case string(b) == string(n):
	case b == nil:
		c.add(kindOutputSchemaAdded, a, values(b, n))
	case n == nil:
		c.add(kindOutputSchemaRemoved, a, values(b, n), c.anythingArrives(b))
	case c.wrapped(a, b, n):
	default:
		c.schema(a, b, n, ss.Output)
	}
}

// anythingArrives gives a removed output schema its witness: a value that it
// did not allow.
func (c *comparer) anythingArrives(old jsonx.Raw) func(*Change) {
	return func(ch *Change) {
		ch.Output = true
		before, problems := ss.Parse(old, ss.ParseOptions{})
		all, _ := ss.Parse([]byte("true"), ss.ParseOptions{})
		if len(problems) > 0 {
			return
		}
		r := ss.Contained(all, before, c.opt.Budget)
		if r.Verdict != ss.Outside || r.Value == nil {
			return
		}
		if ok, err := newValidator(old).valid(r.Value); err == nil && !ok {
			ch.Certainty, ch.Witness = Proven, &Witness{Value: r.Value, ValidAfter: true}
		}
	}
}

// schema reports the changes between two schemas at one place.
func (c *comparer) schema(a at, old, new jsonx.Raw, dir ss.Direction) {
	k := schemaKey{string(old), string(new), dir}
	r, ok := c.schemas[k]
	if !ok {
		r = c.compareSchemas(old, new, dir)
		c.schemas[k] = r
	}
	for _, ch := range r.changes {
		ch.Kind, ch.Name = a.kind, a.Name
		if ch.Path == "" {
			ch.Path = pathOf(a.Path, ch.Pointer)
		}
		ch.Pointer = a.Pointer + ch.Pointer
		ch.Also = slices.Clone(ch.Also)
		for i := range ch.Also {
			ch.Also[i].Name, ch.Also[i].Pointer = a.Name, a.Pointer+ch.Also[i].Pointer
		}
		c.changes = append(c.changes, ch)
	}
}

// pathOf is the way to the part of a value that a schema pointer speaks of, for
// changes of a schema as such.
func pathOf(member, pointer string) string {
	ts, _ := jsonx.Tokens(pointer)
	var b strings.Builder
	for i := 0; i < len(ts); i++ {
		next := ""
		if i+1 < len(ts) {
			next = ts[i+1]
		}
		_, err := strconv.Atoi(next)
		switch ts[i] {
		case "properties":
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(next)
			i++
		case "patternProperties":
			b.WriteString("{" + next + "}")
			i++
		case "additionalProperties":
			b.WriteString("{}")
		case "prefixItems":
			if err == nil {
				b.WriteString("[" + next + "]")
			}
			i++
		case "items", "additionalItems", "contains":
			b.WriteString("[]")
			if err == nil {
				i++
			}
		case "$defs", "definitions":
			b.Reset()
			b.WriteString(ts[i] + "." + next)
			i++
		}
	}
	switch {
	case b.Len() > 0 && !(len(ts) == 1 && ts[0] != "items"):
		return b.String()
	case len(ts) > 0:
		return member + "." + ts[0]
	}
	return member
}
