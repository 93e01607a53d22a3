// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"errors"
	"slices"
	"strings"
)

// How far mcp-contract looks into a schema.
const (
	mostNesting = 4
	mostHops    = 10
	// mostFields bounds the work on schemas whose references multiply.
	mostFields = 50_000
)

var errManyFields = errors.New("too many fields")

// prober lists the fields of a schema as mcp-contract does, with the same
// limits and blind spots: what it cannot see must be equal on both sides.
//
// Where it gives up and the record knows more, the place once had a form that
// it could follow. There the prober goes on by the rules of JSON Schema, so
// that fields which are still there do not count as removed.
type prober struct {
	root   map[string]any
	nested bool            // format 2: follows references and descends
	knows  map[string]bool // names below which the record has more fields
	n      int
}

// newProber returns a prober for a schema that goes on where gone fields were.
func newProber(root map[string]any, nested bool, gone []field) *prober {
	return &prober{root: root, nested: nested, knows: parents(gone)}
}

// parents are the names below which there are fields; the root's is empty.
func parents(fs []field) map[string]bool {
	out := map[string]bool{}
	for _, f := range fs {
		out[""] = true
		for i := range len(f.name) {
			if f.name[i] == '.' {
				out[f.name[:i]] = true
				out[strings.TrimSuffix(f.name[:i], "[]")] = true
			}
		}
	}
	return out
}

// fields lists the fields of the schema; forms is set instead where the root
// has several forms and the record knows fields.
func (p *prober) fields() (fs []field, forms [][]field, err error) {
	if !p.nested {
		properties, _ := p.root["properties"].(map[string]any)
		fs, err = p.flat(properties, names(p.root["required"]))
		return fs, nil, err
	}
	at, seen, ok := p.resolve(p.root, "", nil)
	if !ok {
		return nil, nil, nil
	}
	shape, shapes := p.object(at, "", seen)
	if len(shapes) > 1 {
		if p.knows[""] {
			forms, err = p.forms(shapes, "", 0)
		}
		return nil, forms, err
	}
	if shape == nil {
		return nil, nil, nil
	}
	fs, err = p.collect(shape, "", 0)
	return fs, nil, err
}

// flat lists the properties as format 1 has them.
func (p *prober) flat(properties map[string]any, required map[string]bool) ([]field, error) {
	var out []field
	for _, name := range sortedKeys(properties) {
		declared, _ := properties[name].(map[string]any)
		f := field{
			name: name, required: required[name], description: pyText(declared["description"]),
			types: typesOf(declared, nil), direct: declared["type"] != nil, schema: properties[name],
		}
		f.described = f.description != ""
		f.enum, f.numbers = spelledList(declared["enum"]), spelledNumbers(declared["enum"])
		f.values = declared["enum"] != nil || declared["const"] != nil
		out = append(out, f)
	}
	return out, nil
}

// shape is an object with its fields, and the references on the way to it.
type shape struct {
	properties map[string]any
	required   map[string]bool
	seen       []string
}

func shapeOf(schema map[string]any, seen []string) *shape {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return nil
	}
	return &shape{properties, names(schema["required"]), seen}
}

// names reads required, of whatever form.
func names(v any) map[string]bool {
	out := map[string]bool{}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out[pyStr(e)] = true
		}
	case map[string]any:
		for n := range v {
			out[n] = true
		}
	case string:
		for _, c := range v {
			out[string(c)] = true
		}
	}
	return out
}

// lookup follows a reference as the recorder does: pointers through objects.
func (p *prober) lookup(ref string) map[string]any {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = p.root
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		if at, ok = object[token]; !ok {
			return nil
		}
	}
	object, _ := at.(map[string]any)
	return object
}

// resolve follows the references at a place. It fails where one leads nowhere,
// comes back, or the chain is too long.
func (p *prober) resolve(schema map[string]any, path string, seen []string) (map[string]any, []string, bool) {
	for hops := 0; ; hops++ {
		raw, ok := schema["$ref"]
		if !ok {
			return schema, seen, true
		}
		ref := pyStr(raw)
		target := p.lookup(ref)
		if p.knows[path] {
			if target == nil {
				target, _ = follow(p.root, ref)
			}
			if slices.Contains(seen, ref) {
				seen = nil
			}
		}
		if target == nil || hops >= mostHops || slices.Contains(seen, ref) {
			return nil, nil, false
		}
		seen = append(slices.Clip(seen), ref)
		schema = target
	}
}

// object returns the one object that a schema describes, or all of them where
// there are several and the value decides.
func (p *prober) object(schema map[string]any, path string, seen []string) (*shape, []*shape) {
	if p.knows[path] {
		schema = documentOf(p.root).composed(schema, 0)
	}
	if s := shapeOf(schema, seen); s != nil {
		return s, nil
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		var found []*shape
		for _, e := range list {
			b, ok := e.(map[string]any)
			if !ok {
				continue
			}
			if at, on, ok := p.resolve(b, path, seen); ok {
				if p.knows[path] {
					at = documentOf(p.root).composed(at, 0)
				}
				if s := shapeOf(at, on); s != nil {
					found = append(found, s)
				}
			}
		}
		switch {
		case len(found) == 0:
			continue
		case key == "allOf":
			all := &shape{map[string]any{}, map[string]bool{}, nil}
			for _, s := range found {
				for n, v := range s.properties {
					all.properties[n] = v
				}
				for n := range s.required {
					all.required[n] = true
				}
				all.seen = s.seen
			}
			return all, nil
		case len(found) == 1:
			return found[0], nil
		}
		return nil, found
	}
	return nil, nil
}

// collect lists the fields of an object and of what lies below.
func (p *prober) collect(s *shape, prefix string, depth int) ([]field, error) {
	var out []field
	for _, name := range sortedKeys(s.properties) {
		if p.n++; p.n > mostFields {
			return nil, errManyFields
		}
		path := prefix + name
		declared, _ := s.properties[name].(map[string]any)
		inner, seen, ok := p.resolve(declared, path, s.seen)
		f := field{name: path, required: s.required[name], schema: s.properties[name]}
		f.direct = declared["type"] != nil
		f.types = typesOf(declared, p.lookup)
		if len(f.types) == 0 {
			f.types = typesOf(inner, p.lookup)
		}
		f.description = pyText(declared["description"])
		if f.described = f.description != ""; !f.described {
			f.description = pyText(inner["description"])
		}
		enum := declared["enum"]
		if !truthy(enum) {
			enum = inner["enum"]
		}
		f.enum, f.numbers = spelledList(enum), spelledNumbers(enum)
		f.values = f.enum != nil || declared["const"] != nil || inner["const"] != nil
		if !ok {
			if ref, is := declared["$ref"].(string); is {
				if target, _ := follow(p.root, ref); target == nil {
					f.ref = ref
				}
			}
			out = append(out, f)
			continue
		}
		below, err := p.below(&f, inner, seen, depth)
		if err != nil {
			return nil, err
		}
		out = append(append(out, f), below...)
	}
	return out, nil
}

// below lists the fields under a field: in the object itself, or in the items
// of a list.
func (p *prober) below(f *field, inner map[string]any, seen []string, depth int) ([]field, error) {
	suffix := "."
	if p.knows[f.name] {
		inner = documentOf(p.root).composed(inner, 0)
	}
	target, several := p.object(inner, f.name, seen)
	if target == nil && several == nil {
		items, ok := inner["items"].(map[string]any)
		if !ok {
			return nil, nil
		}
		if items, seen, ok = p.resolve(items, f.name+"[]", seen); !ok {
			return nil, nil
		}
		if target, _ = p.object(items, f.name+"[]", seen); target == nil {
			return nil, nil
		}
		suffix = "[]."
	}
	if depth >= mostNesting {
		return nil, nil
	}
	if target == nil {
		// Several forms are not recorded. Where the record has fields, the
		// place had one form: what the several have in store for its callers
		// is for the comparison to judge.
		if !p.knows[f.name] {
			return nil, nil
		}
		var err error
		f.forms, err = p.forms(several, f.name, depth)
		return nil, err
	}
	return p.collect(target, f.name+suffix, depth+1)
}

// forms lists the fields of each of several forms, named from the place.
func (p *prober) forms(shapes []*shape, path string, depth int) ([][]field, error) {
	prefix := ""
	if path != "" {
		prefix, depth = path+".", depth+1
	}
	var out [][]field
	for _, s := range shapes {
		fs, err := p.collect(s, prefix, depth)
		if err != nil {
			return nil, err
		}
		for i := range fs {
			fs[i].name = strings.TrimPrefix(fs[i].name, prefix)
		}
		out = append(out, fs)
	}
	return out, nil
}

// typesOf reads the types of a schema. lookup follows a branch's reference,
// nil where the format did not.
func typesOf(schema map[string]any, lookup func(string) map[string]any) []string {
	switch t := schema["type"].(type) {
	case string:
		return parseTypes(t)
	case []any:
		var out []string
		for _, e := range t {
			out = append(out, pyStr(e))
		}
		return parseTypes(strings.Join(out, "|"))
	}
	union := schema["anyOf"]
	if !truthy(union) {
		union = schema["oneOf"]
	}
	list, _ := union.([]any)
	var parts []string
	for _, e := range list {
		b, ok := e.(map[string]any)
		if !ok {
			continue
		}
		if ref, ok := b["$ref"]; ok && lookup != nil {
			if target := lookup(pyStr(ref)); target != nil {
				b = target
			}
		}
		if truthy(b["type"]) {
			parts = append(parts, pyStr(b["type"]))
		}
	}
	return parseTypes(strings.Join(parts, "|"))
}

// parseTypes splits a recorded type: names joined by |, where a name may be
// the Python list that a branch with several types was written as.
func parseTypes(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, "|") {
		if inner, ok := strings.CutPrefix(part, "["); ok {
			for t := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
				out = append(out, strings.Trim(t, ` '"`))
			}
			continue
		}
		out = append(out, part)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(t string) bool { return t == "" })
}
