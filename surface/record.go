// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/spec"
)

// volatileMeta are the _meta keys that describe one answer, not the item: they
// change between two listings of an unchanged server.
var volatileMeta = map[string]bool{
	spec.MetaServerInfo:     true,
	spec.MetaRelatedTask:    true,
	spec.MetaSubscriptionID: true,
	spec.MetaProgressToken:  true,
	spec.MetaTraceParent:    true,
	spec.MetaTraceState:     true,
	spec.MetaBaggage:        true,
	"ttlMs":                 true,
	"ttl":                   true,
}

// settle removes from an item what no comparison may see: volatile _meta keys,
// and definitions that no reference reaches.
func (it *Item) settle() {
	changed := false
	kept := it.members[:0:0]
	for _, m := range it.members {
		before := m.Value
		switch {
		case m.Name == "_meta" && jsonx.KindOf(m.Value) == jsonx.Object:
			m.Value = edit(m.Value, func(m jsonx.Member) (jsonx.Raw, bool) { return m.Value, !volatileMeta[m.Name] })
			if string(m.Value) == "{}" {
				changed = true
				continue
			}
		case it.Kind == Tools && (m.Name == "inputSchema" || m.Name == "outputSchema"):
			m.Value = pruneDefinitions(m.Value)
		}
		changed = changed || len(m.Value) != len(before)
		kept = append(kept, m)
	}
	if changed {
		it.Raw = object(kept)
		it.members = jsonx.Skim(it.Raw)
	}
}

// record is the item as the contract file holds it: without the members that
// change by themselves.
func record(it *Item) jsonx.Raw {
	if it.Kind == Tools || it.Kind == Prompts {
		return it.Raw
	}
	return edit(it.Raw, func(m jsonx.Member) (jsonx.Raw, bool) {
		switch {
		case m.Name == "size":
			return nil, false
		case m.Name == "annotations" && jsonx.KindOf(m.Value) == jsonx.Object:
			v := edit(m.Value, func(m jsonx.Member) (jsonx.Raw, bool) { return m.Value, m.Name != "lastModified" })
			return v, string(v) != "{}"
		}
		return m.Value, true
	})
}

// edit rebuilds a canonical object with each member's value replaced, or left
// out where keep is false.
func edit(raw jsonx.Raw, f func(jsonx.Member) (v jsonx.Raw, keep bool)) jsonx.Raw {
	ms := jsonx.Skim(raw)
	kept := ms[:0]
	for _, m := range ms {
		v, keep := f(m)
		if keep {
			kept = append(kept, jsonx.Member{Name: m.Name, Value: v})
		}
	}
	return object(kept)
}

// object writes members as an object.
func object(ms []jsonx.Member) jsonx.Raw {
	size := 2
	for _, m := range ms {
		size += len(m.Name) + len(m.Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, jsonx.Quote(m.Name)...)
		out = append(out, ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// definitionKeys hold schemas that count only where a reference reaches them.
var definitionKeys = []string{"$defs", "definitions"}

// pruneDefinitions leaves out the root's definitions that nothing refers to.
// Where references do not start at the root's pointer (anchors, ids), it keeps
// everything: keeping too much is only noise, dropping one changes meaning.
func pruneDefinitions(schema jsonx.Raw) jsonx.Raw {
	if !bytes.Contains(schema, []byte(`$defs"`)) && !bytes.Contains(schema, []byte(`definitions"`)) {
		return schema
	}
	ms := jsonx.Skim(schema)
	if !slices.ContainsFunc(ms, func(m jsonx.Member) bool { return slices.Contains(definitionKeys, m.Name) }) {
		return schema
	}
	type def struct{ key, name string }
	defs := map[def]jsonx.Raw{}
	var refs []string
	ok := true
	for _, m := range ms {
		if !slices.Contains(definitionKeys, m.Name) {
			ok = ok && references(m.Name, m.Value, false, &refs)
			continue
		}
		if jsonx.KindOf(m.Value) != jsonx.Object {
			return schema
		}
		for _, d := range jsonx.Skim(m.Value) {
			defs[def{m.Name, d.Name}] = d.Value
		}
	}
	used := map[def]bool{}
	for len(refs) > 0 && ok {
		ref := refs[0]
		refs = refs[1:]
		key, name, isPointer := definitionOf(ref)
		if !isPointer {
			return schema
		}
		d := def{key, name}
		if body, exists := defs[d]; exists && !used[d] {
			used[d] = true
			ok = references("", body, true, &refs)
		}
	}
	if !ok {
		return schema
	}
	return edit(schema, func(m jsonx.Member) (jsonx.Raw, bool) {
		if !slices.Contains(definitionKeys, m.Name) {
			return m.Value, true
		}
		v := edit(m.Value, func(d jsonx.Member) (jsonx.Raw, bool) { return d.Value, used[def{m.Name, d.Name}] })
		return v, string(v) != "{}"
	})
}

// references collects every reference in v, the value of member name. It
// reports false where an inner $id moves the base that references start from.
func references(name string, v jsonx.Raw, inner bool, refs *[]string) bool {
	switch name {
	case "$ref", "$dynamicRef", "$recursiveRef":
		if t, ok := jsonx.Text(v); ok {
			*refs = append(*refs, t)
			return true
		}
	case "$id", "id", "$anchor", "$dynamicAnchor":
		if _, ok := jsonx.Text(v); ok && inner {
			return false
		}
	}
	switch jsonx.KindOf(v) {
	case jsonx.Object:
		for _, m := range jsonx.Skim(v) {
			if !references(m.Name, m.Value, true, refs) {
				return false
			}
		}
	case jsonx.Array:
		for _, e := range jsonx.Skim(v) {
			if !references("", e.Value, true, refs) {
				return false
			}
		}
	}
	return true
}

// definitionOf splits "#/$defs/Name/..." into its key and name; both are empty
// for a pointer elsewhere. isPointer is false for any other reference, and for
// one to the container of definitions itself.
func definitionOf(ref string) (key, name string, isPointer bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return "", "", false
	}
	if p, err := url.PathUnescape(fragment); err == nil {
		fragment = p
	}
	tokens, err := jsonx.Tokens(fragment)
	if err != nil {
		return "", "", false
	}
	if len(tokens) == 0 || !slices.Contains(definitionKeys, tokens[0]) {
		return "", "", true
	}
	if len(tokens) == 1 {
		return "", "", false
	}
	return tokens[0], tokens[1], true
}
