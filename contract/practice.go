// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"slices"

	"github.com/mcprove/mcprove/internal/jsonx"
	ss "github.com/mcprove/mcprove/internal/schemaset"
)

// The declared-names lens: on an open object, claiming one name that nobody was
// told of is a theoretical loss; refusing all of them is a real one.

// closing are the facets that refuse names nobody can list.
var closing = map[ss.Facet]bool{
	ss.FacetAdditional: true, ss.FacetUnevaluated: true, ss.FacetPropertyNames: true, ss.FacetPatternProperties: true,
	ss.FacetMaxProperties: true, ss.FacetMinProperties: true,
}

// theoretical tells which deltas lose only values that hold an undeclared name
// which the new schema claims.
func (j *judge) theoretical(e *ss.Explanation, budget ss.Budget) map[*ss.Delta]bool {
	out := map[*ss.Delta]bool{}
	if j.dir != ss.Input || e.Root.Lost.Verdict != ss.Outside {
		return out
	}
	var suspects []*ss.Delta
	real := false
	for i := range e.Deltas {
		d := &e.Deltas[i]
		if d.Lost.Verdict != ss.Outside || !d.Facet.AffectsSet() {
			continue
		}
		switch {
		case d.Theoretical:
			out[d] = true
		case closing[d.Facet], d.Lost.Value == nil, !j.strange(d.Lost.Value) && e.DeclaredLost.Verdict != ss.Inside:
			real = true
		default:
			suspects = append(suspects, d)
		}
	}
	if len(suspects) == 0 && (real || !e.LostUnexplained) {
		return out
	}
	practice, problems := ss.Parse(inPractice(j.old, j.new), ss.ParseOptions{})
	if len(problems) > 0 {
		return out
	}
	var unreal []*ss.Delta
	for _, d := range suspects {
		if ss.Eval(d.Lost.Value, practice) == ss.No {
			unreal = append(unreal, d)
		} else {
			real = true
		}
	}
	if !real {
		// Is there a real loss that the values at hand do not show?
		j.noRealLoss = ss.Contained(practice, j.after, budget).Verdict == ss.Inside
	}
	if j.noRealLoss || real {
		for _, d := range unreal {
			out[d] = true
		}
	}
	return out
}

// strange reports a value that holds a name which the old schema mentions
// nowhere.
func (j *judge) strange(value jsonx.Raw) bool {
	found := false
	_ = jsonx.Walk(value, func(t jsonx.Token) error {
		if t.Name && !bytes.Contains(j.old.raw, t.Raw) {
			found = true
		}
		return nil
	})
	return found
}

// inPractice rewrites the old schema: its open objects do not hold the names
// that only the new schema declares. The result accepts less, so a part that
// cannot be tightened safely stays as it is.
func inPractice(old, new *document) jsonx.Raw {
	r := &rewriter{mentioned: map[string]bool{}}
	declared(old, 0, r.mentioned)
	claimed := map[string]bool{}
	declared(new, 0, claimed)
	r.claimed = sortedKeys(claimed)
	r.keepDefs = bytes.Contains(old.raw, []byte(`"not"`)) || bytes.Contains(old.raw, []byte(`"oneOf"`)) || bytes.Contains(old.raw, []byte(`"if"`))
	return r.schema(old, false)
}

// maxNesting bounds how deep schemas are looked into here.
const maxNesting = 200

// declared collects the names of properties at any depth.
func declared(d *document, depth int, into map[string]bool) {
	if d == nil || depth > maxNesting {
		return
	}
	for _, n := range d.get("properties").members() {
		into[n] = true
	}
	for _, n := range d.members() {
		declared(d.get(n), depth+1, into)
	}
	if jsonx.KindOf(d.raw) == jsonx.Array {
		for _, e := range d.elements() {
			declared(e, depth+1, into)
		}
	}
}

type rewriter struct {
	claimed   []string
	mentioned map[string]bool
	keepDefs  bool
}

// inPlace are the keywords by which several schemas speak of one value.
var inPlace = []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"}

// schema rewrites one schema. Where others may speak of the same value (mixed),
// a name that the old document declares anywhere may be one of this object.
func (r *rewriter) schema(d *document, mixed bool) jsonx.Raw {
	if jsonx.KindOf(d.raw) != jsonx.Object {
		return d.raw
	}
	mixed = mixed || slices.ContainsFunc(inPlace, func(w string) bool { return d.get(w) != nil })
	var b bytes.Buffer
	member := func(name string, value jsonx.Raw) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonx.Quote(name))
		b.WriteByte(':')
		b.Write(value)
	}
	for _, name := range d.members() {
		v := d.get(name)
		switch name {
		case "properties", "patternProperties":
			member(name, r.all(v, mixed))
		case "$defs", "definitions":
			if r.keepDefs {
				member(name, v.raw)
			} else {
				member(name, r.all(v, true))
			}
		case "items", "prefixItems", "additionalProperties":
			member(name, r.any(v, mixed))
		case "allOf", "anyOf":
			member(name, r.any(v, true))
		default:
			member(name, v.raw)
		}
	}
	if names := r.forbidden(d, mixed); len(names) > 0 {
		list, _ := jsonx.Marshal(names)
		member("propertyNames", jsonx.Raw(`{"not":{"enum":`+string(list)+`}}`))
	}
	return jsonx.Raw("{" + b.String() + "}")
}

// forbidden lists the names that an object does not hold in practice.
func (r *rewriter) forbidden(d *document, mixed bool) []string {
	own, t := d.get("properties"), d.get("type")
	if t != nil && jsonx.KindOf(t.raw) == jsonx.String && !t.is(`"object"`) {
		return nil
	}
	open := d.get("additionalProperties")
	if d.get("propertyNames") != nil || d.get("patternProperties") != nil ||
		open != nil && !open.is("true") && !open.is("{}") {
		return nil
	}
	var out []string
	for _, n := range r.claimed {
		if own.get(n) == nil && !(mixed && r.mentioned[n]) {
			out = append(out, n)
		}
	}
	return out
}

// all rewrites the schemas of a map.
func (r *rewriter) all(d *document, mixed bool) jsonx.Raw {
	if jsonx.KindOf(d.raw) != jsonx.Object {
		return d.raw
	}
	var b bytes.Buffer
	for i, n := range d.members() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonx.Quote(n))
		b.WriteByte(':')
		b.Write(r.schema(d.get(n), mixed))
	}
	return jsonx.Raw("{" + b.String() + "}")
}

// any rewrites a schema or a list of them.
func (r *rewriter) any(d *document, mixed bool) jsonx.Raw {
	if jsonx.KindOf(d.raw) != jsonx.Array {
		return r.schema(d, mixed)
	}
	var b bytes.Buffer
	for i, e := range d.elements() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r.schema(e, mixed))
	}
	return jsonx.Raw("[" + b.String() + "]")
}
