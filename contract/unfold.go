// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"reflect"

	"github.com/mcprove/mcprove/internal/jsonx"
)

// maxUnfolded bounds how many subschemas a validator may have to try at one
// place of a value. Definitions that refer to each other twice double it with
// every level: thirty of them, and one validation takes hours.
const maxUnfolded = 20_000

// samePlace are the keywords whose subschemas apply to the same value.
var samePlace = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}

// unfoldsBeyond reports whether some schema of the document stands for more
// subschemas at one place than the limit, references followed.
func unfoldsBeyond(doc any, limit int) bool {
	u := unfolder{root: doc, limit: limit, weights: map[uintptr]int{}}
	return u.any(doc)
}

type unfolder struct {
	root    any
	limit   int
	weights map[uintptr]int // by object; 1 while it is being weighed
}

// any weighs every object of the document.
func (u *unfolder) any(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if u.weigh(v) > u.limit {
			return true
		}
		for _, x := range v {
			if u.any(x) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if u.any(x) {
				return true
			}
		}
	}
	return false
}

// weigh counts the subschemas that apply where v does, itself included.
func (u *unfolder) weigh(v any) int {
	switch v := v.(type) {
	case map[string]any:
		id := reflect.ValueOf(v).Pointer()
		if w, ok := u.weights[id]; ok {
			return w
		}
		u.weights[id] = 1
		w := 1
		for _, k := range samePlace {
			w += u.weighAll(v[k])
		}
		if ref, ok := v["$ref"].(string); ok {
			w += u.weigh(u.target(ref))
		}
		w = min(w, u.limit+1)
		u.weights[id] = w
		return w
	}
	return 0
}

// weighAll sums a schema, or a list or map of schemas.
func (u *unfolder) weighAll(v any) int {
	w := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			w += u.weigh(x)
		}
	case map[string]any:
		w = u.weigh(v)
		for _, x := range v { // dependentSchemas: schemas by name
			w += u.weigh(x)
		}
	}
	return min(w, u.limit+1)
}

// target follows a local reference; others apply nothing that is known.
func (u *unfolder) target(ref string) any {
	if ref == "" || ref[0] != '#' {
		return nil
	}
	ts, err := jsonx.Tokens(ref[1:])
	if err != nil {
		return nil
	}
	v := u.root
	for _, t := range ts {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[t]
	}
	return v
}
