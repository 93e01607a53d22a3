// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"

	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/internal/probe"
	"github.com/mcprove/mcprove/internal/schemaset"
	"github.com/mcprove/mcprove/spec"
)

// withValue gives an annotated argument a value that its schema takes, unless
// the arguments have one.
func withValue(t probe.Tool, p spec.ParamHeader) (arguments, value json.RawMessage) {
	if v := at(t.Arguments, p.Path); v != nil && jsonx.KindOf(v) != jsonx.Null {
		return t.Arguments, v
	}
	schema := t.Get("inputSchema")
	whole, _ := schemaset.Parse(schema, schemaset.ParseOptions{})
	if whole == nil {
		return nil, nil
	}
	property := probe.Lookup(schema, p.Pointer)
	candidates := append(probe.Elements(probe.Lookup(property, "/enum")), probe.Elements(probe.Lookup(property, "/examples"))...)
	for _, name := range []string{"const", "default"} {
		if v := probe.Lookup(property, "/"+name); v != nil {
			candidates = append(candidates, v)
		}
	}
	for _, plain := range []string{`"a"`, `42`, `1`, `true`} {
		candidates = append(candidates, json.RawMessage(plain))
	}
	for _, v := range candidates {
		if jsonx.KindOf(v) == jsonx.Null || !mirrors(v) {
			continue
		}
		arguments := put(t.Arguments, p.Path, v)
		if schemaset.Eval(arguments, whole) == schemaset.Yes {
			return arguments, v
		}
	}
	return nil, nil
}

// at is what a path of member names reaches, nil where it leads nowhere.
func at(object json.RawMessage, path []string) json.RawMessage {
	pointer := ""
	for _, name := range path {
		pointer = jsonx.Push(pointer, name)
	}
	return probe.Lookup(object, pointer)
}

// put returns an object with a value at a path of member names, nil to take out
// what stands there.
func put(object json.RawMessage, path []string, v json.RawMessage) json.RawMessage {
	if len(path) == 0 {
		return v
	}
	b := []byte{'{'}
	member := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, jsonx.Quote(name)...), ':'), value...)
	}
	var inner json.RawMessage
	for _, m := range probe.Members(object) {
		if m.Name == path[0] {
			inner = json.RawMessage(m.Value)
			continue
		}
		member(m.Name, m.Value)
	}
	if inner == nil && v == nil {
		return append(b, '}')
	}
	if inner = put(inner, path[1:], v); inner != nil {
		member(path[0], inner)
	}
	return append(b, '}')
}
