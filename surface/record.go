// SPDX-License-Identifier: Apache-2.0

package surface

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// volatileMeta are the _meta keys that describe one answer, not the item: they
// change between two listings of an unchanged server.
var volatileMeta = map[string]bool{
	"io.modelcontextprotocol/serverInfo":     true,
	"io.modelcontextprotocol/related-task":   true,
	"io.modelcontextprotocol/subscriptionId": true,
	"progressToken":                          true,
	"traceparent":                            true,
	"tracestate":                             true,
	"baggage":                                true,
	"ttlMs":                                  true,
	"ttl":                                    true,
}

// settle removes from a canonical item what no comparison may see: volatile
// _meta keys, and definitions that no reference reaches.
func settle(k Kind, raw jsonx.Raw) jsonx.Raw {
	hasMeta := bytes.Contains(raw, []byte(`"_meta"`))
	hasDefs := k == Tools && (bytes.Contains(raw, []byte(`"$defs"`)) || bytes.Contains(raw, []byte(`"definitions"`)))
	if !hasMeta && !hasDefs {
		return raw
	}
	return edit(raw, func(m jsonx.Member) (jsonx.Raw, bool) {
		switch {
		case m.Name == "_meta" && jsonx.KindOf(m.Value) == jsonx.Object:
			v := edit(m.Value, func(m jsonx.Member) (jsonx.Raw, bool) { return m.Value, !volatileMeta[m.Name] })
			return v, string(v) != "{}"
		case hasDefs && (m.Name == "inputSchema" || m.Name == "outputSchema"):
			return pruneDefinitions(m.Value), true
		}
		return m.Value, true
	})
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
	ms, err := jsonx.Members(raw, jsonx.Strict)
	if err != nil {
		return raw
	}
	out := make([]byte, 0, len(raw))
	out = append(out, '{')
	for _, m := range ms {
		v, keep := f(m)
		if !keep {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, jsonx.Quote(m.Name)...)
		out = append(out, ':')
		out = append(out, v...)
	}
	return append(out, '}')
}

// definitionKeys hold schemas that count only where a reference reaches them.
var definitionKeys = []string{"$defs", "definitions"}

// pruneDefinitions leaves out the root's definitions that nothing refers to.
// Where references do not start at the root's pointer (anchors, ids), it keeps
// everything: keeping too much is only noise, dropping one changes meaning.
func pruneDefinitions(schema jsonx.Raw) jsonx.Raw {
	ms, err := jsonx.Members(schema, jsonx.Strict)
	if err != nil {
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
		ds, err := jsonx.Members(m.Value, jsonx.Strict)
		if err != nil {
			return schema
		}
		for _, d := range ds {
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
		ms, err := jsonx.Members(v, jsonx.Strict)
		for _, m := range ms {
			if !references(m.Name, m.Value, true, refs) {
				return false
			}
		}
		return err == nil
	case jsonx.Array:
		es, err := jsonx.Elements(v, jsonx.Strict)
		for _, e := range es {
			if !references("", e, true, refs) {
				return false
			}
		}
		return err == nil
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
