// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mcprove/mcprove/contract"
	"github.com/mcprove/mcprove/internal/jsonx"
	"github.com/mcprove/mcprove/surface"
)

// accepts asks a validator that the product does not use; ok is false where it
// cannot read the schema.
func accepts(schema, value []byte) (valid, ok bool) {
	var s jsonschema.Schema
	if json.Unmarshal(schema, &s) != nil {
		return false, false
	}
	switch s.Schema {
	case "", "https://json-schema.org/draft/2020-12/schema":
		s.Schema = ""
	default:
		return false, false // it knows one dialect only
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		return false, false
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return false, false
	}
	return resolved.Validate(v) == nil, true
}

// schemaOf is the schema that a change of a tool is about.
func schemaOf(s *surface.Surface, c *contract.Change) jsonx.Raw {
	member := "inputSchema"
	if c.Output {
		member = "outputSchema"
	}
	for _, it := range s.Items(surface.Tools) {
		if it.Name == c.Name {
			return it.Member(member)
		}
	}
	return nil
}

// checkWitness holds a witness against a second validator, and against the
// class of its change: what breaks an input was accepted and is refused, what
// breaks an output is the reverse.
func checkWitness(t testing.TB, c *contract.Change, before, after *surface.Surface) {
	t.Helper()
	w := c.Witness
	if (c.Certainty == contract.Proven) != (w != nil) {
		t.Errorf("%s is %s, and its witness is %v", c.ID, c.Certainty, w)
		return
	}
	if w == nil {
		return
	}
	if w.ValidBefore == w.ValidAfter {
		t.Errorf("%s: a witness that shows nothing: %s", c.ID, w.Value)
	}
	if c.Class == contract.Breaking && w.ValidBefore == c.Output {
		t.Errorf("%s: a witness of the wrong side: %s, before %t", c.ID, w.Value, w.ValidBefore)
	}
	if c.Class == contract.Additive && w.ValidBefore != c.Output {
		t.Errorf("%s: additive, and the witness shows a loss: %s", c.ID, w.Value)
	}
	for _, side := range []struct {
		s    *surface.Surface
		want bool
	}{{before, w.ValidBefore}, {after, w.ValidAfter}} {
		schema := schemaOf(side.s, c)
		if schema == nil {
			continue
		}
		if got, ok := accepts(schema, w.Value); ok && got != side.want {
			t.Errorf("%s: a second validator says %t of %s, not %t: %s", c.ID, got, w.Value, side.want, schema)
		}
	}
}

// checkExample wants a call for an argument that is silently ignored now: both
// sides accept it, and it passes the argument.
func checkExample(t testing.TB, c *contract.Change, before, after *surface.Surface) {
	t.Helper()
	if c.ID != "argument-removed-open" {
		return
	}
	if c.Example == nil {
		t.Errorf("%s of %s has no example", c.ID, c.Path)
		return
	}
	for _, s := range []*surface.Surface{before, after} {
		if got, ok := accepts(schemaOf(s, c), c.Example); ok && !got {
			t.Errorf("%s: the example %s is refused by %s", c.ID, c.Example, schemaOf(s, c))
		}
	}
	name := c.Path[strings.LastIndexAny(c.Path, ".")+1:]
	if !strings.Contains(string(c.Example), `"`+name+`"`) {
		t.Errorf("%s: the example %s does not pass %s", c.ID, c.Example, name)
	}
}
