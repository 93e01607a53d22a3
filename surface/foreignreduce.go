// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/order"
)

// reduce returns other as mcp-contract would have recorded it.
func (m *mcpContract) reduce(other *Surface) *Surface {
	from, _ := other.projection.(*mcpContract)
	respelled := m.respelledURIs(other.items[Resources], from != nil)
	out := other.mapItems(func(it Item) (Item, bool) {
		switch {
		case it.Kind == Resources:
			if uri, ok := respelled[it.Name]; ok {
				it.Name = uri
			}
			return it.reduced(map[string]any{}), true
		case from != nil && from.format <= m.format:
			return it, true // it holds no more than this format does
		case it.Kind == Tools:
			return m.tool(it, from), true
		case it.Kind == Prompts:
			return it.reduced(m.prompt(&it)), true
		}
		return it, true
	})
	out.sort()
	return out
}

func (m *mcpContract) tool(it Item, from *mcpContract) Item {
	rec := m.tools[it.Name]
	if rec == nil {
		rec = &recordedTool{}
	}
	object := map[string]any{}
	for _, n := range []string{"description", "title"} {
		if t := pyText(decoded(it.Member(n))); t != "" {
			object[n] = t
		}
	}
	annotations, _ := decoded(it.Member("annotations")).(map[string]any)
	hints := map[string]any{}
	for _, hint := range hintNames {
		switch v, ok := laxBool(annotations[hint]); {
		case ok:
			hints[hint] = v
		case annotations[hint] != nil:
			hints[hint] = annotations[hint] // no release could have recorded it
		}
	}
	if len(hints) > 0 {
		object["annotations"] = hints
	}
	execution, _ := decoded(it.Member("execution")).(map[string]any)
	if v := execution["taskSupport"]; v != nil {
		object["execution"] = map[string]any{"taskSupport": v}
	}
	var own *recordedTool
	if from != nil {
		own = from.tools[it.Name]
	}
	object["inputSchema"] = m.schema(decoded(it.Member("inputSchema")), rec.in, own.fields(true), own != nil)
	if raw := it.Member("outputSchema"); raw != nil {
		schema := m.schema(decoded(raw), rec.out, own.fields(false), own != nil)
		switch {
		case schema["properties"] != nil || schema["anyOf"] != nil:
			object["outputSchema"] = schema
		case len(rec.out) > 0:
			// The fields are gone, and a schema is still there.
			root, _ := decoded(raw).(map[string]any)
			if at, ok := documentOf(root).meaningOf(root, 0); ok && !at.all && !slices.Contains(at.types, "object") {
				schema["type"] = at.types
			}
			object["outputSchema"] = schema
		}
	}
	return it.reduced(object)
}

func (t *recordedTool) fields(in bool) []field {
	switch {
	case t == nil:
		return nil
	case in:
		return t.in
	}
	return t.out
}

// schema reduces a schema to the facts that the format records. own is the
// fields where they were recorded too, in a later format.
func (m *mcpContract) schema(raw any, recorded, own []field, isRecord bool) map[string]any {
	root, _ := raw.(map[string]any)
	p := newProber(root, m.format > 1, nil)
	fs, forms, err := p.fields()
	if gone := missing(recorded, fs); err == nil && len(gone) > 0 && !isRecord {
		p = newProber(root, m.format > 1, gone)
		fs, forms, err = p.fields()
	}
	if err != nil {
		return objectSchema(slices.Clone(recorded)) // beyond any bound: not compared
	}
	if isRecord {
		if fs = topLevel(own); len(recorded) == 0 {
			fs = nil // format 1 does not read a root behind a reference or allOf
		}
	}
	by, under := map[string]*field{}, parents(recorded)
	fs = m.followed(fs, recorded, under, root)
	for i := range recorded {
		by[recorded[i].name] = &recorded[i]
	}
	for i := range fs {
		if rec := by[fs[i].name]; rec != nil {
			m.judgeable(&fs[i], rec, under[rec.name], p)
		}
	}
	out := objectSchema(fs)
	if forms != nil {
		out["anyOf"] = formSchemas(forms)
	}
	return out
}

// missing is the recorded fields that are not among fs.
func missing(recorded, fs []field) []field {
	names := map[string]bool{}
	for _, f := range fs {
		names[f.name] = true
	}
	return slices.DeleteFunc(slices.Clone(recorded), func(f field) bool { return names[f.name] })
}

// followed leaves out what lies below a place of which the file has no fields,
// where a reference comes back to itself, or a union has several forms: how far
// such a schema is recorded depends on its spelling, not on what it says.
func (m *mcpContract) followed(fs, recorded []field, under map[string]bool, root map[string]any) []field {
	has, blind := parents(fs), map[string]bool{}
	known := map[string]bool{}
	for _, f := range recorded {
		known[f.name] = true
	}
	for _, f := range fs {
		if known[f.name] && !under[f.name] && has[f.name] && (cyclic(root, f.schema) || severalForms(root, f.schema)) {
			blind[f.name] = true
		}
	}
	return slices.DeleteFunc(fs, func(f field) bool {
		for name := range blind {
			if strings.HasPrefix(f.name, name+".") || strings.HasPrefix(f.name, name+"[].") {
				return true
			}
		}
		return false
	})
}

// topLevel is what format 1 has of fields that format 2 recorded.
func topLevel(fs []field) []field {
	names := map[string]bool{}
	for _, f := range fs {
		names[f.name] = true
	}
	var out []field
	for _, f := range fs {
		if above, _, _ := parent(f.name, names); above == "" {
			out = append(out, f)
		}
	}
	return out
}

// judgeable settles what of a field may be compared with what the file has of
// it. Facts that are equal as the recorder sees them stay equal. Where they
// differ, the place was written differently, which need not mean that it
// accepts anything else. hasFields tells that the file has fields below.
func (m *mcpContract) judgeable(f *field, rec *field, hasFields bool, p *prober) {
	f.enum = respelled(f.enum, f.numbers, rec.enum)
	switch {
	case slices.Equal(f.types, rec.types):
	case unknownType(rec.types):
		// The file does not know the type. Only a type that is written where
		// nothing but an open place can have been counts as new.
		if m.format == 1 || len(rec.types) > 0 || !f.direct || f.values || hasFields {
			f.types = nil
			if rec.enum == nil {
				f.enum = nil
			}
		}
	default:
		if is, ok := documentOf(p.root).meaningOf(f.schema, 0); ok {
			f.types = is.types
		} else if f.ref == "" {
			f.types = rec.types
		}
	}
	if rec.enum != nil && f.enum == nil {
		f.enum = respelled(documentOf(p.root).valuesOf(f.schema, 0), nil, rec.enum)
		order.Stable(f.enum, func(a, b string) int {
			return cmp.Compare(place(rec.enum, a), place(rec.enum, b))
		})
	}
	switch {
	case f.description == rec.description:
	case rec.description == "" && unknownType(rec.types) && !f.described:
		f.description = "" // it stands behind what the recorder did not follow
	case f.description == "" && documentOf(p.root).describedAs(f.schema, rec.description, 0):
		f.description = rec.description
	}
	if unknownType(rec.types) || f.ref != "" && unknownType(f.types) && len(rec.types) == 0 {
		f.ref = "" // it led nowhere, or was not followed, when it was recorded
	}
}

// place is where a value stands in a list; new ones come last.
func place(list []string, v string) int {
	if i := slices.Index(list, v); i >= 0 {
		return i
	}
	return len(list)
}

// prompt keeps of a prompt what the file has: arguments by name.
func (m *mcpContract) prompt(it *Item) map[string]any {
	args := promptArguments(it, func(name string, required bool, description string, _ map[string]any) map[string]any {
		return promptArgument(name, required, description)
	})
	if len(args) == 0 {
		return map[string]any{}
	}
	return map[string]any{"arguments": sortedArguments(args)}
}

func promptArgument(name string, required bool, description string) map[string]any {
	out := map[string]any{"name": name}
	if required {
		out["required"] = true
	}
	if description != "" {
		out["description"] = description
	}
	return out
}

// sortedArguments puts arguments in the order of their names: the file does
// not know the server's.
func sortedArguments(args []any) []any {
	order.Stable(args, func(a, b any) int {
		x, _ := a.(map[string]any)["name"].(string)
		y, _ := b.(map[string]any)["name"].(string)
		return cmp.Compare(x, y)
	})
	return args
}

// respelledURIs maps URIs to how the file spells them. Some releases of the
// SDK read a URI into parts and write it anew. Of two files, each of which
// follows the other, both take the common form.
func (m *mcpContract) respelledURIs(items []Item, common bool) map[string]string {
	recorded := map[string]string{}
	for uri := range m.uris {
		recorded[sdkURI(uri)] = uri
	}
	out := map[string]string{}
	for _, it := range items {
		if uri, ok := recorded[sdkURI(it.Name)]; ok && !m.uris[it.Name] {
			if common {
				uri = sdkURI(uri)
			}
			out[it.Name] = uri
		}
	}
	return out
}

// sdkURI is a form that a URI and its rewritten form share.
func sdkURI(s string) string {
	u, err := url.Parse(strings.ReplaceAll(s, " ", "%20"))
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return s
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch u.Scheme {
	case "http", "https", "ws", "wss", "ftp", "file":
		port := map[string]string{"http": ":80", "ws": ":80", "https": ":443", "wss": ":443", "ftp": ":21"}[u.Scheme]
		u.Host = strings.TrimSuffix(u.Host, port)
		u = u.JoinPath() // takes dot segments out
		if u.Path == "" {
			u.Path = "/"
		}
	}
	if q, err := url.QueryUnescape(u.RawQuery); err == nil {
		u.RawQuery = url.QueryEscape(q)
	}
	return u.String()
}
